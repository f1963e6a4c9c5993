"""The loop: macro-replications side by side in one array program, each the study it would be alone."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from argbest import streams
from argbest.core import schedule
from argbest.core import tally as tallies
from argbest.core.abilities import offers
from argbest.core.arrays import Array, IntArray
from argbest.core.belief import SeveralOutcomes
from argbest.core.certificate import Certificate, averaged
from argbest.core.decision import Decision, at
from argbest.core.outcomes import Basis, shared_noise, with_shared_noise
from argbest.core.question import HasLimits, InClosedForm
from argbest.core.questions.contexts import of_table
from argbest.core.questions.within_limits import seen_by
from argbest.core.replications import ReplicationStore
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.engine import step
from argbest.engine.step import Learned
from argbest.errors import InputError
from argbest.experiment.simulation import Simulators
from argbest.experiment.spec import Contender, Experiment
from argbest.models.base import Integrates, Model, entries, together
from argbest.policies.base import Policy
from argbest.problems.base import Problem
from argbest.study.learning import integrated_by_seed

_Scored: TypeAlias = tuple[IntArray, Array, dict[str, float]]  # at a checkpoint: selected, claimed, seconds
_DRAWS = 512  # for a claim that has no closed form
PARTS = ("decide", "refit", "certify", "simulate")
Tick = Callable[[int], None]


@dataclass(frozen=True, eq=False)
class Trace:
    """What is recorded of R macro-replications of one contender."""

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
    store: ReplicationStore  # of all values, also of those after the initial design
    tallies: tuple[Tally, ...]  # of the initial design, of every sum of responses that is learned
    n_initial: int

    def tallied(self, tallies: Sequence[Tally], decision: Decision, values: Array) -> tuple[Tally, ...]:
        """Return the tallies with one more replication of every run; the store has it already."""
        return _tallied(self.setting.basis, self.store, tallies, decision, values)


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

    The order of operations is that of `Study`: take in values, refit when due, score at checkpoints, decide.
    Before every refit and every checkpoint ``tick`` is called with the number of replications since the last
    call, of all runs together.
    """
    clock = _Clock()
    start = _start(experiment, contender, numbers, clock)
    setting, model, tallies = start.setting, start.model, start.tallies
    chosen = np.empty((2, experiment.replications, len(numbers)), np.int64)
    checkpoints = experiment.checkpoints.tolist()
    scored: list[_Scored] = []
    learned: Learned | None = None
    pending = np.zeros(tallies[0].shape, np.int64)  # no trial is under way
    own_number = np.full(len(numbers), -1)  # where alternatives share seeds, see `Simulators`
    ticked = fitted = 0
    for i in range(experiment.replications + 1):
        n, tally = start.n_initial + i, tallies[0]
        due = learned is None or schedule.due(model, experiment.refit_every, n, fitted)
        if due or i == checkpoints[len(scored)]:
            tick(len(numbers) * (i - ticked))
            ticked = i
        if learned is None or due:
            with clock.part("refit"):
                learned, fitted = step.learn(model, setting, tallies, learned), n
                parting = (own_number < 0) & step.leave_shared_seeds(learned, tally)
                own_number = np.where(parting, streams.first_own_number(tally.count), own_number)
        if i == checkpoints[len(scored)]:
            scored.append(_score(experiment, start, tallies, learned, clock))
        if i == experiment.replications:
            break
        with clock.part("decide"):
            batch = step.decide(start.policy, learned, tally, pending, setting, roots=start.roots, step=n)
            decision = Decision(batch.alternative[:, 0], batch.context[:, 0])
        with clock.part("simulate"):
            values = start.simulate(*decision, at(tally.count, decision), own_number)
        shared, number = own_number < 0, at(tally.count, decision)
        start.store.append(*decision, number, values, shared=shared)
        tallies = start.tallied(tallies, decision, values)
        learned = step.take_in(
            learned, decision, _for_belief(setting.basis, values), np.where(shared, number, -1)
        )
        chosen[:, i] = decision
    selected, claims, times = zip(*scored, strict=True)
    seconds = {part: np.array([each[part] for each in times]) for part in times[0]}
    return Trace(
        np.stack(selected), np.stack(claims), seconds, chosen[0], chosen[1], tallies[0], start.n_initial
    )


def _score(
    experiment: Experiment, start: _Start, tallies: Sequence[Tally], learned: Learned, clock: _Clock
) -> _Scored:
    """Return what is selected now, what is claimed of it, and the time until then."""
    question = start.setting.question
    needs_draws = offers(of_table(question), HasLimits) or (
        experiment.certify and not offers(question, InClosedForm)
    )
    by_certificates = needs_draws or _averages(experiment, start)
    with clock.part("certify"):
        if by_certificates:
            found = list(_certificates(experiment, start, tallies, learned))
            selected = np.stack([each.choice for each in found])
        else:
            selected = learned.choice(question)
        if not experiment.certify:
            claims = np.full((len(start.roots), len(question.parts(start.setting.weights))), np.nan)
        elif offers(question, InClosedForm) and not by_certificates:
            claims = learned.of_all(
                lambda group: question.good_probability(group.belief, group.among(selected))
            )
        else:
            claims = np.stack([each.pcs for each in found])
    return selected, claims, clock.read()


