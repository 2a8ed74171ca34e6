"""Class proportions: fixed, learned, smoothed, and under their former names."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from leaven.generative import (
    ClassPrior,
    SemiSupervisedGaussianNB,
    SemiSupervisedMultinomialNB,
)

from .problems import counts, hide


def problem():
    rng = np.random.default_rng(0)
    X, y = counts(rng, n_rows=60)
    labels = hide(rng, y, per_class=4)
    labels[np.flatnonzero(labels == 2)[0]] = -1  # 4, 4 and 3 labels
    return X, labels


@pytest.mark.parametrize(
    ("prior", "expected"),
    [
        ("uniform", [1 / 3, 1 / 3, 1 / 3]),
        ("labeled", [4 / 11, 4 / 11, 3 / 11]),
        (ClassPrior("labeled", smoothing=2.0), [6 / 17, 6 / 17, 5 / 17]),
        ([0.5, 0.2, 0.3], [0.5, 0.2, 0.3]),
        ({1: 0.2, 0: 0.5, 2: 0.3}, [0.5, 0.2, 0.3]),
        (ClassPrior(np.array([0.5, 0.2, 0.3])), [0.5, 0.2, 0.3]),
    ],
)
def test_fixed_proportions(prior, expected):
    X, labels = problem()
    model = SemiSupervisedMultinomialNB(prior=prior).fit(X, labels)
    assert_allclose(np.exp(model.class_log_prior_), expected)
    assert_allclose(np.exp(clone(model).fit(X, labels).class_log_prior_), expected)


def test_smoothing_is_a_pseudo_count():
    X, labels = problem()
    model = SemiSupervisedMultinomialNB(prior=ClassPrior(smoothing=0.5), unlabeled_weight=0.0)
    expected = np.array([4.5, 4.5, 3.5]) / 12.5
    assert_allclose(np.exp(model.fit(X, labels).class_log_prior_), expected)


@pytest.mark.parametrize(
    ("former", "now"),
    [
        ({"fit_prior": False}, "uniform"),
        ({"class_prior": [0.5, 0.2, 0.3]}, [0.5, 0.2, 0.3]),
        ({"prior_smoothing": 2.0}, ClassPrior(smoothing=2.0)),
        ({"prior_smoothing": 2.0, "fit_prior": False}, ClassPrior("uniform", 2.0)),
        ({"fit_prior": True}, None),
    ],
)
def test_former_names_work_for_one_release(former, now):
    X, labels = problem()
    expected = SemiSupervisedMultinomialNB(prior=now).fit(X, labels).predict_proba(X)
    with pytest.warns(FutureWarning, match="replaced by prior in version 0.1"):
        by_constructor = SemiSupervisedMultinomialNB(**former)
    with pytest.warns(FutureWarning, match=next(iter(former))):
        by_set_params = SemiSupervisedMultinomialNB().set_params(**former)
    for model in (by_constructor, by_set_params, clone(by_constructor)):
        assert_allclose(model.fit(X, labels).predict_proba(X), expected)
    assert not set(former) & set(by_constructor.get_params())


def test_a_former_name_changes_its_part_of_the_prior():
    model = SemiSupervisedGaussianNB(prior=ClassPrior("uniform", 1.0))
    with pytest.warns(FutureWarning):
        model.set_params(prior_smoothing=3.0)
    assert model.prior == ClassPrior("uniform", 3.0)
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match="both prior and fit_prior"):
        SemiSupervisedGaussianNB(prior="uniform", fit_prior=False)


@pytest.mark.parametrize("smoothing", [-1.0, np.nan, np.inf, "one"])
def test_bad_smoothing(smoothing):
    with pytest.raises(ValueError, match=r"smoothing=.* zero or more"):
        ClassPrior(smoothing=smoothing)
    assert ClassPrior([0.5, 0.5]) == ClassPrior(np.array([0.5, 0.5]))
