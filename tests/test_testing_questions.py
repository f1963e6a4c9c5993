"""The conformance suite accepts every question that ships and one of another package, and finds mistakes."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from argbest import questions
from argbest.core.arrays import Array, IntArray
from argbest.core.question import Best
from argbest.core.questions.one_for_all import BestOverall
from argbest.questions import Contexts, Overall, WeighsContexts
from argbest.testing import assert_valid_question

SHIPPED = (
    "best",
    "overall",
    "worst-case",
    "regret",
    "top:m=2",
    "top:m=9",
    "most-probable-best",
    "rule:depth=1",
    "rule",
)


@dataclass(frozen=True)
class WorstHalf:
    """Which single alternative is best on average over the worse half of its contexts."""

    share: float = 0.5

    name: ClassVar[str] = "worst-half"

    def about(self, contexts: Contexts) -> "InTheWorstHalf":
        return InTheWorstHalf(contexts, self.share)


@dataclass(frozen=True, eq=False)
class InTheWorstHalf(WeighsContexts):
    share: float

    name: ClassVar[str] = WorstHalf.name

    def weights_of(self, rewards: Array) -> Array:
        order = np.argsort(rewards, axis=-1)
        weight = self.contexts.shares[order]
        taken = np.clip(self.share - (np.cumsum(weight, axis=-1) - weight), 0.0, weight)
        found = np.empty_like(taken)
        np.put_along_axis(found, order, taken / self.share, axis=-1)
        return found


@pytest.mark.parametrize("name", SHIPPED)
def test_every_question_that_ships_is_valid(name: str) -> None:
    assert_valid_question(questions.question(name))


def test_a_question_of_somebody_else_is_valid_if_it_weighs_contexts() -> None:
    assert_valid_question(WorstHalf())
    assert_valid_question(WorstHalf(0.2), shape=(3, 2))


def broken(base: type, **members: Any) -> Any:
    """A question like another one but for some members."""
    kind: Any = dataclass(frozen=True)(type("Broken", (base,), members))
    return kind()


class _Overall(Overall):
    """Hands on the class of the question that is put to contexts."""

    bound: ClassVar[type] = BestOverall

    def about(self, contexts: Contexts) -> Any:
        return self.bound(contexts)


def bad_overall(**members: Any) -> Any:
    kind: Any = dataclass(frozen=True, eq=False)(type("Bad", (BestOverall,), members))
    return broken(_Overall, bound=kind)


def half_of(self: Any, rewards: Array, choice: IntArray) -> Array:
    return np.asarray(BestOverall.loss(self, rewards, choice) - 0.5)


def of_one_study(self: Any, rewards: Array) -> IntArray:
    return np.asarray(self.values(rewards).reshape(-1).argmax())


def worst(self: Any, belief: Any) -> IntArray:
    return np.asarray(self.values(belief.mean).argmin(axis=-1))


def uneven(self: Any, weights: Array) -> Array:
    return np.full(1, 0.5)


def by_position(self: Any, rewards: Array) -> Array:
    return np.asarray(rewards @ self.contexts.shares + np.arange(rewards.shape[-2]))


def squared(self: Any, rewards: Array) -> Array:
    return np.asarray((rewards**2) @ self.contexts.shares)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (Overall, "give an object, Overall"),
        (broken(Overall, name="worst half"), "cannot be typed with options"),
        (bad_overall(loss=half_of), "loses -0.5|the right choice loses"),
        (bad_overall(right_choice=of_one_study), "loses|differs|shape"),
        (bad_overall(choice=worst), "where all rewards are known, choice loses"),
        (bad_overall(parts=uneven), "parts sum to 0.5, expected 1"),
        (bad_overall(values=by_position), "alternatives are permuted"),
        (bad_overall(values=squared, linear=False), "a constant is added"),
        (bad_overall(wrong_losses=lambda self, rewards, ruled_out=None: rewards), "expected one row"),
        (bad_overall(only_the_best_matter=True), "only_the_best_matter is wrong"),
        (broken(Best, expected_loss=lambda self, certainty, choice: certainty.expected_loss(choice) + 1.0),
         "is not the mean loss of joint draws"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(question: Any, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        assert_valid_question(question)
