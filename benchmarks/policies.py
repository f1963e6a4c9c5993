"""Time one decision of every policy, in a single study and per run in a batch of 100.

Prints CPU µs per decision, belief and tally given; refits are not part of it (see decision.py).
"""

import argparse
import time

from argbest import registry, testing

SIZES = ((10, 10), (20, 40), (100, 100))


def microseconds(name: str, moment: testing.Situation, seconds: float) -> float:
    """Return the CPU time of one call, repeated for about so many seconds."""
    policy = registry.policy(name).make()

    def decide() -> None:
        policy.propose(moment.belief, moment.tally, moment.pending, moment.setting, moment.draws)

    decide()
    calls, started = 0, time.process_time()
    while calls < 3 or time.process_time() - started < seconds:
        decide()
        calls += 1
    return (time.process_time() - started) / calls * 1e6


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.5, help="time for each entry")
    parser.add_argument("--sizes", type=int, default=len(SIZES), help="how many of the sizes")
    parser.add_argument("--runs", type=int, default=100, help="runs in a batch")
    options = parser.parse_args(arguments)
    sizes = SIZES[: options.sizes]
    columns = [f"{k}x{c} {kind}" for k, c in sizes for kind in ("single", "in batch")]
    print(f"{'policy':>16} " + " ".join(f"{column:>16}" for column in columns))
    moments = []
    for shape in sizes:
        runs = options.runs if shape != (100, 100) else max(1, options.runs // 10)  # a gigabyte of covariance
        together = testing.situation(runs=runs, shape=shape)
        moments += [(together.one(0), 1), (together, runs)]
    for name in registry.POLICIES:
        entries = []
        for moment, runs in moments:
            try:
                entries.append(f"{microseconds(name, moment, options.seconds) / runs:13.1f} µs")
            except ValueError:  # a policy for one context only
                entries.append(f"{'-':>16}")
        print(f"{name:>16} " + " ".join(entries), flush=True)


if __name__ == "__main__":
    main()
