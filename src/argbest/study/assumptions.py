"""What a guarantee takes as given of the rewards."""

from dataclasses import dataclass
from typing import NamedTuple

from argbest.checks import one_of
from argbest.errors import InputError

NORMAL, RANGE, DETERMINISTIC = NAMES = ("normal", "range", "deterministic")


@dataclass(frozen=True)
class Assumption:
    """What is taken as given of the rewards; as `str` in words that follow "for".

    "normal": rewards, or their differences under shared seeds, are normal. "range": every single reward is
    in the ``reward_range``. "deterministic": as "normal", but two alternatives whose differences are all
    equal differ by that constant, without noise.
    """

    name: str
    reward_range: tuple[float, float] | None = None  # of "range"

    def __str__(self) -> str:
        return self.of("rewards")

    def of(self, what: str) -> str:
        """Return the assumption about rewards, or a response, that are called so."""
        if self.reward_range is not None:
            return "{} between {:g} and {:g}".format(what, *self.reward_range)
        return f"normal {what}" + (", equal differences taken as exact" if self.exact else "")

    @property
    def exact(self) -> bool:
        """Whether differences that are all equal are taken as free of noise."""
        return self.name == DETERMINISTIC


def named(assume: object) -> str | None:
    """Return the name of an assumption if it is one; None leaves the choice to the study."""
    return None if assume is None else one_of("assume", assume, NAMES)


def of_rewards(limits: tuple[float, float] | None, assume: str | None, response: str = "") -> Assumption:
    """Return the assumption of that name; of None the weakest that was declared: a range, else normal.

    ``response`` names what has the range, where there are several.
    """
    name = named(assume) or (NORMAL if limits is None else RANGE)
    if name != RANGE:
        return Assumption(name)
    if limits is None:
        if response:
            raise InputError(
                f"assume='range' needs the range of {response!r}, and none is known. Give a reward_range by "
                "response; or assume 'normal'."
            )
        raise InputError(
            "assume='range' needs the range of the rewards, and none is known. Give Problem(..., "
            "reward_range=(0, 1)), or reward_range = [0, 1] in the study file; or assume 'normal'."
        )
    return Assumption(name, limits)


class Assumed(NamedTuple):
    """What is taken as given of the goal, and of the slack of every limit, in their own units."""

    goal: Assumption
    slacks: tuple[Assumption, ...] = ()
    words: str = ""  # follows "for"

    @property
    def name(self) -> str:
        """The name of the strongest assumption."""
        names = {each.name for each in (self.goal, *self.slacks)}
        return next(name for name in (DETERMINISTIC, NORMAL, RANGE) if name in names)

    def __str__(self) -> str:
        return self.words or str(self.goal)
