"""A stored study goes on as if nothing had happened: the decisions are those of an uninterrupted one."""

import copy
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from grids import mostly_slow
from study.conftest import ALTERNATIVES, answer, assert_same_frames, problem, simulate

from argbest import GP, ExtremeContexts, InputError, Problem, StorageError, Study, TrialError, registry
from argbest.storage.base import Event
from argbest.storage.memory import MemoryStorage
from argbest.storage.sql import SQLStorage
from argbest.study import checking
from argbest.study.learning import Knowledge

PLAIN = [name for name in registry.POLICIES if not name.startswith(("ts", "ocba"))]
MODELS = [name for name in registry.MODELS if name != "linear"]


def load(file: Path, **options: Any) -> Study:
    return Study.load(file, simulate=simulate, **options)


@pytest.mark.parametrize(
    "policy", mostly_slow(PLAIN, fast=["gp-c-ocba", "ikg", "top-two", "dvr-loss", "random", "c-ocba"])
)
def test_a_resumed_study_takes_the_next_decisions_of_an_uninterrupted_one(
    policy: str, tmp_path: Path
) -> None:
    whole = Study(problem(), policy=policy, initial=2, seed=4).run(62)  # with refits before and after
    Study(problem(), policy=policy, initial=2, seed=4, storage=tmp_path / "s.db").run(37)
    resumed = load(tmp_path / "s.db").run(62)
    assert_same_frames(resumed, whole)
    pd.testing.assert_frame_equal(resumed.selection(), whole.selection(), rtol=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_every_model_is_resumed_from_the_parameters_of_its_last_refit(model: str, tmp_path: Path) -> None:
    whole = Study(problem(), policy="dvr", model=model, initial=2, seed=1).run(81)
    Study(problem(), policy="dvr", model=model, initial=2, seed=1, storage=tmp_path / "s.db").run(31)
    resumed = load(tmp_path / "s.db")
    assert resumed._journal.knowledge is not None
    assert_same_frames(resumed.run(81), whole)


def test_alternatives_with_coordinates_are_resumed_too(tmp_path: Path) -> None:
    def known(alternative: int, context: int, seed: int) -> float:
        return simulate(ALTERNATIVES[alternative], context, seed)

    def plain() -> Problem:
        return Problem([0, 1, 2], [0, 1, 2, 3], known)

    whole = Study(plain(), model="additive-gp", initial=2).run(80)
    Study(plain(), model="additive-gp", initial=2, storage=tmp_path / "s.db").run(30)
    assert_same_frames(Study.load(tmp_path / "s.db", simulate=known).run(80), whole)


@pytest.mark.parametrize("policy", ["ts", "ts-plus"])
@pytest.mark.parametrize("at", [7, 40])
def test_what_a_two_stage_policy_fixed_is_fixed_again(policy: str, at: int, tmp_path: Path) -> None:
    options: dict[str, Any] = {"policy": policy, "initial": ExtremeContexts(4)}
    whole = Study(problem(), **options).run(90)
    if at < 24:
        broken = Study(problem(), **options, storage=tmp_path / "s.db")
        answer(broken, broken.ask(at))
    else:
        Study(problem(), **options, storage=tmp_path / "s.db").run(at)
    resumed = load(tmp_path / "s.db").run(90)
    assert_same_frames(resumed, whole)
    assert repr(resumed.policy) == repr(whole.policy)


@pytest.fixture(scope="module")
def whole() -> Study:
    return Study(problem(), initial=1).run(60)


@pytest.mark.parametrize("every", range(1, 60, 7))
@pytest.mark.fast_cases("8", "29", "57")
def test_it_does_not_matter_when_the_study_is_closed_and_opened(
    every: int, whole: Study, tmp_path: Path
) -> None:
    Study(problem(), initial=1, storage=tmp_path / "s.db")
    for n in range(every, 60 + every, every):
        study = load(tmp_path / "s.db")
        while study.n_replications < min(n, 60):
            answer(study, study.ask())
    assert_same_frames(load(tmp_path / "s.db"), whole)


def test_a_study_in_memory_can_be_opened_twice() -> None:
    kept = MemoryStorage()
    first = Study(problem(), initial=1, storage=kept).run(30)
    second = Study.load(kept, simulate=simulate).run(50)
    assert first.n_replications == 30
    assert_same_frames(first.refresh(), second)
    assert_same_frames(second, Study(problem(), initial=1).run(50))


def test_the_definition_brings_everything_back(tmp_path: Path) -> None:
    given = Problem(
        pd.DataFrame({"servers": [2, 3, 4], "fast": [True, False, True]}, index=["a", "b", "c"]),
        [{"rate": 0.1, "shift": "day"}, {"rate": 0.3, "shift": "night"}],
        weights=[0.3, 0.1],
        bounds={"rate": (0.0, 1.0)},
        goal="min",
        truth=[[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]],
        noise_sd=0.5,
        name="a 'quoted' <name>",
        description="what it is",
        reward="cost, €",
    )
    cost = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    model = GP(kernel="rbf", noise_sd=np.full((3, 2), 0.5))
    Study(given, model=model, seed=2**64 - 1, cost=cost, plan={"budget": 9}, storage=tmp_path / "s.db")
    back = Study.load(tmp_path / "s.db")
    assert back.problem.summary() == given.summary()
    assert back.problem.bounds == given.bounds
    assert back.problem.reward == "cost, €"
    assert back.problem.weights.tobytes() == given.weights.tobytes()
    assert back.problem.alternatives == given.alternatives
    assert back.problem.contexts == given.contexts
    assert back.seed == 2**64 - 1
    assert back.plan == {"budget": 9}
    assert isinstance(back.model, GP)
    assert back.model.kernel == "rbf"
    np.testing.assert_array_equal(back.model.noise_sd, model.noise_sd)
    np.testing.assert_array_equal(back._journal.costs(), cost)


def test_a_policy_of_ones_own_must_be_given_again(tmp_path: Path) -> None:
    class Mine:
        def propose(self, *given: Any, **options: Any) -> Any:
            return registry.POLICIES["equal"].make().propose(*given, **options)

    Study(problem(), policy=Mine(), initial=1, storage=tmp_path / "s.db").run(20)
    with pytest.raises(
        InputError, match=r"the policy of this study, .*Mine, is not one of argbest's, so no command"
    ):
        load(tmp_path / "s.db")
    resumed = load(tmp_path / "s.db", policy=Mine()).run(40)
    assert_same_frames(resumed, Study(problem(), policy=Mine(), initial=1).run(40))


def test_a_place_that_is_taken_is_not_overwritten(tmp_path: Path) -> None:
    study = Study(problem(), initial=1, storage=tmp_path / "s.db").run(12)
    with pytest.raises(StorageError, match="there is a study 'study' in .*s.db' already"):
        Study(problem(), storage=tmp_path / "s.db")
    assert load(tmp_path / "s.db").n_replications == study.n_replications == 12
    other = Study(problem(), storage=tmp_path / "s.db", name="other")
    assert other.n_replications == 0


def test_a_place_without_a_study_says_so(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="there is no study 'study' in .*none.db"):
        load(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()


class Flaky(MemoryStorage):
    """A storage that fails when told to, at the very end of a transaction."""

    broken = False

    @contextmanager
    def exclusive(self) -> Iterator[Any]:
        with super().exclusive() as log:
            yield log
            if self.broken:
                raise StorageError("disk full")


@pytest.mark.parametrize(
    "action",
    [
        lambda study, _: study.ask(3),
        lambda study, trial: study.tell(trial, 1.0),
        lambda study, trial: study.fail(trial, "no"),
        lambda study, trial: study.give_back(trial),
        lambda study, _: study.readmit(),
        lambda study, _: study.run(50),
    ],
)
def test_what_could_not_be_written_did_not_happen(action: Callable[[Study, Any], object]) -> None:
    kept = Flaky()
    study = Study(problem(), initial=1, storage=kept)
    answer(study, study.ask(12))
    [trial] = study.ask()
    twin = copy.deepcopy(study)
    kept.broken = True
    with pytest.raises(StorageError, match="disk full"):
        action(study, trial)
    kept.broken = False
    assert_same_frames(study, twin)
    assert study._journal.knowledge is not None
    study.tell(trial, 2.0)
    twin.tell(trial.id, 2.0)
    assert_same_frames(study.run(60), twin.run(60))
    assert_same_frames(Study.load(kept, simulate=simulate), twin)


def test_two_studies_of_one_storage_see_each_other(tmp_path: Path) -> None:
    one = Study(problem(), initial=1, storage=tmp_path / "s.db")
    two = load(tmp_path / "s.db")
    seen = []
    for i in range(60):
        study = (one, two)[i % 2]
        [trial] = study.ask()
        seen.append(trial.id)
        other = (one, two)[i % 3 % 2]
        other.tell(trial.id, simulate(str(trial.alternative), int(str(trial.context)), trial.seed))
    assert seen == list(range(60))
    assert_same_frames(one.refresh(), two.refresh())
    assert_same_frames(one, Study(problem(), initial=1).run(60))


def test_a_trial_told_elsewhere_is_not_told_twice(tmp_path: Path) -> None:
    one = Study(problem(), initial=1, storage=tmp_path / "s.db")
    two = load(tmp_path / "s.db")
    [trial] = one.ask()
    two.refresh().tell(trial.id, 1.0)
    with pytest.raises(TrialError, match="is told already"):
        one.tell(trial, 2.0)
    assert one.n_replications == 1
    assert one.observations()["value"].tolist() == [1.0]


def test_trials_left_behind_are_listed_and_given_back(tmp_path: Path) -> None:
    study = Study(problem(), initial=1, storage=tmp_path / "s.db")
    left = study.ask(3)
    answer(study, left[1:2])
    back = load(tmp_path / "s.db")
    assert [trial.id for trial in back.pending()] == [0, 2]
    for trial in back.pending():
        back.give_back(trial)
    assert back.pending() == []
    assert back.trials()["status"].tolist() == ["given back", "told", "given back"]
    again = back.ask(3)
    assert [trial.id for trial in again] == [0, 2, 3]
    assert [trial.seed for trial in again[:2]] == [left[0].seed, left[2].seed]


def test_only_the_last_refit_is_kept_in_full(tmp_path: Path) -> None:
    Study(problem(), initial=1, storage=tmp_path / "s.db").run(80)
    with closing(sqlite3.connect(tmp_path / "s.db")) as database, database:
        kept = [
            row[0] is not None
            for row in database.execute("select params from argbest_refits order by revision")
        ]
    assert kept == [False] * 6 + [True]


def test_events_are_the_same_in_memory_and_in_a_file(tmp_path: Path) -> None:
    def story(storage: Any) -> Sequence[Event]:
        study = Study(problem(), initial=1, storage=storage)
        answer(study, study.ask(12))
        study.fail(study.ask()[0], "no")
        study.give_back(study.ask()[0])
        study.readmit()
        study.run(40)
        return list(storage.since(0))

    memory, file = story(MemoryStorage()), story(SQLStorage(tmp_path / "s.db"))
    timeless = [
        [str({k: v for k, v in vars(e).items() if k not in ("time", "seconds", "worker")}) for e in events]
        for events in (memory, file)
    ]
    assert timeless[0] == timeless[1]
    assert [type(e) for e in memory] == [type(e) for e in file]


def test_knowledge_restored_is_knowledge_gained(tmp_path: Path) -> None:
    study = Study(problem(), initial=1, storage=tmp_path / "s.db").run(45)
    study.ask()
    gained, restored = study._journal.knowledge, load(tmp_path / "s.db")._journal.knowledge
    assert isinstance(gained, Knowledge)
    assert isinstance(restored, Knowledge)
    assert restored.n_fitted == gained.n_fitted
    for name, value in vars(gained.params).items():
        np.testing.assert_array_equal(getattr(restored.params, name), value, err_msg=name)


def test_a_study_builds_its_ledger_once_when_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []
    usual = checking.empty_ledger

    def counted(of: Problem, stored: Any) -> Any:
        built.append(stored["id"])
        return usual(of, stored)

    monkeypatch.setattr(checking, "empty_ledger", counted)
    study = Study(problem(), storage=tmp_path / "s.db")
    assert len(built) == 1
    study.close()
    load(tmp_path / "s.db")
    assert len(built) == 2
