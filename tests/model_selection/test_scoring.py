from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score, get_scorer, make_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB

from leaven._labels import encode_labels
from leaven.model_selection import LabeledKFold, labeled_scorer


class LabeledGaussianNB(ClassifierMixin, BaseEstimator):
    """Supervised on the labeled rows, whatever their marks."""

    def __init__(self, var_smoothing=1e-9):
        self.var_smoothing = var_smoothing

    def fit(self, X, y):
        self.classes_, codes = encode_labels(y)
        given = codes >= 0
        self.model_ = GaussianNB(var_smoothing=self.var_smoothing)
        self.model_.fit(np.asarray(X)[given], self.classes_[codes[given]])
        return self

    def predict(self, X):
        return self.model_.predict(np.asarray(X))

    def predict_proba(self, X):
        return self.model_.predict_proba(np.asarray(X))


class Fixed(ClassifierMixin, BaseEstimator):
    """Gives back the probabilities that it was made with, row by row of X."""

    def __init__(self, classes, table):
        self.classes_ = np.asarray(classes)
        self.table = np.asarray(table)

    def fit(self, X, y):
        return self

    def _rows(self, X):
        return np.asarray(X.todense() if sparse.issparse(X) else X)[:, 0].astype(int)

    def predict_proba(self, X):
        return self.table[self._rows(X)]

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    truth = np.repeat([0, 1, 2], 20)
    X = rng.normal(size=(60, 2)) + truth[:, None] * 1.5
    y = np.where(rng.random(60) < 0.5, -1, truth)
    return X, y


@pytest.mark.parametrize(
    "metric", ["accuracy", "balanced_accuracy", "f1_macro", "neg_log_loss", "roc_auc_ovr"]
)
def test_equals_the_plain_scorer_on_labeled_rows(data, metric):
    X, y = data
    model = LabeledGaussianNB().fit(X[::2], y[::2])
    labeled = y >= 0
    expected = get_scorer(metric)(model, X[labeled], y[labeled])
    assert labeled_scorer(metric)(model, X, y) == pytest.approx(expected, rel=1e-12)


def test_by_hand():
    model = Fixed(["a", "b", "c"], [[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.5, 0.1, 0.4], [0, 0, 1]])
    X = [[0], [1], [2], [3]]
    y = ["a", None, "c", None]  # right, -, wrong, -
    assert labeled_scorer()(model, X, y) == 0.5
    # The fold lacks class b: scikit-learn's own scorer cannot do this one.
    assert labeled_scorer("neg_log_loss")(model, X, y) == pytest.approx(
        (np.log(0.7) + np.log(0.4)) / 2
    )


def test_log_loss_of_a_class_unknown_in_training_is_finite():
    model = Fixed(["a", "c"], [[0.7, 0.3], [0.2, 0.8]])
    score = labeled_scorer("neg_log_loss")(model, [[0], [1]], ["a", "b"])
    assert score == pytest.approx((np.log(0.7) + np.log(np.finfo(float).eps)) / 2, rel=1e-6)


@pytest.mark.parametrize(
    "y",
    [
        [4, None, 6, 4, None],
        np.array([4, None, 6, 4, None], dtype=object),
        [4, -1, 6, 4, -1],
        np.array([4.0, np.nan, 6.0, 4.0, np.nan]),
        pd.Series([4, pd.NA, 6, 4, pd.NA], dtype="Int64", index=list("vwxyz")),
    ],
    ids=["list None", "object None", "list -1", "float NaN", "Int64 NA"],
)
@pytest.mark.parametrize(
    "container", [np.asarray, pd.DataFrame, sparse.csr_array, sparse.coo_matrix, list]
)
def test_marks_and_containers(y, container):
    model = Fixed([4, 6], [[0.9, 0.1], [0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.5, 0.5]])
    X = container(np.arange(5.0)[:, None])
    assert labeled_scorer()(model, X, y) == pytest.approx(2 / 3)


def test_any_splitter(data):
    X, y = data
    names = np.where(y < 0, None, np.array(["r", "s", "t"], dtype=object)[y])
    cv = KFold(4, shuffle=True, random_state=0)
    got = cross_val_score(LabeledGaussianNB(), X, names, cv=cv, scoring=labeled_scorer())
    expected = []
    for train, test in cv.split(X):
        given = test[y[test] >= 0]
        model = LabeledGaussianNB().fit(X[train], y[train])
        expected.append(np.mean(model.predict(X[given]) == y[given]))
    assert_allclose(got, expected)


def test_integers_among_none(data):
    X, y = data
    objects = [None if label < 0 else int(label) for label in y]
    cv = LabeledKFold(3, random_state=0)
    got = cross_val_score(LabeledGaussianNB(), X, objects, cv=cv, scoring=labeled_scorer())
    assert_allclose(got, cross_val_score(LabeledGaussianNB(), X, y, cv=cv))


def test_in_grid_search(data):
    X, y = data
    search = GridSearchCV(
        LabeledGaussianNB(),
        {"var_smoothing": [1e-9, 10.0]},
        cv=LabeledKFold(3, random_state=0),
        scoring=labeled_scorer("neg_log_loss"),
    ).fit(X, y)
    assert search.best_params_ == {"var_smoothing": 1e-9}


def test_no_labeled_row():
    model = Fixed([0, 1], [[0.5, 0.5]])
    with pytest.raises(ValueError, match="The test set of 2 rows holds no labeled row"):
        labeled_scorer()(model, [[0], [0]], [-1, -1])


def test_callables_and_errors():
    model = Fixed([4, 6], [[0.9, 0.1], [0.9, 0.1]])
    scorer = labeled_scorer(make_scorer(accuracy_score))
    assert scorer(model, [[0], [1]], [4, -1]) == 1.0
    assert labeled_scorer(scorer) is scorer
    rows = labeled_scorer(lambda estimator, X, y: float(len(y)))
    assert rows(model, [[0], [1]], [-1, 6]) == 1.0
    with pytest.raises(ValueError, match=r"'acuracy' is not a scorer.*'accuracy'"):
        labeled_scorer("acuracy")
    with pytest.raises(ValueError, match="metric function rather than a scorer"):
        labeled_scorer(accuracy_score)
    with pytest.raises(TypeError, match=r"metric must be the name of a scorer.* got 3"):
        labeled_scorer(3)


def test_repr_and_pickle():
    scorer = pickle.loads(pickle.dumps(labeled_scorer("neg_log_loss")))
    assert repr(scorer) == "labeled_scorer('neg_log_loss')"
