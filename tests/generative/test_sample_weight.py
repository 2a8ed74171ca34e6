"""A row of integer weight w counts as w equal rows, in every EM model."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from leaven.generative import (
    LogOdds,
    RankSigmoid,
    SemiSupervisedCategoricalNB,
    SemiSupervisedGaussianMixture,
    SemiSupervisedGaussianNB,
    SemiSupervisedHMM,
    SemiSupervisedMultinomialNB,
)
from leaven.generative._recalibration import rank_rows

from .problems import MODELS, codes, counts, hide, numbers, parameters_of

CASES = {
    **{name: (ours(**settings_), make) for name, (ours, _, make, settings_) in MODELS.items()},
    "epsilon": (SemiSupervisedGaussianNB(var_smoothing=0.05), numbers),
    "normalized": (
        SemiSupervisedMultinomialNB(weighting="normalized", unlabeled_weight=0.3),
        counts,
    ),
    "convex": (SemiSupervisedCategoricalNB(weighting="convex", unlabeled_weight=0.3), codes),
    "labeled prior": (SemiSupervisedMultinomialNB(prior="labeled"), counts),
    "full": (SemiSupervisedGaussianMixture(), numbers),
    "tied": (SemiSupervisedGaussianMixture(covariance_type="tied"), numbers),
    "tree": (SemiSupervisedMultinomialNB(n_components=2, init="tree"), counts),
    "learned": (SemiSupervisedGaussianNB(component_classes="learned"), numbers),
    "hard": (SemiSupervisedGaussianNB(hard=True), numbers),
    "ranks": (SemiSupervisedGaussianNB(recalibration=RankSigmoid(3.0, mean="labeled")), numbers),
    "beta": (SemiSupervisedGaussianNB(recalibration=RankSigmoid(3.0, mean="beta")), numbers),
    "log-odds": (SemiSupervisedGaussianNB(recalibration=LogOdds(scale=0.5)), numbers),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", CASES)
def test_integer_weights_repeat_rows(case, seed):
    model, make = CASES[case]
    model.set_params(max_iter=7)
    rng = np.random.default_rng(seed)
    X, y = make(rng)
    labels = hide(rng, y)
    weights = rng.integers(0, 4, len(y))
    for code in range(3):  # each class keeps two labeled rows
        weights[np.flatnonzero(labels == code)[:2]] = [2, 3]
    repeated = model.fit(np.repeat(X, weights, axis=0), np.repeat(labels, weights))
    if hasattr(repeated, "covariances_"):
        means, trace = repeated.means_, repeated.objective_trace_
    else:
        means, trace = parameters_of(repeated), repeated.objective_trace_
    proba = repeated.predict_proba(X)
    weighted = model.fit(X, labels, sample_weight=weights)
    found = weighted.means_ if hasattr(weighted, "means_") else parameters_of(weighted)
    # A weight that is not heeded moves them by hundredths; another processor by 3e-7.
    assert_allclose(found, means, rtol=1e-5)
    assert_allclose(weighted.objective_trace_, trace, rtol=1e-7)
    assert_allclose(weighted.predict_proba(X), proba, atol=1e-6)
    # Rows of weight 0 are labeled too, and keep what was given.
    given = labels >= 0
    assert (weighted.transduction_[given] == labels[given]).all()


def test_kmeans_sees_the_weights():
    # Rows far apart: however k-means starts, the heavy rows must have a cluster of their own.
    X = np.array([[0.0], [1.0], [40.0], [2.0], [3.0], [50.0]])
    y = np.array([0, 0, 0, 1, 1, 1])
    weights = np.array([1, 5, 2, 3, 1, 4])
    model = SemiSupervisedGaussianMixture(
        n_components=2, init="kmeans", covariance_type="tied-spherical", random_state=0
    )
    weighted = np.sort(model.fit(X, y, sample_weight=weights).means_, axis=0)
    model.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert_allclose(weighted, np.sort(model.means_, axis=0), rtol=1e-6)


def test_weighted_ranks_are_those_of_repeated_rows():
    q = np.random.default_rng(0).dirichlet(np.ones(3), size=9).round(1) + 1e-3
    times = np.array([1, 3, 2, 1, 4, 2, 1, 1, 5])
    assert_allclose(np.repeat(rank_rows(q, times), times, 0), rank_rows(np.repeat(q, times, 0)))


@pytest.mark.parametrize(
    "recalibration", [LogOdds(scale=0.4, mean=[0.2, 0.5, 0.3]), RankSigmoid(2)]
)
def test_recalibration_with_weights(recalibration):
    rng = np.random.default_rng(1)
    q = rng.dirichlet(np.ones(3), size=8)
    times = rng.integers(1, 5, 8)
    found = recalibration.transform(q, sample_weight=times)
    expected = recalibration.transform(np.repeat(q, times, axis=0))
    assert_allclose(np.repeat(found, times, axis=0), expected, atol=1e-9)
    with pytest.raises(ValueError, match="for each of the 8 rows"):
        recalibration.transform(q, sample_weight=times[:3])


def test_sequences_have_weights():
    rng = np.random.default_rng(2)
    sequences = [rng.integers(0, 3, length) for length in (7, 5, 9, 6)]
    labels = [[0, 1, -1, -1, 1, 0, 0], None, [-1] * 4 + [1, 1, 0, 0, -1], None]
    times = [2, 1, 3, 4]
    repeated = [(s, y) for s, y, t in zip(sequences, labels, times, strict=True) for _ in range(t)]
    more = {"max_iter": 500, "tol": 1e-9}
    expected = SemiSupervisedHMM(**more).fit(*map(list, zip(*repeated, strict=True)))
    found = SemiSupervisedHMM(**more).fit(sequences, labels, sample_weight=times)
    assert_allclose(found.transition_proba_, expected.transition_proba_, rtol=1e-6)
    assert_allclose(found.objective_trace_, expected.objective_trace_, rtol=1e-9)
    with pytest.raises(ValueError, match="each of the 4 sequences"):
        SemiSupervisedHMM().fit(sequences, labels, sample_weight=[1, 2])


class Half:
    def transform(self, q):
        return np.full_like(q, 1 / q.shape[1])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -1.0, 1.0, 1.0], "none of them negative"),
        ([1.0, np.inf, 1.0, 1.0], "finite"),
        ([[1.0]] * 4, "1D array"),
        ([1.0, 2.0], "inconsistent numbers of samples"),
        ([1.0, 0.0, 1.0, 1.0], "class 1 all have sample weight zero"),
    ],
)
def test_bad_weights(weights, message):
    X, y = np.array([[1, 0], [0, 2], [3, 1], [0, 1]]), [0, 1, -1, -1]
    with pytest.raises(ValueError, match=message):
        SemiSupervisedMultinomialNB().fit(X, y, sample_weight=weights)


def test_a_recalibration_without_weights_says_so():
    X, y = np.array([[1, 0], [0, 2], [3, 1], [0, 1]]), [0, 1, -1, -1]
    model = SemiSupervisedMultinomialNB(recalibration=Half())
    model.fit(X, y)
    with pytest.raises(ValueError, match="takes none"):
        model.fit(X, y, sample_weight=[1, 2, 3, 4])
