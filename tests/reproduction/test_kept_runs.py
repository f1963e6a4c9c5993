"""What is kept of runs, and that it is not run again."""

from pathlib import Path

import pandas as pd

from experiments.kept_runs import all_rows


def watch(name: str, seed: int) -> pd.DataFrame:
    """Return a row of a study."""
    return pd.DataFrame({"problem": [name], "seed": [seed]})


def test_rows_come_in_the_order_of_the_jobs_and_what_is_kept_is_not_run_again(tmp_path: Path) -> None:
    jobs = [("peers:b", 2), ("a", 1)]
    assert all_rows(watch, jobs, tmp_path / "new", 1)["problem"].tolist() == ["peers:b", "a"]
    kept = tmp_path / "new" / "peers-b-2.csv"
    pd.DataFrame({"problem": ["kept"], "seed": [0]}).to_csv(kept, index=False)
    assert all_rows(watch, jobs, tmp_path / "new", 1)["problem"].tolist() == ["kept", "a"]
