"""Several components a class."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import cosine_similarity

from leaven.exceptions import MemoryBoundError
from leaven.generative import SemiSupervisedGaussianNB, SemiSupervisedMultinomialNB
from leaven.generative import _components as components
from leaven.generative._components import agglomerate, search_n_components, start_responsibilities

from .problems import MODELS, counts, hide, parameters_of


def agglomerate_by_hand(X, n_clusters):
    groups = [[i] for i in range(len(X))]
    while len(groups) > n_clusters:
        means = np.array([X[group].mean(axis=0) for group in groups])
        similarity = cosine_similarity(means)
        np.fill_diagonal(similarity, -np.inf)
        i, j = sorted(np.unravel_index(similarity.argmax(), similarity.shape))
        groups[i] += groups.pop(j)
    return {frozenset(group) for group in groups}


def as_sets(labels):
    return {frozenset(np.flatnonzero(labels == label)) for label in np.unique(labels)}


@given(
    X=arrays(float, st.tuples(st.integers(2, 14), st.just(5)), elements=st.floats(0.01, 4)),
    seed=st.integers(0, 1000),
)
@settings(max_examples=40, deadline=None)
def test_tree_merges_the_most_similar_groups(X, seed):
    # Noise breaks ties, where two right answers differ.
    X = X + np.random.default_rng(seed).random(X.shape)
    before = None
    for n_clusters in range(1, len(X) + 1):
        labels = agglomerate(X, n_clusters)
        assert as_sets(labels) == agglomerate_by_hand(X, n_clusters)
        assert_array_equal(labels, agglomerate(sparse.csr_matrix(X), n_clusters))
        assert list(dict.fromkeys(labels.tolist())) == list(range(n_clusters))
        if before is not None:  # cuts are nested
            assert all(any(new <= old for old in before) for new in as_sets(labels))
        before = as_sets(labels)


def test_trees_that_are_kept_are_those_of_the_same_rows(monkeypatch):
    monkeypatch.setattr(components, "MAX_TREES", 3)
    rng = np.random.RandomState(5)
    tables = [rng.random_sample((9, 4)) for _ in range(4)]
    tables += [tables[0].astype(np.float32), tables[1][::-1]]
    for _ in range(2):  # the second time some are kept, and some have been dropped
        for n_clusters in (4, 2, 9):
            for X in tables:
                found = as_sets(agglomerate(X, n_clusters))
                assert found == agglomerate_by_hand(X, n_clusters)
    assert len(components._trees) == 3


def test_tree_takes_empty_documents_and_refuses_too_many_rows(monkeypatch):
    X = np.array([[1.0, 0.0], [0.0, 0.0], [2.0, 0.1], [0.0, 0.0]])
    assert as_sets(agglomerate(X, 3)) == {frozenset({0, 2}), frozenset({1}), frozenset({3})}
    monkeypatch.setattr(components, "MAX_TREE_ROWS", 3)
    with pytest.raises(MemoryBoundError, match=r"4 labeled rows .* init='kmeans'"):
        agglomerate(X, 2)


@pytest.mark.parametrize("init", ["random", "tree", "kmeans"])
def test_start_spreads_each_row_over_the_components_of_its_class(init):
    rng = np.random.default_rng(0)
    X, y = counts(rng)
    R = start_responsibilities(X, y, np.unique(y), 3, init, np.random.RandomState(0))
    assert_allclose(R.sum(axis=1), 1.0)
    own = np.repeat(np.arange(3), 3) == y[:, None]
    assert (R[~own] == 0).all()
    assert (R.sum(axis=0) > 0).all()
    if init != "random":
        assert set(np.unique(R)) == {0.0, 1.0}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("init", ["random", "tree", "kmeans"])
def test_one_component_a_class_is_the_plain_model(name, init):
    ours, _, make, settings_ = MODELS[name]
    rng = np.random.default_rng(1)
    X, y = make(rng)
    labels = hide(rng, y)
    plain = ours(**settings_, max_iter=500).fit(X, labels)
    model = ours(**settings_, max_iter=500, n_components=[1], init=init, random_state=5)
    assert_array_equal(parameters_of(model.fit(X, labels)), parameters_of(plain))


def islands(rng, n=300, noise=0.35):
    """Class 0 on the corners of a diagonal of a square, class 1 on the other diagonal."""
    corners = np.array([[0.0, 0.0], [3.0, 3.0], [0.0, 3.0], [3.0, 0.0]])
    which = np.resize(np.arange(4), n)
    return corners[which] + noise * rng.normal(size=(n, 2)), which // 2


@pytest.mark.parametrize("init", ["tree", "kmeans"])
def test_two_components_solve_what_one_cannot(init):
    rng = np.random.default_rng(2)
    X, y = islands(rng)
    labels = hide(rng, y, per_class=10)
    one = SemiSupervisedGaussianNB().fit(X, labels)
    two = SemiSupervisedGaussianNB(n_components=2, init=init, random_state=0).fit(X, labels)
    assert (one.transduction_ == y).mean() < 0.8
    assert (two.transduction_ == y).mean() > 0.97
    # The probabilities are sums over the components of a class.
    joint = two._mixture.log_joint(X)
    joint = np.exp(joint - joint.max(axis=1, keepdims=True))
    by_class = joint.reshape(len(X), 2, 2).sum(axis=2)
    by_class /= by_class.sum(axis=1, keepdims=True)
    assert_allclose(two.predict_proba(X), by_class, atol=1e-12)
    assert_allclose(np.exp(two.class_log_prior_).sum(), 1.0)


def test_a_list_is_searched():
    rng = np.random.default_rng(3)
    X, y = islands(rng)
    labels = hide(rng, y, per_class=12)
    model = SemiSupervisedGaussianNB(n_components=[1, 2, 20], init="kmeans", random_state=0)
    model.fit(X, labels)
    assert model.n_components_ == 2
    assert model.component_scores_[2] > 0.95 > model.component_scores_[1]
    assert np.isnan(model.component_scores_[20])  # 12 rows make no 20 clusters
    assert model.n_components == [1, 2, 20]
    same = SemiSupervisedGaussianNB(n_components=2, init="kmeans", random_state=0)
    assert_array_equal(same.fit(X, labels).predict_proba(X), model.predict_proba(X))


def test_search_takes_the_smallest_of_the_best_and_hides_each_label_once():
    codes = np.array([0, 0, 0, 1, 1, 1, -1])
    hidden = []

    def transduce(partly, n_components):
        hidden.append(np.flatnonzero((partly < 0) & (codes >= 0)))
        return np.zeros(len(codes), dtype=int) if n_components == 1 else np.abs(codes)

    best, accuracy = search_n_components([5, 3, 1], codes, np.array(["a", "b"]), transduce, 0)
    assert (best, accuracy) == (3, {5: 1.0, 3: 1.0, 1: 0.5})
    assert sorted(np.concatenate(hidden[:3])) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("init", ["tree", "kmeans"])
def test_more_components_than_rows_of_a_class(init):
    X, y = counts(np.random.default_rng(4))
    labels = np.where(np.arange(len(y)) < 8, y, -1)  # classes 0, 1, 2 have 3, 3 and 2 rows
    names = np.array(["a", "b", "rare", None], dtype=object)[labels]
    model = SemiSupervisedMultinomialNB(n_components=3, init=init)
    with pytest.raises(ValueError, match="class 'rare' has only 2"):
        model.fit(X, names)
    with pytest.raises(ValueError, match="class 'a' has only 1"):  # the others are held out
        model.set_params(n_components=[3, 4]).fit(X, names)
    names[5] = None
    with pytest.raises(ValueError, match="two labeled rows per class, but class 'rare' has 1"):
        model.set_params(n_components=[1, 2]).fit(X, names)


@pytest.mark.parametrize("bad", [[], [0, 1], [1.5], "two", [[1, 2]], 0])
def test_what_is_no_number_of_components(bad):
    X, y = counts(np.random.default_rng(5))
    with pytest.raises(ValueError, match="n_components"):
        SemiSupervisedMultinomialNB(n_components=bad).fit(X, y)


def test_learned_classes_of_components():
    # Two far clusters; in the left one 80 % are of class 0, in the right one 30 %.
    rng = np.random.default_rng(6)
    left = np.arange(400) % 2 == 0
    X = np.where(left, 0.0, 9.0)[:, None] + rng.normal(size=(400, 2))
    y = np.where(rng.random(400) < np.where(left, 0.8, 0.3), 0, 1)
    labels = np.where(np.arange(400) < 200, y, -1)
    model = SemiSupervisedGaussianNB(component_classes="learned", tol=1e-9).fit(X, labels)
    proba = model.predict_proba([[0.0, 0.0], [9.0, 9.0]])
    assert_allclose(model.component_class_proba_.sum(axis=1), 1.0)
    known = labels >= 0
    assert_allclose(proba[0, 0], (labels[known & left] == 0).mean(), atol=0.02)
    assert_allclose(proba[1, 0], (labels[known & ~left] == 0).mean(), atol=0.02)
    # Fixed components must each have a cluster of their own, and are sure of its class.
    fixed = SemiSupervisedGaussianNB().fit(X, labels).predict_proba([[0.0, 0.0]])
    assert fixed.max() > 0.9


def test_learned_components_allow_no_fixed_prior():
    X, y = counts(np.random.default_rng(7))
    model = SemiSupervisedMultinomialNB(component_classes="learned", prior="uniform")
    with pytest.raises(ValueError, match="prior must be None"):
        model.fit(X, y)
