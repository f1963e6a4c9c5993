# ruff: noqa: S608
"""Snapshots: a study opened from one is the study that its events make; a wrong one is never believed."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from study.conftest import problem, simulate

from argbest import ExtremeContexts, Problem, StorageError, Study
from argbest.cli import main
from argbest.core.abilities import offers
from argbest.core.replications import Replications
from argbest.errors import DataNotice
from argbest.storage import pages
from argbest.storage.base import Told
from argbest.storage.sql import SQLStorage
from argbest.study import checking
from argbest.study.checking import Snapshots
from argbest.study.ledger import Ledger

EVERY = 30


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "EVERY", EVERY)


def load(path: Path) -> Study:
    return Study.load(path, simulate=simulate)


def replayed(path: Path) -> Study:
    """Return the study read event by event."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Snapshots, "read", lambda _: None)
        patch.setattr(Snapshots, "due", lambda *_: False)
        return load(path)


def _empty(thing: object) -> bool:
    return isinstance(thing, dict | list) and not thing


def _values(shown: Replications | None) -> Any:
    return shown and [part.tolist() for part in shown.parts]


def said(*words: str) -> tuple[int, str]:
    """Return the exit code of a command, and its words in one line."""
    found = CliRunner().invoke(main, words)
    return found.exit_code, " ".join(found.output.split())


def known(study: Study) -> dict[str, Any]:
    """Return all that a ledger knows, to compare."""

    def plain(thing: object) -> Any:
        if isinstance(thing, dict):
            return {key: plain(each) for key, each in thing.items() if not _empty(each)}
        return thing.tolist() if isinstance(thing, np.ndarray) else thing

    def of(ledger: Ledger) -> dict[str, Any]:
        arrays, words = ledger.state()
        order = vars(ledger.in_order).items()
        hidden = plain(
            {n: v for n, v in order if n not in ("_store", "goal") and not isinstance(v, np.ndarray)}
        )
        shown = {"trials": list(map(repr, ledger.trials)), "records": list(map(repr, ledger.records))}
        made = {n: getattr(ledger, n) for n in ("design", "design_reason", "failed", "counts")}
        values = {n: _values(getattr(ledger.tally, n)) for n in ("common", "single")}
        return {**plain(arrays), **words, **hidden, **shown, **made, **values}

    journal = study._journal
    learned = None if journal.knowledge is None else journal.knowledge.n_fitted
    frame = study.trials(details=True).to_csv()
    return of(journal.ledger) | {"policy": repr(study.policy), "fitted": learned, "frame": frame}


def eventful(path: Path, **options: Any) -> Study:
    """Return a study with events of every kind, some of them after its last snapshot."""
    study = Study(problem(), storage=path, seed=3, **options).run(55)
    for _ in range(6):  # until the pair is set aside
        trial = study.ask(context=0)[0]
        study.fail(trial, "no licence", seconds=0.5)
    study.give_back(study.ask()[0])
    late = study.ask(3)  # what follows waits for the first of them
    for trial in late[1:]:
        study.tell(trial, [1.0, 2.5], seconds=0.25)
    study.tell(study.ask()[0], mean=1.5, variance=0.5, n=4)
    study.readmit()
    for trial in study.ask(20):
        study.tell(trial, float(trial.seed % 7))
    study.ask(2)
    return study


@pytest.mark.parametrize(
    "options",
    [
        {"policy": "equal", "model": "independent", "initial": 2},
        {"policy": "equal", "model": "independent", "initial": 2, "common_random_numbers": True},
        {"policy": "dvr", "model": "gp", "initial": 1, "cost": "measured"},
        {"policy": "ts", "initial": ExtremeContexts(4)},
    ],
)
def test_a_study_opened_from_a_snapshot_is_the_one_that_its_events_make(
    options: dict[str, Any], tmp_path: Path
) -> None:
    study = eventful(tmp_path / "s.db", **options)
    expected = known(replayed(tmp_path / "s.db"))
    assert study._journal._snapshots._reached > EVERY
    opened = load(tmp_path / "s.db")
    assert opened._journal._snapshots._reached == study._journal._snapshots._reached
    assert known(opened) == expected
    assert known(study) == expected
    assert said("check", str(tmp_path / "s.db"))[0] == 0


