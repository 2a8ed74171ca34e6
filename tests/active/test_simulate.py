from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.semi_supervised import LabelSpreading

from leaven.active import RandomSampling, SmallestMargin, queried_last, simulate
from leaven.active._simulate import doubling_sizes
from leaven.datasets import make_two_gaussians
from leaven.generative import SemiSupervisedGaussianNB


def gaussians(seed, n=120):
    return make_two_gaussians(n, std=0.5, random_state=seed)


def test_equals_a_plain_loop():
    X, y = gaussians(0)
    X_test, y_test = gaussians(1)
    start = [0, 1, int(np.flatnonzero(y == 1)[-1]), int(np.flatnonzero(y == 0)[-1])]
    sizes = [4, 7, 15, 40]
    trial = simulate(
        LogisticRegression(),
        X,
        y,
        labeled=start,
        sizes=sizes,
        strategy=SmallestMargin(),
        X_test=X_test,
        y_test=y_test,
        random_state=0,
    )
    order, errors = list(start), []
    for size in sizes:
        while len(order) < size:
            P = model.predict_proba(X)  # noqa: F821 - of the size before
            margins = np.abs(P[:, 0] - P[:, 1])
            margins[order] = np.inf
            order += np.argsort(margins)[: size - len(order)].tolist()
        model = LogisticRegression().fit(X[np.sort(order)], y[np.sort(order)])
        errors.append(np.mean(model.predict(X_test) != y_test))
    assert_array_equal(trial.order, order)
    assert_allclose(trial.errors, errors)
    assert_array_equal(trial.sizes, sizes)


@pytest.mark.parametrize("strategy", [None, SmallestMargin(), RandomSampling()])
def test_the_order_is_of_distinct_rows_and_repeatable(strategy):
    X, y = gaussians(2)
    options = {"labeled": [5, 3], "sizes": [2, 9, 120], "strategy": strategy}
    one = simulate(GaussianNB(), X, y, random_state=7, **options)
    two = simulate(GaussianNB(), X, y, random_state=7, **options)
    assert_array_equal(one.order, two.order)
    assert_array_equal(one.order[:2], [5, 3])
    assert_array_equal(np.sort(one.order), np.arange(120))
    assert one.errors is None
    other = simulate(GaussianNB(), X, y, random_state=8, **options)
    if not isinstance(strategy, SmallestMargin):
        assert (one.order != other.order).any()


def test_start_with_one_class_predicts_it():
    X, y = gaussians(3)
    names = np.where(y == 1, "yes", "no").astype(object)
    start = np.flatnonzero(y == 1)[:3]
    trial = simulate(
        LogisticRegression(),
        X,
        names,
        labeled=start,
        sizes=[3, 30],
        strategy=SmallestMargin(),
        X_test=X,
        y_test=names,
        random_state=0,
    )
    assert trial.errors[0] == np.mean(y == 0)
    assert trial.errors[1] < 0.3


def test_semi_supervised_estimators_see_the_pool_in_every_fit():
    X, y = gaussians(4)
    names = np.where(y == 1, "yes", "no").astype(object)
    start = [*np.flatnonzero(y == 1)[:2], *np.flatnonzero(y == 0)[:2]]
    for estimator in (SemiSupervisedGaussianNB(), LabelSpreading()):
        trial = simulate(
            estimator,
            X,
            names,
            labeled=start,
            sizes=[4, 10],
            strategy=SmallestMargin(),
            X_test=X,
            y_test=names,
            random_state=0,
        )
        marked = np.full(len(y), -1)
        marked[start] = y[start]
        expected = estimator.fit(X, marked).predict(X)
        assert_allclose(trial.errors[0], np.mean(expected != y))


def test_sparse_rows_and_data_frames_ask_the_same_rows():
    rng = np.random.RandomState(0)
    y = rng.randint(2, size=80)
    X = rng.poisson(1.0 + y[:, None] * [0.0, 1.0, 2.0, 0.5])
    options = {"labeled": [0, 1, 2, 3, 4, 5], "sizes": [6, 12, 40], "random_state": 0}
    options["strategy"] = SmallestMargin()
    orders = [
        simulate(MultinomialNB(), data, y, **options).order
        for data in (X, sparse.csr_array(X), pd.DataFrame(X, columns=list("abcd")))
    ]
    assert_array_equal(orders[0], orders[1])
    assert_array_equal(orders[0], orders[2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sizes": []}, "sizes is empty"),
        ({"sizes": [4, 4]}, "sizes must grow"),
        ({"sizes": [4, 500]}, "between 1 and the number of rows, 120"),
        ({"sizes": [2, 8]}, "more than the first of sizes, 2"),
        ({"labeled": [0, 0, 1]}, "a row twice"),
        ({"labeled": [0, 300]}, "positions from 0 to 119"),
        ({"labeled": [0.5]}, "row positions"),
        ({"X_test": [[0.0, 0.0]]}, "both X_test and y_test"),
    ],
)
def test_bad_input(change, message):
    X, y = gaussians(0)
    options = {"labeled": [0, 1, 2], "sizes": [4, 8], **change}
    with pytest.raises(ValueError, match=message):
        simulate(GaussianNB(), X, y, **options)


def test_unlabeled_truth_is_refused():
    X, y = gaussians(0)
    y[7] = -1
    with pytest.raises(ValueError, match="true label of every row, but 1 rows"):
        simulate(GaussianNB(), X, y, labeled=[0], sizes=[1])


def test_doubling_sizes():
    assert doubling_sizes(3, 3) == [3]
    assert doubling_sizes(2, 9) == [2, 4, 8, 9]
    assert doubling_sizes(2, 8) == [2, 4, 8]


