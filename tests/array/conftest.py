import pytest


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("argbest.array.coordinator.POLL", 0.02)
    monkeypatch.setattr("argbest.array.tasks.POLL", 0.02)
