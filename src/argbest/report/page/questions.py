"""The answers to other questions as a page shows them: words, figures, pictures and tables, all made here."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from argbest.answers.answering import EACH, RULE, Answer
from argbest.answers.pareto import of_study as pareto_of
from argbest.core.goals import quoted
from argbest.core.pareto import Pareto, senses_of
from argbest.core.questions.top import Top
from argbest.core.states import OPEN
from argbest.jsonable import rounded, table
from argbest.questions import title
from argbest.report import answer_sketches
from argbest.report.curves import MOST_PAIRS
from argbest.report.page.document import Plain
from argbest.report.question_words import asked as asked_in_words
from argbest.report.question_words import asked_pareto, plain
from argbest.study.study import Study
from argbest.texts import chance, number, with_unit

if TYPE_CHECKING:
    import pandas as pd

USUAL = {
    "best": "best per context",
    "overall": "overall",
    "worst-case": "worst case",
    "regret": "regret",
    "top": "top 3",
    "most-probable-best": "most probable best",
    "rule": "rule",
}  # the questions that every page answers, and their names there
_WITH_ONE_CONTEXT = ("best", "top")  # all others then ask the same as the first
_ROWS = 50  # of a table


def questions(study: Study, *, ahead: bool) -> Plain:
    """Return the answers to all questions of a page; that of the study is shown first.

    ``ahead`` adds how many more replications would halve the expected loss, which takes a second or more.
    """
    own, problem = title(study.problem.question), study.problem
    names = list(USUAL) if problem.n_contexts > 1 else list(_WITH_ONE_CONTEXT)
    if problem.n_alternatives <= Top().m:  # it would name all of them
        names.remove(Top.name)
    names += [] if own in names else [own]
    left_out = ""
    if problem.n_alternatives * problem.n_contexts > MOST_PAIRS:
        names, left_out = list(dict.fromkeys(["best", own])), (
            f"Other questions are left out: for more than {MOST_PAIRS:,} pairs their answers take long. To "
            "ask one: argbest answer STORAGE --question overall; in Python the study has `answer`."
        )  # fmt: skip
    asked = [problem.question if name == own else name for name in names]
    answers = [_shown(study, each, ahead=ahead) for each in asked]
    senses = senses_of(problem.aim, problem.limits, problem.responses) if len(problem.responses) > 1 else {}
    known = senses and all(len(each) == 1 for each in senses.values())
    return {
        "own": own,
        "left_out": left_out,
        "pareto": _to_type(senses) if senses and not known else None,
        "answers": [*answers, _front(study)] if known and not left_out else answers,
    }


def _to_type(senses: Mapping[str, set[str]]) -> list[str]:
    """Return how to ask what no other alternative beats, where a sense would have to be guessed."""
    goals = ",".join(f"{min(each, default='min')} {quoted(name)}" for name, each in senses.items())
    return [
        "To see which alternatives no other one beats in every response, say which are to be small or large:",
        f"study.answer({f'pareto:{goals}'!r})",
    ]


def _front(study: Study) -> Plain:
    """Return which alternatives no other one beats; nothing is lost by naming several."""
    answer = pareto_of(study.view(), Pareto())
    meaning = f"probability that exactly these are non-dominated, on average: {answer.state}"
    return {
        "name": answer.question,
        "label": "non-dominated",
        "asks": plain(asked_pareto(study.problem, answer.goals_in_words)),
        "headline": answer.headline,
        "lines": [],
        "figures": [["P(right)", chance(answer.p_right), meaning]],
        "said": _said(answer, ahead=False),
        "pictures": answer_sketches.sketches(answer),
        "tailoring": None,
        **_rows(answer.table),
    }


def _shown(study: Study, asked: object, *, ahead: bool) -> Plain:
    """Return one answer; the page has the map and the table of the best per context elsewhere."""
    answer = study.answer(asked)
    alternatives, per_context = study.problem.alternatives, answer.form == EACH
    found = answer.tailoring if study.problem.contexts.active.sum() > 1 else None
    listed = answer.table if answer.form == RULE else answer.frame()
    curve = "" if found is None else answer_sketches.tailoring_sketch(found, alternatives)
    return {
        "name": answer.question,
        "label": USUAL.get(answer.question, answer.question),
        "asks": plain(asked_in_words(study.problem, asked)),
        "headline": "" if per_context else answer.headline,
        "lines": answer.choice.sentences() if answer.form == RULE else [],
        "figures": _figures(answer),
        "said": _said(answer, ahead=ahead),
        "pictures": answer_sketches.sketches(answer),
        "tailoring": (
            None if found is None else {"sentence": _sentence(found.said(answer.unit)), "curve": curve}
        ),
        **({"table": None, "rows": ""} if per_context else _rows(listed)),
    }


def _rows(frame: "pd.DataFrame") -> Plain:
    """Return the first rows of a table, and how many there are."""
    rows = frame.head(_ROWS)
    said = "" if len(rows) == len(frame) else f"The first {_ROWS} of {len(frame):,} rows."
    return {"table": table(rows.apply(_brief)), "rows": said}


def _brief(column: "pd.Series[Any]") -> Any:
    """Return a column with as many digits as are read, so that a page stays small."""
    return rounded(column.to_numpy()) if column.dtype.kind == "f" else column


def _figures(answer: Answer) -> list[list[str]]:
    """Return the figures of an answer: name, value, meaning."""
    unit = answer.value_unit
    lost, zone = (with_unit(number(each, 2), unit) for each in (answer.expected_loss, answer.delta))
    found = [
        ["Expected loss", lost, "what it is expected to lose to the right answer"],
        ["P(right)", chance(answer.p_right), "probability that this is the right answer"],
        [
            f"P(loses at most {zone})",
            chance(answer.p_within),
            f"in all: {answer.state}",
        ],
    ]
    if answer.value is not None:
        low, high = number(answer.value.low), number(answer.value.high)
        mean = with_unit(number(answer.value.mean), unit)
        found.insert(0, [_sentence(answer.meaning, ""), mean, f"90 %: {low} to {high}"])
    return found


def _said(answer: Answer, *, ahead: bool) -> list[str]:
    """Return the sentences that no figure, picture or curve says."""
    said = [_sentence(each) for each in answer.details()]
    if ahead and answer.state == OPEN and answer.halving is not None:
        said.append(_sentence(str(answer.halving)))
    return said


def _sentence(words: str, end: str = ".") -> str:
    return f"{words[:1].upper()}{words[1:]}{'' if words.endswith('.') else end}"
