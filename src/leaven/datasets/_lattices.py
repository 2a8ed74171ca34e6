"""Synthetic data of the literature whose points lie on chains, circles and grids."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from leaven.datasets._synthetic import as_result, check_count, check_not_negative

# How much wider, as a share, each gap between two rows of a grid is than the one before.
_GRID_STRETCH = 0.01


def make_chain(n_vertices: int = 10, *, return_labeled: bool = False) -> tuple[NDArray[Any], ...]:
    """Make a chain of equally spaced points, with a label at each end.

    Every edge of the chain is a minimum cut; a good method cuts it in the middle (Nguyen
    2019, figure 3.6). Connect neighbors at distance one.

    Parameters
    ----------
    n_vertices : int, default=10
        If odd, the vertex in the middle belongs to class 0.
    return_labeled : bool, default=False
        Also return ``y_partial``.

    Returns
    -------
    X : ndarray of shape (n_vertices, 2)
        From left to right.
    y : ndarray of shape (n_vertices,)
        0 in the left half, 1 in the right one.
    y_partial : ndarray of shape (n_vertices,)
        With -1 where a row is unlabeled. Only if ``return_labeled`` is True.

    References
    ----------
    .. [1] H. N. Nguyen, "Study on semi-supervised learning with the framework of generative
       model", master's thesis, Nagaoka University of Technology 2019, section 3.4.

    Examples
    --------
    >>> from leaven.datasets import make_chain
    >>> X, y, y_partial = make_chain(return_labeled=True)
    >>> y_partial
    array([ 0, -1, -1, -1, -1, -1, -1, -1, -1,  1])
    """
    check_count("n_vertices", n_vertices, 2)
    return make_grid(1, n_vertices, return_labeled=return_labeled)


def make_grid(
    n_rows: int = 3, n_columns: int = 9, *, return_labeled: bool = False
) -> tuple[NDArray[Any], ...]:
    """Make a rectangular grid of points, with labels on its left and right columns.

    Every column of horizontal edges is a minimum cut; a good method cuts near the middle
    (Nguyen 2019, figure 3.6). Connect neighbors at distance one.

    Parameters
    ----------
    n_rows : int, default=3
    n_columns : int, default=9
        If odd, the column in the middle belongs to class 0.
    return_labeled : bool, default=False
        Also return ``y_partial``.

    Returns
    -------
    X : ndarray of shape (n_rows * n_columns, 2)
        Row by row, each from left to right.
    y : ndarray of shape (n_rows * n_columns,)
        0 in the left half, 1 in the right one.
    y_partial : ndarray of shape (n_rows * n_columns,)
        With -1 where a row is unlabeled. Only if ``return_labeled`` is True.

    References
    ----------
    .. [1] H. N. Nguyen, "Study on semi-supervised learning with the framework of generative
       model", master's thesis, Nagaoka University of Technology 2019, section 3.4.

    Examples
    --------
    >>> from leaven.datasets import make_grid
    >>> X, y, y_partial = make_grid(return_labeled=True)
    >>> y_partial.reshape(3, 9)[0]
    array([ 0, -1, -1, -1, -1, -1, -1, -1,  1])
    """
    check_count("n_rows", n_rows, 1)
    check_count("n_columns", n_columns, 2)
    X = _lattice(np.arange(float(n_columns)), np.arange(float(n_rows)))
    y = (X[:, 0] > (n_columns - 1) / 2).astype(np.int64)
    labeled = (X[:, 0] == 0) | (X[:, 0] == n_columns - 1)
    return as_result(X, y, labeled, return_labeled)


def make_circle(n_vertices: int = 14, *, return_labeled: bool = False) -> tuple[NDArray[Any], ...]:
    """Make a circle of equally spaced points, with labels on two opposite ones.

    Two edges, one of the upper and one of the lower half, make a minimum cut; belief
    propagation meets a loop here (Nguyen 2019, figure 3.7). Connect neighbors, which are at
    distance one.

    Parameters
    ----------
    n_vertices : int, default=14
        An even number. If it is a multiple of four, the top and the bottom vertex are as
        near to one label as to the other and belong to class 0.
    return_labeled : bool, default=False
        Also return ``y_partial``.

    Returns
    -------
    X : ndarray of shape (n_vertices, 2)
        Counterclockwise from the rightmost vertex.
    y : ndarray of shape (n_vertices,)
        0 in the left half, 1 in the right one.
    y_partial : ndarray of shape (n_vertices,)
        With -1 where a row is unlabeled: all but the leftmost and the rightmost vertex.
        Only if ``return_labeled`` is True.

    References
    ----------
    .. [1] H. N. Nguyen, "Study on semi-supervised learning with the framework of generative
       model", master's thesis, Nagaoka University of Technology 2019, section 3.4.

    Examples
    --------
    >>> from leaven.datasets import make_circle
    >>> X, y, y_partial = make_circle(return_labeled=True)
    >>> y_partial
    array([ 1, -1, -1, -1, -1, -1, -1,  0, -1, -1, -1, -1, -1, -1])
    """
    check_count("n_vertices", n_vertices, 4)
    if n_vertices % 2:
        raise ValueError(
            f"n_vertices must be even, so that a vertex has an opposite one, got {n_vertices}."
        )
    k = np.arange(n_vertices)
    angle = 2 * np.pi * k / n_vertices
    X = np.column_stack([np.cos(angle), np.sin(angle)]) / (2 * np.sin(np.pi / n_vertices))
    # Steps along the circle are whole numbers: no rounding decides a tie.
    to_right = np.minimum(k, n_vertices - k)
    y = (2 * to_right < n_vertices - 2 * to_right).astype(np.int64)
    labeled = (to_right == 0) | (2 * to_right == n_vertices)
    return as_result(X, y, labeled, return_labeled)


def make_two_grids(
    *, noise: float = 0.0, return_labeled: bool = False, random_state: Any = None
) -> tuple[NDArray[Any], ...]:
    """Make two grids, the upper a little tighter, joined by two points, with two labels.

    The data of figure 5 of [1]_, where length scales are learned by minimizing the label
    entropy. The paper shows no coordinates: these were fitted to the numbers it prints, which
    are therefore no evidence; its findings also hold on regular grids that were not fitted, if
    rows are their own neighbors (``self_loops=True`` of
    :func:`~leaven.graph_based.learn_length_scales`). On the full graph without loops,
    ``w_ij = exp(-Σ_d (x_id - x_jd)² / σ_d²)``:

    - with the walk smoothed by ε = 0.01 and one scale for both features, the entropy is
      smallest, 0.884 bits, at σ = 0.674 (published: 0.898 bits at 0.67);
    - without smoothing it tends to zero as σ does, and the tighter grid then takes over
      three of the four rows of the other one;
    - with a scale for each feature, descent from there sends the first to infinity and the
      second to 0.643, with 0.620 bits (published: 0.65 and 0.619 bits).

    With loops, ``w_ii = 1`` as in equation (1) of [1]_, the entropy at σ = 0.67 is 0.924 bits
    in place of 0.884, and its minimum 0.910 bits at 0.884.

    Parameters
    ----------
    noise : float, default=0.0
        Standard deviation of Gaussian noise in each coordinate. Neighboring points are
        about 0.75 apart.
    return_labeled : bool, default=False
        Also return ``y_partial``.
    random_state : int, RandomState instance or None, default=None
        Of the noise.

    Returns
    -------
    X : ndarray of shape (68, 2)
        The lower grid (4 rows of 11), two points between, the upper grid (2 rows of 11).
    y : ndarray of shape (68,)
        0 below, 1 above; each of the points between goes with the nearer grid.
    y_partial : ndarray of shape (68,)
        With -1 where a row is unlabeled: all but the lower right and the upper right
        corner. Only if ``return_labeled`` is True.

    References
    ----------
    .. [1] X. Zhu, Z. Ghahramani and J. Lafferty, "Semi-supervised learning using Gaussian
       fields and harmonic functions", ICML 2003, section 7.2.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.datasets import make_two_grids
    >>> X, y, y_partial = make_two_grids(return_labeled=True)
    >>> X.shape, np.flatnonzero(y_partial >= 0)
    ((68, 2), array([43, 67]))
    """
    check_not_negative("noise", noise)
    columns = _stretched(np.arange(-5.0, 6.0))
    lower = _lattice(0.755 * columns, -0.815 * _stretched(np.arange(4.0)))
    bridge = np.array([[0.0, 0.785], [0.0, 2 * 0.785]])
    upper = _lattice(0.715 * columns, 3 * 0.785 + 0.775 * _stretched(np.arange(2.0)))
    X = np.vstack([lower, bridge, upper])
    y = (X[:, 1] > 1.0).astype(np.int64)
    labeled = np.zeros(len(X), dtype=bool)
    labeled[[len(lower) - 1, len(X) - 1]] = True
    if noise:
        X += noise * check_random_state(random_state).standard_normal(X.shape)
    return as_result(X, y, labeled, return_labeled)


def _lattice(x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """All pairs of coordinates, row by row."""
    return np.column_stack([np.tile(x, len(y)), np.repeat(y, len(x))])


def _stretched(k: NDArray[Any]) -> NDArray[Any]:
    """Positions whose gaps grow slowly away from zero.

    On a regular grid many paths between the labels have the same longest step, so that the
    harmonic function stays undecided, and its entropy positive, however small the scale
    is. Unequal gaps break these ties.
    """
    return np.asarray(k + np.sign(k) * _GRID_STRETCH * k**2 / 2)
