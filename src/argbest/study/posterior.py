"""What a study believes of every alternative, at its contexts or at any others."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from argbest.study import predicting

if TYPE_CHECKING:
    from argbest.study.study import Study


def of_study(study: "Study", contexts: object = None) -> pd.DataFrame:
    """Return one row per alternative and context: mean and sd of the mean reward, noise_sd, P(best).

    Contexts vary fastest. ``contexts`` may be new to the study; by default they are its own. ``noise_sd`` is
    the standard deviation of one replication. Numbers are in the user's unit and sign. What cannot be
    selected has P(best) 0, and NaN where there is no answer.
    """
    problem = study.problem
    if contexts is None:
        rows, belief = problem.contexts, study._learned().belief
        chance = study.certificate().best_probability
        tables = [belief.mean, belief.var, belief.noise, chance]
    else:
        rows = problem.contexts.rows(contexts)
        belief = predicting.model_at(study, rows)
        chance = predicting.certificate_at(study, rows).best_probability
        given = (belief.mean, belief.var, belief.noise, chance)
        tables = [np.moveaxis(each[..., 0], 0, -1) for each in given]  # of [context, alternative, 1]
        predicting.warn_of_the_unknown(study, rows)
    mean, var, noise, chance = (each.ravel() for each in tables)
    k, c = np.indices((problem.n_alternatives, len(rows))).reshape(2, -1)
    frame = pd.concat([problem.alternatives.frame(k), rows.frame(c)], axis=1)
    frame["mean"], frame["sd"] = problem.sign * mean, np.sqrt(var)
    frame["noise_sd"], frame["p_best"] = np.sqrt(noise), chance
    return frame
