"""Names of earlier versions go on working for a version, and say what they are called now."""

import pandas as pd
import pytest
from study.conftest import noise, started

import argbest
from argbest import InputError, Problem, Study
from argbest.study import run_options


def test_delta_of_a_selection_is_called_equal_within() -> None:
    alike = Problem(["a", "b"], [0], lambda _alternative, _context, seed: noise(seed))
    study = Study(alike, common_random_numbers=False).run(60)
    with pytest.warns(
        DeprecationWarning, match=r"selection\(delta=...\) is now called selection\(equal_within"
    ):
        old = study.selection(delta=50.0)
    pd.testing.assert_frame_equal(old, study.selection(equal_within=50.0))
    assert old["state"].tolist() == ["equal"]
    assert study.selection(equal_within=0.0)["state"].tolist() == ["open"]


def test_a_delta_of_nothing_is_the_same_wherever_it_is_called_so() -> None:
    study = started()
    assert study.certificate().delta == study.guarantee().delta == 0.0
    assert argbest.ExpectedPCS(0.9).delta == argbest.GuaranteedPCS().delta == 0.0
    assert study.selection()["p_best"].tolist() == study.certificate().pcs.tolist()
    assert study.selection(equal_within=3.0)["p_best"].tolist() == study.certificate().pcs.tolist()


def test_replications_are_counted_under_one_name() -> None:
    study = started()
    assert study.n_replications == study.view().n_replications == 12
    with pytest.warns(DeprecationWarning, match="n_observations is now called n_replications"):
        assert study.n_observations == 12


def test_the_worst_context_is_named_as_two_stage_policies_name_it() -> None:
    study = started()
    new = study.forecast(0.6, contexts="worst")
    assert new.worst
    with pytest.warns(
        DeprecationWarning, match=r'forecast\(worst=True\) is now .* forecast\(contexts="worst"\)'
    ):
        assert study.forecast(0.6, worst=True).plain() == new.plain()
    with pytest.raises(InputError, match="contexts"):
        study.forecast(0.6, contexts="least")


def test_the_stop_rule_of_a_guarantee_is_not_called_nearly_as_the_guarantee() -> None:
    with pytest.warns(DeprecationWarning, match=r"argbest.Guaranteed is now called argbest.GuaranteedPCS"):
        assert argbest.Guaranteed is argbest.GuaranteedPCS
    with pytest.warns(DeprecationWarning, match="Guaranteed is now called GuaranteedPCS"):
        assert run_options.Guaranteed is argbest.GuaranteedPCS
    assert "Guaranteed" not in dir(argbest)
    with pytest.raises(AttributeError, match="has no attribute 'Other'"):
        _ = run_options.Other
