"""An order: what it costs, and what is lost while the shop waits for it."""

import random


def simulate(alternative, context, seed):
    """Return the cost of an order; columns of the CSV files come as numbers."""
    draw = random.Random(seed)
    days = draw.gammavariate(4, alternative["days"] / 4)
    return 10 * alternative["price"] + context["demand"] * days * draw.uniform(0.5, 1.5)
