"""When two paths are one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaven.cli import _outputs
from leaven.cli._outputs import is_same_file


def test_links_are_the_file_they_lead_to(tmp_path: Path) -> None:
    file, link, twin = (tmp_path / name for name in ("a.csv", "link.csv", "twin.csv"))
    file.write_text("a\n")
    link.symlink_to(file)
    twin.hardlink_to(file)
    assert is_same_file(str(file), str(link))
    assert is_same_file(str(file), str(twin))
    assert not is_same_file(str(file), "-")


@pytest.mark.parametrize(("ignores_case", "expected"), [(True, True), (False, False)])
def test_case_counts_where_the_folder_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ignores_case: bool, expected: bool
) -> None:
    # Whether a file system ignores case cannot be chosen here.
    monkeypatch.setattr(_outputs, "_ignores_case", lambda folder: ignores_case)
    (tmp_path / "other").mkdir()
    new = str(tmp_path / "labels.csv")
    assert is_same_file(new, str(tmp_path / "Labels.CSV")) is expected
    assert not is_same_file(new, str(tmp_path / "others.csv"))
    assert not is_same_file(new, str(tmp_path / "other" / "labels.csv"))
