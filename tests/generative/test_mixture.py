"""The EM loop and the steps of a mixture, against sums written out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, stats
from scipy.special import logsumexp
from sklearn.mixture import GaussianMixture

from leaven.generative._gaussian import GaussianDensity, Moments
from leaven.generative._mixture import Mixture, MixtureEM, normalize_log_rows, take_rows
from leaven.generative._multinomial import MultinomialDensity
from leaven.solvers import run_em

from .problems import counts, hide, numbers


def test_the_loop_says_why_it_stopped():
    def halve(x):
        return x, -x * x

    rest = run_em(halve, lambda x, _: x / 2, 1.0, max_iter=50, tol=0.8)
    assert (rest.stop_reason, rest.converged, rest.n_iter) == ("max_iter", False, 50)
    still = run_em(halve, lambda x, _: max(x / 2, 0.25), 1.0, max_iter=50, tol=0.0)
    assert (still.stop_reason, still.converged, still.n_iter) == ("converged", True, 3)
    assert_allclose(still.objective_trace, [-1, -0.25, -0.0625, -0.0625])
    lost = run_em(halve, lambda x, _: np.nan, 1.0)
    assert (lost.stop_reason, lost.converged, lost.n_iter) == ("not_finite", False, 1)
    assert run_em(halve, lambda x, _: x, np.inf).n_iter == 0
    with pytest.raises(ValueError, match="max_iter=0"):
        run_em(halve, lambda x, _: x, 1.0, max_iter=0)


def test_the_loop_reports_each_iteration():
    seen = []
    result = run_em(
        lambda x: (x, -x),
        lambda x, _: x / 2,
        1.0,
        max_iter=3,
        on_iteration=lambda iteration, objective: seen.append((iteration, objective)),
    )
    assert seen == [(1, -0.5), (2, -0.25), (3, -0.125)]
    assert result.parameters == 0.125


def test_rows_without_any_probability_are_uniform():
    rows = np.array([[-np.inf, -np.inf], [0.0, -np.inf]])
    assert_allclose(normalize_log_rows(rows), [-np.inf, 0.0])
    assert_allclose(rows, [[0.5, 0.5], [1.0, 0.0]])


def gaussian_problem(learn_labels=False, hard=False, smoothing=0.0, **options):
    """A problem with two components for each of two classes, and a mixture to start from."""
    rng = np.random.default_rng(0)
    X, y = numbers(rng, n_rows=40, n_features=3, n_classes=2)
    codes = hide(rng, y, per_class=6)
    weights = rng.uniform(0.2, 2.0, size=len(y))
    weights[:3] = 0.0
    owners = np.array([0, 0, 1, 1])
    steps = MixtureEM(
        X,
        codes,
        owners,
        2,
        row_weights=weights,
        learn_labels=learn_labels,
        hard=hard,
        smoothing=smoothing,
        **options,
    )
    labels = rng.dirichlet(np.ones(2), size=4).T
    if not learn_labels:
        labels = (np.arange(2)[:, None] == owners).astype(float)
    with np.errstate(divide="ignore"):
        mixture = Mixture(
            GaussianDensity(0.3, rng.normal(size=(4, 3)), rng.gamma(2.0, size=(4, 3)) + 0.3),
            np.log(rng.dirichlet(np.ones(4))),
            np.log(labels),
        )
    return X, codes, weights, steps, mixture


@pytest.mark.parametrize("learn_labels", [False, True])
@pytest.mark.parametrize("hard", [False, True])
def test_objective_is_the_sum_written_out(learn_labels, hard):
    X, codes, weights, steps, mixture = gaussian_problem(learn_labels, hard, smoothing=0.7)
    density = mixture.density
    total = 0.7 * mixture.log_weights.sum()
    if learn_labels:
        total += 0.7 * mixture.log_labels.sum()
    for x, code, weight in zip(X, codes, weights, strict=True):
        terms = []
        for k in range(4):
            sd = np.sqrt(density.var[k])
            value = mixture.log_weights[k] + stats.norm.logpdf(x, density.mean[k], sd).sum()
            value -= (0.3 / (2 * density.var[k])).sum()
            if code >= 0:
                value += mixture.log_labels[code, k]
            terms.append(value)
        total += weight * (max(terms) if hard else logsumexp(terms))
    _, objective = steps.expectation(mixture)
    assert_allclose(objective, total, rtol=1e-12)


def test_clamped_rows_count_in_the_objective():
    rng = np.random.default_rng(1)
    X, y = numbers(rng, n_rows=30, n_classes=2)
    codes = hide(rng, y)
    steps = MixtureEM(X, codes, np.array([0, 1]), 2)
    shell = GaussianDensity(0.1)
    mixture = steps.start(shell, np.eye(2)[codes[codes >= 0]])
    joint = mixture.log_joint(X)
    known = codes >= 0
    expected = joint[known, codes[known]].sum() + logsumexp(joint[~known], axis=1).sum()
    _, objective = steps.expectation(mixture)
    assert_allclose(objective, expected, rtol=1e-12)


@pytest.mark.parametrize("learn_labels", [False, True])
def test_m_step_is_a_maximum_of_the_expected_objective(learn_labels):
    X, codes, weights, steps, mixture = gaussian_problem(learn_labels)
    # Responsibilities at the start, by hand.
    joint = mixture.log_joint(X)
    known = codes >= 0
    joint[known] += mixture.log_labels[codes[known]]
    R = np.exp(joint - logsumexp(joint, axis=1, keepdims=True)) * weights[:, None]

    def expected(mixture):
        joint = mixture.log_joint(X)
        joint[known] += mixture.log_labels[codes[known]]
        return np.sum(R[R > 0] * joint[R > 0])

    statistics, _ = steps.expectation(mixture)
    best = steps.maximization(statistics, mixture)
    top = expected(best)
    assert top > expected(mixture)
    rng = np.random.default_rng(2)
    for _ in range(200):
        density = best.density
        step = rng.choice([1e-4, 1e-2, 0.3])
        labels = np.exp(best.log_labels) * np.exp(step * rng.normal(size=(2, 4)))
        weights_ = np.exp(best.log_weights + step * rng.normal(size=4))
        with np.errstate(divide="ignore"):
            other = Mixture(
                GaussianDensity(
                    density.epsilon,
                    density.mean + step * rng.normal(size=density.mean.shape),
                    density.var * np.exp(step * rng.normal(size=density.var.shape)),
                ),
                np.log(weights_ / weights_.sum()),
                np.log(labels / labels.sum(axis=0)) if learn_labels else best.log_labels,
            )
        assert expected(other) < top


@pytest.mark.parametrize("form", ["dense", "sparse", "tuple"])
@pytest.mark.parametrize("scattered", [False, True])
def test_chunks_change_nothing(form, scattered):
    rng = np.random.default_rng(3)
    X, y = counts(rng, n_rows=61)
    codes = np.full(len(y), -1)
    codes[:9] = y[:9]
    if scattered:
        order = rng.permutation(len(y))
        X, codes = X[order], codes[order]
    shell = MultinomialDensity(np.ones(X.shape[1]))
    rows = {"dense": X, "sparse": sparse.csr_matrix(X), "tuple": (X,)}[form]
    if form == "tuple":
        from leaven.generative._mixed import ProductDensity

        shell = ProductDensity((shell,))
    results = []
    for chunk_rows in (1, 7, None):
        steps = MixtureEM(rows, codes, np.arange(3), 3, chunk_rows=chunk_rows)
        start = steps.start(shell, np.eye(3)[codes[codes >= 0]])
        results.append(run_em(steps.expectation, steps.maximization, start, max_iter=5, tol=0.0))
    for result in results[1:]:
        assert_allclose(result.objective_trace, results[0].objective_trace, rtol=1e-12)
        posterior = result.parameters.class_posterior(rows)
        assert_allclose(posterior, results[0].parameters.class_posterior(rows), atol=1e-10)


def test_whole_weights_are_repeated_rows():
    rng = np.random.default_rng(4)
    X, y = numbers(rng, n_rows=30)
    codes = hide(rng, y)
    times = rng.integers(0, 4, size=len(y))
    times[codes >= 0] = np.maximum(times[codes >= 0], 1)
    repeated = np.repeat(np.arange(len(y)), times)

    def run(X, codes, weights, start):
        steps = MixtureEM(X, codes, np.arange(3), 3, row_weights=weights)
        return run_em(steps.expectation, steps.maximization, start, max_iter=4, tol=0.0)

    start = MixtureEM(X, codes, np.arange(3), 3).start(
        GaussianDensity(0.01), np.eye(3)[codes[codes >= 0]]
    )
    weighted = run(X, codes, times.astype(float), start)
    plain = run(X[repeated], codes[repeated], None, start)
    assert_allclose(weighted.objective_trace, plain.objective_trace, rtol=1e-12)
    assert_allclose(weighted.parameters.density.var, plain.parameters.density.var, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_without_labels_it_is_the_mixture_of_scikit_learn():
    rng = np.random.default_rng(5)
    X, _ = numbers(rng, n_rows=80, n_features=2)
    mean, var = rng.normal(size=(3, 2)), rng.gamma(2.0, size=(3, 2)) + 0.5
    codes = np.full(len(X), -1)
    codes[:3] = [0, 1, 2]
    weights = np.where(codes < 0, 1.0, 0.0)
    steps = MixtureEM(X, codes, np.arange(3), 3, row_weights=weights)
    start = Mixture(
        GaussianDensity(0.0, mean, var), np.full(3, -np.log(3)), np.log(np.eye(3) + 1e-300)
    )
    ours = run_em(steps.expectation, steps.maximization, start, max_iter=6, tol=0.0)
    peer = GaussianMixture(
        3,
        covariance_type="diag",
        reg_covar=0.0,
        weights_init=np.full(3, 1 / 3),
        means_init=mean,
        precisions_init=1 / var,
        max_iter=6,
        tol=0.0,
    ).fit(X[3:])
    assert_allclose(ours.parameters.density.mean, peer.means_, atol=1e-9)
    assert_allclose(ours.parameters.density.var, peer.covariances_, atol=1e-9)
    assert_allclose(np.exp(ours.parameters.log_weights), peer.weights_, atol=1e-9)


def test_recalibration_is_applied_to_the_unlabeled_rows_only():
    rng = np.random.default_rng(6)
    X, y = numbers(rng, n_rows=40, n_classes=2)
    codes = hide(rng, y)
    asked = []

    def even(q):
        asked.append(q)
        return np.full_like(q, 0.5)

    steps = MixtureEM(X, codes, np.repeat([0, 1], 2), 2, recalibrate=even, chunk_rows=9)
    R = np.zeros(((codes >= 0).sum(), 4))
    R[np.arange(len(R)), 2 * codes[codes >= 0] + rng.integers(0, 2, len(R))] = 1.0
    mixture = steps.start(GaussianDensity(1.0), R)
    statistics, _ = steps.expectation(mixture)
    free = codes < 0
    assert_allclose(asked[0], mixture.class_posterior(X[free]), atol=1e-12)
    labeled_share = np.bincount(codes[~free], minlength=2)
    assert_allclose(
        statistics.counts.reshape(2, 2).sum(axis=1), free.sum() / 2 + labeled_share, rtol=1e-12
    )
    # Within a class the components keep their shares.
    posterior = np.exp(mixture.log_joint(X[free]))
    share = posterior[:, 0] / posterior[:, :2].sum(axis=1)
    known = np.exp(mixture.log_joint(X[~free & (codes == 0)]))[:, :2]
    known /= known.sum(axis=1, keepdims=True)
    assert_allclose(statistics.counts[0], 0.5 * share.sum() + known[:, 0].sum(), rtol=1e-9)

    steps.recalibrate = lambda q: q[:, :1]
    with pytest.raises(ValueError, match="must keep the shape"):
        steps.expectation(mixture)


def test_a_fixed_class_prior_leaves_the_shares_within_a_class_free():
    prior = np.array([0.9, 0.1])
    X, codes, weights, _, mixture = gaussian_problem()
    steps = MixtureEM(X, codes, np.array([0, 0, 1, 1]), 2, row_weights=weights, class_prior=prior)
    result = run_em(steps.expectation, steps.maximization, mixture, max_iter=30)
    share = np.exp(result.parameters.log_weights).reshape(2, 2)
    assert_allclose(share.sum(axis=1), prior, rtol=1e-12)
    statistics, _ = steps.expectation(result.parameters)
    counts_ = statistics.counts.reshape(2, 2)
    again = steps.maximization(statistics, result.parameters)
    expected = counts_ / counts_.sum(axis=1, keepdims=True) * prior[:, None]
    assert_allclose(np.exp(again.log_weights), expected.ravel(), rtol=1e-12)


def test_what_cannot_be_combined_is_refused():
    codes = np.array([0, 1, -1])
    X = np.zeros((3, 1))
    with pytest.raises(ValueError, match="belong to one class"):
        MixtureEM(X, codes, np.arange(2), 2, learn_labels=True, class_prior=np.ones(2) / 2)
    steps = MixtureEM(X, codes, np.arange(2), 2, row_weights=np.zeros(3))
    start = steps.start(GaussianDensity(1.0), np.eye(2))
    with pytest.raises(ValueError, match="every row weight is zero"):
        steps.expectation(start)


def test_moments_merge_without_losing_digits():
    rng = np.random.default_rng(7)
    X = 1e9 + rng.normal(size=(200, 3))
    R = rng.random((200, 2))
    density = GaussianDensity(0.0)
    merged = density.collect(X[:50], R[:50])
    merged += density.collect(X[50:51], np.zeros((1, 2)))
    merged += density.collect(X[50:], R[50:])
    mean = np.average(X, axis=0, weights=R[:, 1])
    var = np.average((X - mean) ** 2, axis=0, weights=R[:, 1])
    assert_allclose(merged.means[1], mean, rtol=1e-15)
    assert_allclose(merged.squares[1] / merged.counts[1], var, rtol=1e-6)
    empty = Moments(np.zeros(1), np.zeros((1, 3)), np.zeros((1, 3)))
    empty += Moments(np.ones(1), np.full((1, 3), 5.0), np.zeros((1, 3)))
    assert_allclose(empty.means, 5.0)


def test_a_component_without_rows_keeps_its_gaussian():
    density = GaussianDensity(0.0, np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]]))
    R = np.array([[1.0, 0.0], [1.0, 0.0]])
    new = density.update(density.collect(np.array([[0.0], [2.0]]), R))
    assert_allclose(new.mean, [[1.0], [2.0]])
    assert_allclose(new.var, [[1.0], [4.0]])


def test_slices_of_csr_are_views():
    X = sparse.random(50, 30, density=0.2, format="csr", random_state=np.random.default_rng(8))
    part = take_rows(X, slice(10, 31))
    assert np.shares_memory(part.data, X.data)
    assert_allclose(part.toarray(), X.toarray()[10:31])
