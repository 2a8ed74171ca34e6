"""Gaussian mixtures against discriminant analysis and scikit-learn's mixture."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.covariance import EmpiricalCovariance
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestCentroid
from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.generative import ClassPrior, SemiSupervisedGaussianMixture, SemiSupervisedGaussianNB
from leaven.generative._covariance import COVARIANCE_TYPES, CovarianceDensity
from leaven.generative._mixture import Mixture, MixtureEM
from leaven.solvers import run_em

RNG = np.random.default_rng(0)
CENTERS = np.array([[0.0, 0.0, 0.0], [3.0, 1.0, 0.0], [0.0, 3.0, 2.0]])
TRUTH = np.arange(90) % 3
X = CENTERS[TRUTH] + RNG.normal(size=(90, 3)) @ np.array([[1, 0.4, 0], [0, 0.8, 0.3], [0, 0, 1.2]])
PARTLY = np.where(np.arange(90) < 15, TRUTH, -1)


def test_all_labeled_full_is_quadratic_discriminant_analysis():
    model = SemiSupervisedGaussianMixture(reg_covar=0.0).fit(X, TRUTH)
    joint = np.empty((90, 3))
    for c in range(3):
        cov = EmpiricalCovariance().fit(X[c == TRUTH]).covariance_
        assert_allclose(model.covariances_[c], cov, atol=1e-12)
        joint[:, c] = multivariate_normal(X[c == TRUTH].mean(axis=0), cov).pdf(X) / 3
    assert_allclose(model.predict_proba(X), joint / joint.sum(axis=1, keepdims=True), atol=1e-9)


def test_all_labeled_tied_is_linear_discriminant_analysis():
    peer = LinearDiscriminantAnalysis(solver="lsqr").fit(X, TRUTH)
    model = SemiSupervisedGaussianMixture(covariance_type="tied", reg_covar=0.0).fit(X, TRUTH)
    assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-9)


def test_all_labeled_tied_spherical_is_the_nearest_mean():
    model = SemiSupervisedGaussianMixture(covariance_type="tied-spherical", prior="uniform")
    peer = NearestCentroid().fit(X, TRUTH)
    assert_array_equal(model.fit(X, TRUTH).predict(X), peer.predict(X))


def test_diagonal_is_gaussian_naive_bayes():
    for y in (TRUTH, PARTLY):
        model = SemiSupervisedGaussianMixture(
            covariance_type="diag", reg_covar=0.0, tol=1e-10, max_iter=1000
        ).fit(X, y)
        peer = SemiSupervisedGaussianNB(var_smoothing=0.0, tol=1e-10, max_iter=1000).fit(X, y)
        assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_without_labels_it_is_the_mixture_of_scikit_learn(kind):
    start = X[[3, 40, 77]]
    cov = np.cov(X.T, bias=True)
    covariance = {
        "full": np.array([cov] * 3),
        "tied": cov,
        "diag": np.array([np.diag(cov)] * 3),
        "spherical": np.full(3, np.trace(cov) / 3),
    }[kind]
    peer = GaussianMixture(
        3,
        covariance_type=kind,
        reg_covar=0.0,
        tol=0.0,
        max_iter=7,
        weights_init=np.full(3, 1 / 3),
        means_init=start,
        precisions_init=np.linalg.inv(covariance) if kind in ("full", "tied") else 1 / covariance,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer.fit(X)
    steps = MixtureEM(X, np.full(90, -1), np.arange(3), 3, chunk_rows=17)
    density = CovarianceDensity(kind, 0.0, 0.0, None, start, covariance)
    mixture = Mixture(density, np.log(np.full(3, 1 / 3)), np.log(np.eye(3) + 1e-300))
    result = run_em(steps.expectation, steps.maximization, mixture, max_iter=7, tol=0.0)
    assert_allclose(result.parameters.density.mean, peer.means_, atol=1e-9)
    assert_allclose(result.parameters.density.covariance, peer.covariances_, atol=1e-9)
    assert_allclose(result.objective_trace[-1], peer.score(X) * 90, rtol=1e-9)


@given(
    kind=st.sampled_from(COVARIANCE_TYPES),
    shrinkage=st.sampled_from([0.0, 0.3, 0.8]),
    reg=st.sampled_from([1e-6, 0.1]),
    weight=st.sampled_from([0.1, 1.0]),
    weighting=st.sampled_from(["unlabeled", "convex", "normalized"]),
    n_components=st.integers(1, 2),
    learned=st.booleans(),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_the_objective_never_falls(
    kind, shrinkage, reg, weight, weighting, n_components, learned, seed
):
    rng = np.random.default_rng(seed)
    truth = np.arange(60) % 2
    rows = rng.normal(size=(60, 3)) + 1.5 * truth[:, None]
    y = np.where(np.arange(60) < 24, truth, -1)
    model = SemiSupervisedGaussianMixture(
        covariance_type=kind,
        shrinkage=shrinkage,
        reg_covar=reg,
        unlabeled_weight=weight,
        weighting=weighting,
        n_components=n_components,
        component_classes="learned" if learned else "fixed",
        prior=ClassPrior(smoothing=1.0),
        max_iter=40,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        trace = model.fit(rows, y).objective_trace_
    assert np.diff(trace).min() >= -1e-9 * np.abs(trace).max()


def test_shrunk_covariance_by_formula():
    model = SemiSupervisedGaussianMixture(shrinkage=0.3, reg_covar=0.0).fit(X, TRUTH)
    for c in range(3):
        cov = np.cov(X[c == TRUTH].T, bias=True)
        assert_allclose(model.covariances_[c], 0.7 * cov + 0.3 * np.eye(3), atol=1e-12)


def test_one_label_a_class_is_enough_for_shrunk_and_tied():
    y = np.where(np.arange(90) < 3, TRUTH, -1)
    for params in ({"covariance_type": "tied"}, {"covariance_type": "tied-spherical"}):
        model = SemiSupervisedGaussianMixture(**params).fit(X, y)
        assert (model.transduction_ == TRUTH).mean() > 0.6
    SemiSupervisedGaussianMixture(shrinkage=0.8).fit(X, y)
    with pytest.raises(ValueError, match="Class 0 has 1 labeled row"):
        SemiSupervisedGaussianMixture().fit(X, y)


def test_weight_zero_is_supervised():
    for kind in COVARIANCE_TYPES:
        model = SemiSupervisedGaussianMixture(covariance_type=kind, unlabeled_weight=0.0)
        alone = SemiSupervisedGaussianMixture(covariance_type=kind).fit(X[:15], TRUTH[:15])
        assert_allclose(model.fit(X, PARTLY).covariances_, alone.covariances_, atol=1e-12)


def test_unlabeled_rows_help_when_the_model_is_right():
    rng = np.random.default_rng(3)
    gain = []
    for _ in range(10):
        truth = np.arange(300) % 2
        rows = rng.normal(size=(300, 2)) + 2.0 * truth[:, None]
        y = np.where(np.arange(300) < 8, truth, -1)
        both = SemiSupervisedGaussianMixture().fit(rows, y)
        alone = SemiSupervisedGaussianMixture(unlabeled_weight=0.0).fit(rows, y)
        gain.append((both.transduction_ == truth).mean() - (alone.transduction_ == truth).mean())
    assert np.mean(gain) > 0.02


def test_data_far_from_the_origin_keeps_its_digits():
    base = SemiSupervisedGaussianMixture(reg_covar=0.0).fit(X, TRUTH)
    moved = SemiSupervisedGaussianMixture(reg_covar=0.0).fit(X + 1e6, TRUTH)
    assert_allclose(moved.covariances_, base.covariances_, rtol=1e-6, atol=1e-6)


def test_a_singular_covariance_is_explained():
    rows = np.column_stack([X, X[:, 0]])
    with pytest.raises(ValueError, match="cannot be inverted"):
        SemiSupervisedGaussianMixture(reg_covar=0.0).fit(rows, PARTLY)
    rows[:, 3] = 1.0
    with pytest.raises(ValueError, match="without variance"):
        SemiSupervisedGaussianMixture(covariance_type="diag", reg_covar=0.0).fit(rows, PARTLY)


@parametrize_with_checks(
    [
        SemiSupervisedGaussianMixture(covariance_type="tied"),
        SemiSupervisedGaussianMixture(shrinkage=0.5),
    ],
    expected_failed_checks=lambda estimator: {
        "check_classifiers_classes": "-1 marks an unlabeled row, not a class"
    },
)
def test_sklearn_contract(estimator, check):
    check(estimator)
