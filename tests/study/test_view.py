"""A view is a study at one moment: what is read from it later is what was true then."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from study.conftest import answer, apart, problem

from argbest import InputError, Study
from argbest.answers import doubts, frames, guarantee, overview
from argbest.core.tally import Tally
from argbest.models.gp import GP
from argbest.study.ledger import SET_ASIDE_AFTER
from argbest.study.view import View

LATE: dict[str, Callable[[View], Any]] = {
    "trials": lambda view: frames.with_details(frames.of_trials(view), view),
    "observations": frames.of_observations,
    "allocation": frames.of_allocation,
    "selection": lambda view: frames.selection(view, 0.1),
    "history": lambda view: overview.history(view, points=3),
    "guarantee": lambda view: guarantee.of_study(view, 0.05, 0.0).frame,
    "notes": lambda view: guarantee.of_study(view, 0.05, 0.0).notes,
    "doubts": lambda view: doubts.of_study(view).reasons,
    "failures": overview.failures,
    "counts": lambda view: view.counts,
    "replicates": lambda view: view.replicates(),
    "queued": lambda view: (view.n_queued, view.initial_design),
    "belief": lambda view: view.belief.mean.tolist(),
    "certificate": lambda view: view.certificate(0.1).pcs.tolist(),
}


def begun() -> Study:
    """A study with values told, one trial under way, one given back and one that failed."""
    study = apart(problem(), policy="equal", initial=2, refit_every=5)
    trials = study.ask(20)
    answer(study, trials[:17])
    study.fail(trials[17], "no licence")
    study.give_back(trials[18])
    return study


def gone_on(study: Study) -> None:
    """Much happens: a failure again and again, values, a summary, a run."""
    for trial in study.pending():
        study.tell(trial, mean=1.0, variance=2.0, n=3)
    for _ in range(SET_ASIDE_AFTER):
        study.fail(study.ask()[0], "no licence")
    study.readmit()
    study.run(60)


def plain(found: object) -> object:
    """What was read, to be compared: two studies ask and tell at different times."""
    if isinstance(found, pd.DataFrame):
        return found.drop(columns=["asked", "ended", "seconds"], errors="ignore").to_csv()
    return found


@pytest.mark.parametrize("name", LATE)
def test_what_is_read_from_a_view_late_is_what_was_true_when_it_was_taken(name: str) -> None:
    read, moved, still = LATE[name], begun(), begun()
    view = moved.view()
    gone_on(moved)
    assert plain(read(view)) == plain(read(still.view()))
    assert plain(read(view)) != plain(read(moved.view()))


def test_a_study_has_one_view_until_something_happens() -> None:
    study = begun()
    view = study.view()
    study.selection()
    assert study.view() is view
    [trial] = study.ask()
    assert study.view() is not view
    assert study.view().pending.sum() == view.pending.sum() + 1
    assert study.status(trial) == "pending"
    assert study.asked[trial.id] == trial


def test_trials_asked_for_leave_what_was_concluded_and_values_do_not() -> None:
    study = begun()
    certificate = study.certificate()
    [trial] = study.ask()
    assert study.certificate() is certificate
    study.tell(trial, 1.0)
    assert study.certificate() is not certificate


def test_a_view_learns_when_it_is_asked_and_the_study_need_not_learn_again() -> None:
    fits: list[int] = []

    class Counting(GP):
        def fit(self, tally: Tally, *given: Any, **options: Any) -> Any:
            fits.append(int(tally.count.sum()))
            return super().fit(tally, *given, **options)

    study = Study(problem(), policy="equal", model=Counting(), initial=1, refit_every=1)
    answer(study, study.ask(study.n_queued))
    view = study.view()
    assert view.counts["told"] == len(study.asked) == 12
    assert fits == []
    view.certificate()
    learned = len(fits)
    assert learned > 0
    study.ask()
    study.certificate()
    assert len(fits) == learned


def test_a_view_that_never_learned_does_so_from_its_own_records() -> None:
    moved, still = begun(), begun()
    view = moved.view()
    answer(moved, moved.pending())
    moved.ask(3)
    np.testing.assert_array_equal(view.belief.mean, still.view().belief.mean)
    assert view.knowledge.n_records == view.n_records == 17


def test_nothing_is_known_before_the_first_value() -> None:
    view = Study(problem()).view()
    with pytest.raises(InputError, match="nothing is known yet"):
        view.certificate()
    assert view.n_queued > 0


def test_a_view_cannot_be_changed() -> None:
    view = Study(problem(), initial=1, policy="equal").run(12).view()
    with pytest.raises(AttributeError, match="cannot assign"):
        view.spent = 0.0  # type: ignore[misc]


def test_the_status_of_a_trial_that_was_never_asked_for_is_refused() -> None:
    study = Study(problem())
    with pytest.raises(InputError, match="trial"):
        study.status(0)
