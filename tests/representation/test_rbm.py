"""Restricted Boltzmann machines and the network they pretrain."""

from __future__ import annotations

import itertools
import logging
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate
from scipy.optimize import approx_fprime
from scipy.special import expit, softmax
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.exceptions import ConvergenceWarning, MissingExtraError
from leaven.representation import RBMPretrainedClassifier
from leaven.representation._finetune import finetune, flat_objective
from leaven.representation._rbm import (
    Machine,
    binary_states,
    contrastive_divergence,
    free_energy,
    log_likelihood,
    log_partition,
    statistics,
    train_rbm,
)
from leaven.representation._rbm_network import logits, visible_scale

torch = pytest.importorskip("torch")


def nothing_installed(name):
    """An import_module of a Python without extras."""
    raise ModuleNotFoundError(name)


def silent(*_):
    """A report that nobody reads."""


def machine(n_visible, n_hidden, visible="binary", hidden="binary", seed=0):
    rng = np.random.default_rng(seed)
    W = rng.normal(scale=0.7, size=(n_visible, n_hidden))
    return Machine(W, rng.normal(size=n_visible), rng.normal(size=n_hidden), visible, hidden)


def energy(v, h, model):
    """The energy of the module's docstring, for one state."""
    W, b, c, visible, hidden = model
    of_v = -b @ v if visible == "binary" else ((v - b) ** 2).sum() / 2
    of_h = -c @ h if hidden == "binary" else ((h - c) ** 2).sum() / 2
    return of_v + of_h - v @ W @ h


def states(n):
    return [np.array(state, dtype=float) for state in itertools.product([0, 1], repeat=n)]


def tensors(model):
    return Machine(*(torch.tensor(each) for each in model[:3]), *model[3:])


def arrays_of(step):
    return [each.numpy() for each in step[:3]]


# Exact quantities of small machines, against enumeration and integration of the energy.


@pytest.mark.parametrize("visible", ["binary", "gaussian"])
def test_free_energy_is_the_sum_over_hidden_states(visible):
    model = machine(4, 3, visible)
    V = np.random.default_rng(1).random((5, 4))
    expected = [-np.log(sum(np.exp(-energy(v, h, model)) for h in states(3))) for v in V]
    assert_allclose(free_energy(V, model), expected)


def test_free_energy_of_gaussian_hidden_units_is_an_integral():
    model = machine(4, 1, hidden="gaussian")
    for v in states(4)[::5]:
        total, _ = integrate.quad(lambda h, v=v: np.exp(-energy(v, np.array([h]), model)), -15, 15)
        expected = -np.log(total) + np.log(2 * np.pi) / 2  # up to that constant
        assert_allclose(free_energy(v[None], model), expected, rtol=1e-6, atol=1e-9)


def test_log_partition_of_4_and_3_binary_units_is_the_sum_over_128_states():
    model = machine(4, 3)
    total = sum(np.exp(-energy(v, h, model)) for v in states(4) for h in states(3))
    assert_allclose(log_partition(model), np.log(total))
    assert_allclose(np.exp(log_likelihood(binary_states(4), model)).sum(), 1)


def test_gaussian_likelihood_integrates_to_one():
    model = machine(1, 3, "gaussian")
    density = lambda x: np.exp(log_likelihood(np.array([[x]]), model))[0]  # noqa: E731
    assert_allclose(integrate.quad(density, -15, 15)[0], 1, rtol=1e-6)
    model = machine(2, 2, "gaussian", seed=3)
    axis = np.linspace(-12, 12, 241)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    density = np.exp(log_likelihood(grid, model))
    assert_allclose(density.sum() * (axis[1] - axis[0]) ** 2, 1, rtol=1e-6)


def test_too_many_units_are_not_enumerated():
    with pytest.raises(ValueError, match=r"21 binary units have 2\*\*21 states; at most 20"):
        binary_states(21)
    with pytest.raises(ValueError, match="no side can be enumerated"):
        log_partition(machine(2, 2, "gaussian", "gaussian"))


# The gradient: data statistics less model statistics.


def numerical_gradient(V, model):
    """Finite differences of the exact mean log-likelihood."""
    shapes = [each.shape for each in model[:3]]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]

    def value(flat):
        pieces = [p.reshape(s) for p, s in zip(np.split(flat, ends), shapes, strict=True)]
        return log_likelihood(V, Machine(*pieces, *model[3:])).mean()

    flat = np.concatenate([each.ravel() for each in model[:3]])
    gradient = approx_fprime(flat, value, 1e-6)
    return [p.reshape(s) for p, s in zip(np.split(gradient, ends), shapes, strict=True)]


