"""The additive GP as a model: parts that come and go, corners, and what it learns where others fail."""

from dataclasses import replace

import numpy as np
import pytest
from additive_cases import squares

from argbest import Problem, Study
from argbest.core import tally as tallies
from argbest.core.arrays import Array
from argbest.core.belief import best
from argbest.core.decision import Decision
from argbest.core.setting import Coordinates, Setting
from argbest.core.tally import Tally
from argbest.errors import ArgbestError, FitError, InputError
from argbest.models.additive_gp import PARTS, AdditiveGP
from argbest.models.gp import GP
from argbest.testing import assert_valid_model

CONTEXTS = np.linspace(0.0, 1.0, 6)[:, None]
PLACES = np.linspace(0.0, 1.0, 4)[:, None]
TRUTH = 10.0 + 3.0 * np.sin(5 * CONTEXTS[:, 0] + 2 * PLACES)
K, C = TRUTH.shape


def setting(x: Array = CONTEXTS, z: Array | None = PLACES) -> Setting:
    located = None if z is None else Coordinates(z, np.zeros(z.shape[1], bool))
    return Setting(np.full(len(x), 1 / len(x)), squares(x), np.ones(len(x), bool), alternatives=located)


def observe(seed: int, truth: Array = TRUTH, per_cell: int = 3, noise: float | Array = 0.5) -> Tally:
    rng = np.random.default_rng(seed)
    k, c = np.indices(truth.shape).reshape(2, -1).repeat(per_cell, axis=1)
    sd = np.broadcast_to(noise, truth.shape)[k, c]
    return tallies.from_observations((k, c), truth[k, c] + sd * rng.standard_normal(len(k)), truth.shape)


def stack(*single: Tally) -> Tally:
    return Tally(*(np.stack(v) for v in zip(*((t.count, t.mean, t.m2) for t in single), strict=True)))


def test_it_is_a_valid_model() -> None:
    assert_valid_model(AdditiveGP())
    assert_valid_model(AdditiveGP(kernel="rbf", noise="pooled"), shape=(2, 4))
    assert_valid_model(AdditiveGP(parts=("own",)))


@pytest.mark.parametrize("z", [PLACES, None])
def test_many_studies_at_once_learn_what_each_learns_alone(z: Array | None) -> None:
    """Studies that observed different cells: the rows of some are padded."""
    some = [observe(1), observe(2, per_cell=2), observe(3)]
    some[1] = Tally(
        *(
            np.where(np.indices(TRUTH.shape).sum(axis=0) % 2, v, 0)
            for v in (some[1].count, some[1].mean, some[1].m2)
        )
    )
    model, where = AdditiveGP(), setting(z=z)
    tally = stack(*some)
    learned = model.fit(tally, where)
    together = model.posterior(tally, where, learned)
    decision, value = Decision(np.array([0, 1, 2]), np.array([3, 4, 5])), np.array([9.0, 10.0, 11.0])
    after = together.update(decision, value)
    for run, single in enumerate(some):
        params = model.fit(single, where)
        alone = model.posterior(single, where, params)
        np.testing.assert_allclose(together.mean[run], alone.mean, rtol=1e-10)
        np.testing.assert_allclose(together.var[run], alone.var, rtol=1e-8)
        own = Decision(decision.alternative[run], decision.context[run])
        grown = alone.update(own, value[run])
        np.testing.assert_allclose(after.mean[run], grown.mean, rtol=1e-9)
        chosen = best(alone)
        np.testing.assert_allclose(
            together.difference_var(best(together))[run], alone.difference_var(chosen), rtol=1e-7, atol=1e-10
        )
        np.testing.assert_allclose(
            together.best_probability()[run], alone.best_probability(), rtol=1e-6, atol=1e-6
        )


