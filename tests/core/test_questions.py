"""Questions that go across contexts: by hand, by brute force, and as policies and certificates take them."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import oracles
import pytest
from scipy.stats import norm

from argbest.core.arrays import Array
from argbest.core.belief import Belief, BlockBelief, CellBelief
from argbest.core.certificate import Certificate
from argbest.core.question import BEST
from argbest.core.questions import joint_draws
from argbest.core.questions.contexts import Column, Contexts, put_to
from argbest.core.questions.one_for_all import MostProbableBest, Overall, Regret, WorstCase
from argbest.core.questions.rule import Rule
from argbest.core.questions.sums import Sums
from argbest.core.questions.top import Top
from argbest.core.setting import Setting
from argbest.core.states import usual_delta
from argbest.core.tally import empty
from argbest.engine import step
from argbest.errors import InputError
from argbest.policies.base import Policy
from argbest.policies.dvr import DVRLoss
from argbest.policies.ocba import GPCOCBA

WEIGHTS = np.array([0.2, 0.5, 0.3])
CONTEXTS = Contexts(WEIGHTS, (Column("x", (1.0, 2.0, 3.0), False), Column("kind", ("a", "b", "a"), True)))
REWARDS = np.array([[4.0, 4.0, 4.0], [9.0, 3.0, 3.0], [0.0, 6.0, 5.0], [5.0, 5.0, 1.0]])
ASKED = (Overall(), WorstCase(), Regret(), MostProbableBest(), Top(2), Rule(1), Rule(2))
ONE_FOR_ALL = ASKED[:4]


def asked(question: Any, contexts: Contexts = CONTEXTS) -> Any:
    return put_to(question, contexts)


def by_hand(name: str, rewards: Array, weights: Array) -> Array:
    """What every alternative is worth, one context after the other."""
    worth = []
    for row in rewards:
        behind = [row[c] - max(rewards[:, c]) for c in range(len(row))]
        worth.append(
            {
                "overall": sum(w * r for w, r in zip(weights, row, strict=True)),
                "worst-case": min(row),
                "regret": min(behind),
                "most-probable-best": sum(w for w, b in zip(weights, behind, strict=True) if b == 0.0),
            }[name]
        )
    return np.array(worth)


@pytest.mark.parametrize("question", ONE_FOR_ALL, ids=lambda each: each.name)
def test_what_an_alternative_is_worth_is_what_the_question_says(question: Any) -> None:
    bound, rng = asked(question), np.random.default_rng(3)
    for rewards in (REWARDS, *rng.normal(size=(20, 5, 3))):
        worth = by_hand(question.name, rewards, WEIGHTS)
        np.testing.assert_allclose(bound.values(rewards), worth)
        assert bound.right_choice(rewards) == np.argmax(worth)
        for k in range(len(rewards)):
            np.testing.assert_allclose(bound.loss(rewards, np.array(k)), [worth.max() - worth[k]])
        np.testing.assert_allclose(
            sorted(bound.wrong_losses(rewards)), sorted(worth.max() - np.sort(worth)[:-1])
        )


def test_the_four_questions_to_one_table_have_four_answers() -> None:
    """Alternative 0 never falls below 4; 1 wins its context by far; 2 is best on average; 3 regrets least."""
    table = np.array([[4.0, 4.0, 4.0], [9.0, 3.0, 3.0], [0.0, 6.0, 5.0], [7.0, 5.0, 2.5]])
    weights = np.array([0.5, 0.2, 0.3])
    found = {each.name: int(asked(each, Contexts(weights)).right_choice(table)) for each in ONE_FOR_ALL}
    assert found == {"overall": 1, "worst-case": 0, "regret": 3, "most-probable-best": 1}


def test_equal_alternatives_share_the_contexts_in_which_they_are_the_best() -> None:
    votes = asked(MostProbableBest()).values(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 2.0]]))
    np.testing.assert_allclose(votes, [0.1 + 0.5, 0.1 + 0.3])


def test_contexts_without_any_answer_do_not_count() -> None:
    """In the second context everything failed: no question that is asked of all contexts looks there."""
    contexts = Contexts(WEIGHTS, CONTEXTS.columns, np.array([True, False, True]))
    changed = REWARDS.copy()
    changed[:, 1] = [100.0, -100.0, 0.0, 50.0]
    for question in (*ONE_FOR_ALL, Rule(2)):
        bound = asked(question, contexts)
        here = [0, 2] if question.name == "rule" else ...
        np.testing.assert_array_equal(bound.right_choice(REWARDS)[here], bound.right_choice(changed)[here])
        choice = bound.right_choice(REWARDS)
        np.testing.assert_allclose(bound.loss(REWARDS, choice), bound.loss(changed, choice), atol=1e-12)


def test_the_answer_is_what_is_worth_most_on_average_not_what_the_means_say() -> None:
    """The certain alternative is worth 0 in the worst case; the other has better means, a worse minimum."""
    mean, var = np.array([[0.0, 0.0, 0.0], [0.3, 0.3, 0.3]]), np.array([[1e-8] * 3, [1.0] * 3])
    belief = CellBelief(mean, var, np.ones((2, 3)))
    bound = asked(WorstCase())
    assert bound.right_choice(mean) == 1
    assert bound.choice(belief) == 0
    draws = np.random.default_rng(4).standard_normal((500, 2, 3))
    assert Certificate(belief, WEIGHTS, draws, question=bound).choice == 0
    assert asked(Overall()).choice(belief) == 1


@pytest.mark.parametrize("question", ASKED, ids=lambda each: each.name)
def test_many_tables_at_once_are_answered_as_one_by_one(question: Any) -> None:
    rng, bound = np.random.default_rng(5), asked(question)
    tables = rng.normal(size=(2, 4, 5, 3))
    choices = bound.right_choice(tables)
    for i, j in np.ndindex(2, 4):
        np.testing.assert_array_equal(choices[i, j], bound.right_choice(tables[i, j]))
        np.testing.assert_allclose(
            bound.loss(tables, choices[1, 1])[i, j], bound.loss(tables[i, j], choices[1, 1])
        )
    beliefs = oracles.random_belief(rng, (3,), (5, 3))
    together = bound.choice(beliefs)
    for r in range(3):
        alone = BlockBelief(beliefs.mean[r], beliefs.cov[r], beliefs.noise[r])
        np.testing.assert_array_equal(together[r], bound.choice(alone))
        if question.name != "most-probable-best":
            assert decided(DVRLoss(), alone, bound) == tuple(
                int(each[r, 0]) for each in proposed(DVRLoss(), beliefs, bound)
            )


@pytest.mark.parametrize("question", ASKED, ids=lambda each: each.name)
def test_a_right_choice_loses_nothing_and_no_choice_less(question: Any) -> None:
    rng, bound = np.random.default_rng(6), asked(question)
    for rewards in rng.normal(size=(30, 4, 3)):
        right = bound.right_choice(rewards)
        assert np.all(bound.loss(rewards, right) == 0.0)
        other = rng.integers(0, 4, right.shape)
        assert np.all(bound.loss(rewards, other) >= 0.0)
        np.testing.assert_allclose(bound.loss(rewards + 7.0, other), bound.loss(rewards, other), atol=1e-9)


def test_a_shortlist_loses_what_it_falls_short_of_the_best_in_sum() -> None:
    top = Top(2)
    assert top.right_choice(REWARDS).T.tolist() == [[1, 3], [2, 3], [2, 0]]
    named = np.array([[0, 0, 0], [1, 1, 1]])
    for c, column in enumerate(REWARDS.T):
        best = max(sum(column[list(pair)]) for pair in itertools.combinations(range(4), 2))
        assert top.loss(REWARDS, named)[c] == pytest.approx(best - column[0] - column[1])
    assert Top(9).loss(REWARDS, Top(9).right_choice(REWARDS)).tolist() == [0.0, 0.0, 0.0]
    assert Top(1).right_choice(REWARDS)[0].tolist() == BEST.right_choice(REWARDS).tolist()


def test_a_shortlist_of_one_asks_for_the_contrasts_of_the_best() -> None:
    belief = oracles.random_belief(np.random.default_rng(7), (), (4, 3))
    one, usual = Top(1).contrasts(belief, Top(1).choice(belief)), BEST.contrasts(belief, BEST.choice(belief))
    z, var = one.standardised()
    expected, spread = usual.standardised()
    np.testing.assert_allclose(z, expected)
    np.testing.assert_allclose(np.where(np.isinf(z), 0, var), np.where(np.isinf(z), 0, spread))
    weight = np.where(np.isinf(z), -np.inf, -0.5 * z * z)
    np.testing.assert_allclose(one.log_shares(weight), usual.log_shares(weight))
    np.testing.assert_allclose(one.bound(0.1), usual.bound(0.1))


def shortlist_scores(belief: BlockBelief, m: int) -> Array:
    """φ(z)/τ of the m-th against all outside and of the best outside against all inside, pair by pair."""
    score = np.zeros(belief.mean.shape)
    for c in range(belief.mean.shape[1]):
        order = np.argsort(-belief.mean[:, c])
        pairs = {(order[m - 1], k) for k in order[m:]} | {(k, order[m]) for k in order[:m]}
        for a, b in pairs:
            var = belief.cov[a, c, c] + belief.cov[b, c, c]
            z = (belief.mean[a, c] - belief.mean[b, c]) / np.sqrt(var)
            for j in (a, b):
                score[j] += WEIGHTS[c] * norm.pdf(z) / np.sqrt(var) * belief.cov[j, c] ** 2
    return np.asarray(score / (belief.var + belief.noise))


def test_a_shortlist_is_learned_about_at_its_end() -> None:
    rng, differs = np.random.default_rng(8), 0
    for _ in range(20):
        belief = oracles.random_belief(rng, (), (5, 3))
        expected = divmod(int(np.argmax(shortlist_scores(belief, 2))), 3)
        assert decided(DVRLoss(), belief, Top(2)) == expected
        differs += expected != decided(DVRLoss(), belief, BEST)
    assert differs > 0


def overall_scores(belief: BlockBelief) -> Array:
    """Variance removed from the differences of weighted sums, each by φ(z)/τ."""
    value = belief.mean @ WEIGHTS
    b = int(np.argmax(value))
    score = np.zeros(belief.mean.shape)
    for k in range(len(value)):
        if k != b:
            var = WEIGHTS @ (belief.cov[k] + belief.cov[b]) @ WEIGHTS
            density = norm.pdf((value[b] - value[k]) / np.sqrt(var)) / np.sqrt(var)
            for j in (k, b):
                score[j] += density * (belief.cov[j] @ WEIGHTS) ** 2
    return np.asarray(score / (belief.var + belief.noise))


def worst_case_scores(belief: BlockBelief) -> Array:
    """Every draw's best alternative in its worst context against the second in its own."""
    score = np.zeros(belief.mean.shape)
    for table in joint_draws.of_belief(belief, joint_draws.FOR_CONTRASTS):
        low, where = table.min(axis=1), table.argmin(axis=1)
        one, two = np.argsort(-low)[:2]
        (i, c), (j, d) = (one, where[one]), (two, where[two])
        var = belief.var[i, c] + belief.var[j, d]
        z = (belief.mean[i, c] - belief.mean[j, d]) / np.sqrt(var)
        for k, at in ((i, c), (j, d)):
            score[k] += norm.pdf(z) / np.sqrt(var) * belief.cov[k, at] ** 2
    return np.asarray(score / (belief.var + belief.noise))


