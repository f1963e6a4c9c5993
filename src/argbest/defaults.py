"""What is used unless something else is named."""

POLICY = "gp-c-ocba"