def test_predicting_at_a_known_context_gives_its_belief() -> None:
    tally, model = stack(observe(2), observe(3)), AdditiveGP()
    params = model.fit(tally, setting())
    belief = model.posterior(tally, setting(), params)
    there = model.predict(tally, setting(), params, setting().separation)
    assert there.mean.shape == (C, 2, K, 1)
    np.testing.assert_allclose(np.moveaxis(there.mean[..., 0], 0, -1), belief.mean, rtol=1e-9)
    np.testing.assert_allclose(np.moveaxis(there.var[..., 0], 0, -1), belief.var, rtol=1e-7)
    chosen = best(belief)
    apart = there.difference_var(np.moveaxis(chosen, -1, 0)[..., None])
    np.testing.assert_allclose(
        np.moveaxis(apart[..., 0], 0, -1), belief.difference_var(chosen), rtol=1e-6, atol=1e-10
    )
    np.testing.assert_allclose(
        np.moveaxis(there.best_probability()[..., 0], 0, -1), belief.best_probability(), atol=1e-6
    )


def test_parts_without_support_in_the_data_vanish() -> None:
    """Alternatives that differ by levels alone leave nothing to the joint part and to deviations."""
    rng = np.random.default_rng(6)
    truth = np.sin(6 * CONTEXTS[:, 0]) + rng.normal(size=(K, 1))
    params = AdditiveGP().fit(observe(6, truth, per_cell=10, noise=0.1), setting())
    assert params.trend > 0.1
    assert params.offset > 0.1
    assert params.joint + params.own < 0.02 * params.trend


@pytest.mark.parametrize(("shape", "names", "active"), [
    ((4, 6), False, PARTS),
    ((4, 6), True, ("trend", "offset", "own")),
    ((4, 1), False, ("offset", "own")),
    ((4, 1), True, ("offset",)),
])  # fmt: skip
def test_parts_that_say_the_same_are_told_apart_by_none(
    shape: tuple[int, int], names: bool, active: tuple[str, ...]
) -> None:
    where = setting(CONTEXTS[: shape[1]], None if names else PLACES)
    assert AdditiveGP().active(shape, where) == active


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_units_and_origin_do_not_matter(unit: float) -> None:
    tally = observe(7)
    moved = Tally(tally.count, unit * (tally.mean + 5.0), unit**2 * tally.m2)
    model = AdditiveGP()
    plain = model.posterior(tally, setting(), model.fit(tally, setting()))
    other = model.posterior(moved, setting(), model.fit(moved, setting()))
    np.testing.assert_allclose(other.mean / unit - 5.0, plain.mean, rtol=1e-5)
    np.testing.assert_allclose(np.sqrt(other.var) / unit, np.sqrt(plain.var), rtol=1e-3)


def test_constant_rewards_give_a_certain_and_finite_answer() -> None:
    tally = Tally(np.full((K, C), 2), np.full((K, C), 4.0), np.zeros((K, C)))
    model = AdditiveGP()
    belief = model.posterior(tally, setting(), model.fit(tally, setting()))
    np.testing.assert_allclose(belief.mean, 4.0, atol=1e-6)
    assert np.all(np.isfinite(belief.var))


def cells(*rows: tuple[int, int, float]) -> Tally:
    k, c, y = (np.array(column) for column in zip(*rows, strict=True))
    return tallies.from_observations((k, c), y, TRUTH.shape)


@pytest.mark.parametrize("z", [PLACES, None], ids=["places", "names"])
@pytest.mark.parametrize("tally", [
    tallies.empty(TRUTH.shape),
    cells((0, 0, 1.0)),
    cells((0, 0, 1.0), (1, 3, 2.0), (2, 5, 0.5)),
    cells(*[(k, c, 7.0) for k in range(K) for c in range(C)] * 2),
    cells(*[(0, 2, y) for y in (1.0, 2.0, 3.0)]),
], ids=["nothing", "one observation", "three alternatives", "all equal", "one cell"])  # fmt: skip
def test_the_smallest_data_give_a_usable_belief(tally: Tally, z: Array | None) -> None:
    model, where = AdditiveGP(), setting(z=z)
    belief = model.posterior(tally, where, model.fit(tally, where))
    assert np.all(np.isfinite(belief.mean))
    assert np.all(belief.var > 0)
    assert np.all(belief.noise > 0)
    assert np.all(np.isfinite(belief.expected_loss(best(belief))))


