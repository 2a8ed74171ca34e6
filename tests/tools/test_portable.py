"""The runner of variants: it runs what the processor can, and counts what failed."""

from __future__ import annotations

import ast
import doctest
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tools import portable
from tools.thresholds import functions_with_thresholds, has_threshold, is_kept


def test_the_tests_of_every_variant_exist() -> None:
    for variant in portable.VARIANTS:
        assert [name for name in variant.tests if not (portable.ROOT / name).exists()] == []
    names = [variant.name for variant in portable.VARIANTS]
    assert len(set(names)) == len(names)


def test_failures_and_what_the_processor_cannot_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_level.py").write_text(
        "import os\ndef test_level(): assert os.environ['LEVEL'] == '2'\ndef test_same(): pass\n"
    )
    variants = [
        portable.Variant(f"level {level}", {"LEVEL": level}, (str(tmp_path),)) for level in "23"
    ]
    variants.append(portable.Variant("level 9", {"LEVEL": "9"}, needs="no_such_flag"))
    monkeypatch.setattr(portable, "VARIANTS", variants)
    monkeypatch.setattr(portable, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["portable", "--workers", "0", "--all"])
    assert portable.main() == 1
    printed = capsys.readouterr().out
    assert "level 2: 2 passed" in printed
    assert "level 3: 1 failed, 1 passed" in printed
    assert "level 9: left out, this processor has no no_such_flag" in printed
    monkeypatch.setattr(sys, "argv", ["portable", "--workers", "0", "--all", "--only", "level 2"])
    assert portable.main() == 0


def test_the_summary_is_the_last_line() -> None:
    assert portable.summary("a\n\n==== 3 passed in 1s ====\n\n") == "3 passed in 1s"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("assert score(X) > 0.9", True),
        ("assert abs(a - b) < 1e-9", True),
        ("assert_allclose(a, b, atol=tolerance)", True),
        ("assert a == approx(b, rel=1e-3)", True),
        ("assert a.shape == (3, 2) and total > 5", False),
        ("x = 0.25 * y; assert x is y", False),
    ],
)
def test_where_rounding_can_decide(body: str, expected: bool) -> None:
    assert has_threshold(ast.parse(body)) is expected


def test_helpers_and_examples_count(tmp_path: Path) -> None:
    file = tmp_path / "test_a.py"
    file.write_text(
        "def close(a): assert a < 0.1\n"
        "def near(a): close(a)\n"
        "def test_near(): near(3)\n"
        "def test_name(): assert 'a' == 'b'\n"
    )
    assert functions_with_thresholds(file) == {"close", "near", "test_near"}
    kept = [
        is_kept(SimpleNamespace(name=f"{name}[1]", originalname=name, path=file))
        for name in ("test_near", "test_name")
    ]
    assert kept == [True, False]
    for text, expected in ((">>> f()\n0.25", True), (">>> f()\n94%", True), (">>> f()\n7", False)):
        examples = doctest.DocTestParser().get_doctest(text, {}, "name", None, None)
        assert is_kept(SimpleNamespace(dtest=examples)) is expected
