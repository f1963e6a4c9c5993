"""What to do next with a study: one sentence, and a command to copy."""

import shlex
from typing import NamedTuple

import numpy as np

from argbest.answers import forecasting
from argbest.core.question import BEST
from argbest.core.states import EQUAL, LEVEL, OPEN
from argbest.errors import InputError
from argbest.report.wording import count, listed, names, zone_in_words
from argbest.study.study import Study
from argbest.texts import chance, number, with_unit

_ASKED = 20  # pairs to simulate elsewhere
_LEAST_MORE = 10  # replications


class NextStep(NamedTuple):
    """What comes next, and what to type for it."""

    sentence: str
    command: str


def next_step(study: Study, *, ahead: bool = False) -> NextStep:
    """Return what comes next; there always is something, if only to take the choices away.

    ``ahead`` adds how many more replications close what is open, which may take a second or two.
    """
    commands = _ToType(study)
    if not study.n_replications:
        return NextStep("Nothing is simulated yet.", commands.simulate(_first_budget(study)))
    selection = study.selection()
    lost = [_contexts(study)[c] for c in np.flatnonzero(selection["state"].isna())]
    if lost:
        where = listed(lost) if len(lost) <= 3 else count(len(lost), "context")
        words = f"No answer for {where}, where every alternative failed. With the cause removed, try again:"
        return NextStep(words, commands.readmit())
    if study.n_queued:
        coming = count(study.n_queued, "simulation")
        return NextStep(
            f"The initial design is not finished: {coming} still to come.",
            commands.simulate(study.n_replications + study.n_queued),
        )
    if study.problem.question.name != BEST.name:
        return _of_answer(study, commands, ahead=ahead)
    if (selection["state"] == OPEN).any():
        return _of_open(study, commands, ahead=ahead)
    if (selection["state"] == EQUAL).any():
        zone = zone_in_words(study)
        words = f"Nothing is open. Where choices are equal, they differ by at most {zone}: any will do."
        return NextStep(words, commands.take("selection"))
    return NextStep(
        "Nothing is open: every choice is sure. Take the choices away:", commands.take("selection")
    )


def need_values(study: Study, what: str) -> None:
    """Refuse a study in which nothing was simulated yet, and name what to type first."""
    if not study.n_replications:
        sentence, command = next_step(study)
        raise InputError(f"{sentence[:-1]}; {what} needs the value of at least one trial. Next: {command}")


def _of_open(study: Study, commands: "_ToType", *, ahead: bool) -> NextStep:
    """Return how many replications close what is open, beginning with the least sure context."""
    selection = study.selection()
    open_ = np.flatnonzero((selection["state"] == OPEN).to_numpy())
    worst = int(open_[np.argmin(selection["p_best"].to_numpy(float)[open_])])
    least = f"P(best) {chance(float(selection['p_best'].iloc[worst]))}."
    if len(selection) > 1:
        least = f"Least sure: {_contexts(study)[worst]}, {least}"
    found = (
        forecasting.quick_forecast(study.view(), LEVEL, worst=True, delta=study.indifference())
        if ahead
        else None
    )
    if found is None or not found.replications:
        return NextStep(f"{least} Simulate on:", commands.simulate(2 * study.n_replications))
    goal = "it" if len(open_) == 1 else f"all {len(open_)} open contexts"
    if np.isinf(found.replications):
        words = f"{least} It may take more than {found.horizon:,} more replications to settle {goal}."
        return NextStep(words, commands.simulate(2 * study.n_replications))
    high = forecasting.rounded(found.high) if np.isfinite(found.high) else f"more than {found.horizon:,}"
    extent = f"90 %: {forecasting.rounded(found.low)} to {high}"
    more = max(_round(found.replications), _LEAST_MORE)
    words = f"{least} About {forecasting.rounded(more)} more replications settle {goal} ({extent})."
    return NextStep(words, commands.simulate(study.n_replications + more))


def _of_answer(study: Study, commands: "_ToType", *, ahead: bool) -> NextStep:
    """Return what comes next for the answer to another question than the best of every context."""
    found = study.answer()
    if found.state != OPEN:
        lost = with_unit(number(found.delta, 2), found.value_unit)
        words = "sure" if found.state != EQUAL else f"within {lost} of the right one: any such will do"
        return NextStep(f"Nothing is open: the answer is {words}.", commands.take("answer"))
    least = f"P(right) {chance(found.p_right)}"
    halving = found.halving if ahead else None
    if halving is None or halving.plain is None:
        return NextStep(f"{least}: open. Simulate on:", commands.simulate(2 * study.n_replications))
    more = forecasting.rounded(halving.replications)
    words = f"{least}: about {more} more replications halve the expected loss."
    total = study.n_replications + max(_round(halving.replications), _LEAST_MORE)
    return NextStep(words, commands.simulate(total))


def _contexts(study: Study) -> list[str]:
    """Return what the contexts are called that the selection has a row for."""
    axis = study.problem.contexts
    return [name for name, there in zip(names(axis), axis.active, strict=True) if there]


def _round(replications: float) -> int:
    """Return a number of replications with the two digits that count."""
    return int(float(f"{replications:.2g}"))


def _first_budget(study: Study) -> int:
    planned = study.plan.get("budget")
    return int(planned) if planned else max(2 * study.n_queued, study.n_queued + _LEAST_MORE)


class _ToType:
    """What to type: for a stored study in a terminal, for one in memory in Python."""

    def __init__(self, study: Study) -> None:
        view = study.view()
        self._python = study.problem.simulate is not None
        self._runs = view.definition["simulator"] is not None
        place, name = view.stored_in or ("", "")
        self._where = "STORAGE" if "***" in place else shlex.quote(place)
        self._where += "" if name in ("", "study") else f" --name {shlex.quote(name)}"
        self._stored = bool(place) and (self._runs or not self._python)

    def simulate(self, budget: int) -> str:
        """Return what simulates until there are so many replications, or asks what to simulate elsewhere."""
        if self._stored:
            return (
                f"argbest resume {self._where} --budget {budget}"
                if self._runs
                else f"argbest ask {self._where} -n {_ASKED}"
            )
        return f"study.run({budget})" if self._python else f"study.ask({_ASKED})"

    def readmit(self) -> str:
        """Return what tries pairs again that were set aside."""
        if self._stored and self._runs:
            return f"argbest resume {self._where} --readmit"
        return "study.readmit()"

    def take(self, what: str) -> str:
        """Return what writes the choices, or the answer, to a file."""
        if self._stored:
            verb = "export" if what == "selection" else "answer"
            table = " --table selection" if what == "selection" else ""
            return f"argbest {verb} {self._where}{table} --out choices.csv"
        return f'study.{"selection()" if what == "selection" else "answer().frame()"}.to_csv("choices.csv")'
