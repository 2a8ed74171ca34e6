"""The images of a table, and no other file."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd

from leaven.tables import TableError

TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".bmp": "image/bmp",
}
"""What a browser shows. Not SVG, which may hold scripts."""

MOST_BYTES = 50_000_000  # of one image: a photograph of 50 megapixels has about half of that


def image_table(folder: str | Path) -> pd.DataFrame:
    """Make a table of the images in a folder and its folders, one row each.

    Parameters
    ----------
    folder : str or Path

    Returns
    -------
    table : DataFrame
        With the column ``image``, paths relative to the folder, in alphabetical order.

    Raises
    ------
    TableError
        If the folder has no image that a browser shows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from leaven.app import image_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.png", "a.JPG", "notes.txt"):
    ...         pathlib.Path(folder, name).touch()
    ...     image_table(folder)["image"].tolist()
    ['a.JPG', 'b.png']
    """
    root = Path(folder)
    paths = [each for each in root.rglob("*") if each.suffix.lower() in TYPES and each.is_file()]
    if not paths:
        raise TableError(
            f"The folder {folder} has no image that a browser shows ({', '.join(sorted(TYPES))})."
        )
    return pd.DataFrame({"image": sorted(each.relative_to(root).as_posix() for each in paths)})


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
    kind = TYPES.get(os.path.splitext(cell.strip())[1].lower())
    if kind is None:
        raise TableError(f"{cell!r} is not an image that a browser shows.")
    root = Path(os.path.realpath(folder))
    path = Path(os.path.realpath(root / cell.strip()))
    if not path.is_relative_to(root):
        raise TableError(f"{cell!r} lies outside the folder of the images, {root}.")
    if not path.is_file() or path.stat().st_size > MOST_BYTES:
        raise TableError(f"{cell!r} is not there, or is larger than {MOST_BYTES // 1_000_000} MB.")
    return path, kind
