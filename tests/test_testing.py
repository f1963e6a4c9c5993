"""The conformance suites accept what ships and catch what is broken."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from argbest import GP, registry, testing
from argbest.core.arrays import IntArray
from argbest.core.belief import Belief, BlockBelief
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.models.independent import Independent
from argbest.policies.base import Draws, in_sequence, pick

# These choose by position among equals, at random or the first, and a permutation moves positions.
SHAPES = {"ocba": (4, 1)}  # a policy for one context
CLAIMS = {
    "ts": testing.EVERY_INVARIANCE - {testing.PERMUTATION},
    "top-two": testing.EVERY_INVARIANCE - {testing.PERMUTATION},
    "dsco": testing.EVERY_INVARIANCE - {testing.PERMUTATION},
    "equal": testing.EVERY_INVARIANCE - {testing.PERMUTATION},
    "random": testing.EVERY_INVARIANCE - {testing.PERMUTATION},
}


@pytest.mark.parametrize("name", registry.POLICIES)
def test_every_shipped_policy_conforms(name: str) -> None:
    claims = CLAIMS.get(name, testing.EVERY_INVARIANCE)
    shape = SHAPES.get(name, (4, 3))
    testing.assert_valid_policy(registry.policy(name).make(), shape=shape, invariances=claims)


@pytest.mark.parametrize(
    "model",
    [GP(), GP(kernel="rbf", prior="modern"), GP(prior="none"), Independent(), GP(noise="pair")],
    ids=str,
)
def test_every_shipped_model_conforms(model: Any) -> None:
    testing.assert_valid_model(model)


@dataclass
class Broken:
    """A base for policies with one fault each."""

    calls: int = field(default=0)

    def propose(
        self, belief: Belief, tally: Tally, pending: IntArray, setting: Setting, draws: Draws, n: int = 1
    ) -> Decision:
        def decide(belief: Belief, count: IntArray, lane: int) -> Decision:
            return self.decide(belief, count, setting, draws, lane)

        return in_sequence(decide, belief, tally.count, pending, n)

    def decide(
        self, belief: Belief, count: IntArray, setting: Setting, draws: Draws, lane: int
    ) -> Decision:  # a sound rule: the largest variance
        score = np.where(setting.candidates(count.shape), belief.var, -np.inf)
        return pick(score == score.max(axis=(-2, -1), keepdims=True), draws, lane)


class OutOfRange(Broken):
    def decide(self, *arguments: Any) -> Decision:
        found = super().decide(*arguments)
        return Decision(found.alternative + 1, found.context)


class OwnRandomness(Broken):
    def decide(self, belief: Belief, count: IntArray, setting: Setting, draws: Draws, lane: int) -> Decision:
        self.calls += 1
        allowed = setting.candidates(count.shape)
        cells = np.flatnonzero(allowed.reshape(-1, allowed.shape[-2] * allowed.shape[-1])[0])
        index = cells[self.calls % len(cells)]
        shape = count.shape[:-2]
        return Decision(np.full(shape, index // count.shape[-1]), np.full(shape, index % count.shape[-1]))


class LooksAtOtherRuns(Broken):
    def decide(self, belief: Belief, count: IntArray, setting: Setting, draws: Draws, lane: int) -> Decision:
        lead = belief.var.mean() * (belief.mean > belief.mean.mean())
        score = np.where(setting.candidates(count.shape), belief.var - lead, -np.inf)
        return pick(score == score.max(axis=(-2, -1), keepdims=True), draws, lane)


class LikesLargeNumbers(Broken):
    def decide(self, belief: Belief, count: IntArray, setting: Setting, draws: Draws, lane: int) -> Decision:
        score = np.where(setting.candidates(count.shape), np.abs(belief.mean), -np.inf)
        return pick(score == score.max(axis=(-2, -1), keepdims=True), draws, lane)


class MixesUnits(Broken):
    def decide(self, belief: Belief, count: IntArray, setting: Setting, draws: Draws, lane: int) -> Decision:
        score = np.where(setting.candidates(count.shape), belief.var + 1.0 / (1 + count), -np.inf)
        return pick(score == score.max(axis=(-2, -1), keepdims=True), draws, lane)


class IgnoresTheContext(Broken):
    def decide(self, belief: Belief, count: IntArray, setting: Setting, draws: Draws, lane: int) -> Decision:
        return pick(belief.var == belief.var.max(axis=(-2, -1), keepdims=True), draws, lane)


class FirstRow(Broken):
    def decide(self, belief: Belief, count: IntArray, setting: Setting, draws: Draws, lane: int) -> Decision:
        candidates = setting.candidates(count.shape)
        first = candidates & (np.cumsum(candidates, axis=-2) == 1)
        score = np.where(first, belief.var, -np.inf)
        return pick(score == score.max(axis=(-2, -1), keepdims=True), draws, lane)


class AsksForWhatIsSetAside(Broken):
    def decide(self, belief: Belief, count: IntArray, setting: Setting, draws: Draws, lane: int) -> Decision:
        score = np.where(setting.allowed, belief.var, -np.inf)
        return pick(score == score.max(axis=(-2, -1), keepdims=True), draws, lane)


class MixesUnitsOfCost(Broken):
    def decide(self, belief: Belief, count: IntArray, setting: Setting, draws: Draws, lane: int) -> Decision:
        dear = 0.0 if setting.cost is None else setting.cost
        score = np.where(setting.candidates(count.shape), belief.var / belief.var.mean() - dear, -np.inf)
        return pick(score == score.max(axis=(-2, -1), keepdims=True), draws, lane)


def test_a_sound_policy_of_ones_own_conforms() -> None:
    testing.assert_valid_policy(Broken())


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (OutOfRange(), "expected positions from 0 to 3"),
        (OwnRandomness(), "two answers to the same question"),
        (LooksAtOtherRuns(), "run .* among others decides"),
        (LikesLargeNumbers(), "the decision changes when a constant is added"),
        (MixesUnits(), "the decision changes when the unit of rewards"),
        (IgnoresTheContext(), "only context .* was allowed"),
        (FirstRow(), "permuting alternatives and contexts does not permute"),
        (AsksForWhatIsSetAside(), "are set aside and propose gave one of them"),
        (MixesUnitsOfCost(), "the decision changes when costs are in another unit"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_suite_catches_broken_policies(broken: Broken, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        testing.assert_valid_policy(broken)


@dataclass(frozen=True)
class Overconfident:
    """A GP that forgets the noise when it is updated."""

    inner: GP = field(default_factory=GP)

    def check(self, shape: tuple[int, int], setting: Setting) -> None:
        self.inner.check(shape, setting)

    def fit(self, tally: Tally, setting: Setting, params: Any = None) -> Any:
        return self.inner.fit(tally, setting, params)

    def posterior(self, tally: Tally, setting: Setting, params: Any, known: Any = None) -> BlockBelief:
        belief = self.inner.posterior(tally, setting, params, known)
        return BlockBelief(belief.mean, belief.cov, 0.01 * belief.noise)

    def predict(self, tally: Tally, setting: Setting, params: Any, separation: Any) -> Any:
        return self.inner.predict(tally, setting, params, separation)


class Undeclared(GP):
    """A model whose belief is no dataclass, so that nothing can be ruled out in it."""

    def posterior(self, *given: Any, **named: Any) -> Any:
        belief = super().posterior(*given, **named)
        return SimpleNamespace(mean=belief.mean, var=belief.var, noise=belief.noise)


def test_the_suite_catches_a_belief_in_which_nothing_can_be_ruled_out() -> None:
    with pytest.raises(AssertionError, match="a belief must be a dataclass with the field mean"):
        testing.assert_valid_model(Undeclared())


def test_the_suite_catches_a_broken_model() -> None:
    with pytest.raises(AssertionError, match="update must equal the posterior"):
        testing.assert_valid_model(Overconfident())
