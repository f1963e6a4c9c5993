"""Storage: what happened in a study, kept event by event, in memory or in a database."""
