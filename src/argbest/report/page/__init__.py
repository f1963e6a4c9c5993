"""The report page: one HTML file that needs no network, of a study or of an experiment."""

from argbest.report.page.document import versions
from argbest.report.page.experiments import write_comparison
from argbest.report.page.studies import payload, write_report

__all__ = ["payload", "versions", "write_comparison", "write_report"]
