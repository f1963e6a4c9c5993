"""Why choices are not called sure: misfit, too few replications of skewed rewards, rare events; and stops."""

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import stdtrit
from scipy.stats import norm, ttest_ind_from_stats

from argbest import ExpectedPCS, OpportunityCost, Problem, Study, WorstPCS
from argbest.answers import doubts
from argbest.answers.discrepancies import FALSE_ALARM
from argbest.core.arrays import Array
from argbest.core.belief import best
from argbest.core.noise import Rarities
from argbest.core.states import OPEN, SURE
from argbest.errors import DataNotice

CONTEXTS = [1.0, 2.0, 3.0]


def told(values: Callable[[int, int, np.random.Generator], Array], n: int = 12, **options: object) -> Study:
    """Return a study of 3 alternatives and 3 contexts that was told n replications of every pair."""
    pairs = [(k, c) for k in range(3) for c in range(3)]
    problem = Problem(["a", "b", "c"], CONTEXTS)
    study = Study(problem, initial=1, common_random_numbers=False, **options)  # type: ignore[arg-type]
    rng = np.random.default_rng(7)
    for trial in study.ask(len(pairs)):
        study.tell(trial, values(*trial.pair, rng)[:n].tolist())
    return study


def clear(k: int, c: int, rng: np.random.Generator) -> Array:
    """Normal rewards, the first alternative far ahead."""
    return np.asarray(rng.normal(10.0 - 3.0 * k + c, 1.0, 100))


def with_a_disaster(k: int, c: int, rng: np.random.Generator) -> Array:
    """As `clear`, farther apart, but the last alternative has had one disaster in one context."""
    values = clear(k, c, rng) - 2.5 * k
    if (k, c) == (2, 1):
        values[5] -= 60.0
    return values


@pytest.mark.slow
def test_clear_normal_rewards_are_sure_and_stop() -> None:
    study = told(clear)
    assert set(study.selection()["state"]) == {SURE}
    assert "note" not in study.selection().columns
    assert not study.doubts().some.any()
    assert doubts.sentence(study.view()) == ""
    for rule in (ExpectedPCS(0.95), WorstPCS(0.95), OpportunityCost(0.5)):
        assert rule(study)


@pytest.mark.parametrize("rule", [ExpectedPCS(0.95), WorstPCS(0.95), OpportunityCost(0.5)])
def test_a_disaster_elsewhere_makes_choices_open_and_stop_rules_wait(
    rule: ExpectedPCS | WorstPCS | OpportunityCost,
) -> None:
    """60 times the 22 % of replications that 12 may have missed are more than a lead of 5.5."""
    study = told(with_a_disaster)
    assert study.doubts().rare.all()
    frame = study.selection()
    claimed = study.certificate().pcs >= 0.95
    assert claimed.any()
    assert set(frame["state"][claimed]) == {OPEN}
    assert frame["note"][claimed].str.contains("a rare event could change the answer: 1 of all").all()
    with pytest.warns(
        DataNotice, match="is met by the model's word, but not .* the run goes on: in context 1.0 a"
    ):
        assert not rule(study)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not rule(study)  # a study says it once


def test_many_replications_rule_a_rare_event_out() -> None:
    """60 (1 − 0.05^(1/n)) < 3 from n = 59 on, and earlier where the noise of a pair is small beside that."""
    assert not told(with_a_disaster, 100).doubts().rare.any()


def test_events_count_by_how_often_so_many_replications_may_have_missed_them() -> None:
    belief = told(clear, 10)._belief()
    foremost, behind = doubts._foremost(belief, best(belief)), np.full(belief.mean.shape, 10.0)
    here = np.arange(3)
    led = belief.mean[foremost[0], here] - belief.mean[foremost[1], here]
    lead = led.min()
    missed = 1.0 - 0.05**0.1
    for size, turned in ((0.99 * lead / missed, False), (1.01 * lead / missed, True)):
        shown = Rarities(1, 0.01, size, 1e9, 0.0)
        assert doubts._could_change(belief, behind, foremost, led, shown).any() == turned
        few = np.where(np.arange(len(behind))[:, None] == foremost[0], 1.0, behind)
        assert doubts._could_change(belief, few, foremost, led, shown).any()
    assert not doubts._could_change(belief, behind, foremost, led, Rarities(0, 0.0, 1e9, 1e9, 0.0)).any()


