"""Which directories are taken as images."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaven.cli._pictures import is_image_folder


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], False),
        (["one.png"], True),
        (["one.png", "two.jpg"], True),
        (["one.png", "rows.csv"], False),
        (["notes.txt"], False),
    ],
)
def test_a_directory_of_images_alone(tmp_path: Path, names: list[str], expected: bool) -> None:
    for name in names:
        (tmp_path / name).write_bytes(b"")
    assert is_image_folder(str(tmp_path)) is expected
    assert not is_image_folder(str(tmp_path / "elsewhere"))
