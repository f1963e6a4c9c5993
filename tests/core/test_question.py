"""Questions: the usual one by hand, and one of another shape that decisions and certificates can take."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import oracles
import pytest
from scipy.stats import norm

from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import Belief, BlockBelief, CellBelief, best
from argbest.core.certificate import Certificate
from argbest.core.question import BEST, Best
from argbest.core.setting import Setting
from argbest.core.states import usual_delta
from argbest.core.tally import Tally, empty
from argbest.engine import step
from argbest.errors import InputError
from argbest.policies.base import Policy, screened
from argbest.policies.dvr import DVR, DVRLoss
from argbest.policies.equal import Equal
from argbest.policies.ocba import GPCOCBA

REWARDS = np.array([[1.0, 5.0, 2.0], [4.0, 5.0, 0.0]])


def test_the_best_of_every_context_is_chosen_and_its_loss_is_how_far_it_is_behind() -> None:
    assert BEST.right_choice(REWARDS).tolist() == [1, 0, 0]  # the first of equal ones
    assert BEST.choice(CellBelief(REWARDS, REWARDS, REWARDS)).tolist() == [1, 0, 0]
    assert BEST.loss(REWARDS, np.array([0, 1, 1])).tolist() == [3.0, 0.0, 2.0]
    assert BEST.parts(np.array([0.5, 0.2, 0.3])).tolist() == [0.5, 0.2, 0.3]


def test_one_choice_is_scored_in_many_tables_and_many_choices_in_one() -> None:
    several, choices = np.stack([REWARDS, REWARDS + 1.0, REWARDS[::-1]]), np.array([[0, 1, 1], [1, 0, 0]])
    assert BEST.loss(several, choices[0]).tolist() == [[3.0, 0.0, 2.0]] * 2 + [[0.0, 0.0, 0.0]]
    assert BEST.loss(REWARDS, choices).tolist() == [[3.0, 0.0, 2.0], [0.0, 0.0, 0.0]]


def test_wrong_choices_are_all_pairs_that_can_be_selected_but_the_best() -> None:
    assert sorted(BEST.wrong_losses(REWARDS).tolist()) == [0.0, 2.0, 3.0]
    out = np.array([[False, False, True], [True, True, False]])
    assert BEST.wrong_losses(REWARDS, out).tolist() == []


def test_the_contrasts_of_the_best_are_its_leads_over_the_others_of_its_context() -> None:
    belief = oracles.random_belief(np.random.default_rng(2), (), (3, 4))
    chosen = best(belief)
    contrasts = BEST.contrasts(belief, chosen)
    z, var = contrasts.standardised()
    rows = contrasts.covariances(np.arange(12))
    for k, c in np.ndindex(3, 4):
        b = chosen[c]
        if k == b:
            assert z[k, c] == np.inf
            continue
        assert var[k, c] == pytest.approx(belief.var[b, c] + belief.var[k, c])
        assert z[k, c] == pytest.approx((belief.mean[b, c] - belief.mean[k, c]) / np.sqrt(var[k, c]))
        expected = np.zeros((3, 4))
        expected[b], expected[k] = belief.cov[b, c], -belief.cov[k, c]
        np.testing.assert_allclose(rows[4 * k + c], expected, atol=1e-12)
    others = np.where(np.isinf(z), 1.0, norm.cdf(z))
    np.testing.assert_allclose(contrasts.bound(), others.prod(axis=0))


@dataclass(frozen=True, eq=False)
class SumsAhead:
    """Σ_c w_c (f_b(c) − f_k(c)) of every alternative k, [alternative, 1], of a single study."""

    belief: Belief
    chosen: int
    weights: Array

    def _coefficients(self) -> Array:
        """[contrast, alternative, context]."""
        n = len(self.belief.mean)
        return np.asarray((np.eye(n)[self.chosen] - np.eye(n))[..., None] * self.weights)

    def standardised(self, closed: BoolArray | None = None) -> tuple[Array, Array]:
        coefficients = self._coefficients()
        mean = np.einsum("mkc,kc->m", coefficients, self.belief.mean)
        var = np.einsum("mkc,mkc->m", coefficients, self.covariances(np.arange(len(coefficients))))
        z = np.full(len(mean), np.inf)
        np.divide(mean, np.sqrt(np.maximum(var, 0.0)), out=z, where=var > 1e-12)
        return z[:, None], var[:, None]

    def covariances(self, which: IntArray) -> Array:
        k, c = np.indices(self.belief.mean.shape).reshape(2, -1)
        every = self.belief.cov_rows(k, c).reshape(*self.belief.mean.shape, *self.belief.mean.shape)
        return np.asarray(np.einsum("mkc,kcjd->mjd", self._coefficients()[which], every))

    def log_shares(self, log_weight: Array) -> None:
        return None

    def bound(self, delta: float = 0.0) -> Array:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class OneForAll:
    """The alternative with the largest weighted mean: one part, and a choice without an axis of contexts."""

    name: ClassVar[str] = "one for all"
    only_the_best_matter: ClassVar[bool] = False
    weights: Array

    def parts(self, weights: Array) -> Array:
        return np.ones(1)

    def choice(self, belief: Belief) -> IntArray:
        return self.right_choice(belief.mean)

    def right_choice(self, rewards: Array) -> IntArray:
        return np.asarray(np.argmax(rewards @ self.weights, axis=-1))

    def loss(self, rewards: Array, choice: IntArray) -> Array:
        value = rewards @ self.weights
        return np.asarray(value.max(axis=-1) - np.take(value, int(choice), axis=-1))[..., None]

    def wrong_losses(self, rewards: Array, ruled_out: BoolArray | None = None) -> Array:
        value = np.sort(rewards @ self.weights)
        return np.asarray(value[-1] - value[:-1])

    def contrasts(self, belief: Belief, choice: IntArray) -> SumsAhead:
        return SumsAhead(belief, int(choice), self.weights)


WEIGHTS = np.array([0.2, 0.5, 0.3])


def asked(belief: Belief, question: OneForAll | Best) -> Setting:
    n = belief.mean.shape[-1]
    return Setting(WEIGHTS, np.zeros((1, n, n)), np.ones(n, bool), question=question)


def test_a_certificate_of_another_question_follows_from_joint_draws() -> None:
    """P(f₀·w > f₁·w) is a normal probability; 20,000 draws are off by more than .015 once in 10⁴."""
    belief = oracles.random_belief(np.random.default_rng(4), (), (2, 3))
    draws = np.random.default_rng(5).standard_normal((20_000, 2, 3))
    found = Certificate(belief, WEIGHTS, draws, question=OneForAll(WEIGHTS))
    gap = abs((belief.mean[0] - belief.mean[1]) @ WEIGHTS)
    tau = np.sqrt(WEIGHTS @ belief.cov.sum(axis=0) @ WEIGHTS)
    assert found.choice == np.argmax(belief.mean @ WEIGHTS)
    assert found.pcs.shape == found.expected_loss.shape == (1,)
    assert found.pcs[0] == pytest.approx(norm.cdf(gap / tau), abs=0.015)
    loss = tau * norm.pdf(gap / tau) - gap * norm.cdf(-gap / tau)
    assert found.eoc == pytest.approx(loss, abs=0.015 * tau)
    assert found.pcs_e == found.pcs_m == found.p_all == found.pcs[0]
    assert found.within(1e9)[0] == 1.0
    assert found.n_draws == 20_000
    assert found.p_all_se > 0


@pytest.mark.parametrize(("policy", "power"), [(DVR(), 1.0), (DVRLoss(), 0.5)])
def test_dvr_removes_variance_from_the_contrasts_of_whatever_is_asked(policy: Policy, power: float) -> None:
    rng = np.random.default_rng(6)
    differs = 0
    for _ in range(20):
        belief = oracles.random_belief(rng, (), (4, 3))
        question = OneForAll(WEIGHTS)
        value, b = belief.mean @ WEIGHTS, int(question.choice(belief))
        score = np.zeros((4, 3))
        for k in range(4):
            if k == b:
                continue
            var = WEIGHTS @ (belief.cov[k] + belief.cov[b]) @ WEIGHTS
            density = norm.pdf((value[b] - value[k]) / np.sqrt(var)) / var**power
            for j in (k, b):
                score[j] += density * (belief.cov[j] @ WEIGHTS) ** 2 / (belief.var[j] + belief.noise[j])
        expected = divmod(int(np.argmax(score)), 3)
        assert decided(policy, belief, question) == expected
        differs += expected != decided(policy, belief, BEST)
    assert differs > 0  # the question counts


def decided(policy: Policy, belief: BlockBelief, question: OneForAll | Best) -> tuple[int, int]:
    known, shape = step.Learned.of_one((None,), belief), belief.mean.shape
    tally, nothing = empty(shape), np.zeros(shape, np.int64)
    found = step.decide(policy, known, tally, nothing, asked(belief, question), roots=3, step=0)
    return int(found.alternative[0]), int(found.context[0])


def test_a_policy_that_knows_of_no_questions_is_offered_the_usual_one_only() -> None:
    belief = oracles.random_belief(np.random.default_rng(7), (), (3, 3))
    assert decided(GPCOCBA(), belief, BEST) == decided(GPCOCBA(), belief, Best())
    with pytest.raises(InputError, match="GPCOCBA decides only for the question 'best', not for 'one for"):
        decided(GPCOCBA(), belief, OneForAll(WEIGHTS))
    decided(Equal(), belief, OneForAll(WEIGHTS))


def test_pairs_without_hope_in_their_context_are_left_out_only_where_they_do_not_matter() -> None:
    rng = np.random.default_rng(8)
    values = rng.normal(size=(500, 3, 4)) + np.where(np.arange(500) == 7, 1000.0, 0.0)[:, None, None]
    once = np.arange(500)[:, None] >= 450
    squares = np.where(once, 0.0, 4.0 * values.var(axis=2))
    tally = Tally(np.where(once, 1, np.full((500, 3), 4)), values.mean(axis=2), squares)
    belief = CellBelief(tally.mean, np.full((500, 3), 0.25), np.ones((500, 3)))
    assert screened(DVRLoss(), belief, tally, asked(belief, BEST)).excluded is not None
    assert screened(DVRLoss(), belief, tally, asked(belief, OneForAll(WEIGHTS))).excluded is None


def test_the_difference_that_does_not_matter_is_that_of_the_question() -> None:
    mean = np.array([[1.0, 5.0, 2.0], [4.0, 5.0, 0.0], [0.0, 0.0, 0.0]])
    value = np.sort(mean @ WEIGHTS)
    losses = value[-1] - value[:-1]
    assert usual_delta(mean, None, OneForAll(WEIGHTS)) == pytest.approx(0.01 * np.quantile(losses, 0.25))


def test_a_setting_of_fewer_alternatives_asks_the_same() -> None:
    belief = oracles.random_belief(np.random.default_rng(9), (), (3, 3))
    question = OneForAll(WEIGHTS)
    setting = asked(belief, question)
    assert setting.among(np.array([0, 2])).question is question
    assert replace(setting, question=BEST).question == Best()
