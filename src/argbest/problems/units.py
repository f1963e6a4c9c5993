"""Units of rewards, responses and columns, as users name them."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from argbest.checks import unicode
from argbest.errors import InputError, unknown_name

if TYPE_CHECKING:
    from argbest.core.goals import Goal, Sum
    from argbest.problems.axis import Axis

REWARD = "reward"  # what stands for the goal, whether it is one number, a response or a sum


def declared_units(
    given: object, goal: "Goal", responses: Iterable[str], axes: Iterable["Axis"], *, complete: bool
) -> dict[str, str]:
    """Return units by name: of the goal, of responses, of columns ("rate", or "context.rate" of one axis).

    A text alone is the unit of the goal, as "reward" is in a dict. Unknown names are refused where the
    responses are ``complete``.
    """
    if given is None:
        return {}
    if not isinstance(given, str | Mapping):
        raise InputError(
            f"got unit={given!r}; expected a text, the unit of the reward, or a dict by name such as "
            "{'reward': 'minutes', 'rate': 'calls per hour'}."
        )
    named = {REWARD: given} if isinstance(given, str) else dict(given)
    subject = _key(goal.sum)
    known = {REWARD, subject, *responses, *(name for axis in axes for name in _names(axis))}
    for name, unit in named.items():
        if not isinstance(name, str) or (complete and name not in known):
            raise unknown_name("name of a unit", str(name), sorted(known))
        if not isinstance(unit, str) or not unit.strip():
            raise InputError(f"got the unit {unit!r} of {name!r}; expected a text such as 'minutes'.")
    return {
        subject if name == REWARD else name: unicode("unit", unit.strip()) for name, unit in named.items()
    }


def of_column(units: Mapping[str, str], axis: "Axis", name: str) -> str:
    """Return the unit of a column of an axis, "" if none is known; plain labels are one column."""
    forms = [f"{axis.kind}.{name}", name]
    if not axis.columns and axis.word:
        forms = [f"{axis.kind}.{axis.word}", axis.word, *forms]
    return next((units[form] for form in forms if form in units), "")


def of_sum(units: Mapping[str, str], total: "Sum | None") -> str:
    """Return the unit of a sum of responses, of the reward where no response has a name; "" if unknown."""
    return units.get(_key(total), "")


def titled(name: str, unit: str) -> str:
    """Return the name of an axis or a column with its unit: "rate (calls per hour)"."""
    return f"{name} ({unit})" if unit else name


def _key(total: "Sum | None") -> str:
    """Return the name by which the unit of a sum is known: that of a response alone, else the sum as text."""
    if total is None:
        return REWARD
    return total.names[0] if total.terms == ((total.names[0], 1.0),) else str(total)


def _names(axis: "Axis") -> Iterable[str]:
    words = [*axis.coordinates, *([axis.word] if not axis.columns and axis.word else [])]
    return [form for word in words for form in (word, f"{axis.kind}.{word}")]
