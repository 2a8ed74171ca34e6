"""A labeling session without a browser."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from leaven.app._actions import ConflictError
from leaven.app._answers import Answers, Request
from leaven.app._events import EventStore
from leaven.app._export import labeled_table
from leaven.app._learner import Subject, Work
from leaven.app._session import Session
from leaven.app._sheet import Sheet
from leaven.cli import main
from leaven.selection import candidate_names
from leaven.tables import TableError, read_table

from .conftest import press

CLASSES = ["apple", "cherry"]


def truth(row):
    return CLASSES[0] if row % 2 else CLASSES[1]


def test_a_label_is_on_the_disk_when_record_returns(open_session, fruit, tmp_path):
    session = open_session(fruit, classes=CLASSES)
    result = press(session, "label", 3, "apple", base=0)
    assert result["row"]["label"] == "apple"
    (event,) = EventStore(tmp_path / "t.labels.db").since(0)
    assert (event.value, event.rows) == ("apple", (session.sheet.names[3],))


def test_a_key_sent_twice_is_one_event(open_session, fruit):
    session = open_session(fruit, classes=CLASSES)
    action = {"key": "same-key-1", "kind": "label", "rows": [3], "label": "apple", "base": 0}
    first = session.record(action)
    assert session.record(action)["event"] == first["event"]
    undo = {"key": "same-key-2", "kind": "undo"}
    press(session, "label", 4, "cherry")
    session.record(undo)
    session.record(undo)
    assert session.board.counts()["hand"] == 1


def test_undo_goes_all_the_way_back_across_restarts(open_session, fruit):
    session = open_session(fruit, classes=CLASSES)
    for row in range(6):
        press(session, "label", row, truth(row))
    press(session, "skip", 6)
    press(session, "label", 0, "apple")
    for expected in (0, 6, 5, 4):
        again = open_session(fruit, classes=CLASSES)
        assert press(again, "undo")["row"]["row"] == expected
    assert again.row(0)["label"] == "cherry"
    for _ in range(4):
        press(again, "undo")
    with pytest.raises(ValueError, match="nothing to undo"):
        press(again, "undo")
    assert again.board.counts()["hand"] == 0


def test_skipped_rows_come_back_at_the_end_only(open_session, fruit):
    session = open_session(fruit, classes=CLASSES)
    first = session.questions("useful", 1)[0]["row"]
    press(session, "skip", first)
    asked = set()
    while questions := session.questions("useful", 5):
        for question in questions:
            if question["row"] == first:
                assert question["why"] == "skipped"
                assert len(asked) == len(fruit) - 1
            asked.add(question["row"])
            press(session, "label", question["row"], truth(question["row"]))
    assert len(asked) == len(fruit)


def test_questions_are_new_rows_without_a_label(open_session, fruit):
    fruit.loc[[2, 5], "kind"] = ["apple", "cherry"]
    session = open_session(fruit)
    press(session, "label", 7, "apple")
    for order in ("useful", "uncertain", "random", "cluster"):
        rows = [question["row"] for question in session.questions(order, 20, have=[1, 9])]
        assert len(set(rows)) == 20
        assert not set(rows) & {1, 2, 5, 7, 9}


def test_one_question_in_ten_is_random(open_session, fruit):
    session = open_session(fruit, classes=CLASSES)
    why = [question["why"] for question in session.questions("useful", 30)]
    assert [i for i, each in enumerate(why) if each == "random"] == [9, 19, 29]


def test_the_random_sample_is_the_start_of_one_random_order(open_session, fruit):
    session = open_session(fruit, classes=CLASSES)
    drawn = session.asking.drawn.tolist()
    for row in [drawn[0], drawn[1], drawn[3], drawn[7]]:
        press(session, "label", row, truth(row))
    assert session.asking.random_sample().tolist() == drawn[:2]
    press(session, "unsure", drawn[2])
    assert session.asking.random_sample().tolist() == [drawn[0], drawn[1], drawn[3]]
    # The same rows in a table that was sorted.
    other = open_session(fruit.iloc[::-1].reset_index(drop=True), classes=CLASSES)
    assert [len(fruit) - 1 - row for row in other.asking.drawn] == drawn


def test_bulk_keeps_labels_by_hand_and_is_one_step(open_session, fruit):
    fruit.loc[0, "kind"] = "cherry"
    fruit.loc[1, "kind"] = "apple"
    session = open_session(fruit)
    press(session, "label", 2, "cherry")
    result = press(session, "label", list(range(10)), "apple", source="bulk", why="search")
    assert result["n_rows"] == 7
    assert [session.row(row)["label"] for row in (0, 1, 2, 3)] == [
        "cherry",
        "apple",
        "cherry",
        "apple",
    ]
    assert session.board.counts() == {"n_rows": 40, "given": 2, "hand": 1, "bulk": 7, "aside": 0}
    press(session, "undo")
    assert session.board.counts()["bulk"] == 0
    assert session.row(2)["label"] == "cherry"


def test_bulk_labels_are_checked_by_later_questions(open_session, fruit):
    session = open_session(fruit, classes=CLASSES)
    press(session, "label", list(range(30)), "apple", source="bulk")
    questions = session.questions("useful", 11)
    checks = [question["row"] for question in questions if question["why"] == "check"]
    assert len(checks) == 1
    assert checks[0] < 30
    press(session, "label", checks[0], "cherry")
    press(session, "label", next(row for row in range(30) if row not in checks), "apple")
    assert session.progress()["checks"] == {"n": 2, "agree": 1}


def test_a_stale_window_does_not_overwrite(open_session, fruit):
    one = open_session(fruit, classes=CLASSES)
    two = open_session(fruit, classes=CLASSES)
    press(one, "label", 3, "apple", base=0)
    with pytest.raises(ConflictError, match="Row 4 was changed in another window: label apple"):
        press(two, "label", 3, "cherry", base=0)
    base = two.row(3)["base"]
    press(two, "label", 3, "cherry", base=base)
    one.sync()
    assert one.row(3)["label"] == "cherry"


def test_two_people_see_each_other_and_their_disagreements(open_session, fruit):
    ann = open_session(fruit, classes=CLASSES, user="ann")
    bob = open_session(fruit, classes=CLASSES, user="bob")
    for row, by_ann, by_bob in [
        (0, "cherry", "cherry"),
        (1, "apple", "cherry"),
        (3, "apple", "apple"),
    ]:
        press(ann, "label", row, by_ann, base=0)
        press(bob, "label", row, by_bob, base=0)
    ann.sync()
    assert ann.row(1)["others"] == {"bob": "cherry"}
    assert [row["row"] for row in ann.disagreements()] == [1]
    # p_o = 2/3; p_e = (1/3)(2/3) + (2/3)(1/3)
    assert ann.progress()["agreement"]["kappa"] == pytest.approx(
        (2 / 3 - 4 / 9) / (5 / 9), abs=1e-3
    )
    # The other's rows are not asked again, but for those drawn at random.
    press(bob, "label", int(ann.asking.drawn[5]), "apple")
    ann.sync()
    asked = {question["row"]: question["why"] for question in ann.questions("useful", 40)}
    assert asked.get(int(ann.asking.drawn[5]), "random") == "random"


def test_a_sorted_and_grown_table_keeps_its_labels(open_session, fruit):
    session = open_session(fruit, classes=CLASSES)
    for row in (4, 9, 20):
        press(session, "label", row, truth(row))
    grown = pd.concat([fruit, fruit.tail(1).assign(text="a new one")])
    grown = grown.sort_values("text", ascending=False).reset_index(drop=True)
    again = open_session(grown, classes=CLASSES)
    for row in (4, 9, 20):
        there = int(np.flatnonzero(grown["text"] == fruit["text"][row])[0])
        assert again.row(there)["label"] == truth(row)
    assert again.board.counts()["hand"] == 3
    assert again.changed_rows() == {"n_new": 1, "moved": True, "changed": [], "n_gone": 0}


def test_changed_rows_are_named_and_asked_again(open_session, fruit):
    session = open_session(fruit, classes=CLASSES)
    press(session, "label", 4, "cherry")
    press(session, "label", 5, "apple")
    edited = fruit.copy()
    edited.loc[4, "text"] = "quite another text"
    again = open_session(edited, classes=CLASSES)
    assert again.changed_rows()["changed"] == [[4, "cherry"]]
    assert again.row(4)["label"] is None
    assert again.row(5)["label"] == "apple"


def test_a_grown_table_of_numbers_keeps_its_labels(open_session, fruit):
    table = fruit.assign(pips=range(40))
    press(open_session(table, classes=CLASSES), "label", 4, "cherry")
    more = pd.DataFrame({"text": ["a new one"], "grams": [7.0], "kind": ""})
    grown = pd.concat([table, more], ignore_index=True)
    assert grown["pips"].dtype == float  # pandas has no whole numbers beside a gap
    again = open_session(grown, classes=CLASSES)
    assert again.row(4)["label"] == "cherry"
    assert again.changed_rows() == {"n_new": 1, "moved": False, "changed": [], "n_gone": 0}


def test_no_key_waits_while_words_are_looked_for(open_session, fruit, monkeypatch):
    session = open_session(fruit, classes=CLASSES, learner=True)
    for row in range(8):
        press(session, "label", row, truth(row))
    held = []
    suggestion = session.knowledge.suggestion

    def watched(*arguments):
        held.append(session.lock._is_owned())
        return suggestion(*arguments)

    monkeypatch.setattr(session.knowledge, "suggestion", watched)
    assert all(question["suggestion"] for question in session.questions("useful", 20))
    assert held == [False] * 20


def test_the_words_of_a_row_are_looked_for_once(open_session, fruit, monkeypatch):
    session = open_session(fruit, classes=CLASSES, learner=True)
    for row in range(8):
        press(session, "label", row, truth(row))
    expected = [session.suggestion(row) for row in range(40)]
    monkeypatch.setattr(session.sheet, "text_of", lambda row: pytest.fail("looked again"))
    assert [session.suggestion(row) for row in range(40)] == expected
    monkeypatch.undo()
    monkeypatch.setattr("leaven.app._knowledge._MOST_KEPT", 3)
    assert [session.suggestion(row) for row in (*range(40), 0)] == [*expected, expected[0]]
    assert len(session.knowledge._words) <= 40


def test_a_further_column_changes_nothing(open_session, fruit):
    press(open_session(fruit, classes=CLASSES), "label", 4, "cherry")
    again = open_session(fruit.assign(more=range(40)), classes=CLASSES)
    assert again.row(4)["label"] == "cherry"


def test_the_event_file_of_another_table_is_refused(open_session, fruit):
    press(open_session(fruit, classes=CLASSES), "label", 4, "cherry")
    with pytest.raises(TableError, match="belongs to another table"):
        open_session(fruit.assign(text="different"), classes=CLASSES)


def test_new_classes_and_their_types(open_session, fruit):
    session = open_session(fruit, classes=CLASSES)
    press(session, "class", label="plum")
    press(session, "label", 0, "plum")
    assert session.board.class_names() == [*CLASSES, "plum"]
    with pytest.raises(ValueError, match="already"):
        press(session, "class", label="plum")
    for name in (None, 7, "", "  ", "x" * 201):
        with pytest.raises(ValueError, match="a name of 1 to 200 characters"):
            press(session, "class", label=name)
    numbers = fruit.assign(kind=pd.array([1, 2] + [None] * 38, dtype="Int64"))
    other = open_session(numbers, name="n.db")
    press(other, "class", label="7")
    press(other, "label", 5, "7")
    assert labeled_table(other)["kind"].tolist()[5] == 7
    with pytest.raises(ValueError, match="of type int"):
        press(other, "class", label="plum")


@pytest.mark.parametrize("odd", [{"why": 3}, {"why": "x" * 10_000}, {"shown": "apple"}])
def test_what_was_shown_is_an_object_and_the_reason_short(open_session, fruit, odd):
    session = open_session(fruit, classes=CLASSES)
    with pytest.raises(ValueError, match="why must be a short string and shown an object"):
        press(session, "label", 3, "apple", **odd)


def test_search(open_session, fruit):
    session = open_session(fruit, classes=CLASSES)
    expected = [
        row for row, text in enumerate(fruit["text"]) if "crisp" in text and "pips" not in text
    ]
    found = session.search("CRISP -pips")
    assert found["open"] == expected
    assert session.search('"note 3:"')["open"] == [3]
    assert session.search('"note 3')["n_rows"] >= 1  # still typing the quote
    assert session.search("")["n_rows"] == 0


def test_the_learner_suggests_and_gives_its_reasons(open_session, fruit):
    session = open_session(fruit, classes=CLASSES, learner=True)
    for row in range(8):
        press(session, "label", row, truth(row))
    right = sum(session.suggestion(row)["label"] == truth(row) for row in range(8, 40))
    assert right >= 30
    words = {word for row in range(9, 40, 2) for word in session.suggestion(row)["words"]}
    assert words & {"orchard", "crisp", "pips", "cider", "green"}
    assert not words & {"stone", "sour", "blossom", "kirsch"}
    assert any(session.suggestion(row)["columns"] for row in range(8, 40))
    assert session.progress()["model"] == session.board.state.last


def test_accuracy_comes_from_random_rows_only(open_session, fruit):
    session = open_session(fruit, classes=CLASSES, learner=True)
    drawn = session.asking.drawn.tolist()
    for row in drawn[5:25]:  # not the start of the random order: says nothing
        press(session, "label", row, truth(row))
    assert session.progress()["accuracy"] is None
    for row in drawn[:5]:
        press(session, "label", row, truth(row))
    accuracy = session.progress()["accuracy"]
    assert accuracy["n"] == 25
    assert accuracy["low"] < accuracy["share"] <= accuracy["high"]
    assert session.curve[-1][0] == 25


def test_a_wrong_label_is_suspicious(open_session, fruit):
    session = open_session(fruit, classes=CLASSES, learner=True)
    for row in range(30):
        press(session, "label", row, truth(row) if row != 11 else "cherry")
    suspects = [question["row"] for question in session.questions("suspicious", 5)]
    assert 11 in suspects
    press(session, "label", 11, "apple", why="suspicious")
    assert 11 not in [question["row"] for question in session.questions("suspicious", 5)]


def test_clusters_tell_what_they_are(open_session, fruit):
    session = open_session(fruit, classes=CLASSES, learner=True)
    found = session.cluster()
    assert found["n_rows"] == len(found["open"]) > 5
    assert (len(found["typical"]), len(found["atypical"])) == (5, 3)
    assert found["telling"]
    kinds = {truth(row) for row in found["open"]}
    assert len(kinds) == 1
    press(session, "label", found["open"][:3], "apple", source="bulk")
    press(session, "skip", found["open"][4])
    again = session.cluster(found["cluster"])
    assert (again["n_free"], len(again["open"])) == (found["n_free"] - 4, len(found["open"]))


def test_near_duplicates(open_session, fruit):
    table = pd.concat([fruit, fruit.iloc[[3, 3]]], ignore_index=True)
    table.loc[40, "text"] = table.loc[40, "text"].upper() + "!"
    session = open_session(table, classes=CLASSES, learner=True)
    assert set(session.near(3)["open"]) >= {3, 40, 41}


def test_labels_go_into_the_table(open_session, fruit):
    fruit.loc[1, "kind"] = "apple"
    session = open_session(fruit, classes=CLASSES, learner=True)
    press(session, "label", 0, "cherry")
    press(session, "label", [2, 4], "cherry", source="bulk")
    press(session, "unsure", 6)
    press(session, "note", 6, text="what is this?")
    found = labeled_table(session)
    assert found.loc[[0, 1, 2, 6], "kind"].tolist() == ["cherry", "apple", "cherry", ""]
    assert found.loc[[0, 1, 2, 6], "kind_source"].tolist() == ["hand", "given", "bulk", "inferred"]
    assert found.loc[[0, 1, 2], "kind_by"].tolist() == ["ann", "", "ann"]
    assert found["kind_at"][0].startswith("20")
    assert found["kind_review"][6]
    assert found["kind_note"][6] == "ann: what is this?"
    assert set(found["kind_predicted"]) == set(CLASSES)
    pd.testing.assert_frame_equal(found[["text", "grams"]], fruit[["text", "grams"]])
    # The result can be labeled on: what the export added is not content.
    again = open_session(found, classes=CLASSES)
    assert again.row(0)["label"] == "cherry"
    assert [name for name, _, _ in again.row(0)["cells"]] == ["text", "grams"]


@pytest.mark.parametrize(
    ("target", "classes", "given"),
    [
        ([-1] * 40, [], []),
        ([7, -1, 7] + [-1] * 37, [7], [0, 2]),
        (["7", "-1", ""] + [""] * 37, ["7"], [0]),  # as a CSV file has them
        (["ripe", " ", None] + [None] * 37, ["ripe"], [0]),
    ],
)
def test_no_class_or_one_is_enough_to_begin(open_session, fruit, target, classes, given):
    session = open_session(fruit.assign(kind=target), classes=["new"])
    assert session.board.classes == [*classes, "new"]
    assert np.flatnonzero(session.board.source).tolist() == given


def test_tables_that_cannot_be_labeled(tmp_path, fruit):
    with pytest.raises(TableError, match="no rows"):
        Sheet(fruit.head(0), "kind")
    with pytest.raises(TableError, match="two columns 'a'"):
        Sheet(pd.DataFrame([[1, 2]], columns=["a", "a"]), "kind")
    with pytest.raises(TableError, match="regression"):
        Sheet(fruit.assign(kind=np.linspace(0.5, 9.7, 40)), "kind")
    with pytest.raises(TableError, match="nothing to show"):
        Sheet(fruit[["kind"]], "kind")
    with pytest.raises(TableError, match="no column 'txt'"):
        Sheet(fruit, "kind", text=["txt"])


def test_a_table_of_ids_can_be_labeled_without_suggestions(open_session):
    table = pd.DataFrame({"id": [f"a{i}" for i in range(6)], "kind": ""})
    session = open_session(table, classes=["x", "y"], learner=True)
    for row in range(5):
        press(session, "label", row, "xy"[row % 2])
    assert "No column" in session.progress()["learner"]
    assert session.questions("useful", 5)[0]["suggestion"] is None


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ({"kind": "label", "rows": [0], "label": "apple"}, "key must be"),
        ({"key": "k" * 10, "kind": "melt"}, "kind must be"),
        ({"key": "k" * 10, "kind": "label", "rows": [0, 1], "label": "apple"}, "One row at a time"),
        ({"key": "k" * 10, "kind": "label", "rows": [40], "label": "apple"}, "from 0 to 39"),
        ({"key": "k" * 10, "kind": "label", "rows": [True], "label": "apple"}, "from 0 to 39"),
        ({"key": "k" * 10, "kind": "label", "rows": [0], "label": "pear"}, "no class 'pear'"),
        ({"key": "k" * 10, "kind": "skip", "rows": [0], "source": "bulk"}, "source must be"),
        ({"key": "k" * 10, "kind": "note", "rows": [0], "text": 7}, "text must be"),
        ({"key": "k" * 10, "kind": "class", "label": "  "}, "label must be"),
    ],
)
def test_senseless_actions_are_refused(open_session, fruit, action, message):
    session = open_session(fruit, classes=CLASSES)
    with pytest.raises(ValueError, match=message):
        session.record(action)
    assert session.store.since(0) == []


def test_history_is_newest_first(open_session, fruit):
    session = open_session(fruit, classes=CLASSES)
    for row in range(4):
        press(session, "label", row, truth(row))
    steps = session.history(n_rows=3)
    assert [step["row"] for step in steps] == [3, 2, 1]
    assert [step["row"] for step in session.history(before=steps[-1]["event"])] == [0]


def test_a_learner_of_nothing_is_no_learner(tmp_path, fruit):
    session = Session(Sheet(fruit, "kind"), EventStore(tmp_path / "x.db"), "ann")
    assert "no learner" in session.progress()["learner"]
    session.close()


@pytest.mark.parametrize("method", ["naive-bayes", "consistency", "auto"])
def test_candidates_of_the_engine_answer(fruit, method):
    heard = []
    work = Work(Subject(fruit[["text", "grams"]], texts=("text",), method=method), heard.append)
    work.find_neighbors(work.prepare())
    codes = np.full(40, -1)
    codes[:24] = [row % 2 for row in range(24)]
    work.learn(Request(1, codes, 3, np.arange(0)), lambda: False)
    answers = [news for news in heard if isinstance(news, Answers)][-1]
    assert answers.method == method or method == "auto"
    assert np.mean(answers.top[24:, 0] == np.arange(24, 40) % 2) > 0.8
    if method == "auto":
        assert work.mind._favorite in candidate_names()


def test_leaven_label_takes_the_labels_over(open_session, fruit, tmp_path):
    session = open_session(fruit, classes=CLASSES)
    for row in range(6):
        press(session, "label", row, truth(row))
    file, out = tmp_path / "fruit.csv", tmp_path / "out.csv"
    fruit.iloc[::-1].to_csv(file, index=False)
    arguments = [str(file), "--target", "kind", "--method", "harmonic", "--out", str(out)]
    options = ["--labels", str(tmp_path / "t.labels.db"), "--no-report", "--quiet"]
    found = CliRunner().invoke(main, ["label", *arguments, *options], standalone_mode=False)
    assert found.exception is None
    result = read_table(out)
    given = result[result["kind_source"] == "given"]
    assert sorted(given["text"]) == sorted(fruit["text"][:6])
    assert (result["kind_predicted"] == [truth(row) for row in reversed(range(40))]).mean() > 0.8


def test_all_columns_of_a_row_cost_no_more_than_that_row():
    n_rows, n_columns = 50, 90
    table = pd.DataFrame(
        {f"c{j}": [f"{i}-{j}" for i in range(n_rows)] for j in range(n_columns - 3)}
    )
    table["day"] = pd.date_range("2024-02-28", periods=n_rows)
    table["size"] = [None, *np.arange(1, n_rows) / 4]
    table["count"] = range(n_rows)
    sheet = Sheet(table, "kind")
    cells = sheet.cells(2, full=True)
    shown = {name: cell for name, cell, _ in cells}
    assert [name for name, _, _ in cells] == list(table.columns)
    assert (shown["c0"], shown["c80"]) == ("2-0", "2-80")
    assert (shown["day"], shown["size"], shown["count"]) == ("2024-03-01", "0.5", "2")
    assert {name: cell for name, cell, _ in sheet.cells(0, full=True)}["size"] == ""
    assert len(sheet._cells) == 60  # those that every row shows
    # The same as by whole columns.
    for name in table.columns:
        assert sheet.column(name)[2] == shown[name]
