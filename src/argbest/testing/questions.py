"""The conformance suite for questions."""

from collections.abc import Collection
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from argbest.core.abilities import offers
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import BlockBelief
from argbest.core.certificate import Certificate
from argbest.core.question import InClosedForm, Question, SaysChoices
from argbest.core.questions.contexts import AsksAboutContexts, Column, Contexts, put_to
from argbest.core.questions.one_for_all import ValuesAlternatives
from argbest.testing.policies import PERMUTATION, SHIFT, Situation, situation

_DRAWS = 400
_SURE = 6.0  # standard errors: chance goes so far once in 500 million times
_ROUNDING = 1e-9


def assert_valid_question(
    question: Question | AsksAboutContexts,
    *,
    shape: tuple[int, int] = (4, 6),
    invariances: Collection[str] = (PERMUTATION, SHIFT),
) -> None:
    """Check a question: what is right loses nothing, what is chosen is right where all is known, and more.

    Losses are never negative; many studies at once are answered as one by one; contrasts have the variances
    and covariances that they can have; certificates follow from the losses in joint draws.

    Args:
        question: The question to check.
        shape: The size of the table, (alternatives, contexts).
        invariances: Those that the question claims: permuting alternatives, or adding a constant to all
            rewards, changes no loss.
    """
    _check_form(question)
    for seed in range(4):
        moment = situation(runs=3, shape=shape, seed=seed)
        contexts = _contexts(moment.setting.weights)
        bound = put_to(question, contexts)
        for name in ("name", "only_the_best_matter", "parts", "choice", "right_choice", "loss"):
            assert hasattr(bound, name), f"a question needs {name!r}"
        for name in ("wrong_losses", "contrasts"):
            assert hasattr(bound, name), f"a question needs {name!r}"
        assert bound.name == question.name, f"put to contexts it is called {bound.name!r}"  # type: ignore[union-attr]
        normals = np.random.default_rng(seed).standard_normal((1, *moment.belief.mean.shape))
        tables = moment.belief.draw(normals)[0]
        others = np.random.default_rng(seed + 100).normal(0.0, 2.0, tables.shape)
        _check_parts(bound, contexts, tables)
        _check_losses(bound, tables, others)
        _check_many(bound, tables, others)
        _check_known(bound, moment, tables)
        _check_wrong_losses(bound, tables[0])
        _check_contrasts(bound, moment)
        _check_certificate(bound, moment.one(0), contexts)
        if bound.only_the_best_matter:
            _check_only_the_best(bound, tables)
        if PERMUTATION in invariances:
            order = np.random.default_rng(seed).permutation(shape[0])
            _check_same(
                bound, tables, others, tables[:, order], others[:, order], "alternatives are permuted"
            )
        if SHIFT in invariances:
            _check_same(bound, tables, others, tables + 64.0, others + 64.0, "a constant is added")


def _contexts(weights: Array) -> Contexts:
    n = len(weights)
    numbers = Column("size", tuple(float(i) for i in range(n)), False)
    names = Column("day", tuple("even" if i % 2 == 0 else "odd" for i in range(n)), True)
    return Contexts(weights, (numbers, names))


def _check_form(question: Any) -> None:
    assert not isinstance(question, type), f"give an object, {question.__name__}()"
    assert isinstance(getattr(question, "name", None), str), "a question needs a `name`, a text"
    assert not set(question.name) & set(":,= "), f"the name {question.name!r} cannot be typed with options"
    assert is_dataclass(question), "a question must be a frozen dataclass: its fields are its options"
    hash(question)  # a dataclass that is not frozen has none


def _check_parts(bound: Question, contexts: Contexts, tables: Array) -> None:
    parts = np.asarray(bound.parts(contexts.weights))
    assert parts.ndim == 1, f"parts gave shape {parts.shape}, expected one number per part"
    assert np.all(parts >= 0), f"parts gave {parts}, expected weights that are not negative"
    assert np.isclose(parts.sum(), 1.0), f"parts sum to {parts.sum()}, expected 1"
    found = np.shape(bound.loss(tables, bound.right_choice(tables)))
    expected = (len(tables), len(parts))
    assert found == expected, f"loss of {len(tables)} studies gave shape {found}, expected {expected}"


def _check_losses(bound: Question, tables: Array, others: Array) -> None:
    size = np.abs(tables).max()
    right = bound.loss(tables, bound.right_choice(tables))
    assert np.all(np.abs(right) <= _ROUNDING * size), f"the right choice loses {right.max()}, expected 0"
    wrong = bound.loss(tables, bound.right_choice(others))
    assert np.all(wrong >= -_ROUNDING * size), f"a choice loses {wrong.min()}: less than the right one"


def _check_many(bound: Question, tables: Array, others: Array) -> None:
    choice = bound.right_choice(others)
    together = bound.loss(tables, choice)
    for i in range(len(tables)):
        own = bound.right_choice(others[i])
        assert np.array_equal(own, choice[i]), "right_choice of many tables differs from that of each alone"
        alone = bound.loss(tables[i], own)
        assert np.allclose(alone, together[i]), "loss of many tables differs from that of each alone"
    drawn = np.stack([tables, others, tables + others])  # [draw, study, alternative, context]
    several = bound.loss(drawn, choice)
    assert np.shape(several) == (3, *np.shape(together)), (
        f"loss of draws [3, {len(tables)}, ...] with one choice per study gave shape {np.shape(several)}, "
        f"expected {(3, *np.shape(together))}"
    )
    assert np.allclose(several[0], together), "loss of draws differs from that of each alone"


