"""What a version of a problem is, in a few numbers: `python tests/problem_versions.py` adds new versions.

It never changes those that are there: whoever changes a problem raises its version in the catalogue and
keeps the former one beside it.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from argbest.core.arrays import Array
from argbest.problems import Problem, catalogue

STORED = Path(__file__).parent / "problems" / "versions.json"
SEEDS = (0, 7)  # of problems that are others for every seed
_PAIRS, _RUNS, _CELLS = 12, 4, 24


def stored() -> dict[str, Any]:
    """Return the numbers of every version so far, by its pinned name."""
    found: dict[str, Any] = json.loads(STORED.read_text("utf-8")) if STORED.exists() else {}
    return found


def described(name: str) -> list[dict[str, Any]]:
    """Return the numbers of a problem by its pinned name; of a family, of its draws."""
    made = catalogue.problem_entry(name).make()
    return [fingerprint(made)] if isinstance(made, Problem) else [fingerprint(made.draw(s)) for s in SEEDS]


def fingerprint(problem: Problem) -> dict[str, Any]:
    """Return a digest of all words and axes, and numbers of the truth, the noise and some replications."""
    words = {
        "alternatives": [problem.alternatives.item(k) for k in range(problem.n_alternatives)],
        "contexts": [problem.contexts.item(c) for c in range(problem.n_contexts)],
        "weights": problem.weights.tolist(),
        "bounds": problem.bounds,
        "goal": problem.goal,
        "limits": [str(limit) for limit in problem.limits],
        "price": problem.price,
        "responses": problem.responses,
        "question": problem.question.name,
    }
    text = json.dumps(_rounded(words), sort_keys=True)
    return {
        "words": hashlib.sha256(text.encode()).hexdigest()[:16],
        **{
            what: None if table is None else _numbers(table)
            for what, table in (
                ("truth", problem.truth),
                ("truth_se", problem.truth_se),
                ("noise_sd", problem.noise_sd),
            )
        },
        "draws": _draws(problem).ravel().tolist(),
    }


def _draws(problem: Problem) -> Array:
    """Return some replications, [response, pair, run]."""
    simulate: Any = problem.simulate
    cells = np.unique(np.linspace(0, np.prod(problem.shape) - 1, _PAIRS).astype(int))
    k, c = (each[:, None] for each in np.unravel_index(cells, problem.shape))
    seeds = 1_000 * np.arange(len(cells))[:, None] + np.arange(_RUNS)
    values = simulate.many(k, c, seeds)
    kept = list(values.values()) if isinstance(values, dict) else [values]
    return np.stack([np.broadcast_to(each, seeds.shape) for each in kept]).astype(float)


def _numbers(table: Array) -> list[float]:
    """Return sums that notice any change of a table, and some of its entries."""
    flat = np.asarray(table, float).ravel()
    some = flat[np.unique(np.linspace(0, flat.size - 1, _CELLS).astype(int))]
    return [float(flat.sum()), float(np.cos(np.arange(1, flat.size + 1)) @ flat), *some.tolist()]


def _rounded(thing: Any) -> Any:
    """Return it with every fraction as a text of ten digits: the last ones may be others elsewhere."""
    if isinstance(thing, float):
        return f"{thing:.10g}"
    if isinstance(thing, dict):
        return {str(key): _rounded(value) for key, value in thing.items()}
    return [_rounded(each) for each in thing] if isinstance(thing, list | tuple) else thing


if __name__ == "__main__":
    kept = stored()
    new = {name for name in map(catalogue.pinned, catalogue.PROBLEMS) if name not in kept}
    kept |= {name: described(name) for name in sorted(new)}
    STORED.write_text(json.dumps(dict(sorted(kept.items())), indent=0) + "\n", encoding="utf-8")
    print("added:", ", ".join(sorted(new)) or "nothing")
