"""The loop: macro-replications side by side in one array program, each the study it would be alone."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from argbest import streams
from argbest.core import schedule
from argbest.core import tally as tallies
from argbest.core.abilities import offers
from argbest.core.arrays import Array, IntArray
from argbest.core.certificate import Certificate
from argbest.core.decision import Decision, at
from argbest.core.question import InClosedForm
from argbest.core.replications import ReplicationStore
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.engine import step
from argbest.engine.step import Learned
from argbest.errors import InputError
from argbest.experiment.simulation import Simulators
from argbest.experiment.spec import Contender, Experiment
from argbest.models.base import Integrates, Model, entries
from argbest.policies.base import Policy
from argbest.problems.base import Problem
from argbest.study.learning import integrated_by_seed

_Look: TypeAlias = tuple[IntArray, Array, dict[str, float]]  # selected, claimed, seconds
_DRAWS = 512  # behind a claim that has no closed form
PARTS = ("decide", "refit", "certify", "simulate")
Tick = Callable[[int], None]


@dataclass(frozen=True, eq=False)
class Trace:
    """What R macro-replications of one contender leave behind."""

    selected: IntArray  # [checkpoint, run, context]
    claim: Array  # [checkpoint, run, context]: P(the selection is right), as certified
    seconds: dict[str, Array]  # [checkpoint]: processor time of all runs so far: "all" of it, and its PARTS
    alternative: IntArray  # [replication, run]: what was decided
    context: IntArray  # [replication, run]
    tally: Tally  # [run, alternative, context]
    n_initial: int


@dataclass(frozen=True, eq=False)
class _Start:
    """Everything that is fixed before the first decision."""

    roots: IntArray
    setting: Setting
    simulate: Simulators
    policy: Policy
    model: Model[Any]
    store: ReplicationStore  # of all values, those after the initial design too
    tally: Tally  # of the initial design
    n_initial: int


@dataclass
class _Clock:
    """Processor time by part, in seconds."""

    spent: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))
    began: float = field(default_factory=time.process_time)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Add the time of the block to a part."""
        begin = time.process_time()
        yield
        self.spent[name] += time.process_time() - begin

    def read(self) -> dict[str, float]:
        """Return all time so far, and its parts."""
        return {"all": time.process_time() - self.began, **self.spent}


def trace(experiment: Experiment, contender: Contender, numbers: IntArray, tick: Tick) -> Trace:
    """Return the trace of the macro-replications of these numbers.

    The order of operations is that of `Study`: take in, refit when due, look, decide. ``tick`` is called at
    every refit and every checkpoint, before either, with the number of replications since the last call, of
    all runs together.
    """
    clock = _Clock()
    start = _start(experiment, contender, numbers, clock)
    setting, model, tally = start.setting, start.model, start.tally
    chosen = np.empty((2, experiment.replications, len(numbers)), np.int64)
    checkpoints = experiment.checkpoints.tolist()
    looks: list[_Look] = []
    learned: Learned | None = None
    nothing = np.zeros(tally.shape, np.int64)  # is under way
    own_number = np.full(len(numbers), -1)  # where alternatives share seeds, see `Simulators`
    ticked = fitted = 0
    for i in range(experiment.replications + 1):
        n = start.n_initial + i
        due = learned is None or schedule.due(model, experiment.refit_every, n, fitted)
        if due or i == checkpoints[len(looks)]:
            tick(len(numbers) * (i - ticked))
            ticked = i
        if learned is None or due:
            with clock.part("refit"):
                learned, fitted = step.learn(model, setting, tally, learned), n
                late = (own_number < 0) & step.leave_shared_seeds(learned, tally)
                own_number = np.where(late, streams.first_own_number(tally.count), own_number)
        if i == checkpoints[len(looks)]:
            looks.append(_look(experiment, start, tally, learned, clock))
        if i == experiment.replications:
            break
        with clock.part("decide"):
            batch = step.decide(start.policy, learned, tally, nothing, setting, roots=start.roots, step=n)
            decision = Decision(batch.alternative[:, 0], batch.context[:, 0])
        with clock.part("simulate"):
            value = start.simulate(*decision, at(tally.count, decision), own_number)
        shared, number = own_number < 0, at(tally.count, decision)
        start.store.append(*decision, number, value, shared=shared)
        tally = tallies.add(tally, decision, value, replications=start.store.shown())
        learned = step.take_in(learned, decision, value, np.where(shared, number, -1))
        chosen[:, i] = decision
    selected, claims, times = zip(*looks, strict=True)
    seconds = {part: np.array([each[part] for each in times]) for part in times[0]}
    return Trace(np.stack(selected), np.stack(claims), seconds, chosen[0], chosen[1], tally, start.n_initial)


def _look(experiment: Experiment, start: _Start, tally: Tally, learned: Learned, clock: _Clock) -> _Look:
    """Return what is selected now, what is claimed of it, and the time until then."""
    with clock.part("certify"):
        selected = learned.choice(start.setting.question)
        claims = _claim(experiment, start, tally, learned, selected)
    return selected, claims, clock.read()


def _claim(
    experiment: Experiment, start: _Start, tally: Tally, learned: Learned, selected: IntArray
) -> Array:
    """Return P(the selection is right) as the certificate of every run would say, [run, context]; or NaN."""
    question, n_parts = start.setting.question, len(start.setting.question.parts(start.setting.weights))
    if not experiment.certify:
        return np.full((len(start.roots), n_parts), np.nan)
    if not offers(question, InClosedForm):
        return _claims_by_draws(experiment, start, tally, learned)
    claims: Array = learned.of_all(
        lambda group: question.good_probability(group.belief, group.among(selected))
    )
    if experiment.integrate and offers(start.model, Integrates):
        for r, root in enumerate(start.roots.tolist()):
            known = tally[r], start.setting, entries(learned.params, r)
            unsure = integrated_by_seed(start.model, *known, root, belief=learned.belief_of(r))
            if unsure is not None:
                claims[r] = question.good_probability(unsure.here(), selected[r])
    return claims


