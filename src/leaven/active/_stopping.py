"""Rules that say when to stop asking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr
from sklearn.base import BaseEstimator

from leaven._compat import Interval, validate_params_of
from leaven.statistics import cohen_kappa


@dataclass(frozen=True, eq=False)
class Progress:
    """What a stopping rule is shown; made by :class:`ActiveLearner`.

    Parameters
    ----------
    n_taught : int
        Rows that were given a label by ``teach``, those given to ``fit`` not counted.
    n_pool : int
        Rows that have no label yet.
    predictions : sequence of ndarray of shape (n_stop_set,)
        Predicted classes of the stop set, a fixed sample of the rows: one array for each
        fit, the newest last.
    pool_probabilities : ndarray of shape (n_pool, n_classes) or None
        Class probabilities of the pool; None before the first fit, or if the estimator has
        none.
    """

    n_taught: int
    n_pool: int
    predictions: Sequence[NDArray[Any]] = ()
    pool_probabilities: NDArray[Any] | None = None


def f1_change(before: NDArray[Any], after: NDArray[Any]) -> float:
    """Estimated change of F1 between two models, ``1 - 2a / (2a + b + c)``.

    ``a`` rows have the class in both predictions, ``b`` only after and ``c`` only before.
    With more than two classes it is the mean over the classes that either one predicts; with
    two it is the mean of both views, since neither class is singled out as positive.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.active._stopping import f1_change
    >>> round(f1_change(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])), 3)
    0.267
    """
    changes = []
    for name in np.unique(np.concatenate([before, after])):
        old, new = before == name, after == name
        both, either = int(np.sum(old & new)), int(np.sum(old ^ new))
        changes.append(1.0 - 2 * both / (2 * both + either))
    return float(np.mean(changes))


def mean_entropy(probabilities: NDArray[Any]) -> float:
    """Mean Shannon entropy (natural logarithm) of the rows; 0 without rows.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.active._stopping import mean_entropy
    >>> round(mean_entropy(np.array([[0.5, 0.5], [1.0, 0.0]])), 3)
    0.347
    """
    return float(entr(probabilities).sum(axis=1).mean()) if len(probabilities) else 0.0


class BudgetSpent(BaseEstimator):
    """Stop when a given number of labels was taught.

    Parameters
    ----------
    n_labels : int
        Labels given to ``fit`` do not count.

    Examples
    --------
    >>> from leaven.active import BudgetSpent
    >>> from leaven.active._stopping import Progress
    >>> BudgetSpent(20).reason(Progress(n_taught=20, n_pool=5))
    'the budget is spent: 20 of 20 labels were taught'
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_labels": [Interval(Integral, 0, None, closed="left")]
    }

    def __init__(self, n_labels: int) -> None:
        self.n_labels = n_labels

    def reason(self, progress: Progress) -> str | None:
        """Say why to stop, or None to go on.

        Parameters
        ----------
        progress : Progress

        Returns
        -------
        reason : str or None
        """
        validate_params_of(self)
        if progress.n_taught < self.n_labels:
            return None
        return f"the budget is spent: {progress.n_taught} of {self.n_labels} labels were taught"


class OverallUncertainty(BaseEstimator):
    """Stop when the mean entropy of the class probabilities over the pool is small [1]_.

    Parameters
    ----------
    threshold : float, default=0.01
        In nats; two equally probable classes have 0.69.

    References
    ----------
    .. [1] J. Zhu, H. Wang and E. Hovy, "Learning a stopping criterion for active learning for
       word sense disambiguation and text classification", IJCNLP 2008, section 3.2.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.active import OverallUncertainty
    >>> from leaven.active._stopping import Progress
    >>> sure = Progress(n_taught=9, n_pool=2, pool_probabilities=np.eye(2))
    >>> OverallUncertainty().reason(sure)
    'the mean entropy of the pool is 0, below 0.01'
    """

    needs: ClassVar[frozenset[str]] = frozenset({"pool_probabilities"})
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "threshold": [Interval(Real, 0, None, closed="neither")]
    }

    def __init__(self, threshold: float = 0.01) -> None:
        self.threshold = threshold

    def reason(self, progress: Progress) -> str | None:
        """Say why to stop, or None to go on.

        Parameters
        ----------
        progress : Progress

        Returns
        -------
        reason : str or None
        """
        validate_params_of(self)
        if progress.pool_probabilities is None:
            return None
        entropy = mean_entropy(progress.pool_probabilities)
        if entropy >= self.threshold:
            return None
        return f"the mean entropy of the pool is {entropy:.3g}, below {self.threshold:g}"