def _averages(experiment: Experiment, start: _Start) -> bool:
    """Return whether certificates average over hyper-parameters."""
    return experiment.integrate and offers(start.model, Integrates)


def _of_run(
    start: _Start, tallies: Sequence[Tally], learned: Learned, run: int
) -> tuple[tuple[Tally, ...], Learned]:
    """Return the tallies of one run, and what it has learned, as if it were alone."""
    of_run = tuple(tally[run] for tally in tallies)
    params = tuple(entries(each, run) for each in learned.params)
    if (belief := learned.belief_of(run)) is not None:
        return of_run, Learned.of_one(params, belief)
    return of_run, step.condition(start.model, start.setting, of_run, params)


def _certificates(
    experiment: Experiment, start: _Start, tallies: Sequence[Tally], learned: Learned
) -> Iterator[Certificate]:
    """Yield the certificate of every run by joint draws of its belief, or of its mixture."""
    setting = start.setting
    for r, root in enumerate(start.roots.tolist()):
        of_run, known = _of_run(start, tallies, learned, r)
        integrated = (
            integrated_by_seed(start.model, of_run, setting, known, root)
            if _averages(experiment, start)
            else None
        )
        shared = shared_noise(of_run, known.belief)
        belief, shape = with_shared_noise(known.belief, shared), start.tallies[0].shape[-2:]
        table = (belief.layers, *shape) if offers(belief, SeveralOutcomes) else shape
        normals = streams.generator(root, streams.Purpose.CERTIFICATE).standard_normal((_DRAWS, *table))
        mixture = None if integrated is None else together(integrated, shared)
        asked, seen = seen_by(setting.question, belief)
        chosen_by = averaged(belief, mixture)
        yield Certificate(chosen_by, setting.weights, normals, mixture=mixture, question=asked, seen=seen)


def rehearse(experiment: Experiment, contender: Contender) -> None:
    """Raise an InputError if the contender could not decide after its initial design.

    It gets made-up values of the initial designs of the first two macro-replications, side by side as they
    will be run, so no budget is spent.
    """
    roots = streams.roots(experiment.seed, np.arange(min(2, experiment.macroreps)))
    problems = experiment.problems(roots.tolist())
    setting, shape = problems[0].setting, problems[0].shape
    pairs = _pairs(experiment, contender, problems, roots)
    n_responses = len(setting.basis.weights[0])
    values = np.random.default_rng(0).standard_normal((n_responses, *pairs.shape[:2]))
    _, tallies = _filled(pairs, values, shape, setting.basis, common=experiment.common_random_numbers)
    tally = tallies[0]
    policy, model = contender.make()
    try:
        model.check(shape, setting)
        learned = step.learn(model, setting, tallies)
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
    store, tallies = _filled(pairs, values, problems[0].shape, setting.basis, common=common)
    policy, model = contender.make()
    policy = step.begin(policy, setting, tallies[0])
    return _Start(roots, setting, simulate, policy, model, store, tallies, pairs.shape[1])


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
    pairs: IntArray, values: Array, shape: tuple[int, int], basis: Basis, *, common: bool
) -> tuple[ReplicationStore, tuple[Tally, ...]]:
    """Return the values of the initial designs [run, replication, 2] and their tallies, in their order.

    ``values`` are [response, run, replication].
    """
    store = ReplicationStore((len(pairs),), common=common, n_responses=len(values))
    found = (tallies.empty((len(pairs), *shape), common=common),) * basis.n_sums
    for i in range(pairs.shape[1]):
        decision = Decision(pairs[:, i, 0], pairs[:, i, 1])
        store.append(*decision, at(found[0].count, decision), values[..., i], shared=common)
        found = _tallied(basis, store, found, decision, values[..., i])
    return store, found


def _tallied(
    basis: Basis, store: ReplicationStore, tallied: Sequence[Tally], decision: Decision, values: Array
) -> tuple[Tally, ...]:
    """Return the tallies of all sums with one more replication of every run, ``values`` [response, run]."""
    return tuple(
        tallies.add(tally, decision, value, replications=store.so_far(shown))
        for tally, value, shown in zip(tallied, basis.sums(values), basis.sums(store.values), strict=True)
    )


def _for_belief(basis: Basis, values: Array) -> Array:
    """Return values [response, run] as beliefs are told them: [run] of one sum, [run, sum] of several."""
    sums = basis.sums(values)
    return sums[0] if len(basis.outcomes) == 1 else np.moveaxis(sums, 0, -1)


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
