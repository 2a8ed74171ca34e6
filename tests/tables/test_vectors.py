"""Vectors in a column, in a file, and beside a table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import leaven
from leaven.tables import (
    TableError,
    TablePreparer,
    compare_table,
    label_table,
    read_table,
    read_vectors,
    write_table,
)
from leaven.tables._columns import VectorColumn
from leaven.tables._vectors import check_vectors, stack_vectors, vector_length


def rays(n_rows=60, seed=0):
    """Vectors of three directions and any length, with a column that tells nothing."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(3, size=n_rows)
    directions = np.array([[3.0, 0.1, 0.2, 0.1], [0.2, 2.0, 0.1, 0.3], [0.1, 0.2, 0.3, 4.0]])
    vectors = directions[kinds] + 0.1 * rng.normal(size=(n_rows, 4))
    vectors *= rng.uniform(0.1, 50, size=(n_rows, 1))
    names = np.array(["east", "north", "up"], dtype=object)[kinds]
    table = pd.DataFrame({"noise": rng.normal(size=n_rows), "way": names})
    table.loc[table.groupby("way").cumcount() > 2, "way"] = None
    return table, vectors, names


@pytest.mark.parametrize("suffix", ["npy", "npz", "parquet"])
def test_files_give_back_what_was_written(tmp_path, suffix):
    wanted = np.array([[0.5, -2.0, 3.25], [7.0, 0.125, -9.5]])
    path = tmp_path / f"v.{suffix}"
    if suffix == "npy":
        np.save(path, wanted)
    elif suffix == "npz":
        np.savez(path, wanted)
    else:
        pq.write_table(pa.table({"id": ["a", "b"], "embedding": wanted.tolist()}), path)
    found = read_vectors(path)
    assert found.dtype == np.float32
    assert_array_equal(found, wanted)


def test_an_archive_with_several_arrays_needs_a_name(tmp_path):
    one, other = np.array([[0.5, 2.0]]), np.array([[3.0, 4.5]])
    np.savez(tmp_path / "v.npz", embeddings=one, other=other)
    assert_array_equal(read_vectors(tmp_path / "v.npz"), one)
    np.savez(tmp_path / "w.npz", a=one, b=other)
    with pytest.raises(TableError, match=r"holds 2 arrays \(a, b\); name one of them 'vectors'"):
        read_vectors(tmp_path / "w.npz")


def test_parquet_columns_of_numbers_are_vectors(tmp_path):
    pd.DataFrame({"d0": [0.5, 1.5], "d1": [2, 3]}).to_parquet(tmp_path / "v.parquet")
    assert_array_equal(read_vectors(tmp_path / "v.parquet"), [[0.5, 2.0], [1.5, 3.0]])
    pd.DataFrame({"d0": [0.5], "word": ["x"]}).to_parquet(tmp_path / "w.parquet")
    with pytest.raises(TableError, match="neither a column of lists nor columns of numbers alone"):
        read_vectors(tmp_path / "w.parquet")
    lists = pd.DataFrame({"a": [[0.5, 2.0]], "b": [[0.5, 2.0]]})
    lists.to_parquet(tmp_path / "x.parquet")
    with pytest.raises(TableError, match="several columns of lists: a, b"):
        read_vectors(tmp_path / "x.parquet")


def test_files_that_hold_no_vectors_are_refused(tmp_path):
    with pytest.raises(TableError, match="No such file"):
        read_vectors(tmp_path / "none.npy")
    with pytest.raises(TableError, match=r"not from '.csv'"):
        read_vectors(tmp_path / "v.csv")
    (tmp_path / "broken.npy").write_bytes(b"\x93NUMPY broken")
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 broken")
    for name in ("broken.npy", "broken.npz"):
        with pytest.raises(TableError, match="holds no array of numbers"):
            read_vectors(tmp_path / name)
    (tmp_path / "text.npy").write_text("hello")
    with pytest.raises(TableError, match=r"text.npy holds no array of numbers: it is no file of"):
        read_vectors(tmp_path / "text.npy")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 broken")
    with pytest.raises(TableError, match="is not a readable Parquet file"):
        read_vectors(tmp_path / "broken.parquet")


