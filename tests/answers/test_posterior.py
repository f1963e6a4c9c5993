import numpy as np
import pytest
import small_problems
from study.conftest import problem

from argbest import InputError, Study
from argbest.answers.predicting import posterior


def test_at_the_studys_contexts_it_is_the_belief_in_the_users_sign() -> None:
    for goal, sign in (("max", 1), ("min", -1)):
        study = Study(small_problems.table(goal=goal), initial=2).run(45)
        frame, belief = posterior(study.view()), study.certificate().belief
        assert list(frame.columns) == ["alternative", "context.x", "mean", "sd", "noise_sd", "p_best"]
        np.testing.assert_array_equal(frame["mean"], sign * belief.mean.ravel())
        np.testing.assert_array_equal(frame["sd"], np.sqrt(belief.var).ravel())
        np.testing.assert_array_equal(frame["noise_sd"], np.sqrt(belief.noise).ravel())
        np.testing.assert_array_equal(frame["p_best"], study.certificate().best_probability.ravel())
        assert frame["alternative"].tolist() == [label for label in "ABCD" for _ in range(5)]


@pytest.mark.parametrize("model", ["gp", "additive-gp", "independent", "linear"])
def test_asking_for_the_studys_contexts_changes_nothing(model: str) -> None:
    options = {"model": model, "initial": 2, "refit_every": 1, "common_random_numbers": False}
    study = Study(small_problems.numbered(), **options).run(45)  # type: ignore[arg-type]
    own = posterior(study.view())
    asked = posterior(study.view(), [{"x": x} for x in np.linspace(0.0, 1.0, 5)])
    for name in ("mean", "sd", "p_best"):
        np.testing.assert_allclose(asked[name], own[name], rtol=1e-6, atol=1e-8)


def test_new_contexts_agree_with_predict() -> None:
    study = Study(small_problems.table(), initial=2).run(45)
    rows = [{"x": 0.1}, {"x": 0.6}]
    frame, told = posterior(study.view(), rows), study.predict(rows)
    mean = frame["mean"].to_numpy().reshape(4, 2)
    np.testing.assert_allclose(mean.max(axis=0), told["mean"], rtol=1e-12)
    chance = frame["p_best"].to_numpy().reshape(4, 2)
    np.testing.assert_allclose(chance.T, study.predict_proba(rows), rtol=1e-12)


def test_nothing_is_believed_before_anything_is_told() -> None:
    with pytest.raises(InputError, match="nothing is known yet"):
        posterior(Study(problem()).view())