def regret_scores(belief: BlockBelief) -> Array:
    score, (n, m) = np.zeros(belief.mean.shape), belief.mean.shape
    for table in joint_draws.of_belief(belief, joint_draws.FOR_CONTRASTS):
        behind, best = table - table.max(axis=0), table.argmax(axis=0)
        one, two = np.argsort(-behind.min(axis=1))[:2]
        h = np.zeros((n, m))
        for k, sign in ((one, 1.0), (two, -1.0)):
            c = behind[k].argmin()
            h[k, c] += sign
            h[best[c], c] -= sign
        score += contrast_score(belief, h)
    return np.asarray(score / (belief.var + belief.noise))


def contrast_score(belief: BlockBelief, h: Array) -> Array:
    """φ(z)/τ Cov(h, ·)² of one contrast by the dense covariance of independent alternatives."""
    towards = np.einsum("kc,kcd->kd", h, belief.cov)
    var = float(np.sum(h * towards))
    if var <= 1e-12:
        return np.zeros(h.shape)
    z = float(np.sum(h * belief.mean)) / np.sqrt(var)
    return np.asarray(norm.pdf(z) / np.sqrt(var) * towards**2)


def rule_scores(belief: BlockBelief) -> Array:
    bound = asked(Rule(2))
    score, last = np.zeros(belief.mean.shape), None
    for table in joint_draws.of_belief(belief, joint_draws.FOR_CONTRASTS):
        named = bound.right_choice(table)
        if last is not None:
            h = np.zeros(belief.mean.shape)
            for c in range(3):
                h[named[c], c] += WEIGHTS[c]
                h[last[c], c] -= WEIGHTS[c]
            score += contrast_score(belief, h)
        last = named
    return np.asarray(score / (belief.var + belief.noise))