def model_statistics(model, points, weights):
    """Expected statistics under weights of visible states: each state is a data set of one."""
    rows = [arrays_of(statistics(torch.tensor(v[None]), tensors(model))) for v in points]
    return [np.tensordot(weights, np.stack(each), axes=1) for each in zip(*rows, strict=True)]


@pytest.mark.parametrize("hidden", ["binary", "gaussian"])
def test_gradient_of_4_and_3_units_by_enumeration(hidden):
    model = machine(4, 3, hidden=hidden, seed=2)
    V = np.array(states(4))[[1, 3, 3, 6, 10, 15]]
    points = binary_states(4)
    expected = model_statistics(model, points, np.exp(log_likelihood(points, model)))
    data = arrays_of(statistics(torch.tensor(V), tensors(model)))
    for found, wanted in zip(
        [one - other for one, other in zip(data, expected, strict=True)],
        numerical_gradient(V, model),
        strict=True,
    ):
        assert_allclose(found, wanted, atol=1e-6)


def test_gradient_of_a_gaussian_unit_by_integration():
    model = machine(1, 3, "gaussian", seed=4)
    V = np.array([[0.3], [-1.1], [2.2]])
    points = np.linspace(-14, 14, 2001)[:, None]
    weights = np.exp(log_likelihood(points, model)) * (points[1] - points[0])
    expected = model_statistics(model, points, weights)
    data = arrays_of(statistics(torch.tensor(V), tensors(model)))
    for found, wanted in zip(
        [one - other for one, other in zip(data, expected, strict=True)],
        numerical_gradient(V, model),
        strict=True,
    ):
        assert_allclose(found, wanted, atol=1e-5)


# Contrastive divergence is an estimate; its expectation is a sum over hidden states.


def numpy_means(V, H, model):
    W, b, c, visible, hidden = model
    of_h = c + V @ W
    of_v = b + W @ H
    return (expit(of_v) if visible == "binary" else of_v), (
        expit(of_h) if hidden == "binary" else of_h
    )


@pytest.mark.parametrize("visible", ["binary", "gaussian"])
def test_many_chains_average_to_the_enumerated_step(visible):
    model = machine(4, 3, visible, seed=5)
    v = np.array([1.0, 0.0, 0.7, 1.0])
    _, p = numpy_means(v, np.zeros(3), model)
    expected = [np.outer(v, p), v.copy(), p.copy()]
    for h in states(3):
        chance = np.prod(np.where(h == 1, p, 1 - p))
        again, _ = numpy_means(v, h, model)
        _, q = numpy_means(again, h, model)
        for total, term in zip(expected, [np.outer(again, q), again, q], strict=True):
            total -= chance * term
    chains = torch.tensor(np.tile(v, (100_000, 1)))
    step = contrastive_divergence(chains, tensors(model), torch.Generator().manual_seed(0))
    for found, wanted in zip(arrays_of(step), expected, strict=True):
        assert_allclose(found, wanted, atol=0.02)
    assert step.reconstruction.shape == chains.shape


def test_gaussian_hidden_units_are_sampled_with_variance_one():
    # With one visible Gaussian-like field the reconstruction is linear in the sampled unit.
    model = Machine(np.array([[2.0]]), np.array([0.5]), np.array([0.3]), "gaussian", "gaussian")
    chains = torch.full((100_000, 1), 0.4, dtype=torch.float64)
    step = contrastive_divergence(chains, tensors(model), torch.Generator().manual_seed(0))
    mean = 0.5 + 2.0 * (0.3 + 2.0 * 0.4)
    assert_allclose(float(step.reconstruction.mean()), mean, atol=0.03)
    assert_allclose(float(step.reconstruction.std()), 2.0, atol=0.03)


OPTIONS = {
    "learning_rate": 0.05,
    "momentum": (0.5, 0.9),
    "momentum_epochs": 5,
    "weight_cost": 0.0,
    "batch_size": 20,
    "report": silent,
}


