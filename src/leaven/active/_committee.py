"""Query by committee: ask about the rows on which several models disagree."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from leaven._compat import Interval, StrOptions, num_samples, validate_params_of
from leaven._labels import UNLABELED
from leaven.active._em_committee import (
    SEMI_SUPERVISED,
    em_member,
    encoded_rows,
    expected_model,
    supervised_twin,
)
from leaven.active._posterior import SAMPLED, draw_member
from leaven.active._rows import check_pool, check_training, labels_of, query_rng
from leaven.active._uncertainty import probabilities
from leaven.base import (
    final_step,
    learns_from_unlabeled,
    rows_of_final_step,
    seeded_clone,
    take_rows,
)
from leaven.generative import label_weights

DISAGREEMENTS = ("vote-entropy", "kl")


def vote_entropy(votes: ArrayLike) -> NDArray[np.float64]:
    """Return ``-Σ_c (V_c / C) log (V_c / C)`` of the votes of C members, in nats.

    Parameters
    ----------
    votes : array-like of shape (n_members, n_samples)
        The class that each member gives to each row.

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> from leaven.active import vote_entropy
    >>> vote_entropy([["a", "a"], ["a", "b"], ["a", "b"], ["a", "a"]]).round(4)
    array([0.    , 0.6931])
    """
    votes = np.asarray(votes)
    if votes.ndim != 2 or len(votes) == 0:
        raise ValueError(
            "votes must hold one row per member and one column per sample, got shape "
            f"{votes.shape}."
        )
    classes = np.unique(votes)
    share = np.stack([(votes == name).mean(axis=0) for name in classes])
    return np.asarray(entr(share).sum(axis=0), dtype=np.float64)


def kl_to_consensus(P: ArrayLike) -> NDArray[np.float64]:
    """Return the mean Kullback-Leibler divergence of the members from their mean.

    ``1/C Σ_m D(P_m || P_C)`` with the consensus ``P_C = 1/C Σ_m P_m``, which is
    the entropy of the consensus less the mean entropy of the members.

    Parameters
    ----------
    P : array-like of shape (n_members, n_samples, n_classes)
        Class probabilities by each member.

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> from leaven.active import kl_to_consensus
    >>> kl_to_consensus([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]]).round(4)
    array([0.6931, 0.    ])
    """
    P = np.asarray(P, dtype=np.float64)
    if P.ndim != 3 or len(P) == 0:
        raise ValueError(
            "P must have the shape (n_members, n_samples, n_classes), got an array of shape "
            f"{P.shape}."
        )
    consensus = entr(P.mean(axis=0)).sum(axis=1)
    # Rounding can leave -1e-17 where all agree.
    return np.asarray(np.maximum(consensus - entr(P).sum(axis=2).mean(axis=0), 0.0))


def bootstrap(
    codes: NDArray[np.intp], n_classes: int, rng: np.random.RandomState
) -> NDArray[np.intp]:
    """Draw as many labeled rows as there are, with replacement, at least one of each class."""
    labeled = np.flatnonzero(codes != UNLABELED)
    one_each = [rng.choice(np.flatnonzero(codes == c)) for c in range(n_classes)]
    rest = rng.choice(labeled, size=len(labeled) - n_classes, replace=True)
    return np.concatenate([one_each, rest]).astype(np.intp)


class QueryByCommittee(BaseEstimator):
    r"""Ask about the row on which the members of a committee disagree most.

    The disagreement is the entropy of the votes, or the mean divergence of the members from
    their consensus :math:`P_C`:

    .. math::

        -\sum_c \frac{V_c}{C} \log \frac{V_c}{C}
        \qquad
        \frac1C \sum_{m=1}^{C} \sum_c P_m(c \mid x) \log \frac{P_m(c \mid x)}{P_C(c \mid x)}

    Parameters
    ----------
    disagreement : {"vote-entropy", "kl"}, default="vote-entropy"
        ``"kl"`` needs probabilities, the votes only predictions. Votes of a small committee
        tie often.
    committee : str or sequence of estimators, default="bagging"
        - ``"bagging"``: copies of the estimator, each fitted on a bootstrap sample of the
          labeled rows that holds every class [2]_. A semi-supervised estimator sees all rows
          each time, with the labels outside the sample hidden;
        - ``"posterior"``: copies of a naive Bayes model with parameters drawn from their
          posterior [3]_ (scikit-learn's ``MultinomialNB``, ``BernoulliNB``,
          ``CategoricalNB``, ``GaussianNB``, and those of leaven with one component per class,
          also at the end of a pipeline). For leaven's the posterior is that of the expected
          counts: unlabeled rows count for each class by its probability;
        - ``"posterior-em"``: query by committee with EM [3]_: each member is drawn from the
          posterior of the labeled rows alone, and then improved by EM on all rows of ``X``;
        - estimators of any kind: copies of them, each fitted on ``X`` and ``y``.
    n_members : int, default=10
        Size of the committee; a given sequence has its own.
    random_state : int, RandomState or None, default=None
        With an integer the committee depends on it and on the pool: the same query gives the
        same scores.

    See Also
    --------
    HighestEntropy : The doubt of one model instead of the disagreement of many.
    InformationDensity : With ``similarity="kl"`` the density by which [3]_ weights the
        disagreement.
    CoTesting : Two views as the committee.

    References
    ----------
    .. [1] H. S. Seung, M. Opper and H. Sompolinsky, "Query by committee", COLT 1992.
    .. [2] N. Abe and H. Mamitsuka, "Query learning strategies using boosting and bagging",
       ICML 1998.
    .. [3] A. McCallum and K. Nigam, "Employing EM and pool-based active learning for text
       classification", ICML 1998.
    .. [4] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, equations 2.68-2.70.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from leaven.active import QueryByCommittee
    >>> X, y = [[0.0], [1.0], [2.0], [6.0]], [0, 0, 0, 1]
    >>> model = GaussianNB().fit(X, y)
    >>> members = [KNeighborsClassifier(n_neighbors=1), KNeighborsClassifier(n_neighbors=3)]
    >>> strategy = QueryByCommittee(committee=members)
    >>> strategy.scores(model, [[0.5], [5.0]], X, y).round(4)
    array([0.    , 0.6931])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "disagreement": [StrOptions(set(DISAGREEMENTS))],
        "committee": [StrOptions({"bagging", "posterior", "posterior-em"}), list, tuple],
        "n_members": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        disagreement: str = "vote-entropy",
        *,
        committee: str | Sequence[Any] = "bagging",
        n_members: int = 10,
        random_state: Any = None,
    ) -> None:
        self.disagreement = disagreement
        self.committee = committee
        self.n_members = n_members
        self.random_state = random_state

    def scores(self, estimator: Any, X_pool: Any, X: Any = None, y: Any = None) -> NDArray[Any]:
        """Score the rows of the pool; the largest score is asked first.

        Parameters
        ----------
        estimator : classifier
            Fitted for the committees of posteriors; not used if the members are given.
        X_pool : {array-like, sparse matrix, data frame} of shape (n_pool, n_features)
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            The training rows; not needed for ``"posterior"`` of a scikit-learn model.
        y : array-like of shape (n_samples,)
            Their labels. Rows without one are left to the semi-supervised members.

        Returns
        -------
        scores : ndarray of shape (n_pool,)
        """
        validate_params_of(self)
        X_pool = check_pool(X_pool)
        rng = query_rng(self.random_state, X_pool, y)
        if isinstance(self.committee, str) and self.committee.startswith("posterior"):
            members, X_pool = self._posterior(estimator, X_pool, X, y, rng)
        else:
            members = self._fitted(estimator, X, y, rng)
        if self.disagreement == "vote-entropy":
            return vote_entropy(np.stack([np.asarray(m.predict(X_pool)) for m in members]))
        return kl_to_consensus(_aligned_probabilities(members, X_pool))

    def _posterior(
        self, estimator: Any, X_pool: Any, X: Any, y: Any, rng: np.random.RandomState
    ) -> tuple[list[Any], Any]:
        """Return the members, and the pool as they read it."""
        model = final_step(estimator)
        if not isinstance(model, SAMPLED + SEMI_SUPERVISED):
            raise ValueError(
                f"committee={self.committee!r} draws the parameters of a naive Bayes model, which "
                f"is one of {[kind.__name__ for kind in SAMPLED + SEMI_SUPERVISED]}; the estimator "
                f"is {type(model).__name__}. Use committee='bagging'."
            )
        check_is_fitted(model)
        X_pool = rows_of_final_step(estimator, X_pool)
        if self.committee == "posterior" and isinstance(model, SAMPLED):
            return [draw_member(model, rng) for _ in range(self.n_members)], X_pool
        X, classes, codes = check_training(self, X, y)
        X = rows_of_final_step(estimator, X)
        rows, X_pool, settings = encoded_rows(model, X, X_pool)
        twin = supervised_twin(model).set_params(**settings)
        if self.committee == "posterior":
            fitted = expected_model(twin, model, X, rows, codes)
            return [draw_member(fitted, rng) for _ in range(self.n_members)], X_pool
        weights = (1.0, 1.0)
        if isinstance(model, SEMI_SUPERVISED):
            n_free = int((codes == UNLABELED).sum())
            weights = label_weights(
                len(codes) - n_free, n_free, float(model.unlabeled_weight), model.weighting
            )
        members = [
            em_member(twin, rows, codes, len(classes), rng, weights=weights)
            for _ in range(self.n_members)
        ]
        return members, X_pool

    def _fitted(self, estimator: Any, X: Any, y: Any, rng: np.random.RandomState) -> list[Any]:
        X, classes, codes = check_training(self, X, y)
        if isinstance(self.committee, str):
            return [self._fit_bag(estimator, X, classes, codes, rng) for _ in range(self.n_members)]
        if len(self.committee) < 2:
            raise ValueError(
                f"committee holds {len(self.committee)} estimators; with fewer than 2 nobody "
                "disagrees."
            )
        labeled = np.flatnonzero(codes != UNLABELED)
        members = []
        for given in self.committee:
            rows = slice(None) if learns_from_unlabeled(given) else labeled
            fitted = seeded_clone(given, rng).fit(
                take_rows(X, rows), labels_of(classes, codes[rows])
            )
            members.append(fitted)
        return members

    @staticmethod
    def _fit_bag(
        estimator: Any,
        X: Any,
        classes: NDArray[Any],
        codes: NDArray[np.intp],
        rng: np.random.RandomState,
    ) -> Any:
        bag = bootstrap(codes, len(classes), rng)
        member = seeded_clone(estimator, rng)
        if not learns_from_unlabeled(estimator):
            return member.fit(take_rows(X, bag), labels_of(classes, codes[bag]))
        seen = np.full_like(codes, UNLABELED)
        seen[bag] = codes[bag]
        return member.fit(X, labels_of(classes, seen))


def _aligned_probabilities(members: list[Any], X_pool: Any) -> NDArray[np.float64]:
    """Probabilities of all members over the union of their classes."""
    classes = np.unique(np.concatenate([np.asarray(m.classes_) for m in members]))
    P = np.zeros((len(members), num_samples(X_pool), len(classes)))
    for place, member in zip(P, members, strict=True):
        place[:, np.searchsorted(classes, member.classes_)] = probabilities(member, X_pool)
    return P
