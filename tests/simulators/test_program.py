"""External programs as simulators: arguments arrive as they are, and failures tell all there is to tell."""

import errno
import json
import os
import pickle
import shlex
import sys
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from argbest import InputError, Problem, SimulationError, Study
from argbest.simulators import process
from argbest.simulators.program import Program

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the programs of these tests are POSIX programs")

HOSTILE = [
    *(
        "it's",
        'say "hi"',
        "$(touch pwned)",
        "`touch pwned`",
        "a; touch pwned",
        "two\nlines",
        "{seed}",
        "{{",
        "}",
    ),
    *(
        "<script>alert(1)</script>",
        "'; DROP TABLE studies; --",
        "--help",
        "-",
        "",
        " spaces ",
        "$HOME",
        "*",
        "☃",
    ),
]


def python(code: str, *arguments: str, **options: Any) -> Program:
    """A program in Python, which starts in a few milliseconds."""
    return Program(
        ["{python}", "-I", "-S", "-c", code.replace("{", "{{").replace("}", "}}"), *arguments], **options
    )


def failure(program: Program) -> str:
    with pytest.raises(SimulationError, match="the program|standard output|JSON") as caught:
        program("a", "c", 1)
    return str(caught.value)


def script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_the_reward_is_read_from_standard_output() -> None:
    add = "import sys; print('the sum is', sum(map(float, sys.argv[1:])))"
    program = python(add, "{alternative.servers}", "{context.rate}", "{seed}")
    assert program({"servers": 3}, {"rate": 0.1}, 2**40) == 3 + 0.1 + 2**40


def test_a_json_field_can_be_the_reward() -> None:
    program = python("print('log'); print('{\"mean\": {\"wait\": 2.5}}')", field="mean.wait")
    assert program("a", "c", 1) == 2.5


def test_a_program_may_return_several_responses_by_name() -> None:
    program = python("print('late=0 of 3'); print('cost=1.5 late=0.25')", responses=["cost", "late"])
    assert program("a", "c", 1) == {"cost": 1.5, "late": 0.25}
    assert failure(python("print('cost=1.5')", responses=("cost", "late"))).startswith(
        "standard output has no response 'late'; there are 'cost'. Expected late=NUMBER, a line "
        "late: NUMBER, or a JSON object.\ncommand: "
    )
    stored = program.plain()
    assert stored["responses"] == ["cost", "late"]
    assert Program.from_plain(json.loads(json.dumps(stored))) == program
    assert "responses" not in python("print(1)").plain()  # as it was stored before there were any


def test_a_problem_tells_its_program_which_responses_to_read() -> None:
    program = python("print(1)", "{alternative}", "{context}")
    named = Problem(["a", "b"], [1], program, goal="min cost", limits=["late + lost <= 1", "late <= 0.1"])
    declared = Problem(["a", "b"], [1], program, goal="min cost", responses=["late", "cost"])
    own = replace(program, responses=("cost", "idle"))
    assert [each.simulate.responses for each in (named, declared)] == [  # type: ignore[union-attr]
        ("cost", "late", "lost"),
        ("late", "cost"),
    ]
    assert Problem(["a", "b"], [1], own, goal="min cost").simulate is own
    assert Problem(["a", "b"], [1], program, goal="min").simulate is program
    with_field = python("print(1)", "{alternative}", "{context}", field="cost")
    assert Problem(["a", "b"], [1], with_field, goal="min cost").simulate is with_field
    with pytest.raises(
        InputError, match="field = 'cost' is for programs with one response, and here are cost, l"
    ):
        Problem(["a", "b"], [1], with_field, goal="min cost", limits="late <= 0.1")


