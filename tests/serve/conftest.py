from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres import postgres
from serve.crowd import create
from serve.live import serving

from argbest import Study
from argbest.serve import watch
from argbest.serve.server import LiveView

__all__ = ["postgres"]


@pytest.fixture(autouse=True, scope="module")
def _hurry(few_draws: None) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watch, "LOOK", 0.05)
        patch.setattr(watch, "_SHARE_OF_A_CORE", 0.9)
        yield


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


@pytest.fixture
def study(file: Path) -> Study:
    """A stored study with 30 of 40 replications."""
    return create(file, budget=40, initial=1).run(30)


@pytest.fixture(scope="module")
def view(_hurry: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveView]:
    """A live view of such a study, for all who only look."""
    file = tmp_path_factory.mktemp("view") / "study.db"
    create(file, budget=40).run(30)
    with serving(file) as opened:
        yield opened
