from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from postgres import Server, postgres

from argbest.storage.sql import SQLStorage

__all__ = ["postgres"]

Opened = Callable[..., SQLStorage]


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind, as a user would name it."""
    if request.param == "sqlite":
        return str(tmp_path / "study.db")
    server: Server = request.getfixturevalue("postgres")
    return server.new_database()


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Open storages that are closed at the end of the test."""
    found: list[SQLStorage] = []

    def opened(url: str | Path, *, name: str = "study") -> SQLStorage:
        found.append(SQLStorage(url, name=name))
        return found[-1]

    yield opened
    for storage in found:
        storage.close()
