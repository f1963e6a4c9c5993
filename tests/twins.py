"""Live studies that macro-replications of an experiment must equal."""

from argbest import Study, streams
from argbest.experiment import Experiment
from argbest.experiment.spec import Contender


def alone(experiment: Experiment, contender: Contender, number: int) -> Study:
    """Return the live study that macro-replication ``number`` stands for, not yet run."""
    root = int(streams.roots(experiment.seed, number))
    [problem] = experiment.problems([root])
    return Study(
        problem,
        policy=contender.policy,
        model=contender.model,
        initial=experiment.design(contender, problem),
        seed=root,
        refit_every=experiment.refit_every,
        common_random_numbers=experiment.common_random_numbers,
    )
