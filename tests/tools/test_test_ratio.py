"""Lines of code, told from docstrings, comments and empty lines."""

from __future__ import annotations

from collections import Counter

import pytest

from tools import test_ratio


@pytest.mark.parametrize(
    ("source", "n_lines", "n_comments"),
    [
        ("", 0, 0),
        ("# only\n\n# comments\n", 0, 2),
        ('"""A module."""\n', 0, 0),
        ('x = """text\nthat is\ndata"""\n', 3, 0),  # a string that is used is code
        ("x = (\n    1,  # one\n\n    2,\n)\n", 4, 1),
        ('def f():\n    """Say\n    it.\n    """\n    return 2\n', 2, 0),
        ('K = 3\n"""Docstring of a constant."""\n', 1, 0),
        ("a = 1; b = 2\n", 1, 0),
    ],
)
def test_lines_of_code_and_comments(source, n_lines, n_comments):
    assert test_ratio.count_lines(source) == (n_lines, n_comments)


def test_packages_are_counted_by_their_first_folder(tmp_path):
    (tmp_path / "graph" / "deep").mkdir(parents=True)
    (tmp_path / "one.py").write_text("x = 1\ny = 2\n")
    (tmp_path / "graph" / "a.py").write_text("x = 1  # why\n")
    (tmp_path / "graph" / "deep" / "b.py").write_text("\n\ny = [\n    2,\n]\n# end\n")
    (tmp_path / "graph" / "notes.txt").write_text("not code\n")
    lines, n_comments = test_ratio.count_packages(tmp_path)
    assert lines == {"root": 2, "graph": 4}
    assert n_comments == 2


def test_report_has_a_line_per_package_and_counts_tests_of_no_package():
    lines = list(test_ratio.report(Counter(b=40, a=160), Counter(a=80, studies=30), 9))
    assert lines[0].split() == ["a", "160", "80", "0.50"]
    assert lines[1].split() == ["b", "40", "0", "0.00"]
    assert lines[2].split() == ["total", "200", "110", "0.55"]
    assert lines[3].endswith(": 4.50")


@pytest.mark.parametrize(("goal", "code"), [("0.5", 0), ("0.51", 1)])
def test_a_ratio_below_the_goal_fails(goal, code, capsys, monkeypatch, tmp_path):
    for folder, lines in (("src/leaven/solvers", 4), ("tests/solvers", 2)):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.py").write_text("x = 1\n" * lines)
    monkeypatch.setattr(test_ratio, "ROOT", tmp_path)
    assert test_ratio.main(["--goal", goal]) == code
    assert capsys.readouterr().out.splitlines()[1].split() == ["solvers", "4", "2", "0.50"]
