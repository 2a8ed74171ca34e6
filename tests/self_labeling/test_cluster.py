from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.cluster import (
    DBSCAN,
    HDBSCAN,
    OPTICS,
    AgglomerativeClustering,
    Birch,
    KMeans,
    MeanShift,
    SpectralClustering,
)
from sklearn.datasets import make_blobs, make_moons
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from leaven.self_labeling import ClusterThenLabel
from leaven.self_labeling._cluster import cluster_centers, held_out_accuracy, label_clusters


class Given(BaseEstimator):
    """Clusters by the last column of X."""

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        return X[:, -1].astype(int)


# Cluster 3 has center 1.2 and the labels a, b, b; cluster 5 has center 12 and one a and one
# b; cluster 7, at 30, has none; cluster 8, at 20, has a.
ROWS = np.array(
    [[0.0, 3], [1.0, 3], [2.0, 3], [1.8, 3], [10.0, 5], [13.0, 5], [13.0, 5], [30.0, 7], [20.0, 8]]
)
TARGET = np.array(["b", "a", "b", None, "b", "a", None, None, "a"], dtype=object)


def test_majority_by_hand():
    model = ClusterThenLabel(Given()).fit(ROWS, TARGET)
    assert_allclose(model.cluster_centers_[:, 0], [1.2, 12, 30, 20])
    # The tie of cluster 5 goes to a, at 1 from the center, and 7 borrows from 8, at 10.
    assert model.cluster_classes_.tolist() == ["b", "a", "a", "a"]
    assert model.transduction_.tolist() == ["b", "a", "b", "b", "b", "a", "a", "a", "a"]
    assert model.n_unlabeled_clusters_ == 1
    assert model.n_clusters_ == 4
    assert model.n_noise_ == 0
    shares = model.predict_proba(np.array([[0.0, 3], [0, 5], [0, 7], [0, 8]]))
    assert_allclose(shares, [[1 / 3, 2 / 3], [0.6, 0.4], [1, 0], [1, 0]])


def test_nearest_by_hand():
    model = ClusterThenLabel(Given(), rule="nearest").fit(ROWS, TARGET)
    # Nearest to the center 1.2 is the a at 1, whatever the majority says.
    assert model.cluster_classes_.tolist() == ["a", "a", "a", "a"]
    assert model.transduction_.tolist() == ["b", "a", "b", "a", "b", "a", "a", "a", "a"]
    assert model.n_unlabeled_clusters_ == 1


def test_nearest_looks_outside_the_cluster():
    # Lefakis, section 3.4.6: the labeled row closest to the center, in the cluster or not.
    X = np.array([[0.0, 0], [0.0, 0], [6.0, 0], [3.0, 1], [9.0, 1]])
    y = np.array([-1, -1, 0, 1, -1])
    nearest = ClusterThenLabel(Given(), rule="nearest").fit(X, y)
    majority = ClusterThenLabel(Given()).fit(X, y)
    # The first center is 2: the 1 at 3 is nearer than the cluster's own 0 at 6.
    assert nearest.cluster_classes_.tolist() == [1, 0]
    assert majority.cluster_classes_.tolist() == [0, 1]


@given(st.integers(0, 2**16), st.integers(1, 5), st.integers(2, 4), st.integers(1, 15))
@settings(max_examples=40, deadline=None)
def test_label_clusters_by_brute_force(seed, n_clusters, n_classes, n_labeled):
    rng = np.random.default_rng(seed)
    centers, rows = rng.normal(size=n_clusters), rng.normal(size=n_labeled)
    clusters, codes = (
        rng.integers(n_clusters, size=n_labeled),
        rng.integers(n_classes, size=n_labeled),
    )
    to_centers, between = abs(rows[:, None] - centers), abs(centers[:, None] - centers)
    found, has_label = label_clusters(clusters, codes, n_classes, to_centers, between)

    def winner(cluster):
        members = [i for i in range(n_labeled) if clusters[i] == cluster]
        counts = {c: sum(codes[i] == c for i in members) for c in codes[members]}
        best = [i for i in members if counts[codes[i]] == max(counts.values())]
        return codes[min(best, key=lambda i: to_centers[i, cluster])]

    filled = sorted(set(clusters.tolist()))
    expected = [
        winner(c if c in filled else min(filled, key=lambda f: between[c, f]))
        for c in range(n_clusters)
    ]
    assert found.argmax(axis=1).tolist() == expected
    assert np.flatnonzero(has_label).tolist() == filled
    assert_allclose(found.sum(axis=1), 1)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_cluster_centers(make):
    X = np.random.default_rng(0).normal(size=(20, 3))
    clusters = np.arange(20) % 4 - 1
    expected = [X[clusters == c].mean(axis=0) for c in range(3)]
    assert_allclose(cluster_centers(make(X), clusters, 3), expected)


CLUSTERERS = [
    KMeans(3, n_init=3),
    Birch(n_clusters=3),
    MeanShift(bandwidth=4),
    AgglomerativeClustering(3),
    SpectralClustering(3, gamma=0.05),
    DBSCAN(eps=1.5),
    HDBSCAN(copy=True),
    OPTICS(min_samples=10),
    GaussianMixture(3),
    BayesianGaussianMixture(n_components=3),
    make_pipeline(StandardScaler(), KMeans(3, n_init=3)),
    make_pipeline(StandardScaler(), DBSCAN(eps=0.3)),
]


