"""Study files: everything about a study in one TOML file."""

from argbest.studyfile.options import run_options
from argbest.studyfile.reading import StudyFile, read

__all__ = ["StudyFile", "read", "run_options"]
