"""What a node in a file looks like, what comes back from it, and what a forged one cannot do."""

from __future__ import annotations

import json
import math
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass
from datetime import date, datetime, timezone
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal, assert_index_equal, assert_series_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import BallTree, KDTree, NearestNeighbors
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from leaven.graph import Gaussian, Graph, KNNGraph
from leaven.persistence import ModelFileError, _file
from leaven.persistence._decode import Decoder
from leaven.persistence._encode import Encoder
from leaven.persistence._types import (
    find_class,
    find_type,
    may_be_stored,
    name_of,
    type_name,
)
from leaven.solvers import EMResult

Pair = namedtuple("Pair", "left right")


class Mapping(dict):
    """A dict of another type would come back as a plain one."""


@dataclass
class Foreign:
    """A class of neither leaven nor scikit-learn."""

    value: int = 3


def there_and_back(value):
    """Encode, pass through JSON and bytes as a file does, and decode."""
    encoder = Encoder()
    root = json.loads(json.dumps(encoder.encode(value, "value")))
    specs, blob = _file._pack(encoder.arrays)
    return Decoder(_file._unpack(json.loads(json.dumps(specs)), bytes(blob))).decode(root)


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(PLAIN)
@settings(max_examples=80)
def test_plain_values_of_any_nesting(value):
    found = there_and_back(value)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7976931348623157e308]
)
def test_floats_that_json_has_no_word_for(value):
    found = there_and_back([value])[0]
    assert math.isnan(found) if math.isnan(value) else found == value
    assert math.copysign(1.0, found) == math.copysign(1.0, value)


