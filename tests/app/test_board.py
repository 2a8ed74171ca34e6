"""The arrays over the rows against a replay of the events from scratch."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaven.app._board import BY_HAND, FREE, GIVEN, IN_BULK, SOURCES, Board
from leaven.app._events import Event
from leaven.app._sheet import Sheet

N_ROWS = 6


def sheet():
    kinds = ["", "plum", "", "pear", "", ""]
    return Sheet(pd.DataFrame({"text": list("abcdef"), "kind": kinds}), "kind")


SHEET = sheet()


def event(number, kind, rows=(), value=None, user="ann", source="hand", undoes=None):
    names = tuple(SHEET.names[row] for row in rows)
    return Event(f"key{number}", kind, names, value, source, undoes=undoes, id=number, user=user)


@st.composite
def stories(draw):
    events, done = [], {"ann": [], "bob": []}
    for number in range(1, draw(st.integers(1, 20)) + 1):
        user = draw(st.sampled_from(["ann", "bob"]))
        kind = draw(st.sampled_from(["label", "label", "bulk", "skip", "unsure", "undo"]))
        if kind == "undo":
            if done[user]:
                step = done[user].pop()
                events.append(event(number, "undo", user=user, undoes=step))
            continue
        rows = draw(st.lists(st.integers(0, N_ROWS - 1), min_size=1, max_size=4, unique=True))
        value = (
            draw(st.sampled_from(["plum", "pear", "fig"])) if kind in ("label", "bulk") else None
        )
        events.append(
            event(
                number,
                "label" if kind == "bulk" else kind,
                rows if kind == "bulk" else rows[:1],
                value,
                user,
                "bulk" if kind == "bulk" else "hand",
            )
        )
        done[user].append(number)
    return events


def expected_at(row, events):
    """What counts at a row: hands before bulk, the majority of users, the later on a tie."""
    undone = {each.undoes for each in events}
    name = SHEET.names[row]
    last = {}
    for each in events:
        if each.kind == "undo" or each.id in undone or name not in each.rows:
            continue
        by_hand = each.source == "hand"
        if by_hand or not last.get(each.user, (False,))[0]:
            last[each.user] = (by_hand, each)
    for wanted in (True, False):
        labels = [e for by_hand, e in last.values() if by_hand is wanted and e.kind == "label"]
        if labels:
            values = [e.value for e in labels]
            best = max(labels, key=lambda e: (values.count(e.value), e.id))
            return best.value, BY_HAND if wanted else IN_BULK, False
    given = SHEET.classes[SHEET.codes[row]] if SHEET.codes[row] >= 0 else None
    return given, FREE if given is None else GIVEN, bool(last)


@given(stories())
def test_the_board_is_what_the_events_say(events):
    board = Board(SHEET, "ann", ["fig"])
    for each in events:
        board.apply(each)
    for row in range(N_ROWS):
        value, source, aside = expected_at(row, events)
        assert board.label(row) == value
        assert (board.source[row], bool(board.aside[row])) == (source, aside)
    assert board.values() == [board.label(row) for row in range(N_ROWS)]
    counts = board.counts()
    assert counts["given"] + counts["hand"] + counts["bulk"] == sum(board.per_class())
    # Another window that reads the file from the start sees the same.
    again = Board(SHEET, "ann", ["fig"])
    for each in events:
        again.apply(each)
    assert (again.codes == board.codes).all()


def test_counts_by_source_and_class():
    board = Board(SHEET, "ann", ["fig"])
    board.apply(event(1, "label", [0], "fig"))
    board.apply(event(2, "label", [2, 4], "plum", source="bulk"))
    board.apply(event(3, "skip", [5]))
    assert board.counts() == {"n_rows": 6, "given": 2, "hand": 1, "bulk": 2, "aside": 1}
    names = dict(zip(board.class_names(), board.per_class(), strict=True))
    assert names == {"pear": 1, "plum": 3, "fig": 1}
    assert [SOURCES[each] for each in board.source] == [
        "hand",
        "given",
        "bulk",
        "given",
        "bulk",
        "",
    ]
    assert board.by_person([0, 1, 2, 5]).tolist() == [True, True, False, False]


def test_spot_checks_compare_the_bulk_label_with_the_hand():
    board = Board(SHEET, "ann")
    board.apply(event(1, "label", [0, 2, 4, 5], "plum", source="bulk"))
    assert board.checks() is None
    for number, row, value in [(2, 0, "plum"), (3, 2, "pear"), (4, 4, "plum")]:
        board.apply(event(number, "label", [row], value))
    assert board.checks() == {"n": 3, "agree": 2}


def test_only_the_own_marks_by_hand_are_mine():
    board = Board(SHEET, "ann")
    board.apply(event(1, "label", [0], "plum", user="bob"))
    board.apply(event(2, "label", [2], "plum", source="bulk"))
    board.apply(event(3, "unsure", [4]))
    assert np.flatnonzero(board.mine).tolist() == [4]
    assert board.own_mark(0) is None
    assert board.own_mark(2) is None
    assert board.own_mark(4).kind == "unsure"


def test_events_at_rows_that_are_gone_are_passed_over():
    board = Board(SHEET, "ann")
    board.apply(Event("key1", "label", ("gone", SHEET.names[0]), "plum", "bulk", id=1, user="ann"))
    assert board.rows_of(["gone", SHEET.names[0]]) == [0]
    assert board.counts()["bulk"] == 1


@pytest.mark.parametrize("value", [3, True, "x"])
def test_classes_keep_their_type_and_place(value):
    board = Board(SHEET, "ann", ["fig"])
    board.apply(event(1, "class", value=value))
    board.apply(event(2, "class", value=value))
    assert board.classes == ["pear", "plum", "fig", value]
    assert board.class_names()[-1] == str(value)
