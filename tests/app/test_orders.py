"""Orders of the questions against plain loops."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from leaven.app._orders import (
    CHECK_EVERY,
    RANDOM_EVERY,
    cluster_by_cluster,
    interleave,
    take_turns,
    typical_first,
)

CLUSTERED = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1000)), min_size=1, max_size=30)


def arrays_of(rows):
    cluster = np.unique([number for number, _ in rows], return_inverse=True)[1]
    # Distances that differ, so that the order is the only one.
    distance = np.array([d for _, d in rows], dtype=np.float32) + np.arange(len(rows)) / 100
    return cluster, distance.astype(np.float32)


@given(CLUSTERED)
def test_typical_rows_come_first_turn_by_turn(rows):
    cluster, distance = arrays_of(rows)
    members = {
        number: sorted(np.flatnonzero(cluster == number), key=lambda row: distance[row])
        for number in np.unique(cluster)
    }
    by_size = sorted(members, key=lambda number: (-len(members[number]), number))
    expected = [
        members[number][turn]
        for turn in range(len(rows))
        for number in by_size
        if turn < len(members[number])
    ]
    assert typical_first(cluster, distance).tolist() == expected


@given(CLUSTERED)
def test_cluster_by_cluster_finishes_one_before_the_next(rows):
    cluster, distance = arrays_of(rows)
    sizes = np.bincount(cluster)
    expected = sorted(
        range(len(rows)), key=lambda row: (-sizes[cluster[row]], cluster[row], distance[row])
    )
    assert cluster_by_cluster(cluster, distance).tolist() == expected


@given(CLUSTERED, st.integers(1, 12))
def test_turns_take_the_best_of_each_cluster(rows, most):
    cluster, scores = arrays_of(rows)
    chosen = take_turns(np.arange(len(rows)), scores, cluster, most).tolist()
    pool = np.argsort(-scores, kind="stable")[: 2 * most].tolist()
    turn = {
        row: sum(cluster[row] == cluster[better] for better in pool[:i])
        for i, row in enumerate(pool)
    }
    assert chosen == sorted(pool, key=lambda row: (turn[row], pool.index(row)))[:most]


def test_turns_go_by_row_numbers_and_not_by_positions():
    rows = np.array([5, 2, 7])
    cluster = np.array([9, 9, 0, 9, 9, 0, 9, 1])
    assert take_turns(rows, np.array([0.3, 0.9, 0.8]), cluster, 3).tolist() == [2, 7, 5]


def test_one_in_ten_is_random_and_one_in_twenty_a_check():
    found = interleave(
        range(100), range(100, 200), range(200, 300), name="useful", start=0, n_rows=60
    )
    why = [kind for _, kind in found]
    assert [i for i, kind in enumerate(why) if kind == "random"] == list(
        range(RANDOM_EVERY - 1, 60, RANDOM_EVERY)
    )
    assert [i for i, kind in enumerate(why) if kind == "check"] == list(
        range(CHECK_EVERY // 2, 60, CHECK_EVERY)
    )
    assert [row for row, kind in found if kind == "useful"] == list(range(51))


@given(
    st.lists(st.integers(0, 20), unique=True),
    st.lists(st.integers(0, 20), unique=True),
    st.lists(st.integers(0, 20), unique=True),
    st.integers(0, 40),
    st.integers(0, 30),
)
def test_no_row_is_asked_twice_and_each_from_where_it_says(main, drawn, checks, start, n_rows):
    found = interleave(main, drawn, checks, name="useful", start=start, n_rows=n_rows)
    rows = [row for row, _ in found]
    assert len(rows) == len(set(rows)) <= n_rows
    for row, why in found:
        assert row in {"useful": main, "random": drawn, "check": checks}[why]
    # The chosen order goes on until it is empty.
    if len(rows) < n_rows:
        assert set(main) <= set(rows)


def test_the_random_order_needs_no_second_one():
    found = interleave([3, 1, 2], [], [], name="random", start=7, n_rows=5)
    assert found == [(3, "random"), (1, "random"), (2, "random")]