def test_events_are_no_larger_beside_the_noise_of_a_pair_than_where_they_were_seen() -> None:
    belief = told(clear, 10)._belief()
    foremost, behind, here = (
        doubts._foremost(belief, best(belief)),
        np.full(belief.mean.shape, 10.0),
        np.arange(3),
    )
    led = belief.mean[foremost[0], here] - belief.mean[foremost[1], here]
    noise = np.maximum(*(belief.noise[each, here] for each in foremost))
    least = float((led / (1.0 - 0.05**0.1) / np.sqrt(noise)).min())
    for relative, turned in ((0.99 * least, False), (1.01 * least, True)):
        shown = Rarities(1, 0.01, 1e9, relative, 0.0)
        assert doubts._could_change(belief, behind, foremost, led, shown).any() == turned


def test_skewness_needs_replications_by_the_first_term_of_edgeworths_expansion() -> None:
    z = norm.ppf(0.95)
    for skewness in (0.5, 2.0, 6.0):
        n = doubts._needed(skewness)
        assert skewness * (z**2 - 1) * norm.pdf(z) / (6 * np.sqrt(n)) == pytest.approx(0.025)
    assert doubts._needed(0.0) == 0.0


def test_choices_among_skewed_rewards_wait_for_enough_replications(monkeypatch: pytest.MonkeyPatch) -> None:
    """A skewness of 5 needs 35 replications, and neighbours tell little of rewards that share nothing."""
    monkeypatch.setattr(doubts, "rarities", lambda tally: Rarities(0, 0.0, 0.0, 0.0, 5.0))

    def jumping(k: int, c: int, rng: np.random.Generator) -> Array:
        return np.asarray(rng.normal(30.0 * (c == k), 1.0, 100))

    found = told(jumping, 12).doubts()
    assert found.few.all()
    assert "rests on 12 replications where 35 are needed" in found.reasons[0]
    assert not told(jumping, 40).doubts().few.any()


def with_heavy_tails(k: int, c: int, rng: np.random.Generator) -> Array:
    """As `clear`, with Student's t of three degrees of freedom for noise."""
    return np.asarray(10.0 - 3.0 * k + c + rng.standard_t(3.0, 60))


def test_heavy_tails_alone_leave_choices_sure_that_rest_on_enough_replications() -> None:
    study = told(with_heavy_tails, 60)
    check = study.model_check()
    assert check.rewards.tails_p_value < FALSE_ALARM
    assert not check.fits
    found = study.doubts()
    assert not found.misfit.any()
    assert set(study.selection()["state"][~found.some]) == {SURE}
    assert not found.some.all()


@pytest.mark.parametrize("n", [6, 12])
def test_heavy_tails_hardly_make_students_t_err(n: int) -> None:
    draws = np.random.default_rng(2).laplace(size=(200_000, n))  # an excess kurtosis of 3
    statistic = draws.mean(axis=1) / draws.std(axis=1, ddof=1) * np.sqrt(n)
    beyond = float(np.mean(statistic > stdtrit(n - 1, 0.95)))
    assert beyond < 0.05 + 0.004 * 3.0 / n + 4.0 * np.sqrt(0.05 * 0.95 / len(draws))


def in_steps(k: int, c: int, rng: np.random.Generator) -> Array:
    """Rewards in whole numbers: those of the first alternative never differ, of others one in ten by 20."""
    values = np.full(100, 10.0 - k + c)
    values[3::10] -= 20.0 * (k > 0)
    return values


def test_where_rewards_repeat_values_a_pair_may_have_missed_others() -> None:
    """20 (1 − 0.05^(1/6)) = 7.9 is more than the lead of about 4, and 20 (1 − 0.05^(1/100)) is 0.6."""
    few, many = told(in_steps, 6), told(in_steps, 100)
    assert few.doubts().rare.all()
    reasons = few.doubts().reasons
    assert "rewards repeat values, and the 6 of alternative 'a' may have missed one" in reasons[0]
    assert not many.doubts().rare.any()


