"""Answers: what a study says of itself, from its selection to whether its model fits."""
