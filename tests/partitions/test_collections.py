"""Partitions of rows: what counts as some, and that map and reduce see each of them once."""

from __future__ import annotations

from collections import deque
from contextlib import nullcontext
from operator import add

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from leaven.partitions import (
    Block,
    DaskPartitions,
    LocalPartitions,
    as_partitions,
    codes_of,
    is_partitioned,
    merge_classes,
    stack_rows,
)

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
Callback = pytest.importorskip("dask.callbacks").Callback


class Stream:
    """Partitions that are made anew in each pass."""

    def __init__(self, blocks):
        self.all = blocks
        self.passes = 0

    def __iter__(self):
        self.passes += 1
        return iter(self.all)


def total(block, factor):
    return factor * sum(block)


def joined(block, separator):
    return separator + "".join(map(str, block))


@settings(deadline=None, max_examples=30)
@given(st.lists(st.lists(st.integers(0, 9), max_size=3), min_size=1, max_size=40))
def test_reduce_keeps_the_order_and_takes_each_partition_once(blocks):
    # Strings do not commute, so that the result shows the order of the merges.
    expected = "".join(joined(block, "|") for block in blocks)
    lazy = DaskPartitions([dask.delayed(block, pure=False) for block in blocks])
    with dask.config.set(scheduler="synchronous"):
        for partitions in (LocalPartitions(blocks), LocalPartitions(Stream(blocks)), lazy):
            assert partitions.reduce(joined, add, "|") == expected
            assert partitions.map(total, 3) == [3 * sum(block) for block in blocks]


def times(block, factor, own):
    return [factor * value + own for value in block]


def test_prepared_partitions_are_partitions():
    blocks, own = [[1, 2], [], [5]], [10, 20, 30]
    stream = Stream(blocks)
    lazy = DaskPartitions([dask.delayed(block, pure=False) for block in blocks])
    for partitions in (LocalPartitions(blocks), LocalPartitions(stream), lazy):
        prepared = partitions.prepare(times, 2, each=own)
        assert prepared.map(total, 1) == [26, 0, 40]
        assert prepared.reduce(total, add, 1) == 66
    assert stream.passes == 2  # not kept, but made again for the second answer
    assert [p.n_partitions for p in (LocalPartitions(blocks), LocalPartitions(stream), lazy)] == [
        3,
        None,
        3,
    ]


def test_an_iterator_is_kept_for_the_second_pass():
    partitions = LocalPartitions(iter([[1], [2]]))
    assert partitions.map(sum) == partitions.map(sum) == [1, 2]


def doubled(number, calls):
    calls.append(number)
    return [2 * number]


def with_first(block, first):
    return [*first, *block]


def extended(one, other):
    one.extend(other)  # as merges of statistics do
    return one


def same(block):
    return block


def tasks_run(do):
    """How many tasks a computation takes, and what it gives."""
    keys = []
    with Callback(pretask=lambda key, *_: keys.append(key)):
        found = do()
    return len(keys), found


@pytest.mark.parametrize("annotated", [False, True])
def test_a_partition_is_one_task_per_pass_unless_its_tasks_are_annotated(annotated):
    calls = deque()  # Dask copies lists
    with dask.annotate(priority=3) if annotated else nullcontext():
        made = [dask.delayed(doubled, pure=False)(i, calls) for i in range(5)]
        made = [dask.delayed(sorted, pure=False)(each) for each in made]
    parts = DaskPartitions(made).prepare(joined, "-").prepare(joined, "+")
    with dask.config.set(scheduler="synchronous"):
        n_tasks, found = tasks_run(lambda: parts.map(len))
    assert found == [3] * 5
    assert sorted(calls) == [0, 1, 2, 3, 4]
    # With one for the steps, which all partitions share.
    assert (n_tasks > 10) if annotated else (n_tasks <= 6)


def test_what_partitions_share_is_made_once_per_pass():
    calls = deque()  # Dask copies lists
    first = dask.delayed(doubled, pure=False)(7, calls)
    made = [dask.delayed(with_first, pure=False)([i], first) for i in range(4)]
    with dask.config.set(scheduler="synchronous"):
        parts = DaskPartitions(made)
        assert parts.map(sum) == [14, 15, 16, 17]
        assert len(calls) == 1
        assert parts.reduce(sum, add) == 62
    assert len(calls) == 2


def test_a_merge_that_changes_its_argument_leaves_the_partitions_alone():
    parts = DaskPartitions([dask.delayed([i], pure=False) for i in range(20)])
    with dask.config.set(scheduler="synchronous"):
        for _ in range(2):
            assert parts.reduce(same, extended) == list(range(20))


def refuse(block, error):
    if block:
        raise error("no")


@pytest.mark.parametrize("error", [ValueError, TypeError])
def test_errors_name_the_partition(error):
    lazy = DaskPartitions([dask.delayed(block, pure=False) for block in ([], [1])])
    for partitions in (LocalPartitions([[], [1]]), lazy):
        with pytest.raises(error, match="Partition 1: no"):
            partitions.map(refuse, error)


def test_there_must_be_a_partition():
    for partitions in (LocalPartitions([]), DaskPartitions([])):
        with pytest.raises(ValueError, match="no partition"):
            partitions.reduce(sum, add)


