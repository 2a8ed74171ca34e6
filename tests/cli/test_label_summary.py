"""What is printed of the rows to label next, on narrow and wide screens."""

from __future__ import annotations

import io
import re

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from leaven.cli._label_summary import _column_widths, _print_asked
from leaven.tables import LabelingResult, label_table

FILLER = "as I wrote to you last week and the week before that"
TOPICS = {"pay": ["invoice", "refund"], "ship": ["parcel", "courier"]}


@pytest.fixture(scope="module")
def asked() -> LabelingResult:
    """Two columns of long texts, whose one telling word stands far from the beginning."""
    rng = np.random.default_rng(0)
    names = np.array(["pay", "ship"])[np.arange(1_200) % 2]
    texts = [
        f"{FILLER}, my {rng.choice(TOPICS[name])} {FILLER} {i}" for i, name in enumerate(names)
    ]
    table = pd.DataFrame({"subject": texts, "body": texts[::-1], "topic": names.astype(object)})
    table.loc[4:, "topic"] = None
    return label_table(table, "topic", method="harmonic", ask=5, details=False)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_row_number_is_whole_at_every_width(asked: LabelingResult, width: int) -> None:
    screen = Console(width=width, record=True, file=io.StringIO())
    _print_asked(screen, asked)
    lines = screen.export_text().splitlines()
    assert max(map(len, lines)) <= width
    assert asked.ask is not None
    for row, line in zip(asked.ask, lines[3:], strict=True):
        number, predicted = re.split(r"\s{2,}", line.strip())[:2]
        assert number == f"{int(row) + 1:,}"
        assert predicted in TOPICS


def test_the_telling_passage_is_shown(asked: LabelingResult) -> None:
    telling = {word for words in TOPICS.values() for word in words}
    for row in asked.ask if asked.ask is not None else ():
        shown = asked.passage(int(row), "subject", 30)
        assert len(shown) <= 30
        assert telling & set(shown.strip("…").split())
    assert asked.passage(0, "topic", 2) == "pay"  # no text: as it is


def test_narrow_columns_leave_their_room_to_the_others() -> None:
    lines = [["row", "kind", "a", "b"], ["12", "bug", 50 * "x", 9 * "y"]]
    # 80 characters less 4 * 3 - 1 between the columns: 69.
    assert _column_widths(lines, 80) == [3, 4, 50, 9]
    assert _column_widths(lines, 60) == [3, 4, 33, 9]
    assert _column_widths(lines, 30) == [3, 4, 6, 6]
    assert min(_column_widths(lines, 5)) == 1
