"""Other questions to studies with limits: a broken limit counts as a loss of its price."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from argbest import InputError, Problem, Study
from argbest.core.arrays import Array
from argbest.core.limits import BestWithinLimits
from argbest.experiment import Experiment, run
from argbest.study.ledger import SET_ASIDE_AFTER
from argbest.study.run_options import ExpectedPCS

pytestmark = pytest.mark.usefixtures("few_draws")

PLANS, LOADS = ("cheap", "middle", "dear"), (1, 2, 3)
COST = {"cheap": 1.0, "middle": 2.0, "dear": 3.0}
SERVED = {"cheap": 1.5, "middle": 2.5, "dear": 3.5}  # the load up to which hardly anybody is late
ONE_FOR_ALL = "overall", "worst-case", "regret", "most-probable-best"


def clinic(plan: str, load: int, seed: int) -> dict[str, float]:
    """Cost rises with the plan, and so does the load at which the mean delay passes 0."""
    rng = np.random.default_rng(seed)
    cost, delay = COST[plan] + 0.2 * rng.standard_normal(), load - SERVED[plan] + 0.8 * rng.standard_normal()
    return {"cost": cost, "delay": delay}


def problem(**options: object) -> Problem:
    given: dict[str, object] = {"goal": "min cost", "limits": ["delay <= 0"], "price": 4.0}
    return Problem(PLANS, LOADS, clinic, **{**given, **options})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def told() -> Study:
    return Study(problem(), seed=3, initial=3).run(60)


def outcomes(study: Study) -> Array:
    """Joint draws of the goal and of the slack, [draw, outcome, alternative, context]."""
    return study.view().certificate(0.0).of_draws(lambda draws: draws)


def tables(study: Study, price: float) -> Array:
    draws = outcomes(study)
    kept, goal = draws[:, 1] >= 0, draws[:, 0]
    able = np.where(kept, goal, -np.inf).max(axis=1, keepdims=True)
    top = np.where(np.isfinite(able), able, goal.max(axis=1, keepdims=True))
    return np.where(kept, goal, np.minimum(goal, top) - price)


def test_the_best_overall_breaks_a_limit_and_is_not_chosen_at_a_high_price(told: Study) -> None:
    assert told.answer("overall", limits=[]).choice == "cheap"
    assert told.answer("overall").choice == "dear"
    assert told.answer("overall", price=0.1).choice == "cheap"
    assert told.answer("overall", price=0.1).headline == "cheap (breaks a limit)"
    assert told.answer("overall", limits=[]).headline == "cheap"
    assert told.answer("overall", limits=["delay <= 9"]).headline == "cheap"
    assert told.answer("worst-case").choice == "dear"
    assert told.answer("overall").p_feasible > 0.8 > 0.2 > told.answer("overall", price=0.1).p_feasible  # type: ignore[operator]
    assert told.answer("overall", limits=[]).p_feasible is None


@pytest.mark.parametrize("name", ONE_FOR_ALL)
def test_one_for_all_is_brute_force_over_the_draws(told: Study, name: str) -> None:
    priced, draws = tables(told, 4.0), outcomes(told)
    kept = draws[:, 1] >= 0
    if name == "overall":
        worth = priced.mean(axis=-1)
    elif name == "worst-case":
        worth = priced.min(axis=-1)
    elif name == "regret":
        worth = (priced - priced.max(axis=1, keepdims=True)).min(axis=-1)
    else:
        able = np.where(kept, draws[:, 0], -np.inf)
        wins = (able == able.max(axis=1, keepdims=True)) & kept
        worth = wins.mean(axis=-1)
    chosen = int(worth.mean(axis=0).argmax())
    lost = worth.max(axis=1) - worth[:, chosen]
    answer = told.answer(name)
    assert answer.choice == PLANS[chosen]
    assert answer.expected_loss == pytest.approx(lost.mean(), abs=1e-12)
    assert answer.p_right == pytest.approx(np.mean(lost <= 0))
    assert answer.p_feasible == pytest.approx(kept[:, chosen].all(axis=-1).mean())
    assert answer.value is not None
    sign = 1 if name == "most-probable-best" else -1
    assert answer.value.mean == pytest.approx(sign * worth[:, chosen].mean())
    row = answer.table.set_index("alternative")["p_feasible"]
    np.testing.assert_allclose(row[list(PLANS)], kept.all(axis=-1).mean(axis=0))


def test_a_shortlist_and_a_rule_are_those_of_the_mean_of_the_priced_draws(told: Study) -> None:
    priced, kept = tables(told, 4.0), outcomes(told)[:, 1] >= 0
    mean = priced.mean(axis=0)
    short = told.answer("top:m=2")
    expected = np.argsort(-mean, axis=0)[:2]
    assert short.choice == [tuple(PLANS[k] for k in column) for column in expected.T]
    both = np.take_along_axis(kept, expected[None], axis=1).all(axis=1)
    np.testing.assert_allclose(short.table["p_feasible"], both.mean(axis=0))
    assert short.p_feasible == pytest.approx(both.all(axis=-1).mean())
    rule = told.answer("rule:depth=2")
    named = [PLANS.index(rule.choice.choose({"load": load})) for load in LOADS]
    gain = priced[:, 1, 1] - priced[:, 2, 1]  # of a second condition, after the first
    assert mean.argmax(axis=0).tolist() == [0, 1, 2]
    assert named == [0, 1 if gain.mean() >= gain.std() else 2, 2]
    worth = priced[:, named, range(3)].mean(axis=-1)
    assert rule.value is not None
    assert rule.value.mean == pytest.approx(-worth.mean())
    assert rule.p_feasible == pytest.approx(kept[:, named, range(3)].all(axis=-1).mean())
    able = np.where(kept, outcomes(told)[:, 0], -np.inf)
    is_best = np.mean((able.argmax(axis=1) == named) & kept.any(axis=1), axis=0)
    assert [each.split()[2] for each in rule.wrong] == [
        str(LOADS[c]) for c in np.flatnonzero(is_best <= 0.05)
    ]


def test_a_rule_that_breaks_a_limit_for_sure_is_said_to_be_wrong_there(told: Study) -> None:
    cheap = told.answer("rule", price=0.01)
    assert [cheap.choice.choose({"load": load}) for load in LOADS] == ["cheap"] * 3
    assert cheap.wrong[-1] == "at load 3 it is surely wrong: dear is better than cheap"


def test_tailoring_is_brute_force_over_the_priced_draws(told: Study) -> None:
    priced = tables(told, 4.0)[:512]
    gain = priced.max(axis=1).mean(axis=-1) - priced.mean(axis=-1).max(axis=-1)
    single = int(tables(told, 4.0).mean(axis=(0, -1)).argmax())
    of_sets: dict[tuple[int, ...], Array] = {(single,): priced[:, single].mean(axis=-1)}
    for n in (2, 3):  # the best set that begins with the one before
        before = max(of_sets, key=len)
        own = {(*before, k): priced[:, [*before, k]].max(axis=1).mean(axis=-1) for k in range(3)}
        best = max((each for each in own if len(set(each)) == n), key=lambda each: own[each].mean())
        of_sets[best] = own[best]
    for name in ("best", "overall"):
        found = told.answer(name).tailoring
        assert found is not None
        assert found.single == PLANS[single] == "dear"
        assert found.value.mean == pytest.approx(gain.mean())
        np.testing.assert_allclose([found.value.low, found.value.high], np.quantile(gain, [0.05, 0.95]))
        assert found.curve["added"].tolist() == [PLANS[each[-1]] for each in of_sets]
        below = priced.mean(axis=-1).max(axis=-1)
        np.testing.assert_allclose(
            found.curve["gain"], [np.mean(each - below) for each in of_sets.values()], atol=1e-12
        )
    free = told.answer("best", limits=[]).tailoring
    assert free is not None
    assert free.value.mean == pytest.approx(0.0, abs=1e-9)  # the cheap plan is the best everywhere


def left_to_lose(study: Study, price: float, further: int) -> float:
    """What is lost on average after so many further replications of the cheap plan, whose limit is open.

    The goal and the slack of the dear plan count as known. With M the later mean of the slack, normal with
    what it is known less, the loss is E min(Λ P(broken), d P(kept)).
    """
    belief: Any = study.view().belief
    slack = belief.slacks[0]
    mean, var, noise = (float(each[0, 0]) for each in (slack.mean, slack.var, slack.noise))
    lead = float(belief.goal.mean[0, 0] - belief.goal.mean[1, 0])
    then = 1.0 / (1.0 / var + further / noise)
    z = np.linspace(-8.0, 8.0, 2001)
    kept = ndtr((mean + np.sqrt(max(var - then, 0.0)) * z) / np.sqrt(then))
    lost = np.minimum(price * (1.0 - kept), min(lead, price) * kept)
    return float(lost @ np.exp(-0.5 * z * z) / np.exp(-0.5 * z * z).sum())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("price", [1.5, 4.0])
def test_halving_agrees_with_the_integral_where_one_slack_is_open(seed: int, price: float) -> None:
    def simulate(plan: str, load: int, seed: int) -> dict[str, float]:
        cost, delay = 1e-4 * np.random.default_rng(seed).standard_normal(2) * [1.0, 1e4]
        dear = plan == "dear"
        return {"cost": 1.0 + dear + cost, "delay": (-50.0 if dear else -0.1) + delay}

    two = Problem(["cheap", "dear"], [0], simulate, goal="min cost", limits=["delay <= 0"], price=price)
    study = Study(two, model="independent", initial=12, seed=seed, common_random_numbers=False).run(24)
    begin = left_to_lose(study, price, 0)
    more = next(n for n in range(1, 1000) if left_to_lose(study, price, n) <= 0.5 * begin)
    found = study.answer().halving
    assert found is not None
    assert 1 / 3 < found.replications / more < 3.0  # 60 paths: the ratio was .6 to 1.3 in 18 other studies


def test_other_questions_say_what_would_halve_its_loss(told: Study) -> None:
    for name in ("worst-case", "top:m=2"):
        answer = told.answer(name)
        assert answer.halving is not None, name
        assert answer.halving.replications > 1, name


def test_answers_say_in_words_what_a_broken_limit_costs(told: Study) -> None:
    said = told.answer("overall").sentences()
    assert "broken limits at their price" in said[0]
    assert "P(keeps all limits in every context)" in said[2]
    assert said[2].endswith("a broken limit counts as a loss of its price, 4")
    assert "that breaks a limit counts as the best" in str(told.answer("most-probable-best"))
    plain = told.answer("overall").plain()
    assert plain["p_feasible"] == pytest.approx(told.answer("overall").p_feasible)
    again = json.loads(json.dumps(plain))
    assert again["tailoring"]["over"] == again["choice"] == again["table"][0]["alternative"] == "dear"
    assert [each["n_alternatives"] for each in again["tailoring"]["curve"]] == [1, 2, 3]
    assert again["value"]["low"] <= again["value"]["mean"] <= again["value"]["high"]
    assert again["replications_to_halve"] > 0
    assert "p_feasible" not in told.answer("overall", limits=[]).plain()
    assert 0 < told.answer().p_feasible < 1  # type: ignore[operator]


def test_where_nothing_is_feasible_the_question_is_answered_as_without_limits(told: Study) -> None:
    never = ["delay <= -50"]
    for name in ("overall", "worst-case"):
        answer, free = told.answer(name, limits=never), told.answer(name, limits=[])
        assert answer.choice == free.choice
        assert answer.p_feasible == 0.0
        assert answer.value is not None
        assert free.value is not None
        assert answer.value.mean == pytest.approx(free.value.mean + 4.0, abs=0.05)
    nobody = told.answer("most-probable-best", limits=never)
    assert nobody.value is not None
    assert nobody.value.mean == nobody.expected_loss == 0.0
    assert told.answer(limits=never).p_feasible is None


def test_a_study_made_for_a_question_with_limits_decides_as_for_the_best_within_limits(
    tmp_path: Path,
) -> None:
    made = Study(problem(question="overall"), seed=3, initial=3, storage=tmp_path / "s.db").run(40)
    usual = Study(problem(), seed=3, initial=3).run(40)
    assert [trial.pair for trial in made.asked] == [trial.pair for trial in usual.asked]
    assert made.answer().question == "overall"
    assert made.answer().expected_loss == usual.answer("overall").expected_loss
    assert made.selection()["selected"].tolist() == usual.selection()["selected"].tolist()
    assert Study.load(tmp_path / "s.db").answer().choice == made.answer().choice
    with pytest.raises(InputError, match="the policy TopTwo knows of no limits"):
        Study(problem(question="overall"), policy="top-two", initial=2, seed=1).run(30)


def test_a_run_stops_by_the_answer_within_limits() -> None:
    study = Study(problem(question="overall"), seed=3, initial=3).run(200, stop=ExpectedPCS(0.9))
    assert study.n_replications < 200
    assert study.answer().p_right >= 0.9
    assert study.answer().choice == "dear"


def test_a_pair_that_only_failed_is_chosen_at_no_price() -> None:
    design = [(plan, load) for plan in PLANS for load in LOADS for _ in range(SET_ASIDE_AFTER)]
    study = Study(problem(price=0.01), initial=design, seed=1)
    for trial in study.ask(len(design)):
        if trial.alternative == "cheap" and trial.context == 3:
            study.fail(trial, "no bed")
        else:
            study.tell(trial, clinic(str(trial.alternative), int(str(trial.context)), trial.seed))
    assert study.answer("overall").choice == "middle"
    assert study.answer("overall", limits=[]).choice == "middle"


def almost_exactly(plan: str, load: int, seed: int) -> dict[str, float]:
    noise = 0.01 * np.random.default_rng(seed).standard_normal(2)
    return {"cost": COST[plan] + noise[0], "delay": load - SERVED[plan] + noise[1]}


def scored(price: float) -> Problem:
    cost = [[1.0] * 3, [2.0] * 3, [3.0] * 3]
    delay = [[-0.5, 0.5, 1.5], [-1.5, -0.5, 0.5], [-2.5, -1.5, -0.5]]
    truth = {"cost": cost, "delay": delay}
    return Problem(PLANS, LOADS, goal="min cost", limits=["delay <= 0"], truth=truth, price=price)


def test_choices_are_scored_with_broken_limits_at_their_price() -> None:
    known = scored(4.5)
    overall = known.put("overall")  # costs with prices: (1 + 6.5 + 7.5) / 3, (2 + 2 + 7.5) / 3, 3
    each = np.array([0, 1, 2])
    np.testing.assert_allclose(known.opportunity_cost(each, overall)[:, 0], [2.0, 2.5 / 3, 0.0])
    assert known.correct(each, overall).ravel().tolist() == [False, False, True]
    assert known.good(each, 0.9, overall).ravel().tolist() == [False, True, True]
    assert known.infeasible(each, overall).astype(int).tolist() == [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    two = known.put("top:m=2")
    assert known.infeasible(np.array([[0, 1, 2], [1, 2, 1]]), two).tolist() == [False, False, True]
    with pytest.raises(InputError, match=r"expected an alternative, 0 to 2, for each context"):
        known.correct(np.array(-1), overall)
    assert known.asking("overall").asked.right_choice(known._outcomes) == 2
    assert known.asking("overall").setting.question.decides_as == BestWithinLimits(4.5)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("asked", "price", "infeasible"),
    [("overall", 4.5, 0.0), ("overall", 0.3, 2 / 3), ("most-probable-best", 4.5, None),
     ("top:m=2", 4.5, 1 / 3), ("rule", 4.5, 0.0)],
)  # fmt: skip
def test_experiments_choose_and_score_within_limits(
    asked: str, price: float, infeasible: float | None
) -> None:
    known = replace(scored(price), simulate=almost_exactly)
    experiment = Experiment(known, ["equal"], macroreps=2, replications=6, question=asked, seed=2)
    last = run(experiment).runs.query("replications == 6")
    np.testing.assert_allclose(last["cost"], 0.0, atol=1e-9)  # with hardly any noise all is known
    assert last["share_correct"].tolist() == [1.0, 1.0]
    if infeasible is not None:  # else each of three is the best of one context: any may be chosen
        np.testing.assert_allclose(last["infeasible"], infeasible)
