"""Any question within limits: what it sees of outcomes, what it chooses by draws, what a choice loses."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from argbest.core.abilities import offers
from argbest.core.arrays import Array
from argbest.core.belief import BlockBelief
from argbest.core.certificate import Certificate
from argbest.core.limits import BestWithinLimits, usual_price
from argbest.core.outcomes import Outcomes, kept_probability, means_of
from argbest.core.question import HasLimits
from argbest.core.questions.contexts import Column, Contexts, of_table, put_to
from argbest.core.questions.within_limits import DrawnTables, WithLimits, seen_by
from argbest.core.setting import Setting
from argbest.engine.step import shown_to_policies
from argbest.questions import question

K, C = 4, 3
WEIGHTS = np.array([0.5, 0.3, 0.2])
CONTEXTS = Contexts(WEIGHTS, (Column("load", (1.0, 2.0, 3.0), False),))
ONE_FOR_ALL = "overall", "worst-case", "regret", "most-probable-best"


def belief(seed: int = 3) -> Outcomes:
    rng = np.random.default_rng(seed)

    def one(shift: float) -> BlockBelief:
        root = rng.standard_normal((K, C, C))
        cov = 0.3 * root @ np.swapaxes(root, -1, -2) + 0.1 * np.eye(C)
        return BlockBelief(rng.standard_normal((K, C)) + shift, cov, np.ones((K, C)))

    return Outcomes.of(one(2.0), (one(0.6), one(0.9)))


def limited(name: str, price: float | None = None) -> WithLimits:
    return WithLimits(put_to(question(name), CONTEXTS), BestWithinLimits(price))


def normals(n: int = 600) -> Array:
    return np.random.default_rng(8).standard_normal((n, 3, K, C))


def priced(outcomes: Array, prices: Array) -> Array:
    """One pair after the other: where a limit is broken, at most the best that is kept, less the price."""
    seen = np.empty((K, C))
    for c in range(C):
        keeping = [k for k in range(K) if min(outcomes[1, k, c], outcomes[2, k, c]) >= 0]
        top = max(outcomes[0, k, c] for k in keeping or range(K))
        for k in range(K):
            seen[k, c] = outcomes[0, k, c] if k in keeping else min(outcomes[0, k, c], top) - prices[c]
    return seen


def worth(name: str, outcomes: Array, prices: Array) -> list[float]:
    """What every alternative is worth in one draw, written down as the question is put in words."""
    r = priced(outcomes, prices)
    if name == "overall":
        return [sum(WEIGHTS[c] * r[k, c] for c in range(C)) for k in range(K)]
    if name == "worst-case":
        return [min(r[k]) for k in range(K)]
    if name == "regret":
        return [-max(max(r[:, c]) - r[k, c] for c in range(C)) for k in range(K)]
    wins = [0.0] * K
    for c in range(C):
        keeping = [k for k in range(K) if min(outcomes[1:, k, c]) >= 0]
        if keeping:
            wins[max(keeping, key=lambda k: outcomes[0, k, c])] += WEIGHTS[c]
    return wins


@pytest.mark.parametrize("price", [None, 0.7])
@pytest.mark.parametrize("name", ONE_FOR_ALL)
def test_one_for_all_is_what_is_worth_most_over_all_draws_one_by_one(name: str, price: float | None) -> None:
    about = belief()
    prices = usual_price(about.mean, kept_probability(about)) if price is None else np.full(C, price)
    values = np.array([worth(name, draw, prices) for draw in about.draw(normals())])
    asked, seen = seen_by(limited(name, price), about)
    found = Certificate(about, WEIGHTS, normals(), question=asked, seen=seen)
    chosen = int(values.mean(axis=0).argmax())
    assert int(found.choice) == chosen
    lost = values.max(axis=1) - values[:, chosen]
    np.testing.assert_allclose(found.drawn_values, values, atol=1e-12)
    np.testing.assert_allclose(found.expected_loss, [lost.mean()], atol=1e-12)
    np.testing.assert_allclose(found.pcs, [np.mean(lost <= 0)])
    assert 0 < np.mean(lost <= 0) < 1


def test_of_a_single_context_the_one_for_all_is_what_the_best_within_limits_names() -> None:
    """Cheap alternatives that surely break a limit are as far behind there as here."""
    rng, named = np.random.default_rng(4), set()
    for _ in range(20):

        def one(mean: Array) -> BlockBelief:
            return BlockBelief(mean[:, None], np.full((K, 1, 1), 0.3), np.ones((K, 1)))

        goal = np.array([9.0, 3.0, 2.0, 0.0])  # the better, the less likely that it keeps the limit
        about = Outcomes.of(one(goal), (one(rng.normal([-3.0, 0.2, 0.7, 1.5], 0.5)),))
        draws, weights = np.random.default_rng(9).standard_normal((4000, 2, K, 1)), np.ones(1)
        alone = put_to(question("overall"), Contexts(weights, (Column("load", (1.0,), False),)))
        asked, seen = seen_by(WithLimits(alone, BestWithinLimits()), about)
        overall = int(Certificate(about, weights, draws, question=asked, seen=seen).choice)
        best = Certificate(about, weights, draws, question=BestWithinLimits()).options
        assert best is not None
        assert overall == int(best.loss[:-1, 0].argmin())
        named.add(overall)
    assert 0 not in named
    assert len(named) > 1


@pytest.mark.parametrize("price", [None, 0.7])
def test_a_shortlist_has_the_largest_means_of_the_priced_draws(price: float | None) -> None:
    about = belief()
    prices = usual_price(about.mean, kept_probability(about)) if price is None else np.full(C, price)
    tables = np.array([priced(draw, prices) for draw in about.draw(normals())])
    asked, seen = seen_by(limited("top:m=2", price), about)
    found = Certificate(about, WEIGHTS, normals(), question=asked, seen=seen)
    expected = np.argsort(-tables.mean(axis=0), axis=0)[:2]
    assert found.choice.tolist() == expected.tolist()
    lost = [
        [sum(sorted(table[:, c])[-2:]) - sum(table[k, c] for k in expected[:, c]) for c in range(C)]
        for table in tables
    ]
    np.testing.assert_allclose(found.expected_loss, np.mean(lost, axis=0), atol=1e-9)


def test_a_rule_is_the_best_tree_of_the_mean_table_pruned_by_what_draws_say_of_its_gain() -> None:
    about = belief()
    prices = usual_price(about.mean, kept_probability(about))
    tables = np.array([priced(draw, prices) for draw in about.draw(normals())])
    asked, seen = seen_by(limited("rule:depth=1"), about)
    found = Certificate(about, WEIGHTS, normals(), question=asked, seen=seen).choice.tolist()
    mean = tables.mean(axis=0)
    cards = [[k] * C for k in range(K)]
    cards += [[j] * cut + [k] * (C - cut) for cut in (1, 2) for j, k in product(range(K), repeat=2)]

    def value(table: Array, card: list[int]) -> float:
        return float(sum(WEIGHTS[c] * table[card[c], c] for c in range(C)))

    best = max(cards, key=lambda card: value(mean, card))
    single = max(cards[:K], key=lambda card: value(mean, card))
    gains = np.array([value(table, best) - value(table, single) for table in tables])
    assert best != single
    assert found == (best if gains.mean() >= gains.std() else single)


def test_covariances_of_draws_are_those_of_their_sums() -> None:
    draws = np.random.default_rng(2).standard_normal((50, 2, K, C))
    known = DrawnTables(draws)
    alternative, context = np.array([[[0, 2]], [[1, 3]]]), np.array([[[1, 1]], [[0, 2]]])
    weight = np.array([[[1.0, -1.0]], [[0.5, 2.0]]])
    found = known.cov_of_sums(alternative, context, weight)
    for study in range(2):
        total = sum(
            weight[study, 0, i] * draws[:, study, alternative[study, 0, i], context[study, 0, i]]
            for i in (0, 1)
        )
        for k, c in product(range(K), range(C)):
            expected = np.cov(total, draws[:, study, k, c], bias=True)[0, 1]
            assert found[study, 0, k, c] == pytest.approx(expected)
    np.testing.assert_allclose(known.cov_rows(np.array([[1], [1]]), np.array([[2], [2]]))[:, 0, 1, 2],
                               known.var[:, 1, 2])  # fmt: skip


def test_what_is_surely_kept_leaves_the_question_as_it_is() -> None:
    goal = np.random.default_rng(5).standard_normal((7, K, C))
    outcomes = np.stack([goal, np.ones_like(goal)], axis=-3)
    for name in (*ONE_FOR_ALL, "top:m=2", "rule"):
        plain: Any = put_to(question(name), CONTEXTS)
        right = limited(name).right_choice(outcomes)
        np.testing.assert_array_equal(right, plain.right_choice(goal))
        np.testing.assert_allclose(limited(name).loss(outcomes, right), 0.0, atol=1e-12)


def test_where_nothing_keeps_the_limits_all_pay_the_price_and_nobody_is_the_best() -> None:
    goal = np.random.default_rng(5).standard_normal((K, C))
    outcomes = np.stack([goal, -np.ones_like(goal)])
    plain: Any = put_to(question("overall"), CONTEXTS)
    assert limited("overall", 2.0).right_choice(outcomes) == plain.right_choice(goal)
    np.testing.assert_allclose(limited("overall", 2.0).tables(outcomes), goal - 2.0)
    nobody = limited("most-probable-best")
    np.testing.assert_array_equal(nobody.inner.values(nobody.tables(outcomes)), np.zeros(K))  # type: ignore[attr-defined]
    np.testing.assert_array_equal(nobody.loss(outcomes, np.array(2)), [0.0])


def test_the_price_decides_between_the_dear_that_keeps_and_the_good_that_breaks_a_limit() -> None:
    goal = np.array([[3.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
    slack = np.array([[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]])
    outcomes = np.stack([goal, slack])  # broken in the context of weight 0.3: costs 0.3 Λ, gains 0.7
    assert limited("overall", 2.3).right_choice(outcomes) == 0
    assert limited("overall", 2.4).right_choice(outcomes) == 1
    np.testing.assert_allclose(limited("overall", 4.0).loss(outcomes, np.array(0)), [0.3 * 4.0 - 0.7])
    assert limited("worst-case", 0.1).right_choice(outcomes) == 1


def test_a_pair_that_is_ruled_out_is_not_bought_at_a_price() -> None:
    about = belief()
    out = np.zeros((K, C), bool)
    asked, seen = seen_by(limited("overall", 0.01), about)
    first = int(Certificate(about, WEIGHTS, normals(), question=asked, seen=seen).choice)
    out[first, 2] = True
    known = about.without(out)
    asked, seen = seen_by(limited("overall", 0.01), known, out)
    assert int(Certificate(known, WEIGHTS, normals(), question=asked, seen=seen).choice) != first


def test_policies_and_tables_of_contexts_see_the_best_within_limits() -> None:
    asked = limited("worst-case", 2.0)
    assert of_table(asked) == asked.decides_as == BestWithinLimits(2.0)
    assert offers(of_table(asked), HasLimits)
    shown = shown_to_policies(Setting(WEIGHTS, np.zeros((1, C, C)), np.ones(C, bool), question=asked))
    assert shown.question == BestWithinLimits(2.0)


def test_several_studies_are_answered_side_by_side_as_each_by_itself() -> None:
    each = [belief(seed) for seed in (1, 2)]
    parts = [
        [np.stack([getattr(one.sums[i], name) for one in each]) for name in ("mean", "cov", "noise")]
        for i in range(3)
    ]
    goal, *slacks = (BlockBelief(*own) for own in parts)
    together = Outcomes.of(goal, slacks)
    outcomes = np.stack([means_of(one) for one in each])
    for name in (*ONE_FOR_ALL, "top:m=2", "rule:depth=1"):
        asked = limited(name)
        assert asked.choice(together).shape == asked.right_choice(outcomes).shape
        for i in range(2):
            alone = asked.right_choice(outcomes[i])
            np.testing.assert_array_equal(asked.right_choice(outcomes)[i], alone)
            np.testing.assert_allclose(
                asked.at(together).tables(outcomes)[i], asked.at(each[i]).tables(outcomes[i])
            )
