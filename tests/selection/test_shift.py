"""Classes that are more frequent among the unlabeled rows than among the labels."""

from __future__ import annotations

from dataclasses import replace

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
from leaven.selection._pool import COMBINATION
from leaven.selection._shift import known_shift

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


def gaussian_rows(share: float) -> np.ndarray:
    """Exact probabilities, for equal classes, of rows of two normal classes of unequal size."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=4_000) + 2.0 * (rng.random(4_000) < share)
    p = 1.0 / (1.0 + np.exp(2.0 - 2.0 * x))
    return np.column_stack([1 - p, p])


def test_one_step_is_the_mean_and_many_are_the_most_likely_proportions():
    truth, counts = np.repeat([0, 1], 500), np.array([500, 500])
    held_out, P = np.eye(2)[truth][None], gaussian_rows(0.8)

    def loss(q: float) -> float:
        return -np.log(P @ [1 - q, q]).sum()

    q = minimize_scalar(loss, bounds=(0.01, 0.99), method="bounded").x
    assert q == pytest.approx(0.8, abs=0.03)
    last = class_shift(held_out, truth, counts, P, n_steps=500, sharpness=1.0)
    part = 500 / 505  # of the shift: the typical class has 500 labels
    assert_allclose(last, part * np.log([2 - 2 * q, 2 * q]), atol=1e-3)
    first = class_shift(held_out, truth, counts, P, sharpness=1.0)
    assert_allclose(first, part * np.log(2 * P.mean(axis=0)), atol=1e-12)
    # On the way, and not beyond.
    assert 0.1 < first[1] < last[1]


def test_squares_lie_between_the_mean_and_the_count_of_the_most_probable_class():
    truth, counts = np.repeat([0, 1, 2], 20), np.array([20, 20, 20])
    held_out = np.eye(3)[truth][None]
    P = np.array([[0.6, 0.3, 0.1], [0.5, 0.2, 0.3], [0.2, 0.7, 0.1], [0.5, 0.1, 0.4]])
    q = np.mean([[0.36, 0.09, 0.01], [0.25, 0.04, 0.09], [0.04, 0.49, 0.01], [0.25, 0.01, 0.16]]
                / np.array([[0.46], [0.38], [0.54], [0.42]]), axis=0)  # fmt: skip
    shift = class_shift(held_out, truth, counts, P)
    assert_allclose(shift, 20 / 25 * np.log(3 * q), atol=1e-12)
    mean = class_shift(held_out, truth, counts, P, sharpness=1.0)
    count = class_shift(held_out, truth, counts, P, sharpness=200.0)
    assert_allclose(count[:2], 20 / 25 * np.log([3 * 0.75, 3 * 0.25]), atol=1e-3)
    assert mean[0] < shift[0] < count[0]


def test_nothing_is_learned_of_the_sizes_by_answers_that_are_no_better_than_chance():
    truth = np.repeat([0, 1], 20)
    always = np.zeros((1, 40, 2))
    always[..., 0] = 1.0
    shift = class_shift(always, truth, np.array([20, 20]), np.eye(2)[np.zeros(500, dtype=int)])
    assert_allclose(shift, 0.0, atol=0.1)


def test_answers_worse_than_chance_shift_nothing():
    # With ten labels per class this happens by chance: 12 of 20 held-out labels are taken for the
    # other class, and 64% of the rows for the first.
    truth = np.repeat([0, 1], 10)
    taken = np.where(np.arange(20) % 10 < 4, truth, 1 - truth)
    answer = np.repeat([0, 1], [64, 36])
    shift = class_shift(np.eye(2)[taken][None], truth, np.array([10, 10]), np.eye(2)[answer])
    assert_allclose(shift, 0.0)


def test_a_class_that_is_seldom_found_is_not_taken_for_a_large_one():
    # One in five held-out labels of the last class is found, and 10% of the rows are taken for
    # it. Divided by that recall it would be the half of them: so much five labels cannot tell.
    truth = np.repeat([0, 1, 2], 5)
    taken = np.where(truth == 2, np.array([0] * 10 + [0, 0, 1, 1, 2]), truth)
    answer = np.repeat([0, 1, 2], [45, 45, 10])
    one_hot = np.eye(3)
    shift = class_shift(one_hot[taken][None], truth, np.full(3, 5), one_hot[answer])
    # Five labels per class make half of the shift.
    assert_allclose(np.exp(2 * shift), [1.35, 1.35, 0.3])


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


def test_what_known_proportions_change_is_no_gain_of_unlabeled_rows():
    X, _, codes = two_classes(400, 0.2, 0.6)  # columns that say little
    _, found = chosen(X, codes, prior=np.array([0.8, 0.2]))
    assert_allclose(np.exp(found.decision.without.shift), [1.6, 0.4])
    free = codes < 0
    alone = {e.name: e.probabilities[free] for e in found.fitted.candidates}
    plain = replace(found.decision.without, shift=())
    told, untold = (pool.combine(alone).argmax(axis=1) for pool in (found.decision.without, plain))
    # The proportions change many classes, which were counted as changed by the unlabeled rows.
    assert (told != untold).mean() > 0.2
    assert found.decision.changed < 0.1


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
    # All labels of the large class are found and none of the small one: half of those held out,
    # and as many of the unlabeled rows as are of the large class.
    X, _, codes = two_classes(600, 0.1, 1.5, seed=1)
    problem, found = chosen(X, codes)
    always_first = np.zeros_like(found.held_out)
    always_first[..., 0], always_first[..., 1] = 0.9, 0.1
    outcomes = [
        replace(each, probabilities=always_first) if each.name == COMBINATION else each
        for each in found.outcomes
    ]
    pool = replace(found.decision.pool, shift=(np.log(1.8), np.log(0.2)))
    shifted = replace(found, outcomes=tuple(outcomes), decision=replace(found.decision, pool=pool))
    plain = replace(shifted, decision=replace(found.decision, pool=replace(pool, shift=())))
    confident = np.tile([0.9, 0.1], (10, 1))
    counted = [assess(each, problem, confident).accuracy.value for each in (shifted, plain)]
    n = len(found.folds.rows)
    assert counted[1] == pytest.approx((200 * 0.9 + n * 0.5) / (200 + n))
    # Weights of 1.8 and 0.2 for equal halves: 0.9 of them are right.
    assert counted[0] == pytest.approx(0.9)
    assert len(assess(shifted, problem, confident).scores) <= len(found.folds.rows)


def test_weighted_quantiles_against_repeated_values():
    rng = np.random.default_rng(0)
    values, times = rng.random(30), rng.integers(1, 5, 30)
    repeated = np.repeat(values, times)
    found = weighted_quantiles(values, times.astype(float))
    assert len(found) == round(times.sum() ** 2 / (times**2).sum())
    assert found.mean() == pytest.approx(repeated.mean(), abs=0.02)
    assert (np.diff(found) >= 0).all()
