"""Goals and limits: what is to be large or small, and what a choice must keep, as texts and as linear forms.

What users type is read here, once, for Python, TOML and the command line alike::

    goal    min cost            max throughput            min cost + 0.2 * wait         (or only: min, max)
    limit   late <= 0.05        wait >= 3                 `late calls` + abandoned <= 0.08

A sum has response names with numbers as factors, no parentheses. Names that are not made of letters, digits,
dots and underscores stand in backquotes. `str` of a goal or a limit is a text that is read as the same.
"""

import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from argbest.checks import finite
from argbest.core.arrays import Array
from argbest.errors import InputError

_SENSES = "max", "min"
_GOALS = "'max', 'min', 'min cost' or 'min cost + 0.2 * wait'"
_LIMITS = "'late <= 0.05' or 'cost + 0.2 * wait >= 3'"
_TOKENS = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))"
    r"|(?P<name>[^\W\d][\w.]*)|`(?P<quoted>[^`]*)`"
    r"|(?P<mark><=|>=|==|[-+*/<>=()≤≥−·×]))"  # noqa: RUF001 (what people paste)
)
_PLAIN = re.compile(r"[^\W\d][\w.]*")
_COMPARISONS = "<=", ">=", "<", ">", "=", "=="
_WRITTEN_ALIKE = {"−": "-", "·": "*", "×": "*", "≤": "<=", "≥": ">="}  # noqa: RUF001


class LinearForm(NamedTuple):
    """constant + Σ coefficient · response, of the responses of one replication or of their means."""

    coefficients: Array  # [response]
    constant: float

    def of(self, responses: Array) -> Array:
        """Return the values [...] from those of the responses, [..., response]."""
        return np.asarray(responses @ self.coefficients + self.constant)

    def of_tables(self, responses: Array) -> Array:
        """Return the values [...] from those of the responses, the first axis: [response, ...]."""
        return np.asarray(np.tensordot(self.coefficients, responses, 1) + self.constant)


@dataclass(frozen=True)
class Sum:
    """A weighted sum of responses; each name occurs once, no factor is 0."""

    terms: tuple[tuple[str, float], ...]  # (name, factor)

    @property
    def names(self) -> tuple[str, ...]:
        """The responses in the sum."""
        return tuple(name for name, _ in self.terms)

    def coefficients(self, responses: Sequence[str]) -> Array:
        """Return the factor of every response, 0 for those that are not in the sum, [response]."""
        factor = dict(self.terms)
        return np.array([factor.get(name, 0.0) for name in responses])

    def __str__(self) -> str:
        return "".join(_term(i, name, factor) for i, (name, factor) in enumerate(self.terms))


@dataclass(frozen=True)
class Goal:
    """What is to be as large ("max") or as small ("min") as possible; without a sum: the only response."""

    sense: str
    sum: Sum | None = None

    @property
    def sign(self) -> int:
        """+1 if larger is better for the user, -1 if smaller is."""
        return 1 if self.sense == "max" else -1

    def form(self, responses: Sequence[str]) -> LinearForm:
        """Return the goal as a linear form of the responses, turned so that larger is better."""
        if self.sum is not None:
            return LinearForm(self.sign * self.sum.coefficients(responses), 0.0)
        if len(responses) != 1:
            raise needs_goal(responses, self.sense)
        return LinearForm(np.array([float(self.sign)]), 0.0)

    def value(self, means: Mapping[str, Array]) -> Array:
        """Return the goal in the user's sign, from the means of the responses by name."""
        if self.sum is None:
            return next(iter(means.values()))
        return np.asarray(sum(factor * means[name] for name, factor in self.sum.terms))

    def __str__(self) -> str:
        return self.sense if self.sum is None else f"{self.sense} {self.sum}"


@dataclass(frozen=True)
class Limit:
    """A bound on the mean of a weighted sum of responses that a choice must keep."""

    sum: Sum
    sense: str  # "<=" or ">="
    bound: float

    def slack(self, responses: Sequence[str]) -> LinearForm:
        """Return how far the limit is kept, as a linear form of the responses: 0 or more keeps it."""
        side = 1.0 if self.sense == ">=" else -1.0
        return LinearForm(side * self.sum.coefficients(responses), -side * self.bound)

    def __str__(self) -> str:
        return f"{self.sum} {self.sense} {_number(self.bound)}"


_Read = TypeVar("_Read", Goal, Limit)


def goal_of(weights: Sequence[float], responses: Sequence[str]) -> Goal:
    """Return the goal whose linear form has these weights; it is a minimum where all of them are negative."""
    sign = -1.0 if max(weights) <= 0 else 1.0
    terms = tuple((name, sign * each) for name, each in zip(responses, weights, strict=True) if each)
    return Goal("max" if sign > 0 else "min", Sum(terms))


