"""Co-testing and Co-EMT: ask about rows on which two views contradict each other."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from leaven._compat import StrOptions, validate_params_of
from leaven.active._rows import check_pool, check_training, labels_of, query_rng
from leaven.base import final_step, rows_of_final_step
from leaven.self_labeling import CoTrainingClassifier

SELECTIONS = ("least-confident", "most-confident", "random")


def contention_scores(
    first: NDArray[Any],
    second: NDArray[Any],
    select: str,
    rng: np.random.RandomState | None = None,
) -> NDArray[np.float64]:
    """Score rows by the contradiction of two views: from 1 up where they contradict, below 1 else.

    Parameters
    ----------
    first, second : ndarray of shape (n_rows, n_classes)
        Class probabilities by each view.
    select : {"least-confident", "most-confident", "random"}
        Which contention points come first, see :class:`CoTesting`.
    rng : RandomState, optional
        For ``"random"``.

    Returns
    -------
    ndarray of shape (n_rows,)
        In [0, 2].

    Examples
    --------
    Both views agree on the first row; of the others the third is the clearer contradiction.

    >>> import numpy as np
    >>> from leaven.active._co_testing import contention_scores
    >>> first = np.array([[0.9, 0.1], [0.8, 0.2], [0.9, 0.1]])
    >>> second = np.array([[0.6, 0.4], [0.3, 0.7], [0.2, 0.8]])
    >>> contention_scores(first, second, "most-confident").round(2)
    array([0.6, 1.7, 1.8])
    >>> contention_scores(first, second, "least-confident").round(2)
    array([0.07, 1.37, 1.31])
    """
    against = first.argmax(axis=1) != second.argmax(axis=1)
    if select == "random":
        assert rng is not None
        return np.asarray(against + rng.uniform(size=len(against)))
    if select == "most-confident":
        score = np.minimum(first.max(axis=1), second.max(axis=1))
    else:
        product = first * second
        total = product.sum(axis=1, keepdims=True)
        # Views without a common class are as uncertain together as can be.
        joint = np.where(total > 0, product / np.where(total > 0, total, 1.0), 1 / len(first.T))
        score = 1.0 - joint.max(axis=1)
    return np.asarray(against + np.clip(score, 0.0, np.nextafter(1.0, 0.0)))


class CoTesting(BaseEstimator):
    r"""Ask about contention points: rows to which two views give different labels.

    If both views suffice to learn the classes, one of the two is wrong there, and the answer
    will teach it something [1]_. With a fitted :class:`~leaven.self_labeling.CoEMClassifier` as
    the estimator this is Co-EMT, active and semi-supervised learning in turn [2]_ [3]_: Co-EM
    labels all rows with both views, a contention point is asked about, Co-EM runs again. With
    any other classifier it is Co-testing: a copy of it is fitted on the labeled rows of each
    view.

    Parameters
    ----------
    select : {"least-confident", "most-confident", "random"}, default="least-confident"
        Which contention points come first:

        - ``"least-confident"``: where the product of the two views is least sure, as in [2]_;
        - ``"most-confident"``: where the less confident view is most confident ("aggressive"),
          for views with little noise;
        - ``"random"``: any of them ("naive").

        Rows on which the views agree come after all contention points, in the same order.
    views : pair or None, default=None
        Two views, as in :class:`~leaven.self_labeling.CoTrainingClassifier`, for an estimator
        without views of its own; None splits the columns at random.
    random_state : int, RandomState or None, default=None
        Splits the columns, and draws for ``select="random"``.

    See Also
    --------
    QueryByCommittee : The disagreement of several models of all columns.

    References
    ----------
    .. [1] I. Muslea, S. Minton and C. A. Knoblock, "Selective sampling with redundant views",
       AAAI 2000.
    .. [2] I. Muslea, S. Minton and C. A. Knoblock, "Active + semi-supervised learning = robust
       multi-view learning", ICML 2002.
    .. [3] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, section 2.5.2.

    Examples
    --------
    The first column says one class and the second the other for the last row of the pool:

    >>> from sklearn.naive_bayes import GaussianNB
    >>> from leaven.active import CoTesting
    >>> X, y = [[0.0, 0.1], [0.2, 0.0], [3.0, 3.2], [3.1, 3.0]], [0, 0, 1, 1]
    >>> strategy = CoTesting(views=([0], [1]))
    >>> strategy.scores(GaussianNB().fit(X, y), [[0.1, 0.1], [3.0, 3.0], [0.1, 3.1]], X, y) > 1
    array([False, False,  True])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "select": [StrOptions(set(SELECTIONS))],
        "random_state": ["random_state"],
    }

    def __init__(
        self, select: str = "least-confident", *, views: Any = None, random_state: Any = None
    ) -> None:
        self.select = select
        self.views = views
        self.random_state = random_state

    def scores(self, estimator: Any, X_pool: Any, X: Any = None, y: Any = None) -> NDArray[Any]:
        """Score the rows of the pool; the largest score is asked first.

        Parameters
        ----------
        estimator : classifier
            Fitted, if it has two views of its own.
        X_pool : {array-like, sparse matrix, data frame} of shape (n_pool, n_features)
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            The training rows; not needed for an estimator with views.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        scores : ndarray of shape (n_pool,)
            Above 1 at contention points, below elsewhere.
        """
        validate_params_of(self)
        X_pool = check_pool(X_pool)
        rng = query_rng(self.random_state, X_pool, y)
        model = final_step(estimator)
        if hasattr(model, "predict_proba_by_view"):
            rows = rows_of_final_step(estimator, X_pool)
        else:
            X, classes, codes = check_training(self, X, y)
            # Without a round of teaching it is one supervised classifier per view.
            model = CoTrainingClassifier(
                estimator, views=self.views, max_iter=0, random_state=self._seed()
            ).fit(X, labels_of(classes, codes))
            rows = X_pool
        first, second = model.predict_proba_by_view(rows)
        return contention_scores(first, second, self.select, rng)

    def _seed(self) -> Any:
        """Seed of the split, which must not change from query to query."""
        if isinstance(self.random_state, np.random.RandomState):
            return np.random.RandomState(self.random_state.randint(np.iinfo(np.int32).max))
        return self.random_state
