"""Log-linear pools: weights, temperature and combination against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from sklearn.dummy import DummyClassifier

from leaven.selection import (
    Folds,
    Member,
    Pool,
    WeightedCandidates,
    combine_held_out,
    fit_temperature,
    likelihood_weights,
    member_temperature,
    tempered_log,
)


def test_tempered_log_by_hand() -> None:
    # 0.7 and 0.3 plus 0.1 are 0.8 and 0.4; to the power 2, 0.64 and 0.16: shares 0.8 and 0.2.
    found = tempered_log(np.array([0.7, 0.3]), 2.0, floor=0.1)
    assert_allclose(np.exp(found), [0.8, 0.2])


def test_weights_are_products_of_root_likelihoods() -> None:
    # Four rows: the learning rate is one half, and products of likelihoods become roots.
    p = np.array([[0.9, 0.5], [0.4, 0.6], [0.8, 0.7], [0.5, 0.3]])
    prior = np.array([3.0, 2.0])
    expected = prior * np.sqrt(np.prod(p, axis=0))
    assert_allclose(likelihood_weights(np.log(p), prior), expected / expected.sum())
    assert_allclose(likelihood_weights(np.empty((0, 2)), prior), [0.6, 0.4])


@settings(max_examples=30, deadline=None)
@given(arrays(float, (5, 3), elements=st.floats(-4.0, -0.01)), st.permutations(range(3)))
def test_weights_are_a_distribution_in_the_order_of_the_candidates(
    scores: np.ndarray, order: list[int]
) -> None:
    prior = np.array([1.0, 2.0, 0.5])
    found = likelihood_weights(scores, prior)
    assert found.sum() == pytest.approx(1.0)
    assert_allclose(likelihood_weights(scores[:, order], prior[order]), found[order])
    # Another candidate does not change the ratio of two.
    assert found[0] / found[1] == pytest.approx(
        float(np.divide(*likelihood_weights(scores[:, :2], prior[:2])))
    )


def test_the_temperature_is_the_root_of_its_derivative() -> None:
    # Two classes with scores (s, 0), three of five rows right. With u = log τ the derivative is
    # Σ τ s (σ(τ s) - right) + 2 (u - μ) / (σ² + (u - μ)²), here for every row alike.
    s, right, center, scale = 1.7, np.array([1, 1, 1, 0, 0]), 0.3, 0.6
    scores = np.column_stack([np.full(5, s), np.zeros(5)])

    def derivative(u: float) -> float:
        tau = np.exp(u)
        share = 1 / (1 + np.exp(-tau * s))
        pull = 2 * (u - center) / (scale**2 + (u - center) ** 2)
        return float((tau * s * (share - right)).sum() + pull)

    expected = np.exp(brentq(derivative, center - 2, center + 2))
    found = fit_temperature(scores, 1 - right, center=center, scale=scale)
    assert found == pytest.approx(expected, rel=1e-3)
    # Rows that count half are as good as half of the rows.
    doubled = fit_temperature(
        np.vstack([scores, scores]),
        np.tile(1 - right, 2),
        0.5,
        center=center,
        scale=scale,
    )
    assert doubled == pytest.approx(found, rel=1e-4)
    nothing = fit_temperature(np.empty((0, 2)), np.empty(0, dtype=np.intp), center=0.4)
    assert nothing == pytest.approx(np.exp(0.4))


def test_without_a_prior_the_temperature_is_the_log_odds_of_the_rows_that_are_right() -> None:
    # 70 of 100 rows right at scores (1, 0): τ = log(0.7 / 0.3).
    scores = np.column_stack([np.ones(100), np.zeros(100)])
    codes = (np.arange(100) >= 70).astype(np.intp)
    found = fit_temperature(scores, codes, scale=1e6)
    assert found == pytest.approx(np.log(7 / 3), rel=1e-3)


def test_twenty_labels_outweigh_a_prior_that_is_far_off() -> None:
    # Candidates of texts: scores that promise 0.52 where 19 of 20 rows are right. The best power
    # without a prior is log 19 / 0.08, some 37; a normal prior of the same scale stops at 4.
    scores = np.column_stack([np.full(20, 0.08), np.zeros(20)])
    codes = (np.arange(20) >= 19).astype(np.intp)
    assert fit_temperature(scores, codes) > 12
    # Four rows do not.
    assert fit_temperature(scores[:4], codes[:4]) < 2


def test_the_pool_is_a_weighted_geometric_mean() -> None:
    a, b = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.5, 0.5], [0.3, 0.7]])
    pool = Pool({"a": 0.75, "b": 0.25}, {"a": 2.0, "b": 0.5}, 1.3)
    floored = [np.array([(x + 0.02) for x in p]) for p in (a, b)]
    odds = [np.log(p[:, 0] / p[:, 1]) for p in floored]
    logit = 1.3 * (0.75 * 2.0 * odds[0] + 0.25 * 0.5 * odds[1])
    assert_allclose(pool.combine({"a": a, "b": b})[:, 0], 1 / (1 + np.exp(-logit)))
    assert_allclose(Pool({"a": 1.0}, {"a": 1.0}).combine({"a": a}), a)


def held_out_example() -> tuple[list[np.ndarray], np.ndarray, Folds]:
    rng = np.random.default_rng(3)
    codes = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    folds = Folds(np.arange(8), np.array([[0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 1, 2, 2, 3, 3, 0]]))
    P = rng.dirichlet([1.0, 1.0], size=(3, 2, 8))
    return list(P), codes, folds


def test_held_out_predictions_do_not_see_their_own_label() -> None:
    P, codes, folds = held_out_example()
    names, same = ["a", "b", "c"], dict.fromkeys("abc", Member())
    found = combine_held_out(names, P, codes, folds, same)
    assert_allclose(found.held_out.sum(axis=-1), 1.0)
    assert sum(found.pool.weights.values()) == pytest.approx(1.0)
    # By hand for fold 2 of the first repeat: weights and temperatures of the other six rows.
    rest = np.array([0, 1, 2, 3, 6, 7])
    powers = [member_temperature(p[:, rest], codes[rest], 1.0) for p in P]
    assert len(set(powers)) == 3
    logs = np.stack([tempered_log(p, power) for p, power in zip(P, powers, strict=True)])
    scores = logs[:, :, rest, codes[rest]].mean(axis=1).T
    w = likelihood_weights(scores, np.ones(3))
    pooled = np.einsum("m,mrnc->rnc", w, logs[:, :, rest])
    tau = fit_temperature(pooled.reshape(-1, 2), np.tile(codes[rest], 2), 0.5)
    z = tau * np.einsum("m,mnc->nc", w, logs[:, 0, 4:6])
    assert_allclose(found.held_out[0, 4:6], np.exp(z) / np.exp(z).sum(axis=1, keepdims=True))
    # Another label of row 4 changes nothing of what is said of row 4 where it is held out.
    other = codes.copy()
    other[4] = 1
    changed = combine_held_out(names, P, other, folds, same)
    assert_allclose(changed.held_out[:, 4], found.held_out[:, 4])
    assert np.abs(changed.held_out[0, 0] - found.held_out[0, 0]).max() > 1e-6


def test_the_temperature_of_a_member_is_the_best_for_a_quarter_of_its_rows() -> None:
    rng = np.random.default_rng(5)
    P, truth = rng.dirichlet(np.ones(3), size=(2, 30)), rng.integers(3, size=30)
    P[:, np.arange(30), truth] += 0.3
    P /= P.sum(axis=2, keepdims=True)
    center = np.log(0.6)

    def value(log_power: float) -> float:
        power = (P + 0.02) ** np.exp(log_power)
        share = power[:, np.arange(30), truth] / power.sum(axis=2)
        prior = np.log1p(((log_power - center) / 0.5) ** 2)
        return float(0.25 * np.log(share).mean(axis=0).sum() - prior)

    grid = np.linspace(-3, 3, 6_001)
    best = grid[np.argmax([value(each) for each in grid])]
    assert abs(best - center) > 0.05
    assert np.log(member_temperature(P, truth, 0.6)) == pytest.approx(best, abs=2e-3)


def test_a_diffident_candidate_that_is_right_outweighs_a_bold_one_that_is_often_wrong() -> None:
    # Texts: of ten classes the true one has 0.13 and the others 0.1 each, in nine of ten rows;
    # the other candidate is right in six of ten, and says so.
    truth = np.arange(100) % 10
    diffident, bold = np.full((1, 100, 10), 0.1), np.full((1, 100, 10), 0.4 / 9)
    diffident[0, np.arange(100), np.where(np.arange(100) < 90, truth, (truth + 1) % 10)] = 0.13
    bold[0, np.arange(100), np.where(np.arange(100) < 60, truth, (truth + 1) % 10)] = 0.6
    folds = Folds(np.arange(100), np.arange(100)[None] // 2 % 5)
    same = {"diffident": Member(), "bold": Member()}
    P = [diffident / diffident.sum(axis=2, keepdims=True), bold]
    pool = combine_held_out(["diffident", "bold"], P, truth, folds, same).pool
    assert pool.weights["diffident"] > 0.9
    assert pool.temperatures["diffident"] > 8
    assert pool.combine(dict.fromkeys(pool.weights, P[0]))[0, 0].max() > 0.7


def test_candidates_without_weight_are_left_out() -> None:
    codes = np.zeros(200, dtype=np.intp)
    folds = Folds(np.arange(200), np.arange(200)[None] % 5)
    good, bad = np.tile([0.9, 0.1], (1, 200, 1)), np.tile([0.1, 0.9], (1, 200, 1))
    same = {"good": Member(), "bad": Member()}
    pool = combine_held_out(["good", "bad"], [good, bad], codes, folds, same).pool
    assert pool.weights == {"good": 1.0}
    assert list(pool.temperatures) == ["good"]


def test_new_rows_are_combined_like_the_others() -> None:
    X, y = np.zeros((5, 1)), np.array(["x", "y", "y", "y", "x"])
    first = DummyClassifier(strategy="prior").fit(X, y)
    second = DummyClassifier(strategy="prior").fit(X[:3], y[:3])
    pool = Pool({"p": 0.3, "q": 0.7}, {"p": 1.0, "q": 0.8}, 1.2)
    together = WeightedCandidates([("p", first), ("q", second)], pool, np.array(["x", "y"]))
    expected = pool.combine({"p": np.array([0.4, 0.6]), "q": np.array([1 / 3, 2 / 3])})
    assert_allclose(together.predict_proba(X[:2]), np.tile(expected, (2, 1)))
    assert together.predict(X[:2]).tolist() == ["y", "y"]