class StablePredictions(BaseEstimator):
    """Stop when successive models agree on the stop set [1]_.

    Agreement is Cohen's kappa; its mean over the last ``window`` pairs of successive models
    must reach ``kappa``.

    Parameters
    ----------
    kappa : float, default=0.99
    window : int, default=3

    See Also
    --------
    F1Change : Measures the difference by F1.

    References
    ----------
    .. [1] M. Bloodgood and K. Vijay-Shanker, "A method for stopping active learning based on
       stabilizing predictions and the need for user-adjustable stopping", CoNLL 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.active import StablePredictions
    >>> from leaven.active._stopping import Progress
    >>> same = [np.array([0, 1, 1])] * 4
    >>> StablePredictions().reason(Progress(n_taught=9, n_pool=2, predictions=same))
    'predictions are stable: mean kappa of the last 3 steps is 1, at least 0.99'
    """

    needs: ClassVar[frozenset[str]] = frozenset({"predictions"})
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kappa": [Interval(Real, -1, 1, closed="both")],
        "window": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, kappa: float = 0.99, window: int = 3) -> None:
        self.kappa = kappa
        self.window = window

    def reason(self, progress: Progress) -> str | None:
        """Say why to stop, or None to go on.

        Parameters
        ----------
        progress : Progress

        Returns
        -------
        reason : str or None
        """
        validate_params_of(self)
        agreement = _mean_of_last(cohen_kappa, progress.predictions, self.window)
        if agreement is None or agreement < self.kappa:
            return None
        return (
            f"predictions are stable: mean kappa of the last {self.window} steps is "
            f"{agreement:.4g}, at least {self.kappa:g}"
        )


class F1Change(BaseEstimator):
    """Stop when F1 is estimated to change little from model to model [1]_.

    The estimate takes the newer model's answers on the stop set as right:
    ``1 - 2a / (2a + b + c)``, with ``a`` rows of the class in both predictions and ``b + c``
    in one of them; averaged over the classes, and over the last ``window`` pairs of
    successive models.

    Parameters
    ----------
    threshold : float, default=0.05
    window : int, default=3

    See Also
    --------
    StablePredictions : Measures the agreement by kappa.

    References
    ----------
    .. [1] M. Altschuler and M. Bloodgood, "Stopping active learning based on predicted change
       of F measure for text classification", IEEE ICSC 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.active import F1Change
    >>> from leaven.active._stopping import Progress
    >>> same = [np.array([0, 1, 1])] * 4
    >>> F1Change().reason(Progress(n_taught=9, n_pool=2, predictions=same))
    'F1 is estimated to change by 0 a step (mean of the last 3), below 0.05'
    """

    needs: ClassVar[frozenset[str]] = frozenset({"predictions"})
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "threshold": [Interval(Real, 0, 1, closed="right")],
        "window": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, threshold: float = 0.05, window: int = 3) -> None:
        self.threshold = threshold
        self.window = window

    def reason(self, progress: Progress) -> str | None:
        """Say why to stop, or None to go on.

        Parameters
        ----------
        progress : Progress

        Returns
        -------
        reason : str or None
        """
        validate_params_of(self)
        change = _mean_of_last(f1_change, progress.predictions, self.window)
        if change is None or change >= self.threshold:
            return None
        return (
            f"F1 is estimated to change by {change:.3g} a step (mean of the last "
            f"{self.window}), below {self.threshold:g}"
        )


def _mean_of_last(
    measure: Callable[[NDArray[Any], NDArray[Any]], float],
    predictions: Sequence[NDArray[Any]],
    window: int,
) -> float | None:
    """Compare the last ``window`` pairs of successive predictions; None if there are fewer."""
    recent = list(predictions)[-window - 1 :]
    if len(recent) <= window:
        return None
    return float(np.mean([measure(old, new) for old, new in pairwise(recent)]))
