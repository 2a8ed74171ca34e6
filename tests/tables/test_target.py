"""Which rows of a column are labeled, and with what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from leaven.tables import TableError
from leaven.tables._target import encode_target


def column(values: Any, dtype: Any = None) -> pd.Series:
    return pd.Series(values, dtype=dtype, name="t")


@pytest.mark.parametrize(
    ("values", "classes", "codes"),
    [
        (column(["b", "", "a", " "]), ["a", "b"], [1, -1, 0, -1]),
        (column(["b", None, "a"]), ["a", "b"], [1, -1, 0]),
        (column(["007", "", "7"]), ["007", "7"], [0, -1, 1]),
        (column(["0", "1", "-1"]), ["0", "1"], [0, 1, -1]),
        (column(["0.5", "1.5", ""]), ["0.5", "1.5"], [0, 1, -1]),
        (column([3, -1, 1]), [1, 3], [1, -1, 0]),
        (column([3, None, 1], "Int64"), [1, 3], [1, -1, 0]),
        (column([3.0, np.nan, 2.0]), [2.0, 3.0], [1, -1, 0]),
        (column([True, None, False], "boolean"), [False, True], [1, -1, 0]),
        (column([True, None, False], object), [False, True], [1, -1, 0]),
        (column(["b", None, "a"], "category"), ["a", "b"], [1, -1, 0]),
        (column([5, None, 2], "category"), [2, 5], [1, -1, 0]),
    ],
)
def test_labels_are_found(values: pd.Series, classes: list, codes: list) -> None:
    target = encode_target(values)
    assert target.classes.tolist() == classes
    assert_array_equal(target.codes, codes)
    filled = target.filled(np.zeros(len(values), dtype=np.intp))
    assert filled.dtype == values.dtype
    assert filled[target.given].tolist() == values[target.given].tolist()
    assert set(filled[~target.given]) == {classes[0]}


def test_words_for_missing_are_classes_unless_told() -> None:
    values = column(["a", "NA", "b", ""])
    plain = encode_target(values)
    assert plain.classes.tolist() == ["NA", "a", "b"]
    assert "'NA' in 't' was read as a class" in plain.notes[0]
    told = encode_target(values, missing=["NA"])
    assert told.classes.tolist() == ["a", "b"]
    assert told.notes == [
        "One label only of class 'a', 'b' in 't': how well it is found cannot be estimated."
    ]
    assert encode_target(column([1, 2, 9]), missing=["9"]).given.tolist() == [True, True, False]


def test_one_label_for_each_of_many_classes_is_a_way_to_begin() -> None:
    """Where most rows have no label; an id or a free text has a value in most rows."""
    names = [f"species {i}" for i in range(60)]
    with pytest.raises(TableError, match="60 labels in 299 rows"):
        encode_target(column(names + [None] * 239))
    found = encode_target(column(names + [None] * 240))
    assert len(found.classes) == 60
    assert found.notes == [
        "Each of the 60 classes in 't' has one label: none can be held out, so that the "
        "expected accuracy is a guess. Label a second row of some of them."
    ]
    sentences = [f"The customer of row {i} wrote that it does not work." for i in range(60)]
    with pytest.raises(TableError, match="looks like an id or a free text"):
        encode_target(column(sentences + [None] * 1_000))


def test_notes() -> None:
    (note,) = encode_target(column(["0", "1", "-1", "-1", "0", "1"])).notes
    assert note.startswith("2 cells with -1 in 't'")
    values = column(["Spam", "spam ", "ham", ""])
    alike, stray, lone = encode_target(values).notes
    assert alike.endswith("'Spam', 'spam '.")
    assert stray == "Classes of 't' with spaces around the name: 'spam '."
    assert lone.startswith("One label only of class 'Spam', 'ham', 'spam ' in 't'")
    assert encode_target(values).doubts == [alike, stray]
    with pytest.raises(TableError, match="Correct the labels"):
        encode_target(values, strict=True)
    fine = column(["spam", "spam", "ham", "ham", ""])
    assert encode_target(fine, strict=True).notes == []


def test_many_classes_are_not_all_named() -> None:
    (note,) = encode_target(column([*(f"c{i:02d}" for i in range(15)), ""])).notes
    assert "'c09' and 5 more in 't'" in note


def test_a_complete_column_may_be_wanted() -> None:
    target = encode_target(column(["a", "b", "a"]), needs_unlabeled=False)
    assert target.given.all()


def test_integers_may_be_classes() -> None:
    repeated = column([*range(60), *range(60), *range(60), -1])
    assert len(encode_target(repeated).classes) == 60
    assert len(encode_target(column([*range(15), -1])).classes) == 15


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (column(["", " ", None]), "no labeled row: all 3 cells are empty"),
        (column([np.nan, np.nan]), "no labeled row"),
        (column([-1, -1]), "no labeled row"),
        (column([3.0, np.nan, -1.0]), "holds -1.0 among floats"),
        (column(["a", "b"]), "Every one of the 2 rows has a label"),
        (column(["a", "NA", "b"]), "If NA means 'no label', pass missing='NA'"),
        (column([1, 2]), "Every one of the 2 rows"),
        (column(["a", "a", ""]), "one class only, 'a'"),
        (column(["1", "-1", ""]), r"one class only, '1' \(-1 among integers"),
        (column([1, -1]), r"one class only, 1 \(-1 among integers"),
        (column([f"c{i}" for i in range(10_000)] + [""]), "10,000 distinct .* not a class column"),
        (column([*map(str, range(10_000)), ""]), "10,000 distinct numbers from 0 to 9999"),
        (column([*(f"{i / 7:.3f}" for i in range(30)), ""]), "needs regression"),
        (column([0.5, 1.5, np.nan]), "needs regression"),
        (column([*range(300), -1]), "needs regression"),
        (column([*range(20, 75), -1]), "needs regression"),
        (column([*map(str, range(20, 75)), ""]), "needs regression"),
        (column([1.0, np.inf, np.nan]), "infinite"),
        (column(["a", "-1", "b", None]), "-1 among strings"),
        (column([1, "a", None], object), "mixes labels"),
        (column(pd.to_datetime(["2024-01-01", None])), "cannot name classes|Unknown label type"),
        (column([[1], [2], None], object), "Unknown label type"),
    ],
)
def test_bad_targets(values: pd.Series, message: str) -> None:
    with pytest.raises(TableError, match=message) as caught:
        encode_target(values)
    assert "\n" not in str(caught.value)


def test_dates_and_names_that_occur_once_are_no_classes() -> None:
    days = pd.date_range("2024-01-01", periods=60).strftime("%d.%m.%Y").tolist()
    with pytest.raises(TableError, match=r"60 distinct dates such as '01.01.2024' in 60 labeled"):
        encode_target(column([*days, None]))
    with pytest.raises(TableError, match=r"30 distinct dates such as '01.01.2024' in 45 labeled"):
        encode_target(column([*days[:30], *days[:15], None]))
    names = [f"customer {i}" for i in range(51)]
    with pytest.raises(TableError, match=r"51 labels in 52 rows, no two .*'customer 0'") as caught:
        encode_target(column([*names, None]))
    assert "label a second row of one of them" in str(caught.value)
    # One row of each class is a way to begin, and a few dates may name batches.
    assert len(encode_target(column([*names[:50], None])).classes) == 50
    assert len(encode_target(column([*names, names[0], None])).classes) == 51
    assert len(encode_target(column([*days[:30] * 2, None])).classes) == 30
    assert len(encode_target(column([*days[:20], None])).classes) == 20


def test_a_column_that_waits_for_its_labels():
    none = encode_target(pd.Series([-1, -1], name="k"), fewest_classes=0)
    assert (none.classes.tolist(), none.codes.tolist()) == ([], [-1, -1])
    one = encode_target(pd.Series(["3", "-1", "3"], name="k"), fewest_classes=0)
    assert (one.classes.tolist(), one.codes.tolist()) == (["3"], [0, -1, 0])
    with pytest.raises(TableError, match="one class only"):
        encode_target(pd.Series(["3", "-1", "3"], name="k"), fewest_classes=2)


def test_a_thousand_classes_at_most() -> None:
    names = [f"class {i}" for i in range(1000)]
    assert len(encode_target(column([*names, *names, ""])).classes) == 1000
    with pytest.raises(TableError, match=r"1,001 distinct values .* \(at most 1,000 classes\)"):
        encode_target(column([*names, *names, "one more", ""]))
