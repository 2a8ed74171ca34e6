"""Folds and temperatures, against SciPy's softmax and a search over a grid."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import softmax

from leaven.app._calibration import fit_temperature, fold_numbers, sharpen


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(2, 6))
def test_folds_share_out_every_class_evenly(codes, n_folds):
    codes = np.array(codes)
    folds = fold_numbers(codes, n_folds, seed=1)
    assert folds.min() >= 0
    assert folds.max() < n_folds
    sizes = np.bincount(folds, minlength=n_folds)
    assert sizes.max() - sizes.min() <= 1
    for code in np.unique(codes):
        own = np.bincount(folds[codes == code], minlength=n_folds)
        assert own.max() - own.min() <= 1


def test_folds_depend_on_the_seed_alone():
    codes = np.arange(50) % 3
    assert (fold_numbers(codes, 5, 2) == fold_numbers(codes, 5, 2)).all()
    assert (fold_numbers(codes, 5, 2) != fold_numbers(codes, 5, 3)).any()


@pytest.mark.parametrize("temperature", [0.4, 1.0, 2.7])
def test_a_temperature_divides_the_logits(temperature):
    logits = np.random.default_rng(0).normal(size=(20, 4))
    found = sharpen(softmax(logits, axis=1), temperature)
    assert_allclose(found, softmax(logits / temperature, axis=1))


def test_sharpening_keeps_the_order_and_a_row_of_zeros():
    P = np.array([[0.5, 0.3, 0.2], [0.0, 0.0, 0.0]])
    found = sharpen(P, 3.1)
    assert found[0].argsort().tolist() == P[0].argsort().tolist()
    assert found[1].tolist() == [0, 0, 0]


@pytest.mark.parametrize("true_temperature", [0.6, 1.5, 2.5])
def test_the_temperature_that_made_the_labels_is_found(true_temperature):
    rng = np.random.default_rng(8)
    P = softmax(rng.normal(scale=2.0, size=(6000, 3)), axis=1)
    honest = sharpen(P, true_temperature)
    truth = np.array([rng.choice(3, p=row) for row in honest])
    assert fit_temperature(P, truth) == pytest.approx(true_temperature, rel=0.08)


def test_the_temperature_is_the_best_of_a_grid():
    rng = np.random.default_rng(1)
    P = rng.dirichlet([2, 1, 1], 40)
    truth = rng.integers(0, 3, 40)

    def loss(temperature):
        sharp = sharpen(P, temperature)
        # The labels, and one more that is spread over all rows and classes.
        return -np.log(sharp[np.arange(40), truth]).sum() - np.log(sharp).mean()

    grid = np.exp(np.linspace(-np.log(4), np.log(4), 2001))
    best = grid[np.argmin([loss(each) for each in grid])]
    assert fit_temperature(P, truth) == pytest.approx(best, rel=5e-3)


def test_no_mistake_gives_a_finite_temperature():
    P = np.array([[0.7, 0.3]] * 30)
    found = fit_temperature(P, np.zeros(30, dtype=int))
    assert 0.25 <= found < 1