@pytest.mark.parametrize("clusterer", CLUSTERERS, ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("assign", ["member", "center"])
def test_any_clusterer(clusterer, assign):
    X, truth = make_blobs(150, centers=[[0, 0], [10, 0], [0, 10]], random_state=0)
    y = np.where(np.arange(150) < 12, truth, -1)
    model = ClusterThenLabel(clusterer, assign=assign, random_state=0).fit(X[:120], y[:120])
    assert np.mean(model.transduction_ == truth[:120]) > 0.98
    assert model.score(X[120:], truth[120:]) > 0.98
    assert model.clusters_.min() == 0
    assert not hasattr(clusterer, "labels_")


def test_noise_is_the_clusterers_mark_not_an_unlabeled_row():
    # Two dense rows of points, a labeled row far out, and unlabeled rows between.
    X = np.array([[0.0], [0.1], [0.2], [0.3], [9.0], [9.1], [9.2], [9.3], [3.0], [5.0], [30.0]])
    y = np.array([0, -1, -1, -1, 1, -1, -1, -1, -1, -1, 0])
    model = ClusterThenLabel(DBSCAN(eps=0.3, min_samples=3)).fit(X, y)
    assert model.n_noise_ == 3
    assert model.n_clusters_ == 2
    assert model.clusters_.tolist() == [0] * 4 + [1] * 4 + [0, 1, 1]
    # The labeled row that is noise keeps its label, and votes where it is placed: 1 to 1 in
    # cluster 1, which goes to the label nearer to the center.
    assert model.transduction_.tolist() == [0] * 4 + [1] * 4 + [0, 1, 0]
    assert model.predict([[2.0], [7.0], [40.0]]).tolist() == [0, 1, 1]


def test_members_and_centers_differ_on_moons():
    X, truth = make_moons(400, noise=0.04, random_state=0)
    y = np.full(400, -1)
    y[:300:60] = truth[:300:60]
    assert set(y) == {-1, 0, 1}
    scores = {
        assign: ClusterThenLabel(DBSCAN(eps=0.2), assign=assign)
        .fit(X[:300], y[:300])
        .score(X[300:], truth[300:])
        for assign in ("member", "center")
    }
    assert scores["member"] == 1
    assert scores["center"] < 0.95


def test_rows_of_a_cluster_without_training_rows():
    model = ClusterThenLabel(Given()).fit(ROWS, TARGET)
    # Clusters 4 and 9 were empty in training: the nearest center decides.
    assert model.predict(np.array([[19.0, 4.0], [-2.0, 9.0]])).tolist() == ["a", "b"]


def test_all_noise_is_an_error():
    X = np.arange(5.0)[:, None]
    with pytest.raises(ValueError, match="DBSCAN marked all 5 rows as noise"):
        ClusterThenLabel(DBSCAN(eps=0.1, min_samples=2)).fit(X, [0, 1, -1, -1, -1])


def test_default_chooses_the_number_of_clusters():
    # Each class has four distant groups: one cluster a class cannot be right.
    centers = [[i * 10.0, j * 10.0] for i in range(4) for j in range(2)]
    X, group = make_blobs(400, centers=centers, cluster_std=0.5, random_state=0)
    truth = (group // 2 + group) % 2
    y = np.where(np.arange(400) < 60, truth, -1)
    model = ClusterThenLabel(random_state=0).fit(X, y)
    assert model.n_clusters_ >= 8
    assert model.score(X, truth) == 1
    # With one label a class there is nothing to choose by: one cluster a class.
    X, truth = make_blobs(100, centers=3, random_state=1)
    y = np.full(100, -1)
    for code in range(3):
        y[np.flatnonzero(truth == code)[0]] = code
    assert ClusterThenLabel(random_state=0).fit(X, y).n_clusters_ == 3


def test_held_out_accuracy_by_hand():
    clusters = np.array([0, 0, 0, 1, 1, 2])
    codes = np.array([0, 0, 1, 1, 2, 2])
    # Rows 0 and 1: the others are tied 1 to 1. Row 2: outvoted. Rows 3 and 4: the other is of
    # another class. Row 5: alone, three classes tied.
    assert held_out_accuracy(clusters, codes, 3) == pytest.approx((0.5 + 0.5 + 1 / 3) / 6)


def test_a_seed_of_the_clusterer_is_respected():
    X, truth = make_blobs(60, centers=4, cluster_std=5, random_state=0)
    y = np.where(np.arange(60) < 8, truth, -1)
    seeded = ClusterThenLabel(KMeans(4, n_init=1, random_state=5), random_state=0).fit(X, y)
    assert seeded.clusterer_.random_state == 5
    drawn = [ClusterThenLabel(KMeans(4, n_init=1), random_state=s).fit(X, y) for s in (0, 0, 1)]
    assert drawn[0].clusterer_.random_state == drawn[1].clusterer_.random_state
    assert drawn[0].clusterer_.random_state != drawn[2].clusterer_.random_state
    assert_array_equal(drawn[0].transduction_, drawn[1].transduction_)


def test_bad_options():
    with pytest.raises(ValueError, match="'rule' parameter"):
        ClusterThenLabel(rule="mean").fit(ROWS, TARGET)
    with pytest.raises(ValueError, match="'clusterer' parameter"):
        ClusterThenLabel(3).fit(ROWS, TARGET)
    with pytest.raises(TypeError, match="StandardScaler has neither"):
        ClusterThenLabel(StandardScaler()).fit(ROWS, TARGET)
