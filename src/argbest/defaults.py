"""What is used unless something else is named."""

POLICY = "dvr-loss"  # the winner of experiments/tournament.py
MODEL = "additive-gp"
ALPHA = 0.05  # probability of error of a guarantee