@pytest.mark.parametrize("visible", ["binary", "gaussian"])
def test_training_raises_the_exact_likelihood(visible):
    rng = np.random.default_rng(0)
    truth = machine(4, 3, seed=6)
    points = binary_states(4)
    chance = np.exp(2 * log_likelihood(points, truth))
    V = points[rng.choice(16, size=200, p=chance / chance.sum())]
    if visible == "gaussian":  # two clusters, at all units low and at all units high
        V = rng.choice([-1.0, 1.0], size=(200, 1)) + rng.normal(scale=0.5, size=(200, 4))
    results = []
    for epochs in (0, 10):
        trained, _ = train_rbm(
            torch.tensor(V),
            3,
            visible=visible,
            hidden="binary",
            epochs=epochs,
            generator=torch.Generator().manual_seed(1),
            **OPTIONS,
        )
        plain = Machine(*(each.numpy() for each in trained[:3]), visible, "binary")
        results.append(log_likelihood(V, plain).mean())
    assert results[0] + 0.05 < results[1]


def test_momentum_and_weight_cost_by_hand():
    V = torch.tensor(np.random.default_rng(0).random((6, 4)))
    options = OPTIONS | {"weight_cost": 0.3, "momentum_epochs": 2, "batch_size": 6}
    same = {"visible": "binary", "hidden": "binary"}
    trained, errors = train_rbm(
        V, 3, epochs=4, generator=torch.Generator().manual_seed(0), **same, **options
    )
    generator = torch.Generator().manual_seed(0)
    W = 0.1 * torch.empty((4, 3), dtype=torch.float64).normal_(generator=generator)
    b, c = torch.zeros(4, dtype=torch.float64), torch.zeros(3, dtype=torch.float64)
    dW, db, dc = 0.0, 0.0, 0.0
    for epoch, m in enumerate([0.5, 0.5, 0.9, 0.9]):
        order = torch.empty(6, dtype=torch.float64).uniform_(generator=generator).argsort()
        step = contrastive_divergence(V[order], Machine(W, b, c), generator)
        assert_allclose(errors[epoch], float(((V[order] - step[3]) ** 2).sum()) / 6)
        dW = m * dW + 0.05 * (step.weights - 0.3 * W)
        db = m * db + 0.05 * step.visible_bias
        dc = m * dc + 0.05 * step.hidden_bias
        W, b, c = W + dW, b + db, c + dc
    for found, wanted in zip(trained[:3], (W, b, c), strict=True):
        assert_allclose(found.numpy(), wanted.numpy())


def test_divergence_is_an_error_that_names_the_rate():
    V = torch.tensor(np.random.default_rng(0).normal(size=(50, 4)))
    with pytest.raises(ValueError, match=r"linear_learning_rate=100\. Set linear"):
        train_rbm(
            V,
            3,
            visible="gaussian",
            hidden="gaussian",
            epochs=200,
            generator=torch.Generator().manual_seed(0),
            **OPTIONS | {"learning_rate": 100.0},
        )


# Fine-tuning.


def test_fine_tuning_gradient_by_finite_differences():
    rng = np.random.default_rng(0)
    sizes = [(4, 3), (3,), (3, 5), (5,), (5, 2), (2,)]
    start = [torch.tensor(rng.normal(size=size)) for size in sizes]
    V, targets = torch.tensor(rng.random((6, 4))), torch.tensor([0, 1, 1, 0, 1, 0])
    objective = flat_objective(
        torch, lambda p: torch.nn.functional.cross_entropy(logits(p, V), targets), start
    )
    flat = np.concatenate([each.numpy().ravel() for each in start])
    value, gradient = objective(flat)
    # The value by hand: sigmoid layers, softmax, mean log loss.
    W1, b1, W2, b2, W3, b3 = (each.numpy() for each in start)
    a = expit(expit(V.numpy() @ W1 + b1) @ W2 + b2) @ W3 + b3
    assert_allclose(value, -np.log(softmax(a, axis=1)[range(6), targets.numpy()]).mean())
    assert_allclose(gradient, approx_fprime(flat, lambda x: objective(x)[0], 1e-7), atol=1e-5)


@pytest.mark.parametrize("method", ["lbfgs", "cg"])
def test_fine_tuning_finds_the_least_squares_solution(method):
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(12, 5)), rng.normal(size=12)
    tensor_A, tensor_b = torch.tensor(A), torch.tensor(b)
    start = [torch.zeros(2, dtype=torch.float64), torch.zeros((3, 1), dtype=torch.float64)]
    tuned = finetune(
        torch,
        lambda p: ((tensor_A @ torch.cat([p[0], p[1].ravel()]) - tensor_b) ** 2).sum(),
        start,
        method=method,
        max_iter=100,
        tol=1e-10,
        report=silent,
    )
    expected = np.linalg.lstsq(A, b)[0]
    assert tuned.converged
    assert tuned.parameters[1].shape == (3, 1)
    assert_allclose(np.concatenate([p.ravel() for p in tuned.parameters]), expected, atol=1e-5)
    assert np.diff(tuned.objective_trace).max() <= 0
    assert_allclose(tuned.objective_trace[0], (b**2).sum())


