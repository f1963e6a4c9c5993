"""Where should tomorrow's 10,000 Covid-19 tests go? A decision table for a health office, with a certificate.

Three populations share the tests. How many people are infected in the first and the third will be known only
when the decision is due, so the study simulates beforehand and answers for each of 16 situations.

    python examples/covid_testing.py --budget 1000 --out covid

For populations, test supplies, splits and situations of your own, make the problem with
`argbest.problems.covid.editions.allocation_problem`.
"""

import argparse
from pathlib import Path

import argbest
from argbest import registry
from argbest.report import figures

CLOSE = 30.0  # infections: a split that costs no more than this beyond the best is good enough


def main(arguments: list[str] | None = None) -> None:
    """Run the study, print who gets which share of the tests, and draw the policy map."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "--budget", type=int, default=1_000, help="simulations in all; the first 192 are one each"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the study")
    parser.add_argument("--out", type=Path, default=Path("covid"), help="folder of the pictures")
    options = parser.parse_args(arguments)

    # Splits are points in space, and near ones do nearly as well: the usual model finds that out, and learns
    # about all splits and situations from every simulation.
    problem = registry.problem("covid-regional")
    study = argbest.Study(problem, policy="dvr", initial=1, seed=options.seed)
    study.run(options.budget)

    certificate = study.certificate()
    print("cases in 1  cases in 3  tests to 1, 2, 3  P(best)  infections  avoidable")
    splits = problem.alternatives.frame(certificate.selected).to_numpy()
    for row, shares in zip(study.selection().to_dict("records"), splits, strict=True):
        split = ", ".join(f"{share:.0%}" for share in shares)
        situation = f"{row['context.cases_1']:10} {row['context.cases_3']:11}"
        sure = f"{row['p_best']:8.2f} {row['mean']:11,.0f} {row['expected_loss']:10.1f}"
        print(f"{situation} {split:>17} {sure}")
    print(f"\n{study.n_replications} simulations, {certificate}")
    close = study.certificate(delta=CLOSE)
    print(
        f"within {CLOSE:g} infections of the best: {close.pcs_e:.0%} on average, {close.pcs_m:.0%} at worst"
    )

    options.out.mkdir(parents=True, exist_ok=True)
    try:
        print("pictures:", *figures.save(study, options.out))
    except argbest.ArgbestError as missing:
        print(missing)


if __name__ == "__main__":
    main()
