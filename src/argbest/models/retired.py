"""Models of version 0.1 that are gone, and what to write in their place."""

from collections.abc import Mapping
from typing import Any

from argbest.errors import InputError

SUCCESSOR = "additive-gp"
# The nearest to what the name meant; "" where nothing is near.
NAMES = {
    "shared-gp": "additive-gp:parts=trend+offset+own,noise=pooled",
    "shared-gp-pair-noise": "additive-gp:parts=trend+offset+own",
    "joint-gp": "additive-gp:parts=joint,noise=pooled",
    "joint-gp-pair-noise": "additive-gp:parts=joint",
    "pooled-gp": "additive-gp:parts=own,noise=pooled",
    "gp-pair-noise": "gp:noise=pair",
    "latent-gp": "",
}
CLASSES = {"SharedGP": "shared-gp", "JointGP": "joint-gp", "LatentGP": "latent-gp"}


def check(given: object) -> None:
    """Raise an InputError if a model of this name is gone: what to write instead."""
    if isinstance(given, str) and given in NAMES:
        raise _gone("model", given, f"model={SUCCESSOR!r}", NAMES[given])


def successor(given: object) -> str | None:
    """Return the name, with options, that takes the place of a model that is gone; None if it is not."""
    if not isinstance(given, str) or given not in NAMES:
        return None
    return "gp:noise=pair" if given == "gp-pair-noise" else SUCCESSOR


def check_class(given: str) -> None:
    """Raise an InputError if a model class of this name is gone: what to write instead."""
    if given in CLASSES:
        raise _gone("class", given, "AdditiveGP", NAMES[CLASSES[given]])


def in_todays_words(kind: str, options: Mapping[str, Any]) -> tuple[str, dict[str, Any], str]:
    """Return class and options of a stored model as they are now, and the name of what is gone, or "".

    A successor keeps the kernel and the noise that is known; what else it needs has its usual value.
    """
    if kind == "GP":
        gone = "pooled-gp" if options.get("pooled") or options.get("noise") == "pooled" else ""
    else:
        gone = CLASSES.get(kind, "")
    if gone:
        return "AdditiveGP", {name: options[name] for name in ("kernel", "noise_sd")}, gone
    return kind, {name: value for name, value in options.items() if (kind, name) != ("GP", "pooled")}, ""


def _gone(what: str, given: str, successor: str, near: str) -> InputError:
    hint = f" The closest replacement is the model {near!r}." if near else ""
    return InputError(
        f"the {what} {given!r} of version 0.1 no longer exists. Use {successor}, which learns from the data "
        f"what alternatives have in common.{hint}"
    )
