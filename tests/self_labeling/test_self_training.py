from __future__ import annotations

import logging
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification, make_moons
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier as Peer
from sklearn.svm import LinearSVC

from leaven.self_labeling import SelfTrainingClassifier
from leaven.self_labeling._meta import RowStore, predict_in_blocks


def problem(seed, n=200, n_classes=3, share=0.15):
    X, y = make_classification(
        n, 8, n_informative=5, n_classes=n_classes, class_sep=1.5, random_state=seed
    )
    known = np.random.default_rng(seed).random(n) < share
    return X, y, np.where(known, y, -1)


BASES = [
    LogisticRegression(),
    GaussianNB(),
    # Depends on the order of the rows: it must be the order of X.
    SGDClassifier(loss="log_loss", alpha=0.3, max_iter=20, tol=None, random_state=0),
    make_pipeline(StandardScaler(copy=False), LogisticRegression(C=0.1)),
]
OPTIONS = [
    ({"threshold": 0.8}, {"threshold": 0.8, "max_iter": None}),
    ({"threshold": 0.99, "max_iter": 2}, {"threshold": 0.99, "max_iter": 2}),
    # Nothing is so sure: the limit and no change are reached in the same round.
    ({"threshold": 1 - 1e-12, "max_iter": 1}, {"threshold": 1 - 1e-12, "max_iter": 1}),
    ({"k_best": 7}, {"criterion": "k_best", "k_best": 7, "max_iter": None}),
    ({"k_best": 4, "max_iter": 5}, {"criterion": "k_best", "k_best": 4, "max_iter": 5}),
    ({}, {"max_iter": None}),
    ({"max_iter": 0}, {"max_iter": 0}),
]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("base", BASES, ids=lambda base: type(base).__name__)
@pytest.mark.parametrize(("ours", "theirs"), OPTIONS)
def test_equals_scikit_learn(seed, base, ours, theirs):
    X, _, y = problem(seed)
    before = X.copy()
    model, peer = SelfTrainingClassifier(base, **ours), Peer(base, **theirs)
    model.fit(X, y)
    assert_array_equal(X, before)
    peer.fit(X.copy(), y)
    assert_array_equal(model.labeled_iter_, peer.labeled_iter_)
    joined = peer.labeled_iter_ >= 0
    assert_array_equal(model.transduction_[joined], peer.transduction_[joined])
    # Copies, because a scaler with copy=False writes into what it is given.
    proba = peer.predict_proba(X.copy())
    assert_allclose(model.predict_proba(X.copy()), proba, rtol=1e-9, atol=1e-12)
    assert_array_equal(model.predict(X.copy()), peer.predict(X.copy()))
    assert model.n_iter_ == peer.n_iter_
    assert model.termination_condition_ == peer.termination_condition_
    # Where scikit-learn leaves -1, a row has the final estimator's class.
    assert_array_equal(model.transduction_[~joined], proba.argmax(axis=1)[~joined])


def brute_force_order(X, y):
    """Label, one by one, the unlabeled row that is closest to any labeled one."""
    label = dict(enumerate(y))
    order = []
    while any(value == -1 for value in label.values()):
        pairs = [
            (np.sqrt(((X[u] - X[k]) ** 2).sum()), u, k)
            for u in label
            for k in label
            if label[u] == -1 and label[k] != -1
        ]
        distance, u, k = min(pairs)
        label[u] = label[k]
        order.append((u, label[k], 1 / (1 + distance)))
    return order