@pytest.mark.parametrize(
    "value",
    [
        {3, 1, 2},
        frozenset({"a", "b"}),
        (1, (2, [3])),
        range(2, 20, 3),
        slice(None, 5, -1),
        b"\x00\xff",
        datetime(2026, 3, 4, 5, 6, 7, 8, tzinfo=timezone.utc),
        datetime(2026, 10, 25, 2, 30, fold=1),
        date(2025, 12, 31),
        pd.Timestamp("2026-01-02 03:04:05.000000006", tz="Europe/Berlin"),
        Path("some/file.csv"),
        np.dtype("<f4"),
        np.dtype("datetime64[ms]"),
        int,
        str,
        np.float32,
        LogisticRegression,
        np.tanh,
        np.float32(1.25),
        np.int8(-3),
        np.bool_(True),
        np.str_("word"),
        np.datetime64("2026-05-06T07:08"),
        np.timedelta64(5, "h"),
        np.complex128(1 - 2j),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_come_back_equal_and_of_the_same_type(value):
    found = there_and_back(value)
    assert found == value
    assert type(found) is type(value)
    assert getattr(found, "fold", 0) == getattr(value, "fold", 0)


@pytest.mark.parametrize("value", [pd.NA, pd.NaT])
def test_missing_values_are_the_same_object(value):
    assert there_and_back([value])[0] is value


def test_sorted_and_default_dicts_become_plain_ones():
    assert there_and_back(OrderedDict(b=1, a=2)) == {"b": 1, "a": 2}
    assert there_and_back(defaultdict(list, {4: [5]})) == {4: [5]}
    assert list(there_and_back({2: "x", 1: "y"})) == [2, 1]


@given(
    arrays(
        st.sampled_from(["<f4", "<f8", "<i2", "<u8", "?", "<c8", "<U3", "S2"]),
        array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    )
)
@settings(max_examples=60)
def test_arrays_of_every_kind_and_shape(array):
    found = there_and_back(array)
    assert_array_equal(found, array)
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.flags.writeable


def test_views_records_and_arrays_of_objects():
    base = np.arange(24.0).reshape(4, 6)
    assert_array_equal(there_and_back(base[::2, ::-3]), base[::2, ::-3])
    assert_array_equal(there_and_back(np.asfortranarray(base)), base)
    records = np.array([(1, 2.5), (3, 4.5)], dtype=[("a", "<i4"), ("b", "<f8")])
    assert_array_equal(there_and_back(records), records)
    assert there_and_back(records).dtype == records.dtype
    objects = np.array([["a", None], [3, (1, 2)]], dtype=object)
    found = there_and_back(objects)
    assert found.shape == (2, 2)
    assert found.tolist() == objects.tolist()


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dia"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_matrices_keep_their_family(form, kind):
    dense = np.array([[0, 2.5, 0], [1.5, 0, 0]])
    given_matrix = getattr(sparse, f"{form}_{kind}")(dense)
    found = there_and_back(given_matrix)
    assert_array_equal(found.toarray(), dense)
    assert isinstance(found, sparse.sparray) is (kind == "array")
    assert found.format == (form if form in ("csr", "csc") else "csr")


def test_what_is_shared_is_stored_once_and_cycles_close():
    shared = np.arange(5.0)
    first, second = there_and_back((shared, [shared]))
    assert first is second[0]
    circle = np.empty(1, dtype=object)
    circle[0] = circle
    found = there_and_back(circle)
    assert found[0] is found
    encoder = Encoder()
    encoder.encode([shared, shared, shared], "value")
    assert len(encoder.arrays) == 1


def test_equal_values_that_are_not_shared_stay_apart():
    first, second = there_and_back((np.zeros(2), np.zeros(2)))
    first[0] = 7.0
    assert second[0] == 0.0


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, 2, 3]),
        pd.Series([1.5, np.nan, -0.0]),
        pd.Series(["a", None, "c"], dtype=object),
        pd.Series(["a", pd.NA, "c"], dtype="string"),
        pd.Series([1, pd.NA, 3], dtype="Int8"),
        pd.Series([True, pd.NA, False], dtype="boolean"),
        pd.Series([0.5, pd.NA, 1.5], dtype="Float32"),
        pd.Series(pd.Categorical(["x", None, "y"], categories=["y", "x", "z"], ordered=True)),
        pd.Series(pd.to_datetime(["2026-01-01", None, "2026-03-04"])),
        pd.Series(pd.to_datetime(["2026-01-01", None, "2026-07-01"]).tz_localize("Europe/Berlin")),
        pd.Series(pd.to_timedelta(["1h", None, "2D"])),
        pd.Series([1, 2, 3], index=["p", "q", "r"], name="named"),
    ],
    ids=lambda column: str(column.dtype),
)
def test_columns_of_every_type(column):
    assert_series_equal(there_and_back(column), column)
    frame = pd.DataFrame({"one": column, 2: column})
    assert_frame_equal(there_and_back(frame), frame)


@pytest.mark.parametrize(
    "index",
    [
        pd.RangeIndex(3, 12, 4, name="r"),
        pd.Index(["b", "a"], name=("x", 1)),
        pd.Index([2.5, 1.5]),
        pd.DatetimeIndex(["2026-01-01", "2026-02-01"]),
        pd.CategoricalIndex(["u", "v", "u"]),
    ],
    ids=lambda index: type(index).__name__,
)
def test_indices(index):
    assert_index_equal(there_and_back(index), index)


def test_a_frame_of_no_columns_or_no_rows():
    for frame in (
        pd.DataFrame(index=range(3)),
        pd.DataFrame({"a": pd.Series(dtype="Int64"), "b": pd.Series(dtype=object)}),
    ):
        assert_frame_equal(there_and_back(frame), frame, check_column_type=False)


def test_two_columns_of_one_name():
    frame = pd.DataFrame([[1, "a"], [2, "b"]], columns=["same", "same"])
    assert_frame_equal(there_and_back(frame), frame)


def test_random_numbers_go_on_where_they_were():
    old, new = np.random.RandomState(5), np.random.default_rng(5)
    old.normal(size=3)
    new.random(7)
    again_old, again_new = there_and_back(old), there_and_back(new)
    assert_array_equal(again_old.normal(size=4), old.normal(size=4))
    assert_array_equal(again_new.random(4), new.random(4))


