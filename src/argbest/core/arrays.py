"""Names used throughout: array types, and functions of SciPy under their own names.

SciPy is imported when one of them is first called: that takes a fifth of a second, and telling a value needs
none of them.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from argbest.lazy import functions

Array: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]

if TYPE_CHECKING:
    from scipy.linalg import cholesky, solve_triangular
    from scipy.linalg.blas import dgemm, dtrsm
    from scipy.linalg.lapack import dpotri, dpstrf, dtrtri
    from scipy.special import (
        betaincinv,
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
    _LATER = {
        "scipy.linalg": "cholesky solve_triangular",
        "scipy.linalg.blas": "dgemm dtrsm",
        "scipy.linalg.lapack": "dpotri dpstrf dtrtri",
        "scipy.special": "betaincinv erfcx fdtr fdtrc gammaincc gammainccinv gammaincinv gammaln log_ndtr "
        "ndtr ndtri stdtr xlogy",
    }
    for _module, _names in _LATER.items():
        globals().update(zip(_names.split(), functions(_module, _names), strict=True))

__all__ = [
    "AnyArray", "Array", "BoolArray", "IntArray", "betaincinv", "cholesky", "dgemm", "dpotri", "dpstrf",
    "dtrsm", "dtrtri", "erfcx", "fdtr", "fdtrc", "gammaincc", "gammainccinv", "gammaincinv", "gammaln",
    "log_ndtr", "ndtr", "ndtri", "solve_triangular", "stdtr", "xlogy",
]  # fmt: skip
