"""Abilities: who offers what is told by members, wherever they come from."""

from dataclasses import dataclass
from typing import Any, Protocol

import pytest

from argbest.core.abilities import offers


class Sings(Protocol):
    loud: bool

    def sing(self) -> str: ...


class SingsWell(Sings, Protocol):
    def sing_well(self) -> str: ...


@dataclass(frozen=True)
class Bird:
    loud: bool  # a field without a default is on no class

    def sing(self) -> str:
        return "tweet"


class Parrot:
    def __init__(self, *, loud: bool) -> None:
        if loud:
            self.loud = True

    @property
    def sing(self) -> str:
        raise AssertionError("no property may be worked out to see whether it is there")


class Slotted:
    __slots__ = ("loud", "sing")


class Handed:
    """One that stands for another."""

    def __init__(self, other: object) -> None:
        self.other = other

    def __getattr__(self, name: str) -> Any:
        return getattr(self.other, name)


@pytest.mark.parametrize(
    "singer",
    [Bird(False), Parrot(loud=True), Slotted(), Handed(Bird(True))],
    ids=lambda each: type(each).__name__,
)
def test_members_of_class_and_object_are_offered(singer: object) -> None:
    assert offers(singer, Sings)


@pytest.mark.parametrize(
    "silent",
    [Parrot(loud=False), object(), 3, Handed(object()), Parrot],
    ids=lambda each: type(each).__name__,
)
def test_one_missing_member_is_enough_to_offer_nothing(silent: object) -> None:
    assert not offers(silent, Sings)


def test_an_ability_asks_only_for_what_it_declares_itself() -> None:
    class Soprano:
        def sing_well(self) -> str:
            return "la"

    assert offers(Soprano(), SingsWell)
    assert not offers(Soprano(), Sings)
    assert offers(Soprano, SingsWell)  # a class is asked about its objects