TABLE = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        (TABLE, False),
        (TABLE.tolist(), False),
        ([(1.0, 2.0), (3.0, 4.0)], False),
        ([TABLE[0], TABLE[1]], False),  # two rows
        (pd.DataFrame(TABLE), False),
        (sparse.csr_array(TABLE), False),
        ([], False),
        ("ab", False),
        ([TABLE], True),
        ((TABLE, TABLE), True),
        ([pd.DataFrame(TABLE)], True),
        ([sparse.csr_array(TABLE)], True),
        ([(TABLE, [0, 1, -1])], True),
        (iter([TABLE]), True),
        (Stream([TABLE]), True),
        (LocalPartitions([TABLE]), True),
    ],
)
def test_what_is_partitioned(X, expected):
    assert is_partitioned(X) is expected


def test_dask_collections_are_partitioned():
    assert is_partitioned(da.from_array(TABLE))
    assert is_partitioned(dd.from_pandas(pd.DataFrame(TABLE, columns=["a", "b"]), npartitions=1))


def blocks_of(partitions):
    return partitions.map(Block._asdict)


def test_rows_labels_and_weights_come_together():
    y, w = np.array([4, -1, 7]), np.array([0.5, 2.0, 1.0])
    cuts = [1]
    X_parts, y_parts, w_parts = (np.split(a, cuts) for a in (TABLE, y, w))
    frame = pd.DataFrame(TABLE, columns=["a", "b"]).assign(y=y, w=w)
    table = dd.concat([dd.from_pandas(frame[:1], npartitions=1), dd.from_pandas(frame[1:], 1)])
    X = da.from_array(TABLE, chunks=((1, 2), (1, 1)))
    kinds = [
        as_partitions(X_parts, y_parts, w_parts),
        as_partitions(list(zip(X_parts, y_parts, w_parts, strict=True))),
        as_partitions(Stream(X_parts), Stream(y_parts), Stream(w_parts)),
        as_partitions(iter(X_parts), iter(y_parts), iter(w_parts)),
        as_partitions(X, da.from_array(y, chunks=3), da.from_array(w, chunks=1)),
        as_partitions(X, y, list(w)),
        as_partitions(table[["a", "b"]], table["y"], table["w"]),
        as_partitions(table[["a", "b"]], pd.Series(y), w),
    ]
    for partitions in kinds:
        found = blocks_of(partitions)
        assert len(found) == 2
        for i, block in enumerate(found):
            assert_array_equal(block["X"], X_parts[i])
            assert_array_equal(block["y"], y_parts[i])
            assert_array_equal(block["sample_weight"], w_parts[i])
    assert as_partitions(kinds[0]) is kinds[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([TABLE, TABLE], [[1, 2, 3]]), "ends after 1"),
        ((da.from_array(TABLE), [1, 2]), "X has 3 rows, but y has 2"),
        ((da.from_array(TABLE), da.from_array(np.arange(2))), "X has 3 rows, but y has 2"),
        ((LocalPartitions([]), [1]), "hold their labels"),
        (([TABLE], da.from_array(np.arange(3))), "but X is not"),
        ((da.from_array(np.arange(3)), None), "two dimensions"),
    ],
)
def test_bad_partitions(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        as_partitions(*arguments).map(len)


def test_unknown_lengths_and_other_cuts():
    frame = dd.from_pandas(pd.DataFrame({"a": range(6), "y": range(6)}), npartitions=3)
    unknown = frame[["a"]].to_dask_array()
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        as_partitions(unknown, np.arange(6))
    with pytest.raises(ValueError, match="3 partitions, but y has 2"):
        as_partitions(frame[["a"]], frame.repartition(npartitions=2)["y"])


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([[3, -1], [-1], [1]], np.array([1, 3])),
        ([["b", None], [None], ["a"]], np.array(["a", "b"], dtype=object)),
        ([[1.0, np.nan], [2, -1]], np.array([1.0, 2.0])),
        ([np.array([2], dtype=np.int8), np.array([3], dtype=np.int16)], np.array([2, 3], "int16")),
    ],
)
def test_classes_are_those_of_all_partitions(parts, expected):
    from leaven.partitions import classes_in

    classes = merge_classes([classes_in(part) for part in parts])
    assert_array_equal(classes, expected)
    assert classes.dtype == expected.dtype
    codes = np.concatenate([codes_of(part, classes) for part in parts])
    flat = [value for part in parts for value in np.asarray(part, dtype=object).tolist()]
    for value, code in zip(flat, codes, strict=True):
        unlabeled = value is None or value != value or value == -1
        assert code == -1 if unlabeled else classes[code] == value


def test_classes_that_do_not_go_together():
    with pytest.raises(ValueError, match="mixes labels"):
        merge_classes([np.array([1, 2]), np.array(["a"], dtype=object)])
    with pytest.raises(ValueError, match="no labeled row: all 5"):
        merge_classes([None, None], n_rows=5)


def test_stacked_rows_may_be_sparse_or_tuples():
    A, B = np.arange(4.0).reshape(2, 2), np.arange(2.0).reshape(1, 2)
    stacked = stack_rows([(A, sparse.csr_array(A)), (B, sparse.csr_array(B))])
    assert_array_equal(stacked[0], np.vstack([A, B]))
    assert_array_equal(stacked[1].toarray(), np.vstack([A, B]))