def outcomes(goal: Goal, limits: Sequence[Limit], responses: Sequence[str]) -> tuple[LinearForm, ...]:
    """Return the outcomes that are learned about: the goal, larger being better, and every limit's slack."""
    return goal.form(responses), *(limit.slack(responses) for limit in limits)


def read_goal(given: object, responses: Sequence[str] | None = None) -> Goal:
    """Return the goal that a text means; with ``responses``, the known names, all others are refused."""
    if isinstance(given, Goal):
        return _known(given, responses)
    if not isinstance(given, str) or not given.strip():
        raise InputError(f"got goal={given!r}; expected a text such as {_GOALS}.")
    word, _, rest = given.strip().partition(" ")
    if word not in _SENSES:
        near = difflib.get_close_matches(word.lower()[:3], _SENSES, n=1, cutoff=0.6)
        hint = f" Did you mean '{' '.join(filter(None, (near[0], rest.strip())))}'?" if near else ""
        raise InputError(f"goal {given!r} begins with {word!r}; expected max or min, as in {_GOALS}.{hint}")
    if not rest.strip():
        return Goal(word)
    reader = _Reader("goal", given, rest, _GOALS)
    total = reader.sum()
    if not reader.done:
        raise reader.error(f"{reader.shown} cannot stand there", "A bound belongs into the limits")
    return _known(Goal(word, total), responses)


def read_limit(given: object, responses: Sequence[str] | None = None) -> Limit:
    """Return the limit that a text means; with ``responses``, the known names, all others are refused."""
    if isinstance(given, Limit):
        return _known(given, responses)
    if not isinstance(given, str) or not given.strip():
        raise InputError(f"got the limit {given!r}; expected a text such as {_LIMITS}.")
    reader = _Reader("limit", given, given, _LIMITS)
    if reader.n_comparisons > 1:
        raise reader.error(
            "two bounds stand in one limit", "Give two limits, each with its bound on the right"
        )
    if reader.begins_with_number:
        raise reader.error(
            "a bound stands on the left", "Write the responses on the left, the bound on the right"
        )
    total = reader.sum()
    sense = reader.comparison()
    return _known(Limit(total, sense, reader.bound()), responses)


def read_limits(given: object, responses: Sequence[str] | None = None) -> tuple[Limit, ...]:
    """Return the limits that a text, or a list of texts, means; none for None."""
    if given is None:
        return ()
    if isinstance(given, str | Limit):
        given = (given,)
    if not isinstance(given, Iterable) or isinstance(given, Mapping):
        raise InputError(
            f"got limits={given!r}; expected a list of texts such as [{_LIMITS.split(' or ')[0]}]."
        )
    limits = tuple(read_limit(each, responses) for each in given)
    for i, limit in enumerate(limits):
        if limit in limits[:i]:
            raise InputError(f"the limit '{limit}' is given twice. Leave out one of the two.")
    return limits


def refuse_unknown(given: Goal | Limit, responses: Sequence[str]) -> None:
    """Refuse a goal or a limit with a name that is none of these, and say which one is nearest."""
    for name in () if given.sum is None else given.sum.names:
        if name not in responses:
            raise _unknown(type(given).__name__.lower(), str(given), name, responses)


class Wanted(NamedTuple):
    """What is wanted of the responses of a simulator: for Python, study files and the command line alike."""

    goal: Goal
    limits: tuple[Limit, ...]
    price: float | None  # of breaking a limit, in units of the goal
    responses: tuple[str, ...]  # their names; () where they are not declared, or there is only a number

    @classmethod
    def read(
        cls, goal: object = "max", limits: object = None, price: object = None, responses: object = None
    ) -> "Wanted":
        """Return what is wanted; an error if the goal does not say which of several responses it is about."""
        names = _declared(responses)
        aim, kept = read_goal(goal, names or None), read_limits(limits, names or None)
        if aim.sum is None and len(names) > 1:
            raise needs_goal(names, aim.sense)
        if aim.sum is None and kept and not names:
            raise InputError(
                f"got the limit '{kept[0]}' and the goal {str(aim)!r}, which names no response. Say what is "
                f"to be large or small, too: goal='{aim} cost'."
            )
        return cls(aim, kept, None if price is None else finite("price", price, above=0.0), names)

    @property
    def parts(self) -> tuple[Goal | Limit, ...]:
        """The goal and all limits."""
        return self.goal, *self.limits

    @property
    def named(self) -> tuple[str, ...]:
        """The responses that are declared, or else those that the goal and the limits name, each once."""
        sums = [each.sum for each in self.parts if each.sum is not None]
        return self.responses or tuple(dict.fromkeys(name for each in sums for name in each.names))


