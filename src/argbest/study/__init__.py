"""Studies: asking for trials, being told their values, answering per context."""
