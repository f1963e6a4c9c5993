"""Bad arguments for the classes and functions that users call."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from fuzz.judge import attempt, shown
from fuzz.values import Draw, hostile, one

from argbest import ExpectedPCS, OpportunityCost, Problem, RandomContexts, Study, WorstPCS, select
from argbest.experiment import Contender, Experiment
from argbest.experiment import run as run_experiment
from argbest.simulators.program import Program

POLICIES = ("gp-c-ocba", "equal", "dvr", "ikg", "c-ocba", "top-two", "ts", "dsco", "random")
MODELS = ("gp", "additive-gp", "shared-gp", "independent", "linear", None)


def simulate(alternative: Any, context: Any, seed: int) -> float:
    """Return a reward that depends on everything, whatever that is."""
    return len(repr(alternative)) + len(repr(context)) % 3 + seed % 1000 / 500


def mixed(draw: Draw, usual: dict[str, Any], *, costly: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return options of which one, two or three are hostile; costly ones ask for little work."""
    names = draw.choice(list(usual), size=draw.integers(1, 4))
    return usual | {str(name): hostile(draw, large=name not in costly) for name in names}


def of_problem(draw: Draw) -> dict[str, Any]:
    """Return good options of a problem."""
    return {
        "alternatives": one(draw, [["a", "b"], [1, 2, 3], [{"x": 1}, {"x": 2.5}]]),
        "contexts": one(draw, [[0, 1, 2], ["u", "v"], [{"x": 1, "y": 2}, {"x": 2, "y": 2}]]),
        "simulate": simulate,
        "weights": None,
        "bounds": None,
        "goal": one(draw, ["max", "min"]),
        "truth": None,
        "truth_se": None,
        "noise_sd": None,
        "name": "p",
        "description": "",
        "reward": "reward",
    }


def problem(draw: Draw, folder: Path, said: list[str]) -> None:
    """Make a problem with bad options; one that is made must serve for a study and its report."""
    given = mixed(draw, of_problem(draw))
    said.append(f"Problem(**{shown(given)})")
    study = Study(Problem(**given), initial=1, policy=one(draw, POLICIES[:3]))
    for trial in study.ask(min(study.n_queued, 12)):
        study.tell(trial, simulate(trial.alternative, trial.context, trial.seed))
    looked_at(draw, study, folder, said)


def looked_at(draw: Draw, study: Study, folder: Path, said: list[str]) -> None:
    """Ask for one of the answers of a study."""
    looks: list[Callable[[], Any]] = [
        lambda: repr(study),
        study.selection,
        study.allocation,
        study.observations,
        study.certificate,
        study.model_check,
        study.model_summary,
        study.history,
        study.posterior,
        lambda: study.trials(details=True),
        lambda: study.report(folder / "report.html"),
    ]
    attempt(said, "look", one(draw, looks))


def study(draw: Draw, folder: Path, said: list[str]) -> None:
    """Make a study with bad options, or a good one, and call it a few times with bad arguments."""
    usual: dict[str, Any] = {
        "policy": one(draw, POLICIES),
        "model": one(draw, MODELS),
        "initial": one(draw, [1, 2, RandomContexts(2)]),
        "seed": 3,
        "refit_every": 5,
        "common_random_numbers": False,
        "cost": None,
        "name": "study",
        "plan": None,
    }
    given = mixed(draw, usual) if draw.random() < 0.5 else usual
    stored: dict[str, Any] = {"storage": folder / "s.db"} if draw.random() < 0.2 else {}
    whole = Problem(["a", "b"], [{"x": 1.0}, {"x": 2.0}, {"x": 4.0}], simulate)
    said.append(f"Study(problem, **{shown(given | stored)})")
    made = Study(whole, **given, **stored)
    for _ in range(draw.integers(1, 6)):
        operation(draw, made, folder, said)


def operation(draw: Draw, made: Study, folder: Path, said: list[str]) -> None:
    """Call one method with bad arguments."""
    bad = hostile(draw)
    trial = one(draw, [*made.pending(), bad, 0, 1])
    run = {
        "budget": one(draw, [12, 20]),
        "seconds": None,
        "workers": None,
        "executor": None,
        "batch": 1,
        "timeout": None,
        "confirm": 0.0,
        "on_failure": "record",
        "progress": False,
        "stop": None,
    }
    given = mixed(draw, run, costly=("budget",))
    given["workers"] = None if _works(given["workers"]) else given["workers"]  # processes take seconds
    given["timeout"] = None if _works(given["timeout"]) else given["timeout"]
    calls: dict[str, Callable[[], Any]] = {
        "ask()": made.ask,
        f"ask({shown(bad)})": lambda: made.ask(bad),
        f"ask(context={shown(bad)})": lambda: made.ask(context=bad),
        f"tell({shown(trial)}, 1.5)": lambda: made.tell(trial, 1.5),
        f"tell({shown(trial)}, {shown(bad)})": lambda: made.tell(trial, bad),
        f"tell({shown(trial)}, 2.0, seconds={shown(bad)})": lambda: made.tell(trial, 2.0, seconds=bad),
        f"fail({shown(trial)}, {shown(bad)})": lambda: made.fail(trial, bad),
        f"give_back({shown(trial)})": lambda: made.give_back(trial),
        f"run(**{shown(given)})": lambda: made.run(**given),
        f"certificate({shown(bad)})": lambda: made.certificate(bad),
        f"predict({shown(bad)})": lambda: made.predict(bad),
        f"predict_proba({shown(bad)})": lambda: made.predict_proba(bad),
        f"posterior({shown(bad)})": lambda: made.posterior(bad),
        f"history({shown(bad)})": lambda: made.history(bad),
        f"report({shown(bad)})": lambda: made.report(bad),
        "look": lambda: looked_at(draw, made, folder, said),
    }
    name = one(draw, list(calls))
    attempt(said, name, calls[name])


