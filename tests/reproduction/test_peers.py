"""The comparison with other methods: own methods against publications, packages where they are installed."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.stats import binom, norm

from argbest import Problem, Study, registry, streams
from argbest.core.arrays import Array
from argbest.policies.ocba import ocba_ratios
from argbest.problems.axis import Axis
from argbest.problems.noisy_table import table_problem
from experiments import peer_methods, peer_packages, peers, peers_page, peers_tables
from experiments.peer_methods import Look, Task, halving_plan, kn_constant, kn_run


def small(truth: Array, noise_sd: float = 1.0) -> Problem:
    rows, columns = truth.shape
    return table_problem(
        Axis.of("alternative", [{"level": k} for k in range(rows)]),
        Axis.of("context", [{"x": c} for c in range(columns)]),
        truth=truth,
        noise_sd=np.full(truth.shape, noise_sd),
    )


def task_of(problem: Problem, seed: int = 0) -> Task:
    return Task(problem, seed, peers.LOOKS, peers.stakes(problem))


EASY = small(np.array([[0.0, 2.0, 1.0], [1.0, 0.0, 3.0], [3.0, 1.0, 0.0], [0.5, 0.5, 0.5]]), 0.05)


# --- Equal allocation -------------------------------------------------------------------------------------


def test_equal_allocation_names_the_largest_averages() -> None:
    task = task_of(registry.problem("newsvendor"))
    values = task.draws(5, common=True)[..., :5]
    [look] = [look for look in peer_methods.equal(task, 5.0) if look.samples == 5 * task.pairs]
    assert look.selected.tolist() == np.mean(values, axis=-1).argmax(axis=0).tolist()


def test_a_task_gives_every_replication_the_value_that_a_study_gets() -> None:
    problem = registry.problem("queue-staffing")
    study = Study(problem, seed=7, initial=1).run(problem.n_alternatives * problem.n_contexts)
    frame = study.observations()
    k, c = problem.alternatives.locate(frame), problem.contexts.locate(frame)
    drawn = task_of(problem, 7).draws(1, common=True)[..., 0]
    np.testing.assert_allclose(problem.sign * frame["value"].to_numpy(), drawn[k, c])


def test_a_weighted_sum_of_responses_is_simulated_as_its_truth_says() -> None:
    problem, n = peers.PROBLEMS["facility-sizing"](0), 2_000
    [cost, chance] = (problem.truths[name] for name in ("cost", "stockout"))
    total = -task_of(problem).draws(n, common=False)[..., :n].sum(axis=-1) - n * cost
    counts = np.rint(total / peers.STOCK_OUT).astype(int)
    np.testing.assert_allclose(counts * peers.STOCK_OUT, total, atol=1e-6 * n * peers.STOCK_OUT)
    tail = np.minimum(binom.cdf(counts, n, chance), binom.sf(counts - 1, n, chance))
    assert tail.min() > 1e-6  # of 135 pairs: a false alarm in one of 3,700 seeds


# --- OCBA -------------------------------------------------------------------------------------------------


def test_ocba_allocates_as_the_textbook_does() -> None:
    # Chen and Lee, Stochastic Simulation Optimization, p. 49: the smallest mean is best, 50 replications.
    shares = ocba_ratios(-np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([1.0, 1.0, 9.0, 9.0, 4.0]))
    assert np.rint(50 * shares).tolist() == [11, 9, 19, 9, 2]


def test_ocba_is_right_and_sure_in_every_context_of_its_own() -> None:
    mean, sd = np.array([3.0, 2.0, 1.0, 0.0]), np.array([1.0, 2.0, 1.5, 3.0])
    truth = np.stack([mean, mean[::-1]], axis=1)
    problem = table_problem(
        EASY.alternatives,
        Axis.of("context", ["one", "two"]),
        truth=truth,
        noise_sd=np.stack([sd, sd[::-1]], axis=1),
    )
    task = task_of(problem)
    *_, last = peer_methods.ocba(task, 128.0)
    assert last.selected.tolist() == [0, 3]
    assert last.samples == 128 * task.pairs
    assert last.claimed is not None
    assert last.claimed > 0.99


def test_the_approximate_probability_is_bonferronis_bound() -> None:
    mean, var, count = np.array([[2.0, 1.0, 0.0]]), np.array([[1.0, 2.0, 4.0]]), np.array([[10, 10, 20]])
    found = peer_methods.approximate_pcs(mean, var * (count - 1), count)
    by_hand = 1 - norm.cdf(-1 / np.sqrt(0.1 + 0.2)) - norm.cdf(-2 / np.sqrt(0.1 + 0.2))
    assert found == pytest.approx([by_hand])


# --- KN ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "first"), [(2, 10), (5, 10), (10, 20), (100, 24)])
def test_the_constant_of_kn_solves_fabians_equation(k: int, first: int) -> None:
    # Kim and Nelson (2001), equation for c = 1: (1/2) (1 + 2 eta)^(-(n0 - 1)/2) = alpha / (k - 1).
    eta = kn_constant(k, first, 0.95) / (2 * (first - 1))
    assert 0.5 * (1 + 2 * eta) ** (-(first - 1) / 2) == pytest.approx(0.05 / (k - 1))


def kn_in_loops(values: Array, zone: float) -> tuple[int, int]:
    """KN as its publication states it, one replication after the other."""
    n0, left = 10, list(range(len(values)))
    h2 = kn_constant(len(values), n0)
    spread = {(i, j): np.var(values[i, :n0] - values[j, :n0], ddof=1) for i in left for j in left if i != j}
    most = max(int(h2 * each / zone**2) for each in spread.values())
    taken, r = n0 * len(values), n0
    if n0 > most:
        return int(values[:, :n0].mean(axis=1).argmax()), taken
    while True:
        mean = {i: float(values[i, :r].mean()) for i in left}

        def near(i: int, j: int, r: int = r) -> float:
            return max(0.0, zone / (2 * r) * (h2 * float(spread[i, j]) / zone**2 - r))

        left = [i for i in left if all(mean[i] >= mean[j] - near(i, j) for j in left if j != i)]
        if len(left) == 1:
            return left[0], taken
        if r == most + 1:
            return max(left, key=lambda i: mean[i]), taken
        r += 1
        taken += len(left)


@pytest.mark.parametrize("seed", range(12))
def test_kn_is_the_published_procedure_in_loops(seed: int) -> None:
    random = np.random.default_rng(seed)
    k, zone = int(random.integers(2, 7)), float(random.uniform(0.1, 1.5))
    values = random.normal(random.normal(size=(k, 1)), random.uniform(0.5, 2.0, (k, 1)), (k, 20_000))
    assert kn_run(lambda some, a, b: values[some, a:b], k, zone) == kn_in_loops(values, zone)


def test_kn_keeps_its_promise_where_all_others_are_a_zone_behind() -> None:
    # The hardest configuration: P(right) is at least .95. Below 177 of 200 has a chance of 1e-4.
    random, right = np.random.default_rng(1), 0
    for _ in range(200):
        values = random.normal(size=(5, 4_000)) + np.array([0.3, 0, 0, 0, 0])[:, None]
        right += kn_run(lambda some, a, b, values=values: values[some, a:b], 5, 0.3)[0] == 0  # type: ignore[misc]
    assert right >= 177


def test_kn_says_nothing_when_it_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_methods, "KN_MOST", 20)
    assert list(peer_methods.kn(task_of(small(np.zeros((3, 2)) + 1e-9 * np.eye(3)[:, :2])), 0.0)) == []


# --- Sequential halving -----------------------------------------------------------------------------------


def test_the_rounds_of_halving_cost_about_the_same() -> None:
    # Karnin, Koren and Somekh (2013), Algorithm 1: floor(T / (|S| ceil(log2 K))) each.
    assert halving_plan(8, 48) == [(8, 2), (4, 4), (2, 8)]
    assert halving_plan(10, 100) == [(10, 2), (5, 5), (3, 8), (2, 12)]


@pytest.mark.parametrize("k", [2, 3, 5, 10, 27])
@pytest.mark.parametrize("n", [1, 2, 5, 15, 64])
def test_halving_keeps_its_budget_and_ends_with_one(k: int, n: int) -> None:
    plan = halving_plan(k, n * k)
    assert sum(size * each for size, each in plan) <= n * k
    assert all(each > 0 for _, each in plan)
    assert len(plan) == 1 or -(-plan[-1][0] // 2) == 1


def test_halving_finds_the_best_of_an_easy_table() -> None:
    *_, last = peer_methods.halving(task_of(EASY), 15.0)
    assert last.selected.tolist() == EASY.best.tolist()


# --- Packages ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "package"), [("optuna", "optuna"), ("botorch", "botorch"), ("smac", "smac")]
)
@pytest.mark.filterwarnings("default")
def test_a_package_learns_an_easy_table(name: str, package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: it is in the dependency group `peers`")
    looks = list(getattr(peer_packages, name)(task_of(EASY), 3.0))
    assert looks
    assert all(look.samples <= 3.5 * 12 for look in looks)
    right = EASY.good(looks[-1].selected).mean()
    assert right >= (1 / 3 if name == "smac" else 2 / 3)  # SMAC3 names one alternative for all contexts


def test_alternatives_on_a_grid_are_integers_and_others_a_category() -> None:
    grid = Axis.of("alternative", [{"a": a, "b": b} for b in (3, 1) for a in (0.5, 0.1, 0.9)])
    space = peer_packages.Space.of(grid)
    assert space.sizes == {"a": 3, "b": 2}
    for (a, b), k in space.place.items():
        assert grid.item(k) == {"a": (0.1, 0.5, 0.9)[a], "b": (1, 3)[b]}
    for other in (["x", "y"], [{"a": 0, "b": 0}, {"a": 1, "b": 1}, {"a": 1, "b": 0}]):
        axis = Axis.of("alternative", other)
        assert peer_packages.Space.of(axis).sizes == {}
        assert peer_packages.Space.of(axis).place == {(k,): k for k in range(len(axis))}


def test_features_are_in_the_unit_interval_and_names_are_marked() -> None:
    axis = Axis.of(
        "context", [{"rate": 10, "day": "mon"}, {"rate": 30, "day": "sun"}, {"rate": 20, "day": "mon"}]
    )
    table, names = peer_packages.features(axis)
    assert table.tolist() == [[0.0, 0.0], [1.0, 1.0], [0.5, 0.0]]
    assert names == [1]


# --- The experiment ---------------------------------------------------------------------------------------


def test_stakes_are_best_minus_median() -> None:
    assert peers.stakes(small(np.array([[0.0, 5.0], [1.0, 1.0], [4.0, 3.0]]))) == pytest.approx(
        (3.0 + 2.0) / 2
    )


def test_macro_replications_are_as_many_as_fit() -> None:
    assert peers.wanted([], 60.0) == 20
    assert peers.wanted([9.0, 5.0], 60.0) == 12
    assert peers.wanted([100.0], 60.0) == 3
    assert peers.wanted([0.1], 60.0) == 20


def _right_from_three(task: Task, most: float) -> Iterator[Look]:
    best = task.problem.best
    for n in task.rounds(most):
        yield Look(n * task.pairs, best if n >= 3 else (best + 1) % 4, 0.9)


def _never_right(task: Task, most: float) -> Iterator[Look]:
    for n in task.rounds(most):
        yield Look(n * task.pairs, (task.problem.best + 1) % 4)


@pytest.fixture
def staged(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = {
        "OCBA": peers.Entry(_right_from_three),
        "equal": peers.Entry(_never_right),
        "absent": peers.Entry(_never_right, package="no_such_package"),
    }
    monkeypatch.setattr(peers, "METHODS", entries)
    monkeypatch.setattr(peers, "PROBLEMS", {"easy": lambda _: EASY})
    monkeypatch.setattr(peers_tables, "PROBLEMS", {"easy": lambda _: EASY})
    monkeypatch.setattr(peers_page, "PROBLEMS", {"easy": lambda _: EASY})
    monkeypatch.setattr(peers, "FEW", {"easy": 2})


@pytest.fixture
def rows(tmp_path: Path, staged: None) -> pd.DataFrame:
    done = CliRunner().invoke(peers.main, ["--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "absent is not installed" in done.output
    assert "--group peers" in done.output
    return pd.read_csv(tmp_path / "runs.csv")


def test_what_was_run_is_not_run_again_and_what_is_missing_is_left_out(
    tmp_path: Path, rows: pd.DataFrame
) -> None:
    found = rows.groupby("method")["seed"].nunique().to_dict()
    assert found == {"argbest": 2, "OCBA": 20, "equal": 20}
    first = (tmp_path / "runs.csv").read_bytes()
    assert CliRunner().invoke(peers.main, ["--out", str(tmp_path)]).exit_code == 0
    assert (tmp_path / "runs.csv").read_bytes() == first


def test_side_by_side_is_the_live_study_of_its_seed(rows: pd.DataFrame) -> None:
    ours = rows[(rows["method"] == "argbest") & (rows["budget"] == 15.0) & (rows["seed"] == 1)]
    seed = int(streams.roots(peers.SEED, 1))
    for look in peers.live(Task(EASY, seed, peers.LOOKS, peers.stakes(EASY)), 15.0):
        [there] = ours[ours["samples"] == look.samples]["right"]
        assert there == EASY.good(look.selected).mean()


@pytest.mark.usefixtures("staged")
def test_tables_and_page_say_who_was_first(rows: pd.DataFrame, tmp_path: Path) -> None:
    found = peers_tables.tables(rows)
    needed = found["needed"].set_index("method")["per_pair"]
    assert needed["OCBA"] == 3.0
    assert needed["equal"] == np.inf
    standing = found["standing"].iloc[0]
    assert standing["who"] == "OCBA"
    assert standing["fewest"] == (needed["argbest"] <= 3.0)
    claims = found["claims"]
    assert claims[claims["method"] == "OCBA"]["claimed"].tolist() == [pytest.approx(0.9)] * 3
    text = peers_page.on_page(found)
    assert "> 15" in text["needed"]
    (tmp_path / "peers.md").write_text("<!-- peers: aims -->\nold\n<!-- end -->\nrest", encoding="utf-8")
    page = peers_page.rewrite(found, tmp_path).read_text(encoding="utf-8")
    assert "old" not in page
    assert page.endswith("rest")
    assert (tmp_path / "images" / "peers" / "samples_dark.png").stat().st_size > 1_000


def test_the_first_look_counts_that_the_next_one_confirms() -> None:
    at = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    rows = np.array([[0.02, 0.0, 0.02, 0.0, 0.0], [0.02, 0.001, 0.02, 0.0, 0.0]])
    assert peers_tables.first_below([(at, rows)]) == 4.0
    assert peers_tables.first_below([(at[:2], rows[:, :2]), (at, rows)]) == 2.0  # nothing follows in that run
    assert peers_tables.first_below([(at, rows + 1.0)]) == np.inf
    assert peers_tables.first_below([(at[:1], rows[:, :1] + 1.0), (at, rows)]) == 4.0


def test_the_page_shows_the_stored_tables() -> None:
    names = ("losses", "needed", "standing", "bars", "claims", "times")
    found = {name: pd.read_csv(peers.STORED / f"peers_{name}.csv") for name in names}
    page = (peers.STORED.parents[1] / "docs" / "peers.md").read_text(encoding="utf-8")
    for shown in peers_page.on_page(found).values():
        assert shown in page
