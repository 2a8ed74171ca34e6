"""One autoencoder a class."""

from __future__ import annotations

import logging
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from scipy.special import expit
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.exceptions import ConvergenceWarning, MissingExtraError
from leaven.representation import ClasswiseAutoencoder
from leaven.representation._autoencoder import (
    error_probabilities,
    reconstruct,
    reconstruction_loss,
    unroll,
)
from leaven.representation._finetune import flat_objective
from leaven.representation._rbm import Machine
from leaven.self_labeling import SelfTrainingClassifier

torch = pytest.importorskip("torch")


def nothing_installed(name):
    """An import_module of a Python without extras."""
    raise ModuleNotFoundError(name)


def digits(n_classes=3, per_class=6):
    X, truth = load_digits(n_class=n_classes, return_X_y=True)
    X, truth = X[: 50 * n_classes], truth[: 50 * n_classes]
    y = np.full(len(X), -1)
    for code in range(n_classes):
        y[np.flatnonzero(truth == code)[:per_class]] = code
    return X, truth, y


def small(**changes):
    options = {"pretrain_epochs": 10, "random_state": 0} | changes
    return ClasswiseAutoencoder((20, 6), **options)


@pytest.mark.parametrize("visible", ["binary", "gaussian"])
def test_unrolled_network_by_hand(visible):
    rng = np.random.default_rng(0)
    W1, a1, c1 = rng.normal(size=(5, 4)), rng.normal(size=5), rng.normal(size=4)
    W2, a2, c2 = rng.normal(size=(4, 2)), rng.normal(size=4), rng.normal(size=2)
    machines = [
        Machine(*map(torch.tensor, (W1, a1, c1)), visible),
        Machine(*map(torch.tensor, (W2, a2, c2)), "binary", "gaussian"),
    ]
    X = rng.random((3, 5))
    code = expit(X @ W1 + c1) @ W2 + c2  # the bottleneck is linear
    output = expit(code @ W2.T + a2) @ W1.T + a1
    expected = expit(output) if visible == "binary" else output
    found = reconstruct(unroll(machines), torch.tensor(X), visible)
    assert_allclose(found.numpy(), expected)


@pytest.mark.parametrize("visible", ["binary", "gaussian"])
def test_fine_tuning_gradient_by_finite_differences(visible):
    rng = np.random.default_rng(1)
    sizes = [(4, 3), (3,), (3, 2), (2,), (2, 3), (3,), (3, 4), (4,)]
    start = [torch.tensor(rng.normal(size=size)) for size in sizes]
    V = torch.tensor(rng.random((5, 4)))
    objective = flat_objective(torch, lambda p: reconstruction_loss(p, V, visible), start)
    flat = np.concatenate([each.numpy().ravel() for each in start])
    value, gradient = objective(flat)
    output = reconstruct(start, V, visible).numpy()
    assert_allclose(value, np.mean(((output - V.numpy()) ** 2).sum(axis=1)) / 2)
    assert_allclose(gradient, approx_fprime(flat, lambda x: objective(x)[0], 1e-7), atol=1e-5)


@given(arrays(float, (4, 3), elements=st.floats(0, 1e6, allow_subnormal=False)))
@settings(max_examples=50)
def test_probabilities_of_errors(errors):
    found = error_probabilities(errors)
    assert_allclose(found.sum(axis=1), 1)
    best = errors.argmin(axis=1)
    assert_array_equal(found[range(4), best], found.max(axis=1))
    assert_allclose(error_probabilities(errors * 8.0), found)  # free of scale
    positive = (errors > 1e-100).all(axis=1)
    inverse = errors[positive] ** -2.0
    assert_allclose(found[positive], inverse / inverse.sum(axis=1, keepdims=True), atol=1e-12)


@parametrize_with_checks(
    [
        # A bottleneck of one unit: some checks have two columns only.
        ClasswiseAutoencoder((5, 1), min_examples=1, pretrain_epochs=3, visible="gaussian"),
        ClasswiseAutoencoder((1,), min_examples=1, pretrain_epochs=3, finetune="cg"),
    ],
    expected_failed_checks=lambda estimator: {
        "check_classifiers_classes": "-1 marks an unlabeled row, not a class"
    },
)
def test_sklearn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("finetune", ["lbfgs", "cg"])
@pytest.mark.parametrize("visible", ["binary", "gaussian"])
def test_attributes_and_rule(visible, finetune):
    X, truth, y = digits()
    model = small(visible=visible, finetune=finetune).fit(X, y)
    hidden = y == -1
    assert_array_equal(model.transduction_[~hidden], y[~hidden])
    assert_array_equal(model.predict(X), model.reconstruction_errors(X).argmin(axis=1))
    assert_allclose(model.label_distributions_[hidden], model.predict_proba(X)[hidden])
    assert np.mean(model.transduction_[hidden] == truth[hidden]) > 0.6
    shapes = [(64, 20), (20,), (20, 6), (6,), (6, 20), (20,), (20, 64), (64,)]
    for autoencoder in model.autoencoders_:
        assert [each.shape for each in autoencoder] == shapes
        assert {each.dtype for each in autoencoder} == {np.dtype(np.float32)}
    assert model.converged_
    assert model.objective_trace_.shape == (model.n_iter_ + 1,)
    assert_allclose(
        model.objective_trace_[[0, -1]],
        [sum(trace[place] for trace in model.objective_traces_) for place in (0, -1)],
    )


