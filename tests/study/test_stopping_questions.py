"""Stop rules and forecasts are about the answer to the study's own question, whatever it is."""

from typing import Any

import numpy as np
import pytest

import argbest
from argbest import ExpectedPCS, GuaranteedPCS, OpportunityCost, WorstPCS
from argbest.answers import doubts, forecasting
from argbest.errors import InputError

pytestmark = pytest.mark.usefixtures("few_draws")

QUESTIONS = ("overall", "worst-case", "regret", "top:m=2", "most-probable-best", "rule:depth=1")


def begun(question: str, budget: int = 70, **options: Any) -> argbest.Study:
    problem = argbest.registry.problem("newsvendor")
    return argbest.Study(problem, question=question, seed=4, initial=1, **options).run(budget)


@pytest.fixture(scope="module", params=QUESTIONS)
def study(request: pytest.FixtureRequest) -> argbest.Study:
    return begun(request.param)


def test_a_rule_is_met_by_the_claims_of_the_answer(study: argbest.Study) -> None:
    found, granted = study.answer(), float(np.mean(study._granted(0.0)))
    view = study.view()
    assert view.answer_certificate().pcs_e == found.p_right
    assert view.answer_certificate().eoc == found.expected_loss
    assert granted <= found.p_right + 1e-12
    just_met, beyond = max(granted * 0.999, 1e-6), min(found.p_right * 1.001 + 1e-6, 1 - 1e-9)
    assert not ExpectedPCS(beyond)(study)
    if granted == pytest.approx(found.p_right):
        assert ExpectedPCS(just_met)(study)
        assert OpportunityCost(max(found.expected_loss * 1.001, 1e-9))(study)
    if found.expected_loss > 0:
        assert not OpportunityCost(found.expected_loss * 0.999)(study)


def test_a_forecast_begins_with_what_the_answer_claims(study: argbest.Study) -> None:
    found, claimed = study.forecast(0.5), study.answer().p_right
    assert found.now == pytest.approx(claimed)
    assert (found.replications == 0) == (claimed >= 0.5)
    assert study.view().question.name in str(found)


def test_doubts_about_a_context_are_doubts_about_an_answer_for_all() -> None:
    study = begun("overall")
    view, found = study.view(), doubts.of_study(study.view())
    object.__setattr__(found, "rare", np.arange(8) == 3)
    assert doubts.granted(view, 0.0).tolist() == [0.0]
    several = begun("top:m=2")
    found = doubts.of_study(several.view())
    nothing = np.zeros(8, bool)
    for name in ("misfit", "few", "silent"):
        object.__setattr__(found, name, nothing)
    object.__setattr__(found, "rare", np.arange(8) == 3)
    granted = doubts.granted(several.view(), 0.0)
    assert granted[3] == 0.0
    assert np.delete(granted, 3).tolist() == np.delete(several.view().answer_certificate().pcs, 3).tolist()


def test_a_study_for_one_answer_ends_sooner_than_one_that_must_know_every_context() -> None:
    """One alternative for all contexts is known long before the best of each is."""
    rule, problem = ExpectedPCS(0.9), argbest.registry.problem("newsvendor")
    one = argbest.Study(problem, question="overall", seed=5, initial=2).run(400, stop=rule)
    each = argbest.Study(problem, seed=5, initial=2).run(one.n_replications, stop=rule)
    assert one.n_replications < 400
    assert one.answer().p_right >= 0.9
    assert each.certificate().pcs_e < 0.9


def test_the_worst_part_of_one_answer_is_the_answer() -> None:
    study = begun("overall")
    for target in (0.3, 0.6, 0.99):
        assert WorstPCS(target)(study) == ExpectedPCS(target)(study)
    assert str(study.forecast(0.2, contexts="worst")) == str(study.forecast(0.2))


def test_stages_that_only_the_best_of_every_context_has_are_refused_before_anything_is_spent() -> None:
    problem = argbest.registry.problem("newsvendor")
    study = argbest.Study(problem, question="overall", seed=4)
    with pytest.raises(InputError, match="GuaranteedPCS is about the best alternative of every context, and"):
        study.run(200, stop=GuaranteedPCS())
    with pytest.raises(InputError, match="Confirm decides only for the question 'best', not for 'overall'"):
        study.run(200, confirm=0.2)
    assert study.n_replications == 0


def test_paths_begin_at_the_claim_of_now_and_half_of_them_reach_the_target_when_it_is_said() -> None:
    study = begun("most-probable-best", 90)
    found = study.forecast(0.8)
    assert found.now < 0.8
    curve = found.curve
    assert curve.iloc[0].tolist() == pytest.approx([0.0, found.now, found.now, found.now])
    before, after = (
        curve[keep]
        for keep in (curve["replications"] < found.replications, curve["replications"] >= found.replications)
    )
    assert np.all(before["median"].iloc[: len(before) // 2] < 0.8)
    assert len(after) == 0 or after["high"].max() >= 0.8


def test_targets_close_to_one_are_told_from_it_by_more_draws() -> None:
    study = begun("worst-case")
    view = study.view()
    right = forecasting._probability(view.answer_certificate().question, None, 0.0, 0.999)
    belief = view.belief
    assert 0.999 < 1.0 - 0.5 / 4097
    claimed = float(right(belief)[0])
    assert claimed == pytest.approx(float(view.answer_certificate().pcs[0]), abs=0.15)