@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree", "brute"])
def test_search_trees_are_built_again(algorithm):
    X = np.random.default_rng(0).normal(size=(50, 3))
    search = NearestNeighbors(algorithm=algorithm, leaf_size=7).fit(X)
    found = there_and_back(search)
    assert_array_equal(found.kneighbors(X[:5], 4)[1], search.kneighbors(X[:5], 4)[1])
    expected = {"kd_tree": KDTree, "ball_tree": BallTree, "brute": type(None)}[algorithm]
    assert isinstance(found._tree, expected)


@pytest.mark.parametrize("tree", [DecisionTreeClassifier(random_state=0), DecisionTreeRegressor()])
def test_compiled_trees(tree):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 3)), rng.integers(3, size=40)
    tree.fit(X, y)
    found = there_and_back(tree)
    assert_array_equal(found.predict(X), tree.predict(X))
    assert_array_equal(found.apply(X), tree.apply(X))


def test_a_graph_and_its_builder():
    X = np.random.default_rng(2).normal(size=(12, 2))
    builder = KNNGraph(3, weight=Gaussian(1.5)).fit(X)
    found = there_and_back(builder)
    assert found.graph_ == builder.graph_
    assert_array_equal(
        found.weights_to(X[:2] + 0.1).toarray(), builder.weights_to(X[:2] + 0.1).toarray()
    )
    assert there_and_back(Graph([[0, 2.0], [2.0, 0]])) == Graph([[0, 2.0], [2.0, 0]])


def test_a_frozen_dataclass_comes_back_and_another_version_of_it_does_not():
    result = EMResult(np.array([1.5]), np.array([0.5, 0.75]), "converged")
    found = there_and_back(result)
    assert (found.n_iter, found.converged) == (1, True)
    encoder = Encoder()
    node = encoder.encode(result, "value")
    node["state"] = [pair for pair in node["state"] if pair[0] != "stop_reason"]
    node["state"].append(["reason", "converged"])
    with pytest.raises(
        ModelFileError, match="EMResult and this version's differ in reason, stop_reason"
    ):
        Decoder(encoder.arrays).decode(node)


# What cannot be saved


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda x: x, r"value is the function '.*<lambda>'"),
        (math.sqrt, "value is the function 'sqrt'"),
        ([1, {"a": Foreign()}], r"value\[1\]\['a'\] is a .*Foreign"),
        (Pair(1, 2), "is a .*Pair"),
        (Mapping(a=1), "is a .*Mapping"),
        (Foreign, "is the class .*Foreign"),
        (pd.MultiIndex.from_tuples([(1, 2)]), "an index with more than one part"),
        (np.random.Generator(np.random.MT19937(0)), "a generator with MT19937"),
        (LogisticRegression(C=open), r"value\.C is the function 'open'"),
        (np.array([{1: Foreign()}], dtype=object), r"value\[0\]\[1\] is a "),
        (1j, "is a builtins.complex"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else type(value).__name__,
)
def test_what_has_no_place_is_named_with_the_way_to_it(value, message):
    with pytest.raises(ModelFileError, match=message):
        Encoder().encode(value, "value")


# Names


@pytest.mark.parametrize(
    ("cls", "allowed"),
    [
        (LogisticRegression, True),
        (KNNGraph, True),
        (Graph, True),
        (Foreign, False),
        (dict, False),
        (Path, False),
        (type(Encoder()), False),  # leaven.persistence itself is not among the methods
    ],
)
def test_which_classes_may_stand_in_a_file(cls, allowed):
    assert may_be_stored(cls) is allowed
    if allowed:
        assert find_class(name_of(cls)) is cls


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("os.system", "Only classes of leaven and scikit-learn are loaded"),
        ("builtins.eval", "Only classes of leaven"),
        ("", "Only classes of leaven"),
        ("sklearn.nothing.There", "does not load"),
        ("sklearn.linear_model.LogisticRegression", "does not load"),  # not its own module
        ("sklearn.utils.Bunch", "does not load"),
        ("leaven.cli.main", "does not load"),
        ("leaven.persistence._encode.Encoder", "does not load"),
        ("sklearn.linear_model._logistic.LogisticRegression.fit", "does not load"),
        ("leaven..graph", "does not load"),
        ("leaven.graph._graph.Graph; import os", "does not load"),
        ("sklearn", "does not load"),
    ],
)
def test_names_that_are_not_looked_up(name, message):
    with pytest.raises(ModelFileError, match=message):
        find_class(name)


