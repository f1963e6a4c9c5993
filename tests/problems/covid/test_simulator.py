"""Runs of several populations: people are conserved, seeds decide, contagion raises infections."""

from typing import Any

import numpy as np
import pytest

from argbest.problems.covid import simulator
from argbest.problems.covid.parameters import Outbreak, Stay
from argbest.problems.covid.simulator import COMPARTMENTS, curves, infections

EVEN = (0.3, 0.3, 0.4)
SMALL = Outbreak(sizes=(400, 900), cases=(20, 30), tests=60.0)


def random_outbreak(rng: np.random.Generator) -> tuple[Outbreak, Any]:
    sizes = rng.integers(1, 400, 3)
    chances: dict[str, Any] = {
        name: float(rng.random())
        for name in ("mild_share", "false_negative", "false_positive", "self_report", "recall")
    }
    leaving: dict[str, Any] = {name: float(rng.random()) for name in ("leave_infected", "leave_healthy")}
    outbreak = Outbreak(
        sizes=tuple(map(int, sizes)),
        cases=tuple(int(rng.integers(0, n + 1)) for n in sizes),
        tests=float(rng.random() * sizes.min()),
        infection=float(rng.random()),
        contacts=float(rng.random() * 20),
        days=int(rng.integers(1, 12)),
        exposed=Stay(float(rng.random() * 3), int(rng.integers(0, 5))),
        infectious=Stay(float(rng.random() * 9), int(rng.integers(0, 9))),
        late=Stay(float(rng.random() * 9), int(rng.integers(1, 20))),
        tracing_delay=int(rng.integers(0, 4)),
        tracing_window=float(rng.random() * 9),
        **chances,
        **leaving,
    )
    return outbreak, rng.dirichlet(np.ones(3))


def test_nobody_appears_or_vanishes_on_any_day_whatever_the_parameters() -> None:
    rng = np.random.default_rng(0)
    for trial in range(100):
        outbreak, shares = random_outbreak(rng)
        people = curves(outbreak, shares, np.arange(20) + trial)
        assert people.shape == (20, 3, outbreak.days + 1, 9)
        assert (people >= 0).all()
        assert (people.sum(axis=-1) == np.array(outbreak.sizes)[:, None]).all()
        ever = people[..., [1, 2, 3, 4, 5, 7, 8]].sum(axis=-1)
        assert (np.diff(ever, axis=-1) >= 0).all()  # nobody gets un-infected
        assert (ever[..., 0] == outbreak.cases).all()


def test_infections_are_what_the_curves_end_with() -> None:
    seeds = np.arange(50)
    people = curves(SMALL, (0.5, 0.5), seeds)[..., -1, :]
    susceptible = people[..., COMPARTMENTS.index("S")] + people[..., COMPARTMENTS.index("QS")]
    assert (infections(SMALL, (0.5, 0.5), seeds) == np.array(SMALL.sizes) - susceptible).all()


def test_without_contagion_nobody_is_infected_beyond_the_first_cases() -> None:
    for quiet in ({"infection": 0.0}, {"contacts": 0.0}):
        assert (infections(SMALL, (0.5, 0.5), np.arange(30), **quiet) == SMALL.cases).all()
    assert (infections(SMALL, (0.5, 0.5), np.arange(30), cases=(0, 0)) == 0).all()


def test_certain_contagion_infects_everybody() -> None:
    everybody = infections(SMALL, (0.0, 0.0), np.arange(30), infection=1.0, contacts=1e4)
    assert (everybody == SMALL.sizes).all()


def test_a_batch_is_its_runs_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    seeds, contacts = rng.integers(0, 2**31, (6, 5)), rng.uniform(4, 12, (6, 1))
    shares = rng.dirichlet(np.ones(2), (5,))
    batch = infections(SMALL, shares, seeds, contacts=contacts)
    assert batch.shape == (6, 5, 2)
    monkeypatch.setattr(simulator, "_AT_ONCE", 7)  # in chunks
    assert (infections(SMALL, shares, seeds, contacts=contacts) == batch).all()
    for i, j in np.ndindex(6, 5):
        alone = infections(SMALL, shares[j], int(seeds[i, j]), contacts=float(contacts[i, 0]))
        assert (alone == batch[i, j]).all()


def test_a_populations_run_does_not_depend_on_the_others() -> None:
    seeds = np.arange(200)
    base = infections(Outbreak(), EVEN, seeds)
    moved = infections(Outbreak(), (0.4, 0.2, 0.4), seeds, cases=(1, 2, 500))
    assert (base[:, 2] == moved[:, 2]).all()
    assert (base[:, :2] != moved[:, :2]).any(axis=0).all()
    # Nor do their runs go together: 3 correlations within 5 standard errors, false-alarm rate 2e-6.
    assert np.abs(np.asarray(np.corrcoef(base.T))[np.triu_indices(3, 1)]).max() < 5 / np.sqrt(200)


@pytest.mark.parametrize(
    ("name", "values", "direction"),
    [
        ("infection", (0.015, 0.02, 0.025, 0.03), 1),
        ("contacts", (6.0, 8.0, 10.0, 12.0), 1),
        ("cases", ((300,), (400,), (500,), (600,)), 1),
        ("tests", (2_000.0, 3_000.0, 4_000.0, 5_000.0), -1),
    ],
)
def test_more_contagion_means_more_infections_and_more_tests_fewer(
    name: str, values: tuple[Any, ...], direction: int
) -> None:
    one = Outbreak(sizes=(100_000,), cases=(500,), tests=3_000, infection=0.025)
    ever = np.array(
        [infections(one, (1.0,), np.arange(600) + 1_000 * i, **{name: v}) for i, v in enumerate(values)]
    )
    # The true steps are 13 to 76 standard errors: all twelve exceed 4, false-alarm rate below 1e-18.
    step = direction * np.diff(ever[..., 0].mean(axis=1))
    error = np.sqrt(np.asarray(ever[1:, :, 0].var(axis=1)) / 600 * 2)
    assert (step > 4 * error).all()


def test_tracing_at_once_is_possible_and_finds_more_than_tracing_late() -> None:
    late = [
        infections(Outbreak(tracing_delay=d), EVEN, np.arange(400), infection=0.03).sum(1).mean()
        for d in (0, 2, 20)
    ]
    # The true differences, 466 and 1,409 infections, are 42 and 121 standard errors: no false alarms.
    assert late[0] < late[1] < late[2]
