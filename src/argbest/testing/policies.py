"""The conformance suite for policies."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argbest.core import conditioning, priors
from argbest.core.abilities import offers
from argbest.core.arrays import IntArray
from argbest.core.belief import BlockBelief
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.models.additive_gp import AdditiveGP
from argbest.policies.base import (
    Begins,
    Finishes,
    FollowsTheForemost,
    HasUsualModel,
    NeedsAll,
    Policy,
    TakesLimits,
    TakesQuestions,
    WeighsCost,
    follows_the_foremost,
    of_studies,
)
from argbest.streams import Purpose, StepDraws, roots

PERMUTATION, SHIFT, SCALE = "permutation", "shift", "scale"
EVERY_INVARIANCE = frozenset({PERMUTATION, SHIFT, SCALE})


@dataclass(frozen=True)
class Situation:
    """R studies at one moment: what a policy is shown."""

    belief: BlockBelief  # what is known of all mean rewards, [R, alternative, context]
    tally: Tally  # the data behind the belief
    pending: IntArray  # trials under way, [R, alternative, context]
    setting: Setting  # what is known of the problem
    draws: StepDraws  # the random numbers of the step

    def one(self, run: int) -> "Situation":
        """Return what a single one of them looks like alone.

        Args:
            run: Which one.
        """
        belief, tally = self.belief, self.tally
        return Situation(
            BlockBelief(belief.mean[run], belief.cov[run], belief.noise[run]), tally[run], self.pending[run],
            self.setting, replace(self.draws, root=np.asarray(self.draws.root)[run]),
        )  # fmt: skip


def situation(
    *, runs: int = 5, shape: tuple[int, int] = (4, 3), seed: int = 0, pending: bool = False
) -> Situation:
    """Return random studies: two to nine replications of every pair, and the GP posterior they give.

    Args:
        runs: How many studies.
        shape: The size of the table, (alternatives, contexts).
        seed: Which random studies.
        pending: Whether there are trials under way.
    """
    rng = np.random.default_rng(seed)
    full = (runs, *shape)
    tally = Tally(rng.integers(2, 10, full), rng.normal(0, 2, full), rng.random(full) + 0.5)
    x = np.sort(rng.random(shape[1]))
    separation = (x[:, None] - x)[None] ** 2
    prior = priors.covariance("matern52", separation, np.full((*full[:2], 1), 0.4), np.full(full[:2], 3.0))
    noise = np.full(full, 1.0) + rng.random((*full[:2], 1))
    mean, cov = conditioning.posterior(prior, np.zeros(full[:2]), noise, tally)
    weights = rng.random(shape[1]) + 0.1
    setting = Setting(weights / weights.sum(), separation, np.ones(shape[1], bool))
    under_way = rng.integers(0, 2, full) if pending else np.zeros(full, np.int64)
    draws = StepDraws(roots(seed, np.arange(runs)), Purpose.POLICY, 7)
    return Situation(BlockBelief(mean, cov, noise), tally, under_way, setting, draws)


def assert_valid_policy(
    policy: Policy,
    *,
    shape: tuple[int, int] = (4, 3),
    invariances: Collection[str] = EVERY_INVARIANCE,
    heeds_pending: bool = True,
) -> None:
    """Check a policy: valid pairs, batches, pairs set aside, determinism, R runs at once, invariances.

    It must heed trials under way, or parallel workers would all be sent to the same pair. And it must work
    where alternatives covary.

    Args:
        policy: The policy to check.
        shape: The size of the table, (alternatives, contexts).
        invariances: Those that the policy claims: permuting alternatives and contexts permutes its decisions,
            a constant added to all rewards or another unit changes nothing. A policy that draws at random
            even without ties cannot claim the first.
        heeds_pending: False for a policy that decides without looking at the data.
    """
    for seed in range(6):
        moment = situation(shape=shape, seed=seed, pending=seed % 2 == 1)
        _check_form(policy, moment)
        _check_contexts(policy, moment)
        _check_excluded(policy, moment, np.random.default_rng(seed))
        _check_cost_unit(policy, moment, np.random.default_rng(seed))
        _check_runs(policy, moment)
        _check_correlated(policy, moment)
        if PERMUTATION in invariances:
            _check_permutation(policy, moment)
        if SHIFT in invariances:
            _check_same(policy, moment, _moved(moment, 1.0, 100.0), "a constant is added to all rewards")
        if SCALE in invariances:
            for unit in (1e-9, 1e9):
                _check_same(policy, moment, _moved(moment, unit, 0.0), f"the unit of rewards is {1 / unit:g}")
    _check_abilities(policy, situation(shape=shape))
    _check_ties(policy, shape)
    if heeds_pending:
        _check_pending(policy, shape)


def _propose(policy: Policy, moment: Situation, n: int = 1) -> Decision:
    belief = moment.belief
    held = (each for each in vars(belief).values() if isinstance(each, np.ndarray))
    for array in (*held, moment.tally.count, moment.pending):
        array.flags.writeable = False
    return policy.propose(moment.belief, moment.tally, moment.pending, moment.setting, moment.draws, n)


def _check_form(policy: Policy, moment: Situation) -> None:
    for n in (1, 3):
        found = _propose(policy, moment, n)
        runs, k, c = moment.tally.shape
        for name, values, limit in (("alternative", found.alternative, k), ("context", found.context, c)):
            assert np.shape(values) == (runs, n), (
                f"propose(n={n}) gave {name} of shape {np.shape(values)}, expected {(runs, n)}"
            )
            inside = np.all((np.asarray(values) >= 0) & (np.asarray(values) < limit))
            assert inside, f"propose gave {name} {values}, expected positions from 0 to {limit - 1}"
        same = _alike(found, _propose(policy, moment, n))
        assert same, "propose gave two answers to the same question; take random numbers from `draws` only"


def _check_contexts(policy: Policy, moment: Situation) -> None:
    n_contexts = moment.tally.shape[-1]
    for c in range(n_contexts):
        only = replace(moment, setting=replace(moment.setting, allowed=np.arange(n_contexts) == c))
        found = _propose(policy, only, 3)
        assert np.all(found.context == c), f"only context {c} was allowed, propose gave {found.context}"


def _check_excluded(policy: Policy, moment: Situation, rng: np.random.Generator) -> None:
    """Pairs set aside are never proposed, be they known well or never observed, up to all but one."""
    shape = moment.tally.shape[-2:]
    one = np.zeros(shape, bool)
    one.flat[rng.integers(one.size)] = True
    column = one if shape[1] == 1 else np.broadcast_to(one.any(axis=0), shape)
    for excluded in (one, ~one, column, (rng.random(shape) < 0.5) & ~one):
        known = replace(moment, setting=replace(moment.setting, excluded=excluded))
        tally = moment.tally
        unseen = Tally(*(np.where(excluded, 0, part) for part in (tally.count, tally.mean, tally.m2)))
        for case in (known, replace(known, tally=unseen)):
            found = _propose(policy, case, 4)
            assert not np.any(excluded[found.alternative, found.context]), (
                f"the pairs {np.argwhere(excluded).tolist()} are set aside and propose gave one of them; "
                "choose among `setting.candidates(shape)`"
            )


def _check_cost_unit(policy: Policy, moment: Situation, rng: np.random.Generator) -> None:
    cost = np.exp(rng.normal(size=moment.tally.shape[-2:]))
    costly = [replace(moment, setting=replace(moment.setting, cost=unit * cost)) for unit in (1.0, 1024.0)]
    _check_form(policy, costly[0])
    _check_same(policy, costly[0], costly[1], "costs are in another unit")


def _check_runs(policy: Policy, moment: Situation) -> None:
    together = _propose(policy, moment, 2)
    for run in range(len(moment.tally.count)):
        alone = _propose(policy, moment.one(run), 2)
        same = _alike(Decision(together.alternative[run], together.context[run]), alone)
        assert same, f"run {run} among others decides {_pairs(together, run)}, alone {_pairs(alone)}"


def _check_correlated(policy: Policy, moment: Situation) -> None:
    """Where alternatives covary a belief has no covariances of each alone: ``own_cov`` is None."""
    model = AdditiveGP()
    belief = model.posterior(moment.tally, moment.setting, model.fit(moment.tally, moment.setting))
    covarying: Any = belief
    try:
        _check_form(policy, replace(moment, belief=covarying))
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(
            "propose fails where alternatives covary, as in additive-gp, and belief.own_cov is None "
            f"({type(error).__name__}: {error}); use belief.cov_with, cov_rows or difference_var"
        ) from error


def _check_pending(policy: Policy, shape: tuple[int, int]) -> None:
    """Pairs with a thousand trials under way are as good as known: somewhere the decision must change."""
    for seed in range(6):
        moment = situation(shape=shape, seed=seed)
        first = _propose(policy, moment)
        crowded = moment.pending.copy()
        for run, (k, c) in enumerate(zip(first.alternative[:, 0], first.context[:, 0], strict=True)):
            crowded[run, k, c] = 1000
        found = _propose(policy, replace(moment, pending=crowded))
        if not _alike(found, first):
            return
    raise AssertionError(
        "propose gives the same pair again when a thousand trials of it are under way; use `pending`, for "
        "example by `in_sequence`, or say heeds_pending=False"
    )


_FLAGS: dict[type, str] = {
    WeighsCost: "weighs_cost",
    FollowsTheForemost: "follows_the_foremost",
    NeedsAll: "needs_all",
    TakesQuestions: "takes_questions",
    TakesLimits: "takes_limits",
}


def _check_abilities(policy: Policy, moment: Situation) -> None:
    """Check what the policy offers beyond `propose` (`argbest.policies.base.ABILITIES`)."""
    for ability, name in _FLAGS.items():
        if offers(policy, ability):
            said = getattr(policy, name)
            assert isinstance(said, bool), f"{name} is {said!r}; expected True or False"
    if offers(policy, HasUsualModel):
        assert isinstance(policy.usual_model, str), f"usual_model is {policy.usual_model!r}; expected a name"
    if offers(policy, Finishes):
        done = policy.finished(moment.one(0).tally)
        assert isinstance(done, bool | np.bool_), f"finished returned {done!r}; expected True or False"
    if offers(policy, Begins):
        _check_beginning(policy, moment)
    if follows_the_foremost(policy):
        _check_form(policy, _foremost(moment))


def _check_beginning(policy: Begins, moment: Situation) -> None:
    """Check that R studies at once begin as each alone, and can be told apart afterwards."""
    setting, tally = moment.setting, moment.tally
    begun = policy.begin(setting, tally)
    assert offers(begun, Policy), f"begin returned {begun!r}; expected the policy to go on with"
    together = _propose(begun, moment)
    for run in range(tally.shape[0]):
        one = moment.one(run)
        alone = _propose(policy.begin(setting, one.tally), one)
        picked = _propose(of_studies(begun, run, tally.shape), one)
        assert _pairs(together, run) == _pairs(alone) == _pairs(picked), (
            "a study that has begun among others decides otherwise than alone; what begin fixes must be "
            "fields [..., alternative, context] of a dataclass"
        )


def _foremost(moment: Situation) -> Situation:
    """Return the same without the second alternative, the others numbered among themselves."""
    front = np.delete(np.arange(moment.tally.shape[-2]), 1)
    belief, tally = moment.belief, moment.tally
    return replace(
        moment,
        belief=BlockBelief(belief.mean[:, front], belief.cov[:, front], belief.noise[:, front]),
        tally=Tally(tally.count[:, front], tally.mean[:, front], tally.m2[:, front]),
        pending=moment.pending[:, front],
        setting=moment.setting.among(front),
    )


def _check_permutation(policy: Policy, moment: Situation) -> None:
    rng = np.random.default_rng(3)
    _, k, c = moment.tally.shape
    rows, columns = rng.permutation(k), rng.permutation(c)

    def mix(table: Any) -> Any:
        return table[:, rows][:, :, columns]

    belief, tally = moment.belief, moment.tally
    mixed = Situation(
        BlockBelief(mix(belief.mean), mix(belief.cov)[..., columns], mix(belief.noise)),
        Tally(mix(tally.count), mix(tally.mean), mix(tally.m2)),
        mix(moment.pending),
        Setting(
            moment.setting.weights[columns],
            moment.setting.separation[:, columns][:, :, columns],
            moment.setting.allowed[columns],
        ),
        moment.draws,
    )
    plain, found = _propose(policy, moment), _propose(policy, mixed)
    same = _alike(plain, Decision(rows[found.alternative], columns[found.context]))
    assert same, "permuting alternatives and contexts does not permute the decision"


def _check_same(policy: Policy, moment: Situation, other: Situation, change: str) -> None:
    assert _alike(_propose(policy, moment), _propose(policy, other)), f"the decision changes when {change}"


def _check_ties(policy: Policy, shape: tuple[int, int]) -> None:
    """All pairs alike: any pair is right, but the same draws must give the same one."""
    moment = situation(shape=shape)
    full = moment.tally.shape
    tally = Tally(np.full(full, 3), np.zeros(full), np.ones(full))
    belief = BlockBelief(
        np.zeros(full), np.broadcast_to(np.eye(full[-1]), (*full, full[-1])).copy(), np.ones(full)
    )
    _check_form(policy, replace(moment, belief=belief, tally=tally))
    _check_runs(policy, replace(moment, belief=belief, tally=tally))


def _moved(moment: Situation, unit: float, origin: float) -> Situation:
    belief, tally = moment.belief, moment.tally
    return replace(
        moment,
        belief=BlockBelief(unit * belief.mean + origin, unit**2 * belief.cov, unit**2 * belief.noise),
        tally=Tally(tally.count, unit * tally.mean + origin, unit**2 * tally.m2),
    )


def _alike(one: Decision, other: Decision) -> bool:
    return all(map(np.array_equal, one, other))


def _pairs(decision: Decision, run: int | None = None) -> list[tuple[int, int]]:
    k, c = decision if run is None else (decision.alternative[run], decision.context[run])
    return list(zip(np.asarray(k).tolist(), np.asarray(c).tolist(), strict=True))
