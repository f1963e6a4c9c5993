"""Time the additive model on full tables, two replications of every pair: its fits, and a policy's decisions.

Prints CPU seconds of the first fit and of a refit, then milliseconds per adaptive replication with all fits
included, and the most memory that the process has had so far.
"""

import argparse
import resource
import sys
import time

import numpy as np

from argbest import Problem, Study, streams

# Alternatives, contexts, whether alternatives are names, and adaptive replications.
SIZES = (
    (10, 10, False, 200),
    (30, 20, False, 100),
    (20, 40, False, 200),
    (20, 40, True, 200),
    (100, 100, False, 30),
    (200, 50, True, 30),
)


def make_study(
    n_alternatives: int, n_contexts: int, *, names: bool, policy: str, common: bool
) -> tuple[Study, np.ndarray]:
    """Return a study told two replications of every pair, and the true means."""
    x, z = np.linspace(0.0, 1.0, n_contexts), np.linspace(0.0, 1.0, n_alternatives)[:, None]
    truth = 2.0 * np.cos(3.0 * x) + np.sin(4.0 * z + 3.0 * x)
    labels = [f"plan {k}" for k in range(n_alternatives)] if names else z[:, 0].tolist()
    problem, model = Problem(labels, x.tolist()), "additive-gp"
    study = Study(problem, policy=policy, model=model, initial=1, common_random_numbers=common)
    rng = np.random.default_rng(0)
    for trial in study.ask(truth.size):
        study.tell(trial, truth[trial.pair] + 0.5 * rng.standard_normal(2))
    return study, truth


def fits(study: Study) -> tuple[float, float]:
    """Return the CPU seconds of a first fit, and of one more after a tenth of the data has come twice."""
    model, setting, tally = study.model, study.problem.setting, study.view().tally
    started = time.process_time()
    params = model.fit(tally, setting)
    first = time.process_time() - started
    grown = type(tally)(tally.count + (np.arange(len(tally.count)) % 5 == 0)[:, None], tally.mean, tally.m2)
    started = time.process_time()
    model.fit(grown, setting, params)
    return first, time.process_time() - started


def cycles(study: Study, truth: np.ndarray, number: int) -> float:
    """Return the CPU milliseconds of one ask/tell cycle, all fits included."""
    started = time.process_time()
    for _ in range(number):
        trial = study.ask()[0]
        study.tell(trial, float(truth[trial.pair]) + 0.5 * float(streams.standard_normal(trial.seed)))
    return 1e3 * (time.process_time() - started) / number


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, default=len(SIZES), help="how many of the sizes")
    parser.add_argument("--cycles", type=int, help="adaptive replications, instead of the usual number")
    parser.add_argument("--shrink", type=int, default=1, help="divide alternatives and contexts by this")
    parser.add_argument("--policy", default="dvr", help="which decides; dvr-loss is the default of studies")
    parser.add_argument("--apart", action="store_true", help="no common random numbers")
    given = parser.parse_args(arguments)
    how = {"policy": given.policy, "common": not given.apart}
    study, truth = make_study(10 // given.shrink, 10 // given.shrink, names=False, **how)
    fits(study)  # compiles, or loads what was compiled; common noise shows late, and has code of its own
    cycles(study, truth, given.cycles or SIZES[0][3])
    print(f"{'table':>17}  first fit, s  refit, s  ms per replication (of)  MB so far")
    for k, c, names, number in SIZES[: given.sizes]:
        study, truth = make_study(k // given.shrink, c // given.shrink, names=names, **how)
        first, again = fits(study)
        number = given.cycles or number
        each = cycles(study, truth, number)
        size = f"{len(truth)} x {truth.shape[1]} {'names' if names else 'places'}"
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{size:>17}  {first:12.2f}  {again:8.2f}  {each:17.1f} ({number:3})  {most:9}")


if __name__ == "__main__":
    main(sys.argv[1:])
