"""Watching computes once for everybody, keeps nobody waiting, and says what is wrong."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from serve.crowd import create, value
from watching import PATIENCE, eventually

from argbest import Study
from argbest.errors import StorageError
from argbest.report.page.studies import payload
from argbest.serve import watch as watching
from argbest.serve.watch import StudyWatch

Watched = Callable[[], StudyWatch]


@pytest.fixture
def watched(file: Path) -> Iterator[Watched]:
    opened: list[StudyWatch] = []

    def begin() -> StudyWatch:
        opened.append(StudyWatch(str(file)))
        opened[-1].start()
        return opened[-1]

    yield begin
    for each in opened:
        each.close()
    assert eventually(lambda: not [t for t in threading.enumerate() if t.name.startswith("argbest ")])


def known(watch: StudyWatch, replications: int) -> Any:
    assert eventually(lambda: (watch.state()["picture_replications"] or 0) >= replications)
    found = watch.picture()
    assert found is not None
    return json.loads(found[1])


def settled(watch: StudyWatch) -> bool:
    """Whether the past is in the course, the last thing that is worked out of a study at rest."""
    return len(json.loads((watch.picture() or ("", b'{"course": []}'))[1])["course"]) > 1


def counted(monkeypatch: pytest.MonkeyPatch, wait: threading.Event | None = None) -> list[int]:
    """The observations of every study whose payload is worked out from now on."""
    calls: list[int] = []

    def count(study: Study, *, anywhere: bool) -> dict[str, Any]:
        calls.append(study.n_replications)
        if wait is not None:
            assert wait.wait(PATIENCE)
        return payload(study, anywhere=anywhere)

    monkeypatch.setattr(watching, "payload", count)
    return calls


def test_the_picture_is_the_report_s_payload_and_the_course(study: Study, watched: Watched) -> None:
    watch = watched()
    found = known(watch, 30)
    expected = json.loads(json.dumps(payload(study)))
    shown = (
        "answer",
        "decisions",
        "certainty",
        "contexts",
        "alternatives",
        "model",
        "how",
        "hyperparameters",
    )
    for name in shown:
        assert found[name] == expected[name]
    assert found["allocation"]["count"] == expected["allocation"]["count"]
    assert "prediction" not in found
    assert found["check"] == {"verdict": expected["check"]["verdict"]}
    assert eventually(lambda: settled(watch))
    course = known(watch, 30)["course"]
    assert [row[0] for row in course[:-1]] == study.history(1)["replications"].tolist()[:-1]
    sure = expected["certainty"]
    assert course[-1] == [30, sure["pcs_e"], sure["pcs_m"], sure["p_all"], sure["eoc"]]


def test_nothing_is_worked_out_again_while_nothing_changes(
    study: Study, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, looks, usual = counted(monkeypatch), [], StudyWatch._make_pictures

    def look(self: StudyWatch) -> None:
        looks.append(self)
        usual(self)

    monkeypatch.setattr(StudyWatch, "_make_pictures", look)
    watch = watched()
    known(watch, 30)
    assert eventually(lambda: settled(watch))
    version, before = watch.state()["picture"], len(looks)
    assert eventually(lambda: watch.state()["picture"] != version or len(looks) > before + 5)
    assert watch.state()["picture"] == version
    assert calls == [30]
    study.run(33)
    assert [row[0] for row in known(watch, 33)["course"]][-1] == 33
    assert watch.state()["picture"] != version
    assert calls[-1] == 33


def test_a_slow_model_keeps_nobody_waiting(
    study: Study, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = threading.Event()
    calls = counted(monkeypatch, ready)
    watch = watched()
    assert eventually(lambda: calls == [30])
    study.run(35)
    assert watch.state()["picture"] is None
    assert eventually(lambda: watch.state()["standing"]["replications"] == 35)  # progress goes on meanwhile
    assert calls == [30]
    ready.set()
    assert known(watch, 35)["course"][-1][0] == 35


def test_nobody_asking_means_nobody_computing(
    study: Study, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = counted(monkeypatch)
    monkeypatch.setattr(watching, "INTEREST", 0.1)
    watch = watched()
    assert eventually(lambda: settled(watch))
    time.sleep(0.5)
    study.run(36)
    time.sleep(0.5)
    assert calls == [30]
    assert known(watch, 36)["course"][-1][0] == 36


def test_a_study_that_has_not_begun_has_no_picture_and_then_one(file: Path, watched: Watched) -> None:
    study = create(file)
    watch = watched()
    time.sleep(0.3)
    state = watch.state()
    assert state["picture"] is None
    assert watch.picture() is None
    assert state["troubles"] == {"reading": None, "computing": None}
    assert state["standing"]["queued"] == 24
    for trial in study.ask(6):
        study.tell(trial, 1.0 * trial.id)
    assert known(watch, 6)["course"] == []  # pairs that were never simulated: nothing to compare with
    study.run(24)
    assert known(watch, 24)["allocation"]["total"] == 24
    assert known(watch, 24)["course"][-1][0] == 24


def test_troubles_are_told_and_forgotten_once_they_are_over(
    study: Study, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def torn(study: Study, **_: bool) -> dict[str, Any]:
        raise ZeroDivisionError("one over nothing")

    monkeypatch.setattr(watching, "payload", torn)
    watch = watched()
    trouble = "ZeroDivisionError: one over nothing"
    assert eventually(lambda: watch.state()["troubles"]["computing"] == trouble)
    monkeypatch.setattr(watching, "payload", payload)
    known(watch, 30)
    assert eventually(lambda: watch.state()["troubles"]["computing"] is None)


def test_a_file_that_is_removed_is_missed(study: Study, watched: Watched, file: Path) -> None:
    watch = watched()
    known(watch, 30)
    moved = file.rename(file.with_name("moved.db"))
    assert eventually(lambda: "was removed" in str(watch.state()["troubles"]["reading"]))
    assert watch.state()["standing"]["replications"] == 30
    moved.rename(file)
    assert eventually(lambda: watch.state()["troubles"]["reading"] is None)


def test_a_study_that_is_not_there_is_named(file: Path) -> None:
    with pytest.raises(StorageError, match="there is no study 'study'"):
        StudyWatch(str(file))
    create(file)
    with pytest.raises(StorageError, match="there is no study 'other'"):
        StudyWatch(str(file), name="other")
    assert value("large", {"load": 4.0}, 0) == 1.0
