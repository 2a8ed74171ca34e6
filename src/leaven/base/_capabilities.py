"""What an estimator can do, whatever it is wrapped in."""

from __future__ import annotations

from typing import Any

from sklearn.feature_selection import RFE
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline

# The attribute by which a class says whether its fit makes use of unlabeled rows.
_DECLARED = "learns_from_unlabeled"


def learns_from_unlabeled(estimator: Any) -> bool:
    """Whether ``fit`` of an estimator makes use of rows that are marked as unlabeled.

    Where it does not, only the labeled rows belong into ``fit``. Decided in this order:

    1. a frozen estimator (:class:`sklearn.frozen.FrozenEstimator`) learns nothing;
    2. an attribute ``learns_from_unlabeled`` of the class or of the object, which is True for
       the classifiers of leaven, decides; set it in a class of your own;
    3. a pipeline is what its last step is, a parameter search or recursive feature elimination
       what its estimator is: these hand ``y`` on as it came;
    4. the classifiers of :mod:`sklearn.semi_supervised` do;
    5. an object that carries ``transduction_`` after ``fit`` does;
    6. everything else does not. Calibration, bagging, voting, stacking, one-vs-rest and
       threshold tuning number the labels themselves and would take -1 for one more class, also
       where the estimator inside would not.

    Parameters
    ----------
    estimator : estimator
        Fitted or not.

    Returns
    -------
    bool

    Examples
    --------
    >>> from sklearn.calibration import CalibratedClassifierCV
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from leaven.base import learns_from_unlabeled
    >>> from leaven.graph_based import HarmonicClassifier
    >>> harmonic = HarmonicClassifier()
    >>> learns_from_unlabeled(make_pipeline(StandardScaler(), harmonic))
    True
    >>> learns_from_unlabeled(CalibratedClassifierCV(harmonic))
    False
    """
    # A frozen estimator answers with the attributes of what it holds: ask it first.
    if isinstance(estimator, FrozenEstimator):
        return False
    declared = getattr(estimator, _DECLARED, None)
    if declared is not None:
        if not isinstance(declared, bool):
            raise TypeError(
                f"{type(estimator).__name__}.{_DECLARED} must be True or False, got {declared!r}."
            )
        return declared
    if isinstance(estimator, Pipeline):
        return learns_from_unlabeled(estimator.steps[-1][1])
    if _is_search(estimator) or isinstance(estimator, RFE):
        return learns_from_unlabeled(estimator.estimator)
    return _is_of_sklearn(estimator) or hasattr(estimator, "transduction_")


def needs_integer_labels(estimator: Any) -> bool:
    """Whether -1 among integers is the only mark of an unlabeled row that ``fit`` knows.

    True of the classifiers of :mod:`sklearn.semi_supervised`, also at the end of a pipeline or
    inside a search: give them class numbers, and translate the answer. A class of your own says
    so by an attribute ``needs_integer_labels``.

    Parameters
    ----------
    estimator : estimator

    Returns
    -------
    bool

    Examples
    --------
    >>> from sklearn.semi_supervised import LabelSpreading
    >>> from leaven.base import needs_integer_labels
    >>> from leaven.graph_based import HarmonicClassifier
    >>> needs_integer_labels(LabelSpreading()), needs_integer_labels(HarmonicClassifier())
    (True, False)
    """
    last = final_step(estimator)
    return bool(getattr(last, "needs_integer_labels", False)) or _is_of_sklearn(last)


def final_step(estimator: Any) -> Any:
    """Return the estimator that decides at the end of pipelines, searches and frozen wrappers.

    Of a pipeline, also a nested one, it is the last step; of a parameter search the best
    estimator if it is fitted, and the one to be tuned otherwise; of a frozen estimator the one
    inside. Wrappers that combine several fits, such as calibration and bagging, are themselves
    what decides.

    Parameters
    ----------
    estimator : estimator
        Fitted or not.

    Returns
    -------
    estimator

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MaxAbsScaler, StandardScaler
    >>> from sklearn.svm import SVC
    >>> from leaven.base import final_step
    >>> final_step(make_pipeline(MaxAbsScaler(), make_pipeline(StandardScaler(), SVC())))
    SVC()
    """
    while True:
        inner = _inside(estimator)
        if inner is estimator:
            return estimator
        estimator = inner


def rows_of_final_step(estimator: Any, X: Any) -> Any:
    """Return the rows as :func:`final_step` of a fitted estimator sees them.

    Parameters
    ----------
    estimator : fitted estimator
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

    Returns
    -------
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_transformed_features)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from leaven.base import rows_of_final_step
    >>> X = np.array([[2.0], [4.0], [10.0]])
    >>> model = make_pipeline(MinMaxScaler(), GaussianNB()).fit(X, [0, 1, 1])
    >>> rows_of_final_step(model, X).ravel()
    array([0.  , 0.25, 1.  ])
    """
    while True:
        inner = _inside(estimator)
        if inner is estimator:
            return X
        if isinstance(estimator, Pipeline) and len(estimator.steps) > 1:
            X = estimator[:-1].transform(X)
        estimator = inner


def _inside(estimator: Any) -> Any:
    """The estimator one wrapper further in, or the estimator itself."""
    if isinstance(estimator, FrozenEstimator):
        return estimator.estimator
    if isinstance(estimator, Pipeline):
        return estimator.steps[-1][1]
    if _is_search(estimator):
        return getattr(estimator, "best_estimator_", estimator.estimator)
    return estimator


def _is_search(estimator: Any) -> bool:
    """Whether this is a search over parameters, of scikit-learn or of the same shape.

    Threshold tuning has the same parameters, but numbers the labels itself, and so do not the
    feature selections, which are no searches either: their ``fit`` keeps ``support_``.
    """
    return (
        hasattr(estimator, "estimator")
        and hasattr(estimator, "cv")
        and hasattr(estimator, "scoring")
        and not isinstance(estimator, TunedThresholdClassifierCV)
        and not hasattr(estimator, "get_support")
    )


def _is_of_sklearn(estimator: Any) -> bool:
    """Whether this is one of scikit-learn's semi-supervised classifiers, or derived from one."""
    return any(
        cls.__module__.startswith("sklearn.semi_supervised") for cls in type(estimator).__mro__
    )
