"""Sampling policies: a belief in, a decision out."""