@pytest.mark.parametrize(
    ("question", "scores"),
    [
        (Overall(), overall_scores),
        (WorstCase(), worst_case_scores),
        (Regret(), regret_scores),
        (Rule(2), rule_scores),
    ],
    ids=["overall", "worst-case", "regret", "rule"],
)
def test_dvr_loss_decides_for_the_question(question: Any, scores: Callable[[BlockBelief], Array]) -> None:
    rng, differs = np.random.default_rng(9), 0
    for _ in range(12):
        belief = oracles.random_belief(rng, (), (4, 3))
        expected = divmod(int(np.argmax(scores(belief))), 3)
        assert decided(DVRLoss(), belief, asked(question)) == expected
        differs += expected != decided(DVRLoss(), belief, BEST)
    assert differs > 0  # the question counts


def test_the_most_probable_best_is_learned_about_context_by_context_by_any_policy() -> None:
    belief = oracles.random_belief(np.random.default_rng(10), (), (4, 3))
    bound = asked(MostProbableBest())
    for policy in (DVRLoss(), GPCOCBA()):
        assert decided(policy, belief, bound) == decided(policy, belief, BEST)
    with pytest.raises(InputError, match="GPCOCBA decides only for the question 'best', not for 'overall'"):
        decided(GPCOCBA(), belief, asked(Overall()))


