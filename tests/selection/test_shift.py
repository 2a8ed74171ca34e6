"""Classes that are more frequent among the unlabeled rows than among the labels."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from leaven.model_selection import SafeClassifier
from leaven.selection import (
    Pool,
    assess,
    class_shift,
    make_candidates,
    select,
    standard_problem,
    weighted_quantiles,
)
from leaven.selection._shift import POWER, known_shift

NAMES = ["logistic-regression", "naive-bayes", "harmonic"]


def two_classes(n_rows: int, share: float, distance: float, seed: int = 0) -> tuple:
    rng = np.random.default_rng(seed)
    truth = (np.arange(n_rows) < share * n_rows).astype(int)
    X = rng.normal(size=(n_rows, 4)) + distance * truth[:, None] / 2
    codes = np.full(n_rows, -1)
    for code in (0, 1):
        codes[rng.choice(np.flatnonzero(truth == code), 20, replace=False)] = code
    return X, truth, codes


def chosen(X, codes, **options):
    problem = standard_problem(X, codes, np.array([0, 1]), **options)
    return problem, select(problem, make_candidates(NAMES, problem), random_state=0)


def test_the_shift_is_that_of_the_most_likely_proportions():
    # One in five labels is taken for the other class, and 68% of the rows for the second: 80% of
    # them are. So many labels leave the prior little to say.
    n = 4_000
    truth = np.repeat([0, 1], n // 2)
    taken = np.empty(n, dtype=int)
    taken[truth == 0] = np.arange(n // 2) < n // 10
    taken[truth == 1] = np.arange(n // 2) >= n // 10
    counts = np.array([n // 2, n // 2])
    answer = np.repeat([0, 1], [320, 680])
    shift = class_shift(np.eye(2)[taken][None], truth, counts, np.eye(2)[answer])

    def loss(q: float) -> float:
        predicted = np.array([0.8 * (1 - q) + 0.2 * q, 0.2 * (1 - q) + 0.8 * q])
        return -np.log(predicted) @ [320, 680]

    q = minimize_scalar(loss, bounds=(0.01, 0.99), method="bounded").x
    assert q == pytest.approx(0.8, abs=1e-3)
    assert shift[1] - shift[0] == pytest.approx(POWER * np.log(q / (1 - q)), abs=0.15)


def test_nothing_is_learned_of_the_sizes_by_answers_that_are_no_better_than_chance():
    truth = np.repeat([0, 1], 20)
    always = np.zeros((1, 40, 2))
    always[..., 0] = 1.0
    shift = class_shift(always, truth, np.array([20, 20]), np.eye(2)[np.zeros(500, dtype=int)])
    assert_allclose(shift, 0.0, atol=0.1)


def test_answers_worse_than_chance_are_not_turned_round():
    # With ten labels per class this happens by chance: 12 of 20 held-out labels are taken for the
    # other class, and 64% of the rows for the first. By the confusions alone the second is larger.
    truth = np.repeat([0, 1], 10)
    taken = np.where(np.arange(20) % 10 < 4, truth, 1 - truth)
    answer = np.repeat([0, 1], [64, 36])
    shift = class_shift(np.eye(2)[taken][None], truth, np.array([10, 10]), np.eye(2)[answer])
    assert_allclose(shift, 0.0)


@pytest.mark.parametrize(
    ("counts", "shifted"),
    [((20, 20), True), ((23, 17), False), ((20, 20, 4), True), ((9, 8, 5), False)],
)
def test_labels_that_look_like_a_sample_know_the_proportions(counts, shifted):
    n_classes = len(counts)
    truth = np.repeat(np.arange(n_classes), counts)
    answer = np.repeat(np.arange(n_classes), [400, *[50] * (n_classes - 1)])
    one_hot = np.eye(n_classes)
    found = class_shift(one_hot[truth][None], truth, np.array(counts), one_hot[answer])
    assert (found[0] > 0.2) == shifted
    assert found.any() == shifted


def test_known_proportions():
    shift = known_shift(np.array([0.9, 0.1]), np.array([10, 10]), 1.0)
    assert_allclose(np.exp(shift), [1.8, 0.2])
    assert_allclose(known_shift(np.array([0.9, 0.1]), np.array([10, 10]), 0.25), shift / 4)


def test_a_shifted_pool_is_bayes_rule():
    P = np.array([[0.7, 0.3], [0.2, 0.8]])
    pool = Pool({"a": 1.0}, {"a": 1.0}, shift=(np.log(2.0), np.log(0.5)))
    expected = P * [2.0, 0.5]
    expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(pool.shifted(P), expected)
    assert_allclose(pool.combine({"a": P}), expected, atol=0.02)  # the floor
    assert Pool({"a": 1.0}, {"a": 1.0}).shifted(P) is P


def test_labels_of_equal_number_do_not_hide_a_large_class():
    better, worse = [], []
    for seed in range(4):
        X, truth, codes = two_classes(600, 0.1, 1.5, seed)
        problem, found = chosen(X, codes)
        plain = Pool(found.decision.pool.weights, found.decision.pool.temperatures)
        free = codes < 0
        before = plain.combine({e.name: e.probabilities[free] for e in found.fitted.candidates})
        better.append((found.probabilities[free].argmax(axis=1) == truth[free]).mean())
        worse.append((before.argmax(axis=1) == truth[free]).mean())
        shift = found.decision.pool.shift
        assert shift[0] > 0.1 > -0.1 > shift[1]
        # New rows are answered as the old ones.
        new = found.fitted.estimator.predict_proba(problem.X)
        assert_allclose(new.argmax(axis=1)[free], found.probabilities[free].argmax(axis=1))
    assert np.mean(better) > np.mean(worse) + 0.01


def test_known_proportions_shift_the_candidates_that_do_not_know_them():
    X, _, codes = two_classes(400, 0.2, 1.5)
    _, found = chosen(X, codes, prior=np.array([0.8, 0.2]))
    without_harmonic = 1.0 - found.decision.weights.get("harmonic", 0.0)
    assert_allclose(np.exp(found.decision.pool.shift), np.array([1.6, 0.4]) ** without_harmonic)
    _, found = chosen(X, codes, prior=None)
    assert found.decision.pool.shift == ()


def test_a_method_that_was_not_told_the_proportions_is_shifted_with_the_others():
    X, _, codes = two_classes(200, 0.3, 1.5)
    codes[np.flatnonzero(codes == 1)[8:]] = -1
    problem = standard_problem(X, codes, np.array([0, 1]), prior="uniform")
    # The spectral transducer takes numbers only, harmonic functions the word as well.
    candidates = make_candidates(
        ["logistic-regression", "harmonic", "spectral-transducer"], problem
    )
    found = select(problem, candidates, random_state=0)
    power = 1.0 - found.decision.weights.get("harmonic", 0.0)
    assert_allclose(
        found.decision.pool.shift, known_shift(np.full(2, 0.5), np.array([20, 8]), power)
    )


def test_another_score_is_left_to_its_own_view():
    X, _, codes = two_classes(300, 0.1, 1.5)
    model = SafeClassifier(NAMES, scoring="balanced_accuracy", random_state=0).fit(X, codes)
    assert model.best_estimator_.pool.shift == ()


def test_expected_accuracy_counts_labels_as_often_as_their_class_occurs():
    # The small class is hardly told apart: with equal labels half of what is held out is of it.
    X, truth, codes = two_classes(600, 0.1, 1.0, seed=1)
    problem, found = chosen(X, codes)
    free = codes < 0
    accuracy = (found.probabilities[free].argmax(axis=1) == truth[free]).mean()
    plain = np.mean(found.held_out.argmax(axis=2) == codes[found.folds.rows])
    expected = assess(found, problem)
    assert abs(expected.accuracy.value - accuracy) < abs(plain - accuracy)
    assert len(expected.scores) <= len(found.folds.rows)


def test_weighted_quantiles_against_repeated_values():
    rng = np.random.default_rng(0)
    values, times = rng.random(30), rng.integers(1, 5, 30)
    repeated = np.repeat(values, times)
    found = weighted_quantiles(values, times.astype(float))
    assert len(found) == round(times.sum() ** 2 / (times**2).sum())
    assert found.mean() == pytest.approx(repeated.mean(), abs=0.02)
    assert (np.diff(found) >= 0).all()