def test_only_studies_with_new_data_are_refitted() -> None:
    model, first = AdditiveGP(), stack(observe(7), observe(8))
    params = model.fit(first, setting())
    where, value = Decision(np.array([1, 1]), np.array([2, 2])), np.array([9.3, 9.3])
    again = model.fit(tallies.add(first, where, value, n=np.array([0, 1])), setting(), params)
    assert again.changed.tolist() == [False, True]
    np.testing.assert_array_equal(again.theta[0], params.theta[0])
    assert not np.array_equal(again.theta[1], params.theta[1])


def test_warm_fits_end_as_high_as_cold_ones() -> None:
    model, params, tally = AdditiveGP(), None, observe(9, per_cell=1)
    for seed in range(10, 16):
        tally = tallies.merge(tally, observe(seed, per_cell=1))
        params = model.fit(tally, setting(), params)
    assert params is not None
    warm, cold = (model.posterior(tally, setting(), p) for p in (params, model.fit(tally, setting())))
    np.testing.assert_allclose(warm.mean, cold.mean, atol=1e-3)
    np.testing.assert_allclose(warm.var, cold.var, rtol=1e-2)


def test_known_noise_is_taken_as_it_is() -> None:
    sd = np.linspace(0.2, 1.0, K * C).reshape(K, C)
    params = AdditiveGP(noise_sd=sd).fit(observe(17, noise=sd), setting())
    np.testing.assert_allclose(params.noise, sd**2, rtol=1e-12)
    number = AdditiveGP(noise_sd=0.5).fit(stack(observe(17), observe(18)), setting())
    np.testing.assert_allclose(number.noise, np.full((2, K, C), 0.25), rtol=1e-12)


def test_noise_per_pair_follows_the_replications() -> None:
    sd = np.where(np.arange(C) < 3, 0.1, 2.0)
    tally = observe(19, per_cell=20, noise=sd)
    params = AdditiveGP().fit(tally, setting())
    ratio = params.noise[:, 3:].mean() / params.noise[:, :3].mean()
    assert 100 < ratio < 1600  # the truth is 400
    assert np.ptp(AdditiveGP(noise="pooled").fit(tally, setting()).noise) == 0


def test_data_that_are_no_numbers_are_refused() -> None:
    tally = observe(25)
    with pytest.raises(FitError, match="the likelihood is not finite anywhere"):
        AdditiveGP().fit(Tally(tally.count, np.full(tally.shape, np.nan), tally.m2), setting())


def test_two_alternatives_that_are_one_share_their_place_at_the_top() -> None:
    """The same place and the same data: each is best with the same probability, and ahead of the others."""
    z = np.array([[0.0], [0.0], [0.5], [1.0]])
    tally = observe(20, 3.0 * np.array([[1.0], [1.0], [0.0], [-1.0]]) * np.ones(TRUTH.shape))
    for table in (tally.count, tally.mean, tally.m2):
        table[1] = table[0]
    model = AdditiveGP()
    belief = model.posterior(tally, setting(z=z), model.fit(tally, setting(z=z)))
    np.testing.assert_allclose(belief.mean[1], belief.mean[0], rtol=1e-9)
    chance = belief.best_probability()
    np.testing.assert_allclose(chance[0], chance[1], atol=0.02)
    np.testing.assert_allclose(chance[:2].sum(axis=0), 1.0, atol=1e-3)


def test_alternatives_that_coincide_are_the_same_to_the_joint_part() -> None:
    """Two alternatives at one place: what is learned of one is believed of the other."""
    z = np.array([[0.0], [0.0], [0.5], [1.0]])
    truth = 3.0 * np.sin(5 * CONTEXTS[:, 0] + 2 * z)
    tally = observe(8, truth, per_cell=20, noise=0.1)
    blind = Tally(*(np.where(np.arange(K)[:, None] == 1, 0, v) for v in (tally.count, tally.mean, tally.m2)))
    model = AdditiveGP(parts=("joint", "own"))
    belief = model.posterior(blind, setting(z=z), model.fit(blind, setting(z=z)))
    np.testing.assert_allclose(belief.mean[1], truth[0], atol=0.3)
    assert np.all(blind.count[1] == 0)