def test_two_replications_of_every_pair_cannot_show_skewness() -> None:
    study = told(clear, 2)
    assert (study.certificate().pcs > 0.95).any()
    assert study.doubts().few.all()
    assert set(study.selection()["state"]) == {OPEN}
    assert study.doubts().reasons[0].startswith("no pair has three replications")
    assert not ExpectedPCS(0.5)(study)  # without a word: the third replication comes soon
    assert not told(clear, 3).doubts().few.any()


def test_replications_alone_are_compared_by_welchs_test() -> None:
    study = told(clear, 5)
    tally, selected = study._tally, np.zeros(3, np.int64)
    found = doubts.by_replications(study.view(), selected)
    for c in range(3):
        error = 0.0
        for k in (1, 2):
            sides = [(tally.mean[j, c], np.sqrt(tally.m2[j, c] / 4), 5) for j in (0, k)]
            test = ttest_ind_from_stats(*sides[0], *sides[1], equal_var=False, alternative="greater")
            error += float(test.pvalue)
        assert found[c] == pytest.approx(1 - error)


def test_within_delta_of_the_best_the_replications_alone_are_surer() -> None:
    study, selected = told(clear, 3), np.ones(3, np.int64)  # the second, 3 behind
    assert (doubts.by_replications(study.view(), selected) < 0.2).all()
    assert (doubts.by_replications(study.view(), selected, 8.0) > 0.8).all()


def test_a_pair_without_two_replications_leaves_the_replications_silent() -> None:
    study = Study(Problem(["a", "b"], [1.0]), initial=1)
    for trial in study.ask(2):
        study.tell(trial, 1.0 + trial.pair[0])
    assert doubts.by_replications(study.view(), np.array([1])).tolist() == [0.0]


def test_a_misfit_is_forgiven_where_the_replications_say_the_same() -> None:
    """A pair far off the others' pattern: the check objects, the means alone decide."""

    def broken(k: int, c: int, rng: np.random.Generator) -> Array:
        return clear(k, c, rng) + (25.0 if (k, c) == (1, 2) else 0.0)

    found = told(broken, 12).doubts()
    assert (found.own > 0.99).all()
    assert not found.misfit.any()


def test_equal_replications_everywhere_are_silent_unless_there_is_no_noise() -> None:
    """Two equal values of every pair may hide an event that comes in 3 of 4 runs; 59 hide none of 1 in 20."""

    def still(k: int, c: int, rng: np.random.Generator) -> Array:
        return np.full(100, 5.0 - k + c)

    study = told(still, 2)
    assert study.doubts().silent.all()
    assert set(study.selection()["state"]) == {OPEN}
    assert "no replications of any pair differ, and the 2 of alternative " in study.selection()["note"][0]
    with pytest.warns(
        DataNotice, match="so the run goes on: in context 1.0 no replications of any pair differ"
    ):
        assert not ExpectedPCS(0.95)(study)
    assert told(still, 58).doubts().silent.all()
    assert not told(still, 59).doubts().silent.any()

    problem = Problem(["a", "b", "c"], CONTEXTS, lambda k, c, seed: c - ord(k), noise_sd=0)
    assert set(Study(problem, initial=2).run(18).selection()["state"]) == {SURE}


def test_granted_probabilities_are_those_of_the_replications_or_none() -> None:
    found = told(clear).doubts()
    yes, no = np.array([True, False, False]), np.zeros(3, bool)
    parts = doubts.Doubts(found.check, np.full(3, 0.7), yes, np.roll(yes, 1), no, no, ("", "", ""))
    np.testing.assert_allclose(parts.granted(np.array([0.99, 0.98, 0.97])), [0.7, 0.0, 0.97])
    np.testing.assert_array_equal(parts.some, [True, True, False])


def test_a_run_waits_with_its_stop_rule_and_says_why_once() -> None:
    """Small normal noise, and one in 25 replications of every pair loses 50."""

    def profit(plan: int, load: float, seed: int) -> float:
        rng = np.random.default_rng([seed, plan])
        return float(10.0 * load - 4.0 * plan + rng.normal(0, 0.1) - 50.0 * (rng.random() < 0.04))

    problem = Problem([0, 1, 2, 3], [1.0, 2.0, 3.0, 4.0], profit)
    study = Study(problem, seed=0, initial=5)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        study.run(160, stop=ExpectedPCS(0.95))
    assert study.n_replications == 160
    waits = [str(each.message) for each in heard if "the run goes on" in str(each.message)]
    assert len(waits) == 1
