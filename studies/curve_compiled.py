"""The passes over class probabilities of :mod:`studies.curve_kernels`, compiled by numba.

One pass over memory in place of five to ten, with an exponential that the compiler can put into
vector instructions: two to three times as fast as NumPy, whose results they have but
for rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

SPLIT = 2.0**9
"""The first part of log 2 has so few binary digits that its products with exponents are exact."""

TERMS = {types.float32: 7, types.float64: 13}
"""Terms of the Taylor series between ±log(2)/2 that leave an error below the rounding."""

LOG_TERMS = tuple(2.0 / (2 * k + 1) for k in range(10, -1, -1))
"""Twice the series of the inverse hyperbolic tangent: up to 0.172 the error is below 1e-17."""

ROOT_HALF_BITS = int(np.float64(math.sqrt(0.5)).view(np.int64))

TOGETHER = 64
"""Factors of a product that a logarithm is taken of: each is at most the number of classes."""

LOG_2 = math.log(2.0)

# A sum may be taken in any order, so that it fits vector instructions.
_jit = numba.njit(nogil=True, error_model="numpy", fastmath=True, cache=True)


@intrinsic
def _power(typing: Any, shifted: Any) -> Any:
    """2 to the integer that was added to ``ROUNDING``, by its bits."""
    wide = {types.float32: ir.IntType(32), types.float64: ir.IntType(64)}[shifted]
    shift, bias = (23, 127) if shifted == types.float32 else (52, 1023)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits = builder.add(builder.bitcast(args[0], wide), wide(bias))
        # Only the last bits of the sum stay, which are those of the integer.
        return builder.bitcast(builder.shl(bits, wide(shift)), args[0].type)

    return shifted(shifted), generate


@intrinsic
def _bits(typing: Any, x: Any) -> Any:
    """The bits of a number in double precision, as an integer."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def _of_bits(typing: Any, bits: Any) -> Any:
    """The number in double precision that has these bits."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), generate


ROUNDING = {types.float32: 1.5 * 2.0**23, types.float64: 1.5 * 2.0**52}
"""A sum with this number has no digits behind the point."""


def exp(x: Any) -> Any:
    """``exp(x)`` of a number that is not positive; below -80 or -600 it is as good as 0."""
    raise NotImplementedError("There is only the compiled one, below.")


# Without the leave to reorder, which would join what is split to be exact.
@overload(exp, jit_options={"fastmath": {"contract"}})
def _compiled_exp(x: Any) -> Callable[[Any], Any]:
    kind = np.float32 if x == types.float32 else np.float64
    high = kind(math.floor(LOG_2 * SPLIT) / SPLIT)
    low = kind(LOG_2 - float(high))
    turns, rounding = kind(1.0 / LOG_2), kind(ROUNDING[x])
    least = kind(-80.0 if x == types.float32 else -600.0)
    terms = TERMS[x]
    series = tuple(kind(1.0 / math.factorial(i)) for i in range(terms, -1, -1))

    def compiled(x: Any) -> Any:
        x = max(x, least)
        shifted = x * turns + rounding
        n = shifted - rounding
        r = (x - n * high) - n * low
        y = series[0]
        for i in range(terms):
            y = y * r + series[i + 1]
        return y * _power(shifted)

    return compiled


@_jit
def log(x: float) -> float:
    """``log(x)`` of a positive number that is not subnormal, in double precision."""
    # x = 2**n m with m from sqrt(1/2) to sqrt(2), and log m = 2 artanh((m - 1) / (m + 1)).
    above = _bits(x) - ROOT_HALF_BITS
    n = above >> 52
    m = _of_bits((above & ((1 << 52) - 1)) + ROOT_HALF_BITS)
    z = (m - 1.0) / (m + 1.0)
    square = z * z
    y = LOG_TERMS[0]
    for k in range(10):
        y = y * square + LOG_TERMS[k + 1]
    return float(n * LOG_2 + z * y)


@_jit
def by_log_odds(h: Any, counts: Any, first: int, distinct: bool, spread: Any, logs: Any) -> None:
    """See :func:`studies.curve_kernels.by_log_odds`."""
    T, n = h.shape
    one, two = h.dtype.type(1), h.dtype.type(2)
    total = np.empty(n, h.dtype)
    for t in range(T):
        times, some = counts[t, first : first + n], h[t]
        for j in range(n):
            e = exp(-two * abs(some[j]))
            total[j] = one + e
        spread[t] += _weighted_sizes(some, times)
        logs[t] += _weighted_logs(total, times, distinct)
        for j in range(n):
            # (1 - e) / (1 + e), with the count and the sign.
            tanh = h.dtype.type(times[j]) * (two / total[j] - one)
            some[j] = tanh if some[j] >= 0 else -tanh


@_jit
def by_classes(q: Any, counts: Any, first: int, distinct: bool, logs: Any) -> None:
    """See :func:`studies.curve_kernels.by_classes`."""
    C, T, n = q.shape
    top, total = np.empty(n, q.dtype), np.empty(n, q.dtype)
    for t in range(T):
        times = counts[t, first : first + n]
        for j in range(n):
            top[j] = q[0, t, j]
            total[j] = 0
        for c in range(1, C):
            some = q[c, t]
            for j in range(n):
                top[j] = max(top[j], some[j])
        for c in range(C):
            some = q[c, t]
            for j in range(n):
                e = exp(some[j] - top[j])
                some[j] = e
                total[j] += e
        logs[t] += _weighted_logs(total, times, distinct)
        for j in range(n):
            logs[t] += times[j] * top[j]
        for j in range(n):
            total[j] = q.dtype.type(times[j]) / total[j]
        for c in range(C):
            some = q[c, t]
            for j in range(n):
                some[j] *= total[j]


@_jit
def _weighted_sizes(values: Any, counts: Any) -> float:
    result = 0.0
    for j in range(len(values)):
        result += counts[j] * abs(values[j])
    return result


@_jit
def _weighted_logs(values: Any, counts: Any, distinct: bool) -> float:
    """``Σ n log x``, by logarithms of products where n is 0 or 1."""
    result = 0.0
    if not distinct:
        for j in range(len(values)):
            result += counts[j] * log(np.float64(values[j]))
        return result
    for low in range(0, len(values), TOGETHER):
        some, times = values[low : low + TOGETHER], counts[low : low + TOGETHER]
        product = 1.0
        for j in range(len(some)):
            product *= 1.0 + times[j] * (some[j] - 1.0)
        result += math.log(product)
    return result


@_jit
def sigmoid(x: Any) -> None:
    """``1 / (1 + exp(-x))`` in place of each number of a matrix."""
    for t in range(len(x)):
        some = x[t]
        for j in range(len(some)):
            e = exp(-abs(some[j]))
            small = e / (1.0 + e)
            some[j] = 1.0 - small if some[j] >= 0 else small


@_jit
def _share(x: Any, weights: Any, shift: float) -> Any:
    """``Σ w sigmoid(x + shift)``, and its derivative by the shift."""
    total, slope = 0.0, 0.0
    for j in range(len(x)):
        value = x[j] + shift
        e = exp(-abs(value))
        small = e / (1.0 + e)
        total += weights[j] * (1.0 - small if value >= 0 else small)
        slope += weights[j] * (small / (1.0 + e))
    return total, slope


@_jit
def sigmoid_sums(x: Any, weights: Any, sums: Any) -> None:
    """``Σ w sigmoid(x)`` of each row."""
    for t in range(len(x)):
        sums[t], _ = _share(x[t], weights[t], 0.0)


@_jit
def shifts(
    slopes: Any, weights: Any, shares: Any, start: Any, low: Any, high: Any, steps: int
) -> None:
    """See :func:`studies.curve_ranks.shifts`; ``start`` is overwritten by the shifts."""
    for t in range(len(slopes)):
        some, times, shift = slopes[t], weights[t], start[t]
        below, above = low[t], high[t]
        for _ in range(steps):
            total, slope = _share(some, times, shift)
            excess = total - shares[t]
            if abs(excess) <= 1e-13:
                break
            if excess < 0:
                below = shift
            else:
                above = shift
            new = shift - excess / max(slope, 1e-300)
            new = new if below < new < above else 0.5 * (below + above)
            if new == shift:
                break
            shift = new
        start[t] = shift


@_jit
def sort_keys(values: Any, scale: float, bits: int, keys: Any) -> None:
    """Rounded value and place of each number, as one integer."""
    for t in range(len(values)):
        some, of_some = values[t], keys[t]
        for j in range(len(some)):
            of_some[j] = (np.int64(np.rint(some[j] * scale)) << bits) | j


@_jit
def ranks_of_sorted(keys: Any, bits: int, weights: Any, ranks: Any) -> None:
    """Weighted ranks of the places in sorted keys, equal values at their mean rank."""
    n = keys.shape[1]
    mask = (1 << bits) - 1
    for t in range(len(keys)):
        some, times, of_some = keys[t], weights[t], ranks[t]
        before, first = 0.0, 0
        while first < n:
            value, upto, last = some[first] >> bits, before, first
            while last < n and some[last] >> bits == value:
                upto += times[some[last] & mask]
                last += 1
            mean = 0.5 * (before + upto + 1.0)
            for i in range(first, last):
                of_some[some[i] & mask] = mean
            before, first = upto, last


@_jit
def gaussian_model(
    sums: Any,
    counts: Any,
    omitted: Any,
    epsilon: Any,
    center: Any,
    least: float,
    lost: float,
    model: Any,
) -> None:
    """See :func:`studies.curve_kernels.gaussian_model`."""
    coef, const, noise = model
    d, C, T = len(epsilon), counts.shape[0], counts.shape[1]
    for c in range(C):
        alive = counts[c] > 0
        weight = np.where(alive, counts[c], 1.0)
        inverse = 1.0 / weight
        widened = weight / np.where(weight > lost, weight - lost, weight)
        of_c, noise_of_c = const[c], noise[c]
        for j in range(d):
            first, second, left_out = sums[j, c], sums[d + j, c], omitted[j]
            linear, quadratic, added = coef[j, c], coef[d + j, c], epsilon[j]
            for t in range(T):
                mean = first[t] * inverse[t] if alive[t] else center[j]
                var = max(second[t] * inverse[t] - mean * mean, 0.0) * widened[t] + added
                var = max(var, least) if alive[t] else 1.0
                precision = 0.0 if left_out[t] else 1.0 / var
                linear[t] = mean * precision
                quadratic[t] = -0.5 * precision
                size = 0.0 if left_out[t] else log(2.0 * math.pi * var)
                of_c[t] -= 0.5 * (size + mean * mean * precision)
                noise_of_c[t] -= 0.5 * added * precision
