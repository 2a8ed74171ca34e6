"""Block products compiled by numba, with all columns of a row in vector registers.

Loops over columns that numba compiles by itself are no faster than SciPy: the compiler does not
see that the sum of a row can stay in registers. Here the row of a block is a value of its own, a
vector of as many single-precision numbers as there are columns, for which LLVM has types and
instructions. benchmarks/graph_based.py (``solves``) compares both ways.

The module needs numba and is imported by :func:`leaven.solvers._kernels.compiled` only. Arrays
must be in C order and in single precision, but for sums in double precision and ``add_product``,
whose arrays may all be in double precision; nothing is checked. A width ``w`` is a tuple of as many
zeros as a row has columns: its type tells the compiler how many.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

# Rows whose products are summed in single precision; these sums are added in double precision.
_ROWS = 512

_FAST = ("fast",)  # products and sums become one instruction
_INT32, _INT64 = ir.IntType(32), ir.IntType(64)
_FLOATS = {types.float32: ir.FloatType(), types.float64: ir.DoubleType()}


class _Row(types.Type):
    """A row of a block: a vector of ``width`` numbers."""

    def __init__(self, width: int, dtype: Any) -> None:
        self.width, self.dtype = width, dtype
        self.vector = ir.VectorType(_FLOATS[dtype], width)
        super().__init__(name=f"Row({width}, {dtype})")


@register_model(_Row)
class _RowModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, row: _Row) -> None:
        super().__init__(dmm, row, row.vector)


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, place: Any) -> Any:
    """Address of a number in a contiguous array, without a look at bounds or signs."""
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [place])


def _row_pointer(context: Any, builder: Any, array_type: Any, array: Any, i: Any, row: _Row) -> Any:
    place = builder.mul(i, _INT64(row.width))
    first = _pointer(context, builder, array_type, array, place)
    return builder.bitcast(first, row.vector.as_pointer())


@intrinsic
def _load(typing: Any, X: Any, i: Any, width: Any) -> Any:
    """Row i of a block."""
    row = _Row(width.count, X.dtype)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _row_pointer(context, builder, signature.args[0], args[0], args[1], row)
        return builder.load(place, align=X.dtype.bitwidth // 8)

    return row(X, types.int64, width), generate


@intrinsic
def _store(typing: Any, X: Any, i: Any, row: Any) -> Any:
    """Write row i of a block."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _row_pointer(context, builder, signature.args[0], args[0], args[1], row)
        builder.store(args[2], place, align=X.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(X, types.int64, row), generate


@intrinsic
def _item(typing: Any, values: Any, place: Any) -> Any:
    """Give the number at a place of the memory of an array, which has to be contiguous."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_pointer(context, builder, signature.args[0], args[0], args[1]))

    return values.dtype(values, types.int64), generate


@intrinsic
def _zeros(typing: Any, width: Any) -> Any:
    row = _Row(width.count, types.float32)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(row.vector, [0.0] * row.width)

    return row(width), generate


@intrinsic
def _add(typing: Any, row: Any, factor: Any, other: Any) -> Any:
    """``row + factor other``."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        nothing = ir.Constant(row.vector, ir.Undefined)
        first = builder.insert_element(nothing, args[1], _INT32(0))
        everywhere = ir.Constant(ir.VectorType(_INT32, row.width), [0] * row.width)
        factors = builder.shuffle_vector(first, nothing, everywhere)
        return builder.fadd(args[0], builder.fmul(factors, args[2], flags=_FAST), flags=_FAST)

    return row(row, row.dtype, other), generate


# Compiled once for each number of columns; the files are beside this one or in the user's cache.
_jit = numba.njit(nogil=True, error_model="numpy", fastmath=True, cache=True)


@_jit
def _row_sum(w, indptr, indices, data, X, i, total):
    """``total`` plus row i of ``A X``."""
    for e in range(np.int64(_item(indptr, i)), np.int64(_item(indptr, i + 1))):
        total = _add(total, _item(data, e), _load(X, np.int64(_item(indices, e)), w))
    return total


@_jit
def add_product(w, indptr, indices, data, X, out):
    """Add ``A X`` to ``out``."""
    for i in range(len(out)):
        _store(out, i, _row_sum(w, indptr, indices, data, X, i, _load(out, i, w)))


@_jit
def _add_outer(w, P, Q, first, last, part, total):
    """Add ``PᵀQ`` of some rows to ``total``; ``part`` is memory for their sum."""
    k = len(w)
    for a in range(k):
        _store(part, a, _zeros(w))
    i = first
    # Four rows at once: their sum is read and written a quarter as often.
    while i + 4 <= last:
        q, r = _load(Q, i, w), _load(Q, i + 1, w)
        s, t = _load(Q, i + 2, w), _load(Q, i + 3, w)
        for a in range(k):
            place = i * k + a
            row = _add(_load(part, a, w), _item(P, place), q)
            row = _add(row, _item(P, place + k), r)
            row = _add(row, _item(P, place + 2 * k), s)
            _store(part, a, _add(row, _item(P, place + 3 * k), t))
        i += 4
    while i < last:
        q = _load(Q, i, w)
        for a in range(k):
            _store(part, a, _add(_load(part, a, w), _item(P, i * k + a), q))
        i += 1
    for a in range(k):
        for b in range(k):
            total[a, b] += part[a, b]


@_jit
def add_outer(w, P, Q, part, total):
    """Add ``PᵀQ`` to ``total``; ``part`` is memory of the same shape in single precision."""
    for first in range(0, len(P), _ROWS):
        _add_outer(w, P, Q, first, min(first + _ROWS, len(P)), part, total)


@_jit
def _two_rows(v, w, row, other, P, i, M):
    """``row + P[i] M`` and ``other + P[i + 1] M``: reading M is as much work as one row."""
    k = len(v)
    for a in range(k):
        m = _load(M, a, w)
        row = _add(row, _item(P, i * k + a), m)
        other = _add(other, _item(P, i * k + k + a), m)
    return row, other


@_jit
def _one_row(v, w, row, P, i, M):
    for a in range(len(v)):
        row = _add(row, _item(P, i * len(v) + a), _load(M, a, w))
    return row


@_jit
def _add_times(v, w, x, P, M, first, last):
    """Add ``P M`` to some rows of x, where P has the width v and x the width w."""
    i = first
    while i + 2 <= last:
        row, other = _two_rows(v, w, _load(x, i, w), _load(x, i + 1, w), P, i, M)
        _store(x, i, row)
        _store(x, i + 1, other)
        i += 2
    if i < last:
        _store(x, i, _one_row(v, w, _load(x, i, w), P, i, M))


@_jit
def advance(v, w, x, R, P, AP, minus_step, weights, part, total):
    """Add ``P weights`` to x and ``AP minus_step`` to R, then ``RᵀR`` to ``total``."""
    for first in range(0, len(P), _ROWS):
        last = min(first + _ROWS, len(P))
        _add_times(v, w, x, P, weights, first, last)
        _add_times(v, v, R, AP, minus_step, first, last)
        _add_outer(v, R, R, first, last, part, total)


@_jit
def turn(w, R, P, inverse, transposed):
    """Make R to ``R inverse`` and P to the new R plus ``P transposed``."""
    i = 0
    while i + 2 <= len(P):
        row, other = _two_rows(w, w, _zeros(w), _zeros(w), R, i, inverse)
        _store(R, i, row)
        _store(R, i + 1, other)
        row, other = _two_rows(w, w, row, other, P, i, transposed)
        _store(P, i, row)
        _store(P, i + 1, other)
        i += 2
    if i < len(P):
        row = _one_row(w, w, _zeros(w), R, i, inverse)
        _store(R, i, row)
        _store(P, i, _one_row(w, w, row, P, i, transposed))
