"""Your own policy against those that ship: write it, have it checked, compare it.

    python examples/own_policy.py --replications 150 --macroreps 50

The policy here looks for the difference between a selected alternative and a rival that is nearest to a tie,
in standard deviations, and samples the side of it that is known less. The conformance suite of
`argbest.testing` checks what every policy must keep, and an experiment puts it beside `equal`, `gp-c-ocba`
and `dvr` on a problem whose truth is known.
"""

import argparse
from dataclasses import dataclass

import numpy as np

from argbest import testing
from argbest.core.belief import best, gaps
from argbest.core.decision import Decision, of_each_context
from argbest.experiment import Contender, Experiment, Results, run
from argbest.policies import Moment, OneByOne, largest


@dataclass(frozen=True)
class ClosestCall(OneByOne):
    """The less certain side of the difference that is nearest to a tie, in standard deviations."""

    def decide(self, now: Moment) -> Decision:
        """Return a pair; arrays are [..., alternative, context], so many studies may be decided at once."""
        belief, selected = now.belief, best(now.belief)
        spread = belief.difference_var(selected)
        spread[of_each_context(selected)] = 1.0  # the selected is no rival of its own
        closeness = -gaps(belief, selected) / np.sqrt(spread)
        closeness[of_each_context(selected)] = -np.inf
        # A context's closest call, taken by whichever side of it is known less.
        call = closeness.max(axis=-2, keepdims=True)
        side = np.where(closeness == call, belief.var, -np.inf)
        side[of_each_context(selected)] = belief.var[of_each_context(selected)]
        doubtful = side == side.max(axis=-2, keepdims=True)
        return now.pick(largest(np.where(doubtful, call, -np.inf), now.candidates))


def main(arguments: list[str] | None = None) -> Results:
    """Check the policy, compare it, and print PCS_E and the opportunity cost of everybody."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--replications", type=int, default=150, help="decisions after the initial design")
    parser.add_argument("--macroreps", type=int, default=50, help="whole studies of each policy")
    options = parser.parse_args(arguments)

    testing.assert_valid_policy(ClosestCall())
    print("the conformance suite has no complaints")
    contenders: list[str | Contender] = [
        Contender(ClosestCall(), label="closest-call"),
        "equal",
        "gp-c-ocba",
        "dvr",
    ]
    experiment = Experiment(
        "newsvendor", contenders, replications=options.replications, macroreps=options.macroreps, seed=1
    )
    results = run(experiment)
    last = results.summary().groupby("contender", sort=False).tail(1)
    for row in last.to_dict("records"):
        print(
            f"{row['contender']:12}  PCS_E {row['pcs_e']:.3f} ± {row['pcs_e_se']:.3f}  "
            f"opportunity cost {row['eoc']:.3f} ± {row['eoc_se']:.3f}"
        )
    winner = min(last.to_dict("records"), key=lambda row: float(row["eoc"]))["contender"]
    print(f"least opportunity cost on newsvendor after {options.replications} decisions: {winner}")
    return results


if __name__ == "__main__":
    main()
