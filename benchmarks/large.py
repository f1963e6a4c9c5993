"""Find the best of thousands of alternatives: `argbest.select` beside procedures that ignore coordinates.

For each problem and seed: how far the selected alternative is from the best, in percent of the range of the
true means (the worst context, where there are several), replications and CPU seconds. Sequential halving and
OCBA get 30 replications per alternative; argbest gets ``--budget`` in all. With ``--names K`` the cost of K
names without coordinates instead: CPU per replication of the initial design, and per decision.
"""

import argparse
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import argbest
from argbest import Problem
from argbest.policies.ocba import ocba_ratios
from argbest.problems.design import MostlyOnce
from argbest.problems.inventory import serial_inventory
from argbest.problems.queues import flow_line

PER_ALTERNATIVE = 30
PROBLEMS: dict[str, Callable[[], Problem]] = {
    "serial-inventory": serial_inventory,
    "serial-inventory, wide": lambda: serial_inventory((range(2, 36), range(2, 37), range(2, 36))),
    "flow-line": flow_line,
}


def simulated(problem: Problem, cells: np.ndarray, context: int, rng: np.random.Generator) -> np.ndarray:
    """Return one reward of each alternative listed, larger being better."""
    seeds = rng.integers(2**63, size=len(cells))
    simulate: Any = problem.simulate
    return np.asarray(problem.sign * simulate.many(cells, np.full(len(cells), context), seeds))


def sequential_halving(problem: Problem, context: int, rng: np.random.Generator) -> int:
    """Return the alternative left when the worse half has been dropped again and again."""
    left = np.arange(problem.n_alternatives)
    rounds = int(np.ceil(np.log2(len(left))))
    total, count = np.zeros(len(left)), np.zeros(len(left))
    for _ in range(rounds):
        for _ in range(max(1, PER_ALTERNATIVE * problem.n_alternatives // (len(left) * rounds))):
            total[left] += simulated(problem, left, context, rng)
            count[left] += 1
        mean = total[left] / count[left]
        left = left[np.argsort(-mean, kind="stable")[: max(1, len(left) // 2)]]
    return int(left[0])


def ocba(problem: Problem, context: int, rng: np.random.Generator) -> int:
    """Return the largest mean after 5 replications of each, then 25 more per alternative by OCBA's ratios."""
    n = problem.n_alternatives
    value = np.stack([simulated(problem, np.arange(n), context, rng) for _ in range(5)])
    count, total, square = np.full(n, 5.0), value.sum(axis=0), (value**2).sum(axis=0)
    while count.sum() < PER_ALTERNATIVE * n:
        mean = total / count
        var = np.maximum(square / count - mean**2, 1e-12) * count / (count - 1)
        ratio = ocba_ratios(mean, var)
        wanted = ratio / ratio.sum() * (count.sum() + n) - count
        share = np.maximum(wanted, 0.0)
        cells = np.repeat(np.arange(n), rng.multinomial(n, share / share.sum()))
        new = simulated(problem, cells, context, rng)
        count += np.bincount(cells, minlength=n)
        total += np.bincount(cells, new, n)
        square += np.bincount(cells, new**2, n)
    return int(np.argmax(total / count))


def by_argbest(problem: Problem, seed: int, budget: int) -> list[int]:
    """Return the alternatives that `argbest.select` chooses, one per context."""
    alternatives = [problem.alternatives.item(k) for k in range(problem.n_alternatives)]
    contexts = [problem.contexts.item(c) for c in range(problem.n_contexts)]
    goal = "max" if problem.sign > 0 else "min"
    simulate: Any = problem.simulate
    study = argbest.select(simulate, alternatives, contexts, budget=budget, goal=goal, seed=seed)
    chosen: list[int] = np.argmax(study.view().knowledge.belief.mean, axis=0).tolist()
    return chosen


def loss(problem: Problem, chosen: list[int]) -> float:
    """Return how far the choices are from the best, in percent of the range, in the worst context."""
    truth = np.asarray(problem.sign * np.asarray(problem.truth))
    picked = truth[chosen, np.arange(problem.n_contexts)]
    return float(np.max(100 * (truth.max(axis=0) - picked) / np.ptp(truth, axis=0)))


def cost_of_names(n: int, model: str) -> tuple[float, float]:
    """Return the CPU seconds of a replication of the initial design, and of a decision after the first."""
    simulate: Any = argbest.vectorised(_noise)
    problem = Problem([f"plan {k}" for k in range(n)], ["any"], simulate)
    again = min(n, 60)  # as a study begins where the budget is below four replications per name
    study, first = argbest.Study(problem, model=model, initial=MostlyOnce(n, again)), n + again
    started = time.process_time()
    study.run(first, batch=1000)
    swept = (time.process_time() - started) / first
    study.run(first + 1)  # learns
    started = time.process_time()
    study.run(first + 31)
    return swept, (time.process_time() - started) / 30


def _noise(_plans: list[str], _contexts: list[str], seeds: list[int]) -> np.ndarray:
    """Return rewards that cost next to nothing to simulate."""
    return np.asarray(seeds, float) / 2.0**63


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", nargs="*", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=1_500)
    parser.add_argument("--without-rivals", action="store_true", help="argbest alone")
    parser.add_argument("--names", type=int, help="time so many names without coordinates, nothing else")
    given = parser.parse_args(arguments)
    if given.names:
        for model in ("independent", "additive-gp"):
            sweep, decision = cost_of_names(given.names, model)
            print(
                f"{given.names:,} names, {model}: {sweep * 1e6:.0f} µs per replication of the initial "
                f"design, {decision * 1e3:.0f} ms per decision"
            )
        return
    for name in given.problems:
        problem = PROBLEMS[name]()
        k, c = problem.shape
        print(f"{name}: {k:,} alternatives, {c} contexts", flush=True)
        rules = [("argbest", given.budget)]
        if not given.without_rivals:
            rules += [(rule, PER_ALTERNATIVE * k * c) for rule in ("sequential halving", "ocba")]
        for rule, replications in rules:
            losses, seconds = [], []
            for seed in range(given.seeds):
                rng, started = np.random.default_rng(seed), time.process_time()
                if rule == "argbest":
                    chosen = by_argbest(problem, seed, given.budget)
                else:
                    contender = ocba if rule == "ocba" else sequential_halving
                    chosen = [contender(problem, context, rng) for context in range(c)]
                seconds.append(time.process_time() - started)
                losses.append(loss(problem, chosen))
            near = sum(each <= 1.0 for each in losses)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(
                f"  {rule:18} {replications:10,} replications: within 1 % in {near} of {given.seeds}, "
                f"median {np.median(losses):.2f} %, worst {max(losses):.2f} %, at most "
                f"{np.max(seconds):.0f} CPU s, {memory} MB so far",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