def _check_known(bound: Question, moment: Situation, tables: Array) -> None:
    belief = BlockBelief(tables, np.zeros_like(moment.belief.cov), moment.belief.noise)
    choice = bound.choice(belief)
    lost = bound.loss(tables, choice)
    assert np.all(lost <= _ROUNDING * np.abs(tables).max()), (
        f"where all rewards are known, choice loses {lost.max()}, expected 0"
    )
    assert np.array_equal(choice, bound.choice(belief)), "choice gave two answers to the same belief"


def _check_wrong_losses(bound: Question, table: Array) -> None:
    first = np.zeros(table.shape, bool)
    first[0] = True
    for ruled_out in (None, first):
        found: Array = bound.wrong_losses(table, ruled_out)
        assert np.ndim(found) == 1, f"wrong_losses gave shape {np.shape(found)}, expected one row"
        assert np.all(np.isfinite(found) & (found >= 0)), (
            f"wrong_losses gave {found}, expected numbers from 0"
        )


def _check_contrasts(bound: Question, moment: Situation) -> None:
    belief = moment.belief
    runs, k, c = belief.mean.shape
    found = bound.contrasts(belief, bound.choice(belief))
    z, var = found.standardised()
    expected = (runs, z.shape[1], z.shape[2]) if z.ndim == 3 else (runs, "contrasts", "parts")
    assert (z.shape, var.shape) == (expected, expected), (
        f"standardised gave z {z.shape} and variance {var.shape}, expected {expected} of both"
    )
    assert np.all(var >= -_ROUNDING), f"a contrast has the variance {var.min()}"
    assert np.all(np.isposinf(z[var == 0])), "z must be infinite where a contrast has no variance"
    which = np.broadcast_to(np.arange(z.shape[1] * z.shape[2]), (runs, z.shape[1] * z.shape[2]))
    cov = found.covariances(which)
    assert cov.shape == (runs, which.shape[1], k, c), (
        f"covariances gave shape {cov.shape}, expected {(runs, which.shape[1], k, c)}"
    )
    most = np.sqrt(np.maximum(var.reshape(runs, -1), 0.0)[..., None, None] * belief.var[:, None])
    open_ones = np.isfinite(z.reshape(runs, -1))
    beyond = np.abs(cov) > most * (1 + 1e-6) + 1e-9
    assert not beyond[open_ones].any(), "a contrast covaries more with a pair than both variances allow"
    shares = found.log_shares(np.zeros(z.shape))
    assert shares is None or shares.shape == belief.mean.shape, "log_shares must be None or a number per pair"
    bound_of_right = found.bound()
    assert np.all((bound_of_right >= 0) & (bound_of_right <= 1)), "bound must be a probability"
    alone = bound.contrasts(moment.one(0).belief, bound.choice(moment.one(0).belief)).standardised()[1]
    assert np.allclose(np.sort(alone, axis=None), np.sort(var[0], axis=None)), (
        "contrasts of many studies differ from those of each alone"
    )


def _check_certificate(bound: Question, moment: Situation, contexts: Contexts) -> None:
    belief = moment.belief
    normals = np.random.default_rng(5).standard_normal((_DRAWS, *belief.mean.shape))
    sure = Certificate(belief, contexts.weights, normals, 0.0, question=bound)
    assert 0.0 <= float(sure.pcs_e) <= 1.0, f"P(right) is {sure.pcs_e}"
    losses = bound.loss(belief.draw(normals), sure.choice) @ bound.parts(contexts.weights)
    error = losses.std() / np.sqrt(_DRAWS) if offers(bound, InClosedForm) else 0.0
    assert abs(float(sure.eoc) - losses.mean()) <= _SURE * error + 1e-9 * (1 + losses.mean()), (
        f"the expected loss {float(sure.eoc)} is not the mean loss of joint draws, {losses.mean()}"
    )
    if offers(bound, ValuesAlternatives):
        _check_values(bound, belief.draw(normals), sure.choice)
    if offers(bound, SaysChoices):
        labels = [
            tuple(f"{kind}{i}" for i in range(n)) for kind, n in zip("ac", belief.mean.shape, strict=True)
        ]
        assert bound.words(sure.choice, *labels), "words must say the choice"


def _check_values(bound: ValuesAlternatives, draws: Array, choice: IntArray) -> None:
    values = bound.values(draws)
    assert values.shape == draws.shape[:-1], f"values gave shape {values.shape}, expected {draws.shape[:-1]}"
    lost = values.max(axis=-1) - values[..., int(choice)]
    assert np.allclose(bound.loss(draws, choice)[..., 0], lost), (
        "loss must be the largest value minus that of the choice"
    )


def _check_only_the_best(bound: Question, tables: Array) -> None:
    lowest: BoolArray = tables == tables.min(axis=-2, keepdims=True)
    lower = np.where(lowest, tables - 100.0, tables)
    lost = bound.loss(tables, bound.right_choice(lower))
    assert np.all(lost <= _ROUNDING * np.abs(tables).max()), (
        "a pair that is surely not the best of its context changes the choice: only_the_best_matter is wrong"
    )


def _check_same(
    bound: Question, tables: Array, others: Array, new: Array, new_others: Array, what: str
) -> None:
    before, after = (
        bound.loss(first, bound.right_choice(second))
        for first, second in ((tables, others), (new, new_others))
    )
    assert np.allclose(before, after, atol=1e-9), f"losses change if {what}"
