"""Questions besides the best of every context: one alternative for all, several per context, a rule."""
