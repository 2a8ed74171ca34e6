"""The quick models against direct solves, scikit-learn and leaven's own estimators."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from leaven._labels import UNLABELED
from leaven.app._models import Blend, Harmonic, Linear, Own, fit_clone, fit_each, spread
from leaven.graph import GivenGraph
from leaven.graph_based import HarmonicClassifier, class_mass_normalization


def ring(n, seed):
    """A ring with random weights and a few chords: connected."""
    rng = np.random.default_rng(seed)
    W = np.zeros((n, n))
    for i in range(n):
        W[i, (i + 1) % n] = rng.uniform(0.3, 2.0)
    for i, j in rng.integers(0, n, (n // 2, 2)):
        if i != j:
            W[i, j] = rng.uniform(0.3, 2.0)
    return np.maximum(W, W.T)


def codes_of(n, labels):
    codes = np.full(n, UNLABELED, dtype=np.intp)
    for row, code in labels.items():
        codes[row] = code
    return codes


def dense_harmonic(W, codes, n_classes):
    """Zhu's equation 5 by a dense solve, and his equation 9 with one label added to each class."""
    known = codes != UNLABELED
    L = np.diag(W.sum(axis=1)) - W
    f = np.zeros((len(codes), n_classes))
    f[known] = np.eye(n_classes)[codes[known]]
    f[~known] = np.linalg.solve(L[np.ix_(~known, ~known)], -L[np.ix_(~known, known)] @ f[known])
    counts = np.bincount(codes[known], minlength=n_classes)
    mass = f[~known].sum(axis=0)
    scaled = f[~known] * ((counts + 1) / (counts + 1).sum()) / (mass / mass.sum())
    f[~known] = scaled / scaled.sum(axis=1, keepdims=True)
    return f


@pytest.mark.parametrize("seed", range(4))
def test_harmonic_is_the_dense_solution(seed):
    W = ring(30, seed)
    codes = codes_of(30, {0: 0, 7: 1, 13: 2, 22: 1})
    found = Harmonic(sparse.csr_array(W)).fit(codes, 3)
    assert_allclose(found, dense_harmonic(W, codes, 3), atol=5e-3)  # the residual is 1e-3


def test_harmonic_agrees_with_the_estimator():
    W = ring(25, 9)
    codes = codes_of(25, {1: 0, 12: 1, 20: 0})
    counts = np.array([2, 1])
    peer = HarmonicClassifier(GivenGraph(sparse.csr_array(W)), prior=(counts + 1) / 5)
    peer.fit(np.arange(25.0)[:, None], codes)
    found = Harmonic(sparse.csr_array(W)).fit(codes, 2)
    assert_allclose(found, peer.label_distributions_, atol=5e-3)


def test_a_warm_start_ends_where_a_cold_one_does():
    W = sparse.csr_array(ring(60, 3))
    warm = Harmonic(W)
    labels = {0: 0, 30: 1}
    warm.fit(codes_of(60, labels), 2)
    for row, code in [(10, 0), (44, 1), (52, 2), (21, 0)]:
        labels[row] = code
        codes = codes_of(60, labels)
        assert_allclose(warm.fit(codes, 3), Harmonic(W).fit(codes, 3), atol=8e-3)


def test_rows_that_no_label_reaches_get_the_label_frequencies():
    W = np.zeros((7, 7))
    for i, j in [(0, 1), (1, 2), (2, 3), (4, 5), (5, 6)]:
        W[i, j] = W[j, i] = 1.7
    found = Harmonic(sparse.csr_array(W)).fit(codes_of(7, {0: 0, 1: 0, 3: 1}), 3)
    reached = np.array([[1 - 1 / 2, 1 / 2]])  # row 2 lies between a 0 and a 1
    rest = np.array([[2 / 3, 1 / 3]] * 3)
    f = np.vstack([reached, rest])
    expected = class_mass_normalization(f, np.array([3 / 5, 2 / 5]))
    assert_allclose(found[[2, 4, 5, 6], :2], expected, atol=5e-3)
    assert (found[:, 2] == 0).all()


@given(st.integers(0, 10_000))
def test_harmonic_answers_are_probabilities_that_keep_the_labels(seed):
    rng = np.random.default_rng(seed)
    W = sparse.csr_array(ring(12, seed))
    codes = codes_of(12, {0: 0, 1: 1, int(rng.integers(2, 12)): int(rng.integers(0, 4))})
    P = Harmonic(W).fit(codes, 4)
    assert_allclose(P.sum(axis=1), 1.0)
    assert (P >= 0).all()
    known = codes != UNLABELED
    assert (P[known].argmax(axis=1) == codes[known]).all()
    assert (P[:, np.bincount(codes[known], minlength=4) == 0] == 0).all()


