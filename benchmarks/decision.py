"""Time one ask/tell cycle, refits included, and show whether it depends on the data already there.

Prints, for each size, the CPU time per cycle with tallies pre-filled to 10³, 10⁴ and 10⁵ observations. The
sizes of the data take turns inside one run, so that a slow moment of the machine hits all of them alike.
"""

import argparse
import time

import numpy as np

from argbest import Problem, Study, streams

SIZES = ((10, 10), (20, 40), (100, 100))
OBSERVATIONS = (1_000, 10_000, 100_000)


def make_problem(n_alternatives: int, n_contexts: int) -> tuple[Problem, np.ndarray]:
    """Return a smooth problem of the size asked for, and its true means."""
    x = np.linspace(0.0, 1.0, n_contexts)
    shift = np.linspace(0.0, 3.0, n_alternatives)
    truth = np.sin(4.0 * x + shift[:, None]) + 0.1 * shift[:, None] * x
    return Problem(list(range(n_alternatives)), x.tolist()), truth


def prefilled(problem: Problem, truth: np.ndarray, n: int) -> Study:
    """Return a study told about n observations, spread over the pairs as (mean, variance, count)."""
    study = Study(problem, initial=1)
    rng = np.random.default_rng(0)
    counts = np.full(truth.size, n // truth.size)
    counts[rng.permutation(truth.size)[: n % truth.size]] += 1
    for trial, count in zip(study.ask(truth.size), counts.tolist(), strict=True):
        if count == 0:
            study.fail(trial, "left empty")
        else:
            mean = truth[trial.pair] + 0.5 * rng.standard_normal() / np.sqrt(count)
            study.tell(trial, mean=mean, variance=0.25 if count > 1 else 0.0, n=count)
    return study


def cycles(study: Study, truth: np.ndarray, number: int) -> float:
    """Return the CPU seconds of ``number`` ask/tell cycles."""
    rewards = truth.tolist()
    seconds = 0.0
    for _ in range(number):
        started = time.process_time()
        trial = study.ask()[0]
        seconds += time.process_time() - started
        k, c = trial.pair
        value = rewards[k][c] + 0.5 * float(streams.standard_normal(trial.seed))
        started = time.process_time()
        study.tell(trial, value)
        seconds += time.process_time() - started
    return seconds


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="turns of 20 cycles for each size of the data")
    parser.add_argument("--sizes", type=int, default=len(SIZES), help="how many of the sizes")
    options = parser.parse_args(arguments)
    rounds = options.rounds
    print(f"{'K x C':>10} " + " ".join(f"{f'n={n:,}':>12}" for n in OBSERVATIONS) + f" {'last/first':>11}")
    for size in SIZES[: options.sizes]:
        problem, truth = make_problem(*size)
        studies = [prefilled(problem, truth, n) for n in OBSERVATIONS]
        for study in studies:
            cycles(study, truth, 20)
        spent = np.zeros((rounds, len(studies)))
        for turn in range(rounds):
            for i, study in enumerate(studies):
                spent[turn, i] = cycles(study, truth, 20) / 20
        each = spent.mean(axis=0) * 1e6
        columns = " ".join(f"{us:9.0f} µs" for us in each)
        print(f"{f'{size[0]} x {size[1]}':>10} {columns} {each[-1] / each[0]:11.2f}", flush=True)


if __name__ == "__main__":
    main()
