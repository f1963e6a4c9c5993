"""Python functions as simulators, called by name."""

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from argbest.errors import InputError, unknown_name


@dataclass(frozen=True)
class Function:
    """A simulator by its name, looked up where it is called: it can be stored and sent elsewhere.

    The function is imported where it is first called, so a study can be stored and its simulator sent to
    other processes. Marks on the function (such as that it takes many seeds at once) are those of this.

    Args:
        name: Where it is, "module:function".
        folder: The folder in which the module is looked for first.
    """

    name: str
    folder: str | None = None

    def __post_init__(self) -> None:
        _split(self.name)
        if self.folder is not None:
            self.__dict__["folder"] = os.fspath(self.folder)

    def __call__(self, alternative: Any, context: Any, seed: Any) -> Any:
        """Return what the function returns."""
        return self.target(alternative, context, seed)

    @cached_property
    def target(self) -> Callable[..., Any]:
        """The function itself."""
        return load(self.name, self.folder)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "target":
            raise AttributeError(name)
        return getattr(self.target, name)

    def __getstate__(self) -> dict[str, Any]:
        return {"name": self.name, "folder": self.folder}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def plain(self) -> dict[str, Any]:
        """Return the function as JSON-ready values."""
        return {"python": self.name, "folder": self.folder}

    @classmethod
    def from_plain(cls, stored: Mapping[str, Any]) -> "Function":
        """Return the function that `plain` described.

        Args:
            stored: What `plain` returned.
        """
        for name in stored:
            if name not in ("python", "folder"):
                raise unknown_name("option of a Python simulator", name, ("python", "folder"))
        if "python" not in stored:
            raise InputError("a Python simulator needs its name, python='module:function'.")
        return cls(stored["python"], stored.get("folder"))


def load(name: str, folder: str | os.PathLike[str] | None = None) -> Callable[..., Any]:
    """Return the function "package.module:function", its module looked up in ``folder`` first, if given.

    The folder stays on the module search path, as that of a script does, for imports the module makes later.
    """
    module_name, path = _split(name)
    at = None if folder is None else Path(folder).absolute()
    if at is not None and str(at) not in sys.path:
        sys.path.insert(0, str(at))
    thing: Any = _module(module_name, at)
    _refuse_namesake(module_name, at)
    for part in path.split("."):
        if not hasattr(thing, part):
            functions = [each for each, value in vars(thing).items() if callable(value) and each[0] != "_"]
            raise unknown_name(f"function of {module_name}", part, functions)
        thing = getattr(thing, part)
    if not callable(thing):
        raise InputError(f"{name} is {thing!r} ({type(thing).__name__}); expected a function.")
    try:
        inspect.signature(thing).bind(None, None, 0)
    except TypeError:
        raise InputError(
            f"{name} takes {inspect.signature(thing)}; expected a function (alternative, context, seed)."
        ) from None
    except ValueError:  # without a signature, as compiled functions may be
        pass
    return thing  # type: ignore[no-any-return]


def _split(name: object) -> tuple[str, str]:
    """Return the names of the module and of the function."""
    text = name if isinstance(name, str) else ""
    module, _, path = text.partition(":")
    parts = [*module.split("."), *path.split(".")]
    if not all(part.isidentifier() for part in parts) or module.endswith(".py"):
        hint = f" Write {module[:-3]}:{path or 'FUNCTION'}." if module.endswith(".py") else ""
        raise InputError(f"got {name!r} as a Python simulator; expected 'module:function'.{hint}")
    return module, path


def _module(name: str, folder: Path | None) -> ModuleType:
    importlib.invalidate_caches()  # the file may be younger than the last look into the folder
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise InputError(f"importing {name} failed: {error}. Install what is missing.") from error
        here = "" in sys.path or str(Path.cwd()) in sys.path
        places = ["the installed packages", *([] if folder is None else [f"the folder {str(folder)!r}"])]
        raise InputError(
            f"no module {error.name!r} in {' or '.join(places)}; the current folder is "
            f"{'searched too' if here else 'not searched'}. Correct the name, or name the folder of the file."
        ) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a script without a main guard may even exit
        raise InputError(f"importing {name} failed: {type(error).__name__}: {error}. Correct it.") from error


def _refuse_namesake(name: str, folder: Path | None) -> None:
    """Refuse a module of the same name from elsewhere, imported before: it would be the wrong simulator."""
    if folder is None:
        return
    top = name.partition(".")[0]
    meant = [path for path in (folder / f"{top}.py", folder / top / "__init__.py") if path.exists()]
    used = getattr(sys.modules[top], "__file__", None)
    if meant and (used is None or Path(used).resolve().parent not in {m.resolve().parent for m in meant}):
        raise InputError(
            f"{str(meant[0])!r} is hidden by another module {top!r}, {used or 'built in'}, that is loaded "
            f"already. Rename the file."
        )
