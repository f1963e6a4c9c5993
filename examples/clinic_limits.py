"""The cheapest number of doctors with at most 5 % long waits, by how many patients come.

    python examples/clinic_limits.py 300

One replication is one morning of a clinic and returns three responses. The goal is one of them, a limit is on
another, and the third is reported beside them. In the busiest mornings no number of doctors is enough.
"""

import argparse
from collections.abc import Sequence

import numpy as np

import argbest
from argbest.report.wording import choices


def clinic(doctors: int, patients: int, seed: int) -> dict[str, float]:
    """Return the cost of a morning, the mean wait in minutes, and the share of patients who wait over 30."""
    rng = np.random.default_rng(seed)
    arrivals, lengths = np.sort(rng.uniform(0.0, 240.0, patients)), rng.gamma(4.0, 4.0, patients)
    free, waits = np.zeros(doctors), np.zeros(patients)
    for i in range(patients):
        first = free.argmin()
        start = max(free[first], arrivals[i])
        waits[i], free[first] = start - arrivals[i], start + lengths[i]
    cost = 300.0 * doctors + 2.0 * lengths.sum()
    return {"cost": float(cost), "wait": float(waits.mean()), "late": float(np.mean(waits > 30.0))}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study and print what to choose, and what another limit would change."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("budget", nargs="?", type=int, default=300, help="simulated mornings in all")
    study = argbest.select(
        clinic,
        [2, 3, 4],
        [20, 30, 40, 50, 60],
        budget=parser.parse_args(arguments).budget,
        seed=2,
        goal="min cost",
        limits=["late <= 0.05"],
        reward_range={"late": (0, 1)},
    )
    print(*choices(study), sep="\n")
    frame = study.selection()
    print(frame[["context", "selected", "p_best", "p_feasible", "mean.wait"]].round(2).to_string(index=False))
    looser = study.answer(limits=["late <= 0.2"]).table["selected"].tolist()
    print(f"with at most 20 % long waits: {looser}")


if __name__ == "__main__":
    main()
