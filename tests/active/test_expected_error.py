from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import xlogy
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from leaven.active import ExpectedErrorReduction
from leaven.active import _expected_error_bayes as bayes
from leaven.active import _expected_error_harmonic as harmonic
from leaven.active._expected_error import expected_loss_by_refits
from leaven.active._rows import locate
from leaven.exceptions import UnreachedWarning
from leaven.generative import SemiSupervisedGaussianNB
from leaven.graph import FullGraph, GivenGraph, KNNGraph
from leaven.graph_based import HarmonicClassifier

LOSSES = ["zero-one", "log"]


def table(kind, n_classes, seed=0, n_rows=30):
    """Rows of the kind that a naive Bayes model takes; the first ten are labeled."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_rows - n_classes)])
    if kind == "numbers":
        X = rng.normal(size=(n_rows, 4)) + y[:, None] * [0.9, -0.4, 0.0, 2.0]
        X[:, 3] = np.round(X[:, 3])  # of few rows some classes have no variance here
        return X * [1.0, 7.0, 0.3, 1.0] + [0.0, 50.0, 0.0, 0.0], y
    if kind == "counts":
        return rng.poisson(1.0 + 1.5 * ((np.arange(6) % n_classes) == y[:, None])), y
    if kind == "categories":
        X = (rng.integers(0, 4, (n_rows, 5)) + y[:, None] * (rng.random((n_rows, 5)) < 0.6)) % 4
        X[0] = 3  # all categories are known from the first row on
        return X, y
    return (rng.random((n_rows, 6)) < 0.2 + 0.5 * ((np.arange(6) % n_classes) == y[:, None])), y


def split(X, y, n_labeled=10):
    return X[n_labeled:], X[:n_labeled], y[:n_labeled]


def both(estimator, loss, pool, X, y, **options):
    """Scores by the fast path and by refits."""
    fitted = clone(estimator).fit(X, y)
    fast = ExpectedErrorReduction(loss, **options)
    slow = ExpectedErrorReduction(loss, method="generic", **options)
    scores = fast.scores(fitted, pool, X, y), slow.scores(fitted, pool, X, y)
    assert slow.path_ == "generic"
    return fast.path_, *scores


def by_hand(estimator, loss, pool, X, y):
    """Equation 2.71 in plain loops, over the rows other than the candidate."""
    P = estimator.predict_proba(pool)
    expected = np.zeros(len(pool))
    for i in range(len(pool)):
        rest = np.delete(pool, i, axis=0)
        for c, name in enumerate(estimator.classes_):
            model = clone(estimator).fit(np.vstack([X, pool[i : i + 1]]), np.append(y, name))
            Q = model.predict_proba(rest)
            each = 1 - Q.max(axis=1) if loss == "zero-one" else -xlogy(Q, Q).sum(axis=1)
            expected[i] += P[i, c] * each.mean()
    return -expected


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("method", ["auto", "generic"])
def test_three_rows_by_plain_loops(loss, method):
    X, y = np.array([[0.0], [1.0], [2.5], [4.0]]), np.array([0, 0, 1, 1])
    pool = np.array([[0.7], [1.8], [5.0]])
    model = GaussianNB().fit(X, y)
    scores = ExpectedErrorReduction(loss, method=method).scores(model, pool, X, y)
    assert_allclose(scores, by_hand(model, loss, pool, X, y), atol=1e-12)
    assert len(np.unique(scores.round(6))) == 3


def test_neighbors_by_arithmetic():
    # 1-NN is certain of everything: any label gives loss 0, in both losses.
    X, y = np.array([[0.0], [4.0]]), np.array([0, 1])
    model = KNeighborsClassifier(n_neighbors=1).fit(X, y)
    for loss in LOSSES:
        scores = ExpectedErrorReduction(loss).scores(model, np.array([[1.0], [2.5]]), X, y)
        assert_array_equal(scores, [0.0, 0.0])
    # With labels 0, 0 and 1 the three nearest say (2/3, 1/3) everywhere.
    X, y = np.array([[0.0], [1.0], [9.0]]), np.array([0, 0, 1])
    model = KNeighborsClassifier(n_neighbors=3).fit(X, y)
    pool = np.array([[1.5], [1.4]])
    # Label 0 (2/3): neighbors of the other are 0, 1 and the new one, all of class 0: loss 0.
    # Label 1 (1/3): two of class 0, one of class 1: loss 1/3.
    assert_allclose(ExpectedErrorReduction().scores(model, pool, X, y), [-1 / 9, -1 / 9])


BAYES = [
    ("numbers", GaussianNB()),
    ("numbers", GaussianNB(var_smoothing=0.3)),
    ("counts", MultinomialNB()),
    ("counts", MultinomialNB(alpha=0.2, fit_prior=False)),
    ("counts", MultinomialNB(alpha=np.array([0.1, 1.0, 0.5, 2.0, 0.3, 1.5]))),
    ("binary", BernoulliNB()),
    ("binary", BernoulliNB(alpha=0.3, binarize=None, fit_prior=False)),
    ("numbers", BernoulliNB(binarize=0.5)),
    ("categories", CategoricalNB()),
    ("categories", CategoricalNB(alpha=0.4, fit_prior=False, min_categories=6)),
]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("kind", "estimator"), BAYES, ids=lambda value: str(value)[:40])
def test_naive_bayes_equals_refits(kind, estimator, n_classes, loss):
    pool, X, y = split(*table(kind, n_classes), n_labeled=18)
    path, fast, slow = both(estimator, loss, pool, X, y)
    assert path == "naive-bayes"
    assert_allclose(fast, slow, atol=1e-9, rtol=0)
    assert np.ptp(slow) > 1e-4


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["numbers", "counts", "binary", "categories"])
def test_naive_bayes_with_given_priors(kind, loss):
    priors = [0.2, 0.7, 0.1]
    estimator = {
        "numbers": GaussianNB(priors=priors),
        "counts": MultinomialNB(class_prior=priors),
        "binary": BernoulliNB(class_prior=priors),
        "categories": CategoricalNB(class_prior=priors),
    }[kind]
    path, fast, slow = both(estimator, loss, *split(*table(kind, 3, seed=2), n_labeled=18))
    assert path == "naive-bayes"
    assert_allclose(fast, slow, atol=1e-9, rtol=0)


@pytest.mark.parametrize("loss", LOSSES)
def test_names_as_labels_and_unlabeled_rows_among_the_known(loss):
    pool, X, y = split(*table("numbers", 3))
    names = np.array(["a", "bb", "ccc"], dtype=object)[y]
    names[7] = None  # GaussianNB does not learn from it
    keep = np.arange(10) != 7
    model = GaussianNB().fit(X[keep], names[keep].astype(str))
    scores = [
        ExpectedErrorReduction(loss, method=method).scores(model, pool, X, names)
        for method in ("auto", "generic")
    ]
    expected = by_hand(model, loss, pool, X[keep], names[keep].astype(str))
    for each in scores:
        assert_allclose(each, expected, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_blocks_do_not_matter(loss, monkeypatch):
    pool, X, y = split(*table("numbers", 3))
    whole = both(GaussianNB(), loss, pool, X, y)[1]
    monkeypatch.setattr(bayes, "_ROWS", 7)
    monkeypatch.setattr(bayes, "_BLOCK", 3 * 7 * 4)
    assert_allclose(both(GaussianNB(), loss, pool, X, y)[1], whole, atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "estimator"), [("counts", MultinomialNB()), ("binary", BernoulliNB())]
)
@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_rows(kind, estimator, make):
    pool, X, y = split(*table(kind, 3), n_labeled=20)
    dense = both(estimator, "log", pool, X, y)[1]
    path, fast, slow = both(estimator, "log", make(pool.astype(float)), make(X.astype(float)), y)
    assert path == "naive-bayes"
    assert_allclose(fast, dense, atol=1e-12)
    assert_allclose(slow, dense, atol=1e-9)


def test_many_categories_are_sparse_inside(monkeypatch):
    pool, X, y = split(*table("categories", 3))
    dense = both(CategoricalNB(), "log", pool, X, y)[1]
    monkeypatch.setattr(bayes, "_DENSE_CATEGORIES", 3)
    assert_allclose(both(CategoricalNB(), "log", pool, X, y)[1], dense, atol=1e-12)


def test_data_frames():
    pool, X, y = split(*table("numbers", 2), n_labeled=22)
    columns = ["a", "b", "c", "d"]
    frames = [pd.DataFrame(part, columns=columns) for part in (pool, X)]
    for estimator in (GaussianNB(), make_pipeline(StandardScaler(), LogisticRegression())):
        expected = both(estimator, "log", pool, X, y)
        found = both(estimator, "log", *frames, y)
        assert_allclose(found[1], expected[1], atol=1e-12)
        assert_allclose(found[2], expected[2], atol=1e-12)


def test_far_rows_do_not_overflow():
    # Digits have features that are constant in a class: logits of -1e10.
    X = np.array([[0.0, 1.0], [0.0, 2.0], [5.0, 7.0], [5.0, 9.0], [3.0, -4.0], [3.1, -5.0]])
    y = np.array([0, 0, 1, 1, 2, 2])
    pool = np.array([[0.0, 1.5], [5.0, 8.0], [1e3, -1e3], [3.0, 1.0]])
    for loss in LOSSES:
        path, fast, slow = both(GaussianNB(), loss, pool, X, y)
        assert path == "naive-bayes"
        assert np.isfinite(fast).all()
        assert_allclose(fast, slow, atol=1e-6)


class OwnBayes(GaussianNB):
    pass


@pytest.mark.parametrize(
    ("kind", "estimator"),
    [
        ("numbers", OwnBayes()),
        ("numbers", make_pipeline(StandardScaler(), GaussianNB())),
        ("numbers", KNeighborsClassifier()),
        ("numbers", LinearSVC(random_state=0)),
        ("counts", BernoulliNB(binarize=None)),
    ],
    ids=lambda value: str(value)[:40],
)
def test_everything_else_is_refitted(kind, estimator):
    pool, X, y = split(*table(kind, 2), n_labeled=20)
    if isinstance(estimator, BernoulliNB):
        pool, X = np.minimum(pool, 2) / 2, np.minimum(X, 2) / 2
    path, fast, slow = both(estimator, "zero-one", pool, X, y)
    assert path == "generic"
    assert_array_equal(fast, slow)
    if hasattr(estimator, "predict_proba"):
        model = clone(estimator).fit(X, y)
        assert_allclose(slow, by_hand(model, "zero-one", pool, X, y), atol=1e-12)


def test_parallel_fits_give_the_same():
    pool, X, y = split(*table("numbers", 2))
    model = KNeighborsClassifier().fit(X, y)
    one = ExpectedErrorReduction("log").scores(model, pool, X, y)
    # Threads, since starting processes takes seconds; what they would be sent can be pickled.
    with parallel_config(backend="threading"):
        two = ExpectedErrorReduction("log", n_jobs=2).scores(model, pool, X, y)
    assert pickle.loads(pickle.dumps(expected_loss_by_refits)) is expected_loss_by_refits
    assert_array_equal(one, two)


def graph_problem(n_classes, seed=0):
    X, truth = table("numbers", n_classes, seed)
    X = StandardScaler().fit_transform(X)
    y = np.where(np.arange(30) < 6, truth, -1)
    return X, y


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("graph", [FullGraph(), KNNGraph(n_neighbors=8)], ids=["full", "knn"])
def test_harmonic_equals_refits(graph, n_classes, loss):
    X, y = graph_problem(n_classes)
    path, fast, slow = both(HarmonicClassifier(graph, prior=None), loss, X[y < 0], X, y)
    assert path == "harmonic"
    assert_allclose(fast, slow, atol=1e-9, rtol=0)
    assert np.ptp(slow) > 1e-4


@pytest.mark.parametrize("limit", ["sparse", "iterative"])
def test_harmonic_solvers_agree(limit, monkeypatch):
    X, y = graph_problem(3)
    model = HarmonicClassifier(KNNGraph(n_neighbors=8), prior=None).fit(X, y)
    dense = ExpectedErrorReduction("log").scores(model, X[y < 0], X, y)
    monkeypatch.setattr(harmonic, "DENSE_BELOW", 3)
    monkeypatch.setattr(harmonic, "SPARSE_BELOW", 10**6 if limit == "sparse" else 3)
    monkeypatch.setattr(harmonic, "_BLOCK", 200)
    assert_allclose(ExpectedErrorReduction("log").scores(model, X[y < 0], X, y), dense, atol=1e-9)


def test_harmonic_on_a_path_by_hand():
    # 0 - a - b - 1 in a row with equal weights: f = 1/3 and 2/3 for the class 1. A label for a
    # leaves b half way to the end, and the two are alike by symmetry.
    W = np.diag(np.ones(3), 1)
    model = HarmonicClassifier(GivenGraph(W + W.T), prior=None)
    X, y = np.arange(4.0)[:, None], np.array([0, -1, -1, 1])
    # a = 0 (2/3): b is 1/2, loss 1/2. a = 1 (1/3): b is certainly 1, loss 0.
    scores = ExpectedErrorReduction().scores(model.fit(X, y), X[1:3], X, y)
    assert_allclose(scores, [-1 / 3, -1 / 3])


@pytest.mark.parametrize("loss", LOSSES)
def test_harmonic_with_components_out_of_reach(loss):
    W = np.zeros((9, 9))
    for i, j, w in [(0, 1, 1), (1, 2, 2), (2, 3, 3), (3, 4, 1), (5, 6, 1), (6, 7, 2)]:
        W[i, j] = W[j, i] = w
    y = np.array([0, -1, 2, -1, 1, -1, -1, -1, -1])
    X = np.arange(9.0)[:, None]
    model = HarmonicClassifier(GivenGraph(W), prior=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreachedWarning)
        path, fast, slow = both(model, loss, X[y < 0], X, y)
    assert path == "harmonic"
    assert_allclose(fast, slow, atol=1e-9, rtol=0)


@pytest.mark.parametrize(
    "options",
    [
        {"prior": "labeled"},
        {"label_noise": 0.1},
        {"external": GaussianNB()},
        {"graph": KNNGraph(n_neighbors=5, include_labeled=True)},
    ],
    ids=str,
)
def test_other_harmonic_functions_are_refitted(options):
    X, y = graph_problem(2)
    pool = X[y < 0]
    strategy = ExpectedErrorReduction(n_candidates=3, random_state=0)
    model = HarmonicClassifier(**{"graph": KNNGraph(n_neighbors=8), "prior": None, **options}).fit(
        X, y
    )
    assert np.isfinite(strategy.scores(model, pool, X, y)).sum() == 3
    assert strategy.path_ == "generic"


def test_part_of_the_pool_and_rows_from_elsewhere():
    X, y = graph_problem(2)
    model = HarmonicClassifier(KNNGraph(n_neighbors=8), prior=None).fit(X, y)
    some = np.array([25, 9, 17])
    path, fast, slow = both(model, "log", X[some], X, y)
    assert path == "harmonic"
    assert_allclose(fast, slow, atol=1e-9)
    elsewhere = ExpectedErrorReduction("log")
    assert np.isfinite(elsewhere.scores(model, X[some] + 0.01, X, y)).all()
    assert elsewhere.path_ == "generic"


def test_a_semi_supervised_estimator_sees_all_rows():
    X, y = graph_problem(2)
    pool = X[y < 0]
    model = SemiSupervisedGaussianNB().fit(X, y)
    strategy = ExpectedErrorReduction("log", n_candidates=2, random_state=1)
    scores = strategy.scores(model, pool, X, y)
    free = np.flatnonzero(y < 0)
    for i in np.flatnonzero(np.isfinite(scores)):
        expected = 0.0
        for c in (0, 1):
            taught = y.copy()
            taught[free[i]] = c
            Q = SemiSupervisedGaussianNB().fit(X, taught).label_distributions_
            rest = Q[np.delete(free, i)]
            entropies = -xlogy(rest, rest).sum(axis=1)
            expected += model.label_distributions_[free[i], c] * entropies.mean()
        assert_allclose(scores[i], -expected, atol=1e-9)


def test_rows_are_found_where_they_repeat():
    X = np.array([[1.0], [2.0], [1.0], [3.0], [1.0]])
    codes = np.array([0, -1, -1, -1, -1])
    assert_array_equal(locate(X, codes, X[1:]), [1, 2, 3, 4])
    assert_array_equal(locate(X, codes, np.array([[1], [3], [1]])), [2, 3, 4])
    assert locate(X, codes, np.array([[1.0], [1.0], [1.0]])) is None
    assert_array_equal(locate(sparse.csr_array(X), codes, sparse.csr_array(X[[3, 1]])), [3, 1])
    frame = pd.DataFrame({"a": list("pqprp"), "b": X.ravel()})
    assert_array_equal(locate(frame, codes, frame.iloc[[3, 2]]), [3, 2])


def test_candidates_are_a_random_part():
    pool, X, y = split(*table("numbers", 2))
    model = GaussianNB().fit(X, y)
    full = ExpectedErrorReduction().scores(model, pool, X, y)
    chosen = set()
    for seed in range(5):
        strategy = ExpectedErrorReduction(n_candidates=4, random_state=seed)
        scores = strategy.scores(model, pool, X, y)
        asked = np.flatnonzero(np.isfinite(scores))
        assert len(asked) == 4
        assert (scores[np.setdiff1d(np.arange(20), asked)] == -np.inf).all()
        assert_allclose(scores[asked], full[asked])
        assert_array_equal(clone(strategy).scores(model, pool, X, y), scores)
        chosen.add(tuple(asked))
    assert len(chosen) == 5
    everyone = ExpectedErrorReduction(n_candidates=99).scores(model, pool, X, y)
    assert_array_equal(everyone, full)


def test_one_row_left():
    pool, X, y = split(*table("numbers", 2))
    model = GaussianNB().fit(X, y)
    for method in ("auto", "generic"):
        strategy = ExpectedErrorReduction(method=method)
        assert_array_equal(strategy.scores(model, pool[:1], X, y), [0.0])


def test_nothing_given_is_changed():
    pool, X, y = split(*table("numbers", 2))
    model = GaussianNB().fit(X, y)
    copies = pool.copy(), X.copy(), y.copy(), model.theta_.copy()
    strategy = ExpectedErrorReduction("log")
    strategy.scores(model, pool, X, y)
    for now, then in zip((pool, X, y, model.theta_), copies, strict=True):
        assert_array_equal(now, then)
    assert clone(strategy).get_params() == ExpectedErrorReduction("log").get_params()


def test_errors():
    pool, X, y = split(*table("numbers", 2))
    model = GaussianNB().fit(X, y)
    strategy = ExpectedErrorReduction()
    with pytest.raises(ValueError, match=r"needs the training rows: call scores\(estimator"):
        strategy.scores(model, pool)
    with pytest.raises(ValueError, match="X_pool is empty: there is no row left"):
        strategy.scores(model, pool[:0], X, y)
    with pytest.raises(NotFittedError):
        strategy.scores(GaussianNB(), pool, X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        strategy.scores(model, pool, X, y[:-1])
    with pytest.raises(ValueError, match=r"X has the shape \(10, 4\), but X_pool has the shape"):
        strategy.scores(model, pool[:, :2], X, y)
    with pytest.raises(ValueError, match="X is an array, but X_pool is a data frame"):
        strategy.scores(model, pd.DataFrame(pool), X, y)
    with pytest.raises(ValueError, match=r"y holds the classes \[7\], which the estimator has not"):
        strategy.scores(model, pool, X, np.where(y == 1, 7, y))
    with pytest.raises(ValueError, match="'loss' parameter of ExpectedErrorReduction"):
        ExpectedErrorReduction("hinge").scores(model, pool, X, y)
    with pytest.raises(ValueError, match="'n_candidates' parameter"):
        ExpectedErrorReduction(n_candidates=0).scores(model, pool, X, y)


def test_large_pools_are_scored_in_part_diverse_and_uncertain():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(4, 2)), rng.normal(size=(4, 2)) + 6])
    y = np.repeat([0, 1], 4)
    # Two clusters on the boundary, far apart, and many rows of whose class there is no doubt.
    doubtful = np.repeat([[3.0, 3.0], [-8.0, 14.0]], 30, axis=0) + rng.normal(size=(60, 2)) / 9
    pool = np.concatenate([rng.normal(size=(340, 2)) - 3, doubtful])
    model = LogisticRegression(C=0.1).fit(X, y)
    strategy = ExpectedErrorReduction(max_candidates=6, random_state=0)
    few = strategy.scores(model, pool, X, y)
    chosen = np.flatnonzero(np.isfinite(few))
    assert len(chosen) == 6
    assert (chosen >= 340).all()
    assert (chosen < 370).any()
    assert (chosen >= 370).any()
    assert_allclose(strategy.scores(model, pool, X, y), few)


def test_the_default_scores_all_of_a_small_pool_and_a_part_of_a_large_one():
    rng = np.random.default_rng(1)
    X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    for n_pool, n_scored in ((90, 90), (150, 100)):
        strategy = ExpectedErrorReduction(method="generic", random_state=0)
        scores = strategy.scores(GaussianNB().fit(X, y), rng.normal(2, 2, (n_pool, 1)), X, y)
        assert np.isfinite(scores).sum() == n_scored
    quick, pool = ExpectedErrorReduction(random_state=0), rng.normal(2, 2, (1_100, 1))
    scores = quick.scores(GaussianNB().fit(X, y), pool, X, y)
    assert quick.path_ == "naive-bayes"
    assert np.isfinite(scores).sum() == 1_000
    # The scores are those of all rows; only fewer of them.
    everyone = ExpectedErrorReduction(max_candidates=None).scores(
        GaussianNB().fit(X, y), pool, X, y
    )
    assert_allclose(scores[np.isfinite(scores)], everyone[np.isfinite(scores)])
