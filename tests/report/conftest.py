import pytest
from report.page_studies import list_few


@pytest.fixture(autouse=True, scope="module")
def _few_draws(few_draws: None) -> None:
    """All pages rest on few draws."""


@pytest.fixture(autouse=True)
def _few_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    list_few(monkeypatch)
