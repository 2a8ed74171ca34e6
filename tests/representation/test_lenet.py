"""LeNet-5."""

from __future__ import annotations

import logging
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.signal import correlate2d
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.exceptions import MissingExtraError
from leaven.representation import LeNet5Classifier
from leaven.representation._lenet import (
    C3_SEES,
    connections,
    initial_weights,
    lenet_logits,
    pad_images,
    padded_side,
)

torch = pytest.importorskip("torch")


def nothing_installed(name):
    """An import_module of a Python without extras."""
    raise ModuleNotFoundError(name)


def weights_for(shape=(28, 28), n_classes=10, seed=0):
    return initial_weights(torch, shape, n_classes, torch.Generator().manual_seed(seed))


def test_numbers_of_weights_are_those_of_the_paper():
    # LeCun et al. (1998), section II.B: trainable parameters of each layer, 60,000 in all.
    weights = weights_for()
    count = {
        layer: weights[f"{layer}_weight"].numel() + weights[f"{layer}_bias"].numel()
        for layer in ("C1", "S2", "S4", "C5", "F6")
    }
    count["C3"] = int((weights["C3_weight"] != 0).sum()) + weights["C3_bias"].numel()
    expected = {"C1": 156, "S2": 12, "C3": 1516, "S4": 32, "C5": 48120, "F6": 10164}
    assert count == expected
    assert sum(count.values()) == 60_000


def test_connections_of_c3():
    # Each map of S2 is seen by ten of the sixteen maps of C3 (columns of table I).
    assert connections().shape == (16, 6, 1, 1)
    assert connections().sum(axis=0).ravel().tolist() == [10] * 6
    assert len(set(map(frozenset, C3_SEES))) == 16


def squash(a):
    return 1.7159 * np.tanh(2 * a / 3)


def sub_sample(a, weight, bias):
    """S2 of Lefakis, section 3.3.1: w/4 times the sum of each field of 2 × 2, plus b."""
    sums = a[:, ::2, ::2] + a[:, 1::2, ::2] + a[:, ::2, 1::2] + a[:, 1::2, 1::2]
    return squash(weight / 4 * sums + bias)


def convolve(maps, weight, bias, seen=None):
    output = []
    for k, kernel in enumerate(weight):
        visible = range(len(maps)) if seen is None else seen[k]
        output.append(sum(correlate2d(maps[m], kernel[m], mode="valid") for m in visible))
        output[-1] = squash(output[-1] + bias[k])
    return np.array(output)


@pytest.mark.parametrize("shape", [(28, 28), (10, 21)])
def test_seven_layers_by_hand(shape):
    rng = np.random.default_rng(0)
    weights = {
        name: torch.tensor(rng.normal(scale=0.3, size=tuple(each.shape)))
        for name, each in weights_for(shape, 4).items()
    }
    image = rng.normal(size=tuple(padded_side(side) for side in shape))
    w = {name: each.numpy() for name, each in weights.items()}
    a = convolve(image[None], w["C1_weight"], w["C1_bias"])
    a = sub_sample(a, w["S2_weight"], w["S2_bias"])
    a = convolve(a, w["C3_weight"], w["C3_bias"], C3_SEES)
    a = sub_sample(a, w["S4_weight"], w["S4_bias"])
    a = convolve(a, w["C5_weight"], w["C5_bias"])
    assert a.shape == (120, 1, 1)
    a = squash(w["F6_weight"] @ a.ravel() + w["F6_bias"])
    expected = w["output_weight"] @ a + w["output_bias"]
    seen = torch.tensor(connections())
    found = lenet_logits(torch, weights, seen, torch.tensor(image[None, None]))
    assert_allclose(found.numpy()[0], expected)


@pytest.mark.parametrize(("side", "padded"), [(28, 32), (8, 16), (1, 16), (29, 36), (32, 36)])
def test_padded_side(side, padded):
    assert padded_side(side) == padded


def test_images_are_put_into_the_middle():
    X = np.arange(2 * 12, dtype=float).reshape(2, 12)
    images = pad_images(X, (3, 4))
    assert images.shape == (2, 1, 16, 16)
    assert images.dtype == np.float32
    assert_array_equal(images[:, 0, 6:9, 6:10].reshape(2, 12), X)
    assert np.count_nonzero(images != np.float32(-0.1)) == 24


def digits():
    X, truth = load_digits(return_X_y=True)
    return X, truth


class AnyWidth(LeNet5Classifier):
    """Takes rows of any length for images one pixel high: the checks have no square ones."""

    def _shape(self, n_pixels):
        return 1, n_pixels


