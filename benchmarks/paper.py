"""Time all runs of Figure 2, per problem and policy, beside the authors' core-seconds; then BoTorch's loop.

Prints CPU seconds by part, those of the paper's 100 macro-replications with 2,000 replications each at that
pace, and the core-seconds that Table 1 of the paper comes to (wall clock times 4 cores). With --botorch
GP-C-OCBA's decisions are timed beside a loop on plain BoTorch too; that needs the extra `bench`. It is called
by `python -m benchmarks.paper`, in the folder above, for it times `experiments`.
"""

import argparse
import tempfile
from pathlib import Path

from argbest.experiment.published import CORES, SECONDS
from experiments.figure2 import experiment, runs, seconds
from experiments.plan import MACROREPS, REPLICATIONS, Plan

PARTS = ("decide", "refit", "certify", "simulate")


def core_seconds(problem: str, policy: str) -> float | None:
    """Return the authors' core-seconds of one curve at that pace, where Table 1 tells.

    Their IKG is our ikg-noise-free; ours with the noise has no counterpart.
    """
    rule = {"ikg-noise-free": "ikg", "ikg": ""}.get(policy, policy)
    per_thousand = SECONDS.get(rule, {}).get(problem)
    if per_thousand is None:
        return None
    return per_thousand * CORES * REPLICATIONS / 1_000 * MACROREPS


def measure(macroreps: int, replications: int, jobs: int) -> None:
    """Print a row per problem, weights and policy, and the sums."""
    with tempfile.TemporaryDirectory() as folder:
        plan = Plan(Path(folder), macroreps=macroreps, replications=replications, jobs=jobs)
        results = {each: plan.run("-".join(each), experiment(plan, *each)) for each in runs()}
    scale, total, published_total = MACROREPS * REPLICATIONS / (macroreps * replications), 0.0, 0.0
    heads = ("CPU s", *PARTS, "full", "authors", "ratio")
    print(f"{'problem':>10} {'weights':>8} {'policy':>15} " + " ".join(f"{head:>11}" for head in heads))
    for row in seconds(results).to_dict("records"):
        spent = [row["seconds"], *(row[f"{part}_seconds"] for part in PARTS)]
        full, theirs = row["seconds"] * scale, core_seconds(row["problem"], row["contender"])
        total += full
        published_total += theirs or 0.0
        entries = [f"{value:11.2f}" for value in spent] + [f"{full:11.1f}"]
        entries += [f"{'-':>11}"] * 2 if theirs is None else [f"{theirs:11,.0f}", f"{theirs / full:11,.0f}"]
        names = f"{row['problem']:>10} {row['weights']:>8} {row['contender']:>15}"
        print(f"{names} {' '.join(entries)}", flush=True)
    print(
        f"whole figure: {total:,.0f} CPU s, {total / 120:.1f} min on 2 cores; authors, where known: ", end=""
    )
    print(f"{published_total:,.0f} core-seconds")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--macroreps", type=int, default=MACROREPS, help="macro-replications per policy")
    parser.add_argument(
        "--replications", type=int, default=REPLICATIONS, help="replications after the initial design"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--botorch", action="store_true", help="time the loop on plain BoTorch, too")
    options = parser.parse_args(arguments)
    measure(options.macroreps, options.replications, options.jobs)
    if options.botorch:
        from benchmarks import botorch_loop

        botorch_loop.main(["--macroreps", str(options.macroreps)])


if __name__ == "__main__":
    main()
