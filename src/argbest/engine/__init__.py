"""The engine: what a study does between two simulations, the same for one and for many side by side."""
