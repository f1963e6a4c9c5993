"""Absurd sizes and texts are refused in one sentence, before memory is asked for; generous ones are not."""

import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from argbest import ExtremeContexts, InputError, Problem, RandomContexts, Study
from argbest.core.tally import Tally
from argbest.experiment import Experiment
from argbest.problems.axis import Axis
from argbest.studyfile import read
from argbest.theory import forecast

HUGE = 10**9
LONE = "caf\udce9"


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    """Whatever asks for more than some GB fails at once, rather than bring the machine down."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (16 * 2**30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def study(**options: Any) -> Study:
    made = Study(Problem(["a", "b"], [0.0, 1.0, 2.0]), policy="equal", **({"model": "gp"} | options))
    for trial in made.ask(made.n_queued):
        made.tell(trial, float(trial.pair[0] + trial.pair[1] + 0.1 * trial.replication))
    return made


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: study().ask(HUGE), "n is 1,000,000,000; at most 10,000,000 are possible"),
        (lambda: study().history(HUGE), "points is 1,000,000,000; at most 10,000"),
        (lambda: study().run(HUGE, workers=HUGE), "workers is 1,000,000,000; at most 10,000"),
        (lambda: study().run(HUGE, batch=HUGE), "batch is 1,000,000,000"),
        (lambda: study().predict(range(HUGE)), "the number of contexts: 1,000,000,000; at most 10,000,000"),
        (lambda: study().posterior(range(HUGE)), "the number of contexts: 1,000,000,000; at most"),
        (lambda: study().predict_proba(np.zeros(10**8)), "the number of contexts: 100,000,000; at most"),
        (lambda: forecast(study(), 10, draws=HUGE), "draws is 1,000,000,000; at most 1,000,000"),
        (
            lambda: Problem(range(HUGE), [1, 2]),
            "the number of alternatives: 1,000,000,000; at most 10,000,000",
        ),
        (
            lambda: Problem(["a", "b"], range(HUGE)),
            "the number of contexts: 1,000,000,000; at most 10,000,000",
        ),
        (
            lambda: Experiment("branin", "equal", replications=10, macroreps=HUGE),
            "macroreps is 1,000,000,000; at",
        ),
        (
            lambda: Experiment("branin", "equal", replications=HUGE),
            "replications is 1,000,000,000; at most",
        ),
    ],
)
def test_an_absurd_number_is_refused_before_memory_is_asked_for(ask: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ask()


@pytest.mark.parametrize(
    "initial", [HUGE, RandomContexts(HUGE, replace=True), ExtremeContexts(HUGE)], ids=lambda each: str(each)
)
def test_an_absurd_initial_design_is_refused(initial: object) -> None:
    with pytest.raises(InputError, match="replications of the initial design: [0-9,]+; at most 10,000,000"):
        Study(Problem(["a", "b"], [0.0, 1.0, 2.0]), initial=initial)


def test_too_many_pairs_are_refused() -> None:
    message = "20,000 alternatives x 20,000 contexts have pairs: 400,000,000; at most 100,000,000"
    with pytest.raises(InputError, match=message):
        Problem(range(20_000), range(20_000))


def test_too_many_distances_are_refused() -> None:
    contexts = Axis.of("context", range(30_000))
    message = "distances of 30,000 from 30,000 contexts: 900,000,000; at most 500,000,000"
    with pytest.raises(InputError, match=message):
        contexts.separation({"context": (0.0, 1.0)})


def test_a_grid_of_many_rows_is_refused(tmp_path: Path) -> None:
    column = list(range(1000))
    grid = "\n".join(f"grid.{name} = {column}" for name in "xyz")
    (tmp_path / "study.toml").write_text(
        f'[alternatives]\nlabels = ["a", "b"]\n[contexts]\n{grid}\n[simulator]\npython = "m:f"\n'
    )
    with pytest.raises(InputError, match="the grid has rows: 1,000,000,000; at most 10,000,000"):
        read(tmp_path / "study.toml")


def test_tables_of_a_million_pairs_and_many_alternatives_are_welcome() -> None:
    assert Problem(range(1000), range(1000)).shape == (1000, 1000)
    assert Problem(range(100_000), [1.0, 2.0]).n_alternatives == 100_000
    assert isinstance(study().tally, Tally)


@pytest.mark.parametrize("model", ["gp", "additive-gp", "linear"])
@pytest.mark.parametrize("at", [1e300, -1e300, 1e11])
def test_a_context_out_of_this_world_has_one_sentence(model: str, at: float) -> None:
    message = r"a context is \S+ times the width of the bounds of 'context' from the others; at most"
    for answer in ("predict", "predict_proba", "posterior"):
        with pytest.raises(InputError, match=message):
            getattr(study(model=model), answer)(at)


@pytest.mark.parametrize("model", ["gp", "additive-gp", "linear"])
def test_a_context_far_away_has_an_answer(model: str) -> None:
    frame = study(model=model).predict(1e8)
    assert np.isfinite(frame[["mean", "gap", "p_best"]].to_numpy()).all()
    assert frame["extrapolated"].all()


def test_contexts_too_far_apart_to_measure_are_refused() -> None:
    with pytest.raises(InputError, match="'context' goes from -1e.308 to 1e.308, which is too far apart"):
        Problem(["a", "b"], [-1e308, 1e308])


@pytest.mark.parametrize(
    "make",
    [
        lambda: Problem([LONE, "b"], [1, 2]),
        lambda: Problem(["a", "b"], ["x", LONE]),
        lambda: Problem([{"size": 1, LONE: 2}, {"size": 2, LONE: 3}], [1, 2]),
        lambda: Problem(["a", "b"], [{"rate": "x"}, {"rate": LONE}]),
        lambda: Problem(["a", "b"], [1, 2], name=LONE),
        lambda: Problem(["a", "b"], [1, 2], description=LONE),
        lambda: Problem(["a", "b"], [1, 2], reward=LONE),
    ],
)
def test_half_a_character_is_refused_where_the_problem_is_made(make: Callable[[], Problem]) -> None:
    with pytest.raises(InputError, match=r"'caf\\udce9', and '\\udce9' is half a character") as caught:
        make()
    str(caught.value).encode()


@pytest.mark.parametrize("name", [3, "", "  ", ["a"]])
def test_a_problem_has_a_name(name: Any) -> None:
    with pytest.raises(InputError, match=r"got name=.*; expected a text that is not empty"):
        Problem(["a", "b"], [1, 2], name=name)
    with pytest.raises(InputError, match=r"got description=None; expected a text\."):
        Problem(["a", "b"], [1, 2], description=None)  # type: ignore[arg-type]
