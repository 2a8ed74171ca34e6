"""Bad input gets a clear error and changes nothing; memory stays within its bound."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from leaven.generative import (
    SemiSupervisedBernoulliNB,
    SemiSupervisedCategoricalNB,
    SemiSupervisedGaussianNB,
    SemiSupervisedMixedNB,
    SemiSupervisedMultinomialNB,
)

X = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 0.0], [2.0, 2.0]])
Y = [0, 1, 0, 1]
ALL = [
    SemiSupervisedMultinomialNB,
    SemiSupervisedBernoulliNB,
    SemiSupervisedCategoricalNB,
    SemiSupervisedGaussianNB,
    SemiSupervisedMixedNB,
]
NO_NAN = [
    SemiSupervisedMultinomialNB,
    SemiSupervisedBernoulliNB,
    SemiSupervisedGaussianNB,
    SemiSupervisedMixedNB,
]


@pytest.mark.parametrize("form", [np.array, sparse.csr_matrix])
def test_negative_counts(form):
    bad = X.copy()
    bad[1, 0] = -1
    with pytest.raises(ValueError, match="Negative values in data"):
        SemiSupervisedMultinomialNB().fit(form(bad), Y)
    model = SemiSupervisedMultinomialNB().fit(form(X), Y)
    with pytest.raises(ValueError, match="Negative values in data"):
        model.predict(form(bad))


@pytest.mark.parametrize("ours", NO_NAN)
def test_missing_numbers(ours):
    bad = X.copy()
    bad[1, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        ours().fit(bad, Y)


@pytest.mark.parametrize("ours", ALL)
@pytest.mark.parametrize(
    ("y", "message"), [([-1] * 4, "no labeled row"), ([0, 0, -1, -1], "1 class only")]
)
def test_labels_that_are_not_enough(ours, y, message):
    with pytest.raises(ValueError, match=message):
        ours().fit(X, y)


@pytest.mark.parametrize("ours", ALL)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("unlabeled_weight", 1.2),
        ("unlabeled_weight", -0.1),
        ("weighting", "half"),
        ("init", "best"),
        ("component_classes", "free"),
        ("recalibration", "rank"),
        ("prior", "first"),
        ("max_iter", 0),
        ("tol", -1.0),
    ],
)
def test_parameters_out_of_range(ours, name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        ours(**{name: value}).fit(X, Y)


@pytest.mark.parametrize(
    ("prior", "message"),
    [([0.5, 0.2], "sums to"), ([1.0, 0.0], "positive proportion"), ([1.0], "2 classes")],
)
def test_class_priors(prior, message):
    with pytest.raises(ValueError, match=message):
        SemiSupervisedMultinomialNB(prior=prior).fit(X, Y)


@pytest.mark.parametrize(
    ("alpha", "message"), [([1.0, 1.0, 1.0], "2 features"), ([-1.0, 1.0], "none of them negative")]
)
def test_pseudo_counts(alpha, message):
    with pytest.raises(ValueError, match=message):
        SemiSupervisedMultinomialNB(alpha=alpha).fit(X, Y)


def test_numbers_that_are_not_binary():
    with pytest.raises(ValueError, match="binarize=None they must be between 0 and 1"):
        SemiSupervisedBernoulliNB(binarize=None).fit(X, Y)


@pytest.mark.parametrize("ours", ALL)
def test_a_failed_fit_leaves_the_parameters(ours):
    model = ours(n_components=[1, 2])
    before = clone(model).get_params()
    with pytest.raises(ValueError, match="no labeled row"):
        model.fit(X, [-1] * 4)
    assert model.get_params() == before


def test_values_whose_squares_overflow_are_refused():
    huge = np.array([[0.0], [1e-3], [1e200], [1.1e200], [-1e308]])
    model = SemiSupervisedGaussianNB(var_smoothing=0.0, constant_features="keep")
    with pytest.raises(ValueError, match=r"column 0 are too large for that, up to 1e\+308"):
        model.fit(huge, [0, 0, 1, 1, -1])


def test_peak_memory_of_the_multinomial_model():
    rng = np.random.default_rng(0)
    n_rows, n_terms, n_classes = 2_000, 6_000, 10
    counts = sparse.random(n_rows, n_terms, density=0.02, format="csr", random_state=rng)
    counts.data = np.ceil(5 * counts.data)
    y = np.where(rng.random(n_rows) < 0.1, rng.integers(0, n_classes, n_rows), -1)
    y[:n_classes] = np.arange(n_classes)
    model = SemiSupervisedMultinomialNB(tol=1e-3).fit(counts, y)
    tracemalloc.start()
    model.fit(counts, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Counted over the fitted model of before, which goes as the new one comes.
    # What else is kept differs with the versions of the libraries; a copy of the counts alone
    # would be two million bytes.
    assert peak <= 8 * (3 * n_rows * n_classes + 3 * n_terms * n_classes) + 500_000
