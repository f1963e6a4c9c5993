"""One simulated morning in a call centre: wages, and what it costs when customers hang up.

Try it with: python simulate.py --servers 4 --rate 30 --seed 1
"""

import argparse
import heapq
import random

HOURS = 4
WAGE = 20  # per agent and hour
LOSS = 8  # per customer who hangs up


def simulate(alternative, context, seed):
    """Return the cost per hour; agents serve 12 customers per hour, customers wait 3 minutes on average."""
    draw = random.Random(seed)
    free_from = [0.0] * alternative["servers"]  # when each agent is free again
    now = lost = 0
    while (now := now + draw.expovariate(context["rate"])) < HOURS:
        patience, service = draw.expovariate(20), draw.expovariate(12)
        if free_from[0] - now > patience:
            lost += 1
        else:
            heapq.heapreplace(free_from, max(now, free_from[0]) + service)
    return WAGE * alternative["servers"] + LOSS * lost / HOURS


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--servers", type=int, required=True)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    given = parser.parse_args()
    # Several responses are printed by name, or as a JSON object: print("cost=98.5 lost=0.02")
    print(simulate({"servers": given.servers}, {"rate": given.rate}, given.seed))