def test_sums_across_contexts_have_the_covariances_of_their_parts() -> None:
    rng = np.random.default_rng(11)
    belief = oracles.random_belief(rng, (2,), (3, 4))
    alternative, context = rng.integers(0, 3, (2, 5, 6)), rng.integers(0, 4, (2, 5, 6))
    weight = rng.normal(size=(2, 5, 6))
    sums, every = Sums(belief, alternative, context, weight), np.tile(np.arange(5), (2, 1))
    before = sums.covariances(every)
    z, var = sums.standardised()
    rows = sums.covariances(every)
    np.testing.assert_allclose(rows, before, rtol=1e-12)
    rows *= 2.0  # whoever has them may change them
    np.testing.assert_array_equal(sums.covariances(every), rows / 2.0)
    rows = before
    for r, m in np.ndindex(2, 5):
        h = np.zeros((3, 4))
        np.add.at(h, (alternative[r, m], context[r, m]), weight[r, m])
        towards = np.einsum("kc,kcd->kd", h, belief.cov[r])
        np.testing.assert_allclose(rows[r, m], towards, atol=1e-12)
        assert var[r, m, 0] == pytest.approx(np.sum(h * towards))
        assert z[r, m, 0] == pytest.approx(np.sum(h * belief.mean[r]) / np.sqrt(np.sum(h * towards)))


