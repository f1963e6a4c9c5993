"""Pure array functions: no input or output, no clock, no randomness, no global state."""
