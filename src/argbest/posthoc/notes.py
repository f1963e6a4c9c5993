"""What the data of a study leave open."""

import numpy as np

from argbest.answers import normality
from argbest.study.study import Study

_SPARSE = 0.5  # of the contexts: an alternative that was run in fewer is named
_NAMED = 3  # of them


def notes(study: Study) -> list[str]:
    """Return sentences on what the data of a study leave open: pairs hardly run, rewards far from normal."""
    count = study.tally.count
    found = []
    never, once = int(np.sum(count == 0)), int(np.sum(count == 1))
    if never:
        found.append(
            f"{never} of {count.size} pairs were never run: what is said of them rests on the model alone."
        )
    if once:
        found.append(f"{once} of {count.size} pairs have a single run, which tells nothing of its noise.")
    met = np.sum(count > 0, axis=1)
    rare = [k for k in range(len(count)) if met[k] < _SPARSE * count.shape[1]]
    if rare:
        labels = ", ".join(repr(study.problem.alternatives.labels[k]) for k in rare[:_NAMED])
        more = f" and {len(rare) - _NAMED} more" if len(rare) > _NAMED else ""
        fewest = f"{met[rare].min()} to {met[rare].max()}" if len(set(met[rare])) > 1 else f"{met[rare[0]]}"
        found.append(f"run in {fewest} of {count.shape[1]} contexts only: alternative {labels}{more}.")
    far = normality.of_study(study)
    return found if far is None else [*found, far]
