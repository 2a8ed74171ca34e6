"""The one module that knows what is labeled."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from leaven._labels import _as_array, class_prior, encode_labels, labeled_mask, mask_labels, one_hot

PARTLY = [
    ([7, -1, 3], [3, 7], np.int64),
    (np.array([7, -1, 3], dtype=np.int8), [3, 7], np.int8),
    (np.array([7, -1, 3], dtype=object), [3, 7], np.int64),
    ([7, None, 3], [3, 7], np.int64),
    ([7.0, np.nan, 3.0], [3.0, 7.0], np.float64),
    (["b", None, "a"], ["a", "b"], object),
    (["b", np.nan, "a"], ["a", "b"], object),
    ([True, None, False], [False, True], bool),
    (pd.Series(["b", pd.NA, "a"], dtype="string"), ["a", "b"], object),
    (pd.Series(["b", None, "a"], dtype="category"), ["a", "b"], object),
    (pd.Series(["b", None, "a"], index=[5, 6, 7]), ["a", "b"], object),
    (pd.Series([7, pd.NA, 3], dtype="Int64"), [3, 7], np.int64),
    (pd.Series([7, -1, 3], dtype="Int64"), [3, 7], np.int64),
    (pd.Series([True, pd.NA, False], dtype="boolean"), [False, True], bool),
    (pd.Series([7.0, None, 3.0]), [3.0, 7.0], np.float64),
]


@pytest.mark.parametrize(("y", "names", "dtype"), PARTLY)
def test_every_mark_and_dtype(y, names, dtype):
    classes, codes = encode_labels(y)
    assert classes.tolist() == names
    assert classes.dtype == dtype
    assert_array_equal(codes, [1, -1, 0])
    assert_array_equal(labeled_mask(y), [True, False, True])


def test_fully_labeled_needs_no_mark():
    assert_array_equal(encode_labels(np.array(["b", "a"]))[1], [1, 0])
    assert_array_equal(encode_labels([True, False])[1], [1, 0])
    assert_array_equal(encode_labels(np.array([4, 2], dtype=np.uint8))[1], [1, 0])


@pytest.mark.parametrize("y", [["a", "-1"], ["a", -1], np.array(["a", -1], dtype=object)])
def test_minus_one_among_strings_is_refused(y):
    with pytest.raises(ValueError, match=r"with None, NaN or pandas\.NA instead"):
        encode_labels(y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([-1, -1], "all 2 entries are -1"),
        ([None, None], "all 2 entries are None, NaN or pandas.NA"),
        ([], "y is empty"),
        (["a", 1, None], r"mixes labels of different types: \['int', 'str'\]"),
        ([0.3, 0.7, np.nan], "Unknown label type"),
        (pd.Series(pd.to_datetime(["2020-01-01", None])), "Unknown label type: Timestamp"),
        ([[1, 2], [3, 4]], "1d array"),
        (None, "y is None"),
        ([1.0, np.inf], "y contains infinity"),
    ],
)
def test_bad_labels(y, message):
    with pytest.raises(ValueError, match=message):
        encode_labels(y)


def test_one_class_is_refused_when_two_are_needed():
    with pytest.raises(ValueError, match=r"1 class only \('a'\).*Label at least one row"):
        encode_labels(["a", None, "a"], min_classes=2)


@given(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1).filter(any))
def test_decoding_gives_back_what_was_encoded(y):
    classes, codes = encode_labels(y)
    decoded = [None if code < 0 else classes[code] for code in codes]
    assert decoded == y


def test_masking_keeps_the_marks_of_the_kind():
    hide = np.array([True, False, False])
    assert mask_labels([7, -1, 3], hide).tolist() == [-1, -1, 3]
    assert mask_labels(["b", None, "a"], hide).tolist() == [None, None, "a"]
    assert mask_labels(np.array([7, 8, 3], dtype=np.uint8), hide).tolist() == [-1, 8, 3]


def test_one_hot():
    assert_array_equal(one_hot(np.array([2, -1]), 3), [[0, 0, 1], [0, 0, 0]])


def test_class_prior_forms():
    codes, classes = np.array([0, 0, 0, 1, -1]), np.array(["x", "y"])
    assert_allclose(class_prior("labeled", codes, classes), [4 / 6, 2 / 6])
    assert_allclose(class_prior("labeled", codes, classes, smoothing=0), [0.75, 0.25])
    assert_allclose(class_prior("uniform", codes, classes), [0.5, 0.5])
    assert_allclose(class_prior({"y": 0.9, "x": 0.1}, codes, classes), [0.1, 0.9])
    assert_allclose(class_prior([0.3, 0.7], codes, classes), [0.3, 0.7])


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ("other", "is not known"),
        ([0.5, 0.2], "sums to 0.7"),
        ([0.5, 0.25, 0.25], "there are 2 classes"),
        ([1.5, -0.5], "negative"),
        ({"x": 1.0}, r"missing: \['y'\]"),
    ],
)
def test_bad_priors(prior, message):
    with pytest.raises(ValueError, match=message):
        class_prior(prior, np.array([0, 1]), np.array(["x", "y"]))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float32", "bool"])
def test_numbers_of_a_series_are_read_as_those_of_an_array(dtype):
    # Cell by cell, this took longer than the iterations of EM on partitions of a Dask DataFrame.
    values = np.array([1, 0, 1, 1, 0], dtype=dtype)
    assert _as_array(pd.Series(values)).dtype == values.dtype
    classes, codes = encode_labels(pd.Series(values, index=[4, 3, 2, 1, 0]))
    assert classes.dtype == values.dtype
    assert_array_equal(codes, [1, 0, 1, 1, 0])
