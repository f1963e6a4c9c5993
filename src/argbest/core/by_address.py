"""Compiled functions that call each other by address, so that neither is compiled into the other, by Numba.

A search knows of its objective two numbers: the address of a compiled function, and the address of what that
is given at every call. So one search serves all objectives, each is compiled once, and LLVM does not optimise
the objective again with every function around it.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import imputils
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np import arrayobj

from argbest.core.cholesky import inlined

types: Any = numba.types
cgutils: Any = numba.core.cgutils
impl_ret_borrowed: Any = imputils.impl_ret_borrowed
make_array: Any = arrayobj.make_array
carray: Any = numba.carray  # type: ignore[attr-defined]
POINTER = types.CPointer(types.float64)
# value = objective(address of what is given, θ, gradient, found): fills the gradient, the constant, the doubt
OBJECTIVE = types.float64(types.int64, POINTER, POINTER, POINTER)
ROW, TABLE, CUBE = (types.Array(types.float64, n, "C") for n in (1, 2, 3))
NUMBERS = types.Array(types.int64, 1, "C")


def passage(kind: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return two functions for compiled code: ``lend`` a value for its address, and ``borrow`` it by that.

    The value must be of this kind, and whoever lends it must use it once more after the last who borrows it:
    Numba frees what is not used any more.
    """

    @intrinsic
    def lend(_context, value):  # type: ignore[no-untyped-def]
        if value != kind:
            raise TypingError(f"{value} was lent, {kind} would be borrowed")

        def generate(_target, builder, _signature, arguments):  # type: ignore[no-untyped-def]
            return builder.ptrtoint(cgutils.alloca_once_value(builder, arguments[0]), cgutils.intp_t)

        return types.int64(kind), generate

    @intrinsic
    def borrow(_context, _address):  # type: ignore[no-untyped-def]
        def generate(target, builder, _signature, arguments):  # type: ignore[no-untyped-def]
            place = builder.inttoptr(arguments[0], target.get_value_type(kind).as_pointer())
            return impl_ret_borrowed(target, builder, kind, builder.load(place))

        return kind(types.int64), generate

    return lend, borrow


@intrinsic
def _keep(_context, value):  # type: ignore[no-untyped-def]
    """Do nothing with the value but use it, so that Numba has not freed it before."""

    def generate(target, _builder, _signature, _arguments):  # type: ignore[no-untyped-def]
        return target.get_dummy_value()

    return types.void(value), generate


@intrinsic
def _call(_context, _address, *arguments):  # type: ignore[no-untyped-def]
    """Return the number that the function at the address returns; of arrays it is given where they begin."""
    for kind in arguments:
        if kind not in (types.int64, types.float64, ROW, TABLE):
            raise TypingError(f"{kind} cannot be given to a function at an address")

    def generate(target, builder, signature, values):  # type: ignore[no-untyped-def]
        given = [
            make_array(kind)(target, builder, value).data if isinstance(kind, types.Array) else value
            for kind, value in zip(signature.args[1], cgutils.unpack_tuple(builder, values[1]), strict=True)
        ]
        kind = ir.FunctionType(target.get_value_type(types.float64), [value.type for value in given])
        return builder.call(builder.inttoptr(values[0], kind.as_pointer()), given)

    return types.float64(types.int64, types.Tuple(arguments)), generate


call: Any = _call
keep: Any = _keep


@inlined
def value_at_address(theta, code, data, rules, gradient):  # type: ignore[no-untyped-def]  # noqa: ARG001
    """Return (value, constant, doubt) of the objective at the address ``code``, given what is at ``data``."""
    found = np.empty(2)
    value = call(code, data, theta, gradient, found)
    return value, found[0], found[1]
