"""The conformance suites accept what ships and catch what is broken."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from argbest import GP, AdditiveGP, Study, registry, testing
from argbest.core.arrays import IntArray
from argbest.core.belief import Belief, BlockBelief
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import StorageError
from argbest.models.frequentist import Independent
from argbest.models.gp import GPParams
from argbest.policies.base import Draws, in_sequence, pick
from argbest.storage.base import Worker

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
@pytest.mark.fast_cases("gp-c-ocba", "ikg", "dvr-loss", "c-ocba", "ts", "equal")
def test_every_shipped_policy_conforms(name: str) -> None:
    claims = CLAIMS.get(name, testing.EVERY_INVARIANCE)
    shape = SHAPES.get(name, (4, 3))
    testing.assert_valid_policy(
        registry.policy(name).make(), shape=shape, invariances=claims, heeds_pending=name != "random"
    )


@pytest.mark.parametrize(
    "model",
    [AdditiveGP(), GP(), GP(kernel="rbf", prior="modern"), GP(prior="none"), Independent(), GP(noise="pair")],
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


class IgnoresPending(Broken):
    def propose(
        self, belief: Belief, tally: Tally, pending: IntArray, setting: Setting, draws: Draws, n: int = 1
    ) -> Decision:
        return super().propose(belief, tally, np.zeros_like(pending), setting, draws, n)


class NeedsOwnCovariances(Broken):
    def decide(self, belief: Belief, count: IntArray, setting: Setting, draws: Draws, lane: int) -> Decision:
        cov: Any = belief.own_cov
        var = np.diagonal(cov, axis1=-2, axis2=-1)
        score = np.where(setting.candidates(count.shape), var, -np.inf)
        return pick(score == score.max(axis=(-2, -1), keepdims=True), draws, lane)


class Mumbles(Broken):
    weighs_cost = "sometimes"


class NeverSays(Broken):
    def finished(self, tally: Tally) -> Any:
        return None


class BeginsNothing(Broken):
    def begin(self, setting: Setting, tally: Tally) -> Any:
        return None


@dataclass
class BeginsForAll(Broken):
    """Fixes something about all studies that cannot be told apart by study."""

    shares: Any = None

    def begin(self, setting: Setting, tally: Tally) -> "BeginsForAll":
        return BeginsForAll(shares=[tally.mean.copy()])

    def decide(self, belief: Belief, count: IntArray, setting: Setting, draws: Draws, lane: int) -> Decision:
        if self.shares is None:
            return super().decide(belief, count, setting, draws, lane)
        [table] = self.shares
        own = table if table.ndim == count.ndim else table[-1]
        score = np.where(setting.candidates(count.shape), own, -np.inf)
        return pick(score == score.max(axis=(-2, -1), keepdims=True), draws, lane)


class CountsAlternatives(Broken):
    """Says that it may be shown a few alternatives, and then counts on all."""

    follows_the_foremost = True

    def decide(self, belief: Belief, count: IntArray, setting: Setting, draws: Draws, lane: int) -> Decision:
        found = super().decide(belief, count, setting, draws, lane)
        few = count.shape[-2] < 4
        return Decision(np.full_like(found.alternative, 3), found.context) if few else found


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
        (IgnoresPending(), "the same pair again when a thousand trials of it are under way"),
        (NeedsOwnCovariances(), "fails where alternatives covary"),
        (Mumbles(), "weighs_cost is 'sometimes'; expected True or False"),
        (NeverSays(), "finished returned None; expected True or False"),
        (BeginsNothing(), "begin returned None; expected the policy to go on with"),
        (BeginsForAll(), "a study that has begun among others decides otherwise than alone"),
        (CountsAlternatives(), "expected positions from 0 to 2"),
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

    def fit(self, tally: Tally, setting: Setting, params: Any = None) -> GPParams:
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


class Rubbish(GP):
    """A model that predicts as if nothing were known."""

    def predict(self, tally: Tally, setting: Setting, params: Any, separation: Any) -> Any:
        found = super().predict(tally, setting, params, separation)
        return BlockBelief(0.0 * found.mean, found.cov, found.noise)


class Hasty(GP):
    """A model that learns again all the time."""

    refit_growth = -0.1


class Tongue(GP):
    """A model that tells its troubles letter by letter."""

    def troubles(self, setting: Setting, params: Any) -> Any:
        return "all is lost"


class OnePoint(GP):
    """A model that says that its plausible parameters are more than they are."""

    def plausible(self, *given: Any) -> Any:
        return super().plausible(*given)._replace(n=5)


class Unsorted(GP):
    """A model with one kind for all studies."""

    def kinds(self, *given: Any) -> Any:
        return np.zeros((), int)


@dataclass(frozen=True)
class Forgetful(BlockBelief):
    """A belief that takes trials under way for nothing."""

    def expecting(self, pending: IntArray) -> BlockBelief:
        return self


class Heedless(GP):
    """A model with such a belief."""

    def posterior(self, *given: Any, **named: Any) -> Any:
        belief = super().posterior(*given, **named)
        return Forgetful(belief.mean, belief.cov, belief.noise)


class Borrowing(GP):
    """A model whose belief holds the means of the tally themselves."""

    def posterior(self, tally: Tally, *given: Any, **named: Any) -> Any:
        belief = super().posterior(tally, *given, **named)
        return BlockBelief(tally.mean, belief.cov, belief.noise)


class Silent(GP):
    """A model that does not say what its parameters are."""

    def fit(self, tally, setting, params=None):  # type: ignore[no-untyped-def]
        return super().fit(tally, setting, params)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (Rubbish(), "predict at the known contexts must give the belief's mean there"),
        (Silent(), "`fit` must be annotated"),
        (Hasty(), "refit_growth is -0.1; expected a share above 0"),
        (Tongue(), "troubles returned 'all is lost'; expected a list of sentences"),
        (OnePoint(), "plausible says n=5"),
        (Unsorted(), "expected a number per study"),
        (Heedless(), "anticipated must equal update"),
        (Borrowing(), "belief.mean is the tally's mean itself, .*return a copy"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_suite_catches_models_that_studies_trip_over_later(broken: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        testing.assert_valid_model(broken)


class ListStorage:
    """As plain as a storage can be: it forgets nothing and knows one lock."""

    def __init__(self) -> None:
        self.lock, self.kept, self.events = threading.RLock(), None, []  # type: ignore[var-annotated]
        self.greeted: dict[str, Worker] = {}

    def create(self, definition: Any) -> None:
        if self.kept is not None:
            raise StorageError("there is a study already")
        self.kept = definition

    def definition(self) -> Any:
        return self.kept

    def since(self, revision: int) -> Any:
        return self.events[revision:]

    @contextmanager
    def exclusive(self) -> Iterator[Any]:
        with self.lock:
            added: list[Any] = []
            yield SimpleNamespace(since=lambda n: (self.events + added)[n:], append=added.extend)
            self.events = self.events + added

    def greet(self, worker: Worker) -> None:
        self.greeted[worker.name] = worker

    def workers(self) -> Any:
        return [self.greeted[name] for name in sorted(self.greeted)]

    def close(self) -> None:
        pass


def test_a_plain_storage_of_ones_own_conforms_and_serves_a_study() -> None:
    testing.assert_valid_storage(ListStorage)
    problem = registry.problem("classical")
    kept = ListStorage()
    study = Study(problem, storage=kept).run(40)
    again = Study.load(kept, simulate=problem.simulate)
    assert again.selection().equals(study.selection())
