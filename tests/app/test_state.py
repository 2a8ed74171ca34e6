"""What events add up to, against a replay from scratch."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from leaven.app._events import Event
from leaven.app._state import State


def replayed(events):
    state = State()
    for event in events:
        state.apply(event)
    return state


def label(number, row, value, user="ann", source="hand"):
    rows = (row,) if isinstance(row, str) else tuple(row)
    return Event(f"k{number}", "label", rows, value, source, id=number, user=user)


def undo(number, of, user="ann"):
    return Event(f"k{number}", "undo", undoes=of, id=number, user=user)


def test_the_last_label_counts():
    state = replayed([label(1, "r", "a"), label(2, "r", "b")])
    assert state.mark("r").value == "b"
    state.apply(undo(3, 2))
    assert state.mark("r").value == "a"
    state.apply(undo(4, 1))
    assert state.mark("r") is None
    assert state.last_step("ann") is None


def test_bulk_never_beats_a_hand():
    state = replayed([label(1, "r", "a"), label(2, ["r", "s"], "b", source="bulk")])
    assert (state.mark("r").value, state.mark("s").value) == ("a", "b")
    state.apply(label(3, "s", "c"))
    assert state.mark("s").value == "c"
    assert state.bulk_value("s") == "b"
    state.apply(undo(4, 2))
    assert (state.mark("r").value, state.mark("s").value) == ("a", "c")


def test_bulk_of_another_does_not_beat_a_hand():
    state = replayed([label(1, "r", "a"), label(2, "r", "b", user="bob", source="bulk")])
    assert state.mark("r").value == "a"


def test_the_majority_counts_and_then_the_latest():
    events = [label(1, "r", "a"), label(2, "r", "b", user="bob")]
    assert replayed(events).mark("r").value == "b"
    assert replayed([*events, label(3, "r", "a", user="cid")]).mark("r").value == "a"
    assert replayed(events).disagreements() == ["r"]
    assert replayed(events).ratings() == {"r": {"ann": "a", "bob": "b"}}


def test_an_undo_takes_back_the_steps_of_its_user_only():
    state = replayed([label(1, "r", "a"), label(2, "s", "b", user="bob")])
    assert state.last_step("ann").id == 1
    assert state.last_step("bob").id == 2


def test_notes_of_a_user_replace_each_other():
    def note(number, text, user):
        return Event(f"k{number}", "note", ("r",), text, id=number, user=user)

    state = replayed([note(1, "one", "ann"), note(2, "two", "bob"), note(3, "three", "ann")])
    assert [each.value for each in state.notes("r")] == ["two", "three"]
    state.apply(note(4, "", "ann"))
    assert [each.value for each in state.notes("r")] == ["two"]


ROWS = ["r", "s", "t"]


@st.composite
def stories(draw):
    """Draw what two people do, undo included."""
    events, open_steps = [], {"ann": [], "bob": []}
    for number in range(1, draw(st.integers(1, 25)) + 1):
        user = draw(st.sampled_from(["ann", "bob"]))
        kind = draw(st.sampled_from(["label", "bulk", "skip", "undo"]))
        if kind == "undo":
            if not open_steps[user]:
                continue
            events.append(undo(number, open_steps[user].pop(), user))
            continue
        rows = draw(st.lists(st.sampled_from(ROWS), min_size=1, max_size=3, unique=True))
        rows = rows if kind == "bulk" else rows[:1]
        value = None if kind == "skip" else draw(st.sampled_from(["x", "y", "z"]))
        source = "bulk" if kind == "bulk" else "hand"
        what = "skip" if kind == "skip" else "label"
        events.append(Event(f"k{number}", what, tuple(rows), value, source, id=number, user=user))
        open_steps[user].append(number)
    return events


@given(stories())
def test_patterns_count_rows_by_who_gave_which_label(events):
    state = replayed(events)
    expected = Counter()
    for row in ROWS:
        marks = state.marks(row).items()
        labels = {user: m.value for user, m in marks if m.kind == "label" and m.by_hand}
        if len(labels) > 1:
            expected[frozenset(labels.items())] += 1
    assert state.patterns == expected
    assert all(state.patterns.values())
    assert state.n_disagreements == len(state.disagreements())


@given(stories())
def test_undone_steps_leave_no_trace(events):
    undone = {event.undoes for event in events if event.kind == "undo"}
    kept = [event for event in events if event.kind != "undo" and event.id not in undone]
    one, two = replayed(events), replayed(kept)
    for row in ROWS:
        assert one.mark(row) == two.mark(row)
        assert one.marks(row) == two.marks(row)
    assert one.ratings() == two.ratings()
    assert one.steps() == two.steps()