def test_pairs_set_aside_count_as_known_in_sums() -> None:
    belief = oracles.random_belief(np.random.default_rng(12), (), (2, 3))
    contrasts = asked(Overall()).contrasts(belief, asked(Overall()).choice(belief))
    closed = np.zeros((2, 3), bool)
    closed[:, :2] = True
    _, var = contrasts.standardised(closed)
    expected = WEIGHTS[2] ** 2 * (belief.var[0, 2] + belief.var[1, 2])
    np.testing.assert_allclose(np.sort(var.ravel()), [0.0, expected])


def test_a_certificate_counts_the_draws_in_which_the_choice_is_right() -> None:
    belief = oracles.random_belief(np.random.default_rng(13), (), (4, 3))
    normals = np.random.default_rng(14).standard_normal((400, 4, 3))
    tables = belief.draw(normals)
    for question in ONE_FOR_ALL:
        found = Certificate(belief, WEIGHTS, normals, question=asked(question))
        worth = np.array([by_hand(question.name, table, WEIGHTS) for table in tables])
        choice = int(np.argmax((belief.mean @ WEIGHTS) if question.name == "overall" else worth.mean(axis=0)))
        loss = worth.max(axis=1) - worth[:, choice]
        assert found.choice == choice
        assert found.eoc == pytest.approx(loss.mean())
        assert found.pcs_e == pytest.approx(np.mean(loss <= 0))
        assert found.within(0.4)[0] == pytest.approx(np.mean(loss <= 0.4))


def test_the_difference_that_does_not_matter_is_small_beside_what_the_question_can_lose() -> None:
    for question in ASKED:
        bound = asked(question)
        losses = bound.wrong_losses(REWARDS)
        assert usual_delta(REWARDS, None, bound) == pytest.approx(0.01 * np.quantile(losses, 0.25))
        assert np.all(losses >= 0)


def test_a_policy_has_something_to_decide_where_nothing_is_open_or_two_alternatives_are_one() -> None:
    """Known rewards, and alternatives that are equal in all draws: no contrast is left, and none is NaN."""
    known = CellBelief(REWARDS, np.zeros((4, 3)), np.ones((4, 3)))
    for question in ASKED:
        bound = asked(question)
        z, var = bound.contrasts(known, bound.choice(known)).standardised()
        assert not np.isnan(z).any()
        assert np.all(var == 0)
        if question.name != "most-probable-best":
            assert 0 <= decided(DVRLoss(), known, bound)[0] < 4


def test_options_are_checked() -> None:
    with pytest.raises(InputError, match="m"):
        Top(0)
    with pytest.raises(InputError, match="depth"):
        Rule(4)
    with pytest.raises(InputError, match="needs the columns of the contexts"):
        asked(Rule(), Contexts(WEIGHTS))


def proposed(policy: Policy, belief: Belief, question: Any) -> Any:
    lead, shape, n = belief.mean.shape[:-2], belief.mean.shape, belief.mean.shape[-1]
    setting = Setting(WEIGHTS, np.zeros((1, n, n)), np.ones(n, bool), question=question)
    known = step.Learned.of_one((None,), belief)
    roots = np.arange(3, 3 + lead[0]) if lead else 3
    return step.decide(policy, known, empty(shape), np.zeros(shape, np.int64), setting, roots=roots, step=0)


def decided(policy: Policy, belief: Belief, question: Any) -> tuple[int, int]:
    found = proposed(policy, belief, question)
    return int(found.alternative[0]), int(found.context[0])
