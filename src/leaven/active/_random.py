"""Passive learning: the rows are asked in random order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from leaven._compat import num_samples
from leaven.active._rows import check_pool, query_rng


class RandomSampling(BaseEstimator):
    """Ask about a random row: passive learning, with which every strategy is compared.

    Parameters
    ----------
    random_state : int, RandomState or None, default=None
        With an integer the scores depend on it and on the pool: the same query gives the same
        scores, and a shorter pool others.

    See Also
    --------
    LeastConfident : The simplest strategy that is not passive.

    Examples
    --------
    >>> from leaven.active import RandomSampling
    >>> scores = RandomSampling(random_state=0).scores(None, [[0.0], [1.0], [2.0]])
    >>> bool((scores == RandomSampling(random_state=0).scores(None, [[0.0], [1.0], [2.0]])).all())
    True
    """

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random_state

    def scores(self, estimator: Any, X_pool: Any, X: Any = None, y: Any = None) -> NDArray[Any]:
        """Score the rows of the pool at random.

        Parameters
        ----------
        estimator : ignored
            It may be None or not fitted.
        X_pool : {array-like, sparse matrix, data frame} of shape (n_pool, n_features)
        X : ignored
        y : array-like, optional
            Only its length is used, together with an integer ``random_state``.

        Returns
        -------
        scores : ndarray of shape (n_pool,)
        """
        X_pool = check_pool(X_pool)
        return np.asarray(
            query_rng(self.random_state, X_pool, y).random_sample(num_samples(X_pool))
        )
