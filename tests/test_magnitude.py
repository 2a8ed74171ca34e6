"""Every classifier on values near the ends of the range: an answer, or a message in words."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from leaven._magnitude import check_magnitude
from leaven.generative import (
    SemiSupervisedGaussianMixture,
    SemiSupervisedGaussianNB,
    SemiSupervisedMixedNB,
)
from leaven.graph_based import AnchorGraphClassifier, LaplacianRLSClassifier, LaplacianSVC
from leaven.self_labeling import SeededKMeansClassifier
from tools import fuzz_estimators as fuzz

Y = np.where(np.arange(16) < 6, np.arange(16) % 2, -1)
# It fits the other ones many times over.
CLASSIFIERS = [cls for cls in fuzz.public_classifiers() if cls.__name__ != "SafeClassifier"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", CLASSIFIERS, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_ends_of_the_range(cls, scale):
    X = np.random.RandomState(1).normal(size=(16, 3)) * scale
    message, answers = None, []
    with np.errstate(all="ignore"):
        try:
            model = fuzz.make(cls).fit(X, Y)
            answers = [model.label_distributions_, model.predict_proba(X)]
        except ValueError as error:
            message = str(error)
    if message is not None:
        assert not [word for word in fuzz.INTERNAL if word in message]
    for P in answers:
        np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-4)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", CLASSIFIERS, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_new_rows_at_the_ends_of_the_range(cls, form):
    # Whole numbers, as some of them need.
    X = np.random.RandomState(1).poisson(3, size=(16, 3)).astype(float)
    message, P = None, None
    with np.errstate(all="ignore"):
        try:
            model = fuzz.make(cls).fit(form(X), Y)
            P = model.predict_proba(X * np.repeat([0.0, 1e200], 8)[:, None])
        except (ValueError, TypeError) as error:
            message = str(error)
    if message is None:
        assert fuzz.is_distribution(P)
    else:
        assert not [word for word in fuzz.INTERNAL if word in message]


@pytest.mark.parametrize(
    "cls",
    [
        SemiSupervisedGaussianNB,
        SemiSupervisedGaussianMixture,
        SemiSupervisedMixedNB,
        SeededKMeansClassifier,
        AnchorGraphClassifier,
        LaplacianRLSClassifier,
        LaplacianSVC,
    ],
)
def test_the_column_is_named(cls):
    X = np.random.RandomState(1).normal(size=(16, 3))
    X[::5, 2] = -3e200
    with pytest.raises(ValueError, match=rf"{cls.__name__}.*column 2 are too large.*3e\+200"):
        cls().fit(X, Y)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_nothing_is_too_large_where_there_is_nothing(shape):
    check_magnitude("X", np.empty(shape))
    check_magnitude("X", sparse.csr_array(shape))
