"""EM of many fits at once is the EM of leaven's classifiers, fit by fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit, softmax
from scipy.stats import rankdata

from leaven.generative import (
    ClassPrior,
    RankSigmoid,
    SemiSupervisedCategoricalNB,
    SemiSupervisedGaussianNB,
)
from studies import curve_em, curves
from studies.curve_em import (
    LEFT_OUT,
    CategoricalFeatures,
    Features,
    Fits,
    GaussianFeatures,
    Settings,
    fit_all,
    log_joint,
)
from studies.curve_ranks import RankSigmoids, weighted_ranks
from studies.curves import NaiveBayesCurve, fitted_together
from studies.estimators import UNLABELED


def categories(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Three classes, the first rows one of each, and columns of 2 to 4 values."""
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(3), rng.integers(0, 3, n - 3)])
    values = np.column_stack([(codes + rng.integers(0, s, n)) % s for s in (2, 3, 4)])
    frame = pd.DataFrame(values.astype(str)).astype("category")
    return frame, codes


def numbers(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes, two rows of each first; the last feature has few values."""
    rng = np.random.default_rng(seed)
    codes = np.concatenate([[0, 1, 0, 1], rng.integers(0, 2, n - 4)])
    X = rng.normal(size=(n, 4)) * [1.0, 5.0, 0.1, 1.0] + codes[:, None] * [1.5, 2.0, 0.05, 0.5]
    X[:, 3] = np.round(X[:, 3])
    X[:, 1] += 100.0
    return X, codes


def labels_at(codes: np.ndarray, sizes: list[int]) -> np.ndarray:
    return np.where(np.arange(len(codes))[:, None] < np.array(sizes), codes[:, None], UNLABELED)


def convex(labels: np.ndarray, weights: list[float]) -> Fits:
    unlabeled = np.array(weights)
    return Fits(labels, 1 - unlabeled, unlabeled)


def plain(labels: np.ndarray) -> Fits:
    ones = np.ones(labels.shape[1])
    return Fits(labels, ones, ones)


def posterior(
    features: Features, fits: Fits, n_classes: int, *more: object, **settings: Any
) -> np.ndarray:
    model = fit_all(features, fits, n_classes, Settings(prior_smoothing=1.0, **settings), *more)
    return softmax(log_joint(features, model), axis=1)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([1 << 20, 1]), st.sampled_from([2, 3]))
def test_categorical_fits_are_those_of_the_classifier(seed: int, block: int, n: int) -> None:
    X, codes = categories(40, seed)
    codes %= n  # two classes go by log-odds
    sizes, weights = [3, 6, 20, 40], [0.5, 0.2, 0.0, 0.5]
    labels = labels_at(codes, sizes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(curve_em, "BLOCK_ELEMENTS", block)
        patch.setattr(curve_em, "LEAST_FITS", 1)
        found = posterior(CategoricalFeatures.make(X), convex(labels, weights), n)
    for t, weight in enumerate(weights):
        model = SemiSupervisedCategoricalNB(
            unlabeled_weight=weight, weighting="convex", prior=ClassPrior(smoothing=1.0)
        )
        expected = model.fit(X, labels[:, t]).predict_proba(X)
        assert_allclose(found[:, :, t], expected, atol=1e-9)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_gaussian_fits_are_those_of_the_classifier(seed: int) -> None:
    X, codes = numbers(50, seed)
    sizes, weights = [6, 12, 25], [0.5, 0.3, 0.5]
    labels = labels_at(codes, sizes)
    found = posterior(GaussianFeatures.make(X), convex(labels, weights), 2)
    for t, weight in enumerate(weights):
        model = SemiSupervisedGaussianNB(
            unlabeled_weight=weight, weighting="convex", prior=ClassPrior(smoothing=1.0)
        )
        expected = model.fit(X, labels[:, t]).predict_proba(X)
        assert_allclose(found[:, :, t], expected, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("make", [categories, numbers])
def test_single_precision_gives_the_same_fits_but_for_rounding(
    make: Callable[..., Any], n_classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, codes = make(300, 5)
    if make is categories:
        codes, features = codes % n_classes, CategoricalFeatures.make(X)
    else:
        # A third class of its own, with two rows of it among the first.
        codes[[4, 5, *range(100, 150)]] = n_classes - 1
        X[codes == 2] += [0.0, -10.0, 0.2, 0.0]
        features = GaussianFeatures.make(X)
    fits = convex(labels_at(codes, [12, 40, 150]), [0.5, 0.3, 0.5])
    # The same number of steps: rounding may end a fit one step before or after.
    steps = {"max_iter": 20, "tol": 0.0}
    exact = posterior(features, fits, n_classes, **steps)
    monkeypatch.setattr(curve_em, "SINGLE_ROWS", 1)
    single = posterior(features, fits, n_classes, **steps)
    assert not np.array_equal(single, exact)  # else it was not in use
    assert_allclose(single, exact, atol=2e-3)
    # Where the terms of a log-probability are large and cancel, nothing is left of seven digits.
    monkeypatch.setattr(curve_em, "SINGLE_SIZE", 1.0)
    assert_allclose(posterior(features, fits, n_classes, **steps), exact, atol=0)


@pytest.mark.parametrize("share", [None, 0.7])
def test_recalibration_of_categories_is_applied_between_the_steps(share: float | None) -> None:
    X, codes = categories(60, 3)
    codes %= 2
    labels = labels_at(codes, [4, 9, 30])
    slopes = [0.01, 0.5, 4.0]
    maps = RankSigmoids(np.array(slopes), share)
    found = posterior(CategoricalFeatures.make(X), plain(labels), 2, maps)
    mean = "kept" if share is None else [1 - share, share]
    for t, slope in enumerate(slopes):
        model = SemiSupervisedCategoricalNB(
            recalibration=RankSigmoid(slope, mean), prior=ClassPrior(smoothing=1.0)
        )
        # Objectives do not rise with every step here: one may stop a step before the other.
        expected = model.fit(X, labels[:, t]).predict_proba(X)
        assert_allclose(found[:, :, t], expected, atol=1e-5)


def test_log_probabilities_far_apart_do_not_underflow_into_wrong_classes() -> None:
    # Two clusters 2000 standard deviations apart: the other class has e^-2000000, which is 0.
    X = np.concatenate([np.linspace(-1, 1, 20), np.linspace(1999, 2001, 20)])[:, None]
    codes = np.repeat([0, 1], 20)
    labels = np.where(np.arange(40) % 10 < 2, codes, UNLABELED)[:, None]
    found = posterior(GaussianFeatures.make(X), plain(labels), 2)[:, :, 0]
    model = SemiSupervisedGaussianNB(prior=ClassPrior(smoothing=1.0))
    assert_allclose(found, model.fit(X, labels[:, 0]).predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("share", [None, 0.7])
def test_recalibration_is_applied_between_the_steps(share: float | None) -> None:
    X, codes = numbers(60, 3)
    labels = labels_at(codes, [8, 8, 8])
    slopes = [0.01, 0.5, 4.0]
    maps = RankSigmoids(np.array(slopes), share)
    found = posterior(GaussianFeatures.make(X), plain(labels), 2, maps)
    mean = "kept" if share is None else [1 - share, share]
    for t, slope in enumerate(slopes):
        model = SemiSupervisedGaussianNB(
            recalibration=RankSigmoid(slope, mean), prior=ClassPrior(smoothing=1.0)
        )
        expected = model.fit(X, labels[:, t]).predict_proba(X)
        assert_allclose(found[:, :, t], expected, atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.01, 30.0), st.sampled_from([None, 0.05, 0.6]))
def test_recalibration_of_rows_with_weights_is_that_of_all_rows(
    seed: int, slope: float, share: float | None
) -> None:
    rng = np.random.default_rng(seed)
    log_odds, times = rng.normal(0, 3, 12).round(1), rng.integers(0, 4, 12)
    times[0] = 1
    maps = RankSigmoids(np.array([slope]), share)
    found = maps.transform(log_odds[None], times[None].astype(float))[0]
    p = expit(np.repeat(log_odds, times))
    mean = "kept" if share is None else [1 - share, share]
    expected = RankSigmoid(slope, mean).transform(np.column_stack([1 - p, p]))[:, 1]
    assert_allclose(np.repeat(found, times), expected, atol=1e-9)


def test_rows_left_out_play_no_part() -> None:
    X, codes = categories(40, 1)
    labels = labels_at(codes, [12])
    labels[[5, 30], 0] = LEFT_OUT
    kept = labels[:, 0] != LEFT_OUT
    found = posterior(CategoricalFeatures.make(X), plain(labels), 3)[:, :, 0]
    model = SemiSupervisedCategoricalNB(prior=ClassPrior(smoothing=1.0))
    expected = model.fit(X[kept], labels[kept, 0]).predict_proba(X)
    assert_allclose(found, expected, atol=1e-9)


def test_a_class_without_a_label_can_be_predicted() -> None:
    # One labeled row (a, a) of class 0: θ_0(a) = 2/3, θ_0(b) = 1/3, priors 2/3 and 1/3 of two
    # classes, and 1/2 for everything of class 1. At (b, b): 2/3 · 1/9 against 1/3 · 1/4.
    X = pd.DataFrame({"u": ["a", "b"], "v": ["a", "b"]}).astype("category")
    labels = np.array([[0], [UNLABELED]])
    found = posterior(CategoricalFeatures.make(X), convex(labels, [0.0]), 2)[1, :, 0]
    assert_allclose(found, np.array([2 / 27, 1 / 12]) / (2 / 27 + 1 / 12))


@pytest.mark.parametrize("n_classes", [5, 7])
def test_classes_without_a_label_stay_alike(
    n_classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # They start with the same parameters, and EM has no reason to tell them apart. Rounding has:
    # products of matrices round their last columns in another way than the first ones.
    rng = np.random.default_rng(3)
    groups = rng.integers(0, n_classes, 400)
    noise = (rng.random((400, 12)) < 0.3) * rng.integers(0, 4, (400, 12))
    X = pd.DataFrame(((groups[:, None] + noise) % 4).astype(str)).astype("category")
    features = CategoricalFeatures.make(X)
    # One to seven rows of the first class have labels.
    fits = plain(labels_at(np.zeros(400, dtype=int), [1, 2, 3, 4, 5, 6, 7]))
    steps = {"max_iter": 200, "tol": 0.0}
    exact = posterior(features, fits, n_classes, **steps)
    monkeypatch.setattr(curve_em, "SINGLE_ROWS", 1)
    single = posterior(features, fits, n_classes, **steps)
    assert not np.array_equal(single, exact)  # else it was not in use
    assert_allclose(single, exact, atol=1e-3)
    for found in (exact, single):
        assert_allclose(found[:, 2:], found[:, 1:-1], rtol=1e-9)


def test_a_single_row_of_a_class_has_no_variance() -> None:
    X, codes = numbers(20, 0)
    with pytest.raises(ValueError, match="needs at least two"):
        posterior(GaussianFeatures.make(X), convex(labels_at(codes, [3]), [0.5]), 2)


def test_missing_values_are_refused() -> None:
    X = pd.DataFrame({"u": ["a", None]}).astype("category")
    with pytest.raises(ValueError, match="make them a category"):
        CategoricalFeatures.make(X)


@pytest.mark.parametrize("max_iter", [1, 2, 3, 4, 5, 6, 8, 11])
def test_fits_that_end_at_the_last_iteration_beside_others_that_do_not(max_iter: int) -> None:
    # A fit that came to rest in the last iteration left the others with the wrong shapes.
    X, codes = categories(60, 4)
    sizes = [4, 7, 12, 20, 30, 45, 55, 58]
    fits = plain(labels_at(codes, sizes))
    features, rules = CategoricalFeatures.make(X), Settings(1.0, max_iter=max_iter, tol=1e-3)
    together = fit_all(features, fits, 3, rules)
    for t in range(len(sizes)):
        alone = fit_all(features, fits.take([t]), 3, rules)
        assert_allclose(together.coef[..., t], alone.coef[..., 0], atol=1e-12)
        assert_allclose(together.const[:, t], alone.const[:, 0], atol=1e-12)


def test_fits_that_run_out_of_iterations_stop_there() -> None:
    X, codes = categories(60, 4)
    labels = labels_at(codes, [4])
    model = SemiSupervisedCategoricalNB(prior=ClassPrior(smoothing=1.0), max_iter=2, tol=0.0)
    with pytest.warns(UserWarning, match="did not converge"):
        expected = model.fit(X, labels[:, 0]).predict_proba(X)
    features = CategoricalFeatures.make(X)
    found = fit_all(features, plain(labels), 3, Settings(1.0, max_iter=2, tol=0.0))
    assert_allclose(softmax(log_joint(features, found), axis=1)[:, :, 0], expected, atol=1e-12)


def test_fits_with_the_same_labels_share_a_column() -> None:
    X, codes = categories(40, 2)
    labels, weights = labels_at(codes, [6, 20]), np.array([0.2, 0.5, 0.2, 0.9])
    column = np.array([0, 0, 1, 1])
    features, rules = CategoricalFeatures.make(X), Settings(1.0)
    shared = fit_all(features, Fits(labels, 1 - weights, weights, column), 3, rules)
    apart = fit_all(features, convex(labels[:, column], list(weights)), 3, rules)
    assert_allclose(shared.coef, apart.coef, atol=1e-12)
    assert_allclose(shared.const, apart.const, atol=1e-12)


def test_features_with_a_single_category() -> None:
    X, codes = categories(40, 5)
    X.insert(1, 9, pd.Series(["s"] * 40, dtype="category"))
    labels = labels_at(codes, [6])
    found = posterior(CategoricalFeatures.make(X), plain(labels), 3)[:, :, 0]
    model = SemiSupervisedCategoricalNB(prior=ClassPrior(smoothing=1.0))
    assert_allclose(found, model.fit(X, labels[:, 0]).predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("elements", [1, 100])
@pytest.mark.parametrize("make", [numbers, categories])
def test_recalibrated_fits_do_not_depend_on_those_beside_them(
    make: Any, elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, codes = make(60, 3)
    codes %= 2
    features = (GaussianFeatures if make is numbers else CategoricalFeatures).make(X)
    fits = plain(labels_at(codes, [8, 12, 20, 30, 45]))
    maps = RankSigmoids(np.array([0.01, 0.5, 1.0, 4.0, 9.0]), None)
    together = posterior(features, fits, 2, maps)
    monkeypatch.setattr(curve_em, "RANKED_ELEMENTS", elements)
    assert_allclose(posterior(features, fits, 2, maps), together, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([3.0, 1e9]), st.booleans())
def test_ranks_of_small_and_of_huge_values(seed: int, scale: float, tied: bool) -> None:
    # Huge ones do not fit into an integer with their place, and are sorted by another way.
    rng = np.random.default_rng(seed)
    values = rng.normal(0, scale, (3, 20)).round(1 if tied else 9)
    if tied:
        values[:, 10:] = values[:, rng.integers(0, 10, 10)]
    found = weighted_ranks(values, np.ones(values.shape))
    assert_allclose(found, rankdata(values, axis=1))


@pytest.mark.parametrize("kind", ["weight", "slope"])
def test_methods_fitted_together_predict_as_those_alone(kind: str) -> None:
    X, codes = categories(60, 6)
    codes %= 2
    order, test = np.arange(45), np.arange(45, 60)
    methods = [NaiveBayesCurve(**{kind: value}) for value in (0.1, 0.5, 0.9)]

    def predict(method: NaiveBayesCurve) -> np.ndarray:
        return method.curve_plan(X).predict(codes, 2, order, (2, 5, 20, 45), test)

    alone = [predict(method) for method in methods]
    with fitted_together(methods):
        together = [predict(method) for method in methods]
        assert not curves._ahead  # all were asked for
        predict(methods[0])
        assert len(curves._ahead) == 2
    assert not curves._ahead
    np.testing.assert_array_equal(together, alone)
    assert (alone[0] != alone[2]).any()