@parametrize_with_checks(
    [AnyWidth(epochs=5, batch_size=8)],
    expected_failed_checks=lambda estimator: {
        "check_classifiers_classes": "-1 marks an unlabeled row, not a class"
    },
)
def test_sklearn_contract(estimator, check):
    check(estimator)


def test_learns_digits_and_ignores_unlabeled_rows():
    X, truth = digits()
    y = np.where(np.arange(len(X)) < 900, truth, -1)
    model = LeNet5Classifier(random_state=0).fit(X, y)
    assert np.mean(model.transduction_[900:] == truth[900:]) > 0.7
    assert_array_equal(model.transduction_[:900], truth[:900])
    assert_allclose(model.label_distributions_.sum(axis=1), 1)
    assert model.image_shape_ == (8, 8)
    assert model.objective_trace_.shape == (model.n_iter_,) == (10,)
    assert model.objective_trace_[-1] < 0.2 * model.objective_trace_[0]
    assert {each.dtype for each in model.weights_.values()} == {np.dtype(np.float32)}
    assert not model.weights_["C3_weight"][connections()[:, :, 0, 0] == 0].any()
    alone = LeNet5Classifier(random_state=0).fit(X[:900], truth[:900])
    assert_array_equal(alone.predict_proba(X), model.predict_proba(X))
    assert_allclose(alone.predict_proba(X)[900:], model.label_distributions_[900:], atol=1e-6)


def test_range_of_the_pixels_does_not_matter():
    X, truth = digits()
    X, truth = X[:150], truth[:150]
    plain = LeNet5Classifier(epochs=2, random_state=0).fit(X, truth)
    bytes_ = (X * 15).astype(np.uint8)
    other = LeNet5Classifier(epochs=2, random_state=0).fit(bytes_, truth)
    assert_allclose(other.predict_proba(bytes_), plain.predict_proba(X), atol=1e-4)


def test_repeatable_names_frames_and_pickle(monkeypatch):
    X, truth = digits()
    X, truth = X[:100], truth[:100]
    state, before = torch.random.get_rng_state(), X.copy()
    model = LeNet5Classifier(epochs=2, random_state=3).fit(X, truth)
    names = np.array([f"digit {i}" for i in range(10)])
    frame = pd.DataFrame(X, columns=[f"p{i}" for i in range(64)])
    named = LeNet5Classifier((8, 8), epochs=2, random_state=3).fit(frame, names[truth])
    assert_array_equal(named.predict_proba(frame), model.predict_proba(X))
    assert_array_equal(named.predict(frame), names[model.predict(X)])
    assert torch.equal(torch.random.get_rng_state(), state)
    assert_array_equal(X, before)
    frozen = pickle.dumps(model)
    assert_array_equal(pickle.loads(frozen).predict_proba(X), model.predict_proba(X))
    monkeypatch.setattr("leaven._optional.importlib.import_module", nothing_installed)
    with pytest.raises(MissingExtraError, match=r"LeNet5Classifier needs torch.*leaven\[deep\]"):
        pickle.loads(frozen).predict(X)


def test_image_shape():
    X, truth = np.random.default_rng(0).random((6, 12)), [0, 1, 0, 1, 0, 1]
    assert LeNet5Classifier((3, 4), epochs=1).fit(X, truth).image_shape_ == (3, 4)
    with pytest.raises(ValueError, match=r"X has 12 features, which is not a square image. Give"):
        LeNet5Classifier().fit(X, truth)
    with pytest.raises(ValueError, match=r"image_shape=\(5, 4\) has 20 pixels, but X has 12 feat"):
        LeNet5Classifier((5, 4)).fit(X, truth)
    with pytest.raises(ValueError, match=r"image_shape must be two positive integers"):
        LeNet5Classifier((12,)).fit(X, truth)


def test_divergence_is_an_error():
    X, truth = digits()
    with pytest.raises(ValueError, match=r"diverged with learning_rate=1e\+38. Set learning_rate"):
        LeNet5Classifier(learning_rate=1e38, epochs=3, random_state=0).fit(X[:100], truth[:100])


def test_verbose_and_progress(caplog, capsys):
    X, truth = digits()
    with caplog.at_level(logging.INFO, logger="leaven"):
        LeNet5Classifier(epochs=2, verbose=1, progress=True).fit(X[:60], truth[:60])
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2
    assert lines[1].startswith("LeNet5Classifier: epoch 2: loss ")
    assert capsys.readouterr().out == ""