def test_seeds_that_were_parted_stay_parted(tmp_path: Path) -> None:
    def opposed(alternative: str, context: float, seed: int) -> float:  # what helps one harms the other
        noise = float(np.random.default_rng(seed).normal())
        return context + (noise if alternative == "a" else -noise)

    options: dict[str, Any] = {"common_random_numbers": True, "policy": "equal", "model": "independent"}
    study = Study(Problem(["a", "b"], [0.0, 1.0], opposed), initial=12, storage=tmp_path / "s.db", **options)
    assert study.run(90)._journal.ledger.parted is not None
    expected, opened = known(replayed(tmp_path / "s.db")), load(tmp_path / "s.db")
    common, left = study._tally.common, study._journal.ledger.n_shared
    assert common is not None
    for each in (study, opened):
        assert single(each) == observed(study)
        assert len(single(each)) == 90
        assert _values(each._tally.common) == _values(common)
    assert 0 < len(common.value) == left < 90
    assert opened._journal._snapshots._reached > 50
    assert known(opened) == expected
    assert [t.seed for t in opened.ask(4)] == [t.seed for t in replayed(tmp_path / "s.db").pending()[-4:]]


def single(study: Study) -> list[tuple[int, int, float]]:
    """The single values of a study's tally, larger is better, in their order."""
    shown = study._tally.single
    assert shown is not None
    k, c, _, y = (part.tolist() for part in shown.parts)
    return list(zip(k, c, y, strict=True))


def observed(study: Study) -> list[tuple[int, int, float]]:
    """The single values that the ledger's records hold, one after the other."""
    ledger, sign = study._journal.ledger, study.problem.sign
    return [
        (*ledger.trials[record.trial].pair, sign * value)
        for record in ledger.records
        for value in record.values or ()
    ]


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("goal", ["max", "min"])
def test_a_tally_holds_the_single_values_told_before_and_after_it_was_stored(
    goal: str, shared: bool, tmp_path: Path
) -> None:
    study = Study(
        problem(goal=goal),
        storage=tmp_path / "s.db",
        policy="equal",
        model="independent",
        initial=2,
        common_random_numbers=shared,
    ).run(33)
    study.tell(study.ask()[0], [1.0, 2.5, -3.0])
    study.tell(study.ask()[0], mean=1.5, variance=0.5, n=4)
    study.run(70)
    expected = observed(study)
    assert len(expected) == study.n_replications - 4
    values = study.observations()["value"].tolist()
    values.remove(1.5)  # the summary
    assert sorted(values) == sorted(study.problem.sign * y for *_, y in expected)
    opened = load(tmp_path / "s.db")
    assert opened._journal._snapshots._reached > EVERY
    for each in (study, opened, replayed(tmp_path / "s.db")):
        assert single(each) == expected
        common = each._tally.common
        assert (common is not None) == shared
        if common is not None:
            assert common.value.tolist() == [y for *_, y in expected]
    opened.run(80)
    assert single(opened) == observed(opened)
    assert len(single(opened)) == 76


def test_opening_reads_what_is_new_and_the_event_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    eventful(tmp_path / "s.db", policy="equal", model="independent", initial=2).close()
    asked: list[int] = []
    since = SQLStorage.since

    def watched(storage: SQLStorage, revision: int) -> Any:
        asked.append(revision)
        return since(storage, revision)

    monkeypatch.setattr(SQLStorage, "since", watched)
    study = load(tmp_path / "s.db")
    [first] = asked
    assert first == study._journal._snapshots._reached - 1
    assert study._journal._revision - first <= EVERY + 1


@pytest.mark.parametrize("model", ["gp", "additive-gp"])
def test_decisions_after_a_snapshot_are_those_of_an_uninterrupted_study(model: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"policy": "gp-c-ocba", "model": model, "initial": 2, "seed": 5}
    whole = Study(problem(), storage=tmp_path / "whole.db", **options).run(90)
    Study(problem(), storage=tmp_path / "s.db", **options).run(47).close()
    resumed = load(tmp_path / "s.db")
    assert resumed._journal._snapshots._reached > EVERY
    assert [t.pair for t in resumed.run(90)._journal.ledger.trials] == [
        t.pair for t in whole._journal.ledger.trials
    ]
    assert resumed.selection().equals(whole.selection())


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checking, "EVERY", EVERY)
        path = tmp_path_factory.mktemp("kept") / "s.db"
        eventful(path, policy="equal", model="independent", initial=2).close()
    return path


@pytest.fixture
def kept(original: Path, tmp_path: Path) -> Path:
    """A file with a snapshot and events after it."""
    return Path(shutil.copy(original, tmp_path / "s.db"))


