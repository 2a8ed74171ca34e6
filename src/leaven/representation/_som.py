"""The self-organizing map, trained by batches on a rectangular lattice."""

from __future__ import annotations

import logging
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from leaven._compat import Interval, StrOptions, validate_params_of
from leaven._dask import apply_rows, is_dask
from leaven.exceptions import ConvergenceWarning

logger = logging.getLogger("leaven")

# Entries of one block of the rows × units table; 8 MB of float32.
_BLOCK_ENTRIES = 1 << 21


def lattice_coordinates(lattice: tuple[int, int]) -> NDArray[np.float64]:
    """Return row and column of every unit, numbered row by row.

    Examples
    --------
    >>> from leaven.representation._som import lattice_coordinates
    >>> lattice_coordinates((2, 3)).tolist()
    [[0.0, 0.0], [0.0, 1.0], [0.0, 2.0], [1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]
    """
    return np.indices(lattice, dtype=np.float64).reshape(2, -1).T


def find_winners(
    X: NDArray[Any], units: NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the nearest unit of every row, and the distance to it.

    Of units at the same distance the first wins. "The same" allows for rounding: the product
    below may differ in the last digit between equal rows, and equal rows must have one
    winner.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    units : ndarray of shape (n_units, n_features)

    Returns
    -------
    winners : ndarray of shape (n_samples,)
    distances : ndarray of shape (n_samples,)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.representation._som import find_winners
    >>> find_winners(np.array([[0.0], [4.0]]), np.array([[1.0], [3.5]]))
    (array([0, 1]), array([1. , 0.5]))
    """
    units = units.astype(X.dtype, copy=False)
    length = np.einsum("ij,ij->i", units, units)
    slack = 8 * np.finfo(X.dtype).eps
    winners = np.empty(len(X), dtype=np.intp)
    distances = np.empty(len(X), dtype=np.float64)
    for rows in gen_batches(len(X), max(1, _BLOCK_ENTRIES // len(units))):
        block = X[rows]
        score = block @ (-2 * units.T)
        score += length
        largest = np.einsum("ij,ij->i", block, block) + length.max()
        near = score.min(axis=1) + slack * largest
        winners[rows] = (score <= near[:, None]).argmax(axis=1)
        # From the difference, not from the score, which loses digits near zero.
        difference = block - units[winners[rows]]
        distances[rows] = np.sqrt(np.einsum("ij,ij->i", difference, difference))
    return winners, distances


def neighborhood(coordinates: NDArray[np.float64], radius: float) -> NDArray[np.float64]:
    """Return ``exp(-d² / 2 radius²)`` of the lattice distance of each pair of units.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.representation._som import neighborhood
    >>> neighborhood(np.array([[0.0, 0.0], [0.0, 2.0]]), 2.0).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """
    difference = coordinates[:, None, :] - coordinates[None, :, :]
    return np.asarray(np.exp(-(difference**2).sum(axis=2) / (2 * radius**2)))


def batch_update(
    X: NDArray[Any],
    winners: NDArray[np.intp],
    units: NDArray[np.float64],
    kernel: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Move every unit to the mean of the rows, weighted by the kernel at their winners.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.representation._som import batch_update
    >>> X, kernel = np.array([[0.0], [6.0]]), np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> batch_update(X, np.array([0, 1]), np.zeros((2, 1)), kernel)
    array([[2.],
           [4.]])
    """
    n_units = len(units)
    counts = np.bincount(winners, minlength=n_units)
    sums = np.zeros((n_units, X.shape[1]))
    for rows in gen_batches(len(X), _BLOCK_ENTRIES):
        size = rows.stop - rows.start
        pick = sparse.csr_array(
            (np.ones(size), (winners[rows], np.arange(size))), shape=(n_units, size)
        )
        sums += pick @ X[rows].astype(np.float64, copy=False)
    weight = kernel @ counts
    # Far from every winner the kernel underflows: such a unit stays where it is.
    reached = weight > 1e-200
    moved = units.copy()
    moved[reached] = (kernel @ sums)[reached] / weight[reached, None]
    return moved


def initial_units(
    X: NDArray[Any], lattice: tuple[int, int], init: str, rng: np.random.RandomState
) -> NDArray[np.float64]:
    """Spread the units over the plane of the two largest principal axes, or draw rows.

    The plane reaches two standard deviations to each side, along the longer side of the
    lattice for the larger axis.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.representation._som import initial_units
    >>> X = np.array([[-1.0, 5.0], [1.0, 5.0]])
    >>> initial_units(X, (1, 3), "pca", np.random.RandomState(0)).round(3)
    array([[-2.,  5.],
           [ 0.,  5.],
           [ 2.,  5.]])
    """
    n_units = lattice[0] * lattice[1]
    if init == "sample":
        rows = rng.choice(len(X), size=n_units, replace=len(X) < n_units)
        return np.array(X[rows], dtype=np.float64)
    mean = X.mean(axis=0, dtype=np.float64)
    centered = X - mean
    variances, axes = np.linalg.eigh(centered.T @ centered / len(X))
    plane = np.zeros((2, X.shape[1]))
    for i in range(min(2, X.shape[1])):
        axis = axes[:, -1 - i]
        # An axis has no sign of its own; this one makes it repeatable on every machine.
        axis = axis * (1.0 if axis[np.abs(axis).argmax()] > 0 else -1.0)
        plane[i] = np.sqrt(max(float(variances[-1 - i]), 0.0)) * axis
    place = lattice_coordinates(lattice)
    half = np.maximum((np.array(lattice) - 1) / 2, 0.5)
    place = np.where(np.array(lattice) > 1, (place - half) / half, 0.0)
    if lattice[1] > lattice[0]:
        place = place[:, ::-1]
    return np.asarray(mean + 2 * place @ plane)


class SelfOrganizingMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""A lattice of units that spreads over the data so that neighbors stay neighbors.

    In every pass each row finds its winner :math:`c(x)`, the nearest unit, and then each unit
    :math:`i` moves to the mean of all rows, weighted by how near to it their winners lie on
    the lattice [1]_:

    .. math:: m_i = \frac{\sum_x h_{c(x) i}\, x}{\sum_x h_{c(x) i}}, \qquad
       h_{ci} = \exp\left(-\frac{\|r_c - r_i\|^2}{2 \sigma^2}\right).

    The radius :math:`\sigma` shrinks by a constant factor over the first half of ``max_iter``
    and then stays until the quantization error does.

    Parameters
    ----------
    lattice : (int, int), default=(10, 10)
        Rows and columns of units.
    init : {"pca", "sample"}, default="pca"
        Begin with the units spread over the plane of the two largest principal axes, or with
        rows drawn at random: another map for every ``random_state``.
    radius : float, default=None
        The radius of the first pass, in steps of the lattice; None is half of its longer
        side, at least 1.
    final_radius : float, default=0.5
    max_iter : int, default=60
        The largest number of passes.
    tol : float, default=1e-3
        Stop when, at the final radius, a pass changes the quantization error by less than
        this share of it.
    random_state : int, RandomState or None, default=None
        Draws the rows of ``init="sample"``.
    verbose : int, default=0
        1 logs a line a pass.

    Attributes
    ----------
    units_ : ndarray of shape (n_units, n_features)
    coordinates_ : ndarray of shape (n_units, 2)
        Row and column of each unit on the lattice.
    objective_trace_ : list of float
        The quantization error, which is the mean distance of a row to its winner, at the
        start and after every pass. It falls while the radius shrinks, though not always in
        every single pass.
    quantization_error_ : float
        The last of them.
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int

    See Also
    --------
    SOMFeatureMap : Scans images with such a map.
    sklearn.cluster.KMeans : What is left of it with a radius of zero.

    References
    ----------
    .. [1] T. Kohonen, "Self-organizing maps", 3rd edition, Springer 2001, section 3.6
       (batch map).

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.representation import SelfOrganizingMap
    >>> X = np.linspace(0, 1, 101)[:, None]
    >>> som = SelfOrganizingMap((1, 5)).fit(X)
    >>> som.predict([[0.0], [0.5], [1.0]])
    array([0, 2, 4])
    >>> som.transform([[0.5]])
    array([[0., 2.]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lattice": [tuple, list],
        "init": [StrOptions({"pca", "sample"})],
        "radius": [None, Interval(Real, 0, None, closed="neither")],
        "final_radius": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        lattice: tuple[int, int] = (10, 10),
        *,
        init: str = "pca",
        radius: float | None = None,
        final_radius: float = 0.5,
        max_iter: int = 60,
        tol: float = 1e-3,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.lattice = lattice
        self.init = init
        self.radius = radius
        self.final_radius = final_radius
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> SelfOrganizingMap:
        """Train the map.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        self
        """
        validate_params_of(self)
        lattice = check_pair(self.lattice, "lattice")
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        rng = check_random_state(self.random_state)
        first = max(lattice) / 2 if self.radius is None else float(self.radius)
        first = max(first, 1.0) if self.radius is None else first
        self.coordinates_ = lattice_coordinates(lattice)
        units = initial_units(X, lattice, self.init, rng)
        shrinking = max(1, self.max_iter // 2)
        self.objective_trace_: list[float] = []
        self.converged_ = False
        winners, distances = find_winners(X, units)
        self.objective_trace_.append(float(distances.mean()))
        for step in range(1, self.max_iter + 1):
            radius = first * (self.final_radius / first) ** min(1.0, step / shrinking)
            kernel = neighborhood(self.coordinates_, radius)
            units = batch_update(X, winners, units, kernel)
            winners, distances = find_winners(X, units)
            error = float(distances.mean())
            self.objective_trace_.append(error)
            self.n_iter_ = step
            if self.verbose:
                logger.info("pass %d: radius %.3g, quantization error %.6g", step, radius, error)
            change = abs(self.objective_trace_[-2] - error)
            # The last pass of the shrinking moved the units by its radius, not by their unrest.
            if step > shrinking and change <= self.tol * error:
                self.converged_ = True
                break
        self.units_ = units
        self.quantization_error_ = self.objective_trace_[-1]
        if not self.converged_:
            warnings.warn(
                f"The quantization error still changes after {self.max_iter} passes. Give a "
                "larger max_iter or a larger tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Return the winner of each row: the number of its nearest unit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        winners : ndarray of shape (n_samples,)
            Units are numbered row by row.
        """
        check_is_fitted(self)
        if is_dask(X):
            lazy: NDArray[np.intp] = apply_rows(self, "predict", X, dtype=np.intp)
            return lazy
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return find_winners(X, self.units_)[0]

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return row and column of each row's winner on the lattice.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        coordinates : ndarray of shape (n_samples, 2)
        """
        winners = self.predict(X)
        return self.coordinates_[winners]

    @property
    def _n_features_out(self) -> int:
        return 2


def check_pair(value: Any, name: str) -> tuple[int, int]:
    """Return a pair of positive integers, or say what it must be.

    Examples
    --------
    >>> from leaven.representation._som import check_pair
    >>> check_pair([3, 4], "lattice")
    (3, 4)
    """
    pair = tuple(value) if isinstance(value, (tuple, list)) else ()
    if len(pair) != 2 or not all(isinstance(v, (int, np.integer)) and v > 0 for v in pair):
        raise ValueError(f"{name} must be two positive integers (height, width), got {value!r}.")
    return int(pair[0]), int(pair[1])