def test_a_pickle_in_an_array_is_not_executed(tmp_path):
    np.save(tmp_path / "v.npy", np.array([{"a": 1}, None], dtype=object), allow_pickle=True)
    with pytest.raises(TableError, match="holds no array of numbers"):
        read_vectors(tmp_path / "v.npy")


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.ones((3, 2)), "has 2 rows, but there are 3 vectors"),
        (np.array([[0.5, 2.0], [np.nan, 3.0]]), "vector of row 2 holds NaN or infinite numbers. "),
        (np.full((2, 2), np.inf), "row 1 holds NaN or infinite numbers, and so do 1 others"),
        (np.ones(2), r"shape \(n_rows, n_dimensions\), got \(2,\)"),
        (np.ones((2, 0)), r"got \(2, 0\)"),
        (np.array([["a"], ["b"]]), "hold numbers, got <U1"),
        ([[0.5, 2.0], [3.0]], "not vectors of numbers of one length"),
        (sparse.eye(2), "is sparse, but a dense array is needed"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(vectors, message):
    with pytest.raises(TableError, match=message):
        check_vectors(vectors, 2)


def test_unit_vectors_have_the_cosine_as_product():
    values = pd.Series([[3.0, 4.0], np.array([6.0, 8.0]), (4.0, -3.0), None, [0.0, 0.0]])
    found = VectorColumn().fit_transform(values)
    assert_allclose(found @ found[0], [1.0, 1.0, 0.0, 0.0, 0.0], atol=1e-7)
    assert_allclose(found[0], [0.6, 0.8], rtol=1e-6)
    assert VectorColumn().fit(values).get_feature_names_out().tolist() == ["0", "1"]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([[0.5, 2.0], [3.0]], "vector of row 2 has 1 numbers, where vectors of 2 are expected"),
        ([[0.5, 2.0], 7.0], "vector of row 2 has 7.0, where"),
        ([[0.5, 2.0], ["a", "b"]], "row 2 holds what is no number"),
        ([[0.5, np.nan], [3.0, 2.0]], "Column 'v': the vector of row 1 holds NaN"),
    ],
)
def test_cells_that_are_no_vectors_are_named(cells, message):
    with pytest.raises(TableError, match=message):
        stack_vectors(pd.Series(cells, name="v"), 2)


def test_kinds_of_columns_of_lists():
    table = pd.DataFrame(
        {
            "same": [[1.5, 2.5], [3.5, 4.5], None],
            "arrays": [np.array([1, 2, 3])] * 3,
            "ragged": [[1.5], [3.5, 4.5], [2.5]],
            "words": [["a"], ["b"], ["c"]],
            "empty": [[], [], []],
        }
    )
    preparer = TablePreparer().fit(table)
    kinds = {kind.name: kind.kind for kind in preparer.kinds_}
    assert kinds["same"] == kinds["arrays"] == "vector"
    assert preparer.dropped_["ragged"] == "its vectors have different lengths"
    assert set(preparer.dropped_) == {"ragged", "words", "empty"}
    assert preparer.metric_ == "cosine"
    assert vector_length(table["same"]) == 2
    assert preparer.get_feature_names_out().tolist() == [
        "same_0", "same_1", "arrays_0", "arrays_1", "arrays_2"
    ]  # fmt: skip


@pytest.mark.parametrize("method", ["harmonic", "logistic-regression"])
def test_vectors_label_what_the_columns_cannot(method):
    table, vectors, truth = rays()
    found = label_table(table, "way", method=method, vectors=vectors, details=False)
    right = found.table["way_predicted"] == truth
    assert right.mean() > 0.9
    assert found.summary.columns == {"noise": "number", "vectors": "vector"}
    assert found.table.columns.tolist()[:2] == table.columns.tolist()
    assert "vectors" not in found.table
    alone = label_table(table, "way", method=method, details=False).table["way_predicted"]
    assert (alone == truth).mean() < 0.75


