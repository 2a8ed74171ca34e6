"""The spectral graph transducer: a cut of the graph that is cheap on the average."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leaven._compat import HasMethods, Interval, StrOptions
from leaven._labels import UNLABELED, class_prior
from leaven.exceptions import ConvergenceWarning
from leaven.graph_based._base import GraphClassifier
from leaven.graph_based._basis import LAPLACIANS, SpectralBasis, spectral_basis
from leaven.graph_based._simplex import project_to_simplex

SPECTRA = ("squares", "eigenvalues")

# As in Joachims (2003). A graph with fewer nodes takes what it has, without an error.
_DEFAULT_EIGENVECTORS = 80

# Eigenvalues closer than this share of the largest one possible count as equal.
_TIE = 1e-6


def minimize_on_sphere(
    G: NDArray[Any], b: NDArray[Any], radius_squared: float
) -> tuple[NDArray[Any], float]:
    """Minimize ``wᵀ G w - 2 bᵀ w`` subject to ``wᵀ w = radius_squared``.

    The minimizer solves ``(G - λ I) w = b`` with the λ below all eigenvalues of G for which w
    has the right length. It is also the smallest eigenvalue of

    .. code-block:: none

        [       G           -I ]
        [ -b bᵀ / radius²    G ]

    (Gander, Golub and von Matt, "A constrained eigenvalue problem", 1989), but that matrix is
    twice as large and not symmetric, and loses digits where λ is close to an eigenvalue of G.

    Parameters
    ----------
    G : ndarray of shape (d, d)
        Symmetric.
    b : ndarray of shape (d,)
    radius_squared : float

    Returns
    -------
    w : ndarray of shape (d,)
    multiplier : float
        λ; at most the smallest eigenvalue of G.

    Notes
    -----
    Newton's method on ``1 / |w(λ)|``, which is nearly a straight line, needs a handful of steps.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph_based._spectral import minimize_on_sphere
    >>> w, multiplier = minimize_on_sphere(np.diag([1.0, 2.0]), np.array([3.0, 0.0]), 4.0)
    >>> w, round(multiplier, 6)
    (array([2., 0.]), -0.5)
    """
    values, Q = np.linalg.eigh(G)
    beta = Q.T @ b
    radius = np.sqrt(radius_squared)
    above = values - values[0]
    scale = max(abs(values[0]), abs(values[-1]), np.finfo(float).tiny)
    lowest = above <= 1e-12 * scale
    below = float(np.linalg.norm(beta[lowest]))
    if below <= 1e-13 * np.linalg.norm(beta):
        # b has no part in the lowest eigenspace, which then fills up what is missing to the
        # sphere (in either direction: both are minima).
        w = np.where(lowest, 0.0, beta / np.where(lowest, 1.0, above))
        missing = radius_squared - w @ w
        if missing >= 0:
            w[0] = np.sqrt(missing)
            return Q @ w, float(values[0])
    gap = _newton(beta, above, radius)
    return Q @ (beta / (above + gap)), float(values[0] - gap)


def _newton(beta: NDArray[Any], above: NDArray[Any], radius: float) -> float:
    """Solve ``|beta / (above + gap)| = radius`` for the gap; ``above`` ascends from zero."""
    # The first j entries alone are at least |beta[:j]| / (above[j - 1] + gap) long, which bounds
    # the gap from below. From there Newton's method goes up without passing the solution.
    lengths = np.sqrt(np.cumsum(beta**2))
    low, high = float((lengths / radius - above).max()), float(lengths[-1] / radius)
    gap = low
    for _ in range(100):
        if gap <= 0:
            gap = (low + high) / 2.0
        shifted = above + gap
        length = float(np.linalg.norm(beta / shifted))
        if length > radius:
            low = gap
        else:
            high = gap
        slope = float(np.sum(beta**2 / shifted**3))
        new = gap + length**2 / slope * (length / radius - 1.0)
        if not low <= new <= high:
            new = (low + high) / 2.0
        if abs(new - gap) <= 1e-15 * gap:
            return new
        gap = new
    return gap


def transduce(
    V: NDArray[Any],
    spectrum: NDArray[Any],
    labeled: NDArray[np.intp],
    positive: NDArray[np.bool_],
    *,
    c: float,
    positive_share: float | None = None,
) -> tuple[NDArray[Any], float, float]:
    """Solve one two-class problem in the coordinates of the eigenvectors.

    Parameters
    ----------
    V : ndarray of shape (n_nodes, d)
    spectrum : ndarray of shape (d,)
        The diagonal of D.
    labeled : int ndarray of shape (n_labeled,)
    positive : bool ndarray of shape (n_labeled,)
    c : float
        What an error at the labels costs.
    positive_share : float, optional
        Share of positive nodes; default that of the labels.

    Returns
    -------
    w : ndarray of shape (d,)
        The minimizer of ``wᵀ D w + c (V w - γ)ᵀ C (V w - γ)`` with ``wᵀ w = n_nodes``.
    upper, lower : float
        ``γ₊`` and ``γ₋``.
    """
    n_positive = int(positive.sum())
    share = n_positive / len(positive) if positive_share is None else positive_share
    # γ₋ is negative in Joachims (2003); Lefakis's thesis (2.4.4) has lost its sign.
    upper, lower = np.sqrt((1.0 - share) / share), -np.sqrt(share / (1.0 - share))
    cost = len(positive) / np.where(positive, 2.0 * n_positive, 2.0 * (len(positive) - n_positive))
    part = V[labeled].astype(np.float64)
    G = np.diag(spectrum) + c * (part.T * cost) @ part
    b = c * part.T @ (cost * np.where(positive, upper, lower))
    w, _ = minimize_on_sphere(G, b, float(len(V)))
    return w, float(upper), float(lower)


def replaced_spectrum(values: NDArray[Any], largest: float) -> NDArray[Any]:
    """Return ``i²`` for the i-th eigenvalue; equal eigenvalues share the smallest i.

    The eigenvectors of equal eigenvalues are any basis of their space, and the answer must
    not depend on which one.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph_based._spectral import replaced_spectrum
    >>> replaced_spectrum(np.array([0.0, 0.0, 0.1, 0.3]), 2.0)
    array([ 1.,  1.,  9., 16.])
    """
    rank = np.arange(1, len(values) + 1)
    tied = np.diff(values, prepend=-np.inf) <= _TIE * largest
    return np.maximum.accumulate(np.where(tied, 0, rank)).astype(np.float64) ** 2


class SpectralTransducer(GraphClassifier):
    r"""The spectral graph transducer (Joachims, 2003).

    A minimum cut likes to cut off single rows. The *ratio* cut, which is divided by the
    sizes of the sides, does not; relaxed to real numbers, it is sought among the smoothest
    functions on the graph, the eigenvectors 2 to d + 1 of the Laplacian in the columns of
    V. For each class against the rest, ``z = V w`` with

    .. math:: \min_w\; w^\top D w + c\,(V w - \gamma)^\top C (V w - \gamma)
              \quad\text{such that}\quad w^\top w = n ,

    where the labeled rows of the class should have :math:`\gamma_+ = \sqrt{l_- / l_+}` and
    the others :math:`\gamma_- = -\sqrt{l_+ / l_-}`, and C weighs both sides equally.

    Parameters
    ----------
    graph : graph builder, default=None
        None stands for ``KNNGraph()``.
    n_eigenvectors : int, default=80
        d. It must be smaller than the number of rows; only the default is cut down to what
        a small table has.
    c : float, default=3200.0
        What an error at the labels costs, against the cost of the cut. As ``wᵀ w = n``, the
        cut weighs more the more rows there are: the default, from tables of a few thousand
        rows, should grow in proportion with much larger ones.
    spectrum : {"squares", "eigenvalues"}, default="squares"
        The diagonal of D: ``i²`` for the i-th eigenvector, or its eigenvalue. Eigenvalues
        are much smaller numbers, so that ``c`` should be too, about 1.
    laplacian : {"random-walk", "combinatorial"}, default="random-walk"
        ``D^{-1} (D - W)``, the normalized cut, or ``D - W``, the ratio cut. See the notes.
    prior : {"labeled", "uniform"}, dict or array of shape (n_classes,), default=None
        Class proportions. They replace the shares of the labels in γ₊ and γ₋, and the
        scores are then brought to them (class mass normalization). ``"labeled"`` adds one
        to each count. None takes γ from the labels and switches class mass
        normalization off, as in the paper.

    Attributes
    ----------
    scores_ : ndarray of shape (n_samples, n_classes)
        ``(z - γ₋) / (γ₊ - γ₋)`` of each class: near 1 at its labels and near 0 at the
        others. The paper's threshold ``(γ₊ + γ₋) / 2`` is 1/2. Two classes are one problem,
        and their scores sum to one; with more, the largest score wins.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        The nearest class probabilities to the scores.
    transduction_ : ndarray of shape (n_samples,)
    basis_ : SpectralBasis
        ``values`` and ``vectors`` of the rows that labels reach.
    n_eigenvectors_ : int
        How many were used.
    converged_ : bool
        Whether the eigenvectors are as exact as they should be.
    classes_, graph_, graph_builder_, n_unreached_
        As in :class:`HarmonicClassifier`.

    Notes
    -----
    The random walk Laplacian is not symmetric, and its eigenvectors are orthogonal under
    the degrees B only. They are scaled to ``Vᵀ B V = I`` with B divided by its mean, so
    that ``wᵀ w = n`` says ``zᵀ B z = n`` and ``zᵀ B 1 = 0``: mean zero and mean square one,
    as of γ, with each row weighed by its degree. The two Laplacians are the same on a graph
    whose degrees are all equal.

    The eigenvectors depend on the graph alone. They are computed once (see
    :func:`leaven.solvers.smallest_eigenpairs`; residuals of 1e-6), shared by all classes,
    and recalled by any later fit on an equal graph while that graph or a fitted transducer
    is in use.

    References
    ----------
    T. Joachims, "Transductive learning via spectral graph partitioning", ICML 2003.

    L. Lefakis, "Transductive learning for document classification and handwritten character
    recognition", Utrecht University, sections 2.4.4 and 3.4.4.

    Examples
    --------
    >>> from leaven.graph_based import SpectralTransducer
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
    >>> SpectralTransducer().fit(X, [0, -1, -1, -1, -1, 1]).transduction_
    array([0, 0, 0, 1, 1, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "graph": [HasMethods(["fit"]), None],
        "n_eigenvectors": [Interval(Integral, 1, None, closed="left")],
        "c": [Interval(Real, 0, None, closed="neither")],
        "spectrum": [StrOptions(set(SPECTRA))],
        "laplacian": [StrOptions(set(LAPLACIANS))],
        "prior": [StrOptions({"labeled", "uniform"}), "array-like", dict, None],
    }

    def __init__(
        self,
        graph: Any = None,
        *,
        n_eigenvectors: int = _DEFAULT_EIGENVECTORS,
        c: float = 3200.0,
        spectrum: str = "squares",
        laplacian: str = "random-walk",
        prior: Any = None,
    ) -> None:
        self.graph = graph
        self.n_eigenvectors = n_eigenvectors
        self.c = c
        self.spectrum = spectrum
        self.laplacian = laplacian
        self.prior = prior

    def fit(self, X: Any, y: Any) -> SpectralTransducer:
        """Fit on the rows of ``X``, of which some have a label in ``y``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Unlabeled rows are -1 in integers, None, NaN or pandas.NA elsewhere.

        Returns
        -------
        self
        """
        graph, codes = self._fit_graph(X, y)
        self._check_n_eigenvectors(graph.n_nodes)
        reached, part = self._reached(graph, codes)
        d = min(int(self.n_eigenvectors), part.n_nodes - 1)
        self.basis_ = spectral_basis(part, d, laplacian=self.laplacian)
        self.n_eigenvectors_ = len(self.basis_.values)
        self.converged_ = self.basis_.converged
        if not self.converged_:
            warnings.warn(
                "The eigenvectors did not converge: their residual is "
                f"{self.basis_.residual:.1e}. Use fewer of them, or a graph with more edges.",
                ConvergenceWarning,
                stacklevel=2,
            )
        scores = np.empty((graph.n_nodes, len(self.classes_)), dtype=graph.adjacency.dtype)
        scores[reached] = self._scores(self.basis_, codes[reached])
        self._fill_unreached(scores, codes, reached)
        self._store_scores(scores, codes, self.prior, reached=reached)
        return self

    def _check_n_eigenvectors(self, n: int) -> None:
        if self.n_eigenvectors >= n and self.n_eigenvectors != _DEFAULT_EIGENVECTORS:
            raise ValueError(
                f"n_eigenvectors={self.n_eigenvectors}, but the graph has {n} nodes, hence "
                f"{n - 1} eigenvectors beside the constant one. Use at most {n - 1}."
            )

    def _scores(self, basis: SpectralBasis, codes: NDArray[np.intp]) -> NDArray[Any]:
        V = basis.vectors
        if self.spectrum == "squares":
            # The eigenvalues of the normalized Laplacian are at most 2.
            bound = 2.0
            if self.laplacian == "combinatorial":
                bound *= float(self.graph_.degree.max(initial=0.0))
            D = replaced_spectrum(basis.values, bound)
        else:
            D = basis.values
        labeled = np.flatnonzero(codes != UNLABELED)
        shares = None
        if self.prior is not None:
            shares = class_prior(self.prior, codes, self.classes_)
            if (shares == 0).any():
                raise ValueError(
                    "prior gives a class the proportion 0, but that class has labeled rows: "
                    f"{dict(zip(self.classes_.tolist(), shares.tolist(), strict=True))}."
                )
        n_classes = len(self.classes_)
        # Two classes are one problem: the other's function is its negative.
        solved = [1] if n_classes == 2 else range(n_classes)
        columns = []
        for k in solved:
            w, upper, lower = transduce(
                V,
                D,
                labeled,
                codes[labeled] == k,
                c=float(self.c),
                positive_share=None if shares is None else float(shares[k]),
            )
            columns.append((V @ w.astype(V.dtype) - lower) / (upper - lower))
        if n_classes == 2:
            columns.insert(0, 1.0 - columns[0])
        return np.column_stack(columns)

    def _nonnegative(self, scores: NDArray[Any]) -> NDArray[Any]:
        return project_to_simplex(scores)
