"""How many agents for which rate of calls? A study from scratch: a simulator, two lists, one call.

    python examples/queue_staffing.py 200

The number is the budget, in simulated weeks. The simulator is plain Python and knows nothing of argbest.
"""

import argparse
import heapq

import numpy as np

import argbest


def cost_per_hour(agents: int, calls_per_hour: int, seed: int) -> float:
    """Return wages and the cost of lost calls of a simulated week of 20 hours, per hour."""
    rng, hours, lost, now = np.random.default_rng(seed), 20.0, 0, 0.0
    free_from = [0.0] * agents  # when each agent is free again
    while (now := now + rng.exponential(1 / calls_per_hour)) < hours:
        patience, talk = rng.exponential(3 / 60), rng.exponential(5 / 60)
        if free_from[0] - now > patience:
            lost += 1
        else:
            heapq.heapreplace(free_from, max(now, free_from[0]) + talk)
    return 20.0 * agents + 8.0 * lost / hours


def main(arguments: list[str] | None = None) -> argbest.Study:
    """Run the study and print how many agents to schedule for every rate of calls."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("budget", type=int, nargs="?", default=200, help="simulated weeks, two each at first")
    budget = parser.parse_args(arguments).budget
    rates = [10, 20, 30, 40, 50]
    study = argbest.select(cost_per_hour, range(2, 8), rates, budget=budget, goal="min", policy="dvr")
    for row in study.selection().to_dict("records"):
        print(f"{row['context']} calls per hour: {row['selected']} agents, {row['p_best']:.0%} sure")
    print(f"between the rates: 35 calls per hour need {study.predict(35)['selected'][0]} agents")
    print(study.certificate())
    return study


if __name__ == "__main__":
    main()