@pytest.mark.parametrize(
    ("responses", "message"),
    [
        ("cost", r"responses='cost'; expected a list of names"),
        ([], r"responses=\[\]; expected a list of names"),
        (["cost", "cost"], "two responses are called 'cost'"),
        (["co`st"], "has no backquote"),
        ([3], "got a response called 3"),
    ],
)
def test_names_that_are_none_are_refused(responses: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Program(["echo"], responses=responses)


def test_a_study_runs_on_a_program() -> None:
    code = (
        "import sys; print(sys.argv[2] == 'b', int(sys.argv[3]) % 7 / 10 + 2 * (sys.argv[1] == sys.argv[2]))"
    )
    program = python(code, "{alternative}", "{context}", "{seed}")
    study = Study(Problem(["a", "b"], ["a", "b"], program), policy="equal", model="independent").run(16)
    assert study.selection()["selected"].tolist() == ["a", "b"]


@pytest.mark.parametrize("label", HOSTILE)
def test_a_hostile_label_reaches_the_program_untouched(label: str, tmp_path: Path) -> None:
    code = "import sys, json; open('got', 'w').write(json.dumps(sys.argv[1:])); print(1)"
    program = python(code, "{alternative}", "x{context.name}", folder=str(tmp_path))
    assert program(label, {"name": label}, 1) == 1
    assert json.loads((tmp_path / "got").read_text()) == [label, f"x{label}"]
    assert [path.name for path in tmp_path.iterdir()] == ["got"]


def test_a_relative_program_starts_at_its_folder_and_runs_there(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    script(tmp_path / "bin" / "simulate", '#!/bin/sh\npwd\necho "$1"\n')
    program = Program(["bin/simulate", "{alternative}"], folder=str(tmp_path))
    assert program(4, 0, 1) == 4
    assert Program(["./simulate", "{alternative}"], folder=str(tmp_path / "bin"))(5, 0, 1) == 5


def test_the_program_may_depend_on_the_alternative(tmp_path: Path) -> None:
    for number in (1, 2):
        script(tmp_path / f"plan-{number}", f"#!/bin/sh\necho {number}\n")
    program = Program(["./plan-{alternative}"], folder=str(tmp_path))
    assert [program(number, 0, 1) for number in (1, 2)] == [1, 2]


def test_variables_are_added_to_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEPT", "5")
    code = "import os; print(int(os.environ['KEPT']) + int(os.environ['SEED']))"
    assert python(code, environment={"SEED": "{seed}"})("a", "c", 10) == 15


def test_a_program_finds_nothing_on_its_standard_input() -> None:
    assert python("import sys; print(len(sys.stdin.read()))")("a", "c", 1) == 0


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise SystemExit(3)", "the program ended with exit code 3."),
        ("import os; os.kill(os.getpid(), 11)", "the program was killed by signal 11 (SIGSEGV)."),
        ("print('sorry')", "standard output ends with 'sorry'; its last number cannot be read"),
        ("pass", "the program printed nothing on standard output."),
        ("print('nan')", "the program printed the reward nan; expected a finite number."),
        ("print(1); raise SystemExit(1)", "the program ended with exit code 1."),
    ],
)
def test_a_failure_says_what_happened_with_the_command_and_standard_error(code: str, message: str) -> None:
    code = "import sys; print('why it failed', file=sys.stderr, flush=True); " + code
    text = failure(python(code, "{alternative}", "it's {context}"))
    assert text.startswith(message)
    command = shlex.join([sys.executable, "-I", "-S", "-c", code, "a", "it's c"])
    assert f"\ncommand: {command}\n" in text
    assert text.endswith("\nlast lines on standard error:\n  why it failed")


def test_a_silent_failure_says_that_there_is_nothing_on_standard_error() -> None:
    assert failure(python("raise SystemExit(3)")).endswith("\nnothing on standard error.")


def test_only_the_last_lines_of_standard_error_are_kept() -> None:
    code = "import sys; [print('line', i, file=sys.stderr) for i in range(100000)]; raise SystemExit(1)"
    lines = failure(python(code)).splitlines()
    assert lines[-20:] == [f"  line {i}" for i in range(99980, 100000)]
    assert "line 99979" not in lines


def test_standard_error_that_is_no_text_is_made_harmless() -> None:
    code = r"import os; os.write(2, b'caf\xe9 \x1b[31mred\x00\x07 caf\xc3\xa9'); raise SystemExit(1)"
    assert failure(python(code)).endswith("\n  caf\ufffd \\x1b[31mred\\x00\\x07 café")


def test_a_hanging_program_is_killed_after_its_time() -> None:
    limit, text = 1, ""
    while not text.endswith("\n  still here"):  # on a busy machine it may need longer to say so
        limit, began = 2 * limit, time.monotonic()
        text = failure(Program(["sh", "-c", "echo still here >&2; exec sleep 600"], timeout=limit))
        assert text.startswith(f"the program was killed after its time-out of {limit} s.")
        assert limit <= time.monotonic() - began < 300


