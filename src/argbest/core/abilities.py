"""Abilities: what a belief, a model or a policy can do beyond what it must, each a small protocol.

An ability is offered by having its members, by whatever class: nothing need be derived from anything.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, TypeVar

if TYPE_CHECKING:
    from argbest.core.setting import Setting

Ability = TypeVar("Ability")


def offers(thing: object, ability: type[Ability]) -> TypeGuard[Ability]:
    """Return whether a thing has every member that the protocol of an ability itself declares.

    The members that its class lacks are cached, so this is as quick as a dict lookup; no property is
    evaluated.
    """
    protocol: Any = ability
    kind: Any = thing if isinstance(thing, type) else type(thing)  # a class may be asked about its objects
    missing = _missing(kind, protocol)
    if not missing or missing <= _own_members(thing).keys():
        return True
    delegates = hasattr(type(thing), "__getattr__")  # as an object does that wraps another
    return delegates and all(hasattr(thing, name) for name in missing)


@lru_cache(maxsize=1024)
def _missing(kind: type, ability: type) -> frozenset[str]:
    """Return the members of an ability that objects of a class need to have by themselves."""
    declared = {*vars(ability), *vars(ability).get("__annotations__", ())}
    return frozenset(name for name in declared if not name.startswith("_") and not hasattr(kind, name))


def _own_members(thing: object) -> dict[str, Any]:
    try:
        return vars(thing)
    except TypeError:  # its class has slots, which count as members of the class
        return {}


# Abilities of models that rooms other than `argbest.models` ask for; the rest are in `argbest.models.base`.


class RefitsByGrowth(Protocol):
    """A model whose fits are expensive: it learns again when the replications have grown by this share."""

    refit_growth: float


class LearnsFromOthers(Protocol):
    """A model that learns about pairs from others: a study need not begin with every pair."""

    def n_parameters(self, shape: tuple[int, int], setting: "Setting") -> int:
        """Return the number of hyper-parameters to learn, for a table [alternative, context]."""


class LendsNoise(Protocol):
    """A model without `LearnsFromOthers` that needs one replication of most pairs of a large table."""

    lends_noise: bool
