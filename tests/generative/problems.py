"""Small data sets and an EM written with scikit-learn only, for the tests of the family."""

from __future__ import annotations

import numpy as np
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB

from leaven.generative import (
    SemiSupervisedBernoulliNB,
    SemiSupervisedCategoricalNB,
    SemiSupervisedGaussianNB,
    SemiSupervisedMultinomialNB,
)


def counts(rng, n_rows=90, n_features=7, n_classes=3):
    """Counts, of which some are zero everywhere in a class."""
    y = np.resize(np.arange(n_classes), n_rows)
    rates = rng.gamma(0.7, 2.0, size=(n_classes, n_features))
    return rng.poisson(rates[y]), y


def binary(rng, **shape):
    X, y = counts(rng, **shape)
    return (X > 1).astype(float), y


def codes(rng, **shape):
    X, y = counts(rng, **shape)
    return np.minimum(X, 4), y


def numbers(rng, n_rows=90, n_features=4, n_classes=3):
    y = np.resize(np.arange(n_classes), n_rows)
    centers = 1.5 * rng.normal(size=(n_classes, n_features))
    spread = rng.gamma(3.0, 0.4, size=(n_classes, n_features))
    return centers[y] + spread[y] * rng.normal(size=(n_rows, n_features)), y


# Our model, its peer, the data. var_smoothing=0 because the peer takes its epsilon from the rows,
# which are repeated for the oracle below; min_categories because it refuses codes it has not met.
MODELS = {
    "multinomial": (SemiSupervisedMultinomialNB, MultinomialNB, counts, {"alpha": 0.7}),
    "bernoulli": (SemiSupervisedBernoulliNB, BernoulliNB, binary, {"alpha": 0.7}),
    "categorical": (
        SemiSupervisedCategoricalNB,
        CategoricalNB,
        codes,
        {"alpha": 0.7, "min_categories": 5},
    ),
    "gaussian": (SemiSupervisedGaussianNB, GaussianNB, numbers, {"var_smoothing": 0.0}),
}


def hide(rng, y, per_class=5):
    """Hide the labels of all but a few rows of each class."""
    labels = np.full(len(y), -1)
    for code in np.unique(y):
        keep = rng.permutation(np.flatnonzero(y == code))[:per_class]
        labels[keep] = code
    return labels


def em_by_scikit_learn(peer, X, labels, n_iter, labeled_weight=1.0, unlabeled_weight=1.0):
    """Plain EM: each unlabeled row is repeated once a class with its probability as weight."""
    labeled = labels >= 0
    n_classes = labels.max() + 1
    unlabeled = X[~labeled]
    peer.fit(X[labeled], labels[labeled])
    for _ in range(n_iter):
        q = peer.predict_proba(unlabeled)
        rows = np.vstack([X[labeled]] + [unlabeled] * n_classes)
        y = np.concatenate([labels[labeled], np.repeat(np.arange(n_classes), len(unlabeled))])
        weights = np.concatenate(
            [np.full(labeled.sum(), labeled_weight), unlabeled_weight * q.T.ravel()]
        )
        peer.fit(rows, y, sample_weight=weights)
    return peer


def parameters_of(model):
    """Parameters under one name for ours and scikit-learn's."""
    if hasattr(model, "theta_"):
        return np.concatenate([model.theta_, model.var_], axis=1)
    if isinstance(model.feature_log_prob_, list):
        return np.concatenate(model.feature_log_prob_, axis=1)
    return model.feature_log_prob_


def class_prior_of(model):
    return (
        np.exp(model.class_log_prior_)
        if hasattr(model, "class_log_prior_")
        else (model.class_prior_)
    )
