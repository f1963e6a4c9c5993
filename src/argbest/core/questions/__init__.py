"""Questions besides the best of every context: one alternative for all, several, the winner of most, a rule."""
