import numpy as np
import oracles
import pytest
from oracles import dense, random_belief

from argbest.core.belief import BlockBelief, CellBelief, best
from argbest.core.certificate import Certificate, Mixture
from argbest.core.correlated import ratio_of

WEIGHTS = np.array([0.1, 0.2, 0.3, 0.4])


def test_every_number_agrees_with_monte_carlo_from_the_belief() -> None:
    """Five standard errors of 200,000 draws per number: false alarm below 1e-4 in all."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        belief = random_belief(rng)
        certificate = Certificate(belief, WEIGHTS, rng.standard_normal((4096, 3, 4)), delta=0.2)
        # Drawn by NumPy, not by the belief: the joint probability is checked against another square root.
        draws = np.stack(
            [rng.multivariate_normal(belief.mean[k], belief.cov[k], 200_000) for k in range(3)], axis=1
        )
        chosen = best(belief)
        regret = draws.max(axis=1) - draws[:, chosen, np.arange(4)]
        for k in range(3):
            share = (draws.argmax(axis=1) == k).mean(axis=0)
            assert certificate.best_probability[k] == pytest.approx(share, abs=5 * 0.5 / np.sqrt(200_000))
        good = (regret <= 0.2).mean(axis=0)
        assert certificate.pcs == pytest.approx(good, abs=5 * 0.5 / np.sqrt(200_000))
        loss = regret.mean(axis=0)
        assert np.all(np.abs(certificate.expected_loss - loss) < 5 * regret.std(axis=0) / np.sqrt(200_000))
        everywhere = (regret <= 0.2).all(axis=1).mean()
        error = np.hypot(certificate.p_all_se, 0.5 / np.sqrt(200_000))
        assert abs(certificate.p_all - everywhere) < 5 * error
        assert certificate.pcs_e == pytest.approx(WEIGHTS @ certificate.pcs)
        assert certificate.pcs_m == certificate.pcs.min()
        assert certificate.eoc == pytest.approx(WEIGHTS @ certificate.expected_loss)


def test_the_lower_bound_lies_below_and_grows_with_the_zone() -> None:
    rng = np.random.default_rng(31)
    for _ in range(20):
        belief = random_belief(rng, shape=(6, 4))
        certificate = Certificate(belief, WEIGHTS, rng.standard_normal((64, 6, 4)))
        assert np.all(certificate.lower_bound <= certificate.pcs + 1e-12)
        wide = Certificate(belief, WEIGHTS, certificate.normals, delta=0.5)
        assert np.all(wide.lower_bound > certificate.lower_bound)
        assert np.all(wide.lower_bound <= wide.pcs + 1e-12)


def test_a_belief_with_correlated_alternatives_uses_the_same_interface() -> None:
    rng = np.random.default_rng(32)
    block = random_belief(rng)
    normals = rng.standard_normal((4096, 3, 4))
    ours, theirs = Certificate(block, WEIGHTS, normals), Certificate(dense(block), WEIGHTS, normals)
    np.testing.assert_array_equal(ours.selected, theirs.selected)
    np.testing.assert_allclose(ours.pcs, theirs.pcs, atol=0.006)
    np.testing.assert_allclose(ours.p_all, theirs.p_all, atol=5 * 2 * 0.5 / 64)
    # Perfectly correlated noise cancels in the difference: the better one is known for sure.
    cov = np.ones((4, 4))
    sure = Certificate(
        oracles.DenseBelief(np.array([[1.0, 1.0], [0.9, 0.9]]), cov, np.ones((2, 2))),
        np.full(2, 0.5),
        normals[:, :2, :2],
    )
    assert sure.pcs[0] == 1.0
    assert sure.p_all == 1.0
    assert 0 < sure.p_all_se < 1e-3  # 4,096 draws out of 4,096 do not make it certain


def mixed(seed: int, shape: tuple[int, int], n: int = 5) -> Certificate:
    """A certificate that is averaged over some beliefs."""
    rng = np.random.default_rng(seed)
    block, c = random_belief(rng, (n,), shape), shape[1]
    several = Mixture(
        lambda some: BlockBelief(block.mean[some], block.cov[some], block.noise[some]), n, n, np.ones(())
    )
    one, normals = BlockBelief(block.mean[0], block.cov[0], block.noise[0]), rng.normal(size=(300, *shape))
    return Certificate(one, np.full(c, 1 / c), normals, mixture=several)


def test_what_is_said_twice_is_one_number() -> None:
    """P(best) of the selected in the table and beside it; in one context also on average and everywhere."""
    for seed in range(6):
        several, alone = mixed(seed, (6, 3)), mixed(seed, (6, 1))
        for one in (several, alone):
            chosen = one.selected, np.arange(len(one.weights))
            np.testing.assert_array_equal(one.best_probability[chosen], one.pcs)
            np.testing.assert_allclose(one.best_probability.sum(axis=0), 1.0, rtol=1e-12)
            assert 1.0 - np.sum(1.0 - one.pcs) <= one.p_all + 1e-12
            assert one.p_all <= one.pcs_m <= one.pcs_e + 1e-12
        assert alone.p_all == alone.pcs_m == alone.pcs[0] == pytest.approx(float(alone.pcs_e), abs=1e-15)
        assert float(alone.p_all_se) == alone.n_draws == 0
        assert "±" not in str(alone)


def test_the_runner_up_is_the_next_likeliest_to_be_the_best() -> None:
    """The second mean is known too well to be the best; the third is the likeliest of all."""
    mean = np.array([[1.0], [0.9], [0.8], [-9.0], [-8.0]])
    var = np.array([[0.0001], [0.0001], [4.0], [1e-9], [1e-9]])
    found = Certificate(CellBelief(mean, var, var), np.ones(1), np.empty((0, 5, 1)))
    assert (found.selected[0], found.runner_up[0], found.likeliest[0]) == (0, 2, 0)
    assert found.contenders()[0][:, 0].tolist() == [0, 2, 1, 4, 3]  # who cannot be the best: by means
    mean[2] = 0.99
    var[0] = 1.0
    unsure = Certificate(CellBelief(mean, var, var), np.ones(1), np.empty((0, 5, 1)))
    assert (unsure.selected[0], unsure.runner_up[0], unsure.likeliest[0]) == (0, 2, 2)
    assert unsure.best_probability[2, 0] > unsure.pcs[0]
    alike = Certificate(
        CellBelief(mean[[0, 0]], var[[0, 0]] * [[1.0], [1.0 + 1e-15]], var[:2]), np.ones(1), mean
    )
    assert (alike.likeliest[0], alike.runner_up[0]) == (0, 1)  # rounding makes nobody likelier
    single = Certificate(CellBelief(mean[:1], var[:1], var[:1]), np.ones(1), np.empty((0, 1, 1)))
    assert single.runner_up[0] == 0


def test_a_known_tie_is_no_loss() -> None:
    belief = BlockBelief(np.ones((3, 1)), np.zeros((3, 1, 1)), np.ones((3, 1)))
    certificate = Certificate(belief, np.ones(1), np.zeros((4, 3, 1)))
    assert certificate.pcs[0] == 1.0
    assert certificate.expected_loss[0] == 0.0
    np.testing.assert_array_equal(certificate.best_probability[:, 0], [1.0, 0.0, 0.0])


def test_it_reads_as_a_sentence() -> None:
    belief = BlockBelief(np.array([[1.0], [0.0]]), np.full((2, 1, 1), 0.01), np.ones((2, 1)))
    text = str(Certificate(belief, np.ones(1), np.zeros((4, 2, 1)), delta=0.5))
    assert "within 0.5 of the best" in text
    assert "PCS_E >0.999" in text
    assert "expected opportunity cost below 0.0001" in text  # of a reward known to 0.1


@pytest.mark.parametrize(("n", "said"), [(4, True), (8, False)])
def test_an_average_over_few_hyper_parameters_says_so(n: int, said: bool) -> None:
    belief = random_belief(np.random.default_rng(32), (n,), (3, 2))
    mixture = Mixture(
        lambda some: BlockBelief(belief.mean[some], belief.cov[some], belief.noise[some]), n, n, np.ones(())
    )
    one = BlockBelief(belief.mean[0], belief.cov[0], belief.noise[0])
    text = str(Certificate(one, np.full(2, 0.5), np.zeros((8, 3, 2)), mixture=mixture))
    assert ("; averaged over 4 sets of hyper-parameters only" in text) == said
    assert text.endswith("; P(all contexts) from 8 joint draws only")


def test_a_lead_beyond_every_number_is_infinitely_many_deviations() -> None:
    gap = np.array([1e308, -1e308, 0.0])
    assert ratio_of(gap, np.full(3, 1e-3)).tolist() == [np.inf, -np.inf, 0.0]
