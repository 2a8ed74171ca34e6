"""Tables of polars and pyarrow, Arrow types in pandas, labels beside the table."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import leaven
from leaven.datasets import load_example
from leaven.tables import TableError, TablePreparer, as_pandas, compare_table, label_table
from leaven.tables._frames import arrow_to_pandas, like_input, own_type, split_target

polars = pytest.importorskip("polars")


@pytest.fixture(scope="module")
def orchard():
    return load_example("orchard")


@pytest.fixture(scope="module")
def expected(orchard):
    return leaven.label(orchard, "variety", method="naive-bayes")


def label(table, target="variety"):
    return leaven.label(table, target, method="naive-bayes")


def test_polars_comes_back_as_polars_with_the_same_labels(orchard, expected):
    came = polars.from_pandas(orchard)
    found = label(came)
    assert isinstance(found, polars.DataFrame)
    assert found.columns == expected.columns.tolist()
    assert found["variety_predicted"].to_list() == expected["variety_predicted"].tolist()
    np.testing.assert_array_equal(found["variety_confidence"], expected["variety_confidence"])
    assert found.select(came.columns).equals(came)
    assert came.columns == orchard.columns.tolist()


def test_pyarrow_comes_back_as_pyarrow_with_the_same_labels(orchard, expected):
    came = pa.Table.from_pandas(orchard, preserve_index=False).replace_schema_metadata(None)
    found = label(came)
    assert isinstance(found, pa.Table)
    assert found["variety_predicted"].to_pylist() == expected["variety_predicted"].tolist()
    assert found.select(came.column_names).equals(came)


def test_the_output_of_one_run_may_be_the_input_of_the_next(orchard, expected):
    once = label(polars.from_pandas(orchard))
    assert label(once).equals(once)


def test_any_table_with_the_arrow_interface_is_taken(orchard, expected):
    came = pa.Table.from_pandas(orchard, preserve_index=False)
    stream = SimpleNamespace(__arrow_c_stream__=came.__arrow_c_stream__)
    found = label(stream)
    assert found["variety_predicted"].to_pylist() == expected["variety_predicted"].tolist()


@pytest.mark.parametrize("backend", ["pyarrow", "numpy_nullable"])
def test_other_backends_of_pandas_give_the_same_labels(orchard, expected, backend):
    came = orchard.convert_dtypes(dtype_backend=backend)
    found = label(came)
    assert found["variety_predicted"].tolist() == expected["variety_predicted"].tolist()
    assert found["variety_predicted"].dtype == came["variety"].dtype
    pd.testing.assert_frame_equal(found[came.columns], came)


def test_a_model_answers_in_the_kind_of_table_that_came(orchard, expected):
    model = label_table(orchard, "variety", method="naive-bayes").model()
    came = polars.from_pandas(orchard)
    labels = model.predict(came)
    assert isinstance(labels, polars.Series)
    assert labels.name == "variety"
    plain = model.predict(orchard)
    assert labels.to_list() == plain.tolist()
    shares = model.predict_proba(came)
    assert shares.columns == model.predict_proba(orchard).columns.tolist()
    np.testing.assert_allclose(shares.to_numpy().sum(axis=1), 1.0, rtol=1e-5)
    assert isinstance(model.label(pa.Table.from_pandas(orchard)), pa.Table)
    assert model.predict(pa.Table.from_pandas(orchard)).to_pylist() == plain.tolist()
    arrow = orchard.convert_dtypes(dtype_backend="pyarrow")
    assert model.predict(arrow).tolist() == plain.tolist()


def test_the_preparer_takes_polars(orchard):
    features = orchard.drop(columns="variety")
    one = TablePreparer(random_state=0).fit_transform(features)
    other = TablePreparer(random_state=0).fit_transform(polars.from_pandas(features))
    np.testing.assert_array_equal(one, other)


def test_compare_takes_polars_and_labels_beside_it(orchard):
    known = orchard[orchard["variety"].notna()]
    came = polars.from_pandas(known.drop(columns="variety"))
    done = compare_table(came, known["variety"].tolist(), n_trials=2, candidates=["naive-bayes"])
    assert done.n_labeled == len(known)


def test_labels_beside_the_table_are_the_same_as_in_it(orchard, expected):
    features, y = orchard.drop(columns="variety"), orchard["variety"]
    found = label(features, y)
    assert found["variety_predicted"].tolist() == expected["variety_predicted"].tolist()
    as_array = y.to_numpy(dtype=object)
    for labels in (as_array, as_array.tolist(), np.where(y.isna(), "", y).astype(str)):
        found = label(features, labels)
        assert found["label_predicted"].tolist() == expected["variety_predicted"].tolist()
    codes = pd.factorize(y)[0]
    found = label(features, codes)["label_predicted"]
    assert found[codes >= 0].tolist() == codes[codes >= 0].tolist()
    assert set(found) == {0, 1, 2}


def test_labels_of_polars_and_pyarrow_beside_the_table():
    came = pd.DataFrame({"x": [1.5, 2.5]})
    for labels in (polars.Series("kind", ["a", None]), pa.chunked_array([["a", None]])):
        frame, name = split_target(came, labels)
        assert name == ("kind" if isinstance(labels, polars.Series) else "label")
        assert frame[name].tolist()[0] == "a"
        assert frame[name].isna().tolist() == [False, True]
    assert came.columns.tolist() == ["x"]


def test_labels_with_another_index_go_by_position():
    came = pd.DataFrame({"x": [1.5, 2.5]}, index=[7, 9])
    frame, name = split_target(came, pd.Series(["a", "b"], name="kind"))
    assert frame[name].to_dict() == {7: "a", 9: "b"}


def test_labels_in_another_order_are_refused():
    came = pd.DataFrame({"x": [1.5, 2.5, 3.5]}, index=[7, 9, 8])
    with pytest.raises(TableError, match="index of the table in another order"):
        split_target(came, pd.Series(["a", "b", "c"], index=[8, 9, 7]))


def test_labels_that_do_not_fit_are_refused():
    came = pd.DataFrame({"x": [1.5, 2.5]})
    with pytest.raises(TableError, match="has 2 rows, but 3 labels came"):
        split_target(came, ["a", "b", "c"])
    with pytest.raises(TableError, match="named 'x', and so is a column"):
        split_target(came, pd.Series(["a", "b"], name="x"))


def test_what_is_no_table_is_refused():
    with pytest.raises(TypeError, match="got ndarray"):
        as_pandas(np.ones((2, 2)))
    lazy = polars.LazyFrame({"a": [1]})
    with pytest.raises(TypeError, match=r"LazyFrame, which holds no rows yet: pass table.collect"):
        as_pandas(lazy)


def test_arrow_types_become_types_of_pandas():
    big = 2**53 + 1  # the first integer that a float cannot hold
    came = pa.table(
        {
            "n": pa.array([big, None]),
            "b": pa.array([True, None]),
            "s": pa.array(["x", None]),
            "f": pa.array([0.5, None]),
            "v": pa.array([[1.5, 2.5], [3.5, 4.5]]),
            "c": pa.array(["p", "q"]).dictionary_encode(),
        }
    )
    found = arrow_to_pandas(came)
    assert found["n"].iloc[0] == big
    assert found["b"].dtype == pd.BooleanDtype()
    assert isinstance(found["c"].dtype, pd.CategoricalDtype)
    assert found["v"].iloc[1].tolist() == [3.5, 4.5]
    wrapped = came.to_pandas(types_mapper=pd.ArrowDtype).set_axis([5, 6])
    for name in came.column_names:
        plain = own_type(wrapped[name])
        assert not isinstance(plain.dtype, pd.ArrowDtype)
        assert plain.index.tolist() == [5, 6]
        assert plain.name == name
    assert own_type(wrapped["n"]).iloc[0] == big


def test_decimals_of_arrow_are_numbers():
    values = pd.Series([Decimal(n) / 4 for n in range(1, 13)])
    came = pd.DataFrame({"price": values.astype(pd.ArrowDtype(pa.decimal128(5, 2)))})
    preparer = TablePreparer(weigh=False).fit(came.assign(other=np.arange(12) % 5 + 0.5))
    assert {kind.name: kind.kind for kind in preparer.kinds_}["price"] == "number"


def test_new_columns_follow_those_that_came():
    came = pa.table({"b": [3, 4], "a": [1, 2], "gone": [5, 6]})
    found = like_input(pd.DataFrame({"b": [3, 4], "a": [1, 2], "new": ["x", None]}), came)
    assert found.column_names == ["b", "a", "new"]
    assert found["new"].to_pylist() == ["x", None]


@pytest.mark.parametrize("with_gaps", [False, True])
def test_a_saved_model_keeps_integer_labels_of_arrow(with_gaps):
    """Their memory is read-only; -1 and a missing cell are to be labeled."""
    x = [0.5, 0.7, 9.5, 9.9, 0.6, 9.7]
    kinds = [1, 1, 2, 2, -1, -1]
    train = pd.DataFrame({"x": x, "kind": kinds})
    model = label_table(train, "kind", method="harmonic", details=False).model()
    table = polars.DataFrame({"x": x, "kind": [1, 1, 2, 2, -1, None if with_gaps else -1]})
    for each in (table, table.to_arrow()):
        labeled = as_pandas(model.label(each))
        assert labeled["kind_source"].tolist() == ["given"] * 4 + ["inferred"] * 2
        assert labeled["kind_predicted"].astype(int).tolist() == [1, 1, 2, 2, 1, 2]


def test_an_array_is_refused_with_what_to_do():
    with pytest.raises(TypeError, match=r"got ndarray\. Of an array make pandas\.DataFrame\(X\)"):
        leaven.label(np.zeros((4, 2)), ["a", "b", None, None])
