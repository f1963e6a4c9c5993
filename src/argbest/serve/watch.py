"""Watching a stored study: two threads read it, and write nothing, while somebody has the page open.

One reads how far the study is, which is quick. The other works out what is known, which may mean to fit a
model: once for each state of the study, however many ask, and nobody waits for it.
"""

import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib import metadata
from typing import NoReturn, TypeAlias

import numpy as np
import sqlalchemy as sa

from argbest.answers.overview import progress
from argbest.core import schedule
from argbest.errors import ArgbestError, StorageError, TooFewDataError
from argbest.jsonable import value
from argbest.report.curves import row_labels
from argbest.report.page.studies import payload
from argbest.storage.base import Event, Plain
from argbest.storage.schema import studies, version
from argbest.storage.sql import SQLStorage
from argbest.study.study import Study

# Replications, PCS_E, PCS_M, P(all) and EOC; what was not worked out is None.
Point: TypeAlias = tuple[int, float | None, float | None, float | None, float | None]
MEASURES = ("pcs_e", "pcs_m", "p_all", "eoc")
MOST_POINTS = 240  # of a course; a screen shows no more
MOST_FAILURES = 20  # the last ones, told in detail
MOST_SET_ASIDE = 100
_LONGEST_REASON = 500  # characters of a reason
LOOK = 1.0  # seconds between two looks at the storage
INTEREST = 15.0  # seconds after the last question for which the study is watched
_SHARE_OF_A_CORE = 1 / 3  # of one core, at most, for working out what is known: simulations need the rest
_PAST_POINTS, _PAST_SECONDS = 12, 20.0  # of the past at most, worked out in at most so many seconds


class Reading(SQLStorage):
    """One study in a database, to look at. ``revision`` is how many of its events were read."""

    def __init__(self, url: str | os.PathLike[str], *, name: str = "study") -> None:
        super().__init__(url, name=name)
        self.revision = 0
        words = "SET default_transaction_read_only = on" if self.path is None else "PRAGMA query_only = ON"
        sa.event.listen(self._way.own.engine, "connect", lambda connection, _: connection.execute(words))

    def __str__(self) -> str:
        return str(self._place)

    def definition(self) -> Plain | None:
        """Return the definition, None if there is no study of this name."""
        if not self._place.missing():
            self._need_our_version()
        return super().definition()

    def since(self, revision: int) -> Sequence[Event]:
        """Return all events but the first ``revision``."""
        found = super().since(revision)
        self.revision = revision + len(found)
        return found

    def _need_our_version(self) -> None:
        newest = sa.select(sa.func.max(studies.c.schema_version))
        with self._way.connection() as connection, self._way.explained():
            there = sa.inspect(connection).has_table(studies.name)
            found = connection.execute(newest).scalar_one() if there else None
        if found not in (None, version()):
            raise StorageError(
                f"{self._place} was written by another version of argbest, which the live view cannot edit. "
                "`argbest status` updates an older one; for a newer one, upgrade argbest."
            )

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise StorageError(f"{self._place} is opened read-only here.")

    create = greet = exclusive = _refuse


class StudyWatch:
    """How a stored study stands; after a first look it is watched only while somebody asks."""

    def __init__(self, storage: str, *, name: str = "study") -> None:
        self._storage = Reading(storage, name=name)
        self._study = Study.load(self._storage, name=name)
        self._where = storage, name
        self.title: str = self._study.problem.name
        self._instance = secrets.token_hex(4)
        self._over, self._wanted = threading.Event(), threading.Event()
        self._asked = 0.0
        self._troubles: dict[str, str | None] = {"reading": None, "computing": None}
        self._make_pictureser: _PictureMaker | None = None
        self._picture: tuple[str, bytes, int] | None = None  # version, JSON, replications
        self._standing: Plain = standing(self._study)

    def start(self) -> None:
        """Begin to watch."""
        for name, work, share in (
            ("reading", self._look, 1.0),
            ("computing", self._make_pictures, _SHARE_OF_A_CORE),
        ):
            args = name, work, share
            threading.Thread(target=self._go_on, args=args, name=f"argbest {name}", daemon=True).start()

    def close(self) -> None:
        """Let the threads end; one that is fitting a model ends with the process, and nobody waits for it."""
        self._over.set()
        self._wanted.set()

    def state(self) -> Plain:
        """Return how the study stands, at once; ``picture`` names the version of what is known."""
        self._asked = time.monotonic()
        self._wanted.set()
        picture = self._picture
        return {
            "instance": self._instance,
            "argbest": metadata.version("argbest"),
            "study": self._study.definition["id"],
            "title": self.title,
            "standing": self._standing,
            "picture": None if picture is None else picture[0],
            "picture_replications": None if picture is None else picture[2],
            "troubles": self._troubles,
        }

    def picture(self) -> tuple[str, bytes] | None:
        """Return what is known, the payload of a report and the course, as (version, JSON)."""
        return None if self._picture is None else self._picture[:2]

    def _go_on(self, name: str, work: Callable[[], None], share: float) -> None:
        while not self._over.is_set():
            begun = time.thread_time()
            try:
                work()
                trouble = None
            except ArgbestError as error:
                trouble = str(error)
            except Exception as error:  # a page that says so is of more use than one that stands still
                trouble = f"{type(error).__name__}: {error}"
            self._troubles = self._troubles | {name: trouble}
            took = time.thread_time() - begun
            self._over.wait(max(LOOK, took / share - took))
            if time.monotonic() - self._asked > INTEREST:
                self._wanted.clear()
            while not self._wanted.wait(LOOK) and not self._over.is_set():
                pass
        if name == "reading":
            self._storage.close()
        elif self._make_pictureser is not None:
            self._make_pictureser.close()

    def _look(self) -> None:
        self._study.refresh()
        self._stand(standing(self._study))

    def _make_pictures(self) -> None:
        if self._make_pictureser is None:
            self._make_pictureser = _PictureMaker(*self._where)
        for number, data, now in self._make_pictureser.pictures():
            self._stand(now)
            self._picture = f"{self._instance}-{number}", data, now["replications"]

    def _stand(self, now: Plain) -> None:
        """Keep how the study stands, unless the other thread has read more events."""
        if now["replications"] >= self._standing["replications"]:
            self._standing = now


