"""The semi-supervised (transductive) support vector machine."""

from __future__ import annotations

import logging
import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from leaven._compat import Interval, StrOptions
from leaven._labels import UNLABELED, class_prior
from leaven._magnitude import check_magnitude
from leaven.base import TransductionMixin
from leaven.exceptions import ConvergenceWarning
from leaven.low_density._annealing import solve_annealing
from leaven.low_density._branch_and_bound import solve_branch_and_bound
from leaven.low_density._continuation import solve_continuation
from leaven.low_density._gradient import solve_gradient
from leaven.low_density._kernels import (
    MAX_MAGNITUDE,
    check_gram_size,
    check_precomputed,
    kernel_matrix,
    nearest_kernel,
    resolve_gamma,
)
from leaven.low_density._margins import fair_counts, margin_probabilities, ratio_probabilities
from leaven.low_density._problem import S3VMProblem, S3VMResult
from leaven.low_density._refine import refine
from leaven.low_density._rows import DIRECT_LIMIT, Array, FeatureRows, GramRows, Rows
from leaven.low_density._switching import solve_switching

SOLVERS = ("switching", "annealing", "gradient", "continuation", "branch-and-bound")
KERNELS = ("linear", "rbf", "poly", "precomputed")


class TransductiveSVC(TransductionMixin, BaseEstimator):
    r"""Support vector machine whose margin avoids the unlabeled rows too (TSVM, S3VM).

    Among all labelings of the unlabeled rows with a given class ratio it looks for the one
    that the SVM separates best ([1]_; equations 2.47-2.50 of [2]_):

    .. math::

        \min_{w, b, y_u} \tfrac12 |w|^2 + C \sum_{i \le l} \max(0, 1 - y_i f(x_i))
        + C^* \sum_{i > l} \max(0, 1 - y_i f(x_i)), \qquad
        \tfrac1m \sum_{i > l} \max(0, y_i) = r

    with :math:`f(x) = \langle w, \phi(x) \rangle + b`. Where the ratio does not bind,
    :math:`y_i = \mathrm{sign} f(x_i)` and the last loss is :math:`\max(0, 1 - |f(x_i)|)`. The
    problem is not convex; five solvers of it are offered, and all report the same objective.
    With no unlabeled rows each is the SVM. The classifier is inductive: it predicts new rows.

    More than two classes are learned one against the rest, with ratios that sum to one.

    Parameters
    ----------
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable, default="linear"
        As in :class:`sklearn.svm.SVC`. The linear kernel never forms a kernel matrix, takes
        sparse rows, and serves data of any size; the others form the matrix of all rows. With
        ``"precomputed"``, ``X`` is that matrix. Negative eigenvalues of a matrix that is not a
        kernel are set to zero.
    C : float, default=1.0
        Cost of a labeled row.
    C_unlabeled : float, default=1.0
        Cost :math:`C^*` of an unlabeled row. Costs add up over rows: with many unlabeled rows
        for each labeled one a value near ``C * n_labeled / n_unlabeled`` is the better start.
        "annealing" needs it most. In the first, warm stages the unlabeled rows have no label
        yet, and if they outweigh the labels the machine forgets these.
    positive_fraction : float, array-like of shape (n_classes,), dict or None, default=None
        The fraction of the unlabeled rows in ``classes_[1]``, between 0 and 1; or one fraction
        a class, which sum to one, in the order of ``classes_`` or by name. None takes the
        fractions of the labeled rows.
    solver : str, default="switching"
        - "switching": S3VM-light [3]_, exchange of labels while :math:`C^*` grows from
          :math:`10^{-5} C^*` by 1.5. The fastest on large sparse data.
        - "annealing": deterministic annealing [4]_ of soft labels, from ``T = 10 C*`` down
          by 1.5 until their entropy is below 1e-6.
        - "gradient": ∇S3VM [5]_, L-BFGS with the smooth loss ``exp(-5 f²)`` while
          :math:`C^*` grows.
        - "continuation": L-BFGS on the objective smoothed by a Gaussian that narrows [6]_.
        - "branch-and-bound": the global optimum [7]_, for some thirty unlabeled rows.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the kernels "rbf" and "poly", as in :class:`sklearn.svm.SVC`.
    degree : float, default=3
        Degree of the kernel "poly".
    coef0 : float, default=0.0
        Constant of the kernel "poly".
    tol : float or None, default=None
        Largest duality gap of the last SVM, relative to its objective; those before it are
        solved to its square root. None is 1e-9, or 1e-4 for a linear kernel with more than 800
        rows and features (1e-5 at least with float32 data).
    max_iter : int, default=1000
        Largest number of iterations at each stage of a solver.
    max_nodes : int, default=20000
        Largest number of nodes of branch-and-bound, for each class.
    refine : bool, default=True
        Whether a local search over pairs of labels follows the solver where at most 100 rows
        are unlabeled. Without it the answer is that of the solver alone, as its source has it.
        Branch-and-bound always uses it, for its first bound.
    verbose : int, default=0
        With 1, a line per stage goes to the logger ``leaven``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
        The given labels, and those found for the unlabeled rows. With two classes these hold
        the class ratio to one row.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        With ``solver="annealing"`` and two classes, the soft labels at the last temperature,
        whose mean is the class ratio; else as by ``predict_proba``.
    objective_ : float or ndarray of shape (n_classes,)
        The objective above at the fitted ``(w, b)``, with the best labels of that ratio: the
        same function of ``(w, b)`` for every solver. An array, one value per class, with more
        than two classes.
    sign_objective_ : float or ndarray of shape (n_classes,)
        The same with ``max(0, 1 - |f|)`` for the unlabeled rows, whatever the ratio of the
        signs; equal to ``objective_`` where the signs hold the ratio.
    is_proven_optimal_ : bool
        Whether ``objective_`` is proven to be the global minimum.
    positive_fraction_ : float or ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Only with the linear kernel.
    intercept_ : ndarray of shape (1,) or (n_classes,)
    support_ : ndarray of shape (n_support,)
        Training rows with a coefficient that is not zero; not with the linear kernel.
    dual_coef_ : ndarray of shape (1, n_support) or (n_classes, n_support)
        Their coefficients; not with the linear kernel.
    n_iter_ : int or ndarray of shape (n_classes,)
        Iterations, or nodes of branch-and-bound.
    converged_ : bool
    objective_trace_ : list
        The objective after each stage (of the smooth stand-in, for the stages of "gradient"
        and "continuation"); with more than two classes, a list of such lists.

    See Also
    --------
    sklearn.svm.SVC : The supervised machine.
    EntropyRegularizedLogisticRegression : Low density separation with probabilities.
    leaven.graph_based.LaplacianSVC : Unlabeled rows as a graph.

    Notes
    -----
    ``predict_proba`` maps margins to probabilities by a fixed monotone map, not by a fit:
    ``P(k) ∝ exp((hinge(-f_k) - hinge(f_k)) / 2)``, which is logistic in ``2f`` inside the margin
    and in ``f`` outside. It orders rows well and is 1/2 at the boundary, but is not calibrated.

    With at most 100 unlabeled rows every solver but branch-and-bound ends with a local search
    that exchanges pairs of labels and trains for each; see the user guide.

    The inner SVM is solved by the method of multipliers with semismooth Newton steps, which can
    start from the solution before it; on kernel matrices of 150 rows or more LIBSVM gives the
    first start. The kernel matrix may take 4 GiB (about 23,000 rows).

    References
    ----------
    .. [1] V. Vapnik, "Statistical Learning Theory", Wiley, 1998.
    .. [2] A. A. Saeed, "Empirical Evaluation of Semi-Supervised Naïve Bayes for Active
       Learning", PhD thesis, University of East Anglia, 2018, section 2.2.5.
    .. [3] T. Joachims, "Transductive inference for text classification using support vector
       machines", ICML 1999.
    .. [4] V. Sindhwani, S. S. Keerthi and O. Chapelle, "Deterministic annealing for
       semi-supervised kernel machines", ICML 2006.
    .. [5] O. Chapelle and A. Zien, "Semi-supervised classification by low density
       separation", AISTATS 2005.
    .. [6] O. Chapelle, M. Chi and A. Zien, "A continuation method for semi-supervised SVMs",
       ICML 2006.
    .. [7] O. Chapelle, V. Sindhwani and S. S. Keerthi, "Branch and bound for semi-supervised
       support vector machines", NIPS 2006.

    Examples
    --------
    >>> from leaven.low_density import TransductiveSVC
    >>> X = [[0.0], [0.3], [0.6], [2.2], [2.6], [3.0]]
    >>> y = [0, -1, -1, -1, -1, 1]
    >>> machine = TransductiveSVC(C=10.0).fit(X, y)
    >>> machine.transduction_
    array([0, 0, 0, 1, 1, 1])
    >>> round(float(-machine.intercept_[0] / machine.coef_[0, 0]), 3)
    1.4
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(KERNELS)), callable],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "C_unlabeled": [Interval(Real, 0.0, None, closed="neither")],
        "positive_fraction": [None, Interval(Real, 0.0, 1.0, closed="neither"), "array-like", dict],
        "solver": [StrOptions(set(SOLVERS))],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="neither")],
        "degree": [Interval(Real, 0.0, None, closed="neither")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "tol": [None, Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_nodes": [Interval(Integral, 1, None, closed="left")],
        "refine": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        kernel: Any = "linear",
        C: float = 1.0,
        C_unlabeled: float = 1.0,
        positive_fraction: Any = None,
        solver: str = "switching",
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        tol: float | None = None,
        max_iter: int = 1000,
        max_nodes: int = 20_000,
        refine: bool = True,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.C_unlabeled = C_unlabeled
        self.positive_fraction = positive_fraction
        self.solver = solver
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.max_nodes = max_nodes
        self.refine = refine
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def fit(self, X: Any, y: Any) -> TransductiveSVC:
        """Fit on rows of which some are labeled.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The square kernel matrix with ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            -1 in integers, or None, NaN or pandas.NA, where a row is unlabeled.

        Returns
        -------
        self : TransductiveSVC
        """
        X, codes = self._validate_fit(X, y, **self._check_options())
        if self.kernel == "precomputed":
            check_precomputed(X)
        n_classes = len(self.classes_)
        fractions = self._fractions(codes)
        unlabeled = codes == UNLABELED
        check_magnitude(self, X, MAX_MAGNITUDE)
        rows = self._rows(X)
        tol = self._tolerance(X)
        problems = [
            S3VMProblem(
                rows,
                np.where(unlabeled, 0.0, np.where(codes == k, 1.0, -1.0)),
                float(self.C),
                float(self.C_unlabeled),
                float(fractions[k]),
                0,
                logging.INFO if self.verbose else logging.DEBUG,
            )
            for k in (range(n_classes) if n_classes > 2 else [1])
        ]
        counts = fair_counts(problems, fractions, tol)
        problems = [
            replace(problem, n_positive=int(count))
            for problem, count in zip(problems, counts[-len(problems) :], strict=True)
        ]
        results = [self._solve(problem, tol) for problem in problems]
        self._store_machines(X, results)
        self._store_reports(problems, results, fractions)
        scores = np.column_stack([result.solution.scores for result in results])
        self._store_transduction(self._distributions(scores, unlabeled, results), codes)
        return self

    def decision_function(self, X: Any) -> Array:
        """Signed distance to the boundary in units of the margin.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            With ``kernel="precomputed"``, kernel values between these rows and the training
            rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            One column for two classes, positive for ``classes_[1]``; else one column per class.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **self._check_options())
        if self.kernel == "linear":
            scores = np.asarray(X @ self.coef_.T)
        else:
            if self.kernel == "precomputed":
                K = X[:, self.support_]
            else:
                K = self._kernel_matrix(X, self._support_rows)
            scores = K @ self.dual_coef_.T
        scores = np.asarray(scores + self.intercept_, dtype=np.float64)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities by a monotone map of the margins; see Notes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Rows sum to one.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([-scores, scores])
        return margin_probabilities(scores)

    def _check_options(self) -> dict[str, Any]:
        sparse_kinds: Any = False if self.kernel == "precomputed" else "csr"
        return {"accept_sparse": sparse_kinds, "dtype": [np.float64, np.float32]}

    def _fractions(self, codes: NDArray[np.intp]) -> Array:
        """One fraction a class, from the parameter or from the labeled rows."""
        given = self.positive_fraction
        if given is None:
            return class_prior("labeled", codes, self.classes_, smoothing=0.0)
        if np.ndim(given) == 0 and not isinstance(given, dict):
            if len(self.classes_) != 2:
                raise ValueError(
                    f"positive_fraction={given} is one number, but y holds "
                    f"{len(self.classes_)} classes: give one fraction for each of "
                    f"{self.classes_.tolist()}, or None for those of the labeled rows."
                )
            return np.array([1.0 - given, given])
        try:
            fractions = class_prior(given, codes, self.classes_)
        except ValueError as error:
            raise ValueError(f"positive_fraction: {error}") from error
        if (fractions <= 0).any():
            raise ValueError(
                "positive_fraction must be above 0 and below 1 for every class, but it is "
                f"{fractions.tolist()}. Leave a class that has no unlabeled rows out of y."
            )
        return fractions

    def _rows(self, X: Any) -> Rows:
        if self.kernel == "linear":
            if self.solver == "branch-and-bound":
                check_gram_size(X.shape[0])
            return FeatureRows(X)
        check_gram_size(X.shape[0])
        if self.kernel == "precomputed":
            K = np.asarray(X, dtype=np.float64)
        else:
            self._gamma = resolve_gamma(self.gamma, X)
            K = self._kernel_matrix(X, X)
        K, self._projection = nearest_kernel(0.5 * (K + K.T))
        return GramRows(K)

    def _kernel_matrix(self, X: Any, Y: Any) -> Array:
        return kernel_matrix(
            X, Y, self.kernel, gamma=self._gamma, degree=self.degree, coef0=self.coef0
        )

    def _tolerance(self, X: Any) -> float:
        tol = self.tol
        if tol is None:
            large = self.kernel == "linear" and min(X.shape) > DIRECT_LIMIT
            tol = 1e-4 if large else 1e-9
        if self.kernel == "linear" and X.dtype == np.float32:
            tol = max(tol, 1e-5)  # scores in single precision do not carry more
        return float(tol)

    def _solve(self, problem: S3VMProblem, tol: float) -> S3VMResult:
        if not len(problem.unlabeled):
            solution = problem.supervised(tol)
            value = problem.objective(solution)
            return S3VMResult(solution, np.empty(0), 1, solution.converged, [value], proven=True)
        if self.solver == "branch-and-bound":
            return solve_branch_and_bound(
                problem, tol=tol, max_iter=self.max_iter, max_nodes=self.max_nodes
            )
        solve = {
            "switching": solve_switching,
            "annealing": solve_annealing,
            "gradient": solve_gradient,
            "continuation": solve_continuation,
        }[self.solver]
        result = solve(problem, tol=tol, max_iter=self.max_iter)
        return refine(problem, result, tol=tol) if self.refine else result

    def _store_machines(self, X: Any, results: list[S3VMResult]) -> None:
        self.intercept_ = np.array([result.solution.bias for result in results])
        weights = np.vstack([result.solution.vector[0] for result in results])
        if self.kernel == "linear":
            self.coef_ = weights
            return
        if self._projection is not None:
            weights = weights @ self._projection
        del self._projection
        self.support_ = np.flatnonzero((weights != 0).any(axis=0))
        self.dual_coef_ = weights[:, self.support_]
        if self.kernel != "precomputed":
            self._support_rows = X[self.support_]

    def _store_reports(
        self, problems: list[S3VMProblem], results: list[S3VMResult], fractions: Array
    ) -> None:
        pairs = list(zip(problems, results, strict=True))
        values = np.array([problem.objective(result.solution) for problem, result in pairs])
        signs = np.array([problem.sign_objective(result.solution) for problem, result in pairs])
        iterations = np.array([max(result.n_iter, 1) for result in results])
        self.is_proven_optimal_ = all(result.proven for result in results)
        self.converged_ = all(result.converged for result in results)
        if len(results) == 1:
            self.objective_, self.sign_objective_ = float(values[0]), float(signs[0])
            self.n_iter_: Any = int(iterations[0])
            self.positive_fraction_: Any = float(fractions[1])
            self.objective_trace_: list[Any] = results[0].trace
        else:
            self.objective_, self.sign_objective_ = values, signs  # type: ignore[assignment]
            self.n_iter_ = iterations
            self.positive_fraction_ = fractions
            self.objective_trace_ = [result.trace for result in results]
        if self.solver == "branch-and-bound" and not self.is_proven_optimal_:
            warnings.warn(
                f"branch-and-bound stopped after max_nodes={self.max_nodes} nodes: the result is "
                "the best labeling found, not proven to be the optimum. Raise max_nodes, or use "
                "solver='annealing' for data of this size.",
                ConvergenceWarning,
                stacklevel=3,
            )
        elif not self.converged_:
            warnings.warn(
                f"solver='{self.solver}' did not converge within max_iter={self.max_iter} "
                "iterations per stage. Scale the features, raise max_iter, or raise tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _distributions(
        self, scores: Array, unlabeled: NDArray[np.bool_], results: list[S3VMResult]
    ) -> Array:
        """Class probabilities of the training rows."""
        if len(results) > 1:
            return margin_probabilities(scores)
        distributions = margin_probabilities(np.column_stack([-scores[:, 0], scores[:, 0]]))
        result = results[0]
        if len(result.labels):
            p = result.probabilities
            if p is None:
                p = ratio_probabilities(scores[unlabeled, 0], result.labels)
            distributions[unlabeled] = np.column_stack([1.0 - p, p])
        return distributions