def needs_goal(responses: Sequence[str], given: str = "max") -> InputError:
    """Return the error for several responses of which nobody said which is the goal."""
    known = ", ".join(map(quoted, responses))
    return InputError(
        f"the simulator returns {len(responses)} responses ({known}), and the goal {given!r} names none. "
        f"Say which one is to be large or small: goal='{given} {quoted(responses[0])}'."
        if responses
        else "the simulator returns no response at all; expected a dict of at least one number."
    )


def quoted(name: str) -> str:
    """Return a response name as it is written in goals and limits: in backquotes where it must be."""
    return name if _PLAIN.fullmatch(name) else f"`{name}`"


def checked_names(names: Iterable[object]) -> tuple[str, ...]:
    """Return the names of responses, refused if goals and limits could not tell them apart."""
    found = tuple(names)
    for name in found:
        if not isinstance(name, str) or not name.strip() or "`" in name:
            raise InputError(
                f"got a response called {name!r}; expected a text that is not empty and has no backquote. "
                "Rename it in what the simulator returns."
            )
    twice = [name for i, name in enumerate(found) if name in found[:i]]
    if twice:
        raise InputError(f"two responses are called {twice[0]!r}. Give every response a name of its own.")
    return tuple(map(str, found))


def _declared(given: object) -> tuple[str, ...]:
    """Return the names of declared responses; () if there are none."""
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"got responses={given!r}; expected a list of names such as ['cost', 'late'].")
    return checked_names(given)


def _known(given: _Read, responses: Sequence[str] | None) -> _Read:
    """Return a goal or a limit whose names are all known, or refuse it with the nearest one that is."""
    if responses is not None:
        refuse_unknown(given, responses)
    return given


def _unknown(kind: str, text: str, name: str, responses: Sequence[str]) -> InputError:
    """Return the error for a name that is none of the responses, with the nearest one that is."""
    near = difflib.get_close_matches(name, responses, n=1, cutoff=0.5)
    if not near:  # a name with spaces or signs of which only the first word was read
        near = [each for each in responses if not _PLAIN.fullmatch(each) and name in re.split(r"\W+", each)][
            :1
        ]
    hint = f" Did you mean {quoted(near[0])}?" if near else ""
    known = ", ".join(map(quoted, responses))
    return InputError(f"{kind} {text!r}: there is no response {name!r}; known are {known}.{hint}")


def _term(place: int, name: str, factor: float) -> str:
    """Return a summand as text; ``place`` is its place in the sum."""
    sign = ("- " if factor < 0 else "+ ") if place else ("-" if factor < 0 else "")
    size = "" if abs(factor) == 1 else f"{_number(abs(factor))} * "
    return f"{' ' if place else ''}{sign}{size}{quoted(name)}"


def _number(value: float) -> str:
    """Return the shortest text that is read as this number again."""
    return repr(float(value)).removesuffix(".0")