class LightGaussianNB(ClassifierMixin, BaseEstimator):
    """GaussianNB without its checks, for 100 trials in a few seconds."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        parts = [X[y == c] for c in self.classes_]
        self.mean_ = np.array([part.mean(axis=0) for part in parts])
        self.var_ = np.array([part.var(axis=0) for part in parts]) + 1e-9 * X.var(axis=0).max()
        self.prior_ = np.array([len(part) for part in parts]) / len(X)
        return self

    def predict_proba(self, X):
        squares = (X[:, None, :] - self.mean_) ** 2 / self.var_ + np.log(self.var_)
        return softmax(np.log(self.prior_) - squares.sum(axis=2) / 2, axis=1)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def test_the_light_model_is_gaussian_naive_bayes():
    X, y = gaussians(0)
    expected = GaussianNB().fit(X[:9], y[:9]).predict_proba(X)
    assert_allclose(LightGaussianNB().fit(X[:9], y[:9]).predict_proba(X), expected, atol=1e-9)


def two_gaussian_trial(seed):
    """Saeed (2018), section 1.2: a pool of 400 rows, two labels a class, good and bad.

    Passive learning, of which the figures have one curve, starts with any four labels. A
    start is good if the model of its labels has few errors, bad if it has many; in both the
    labels lie well on their own side, so that they name the cluster they are in.
    """
    X, y = make_two_gaussians(900, means=[[-1, 1], [1, 3]], std=1, random_state=seed)
    rng = np.random.RandomState(seed)
    rows = rng.permutation(900)
    X, y, X_test, y_test = X[rows[:400]], y[rows[:400]], X[rows[400:]], y[rows[400:]]
    inner = np.where(y == 1, 1, -1) * (X.sum(axis=1) - 2) / np.sqrt(2) > 1.0
    supervised = LightGaussianNB()
    drawn = [
        np.concatenate([rng.permutation(np.flatnonzero((y == c) & inner))[:2] for c in (0, 1)])
        for _ in range(12)
    ]
    drawn.sort(key=lambda four: np.mean(supervised.fit(X[four], y[four]).predict(X) != y))

    def error(estimator, start, strategy, sizes):
        trial = simulate(
            estimator,
            X,
            y,
            labeled=start,
            sizes=sizes,
            strategy=strategy,
            X_test=X_test,
            y_test=y_test,
            random_state=seed,
        )
        return trial.errors[1:].mean()  # at the first size all are the same

    margin, semi = SmallestMargin(), SemiSupervisedGaussianNB(tol=1e-4)
    any_four = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:2] for c in (0, 1)])
    return {
        "passive": error(supervised, any_four, None, range(4, 17, 2)),
        "good active": error(supervised, drawn[0], margin, range(4, 17)),
        "bad active": error(supervised, drawn[-1], margin, range(4, 17)),
        "bad semi": error(semi, drawn[-1], margin, range(4, 17, 2)),
    }


def test_two_gaussians_of_the_thesis():
    # Figures 1.8 and 1.9 of Saeed (2018): the order of the curves, over 100 trials.
    errors = pd.DataFrame([two_gaussian_trial(seed) for seed in range(100)]).mean()
    assert errors["good active"] < errors["passive"] < errors["bad active"]
    assert errors["bad semi"] < errors["passive"]


def test_queried_last_finds_planted_outliers():
    # Far behind the other class: the model is sure of them, and wrong.
    rng = np.random.RandomState(0)
    X = np.concatenate([rng.randn(40, 1) - 3, rng.randn(40, 1) + 3, [[12.0], [12.5], [13.0]]])
    y = np.repeat([0, 1, 0], [40, 40, 3])
    found = queried_last(
        LogisticRegression(), X, y, n_trials=8, fraction=3 / 83, sizes=[4, 16], random_state=0
    )
    assert set(found.rows.tolist()) == {80, 81, 82}
    assert found.mean_rank[80:].min() > np.delete(found.mean_rank, [80, 81, 82]).max()
    assert_array_equal(found.with_rows["n_labeled"][:3], [4, 16, 62])
    last = [
        curves.groupby("trial")["error"].last().mean()
        for curves in (found.with_rows, found.without_rows)
    ]
    assert last[1] <= last[0]
    # The training rows that were removed: those of the three that were not in the test set.
    ends = found.without_rows.groupby("trial")["n_labeled"].last()
    assert ((ends >= 59) & (ends <= 62)).all()
    assert ends.min() < 62


def test_queried_last_names_rows_by_the_index_and_counts_tests():
    X, y = gaussians(5, n=40)
    frame = pd.DataFrame(X, index=[f"r{i}" for i in range(40)], columns=["a", "b"])
    options = {"n_trials": 3, "fraction": 0.1, "random_state": 0}
    by_name = queried_last(GaussianNB(), frame, y, **options)
    by_place = queried_last(GaussianNB(), X, y, **options)
    assert by_name.rows.tolist() == [f"r{i}" for i in by_place.rows]
    assert len(by_name.rows) == 4
    without = queried_last(GaussianNB(), X, y, remove_from_test=True, **options)
    assert_array_equal(without.rows, by_place.rows)
    assert_allclose(without.with_rows, by_place.with_rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_trials": 0}, "n_trials must be"),
        ({"fraction": 1.0}, "fraction must be a number between 0 and 1"),
        ({"test_size": 0}, "test_size must be a number between 0 and 1"),
    ],
)
def test_queried_last_bad_input(change, message):
    X, y = gaussians(0)
    with pytest.raises(ValueError, match=message):
        queried_last(GaussianNB(), X, y, **change)


def test_mean_rank_by_hand():
    from leaven.active._queried_last import _mean_rank

    ranks = _mean_rank([np.array([2, 0, 1]), np.array([0, 2])], 4)
    assert_allclose(ranks, [0.25, 1.0, 0.5, np.nan])
