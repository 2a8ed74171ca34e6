"""The sentence on top, duplicates, bubbles and colors."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaven.report._lead import lead
from leaven.report._map import draw_map, marks_of, spots
from leaven.report._rows import Rows, row_table
from leaven.report._style import STYLE
from leaven.tables import label_table


@pytest.fixture(scope="module")
def titanic():
    """Few distinct rows, each many times, as in tables of categories."""
    deck = np.repeat(["upper", "lower", "crew"], [12, 20, 30])
    sex = np.resize(["m", "f"], 62)
    table = pd.DataFrame({"deck": deck, "sex": sex, "fate": np.where(sex == "m", "lost", "saved")})
    table.loc[::4, "fate"] = "lost"
    table.loc[np.arange(62) % 5 != 0, "fate"] = None
    return label_table(table, "fate", method="naive-bayes")


def words(result) -> str:
    return re.sub(r"<[^>]*>", "", lead(result))


def test_a_named_method_has_no_estimate(titanic):
    n = titanic.summary.n_inferred
    text = words(titanic)
    assert text.startswith(f"{n} cells of fate were filled in; how many of them are right could")
    assert "helped" not in text


@pytest.mark.parametrize(
    ("word", "helped"),
    [
        ("yes", "and the unlabeled rows probably helped."),
        ("no", "and the unlabeled rows probably did not help."),
        ("hardly", "and the unlabeled rows made little difference."),
        ("cannot tell", "and it cannot be told whether the unlabeled rows helped."),
    ],
)
def test_expected_accuracy_and_help(rich_result, make_selection, word, helped):
    selection = make_selection(
        expected_accuracy=0.784,
        expected_accuracy_low=0.603,
        expected_accuracy_high=0.912,
        unlabeled_helped=word,
    )
    text = words(dataclasses.replace(rich_result, selection=selection))
    assert f"expect about 78% of them to be right (60–91%), {helped}" in text


@pytest.mark.parametrize(
    ("n_review", "step"),
    [
        (7, "Next: check the 7 rows that are marked in variety_review."),
        (1, "Next: check the row that is marked in variety_review."),
    ],
)
def test_the_next_step(rich_result, n_review, step):
    summary = dataclasses.replace(rich_result.summary, n_review=n_review, since="<12> more.")
    html = lead(dataclasses.replace(rich_result, summary=summary))
    assert re.sub(r"<[^>]*>", "", html).endswith(f"&lt;12&gt; more. {step}")


def test_the_next_step_where_nothing_is_flagged(rich_result):
    summary = dataclasses.replace(rich_result.summary, n_review=0)
    found = words(dataclasses.replace(rich_result, summary=summary, selection=None))
    assert "Next: label a few more rows of each class" in found


def test_equal_rows_are_shown_once(titanic):
    rows = Rows(titanic)
    shown, counts = rows.hardest(10)
    cells = [(rows.label(row), *(cell for _, cell in rows.cells(row))) for row in shown]
    assert len(set(cells)) == len(cells) <= 6
    assert sum(counts) == titanic.summary.n_inferred
    table = titanic.table
    for row, n_like in zip(shown, counts, strict=True):
        same = (
            (table["deck"] == table["deck"].iloc[row])
            & (table["sex"] == table["sex"].iloc[row])
            & (table["fate_source"] == "inferred")
        )
        assert int(same.sum()) == n_like
    html = row_table(rows, shown.tolist(), "caption", counts=counts)
    assert f"and {counts[0] - 1} like it" in html
    assert (np.diff(rows.confidence[shown]) >= 0).all()


def test_rows_on_one_spot_are_one_mark(titanic):
    rows = Rows(titanic)
    marks = marks_of([(each.name, each.inferred) for each in titanic.summary.classes])
    text, n_drawn = draw_map(titanic.points, rows, marks)
    assert n_drawn == 62
    uses = re.findall(r'<use href="#(\w+)" class="(\w+) \w+" x=', text)
    assert len(uses) <= 4 * 6
    more = [int(number) for number in re.findall(r"and (\d+) rows? more of this class here", text)]
    assert len(uses) + sum(more) == 62
    assert any(name.endswith("l") for name, _ in uses)
    for name, _ in uses:
        assert f'<path id="{name}"' in text


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.booleans()), min_size=1))
def test_spots_count_every_row_once(drawn):
    place, classes, labeled = (np.array(column) for column in zip(*drawn, strict=True))
    xy = np.column_stack([place * 7.5, place * 2.5])
    first, counts = spots(xy, classes, labeled.astype(bool))
    found = {
        (place[i], classes[i], bool(labeled[i])): int(n) for i, n in zip(first, counts, strict=True)
    }
    wanted: dict[tuple[int, int, bool], int] = {}
    for each in drawn:
        wanted[each] = wanted.get(each, 0) + 1
    assert found == wanted
    assert (np.diff(first) > 0).all()


def test_hues_are_for_classes_alone():
    rules = re.findall(r"([^{}]+)\{([^{}]*)\}", STYLE.split("@media print")[0])
    using = {rule.strip() for rule, body in rules if re.search(r"var\(--k\d\)", body)}
    assert {rule for rule in using if not re.fullmatch(r"(/\*.*\*/)?\s*\.k\d", rule)} == set()
