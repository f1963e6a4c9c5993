"""Studies of several responses with a goal and limits: what they learn, decide, certify, store and answer."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta as beta_law

from argbest import InputError, Problem, Study
from argbest.core import tally as tallies
from argbest.core.abilities import offers
from argbest.core.belief import SeveralOutcomes
from argbest.core.limits import NONE, best_kept, loss_of
from argbest.core.outcomes import SharedNoise, sums_of
from argbest.core.states import NO_FEASIBLE
from argbest.problems.call_centres import call_centre, call_lines
from argbest.study.checking import check
from argbest.study.run_options import ExpectedPCS

pytestmark = pytest.mark.usefixtures("few_draws")

Simulator = Callable[[int, int, int], dict[str, float]]
PLANS, LOADS = (1, 2, 3, 4), (1, 2, 3)


def clinic(plan: int, load: int, seed: int) -> dict[str, float]:
    """Cost rises with the plan; the share of late calls, near 5 %, falls with it."""
    draw = np.random.default_rng(seed)
    return {"cost": plan + load + 0.3 * draw.standard_normal(), "late": draw.random() < 0.1 * load / plan}


def problem(simulate: Simulator | None = clinic, **options: Any) -> Problem:
    given: dict[str, Any] = {"goal": "min cost", "limits": ["late <= 0.08"]} | options
    return Problem(PLANS, LOADS, simulate, **given)


def decisions(study: Study) -> list[tuple[int, int]]:
    return [trial.pair for trial in study.asked]


def by_hand(study: Study, n: int, simulate: Callable[..., Any] = clinic) -> Study:
    while study.n_replications < n:
        trial = study.ask_one()
        study.tell(trial, simulate(trial.alternative, trial.context, trial.seed))
    return study


@pytest.fixture(scope="module")
def told() -> Study:
    return Study(problem(), seed=4, initial=2).run(90)


def test_asking_and_telling_by_hand_takes_the_decisions_of_a_run(told: Study) -> None:
    assert decisions(by_hand(Study(problem(), seed=4, initial=2), 90)) == decisions(told)


def test_declared_responses_in_another_order_change_no_decision(told: Study) -> None:
    other = by_hand(Study(problem(responses=["late", "cost"]), seed=4, initial=2), 90)
    assert other.problem.responses == ("late", "cost")
    assert told.problem.responses == ("cost", "late")
    assert decisions(other) == decisions(told)
    np.testing.assert_allclose(other.certificate().pcs, told.certificate().pcs, atol=1e-9)


def test_a_number_and_a_dict_of_one_response_take_the_same_decisions() -> None:
    def cost(plan: int, load: int, seed: int) -> float:
        return clinic(plan, load, seed)["cost"]

    number = Study(Problem(PLANS, LOADS, cost, goal="min"), seed=2).run(60)
    for goal in ("min", "min cost"):
        one = Problem(PLANS, LOADS, lambda *job: {"cost": cost(*job)}, goal=goal)
        named = Study(one, seed=2).run(60)
        assert named.problem.responses == ("cost",)
        assert decisions(named) == decisions(number)
        np.testing.assert_array_equal(named.certificate().pcs, number.certificate().pcs)
        assert named.tally.mean.tolist() == number.tally.mean.tolist()


def test_a_limit_that_never_binds_changes_no_decision() -> None:
    free = Study(problem(limits=None, goal="min cost"), seed=2).run(60)
    with_limit = problem(limits=["cost <= 1000"], price=5.0)
    slack = Study(with_limit, seed=2, common_random_numbers=True).run(60)
    assert offers(slack.view().belief, SeveralOutcomes)
    assert len(sums_of(slack.view().belief)) == 1  # the goal and the limit follow from one sum
    assert decisions(slack) == decisions(free)
    np.testing.assert_array_equal(slack.certificate().selected, free.certificate().selected)
    np.testing.assert_allclose(slack.certificate().p_feasible, 1.0)
    # the same joint draws, counted: within four standard errors of 4,096
    np.testing.assert_allclose(slack.certificate().pcs, free.certificate().pcs, atol=4 * 0.5 / 64)


def test_pairs_have_their_own_seeds_where_limits_are_to_be_kept_unless_the_user_says_otherwise() -> None:
    def seeds(*, limits: Any = None, **options: Any) -> int:
        """How many different seeds four alternatives get in one context."""
        study = Study(problem(limits=limits, goal="min cost"), initial=1, **options)
        return len({trial.seed for trial in study.ask(12) if trial.context == LOADS[0]})

    assert seeds() == 1
    assert seeds(limits=["late <= 0.08"]) == 4
    assert seeds(limits=["late <= 0.08"], common_random_numbers=True) == 1
    assert seeds(common_random_numbers=False) == 4


def test_every_outcome_is_learned_as_a_study_of_it_alone_would(told: Study) -> None:
    """The oracle is a study of one response, told the same values of the same trials."""
    for name, goal in (("cost", "min"), ("late", "min")):
        alone = Study(Problem(PLANS, LOADS, goal=goal), seed=4, refit_every=told.refit_every)
        alone._journal.begin(90)
        for row in told.observations().to_dict("records"):
            pair = PLANS.index(row["alternative"]), LOADS.index(row["context"])
            alone.enqueue(*(axis[i] for axis, i in zip((PLANS, LOADS), pair, strict=True)))
        for row in told.observations().to_dict("records"):
            alone.tell(alone.ask_one(), float(row[name]))
        view = told.view().asking(goal=f"min {name}", limits=[])
        np.testing.assert_array_equal(view.tally.count, alone.view().tally.count)
        np.testing.assert_allclose(view.tally.mean, alone.view().tally.mean, rtol=1e-12)
        np.testing.assert_allclose(view.tally.m2, alone.view().tally.m2, rtol=1e-9, atol=1e-12)
        refitted = alone.model.fit(view.tally, view.setting)
        np.testing.assert_allclose(
            alone.model.posterior(view.tally, view.setting, refitted).mean,
            alone.model.posterior(alone.view().tally, view.setting, refitted).mean,
            rtol=1e-9,
        )


def test_slacks_are_what_was_learned_of_a_response_turned_and_moved_by_the_bound(told: Study) -> None:
    belief = told.view().belief
    assert offers(belief, SeveralOutcomes)
    of_late = sums_of(belief)[1]
    np.testing.assert_array_equal(belief.slacks[0].mean, of_late.mean + 0.08)  # learned is −late
    np.testing.assert_array_equal(belief.slacks[0].var, of_late.var)


def test_the_noise_of_two_responses_has_the_correlation_of_their_residuals() -> None:
    def tied(plan: int, load: int, seed: int) -> dict[str, float]:
        x, y = np.random.default_rng(seed).standard_normal(2)
        return {"cost": plan + x, "wait": load + 3 * (0.8 * x + 0.6 * y)}

    study = Study(problem(tied, limits=["wait <= 2.5"]), seed=1, initial=10).run(240)
    shared = study.view().inference.shared_noise
    assert isinstance(shared, SharedNoise)
    frame = study.observations()
    away = frame[["cost", "wait"]] - frame.groupby(["alternative", "context"])[["cost", "wait"]].transform(
        "mean"
    )
    assert shared.correlation[0, 1] == pytest.approx(away.corr().iloc[0, 1], abs=0.03)  # learned: both turned
    assert shared.correlation[0, 1] == pytest.approx(0.8, abs=0.1)  # five standard errors
    np.testing.assert_array_equal(shared.count, study.tally.count)


def test_the_certificate_is_what_joint_draws_say_of_the_named(told: Study) -> None:
    """The oracle counts draws of the belief one by one."""
    view = told.view()
    certificate = view.certificate(integrate=False)
    belief = view.inference.fitted
    draws = np.concatenate([belief.draw(some) for some in view.inference.normals(1)])
    prices = view.question.settled(belief).prices  # type: ignore[attr-defined]
    for c in range(len(LOADS)):
        losses = np.zeros(len(PLANS) + 1)
        right = np.zeros(len(PLANS) + 1)
        for draw in draws[..., c]:
            kept = draw[1] >= 0
            best = max(draw[0][kept], default=None)
            for k in range(len(PLANS)):
                losses[k] += prices[c] if not kept[k] else min(best - draw[0, k], prices[c])
                right[k] += bool(kept[k]) and draw[0, k] == best
            losses[-1] += 0.0 if best is None else prices[c]
            right[-1] += best is None
        chosen = int(losses.argmin())
        assert certificate.selected[c] == (NONE if chosen == len(PLANS) else chosen)
        assert certificate.expected_loss[c] == pytest.approx(losses[chosen] / len(draws))
        assert certificate.pcs[c] == pytest.approx(right[chosen] / len(draws))
    np.testing.assert_array_equal(view.choice, view.certificate().choice)


def test_a_stored_study_goes_on_as_one_that_was_never_closed(tmp_path: Path, told: Study) -> None:
    path = tmp_path / "s.db"
    Study(problem(), seed=4, initial=2, storage=path).run(35).close()
    study = Study.load(path, simulate=clinic)
    assert study.problem.responses == ("cost", "late")
    assert study.problem.limits == told.problem.limits
    assert not study.rate
    study.run(62).close()
    again = Study.load(path, simulate=clinic).run(90)
    assert decisions(again) == decisions(told)
    np.testing.assert_array_equal(again.certificate().pcs, told.certificate().pcs)
    assert [told_.responses for told_ in again.view().records] == [
        told_.responses for told_ in told.view().records
    ]
    storage = again._journal.storage
    assert check(storage, storage.definition() or {}).sound


def test_a_study_of_several_responses_opens_from_its_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: Study
) -> None:
    monkeypatch.setattr("argbest.study.checking.EVERY", 20)
    path = tmp_path / "s.db"
    study = Study(problem(rate=["late"]), seed=4, storage=path).run(70)
    trial = study.ask_one()
    study.tell(trial, {"cost": [1.0, 2.0, 4.0], "late": [True, False, False]})
    study.tell(study.ask_one(), mean={"cost": 2.0, "late": 0.25}, variance={"cost": 1.0, "late": 0.25}, n=4)
    study.close()
    restored = Study.load(path, simulate=clinic)
    storage = restored._journal.storage
    found = check(storage, storage.definition() or {})
    assert found.sound, str(found)
    assert found.snapshot > 60
    monkeypatch.setattr("argbest.study.checking.Snapshots.read", lambda _: None)
    replayed = Study.load(path, simulate=clinic)
    one, other = restored._journal.ledger, replayed._journal.ledger
    assert [each.responses for each in one.records] == [each.responses for each in other.records]
    for mine, theirs in zip(one.tallies, other.tallies, strict=True):
        np.testing.assert_array_equal(mine.mean, theirs.mean)
        np.testing.assert_array_equal(mine.m2, theirs.m2)
    kinds = [[(each.kind, each.n) for each in ledger.rewards_of] for ledger in (one, other)]
    assert kinds[0] == kinds[1]


def test_replications_and_summaries_are_told_by_response() -> None:
    rng = np.random.default_rng(5)
    values = rng.standard_normal((2, 7))
    options: dict[str, Any] = {"goal": "min cost + 0.5 * late", "limits": ["late <= 1"]}
    single, listed, summed = (Study(problem(None, **options), initial=1) for _ in range(3))
    trial = listed.ask_one()
    listed.tell(trial, {"cost": values[0].tolist(), "late": values[1]})
    trial = summed.ask_one()
    summed.tell(
        trial, n=7,
        mean={"late": values[1].mean(), "cost": values[0].mean()},
        variance={"cost": values[0].var(ddof=1), "late": values[1].var(ddof=1)},
    )  # fmt: skip
    pair = trial.alternative, trial.context
    single.enqueue(*pair, n=7)
    for cost, late in values.T.tolist():
        single.tell(single.ask_one(), {"cost": cost, "late": late})
    goal = -(values[0] + 0.5 * values[1])
    for study in (single, listed):
        tally = study.view().tally
        assert tally.mean[trial.pair] == pytest.approx(goal.mean())
        assert tally.m2[trial.pair] == pytest.approx(((goal - goal.mean()) ** 2).sum())
        assert study.tally.mean[trial.pair] == pytest.approx(-goal.mean())  # the user's sign
    # of a summary nobody knows how its responses go together
    apart = 6 * (values[0].var(ddof=1) + 0.25 * values[1].var(ddof=1))
    assert summed.view().tally.m2[trial.pair] == pytest.approx(apart)
    assert summed.view().tally.mean[trial.pair] == pytest.approx(goal.mean())


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"cost": 1.0}, "without the response 'late'"),
        ({"cost": 1.0, "late": 0, "wait": 2}, "with the response 'wait'"),
        ({"cost": float("nan"), "late": 0}, "value=nan of 'cost'"),
        ({"cost": 1.0, "late": "no"}, "'no' \\(str\\) of 'late'"),
        ({"cost": [1.0, 2.0], "late": [0.0]}, "1 and 2 replications of different responses"),
        (3.0, "the responses cost, late. Tell a dict"),
    ],
)
def test_what_is_not_all_responses_is_refused_in_words(value: Any, words: str) -> None:
    study = Study(problem(None), initial=1)
    study.tell(study.ask_one(), {"cost": 1.0, "late": 0})
    with pytest.raises(InputError, match=words):
        study.tell(study.ask_one(), value)
    assert study.n_replications == 1


def test_a_dict_needs_a_goal_that_names_one_of_its_keys() -> None:
    study = Study(Problem(PLANS, LOADS), initial=1)
    with pytest.raises(InputError, match=r"2 responses \(cost, late\).*goal='max cost'"):
        study.tell(study.ask_one(), {"cost": 1.0, "late": 0.0})
    odd = Study(problem(None), initial=1)
    with pytest.raises(InputError, match="there is no response 'late'; known are cost, wait"):
        odd.tell(odd.ask_one(), {"cost": 1.0, "wait": 0.0})
    assert odd.problem.responses == ()


def test_a_number_is_the_only_response_that_is_named_and_refused_if_there_are_more() -> None:
    one = Study(problem(None, limits=["cost <= 3"]), initial=1)
    one.tell(one.ask_one(), 2.0)
    assert one.problem.responses == ("cost",)
    two = Study(problem(None), initial=1)
    with pytest.raises(InputError, match=r"name the responses cost, late.*Give a dict"):
        two.tell(two.ask_one(), 2.0)


def test_rates_and_ranges_are_declared_by_response() -> None:
    study = Study(problem(None, rate="late", reward_range={"cost": (0, 10)}), initial=1)
    with pytest.raises(InputError, match=r"0.5 of 'late' is neither 0 nor 1, but rate=\['late'\]"):
        study.tell(study.ask_one(), {"cost": 1.0, "late": 0.5})
    with pytest.raises(InputError, match="11 of 'cost' is outside the reward_range 0 to 10"):
        study.tell(study.pending()[0], {"cost": 11.0, "late": 0})
    study.tell(study.pending()[0], mean={"cost": 1.0, "late": 0.25}, variance={"cost": 1.0}, n=4)
    assert study.reward_range == (0.0, 10.0)
    assert [study.view().is_rate(i) for i in range(2)] == [False, True]
    with pytest.raises(InputError, match="got rate=True of 2 responses"):
        problem(None, responses=["cost", "late"], rate=True)
    with pytest.raises(InputError, match="rate names 'lat', which is no response"):
        problem(None, responses=["cost", "late"], rate=["lat"])


def test_policies_that_know_of_no_limits_are_refused() -> None:
    with pytest.raises(InputError, match="knows of no limits. Use dvr-loss"):
        Study(problem(), policy="gp-c-ocba")


def same_noise(mean: Callable[[int, int], tuple[float, float]]) -> Simulator:
    def simulate(plan: int, load: int, seed: int) -> dict[str, float]:
        x, y = np.random.default_rng(seed).standard_normal(2)
        cost, wait = mean(plan, load)
        return {"cost": cost + 0.1 * x, "wait": wait + 0.1 * y}

    return simulate


def test_nothing_feasible_anywhere_is_said_and_is_sure() -> None:
    study = Study(problem(same_noise(lambda k, c: (k, c + 1)), limits=["wait <= 0"]), seed=1).run(120)
    certificate, frame = study.certificate(), study.selection()
    assert certificate.selected.tolist() == [NONE] * 3
    assert np.isnan(certificate.p_feasible).all()
    assert frame["selected"].tolist() == [None] * 3
    assert frame["state"].tolist() == [NO_FEASIBLE] * 3
    assert frame["mean"].isna().all()
    assert study.answer().choice == [None] * 3


def test_everything_feasible_is_the_study_without_limits() -> None:
    easy = same_noise(lambda k, c: (k, -5.0))
    study = Study(problem(easy, limits=["wait <= 0"]), seed=1).run(90)
    assert study.certificate().selected.tolist() == [0, 0, 0]
    assert study.selection()["state"].tolist() == ["sure"] * 3
    assert np.all(study.certificate().p_feasible > 0.999)


def test_one_context_names_alone_and_ties_are_served() -> None:
    def tied(plan: str, load: str, seed: int) -> dict[str, float]:
        x, y = np.random.default_rng(seed).standard_normal(2)
        return {"cost": (plan == "c") + 0.2 * x, "wait": (1.0 if plan == "a" else -1.0) + 0.2 * y}

    study = Study(Problem(list("abcd"), ["only"], tied, goal="min cost", limits=["wait <= 0"]), seed=3).run(
        80
    )
    row = study.selection().iloc[0]
    assert row["selected"] in ("b", "d")  # a is infeasible, c is dear
    assert row["p_feasible"] > 0.99
    assert row["state"] in ("equal", "open")


def test_failures_and_pairs_without_a_value_are_left_out() -> None:
    def fails(plan: int, load: int, seed: int) -> dict[str, float]:
        if plan == 1 and load == 2:
            raise ValueError("no licence")
        if seed % 11 == 0:
            return {"cost": 1.0}  # a response is missing
        return clinic(plan, load, seed)

    study = Study(problem(fails, limits=["late <= 0.9"]), seed=2).run(120, on_failure="record")
    assert (1, 2) in study.set_aside
    assert study.certificate().selected[1] == 1  # the cheapest of those that are left
    assert study.certificate().selected[0] == 0
    reasons = study.trials()["reason"]
    assert reasons.str.contains("no licence").any()
    assert reasons.str.contains("without 'late'").any()


def test_trials_under_way_and_costs_count() -> None:
    wanted = same_noise(lambda k, c: (k, 0.1 * (2.5 - k)))
    alike: dict[str, Any] = {"seed": 4, "initial": 2, "common_random_numbers": True}
    studies = [Study(problem(wanted, limits=["wait <= 0"]), **alike).run(24) for _ in range(2)]
    batch = [trial.pair for trial in studies[0].ask(12)]
    assert batch == [studies[1].ask_one().pair for _ in range(12)]
    assert len(set(batch)) > 2
    cost = np.ones((4, 3))
    cost[batch[0]] = 1e6
    dear = Study(problem(wanted, limits=["wait <= 0"]), cost=cost, **alike).run(40)
    assert batch[0] not in decisions(dear)[24:]


def test_a_stop_rule_counts_on_what_is_right_within_limits() -> None:
    clear = same_noise(lambda k, c: (k, 1.0 if k < 3 else -1.0))
    study = Study(problem(clear, limits=["wait <= 0"]), seed=1).run(2000, stop=ExpectedPCS(0.95))
    assert study.n_replications < 400
    assert study.certificate().selected.tolist() == [2, 2, 2]


def test_another_bound_is_answered_from_the_same_records_without_a_new_fit(
    told: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = told.view()
    monkeypatch.setattr(type(told.model), "fit", lambda *_: pytest.fail("a fit"))
    strict, loose = (view.asking(limits=[f"late <= {bound}"]) for bound in (0.0, 1.0))
    assert view.asking(limits=["late <= 0.08"]) is view
    assert loose.certificate().selected.tolist() == [0, 0, 0]
    assert np.all(loose.certificate().p_feasible > 0.999)
    assert np.all(strict.certificate().expected_loss >= 0)
    np.testing.assert_array_equal(strict.certificate().p_none_feasible > 0.1, True)
    assert told.answer(limits=["late <= 1"]).choice == [1, 1, 1]
    priced = told.answer(limits=["late <= 1"], price=3.0)
    assert priced.choice == [1, 1, 1]
    assert "one choice for each of 3 contexts" in str(priced)
    assert priced.plain()["replications_to_halve"] is None


def test_another_goal_is_learned_from_the_same_records(told: Study) -> None:
    view = told.view().asking(goal="min late", limits=[])
    assert view.rate
    assert view.problem.sign == -1
    frame = told.observations()
    shares = frame.groupby(["alternative", "context"])["late"].mean().to_numpy().reshape(4, 3)
    np.testing.assert_allclose(-view.tally.mean, shares)
    answer = told.answer(goal="max cost - 3 * late", limits=["late <= 1"])
    summed = told.view().asking(goal="max cost - 3 * late", limits=[])  # a rate is never above 1
    assert answer.choice == [PLANS[k] for k in summed.certificate().selected]
    weighed = frame["cost"] - 3 * frame["late"]
    table = weighed.groupby([frame["alternative"], frame["context"]]).agg(["mean", "count", "var"])
    np.testing.assert_allclose(summed.tally.mean.ravel(), table["mean"])
    squares = (table["var"].fillna(0) * (table["count"] - 1)).to_numpy()
    np.testing.assert_allclose(summed.tally.m2.ravel(), squares, rtol=1e-9, atol=1e-9)
    with pytest.raises(InputError, match="there is no response 'lat'"):
        told.answer(limits=["lat <= 0.1"])
    assert told.answer("overall", limits=[]).choice == 1


def test_numbers_without_a_name_cannot_be_asked_for_by_one() -> None:
    study = Study(Problem(PLANS, LOADS, lambda k, c, s: k + s % 3), seed=1).run(30)
    with pytest.raises(InputError, match="'late' is no response: the simulator returns numbers"):
        study.answer(goal="max late")
    assert study.answer(goal="min").choice == [1, 1, 1]


def test_doubts_about_a_limit_keep_a_choice_from_being_called_sure() -> None:
    def rarely(plan: int, load: int, seed: int) -> dict[str, float]:
        x = np.random.default_rng(seed)
        return {"cost": plan + 0.01 * x.standard_normal(), "late": x.random() < 0.02}

    study = Study(problem(rarely, limits=["late <= 0.05"]), seed=1, initial=2).run(40)
    assert not np.any(study.selection()["state"] == "sure")
    found = study.doubts()
    assert any(reason.startswith("(limit late <= 0.05) ") for reason in found.reasons)


def test_what_replications_say_alone_bounds_the_probability_of_being_right() -> None:
    """By simulation: the named is right at least so often, given flat priors and known variances."""
    from argbest.answers.doubts import kept_by_replications

    rng = np.random.default_rng(0)
    study = Study(
        problem(same_noise(lambda k, c: (0.05 * k, 0.06 * (2.5 - k))), limits=["wait <= 0"]), seed=8
    )
    view = study.run(60 * 12).view()
    for chosen in (np.array([2, 2, 2]), np.array([NONE] * 3), np.array([1, 3, 0])):
        low = kept_by_replications(view, chosen)
        drawn = []
        for tally in view.tallies:
            sd = np.sqrt(tally.m2 / (tally.count - 1) / tally.count)
            drawn.append(tally.mean + sd * rng.standard_normal((4000, *tally.shape)))
        outcomes = np.stack(drawn, axis=1)
        right = np.mean(best_kept(outcomes) == chosen, axis=0)
        assert np.all(low <= right + 4 * 0.5 / np.sqrt(4000))  # four standard errors
    assert kept_by_replications(view, np.array([2, 2, 2])).max() > 0.5  # and it is no empty bound


@pytest.mark.filterwarnings("ignore:rewards look far from normal")
@pytest.mark.parametrize("make", [call_centre, call_lines])
@pytest.mark.fast_cases("call_centre")
def test_shipped_problems_are_run_and_scored(make: Callable[[], Problem]) -> None:
    shipped = make()
    study = Study(shipped, seed=1).run(3 * shipped.n_alternatives * shipped.n_contexts)
    certificate = study.certificate()
    assert np.all((certificate.pcs >= 0) & (certificate.pcs <= 1))
    assert shipped.infeasible(certificate.selected).mean() <= 0.5
    lost = shipped.opportunity_cost(certificate.selected)
    prices = shipped.asked.prices(*_truth(shipped))  # type: ignore[attr-defined]
    np.testing.assert_allclose(lost, loss_of(shipped._outcomes, certificate.selected, prices))
    assert lost @ shipped.weights < prices @ shipped.weights / 2


def _truth(shipped: Problem) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return shipped._outcomes[0], shipped.feasible.astype(float)


def test_the_history_of_a_study_with_limits_ends_with_its_certificate(told: Study) -> None:
    frame = told.history(points=3)
    assert frame["pcs_e"].iloc[-1] == pytest.approx(float(told.certificate().pcs_e))
    view = told.view()
    for mine, theirs in zip(view.tallies_after(view.n_records), view.tallies, strict=True):
        np.testing.assert_allclose(mine.mean, theirs.mean, rtol=1e-12)
        np.testing.assert_allclose(mine.m2, theirs.m2, rtol=1e-9, atol=1e-12)
        assert isinstance(replace(mine), tallies.Tally)


@pytest.mark.parametrize("event", [False, True])
def test_no_event_in_few_shared_seeds_makes_no_alternative_sure(event: bool) -> None:
    """Six seeds: P(rate <= 0.08) is 0.69 by Jeffreys' prior, whatever the number of alternatives.

    Where alternatives share seeds, 24 values without an event say what the six seeds say.
    """

    def never(plan: int, load: int, seed: int) -> dict[str, float]:
        return {"cost": float(plan), "late": event}

    limit = "late >= 0.92" if event else "late <= 0.08"
    study = Study(problem(never, limits=[limit]), seed=1, initial=2, common_random_numbers=True).run(24)
    exact = beta_law.cdf(0.08, 0.5, 6.5)
    assert exact == pytest.approx(0.69, abs=0.01)
    assert np.all(np.abs(study.certificate().p_feasible - exact) < 0.15)
    assert not np.any(study.selection()["state"] == "sure")
