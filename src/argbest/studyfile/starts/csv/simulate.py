"""Thirty orders: what one costs, and what is lost while the shop waits for it, on average."""

import random


def simulate(alternative, context, seed):
    """Return the cost per order, and the share that takes over two weeks; columns come as numbers."""
    draw = random.Random(seed)
    days = [draw.gammavariate(4, alternative["days"] / 4) for _ in range(30)]
    cost = 10 * alternative["price"] + context["demand"] * sum(days) / 30
    return {"cost": cost, "late": sum(each > 14 for each in days) / 30}
