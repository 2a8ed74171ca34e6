"""How new rows are joined to a graph, and given graphs, grids and sums, by hand and by peers."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone

from leaven.graph import (
    Binary,
    Cosine,
    Edges,
    EpsilonGraph,
    FullGraph,
    Gaussian,
    GivenGraph,
    Graph,
    GraphBuilder,
    GridGraph,
    KNNGraph,
    SumGraph,
)
from leaven.graph._base import check_precomputed, join_new_rows
from leaven.graph._graph import as_adjacency, symmetrize, with_narrow_indices

ROWS = np.random.default_rng(0).normal(size=(20, 3))
BUILDERS = [
    KNNGraph(4),
    KNNGraph(4, weight="binary"),
    EpsilonGraph(1.5),
    EpsilonGraph(1.5, weight="gaussian"),
    FullGraph(),
    FullGraph(weight=Gaussian("local")),
]


@pytest.mark.parametrize("builder", BUILDERS, ids=repr)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_training_row_is_joined_to_itself_alone(builder, form):
    fitted = builder.fit(form(ROWS))
    assert_allclose(fitted.weights_to(form(ROWS[[3, 11]])).toarray(), np.eye(20)[[3, 11]])


@pytest.mark.parametrize("builder", BUILDERS, ids=repr)
@pytest.mark.parametrize("cosine", [False, True])
def test_dense_and_sparse_rows_join_either_graph(builder, cosine):
    builder = clone(builder).set_params(metric="cosine" if cosine else "euclidean")
    new = ROWS[:3] + 0.02
    expected = builder.fit(ROWS).weights_to(new).toarray()
    assert_allclose(builder.weights_to(sparse.csr_array(new)).toarray(), expected, atol=1e-10)
    of_sparse = builder.fit(sparse.csr_array(ROWS))
    assert_allclose(of_sparse.weights_to(new).toarray(), expected, atol=1e-7)


@pytest.mark.parametrize("builder", BUILDERS, ids=repr)
def test_a_row_that_is_there_twice_is_joined_to_both(builder):
    X = np.vstack([ROWS, ROWS[4]])
    W = builder.fit(X).weights_to(ROWS[[4]]).toarray().ravel()
    assert_array_equal(np.flatnonzero(W), [4, 20])
    assert W[4] == W[20] > 0


@pytest.mark.parametrize("builder", BUILDERS, ids=repr)
def test_a_row_far_from_all_is_joined_to_its_nearest(builder):
    far = np.full((1, 3), 400.0)
    W = builder.fit(ROWS).weights_to(far).toarray().ravel()
    nearest = int(cdist(far, ROWS).argmin())
    assert W[nearest] > 0
    assert W.argmax() == nearest or "binary" in repr(builder)


def test_new_rows_of_a_knn_graph_by_the_formula_of_local_scaling():
    new = np.random.default_rng(1).normal(size=(5, 3))
    builder = KNNGraph(4).fit(ROWS)
    D, own = cdist(new, ROWS), cdist(ROWS, ROWS)
    scale = np.sort(own, axis=1)[:, 4]  # the first is the row itself
    expected = np.zeros((5, 20))
    for i in range(5):
        for j in np.argsort(D[i])[:4]:
            expected[i, j] = np.exp(-4 * D[i, j] ** 2 / (np.sort(D[i])[3] * scale[j]))
    assert_allclose(builder.weights_to(new).toarray(), expected, atol=1e-10)


def test_cosine_weights_of_unrelated_rows_are_no_edges_even_when_nothing_is_left():
    X = np.array([[1.0, 0, 0], [0, 2.0, 0], [1.0, 1.0, 0]])
    builder = KNNGraph(2, metric="cosine", weight=Cosine()).fit(X)
    W = builder.weights_to(np.array([[0, 0, 5.0], [0.0, 0, 0], [3.0, 0, 0.1]]))
    assert W[[0, 1]].nnz == 0
    assert W[[2]].nnz > 0


def test_underflowed_weights_fall_back_to_the_nearest_only_where_zero_means_far():
    edges = Edges(
        distance=np.array([900.0, 800.0, 1.0]),
        row=np.array([0, 0, 1]),
        col=np.array([0, 1, 1]),
        X=np.array([[0.0], [1.0]]),
        Y=np.array([[900.0], [2.0]]),
    )
    W = join_new_rows(edges, Gaussian(bandwidth=1.0), (2, 2)).toarray()
    assert_allclose(W, [[0.0, 1.0], [0.0, np.exp(-0.5)]])
    assert join_new_rows(edges, Cosine(), (2, 2)).toarray()[0].sum() >= 0.0


@pytest.mark.parametrize("n_new", [1, 4])
def test_precomputed_distances_to_new_rows(n_new):
    new = np.random.default_rng(2).normal(size=(n_new, 3))
    D, to_new = cdist(ROWS, ROWS), cdist(new, ROWS)
    for builder in (KNNGraph(4), EpsilonGraph(1.5, weight="gaussian"), FullGraph()):
        plain = builder.fit(ROWS).weights_to(new)
        given_distances = type(builder)(**{**builder.get_params(), "metric": "precomputed"})
        W = given_distances.fit(D).weights_to(to_new)
        assert_allclose(W.toarray(), plain.toarray(), atol=1e-10)


@pytest.mark.parametrize(
    ("D", "square", "message"),
    [
        (np.ones((2, 3)), True, r"square matrix of the distances.*got shape \(2, 3\)"),
        (np.array([[0.0, -2.5], [1.0, 0.0]]), True, "X holds -2.5"),
        (sparse.csr_array([[0.0, -1.5]]), False, "X holds -1.5"),
    ],
)
def test_what_cannot_be_distances(D, square, message):
    with pytest.raises(ValueError, match=message):
        check_precomputed(D, square=square)


def test_distances_that_can_be():
    check_precomputed(np.ones((2, 3)), square=False)
    check_precomputed(sparse.csr_array((3, 3)), square=True)


def test_a_builder_without_a_rule_says_so():
    with pytest.raises(AssertionError, match="GraphBuilder must define _fit_graph"):
        GraphBuilder().fit(ROWS)


@pytest.mark.parametrize("builder", [GivenGraph(np.eye(20)), GridGraph((4, 5))])
def test_graphs_without_features_cannot_join_new_rows(builder):
    with pytest.raises(ValueError, match=r"cannot join new rows.*Put all rows into fit"):
        builder.fit(ROWS).weights_to(ROWS[:2])


def test_new_rows_need_as_many_columns_and_a_fit():
    with pytest.raises(ValueError, match="expecting 3 features"):
        KNNGraph(3).fit(ROWS).weights_to(ROWS[:, :2])
    with pytest.raises(Exception, match="not fitted"):
        KNNGraph(3).weights_to(ROWS)


# Symmetrization and adjacency


@given(st.integers(1, 9), st.integers(0, 1_000))
@settings(max_examples=40)
def test_three_ways_to_make_a_matrix_symmetric(n, seed):
    rng = np.random.default_rng(seed)
    W = rng.random((n, n)) * (rng.random((n, n)) < 0.5)
    expected = {"union": np.maximum(W, W.T), "mutual": np.minimum(W, W.T), "mean": (W + W.T) / 2}
    for how, dense in expected.items():
        S = symmetrize(sparse.csr_array(W), how)
        assert_allclose(S.toarray(), dense)
        assert (S.data != 0).all()  # a zero is no edge, and is not stored
        assert S.has_sorted_indices
        assert_allclose(
            GivenGraph(W, symmetrize=how).build(np.zeros((n, 1))).adjacency.toarray(), dense
        )


def test_an_unknown_symmetrization_and_a_matrix_that_is_not_symmetric():
    with pytest.raises(ValueError, match=r"symmetrize must be one of .*, got 'both'"):
        symmetrize(sparse.csr_array(np.eye(2)), "both")
    with pytest.raises(ValueError, match=r"not symmetric \(largest difference 2\).*GivenGraph"):
        GivenGraph([[0.0, 3.0], [1.0, 0.0]]).build([[0], [0]])


@pytest.mark.parametrize("form", ["coo", "csc", "lil", "dok", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.bool_])
def test_every_format_and_type_of_matrix_comes_in(form, dtype):
    W = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    given_matrix = sparse.csr_array(W.astype(dtype)).asformat(form)
    A = as_adjacency(given_matrix)
    assert A.dtype == (np.float32 if dtype == np.float32 else np.float64)
    assert_allclose(A.toarray(), W)
    assert Graph(given_matrix) == Graph(W.astype(A.dtype))


def test_stored_duplicates_add_up_and_stored_zeros_go():
    W = sparse.coo_array(([2.0, 3.0, 5.0, 0.0, 0.0], ([0, 0, 1, 1, 2], [1, 1, 0, 2, 1])), (3, 3))
    graph = Graph(W)
    assert graph.n_edges == 1
    assert_allclose(graph.adjacency.toarray(), [[0, 5, 0], [5, 0, 0], [0, 0, 0]])


def test_wide_indices_are_narrowed_and_narrow_ones_kept():
    W = sparse.csr_array(np.eye(3))
    W.indices, W.indptr = W.indices.astype(np.int64), W.indptr.astype(np.int64)
    narrow = with_narrow_indices(W)
    assert narrow.indices.dtype == narrow.indptr.dtype == np.int32
    assert with_narrow_indices(narrow) is narrow


# Given graphs


def test_a_networkx_graph_with_names_keeps_the_order_of_its_nodes():
    peer = nx.Graph()
    peer.add_nodes_from("cab")
    peer.add_edge("a", "b", weight=2.5)
    peer.add_edge("c", "c")  # a loop without a weight counts 1
    graph = GivenGraph(peer).build([[0], [0], [0]])
    assert_allclose(graph.adjacency.toarray(), [[1, 0, 0], [0, 0, 2.5], [0, 2.5, 0]])
    other = Graph.from_networkx(nx.Graph([(0, 1, {"cost": 4.0})]), weight="cost")
    assert_allclose(other.degree, [4.0, 4.0])


def test_networkx_and_back():
    rng = np.random.default_rng(3)
    W = np.triu(rng.random((8, 8)) * (rng.random((8, 8)) < 0.4))
    graph = Graph(W + np.triu(W, 1).T)
    assert Graph.from_networkx(graph.to_networkx()) == graph
    assert graph.to_networkx().number_of_edges() == graph.n_edges


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "takes either adjacency or edges"),
        ({"adjacency": np.eye(3), "edges": [(0, 1)]}, "takes either adjacency or edges"),
        ({"adjacency": np.eye(4)}, "has 4 nodes, but X has 3 rows"),
        ({"edges": [(0, 1, 2, 3)]}, r"3 with the weight, got shape \(1, 4\)"),
        ({"edges": [(0, 3)]}, "edges name node 3, but n_nodes=3: the last is 2"),
        ({"edges": [(0, -1)]}, "integers from 0 up"),
        ({"edges": [(0, 1.5)]}, "integers from 0 up"),
        ({"adjacency": np.ones((2, 3))}, r"must be square, got shape \(2, 3\)"),
        ({"adjacency": np.diag([1.0, np.nan, 0.0])}, "NaN or infinity"),
        ({"adjacency": -np.eye(3)}, "the smallest is -1"),
    ],
)
def test_given_graphs_that_cannot_be(arguments, message):
    with pytest.raises(ValueError, match=message):
        GivenGraph(**arguments).build(np.zeros((3, 1)))


def test_edges_without_any_and_with_weights():
    assert GivenGraph(edges=[]).build(np.zeros((4, 1))).n_edges == 0
    graph = GivenGraph(edges=[(0, 2, 0.5), (2, 0, 1.25)]).build(np.zeros((3, 1)))
    assert_allclose(graph.degree, [1.75, 0.0, 1.75])
    assert Graph.from_edges([], n_nodes=0).n_nodes == 0


def test_a_graph_object_is_taken_as_it_is():
    graph = Graph.from_edges([(0, 1)], [3.0])
    assert GivenGraph(graph).build([[0], [0]]) is graph


# Grids


@pytest.mark.parametrize("shape", [(1,), (6,), (3, 4), (1, 5), (2, 3, 4)])
def test_grids_equal_those_of_networkx(shape):
    n = int(np.prod(shape))
    graph = GridGraph(shape).build(np.zeros((n, 2)))
    peer = nx.grid_graph(dim=shape[::-1])  # networkx runs the first dimension fastest
    order = sorted(peer.nodes)
    assert_allclose(graph.adjacency.toarray(), nx.to_numpy_array(peer, nodelist=order))


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 2, 3)])
def test_diagonal_neighbors_are_at_most_one_step_away_in_every_direction(shape):
    n = int(np.prod(shape))
    graph = GridGraph(shape, diagonal=True).build(np.zeros((n, 1)))
    cells = np.array(np.unravel_index(np.arange(n), shape)).T
    assert_allclose(graph.adjacency.toarray(), cdist(cells, cells, "chebyshev") == 1)


def test_grids_that_do_not_fit():
    with pytest.raises(ValueError, match=r"positive integers, got \(3, 0\)"):
        GridGraph((3, 0)).build(np.zeros((3, 1)))
    with pytest.raises(ValueError, match=r"\(3, 4\) has 12 cells, but X has 10 rows"):
        GridGraph((3, 4)).build(np.zeros((10, 1)))
    assert GridGraph(5).build(np.zeros((5, 1))).n_edges == 4


# Sums


def test_a_sum_adds_weights_of_parts_that_see_their_own_columns():
    parts = [KNNGraph(3, weight="binary"), KNNGraph(2)]
    total = SumGraph(parts, coefficients=[0.5, 2.0], columns=[[0, 1], slice(1, 3)])
    expected = 0.5 * parts[0].build(ROWS[:, :2]).adjacency.toarray()
    expected += 2.0 * parts[1].build(ROWS[:, 1:]).adjacency.toarray()
    assert_allclose(total.build(ROWS).adjacency.toarray(), expected)
    new = np.random.default_rng(4).normal(size=(3, 3))
    to_new = 0.5 * parts[0].fit(ROWS[:, :2]).weights_to(new[:, :2]).toarray()
    to_new += 2.0 * parts[1].fit(ROWS[:, 1:]).weights_to(new[:, 1:]).toarray()
    assert_allclose(total.fit(ROWS).weights_to(new).toarray(), to_new)


def test_a_coefficient_of_zero_leaves_a_graph_out():
    total = SumGraph([KNNGraph(3), GridGraph((4, 5))], coefficients=[1.0, 0.0])
    assert total.build(ROWS) == KNNGraph(3).build(ROWS)


def test_labels_reach_the_part_that_looks_at_them():
    y = np.where(np.arange(20) == 7, 0, -1)
    part = KNNGraph(1, include_labeled=True)
    total = SumGraph([GivenGraph(np.eye(20)), part])
    assert total.uses_labels()
    assert not SumGraph([KNNGraph(2)]).uses_labels()
    expected = part.build(ROWS, y).adjacency.toarray() + np.eye(20)
    assert_allclose(total.build(ROWS, y).adjacency.toarray(), expected)


def test_a_sum_of_given_graphs_takes_no_features():
    total = SumGraph([GivenGraph(np.eye(3)), GivenGraph(edges=[(0, 1)])])
    assert not total.uses_features
    assert_allclose(total.build(["a", "b", "c"]).degree, [2.0, 2.0, 1.0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"graphs": []}, "at least one graph"),
        ({"graphs": [KNNGraph()], "coefficients": [1.0, 2.0]}, "coefficients has 2 entries for 1"),
        ({"graphs": [KNNGraph()], "columns": []}, "columns has 0 entries for 1"),
        ({"graphs": [KNNGraph()], "coefficients": [-1.0]}, r"must not be negative, got \[-1.0\]"),
    ],
)
def test_sums_that_cannot_be(arguments, message):
    with pytest.raises(ValueError, match=message):
        SumGraph(**arguments).build(ROWS)


# Labels, memory and validation


def test_a_row_without_a_labeled_neighbor_is_joined_to_the_nearest_labeled_one():
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.5]])
    y = [0, -1, -1, -1, -1, -1]
    W = KNNGraph(1, weight=Binary(), include_labeled=True).build(X, y).adjacency.toarray()
    # Rows 2 to 5 have no label among their one neighbor, and are joined to row 0.
    assert_array_equal(np.flatnonzero(W[0]), [1, 2, 3, 4, 5])
    plain = KNNGraph(1, weight=Binary()).build(X).adjacency.toarray()
    assert_array_equal(W[1:, 1:], plain[1:, 1:])


@pytest.mark.parametrize("y", [None, [-1] * 20])
def test_labels_that_are_asked_for_must_come(y):
    with pytest.raises(ValueError, match="needs y with at least one labeled row"):
        KNNGraph(3, include_labeled=True).fit(ROWS, y)


@pytest.mark.parametrize("n_neighbors", [0, -2, 2.5, "7"])
def test_numbers_of_neighbors_that_cannot_be(n_neighbors):
    with pytest.raises(ValueError, match=f"from 1 up, got {n_neighbors!r}"):
        KNNGraph(n_neighbors).build(ROWS)


def test_more_neighbors_than_rows_join_all():
    graph = KNNGraph(np.int64(50), weight="binary").build(ROWS)
    assert graph.n_edges == 20 * 19 // 2


def test_two_rows_are_enough_and_one_is_not():
    assert KNNGraph().build([[0.0], [3.0]]).n_edges == 1
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        KNNGraph().build([[0.0]])


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan])
def test_a_radius_must_be_positive(radius):
    with pytest.raises(ValueError, match="radius must be positive, got"):
        EpsilonGraph(radius).build(ROWS)


def test_a_ball_includes_its_border():
    X = np.array([[0.0], [1.5], [3.5]])
    assert_array_equal(EpsilonGraph(1.5).build(X).degree, [1.0, 1.0, 0.0])
    assert EpsilonGraph(1.4999).build(X).n_edges == 0
    assert EpsilonGraph(2.0).build(X).n_components == 1


def test_views_and_column_order_give_the_same_graph():
    wide = np.repeat(ROWS, 2, axis=1)
    expected = KNNGraph(3).build(ROWS)
    assert KNNGraph(3).build(wide[:, ::2]) == expected
    assert KNNGraph(3).build(np.asfortranarray(ROWS)) == expected
    assert KNNGraph(3).build(ROWS.tolist()) == expected
    reverse = KNNGraph(3).build(ROWS[::-1]).adjacency.toarray()
    assert_allclose(reverse[::-1, ::-1], expected.adjacency.toarray())