def _claims_by_draws(experiment: Experiment, start: _Start, tally: Tally, learned: Learned) -> Array:
    """Return P(the choice is right) by joint draws of every run's belief, or of its mixture, [run, part]."""
    setting, claims = start.setting, []
    for r, root in enumerate(start.roots.tolist()):
        known = tally[r], setting, entries(learned.params, r)
        belief = start.model.posterior(*known, learned.belief_of(r))
        unsure = (
            integrated_by_seed(start.model, *known, root, belief=belief)
            if experiment.integrate and offers(start.model, Integrates)
            else None
        )
        numbers = streams.generator(root, streams.Purpose.CERTIFICATE)
        normals = numbers.standard_normal((_DRAWS, *belief.mean.shape))
        mixture = None if unsure is None else unsure.here()
        claims.append(
            Certificate(belief, setting.weights, normals, mixture=mixture, question=setting.question).pcs
        )
    return np.stack(claims)


def rehearse(experiment: Experiment, contender: Contender) -> None:
    """Raise an InputError if the contender could not decide after its initial design.

    It is shown made-up values of the first two macro-replications' initial designs, side by side as they will
    be run, so no budget is spent.
    """
    roots = streams.roots(experiment.seed, np.arange(min(2, experiment.macroreps)))
    problems = experiment.problems(roots.tolist())
    setting, shape = problems[0].setting, problems[0].shape
    pairs = _pairs(experiment, contender, problems, roots)
    values = np.random.default_rng(0).standard_normal(pairs.shape[:2])
    _, tally = _filled(pairs, values, shape, common=experiment.common_random_numbers)
    policy, model = contender.make()
    try:
        model.check(shape, setting)
        learned = step.learn(model, setting, tally)
        policy, nothing = step.begin(policy, setting, tally), np.zeros(tally.shape, np.int64)
        step.decide(policy, learned, tally, nothing, setting, roots=roots, step=pairs.shape[1])
    except InputError as error:
        raise InputError(
            f"{contender.label} with the model {contender.model_name} cannot begin on {experiment.name} "
            f"after an initial design of {pairs.shape[1]} replications: {error}"
        ) from error


def _start(experiment: Experiment, contender: Contender, numbers: IntArray, clock: _Clock) -> _Start:
    """Return the runs with their initial designs simulated, in the order a study would."""
    roots = streams.roots(experiment.seed, numbers)
    problems = experiment.problems(roots.tolist())
    common = experiment.common_random_numbers
    simulate, setting = Simulators(problems, roots, common), problems[0].setting
    pairs = _pairs(experiment, contender, problems, roots)
    with clock.part("simulate"):
        values = simulate(pairs[..., 0], pairs[..., 1], _repeats(pairs, problems[0].n_contexts))
    store, tally = _filled(pairs, values, problems[0].shape, common=common)
    policy, model = contender.make()
    policy = step.begin(policy, setting, tally)
    return _Start(roots, setting, simulate, policy, model, store, tally, pairs.shape[1])


def _pairs(
    experiment: Experiment, contender: Contender, problems: list[Problem], roots: IntArray
) -> IntArray:
    """Return the initial pairs of every run, [run, replication, 2]."""
    listed = [
        experiment.design(contender, problem).pairs(problem, streams.generator(root, streams.Purpose.DESIGN))
        for problem, root in zip(problems, roots.tolist(), strict=True)
    ]
    if len({len(pairs) for pairs in listed}) > 1:
        raise InputError(
            f"the initial design of {contender.label} differs in length between macro-replications; curves "
            "need the same number in all. Use a design of fixed length."
        )
    return np.array(listed, np.int64).reshape(len(listed), len(listed[0]), 2)


def _filled(
    pairs: IntArray, values: Array, shape: tuple[int, int], *, common: bool
) -> tuple[ReplicationStore, Tally]:
    """Return the values of the initial designs [run, replication, 2] and their tally, in their order."""
    store = ReplicationStore((len(pairs),), common=common)
    tally = tallies.empty((len(pairs), *shape), common=common)
    for i in range(pairs.shape[1]):
        decision = Decision(pairs[:, i, 0], pairs[:, i, 1])
        store.append(*decision, at(tally.count, decision), values[:, i], shared=common)
        tally = tallies.add(tally, decision, values[:, i], replications=store.shown())
    return store, tally


def _repeats(pairs: IntArray, n_contexts: int) -> IntArray:
    """Return how often each pair occurs before its place in the design, [run, replication]."""
    cell = pairs[..., 0] * n_contexts + pairs[..., 1]
    order = np.argsort(cell, axis=-1, kind="stable")
    ranked = np.take_along_axis(cell, order, axis=-1)
    place = np.broadcast_to(np.arange(cell.shape[-1]), cell.shape)
    fresh = np.concatenate([np.ones_like(ranked[:, :1], bool), ranked[:, 1:] != ranked[:, :-1]], axis=-1)
    first = np.maximum.accumulate(np.where(fresh, place, 0), axis=-1)
    repeats = np.empty_like(cell)
    np.put_along_axis(repeats, order, place - first, axis=-1)
    return repeats
