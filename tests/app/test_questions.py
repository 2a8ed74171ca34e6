"""Which rows are asked, against loops over all rows."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaven.app._answers import HeldOut
from leaven.app._board import BY_HAND, FREE, GIVEN, IN_BULK, Board
from leaven.app._events import Event
from leaven.app._knowledge import Knowledge
from leaven.app._learner import Ready
from leaven.app._questions import Questions
from leaven.app._sheet import Sheet

N_ROWS = 30
SHEET = Sheet(pd.DataFrame({"text": [f"t{i}" for i in range(N_ROWS)]}), "kind")


def questions_of(source, aside=(), mine=(), **known):
    board = Board(SHEET, "ann", ["x", "y"])
    board.source[:] = source
    board.codes[:] = np.where(np.array(source) == FREE, -1, 0)
    board.aside[list(aside)] = True
    board.mine[list(mine)] = True
    knowledge = Knowledge()
    for name, value in known.items():
        setattr(knowledge, name, value)
    return Questions(board, knowledge, SHEET.draw_order("seed"))


SOURCES = st.lists(
    st.sampled_from([FREE, FREE, FREE, GIVEN, BY_HAND, IN_BULK]), min_size=N_ROWS, max_size=N_ROWS
)
ROWS = st.sets(st.integers(0, N_ROWS - 1), max_size=8)


@given(SOURCES, ROWS)
def test_the_sample_is_the_start_of_the_random_order(source, aside):
    asking = questions_of(source, [row for row in aside if source[row] == FREE])
    expected = []
    for row in asking.drawn.tolist():
        if source[row] in (GIVEN, BY_HAND):
            expected.append(row)
        elif not asking.board.aside[row]:
            break
    assert asking.random_sample().tolist() == expected


@given(SOURCES, ROWS, ROWS, st.sampled_from(["useful", "uncertain", "random", "cluster"]))
def test_questions_are_open_rows_that_the_page_does_not_have(source, aside, have, order):
    asking = questions_of(source, [row for row in aside if source[row] == FREE])
    found = asking.next(order, 50, have)
    board = asking.board
    assert len({row for row, _ in found}) == len(found)
    for row, why in found:
        assert row not in have
        if why == "check":
            assert source[row] == IN_BULK
        elif why == "random":
            assert source[row] != GIVEN
        else:
            assert source[row] == FREE
            assert not board.aside[row]
    wanted = {r for r in range(N_ROWS) if source[r] == FREE and not board.aside[r]} - set(have)
    assert wanted <= {row for row, _ in found}


def test_the_model_ranks_and_the_random_order_follows():
    ranked = SimpleNamespace(useful=np.array([9, 4, 17]), uncertain=np.array([3, 9]))
    asking = questions_of([FREE] * N_ROWS, answers=ranked)
    rest = [row for row in asking.drawn.tolist() if row not in (9, 4, 17)]
    assert [row for row, _ in asking.next("useful", 5)] == [9, 4, 17, *rest[:2]]
    assert [row for row, _ in asking.next("uncertain", 2)] == [3, 9]
    assert [row for row, _ in asking.next("random", 3)] == asking.drawn.tolist()[:3]


def test_clusters_lead_before_there_is_a_model():
    cluster = np.arange(N_ROWS) % 3
    asking = questions_of([FREE] * N_ROWS)
    asking.knowledge.take(Ready(cluster, np.arange(N_ROWS, dtype=np.float32), None, None))
    assert [row for row, _ in asking.next("useful", 4)] == [0, 1, 2, 3]
    assert [row for row, _ in asking.next("cluster", 4)] == [0, 3, 6, 9]


def test_a_search_asks_its_rows_and_then_none():
    asking = questions_of([FREE] * N_ROWS)
    found = asking.next("search", 40, query="t1")
    main = [row for row, why in found if why == "search"]
    assert set(main) <= {1, *range(10, 20)}
    assert {row for row, why in found if why != "search"} <= set(range(N_ROWS))


def test_what_was_skipped_comes_back_when_nothing_else_is_left():
    asking = questions_of([BY_HAND] * N_ROWS)
    board = asking.board
    for number, (row, kind) in enumerate([(4, "skip"), (8, "unsure"), (2, "skip")], 1):
        board.apply(Event(f"k{number}", kind, (SHEET.names[row],), id=number, user="ann"))
    board.mine[:] = True
    assert asking.next("useful", 5) == [(2, "skipped"), (4, "skipped")]
    assert asking.next("useful", 5, have=[2]) == [(4, "skipped")]


def test_doubted_labels_are_asked_once():
    test = HeldOut(5, 9, 0, 0, [(3, 1, 0.05), (7, 1, 0.1), (9, 1, 0.15)], "m")
    asking = questions_of([BY_HAND] * N_ROWS, tested=test)
    board = asking.board
    assert asking.next("suspicious", 2) == [(3, "suspicious"), (7, "suspicious")]
    assert [row for row, _ in asking.next("suspicious", 9, have=[3])] == [7, 9]
    # Row 3 is confirmed after being asked, row 7 got the label of the model, row 9 is newer.
    name = SHEET.names
    board.apply(Event("k1", "label", (name[3],), "x", "hand", "suspicious", id=4, user="ann"))
    board.codes[7] = 1
    board.apply(Event("k2", "label", (name[9],), "x", id=6, user="ann"))
    assert asking.next("suspicious", 9) == []


def test_an_unknown_order_is_named():
    with pytest.raises(ValueError, match="order must be one of useful, uncertain, random"):
        questions_of([FREE] * N_ROWS).next("best", 1)


@pytest.mark.parametrize("order", ["useful", "random"])
def test_one_question_in_ten_is_the_same_for_everyone(order):
    drawn = SHEET.draw_order("seed").tolist()
    theirs = set(drawn[:12])  # another user labeled the first rows of the random order
    source = [BY_HAND if row in theirs else FREE for row in range(N_ROWS)]
    found = [row for row, _ in questions_of(source).next(order, 18)]
    assert [row for row in found if row in theirs] == [found[9]] == drawn[:1]