@pytest.mark.parametrize("seed", range(3))
def test_distance_confidence_labels_the_closest_row_first(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2))
    y = np.full(30, -1)
    y[:3] = [0, 1, 1]
    order = brute_force_order(X, y)
    model = SelfTrainingClassifier(KNeighborsClassifier(1), confidence="distance").fit(X, y)
    assert model.history_["row"].tolist() == [row for row, _, _ in order]
    assert model.history_["label"].tolist() == [label for _, label, _ in order]
    assert_allclose(model.history_["confidence"], [confidence for _, _, confidence in order])
    assert model.history_["iteration"].tolist() == list(range(1, 28))
    csr = SelfTrainingClassifier(KNeighborsClassifier(1), confidence="distance")
    csr.fit(sparse.csr_array(X), y)
    assert csr.history_["row"].tolist() == model.history_["row"].tolist()


@pytest.mark.parametrize("seed", range(3))
def test_two_moons_of_figure_2_6(seed):
    # Saeed (2018), figure 2.6: 200 rows, one label a class, and 1-NN labels the moons.
    X, truth = make_moons(200, noise=0.05, random_state=seed)
    y = np.full(200, -1)
    for code in (0, 1):
        y[np.flatnonzero(truth == code)[0]] = code
    base = KNeighborsClassifier(1)
    model = SelfTrainingClassifier(base, confidence="distance").fit(X, y)
    assert (model.transduction_ == truth).all()
    assert base.fit(X[y >= 0], y[y >= 0]).score(X, truth) < 0.9
    assert model.n_iter_ == 198


def test_distance_confidence_takes_the_metric_of_the_neighbors():
    X = np.array([[0.0, 0.0], [3.0, 3.0], [0.0, 5.0], [9.0, 9.0]])
    y = np.array([0, -1, -1, 1])
    first = {}
    for p in (1, 2):
        model = SelfTrainingClassifier(KNeighborsClassifier(1, p=p), confidence="distance")
        first[p] = model.fit(X, y).history_["row"][0]
    # Row 1 is at 6 by the city block and at 4.24 as the crow flies; row 2 is at 5 by both.
    assert first == {1: 2, 2: 1}
    model = SelfTrainingClassifier(
        KNeighborsClassifier(1), confidence="distance", metric="manhattan"
    )
    assert model.fit(X, y).history_["row"][0] == 2


def test_distance_confidence_with_threshold_and_per_class():
    X = np.array([[0.0], [1.0], [3.0], [10.0], [10.5], [14.0]])
    y = np.array([0, -1, -1, 1, -1, -1])
    base = KNeighborsClassifier(1)
    model = SelfTrainingClassifier(base, confidence="distance", threshold=0.4).fit(X, y)
    # 1 / (1 + d) > 0.4 is d < 1.5: two rows join, then the gaps 2 and 3.5 are too wide.
    assert sorted(model.history_["row"]) == [1, 4]
    assert model.termination_condition_ == "no_change"
    model = SelfTrainingClassifier(base, confidence="distance", k_best=1, per_class=True).fit(X, y)
    assert model.history_["row"].tolist() == [4, 1, 2, 5]
    assert model.history_["iteration"].tolist() == [1, 1, 2, 2]


def test_an_estimator_without_probabilities_may_use_distances():
    X, _, y = problem(0, n_classes=2)
    model = SelfTrainingClassifier(LinearSVC(), confidence="distance", k_best=30).fit(X, y)
    assert model.predict_proba(X).max(axis=1).min() == 1
    assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))
    with pytest.raises(ValueError, match=r"Set confidence='distance'.*CalibratedClassifierCV"):
        SelfTrainingClassifier(LinearSVC()).fit(X, y)


