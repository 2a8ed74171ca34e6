"""Manifold regularization: least squares and support vector machines along a graph."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, eigh, solve
from scipy.special import softmax
from sklearn.base import BaseEstimator, clone
from sklearn.svm import SVC
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from leaven._compat import HasMethods, Interval, StrOptions
from leaven._labels import UNLABELED, class_prior
from leaven._magnitude import check_magnitude
from leaven.base import TransductionMixin
from leaven.exceptions import ConvergenceWarning
from leaven.graph import KNNGraph
from leaven.graph_based._class_shift import balancing_shifts
from leaven.graph_based._deformed_kernel import (
    KERNELS,
    BaseKernel,
    deform,
    edge_gamma,
    scale_gamma,
)
from leaven.graph_based._shares import estimate_proportions
from leaven.graph_based._squared_hinge import squared_hinge_svm
from leaven.solvers import LIBSVM_STEPS


class _ManifoldClassifier(TransductionMixin, BaseEstimator):
    """What the two share: the deformed kernel, one problem a class, and prediction."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "gamma_a": [Interval(Real, 0, None, closed="neither")],
        "gamma_i": [Interval(Real, 0, None, closed="left")],
        "kernel": [StrOptions(set(KERNELS)), callable],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "coef0": [Real],
        "graph": [HasMethods(["fit"]), None],
        "prior": [StrOptions({"auto", "labeled", "uniform"}), "array-like", dict, None],
        "approximation": [StrOptions({"auto", "exact", "nystroem"})],
        "n_landmarks": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    gamma_a: float
    gamma_i: float
    kernel: Any
    gamma: float | None
    degree: int
    coef0: float
    graph: Any
    prior: Any
    approximation: str
    n_landmarks: int
    random_state: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit on the rows of ``X``, of which some have a label in ``y``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            With ``kernel="precomputed"``, the kernel matrix of shape (n_samples, n_samples).
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            How much the loss of each labeled row counts: the loss is the weighted mean, so that
            a weight of two is as good as a second label at the same place, and a row of weight
            zero is an unlabeled one to the functions. Unlabeled rows have no loss, and their
            weights have no effect; nor do weights change the graph or the prior.

        Returns
        -------
        self
        """
        X, codes = self._validate_fit(X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        n = X.shape[0]
        if self.kernel == "precomputed" and X.shape[1] != n:
            raise ValueError(
                f"A precomputed kernel must be square, with one row and column a row of the "
                f"data; got shape {X.shape}."
            )
        check_magnitude(self, X)
        given, codes = codes, used_codes(codes, sample_weight, self.classes_)
        laplacian = self._laplacian(X, codes)
        self.gamma_ = self.gamma
        if self.gamma is None and self.kernel in ("rbf", "poly"):
            # A kernel as wide as the edges of the graph; one as wide as all rows cannot follow
            # clusters.
            local = edge_gamma(X, self.graph_) if self.kernel == "rbf" else None
            self.gamma_ = scale_gamma(X) if local is None else local
        labeled = np.flatnonzero(codes != UNLABELED)
        kernel = BaseKernel(self.kernel, self.gamma_, self.degree, self.coef0)
        self._deformation = deform(
            kernel,
            X,
            labeled,
            laplacian,
            self.gamma_i / (self.gamma_a * n**2),
            approximation=self.approximation,
            n_landmarks=int(self.n_landmarks),
            random_state=self.random_state,
        )
        n_classes = len(self.classes_)
        # Two classes need one function: the other is its negative.
        problems = [1] if n_classes == 2 else range(n_classes)
        signs = np.column_stack([np.where(codes[labeled] == c, 1.0, -1.0) for c in problems])
        weight = None if sample_weight is None else np.asarray(sample_weight, float)[labeled]
        beta, self.intercept_ = self._solve(self._deformation.gram, signs, weight)
        self.dual_coef_ = beta
        self._coefficients = self._deformation.expansion @ beta
        values = self._deformation.values(None, self._coefficients) + self.intercept_
        if self.prior is not None and (codes == UNLABELED).any():
            shift = self._balancing_shift(values[codes == UNLABELED], codes)
            self.intercept_ = self.intercept_ - shift
            values = values - shift
        self._store_transduction(_probabilities(values), given)
        return self

    def _balancing_shift(self, values: NDArray[Any], codes: NDArray[np.intp]) -> NDArray[Any]:
        """What to take from the functions so that the unlabeled rows have the class shares."""
        if isinstance(self.prior, str) and self.prior == "auto":
            self.class_proportions_ = estimate_proportions(self.graph_, codes, len(self.classes_))
            shares = self.class_proportions_.chosen
        else:
            shares = class_prior(self.prior, codes, self.classes_)
        if (shares == 0).any():
            raise ValueError(
                "prior gives a class the proportion 0, but that class has labeled rows: give "
                "every class a positive proportion."
            )
        if values.shape[1] > 1:
            return balancing_shifts(values, shares)[0]
        b, _ = balancing_shifts(np.hstack([-values, values]), shares)
        # One function f stands for the pair (-f, f): shifting it by s shifts the pair by (-s, s).
        return np.array([(b[1] - b[0]) / 2])

    def _laplacian(self, X: Any, codes: NDArray[np.intp]) -> Any:
        if self.graph is None and self.kernel == "precomputed":
            raise ValueError(
                "With kernel='precomputed' the graph cannot be built from X. Pass graph="
                "GivenGraph(W)."
            )
        builder = clone(KNNGraph() if self.graph is None else self.graph)
        self.graph_builder_ = builder.fit(X, codes)
        self.graph_ = self.graph_builder_.graph_
        if self.graph_.n_nodes != len(codes):
            raise ValueError(
                f"The graph has {self.graph_.n_nodes} nodes, but y has {len(codes)} rows."
            )
        return self.graph_.laplacian()

    def _solve(
        self, gram: NDArray[Any], signs: NDArray[Any], weight: NDArray[Any] | None
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        raise AssertionError(f"{type(self).__name__} must define _solve")

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the value of the learned function, one column a class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        check_magnitude(self, X)
        values = self._deformation.values(X, self._coefficients) + self.intercept_
        return values[:, 0] if values.shape[1] == 1 else values

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return class probabilities: the softmax of twice the learned functions.

        For two classes that is ``1 / (1 + exp(-2 f))``. They are ordered like the
        functions, but not calibrated.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        values = self.decision_function(X)
        return _probabilities(values[:, None] if values.ndim == 1 else values)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def used_codes(
    codes: NDArray[np.intp], sample_weight: Any, classes: NDArray[Any]
) -> NDArray[np.intp]:
    """Check the weights of rows, and take labeled rows of weight zero for unlabeled ones.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph_based._manifold import used_codes
    >>> used_codes(np.array([0, 1, 1, -1]), [2.5, 0.0, 1.5, 0.0], np.array([0, 1]))
    array([ 0, -1,  1, -1])
    """
    if sample_weight is None:
        return codes
    weight = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weight.shape != codes.shape:
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected {codes.shape}!")
    if (weight < 0).any():
        raise ValueError(f"Negative values in sample_weight: {float(weight.min()):g}.")
    used = np.where(weight > 0, codes, UNLABELED)
    lost = np.setdiff1d(codes, used)
    if len(lost):
        raise ValueError(
            f"sample_weight is zero for every labeled row of class {classes[lost[0]]!r}: nothing "
            "to learn that class from."
        )
    return np.asarray(used, dtype=codes.dtype)


def _probabilities(values: NDArray[Any]) -> NDArray[np.float64]:
    if values.shape[1] == 1:
        values = np.hstack([-values, values]) / 2
    return np.asarray(softmax(2.0 * values, axis=1))


class LaplacianRLSClassifier(_ManifoldClassifier):
    r"""Least squares that are smooth along a graph: LapRLS.

    Minimizes over functions of the kernel's space

    .. math:: \frac1l \sum_{i \le l} (y_i - f(x_i))^2 + \gamma_A \|f\|_K^2
              + \frac{\gamma_I}{n^2} f^\top L f

    where l rows of n are labeled (±1, one class against the rest) and L is the Laplacian of
    the graph [1]_. The function is defined everywhere, so that new rows need no neighbors.

    Parameters
    ----------
    gamma_a : float, default=1e-6
        γ_A, the weight of smoothness in the feature space.
    gamma_i : float, default=1e4
        γ_I, the weight of smoothness along the graph. With 0 this is kernel ridge regression
        on the labeled rows with ``alpha = gamma_a * n_labeled``.
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable, default="rbf"
    gamma : float, default=None
        Of the rbf and polynomial kernels. None makes an rbf kernel three times as wide as the
        median edge of the graph is long, ``1 / (18 * median |x_i - x_j|²)``, and is
        ``1 / (n_features * X.var())`` for a polynomial.
    degree : int, default=3
    coef0 : float, default=1.0
        Of the polynomial kernel.
    graph : graph builder, default=None
        None stands for ``KNNGraph()``.
    prior : {"auto", "labeled", "uniform"}, dict, array or None, default="auto"
        The expected class proportions, which the intercepts are then moved to meet among the
        unlabeled rows; ``"auto"`` estimates them, see :func:`estimate_proportions`. With one
        or two labels per class the functions are nearly flat, and without a prior (None) one
        class may take all rows.
    approximation : {"auto", "exact", "nystroem"}, default="auto"
        Exact needs the kernel of all pairs of rows. Beyond 5,000 rows ``"auto"`` represents
        them by ``n_landmarks`` rows, all labeled ones among them; a linear kernel works on
        its features instead.
    n_landmarks : int, default=1000
    random_state : int, RandomState instance or None, default=0
        Chooses the landmarks.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    graph_ : Graph
    gamma_ : float or None
    dual_coef_ : ndarray of shape (n_labeled, n_problems)
        Coefficients of the deformed kernel at the labeled rows.
    intercept_ : ndarray of shape (n_problems,)
        Moved to meet the prior; zero without one.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
    transduction_ : ndarray of shape (n_samples,)

    See Also
    --------
    LaplacianSVC : The same with the hinge loss.
    sklearn.kernel_ridge.KernelRidge : Without the graph.

    References
    ----------
    .. [1] M. Belkin, P. Niyogi and V. Sindhwani, "Manifold regularization: a geometric
       framework for learning from labeled and unlabeled examples", JMLR 7, 2006.

    Examples
    --------
    >>> from leaven.graph_based import LaplacianRLSClassifier
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
    >>> model = LaplacianRLSClassifier().fit(X, [0, -1, -1, -1, -1, 1])
    >>> model.predict([[1.5], [8.5]])
    array([0, 1])
    """

    def __init__(
        self,
        *,
        gamma_a: float = 1e-6,
        gamma_i: float = 1e4,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        graph: Any = None,
        prior: Any = "auto",
        approximation: str = "auto",
        n_landmarks: int = 1000,
        random_state: Any = 0,
    ) -> None:
        self.gamma_a = gamma_a
        self.gamma_i = gamma_i
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.graph = graph
        self.prior = prior
        self.approximation = approximation
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def _solve(
        self, gram: NDArray[Any], signs: NDArray[Any], weight: NDArray[Any] | None
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        if weight is not None:
            # With D² = W, (K + λ W⁻¹) β = y is (D K D + λ) u = D y for β = D u.
            root = np.sqrt(weight)[:, None]
            gram, signs = root * gram * root.T, root * signs
        ridge = self.gamma_a * (len(gram) if weight is None else float(weight.sum()))
        try:
            beta = solve(gram + ridge * np.eye(len(gram)), signs, assume_a="pos")
        except LinAlgError:
            # A stiff graph leaves eigenvalues that rounding makes negative; they are zero.
            values, vectors = eigh(gram)
            weights = 1.0 / (np.maximum(values, 0.0) + ridge)
            beta = vectors @ (weights[:, None] * (vectors.T @ signs))
        if weight is not None:
            beta = root * beta
        return beta, np.zeros(signs.shape[1])


class LaplacianSVC(_ManifoldClassifier):
    r"""A support vector machine that is smooth along a graph: LapSVM.

    The objective is that of :class:`LaplacianRLSClassifier` with the hinge loss
    ``max(0, 1 - y f)``, or its square, and an intercept [1]_. The solution is exact: a
    support vector machine on the labeled rows with the kernel that the graph has deformed.

    Parameters
    ----------
    gamma_a : float, default=1e-6
        γ_A. With ``gamma_i=0`` this is ``SVC(C=1 / (2 * gamma_a * n_labeled))``.
    gamma_i : float, default=1e4
        γ_I, the weight of smoothness along the graph.
    loss : {"hinge", "squared_hinge"}, default="hinge"
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable, default="rbf"
    gamma : float, default=None
    degree : int, default=3
    coef0 : float, default=1.0
    graph : graph builder, default=None
    prior : {"auto", "labeled", "uniform"}, dict, array or None, default="auto"
    approximation : {"auto", "exact", "nystroem"}, default="auto"
    n_landmarks : int, default=1000
    random_state : int, RandomState instance or None, default=0
        All as in :class:`LaplacianRLSClassifier`.
    tol : float, default=1e-4
        Of the hinge loss solver.
    max_iter : int, default=1000
        Of the squared hinge solver, whose steps are few.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    graph_ : Graph
    gamma_ : float or None
    dual_coef_ : ndarray of shape (n_labeled, n_problems)
        Coefficients of the deformed kernel at the labeled rows.
    intercept_ : ndarray of shape (n_problems,)
    n_iter_ : int
    converged_ : bool
    label_distributions_ : ndarray of shape (n_samples, n_classes)
    transduction_ : ndarray of shape (n_samples,)

    See Also
    --------
    LaplacianRLSClassifier : The same with the squared loss.

    References
    ----------
    .. [1] M. Belkin, P. Niyogi and V. Sindhwani, "Manifold regularization: a geometric
       framework for learning from labeled and unlabeled examples", JMLR 7, 2006.
    .. [2] S. Melacci and M. Belkin, "Laplacian support vector machines trained in the
       primal", JMLR 12, 2011.

    Examples
    --------
    >>> from leaven.graph_based import LaplacianSVC
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
    >>> LaplacianSVC().fit(X, [0, -1, -1, -1, -1, 1]).predict([[1.5], [8.5]])
    array([0, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_ManifoldClassifier._parameter_constraints,
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        gamma_a: float = 1e-6,
        gamma_i: float = 1e4,
        loss: str = "hinge",
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        graph: Any = None,
        prior: Any = "auto",
        approximation: str = "auto",
        n_landmarks: int = 1000,
        random_state: Any = 0,
        tol: float = 1e-4,
        max_iter: int = 1000,
    ) -> None:
        self.gamma_a = gamma_a
        self.gamma_i = gamma_i
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.graph = graph
        self.prior = prior
        self.approximation = approximation
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.tol = tol
        self.max_iter = max_iter

    def _solve(
        self, gram: NDArray[Any], signs: NDArray[Any], weight: NDArray[Any] | None
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        beta, intercept = np.zeros(signs.shape), np.zeros(signs.shape[1])
        n = len(signs) if weight is None else float(weight.sum())
        self.n_iter_, self.converged_ = 1, True
        for column, t in enumerate(signs.T):
            if self.loss == "hinge":
                # The mean hinge plus γ |f|² is LIBSVM's sum with this C.
                cost = 1.0 / (2.0 * self.gamma_a * n)
                most = max(LIBSVM_STEPS, 100 * len(t))
                machine = SVC(kernel="precomputed", C=cost, tol=self.tol, max_iter=most)
                machine.fit(gram, t, weight)
                beta[machine.support_, column] = machine.dual_coef_[0]
                intercept[column] = machine.intercept_[0]
                steps, done = int(np.max(machine.n_iter_)), machine.fit_status_ == 0
            else:
                beta[:, column], intercept[column], steps, done = squared_hinge_svm(
                    gram, t, self.gamma_a * n, weight, max_iter=int(self.max_iter)
                )
            self.n_iter_ = max(self.n_iter_, steps)
            self.converged_ = self.converged_ and done
        if not self.converged_:
            warnings.warn(
                f"LaplacianSVC did not converge in {self.n_iter_} iterations. Raise max_iter, "
                "or gamma_a.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return beta, intercept
