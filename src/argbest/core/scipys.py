"""Functions of SciPy under their own names. SciPy is imported when one of them is first called.

That takes a fifth of a second, and whoever takes down a value needs none of them.
"""

from typing import TYPE_CHECKING

from argbest.lazy import functions

if TYPE_CHECKING:
    from scipy.linalg import cholesky, solve_triangular
    from scipy.linalg.lapack import dpotrf, dpotri, dpstrf, dtrtri
    from scipy.special import (
        erfcx,
        fdtr,
        fdtrc,
        gammaincc,
        gammainccinv,
        gammaincinv,
        gammaln,
        log_ndtr,
        ndtr,
        ndtri,
        stdtr,
        xlogy,
    )
else:
    erfcx, fdtr, fdtrc, gammaincc, gammainccinv, gammaincinv, gammaln, log_ndtr, ndtr, ndtri, stdtr, xlogy = (
        functions(
            "scipy.special",
            "erfcx fdtr fdtrc gammaincc gammainccinv gammaincinv gammaln log_ndtr ndtr ndtri stdtr xlogy",
        )
    )
    cholesky, solve_triangular = functions("scipy.linalg", "cholesky solve_triangular")
    dpotrf, dpotri, dpstrf, dtrtri = functions("scipy.linalg.lapack", "dpotrf dpotri dpstrf dtrtri")

__all__ = [
    "cholesky",
    "dpotrf",
    "dpotri",
    "dpstrf",
    "dtrtri",
    "erfcx",
    "fdtr",
    "fdtrc",
    "gammaincc",
    "gammainccinv",
    "gammaincinv",
    "gammaln",
    "log_ndtr",
    "ndtr",
    "ndtri",
    "solve_triangular",
    "stdtr",
    "xlogy",
]
