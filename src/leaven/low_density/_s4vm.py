"""S4VM: safe semi-supervised support vector machines (Li and Zhou, 2015)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import optimize
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from leaven._compat import Interval, StrOptions
from leaven._labels import UNLABELED
from leaven._magnitude import check_magnitude
from leaven.base import TransductionMixin
from leaven.low_density._kernels import (
    MAX_MAGNITUDE,
    check_gram_size,
    kernel_matrix,
    resolve_gamma,
)
from leaven.low_density._margins import margin_probabilities
from leaven.low_density._problem import S3VMProblem, top_labels
from leaven.low_density._rows import Array, FeatureRows, GramRows, Rows
from leaven.low_density._switching import descend
from leaven.solvers import LIBSVM_STEPS

# Of the separators that are only candidates; libsvm stops at the same.
_SVM_TOLERANCE = 1e-3


def gains(labels: Array, separators: Array, baseline: Array, risk: float) -> Array:
    """Earn minus ``risk`` times lose, of a labeling if each separator in turn were the truth.

    With ``y`` the labeling, ``ŷ_t`` the separator taken for the truth and ``y_svm`` the
    supervised labels, equation (6) of the source:

    ``earn = Σ_i [y_i = ŷ_ti ≠ y_svm,i]``, ``lose = Σ_i [y_i ≠ ŷ_ti = y_svm,i]``

    as linear functions of ``y`` in [-1, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.low_density._s4vm import gains
    >>> truth, svm = np.array([[1.0, 1.0, -1.0]]), np.array([1.0, -1.0, -1.0])
    >>> gains(np.array([-1.0, 1.0, -1.0]), truth, svm, risk=3.0)
    array([-2.])
    """
    slopes, constants = _linear_gains(separators, baseline, risk)
    return np.asarray(slopes @ labels + constants)


def _linear_gains(separators: Array, baseline: Array, risk: float) -> tuple[Array, Array]:
    slopes = ((1.0 + risk) * separators + (risk - 1.0) * baseline) / 4.0
    agreement = (separators * baseline).sum(axis=1)
    constants = ((1.0 - risk) * len(baseline) - (1.0 + risk) * agreement) / 4.0
    return slopes, constants


def safe_labels(separators: Array, baseline: Array, risk: float) -> Array:
    """Choose the labels whose worst gain over the separators is largest.

    Solves the convex relaxation ``max_{y in [-1, 1]^u} min_t c_t'y + d_t`` as a linear
    program and rounds. If the rounded labels lose in the worst case, the baseline, which never
    loses, is kept.

    Parameters
    ----------
    separators : array of shape (n_separators, n_unlabeled)
        +1 or -1.
    baseline : array of shape (n_unlabeled,)
        The labels of the supervised machine.
    risk : float
        How many rows that become right make up for one that becomes wrong.

    Returns
    -------
    labels : array of shape (n_unlabeled,)
    """
    n_separators, n = separators.shape
    slopes, constants = _linear_gains(separators, baseline, risk)
    # Variables y_1 .. y_n and the worst gain, which is to be largest.
    found = optimize.linprog(
        np.r_[np.zeros(n), -1.0],
        A_ub=np.column_stack([-slopes, np.ones(n_separators)]),
        b_ub=constants,
        bounds=[(-1.0, 1.0)] * n + [(None, None)],
        method="highs",
    )
    labels = np.where(found.x[:n] > 0, 1.0, np.where(found.x[:n] < 0, -1.0, baseline))
    return labels if gains(labels, separators, baseline, risk).min() > 0 else baseline.copy()


def diverse_separators(
    problem: S3VMProblem, n_starts: int, n_separators: int, rng: np.random.RandomState
) -> Array:
    """Find labelings of low density that differ: local searches from random labels.

    Of the ends of all searches, those that are alike form a cluster (k-means on the labels),
    and the one with the smallest objective stands for it, as in section 3.2 of the source.
    """
    start = problem.supervised(_SVM_TOLERANCE)
    labels, values = [], []
    for number in range(n_starts):
        scores = start.scores[problem.unlabeled]
        if number:  # the first search starts at the supervised labels
            scores = rng.normal(size=len(scores))
        solution, found, *_ = descend(
            problem, top_labels(scores, problem.n_positive), start, tol=_SVM_TOLERANCE
        )
        labels.append(found)
        values.append(problem.objective(solution))
    distinct, first = np.unique(np.array(labels), axis=0, return_index=True)
    objective = np.array(values)[first]
    if len(distinct) <= n_separators:
        return np.asarray(distinct)
    seed = int(rng.randint(np.iinfo(np.int32).max))
    cluster = KMeans(n_separators, n_init=5, random_state=seed).fit_predict(distinct)
    best = [
        int(np.flatnonzero(cluster == k)[objective[cluster == k].argmin()])
        for k in np.unique(cluster)
    ]
    return np.asarray(distinct[best])


class S4VM(TransductionMixin, BaseEstimator):
    """Safe semi-supervised support vector machine.

    Several separators of low density fit the same few labels, and they disagree. Whichever of
    them is the truth, the labels that are chosen should not be worse than those of the
    supervised machine: the gain in the worst case is maximized [1]_. If all separators would
    lose, the supervised labels stay.

    Parameters
    ----------
    kernel : {"linear", "rbf"}, default="linear"
    C : float, default=1.0
        Cost of a labeled row.
    C_unlabeled : float, default=0.1
        Cost of an unlabeled row in the search for separators.
    gamma : float or {"scale", "auto"}, default="scale"
        Of the kernel "rbf".
    risk : float, default=3.0
        How many rows that become right make up for one that becomes wrong; the value of [1]_.
    n_starts : int, default=30
        Local searches, each from random labels.
    n_separators : int, default=10
        Separators that are kept of them, the value of [1]_.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    separators_ : ndarray of shape (n_found, n_unlabeled)
        The labels that each separator gives, as codes of ``classes_``.
    worst_gain_ : float
        The smallest gain over the separators; 0 where the supervised labels were kept.
    estimator_ : SVC
        Trained on all rows with the chosen labels; labels new rows.
    transduction_ : ndarray of shape (n_samples,)
    label_distributions_ : ndarray of shape (n_samples, 2)

    See Also
    --------
    TransductiveSVC : The best separator alone.
    ImplicitlyConstrainedLeastSquares : Safe without an assumption on the density.

    Notes
    -----
    The guarantee is relative to the separators found: it holds if one of them is the truth.
    The share of positive rows is that of the labels. A local search costs a few trainings.

    References
    ----------
    .. [1] Y.-F. Li and Z.-H. Zhou, "Towards making unlabeled data never hurt", IEEE
       Transactions on Pattern Analysis and Machine Intelligence 37(1), 2015.

    Examples
    --------
    >>> from leaven.low_density import S4VM
    >>> X = [[0.0], [0.5], [1.0], [4.0], [4.5], [5.0]]
    >>> y = ["low", None, None, None, None, "high"]
    >>> S4VM(random_state=0).fit(X, y).transduction_.tolist()
    ['low', 'low', 'low', 'high', 'high', 'high']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions({"linear", "rbf"})],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "C_unlabeled": [Interval(Real, 0.0, None, closed="neither")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="neither")],
        "risk": [Interval(Real, 0.0, None, closed="left")],
        "n_starts": [Interval(Integral, 1, None, closed="left")],
        "n_separators": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        kernel: str = "linear",
        C: float = 1.0,
        C_unlabeled: float = 0.1,
        gamma: Any = "scale",
        risk: float = 3.0,
        n_starts: int = 30,
        n_separators: int = 10,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.C_unlabeled = C_unlabeled
        self.gamma = gamma
        self.risk = risk
        self.n_starts = n_starts
        self.n_separators = n_separators
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> S4VM:
        """Fit on rows of which some are labeled.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two classes; -1 in integers, or None, NaN or pandas.NA, where a row is unlabeled.

        Returns
        -------
        self
        """
        X, codes = self._validate_fit(X, y, dtype=np.float64)
        if len(self.classes_) != 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"y holds {len(self.classes_)} classes. Wrap S4VM into OneVsRestClassifier on "
                "labeled rows, or use TransductiveSVC."
            )
        check_magnitude(self, X, MAX_MAGNITUDE)
        rng = check_random_state(self.random_state)
        labeled = codes != UNLABELED
        gamma = resolve_gamma(self.gamma, X) if self.kernel == "rbf" else "scale"
        svc = SVC(C=self.C, kernel=self.kernel, gamma=gamma, max_iter=LIBSVM_STEPS)
        svc.fit(X[labeled], codes[labeled])
        chosen = codes.copy()
        self.worst_gain_ = 0.0
        self.separators_: NDArray[np.intp] = np.empty((0, 0), dtype=np.intp)
        if not labeled.all():
            baseline = np.where(svc.predict(X[~labeled]) == 1, 1.0, -1.0)
            problem = self._problem(X, codes, gamma)
            found = diverse_separators(problem, self.n_starts, self.n_separators, rng)
            labels = safe_labels(found, baseline, self.risk)
            self.worst_gain_ = float(gains(labels, found, baseline, self.risk).min())
            self.worst_gain_ = max(self.worst_gain_, 0.0)
            self.separators_ = (found > 0).astype(np.intp)
            chosen[~labeled] = (labels > 0).astype(np.intp)
        self.estimator_ = svc.fit(X, self.classes_[chosen])
        distributions = self._probabilities(X)
        # The chosen label stays even where the machine trained on all of them disagrees.
        wrong = distributions.argmax(axis=1) != chosen
        distributions[wrong] = 0.5 + np.where(np.arange(2) == chosen[wrong, None], 1e-6, -1e-6)
        self._store_transduction(distributions, codes)
        return self

    def _problem(self, X: Array, codes: NDArray[np.intp], gamma: Any) -> S3VMProblem:
        rows: Rows = FeatureRows(X)
        if self.kernel == "rbf":
            check_gram_size(len(X))
            rows = GramRows(kernel_matrix(X, X, "rbf", gamma=gamma, degree=3, coef0=0.0))
        signs = np.where(codes == UNLABELED, 0.0, np.where(codes == 1, 1.0, -1.0))
        fraction = float(np.mean(codes[codes != UNLABELED] == 1))
        n_unlabeled = int((codes == UNLABELED).sum())
        n_positive = int(np.clip(round(fraction * n_unlabeled), 0, n_unlabeled))
        return S3VMProblem(rows, signs, self.C, self.C_unlabeled, fraction, n_positive)

    def _probabilities(self, X: Array) -> Array:
        scores = self.estimator_.decision_function(X)
        return margin_probabilities(np.column_stack([-scores, scores]))

    def predict_proba(self, X: Any) -> Array:
        """Return a logistic function of the margin, which is not calibrated.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        proba : ndarray of shape (n_samples, 2)
        """
        check_is_fitted(self)
        return self._probabilities(validate_data(self, X, reset=False, dtype=np.float64))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
