"""The images of a table, and no other file."""

from __future__ import annotations

import os
from pathlib import Path

from leaven.tables import IMAGE_TYPES, TableError

MOST_BYTES = 50_000_000  # of one image: a photograph of 50 megapixels has about half of that


def image_file(cell: str, folder: Path) -> tuple[Path, str]:
    """Return the path and type of the image that a cell names.

    Parameters
    ----------
    cell : str
        A path relative to ``folder``, or an absolute one inside it.
    folder : Path
        Nothing outside of it is read, also not through a link.

    Raises
    ------
    TableError
        If the cell names no image inside the folder.
    """
    kind = IMAGE_TYPES.get(os.path.splitext(cell.strip())[1].lower())
    if kind is None:
        raise TableError(f"{cell!r} is not an image that a browser shows.")
    root = Path(os.path.realpath(folder))
    path = Path(os.path.realpath(root / cell.strip()))
    if not path.is_relative_to(root):
        raise TableError(f"{cell!r} lies outside the folder of the images, {root}.")
    if not path.is_file() or path.stat().st_size > MOST_BYTES:
        raise TableError(f"{cell!r} is not there, or is larger than {MOST_BYTES // 1_000_000} MB.")
    return path, kind
