"""Least squares on the smoothest eigenvectors of a graph (Belkin and Niyogi)."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leaven._compat import HasMethods, Interval, StrOptions
from leaven._labels import UNLABELED, one_hot
from leaven.exceptions import ConvergenceWarning
from leaven.graph_based._base import GraphClassifier
from leaven.graph_based._basis import LAPLACIANS, spectral_basis
from leaven.graph_based._simplex import project_to_simplex

_PER_CLASS = 2
"""Eigenvectors per class at least. On 7 tables of 500 rows with 1 / 5 labels per class 58.0 / 75.8%
are right; with one 43.9 / 67.1%, with three 54.7 / 73.4%."""

_SHARE = 0.2
"""Eigenvectors per label: "20% of the number of labeled points" in the paper's experiments."""

_MOST_OF_LABELS = 0.75
"""Eigenvectors per label where there would be about as many as labels. Least squares then must
solve a nearly singular system exactly: digits with two labels per class were 39% right with 20
eigenvectors, and are 92% with 15 (benchmarks/accuracy.py digits --draws 3 --seed 4000)."""


def fit_on_eigenvectors(
    E: NDArray[Any], labeled: NDArray[np.intp], Y: NDArray[Any]
) -> NDArray[np.float64]:
    """Return ``E a`` for the coefficients that fit the labels best in least squares.

    ``a = (E_Lᵀ E_L)^{-1} E_Lᵀ Y``; where there are fewer labels than eigenvectors, the
    coefficients of the smallest norm.

    Parameters
    ----------
    E : ndarray of shape (n_nodes, p)
    labeled : int ndarray of shape (n_labeled,)
    Y : ndarray of shape (n_labeled, n_classes)

    Returns
    -------
    ndarray of shape (n_nodes, n_classes)

    Examples
    --------
    A line through 1, 2 and 6 at the places 0, 1 and 2, continued to 3:

    >>> import numpy as np
    >>> from leaven.graph_based._eigenvectors import fit_on_eigenvectors
    >>> E = np.column_stack([np.ones(4), np.arange(4.0)])
    >>> fit_on_eigenvectors(E, np.arange(3), np.array([[1.0], [2.0], [6.0]])).ravel()
    array([0.5, 3. , 5.5, 8. ])
    """
    a = np.linalg.lstsq(E[labeled].astype(np.float64), Y, rcond=None)[0]
    return np.asarray(E @ a)


