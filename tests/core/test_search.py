"""The search in Python and the compiled one are the same; what one has learned helps the next."""

import numpy as np
import pytest
from additive_cases import Case, case

from argbest.core import additive
from argbest.core import search as search_module
from argbest.core.arrays import Array
from argbest.core.priors import Hyperprior
from argbest.core.search import CONVERGED, STEP_LIMIT, in_python, search_for


def test_in_python_it_takes_the_compiled_search_s_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    one = case(np.random.default_rng(1), most=(9, 14))
    prior = one.prior()
    for first_steps in (5, 25):  # both stages, and one that ends within the first steps of a start
        search = additive.search_from(prior.starts, first_steps)
        at_once = additive.fit_map(one.inputs(), one.tally, one.noise, prior, search)
        with monkeypatch.context() as patched:
            for module in (additive, search_module):
                patched.setattr(module, "SMALL", 0)
            patched.setattr(additive, "structure_helps_search", lambda *_, **__: False)
            step_by_step = additive.fit_map(one.inputs(), one.tally, one.noise, prior, search)
        assert at_once.status == step_by_step.status == CONVERGED
        assert float(at_once.value) == pytest.approx(float(step_by_step.value), rel=1e-9)
        np.testing.assert_allclose(at_once.theta, step_by_step.theta, rtol=1e-4, atol=1e-3)


def counted(one: Case, rules: Array) -> tuple[list[int], "additive.Climb"]:
    """A climb from one start that counts how often it evaluates the evidence."""
    calls = [0]

    def evaluate(theta: Array, code: object, data: object, rules: Array, gradient: Array) -> object:
        calls[0] += 1
        return additive._evaluate(theta, code, data, rules, gradient)  # type: ignore[arg-type]

    search = search_for(evaluate, in_python)
    data = one.inputs(), additive.SearchData(one.tally, one.noise, None), rules
    return calls, lambda starts, steps, hessian: additive._climb_in_python(
        search, *data, starts, steps, hessian
    )


def test_a_hessian_learned_before_saves_evaluations() -> None:
    """A search goes on after a few more observations, with and without what the first has learned."""
    saved = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        one = case(rng)
        prior = one.prior()
        before = additive.fit_map(
            one.inputs(), one.tally, one.noise, prior, additive.search_from(prior.starts, 25)
        )
        more = np.append(one.where, one.where[::9]), np.append(one.y, one.y[::9] + 0.3 * rng.normal())
        grown = one._replace(where=more[0], y=more[1])
        used = []
        for hessian in (before.hessian, np.full_like(before.hessian, np.nan)):
            calls, climb = counted(grown, prior.rules)
            assert climb(before.theta[None], 200, hessian).status == CONVERGED
            used.append(calls[0])
        saved.append(used)
    warm, cold = np.sum(saved, axis=0)
    assert warm < 0.7 * cold


def test_a_climb_that_comes_near_a_better_point_is_given_up_and_the_same_maximum_is_found() -> None:
    one = case(np.random.default_rng(3))
    prior: Hyperprior = one.prior()
    blank = np.full((len(prior.rules), len(prior.rules)), np.nan)
    calls, climb = counted(one, prior.rules)
    alone = [climb(start[None], 200, blank) for start in prior.starts]
    by_themselves, calls[0] = calls[0], 0
    found = climb(prior.starts, 200, blank)
    assert calls[0] < by_themselves
    assert float(found.value) == pytest.approx(max(float(each.value) for each in alone), abs=1e-9)


def test_no_step_is_taken_where_none_is_allowed() -> None:
    one = case(np.random.default_rng(2))
    prior: Hyperprior = one.prior()
    calls, climb = counted(one, prior.rules)
    blank = np.full((len(prior.rules), len(prior.rules)), np.nan)
    found = climb(prior.starts[:1], 0, blank)
    assert found.status == STEP_LIMIT
    assert calls[0] == 1
    np.testing.assert_array_equal(found.theta, prior.starts[0])
