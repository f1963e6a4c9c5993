"""How searches ended, in words: by hand, and on studies whose fits cannot end well."""

import numpy as np
import small_problems

from argbest import GP, AdditiveGP, Problem, Study
from argbest.core.search import STALLED, STEP_LIMIT
from argbest.models.base import troubles as told
from argbest.models.searched import search_troubles

RULES = np.array([[0, 0, 0, -1.0, 1.0], [0, 0, 0, -2.0, 2.0], [0, 0, 0, 0.0, 0.0]])
KINDS = ["distance", "noise", "variation"]


def said(theta: list[list[float]], status: list[int]) -> list[str]:
    return list(search_troubles(np.array(theta), np.array(status), RULES, KINDS))


def test_a_search_that_ended_well_inside_the_limits_is_not_told() -> None:
    assert said([[0.0, 0.5, 0.0]], [0]) == []
    assert said([[1.0, 0.5, 0.0]], [0]) == []  # a long distance: the summary says so


def test_searches_that_ended_early_are_counted() -> None:
    [stalled, out] = said([[0.0, 0.0, 0.0]] * 3, [STALLED, 0, STEP_LIMIT])
    assert stalled.startswith(
        "The search for hyper-parameters stalled before it had converged for 1 of 3 alter"
    )
    assert out.startswith("The search for hyper-parameters ran out of steps for 1 of 3 alternatives:")
    [alone] = said([[0.0, 0.0, 0.0]], [STALLED])
    assert "had converged: certificates may be wrong." in alone


def test_limits_are_told_by_what_they_mean() -> None:
    [found] = said([[-1.0, 2.0, 0.0], [0.0, -2.0, 0.0]], [0, 0])
    assert found.startswith(
        "The fit ended at a limit of the model: rewards change over shorter distances than it can follow for "
        "1 of 2 alternatives; replications hardly differ for 1 of 2 alternatives; noise hides "
        "everything else for 1"
    )


def test_a_simulator_without_noise_is_told_in_summary_and_check_once() -> None:
    exact = Problem([1, 2, 3], np.linspace(0, 1, 6).tolist(), lambda a, x, _: float(np.sin(3 * a * x)))
    study = Study(exact, model=GP(), policy="gp-c-ocba", initial=2).run(36)
    sentences = study.model_summary().sentences
    [found] = [sentence for sentence in sentences if "limit of the model" in sentence]
    assert "replications hardly differ for 3 of 3 alternatives" in found
    assert str(study.model_check()).count(found) == 1


def test_ordinary_studies_have_nothing_to_tell() -> None:
    for model in (GP(), AdditiveGP(), AdditiveGP(noise_sd=0.5)):
        study = Study(small_problems.numbered(), model=model, initial=3).run(60)
        assert told(study.model, study.problem.setting, study._learned().params) == ()