def test_errors_by_hand():
    X, _, y = digits()
    model = small(visible="gaussian").fit(X, y)
    known = X[y != -1]
    deviation = known.std(axis=0)
    scaled = (X - known.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    for code, (W1, b1, W2, b2, W3, b3, W4, b4) in enumerate(model.autoencoders_):
        output = expit((expit(scaled @ W1 + b1) @ W2 + b2) @ W3 + b3) @ W4 + b4
        expected = np.sqrt(((output - scaled) ** 2).sum(axis=1))
        assert_allclose(model.reconstruction_errors(X)[:, code], expected, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_errors_fall_in_pretraining_and_in_fine_tuning():
    X, _, y = digits(per_class=10)
    model = small(pretrain_epochs=30, linear_learning_rate=0.01, tol=0.0, finetune_iter=60)
    model.fit(X, y)
    for layers, trace in zip(model.pretraining_errors_, model.objective_traces_, strict=True):
        assert all(errors[-1] < errors[0] for errors in layers)
        assert np.diff(trace).max() <= 0
        assert trace[-1] < 0.9 * trace[0]


def test_an_autoencoder_sees_its_own_class_only():
    X, _, y = digits()
    plain = small().fit(X, y)
    other = X.copy()
    moved = np.flatnonzero(y == 2)
    other[moved] = other[moved][:, ::-1]
    # The first class draws the first random numbers: it must be the same to the last bit.
    again = small().fit(other, y)
    for one, two in zip(plain.autoencoders_[0], again.autoencoders_[0], strict=True):
        assert_array_equal(one, two)
    assert not np.array_equal(plain.autoencoders_[2][0], again.autoencoders_[2][0])


def test_a_class_with_one_example():
    X, _, y = digits()
    y[np.flatnonzero(y == 1)[1:]] = -1
    with pytest.raises(
        ValueError,
        match=r"at least min_examples=2 labeled rows for its autoencoder; fewer have: 1 \(1\)\. "
        r"Label more rows of these classes, or set min_examples=1",
    ):
        small().fit(X, y)
    model = small(min_examples=1).fit(X, y)
    assert model.predict(X[y == 1]).tolist() == [1]


def test_inside_self_training():
    X, truth, y = digits()
    # One example a class and a round, three rounds, is what Lefakis does in section 3.4.2.
    model = SelfTrainingClassifier(small(), k_best=1, per_class="always", max_iter=3).fit(X, y)
    assert model.history_.shape[0] == 9
    assert model.history_.label.value_counts().tolist() == [3, 3, 3]
    assert np.mean(model.transduction_ == truth) > 0.6


def test_repeatable_pickle_and_missing_pytorch(monkeypatch):
    X, _, y = digits()
    state = torch.random.get_rng_state()
    model = small().fit(X, y)
    assert_array_equal(small().fit(X, y).label_distributions_, model.label_distributions_)
    assert torch.equal(torch.random.get_rng_state(), state)
    frozen = pickle.dumps(model)
    assert_array_equal(pickle.loads(frozen).predict_proba(X), model.predict_proba(X))
    monkeypatch.setattr("leaven._optional.importlib.import_module", nothing_installed)
    with pytest.raises(MissingExtraError, match=r"ClasswiseAutoencoder needs torch.*leaven\[deep"):
        pickle.loads(frozen).predict(X)


def test_verbose_progress_and_warning(caplog, capsys):
    X, _, y = digits()
    with (
        caplog.at_level(logging.INFO, logger="leaven"),
        pytest.warns(ConvergenceWarning, match=r"ClasswiseAutoencoder: .* finetune_iter=2 iter"),
    ):
        model = small(verbose=1, progress=True, finetune_iter=2, tol=0.0).fit(X, y)
    assert not model.converged_
    assert len(caplog.records) == 3 * (2 * 10 + 2)
    assert capsys.readouterr().out == ""
