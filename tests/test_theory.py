import numpy as np
import pandas as pd
import pytest
from oracles import kernel
from scipy.special import log_ndtr, ndtr

from argbest import InputError, Problem, Study, registry, theory
from argbest.core import conditioning
from argbest.core.belief import Belief, CellBelief
from argbest.core.certificate import Certificate
from argbest.core.false_selection import rate_function
from argbest.core.tally import Tally

COSTS = np.array([[1.2], [2.1], [3.4], [4.87], [6.05]])
SPREADS = np.sqrt([[3.3], [2.0], [4.5], [5.3], [6.9]])


def textbook() -> Problem:
    return Problem(list("abcde"), ["only"], truth=COSTS, noise_sd=SPREADS, goal="min")


def small() -> Problem:
    truth = [[3.0, 0.0], [1.0, 0.5], [2.0, 1.0]]
    return Problem(["x", "y", "z"], [10, 20], truth=truth, noise_sd=1.0, weights=[1, 3])


def tied() -> Problem:
    return Problem(["x", "y", "z"], ["c", "d"], truth=[[1, 2], [0, 2], [0, 0]], noise_sd=1.0)


def certain(problem: Problem, belief: Belief, monkeypatch: pytest.MonkeyPatch) -> Study:
    """A study whose belief is the one given."""

    def certificate(study: Study, delta: float = 0.0) -> Certificate:
        return Certificate(belief, study.problem.weights, np.zeros((1, *study.problem.shape)), delta)

    monkeypatch.setattr(Study, "certificate", certificate)
    return Study(problem, seed=1)


@pytest.fixture(scope="module")
def study() -> Study:
    return Study(registry.problem("branin"), policy="gp-c-ocba", initial=2, seed=3).run(220)


def test_the_textbook_case_is_a_minimisation() -> None:
    frame, rate = theory.optimal_allocation(textbook())
    assert list(frame.columns) == ["alternative", "context", "share"]
    np.testing.assert_allclose(frame["share"], [0.49754, 0.38396, 0.07018, 0.02786, 0.02046], atol=5e-6)
    assert rate == pytest.approx(0.068404, abs=5e-7)


def test_rates_have_a_row_per_pair() -> None:
    frame = theory.rate_function(small(), np.full((3, 2), 1 / 6))
    assert list(frame.columns) == ["alternative", "context", "share", "rate"]
    assert frame[["alternative", "context"]].to_numpy().tolist()[:3] == [["x", 10], ["x", 20], ["y", 10]]
    np.testing.assert_allclose(frame["rate"], [np.inf, 1 / 12, 1 / 3, 1 / 48, 1 / 12, np.inf])


def test_rates_are_all_alike_at_the_optimum() -> None:
    best = theory.optimal_allocation(small())
    rate = theory.rate_function(small(), best)["rate"]
    np.testing.assert_allclose(rate[np.isfinite(rate)], best.rate)
    off = theory.convergence(small(), best.allocation)
    assert off.efficiency == pytest.approx(1.0)
    np.testing.assert_allclose(off.balance, 0.0, atol=1e-13)


def test_an_allocation_is_a_table_or_a_frame_of_shares_or_counts() -> None:
    frame = theory.optimal_allocation(small()).allocation
    table = frame["share"].to_numpy().reshape(3, 2)
    expected = theory.convergence(small(), table)
    for same in (
        1000 * table,
        (50 * table).tolist(),
        frame.sample(frac=1, random_state=0),
        frame.assign(n=1),
    ):
        found = theory.convergence(small(), same)
        np.testing.assert_allclose(found.distance, expected.distance, atol=1e-15)


def test_the_allocation_of_a_study_is_one_too(study: Study) -> None:
    off = theory.convergence(study.problem, study.allocation())
    same = theory.convergence(study.problem, study.tally.count)
    assert 0 < off.efficiency < 1
    np.testing.assert_allclose(off.balance, same.balance)


@pytest.mark.parametrize(
    ("allocation", "match"),
    [
        (np.ones((2, 3)), r"shape \(2, 3\).*expected numbers of shape \(3, 2\)"),
        (np.zeros((3, 2)), "some positive"),
        (-np.ones((3, 2)), "none negative"),
        (np.full((3, 2), np.nan), "finite"),
        ([["a"] * 2] * 3, "expected numbers"),
        (pd.DataFrame({"alternative": ["x"], "context": [10]}), "Add the column 'share'"),
        (pd.DataFrame({"share": [1.0]}), "no column identifies the alternative"),
    ],
)
def test_what_is_no_allocation_is_refused(allocation: object, match: str) -> None:
    with pytest.raises(InputError, match=match):
        theory.rate_function(small(), allocation)