# The classifier.


def digits(n_classes=10, per_class=5, seed=0):
    X, truth = load_digits(n_class=n_classes, return_X_y=True)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))[: 60 * n_classes]
    X, truth = X[order], truth[order]
    y = np.full(len(X), -1)
    for code in range(n_classes):
        rows = np.flatnonzero(truth == code)[:per_class]
        y[rows] = code
    return X, truth, y


def small(**changes):
    options = {"pretrain_epochs": 3, "random_state": 0} | changes
    return RBMPretrainedClassifier((12, 8), **options)


KNOWN = {"check_classifiers_classes": "-1 marks an unlabeled row, not a class"}


@parametrize_with_checks(
    [
        RBMPretrainedClassifier((6,), visible="gaussian", pretrain_epochs=2, tol=1e-2),
        RBMPretrainedClassifier((20, 10), pretrain_epochs=5, finetune="cg"),
    ],
    expected_failed_checks=lambda estimator: KNOWN,
)
def test_sklearn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("finetune", ["lbfgs", "cg"])
@pytest.mark.parametrize("visible", ["binary", "gaussian"])
def test_attributes_and_given_labels(visible, finetune):
    X, _, y = digits(3)
    model = small(visible=visible, finetune=finetune).fit(X, y)
    given = y != -1
    assert_array_equal(model.transduction_[given], y[given])
    assert_allclose(model.label_distributions_.sum(axis=1), 1)
    assert_allclose(model.predict_proba(X)[~given], model.label_distributions_[~given])
    assert [each.shape for each in model.coefs_] == [(64, 12), (12, 8), (8, 3)]
    assert [each.shape for each in model.intercepts_] == [(12,), (8,), (3,)]
    assert {each.dtype for each in model.coefs_ + model.intercepts_} == {np.dtype(np.float32)}
    assert [each.shape for each in model.reconstruction_errors_] == [(3,), (3,)]
    assert model.objective_trace_.shape == (model.n_iter_ + 1,)
    assert_allclose(model.objective_trace_[0], np.log(3), rtol=1e-6)
    assert np.diff(model.objective_trace_).max() <= 0
    assert model.converged_


