"""A prepared table: clusters and near-duplicates against all pairs."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.cluster.hierarchy import DisjointSet
from scipy.spatial.distance import cosine
from sklearn.feature_extraction.text import TfidfVectorizer

from leaven.app import _prepared
from leaven.app._prepared import neighbors, prepare, twins


def texts():
    base = [
        "the parcel from the green shop came two days late again",
        "my password reset mail never arrives in the inbox",
        "please add a dark theme and larger buttons to the app",
    ]
    rows = [f"{base[i % 3]} number{i % 7} word{i}" for i in range(45)]
    rows[10] = rows[4].upper() + "!!"
    rows[20] = rows[4] + " thanks"
    return pd.DataFrame({"text": rows})


def groups_of(pairs, n):
    """Number what hangs together, by a disjoint set."""
    sets = DisjointSet(range(n))
    for i, j in pairs:
        sets.merge(i, j)
    return {frozenset(each) for each in sets.subsets() if len(each) > 1}


def as_sets(groups):
    return {frozenset(np.flatnonzero(groups == g).tolist()) for g in set(groups.tolist()) - {-1}}


def test_near_duplicate_texts_have_a_cosine_of_nine_tenths():
    table = texts()
    prepared = prepare(table, ["text"])
    found = as_sets(twins(prepared, neighbors(prepared)))
    rows = prepared.near.toarray()
    pairs = [(i, j) for i in range(45) for j in range(i) if 1 - cosine(rows[i], rows[j]) >= 0.9]
    assert found == groups_of(pairs, 45)
    assert any({4, 10} <= group for group in found)
    # The same by an independent vectorizer: case and marks do not matter.
    other = TfidfVectorizer(sublinear_tf=True).fit_transform(table["text"]).toarray()
    assert 1 - cosine(other[4], other[10]) > 0.999


def test_near_duplicate_rows_of_numbers_are_close():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 3))
    X[7] = X[3] + 0.01
    X[8] = X[3] - 0.01
    prepared = prepare(pd.DataFrame(X, columns=list("abc")), [])
    found = as_sets(twins(prepared, neighbors(prepared)))
    rows = np.asarray(prepared.near)
    gaps = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    pairs = [(i, j) for i in range(40) for j in range(i) if gaps[i, j] <= 0.05]
    assert found == groups_of(pairs, 40)
    assert any({3, 7, 8} <= group for group in found)


def test_clusters_are_numbered_without_gaps_and_know_their_centers():
    prepared = prepare(texts(), ["text"])
    numbers = np.unique(prepared.cluster)
    assert numbers.tolist() == list(range(len(numbers)))
    assert_allclose(np.linalg.norm(prepared.points, axis=1), 1.0, rtol=1e-5)
    # The three kinds of text differ by all their words: no cluster mixes them.
    for number in numbers:
        kinds = {int(row) % 3 for row in np.flatnonzero(prepared.cluster == number)}
        assert len(kinds - {10 % 3, 20 % 3}) <= 1
    assert (prepared.distance >= 0).all()


def test_what_tells_a_cluster_are_its_words():
    prepared = prepare(texts(), ["text"])
    about = prepared.about_clusters
    telling = {
        word
        for number in np.unique(prepared.cluster)
        for word in about.of_group(prepared.things, int(number))
    }
    assert telling & {"parcel", "shop", "late", "password", "inbox", "theme", "buttons"}


def test_columns_beside_texts_do_not_make_rows_alike():
    table = texts().assign(weight=np.random.default_rng(2).normal(size=45))
    prepared = prepare(table, ["text"])
    assert prepared.cosine
    assert_allclose(prepared.near.toarray(), prepare(texts(), ["text"]).near.toarray())


@pytest.mark.parametrize("table", [{"id": ["a1", "b2", "c3"]}, {"same": [1, 1, 1]}])
def test_a_table_that_teaches_nothing_is_not_prepared(table):
    assert prepare(pd.DataFrame(table), []) is None


def test_a_graph_is_built_for_tables_of_a_size(monkeypatch):
    prepared = prepare(texts(), ["text"])
    graph = neighbors(prepared)
    assert sparse.issparse(graph)
    assert graph.shape == (45, 45)
    assert abs(graph - graph.T).max() < 1e-6
    monkeypatch.setattr(_prepared, "_GRAPH_ROWS", 44)
    assert neighbors(prepared) is None


def test_one_word_in_all_texts():
    table = pd.DataFrame({"text": ["same words here every time"] * 5 + ["other ones"]})
    prepared = prepare(table, ["text"])
    assert prepared is not None
    assert len(prepared.points) == 6
