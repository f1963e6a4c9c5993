"""Problems whose alternatives share seeds, and how ways to look at the same data are judged."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from argbest.models import AdditiveGP
from experiments import large_luck, luck_problems, shared_luck, versions

STORED = Path(shared_luck.__file__).parent / "stored"


def rows(losses: dict[str, list[float]]) -> pd.DataFrame:
    """One context of one problem; an entry per seed."""
    parts = [
        pd.DataFrame(
            {"problem": "p", "design": "fixed2", "looker": looker, "seed": range(len(own)), "context": 0}
            | {"loss": own, "right": 1.0, "claim": 0.95, "shared": 0.5, "replications": 10}
        )
        for looker, own in losses.items()
    ]
    return pd.concat(parts, ignore_index=True)


def test_a_clear_loss_breaks_the_rule_and_a_clear_gain_keeps_it() -> None:
    numbers, worse = [0.1, 0.2, 0.1, 0.2], [0.3, 0.4, 0.3, 0.41]
    for variant, holds in ((worse, False), ([x / 2 for x in numbers], True)):
        found = shared_luck.verdict(rows({"numbers": numbers, "even": variant}), "even")
        assert found["holds"].tolist() == [holds, holds, True, holds]


def test_differences_are_paired_and_clustered_by_seed() -> None:
    found = shared_luck.differences(rows({"a": [0.1, 0.3], "b": [0.0, 0.1]}), "a", "b").iloc[-1]
    assert found["more"] == pytest.approx(0.15)
    assert found["more_se"] == pytest.approx(np.std([0.1, 0.2], ddof=1) / np.sqrt(2))


def test_the_line_without_room_passes_parts_as_worked_out_by_hand() -> None:
    # Three parts, no room between machines: the first machine is blocked until the second is free.
    work = np.array([[[1.0, 3.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 4.0]]])
    # Part 1 leaves at 1, 4, 5; part 2 at 4, 5, 6; part 3 at 5, 6, 10.
    assert luck_problems.through(work, (0, 0)) == pytest.approx([10.0])


@pytest.mark.parametrize("name", ["hotel", "store", "tandem"])
@pytest.mark.slow
def test_the_truth_of_large_tables_is_the_mean_of_replications(name: str) -> None:
    problem = large_luck.PROBLEMS[name]()
    truth = np.asarray(problem.truth)[:, 0]
    for k in (int(np.argmax(problem.sign * truth)), len(truth) // 3):
        item = problem.alternatives.item(k)
        values = [problem.simulate(item, "any", seed) for seed in range(1500)]  # type: ignore[misc]
        assert abs(np.mean(values) - truth[k]) < 4 * np.std(values) / np.sqrt(1500)  # one in 15,000


def test_the_stored_run_says_what_the_page_says() -> None:
    found = pd.read_csv(STORED / "shared_luck_differences.csv").set_index(["problem", "other"])
    whole = found.loc[[("all", "apart")]][["loss", "loss_other"]].to_numpy(float)
    assert whole.round(3).tolist() == [[0.072, 0.078]]
    assert found.xs("apart", level="other")["holds"].all()


def test_the_stored_claims_and_versions_say_what_the_page_says() -> None:
    claims = pd.read_csv(STORED / "shared_luck_claims.csv")
    off = (claims["claim"] - claims["right"]).abs().groupby(claims["looker"]).mean().round(3)
    assert off.to_dict() == {"numbers": 0.088, "mixed": 0.076, "bold": 0.069}
    line = claims.query("problem == @shared_luck.LINE and design == 'fixed2' and looker == 'mixed'")
    assert line[["claim", "right"]].to_numpy(float).round(2).tolist() == [[0.32, 0.58]]
    taken = versions.taken(pd.read_csv(STORED / "versions.csv", dtype={"version": str}))
    assert taken["0.2"].tolist() == [160, 768, np.inf, 160, 480]
    assert taken["now"].tolist() == [192, 672, 384, 200, np.inf]


@pytest.mark.slow
def test_mixed_claims_count_noise_that_is_not_common_once_in_every_other_point() -> None:
    study = shared_luck.data("buffer-split", 0, "fixed5", AdditiveGP())
    view = study.view()
    params = view.knowledge.params
    for model, expected in (
        (shared_luck.Mixed(), [float(params.uneven), 1.0]),
        (shared_luck.Bold(), [1.0, 1.0]),
    ):
        found = model.plausible(view.tally, view.setting, params, np.random.default_rng(0)).params
        assert found.uneven is not None
        assert found.uneven[:4].tolist() == [*expected, *expected]
        assert np.all(found.correlation.std(axis=0) > 0.0)  # how much is shared is drawn, and so is the noise
        assert np.all(found.noise.std(axis=0) > 0.0)
    assert params.uneven > 1.5