@pytest.mark.parametrize("value", [int, bytes, np.float64, np.int8, LogisticRegression])
def test_types_as_values_have_names(value):
    assert find_type(type_name(value)) is value


@pytest.mark.parametrize("value", [list, Path, Foreign, type])
def test_types_that_have_no_name(value):
    assert type_name(value) is None


@pytest.mark.parametrize("name", ["builtins.eval", "builtins.list", "numpy.load", "numpy.ndarray"])
def test_names_of_types_that_are_refused(name):
    with pytest.raises(ModelFileError):
        find_type(name)


# Forged nodes


def refuses(node, message, arrays=()):
    with pytest.raises(ModelFileError, match=message):
        Decoder(list(arrays)).decode(node)


def test_nodes_that_no_encoder_writes():
    refuses({"is": "lambda"}, "unknown kind 'lambda'")
    refuses({}, "unknown kind None")
    refuses({"is": "same", "id": 4}, "refers to value 4 before it defines it")
    refuses({"is": "array", "id": 0, "number": 2}, "refers to array 2")
    refuses({"is": "array", "id": 0, "number": -1}, "refers to array -1")
    refuses({"is": "array", "id": 0, "number": "x"}, "refers to array 'x'")
    refuses({"is": "ufunc", "name": "load"}, "asks for the numpy function 'load'")
    refuses({"is": "sparse", "id": 0, "class": "dok_array"}, "unknown kind 'dok_array'")


@pytest.mark.parametrize(
    ("indices", "indptr"),
    [([9, 0], [0, 1, 2]), ([-1, 0], [0, 1, 2]), ([0, 1], [0, 5, 2]), ([0, 1], [0, 2])],
)
def test_sparse_matrices_whose_indices_lead_out_of_them(indices, indptr):
    parts = [np.ones(2), np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int32)]
    node = {"is": "sparse", "id": 0, "class": "csr_array", "shape": [2, 2]}
    refuses({**node, "data": 0, "indices": 1, "indptr": 2}, "damaged sparse matrix", parts)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("left_child", 99, "leads nowhere"),
        ("right_child", -5, "leads nowhere"),
        ("left_child", 0, "leads nowhere"),  # back to the root: an endless loop
        ("feature", 7, "missing column"),
        ("feature", -4, "missing column"),
    ],
)
def test_trees_that_compiled_code_would_follow_into_nowhere(field, value, message):
    X = np.random.default_rng(3).normal(size=(20, 2))
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, X[:, 0] > 0).tree_
    encoder = Encoder()
    node = encoder.encode(tree, "value")
    at = next(array for array in encoder.arrays if array.dtype.names)
    at[field][0] = value
    refuses(node, message, encoder.arrays)


# Arrays in one block of bytes


def test_arrays_lie_one_after_the_other_on_aligned_places():
    given_arrays = [np.arange(3, dtype="<i2"), np.array(2.5), np.zeros((0, 4)), np.arange(5.0)]
    specs, blob = _file._pack(given_arrays)
    assert all(start % _file._ALIGNMENT == 0 for _, _, start in specs)
    for expected, found in zip(given_arrays, _file._unpack(specs, bytes(blob)), strict=True):
        assert_array_equal(found, expected)
        assert found.shape == expected.shape


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (["<f8", [3], 8], "shorter than its arrays"),
        (["<f8", [2**40, 2**40], 0], "shorter than its arrays"),
        (["<f8", [-1], 0], "shorter than its arrays"),
        (["<f8", [1], -8], "shorter than its arrays"),
        (["|O", [1], 0], "array of Python objects"),
    ],
)
def test_places_outside_of_the_block(spec, message):
    with pytest.raises(ModelFileError, match=message):
        _file._unpack([spec], bytes(24))
