"""The loop: macro-replications side by side in one array program, each the study it would be alone."""

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from argbest import streams
from argbest.core import schedule
from argbest.core import tally as tallies
from argbest.core.arrays import Array, IntArray
from argbest.core.belief import Belief, best, take_in
from argbest.core.common_noise import goes_against
from argbest.core.decision import Decision, at
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import InputError
from argbest.experiment.simulation import Simulators
from argbest.experiment.spec import Contender, Experiment
from argbest.models.base import Model, entries
from argbest.policies.base import Policy, screened
from argbest.problems.base import Problem
from argbest.study.learning import integrated_by_seed

_Groups: TypeAlias = list[tuple[Any, Any]]  # runs that are treated alike: all of them or [i], their belief
_Look: TypeAlias = tuple[IntArray, Array, dict[str, float]]  # selected, claimed, seconds
PARTS = ("decide", "refit", "certify", "simulate")
Tick = Callable[[int], None]


@dataclass(frozen=True, eq=False)
class Trace:
    """What R macro-replications of one contender leave behind."""

    selected: IntArray  # [checkpoint, run, context]
    claim: Array  # [checkpoint, run, context]: P(the selection is right), as certified
    seconds: dict[str, Array]  # [checkpoint]: processor time of all runs so far: "all" of it, and its PARTS
    alternative: IntArray  # [sample, run]: what was decided
    context: IntArray  # [sample, run]
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
    tally: Tally
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
    every refit and every checkpoint, before either, with the number of samples since the last call, of all
    runs together.
    """
    clock = _Clock()
    start = _start(experiment, contender, numbers, clock)
    setting, model, tally = start.setting, start.model, start.tally
    chosen = np.empty((2, experiment.samples, len(numbers)), np.int64)
    checkpoints = experiment.checkpoints.tolist()
    looks: list[_Look] = []
    params: Any = None
    groups: _Groups = []
    own_number = np.full(len(numbers), -1)  # where alternatives share seeds, see `Simulators`
    ticked = fitted = 0
    for i in range(experiment.samples + 1):
        n = start.n_initial + i
        due = params is None or schedule.due(model, experiment.refit_every, n, fitted)
        if due or i == checkpoints[len(looks)]:
            tick(len(numbers) * (i - ticked))
            ticked = i
        if due:
            with clock.part("refit"):
                params, fitted = model.fit(tally, setting, params), n
                groups = _conditioned(model, setting, tally, params, groups)
                own_number = _parted(own_number, tally, _whole(groups, lambda _, belief: belief.noise))
        if i == checkpoints[len(looks)]:
            looks.append(_look(experiment, start, tally, params, groups, clock))
        if i == experiment.samples:
            break
        with clock.part("decide"):
            decision = Decision(*_whole(groups, functools.partial(_decided, start, tally, n)).T)
        with clock.part("simulate"):
            value = start.simulate(*decision, at(tally.count, decision), own_number)
        number = np.where(own_number < 0, at(tally.count, decision), -1)
        tally = tallies.add(tally, decision, value, number=number)
        for g, (runs, belief) in enumerate(groups):
            own = Decision(*(each[runs] for each in decision))
            groups[g] = runs, take_in(belief, own, value[runs], number[runs], mine=True)
        chosen[:, i] = decision
    selected, claims, times = zip(*looks, strict=True)
    seconds = {part: np.array([each[part] for each in times]) for part in times[0]}
    return Trace(np.stack(selected), np.stack(claims), seconds, chosen[0], chosen[1], tally, start.n_initial)


def _look(
    experiment: Experiment, start: _Start, tally: Tally, params: Any, groups: _Groups, clock: _Clock
) -> _Look:
    """Return what is selected now, what is claimed of it, and the time until then."""
    with clock.part("certify"):
        selected = _whole(groups, lambda _, belief: best(belief))
        claims = _claim(experiment, start, tally, params, groups, selected)
    return selected, claims, clock.read()


def _conditioned(model: Model[Any], setting: Setting, tally: Tally, params: Any, known: _Groups) -> _Groups:
    """Return the beliefs of runs that found noise in common, and of the others: each as it would be alone."""
    shared = getattr(params, "correlation", None)
    marks = np.zeros(len(tally.count), bool) if shared is None else np.any(shared != 0, axis=-1)
    parts: list[Any] = [slice(None)]
    if marks.any() and not marks.all():
        parts = [np.flatnonzero(marks), np.flatnonzero(~marks)]
    same = len(known) == len(parts) and all(
        np.array_equal(runs, old) for runs, (old, _) in zip(parts, known, strict=True)
    )
    before = [belief for _, belief in known] if same else [None] * len(parts)
    return [
        (runs, model.posterior(tally[runs], setting, entries(params, runs), old))
        for runs, old in zip(parts, before, strict=True)
    ]


def _whole(groups: _Groups, look: Callable[[Any, Any], Any]) -> Any:
    """Return what a function of runs and belief says of all groups, in the order of the runs."""
    if len(groups) == 1:
        return look(*groups[0])
    order = np.argsort(np.concatenate([runs for runs, _ in groups]), kind="stable")
    return np.concatenate([look(runs, belief) for runs, belief in groups])[order]


def _decided(start: _Start, tally: Tally, step: int, runs: Any, belief: Belief) -> IntArray:
    """Return what the policy decides in these runs, [run, 2]."""
    own = tally[runs]
    draws = streams.Draws(start.roots[runs], streams.Purpose.POLICY, step)
    nothing = np.zeros(own.shape, np.int64)
    policy: Any = start.policy
    # What it fixed for every run at the beginning is a table each.
    fixed = [name for name, kept in vars(policy).items() if getattr(kept, "shape", None) == tally.shape]
    if fixed:
        policy = replace(policy, **{name: getattr(policy, name)[runs] for name in fixed})
    batch = policy.propose(belief, own, nothing, screened(policy, belief, own, start.setting), draws)
    return np.stack([batch.alternative[..., 0], batch.context[..., 0]], axis=-1)


def _claim(
    experiment: Experiment, start: _Start, tally: Tally, params: Any, groups: _Groups, selected: IntArray
) -> Array:
    """Return P(the selection is right) as the certificate of every run would say, [run, context]; or NaN."""
    if not experiment.certify:
        return np.full(selected.shape, np.nan)
    claims: Array = _whole(groups, lambda runs, belief: belief.good_probability(selected[runs]))
    if experiment.integrate and hasattr(start.model, "plausible"):
        for r, root in enumerate(start.roots.tolist()):
            known = tally[r], start.setting, entries(params, r)
            if (unsure := integrated_by_seed(start.model, *known, root)) is not None:
                claims[r] = unsure.here().good_probability(selected[r])
    return claims


def _parted(own_number: IntArray, tally: Tally, noise: Array) -> IntArray:
    """Return which runs have seeds of their own: from now on also those where shared ones do harm."""
    if tally.common is None:
        return own_number
    late = (own_number < 0) & goes_against(tally, noise)
    return np.where(late, streams.first_own_number(tally.count), own_number)


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
    tally = _filled(pairs, values, shape, common=experiment.common_random_numbers)
    policy, model = contender.make()
    try:
        model.check(shape, setting)
        belief = model.posterior(tally, setting, model.fit(tally, setting))
        policy = _begun(policy, setting, tally)
        draws = streams.Draws(roots, streams.Purpose.POLICY, pairs.shape[1])
        policy.propose(belief, tally, np.zeros(tally.shape, np.int64), setting, draws)
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
    tally = _filled(pairs, values, problems[0].shape, common=common)
    policy, model = contender.make()
    return _Start(roots, setting, simulate, _begun(policy, setting, tally), model, tally, pairs.shape[1])


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


def _filled(pairs: IntArray, values: Array, shape: tuple[int, int], *, common: bool) -> Tally:
    """Return the tally of the initial designs [run, replication, 2], filled in their order."""
    tally = tallies.empty((len(pairs), *shape), common=common)
    for i in range(pairs.shape[1]):
        decision = Decision(pairs[:, i, 0], pairs[:, i, 1])
        tally = tallies.add(tally, decision, values[:, i], number=at(tally.count, decision))
    return tally


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


def _begun(policy: Policy, setting: Setting, tally: Tally) -> Policy:
    """Return the policy to go on with once the initial design is in."""
    begin = getattr(policy, "begin", None)
    return policy if begin is None else begin(setting, tally)