def test_linear_is_logistic_regression_on_the_labeled_rows():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 3))
    codes = codes_of(40, {row: int(X[row, 0] > 0) * 2 for row in range(12)})
    peer = LogisticRegression(C=10.0, max_iter=200).fit(X[:12], codes[:12])
    found = Linear(X).fit(codes, 3)
    assert_allclose(found[:, [0, 2]], peer.predict_proba(X))
    assert (found[:, 1] == 0).all()


def test_an_estimator_of_the_user_is_cloned_and_fitted_on_what_it_can_use():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 2)) + 3 * (np.arange(30) % 2)[:, None]
    codes = codes_of(30, {row: row % 2 for row in range(8)})
    own = GaussianNB()
    found = Own(own, X).fit(codes, 2)
    assert not hasattr(own, "classes_")
    assert_allclose(found, GaussianNB().fit(X[:8], codes[:8]).predict_proba(X))
    semi = fit_clone(HarmonicClassifier(), X, codes)
    assert len(semi.transduction_) == 30


def test_a_blend_is_the_mean():
    class Fixed:
        def __init__(self, P):
            self.P = np.array(P)

        def fit(self, codes, n_classes):
            return self.P

    mixed = Blend([Fixed([[0.9, 0.1]]), Fixed([[0.2, 0.8]]), Fixed([[0.7, 0.3]])])
    assert_allclose(mixed.fit(np.array([-1]), 2), [[0.6, 0.4]])


def test_spread_leaves_gaps_for_unknown_classes():
    P = np.array([[0.25, 0.75], [0.6, 0.4]])
    found = spread(P, np.array([1, 3]), 5)
    assert_allclose(found[:, [1, 3]], P)
    assert found[:, [0, 2, 4]].sum() == 0


class Counted:
    """A model that answers the same each time, and counts how often it is asked."""

    def __init__(self, name, answer):
        self.name, self.answer, self.n_fits = name, np.asarray(answer), 0

    def fit(self, codes, n_classes):
        self.n_fits += 1
        return self.answer


def test_the_parts_of_a_blend_are_fitted_once():
    one, two = Counted("one", [[0.2, 0.8]]), Counted("two", [[0.6, 0.4]])
    models = {"one": one, "two": two, "blend": Blend([one, two])}
    found = fit_each(models, codes_of(1, {}), 2)
    assert (one.n_fits, two.n_fits) == (1, 1)
    assert_allclose(found["blend"], [[0.4, 0.6]])
    assert_allclose(found["two"], [[0.6, 0.4]])


def test_a_blend_without_its_parts_fits_them():
    one, two = Counted("one", [[0.2, 0.8]]), Counted("two", [[0.6, 0.4]])
    found = fit_each({"blend": Blend([one, two])}, codes_of(1, {}), 2)
    assert list(found) == ["blend"]
    assert_allclose(found["blend"], [[0.4, 0.6]])


@pytest.fixture
def words():
    """Texts as a sparse matrix, and in two dimensions."""
    rng = np.random.default_rng(5)
    rows = sparse.csr_array(rng.random((40, 12)) * (rng.random((40, 12)) < 0.4))
    return rows, rng.normal(size=(40, 2)), codes_of(40, {i: i % 2 for i in range(14)})


def test_an_estimator_that_takes_no_sparse_rows_learns_from_the_points(words):
    rows, points, codes = words
    expected = GaussianNB().fit(points[:14], codes[:14]).predict_proba(points)
    assert_allclose(Own(GaussianNB(), rows, points).fit(codes, 2), expected)
    # One that takes them learns from the rows.
    linear = LogisticRegression().fit(rows[:14], codes[:14])
    found = Own(LogisticRegression(), rows, points).fit(codes, 2)
    assert_allclose(found, linear.predict_proba(rows))


def test_other_errors_of_an_estimator_are_its_own(words):
    rows, points, codes = words
    with pytest.raises(ValueError, match="C"):
        Own(LogisticRegression(C=-1.0), rows, points).fit(codes, 2)
    with pytest.raises(TypeError, match="dense"):
        Own(GaussianNB(), rows).fit(codes, 2)