def test_theory_needs_the_truth_and_the_noise() -> None:
    with pytest.raises(InputError, match="truth is not known"):
        theory.optimal_allocation(Problem(["x", "y"], ["c"], noise_sd=1.0))
    with pytest.raises(InputError, match="noise_sd is not known"):
        theory.optimal_allocation(Problem(["x", "y"], ["c"], truth=[[1], [2]]))


def test_ties_are_named_and_set_apart_by_an_indifference_zone() -> None:
    with pytest.raises(InputError, match=r"\['x', 'y'\] are tied for the best in context 'd'.*Give delta"):
        theory.optimal_allocation(tied())
    with pytest.raises(InputError, match="tied for the best"):
        theory.convergence(tied(), np.ones((3, 2)))
    best = theory.optimal_allocation(tied(), delta=0.5)
    rate = theory.rate_function(tied(), best, delta=0.5)["rate"]
    np.testing.assert_allclose(rate[np.isfinite(rate)], best.rate)
    assert theory.rate_function(tied(), best)["rate"].min() == 0.0
    assert theory.expected_pcs(tied(), best, 1e4).pcs_m == pytest.approx(1.0)


def test_expected_pcs_weighs_the_contexts() -> None:
    problem = Problem(["x", "y"], [1, 2], truth=[[1, 0], [0, 2]], noise_sd=2.0, weights=[3, 1])
    found = theory.expected_pcs(problem, np.ones((2, 2)), 40)
    pcs = ndtr(np.array([1.0, 2.0]) / np.sqrt(2 * 4 / 10))
    np.testing.assert_allclose(found.contexts["pcs"], pcs, atol=1e-12)
    assert found.pcs_e == pytest.approx(0.75 * pcs[0] + 0.25 * pcs[1])
    assert found.pcs_m == pytest.approx(pcs[0])
    assert theory.expected_pcs(problem, np.ones((2, 2)), 40, delta=1.0).pcs_m == pytest.approx(pcs[1])
    with pytest.raises(InputError, match="n must be a finite number of replications"):
        theory.expected_pcs(problem, np.ones((2, 2)), -1)


def test_expected_pcs_is_what_simulation_finds() -> None:
    # 8 comparisons at 5 standard errors: a false alarm in 2e5.
    rng = np.random.default_rng(7)
    truth, sd, count = (
        rng.normal(size=(4, 8)),
        np.exp(rng.normal(size=(4, 8)) / 2),
        rng.integers(1, 20, (4, 8)),
    )
    problem = Problem(range(4), range(8), truth=truth, noise_sd=sd, goal="min")
    means = truth + sd / np.sqrt(count) * rng.standard_normal((40_000, 4, 8))
    seen = problem.correct(np.argmin(means, axis=1)).mean(axis=0)
    pcs = theory.expected_pcs(problem, count, int(count.sum())).contexts["pcs"]
    assert np.all(np.abs(seen - pcs) < 5 * np.sqrt(pcs * (1 - pcs) / 40_000))


def test_a_pair_without_replications_is_above_a_sampled_one_half_the_time() -> None:
    problem = Problem(range(4), ["only"], truth=[[2.0], [1.0], [0.0], [0.0]], noise_sd=1.0)
    for count, n, expected in (([4, 3, 3, 0], 1e6, 0.5), ([5, 5, 0, 0], 1e6, 0.25), ([1, 1, 1, 1], 0, 0.25)):
        pcs = theory.expected_pcs(problem, np.array(count)[:, None], n).pcs_e
        assert pcs == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("correlated", [False, True])
