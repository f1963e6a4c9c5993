"""TS and TS+ at a fixed confidence: a run ends with the second stage, and is right as often as it says."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from argbest import TS, ExtremeContexts, InputError, Problem, Study, TSPlus
from argbest.policies.base import finished
from argbest.policies.two_stage import second_stage, worst_context

CONTEXTS = [0.0, 0.25, 0.5, 1.0]
LINES = np.array([[0.0, 1.0], [0.5, 0.0], [-1.0, 3.0]])  # intercept and slope
BOTH = pytest.mark.parametrize("kind", [TS, TSPlus])


def simulate(alternative: Any, context: Any, seed: int) -> float:
    intercept, slope = LINES[alternative]
    noise = np.random.default_rng(seed).normal(0, 0.5 + 0.5 * alternative)
    return float(intercept + slope * context + noise)


def study(policy: Any, seed: int = 0, **options: Any) -> Study:
    problem = Problem([0, 1, 2], CONTEXTS, simulate)
    return Study(problem, policy=policy, initial=ExtremeContexts(10), seed=seed, **options)


@BOTH
@pytest.mark.parametrize("contexts", ["expected", "worst"])
def test_a_run_ends_with_what_the_first_stage_asks_for(kind: Any, contexts: str) -> None:
    made = study(kind(confidence=0.9, delta=0.4, contexts=contexts))
    first = study(kind()).run(60)
    setting = first.problem.setting
    if contexts == "worst":
        setting = type(setting)(**{**vars(setting), "weights": worst_context(setting)})
    needed = second_stage(first.tally, setting, kind(), delta=0.4, alpha=0.1)
    made.run(100_000)
    assert np.array_equal(made.tally.count, needed)
    assert needed.sum() > 100
    assert finished(made.policy, made.tally)


def test_a_stored_run_goes_on_to_the_same_end(tmp_path: Path) -> None:
    policy = TSPlus(confidence=0.9, delta=0.4)
    study(policy, storage=tmp_path / "study.db").run(80)
    resumed = Study.load(tmp_path / "study.db", simulate=simulate).run(100_000, batch=7)
    needed = study(policy).run(100_000).tally.count
    beyond = resumed.tally.count - needed
    assert beyond.sum() < 7
    assert beyond.min() >= 0
    assert not beyond[needed == 0].any()


def test_asked_for_more_it_goes_on_by_its_shares() -> None:
    made = study(TS(confidence=0.9, delta=1.0)).run(100_000)
    before = made.tally.count
    for trial in made.ask(5):
        made.tell(trial, simulate(trial.alternative, trial.context, trial.seed))
    assert (made.tally.count - before).sum() == 5


@pytest.mark.slow
@BOTH
def test_the_selections_are_right_as_often_as_promised(kind: Any) -> None:
    """Fails by chance with probability below 1e-3: contexts are counted where the best leads by delta."""
    right = []
    truth = LINES[:, :1] + LINES[:, 1:] * np.array(CONTEXTS)
    ahead = np.diff(np.sort(truth, axis=0)[-2:], axis=0)[0] >= 0.5
    for seed in range(60):
        made = study(kind(confidence=0.9, delta=0.5), seed).run(100_000)
        chosen = made.selection()["selected"].to_numpy()
        right.append(np.mean((chosen == truth.argmax(axis=0))[ahead]))
    assert np.mean(right) >= 0.9 - 3 * np.std(right) / np.sqrt(len(right))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 0.9}, "got confidence=0.9 and delta=None; give both"),
        ({"delta": 0.5}, "got confidence=None and delta=0.5; give both"),
        ({"confidence": 1.0, "delta": 0.5}, "confidence must be a number between 0 and 1"),
        ({"confidence": 0.9, "delta": 0.0}, "delta must be a number finite and above 0"),
        ({"confidence": 0.9, "delta": 0.5, "contexts": "all"}, "contexts"),
    ],
)
def test_options_that_promise_nothing_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TS(**options)


def test_a_first_stage_of_uneven_numbers_is_refused() -> None:
    problem = Problem([0, 1, 2], CONTEXTS, simulate)
    uneven = [(k, c) for k in range(3) for c in (0.0, 1.0) for _ in range(3 + k)]
    with pytest.raises(InputError, match="the first stage needs the same number of each"):
        Study(problem, policy=TS(confidence=0.9, delta=0.5), initial=uneven).run(100)
