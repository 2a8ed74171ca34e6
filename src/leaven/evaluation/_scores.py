"""Precision, recall and F1, by class and on average."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_fscore_support


def class_scores(y_true: Any, y_pred: Any) -> pd.DataFrame:
    """Precision, recall and F1 of each class, and their mean over the classes.

    A thin layer over :func:`sklearn.metrics.precision_recall_fscore_support`: a class that is
    never predicted has precision 0, and one that never occurs has recall 0, without a warning.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted classes.

    Returns
    -------
    scores : DataFrame
        One row per class, by name, and a last row ``average`` with the unweighted means; the
        columns are ``precision``, ``recall``, ``f1`` and ``support``.

    Examples
    --------
    >>> from leaven.evaluation import class_scores
    >>> class_scores(["a", "a", "b", "b"], ["a", "b", "b", "b"]).round(3)
             precision  recall     f1  support
    a            1.000    0.50  0.667        2
    b            0.667    1.00  0.800        2
    average      0.833    0.75  0.733        4
    """
    y_true, y_pred = np.asarray(y_true), np.asarray(y_pred)
    classes = np.unique(np.concatenate([y_true, y_pred]))
    precision, recall, f1, support = precision_recall_fscore_support(
        y_true, y_pred, labels=classes, zero_division=0.0
    )
    scores = pd.DataFrame(
        {"precision": precision, "recall": recall, "f1": f1, "support": support},
        index=pd.Index(classes.astype(object)),
    )
    mean = scores.mean()
    mean["support"] = support.sum()
    scores.loc["average"] = mean
    return scores.astype({"support": int})


def macro_scores(truth: NDArray[np.intp], predicted: NDArray[np.intp]) -> dict[str, float]:
    """Error, accuracy, and means over classes of F1, precision and recall, of class codes.

    As :func:`class_scores`, but from one table of counts: scikit-learn's checks of the labels
    take longer than a fit of naive Bayes. Classes that neither occur nor are predicted do not
    count.
    """
    n_classes = int(max(truth.max(), predicted.max())) + 1
    right = np.bincount(truth[truth == predicted], minlength=n_classes).astype(float)
    occurs = np.bincount(truth, minlength=n_classes)
    said = np.bincount(predicted, minlength=n_classes)
    present = occurs + said > 0
    right, occurs, said = right[present], occurs[present], said[present]
    error = 1.0 - right.sum() / len(truth)
    return {
        "error": float(error),
        "accuracy": float(1.0 - error),
        "f1": float((2 * right / (occurs + said)).sum() / len(right)),
        "precision": float((right / np.maximum(said, 1)).sum() / len(right)),
        "recall": float((right / np.maximum(occurs, 1)).sum() / len(right)),
    }