def test_a_category_is_a_coordinate_too() -> None:
    """Rewards that depend on the category alone: unseen alternatives follow their category."""
    z = np.array([[0.1, 0.0], [0.5, 1.0], [0.9, 0.0], [0.3, 1.0], [0.7, 0.0], [0.2, 1.0]])
    where = replace(setting(), alternatives=Coordinates(z, np.array([False, True])))
    truth = np.where(z[:, 1:] == 1.0, 2.0, -2.0) * np.ones((6, C))
    tally = observe(9, truth, per_cell=4, noise=0.2)
    blind = Tally(*(np.where(np.arange(6)[:, None] == 5, 0, v) for v in (tally.count, tally.mean, tally.m2)))
    model = AdditiveGP()
    belief = model.posterior(blind, where, model.fit(blind, where))
    assert np.all(belief.mean[5] > 1.0)


@pytest.mark.parametrize("options", [
    {"parts": ()}, {"parts": ("slope",)}, {"parts": 3},
    {"kernel": "cubic"}, {"noise": "white"}, {"noise_sd": -1.0},
])  # fmt: skip
def test_wrong_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ArgbestError, match="part|kernel|noise"):
        AdditiveGP(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [AdditiveGP, GP])
def test_an_array_without_dimensions_stands_for_its_entry(kind: type[AdditiveGP | GP]) -> None:
    given = kind(kernel=np.array("rbf"), noise_sd=np.array(0.5))  # type: ignore[arg-type]
    assert (given.kernel, float(np.asarray(given.noise_sd))) == ("rbf", 0.5)
    assert kind(noise=np.array("pair")).noise == "pair"  # type: ignore[arg-type]


def test_one_part_may_be_an_array_without_dimensions() -> None:
    assert AdditiveGP(parts=np.array("own")).parts == ("own",)  # type: ignore[arg-type]
    with pytest.raises(
        InputError, match=r"got parts=0\.5; expected one or more of trend, offset, joint, own"
    ):
        AdditiveGP(parts=np.array(0.5))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"unknown prior array\(\['paper'\]"):
        GP(prior=np.array(["paper"]))  # type: ignore[arg-type]


def test_parts_that_say_nothing_of_the_table_are_refused() -> None:
    with pytest.raises(InputError, match="none of them says anything"):
        AdditiveGP(parts=("joint",)).check((4, 6), setting(z=None))


def test_a_study_of_mixed_columns_runs_to_its_answer_and_predicts() -> None:
    """Text, numbers and booleans as alternatives; contexts of two kinds; some cells never simulated."""
    plans = [
        {"staff": n, "shift": s, "late": b} for n in (2, 3) for s in ("day", "night") for b in (True, False)
    ]
    demands = [{"rate": r, "day": d} for r in (1.0, 2.0, 3.0) for d in ("week", "weekend")]

    def profit(alternative: dict[str, object], context: dict[str, object], seed: int) -> float:
        level = float(str(alternative["staff"])) * float(str(context["rate"])) - 2.0 * bool(
            alternative["late"]
        )
        return level + float(np.random.default_rng(seed).normal(0, 0.5))

    problem = Problem(plans, demands, profit)
    design = [(plans[i % 8], demands[i % 6]) for i in range(24)]
    study = Study(problem, policy="dvr", model="additive-gp", initial=design).run(60)
    picked = study.selection()
    assert not picked["p_best"].isna().any()
    assert (study.allocation()["n"] == 0).any()
    there = study.predict([{"rate": 2.5, "day": "week"}])
    assert 0.0 < there["p_best"].iloc[0] <= 1.0
