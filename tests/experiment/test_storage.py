"""A folder gives back what was put in, and refuses what it cannot vouch for."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import small_problems

from argbest import GP
from argbest.errors import InputError
from argbest.experiment import Contender, Experiment, Results, run
from argbest.experiment.results import ExperimentFolder
from argbest.policies.equal import Equal


def asked(*contenders: str | Contender, macroreps: int = 3, **options: Any) -> Experiment:
    given = {"replications": 12, "seed": 5, "certify": True} | options
    return Experiment(
        small_problems.table(), contenders or Contender("equal", "independent"), macroreps=macroreps, **given
    )


def cut(lines: int) -> Callable[[str], str]:
    return lambda text: "\n".join(text.splitlines()[:-lines]) + "\n"


DAMAGES: dict[str, tuple[Callable[[str], str], str]] = {
    "nothing left": (lambda _: "", "its end is missing"),
    "last characters lost": (lambda text: text[:-4], "its end is missing"),
    "last row lost": (cut(1), "are not those of runs 0 to 2 at 3 checkpoints each"),
    "last run lost": (cut(3), "are not those of runs 0 to 2 at 3 checkpoints each"),
    "a row twice": (lambda text: text + text.splitlines()[-1] + "\n", "are not those of runs 0 to 2"),
    "a column lost": (
        lambda text: "\n".join(line.rsplit(",", 1)[0] for line in text.splitlines()) + "\n",
        "its columns are not macroreplication, replications",
    ),
    "a number that is none": (lambda text: text.replace("40", "4o", 1), "invalid literal"),
    "an empty number": (lambda text: text.rsplit(",", 1)[0] + ",\n", "the column simulate_seconds has"),
    "no flags": (lambda text: text.replace(",1,", ",x,").replace("0,", "x,"), "invalid literal"),
    "claims of half a context": (
        lambda text: re.sub(r"(,[01]{5},\d{18})\d{2},", r"\1,", text),
        "the column claims has an entry that cannot be",
    ),
    "half a line": (lambda text: text + "3,0\n", ""),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_part_is_refused_by_name_and_simulated_again_once_deleted(
    tmp_path: Path, damage: str
) -> None:
    whole = run(asked(), out=tmp_path)
    spoil, message = DAMAGES[damage]
    [path] = (tmp_path / "runs").glob("*.csv")
    path.write_text(spoil(path.read_text()))
    calls: list[Callable[[], Results]] = [lambda: run(asked(), out=tmp_path), lambda: Results.load(tmp_path)]
    for call in calls:
        with pytest.raises(InputError, match=f"{path.name}' is damaged: .*{message}") as caught:
            call()
        assert "Delete it, and its macro-replications are simulated again" in str(caught.value)
    path.unlink()
    again = run(asked(), out=tmp_path)
    pd.testing.assert_series_equal(again.runs["share_correct"], whole.runs["share_correct"])


def test_runs_of_a_version_that_kept_no_claims_of_contexts_are_read(tmp_path: Path) -> None:
    whole = run(asked(), out=tmp_path).runs
    [path] = (tmp_path / "runs").glob("*.csv")
    place = path.read_text().splitlines()[0].split(",").index("claims")
    lines = [line.split(",") for line in path.read_text().splitlines()]
    path.write_text("\n".join(",".join(line[:place] + line[place + 1 :]) for line in lines) + "\n")
    again = Results.load(tmp_path).runs
    assert (again["claims"] == "").all()
    pd.testing.assert_frame_equal(again.drop(columns="claims"), whole.drop(columns="claims"))
    more = run(asked(macroreps=5), out=tmp_path).runs
    assert more["claims"].str.len().unique().tolist() == [0, 20]


def test_runs_without_a_header_are_not_taken_over(tmp_path: Path) -> None:
    run(asked(), out=tmp_path)
    (tmp_path / "header.json").unlink()
    with pytest.raises(InputError, match="holds runs, but no header.json that says of what"):
        run(Experiment("branin", "equal", replications=1, macroreps=1), out=tmp_path)
    assert not (tmp_path / "header.json").exists()


def test_runs_of_a_contender_that_the_header_does_not_know_are_not_taken_over(tmp_path: Path) -> None:
    run(asked("equal:independent", "random:independent"), out=tmp_path)
    path = tmp_path / "header.json"
    header = json.loads(path.read_text())
    del header["contenders"]["random:independent"]
    path.write_text(json.dumps(header))
    with pytest.raises(InputError, match="holds runs of 'random:independent', but its header.json does not"):
        run(asked("random:independent"), out=tmp_path)


def test_labels_that_differ_have_files_that_differ(tmp_path: Path) -> None:
    labels = ["a:b", "a+b", "a-b", "a.b", "a::b", "a+:b", "a:+b", "a++b"]
    own = [Contender("equal", "independent", label=label) for label in labels]
    run(asked(*own, macroreps=1), out=tmp_path)
    assert len(list((tmp_path / "runs").glob("*.csv"))) == len(labels)
    assert all(ExperimentFolder(tmp_path).finished(label) == [range(1)] for label in labels)
    # The name that a colon always had, so that older folders go on.
    assert (tmp_path / "runs" / "a+b.000000-000000.csv").exists()


def test_of_parts_that_overlap_the_first_counts(tmp_path: Path) -> None:
    whole = run(asked("equal:independent"), out=tmp_path)
    folder, looks = ExperimentFolder(tmp_path), asked().checkpoints
    runs = folder.read("equal:independent", range(3), looks)
    second = runs[runs["macroreplication"] == 1].assign(cost=99.0)
    folder.write("equal:independent", range(1, 2), second)
    assert len(folder.finished("equal:independent")) == 2
    for found in (Results.load(tmp_path), run(asked("equal:independent"), out=tmp_path)):
        pd.testing.assert_frame_equal(found.runs, whole.runs, check_exact=True)


def test_two_runs_in_one_folder_at_once_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    with (
        ExperimentFolder(tmp_path).taken(),
        pytest.raises(InputError, match="another process is running in the folder .* Wait for it"),
    ):
        run(asked(), out=tmp_path)
    assert run(asked(), out=tmp_path).macroreps == 3


def test_other_versions_are_mentioned_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(asked(), out=tmp_path)
    run(asked(), out=tmp_path)
    assert capsys.readouterr().err == ""
    path = tmp_path / "header.json"
    header = json.loads(path.read_text())
    header["sessions"][-1]["versions"]["numpy"] = "1.0"
    path.write_text(json.dumps(header))
    run(asked(), out=tmp_path)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"argbest: the runs in {str(tmp_path)!r} were made with numpy 1.0, now " in said


def test_a_loaded_experiment_has_the_names_of_the_one_that_was_run(tmp_path: Path) -> None:
    done = run(asked(Contender(Equal(), GP(kernel="rbf")), "equal:independent", macroreps=1), out=tmp_path)
    loaded = Results.load(tmp_path)
    assert (loaded.problem, loaded.models) == (done.problem, done.models)
    assert loaded.plain() == done.plain()
    run(asked("random:independent", macroreps=1), out=tmp_path)
    assert list(Results.load(tmp_path).models.values()) == ["GP", "independent", "independent"]


def test_a_header_of_the_first_version_is_read_and_taken_up(tmp_path: Path) -> None:
    experiment = Experiment("branin", "equal:independent", replications=2, macroreps=1)
    done = run(experiment, out=tmp_path)
    path = tmp_path / "header.json"
    header = json.loads(path.read_text())
    del header["names"]
    path.write_text(json.dumps(header))
    loaded = Results.load(tmp_path)
    assert (loaded.problem, loaded.models) == (done.problem, done.models)
    assert run(experiment, out=tmp_path).models == done.models
    assert json.loads(path.read_text())["names"]["problem"] == "branin"


@pytest.mark.parametrize(
    ("room", "value"),
    [
        (("experiment", "seed"), "5"),
        (("experiment", "replications"), 1.5),
        (("experiment", "checkpoint_every"), 0),
        (("experiment", "problem"), None),
        (("experiment",), []),
        (("contenders",), []),
        (("contenders", "equal:independent"), 3),
        (("contenders", "equal:independent", "model"), None),
        (("sessions",), {}),
        (("sessions",), [1]),
        (("names",), "x"),
    ],
)
def test_a_header_with_something_else_in_it_is_refused(
    tmp_path: Path, room: tuple[str, ...], value: Any
) -> None:
    run(asked("equal:independent", macroreps=1), out=tmp_path)
    path = tmp_path / "header.json"
    header = json.loads(path.read_text())
    inner = header
    for name in room[:-1]:
        inner = inner[name]
    inner[room[-1]] = value
    path.write_text(json.dumps(header))
    again = asked("equal:independent", macroreps=1)
    calls: list[Callable[[], Results]] = [lambda: run(again, out=tmp_path), lambda: Results.load(tmp_path)]
    for call in calls:
        with pytest.raises(InputError, match="is not the header of an experiment"):
            call()


def test_an_unusable_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match="cannot write into .*file.* Name another folder"):
            run(asked(), out=out)
    with pytest.raises(InputError, match="out=3 names no folder"):
        run(asked(), out=3)  # type: ignore[arg-type]


def test_contenders_without_a_run_in_common_are_said_to_be_so(tmp_path: Path) -> None:
    labels = ("equal:independent", "random:independent")
    run(asked(*labels), out=tmp_path)
    folder, looks = ExperimentFolder(tmp_path), asked().checkpoints
    for label, kept in zip(labels, (0, 2), strict=True):
        runs = folder.read(label, range(3), looks)
        folder.write(label, range(kept, kept + 1), runs[runs["macroreplication"] == kept])
        next((tmp_path / "runs").glob(f"{label.replace(':', '+')}.000000-000002.csv")).unlink()
    with pytest.raises(InputError, match="have no macro-replication in common yet"):
        Results.load(tmp_path)
