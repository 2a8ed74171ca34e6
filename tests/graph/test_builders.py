"""Graph builders against brute force on fifty points."""

import pickle

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.sparse import csgraph
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.exceptions import MemoryBoundError
from leaven.graph import (
    EpsilonGraph,
    FullGraph,
    Gaussian,
    GivenGraph,
    Graph,
    GridGraph,
    KNNGraph,
    KNNTreeGraph,
    SpanningTreeGraph,
    SumGraph,
    _connect,
    _neighbors,
    _tree,
)

X = np.random.default_rng(0).normal(size=(50, 3))
METRICS = ["euclidean", "cosine", "manhattan", "chebyshev", "correlation", "canberra"]
SCIPY = {"manhattan": "cityblock"}


def sparse_rows(seed, shape, density=0.2):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(shape) < density, rng.random(shape), 0.0)


def brute_neighbors(D, k):
    D = D + np.diag(np.full(len(D), np.inf))
    P = np.zeros_like(D)
    np.put_along_axis(P, np.argsort(D, axis=1)[:, :k], 1.0, axis=1)
    return P


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("symmetrize", ["union", "mutual", "mean"])
def test_knn_equals_brute_force(metric, symmetrize):
    D = cdist(X, X, SCIPY.get(metric, metric))
    P = brute_neighbors(D, 6) * np.exp(-(D**2) / 2)
    expected = {
        "union": np.maximum(P, P.T),
        "mutual": np.minimum(P, P.T),
        "mean": (P + P.T) / 2,
    }[symmetrize]
    builder = KNNGraph(6, metric=metric, weight=Gaussian(1.0), symmetrize=symmetrize)
    assert_allclose(builder.build(X).adjacency.toarray(), expected, atol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_sparse_rows_give_the_same_graph(metric):
    S = sparse.csr_array(sparse_rows(1, (50, 30)))
    dense = KNNGraph(5, metric=metric).build(S.toarray())
    assert_allclose(
        KNNGraph(5, metric=metric).build(S).adjacency.toarray(),
        dense.adjacency.toarray(),
        atol=1e-10,
    )


def test_rows_of_zeros_with_cosine():
    S = np.abs(X).copy()
    S[[3, 17]] = 0.0
    D = 1 - np.nan_to_num(1 - cdist(S, S, "cosine"))
    P = brute_neighbors(D, 4)
    rest = np.setdiff1d(np.arange(50), [3, 17])  # the zero rows themselves are all ties
    for rows in (S, sparse.csr_array(S)):
        W = KNNGraph(4, metric="cosine", weight="binary").build(rows).adjacency.toarray()
        assert (W[np.ix_(rest, rest)] >= P[np.ix_(rest, rest)]).all()
        assert W[np.ix_(rest, [3, 17])].sum() <= 8  # nobody wants them but for themselves


def test_callable_metric():
    def twice(a, b):
        return 2 * np.abs(a - b).sum()

    W = KNNGraph(4, metric=twice, weight=Gaussian(2.0)).build(X).adjacency.toarray()
    V = KNNGraph(4, metric="manhattan", weight=Gaussian(1.0)).build(X).adjacency.toarray()
    assert_allclose(W, V)


def test_distances_of_close_rows_are_exact():
    # |a|² - 2ab + |b|² would lose all digits here.
    close = np.array([[1e4, 1e4], [1e4 + 1e-6, 1e4], [1e4, 1e4 + 3e-6]])
    W = KNNGraph(2, weight=Gaussian(1e-6)).build(close).adjacency.toarray()
    D = cdist(close, close)
    assert_allclose(W, np.exp(-(D**2) / 2e-12) * (1 - np.eye(3)), rtol=1e-3)


def test_each_row_reaches_a_label():
    rows = np.vstack([X, X + 100.0])
    y = np.full(100, -1)
    y[[0, 1]] = [0, 1]
    assert KNNGraph(5).build(rows, y).n_components > 1
    graph = KNNGraph(5, include_labeled=True, weight="binary").build(rows, y)
    D = cdist(rows, rows)
    P = brute_neighbors(D, 5)
    for i in range(2, 100):
        if not P[i, :2].any():
            P[i, D[i, :2].argmin()] = 1
    assert_array_equal(graph.adjacency.toarray(), np.maximum(P, P.T))
    assert graph.reached_from(y >= 0).all()
    with pytest.raises(ValueError, match="needs y"):
        KNNGraph(include_labeled=True).build(rows)


def test_epsilon_equals_brute_force():
    D = cdist(X, X)
    inside = (D <= 1.1) & ~np.eye(50, dtype=bool)
    assert_array_equal(EpsilonGraph(1.1).build(X).adjacency.toarray(), inside)
    W = EpsilonGraph(1.1, weight=Gaussian(0.8)).build(X).adjacency.toarray()
    assert_allclose(W, inside * np.exp(-(D**2) / (2 * 0.64)), atol=1e-12)


@pytest.mark.parametrize(
    "builder", [EpsilonGraph(1.1, weight=Gaussian()), FullGraph(weight="gaussian")]
)
def test_local_scaling_takes_the_seventh_neighbor(builder):
    D = cdist(X, X)
    r = np.sort(D, axis=1)[:, 7]
    W = builder.build(X).adjacency.toarray()
    expected = np.exp(-4 * D**2 / (r[:, None] * r))
    assert_allclose(W[W > 0], expected[W > 0], rtol=1e-10)
    assert builder.fit(X).weights_to(X[:2] + 0.01).nnz > 2


def test_full_graph_refuses_to_fill_the_memory():
    with pytest.raises(MemoryBoundError, match=r"needs about 0\.0 GB.*KNNGraph"):
        FullGraph(max_bytes=1000).build(X)


@pytest.mark.parametrize("weight", ["gaussian", "binary", "inverse-distance"])
def test_spanning_tree_is_the_heaviest(weight):
    graph = SpanningTreeGraph(weight=weight).build(X)
    assert (graph.n_edges, graph.n_components) == (49, 1)
    complete = KNNGraph(49, weight=weight).build(X)
    if weight == "gaussian":  # local scale of the default number of neighbors
        r = np.sort(cdist(X, X), axis=1)[:, 7]
        complete = Graph(np.exp(-4 * cdist(X, X) ** 2 / (r[:, None] * r)) * (1 - np.eye(50)))
    heaviest = nx.maximum_spanning_tree(complete.to_networkx()).size(weight="weight")
    assert_allclose(graph.adjacency.sum() / 2, heaviest)


def test_ties_of_a_binary_tree_go_to_the_shorter_edge():
    D = cdist(X, X)
    expected = csgraph.minimum_spanning_tree(D)
    tree = SpanningTreeGraph(weight="binary").build(X).adjacency
    assert_array_equal(tree.toarray() > 0, (expected + expected.T).toarray() > 0)


def test_large_tree_joins_far_clusters_by_their_shortest_edge(monkeypatch):
    rows = np.vstack([X, X * 0.3 + 1000.0, X[:4] - 5000.0])
    exact = SpanningTreeGraph(weight="inverse-distance").build(rows)
    monkeypatch.setattr(_tree, "_DENSE_BELOW", 10)
    for size in (1_000, 10):
        monkeypatch.setattr(_connect, "_SMALL_COMPONENT", size)
        grown = SpanningTreeGraph(weight="inverse-distance").build(rows)
        assert_allclose(grown.adjacency.toarray(), exact.adjacency.toarray())
    # Weights that underflow to zero must not break the tree apart.
    assert SpanningTreeGraph(weight=Gaussian(0.1)).build(rows).n_components == 1


def test_forest_of_the_knn_graph():
    rows = np.vstack([X, X + 100.0])
    graph = KNNGraph(5).build(rows)
    forest = KNNTreeGraph(5).build(rows)
    assert forest.n_components == graph.n_components == 2
    assert forest.n_edges == 98
    heaviest = nx.maximum_spanning_tree(graph.to_networkx()).size(weight="weight")
    assert_allclose(forest.adjacency.sum() / 2, heaviest)


def test_grid_by_hand():
    W = GridGraph((3, 4)).build(np.zeros((12, 1))).adjacency.toarray()
    expected = np.zeros((12, 12))
    for r in range(3):
        for c in range(4):
            if c < 3:
                expected[4 * r + c, 4 * r + c + 1] = 1
            if r < 2:
                expected[4 * r + c, 4 * (r + 1) + c] = 1
    assert_array_equal(W, expected + expected.T)
    eight = GridGraph((3, 4), diagonal=True).build(np.zeros((12, 1)))
    assert eight.n_edges == 17 + 12
    assert eight.adjacency[1, 4] == 1
    assert GridGraph((2, 3, 4)).build(np.zeros((24, 1))).n_edges == 12 + 16 + 18
    with pytest.raises(ValueError, match="12 cells, but X has 5 rows"):
        GridGraph((3, 4)).build(np.zeros((5, 1)))
    with pytest.raises(ValueError, match="positive integers"):
        GridGraph((0, 4)).build(np.zeros((5, 1)))


def test_given_graphs():
    W = np.array([[0, 2, 0], [2, 0, 3], [0, 3, 0.0]])
    rows = [["not"], ["even"], ["numbers"]]
    graph = Graph(W)
    assert GivenGraph(W).build(rows) == graph
    assert GivenGraph(sparse.csr_matrix(W)).build(rows) == graph
    assert GivenGraph(graph).build(rows) == graph
    assert GivenGraph(graph.to_networkx()).build(rows) == graph
    assert GivenGraph(edges=[(1, 0, 2.0), (1, 2, 3.0)]).build(rows) == graph
    assert GivenGraph(np.triu(W), symmetrize="union").build(rows) == graph
    assert GivenGraph(edges=[]).build(rows).n_edges == 0
    for bad, message in [
        (GivenGraph(np.triu(W)), "symmetrize='union'"),
        (GivenGraph(np.eye(2)), "2 nodes, but X has 3 rows"),
        (GivenGraph(), "either adjacency or edges"),
        (GivenGraph(W, edges=[(0, 1)]), "either adjacency or edges"),
        (GivenGraph(edges=[(0,)]), "2 columns"),
        (GivenGraph(W, symmetrize="other"), "symmetrize must be one of"),
    ]:
        with pytest.raises(ValueError, match=message):
            bad.build(rows)
    with pytest.raises(ValueError, match="cannot join new rows"):
        GivenGraph(W).fit(rows).weights_to(rows)


def test_sum_of_graphs_by_hand():
    time = GivenGraph(edges=[(i, i + 1) for i in range(49)])
    color = KNNGraph(3, weight="binary")
    total = SumGraph([time, color], coefficients=[2.0, 0.5], columns=[None, [0]]).build(X)
    expected = 2 * time.build(X).adjacency + 0.5 * color.build(X[:, :1]).adjacency
    assert_array_equal(total.adjacency.toarray(), expected.toarray())
    two = SumGraph([color, KNNGraph(2)]).fit(X)
    expected = color.fit(X).weights_to(X + 0.1) + KNNGraph(2).fit(X).weights_to(X + 0.1)
    assert_allclose(two.weights_to(X + 0.1).toarray(), expected.toarray())
    y = np.where(np.arange(50) < 2, [0, 1] * 25, -1)
    labeled = SumGraph([KNNGraph(3, include_labeled=True), time]).build(X, y)
    assert labeled.n_edges > SumGraph([KNNGraph(3), time]).build(X).n_edges
    for bad, message in [
        (SumGraph([]), "at least one graph"),
        (SumGraph([time], coefficients=[1.0, 2.0]), "2 entries for 1 graphs"),
        (SumGraph([time], coefficients=[-1.0]), "must not be negative"),
    ]:
        with pytest.raises(ValueError, match=message):
            bad.fit(X)


@pytest.mark.parametrize(
    "builder",
    [
        KNNGraph(4),
        KNNGraph(4, metric="cosine"),
        EpsilonGraph(1.0),
        FullGraph(),
        SpanningTreeGraph(4),
    ],
)
def test_new_rows(builder):
    builder = clone(builder).fit(X)
    again = builder.weights_to(X).toarray()
    assert_array_equal(again > 0, np.eye(50, dtype=bool))
    one_by_one = np.vstack([builder.weights_to(row[None]).toarray() for row in X[:5] + 0.05])
    assert_allclose(builder.weights_to(X[:5] + 0.05).toarray(), one_by_one)
    assert (builder.weights_to(X + 1000.0).sum(axis=1) > 0).all()


def test_new_rows_by_formula():
    new = X[:6] + 0.1
    D = cdist(new, X)
    nearest = np.argsort(D, axis=1)[:, :4]
    expected = np.zeros_like(D)
    np.put_along_axis(expected, nearest, 1.0, axis=1)
    W = KNNGraph(4, weight=Gaussian(0.9)).fit(X).weights_to(new).toarray()
    assert_allclose(W, expected * np.exp(-(D**2) / (2 * 0.81)), atol=1e-12)


def test_approximate_neighbors(monkeypatch):
    rows = np.random.default_rng(5).normal(size=(6_000, 8)).astype(np.float32)
    exact = KNNGraph(5, weight="binary", algorithm="exact").fit(rows)
    close = KNNGraph(5, weight="binary", algorithm="approximate").fit(rows)
    assert close.is_approximate_
    assert not exact.is_approximate_
    shared = close.graph_.adjacency.multiply(exact.graph_.adjacency).nnz
    assert shared >= 0.95 * exact.graph_.adjacency.nnz
    again = KNNGraph(5, weight="binary", algorithm="approximate").fit(rows)
    assert again.graph_ == close.graph_
    restored = pickle.loads(pickle.dumps(close))
    assert_array_equal(
        restored.weights_to(rows[:9] + 1).toarray(), close.weights_to(rows[:9] + 1).toarray()
    )
    assert_array_equal(close.weights_to(rows[:9]).toarray() > 0, np.eye(6_000, dtype=bool)[:9])
    cosine = KNNGraph(5, metric="cosine", weight="cosine", algorithm="approximate").fit(rows)
    plain = KNNGraph(5, metric="cosine", weight="cosine", algorithm="exact").fit(rows)
    assert_allclose(cosine.graph_.adjacency.sum(), plain.graph_.adjacency.sum(), rtol=2e-2)
    monkeypatch.setattr(_neighbors, "APPROXIMATE_FROM", 1_000)
    assert KNNGraph(5).fit(rows).is_approximate_
    assert not KNNGraph(5).fit(sparse.csr_array(rows[:1_000])).is_approximate_
    assert KNNGraph(5, metric="cosine").fit(sparse.csr_array(rows[:1_000])).is_approximate_
    assert not KNNGraph(5, metric="manhattan").fit(rows[:1_000]).is_approximate_
    for form in (np.asarray, sparse.csr_array):
        with pytest.raises(ValueError, match="recall must lie in"):
            KNNGraph(5, metric="cosine", algorithm="approximate", recall=2.0).fit(form(rows[:100]))
    with pytest.raises(ValueError, match="dense X and metric 'euclidean', got sparse X"):
        KNNGraph(5, algorithm="approximate").fit(sparse.csr_array(rows[:100]))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_empty_documents_among_approximate_neighbors(form):
    texts = sparse_rows(3, (300, 40))
    texts[[5, 100]] = 0.0
    fitted = KNNGraph(4, metric="cosine", algorithm="approximate").fit(form(texts))
    assert_array_equal(np.flatnonzero(fitted.graph_.degree == 0), [5, 100])
    assert fitted.weights_to(form(np.zeros((1, 40)))).nnz == 0


def test_memory_builds_once_also_with_other_labels(tmp_path, monkeypatch):
    calls = []
    search = _neighbors.NeighborIndex.within

    def counted(self, k):
        calls.append(k)
        return search(self, k)

    monkeypatch.setattr(_neighbors.NeighborIndex, "within", counted)
    first = KNNGraph(4, memory=str(tmp_path)).fit(X, np.zeros(50, dtype=int))
    second = KNNGraph(4, memory=str(tmp_path)).fit(X, np.ones(50, dtype=int))
    assert len(calls) == 1
    assert first.graph_ == second.graph_ == KNNGraph(4).build(X)
    assert_array_equal(second.weights_to(X + 1).toarray(), first.weights_to(X + 1).toarray())


@pytest.mark.parametrize(
    ("builder", "message"),
    [
        (KNNGraph(0), "n_neighbors must be an integer from 1 up, got 0"),
        (KNNGraph(metric="no-such"), "metric='no-such' is not known"),
        (EpsilonGraph(metric="no-such"), "metric='no-such' is not known"),
        (FullGraph(metric="no-such"), "metric='no-such' is not known"),
        (EpsilonGraph(-1.0), "radius must be positive"),
        (KNNGraph(symmetrize="other"), "symmetrize must be one of"),
        (KNNGraph(algorithm="other"), "algorithm must be one of"),
    ],
)
def test_bad_parameters(builder, message):
    with pytest.raises(ValueError, match=message):
        builder.fit(X)


def test_float32_stays_float32_and_inputs_stay_as_they_are():
    rows = X.astype(np.float32)
    before = rows.copy()
    for builder in (
        KNNGraph(4),
        EpsilonGraph(1.0),
        FullGraph(),
        KNNTreeGraph(4),
        SpanningTreeGraph(4),
    ):
        assert builder.build(rows).adjacency.dtype == np.float32, builder
    assert_array_equal(rows, before)


def test_y_of_another_length_is_refused():
    with pytest.raises(ValueError, match="X has 50 rows, but y has 3"):
        KNNGraph(include_labeled=True).fit(X, [0, 1, -1])


@parametrize_with_checks(
    [KNNGraph(3), EpsilonGraph(), FullGraph(), KNNTreeGraph(3), SpanningTreeGraph(3)]
)
def test_sklearn_contract(estimator, check):
    check(estimator)


def test_a_metric_of_blocks_is_not_called_for_pairs():
    calls = []

    def cubic(A, B, *, power=3):
        calls.append((len(A), len(B)))
        return (np.abs(A[:, None] - B[None]) ** power).sum(axis=2)

    cubic.accepts_matrices = True
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(40, 3)).astype(float)  # with copies
    X_new = rng.normal(size=(7, 3))
    blocks = KNNGraph(5, metric=cubic, weight="binary").fit(X)
    pairs = KNNGraph(5, metric=lambda a, b: (np.abs(a - b) ** 3).sum(), weight="binary").fit(X)
    distinct = np.unique(X, axis=0)
    assert calls == [(len(distinct), len(distinct))]
    assert blocks.graph_.adjacency.diagonal().sum() == 0
    D = cubic(X, X)
    fifth = np.sort(cubic(X, distinct), axis=1)[:, 5]  # column 0 is the row itself
    rows, columns = blocks.graph_.adjacency.nonzero()
    assert (D[rows, columns] <= np.maximum(fifth[rows], fifth[columns])).all()
    assert_allclose(
        blocks.weights_to(X_new).toarray().sum(axis=1),
        pairs.weights_to(X_new).toarray().sum(axis=1),
    )
    assert calls[-1] == (7, 40)
