"""Densities with covariances: statistics, M-steps and merging against direct formulas."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from leaven.generative._covariance import COVARIANCE_TYPES, TIED, CovarianceDensity, Scatter
from leaven.generative._mixture import (
    Mixture,
    MixtureEM,
    MixtureStatistics,
    Parts,
    merge_statistics,
)


def rows(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)


def shares(n=40, K=2, seed=1):
    return np.random.default_rng(seed).dirichlet(np.ones(K), size=n)


def fitted(kind, shrinkage=0.0, floor=0.0, n=40):
    shell = CovarianceDensity(kind, shrinkage, floor)
    X, R = rows(n), shares(n)
    return shell.update(shell.collect(X, R)), X, R


def matrices(density):
    """The covariance of each component as a matrix, whatever its type."""
    K, d = density.mean.shape
    C = density.covariance
    return {
        "full": lambda: C,
        "tied": lambda: np.stack([C] * K),
        "diag": lambda: np.stack([np.diag(v) for v in C]),
        "spherical": lambda: np.stack([v * np.eye(d) for v in C]),
        "tied-spherical": lambda: np.stack([C * np.eye(d)] * K),
    }[density.covariance_type]()


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_log_likelihood_equals_scipy(kind):
    density, X, _ = fitted(kind)
    expected = np.column_stack(
        [
            multivariate_normal(mean, C).logpdf(X)
            for mean, C in zip(density.mean, matrices(density), strict=True)
        ]
    )
    assert_allclose(density.log_likelihood(X), expected)
    assert_allclose(density.log_likelihood(X.astype(np.float32)), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_the_m_step_has_weighted_means_and_the_covariance_of_its_type(kind):
    density, X, R = fitted(kind)
    counts = R.sum(axis=0)
    for k in range(2):
        mean = R[:, k] @ X / counts[k]
        assert_allclose(density.mean[k], mean)
    within = [(X - m).T @ (R[:, [k]] * (X - m)) for k, m in enumerate(density.mean)]
    if kind in TIED:
        pooled = sum(within) / counts.sum()
        within = [pooled * c for c in counts]
    for C, scatter, count in zip(matrices(density), within, counts, strict=True):
        full = scatter / count
        expected = {
            "full": full,
            "tied": full,
            "diag": np.diag(np.diag(full)),
            "spherical": np.eye(3) * np.trace(full) / 3,
            "tied-spherical": np.eye(3) * np.trace(full) / 3,
        }[kind]
        assert_allclose(C, expected, atol=1e-12)


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
@pytest.mark.parametrize(("shrinkage", "floor"), [(0.0, 0.0), (0.3, 0.0), (0.2, 0.05)])
def test_no_parameters_nearby_do_better(kind, shrinkage, floor):
    # The M-step maximizes expected(statistics), also with shrinkage and floor.
    density, X, R = fitted(kind, shrinkage, floor)
    statistics = density.collect(X, R)
    best = density.expected(statistics)
    rng = np.random.default_rng(2)
    for size in (1e-4, 2e-3):  # the least variance of these rows is about 0.01
        for _ in range(4):
            step = rng.normal(size=density.covariance.shape) * size
            if kind in ("full", "tied"):
                step = (step + np.swapaxes(step, -1, -2)) / 2
            other = CovarianceDensity(
                kind,
                shrinkage,
                floor,
                mean=density.mean + size * rng.normal(size=density.mean.shape),
                covariance=density.covariance + step,
            )
            assert other.expected(statistics) <= best + 1e-9


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
@pytest.mark.parametrize("shrinkage", [0.0, 0.4])
def test_expected_is_the_weighted_log_likelihood_of_the_rows(kind, shrinkage):
    density, X, R = fitted(kind, shrinkage, 0.01)
    by_rows = float((R * density.log_likelihood(X)).sum())
    assert_allclose(density.expected(density.collect(X, R)), by_rows)
    # Also of other rows than those of the M-step.
    other, weights = rows(seed=5), shares(seed=6)
    by_rows = float((weights * density.log_likelihood(other)).sum())
    assert_allclose(density.expected(density.collect(other, weights)), by_rows)


@given(st.integers(1, 39), st.sampled_from(COVARIANCE_TYPES), st.floats(-1e4, 1e4))
@settings(max_examples=40)
def test_statistics_of_parts_add_up_far_from_the_origin(cut, kind, shift):
    shell = CovarianceDensity(kind, 0.0, 0.0)
    X, R = rows() + shift, shares()
    whole = shell.collect(X, R)
    merged = shell.collect(X[:cut], R[:cut])
    other = shell.collect(X[cut:], R[cut:])
    before = copy.deepcopy(other)
    merged += other
    assert_allclose(merged.counts, whole.counts)
    assert_allclose(merged.means, whole.means, rtol=1e-9, atol=1e-9)
    assert_allclose(merged.scatter, whole.scatter, rtol=1e-6, atol=1e-6)
    assert_array_equal(other.scatter, before.scatter)  # what is added stays as it was


def test_adding_rows_of_no_weight_changes_nothing():
    shell = CovarianceDensity("full", 0.0, 0.0)
    X, R = rows(), shares()
    total = shell.collect(X, R)
    total += shell.collect(X[:3], np.zeros((3, 2)))
    assert_allclose(total.means, shell.collect(X, R).means)
    assert_allclose(total.scatter, shell.collect(X, R).scatter)


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_a_component_without_rows_keeps_what_it_had(kind):
    density, X, R = fitted(kind)
    alone = R.copy()
    alone[:, 0] *= np.linspace(0.1, 2.0, len(alone))
    alone[:, 1] = 0.0
    after = density.update(density.collect(X, alone))
    assert_allclose(after.mean[1], density.mean[1])
    assert not np.allclose(after.mean[0], density.mean[0])
    if kind not in TIED:
        assert_allclose(after.covariance[1], density.covariance[1])


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_predictions_drop_the_changes_of_the_e_step(kind):
    density, X, _ = fitted(kind, 0.3, 0.02)
    sharp = density.sharp()
    expected = np.column_stack(
        [
            multivariate_normal(mean, C).logpdf(X)
            for mean, C in zip(density.mean, matrices(density), strict=True)
        ]
    )
    assert_allclose(sharp.log_likelihood(X), expected)
    assert not np.allclose(density.log_likelihood(X), expected)
    assert density.log_prior() == 0.0


def test_shrinkage_pulls_towards_the_identity():
    plain, _, _ = fitted("full")
    shrunk, _, _ = fitted("full", 0.25, 0.5)
    assert_allclose(shrunk.covariance, 0.75 * plain.covariance + 0.75 * np.eye(3))


def test_a_start_stands_in_for_the_first_covariance_only():
    shell = CovarianceDensity("tied", 0.0, 0.0, start=4.0 * np.eye(3))
    X, R = rows(), shares()
    first = shell.update(shell.collect(X, R))
    assert_allclose(first.covariance, 4.0 * np.eye(3))
    second = first.update(first.collect(X, R))
    assert_allclose(second.covariance, fitted("tied")[0].covariance)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("full", "covariance of component 0 cannot be inverted: there are too few rows for 3"),
        ("tied", "cannot be inverted"),
        ("diag", "Component 0 has a feature without variance"),
        ("spherical", "Component 0 has a feature without variance"),
    ],
)
def test_covariances_that_cannot_be_inverted(kind, message):
    shell = CovarianceDensity(kind, 0.0, 0.0)
    density = shell.update(shell.collect(np.ones((4, 3)), np.full((4, 2), 0.5)))
    with pytest.raises(ValueError, match=message):
        density.log_likelihood(np.ones((1, 3)))


def test_scatter_of_one_row_is_zero_and_of_two_their_distance():
    shell = CovarianceDensity("diag", 0.0, 0.0)
    one = shell.collect(np.array([[1.0, 5.0]]), np.array([[1.0]]))
    assert_array_equal(one.scatter, [[0.0, 0.0]])
    one += shell.collect(np.array([[3.0, 6.0]]), np.array([[1.0]]))
    assert_allclose(one.means, [[2.0, 5.5]])
    assert_allclose(one.scatter, [[2.0, 0.5]])
    assert isinstance(one, Scatter)


# The mixture


class Table:
    """A density of one categorical column with given probabilities, never updated."""

    def __init__(self, p):
        self.p = np.asarray(p)

    def log_likelihood(self, X):
        with np.errstate(divide="ignore"):
            return np.log(self.p[:, X[:, 0].astype(int)].T)

    def collect(self, X, responsibilities):
        return np.array(
            [responsibilities[X[:, 0] == v].sum(axis=0) for v in range(self.p.shape[1])]
        )

    def update(self, statistics):
        return Table((statistics / statistics.sum(axis=0)).T)

    def expected(self, statistics):
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.nansum(statistics * np.log(self.p.T)))

    def log_prior(self):
        return -0.25


P = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.3, 0.4, 0.3]])
X = np.array([[0.0], [2.0], [1.0], [0.0], [2.0], [1.0], [2.0]])
CODES = np.array([0, 1, 1, -1, -1, -1, 0])
WEIGHTS = np.array([1.0, 2.0, 0.5, 1.5, 1.0, 0.0, 1.0])


def mixture(component_classes, log_labels=None):
    n_classes = max(component_classes) + 1
    K = len(component_classes)
    weights = np.array([0.2, 0.35, 0.45])[:K]
    if log_labels is None:
        log_labels = np.full((n_classes, K), -np.inf)
        log_labels[component_classes, np.arange(K)] = 0.0
    return Mixture(Table(P[:K]), np.log(weights / weights.sum()), log_labels)


def by_hand(model, codes, weights, *, hard=False):
    """Responsibilities and objective, row by row, as the docstring of MixtureEM says."""
    joint = np.exp(model.log_joint(X))
    labels = np.exp(model.log_labels)
    R, total = np.zeros(joint.shape), 0.0
    for i, code in enumerate(codes):
        p = joint[i] * (labels[code] if code >= 0 else 1.0)
        if weights[i] > 0:
            total += weights[i] * np.log(p.max() if hard else p.sum())
            R[i] = weights[i] * (np.eye(len(p))[p.argmax()] if hard else p / p.sum())
    return R, total


@pytest.mark.parametrize("component_classes", [[0, 1], [0, 1, 1], [0, 0, 1]])
@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("chunk_rows", [None, 1, 3])
@pytest.mark.parametrize("smoothing", [0.0, 0.7])
def test_statistics_and_objective_by_hand(component_classes, hard, chunk_rows, smoothing):
    model = mixture(component_classes)
    steps = MixtureEM(
        X,
        CODES,
        np.array(component_classes),
        2,
        row_weights=WEIGHTS,
        smoothing=smoothing,
        hard=hard,
        chunk_rows=chunk_rows,
    )
    R, total = by_hand(model, CODES, WEIGHTS, hard=hard)
    for _ in range(2):  # what is kept between the steps must not change
        statistics, objective = steps.expectation(model)
        assert_allclose(statistics.counts, R.sum(axis=0))
        assert_allclose(statistics.density, Table(P).collect(X, R))
        assert_allclose(objective, total - 0.25 + smoothing * model.log_weights.sum())
    after = steps.maximization(statistics, model)
    smoothed = R.sum(axis=0) + smoothing
    assert_allclose(np.exp(after.log_weights), smoothed / smoothed.sum())


def test_fixed_class_proportions_leave_the_shares_within_a_class_free():
    classes = np.array([0, 1, 1])
    steps = MixtureEM(X, CODES, classes, 2, class_prior=np.array([0.3, 0.7]))
    model = mixture([0, 1, 1])
    statistics, _ = steps.expectation(model)
    weights = np.exp(steps.maximization(statistics, model).log_weights)
    assert_allclose([weights[0], weights[1:].sum()], [0.3, 0.7])
    assert_allclose(weights[1] / weights[2], statistics.counts[1] / statistics.counts[2])
    # A class that no row belongs to: its components share the proportion evenly.
    lost = MixtureStatistics(None, np.array([5.0, 0.0, 0.0]), np.zeros((2, 3)))
    assert_allclose(np.exp(steps._log_weights(lost.counts)), [0.3, 0.35, 0.35])


def test_the_map_from_components_to_classes_is_learned_from_labeled_rows():
    labels = np.log(np.array([[0.6, 0.2, 0.5], [0.4, 0.8, 0.5]]))
    model = mixture([0, 1, 1], labels)
    steps = MixtureEM(X, CODES, np.array([0, 1, 1]), 2, learn_labels=True, smoothing=0.5)
    R, total = by_hand(model, CODES, np.ones(7))
    statistics, objective = steps.expectation(model)
    counts = np.array([R[c == CODES].sum(axis=0) for c in (0, 1)])
    assert_allclose(statistics.label_counts, counts)
    penalty = 0.5 * (model.log_weights.sum() + labels.sum())
    assert_allclose(objective, total - 0.25 + penalty)
    learned = np.exp(steps.maximization(statistics, model).log_labels)
    assert_allclose(learned, (counts + 0.5) / (counts + 0.5).sum(axis=0))
    posterior = model.class_posterior(X)
    joint = np.exp(model.log_joint(X))
    assert_allclose(posterior, (joint / joint.sum(axis=1, keepdims=True)) @ np.exp(labels).T)


def test_a_recalibration_keeps_the_shares_within_a_class():
    wanted = np.array([[0.9, 0.1], [0.25, 0.75]])
    seen = []

    def recalibrate(q):
        seen.append(q.copy())
        return wanted

    model = mixture([0, 1, 1])
    codes = np.where(np.arange(7) < 5, np.array([0, 1, 1, 0, 1, 0, 0]), -1)
    steps = MixtureEM(X, codes, np.array([0, 1, 1]), 2, recalibrate=recalibrate)
    statistics, objective = steps.expectation(model)
    joint = np.exp(model.log_joint(X[5:]))
    posterior = joint / joint.sum(axis=1, keepdims=True)
    assert_allclose(seen[0], np.column_stack([posterior[:, 0], posterior[:, 1:].sum(axis=1)]))
    new = np.column_stack(
        [
            wanted[:, 0],
            wanted[:, [1]] * posterior[:, 1:] / posterior[:, 1:].sum(axis=1, keepdims=True),
        ]
    )
    labeled, _ = by_hand(model, np.where(codes >= 0, codes, -1), (codes >= 0) * 1.0)
    assert_allclose(statistics.counts, labeled.sum(axis=0) + new.sum(axis=0))
    _, total = by_hand(model, codes, np.ones(7))
    assert_allclose(objective, total - 0.25)


def test_a_recalibration_of_another_shape_is_refused():
    steps = MixtureEM(X, CODES, np.array([0, 1]), 2, recalibrate=lambda q: q[:, :1])
    with pytest.raises(
        ValueError, match=r"shape \(3, 1\) for class probabilities of shape \(3, 2\)"
    ):
        steps.expectation(mixture([0, 1]))


@pytest.mark.parametrize("extra", [{"class_prior": np.array([0.5, 0.5])}, {"recalibrate": np.copy}])
def test_a_learned_map_goes_with_neither(extra):
    with pytest.raises(ValueError, match="components that belong to one class each"):
        MixtureEM(X, CODES, np.array([0, 1]), 2, learn_labels=True, **extra)


def test_rows_that_are_nowhere():
    nobody = MixtureEM(X, CODES, np.array([0, 1]), 2, row_weights=np.zeros(7))
    with pytest.raises(ValueError, match="every row weight is zero"):
        nobody.expectation(mixture([0, 1]))
    unlabeled = MixtureEM(X, np.full(7, -1), np.array([0, 1]), 2)
    with pytest.raises(ValueError, match="no row to start from"):
        unlabeled.start(Table(P[:2]), np.zeros((0, 2)))


def test_the_first_step_counts_labeled_rows_with_their_weights():
    steps = MixtureEM(X, CODES, np.array([0, 1]), 2, start_weights=WEIGHTS, chunk_rows=2)
    labeled = CODES >= 0
    R = np.eye(2)[CODES[labeled]]
    first = steps.start(Table(P[:2]), R)
    counts = (R * WEIGHTS[labeled][:, None]).sum(axis=0)
    assert_allclose(np.exp(first.log_weights), counts / counts.sum())
    assert_array_equal(first.log_labels, [[0.0, -np.inf], [-np.inf, 0.0]])


def test_statistics_side_by_side_and_missing_ones():
    one, other = (
        Parts([np.array([1.0]), np.array([2.0])]),
        Parts([np.array([3.0]), np.array([5.0])]),
    )
    one += other
    assert_array_equal(np.concatenate(one.parts), [4.0, 7.0])
    first = MixtureStatistics(np.array([1.0]), np.array([2.0]), np.array([[3.0]]))
    assert merge_statistics(None, None) is None
    assert merge_statistics(first, None) is first
    assert merge_statistics(None, first) is first
    second = MixtureStatistics(np.array([0.5]), np.array([0.25]), np.array([[4.0]]))
    total = merge_statistics(first, second)
    assert (total.density[0], total.counts[0], total.label_counts[0, 0]) == (1.5, 2.25, 7.0)
