"""Policies, models and beliefs with nothing but the required methods, as written for version 0.2."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import small_problems

from argbest import Study, streams, testing
from argbest.core import abilities
from argbest.core import belief as beliefs
from argbest.core.arrays import Array
from argbest.core.belief import CellBelief
from argbest.core.decision import Decision
from argbest.experiment import Contender, Experiment, loop
from argbest.models import base as models
from argbest.policies import base as policies


class PlainPolicy:
    """The pair that is known least; not even a dataclass."""

    def propose(
        self, belief: Any, tally: Any, pending: Any, setting: Any, draws: Any, n: int = 1
    ) -> Decision:
        score = belief.var / (1 + pending)
        chosen = []
        for lane in range(n):
            open_ = np.where(setting.candidates(tally.shape), score, -np.inf)
            chosen.append(policies.pick(open_ == open_.max(axis=(-2, -1), keepdims=True), draws, lane))
            score = score.copy()
            score[(*np.indices(score.shape[:-2]), *chosen[-1])] /= 2
        return policies.stacked(chosen)


@dataclass(frozen=True)
class PlainBelief:
    """The protocol of beliefs and no more, by way of one that ships."""

    mean: Array
    var: Array
    noise: Array

    @property
    def _whole(self) -> CellBelief:
        return CellBelief(self.mean, self.var, self.noise)

    @property
    def own_cov(self) -> Array:
        return self.var[..., None]

    def cov_with(self, decision: Any) -> Array:
        return self._whole.cov_with(decision)

    def cov_rows(self, alternative: Any, context: Any) -> Array:
        return self._whole.cov_rows(alternative, context)

    def difference_var(self, reference: Any) -> Array:
        return self._whole.difference_var(reference)

    def update(self, decision: Any, value: Any, n: Any = 1) -> "PlainBelief":
        later = self._whole.update(decision, value, n)
        return PlainBelief(later.mean, later.var, later.noise)

    def best_probability(self) -> Array:
        return self._whole.best_probability()

    def good_probability(self, selected: Any, delta: float = 0.0) -> Array:
        return self._whole.good_probability(selected, delta)

    def expected_loss(self, selected: Any) -> Array:
        return self._whole.expected_loss(selected)

    def lower_bound(self, selected: Any, delta: float = 0.0) -> Array:
        return self._whole.lower_bound(selected, delta)

    def draw(self, normals: Array) -> Array:
        return self._whole.draw(normals)


@dataclass(frozen=True)
class PlainParams:
    noise: np.ndarray  # [..., 1, 1]


class PlainModel:
    """Every pair by itself, with the same noise and a wide prior."""

    def check(self, shape: Any, setting: Any) -> None:
        """Accept any table."""

    def fit(self, tally: Any, setting: Any, params: Any = None) -> PlainParams:
        freedom = np.maximum(tally.count - 1, 0).sum((-2, -1))
        return PlainParams((tally.m2.sum((-2, -1)) / np.maximum(freedom, 1))[..., None, None])

    def posterior(self, tally: Any, setting: Any, params: Any, known: Any = None) -> PlainBelief:
        var = params.noise / np.maximum(tally.count, 0.01)
        # A copy: the tables of a running study change.
        return PlainBelief(tally.mean.copy(), var, np.broadcast_to(params.noise, tally.mean.shape))

    def predict(self, tally: Any, setting: Any, params: Any, separation: Array) -> PlainBelief:
        known, which = self.posterior(tally, setting, params), separation.sum(0).argmin(-1)
        parts = (
            np.moveaxis(each[..., which], -1, 0)[..., None] for each in (known.mean, known.var, known.noise)
        )
        return PlainBelief(*parts)


def test_they_offer_nothing_besides() -> None:
    offered = [
        ability
        for thing, some in (
            (PlainPolicy(), policies.ABILITIES),
            (PlainModel(), models.ABILITIES),
            (PlainBelief(*np.ones((3, 2, 2))), beliefs.ABILITIES),
        )
        for ability in some
        if abilities.offers(thing, ability)
    ]
    assert offered == []


def test_they_conform() -> None:
    testing.assert_valid_policy(PlainPolicy(), invariances=())
    testing.assert_valid_model(PlainModel())


@pytest.mark.parametrize("common", [False, True], ids=["own seeds", "shared seeds"])
def test_a_study_and_an_experiment_run_with_them_and_decide_alike(common: bool) -> None:
    contender = Contender(PlainPolicy(), PlainModel(), label="plain")
    experiment = Experiment(
        small_problems.table(), contender, replications=12, initial=2, seed=3,
        certify=True, common_random_numbers=common,
    )  # fmt: skip
    found = loop.trace(experiment, contender, np.array([0, 1]), lambda _: None)
    for run in range(2):
        study = Study(
            small_problems.table(), policy=PlainPolicy(), model=PlainModel(), initial=2,
            seed=int(streams.roots(3, run)), common_random_numbers=common,
        ).run(found.n_initial + 12)  # fmt: skip
        chosen = [trial.pair for trial in study._journal.ledger.trials][found.n_initial :]
        assert chosen == list(zip(found.alternative[:, run], found.context[:, run], strict=True))
        np.testing.assert_allclose(found.claim[-1, run], study.certificate().pcs, rtol=1e-9)
        assert len({trial.pair for trial in study.ask(2)}) == 2  # trials under way count
        assert study.model_summary().sentences
        assert np.isfinite(study.model_check().pairs["z"]).all()