class _Reader:
    """Reads one text from left to right."""

    def __init__(self, kind: str, text: str, part: str, examples: str) -> None:
        self._kind, self._text, self._examples = kind, text, examples
        self._tokens = list(self._split(part))
        self._place = 0

    def _split(self, part: str) -> Iterator[tuple[str, str]]:
        """Yield the tokens of a text, each with its kind."""
        place, end = 0, len(part.rstrip())
        while place < end:
            found = _TOKENS.match(part, place)
            if found is None:
                rest = part[place:].strip()
                if rest.startswith("`"):
                    raise self.error(f"the backquote before {rest[1:]!r} is not closed", "Close it")
                if rest.startswith("%"):
                    raise self.error("a percentage cannot be read", "Write 5 % as 0.05")
                if re.match(r",\d", rest):
                    raise self.error("a number has a comma", "Write it with a point")
                raise self.error(f"{rest!r} cannot be read", "Put names with other signs in backquotes")
            kind = str(found.lastgroup)
            token = found[kind]
            yield ("name" if kind == "quoted" else kind), _WRITTEN_ALIKE.get(token, token)
            place = found.end()

    @property
    def done(self) -> bool:
        """Whether all of the text is read."""
        return self._place == len(self._tokens)

    @property
    def shown(self) -> str:
        """The next token, for an error."""
        return "the end" if self.done else repr(self._tokens[self._place][1])

    @property
    def begins_with_number(self) -> bool:
        """Whether a number and a comparison come first, as in 0.05 >= late."""
        kinds = [kind for kind, _ in self._tokens[:2]]
        return kinds == ["number", "mark"] and self._tokens[1][1] in _COMPARISONS

    @property
    def n_comparisons(self) -> int:
        """How many comparisons there are in the text."""
        return sum(kind == "mark" and token in _COMPARISONS for kind, token in self._tokens)

    def error(self, what: str, advice: str) -> InputError:
        """Return the error that says what is wrong with the text and what would be right."""
        return InputError(f"{self._kind} {self._text.strip()!r}: {what}. {advice}: {self._examples}.")

    def sum(self) -> Sum:
        """Return the sum of responses that stands here."""
        factors: dict[str, float] = {}
        sign = self._sign() or 1.0
        while True:
            name, factor = self._product()
            factors[name] = factors.get(name, 0.0) + sign * factor
            step = self._sign()
            if step is None:
                break
            sign = step
        terms = tuple((name, factor) for name, factor in factors.items() if factor)
        if not terms:
            raise self.error("nothing is left of the sum: all factors are 0", "Name a response")
        if not all(math.isfinite(factor) for _, factor in terms):
            raise self.error("a factor is too large for a number", "Give smaller ones")
        return Sum(terms)

    def comparison(self) -> str:
        """Return whether <= or >= stands here."""
        kind, token = self._next()
        if token in ("<=", ">="):
            return token
        if token in ("<", ">"):
            raise self.error(
                f"{token} and {token}= are the same for a mean that is never known exactly",
                f"Write {token}=",
            )
        if token in ("=", "=="):
            raise self.error("a mean cannot be held at one value exactly", "Write <= or >=")
        if kind == "name":
            raise self.error(
                f"{token!r} follows a name", "Put names with spaces in backquotes, as in `late calls`"
            )
        raise self.error(f"<= or >= is missing before {token!r}" if token else "<= or >= is missing", "Write")

    def bound(self) -> float:
        """Return the number at the end of a limit."""
        sign = self._sign() or 1.0
        kind, token = self._next()
        if kind != "number" or not self.done:
            at = token if kind != "number" else self.shown.strip("'")
            raise self.error(
                f"{at!r} stands where only a number can" if at else "the bound is missing",
                "Bring all responses to the left and give one number on the right",
            )
        if not math.isfinite(float(token)):
            raise self.error(f"{token} is too large for a number", "Give a smaller bound")
        return sign * float(token)

    def _product(self) -> tuple[str, float]:
        """Return one response with its factor: name, number * name, name * number or name / number."""
        kind, token = self._next()
        if kind == "name":
            name = self._checked(token)
            if self._take("*"):
                return name, self._factor()
            if self._take("/"):
                by = self._factor()
                if not by:
                    raise self.error("a response is divided by 0", "Give another number")
                return name, 1.0 / by
            return name, 1.0
        if kind == "number":
            if not self._take("*"):
                raise self.error(
                    f"the number {token} is no factor of a response",
                    "Write number * response, without constants",
                )
            name_kind, name = self._next()
            if name_kind != "name":
                raise self.error(
                    f"after {token} * a response is expected, not {name!r}", "Write number * response"
                )
            return self._checked(name), float(token)
        if token in ("(", ")"):
            raise self.error("parentheses are not understood", "Write every factor before its response")
        raise self.error(f"a response is expected where {token or 'the end'!r} stands", "Write it like")

    def _checked(self, name: str) -> str:
        """Return a name, refused if it is empty or if another name follows it."""
        if not name.strip():
            raise self.error("there is nothing between the backquotes", "Name a response")
        if not self.done and self._tokens[self._place][0] == "name":
            both = f"{name} {self._tokens[self._place][1]}"
            raise self.error(
                f"two names stand side by side: {both!r}", f"If it is one, write `{both}`, else + or -, as in"
            )
        return name

    def _factor(self) -> float:
        """Return the number that must stand here."""
        kind, token = self._next()
        if kind != "number":
            raise self.error(
                f"after * or / a number is expected, not {token or 'the end'!r}", "Write it like"
            )
        return float(token)

    def _sign(self) -> float | None:
        """Return +1 or −1 for the signs that stand here, None where there are none."""
        found = None
        while (
            not self.done and self._tokens[self._place][1] in "+-" and self._tokens[self._place][0] == "mark"
        ):
            found = (found or 1.0) * (1.0 if self._tokens[self._place][1] == "+" else -1.0)
            self._place += 1
        return found

    def _take(self, mark: str) -> bool:
        """Return whether this mark stands here, and go on behind it if it does."""
        if self.done or self._tokens[self._place] != ("mark", mark):
            return False
        self._place += 1
        return True

    def _next(self) -> tuple[str, str]:
        """Return the kind of the next token and the token, and go on behind it."""
        if self.done:
            return "end", ""
        self._place += 1
        return self._tokens[self._place - 1]