class _PictureMaker:
    """Works out the picture from a study object of its own, while the other thread goes on reading."""

    def __init__(self, storage: str, name: str) -> None:
        self._storage = Reading(storage, name=name)
        self._study = Study.load(self._storage, name=name)
        self._drawn = -1  # the revision that the last picture shows
        self._number = 0
        self._course: list[Point] = []

    def close(self) -> None:
        """Let go of files and connections."""
        self._storage.close()

    def pictures(self) -> Iterator[tuple[int, bytes, Plain]]:
        """Yield pictures newer than the last, numbered, and how the study stood then.

        There is none, or one; after the first a second one follows, with the past.
        """
        study = self._study.refresh()
        if self._storage.revision == self._drawn or not study.n_replications:
            return
        begun, first = time.monotonic(), not self._course
        data = payload(study, anywhere=False)
        del data["prediction"], data["failures"]
        data["check"] = {"verdict": data["check"]["verdict"]}
        designed = not study.n_queued  # before that, certainty has no course yet: pairs were never simulated
        if designed:
            sure = data["certainty"]
            point = study.n_replications, *(sure[name] for name in MEASURES)
            self._course = extended(self._course, point)
        yield self._finished(data)
        self._drawn = self._storage.revision
        points = min(_PAST_POINTS, int(_PAST_SECONDS / (time.monotonic() - begun)), self._refits())
        if designed and first and points > 0:
            with suppress(TooFewDataError):
                earlier = [each for each in past(study, points) if each[0] < study.n_replications]
                self._course = [*earlier, *self._course]
                yield self._finished(data)

    def _refits(self) -> int:
        """Return how often the model was learned anew since the initial design; in between little changes."""
        study = self._study
        begun = len(study.view().design or ())
        return schedule.fits(study.model, study.refit_every, begun, study.n_replications)

    def _finished(self, data: Plain) -> tuple[int, bytes, Plain]:
        self._number += 1
        whole = data | {"course": self._course, "revision": self._storage.revision}
        now = standing(self._study)
        return self._number, json.dumps(whole, allow_nan=False).encode(), now


def standing(study: Study) -> Plain:
    """Return how far a study is, its last failures (the latest first) and the pairs set aside."""
    problem, view = study.problem, study.view()
    failed = sorted(view.failed, reverse=True)[:MOST_FAILURES]
    aside = np.argwhere(view.set_aside).tolist() if failed else []
    labels = [row_labels(axis) for axis in (problem.alternatives, problem.contexts) if failed]

    def named(pair: Sequence[int]) -> list[str]:
        return [each[i] for each, i in zip(labels, pair, strict=True)]

    return {
        **progress(study),
        "failures": [
            [i, *named(view.trials.pair(i)), view.failed[i].reason[:_LONGEST_REASON]] for i in failed
        ],
        "set_aside": {"total": len(aside), "pairs": [named(pair) for pair in aside[:MOST_SET_ASIDE]]},
    }


def past(study: Study, points: int) -> list[Point]:
    """Return the course before the view was opened, by fitting the model to what was known then."""
    rows = study.history(points).iloc[:-1].to_dict("records")
    return [(int(row["replications"]), *(value(row.get(name)) for name in MEASURES)) for row in rows]


def extended(course: Sequence[Point], point: Point) -> list[Point]:
    """Return the course with a newer point at its end; of too many, half of them stay, evenly spread."""
    kept = [each for each in course if each[0] < point[0]]
    if len(kept) >= MOST_POINTS:
        width = 2 * (point[0] - kept[0][0]) / MOST_POINTS
        kept = list({int((each[0] - kept[0][0]) / width): each for each in reversed(kept)}.values())[::-1]
    return [*kept, point]
