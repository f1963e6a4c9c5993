"""The three problems: their pairs, their truth, and observations that a seed decides."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from argbest.core.arrays import Array
from argbest.errors import InputError
from argbest.problems.base import Problem
from argbest.problems.covid import editions
from argbest.problems.covid.editions import allocation_problem, covid, covid_paper, covid_regional, shares
from argbest.problems.covid.parameters import Outbreak
from argbest.problems.covid.simulator import OutbreakRuns
from experiments import covid_truth

EDITIONS = {"covid": covid, "covid-regional": covid_regional, "covid-paper": covid_paper}


def runs_of(problem: Problem) -> OutbreakRuns:
    assert isinstance(problem.simulate, OutbreakRuns)
    return problem.simulate


def table(array: Array | None) -> Array:
    assert array is not None
    return array


def test_the_alternatives_are_the_papers_twelve_in_order() -> None:
    split = [[round(10 * x) for x in row.values()] for row in shares()]
    assert split == [
        *([2, 3, 5], [2, 4, 4], [2, 5, 3], [3, 2, 5], [3, 3, 4], [3, 4, 3]),
        *([3, 5, 2], [4, 2, 4], [4, 3, 3], [4, 4, 2], [5, 2, 3], [5, 3, 2]),
    ]


def test_the_contexts_are_the_papers_sixteen_with_contacts_varying_fastest() -> None:
    rows = editions.conditions()
    assert len(rows) == 16
    assert [tuple(rows[c].values()) for c in (0, 3, 12, 15)] == [
        (0.015, 6),
        (0.015, 12),
        (0.03, 6),
        (0.03, 12),
    ]


@pytest.mark.parametrize(
    ("k", "c", "mean", "sd"), [(0, 0, 1320.6, 28.5), (6, 3, 1923, 67.5), (10, 15, 4477, 250)]
)
def test_three_cells_have_the_moments_of_the_authors_simulator(
    k: int, c: int, mean: float, sd: float
) -> None:
    n = 3_000
    values = runs_of(covid_truth.unscored()).many(np.array(k), np.array(c), np.arange(n))
    # Against our own 3,000 runs and the 40,000 behind the printed mean: false-alarm rate 1e-5 each.
    assert abs(values.mean() - mean) < 4.5 * sd * np.sqrt(1 / n + 1 / 40_000) + 0.5 * (mean > 1500)
    assert abs(values.std() / sd - 1) < 4.5 / np.sqrt(2 * n) + 0.005
    shipped = covid()
    assert abs(table(shipped.truth)[k, c] - mean) < 4.5 * sd * np.sqrt(2 / 40_000) + 0.5 * (mean > 1500)
    assert table(shipped.noise_sd)[k, c] == pytest.approx(sd, rel=0.02)


@pytest.mark.parametrize("make", [covid, covid_regional])
def test_sums_over_populations_agree_with_runs_of_all_of_them(make: Any) -> None:
    problem, n = make(), 30
    k, c, seed = np.ogrid[:12, :16, :n]
    values = runs_of(problem).many(k, c, 5_000 * (16 * k + c) + seed)
    z = (values.mean(axis=-1) - table(problem.truth)) / (table(problem.noise_sd) / np.sqrt(n))
    # 192 standard normals, and as many sample variances: false-alarm rates 1e-5, 1e-5 and 1e-4.
    assert abs(z.mean()) < 4.4 / np.sqrt(192)
    assert abs((z**2).mean() - 1) < 4.4 * np.sqrt(2 / 192)
    ratio = values.var(axis=-1, ddof=1) / table(problem.noise_sd) ** 2
    assert abs(ratio.mean() - 1) < 4 * np.sqrt(2 / (n - 1) / 192)


@pytest.mark.parametrize("name", ["covid", "covid-regional"])
def test_every_distance_from_the_best_is_known_to_a_tenth(name: str) -> None:
    problem, moments = EDITIONS[name](), editions.read_moments(name)
    mean, cells = table(problem.truth), dict[tuple[int, int], set[editions.Cell]]()
    for pair, cell in editions.cells(runs_of(problem)):
        cells.setdefault(pair, set()).add(cell)
    for (k, c), value in np.ndenumerate(mean):
        best = int(problem.best[c])
        # Populations with the same share in both splits cancel.
        error = np.sqrt(sum(moments[cell].se ** 2 for cell in cells[k, c] ^ cells[best, c]))
        assert error <= 0.1 * (value - mean[best, c])


def test_a_total_has_the_moments_of_its_populations() -> None:
    problem, moments = covid(), editions.read_moments("covid")
    parts = [cell for pair, cell in editions.cells(runs_of(problem)) if pair == (6, 3)]
    assert [(cell.population, cell.tests, cell.cases) for cell in parts] == [
        *((1, 3_000, 125), (2, 5_000, 300), (3, 2_000, 500)),
    ]
    assert {(cell.infection, cell.contacts) for cell in parts} == {(0.015, 12.0)}
    assert table(problem.truth)[6, 3] == pytest.approx(sum(moments[cell].mean for cell in parts))
    assert table(problem.noise_sd)[6, 3] ** 2 == pytest.approx(sum(moments[cell].sd ** 2 for cell in parts))
    assert table(problem.truth_se)[6, 3] ** 2 == pytest.approx(sum(moments[cell].se ** 2 for cell in parts))


def test_in_covid_one_split_is_best_everywhere_by_little() -> None:
    problem = covid()
    assert problem.goal == "min"
    assert problem.best.tolist() == [0] * 16
    assert np.argsort(table(problem.truth), axis=0)[1].tolist() == [1] * 16
    assert problem.gap_over_noise.max() < 0.25
    noise = table(problem.noise_sd)
    assert 7 < noise.max() / noise.min() < 10


def test_in_the_regional_edition_the_context_decides() -> None:
    problem = covid_regional()
    assert len(set(problem.best.tolist())) == 7
    assert problem.gap_over_noise.min() > 0.06
    # The more cases in population 1, the more tests for it; the same holds for population 3.
    best = runs_of(problem).shares[problem.best].reshape(4, 4, 3)
    assert (np.diff(best[..., 0], axis=0) >= 0).all()
    assert (np.diff(best[..., 2], axis=1) >= 0).all()


@pytest.mark.parametrize("name", EDITIONS)
def test_an_edition_is_twelve_by_sixteen_with_everything_known(name: str) -> None:
    problem = EDITIONS[name]()
    assert problem.name == name
    assert problem.shape == (12, 16)
    assert problem.pcs_ceiling == pytest.approx(1.0)
    assert problem.description.count(".") == 1
    copy = pickle.loads(pickle.dumps(problem))  # noqa: S301
    assert copy.summary() == problem.summary()


@pytest.mark.parametrize("name", EDITIONS)
def test_many_observations_are_those_that_single_calls_give(name: str) -> None:
    problem: Any = EDITIONS[name]()
    rng = np.random.default_rng(2)
    k, c, seed = rng.integers(0, 12, 40), rng.integers(0, 16, 40), rng.integers(0, 2**31, 40)
    single = [
        problem.simulate(problem.alternatives.item(a), problem.contexts.item(b), int(s))
        for a, b, s in zip(k.tolist(), c.tolist(), seed.tolist(), strict=True)
    ]
    assert all(type(value) is float for value in single)
    assert problem.simulate.many(k, c, seed).tolist() == single
    assert problem.simulate.many(k[:, None], c, 9).shape == (40, 40)


def test_the_papers_truth_is_the_mean_of_thirty_runs_and_observations_shrink_towards_it() -> None:
    problem: Any = covid_paper()
    pool = editions.read_pool("covid-paper", (12, 16))
    assert pool.shape == (12, 16, 30)
    np.testing.assert_allclose(problem.truth, pool.mean(axis=-1))
    np.testing.assert_allclose(problem.noise_sd, pool.std(axis=-1) / 4)
    values = problem.simulate.many(np.array(3), np.array(7), np.arange(3_000))
    expected = 0.25 * pool[3, 7] + 0.75 * pool[3, 7].mean()
    np.testing.assert_allclose(np.unique(values), np.unique(expected))
    # The 30 runs come equally often (chi-square with 29 degrees of freedom: false-alarm rate 1e-5).
    runs = np.argmin(np.abs(values[:, None] - np.unique(expected)), axis=1)
    share = np.bincount(np.searchsorted(np.sort(expected), expected), minlength=30)
    weight = share[share > 0]
    assert ((np.bincount(runs) - 100 * weight) ** 2 / (100 * weight)).sum() < 73


def test_the_papers_pool_comes_from_the_simulator_and_shares_runs_of_population_one() -> None:
    problem, pool = covid_paper(), editions.read_pool("covid-paper", (12, 16))
    assert (covid_truth.pool(runs_of(covid_truth.unscored())) == pool).all()
    shipped = covid()
    z = (table(problem.truth) - table(shipped.truth)) / (table(shipped.noise_sd) / np.sqrt(30))
    # Alternatives with the same share of population 1 go together, contexts do not: a context's mean has a
    # standard deviation of 0.32, the mean square one of 0.103. False-alarm rates 6e-6 and 2e-5.
    assert np.abs(z.mean(axis=0)).max() < 1.65
    assert 0.6 < (z**2).mean() < 1.55


def test_a_table_is_written_and_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    covid_truth.main(["covid-regional", "--runs", "3", "--out", str(tmp_path)])
    text = (tmp_path / "covid-regional.csv").read_text()
    assert "python -m experiments.covid_truth covid-regional --runs 3" in text.splitlines()[1]
    monkeypatch.setattr(editions, "files", lambda _: tmp_path.parent)
    tmp_path.rename(tmp_path.parent / "data")
    moments = editions.read_moments("covid-regional")
    assert {m.runs for m in moments.values()} == {3, 60}  # leaders get up to twenty times as many
    assert set(moments) == {cell for _, cell in editions.cells(runs_of(covid_truth.unscored_regional()))}


def test_a_table_says_where_the_leaders_are_not_told_apart_as_well_as_wanted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    covid_truth.main(["covid", "--runs", "3", "--out", str(tmp_path)])
    told = capsys.readouterr().err
    assert "context 0: the gap between the leaders is known to" in told
    assert "of itself, wanted 0.09, though some of their cells have 60 runs, the most allowed." in told
    monkeypatch.setattr(covid_truth, "PRECISION", 1e9)  # whatever is known is enough
    covid_truth.main(["covid", "--runs", "3", "--out", str(tmp_path)])
    assert "leaders" not in capsys.readouterr().err


def test_a_table_of_single_runs_is_refused() -> None:
    with pytest.raises(InputError, match="--runs must be a whole number ≥ 2, got 1"):
        covid_truth.main(["covid", "--runs", "1"])


def test_own_populations_supplies_and_contexts_make_a_problem() -> None:
    outbreak = Outbreak(sizes=(300, 500), cases=(10, 5), days=7)
    problem = allocation_problem(
        shares(2, lots=4, least=1, most=3),
        [{"tests": tests, "cases_2": n} for tests in (20, 40) for n in (5, 50)],
        outbreak=outbreak,
        name="two towns",
    )
    runs = runs_of(problem)
    assert problem.shape == (3, 4)
    assert problem.truth is None
    value = runs({"share_1": 0.25, "share_2": 0.75}, {"tests": 20, "cases_2": 50}, 1)
    assert 60 <= value <= 800


@pytest.mark.parametrize(
    ("alternatives", "contexts", "message"),
    [
        ([{"a": 1.0}, {"a": 0.5}], [{"tests": 5}], r"expected \['share_1', 'share_2', 'share_3'\]"),
        (
            [{"share_1": 0.5, "share_2": 0.5, "share_3": x} for x in (0, 0.2)],
            [{"tests": 5}],
            "alternative 1 has",
        ),
        (shares(), [{"infections": 0.1}], "unknown context column 'infections'.*Did you mean 'infection'"),
        (shares(), ["a", "b"], "got contexts without columns"),
        (shares(), [{"infection": 0.1}, {"infection": 1.1}], "infection must be from 0 to 1, got 1.1"),
        (shares(), [{"tests": 1e7}], "the chance of a person to be tested"),
        (shares(), [{"cases_1": 50_001}], "cases must be from 0 to 50000"),
    ],
)
def test_pairs_without_a_meaning_are_refused_before_any_run(
    alternatives: Any, contexts: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        allocation_problem(alternatives, contexts)


def test_a_table_that_lacks_a_cell_is_refused() -> None:
    with pytest.raises(InputError, match="the table has no row for Cell"):
        allocation_problem(shares(), [{"infection": 0.5}], table=editions.read_moments("covid"))


def test_making_a_problem_does_not_import_numba() -> None:
    code = (
        "import sys; from argbest.problems.covid.editions import *; "
        "covid(); covid_paper(); covid_regional(); sys.exit('numba' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lots": 0}, "lots must be a whole number"),
        ({"least": 0.2}, "least must be a whole number"),
        ({"least": 6, "most": 8}, "no 3 whole numbers from 6 to 8 add up to 10 lots"),
        ({"least": 5, "most": 2}, "no 3 whole numbers from 5 to 2 add up"),
    ],
)
def test_impossible_splits_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        editions.shares(**options)


@pytest.mark.parametrize("seed", [1.5, "x", -1])
def test_the_pool_takes_whole_numbers_as_seeds_like_the_simulator(seed: Any) -> None:
    problem = editions.covid_paper()
    assert problem.simulate is not None
    with pytest.raises(InputError, match="seed"):
        problem.simulate(problem.alternatives.item(0), problem.contexts.item(0), seed)
