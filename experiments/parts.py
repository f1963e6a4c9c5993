"""The parts of the study, by the names under which they are asked for."""

from experiments.convergence import convergence
from experiments.covid_models import covid_models
from experiments.epidemic import epidemic
from experiments.figure1 import figure1
from experiments.figure2 import figure2
from experiments.figure3 import figure3
from experiments.figure4 import figure4
from experiments.models import models
from experiments.plan import Part
from experiments.table1 import table1

ALL = "all"
PARTS: dict[str, Part] = {
    "fig1": figure1,
    "fig2": figure2,
    "table1": table1,
    "convergence": convergence,
    "models": models,
    "covid-epidemic": epidemic,
    "fig3": figure3,
    "fig4": figure4,
    "covid-models": covid_models,
}
