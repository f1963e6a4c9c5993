"""The parts of the study, by the names under which they are asked for."""

from argbest.paper.convergence import convergence
from argbest.paper.covid_models import covid_models
from argbest.paper.epidemic import epidemic
from argbest.paper.figure1 import figure1
from argbest.paper.figure2 import figure2
from argbest.paper.figure3 import figure3
from argbest.paper.figure4 import figure4
from argbest.paper.models import models
from argbest.paper.plan import Part
from argbest.paper.table1 import table1

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
