"""Reports: the numbers behind the pictures, and the pictures.

Every picture is drawn on the axes given as ``ax``, or on a figure of its own, and returns its axes: save it
with ``ax.figure.savefig(path)``. Matplotlib is the extra ``plot``, imported when something is drawn.
"""

from argbest.report.answer_pictures import plot_answer, plot_tailoring
from argbest.report.calibration import plot_calibration, plot_model_check
from argbest.report.comparison import plot_comparison, plot_progress
from argbest.report.policy_map import plot_policy_map
from argbest.report.profiles import plot_profiles
from argbest.report.tables import plot_allocation, plot_contention

__all__ = [
    "plot_allocation", "plot_answer", "plot_calibration", "plot_comparison", "plot_contention",
    "plot_model_check", "plot_policy_map", "plot_profiles", "plot_progress", "plot_tailoring",
]  # fmt: skip
