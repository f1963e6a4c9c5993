"""Problems: alternatives, contexts, a simulator, and what is known of the truth."""
