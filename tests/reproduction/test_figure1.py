from pathlib import Path

import numpy as np

from argbest import streams
from experiments.figure1 import REPLICATIONS, example, figure1, predictions
from experiments.plan import Plan


def test_the_independent_predictions_are_sample_means_of_ten_replications() -> None:
    problem, numbers = example(), predictions(7)
    assert problem.simulate is not None
    for row in (0, 13, 39):
        k, c = divmod(row, problem.n_contexts)
        seeds = [int(streams.replication_seed(7, c, r, alternative=k)) for r in range(REPLICATIONS)]
        values = [problem.simulate(problem.alternatives.item(k), problem.contexts.item(c), s) for s in seeds]
        assert np.isclose(numbers["independent_mean"][row], np.mean(values), rtol=1e-12)
        assert np.isclose(numbers["independent_sd"][row], np.std(values, ddof=1) / np.sqrt(10), rtol=1e-9)


def test_the_gp_is_nearer_to_the_truth_and_surer() -> None:
    numbers = predictions(0)
    assert len(numbers) == 40
    error = {m: np.mean((numbers[f"{m}_mean"] - numbers["truth"]) ** 2) for m in ("gp", "independent")}
    assert error["gp"] < error["independent"] / 2
    assert numbers["gp_sd"].mean() < numbers["independent_sd"].mean()


def test_figure_1_is_drawn_and_its_numbers_are_written(tmp_path: Path) -> None:
    outcome = figure1(Plan(tmp_path))
    assert [path.name for path in outcome.written] == ["fig1.csv", "fig1.png", "fig1.svg"]
    assert (tmp_path / "fig1.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert outcome.table["model"].tolist() == ["gp", "independent"]