def test_a_program_that_ends_is_not_waited_for_longer() -> None:
    began = time.monotonic()
    assert Program(["sh", "-c", "echo 1"], timeout=600)("a", "c", 1) == 1
    assert time.monotonic() - began < 300


def test_endless_output_is_killed_after_its_time_in_bounded_memory() -> None:
    program = Program(["sh", "-c", "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done"], timeout=0.3)
    assert failure(program).startswith("the program was killed after its time-out")


def test_much_output_takes_little_memory() -> None:
    code = (
        "import sys\nfor _ in range(64): sys.stdout.write('x' * 2**20); sys.stderr.write('y' * 2**18)\n"
        "print(); print(6.5)"
    )
    tracemalloc.start()
    try:
        assert python(code)("a", "c", 1) == 6.5
        assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    finally:
        tracemalloc.stop()


def test_json_beyond_what_is_kept_is_refused_with_the_reason() -> None:
    code = "print('{\"fill\": \"' + 'x' * 2**21 + '\", \"mean\": 3}')"
    text = failure(python(code, field="mean"))
    assert "only the end of this much output was kept" in text
    assert len(text) < 2000


def test_a_failed_run_is_tried_again_after_a_growing_pause(tmp_path: Path) -> None:
    code = (
        "import os, sys, time\nwith open('log', 'a') as log: log.write(f'{time.time()} {sys.argv[1]}\\n')\n"
        "print(7 if len(open('log').readlines()) == 3 else 'not yet')"
    )
    program = python(code, "{seed}", folder=str(tmp_path), retries=2, backoff=0.1)
    assert program("a", "c", 5) == 7
    times, seeds = zip(*(line.split() for line in (tmp_path / "log").read_text().splitlines()), strict=True)
    assert seeds == ("5", "5", "5")
    first, second, third = map(float, times)
    assert second - first >= 0.1
    assert third - second >= 0.2


def test_retries_are_counted_in_the_failure(tmp_path: Path) -> None:
    code = "open('log', 'a').write('x'); raise SystemExit(4)"
    text = failure(python(code, folder=str(tmp_path), retries=2, backoff=0))
    assert text.startswith("the program ended with exit code 4 (attempt 3 of 3).")
    assert (tmp_path / "log").read_text() == "xxx"


@pytest.mark.parametrize(
    ("name", "text", "mode", "message"),
    [
        ("./nothing", None, 0, "cannot be started: it is not in '"),
        ("surely-not-installed", None, 0, "cannot be started: it is not found on the PATH."),
        ("simulate", "#!/bin/sh\n", 0o755, "is not found on the PATH; '.*/simulate' is written './simulate'"),
        ("./simulate", "#!/bin/sh\n", 0o644, r"Permission denied \(is it executable\?\)"),
        ("./simulate", "#!/no/such/shell\n", 0o755, "the interpreter in its first line is not found"),
        ("./simulate", "print(1)\n", 0o755, "names its interpreter in its first line"),
        ("./", None, 0, "cannot be started"),
    ],
)
def test_a_program_that_cannot_be_started_is_not_tried_again(
    name: str, text: str | None, mode: int, message: str, tmp_path: Path
) -> None:
    if text is not None:
        script(tmp_path / "simulate", text).chmod(mode)
    program = Program([name, "{seed}"], folder=str(tmp_path), retries=5, backoff=60)
    with pytest.raises(SimulationError, match=message) as caught:
        program("a", "c", 1)
    assert f"command: {name} 1" in str(caught.value)


def test_a_folder_that_vanished_is_named(tmp_path: Path) -> None:
    program = Program(["echo", "1"], folder=str(tmp_path / "gone"))
    assert "the folder " in failure(program)
    assert "does not exist" in failure(program)


def test_an_argument_too_long_for_the_system_is_a_failure() -> None:
    with pytest.raises(SimulationError, match="cannot be started: Argument list too long"):
        Program(["echo", "{alternative}"], retries=3, backoff=60)("x" * 2**22, "c", 1)


def test_a_very_long_command_is_shortened_in_the_failure() -> None:
    text = failure(Program(["sh", "-c", "exit 3", "x" * 100_000]))
    assert "... (shortened)" in text
    assert len(text) < 5000


