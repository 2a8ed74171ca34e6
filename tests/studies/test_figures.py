"""The figures show the numbers of the cells."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from studies import figures

COLUMNS = ["dataset", "method", "mean", "se", "published", "published_se"]


def test_curves_by_number_of_labels(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = [
        ("ten digits, 40 labels", "CMN", 0.8, 0.01, np.nan, np.nan),
        ("ten digits, 20 labels", "CMN", 0.6, 0.02, np.nan, np.nan),
        ("1 against 2, 20 labels", "CMN", 0.9, 0.03, np.nan, np.nan),
    ]
    cells = pd.DataFrame(rows, columns=COLUMNS)
    assert figures.can_draw(cells)
    drawn = figures._curves(cells, "accuracy")
    line = drawn.axes[0].containers[0].lines[0]
    assert line.get_xdata().tolist() == [20, 40]
    assert_allclose(np.asarray(line.get_ydata(), dtype=float), [0.6, 0.8])
    assert [ax.get_title() for ax in drawn.axes] == ["ten digits", "1 against 2"]
    path = figures.draw_cells(cells, tmp_path / "images" / "a.png")
    assert path.read_bytes() == figures.draw_cells(cells, tmp_path / "b.png").read_bytes()


def test_a_panel_for_each_measure_of_terms() -> None:
    pytest.importorskip("matplotlib")
    rows = [
        (f"{n} terms", f"{measure}, {criterion}", 0.5 + i / 10, 0.01, np.nan, np.nan)
        for i, n in enumerate(("250", "10,000"))
        for measure in ("chi2", "gss")
        for criterion in ("max", "sum")
    ]
    cells = pd.DataFrame(rows, columns=COLUMNS)
    assert figures.can_draw(cells)
    drawn = figures._curves(cells, "accuracy")
    assert [ax.get_title() for ax in drawn.axes] == ["chi2", "gss"]
    for ax in drawn.axes:
        assert ax.get_xlabel() == "terms"
        assert ax.get_legend_handles_labels()[1] == ["max", "sum"]
        assert ax.containers[0].lines[0].get_xdata().tolist() == [250, 10000]
    assert drawn.axes[0].get_ylim() == drawn.axes[1].get_ylim()


def test_ours_against_printed() -> None:
    pytest.importorskip("matplotlib")
    rows = [("iris", "NB", 0.39, 0.02, 0.42, 0.03), ("wine", "NB", 0.68, 0.02, np.nan, np.nan)]
    cells = pd.DataFrame(rows, columns=COLUMNS)
    line = figures._against_printed(cells).axes[0].containers[0].lines[0]
    assert_allclose([line.get_xdata()[0], line.get_ydata()[0]], [0.42, 0.39])
    assert len(line.get_xdata()) == 1
    assert not figures.can_draw(cells.iloc[1:])  # no number of labels, and nothing printed
