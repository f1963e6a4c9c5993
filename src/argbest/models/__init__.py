"""Statistical models: a tally in, a belief out."""