def test_a_start_that_may_succeed_later_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    run, calls = process.run, []

    def crowded(*arguments: Any, **options: Any) -> process.Ended:
        calls.append(arguments)
        if len(calls) < 3:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        return run(*arguments, **options)

    monkeypatch.setattr(process, "run", crowded)
    assert Program(["echo", "{alternative}"], retries=2, backoff=0)(3, "c", 1) == 3
    calls.clear()
    text = failure(Program(["echo", "{alternative}"], retries=1, backoff=0))
    assert text.startswith(
        "the program 'echo' cannot be started: Resource temporarily unavailable (attempt 2 of 2)."
    )


def test_an_argument_that_cannot_be_encoded_is_a_failure() -> None:
    with pytest.raises(SimulationError, match="cannot be started: .*surrogates not allowed"):
        Program(["echo", "{alternative}"])("\ud800", "c", 1)


def test_many_threads_may_run_programs_at_once() -> None:
    program = Program(["echo", "{alternative}"])
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(program, range(60), range(60), range(60))) == list(range(60))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"command": "echo 1"}, "command='echo 1'; expected a list of texts, the program first"),
        ({"command": []}, "expected a list of texts"),
        ({"command": [""]}, "expected a list of texts"),
        ({"command": ["echo", 1]}, "expected a list of texts"),
        ({"command": None}, "expected a list of texts"),
        ({"command": ["echo", "{sed}"]}, r"unknown field \{sed\}.*Did you mean \{seed\}"),
        ({"command": ["echo", "a\0b"]}, "holds the character NUL"),
        ({"environment": {"A": "a\0b"}}, "holds the character NUL"),
        ({"field": ""}, "field=''; expected the name of a JSON field"),
        ({"field": 3}, "field=3; expected the name"),
        ({"timeout": 0}, "timeout must be a number finite and above 0, got 0"),
        ({"timeout": "5"}, "timeout must be a number"),
        ({"timeout": float("inf")}, "timeout must be a number"),
        ({"retries": -1}, "retries must be a whole number ≥ 0, got -1"),
        ({"retries": 1.5}, "retries must be a whole number"),
        ({"backoff": -1}, "backoff must be a number"),
        ({"folder": 3}, "folder=3; expected the path of a folder"),
        ({"environment": ["A=1"]}, "expected texts by name"),
        ({"environment": {"A": 1}}, "expected texts by name"),
        ({"environment": {"A=B": "1"}}, "expected texts by name"),
        ({"environment": {"A": "{sed}"}}, r"unknown field \{sed\}"),
    ],
    ids=str,
)
def test_a_program_with_wrong_options_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Program(**{"command": ["echo", "1"], **options})


def test_checking_refuses_what_no_run_could_use(tmp_path: Path) -> None:
    program = Program(["echo", "{alternative}", "{context.rate}", "{seed}"])
    rates = [{"rate": 1}, {"rate": 2}]
    assert program.check(["a", "b"], rates) == ()
    with pytest.raises(
        InputError, match=r"unknown field \{context.rate\}; known are \{context.rats\}.*Did you mean"
    ):
        program.check(["a", "b"], [{"rats": 1}, {"rats": 2}])
    with pytest.raises(InputError, match="NUL"):
        program.check(["a", "b\0"], rates)
    with pytest.raises(InputError, match="the folder .* does not exist"):
        Program(program.command, folder=str(tmp_path / "gone")).check(["a", "b"], rates)
    by_variable = Program(["echo", "1"], environment={"A": "{alternative}{context}", "S": "{seed}"})
    assert by_variable.check(["a", "b"], [1, 2]) == ()


def test_a_command_without_a_seed_gets_a_remark() -> None:
    [remark] = Program(["echo", "{alternative}", "{context}"]).check(["a", "b"], [1, 2])
    assert remark.startswith("the command does not use {seed}")


def test_a_program_is_a_value_that_can_be_sent_and_stored(tmp_path: Path) -> None:
    program = Program(
        ["echo", "{seed}"],
        field="x",
        timeout=2,
        retries=1,
        backoff=0.5,
        folder=str(tmp_path),
        environment={"A": "1"},
    )
    assert pickle.loads(pickle.dumps(program)) == program  # noqa: S301
    assert Program.from_plain(json.loads(json.dumps(program.plain()))) == program
    assert Program.from_plain({"command": ["echo", "1"]}) == Program(("echo", "1"))
    with pytest.raises(InputError, match="unknown option of a program 'time-out'.* Did you mean 'timeout'?"):
        Program.from_plain({"command": ["echo"], "time-out": 3})
    with pytest.raises(InputError, match="a program needs a command"):
        Program.from_plain({"timeout": 3})