def _works(value: Any) -> bool:
    """Return whether a number of workers or of seconds may be taken."""
    return isinstance(value, int | float | np.number) and bool(value > 0)


def parts(draw: Draw, folder: Path, said: list[str]) -> None:
    """Make the small things with bad arguments, and use them where they can be made."""
    bad = hostile(draw)
    ready = Study(Problem(["a", "b"], [0, 1], simulate), initial=2).run(8)
    kinds: dict[str, Callable[[], Any]] = {
        "ExpectedPCS": lambda: ExpectedPCS(*one(draw, [(bad,), (0.9, bad)]))(ready),
        "WorstPCS": lambda: WorstPCS(*one(draw, [(bad,), (0.9, bad)]))(ready),
        "OpportunityCost": lambda: OpportunityCost(bad)(ready),
        "RandomContexts": lambda: Study(ready.problem, initial=RandomContexts(bad)),
        "Contender": lambda: Contender(**mixed(draw, {"policy": "equal", "model": "gp", "label": "x"})),
        "Program": lambda: Program(**mixed(draw, {"command": ["x"], "timeout": 1.0, "folder": "x"})),
        "Study.load": lambda: Study.load(one(draw, [bad, folder / "none.db"]), name=hostile(draw)),
        "simulate": lambda: Study.load(stored(folder), simulate=bad).run(6),
    }
    name = one(draw, list(kinds))
    said.append(f"{name} with {shown(bad)}")
    kinds[name]()


def stored(folder: Path) -> Path:
    path = folder / "stored.db"
    Study(Problem(["a", "b"], [0, 1], simulate), initial=1, storage=path).close()
    return path


def at_once(draw: Draw, folder: Path, said: list[str]) -> None:
    """Call `select`, `Study.from_observations` or an experiment with bad arguments."""
    kind = one(draw, [selected, observed, compared])
    kind(draw, said)


def selected(draw: Draw, said: list[str]) -> None:
    usual = {
        "simulate": simulate,
        "alternatives": ["a", "b"],
        "contexts": [0, 1],
        "budget": 10,
        "goal": "max",
        "weights": None,
        "bounds": None,
        "progress": False,
        "stop": None,
        "policy": "equal",
        "initial": 1,
        "refit_every": 5,
    }
    given = mixed(draw, usual, costly=("budget",))
    said.append(f"select(**{shown(given)})")
    select(**given)


def observed(draw: Draw, said: list[str]) -> None:
    n = int(draw.integers(0, 9))
    frame = pd.DataFrame({"alternative": list("abcabcabc")[:n], "context": [0, 0, 0, 1, 1, 1, 2, 2, 2][:n]})
    frame["value"] = draw.normal(size=n)
    for _ in range(draw.integers(0, 3)):
        column = one(draw, ["alternative", "context", "value", "n", "variance", "extra"])
        bad = hostile(draw)
        cells: list[Any] = frame[column].tolist() if column in frame else [1] * n
        if cells and draw.random() < 0.7:
            cells[draw.integers(n)] = bad
        else:
            cells = [bad] * n
        frame[column] = pd.Series(cells, dtype=object)
    usual: dict[str, Any] = {
        "frame": frame,
        "alternative": "alternative",
        "context": "context",
        "value": "value",
        "goal": "max",
        "weights": None,
        "bounds": None,
        "bins": None,
        "dropna": False,
        "title": "runs",
        "policy": "gp-c-ocba",
        "model": None,
        "cost": None,
    }
    given = mixed(draw, usual) if draw.random() < 0.5 else usual
    said.append(f"Study.from_observations(**{shown(given)}), {shown(frame.to_dict('list'))}")
    made = Study.from_observations(given.pop("frame"), **given)
    attempt(said, "selection", made.selection)
    attempt(said, "ask", lambda: made.ask(3))


def compared(draw: Draw, said: list[str]) -> None:
    usual = {
        "problem": "branin",
        "contenders": ["equal"],
        "replications": 2,
        "macroreps": 1,
        "initial": None,
        "refit_every": 5,
        "seed": 0,
        "checkpoint_every": 1,
        "weights": "problem",
        "delta": 0.0,
    }
    given = mixed(draw, usual, costly=("replications", "macroreps"))
    said.append(f"Experiment(**{shown(given)})")
    made = Experiment(**given)
    run_experiment(made, apart=False, jobs=1)
