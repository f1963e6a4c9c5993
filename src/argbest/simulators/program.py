"""Any external program as a simulator."""

import errno
import os
import shlex
import shutil
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from argbest.checks import finite, whole
from argbest.core.goals import checked_names
from argbest.errors import InputError, SimulationError, unknown_name
from argbest.simulators import process, program_texts
from argbest.simulators.calling import Value
from argbest.texts import harmless

COMMAND = "command: "  # begins the line of an error that tells what was run
_LINES = 20  # of standard error in an error
_LONGEST = 4000  # characters of a command in an error
_FOR_GOOD = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ENOEXEC, errno.E2BIG, errno.EINVAL)
_NO_SEED = (
    "the command does not use {seed}: if the program draws no random numbers of its own, it returns the "
    "same value every time; if it does, its runs cannot be repeated"
)


class _CannotStartError(SimulationError):
    """Trying again would not help."""


@dataclass(frozen=True)
class Program:
    """A simulator that runs a command, without a shell, and reads the responses from its standard output.

    The reward is the last number of the output, or a JSON field (`program_texts.reward`). A `Problem` whose
    goal and limits name responses has them read.

    Args:
        command: The program and its arguments, templates (`program_texts.parse`): ["./simulate", "--servers",
            "{alternative.servers}", "--seed", "{seed}"]; {python} is the interpreter that runs argbest.
        field: The JSON field that holds the reward.
        timeout: After how many seconds a run is killed with all it started.
        retries: How often a run that fails is repeated with the same seed.
        backoff: How many seconds to wait before the first repetition; twice as many before each further one.
        folder: The working directory, in which a relative path of the program is looked up too.
        environment: Variables to add to the environment, templates as well.
        responses: The names of several responses to read: fields of a JSON object, or named numbers such as
            "cost=1.2 late=0" (`program_texts.responses`).
    """

    command: Sequence[str]
    field: str | None = None
    timeout: float | None = None
    retries: int = 0
    backoff: float = 1.0
    folder: str | None = None
    environment: Mapping[str, str] | None = None
    responses: Sequence[str] | None = None

    def __post_init__(self) -> None:
        command, folder = self.command, self.folder
        listed = isinstance(command, Sequence) and not isinstance(command, str | bytes)
        if not listed or not command or not all(isinstance(part, str) for part in command) or not command[0]:
            raise InputError(
                f"command={command!r}; expected a list of texts, the program first and then each argument "
                'on its own, for example ["./simulate", "--seed", "{seed}"].'
            )
        if self.field is not None and (not isinstance(self.field, str) or not self.field):
            raise InputError(f"field={self.field!r}; expected the name of a JSON field, such as 'mean.wait'.")
        if folder is not None and not isinstance(folder, str | os.PathLike):
            raise InputError(f"folder={folder!r}; expected the path of a folder.")
        self.__dict__.update(  # the one way to set a field of a frozen instance
            command=tuple(command),
            timeout=None if self.timeout is None else finite("timeout", self.timeout, above=0),
            retries=whole("retries", self.retries, at_least=0),
            backoff=finite("backoff", self.backoff, above=-1e-300),
            folder=None if folder is None else os.fspath(folder),
            environment=_variables(self.environment),
            responses=self._named(),
        )
        for text in self._templates:
            program_texts.parse(text)
            if "\0" in text:
                raise InputError(
                    f"{text!r} holds the character NUL, which no program can be given. Remove it."
                )

    def __call__(self, alternative: Any, context: Any, seed: int) -> Value:
        """Return the value of one run, or raise a SimulationError that says all that is known."""
        arguments, environment = self._filled(alternative, context, seed)
        for attempt in range(self.retries + 1):
            try:
                return self._run(arguments, environment)
            except SimulationError as error:
                if attempt == self.retries or isinstance(error, _CannotStartError):
                    tries = f" (attempt {attempt + 1} of {attempt + 1})" if attempt else ""
                    text = f"{harmless(str(error.args[0]))}{tries}.\n{COMMAND}{_shown(arguments)}"
                    raise SimulationError(text + _quoted(error)) from None
                time.sleep(self.backoff * 2**attempt)
        raise RuntimeError("unreachable: the last attempt returns or raises")

    def check(self, alternatives: Sequence[Any], contexts: Sequence[Any]) -> tuple[str, ...]:
        """Return remarks, after refusing a command that cannot be used for these labels or rows.

        Every field must be known, and no two alternatives and no two contexts may lead to the same command.
        A command without {seed} is allowed, with a remark.

        Args:
            alternatives: The labels or rows of all alternatives.
            contexts: The labels or rows of all contexts.
        """
        program_texts.check(self._templates, {"alternative": alternatives, "context": contexts})
        for alternative in alternatives:
            self._filled(alternative, contexts[0], 0)
        for context in contexts:
            self._filled(alternatives[0], context, 0)
        if not self._at.is_dir():
            raise InputError(f"the folder {str(self._at)!r} to run the program in does not exist. Make it.")
        used = program_texts.fields(self._templates)
        return () if program_texts.Field("seed", None) in used else (_NO_SEED,)

    def within(self, seconds: float) -> "Program":
        """Return the program that is killed after so many seconds at the latest.

        Args:
            seconds: How long one run may take.
        """
        return replace(self, timeout=min(seconds, self.timeout or seconds))

    def check_start(self, alternative: Any, context: Any) -> None:
        """Raise an InputError if the program is not to be found on this machine, without running it.

        Args:
            alternative (label or row): An alternative to fill into the command.
            context (label or row): A context to fill into the command.
        """
        arguments, environment = self._filled(alternative, context, 0)
        try:
            found = _found(arguments[0], self._at, environment)
            if not os.access(found, os.X_OK):
                reason = errno.EACCES if os.path.exists(found) else errno.ENOENT
                raise OSError(reason, os.strerror(reason), found)
        except OSError as error:
            raise InputError(f"{_why(error, arguments[0], self._at)}. Correct the command.") from error

    def naming(self, responses: Sequence[str]) -> "Program":
        """Return the program, made to read these responses where it reads one number so far.

        Args:
            responses: Their names.
        """
        one_number = self.field is not None and len(responses) == 1
        return self if self.responses or one_number else replace(self, responses=tuple(responses))

    def plain(self) -> dict[str, Any]:
        """Return the program as JSON-ready values."""
        environment = None if self.environment is None else dict(self.environment)
        named = {} if self.responses is None else {"responses": list(self.responses)}
        options = {name: value for name, value in asdict(self).items() if name != "responses"}
        return options | {"command": list(self.command), "environment": environment} | named

    @classmethod
    def from_plain(cls, stored: Mapping[str, Any]) -> "Program":
        """Return the program that `plain` described.

        Args:
            stored: What `plain` returned.
        """
        known = [each.name for each in fields(cls)]
        for name in stored:
            if name not in known:
                raise unknown_name("option of a program", name, known)
        if "command" not in stored:
            raise InputError("a program needs a command, a list of texts.")
        return cls(**stored)

    def _named(self) -> tuple[str, ...] | None:
        """Return the names of the responses, checked."""
        given = self.responses
        if given is None:
            return None
        if isinstance(given, str) or not isinstance(given, Sequence) or not given:
            raise InputError(f"responses={given!r}; expected a list of names such as ['cost', 'late'].")
        if self.field is not None:
            raise InputError(
                f"field = {self.field!r} is for programs with one response, and here are {', '.join(given)}. "
                "Leave it out: responses are read by their names."
            )
        return checked_names(given)

    @property
    def _templates(self) -> list[str]:
        return [*self.command, *(self.environment or {}).values()]

    @property
    def _at(self) -> Path:
        return Path.cwd() if self.folder is None else Path(self.folder).absolute()

    def _filled(self, alternative: Any, context: Any, seed: int) -> tuple[list[str], dict[str, str] | None]:
        """Return the arguments and the variables of one run."""
        given = alternative, context, seed
        arguments = [program_texts.render(part, *given) for part in self.command]
        if self.environment is None:
            return arguments, None
        return arguments, {
            name: program_texts.render(text, *given) for name, text in self.environment.items()
        }

    def _run(self, arguments: list[str], environment: dict[str, str] | None) -> Value:
        at = self._at
        try:
            program = _found(arguments[0], at, environment)
            ended = process.run(
                [program, *arguments[1:]], folder=at, environment=environment, timeout=self.timeout
            )
        except (OSError, ValueError) as error:  # ValueError: text that the system cannot encode
            passing = isinstance(error, OSError) and error.errno not in _FOR_GOOD  # too many processes, say
            kind = SimulationError if passing else _CannotStartError
            raise kind(_why(error, arguments[0], at)) from error
        try:
            if ended.code is None:
                raise SimulationError(f"the program was killed after its time-out of {self.timeout:g} s")
            if ended.code != 0:
                raise SimulationError(f"the program {_death(ended.code)}")
            complete = ended.written == len(ended.stdout)
            if self.responses:
                return program_texts.responses(ended.stdout, self.responses, whole=complete)
            return program_texts.reward(ended.stdout, self.field, whole=complete)
        except SimulationError as error:
            error.add_note(ended.stderr.decode("utf-8", "replace"))
            raise