class LaplacianEigenvectorClassifier(GraphClassifier):
    r"""Least squares on Laplacian eigenvectors (Belkin and Niyogi, 2002).

    The eigenvectors :math:`e_1, \dots, e_p` of the graph's Laplacian with the smallest
    eigenvalues are the smoothest functions on the data. The function of each class is the
    combination of them that fits the labels best [1]_ [2]_:

    .. math:: \min_a \sum_{i \in L} \Big(y_i - \sum_{j=1}^p a_j e_j(i)\Big)^2 .

    Few eigenvectors cannot fit every label, which makes the answer robust to wrong ones.

    Parameters
    ----------
    graph : graph builder, default=None
        None stands for ``KNNGraph()``.
    n_eigenvectors : int or "auto", default="auto"
        p, with the constant one. ``"auto"`` takes a fifth of the number of labels, as [1]_
        does, but at least two per class; and three for four labels where that would be about as
        many as there are labels, for least squares is at its worst there.
    laplacian : {"combinatorial", "random-walk"}, default="combinatorial"
        ``D - W`` as in [1]_, or ``I - D^{-1} W``.
    prior : {"auto", "labeled", "uniform"}, dict, array or None, default=None
        Class proportions for class mass normalization, as in :class:`HarmonicClassifier`.

    Attributes
    ----------
    n_eigenvectors_ : int
        How many were used.
    basis_ : SpectralBasis
        ``values`` and ``vectors`` beside the constant one, of the rows that labels reach.
    scores_ : ndarray of shape (n_samples, n_classes)
        The fitted functions for one-hot labels. Rows sum to one.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        The projection of the scores onto the simplex.
    transduction_ : ndarray of shape (n_samples,)
    converged_ : bool
        Whether the eigenvectors are as exact as they should be.
    classes_, graph_, graph_builder_, n_unreached_
        As in :class:`HarmonicClassifier`.

    See Also
    --------
    SpectralTransducer : Penalizes eigenvectors by their number, and asks for balance.
    HarmonicClassifier : Fits the labels exactly.

    Notes
    -----
    With more than two classes each has its own function and the largest wins; for two this is
    the sign of the paper. Where p ends between two equal eigenvalues the answer depends on the
    basis of their space.

    References
    ----------
    .. [1] M. Belkin and P. Niyogi, "Using manifold structure for partially labelled
       classification", NIPS 2002.
    .. [2] X. Zhu, Z. Ghahramani and J. Lafferty, "Semi-supervised learning using Gaussian
       fields and harmonic functions", ICML 2003, section 3.2.

    Examples
    --------
    >>> from leaven.graph_based import LaplacianEigenvectorClassifier
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
    >>> model = LaplacianEigenvectorClassifier(n_eigenvectors=2)
    >>> model.fit(X, [0, -1, -1, -1, -1, 1]).transduction_
    array([0, 0, 0, 1, 1, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "graph": [HasMethods(["fit"]), None],
        "n_eigenvectors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "laplacian": [StrOptions(set(LAPLACIANS))],
        "prior": [StrOptions({"auto", "labeled", "uniform"}), "array-like", dict, None],
    }

    def __init__(
        self,
        graph: Any = None,
        *,
        n_eigenvectors: int | str = "auto",
        laplacian: str = "combinatorial",
        prior: Any = None,
    ) -> None:
        self.graph = graph
        self.n_eigenvectors = n_eigenvectors
        self.laplacian = laplacian
        self.prior = prior

    def fit(self, X: Any, y: Any) -> LaplacianEigenvectorClassifier:
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
        reached, part = self._reached(graph, codes)
        labeled = np.flatnonzero(codes[reached] != UNLABELED)
        n_wanted = self._n_wanted(len(labeled), graph.n_nodes)
        self.basis_ = spectral_basis(
            part, min(n_wanted, part.n_nodes) - 1, laplacian=self.laplacian
        )
        self.n_eigenvectors_ = len(self.basis_.values) + 1
        self.converged_ = self.basis_.converged
        if not self.converged_:
            warnings.warn(
                "The eigenvectors did not converge: their residual is "
                f"{self.basis_.residual:.1e}. Use fewer of them, or a graph with more edges.",
                ConvergenceWarning,
                stacklevel=2,
            )
        # As long as the others, so that the smallest norm favors none.
        constant = np.full((part.n_nodes, 1), part.n_nodes**-0.5, self.basis_.vectors.dtype)
        E = np.hstack([constant, self.basis_.vectors])
        Y = one_hot(codes[reached][labeled], len(self.classes_))
        scores = np.empty((graph.n_nodes, len(self.classes_)), dtype=graph.adjacency.dtype)
        scores[reached] = fit_on_eigenvectors(E, labeled, Y)
        self._fill_unreached(scores, codes, reached)
        self._store_scores(scores, codes, self.prior, reached=reached)
        return self

    def _n_wanted(self, n_labeled: int, n_nodes: int) -> int:
        if isinstance(self.n_eigenvectors, str):
            wanted = max(round(_SHARE * n_labeled), _PER_CLASS * len(self.classes_))
            fewer = round(_MOST_OF_LABELS * n_labeled)
            return fewer if fewer < wanted < 2 * n_labeled - fewer else wanted
        if self.n_eigenvectors > n_nodes:
            raise ValueError(
                f"n_eigenvectors={self.n_eigenvectors}, but the graph has {n_nodes} nodes and no "
                f"more eigenvectors. Use at most {n_nodes}, or 'auto'."
            )
        return int(self.n_eigenvectors)

    def _nonnegative(self, scores: NDArray[Any]) -> NDArray[Any]:
        return project_to_simplex(scores)