def test_predictions_by_hand():
    X, _, y = digits(3)
    model = small(visible="gaussian").fit(X, y)
    deviation = X.std(axis=0)
    a = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    for W, b in list(zip(model.coefs_, model.intercepts_, strict=True))[:-1]:
        a = expit(a @ W + b)
    expected = softmax(a @ model.coefs_[-1] + model.intercepts_[-1], axis=1)
    assert_allclose(model.predict_proba(X), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("visible", ["binary", "gaussian"])
def test_reconstruction_error_falls(visible):
    X, _, y = digits(3)
    rate = 0.01 if visible == "gaussian" else 0.001
    model = small(visible=visible, pretrain_epochs=25, linear_learning_rate=rate).fit(X, y)
    for errors in model.reconstruction_errors_:
        assert errors[-1] < 0.95 * errors[0]


def test_unlabeled_rows_help():
    gains = []
    for seed in range(2):
        X, truth, y = digits(seed=seed)
        hidden = y == -1
        right = [
            np.mean(
                RBMPretrainedClassifier((60,), pretrain_epochs=epochs, random_state=seed)
                .fit(X, y)
                .transduction_[hidden]
                == truth[hidden]
            )
            for epochs in (0, 30)
        ]
        gains.append(right[1] - right[0])
    assert np.mean(gains) > 0.04


def test_scale_of_the_columns_does_not_matter():
    X, _, y = digits(3)
    plain = small().fit(X, y).label_distributions_
    assert_allclose(small().fit(X * 16 - 5, y).label_distributions_, plain, atol=1e-3)
    plain = small(visible="gaussian").fit(X, y).label_distributions_
    scaled = X * np.linspace(1, 50, 64) + np.linspace(-9, 9, 64)
    found = small(visible="gaussian").fit(scaled, y).label_distributions_
    assert_allclose(found, plain, atol=1e-3)


def test_visible_scale():
    X = np.array([[1.0, 5.0], [3.0, 5.0]])
    offset, scale = visible_scale(X, "binary")
    assert_allclose((X - offset) / scale, [[0, 1], [0.5, 1]])
    offset, scale = visible_scale(X, "gaussian")
    assert_allclose((X - offset) / scale, [[-1, 0], [1, 0]])
    offset, scale = visible_scale(np.full((2, 2), 7.0), "binary")
    assert_allclose((7.0 - offset) / scale, 0)


def test_repeatable_and_without_the_global_generators():
    X, _, y = digits(3)
    before_X, before_y = X.copy(), y.copy()
    state, legacy = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first = small().fit(X, y)
    again = small().fit(X, y).fit(X, y)
    assert_array_equal(first.label_distributions_, again.label_distributions_)
    assert_array_equal(X, before_X)
    assert_array_equal(y, before_y)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert_array_equal(np.random.get_state()[1], legacy)  # noqa: NPY002
    other = small(random_state=1).fit(X, y)
    assert np.abs(first.coefs_[0] - other.coefs_[0]).max() > 0.01


def test_names_frames_and_float32():
    X, _, y = digits(3)
    names = np.array(["ant", "bee", "cow"], dtype=object)
    plain = small().fit(X, y)
    frame = pd.DataFrame(X.astype(np.float32), columns=[f"p{i}" for i in range(64)])
    named = small().fit(frame, np.where(y == -1, None, names[y]))
    assert_array_equal(named.transduction_, names[plain.transduction_])
    assert list(named.feature_names_in_) == list(frame.columns)
    assert_array_equal(named.predict(frame), names[plain.predict(X)])


def test_verbose_logs_and_progress_changes_nothing(caplog, capsys):
    X, _, y = digits(3)
    plain = small().fit(X, y)
    assert not caplog.records
    with caplog.at_level(logging.INFO, logger="leaven"):
        shown = small(verbose=1, progress=True).fit(X, y)
    assert_array_equal(shown.label_distributions_, plain.label_distributions_)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2 * 3 + shown.n_iter_
    assert lines[0].startswith("RBMPretrainedClassifier: layer 64-12, epoch 1: reconstruction err")
    assert lines[-1].startswith("RBMPretrainedClassifier: fine-tuning, iteration")
    assert capsys.readouterr().out == ""


def test_warns_when_fine_tuning_is_cut_short():
    X, _, y = digits(3)
    with pytest.warns(ConvergenceWarning, match="after finetune_iter=2 iterations"):
        model = small(finetune_iter=2).fit(X, y)
    assert not model.converged_
    assert model.n_iter_ == 2


def test_a_pickle_is_read_without_pytorch(monkeypatch):
    X, _, y = digits(3)
    model = small().fit(X, y)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    frozen = pickle.dumps(model)
    monkeypatch.setattr("leaven._optional.importlib.import_module", nothing_installed)
    thawed = pickle.loads(frozen)
    assert_array_equal(thawed.transduction_, model.transduction_)
    message = r'RBMPretrainedClassifier needs torch. Install it with: pip install "leaven\[deep\]"'
    with pytest.raises(MissingExtraError, match=message):
        thawed.predict(X)
    with pytest.raises(MissingExtraError, match=message):
        small().fit(X, y)


def test_importing_the_package_leaves_pytorch_alone():
    code = "import sys, leaven.representation; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_layer_sizes": ()}, r"one positive integer for each hidden layer.*got \(\)"),
        ({"hidden_layer_sizes": (5, 0)}, r"hidden_layer_sizes must hold.*got \(5, 0\)"),
        ({"hidden_layer_sizes": (5.5,)}, r"hidden_layer_sizes must hold.*got \(5.5,\)"),
        ({"momentum": (0.5, 1.0)}, r"momentum must hold two numbers of \[0, 1\).*got \(0.5, 1.0\)"),
        ({"momentum": (0.5,)}, "momentum must hold two numbers"),
        ({"visible": "poisson"}, "The 'visible' parameter of RBMPretrainedClassifier must be"),
        ({"finetune": "adam"}, "The 'finetune' parameter of RBMPretrainedClassifier must be"),
        ({"finetune_iter": 0}, "The 'finetune_iter' parameter"),
    ],
)
def test_bad_parameters(changes, message):
    X, _, y = digits(3)
    with pytest.raises(ValueError, match=message):
        small().set_params(**changes).fit(X, y)


def test_bad_labels():
    X, _, y = digits(3)
    with pytest.raises(ValueError, match="no labeled row"):
        small().fit(X, np.full(len(y), -1))
    with pytest.raises(ValueError, match="1 class only"):
        small().fit(X, np.where(y == 1, 1, -1))
