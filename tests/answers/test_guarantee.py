"""A guarantee from the data alone: what it counts, what it says, and runs that end with it."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from study.conftest import SHAPE, TRUTH, answer, problem

from argbest import GuaranteedPCS, InputError, Problem, SimulationError, Study
from argbest.core.sequences import bounded_lower, normal_lower
from argbest.errors import DataNotice

APART: dict[str, Any] = {"common_random_numbers": False}  # the noise of these simulators is the seed's alone
FLAT: dict[str, Any] = {"policy": "equal", "model": "independent", **APART}


def gaussian(alternative: str, context: int, seed: int) -> float:
    """The truth of the small problem and normal noise of the seed."""
    return float(TRUTH["abc".index(alternative), context]) + float(np.random.default_rng(seed).normal())


def mixed(alternative: str, context: int, seed: int) -> float:
    """The same with noise of which alternatives share most, if they share the seed."""
    own = float(np.random.default_rng([ord(alternative), seed]).normal())
    return gaussian(alternative, context, seed) + 0.3 * own


def told(counts: int = 12, simulate: Any = gaussian, **options: Any) -> Study:
    """A study with so many replications of every pair."""
    made = Study(problem(simulate), initial=counts, **(FLAT | options))
    answer(made, made.ask(counts * 12))
    return made


def bounds(study: Study, alpha: float, sign: float = 1.0) -> list[float]:
    """The lower bound of each context, pair by pair from the frame of observations."""
    frame, found = study.observations().sort_values(["trial"]), []
    for context, chosen in enumerate(study.selection()["selected"]):
        here = frame[frame["context"] == context]
        series = {k: part.set_index("replication")["value"] for k, part in here.groupby("alternative")}
        rivals = [sign * (series[chosen] - series[k]).dropna() for k in series if k != chosen]
        found.append(min(float(normal_lower(d.to_numpy()[None], alpha / 2)[0]) for d in rivals))
    return found


@pytest.mark.parametrize("common", [False, True])
def test_bounds_are_of_differences_of_equally_numbered_replications(common: bool) -> None:
    study = told(simulate=mixed, common_random_numbers=common)
    found = study.guarantee(alpha=0.1, delta=0.7)
    assert found.frame["lower"].tolist() == pytest.approx(bounds(study, 0.1))
    assert found.frame["lower_all"].tolist() == pytest.approx(bounds(study, 0.1 / 4))
    assert found.frame["smallest_delta"].tolist() == pytest.approx(np.maximum(-found.frame["lower"], 0))
    assert found.frame["certified"].tolist() == (found.frame["lower"] >= -0.7).tolist()
    assert found.frame["selected"].tolist() == study.selection()["selected"].tolist()
    assert found.frame["replications"].tolist() == [36] * 4
    assert found.replications == 144
    assert found.smallest_delta == found.frame["smallest_delta_all"].max()
    assert found.notes == ()


def test_a_goal_of_least_mirrors_the_bounds() -> None:
    least = Study(problem(lambda k, c, s: -gaussian(k, c, s), goal="min"), initial=9, **FLAT)
    answer(least, least.ask(108))
    pd.testing.assert_frame_equal(least.guarantee().frame, told(9).guarantee().frame)


def test_common_random_numbers_certify_sooner() -> None:
    shared = told(24, mixed, common_random_numbers=True).guarantee(delta=0.5)
    own = told(24, mixed).guarantee(delta=0.5)
    assert shared.n_certified > own.n_certified


def test_equal_differences_prove_nothing_unless_the_user_says_that_they_are_exact() -> None:
    same = told(24, common_random_numbers=True)  # all noise is common
    found = same.guarantee()
    assert found.n_certified == 0
    assert np.all(found.frame["lower"] == -np.inf)
    assert found.notes == (
        "In 4 contexts too many differences between the selected alternative and a rival are equal for "
        "normal rewards, so there is no bound: other values may be rare. Give a reward_range, or let each "
        "replication be the mean of a batch; or assume='deterministic' if these alternatives differ by a "
        "constant.",
    )
    stated = same.guarantee(assume="deterministic")
    gaps = np.sort(TRUTH, axis=0)[-1] - np.sort(TRUTH, axis=0)[-2]
    np.testing.assert_allclose(stated.frame["lower"], gaps, atol=1e-9)
    assert stated.frame["certified"].all()
    assert stated.notes == ()
    assert str(stated) == (
        "4 of 4 contexts certified best, confidence 0.95 in each, for normal rewards, equal differences "
        "taken as exact; all of them at once"
    )


def inventory(order: int, context: int, seed: int) -> float:
    """What an order costs: holding 1, shortage 50, exponential demand; 12 is the best of 8, 10, 12 and 14."""
    demand = float(np.random.default_rng(seed).exponential(3.0))
    return max(order - demand, 0.0) + 50.0 * max(demand - order, 0.0)


@pytest.mark.parametrize("assume", [None, "deterministic"])
def test_orders_that_differ_by_the_same_sum_until_a_rare_shortage_are_not_certified(
    assume: str | None,
) -> None:
    """Ten contexts are ten independent runs; 8 seems the best until demand exceeds it."""
    many = Problem([8, 10, 12, 14], list(range(10)), inventory, goal="min")
    study = Study(many, initial=60, policy="equal", model="independent")
    answer(study, study.ask(2400))
    found = study.guarantee(delta=1.0, assume=assume)
    wrong = found.frame["certified"] & (found.frame["selected"] != 12)
    assert not wrong.any()
    assert found.n_certified == 0
    assert "In 10 contexts too many differences" in found.notes[0]


def test_skewed_rewards_are_not_certified_by_few_replications() -> None:
    def costly(alternative: str, context: int, seed: int) -> float:
        draw = np.random.default_rng(seed)
        return -float(draw.lognormal(0.0, 1.5)) if alternative == "a" else -float(draw.normal(3.1, 0.1))

    one = Problem(["a", "b"], list(range(12)), costly)
    study = Study(one, initial=40, **FLAT)
    answer(study, study.ask(960))
    found = study.guarantee()
    ahead = found.frame["selected"] == "a"  # its mean reward is -3.08, with rare large losses
    assert ahead.any()
    assert not found.frame["certified"][ahead].any()
    assert found.notes == (
        f"In {ahead.sum()} contexts the differences between the selected alternative and a rival are too "
        "skewed for normal rewards, so there is no bound yet. Give a reward_range, let each replication be "
        "the mean of a batch, or simulate more.",
    )


def test_a_context_of_which_nothing_counts_is_no_contradiction() -> None:
    study = Study(problem(gaussian), initial=30, **FLAT)
    answer(study, [trial for trial in study.ask(360) if trial.pair[1] == 0 or trial.replication > 0])
    found = study.guarantee()
    assert found.frame["replications"].tolist() == [90, 0, 0, 0]
    assert found.notes == ("261 replications wait for earlier ones of their pairs and are not counted yet.",)


def test_rewards_of_few_values_need_a_range() -> None:
    study = Study(Problem(["a", "b", "c"], [0, 1], coin), initial=60, **FLAT)
    answer(study, study.ask(360))
    found = study.guarantee()
    assert found.n_certified == 0
    assert "In 2 contexts too many differences" in found.notes[0]


def test_where_failures_depend_on_the_value_the_claim_is_about_the_others() -> None:
    """Fails by chance with probability below 0.03: alpha and two standard errors of 150 contexts."""
    study = Study(Problem(["a", "b"], list(range(150))), initial=25, **FLAT)
    for trial in study.ask(7500):
        value = float(np.random.default_rng(trial.seed).normal())
        if value < -1.0:  # it crashes when queues are long; both alternatives alike
            study.fail(trial, "queue too long")
        else:
            study.tell(trial, value)
    found = study.guarantee()
    claimed = (found.frame["selected"] == "a") & found.frame["certified"]  # "b" may be the better one
    assert claimed.mean() <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 150)
    failed = 7500 - study.n_replications
    assert found.notes[0] == (
        f"{failed} replications failed. If failures depend on the reward, the guarantee is about "
        "replications in which neither of two compared alternatives fails."
    )


def test_another_unit_or_origin_of_the_rewards_changes_nothing_but_the_unit() -> None:
    def moved(alternative: str, context: int, seed: int) -> float:
        return 1000.0 * gaussian(alternative, context, seed) - 7e4

    other = Study(problem(moved), initial=12, **FLAT)
    answer(other, other.ask(144))
    one, two = told().guarantee(delta=0.5).frame, other.guarantee(delta=500).frame
    np.testing.assert_allclose(two["lower"], 1000 * one["lower"], rtol=1e-9)
    assert two["certified"].tolist() == one["certified"].tolist()


def test_the_order_of_the_alternatives_does_not_matter() -> None:
    values = np.random.default_rng(4).normal(0, 1, (*SHAPE, 15)) + TRUTH[..., None]
    frames = []
    for labels in ("abc", "cab"):
        study = Study(Problem(list(labels), [0, 1, 2, 3]), initial=1, **FLAT)
        for trial in study.ask(12):
            study.tell(trial, values["abc".index(str(trial.alternative)), trial.pair[1]].tolist())
        frames.append(study.guarantee().frame)
    pd.testing.assert_frame_equal(frames[0], frames[1])


def test_rewards_that_differ_by_rounding_alone_certify_nothing() -> None:
    study = Study(problem(), initial=12, **FLAT)
    for n in (144, 144):
        for trial in study.ask(n):
            study.tell(trial, 0.1 * (trial.replication % 5) + 0.3 * trial.pair[0])
    found = study.guarantee(delta=0.1)
    assert found.n_certified == 0
    assert "In 4 contexts too many differences" in found.notes[0]


def test_a_delta_of_zero_asks_for_a_lead() -> None:
    found = told(40).guarantee(delta=0)
    assert found.frame["certified"].tolist() == (found.frame["lower"] > 0).tolist()
    assert 0 < found.n_certified <= 4
    assert not found.certified or found.smallest_delta == 0


def test_only_what_follows_without_a_gap_counts_in_whatever_order_it_arrives() -> None:
    study = Study(problem(gaussian), initial=10, **FLAT)
    trials = study.ask(120)
    first = next(t for t in trials if t.pair == (0, 2) and t.replication == 0)
    answer(study, [t for t in reversed(trials) if t is not first])
    held = study.guarantee()
    assert held.frame["replications"].tolist() == [30, 30, 20, 30]
    assert held.notes == ("9 replications wait for earlier ones of their pairs and are not counted yet.",)
    assert held.frame["lower"][2] == -np.inf
    answer(study, [first])
    pd.testing.assert_frame_equal(study.guarantee().frame, told(10).guarantee().frame)


def test_failures_are_left_out_with_what_they_would_be_compared_with() -> None:
    study = Study(problem(gaussian), initial=10, **FLAT)
    for trial in study.ask(120):
        if trial.pair == (1, 0) and trial.replication == 3:
            study.fail(trial, "no licence")
        else:
            answer(study, [trial])
    found = study.guarantee()
    assert found.frame["lower"].tolist() == pytest.approx(bounds(study, 0.05))
    assert found.frame["replications"].tolist() == [29, 30, 30, 30]
    assert "failures depend on the reward" in found.notes[0]


def test_summaries_are_not_counted_and_lists_are() -> None:
    study = Study(problem(), initial=1, **FLAT)
    values = np.random.default_rng(0).normal(0, 1, (*SHAPE, 12)) + TRUTH[..., None]
    for trial in study.ask(12):
        study.tell(trial, values[trial.pair].tolist())
    for trial in study.ask(2):
        study.tell(trial, mean=2.0, variance=1.0, n=50)
    found = study.guarantee()
    assert found.replications == 144
    assert found.notes == ("100 replications told as summaries have no order and are not counted.",)
    best = int(study.tally.mean[:, 3].argmax())
    rivals = np.delete(values[best, 3] - values[:, 3], best, axis=0)
    assert found.frame["lower"][3] == pytest.approx(normal_lower(rivals, 0.05 / 2).min())


def test_a_stored_study_guarantees_the_same(tmp_path: Path) -> None:
    study = told(8, storage=tmp_path / "study.db")
    loaded = Study.load(tmp_path / "study.db", simulate=gaussian)
    pd.testing.assert_frame_equal(loaded.guarantee().frame, study.guarantee().frame)


@pytest.mark.parametrize("contexts", ["all", "each"])
def test_a_run_ends_as_soon_as_every_context_is_certified(contexts: str) -> None:
    rule = GuaranteedPCS(alpha=0.1, delta=0.8, contexts=contexts)
    study = Study(problem(gaussian), seed=2, policy="ocba", **APART).run(2000, stop=rule)
    assert study.n_replications < 1500
    column = {"all": "certified_all", "each": "certified"}[contexts]
    assert study.guarantee(0.1, 0.8).frame[column].all()
    chosen = ["abc".index(label) for label in study.selection()["selected"]]
    assert np.all(TRUTH.max(axis=0) - TRUTH[chosen, range(4)] <= 0.8)


@pytest.mark.slow
def test_every_context_by_itself_takes_fewer_replications_than_all_at_once() -> None:
    spent = [
        Study(problem(gaussian), seed=2, policy="ocba", **APART)
        .run(2000, stop=GuaranteedPCS(contexts=each))
        .n_replications
        for each in ("each", "all")
    ]
    assert spent[0] < spent[1]


def test_a_run_simulates_what_the_guarantee_lacks() -> None:
    """Every decision is one of the least simulated pairs that are still open, to the end."""
    rule = GuaranteedPCS(alpha=0.1, delta=0.5)
    study = Study(problem(gaussian), seed=3, policy="ocba", initial=3, **APART)
    answer(study, study.ask(36))
    for budget in range(37, 250):
        missing, before = rule.missing(study), study.tally.count
        if not missing.any():
            break
        study.run(budget, stop=rule)
        (cell,) = np.argwhere(study.tally.count - before)
        assert missing[tuple(cell)]
        assert before[tuple(cell)] == before[missing].min()
    closed = ~rule.missing(study) & (study.tally.count < study.tally.count.max())
    assert closed.any()  # some rivals have left before others


def test_batches_end_with_the_guarantee_too() -> None:
    study = Study(problem(gaussian), seed=2, policy="ocba", **APART).run(
        2000, stop=GuaranteedPCS(0.1, 0.8), batch=4
    )
    assert study.guarantee(0.1, 0.8).certified


def test_a_pair_that_always_fails_is_no_rival() -> None:
    def broken(alternative: str, context: int, seed: int) -> float:
        if alternative == "c" and context == 3:
            raise SimulationError("no such plan")
        return gaussian(alternative, context, seed)

    study = Study(problem(broken), initial=12, **FLAT)
    study.run(150, on_failure="record")
    found = study.guarantee(delta=2.0)
    assert "failed without a single value" in found.notes[-1]
    assert found.frame["rival"][3] != "c"
    assert np.isfinite(found.frame["lower"][3])


def coin(alternative: str, context: int, seed: int) -> float:
    return float(np.random.default_rng(seed).random() < {"a": 0.2, "b": 0.5, "c": 0.9}[alternative])


def test_rewards_of_a_known_range_need_no_normal_law() -> None:
    rates = Problem(["a", "b", "c"], [0, 1], coin, reward_range=(0, 1))
    study = Study(rates, **FLAT)
    with pytest.warns(DataNotice, match="are 0 or 1, so they are treated as a rate"):
        study.run(1000, stop=GuaranteedPCS())
    found = study.guarantee()
    assert found.certified
    assert found.assume == "range"
    assert str(found) == (
        "2 of 2 contexts certified best, confidence 0.95 in each, for rewards between 0 and 1; "
        "all of them at once"
    )
    assert study.guarantee(assume="normal").n_certified == 0  # values are too few for that
    assert found.frame["selected"].tolist() == ["c", "c"]
    frame = study.observations()
    series = [frame[(frame["alternative"] == k) & (frame["context"] == 0)]["value"].to_numpy() for k in "cba"]
    n = min(len(series[0]), len(series[1]))
    expected = bounded_lower((series[0][:n] - series[1][:n])[None], 0.05 / 2, -1, 1)[0]
    assert found.frame["lower"][0] == pytest.approx(expected)


def test_a_reward_out_of_its_range_is_refused(tmp_path: Path) -> None:
    rates = Problem(["a", "b"], [0], lambda k, c, s: 1.5, reward_range=(0, 1))
    study = Study(rates, initial=2, **FLAT, storage=tmp_path / "study.db")
    trial, *_ = study.ask(2)
    with pytest.raises(InputError, match="1.5 is outside the reward_range 0 to 1. Correct"):
        study.tell(trial, [0.5, 1.5])
    with pytest.raises(InputError, match="-1 is outside the reward_range"):
        study.tell(trial, mean=-1.0, variance=1.0, n=3)
    assert study.n_replications == 0
    study.tell(trial, 1.0)
    again = Study.load(tmp_path / "study.db", simulate=lambda k, c, s: 1.5)
    assert again.problem.reward_range == (0.0, 1.0)
    with pytest.raises(SimulationError, match="an impossible reward: 1.5 is outside"):
        again.run(20)


@pytest.mark.parametrize("given", [(0, 0), (1, 0), 3, (0, 1, 2), "01", (0, float("inf")), (None, 1)])
def test_a_range_is_two_numbers(given: Any) -> None:
    with pytest.raises(InputError, match="reward_range must be two finite numbers, the smaller first"):
        Problem(["a", "b"], [0], reward_range=given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0}, "alpha must be a number between 0 and 1"),
        ({"alpha": 1.0}, "alpha must be a number between 0 and 1"),
        ({"delta": -1}, "the indifference zone delta must be"),
        ({"contexts": "some"}, "contexts"),
        ({"assume": "nothing"}, "unknown assume 'nothing'; known are deterministic, normal, range"),
    ],
)
def test_wishes_that_mean_nothing_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GuaranteedPCS(**options)
    if "contexts" not in options:
        with pytest.raises(InputError, match=message):
            told(2).guarantee(**options)


def test_nothing_is_guaranteed_before_the_first_value() -> None:
    with pytest.raises(InputError, match="nothing is known yet"):
        Study(problem()).guarantee()


def test_it_reads_as_a_sentence() -> None:
    study = told(40)
    assert str(study.guarantee(delta=5)) == (
        "4 of 4 contexts certified within 5 of the best, confidence 0.95 in each, for normal rewards; "
        "all of them at once"
    )
    one = Study(Problem(["a", "c"], [0], gaussian), initial=2, **FLAT)
    answer(one, one.ask(4))
    said = str(one.guarantee())
    assert said == "the selection is not yet certified best, confidence 0.95, for normal rewards"
    assert said in one.guarantee()._repr_html_()


@pytest.mark.parametrize(
    ("alpha", "said"), [(0.1, "0.9"), (0.0001, "0.9999"), (3e-7, "1 - 3e-07"), (1e-300, "1 - 1e-300")]
)
def test_a_confidence_is_never_said_to_be_1(alpha: float, said: str) -> None:
    assert f"certified best, confidence {said} in each, for" in str(told(2).guarantee(alpha))


def test_a_range_that_is_not_known_cannot_be_assumed() -> None:
    with pytest.raises(InputError, match=r"assume='range' needs the range of the rewards, and none is known"):
        told(2).guarantee(assume="range")
    study = Study(problem(gaussian), **FLAT)
    with pytest.raises(InputError, match="Give Problem"):
        study.run(100, stop=GuaranteedPCS(assume="range"))
    assert study.n_replications == 0


def test_a_run_ends_with_what_the_user_states() -> None:
    shared = FLAT | {"common_random_numbers": True}
    spent = [
        Study(problem(gaussian), initial=5, **shared)
        .run(150, stop=GuaranteedPCS(assume=assume))
        .n_replications
        for assume in ("deterministic", None)
    ]
    assert spent[0] < 100
    assert spent[1] == 150


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["missing", "equal", "random", "c-ocba", "dvr"])
def test_whatever_the_policy_claims_are_false_no_more_often_than_alpha(policy: str) -> None:
    """Fails by chance with probability below 1e-3; normal rewards of unequal noise in two contexts."""
    truth, spread = np.array([[0.0, 0.6], [0.3, 0.3], [0.6, 0.0]]), np.array([2.0, 0.5, 1.0])

    def uneven(alternative: int, context: int, seed: int) -> float:
        draw = np.random.default_rng(seed).normal()
        return float(truth[alternative, context] + spread[alternative] * draw)

    false, n = 0, 40
    for seed in range(n):
        study = Study(
            Problem([0, 1, 2], [0, 1], uneven),
            policy="equal" if policy == "missing" else policy,
            model="independent",
            seed=seed,
            **APART,
        )
        stop = GuaranteedPCS(0.2, 0.2) if policy == "missing" else lambda s: s.guarantee(0.2, 0.2).certified
        study.run(250, stop=stop)
        frame = study.guarantee(0.2, 0.2).frame
        loss = truth.max(axis=0) - truth[frame["selected"].to_numpy(int), [0, 1]]
        false += bool(np.any(frame["certified_all"] & (loss > 0.2)))
    assert false / n <= 0.2 + 3.1 * np.sqrt(0.2 * 0.8 / n)
