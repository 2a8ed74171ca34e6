"""Rows are recognized when the table was sorted, grew or was edited."""

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from leaven.app._fingerprints import compare_rows, fingerprints

CELLS = st.lists(st.tuples(st.text(max_size=3), st.integers(0, 3)), min_size=1, max_size=12)


def table_of(rows):
    return pd.DataFrame(rows, columns=["a", "b"])


@given(CELLS, st.randoms())
def test_sorting_growing_and_moving_columns_keep_the_names(rows, random):
    names = fingerprints(table_of(rows), ["a", "b"])
    assert len(set(names)) == len(rows)
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert sorted(fingerprints(table_of(shuffled), ["b", "a"])) == sorted(names)
    grown = fingerprints(table_of([*rows, ("new", 9)]), ["a", "b"])
    assert grown[:-1] == names


@given(CELLS)
def test_equal_rows_have_the_same_stem_and_others_do_not(rows):
    stems = [name.partition(".")[0] for name in fingerprints(table_of(rows), ["a", "b"])]
    for i, one in enumerate(rows):
        for j, other in enumerate(rows):
            assert (stems[i] == stems[j]) == (one == other)


def test_cells_do_not_run_into_each_other():
    table = pd.DataFrame({"a": ["ab", "a"], "b": ["c", "bc"]})
    assert len(set(fingerprints(table, ["a", "b"]))) == 2


def test_missing_cells_and_types():
    table = pd.DataFrame({"a": [1.5, None, 3.0]})
    assert len(set(fingerprints(table, ["a"]))) == 3


def test_names_do_not_change_from_version_to_version():
    # Event files of users hold these names: printf '1:a1:x1:b1:7' | b2sum -l 64
    assert fingerprints(pd.DataFrame({"a": ["x"], "b": [7]}), ["a", "b"]) == ["ba7d13f7877f81d1"]


def test_changed_and_gone_rows_are_told_apart():
    found = compare_rows(["a", "b", "c", "d"], ["a", "B", "c"])
    assert (found.changed, found.gone, found.n_new, found.moved) == ([(1, "b")], ["d"], 0, False)
    assert compare_rows(["a", "b"], ["b", "a"]).moved
    assert not compare_rows(["a", "b"], ["a", "x", "b"]).moved


def test_whole_numbers_stay_themselves_in_a_column_with_gaps():
    before = pd.DataFrame({"n": [3, -40, 0], "x": [1.5, 2.0, 10.0]})
    grown = pd.concat([before, pd.DataFrame({"n": [np.nan], "x": [1.0]})], ignore_index=True)
    assert grown["n"].dtype == float
    names = fingerprints(before, ["n", "x"])
    assert fingerprints(grown, ["n", "x"])[:3] == names
    # As a CSV file holds them, before and after pandas wrote it again.
    texts = pd.DataFrame({"n": ["3", "-40.0", "0.00"], "x": ["1.5", "2", "10"]})
    assert fingerprints(texts, ["n", "x"]) == names
    others = pd.DataFrame({"n": ["3.01", "30", "v3.0", "3.0.0", ".0"]})
    assert len(set(fingerprints(others, ["n"])) | {names[0]}) == 6
