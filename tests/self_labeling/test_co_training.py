from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Perceptron
from sklearn.naive_bayes import GaussianNB

from leaven.self_labeling import CoTrainingClassifier
from leaven.self_labeling._co_training import _settle

VIEWS = (slice(0, 5), slice(5, 10))


def two_views(seed, n=400, n_classes=2, per_class=3):
    """Views that are independent given the class, because every column is."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n)
    X = rng.normal(size=(n_classes, 10))[truth] + rng.normal(size=(n, 10))
    y = np.full(n, -1)
    for code in range(n_classes):
        y[rng.choice(np.flatnonzero(truth == code), per_class, replace=False)] = code
    return X, truth, y


@pytest.mark.parametrize("teaching", ["cross", "shared"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_beats_each_view_alone(teaching, n_classes):
    scores = []
    for seed in range(6):
        X, truth, y = two_views(seed, n=300, n_classes=n_classes)
        known, hidden = y != -1, y == -1
        alone = [
            GaussianNB().fit(X[known][:, v], y[known]).score(X[hidden][:, v], truth[hidden])
            for v in VIEWS
        ]
        both = GaussianNB().fit(X[known], y[known]).score(X[hidden], truth[hidden])
        model = CoTrainingClassifier(
            GaussianNB(), views=VIEWS, teaching=teaching, random_state=seed
        ).fit(X, y)
        ours = np.mean(model.transduction_[hidden] == truth[hidden])
        scores.append([ours, *alone, both])
    ours, *others = np.mean(scores, axis=0)
    assert ours > max(others) + 0.05


@pytest.mark.parametrize("teaching", ["cross", "shared"])
def test_two_rounds_by_a_plain_loop(teaching):
    X, _, y = two_views(0, n=60, n_classes=3)
    parts = [X[:, v] for v in VIEWS]
    known = [dict(enumerate(y)), dict(enumerate(y))]
    free = [i for i in range(60) if y[i] == -1]

    def fit():
        return [
            GaussianNB().fit(
                parts[v][[i for i in range(60) if known[v][i] != -1]],
                [known[v][i] for i in range(60) if known[v][i] != -1],
            )
            for v in range(2)
        ]

    for _ in range(2):
        lessons = []
        for v, base in enumerate(fit()):
            proba = base.predict_proba(parts[v][free])
            label, sure = proba.argmax(axis=1), proba.max(axis=1)
            lesson = {}
            for c in range(3):
                rows = [k for k in range(len(free)) if label[k] == c]
                for k in sorted(rows, key=lambda k: (-sure[k], k))[:2]:
                    lesson[free[k]] = (sure[k], c)
            lessons.append(lesson)
        for v in range(2):
            for i, (sure, c) in lessons[v].items():
                if teaching == "cross":
                    known[1 - v][i] = c
                elif i not in lessons[1 - v] or (sure, 1 - v) > (lessons[1 - v][i][0], v):
                    known[0][i] = known[1][i] = c
        free = [i for i in free if i not in lessons[0] and i not in lessons[1]]
    product = np.prod([b.predict_proba(p) for b, p in zip(fit(), parts, strict=True)], axis=0)

    model = CoTrainingClassifier(
        GaussianNB(), views=VIEWS, teaching=teaching, per_round=6, pool_size=None, max_iter=2
    ).fit(X, y)
    assert_allclose(model.predict_proba(X), product / product.sum(axis=1, keepdims=True))
    assert_array_equal(np.flatnonzero(model.labeled_iter_ == -1), free)
    assert model.objective_trace_[-1] == len(free)


def test_the_more_confident_view_keeps_a_shared_row():
    first = (np.array([3, 5, 8]), np.array([0, 1, 1]), np.array([0.9, 0.7, 0.6]))
    second = (np.array([8, 1, 5]), np.array([0, 0, 0]), np.array([0.8, 0.8, 0.7]))
    kept_first, kept_second = _settle(first, second)
    assert [part.tolist() for part in kept_first] == [[3, 5], [0, 1], [0.9, 0.7]]
    assert [part.tolist() for part in kept_second] == [[8, 1], [0, 0], [0.8, 0.8]]


def test_cross_teaching_trains_each_view_on_the_others_rows():
    X, _, y = two_views(1)
    model = CoTrainingClassifier(GaussianNB(), views=VIEWS, random_state=0).fit(X, y)
    history = model.history_
    for view in range(2):
        lesson = history[history["view"] == 1 - view]
        rows = np.concatenate([np.flatnonzero(y != -1), lesson["row"]])
        labels = np.concatenate([y[y != -1], lesson["label"]])
        expected = GaussianNB().fit(X[rows][:, VIEWS[view]], labels)
        assert_allclose(model.estimators_[view].theta_, expected.theta_)


def test_rounds_follow_the_pool_and_the_classes():
    X, truth, _ = two_views(2, n=500)
    y = np.full(500, -1)
    y[np.flatnonzero(truth == 0)[:9]] = 0
    y[np.flatnonzero(truth == 1)[:3]] = 1
    model = CoTrainingClassifier(GaussianNB(), views=VIEWS, max_iter=5, random_state=3).fit(X, y)
    # Blum and Mitchell's p = 1 and n = 3, from each view in each round.
    counts = model.history_.groupby(["iteration", "view"])["label"].value_counts().unstack()
    assert_array_equal(counts[[0, 1]], [[3, 1]] * 10)
    assert model.termination_condition_ == "max_iter"
    assert model.n_iter_ == 5
    chosen = CoTrainingClassifier(
        GaussianNB(), views=VIEWS, max_iter=2, per_round={0: 2, 1: 5}, random_state=3
    ).fit(X, y)
    counts = chosen.history_.groupby(["iteration", "view"])["label"].value_counts().unstack()
    assert_array_equal(counts[[0, 1]], [[2, 5]] * 4)
    # A round sees the pool only, which is refilled: 8 rows, then the rest of them and new ones.
    small = CoTrainingClassifier(
        GaussianNB(), views=VIEWS, max_iter=1, pool_size=8, per_round=100, random_state=3
    ).fit(X, y)
    assert small.history_["row"].nunique() == 8
    assert small.objective_trace_[0] == 500 - 12 - 8


def test_to_the_last_row():
    X, _, y = two_views(3, n=100)
    model = CoTrainingClassifier(
        GaussianNB(), views=VIEWS, max_iter=None, pool_size=10, random_state=0
    ).fit(X, y)
    assert model.termination_condition_ == "all_labeled"
    assert model.converged_
    assert (model.labeled_iter_ >= 0).all()
    assert_array_equal(model.labeled_iter_ == 0, y != -1)


def test_random_views_depend_on_the_seed_only():
    X, _, y = two_views(4)
    models = [CoTrainingClassifier(GaussianNB(), random_state=s).fit(X, y) for s in (0, 0, 1)]
    assert_array_equal(models[0].views_[0], models[1].views_[0])
    assert_array_equal(models[0].label_distributions_, models[1].label_distributions_)
    assert set(models[0].views_[0]) != set(models[2].views_[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"teaching": "both"}, "'teaching' parameter"),
        ({"per_round": 0}, "'per_round' parameter"),
        ({"per_round": {0: 1}}, r"must give every class a number.*classes are \[0, 1\]"),
        ({"per_round": {0: 1, 1: 0}}, "at least 1"),
        ({"per_round": {0: 1, 1: 1, 2: 1}}, "must give every class"),
        ({"pool_size": 0}, "'pool_size' parameter"),
    ],
)
def test_bad_options(options, message):
    X, _, y = two_views(0)
    with pytest.raises(ValueError, match=message):
        CoTrainingClassifier(GaussianNB(), **options).fit(X, y)


def test_probabilities_are_needed():
    X, _, y = two_views(0)
    with pytest.raises(ValueError, match=r"Perceptron has none.*TriTrainingClassifier"):
        CoTrainingClassifier(Perceptron()).fit(X, y)
