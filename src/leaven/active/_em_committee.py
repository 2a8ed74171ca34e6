"""Naive Bayes committees from partly labeled rows: expected counts, and EM from each draw."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.preprocessing import OrdinalEncoder

from leaven._labels import UNLABELED, one_hot
from leaven.active._posterior import SAMPLED, draw_member
from leaven.base import take_rows
from leaven.generative import (
    SemiSupervisedBernoulliNB,
    SemiSupervisedCategoricalNB,
    SemiSupervisedGaussianNB,
    SemiSupervisedMultinomialNB,
    label_weights,
)

SEMI_SUPERVISED = (
    SemiSupervisedMultinomialNB,
    SemiSupervisedBernoulliNB,
    SemiSupervisedCategoricalNB,
    SemiSupervisedGaussianNB,
)

_LEAST_WEIGHT = 1e-8  # a row that counts less moves no estimate, and is left out


def supervised_twin(model: Any) -> Any:
    """Return scikit-learn's naive Bayes with the settings of leaven's, not fitted.

    Class proportions that are not learned are taken from the fitted model.

    Examples
    --------
    >>> from leaven.active._em_committee import supervised_twin
    >>> from leaven.generative import SemiSupervisedMultinomialNB
    >>> supervised_twin(SemiSupervisedMultinomialNB(alpha=0.5))
    MultinomialNB(alpha=0.5)
    """
    if isinstance(model, SAMPLED):
        return clone(model)
    n_components = model.n_components
    if np.size(n_components) > 1 or int(np.ravel(n_components)[0]) > 1:
        raise ValueError(
            f"A committee is drawn from the posterior of models with one component per class, but "
            f"n_components={n_components!r}. Use committee='bagging'."
        )
    learned = getattr(model.prior, "proportions", model.prior) is None
    prior = None if learned else np.exp(model.class_log_prior_)
    if isinstance(model, SemiSupervisedMultinomialNB):
        return MultinomialNB(alpha=model.alpha, class_prior=prior)
    if isinstance(model, SemiSupervisedBernoulliNB):
        return BernoulliNB(alpha=model.alpha, binarize=model.binarize, class_prior=prior)
    if isinstance(model, SemiSupervisedCategoricalNB):
        return CategoricalNB(alpha=model.alpha, class_prior=prior)
    return GaussianNB(var_smoothing=model.var_smoothing, priors=prior)


def encoded_rows(model: Any, X: Any, X_pool: Any) -> tuple[Any, Any, dict[str, Any]]:
    """Return both sets of rows as the twin reads them, and what its fit must know of them.

    Categories become numbers, those of the pool included; all else stays.
    """
    if not isinstance(model, SemiSupervisedCategoricalNB):
        return X, X_pool, {}
    tables = [pd.DataFrame(rows).astype(str) for rows in (X, X_pool)]
    encoder = OrdinalEncoder(dtype=np.intp).fit(pd.concat(tables, ignore_index=True))
    sizes = np.array([len(names) for names in encoder.categories_])
    codes = [encoder.transform(table) for table in tables]
    return codes[0], codes[1], {"min_categories": sizes}


def fit_soft(twin: Any, X: Any, P: NDArray[np.float64]) -> Any:
    """Fit a classifier on rows that belong to each class by a weight.

    Parameters
    ----------
    twin : classifier with sample_weight
        Fitted in place.
    X : array or sparse matrix of shape (n_rows, n_features)
    P : ndarray of shape (n_rows, n_classes)
        Weights; rows need not sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import MultinomialNB
    >>> from leaven.active._em_committee import fit_soft
    >>> X, P = np.array([[4, 0], [2, 6]]), np.array([[1.0, 0.0], [0.25, 0.75]])
    >>> fit_soft(MultinomialNB(), X, P).feature_count_
    array([[4.5, 1.5],
           [1.5, 4.5]])
    """
    rows, codes = np.nonzero(P > _LEAST_WEIGHT)
    return twin.fit(take_rows(X, rows), codes, sample_weight=P[rows, codes])


def expected_model(twin: Any, model: Any, X: Any, rows: Any, codes: NDArray[np.intp]) -> Any:
    """Fit the twin on the expected counts of a fitted semi-supervised model.

    Labeled rows count for their class, unlabeled ones for each class by its probability, each
    with the weight that the model gives it.

    Parameters
    ----------
    twin : classifier
    model : fitted semi-supervised naive Bayes
    X, rows : rows as the model and as the twin read them
    codes : ndarray of shape (n_rows,)
    """
    free = codes == UNLABELED
    weights = label_weights(
        int((~free).sum()), int(free.sum()), float(model.unlabeled_weight), model.weighting
    )
    P = weights[0] * one_hot(codes, len(model.classes_))
    if free.any():
        P[free] = weights[1] * model.predict_proba(take_rows(X, np.flatnonzero(free)))
    return fit_soft(twin, rows, P)


def em_member(
    twin: Any,
    rows: Any,
    codes: NDArray[np.intp],
    n_classes: int,
    rng: np.random.RandomState,
    *,
    weights: tuple[float, float] = (1.0, 1.0),
    max_iter: int = 20,
    tol: float = 1e-3,
) -> Any:
    """Draw a model from the posterior of the labeled rows, and improve it by EM on all rows.

    One member of the committee of McCallum and Nigam (1998), figure 1: the draw gives the
    unlabeled rows their first probabilities; then parameters and probabilities are estimated in
    turn until less than ``tol`` of the probability moves on average.

    Parameters
    ----------
    twin : naive Bayes of scikit-learn
    rows : array or sparse matrix of shape (n_rows, n_features)
    codes : ndarray of shape (n_rows,)
        -1 where unknown.
    n_classes : int
    rng : RandomState
    weights : pair of float
        Of a labeled and an unlabeled row.
    max_iter : int
    tol : float

    Returns
    -------
    fitted naive Bayes
    """
    given, free = np.flatnonzero(codes != UNLABELED), np.flatnonzero(codes == UNLABELED)
    labels = one_hot(codes, n_classes)
    start = fit_soft(clone(twin), take_rows(rows, given), labels[given])
    member = draw_member(start, rng)
    if not len(free):
        return member
    unlabeled = take_rows(rows, free)
    soft = member.predict_proba(unlabeled)
    for _ in range(max_iter):
        P = weights[0] * labels
        P[free] = weights[1] * soft
        member = fit_soft(clone(twin), rows, P)
        fresh = member.predict_proba(unlabeled)
        moved = float(np.abs(fresh - soft).sum(axis=1).mean()) / 2
        soft = fresh
        if moved <= tol:
            break
    return member
