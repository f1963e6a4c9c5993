"""Studies: asking for trials, being told their values, running simulators."""
