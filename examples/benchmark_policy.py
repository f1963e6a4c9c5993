"""A policy of somebody else against the test bed: write it, have it checked, run it on every problem.

    python examples/benchmark_policy.py --macroreps 20

The policy is the upper confidence bound of the bandit literature, in ten lines. It meets equal allocation and
the default on the shipped problems that it can decide for: those without limits, and small enough for a
coffee break. Every problem is named with its version, so that others can repeat and cite the run.
"""

import argparse
from dataclasses import dataclass

import numpy as np
import pandas as pd

import argbest
from argbest import testing
from argbest.core.decision import Decision
from argbest.experiment import Contender, Experiment, run
from argbest.policies import Moment, OneByOne, largest


@dataclass(frozen=True)
class Optimist(OneByOne):
    """The pair that could be better than the best of its context by most: the largest upper bound."""

    width: float = 2.0

    def decide(self, now: Moment) -> Decision:
        """Return a pair; arrays are [..., alternative, context], so many studies may be decided at once."""
        mean, sd = now.belief.mean, np.sqrt(now.belief.var)
        hope = mean + self.width * sd - mean.max(axis=-2, keepdims=True)
        return now.pick(largest(hope, now.candidates))


def chosen(most_pairs: int) -> list[str]:
    """Return the names of the problems without limits and with at most so many pairs."""
    table = argbest.problems.table()
    return table.loc[(table["limits"] == "") & (table["pairs"] <= most_pairs), "problem"].tolist()


def measured(problem: str, replications: int, macroreps: int) -> dict[str, object]:
    """Return a row of the table: the loss of everybody after so many replications, and PCS of the policy."""
    contenders: list[str | Contender] = [Contender(Optimist(), label="optimist"), "equal", "dvr-loss"]
    results = run(Experiment(problem, contenders, replications=replications, macroreps=macroreps, seed=1))
    last = results.summary().groupby("contender", sort=False).tail(1).set_index("contender")
    losses = {str(name): loss for name, loss in last["eoc"].items()}
    return {"problem": problem, **losses, "PCS of optimist": last["pcs_e"]["optimist"]}


def main(arguments: list[str] | None = None) -> pd.DataFrame:
    """Check the policy, run it on all problems, and print what everybody loses."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("problems", nargs="*", help="names of problems (default: all that fit)")
    parser.add_argument("--replications", type=int, default=100, help="decisions after the initial design")
    parser.add_argument("--macroreps", type=int, default=20, help="whole studies of each policy")
    parser.add_argument("--most-pairs", type=int, default=200, help="leave out larger problems")
    options = parser.parse_args(arguments)

    testing.assert_valid_policy(Optimist())
    names = options.problems or chosen(options.most_pairs)
    rows = [measured(name, options.replications, options.macroreps) for name in names]
    table = pd.DataFrame(rows)
    print(table.to_string(index=False, float_format="{:.3g}".format))
    losses = table[["optimist", "equal", "dvr-loss"]]
    least = losses.eq(losses.min(axis=1), axis=0).sum()
    print(f"least loss, of {len(table)}:", ", ".join(f"{name} {n}" for name, n in least.items()))
    return table


if __name__ == "__main__":
    main()
