"""The examples run with a small budget, and what they print makes sense."""

import ast
import re
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"

# What the clinic costs per hour [staff, rush]: means of 80 weeks of every pair, as it was simulated once.
CLINIC = (
    (185, 357, 700, 1096, 1587),
    (249, 359, 621, 997, 1445),
    (336, 438, 690, 1081, 1506),
    (202, 318, 535, 843, 1209),
    (264, 280, 338, 462, 677),
    (352, 361, 391, 454, 601),
    (243, 348, 564, 878, 1179),
    (303, 316, 351, 433, 584),
    (390, 393, 402, 421, 466),
)


def example(name: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_every_example_says_what_it_shows_and_how_to_run_it(path: Path) -> None:
    said = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    assert f"python examples/{path.name}" in said
    assert f"`{path.name}`" in (ROOT / "docs" / "examples.md").read_text("utf-8")


def test_the_queue_example_schedules_more_agents_for_more_calls(capsys: pytest.CaptureFixture[str]) -> None:
    example("queue_staffing")["main"](["160"])
    printed = capsys.readouterr().out
    agents = [int(n) for n in re.findall(r"calls per hour: (\d) agents", printed)]
    assert len(agents) == 5
    assert agents == sorted(agents)
    # With 12 calls per agent and hour, and customers who hang up after 3 minutes: 2 and 6 within one.
    assert abs(agents[0] - 2) <= 1
    assert abs(agents[-1] - 6) <= 1
    assert re.search(r"35 calls per hour need [345] agents", printed)


def test_the_queue_example_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        example("queue_staffing")["main"](["--help"])
    assert "simulated weeks" in capsys.readouterr().out


def test_the_page_of_the_examples_shows_what_the_queue_example_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    example("queue_staffing")["main"](["200"])
    shown = (ROOT / "docs" / "examples.md").read_text("utf-8").partition("queue_staffing.py 200\n")[2]
    printed, shown = (re.sub(r"\d\.\d+(e-\d+)?", "0.…", text) for text in (capsys.readouterr().out, shown))
    assert printed.split() == shown.partition("```")[0].split()  # but for digits of the certificate


def test_the_queue_example_fits_in_thirty_lines() -> None:
    lines = (EXAMPLES / "queue_staffing.py").read_text("utf-8").split('"""', 2)[2].splitlines()
    assert sum(bool(line.strip()) for line in lines) <= 32


def test_the_foreign_program_orders_earlier_and_more_the_higher_the_demand(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    compiler = shutil.which("cc") or ""
    if not compiler and shutil.which("awk") is None:
        pytest.skip("there is neither a C compiler nor awk")
    example("foreign_program")["main"](["--out", str(tmp_path), "--budget", "75", "--compiler", compiler])
    printed = capfd.readouterr().out
    assert f"the simulator is written in {'C' if compiler else 'awk'}" in printed
    chosen = re.findall(r"^ +(\d+) +(\d+), (\d+) +\d+, \d+", printed, re.MULTILINE)
    assert [int(demand) for demand, _, _ in chosen] == [2, 4, 6, 8, 10]
    # A long season tells what a pair costs; what was selected costs little more than the best.
    plans = [(2, 20), (5, 20), (5, 30), (10, 30), (10, 40), (15, 40)]
    for demand, reorder, level in chosen:
        costs = {plan: _cost_of_a_long_season(tmp_path, *plan, int(demand)) for plan in plans}
        assert costs[int(reorder), int(level)] - min(costs.values()) < 4.0, (demand, reorder, level)


def test_the_awk_program_simulates_the_same_warehouse_as_the_c_program(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None or shutil.which("awk") is None:
        pytest.skip("there is no C compiler, or no awk")
    prepare = example("foreign_program")["prepare"]
    assert prepare(tmp_path / "c", compiler=compiler) == "C"
    assert prepare(tmp_path / "awk", compiler=None) == "awk"
    for plan in ((5, 20), (10, 40)):
        ours, theirs = (_cost_of_a_long_season(tmp_path / each, *plan, 6) for each in ("c", "awk"))
        assert ours == pytest.approx(theirs, rel=0.05)  # a standard error of some 1 % each


def _cost_of_a_long_season(folder: Path, reorder: int, level: int, demand: int) -> float:
    arguments = {"reorder": reorder, "level": level, "demand": demand, "seed": 1, "days": 3000}
    words = [word for name, value in arguments.items() for word in (f"--{name}", str(value))]
    ended = subprocess.run(["./inventory", *words], cwd=folder, capture_output=True, text=True, check=True)
    return float(ended.stdout.split()[-1])


def test_the_foreign_program_refuses_to_guess(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    example("foreign_program")["prepare"](tmp_path, compiler=compiler)
    ended = subprocess.run(
        [tmp_path / "inventory", "--seed", "1"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert "needs --reorder" in ended.stderr


def test_the_simpy_clinic_is_staffed_at_little_more_than_the_least_cost() -> None:
    pytest.importorskip("simpy")
    study = example("simpy_clinic")["main"](["--budget", "130"])
    truth, selected = np.array(CLINIC), study.certificate().selected
    lost = truth[selected, np.arange(5)] - truth.min(axis=0)
    assert lost.mean() < 20
    staff = study.problem.alternatives.frame(selected).to_numpy().sum(axis=1)
    assert staff[0] < staff[-1]


def test_the_simpy_clinic_costs_what_was_measured() -> None:
    pytest.importorskip("simpy")
    names = example("simpy_clinic")
    for k, c in ((0, 0), (4, 2), (8, 4)):
        pair = names["STAFF"][k], names["ARRIVALS"][c]
        weeks = [names["cost_per_hour"](*pair, seed) for seed in range(20)]
        error = np.std(weeks) / np.sqrt(len(weeks))
        assert abs(np.mean(weeks) - CLINIC[k][c]) < 6 * error + 1  # false alarm below 1e-4, with 19 degrees


class Clockwork:
    """Draws that are always as long as on average, of people who all go on to a doctor."""

    def exponential(self, mean: float) -> float:
        return mean

    def random(self) -> float:
        return 0.0


def test_whoever_still_queues_when_the_simpy_clinic_closes_has_waited_too() -> None:
    pytest.importorskip("simpy")
    clinic = example("simpy_clinic")["Clinic"]({"nurses": 1, "doctors": 1}, 11.0, Clockwork())
    waited = nurse_free = doctor_free = 0.0
    for came in (i / 11 for i in range(1, 88)):  # one after the other, as long as the doors are open
        called = max(came, nurse_free)
        nurse_free = called + 10 / 60
        seen = max(nurse_free, doctor_free)
        doctor_free = seen + 15 / 60
        waited += min(called, 8.0) - came + max(0.0, min(seen, 8.0) - nurse_free)
    assert clinic.waited == pytest.approx(waited, rel=1e-9)
    assert len(clinic.queueing) > 50  # jammed


def test_the_treatments_are_the_best_ones_and_the_new_patient_gets_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = example("treatment_choice")
    study = names["main"](["--budget", "300"])
    treatments, profiles = names["TREATMENTS"], names["PROFILES"]
    truth = np.array([[names["expected_months"](t, p) for p in profiles] for t in treatments])
    selected = study.certificate().selected
    lost = truth.max(axis=0) - truth[selected, np.arange(len(profiles))]
    assert lost.mean() < 1.0
    assert set(selected.tolist()) == {0, 1, 2}
    printed = capsys.readouterr().out
    assert "a new patient, {'age': 62, 'kidney': 70, 'smoker': True}: drug" in printed
    chances = [float(p) for p in re.findall(r"is best with probability (\S+)", printed)]
    assert sum(chances) == pytest.approx(1.0, abs=0.02)


def test_a_policy_of_ones_own_is_checked_and_beats_equal_allocation(
    capsys: pytest.CaptureFixture[str],
) -> None:
    results = example("own_policy")["main"](["--replications", "60", "--macroreps", "12"])
    last = results.summary().groupby("contender", sort=False).tail(1).set_index("contender")
    assert last.loc["closest-call", "eoc"] < last.loc["equal", "eoc"]
    printed = capsys.readouterr().out
    assert "no complaints" in printed
    assert "least opportunity cost on newsvendor" in printed


def test_the_policy_of_somebody_else_meets_the_test_bed(capsys: pytest.CaptureFixture[str]) -> None:
    found = example("benchmark_policy")
    names = found["chosen"](200)
    assert {"branin@1", "queue-staffing@1", "covid-regional@1"} <= set(names)
    assert not {"call-centre@1", "flow-line@1"} & set(names)  # limits, and too many pairs
    table = found["main"](["branin@1", "classical@1", "--replications", "30", "--macroreps", "4"])
    assert table["problem"].tolist() == ["branin@1", "classical@1"]
    assert (table[["optimist", "equal", "dvr-loss"]] >= 0).all(axis=None)
    assert "least loss, of 2:" in capsys.readouterr().out


def test_the_runs_of_a_csv_file_are_read_and_the_next_ones_placed(capsys: pytest.CaptureFixture[str]) -> None:
    example("posthoc_csv")["main"](["--next", "12"])
    printed = capsys.readouterr().out
    assert "replications, selections right: PCS_E" in printed
    placed = [int(n) for n in re.findall(r"^ +(\d+) x .+ arrivals$", printed, re.MULTILINE)]
    assert sum(placed) == 12


def test_the_covid_example_prints_a_decision_for_every_situation_and_its_certificate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = runpy.run_path(str(EXAMPLES / "covid_testing.py"))["main"]
    main(["--budget", "200", "--seed", "3", "--out", str(tmp_path / "covid")])
    head, *rows = capsys.readouterr().out.split("\n\n")[0].splitlines()
    assert head.startswith("cases in 1")
    cells = [row.replace(", ", ",").split() for row in rows]
    assert [(int(row[0]), int(row[1])) for row in cells] == [
        (a, b) for a in (100, 300, 500, 700) for b in (200, 500, 800, 1100)
    ]
    for _, _, split, p_best, infections, avoidable in cells:
        assert sum(int(share) for share in split.replace("%", "").split(",")) == 100
        assert 1 / 12 <= float(p_best) <= 1.0
        assert 2_000 < float(infections.replace(",", "")) < 11_000
        assert 0.0 <= float(avoidable) < 500.0


def test_the_covid_example_states_its_certificate_and_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = runpy.run_path(str(EXAMPLES / "covid_testing.py"))["main"]
    main(["--budget", "193", "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "193 simulations, selections right: PCS_E" in printed
    assert "within 30 infections of the best" in printed
    assert (tmp_path / "policy_map.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert (tmp_path / "allocation.png").exists()


def test_the_problem_shown_on_the_covid_page_can_be_simulated() -> None:
    [block] = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "covid.md").read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)  # noqa: S102 (our own page)
    problem = names["problem"]
    assert problem.shape == (7, 6)
    infected = problem.simulate(problem.alternatives.item(3), problem.contexts.item(5), 1)
    assert 85 <= infected <= 25_000


def test_the_clinic_keeps_its_limit_and_says_where_nobody_can(capsys: pytest.CaptureFixture[str]) -> None:
    example("clinic_limits")["main"](["200"])
    printed = capsys.readouterr().out
    assert "patients 60: no alternative keeps late <= 0.05" in printed
    assert "patients 20: doctors 2" in printed
    looser = re.search(r"with at most 20 % long waits: \[(.*)\]", printed)
    assert looser is not None
    assert "None" not in looser[1]
