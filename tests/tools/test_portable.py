"""The runner of variants: it runs what the processor can, and counts what failed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools import portable


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
    monkeypatch.setattr(sys, "argv", ["portable", "--workers", "0"])
    assert portable.main() == 1
    printed = capsys.readouterr().out
    assert "level 2: 2 passed" in printed
    assert "level 3: 1 failed, 1 passed" in printed
    assert "level 9: left out, this processor has no no_such_flag" in printed
    monkeypatch.setattr(sys, "argv", ["portable", "--workers", "0", "--only", "level 2"])
    assert portable.main() == 0


def test_the_summary_is_the_last_line() -> None:
    assert portable.summary("a\n\n==== 3 passed in 1s ====\n\n") == "3 passed in 1s"