def test_theorem_1_holds_with_and_without_correlation_between_contexts(correlated: bool) -> None:
    # For a fixed allocation the posterior mean is linear in the data, so P(μ_b < μ_k) is exact.
    truth = np.array([[1.0, 0.0, 0.5, 2.0], [0.0, 1.2, 1.5, 1.0], [2.0, 0.5, -0.5, 0.0]])
    noise = np.array([[0.2, 0.4, 0.1, 0.2], [0.1, 0.2, 0.2, 0.4], [0.4, 0.2, 0.2, 0.1]])
    p, n = np.random.default_rng(6).dirichlet(np.full(12, 5.0)).reshape(3, 4), 1e5
    x = np.linspace(0, 1, 4)[:, None]
    prior = kernel("matern52", x, x, np.array([0.5]), 1.0) if correlated else np.eye(4)
    mean, var = np.empty((3, 4)), np.empty((3, 4))
    for k in range(3):
        impulses = Tally(np.tile(n * p[k], (4, 1)), np.eye(4), np.zeros((4, 4)))
        gain, _ = conditioning.posterior(np.tile(prior, (4, 1, 1)), np.zeros(4), noise[k], impulses)
        mean[k], var[k] = truth[k] @ gain, (noise[k] / (n * p[k])) @ gain**2
    rate = rate_function(truth, noise, p)
    for c, b in enumerate(np.argmax(truth, axis=0)):
        for k in set(range(3)) - {int(b)}:
            tail = log_ndtr((mean[k, c] - mean[b, c]) / np.sqrt(var[b, c] + var[k, c]))
            assert -2 / n * tail == pytest.approx(rate[k, c], rel=0.01)


def test_contenders_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two alternatives known to tie, and one below them; then a 4:1 chance; then none in doubt.
    lead = np.sqrt(2) * 0.8416212335729143  # Φ(0.84162) = 0.8
    belief = CellBelief(
        np.array([[0.0, lead, 5.0], [1.0, 0.0, 0.0], [1.0, -50.0, 1.0]]),
        np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]),
        np.ones((3, 3)),
    )
    study = certain(Problem(["x", "y", "z"], ["p", "q", "r"]), belief, monkeypatch)
    frame = theory.contention(study)
    assert frame["contenders"].tolist() == [("y",), ("x", "y"), ("x",)]  # a known tie: y is selected
    assert frame["size"].tolist() == [1, 2, 1]
    np.testing.assert_allclose(frame["probability"], 1.0)
    frame = theory.contention(study, level=0.8)
    assert frame["contenders"].tolist() == [("y",), ("x",), ("x",)]
    np.testing.assert_allclose(frame["probability"], [1.0, 0.8, 1.0], atol=1e-9)
    with pytest.raises(InputError, match="level must be a number between 0 and 1"):
        theory.contention(study, level=1.0)


def test_contenders_of_a_study_are_as_few_as_reach_the_level(study: Study) -> None:
    frame = theory.contention(study, level=0.9)
    chance = np.sort(study.certificate().best_probability, axis=0)[::-1]
    assert list(frame.columns) == ["context.x2", "contenders", "size", "probability"]
    for c, size in enumerate(frame["size"]):
        assert chance[: size - 1, c].sum() < 0.9 <= chance[:size, c].sum()


def test_a_forecast_rises_from_the_certificate_to_1(study: Study) -> None:
    frame = theory.forecast(study, [0, 10, 100, 1000, 10**5], draws=40)
    assert list(frame.columns) == ["replications", "mean", "p5", "p95"]
    mean = frame["mean"].to_numpy()
    assert np.all(np.diff(mean) > 0)
    assert mean[-1] > 0.99
    assert np.all(frame["p5"] <= frame["p95"])
    np.testing.assert_allclose(frame.iloc[0, 1:], study.certificate().pcs_e, rtol=1e-9)
    pd.testing.assert_frame_equal(
        frame.iloc[[2]].reset_index(drop=True), theory.forecast(study, 100, draws=40)
    )


def test_both_forecasts_follow_the_same_paths(study: Study) -> None:
    found = study.forecast(0.999)
    curve = found.curve[found.curve["replications"] <= found.low]
    frame = theory.forecast(study, curve["replications"].tolist(), draws=20)
    assert len(curve) > 3
    np.testing.assert_allclose(frame[["p5", "p95"]], curve[["low", "high"]], rtol=1e-12)


def test_an_indifference_zone_makes_a_forecast_brighter(study: Study) -> None:
    strict, lenient = (theory.forecast(study, [100], draws=50, delta=d)["mean"][0] for d in (0.0, 1.0))
    assert strict < lenient


@pytest.mark.parametrize(
    ("replications", "draws", "match"),
    [
        (-1, 200, "replications must be a whole number"),
        ([1.5], 200, "replications must be"),
        (1, 0, "draws must be"),
    ],
)
def test_a_forecast_wants_whole_numbers(study: Study, replications: int, draws: int, match: str) -> None:
    with pytest.raises(InputError, match=match):
        theory.forecast(study, replications, draws=draws)
