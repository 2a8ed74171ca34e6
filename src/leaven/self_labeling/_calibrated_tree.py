"""Decision trees whose leaves give calibrated probabilities, for self-training."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from leaven._compat import Interval, StrOptions, validate_params_of
from leaven._dask import takes_dask


def corrected_shares(
    counts: NDArray[np.float64], smoothing: float, prior: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return ``(n_c + m C p_c) / (n + m C)`` for the class counts of each leaf.

    With equal proportions p and m = 1 that is the Laplace correction ``(n_c + 1) / (n + C)``;
    with others it is the m-estimate.

    Parameters
    ----------
    counts : ndarray of shape (n_leaves, n_classes)
    smoothing : float
        m, in rows per class.
    prior : ndarray of shape (n_classes,)
        p.

    Returns
    -------
    ndarray of shape (n_leaves, n_classes)

    Examples
    --------
    A leaf with three rows and one with thirty, all of one class, are not equally certain:

    >>> import numpy as np
    >>> from leaven.self_labeling._calibrated_tree import corrected_shares
    >>> corrected_shares(np.array([[3.0, 0.0], [30.0, 0.0]]), 1.0, np.full(2, 0.5))
    array([[0.8    , 0.2    ],
           [0.96875, 0.03125]])
    """
    extra = smoothing * counts.shape[1] * prior
    total = counts.sum(axis=1, keepdims=True) + extra.sum()
    return np.asarray((counts + extra) / total)


class CalibratedTreeClassifier(ClassifierMixin, BaseEstimator):
    r"""Decision tree without pruning, with the Laplace correction in its leaves.

    The leaves of a full tree are pure, so that all its answers have probability one and
    self-training cannot tell which of them to trust. With the Laplace correction,

    .. math:: P(c \mid x) = \frac{n_c + m}{n + m C} ,

    a large leaf is more certain than a small one, and self-training with trees improves on the
    tree alone [1]_ [2]_. It is a supervised classifier, made to be wrapped by
    :class:`SelfTrainingClassifier`, :class:`CoTrainingClassifier` and the like.

    Parameters
    ----------
    smoothing : float, default=1.0
        m: rows of each class that are added to a leaf; 1 is the Laplace correction, 0 the plain
        tree.
    prior : {"uniform", "labeled"}, default="uniform"
        In which proportions rows are added: equal ones, or those of the training rows (the
        m-estimate), which suits rare classes.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
    min_samples_leaf : int, default=1
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        As in :class:`sklearn.tree.DecisionTreeClassifier`.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimator_ : DecisionTreeClassifier
        The tree.
    leaf_shares_ : ndarray of shape (n_nodes, n_classes)
        The corrected probabilities of each node of the tree.

    See Also
    --------
    SelfTrainingClassifier : What it is for.
    sklearn.calibration.CalibratedClassifierCV : Calibrates any classifier, given enough labels
        to hold some out.

    References
    ----------
    .. [1] J. Tanha, M. van Someren and H. Afsarmanesh, "Semi-supervised self-training for
       decision tree classifiers", International Journal of Machine Learning and Cybernetics 8,
       2017.
    .. [2] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, section 2.2.1.
    .. [3] F. Provost and P. Domingos, "Tree induction for probability-based ranking", Machine
       Learning 52, 2003.

    Examples
    --------
    >>> from leaven.self_labeling import CalibratedTreeClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [9.0]], ["a", "a", "a", "b"]
    >>> CalibratedTreeClassifier().fit(X, y).predict_proba([[0.5], [8.0]])
    array([[0.8       , 0.2       ],
           [0.33333333, 0.66666667]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "smoothing": [Interval(Real, 0, None, closed="left")],
        "prior": [StrOptions({"uniform", "labeled"})],
        "criterion": [StrOptions({"gini", "entropy", "log_loss"})],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "max_features": [Integral, Real, StrOptions({"sqrt", "log2"}), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        smoothing: float = 1.0,
        prior: str = "uniform",
        criterion: str = "gini",
        min_samples_leaf: int = 1,
        max_features: Any = None,
        random_state: Any = None,
    ) -> None:
        self.smoothing = smoothing
        self.prior = prior
        self.criterion = criterion
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CalibratedTreeClassifier:
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            A label for every row.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        validate_params_of(self)
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        self.estimator_ = DecisionTreeClassifier(
            criterion=self.criterion,
            min_samples_leaf=self.min_samples_leaf,
            max_features=self.max_features,
            random_state=self.random_state,
        ).fit(X, y, sample_weight=sample_weight)
        self.classes_ = self.estimator_.classes_
        tree = self.estimator_.tree_
        shares = tree.value[:, 0, :]
        shares = shares / shares.sum(axis=1, keepdims=True)  # counts in scikit-learn before 1.3
        counts = shares * tree.weighted_n_node_samples[:, None]
        n_classes = counts.shape[1]
        prior = np.full(n_classes, 1.0 / n_classes) if self.prior == "uniform" else shares[0]
        self.leaf_shares_ = corrected_shares(counts, float(self.smoothing), prior)
        return self

    @takes_dask
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the corrected class shares of the leaf of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return np.asarray(self.leaf_shares_[self.estimator_.apply(X)])

    @takes_dask
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])
