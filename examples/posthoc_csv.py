"""Which triage rule at which rush? Simulations made last year, and the next ones where they help most.

A clinic simulated three rules for the order in which patients are seen, at two to six arrivals per hour, and
kept the mean waiting times in a CSV file. No simulator is needed to read what they say.

    python examples/posthoc_csv.py --next 20

On the command line:

    argbest analyze examples/data/waiting_times.csv --alternative rule --context arrivals \
        --value waiting --goal min
"""

import argparse
from pathlib import Path

from argbest import Study
from argbest.table_files import read_table
from argbest.theory import contention

RUNS = Path(__file__).parent / "data" / "waiting_times.csv"


def main(arguments: list[str] | None = None) -> None:
    """Print what the runs say, how sure that is, and where the next replications should go."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("runs", type=Path, nargs="?", default=RUNS, help="CSV, Parquet or Excel file")
    parser.add_argument("--next", type=int, default=20, help="replications to place")
    options = parser.parse_args(arguments)

    study = Study.from_observations(
        read_table(options.runs), alternative="rule", context="arrivals", value="waiting", goal="min"
    )
    print(study.selection()[["context.arrivals", "selected", "mean", "p_best"]].to_string(index=False))
    print(f"\n{study.n_replications} replications, {study.certificate()}")

    print("\nstill in the running:")
    for row in contention(study).to_dict("records"):
        if row["size"] > 1:
            print(f"  {row['context.arrivals']} arrivals: {', '.join(row['contenders'])}")

    study.ask(options.next)
    allocation = study.allocation()
    print(f"\nwhere the next {options.next} should go:")
    for row in allocation[allocation["pending"] > 0].to_dict("records"):
        print(f"  {row['pending']:3} x {row['alternative.rule']} at {row['context.arrivals']} arrivals")


if __name__ == "__main__":
    main()