def test_a_column_a_file_and_an_array_are_the_same(tmp_path):
    table, vectors, _ = rays()
    np.save(tmp_path / "v.npy", vectors)
    wanted = leaven.label(table, "way", method="harmonic", vectors=vectors)
    assert leaven.label(table, "way", method="harmonic", vectors=tmp_path / "v.npy").equals(wanted)
    inside = table.assign(vectors=list(vectors))[["noise", "way", "vectors"]]
    found = leaven.label(inside, "way", method="harmonic")
    assert found.drop(columns="vectors").equals(wanted)


def test_vectors_alone_need_no_other_column():
    table, vectors, truth = rays()
    found = leaven.label(table[["way"]], "way", method="harmonic", vectors=vectors)
    assert (found["way_predicted"] == truth).mean() > 0.9
    ignored = label_table(table, "way", method="harmonic", vectors=vectors, ignore="noise")
    assert ignored.table["way_predicted"].equals(found["way_predicted"])
    assert ignored.summary.dropped == {"noise": "to be ignored"}


def test_ignored_columns_must_be_there():
    table, vectors, _ = rays()
    with pytest.raises(TableError, match=r"no column to ignore, 'nois'. Did you mean 'noise'"):
        leaven.label(table, "way", ignore=["nois"], vectors=vectors)
    with pytest.raises(TableError, match="has a column 'vectors', the name that the given"):
        leaven.label(table.rename(columns={"noise": "vectors"}), "way", vectors=vectors)


def test_a_saved_model_keeps_the_vectors(tmp_path):
    table, vectors, _ = rays()
    result = label_table(table, "way", method="harmonic", vectors=vectors, details=False)
    result.save(tmp_path / "m.leaven")
    model = leaven.load(tmp_path / "m.leaven")
    new, more, truth = rays(30, seed=5)
    new = new.drop(columns="way")
    found = model.predict(new, vectors=more)
    assert (found == truth).mean() > 0.9
    shares = model.predict_proba(new, vectors=more)
    assert_allclose(shares, result.model().predict_proba(new, vectors=more))
    assert model.label(new, vectors=more)["way_predicted"].equals(found.rename("way_predicted"))
    with pytest.raises(TableError, match="learned from vectors beside the table") as caught:
        model.predict(new)
    assert "--vectors 'vectors.npy'" in caught.value.for_command_line()
    with pytest.raises(TableError, match="has 30 rows, but there are 29 vectors"):
        model.predict(new, vectors=more[1:])
    with pytest.raises(TableError, match="has 3 numbers, where vectors of 4 are expected"):
        model.predict(new, vectors=more[:, 1:])


def test_a_row_without_a_vector_gets_the_class_proportions():
    table, vectors, _ = rays()
    inside = table.assign(v=list(vectors)).drop(columns="noise")
    model = label_table(inside, "way", method="harmonic", details=False).model()
    with pytest.warns(UserWarning, match="1 row has no cell that the model knows"):
        found = model.predict_proba(pd.DataFrame({"v": [None, vectors[0]]}))
    counts = np.asarray(model.about["class_counts"])
    assert_allclose(found.iloc[0], counts / counts.sum())


def test_comparison_takes_vectors():
    table, vectors, truth = rays()
    table["way"] = truth
    done = compare_table(
        table, "way", n_trials=2, candidates=["logistic-regression"], vectors=vectors
    )
    assert done.table["accuracy"].iloc[0] > 0.9


def test_text_files_hold_whole_vectors(tmp_path):
    wanted = np.arange(2000) / 8  # NumPy prints the middle of these as dots
    table = pd.DataFrame({"v": [wanted, None], "a": [1, 2]})
    write_table(table, tmp_path / "t.csv")
    cell = read_table(tmp_path / "t.csv")["v"].iloc[0]
    assert_array_equal(np.array(cell.strip("[]").split(","), dtype=float), wanted)
    assert table["v"].iloc[0] is wanted
    write_table(table, tmp_path / "t.parquet")
    assert_array_equal(read_table(tmp_path / "t.parquet")["v"].iloc[0], wanted)
    write_table(table.iloc[:1, :].assign(v=[wanted[:3]]), tmp_path / "t.xlsx")
    assert read_table(tmp_path / "t.xlsx")["v"].iloc[0] == "[0.0, 0.125, 0.25]"
