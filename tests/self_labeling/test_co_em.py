from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from leaven.exceptions import ConvergenceWarning, LeavenWarning
from leaven.self_labeling import CoEMClassifier
from leaven.self_labeling._co_em import soft_training_set


def two_bags(seed, n=300, n_classes=2, per_class=4, words=30):
    """Documents of two parts, drawn independently given the class: two multinomial views."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n)
    topics = rng.dirichlet(np.full(words, 0.6), size=(2, n_classes))
    X = np.hstack([[rng.multinomial(12, topics[v, c]) for c in truth] for v in range(2)])
    y = np.full(n, -1)
    for code in range(n_classes):
        y[rng.choice(np.flatnonzero(truth == code), per_class, replace=False)] = code
    return X, truth, y


VIEWS = (slice(0, 30), slice(30, 60))


def plain_co_em(X, y, rounds):
    """Multinomial naive Bayes by its formula, with the labels as an n × k matrix."""
    known = y != -1
    Y = np.eye(y.max() + 1)[y] * known[:, None]
    proba = [None, None]
    for _ in range(rounds):
        for v, columns in enumerate(VIEWS):
            counts = Y.T @ X[:, columns] + 1.0
            words = np.log(counts / counts.sum(axis=1, keepdims=True))
            prior = np.log(Y.sum(axis=0) / Y.sum())
            score = X[:, columns] @ words.T + prior
            score = np.exp(score - score.max(axis=1, keepdims=True))
            proba[v] = score / score.sum(axis=1, keepdims=True)
            Y = np.where(known[:, None], Y, proba[v])
    product = proba[0] * proba[1]
    return product / product.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_equals_naive_bayes_written_out(n_classes):
    X, _, y = two_bags(0, n_classes=n_classes)
    model = CoEMClassifier(MultinomialNB(), views=VIEWS).fit(X, y)
    assert model.converged_
    assert model.n_iter_ > 2
    assert_allclose(model.predict_proba(X), plain_co_em(X, y, model.n_iter_), atol=1e-6)
    hidden = y == -1
    assert_allclose(model.label_distributions_[hidden], model.predict_proba(X)[hidden], atol=1e-9)


def test_beats_each_view_alone():
    scores = []
    for seed in range(6):
        X, truth, y = two_bags(seed)
        known, hidden = y != -1, y == -1
        alone = [
            MultinomialNB().fit(X[known][:, v], y[known]).score(X[hidden][:, v], truth[hidden])
            for v in VIEWS
        ]
        both = MultinomialNB().fit(X[known], y[known]).score(X[hidden], truth[hidden])
        model = CoEMClassifier(MultinomialNB(), views=VIEWS).fit(X, y)
        scores.append([np.mean(model.transduction_[hidden] == truth[hidden]), *alone, both])
    ours, *others = np.mean(scores, axis=0)
    assert ours > max(others)


def test_the_views_come_to_agree():
    ends = []
    for seed in range(6):
        X, _, y = two_bags(seed, n_classes=3, per_class=2)
        model = CoEMClassifier(MultinomialNB(), views=VIEWS).fit(X, y)
        assert model.objective_trace_.shape == (model.n_iter_,)
        ends.append(model.objective_trace_[[0, -1]])
    first, last = np.mean(ends, axis=0)
    assert last < first


def test_soft_training_set():
    soft = np.array([[0.2, 0.8, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1e-9, 0.0]])
    rows, codes, weights = soft_training_set(soft)
    assert rows.tolist() == [0, 0, 2, 3]
    assert codes.tolist() == [0, 1, 2, 0]
    assert weights.tolist() == [0.2, 0.8, 1.0, 1.0]


def test_no_unlabeled_rows_is_the_product_of_two_supervised_fits():
    X, truth, _ = two_bags(2)
    model = CoEMClassifier(MultinomialNB(), views=VIEWS).fit(X, truth)
    product = np.prod(
        [MultinomialNB().fit(X[:, v], truth).predict_proba(X[:, v]) for v in VIEWS], axis=0
    )
    assert_allclose(model.predict_proba(X), product / product.sum(axis=1, keepdims=True))
    assert model.n_iter_ == 1
    assert model.converged_


def test_a_pipeline_gets_the_weights_in_its_last_step():
    X, _, y = two_bags(3)
    plain = CoEMClassifier(MultinomialNB(), views=VIEWS).fit(X, y)
    piped = make_pipeline(FunctionTransformer(), MultinomialNB())
    model = CoEMClassifier(piped, views=VIEWS).fit(X, y)
    assert_array_equal(model.label_distributions_, plain.label_distributions_)


def test_not_settled_is_warned_of():
    X, _, y = two_bags(0)
    with pytest.warns(ConvergenceWarning, match="did not settle in max_iter=2 rounds"):
        model = CoEMClassifier(MultinomialNB(), views=VIEWS, max_iter=2).fit(X, y)
    assert not model.converged_
    assert model.n_iter_ == 2


def test_bad_input():
    X, _, y = two_bags(0)
    with pytest.raises(ValueError, match=r"takes no sample_weight.*CoTrainingClassifier"):
        CoEMClassifier(KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ValueError, match=r"LinearSVC has none.*CalibratedClassifierCV"):
        CoEMClassifier(LinearSVC()).fit(X, y)
    with pytest.raises(ValueError, match="'tol' parameter"):
        CoEMClassifier(GaussianNB(), tol=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="'max_iter' parameter"):
        CoEMClassifier(GaussianNB(), max_iter=0).fit(X, y)


def weak_views(seed):
    """Three classes that each view alone can hardly tell apart."""
    rng = np.random.default_rng(seed)
    truth = np.arange(240) % 3
    X = 0.7 * rng.normal(size=(3, 8))[truth] + rng.normal(size=(240, 8))
    return X, truth, np.where(np.arange(240) < 24, truth, -1)


def test_a_class_that_vanishes_is_warned_of():
    # View 2 knows nothing of class 2, and view 1 is led to forget it.
    rng = np.random.default_rng(0)
    truth = np.arange(300) % 3
    X = np.column_stack([rng.normal(size=300), rng.normal(size=300) + 3 * (truth == 0)])
    y = np.where(np.arange(300) < 12, truth, -1)
    with pytest.warns(LeavenWarning, match="CoEMClassifier collapsed"):
        model = CoEMClassifier(GaussianNB(), views=([0], [1])).fit(X, y)
    assert model.collapsed_
    with pytest.warns(LeavenWarning, match="of the labeled rows alone are kept"):
        alone = CoEMClassifier(GaussianNB(), views=([0], [1]), collapse="stop").fit(X, y)
    given = y >= 0
    product = np.ones((300, 3))
    for view in range(2):
        part = X[:, [view]]
        product *= GaussianNB().fit(part[given], y[given]).predict_proba(part)
    product /= product.sum(axis=1, keepdims=True)
    assert_allclose(alone.label_distributions_[~given], product[~given], atol=1e-9)
    assert_allclose(alone.predict_proba(X), product, atol=1e-9)
    silent = CoEMClassifier(GaussianNB(), views=([0], [1]), collapse="ignore").fit(X, y)
    assert not silent.collapsed_
    assert_allclose(silent.label_distributions_, model.label_distributions_)


@pytest.mark.parametrize("seed", range(5))
def test_stop_is_never_far_below_the_labeled_rows_alone(seed):
    X, truth, y = weak_views(seed)
    half = (slice(0, 4), slice(4, None))
    free = y < 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CoEMClassifier(GaussianNB(), views=half, collapse="stop").fit(X, y)
        plain = CoEMClassifier(GaussianNB(), views=half, collapse="ignore").fit(X, y)
    alone = GaussianNB().fit(X[~free], y[~free]).score(X[free], truth[free])
    accuracy = np.mean(model.transduction_[free] == truth[free])
    assert accuracy >= min(alone, np.mean(plain.transduction_[free] == truth[free])) - 0.1
    assert model.collapsed_ == (
        not np.allclose(model.label_distributions_, plain.label_distributions_)
    )


def test_views_that_are_enough_do_not_collapse():
    rng = np.random.default_rng(1)
    truth = np.arange(200) % 2
    X = 3.0 * truth[:, None] + rng.normal(size=(200, 4))
    y = np.where(np.arange(200) < 12, truth, -1)
    assert not CoEMClassifier(GaussianNB(), views=([0, 1], [2, 3])).fit(X, y).collapsed_