def change(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(statement, values)


def damages() -> Iterator[tuple[str, tuple[object, ...]]]:
    last = "WHERE last = (SELECT max(last) FROM argbest_pages)"
    for column in ("content", "state"):
        yield f"UPDATE argbest_pages SET {column} = substr({column}, 1, length({column}) - 1) {last}", ()
        yield f"UPDATE argbest_pages SET {column} = {column} || x'00' {last}", ()
        yield f"UPDATE argbest_pages SET {column} = ? {last}", (b"",)
        yield f"UPDATE argbest_pages SET {column} = ? {last}", ("text",)
    yield "UPDATE argbest_pages SET state = NULL", ()
    yield f"UPDATE argbest_pages SET fingerprint = 'another' {last}", ()
    yield "UPDATE argbest_pages SET first = first + 1 WHERE first = 0", ()
    yield f"UPDATE argbest_pages SET last = last + 1 {last}", ()
    yield "DELETE FROM argbest_pages WHERE first = 0", ()
    yield f"DELETE FROM argbest_pages {last}", ()  # leaves pages without a state


@pytest.mark.parametrize(("statement", "values"), list(damages()))
def test_a_snapshot_that_is_damaged_or_not_of_these_events_is_passed_over_and_made_anew(
    statement: str, values: tuple[object, ...], kept: Path
) -> None:
    change(kept, statement, *values)
    expected = known(replayed(kept))
    assert said("check", str(kept))[0] == 1
    assert known(load(kept)) == expected
    assert known(load(kept)) == expected  # from the snapshot that was made anew
    code, words = said("check", str(kept))
    assert (code, "agrees with them" in words) == (0, True)


def test_pages_of_another_version_are_passed_over(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = known(replayed(kept))
    monkeypatch.setattr(pages, "VERSION", pages.VERSION + 1)
    assert known(load(kept)) == expected


def test_the_snapshot_of_another_study_is_passed_over(kept: Path, tmp_path: Path) -> None:
    other = eventful(tmp_path / "other.db", policy="equal", model="independent", initial=2)
    alien = other._journal.storage.pages()  # type: ignore[attr-defined]
    storage = SQLStorage(kept)
    storage.drop_pages()
    for page in alien:
        storage.keep_page(page)
    expected = known(replayed(kept))
    assert known(load(kept)) == expected


@pytest.mark.parametrize("step", range(1, 8))
@pytest.mark.parametrize("end", [KeyboardInterrupt, StorageError])
@pytest.mark.fast_cases("Keyboard*[135]", "Storage*[2467]")
def test_an_end_in_any_step_of_keeping_a_snapshot_loses_nothing(
    step: int, end: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"policy": "equal", "model": "independent", "initial": 2}
    study = Study(problem(), storage=tmp_path / "s.db", **options).run(40)
    steps = iter(range(1, step + 1))

    def dying(function: Any) -> Any:
        def called(*arguments: Any, **options: Any) -> Any:
            if next(steps, None) == step:
                raise end("now")
            return function(*arguments, **options)

        return called

    keep = SQLStorage.keep_page

    def keep_page(storage: SQLStorage, page: pages.Page) -> None:
        import sqlalchemy as sa

        with pytest.MonkeyPatch.context() as inside:
            for name in ("execute", "exec_driver_sql"):
                inside.setattr(sa.Connection, name, dying(getattr(sa.Connection, name)))
            keep(storage, page)
            if next(steps, None) == step:
                raise end("after all of them")

    monkeypatch.setattr(SQLStorage, "keep_page", keep_page)
    told = 0
    with suppress(KeyboardInterrupt):
        for trial in study.ask(EVERY):
            told += 1
            study.tell(trial, 1.0)
    monkeypatch.undo()
    monkeypatch.setattr(checking, "EVERY", EVERY)
    expected = known(replayed(tmp_path / "s.db"))
    assert sum(expected["counts"].values()) == 40 + EVERY
    assert expected["counts"]["told"] == 40 + told
    assert known(load(tmp_path / "s.db")) == expected
    assert said("check", str(tmp_path / "s.db"))[0] == 0


EDITS = [
    "UPDATE argbest_observations SET mean = 17.0, \"values\" = '[17.0]' WHERE trial = 3",
    "UPDATE argbest_observations SET mean = mean + 1e-9, \"values\" = '[' || (mean + 1e-9) || ']' "
    "WHERE trial = 3 AND mean != 0",
    "UPDATE argbest_trials SET context = (context = 0) WHERE NOT designed AND revision = "
    "(SELECT min(revision) FROM argbest_trials WHERE NOT designed)",
    "UPDATE argbest_trials SET time = 17.0 WHERE revision = (SELECT max(last) FROM argbest_pages)",
]


@pytest.mark.parametrize("statement", EDITS)
def test_a_change_of_an_event_is_told_whenever_the_study_is_opened_until_it_is_accepted(
    statement: str, kept: Path
) -> None:
    change(kept, statement)
    if "mean + 1e-9" in statement:  # SQLite writes fifteen digits
        change(
            kept, "UPDATE argbest_observations SET mean = json_extract(\"values\", '$[0]') WHERE trial = 3"
        )
    for _ in range(2):  # the snapshot stays as a witness
        with pytest.warns(DataNotice, match=r"event \d+ was stored as .*, and is .* now\. Another program"):
            changed = known(load(kept))
    code, words = said("check", str(kept))
    assert code == 1
    assert "changed by another program: event " in words
    assert "Restore a backup. To accept the events as they are now: add --renew." in words
    code, words = said("check", str(kept), "--renew")
    assert code == 0
    assert "The events count as they are now." in words
    assert known(load(kept)) == changed
    told = json.loads(said("check", str(kept), "--json")[1])
    assert told["sound"]
    assert told["snapshot"] > EVERY


def test_two_values_that_changed_places_are_told(kept: Path) -> None:
    change(
        kept,
        'UPDATE argbest_observations AS a SET (mean, "values") = '
        '(SELECT mean, "values" FROM argbest_observations AS b WHERE b.trial = 7 - a.trial) '
        "WHERE trial IN (3, 4)",
    )
    with pytest.warns(DataNotice, match="was stored as"):
        load(kept)


def test_a_mean_that_is_not_that_of_its_values_is_refused(kept: Path) -> None:
    change(kept, "UPDATE argbest_observations SET mean = 17.0 WHERE trial = 3")
    code, words = said("check", str(kept))
    assert code == 1
    assert (
        "damaged: the stored events contain one that argbest never wrote: Told(trial=3, n=1, mean=17.0"
        in (" ".join(words.split()))
    )
    with (
        pytest.warns(DataNotice, match="was stored as"),
        pytest.raises(StorageError, match=r"one that argbest never wrote: Told\(trial=3, n=1, mean=17\.0"),
    ):
        load(kept)


@pytest.mark.parametrize("column", ["mean", "m2"])
def test_a_summary_that_is_not_that_of_its_values_is_refused_without_a_snapshot(
    column: str, tmp_path: Path
) -> None:
    study = Study(problem(), storage=tmp_path / "s.db", policy="equal", model="independent", initial=2)
    study.tell(study.ask()[0], [1.0, 2.5, 4.0])
    assert said("check", str(tmp_path / "s.db"))[0] == 0
    change(tmp_path / "s.db", f"UPDATE argbest_observations SET {column} = 2.6")
    code, words = said("check", str(tmp_path / "s.db"))
    assert (code, "damaged: the stored events contain one" in words) == (1, True)
    with pytest.raises(StorageError, match="one that argbest never wrote"):
        load(tmp_path / "s.db")


def test_sums_that_a_database_rounds_otherwise_are_no_change(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = SQLStorage.sums
    monkeypatch.setattr(
        SQLStorage, "sums", lambda *given: {name: each * (1 + 1e-9) for name, each in found(*given).items()}
    )
    assert load(kept)._journal._snapshots._reached > EVERY  # all events were compared, and the snapshot used


def test_a_check_says_that_events_are_gone(kept: Path) -> None:
    change(kept, "DELETE FROM argbest_observations WHERE trial = 3")
    code, words = said("check", str(kept), "--renew")
    assert code == 1
    assert "damaged: 1 of " in words
    assert "Restore a backup" in words


def test_a_storage_that_keeps_no_pages_works_as_before() -> None:
    study = Study(problem(), policy="equal", model="independent", initial=2).run(60)
    assert not offers(study._journal.storage, pages.Paged)
    again = Study.load(study._journal.storage, simulate=simulate)
    assert known(again) == known(study)


@pytest.mark.parametrize("n_responses", [1, 2, 4])
@pytest.mark.parametrize("n_first", [2, 20])  # events of the first page: without and with some that are told
def test_events_come_back_from_pages_as_they_went_in(n_first: int, n_responses: int) -> None:
    from argbest.testing.storages import example_events

    events = [pages.without_params(event) for event in example_events(8, n_responses)]
    first = pages.page(events[:n_first], 0, "", {}, {})
    second = pages.page(events[n_first:], n_first, first.fingerprint, {"a": np.arange(3)}, {"b": 1})
    past, arrays, words = pages.read([first, second])
    assert past.n_responses == n_responses
    assert list(map(repr, past.events())) == list(map(repr, events))
    assert (arrays["a"].tolist(), words, past.last()) == ([0, 1, 2], {"b": 1}, events[-1])
    last_told = max(i for i, event in enumerate(events) if isinstance(event, Told))
    third = pages.page(events[: last_told + 1], 0, "", {}, {})
    assert pages.read([third])[0].last() == events[last_told]
