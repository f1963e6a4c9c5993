from collections.abc import Iterator

import pytest
from coarse import few_draws
from report.page_studies import list_few


@pytest.fixture(autouse=True, scope="module")
def _few_draws() -> Iterator[None]:
    with few_draws():
        yield


@pytest.fixture(autouse=True)
def _few_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    list_few(monkeypatch)