class Given(ClassifierMixin, BaseEstimator):
    """Has the class probabilities of each row in the columns of X."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.n_seen_ = len(X)
        self.weight_ = sample_weight
        return self

    def predict_proba(self, X):
        return X / X.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


PROBA = np.array(
    [[0.5, 0.5], [0.5, 0.5], [0.95, 0.05], [0.9, 0.1], [0.8, 0.2], [0.65, 0.35], [0.4, 0.6]]
)
KNOWN = np.array([0, 1, -1, -1, -1, -1, -1])


@pytest.mark.parametrize(
    ("options", "first_round"),
    [
        ({"k_best": 2}, [(2, 0), (3, 0)]),
        ({"k_best": 1, "per_class": True}, [(2, 0), (6, 1)]),
        ({"k_best": 2, "per_class": True}, [(2, 0), (3, 0), (6, 1)]),
        ({"k_best": 2, "threshold": 0.92}, [(2, 0)]),
        ({"threshold": 0.62}, [(2, 0), (3, 0), (4, 0), (5, 0)]),
        # Class 1 takes its two best rows, also the one that is rather of class 0.
        ({"k_best": 2, "per_class": "always"}, [(2, 0), (3, 0), (6, 1), (5, 1)]),
        ({"k_best": 2, "per_class": "always", "threshold": 0.5}, [(2, 0), (3, 0), (6, 1)]),
    ],
)
def test_which_rows_join_first(options, first_round):
    model = SelfTrainingClassifier(Given(), max_iter=1, **options).fit(PROBA, KNOWN)
    joined = list(zip(model.history_["row"], model.history_["label"], strict=True))
    assert joined == first_round
    for row, label in first_round:
        assert model.transduction_[row] == label
        assert model.label_distributions_[row].argmax() == label
        assert model.labeled_iter_[row] == 1


def test_threshold_one_takes_the_certain_rows():
    X = np.vstack([PROBA, [[1.0, 0.0], [0.0, 3.0]]])
    model = SelfTrainingClassifier(Given(), threshold=1.0).fit(X, np.append(KNOWN, [-1, -1]))
    assert sorted(model.history_["row"]) == [7, 8]


def test_weights_are_confidences():
    model = SelfTrainingClassifier(Given(), weighted=True, k_best=2).fit(PROBA, KNOWN)
    assert_allclose(model.estimator_.weight_, [1, 1, 0.95, 0.9, 0.8, 0.65, 0.6])
    # For a pipeline they go to the last step.
    piped = SelfTrainingClassifier(make_pipeline(Given()), weighted=True, k_best=2)
    assert_allclose(piped.fit(PROBA, KNOWN).estimator_[-1].weight_, model.estimator_.weight_)
    with pytest.raises(ValueError, match=r"takes no sample_weight\. Use weighted=False"):
        SelfTrainingClassifier(KNeighborsClassifier(1), weighted=True).fit(PROBA, KNOWN)


def test_weighted_self_training_by_a_plain_loop():
    X, _, y = problem(3)
    model = SelfTrainingClassifier(GaussianNB(), weighted=True, k_best=20).fit(X, y)
    labels, weights = y.copy(), np.ones(len(y))
    while (labels == -1).any():
        known = labels != -1
        base = GaussianNB().fit(X[known], labels[known], weights[known])
        rows = np.flatnonzero(~known)
        proba = base.predict_proba(X[rows])
        best = rows[np.argsort(-proba.max(axis=1), kind="stable")[:20]]
        labels[best] = base.predict(X[best])
        weights[best] = base.predict_proba(X[best]).max(axis=1)
    assert_array_equal(model.transduction_, labels)
    expected = GaussianNB().fit(X, labels, weights).predict_proba(X)
    assert_allclose(model.predict_proba(X), expected)


def test_history_and_trace_tell_the_same_story():
    X, _, y = problem(1)
    model = SelfTrainingClassifier(GaussianNB(), k_best=11).fit(X, y)
    history = model.history_
    assert list(history.columns) == ["iteration", "row", "label", "confidence"]
    assert history["row"].is_unique
    assert_array_equal(model.labeled_iter_[history["row"]], history["iteration"])
    assert_array_equal(model.transduction_[history["row"]], history["label"])
    assert (history.groupby("iteration")["confidence"].diff().dropna() <= 0).all()
    left = (y == -1).sum() - history.groupby("iteration").size().cumsum()
    assert_array_equal(model.objective_trace_, left)
    assert model.converged_
    empty = SelfTrainingClassifier(GaussianNB(), max_iter=0).fit(X, y)
    assert len(empty.history_) == 0
    assert list(empty.history_.columns) == list(history.columns)
    assert not empty.converged_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0.0}, "'threshold' parameter .* range \\(0.0?, 1.0?\\]"),
        ({"threshold": 1.01}, "'threshold' parameter"),
        ({"k_best": 0}, "'k_best' parameter .* Got 0 instead"),
        ({"confidence": "entropy"}, "'confidence' parameter"),
        ({"per_class": True}, "per_class=True says how k_best counts, but k_best is None"),
        ({"k_best": 1, "per_class": "always", "confidence": "distance"}, "Set per_class=True"),
        ({"metric": "cosine"}, "metric='cosine' is for confidence='distance'"),
        ({"max_iter": -1}, "'max_iter' parameter"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        SelfTrainingClassifier(GaussianNB(), **options).fit(PROBA, KNOWN)


def test_bad_estimator():
    with pytest.raises(ValueError, match="'estimator' parameter"):
        SelfTrainingClassifier(StandardScaler()).fit(PROBA, KNOWN)
    with pytest.raises(ValueError, match="Perceptron has none"):
        SelfTrainingClassifier(Perceptron()).fit(PROBA, KNOWN)


def test_verbose_logs_a_line_a_round(caplog):
    with caplog.at_level(logging.INFO, logger="leaven"):
        SelfTrainingClassifier(Given(), k_best=3, verbose=1).fit(PROBA, KNOWN)
    assert [record.getMessage() for record in caplog.records] == [
        "SelfTrainingClassifier: round 1 labeled 3 rows, 2 are left",
        "SelfTrainingClassifier: round 2 labeled 2 rows, 0 are left",
    ]


class NearestMean(ClassifierMixin, BaseEstimator):
    """Needs no memory of its own, so that what is measured is the meta-estimator's."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.means_ = np.stack([X.mean(axis=0, where=(y == c)[:, None]) for c in self.classes_])
        return self

    def predict_proba(self, X):
        score = X @ self.means_.T - (self.means_**2).sum(axis=1) / 2
        score = np.exp(score - score.max(axis=1, keepdims=True))
        return score / score.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def test_rounds_add_no_copy_of_X(monkeypatch):
    monkeypatch.setattr("leaven.self_labeling._meta._BLOCK_BYTES", 2**17)
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=4000)
    X = truth[:, None] + rng.normal(size=(4000, 100))
    y = np.where(np.arange(4000) < 40, truth, -1)

    def peak(rounds):
        model = SelfTrainingClassifier(NearestMean(), k_best=4000 // 10, max_iter=rounds)
        tracemalloc.start()
        model.fit(X, y)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most / X.nbytes

    # All rows joined: one buffer of X, a block of predictions, and what is one number a row.
    assert peak(10) < 1.25
    assert peak(3) < peak(10)


def test_row_store_reuses_its_buffer():
    X = np.arange(40.0).reshape(20, 2)
    store = RowStore(X)
    first = store.take(np.arange(0, 20, 2))
    assert_array_equal(first, X[::2])
    second = store.take(np.array([3, 5, 7]))
    assert_array_equal(second, X[[3, 5, 7]])
    assert np.shares_memory(first, second)
    assert not np.shares_memory(second, X)


def test_predictions_are_made_in_blocks(monkeypatch):
    monkeypatch.setattr("leaven.self_labeling._meta._BLOCK_BYTES", 1)
    X = np.arange(1500.0).reshape(750, 2)
    rows = np.arange(749, -1, -1)
    sizes = []

    def predict(block):
        sizes.append(len(block))
        return block[:, 0]

    assert_array_equal(predict_in_blocks(predict, X, rows), X[rows, 0])
    assert sizes == [256, 256, 238]
    assert predict_in_blocks(predict, X, rows[:0]).shape == (0,)
