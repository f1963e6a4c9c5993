"""Any order of adding, retiring, telling and loading again: two ways to the same study agree."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from argbest import Problem, Study
from argbest.errors import InputError
from argbest.study import checking
from argbest.study.ledger import Ledger

STEPS = (
    "alternative",
    "context",
    "retire",
    "readmit",
    "weights",
    "tell",
    "give back",
    "fail",
    "load",
    "enqueue",
)


def simulate(alternative: dict[str, Any], context: dict[str, Any], seed: int) -> float:
    return float(alternative["x"] * context["z"] + np.random.default_rng(seed).normal())


def fresh(**options: Any) -> Study:
    problem = Problem([{"x": 0}, {"x": 1}], [{"z": 0.0}, {"z": 1.0}], simulate)
    return Study(problem, policy="equal", model="independent", seed=7, **options)


def state(study: Study) -> dict[str, Any]:
    """Return all that a study knows of its trials and rows, as plain values."""
    ledger: Ledger = study._journal.ledger
    arrays, words = ledger.state()
    return {
        **{name: array.tolist() for name, array in arrays.items()},
        **words,
        "retired": study.retired,
        "weights": study.problem.weights.tolist(),
        "bounds": study.problem.bounds,
        "labels": (study.problem.alternatives.labels, study.problem.contexts.labels),
        "generations": ledger.generations,
        "trials": [(t.pair, t.seed, t.replication, t.alternative, t.context) for t in study.asked],
    }


def take(study: Study, what: str, n: int) -> None:
    """Take one step; what is not possible just now is refused in words and changes nothing."""
    problem = study.problem
    axis = problem.alternatives if n % 2 else problem.contexts
    if what == "alternative":
        study.add_alternatives([{"x": problem.n_alternatives + i} for i in range(1 + n % 2)])
    elif what == "context":
        study.add_contexts([{"z": float(problem.n_contexts)}], weights=0.1 if n % 3 else None)
    elif what == "weights":
        study.set_weights([1 + (n + i) % 3 for i in range(problem.in_use[1])])
    elif what in ("retire", "readmit"):
        study.__getattribute__(what)(**{axis.kind: axis.item(n % len(axis))})
    elif what == "enqueue":
        study.enqueue(problem.alternatives.item(n % problem.n_alternatives), problem.contexts.item(0), 2)
    else:
        pending = study.pending() or study.ask(1 + n % 3)
        trial = pending[n % len(pending)]
        if what == "tell":
            study.tell(trial, simulate(trial.alternative, trial.context, trial.seed))  # type: ignore[arg-type]
        elif what == "fail":
            study.fail(trial, "no luck")
        else:
            study.give_back(trial)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 11)), min_size=4, max_size=30))
def test_every_order_of_steps_is_read_back_as_it_was(
    monkeypatch: pytest.MonkeyPatch, steps: list[tuple[str, int]]
) -> None:
    monkeypatch.setattr(checking, "EVERY", 9)  # so that snapshots are in between
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.db"
        stored, plain = fresh(storage=path), fresh()
        for what, n in steps:
            if what == "load":
                stored.close()
                stored = Study.load(path, simulate=simulate)
                continue
            outcomes = []
            for study in (stored, plain):
                before = study._journal.revision
                try:
                    take(study, what, n)
                    outcomes.append("")
                except InputError as error:
                    outcomes.append(str(error))
                    assert study._journal.revision - before <= (what not in ("retire", "readmit", "enqueue"))
            assert outcomes[0] == outcomes[1]
        assert state(stored) == state(plain)
        again = Study.load(path, simulate=simulate)
        assert state(again) == state(plain)
        trials = {(t.pair[0], t.pair[1], t.replication): t.seed for t in again.asked}
        for (k, c, number), seed in trials.items():
            assert seed == again._journal.seeds.of((k, c), number)  # whatever was added later
        stored.close()
        again.close()
