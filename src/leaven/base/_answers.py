"""Class probabilities, from whatever a fitted estimator can tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from leaven._compat import num_samples
from leaven._labels import UNLABELED
from leaven.base._capabilities import final_step
from leaven.base._rows import take_rows

# The methods that are asked for class probabilities, best first.
SOURCES = ("predict_proba", "decision_function", "predict")

# Rows whose sum is this close to one are left as they are: ten times the rounding of float32.
_SUM_TOLERANCE = 1e-6


def class_probabilities(
    estimator: Any,
    X: Any,
    *,
    classes: Any = None,
    sources: Sequence[str] = SOURCES,
) -> NDArray[Any]:
    """Class probabilities of rows, by the best method that a fitted classifier has.

    ``predict_proba`` as it is; otherwise ``decision_function`` through the logistic function
    (two classes) or the softmax (more), which keeps the order of the classes but is not
    calibrated; otherwise ``predict``, with probability one for the predicted class.

    Parameters
    ----------
    estimator : fitted classifier
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
    classes : array-like of shape (n_classes,), default=None
        The order of the columns; None is ``estimator.classes_``. A class that the estimator
        has not seen has probability zero; one that it has seen must be in the list.
    sources : sequence of str, default=("predict_proba", "decision_function", "predict")
        The methods that may be asked, best first.

    Returns
    -------
    P : ndarray of shape (n_samples, n_classes)
        Finite, not negative, each row sums to one; float32 if the estimator gives float32.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> from leaven.base import class_probabilities
    >>> svc = LinearSVC().fit([[-1.0], [1.0]], ["no", "yes"])
    >>> class_probabilities(svc, [[0.0], [2.0]], classes=["maybe", "no", "yes"]).round(2)
    array([[0.  , 0.5 , 0.5 ],
           [0.  , 0.17, 0.83]])
    """
    unknown = [name for name in sources if name not in SOURCES]
    if unknown:
        raise ValueError(f"sources holds {unknown[0]!r}; known are {', '.join(SOURCES)}.")
    source = next((name for name in sources if hasattr(estimator, name)), None)
    if source is None:
        raise TypeError(
            f"{type(estimator).__name__} has none of the methods {', '.join(sources)}, so nothing "
            "tells the probabilities of its classes. sklearn.calibration.CalibratedClassifierCV "
            "gives a classifier probabilities."
        )
    found = np.asarray(getattr(estimator, source)(X))
    own = np.asarray(getattr(estimator, "classes_", classes))
    if own.ndim == 0:
        raise TypeError(
            f"{type(estimator).__name__} has no classes_, so nothing tells the order of its "
            "columns. Pass classes."
        )
    if source == "decision_function":
        found = _from_decisions(estimator, found.astype(np.float64), len(own))
    elif source == "predict":
        found = _indicator(own, found)
    P = _checked(estimator, source, found, num_samples(X), len(own))
    return P if classes is None else _in_order(estimator, P, own, np.asarray(classes))


def training_probabilities(
    estimator: Any,
    X: Any,
    rows: Any,
    *,
    classes: Any = None,
    sources: Sequence[str] = SOURCES,
) -> NDArray[Any]:
    """Class probabilities of rows that took part in the fit.

    A semi-supervised estimator has an answer for its training rows already, in
    ``label_distributions_`` or ``transduction_`` of its final step; others predict them.

    Parameters
    ----------
    estimator : fitted classifier
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        All rows that were given to ``fit``, in the same order.
    rows : array-like of int or bool, or slice
        The rows to answer for.
    classes, sources
        As for :func:`class_probabilities`.

    Returns
    -------
    P : ndarray of shape (n_rows, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.base import training_probabilities
    >>> from leaven.graph import KNNGraph
    >>> from leaven.graph_based import HarmonicClassifier
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = HarmonicClassifier(KNNGraph(1), prior=None).fit(X, [0, -1, -1, 1])
    >>> training_probabilities(model, X, [0, 3])
    array([[1., 0.],
           [0., 1.]])
    """
    last = final_step(estimator)
    n = num_samples(X)
    own = getattr(last, "classes_", None)
    found = getattr(last, "label_distributions_", None)
    if found is not None and len(found) == n:
        # scikit-learn's label propagation has rows of NaN where no label arrived.
        P = np.asarray(found)[rows]
        if np.isfinite(P).all():
            P = _checked(last, "label_distributions_", P, len(P), len(np.asarray(own)))
            return P if classes is None else _in_order(last, P, np.asarray(own), classes)
    found = getattr(last, "transduction_", None)
    if found is not None and len(found) == n and not hasattr(estimator, "predict_proba"):
        names = np.asarray(found)[rows]
        # scikit-learn's self-training leaves rows without an answer.
        if not (names.dtype.kind in "iu" and (names == UNLABELED).any()):
            P = _indicator(np.asarray(own), names)
            return P if classes is None else _in_order(last, P, np.asarray(own), classes)
    return class_probabilities(estimator, take_rows(X, rows), classes=classes, sources=sources)


def normalize_rows(scores: NDArray[Any]) -> NDArray[Any]:
    """Scale each row of non-negative ``scores`` to sum to one; an all-zero row is uniform.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes)

    Returns
    -------
    P : ndarray of shape (n_samples, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.base import normalize_rows
    >>> normalize_rows(np.array([[1.0, 3.0], [0.0, 0.0]]))
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    total = scores.sum(axis=1, keepdims=True)
    empty = total == 0
    return np.where(empty, 1.0 / scores.shape[1], scores / np.where(empty, 1.0, total))


def _from_decisions(estimator: Any, scores: NDArray[Any], n_classes: int) -> NDArray[Any]:
    if scores.ndim == 1:
        # 1 - expit(score) would round to 0 long before expit(-score) does.
        return np.column_stack([expit(-scores), expit(scores)])
    if scores.shape[1] != n_classes:
        raise ValueError(
            f"{type(estimator).__name__}.decision_function gave {scores.shape[1]} columns for "
            f"{n_classes} classes. Use decision_function_shape='ovr'."
        )
    return np.asarray(softmax(scores, axis=1), dtype=np.float64)


def _indicator(classes: NDArray[Any], predicted: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(predicted[:, None] == classes[None, :], dtype=np.float64)


def _checked(
    estimator: Any, source: str, found: NDArray[Any], n_samples: int, n_classes: int
) -> NDArray[Any]:
    """Refuse what is no distribution; scale rows that were not meant to sum to one."""
    name = f"{type(estimator).__name__}.{source}"
    # float32 stays: with many classes the probabilities are the largest array there is. The
    # rounding of float16 would show in the sums.
    P = found if found.dtype in (np.float32, np.float64) else found.astype(np.float64)
    if P.shape != (n_samples, n_classes):
        raise ValueError(
            f"{name} gave an array of shape {P.shape} for {n_samples} rows and {n_classes} "
            "classes; expected one row each and one column per class."
        )
    if not np.isfinite(P).all():
        bad = int((~np.isfinite(P)).any(axis=1).sum())
        raise ValueError(
            f"{name} gave NaN or infinity as the class probabilities of {bad} of {n_samples} rows."
        )
    if (P < 0).any():
        raise ValueError(f"{name} gave a negative class probability: {P.min():g}.")
    off = np.abs(P.sum(axis=1) - 1.0) > _SUM_TOLERANCE
    return normalize_rows(P) if off.any() else P


def _in_order(estimator: Any, P: NDArray[Any], own: NDArray[Any], classes: Any) -> NDArray[Any]:
    names, wanted = own.tolist(), np.asarray(classes).tolist()
    if names == wanted:
        return P
    places = {name: place for place, name in enumerate(wanted)}
    strange = [name for name in names if name not in places]
    if strange:
        raise ValueError(
            f"{type(estimator).__name__} knows the class {strange[0]!r}, which is not among the "
            f"classes {wanted}."
        )
    ordered = np.zeros((len(P), len(wanted)), dtype=P.dtype)
    ordered[:, [places[name] for name in names]] = P
    return ordered
