"""The inner problem of every solver: an SVM with a cost for each row and each label.

``min_{w,b} ½|w|² + Σ_i p_i max(0, 1 - f_i) + n_i max(0, 1 + f_i)``, ``f_i = <w, φ(x_i)> + b``,
with the hinge of the source and a bias that is not regularized, as in LIBSVM. A labeled row
has one of the costs ``p_i``, ``n_i``; a row of deterministic annealing has both.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from leaven.low_density._rows import Array, GramRows, Rows, Vector

# From this many rows of a kernel matrix on, LIBSVM gives the starting point.
LIBSVM_ROWS = 150
COLD_WIDTH = 4.0  # at w = 0 every row is inside it, wherever the bias is in [-1, 1]
WARM_WIDTH = 0.5  # a start from a similar problem has few rows on the wrong side of the margin
MIN_WIDTH = 1e-5  # below this, the Hessian of the smoothed hinge loses its digits
MAX_NEWTON = 50  # per width; ten are usual
# Newton steps of one training, over all widths: a hundred are usual, and more than this only
# where values of X differ by so many orders of magnitude that the system has lost its digits.
MAX_STEPS = 300
STALL_LIMIT = 4  # widths without progress before rounding is taken for the cause
# A gap this many times tol, but at most a hundredth of the objective, is accepted when rounding
# stops all progress.
STALL_FACTOR = 1e3
MAX_GAP = 0.01


@dataclass(frozen=True)
class SVMSolution:
    """A point ``(w, b)`` with its scores, and the dual point that certifies it."""

    vector: Vector
    bias: float
    duals: tuple[Array, Array]
    norm2: float
    primal: float
    dual: float
    n_iter: int
    converged: bool

    @property
    def scores(self) -> Array:
        """``f = <w, φ(x_i)> + b`` on every row."""
        return self.vector[1] + self.bias


def hinge(margin: Array) -> Array:
    """``max(0, 1 - margin)``."""
    return np.maximum(0.0, 1.0 - margin)


def optimal_bias(scores: Array, positive: Array, negative: Array) -> tuple[float, float]:
    """The interval of the biases that minimize ``Σ p hinge(s + b) + n hinge(-s - b)``.

    The function is convex and piecewise linear, with a kink at ``1 - s`` of weight ``p`` and
    one at ``-1 - s`` of weight ``n``: one sort finds where its slope passes zero.
    """
    has_positive, has_negative = positive > 0, negative > 0
    kinks = np.concatenate([1.0 - scores[has_positive], -1.0 - scores[has_negative]])
    weights = np.concatenate([positive[has_positive], negative[has_negative]])
    order = np.argsort(kinks)
    slope = np.cumsum(weights[order]) - positive.sum()
    # Slopes that differ by rounding are equal: the bias is then the middle of a whole interval.
    slack = 1e-11 * weights.sum()
    last = len(kinks) - 1
    low = min(int(np.searchsorted(slope, -slack)), last)
    high = min(int(np.searchsorted(slope, slack, side="right")), last)
    return float(kinks[order[low]]), float(kinks[order[high]])


def solve_svm(
    rows: Rows,
    positive: Array,
    negative: Array,
    *,
    start: SVMSolution | None = None,
    tol: float = 1e-9,
    max_iter: int = 60,
    max_steps: int = MAX_STEPS,
    cutoff: float = np.inf,
) -> SVMSolution:
    """Minimize the SVM objective by the method of multipliers with Newton steps.

    Each hinge is replaced by its Moreau envelope, a Huberized hinge of width ``h`` shifted by
    the dual variable; the smooth problem that remains is minimized by a semismooth Newton
    method, whose system has the size of the rows inside the width only (at the end, the free
    support vectors); then the dual variables are updated and, where that was not enough, ``h``
    shrinks. Dual variables and ``w`` carry over from one call to the next, which is what the
    annealing loops above need and LIBSVM and LIBLINEAR do not offer.

    Parameters
    ----------
    rows : Rows
    positive, negative : ndarray of shape (n_rows,)
        The cost of ``hinge(f)`` and of ``hinge(-f)`` of every row; zero for none.
    start : SVMSolution, optional
        A solution of a problem nearby. The result is never worse than this point.
    tol : float
        Largest duality gap, relative to the objective.
    max_iter : int
        Largest number of multiplier updates.
    max_steps : int
        Largest number of Newton steps, over all updates.
    cutoff : float
        Stop when the dual value shows that the optimum is not below this.

    Returns
    -------
    SVMSolution
    """
    # A cost that is nothing beside the others has no effect, and its inverse overflows.
    least = 1e-13 * max(positive.max(), negative.max())
    positive = np.where(positive > least, positive, 0.0)
    negative = np.where(negative > least, negative, 0.0)
    if start is None and isinstance(rows, GramRows) and rows.n_rows >= LIBSVM_ROWS:
        start = _libsvm_start(rows, positive, negative)
    if start is None:
        zeros = np.zeros(rows.n_rows)
        best = _evaluate(rows, positive, negative, rows.zero(), (zeros, zeros), -np.inf, 0)
        width = COLD_WIDTH
    else:
        duals = (np.clip(start.duals[0], 0, positive), np.clip(start.duals[1], 0, negative))
        best = _evaluate(rows, positive, negative, start.vector, duals, -np.inf, 0)
        width = WARM_WIDTH
    vector, bias, duals = best.vector, best.bias, best.duals
    gap, stalled, n_newton = 1.0, 0, 0
    for update in range(max_iter):
        # A warm start may be good enough as it is; after that, each round takes a step.
        untouched = start is not None and update == 0
        vector, bias, duals, dual, steps = _minimize_envelope(
            rows,
            positive,
            negative,
            vector,
            bias,
            duals,
            width,
            accuracy=tol if untouched else max(tol, 0.03 * gap),
            min_steps=0 if untouched else 1,
            max_steps=min(MAX_NEWTON, max_steps - n_newton),
        )
        n_newton += steps
        point = _evaluate(rows, positive, negative, vector, duals, dual, n_newton)
        bias = point.bias
        primal_point = point if point.primal <= best.primal else best
        # The dual variables that are kept are those of the best bound: they certify the answer.
        certificate, bound = (duals, dual) if dual >= best.dual else (best.duals, best.dual)
        best = replace(primal_point, duals=certificate, dual=bound, n_iter=n_newton)
        new_gap = (best.primal - best.dual) / max(abs(best.primal), 1e-300)
        if new_gap <= tol or best.dual >= cutoff:
            return replace(best, converged=True)
        if new_gap > 0.5 * gap:
            stalled += width < 1e-3
            width = max(0.1 * width, MIN_WIDTH)
        elif new_gap > 0.1 * gap:
            width = max(0.4 * width, MIN_WIDTH)
        gap = min(gap, new_gap)
        # Rounding has been reached: this is as exact as it gets.
        if stalled > STALL_LIMIT or n_newton >= max_steps:
            break
    return replace(best, converged=bool(gap <= min(STALL_FACTOR * tol, MAX_GAP)))


def _minimize_envelope(
    rows: Rows,
    positive: Array,
    negative: Array,
    vector: Vector,
    bias: float,
    duals: tuple[Array, Array],
    width: float,
    *,
    accuracy: float,
    min_steps: int,
    max_steps: int,
) -> tuple[Vector, float, tuple[Array, Array], float, int]:
    """Semismooth Newton on the objective with both hinges replaced by shifted envelopes.

    Returns the point, the new dual variables, their dual value and the number of steps. A
    small proximal term in the bias keeps the Hessian definite when no row is active.
    """
    total = positive.sum() + negative.sum()
    # Small beside the losses, and large beside the rounding of their sum.
    tau, center = 1e-9 * total, bias
    envelope = _Envelope(positive, negative, duals, width)
    margins = vector[1] + bias
    (up, un), new_duals, loss = envelope(margins)
    for step in range(max_steps + 1):
        coefficients = new_duals[0] - new_duals[1]
        combined = rows.combine(coefficients)
        gradient = _subtract(vector, combined)
        bias_gradient = tau * (bias - center) - coefficients.sum()
        norm2 = rows.inner(vector, vector)
        primal = 0.5 * norm2 + _losses(margins, positive, negative)
        target = 0.1 * accuracy * primal
        small = (
            0.5 * rows.inner(gradient, gradient) <= target
            and abs(bias_gradient) * max(1.0, abs(bias)) <= target
        )
        if step == max_steps or (step >= min_steps and small):
            break
        weights = np.where((up > 0) & (up < positive), positive / width, 0.0)
        weights += np.where((un > 0) & (un < negative), negative / width, 0.0)
        if weights.any():
            direction, db = rows.direction(gradient, bias_gradient, weights, tau)
        else:
            # No row is inside its width: the function is linear around here, and w can go to
            # the minimum of its own term at once, with the best bias there.
            scores = rows.scores_of(combined)
            direction = (-gradient[0], scores - vector[1])
            db = envelope.best_bias(scores, center, tau) - bias
        slope = rows.inner(direction, gradient) + bias_gradient * db
        if slope >= 0 and not weights.any():
            # Kinks lie on the way to that point. The best bias for w as it is never leads up,
            # and it is a kink, so that rows are inside their width at the next step.
            direction = rows.zero()
            db = envelope.best_bias(vector[1], center, tau) - bias
            slope = bias_gradient * db
        # No descent left but rounding.
        if slope >= -1e-15 * primal:
            break
        along = rows.inner(vector, direction)
        square = rows.inner(direction, direction)
        value = loss + 0.5 * tau * (bias - center) ** 2
        rate = 1.0
        while rate > 1e-10:
            new_margins = margins + rate * (direction[1] + db)
            trial = envelope(new_margins)
            new_value = trial[2] + 0.5 * tau * (bias + rate * db - center) ** 2
            change = new_value - value + rate * along + 0.5 * rate**2 * square
            # Armijo's condition with the usual constant, and room for the rounding of the value.
            if change <= 1e-4 * rate * slope + 1e-15 * primal:
                break
            rate *= 0.5
        else:  # Not even the shortest step descends: nothing is left but rounding.
            break
        vector = (vector[0] + rate * direction[0], vector[1] + rate * direction[1])
        bias += rate * db
        margins, ((up, un), new_duals, loss) = new_margins, trial
    residual = abs(coefficients.sum()) * max(1.0, abs(bias))
    dual = new_duals[0].sum() + new_duals[1].sum() - 0.5 * rows.inner(combined, combined)
    return vector, float(bias), new_duals, float(dual - residual), step


class _Envelope:
    """Moreau envelope of ``p hinge(f) + n hinge(-f)``, shifted by the dual variables.

    The sharpness of a row is its cost over the width, so that one width in units of the margin
    serves rows of very different costs.
    """

    def __init__(
        self, positive: Array, negative: Array, duals: tuple[Array, Array], width: float
    ) -> None:
        self.costs = (positive, negative)
        self.sharpness = (positive / width, negative / width)
        self.inverse = tuple(
            np.divide(width, cost, out=np.zeros_like(cost), where=cost > 0) for cost in self.costs
        )
        self.duals = duals
        self.width = width

    def __call__(self, margins: Array) -> tuple[tuple[Array, Array], tuple[Array, Array], float]:
        """Shifted slopes, the same clipped to the costs (the new duals), and the value."""
        up = self.sharpness[0] * (1.0 - margins) + self.duals[0]
        un = self.sharpness[1] * (1.0 + margins) + self.duals[1]
        dp = np.minimum(np.maximum(up, 0.0), self.costs[0])
        dn = np.minimum(np.maximum(un, 0.0), self.costs[1])
        value = (dp * (up - 0.5 * dp)) @ self.inverse[0] + (dn * (un - 0.5 * dn)) @ self.inverse[1]
        return (up, un), (dp, dn), float(value)

    def best_bias(self, scores: Array, center: float, tau: float) -> float:
        """The bias that minimizes the envelope for given scores, by bisection."""
        reach = 1.0 + 2.0 * self.width
        low, high = float(-scores.max() - reach), float(-scores.min() + reach)
        for _ in range(60):
            middle = 0.5 * (low + high)
            _, (dp, dn), _ = self(scores + middle)
            if dn.sum() - dp.sum() + tau * (middle - center) > 0:
                high = middle
            else:
                low = middle
        return 0.5 * (low + high)


def _evaluate(
    rows: Rows,
    positive: Array,
    negative: Array,
    vector: Vector,
    duals: tuple[Array, Array],
    dual: float,
    n_iter: int,
) -> SVMSolution:
    """The point ``w`` with its best bias: in the middle, as LIBSVM, where that is an interval."""
    low, high = optimal_bias(vector[1], positive, negative)
    bias = 0.5 * (low + high)
    norm2 = rows.inner(vector, vector)
    primal = 0.5 * norm2 + _losses(vector[1] + bias, positive, negative)
    return SVMSolution(vector, bias, duals, norm2, primal, dual, n_iter, False)


def _losses(margins: Array, positive: Array, negative: Array) -> float:
    return float(positive @ hinge(margins) + negative @ hinge(-margins))


def _subtract(first: Vector, second: Vector) -> Vector:
    scores = first[1] - second[1] if len(second[1]) else second[1]
    return first[0] - second[0], scores


def _libsvm_start(rows: GramRows, positive: Array, negative: Array) -> SVMSolution:
    """LIBSVM's answer at its usual tolerance, as a point to start from."""
    p, n = np.flatnonzero(positive > 0), np.flatnonzero(negative > 0)
    index = np.concatenate([p, n])
    labels = np.repeat([1, -1], [len(p), len(n)])
    costs = np.concatenate([positive[p], negative[n]])
    machine = SVC(kernel="precomputed", C=1.0, tol=1e-3, max_iter=100 * len(index))
    with warnings.catch_warnings():
        # Low-rank kernels can keep LIBSVM busy for ever; the Newton steps finish the work.
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(rows.gram[np.ix_(index, index)], labels, sample_weight=costs)
    alphas = np.zeros(len(index))
    alphas[machine.support_] = np.abs(machine.dual_coef_[0])
    duals = (np.zeros(rows.n_rows), np.zeros(rows.n_rows))
    duals[0][p], duals[1][n] = alphas[: len(p)], alphas[len(p) :]
    vector = rows.combine(duals[0] - duals[1])
    return _evaluate(rows, positive, negative, vector, duals, -np.inf, 0)