def _variables(given: object) -> dict[str, str] | None:
    if given is None:
        return None
    good = isinstance(given, Mapping) and all(
        isinstance(name, str) and isinstance(value, str) and name and not set("=\0") & set(name)
        for name, value in given.items()
    )
    if not good or not isinstance(given, Mapping):
        raise InputError(
            f"environment={given!r}; expected texts by name, such as {{'OMP_NUM_THREADS': '1'}}."
        )
    return dict(given)


def _found(program: str, folder: Path, environment: Mapping[str, str] | None) -> str:
    """Return the path of the program; a relative path starts at the working directory, as in a shell."""
    if os.path.dirname(program):
        found: str | None = str(folder / program)
    else:
        found = shutil.which(program, path=(environment or {}).get("PATH"))
    if found is None:
        raise FileNotFoundError(errno.ENOENT, "not on the PATH", program)
    if os.name == "nt" and found.lower().endswith((".bat", ".cmd")):
        raise OSError(errno.EINVAL, "a batch file, which Windows runs in a shell; call its program", program)
    return found


def _why(error: Exception, program: str, folder: Path) -> str:
    """Return why a program could not be started."""
    start = f"the program {program!r} cannot be started"
    if not folder.is_dir():
        return f"{start}: the folder {str(folder)!r} does not exist"
    if not isinstance(error, OSError):
        return f"{start}: {error}"
    if error.errno == errno.ENOENT and os.path.dirname(program):
        there = (folder / program).exists()
        reason = (
            "the interpreter in its first line is not found" if there else f"it is not in {str(folder)!r}"
        )
        return f"{start}: {reason}"
    if error.errno == errno.ENOENT:
        here = f"; {str(folder / program)!r} is written './{program}'" if (folder / program).exists() else ""
        return f"{start}: it is not found on the PATH{here}"
    hint = {
        errno.EACCES: " (is it executable?)",
        errno.ENOEXEC: " (a script names its interpreter in its first line, such as #!/bin/sh)",
    }.get(error.errno or 0, "")
    return f"{start}: {error.strerror or error}{hint}"


def _death(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"was killed by signal {-code}"


def _quoted(error: SimulationError) -> str:
    """Return the last lines of standard error, each indented."""
    lines = [line for note in getattr(error, "__notes__", ()) for line in note.splitlines() if line.strip()]
    if not lines:
        return "" if isinstance(error, _CannotStartError) else "\nnothing on standard error."
    shown = "".join(f"\n  {harmless(line)}" for line in lines[-_LINES:])
    return f"\nlast lines on standard error:{shown}"


def _shown(arguments: Sequence[str]) -> str:
    command = shlex.join(arguments)
    return harmless(command if len(command) <= _LONGEST else f"{command[:_LONGEST]}... (shortened)")
