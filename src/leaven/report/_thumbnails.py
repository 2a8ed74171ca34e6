"""Small images inside the page: it loads nothing, so they stand in it as data."""

from __future__ import annotations

import base64
import io
import os
from pathlib import Path
from typing import Any

from leaven._optional import import_optional, is_installed
from leaven.report._text import safe
from leaven.tables import IMAGE_TYPES, LabelingResult

SIDE = 64  # pixels of the longer side: enough to recognize an image, about 2 kB as JPEG
MOST_BYTES = 8_000  # of one; noise that does not compress is left out
MOST = 60  # on a page, which stays below 700 kB of them


class Thumbnails:
    """Thumbnails of the images of a labeled table, at most ``MOST`` of them.

    Parameters
    ----------
    result : LabelingResult

    Attributes
    ----------
    column : str or None
        The column of paths; None if there is none, or Pillow is not installed.
    """

    def __init__(self, result: LabelingResult) -> None:
        self.column = result.image_column if is_installed("PIL") else None
        self._folder = result.options.image_folder
        self._made: dict[str, str] = {}

    def of(self, cell: Any) -> str:
        """Return the element that shows the image that a cell names, or an empty string."""
        path = str(cell).strip()
        if path not in self._made:
            if self._folder is None or sum(map(bool, self._made.values())) >= MOST:
                return ""
            self._made[path] = thumbnail(path, Path(self._folder))
        data = self._made[path]
        return f'<img class="thumb" src="{data}" alt="{safe(path)}">' if data else ""


def thumbnail(cell: str, folder: Path) -> str:
    """Return a small version of an image as a ``data:`` address, or an empty string.

    Parameters
    ----------
    cell : str
        A path relative to ``folder``, or an absolute one inside it.
    folder : Path
        Nothing outside of it is shown, also not through a link: a page may be sent on.

    Returns
    -------
    str

    Examples
    --------
    >>> from pathlib import Path
    >>> from leaven.report._thumbnails import thumbnail
    >>> thumbnail("no/such/file.png", Path("."))
    ''
    """
    root = os.path.realpath(folder)
    path = os.path.realpath(os.path.join(root, cell))
    inside = os.path.commonpath([root, path]) == root
    if not inside or os.path.splitext(path)[1].lower() not in IMAGE_TYPES:
        return ""
    pillow: Any = import_optional("PIL.Image", extra="image", needed_by="Thumbnails")
    try:
        with pillow.open(path) as image:
            image.draft("RGB", (SIDE, SIDE))  # large JPEG files are read at a fraction
            small = image.convert("RGB")
            small.thumbnail((SIDE, SIDE))
            # What was small before is shown as it is, without the blocks of JPEG.
            form = "PNG" if max(image.size) <= SIDE else "JPEG"
            stream = io.BytesIO()
            small.save(stream, form, **({} if form == "PNG" else {"quality": 75}))
    except Exception:  # an image that does not open was named when the table was labeled
        return ""
    if stream.tell() > MOST_BYTES:
        return ""
    data = base64.b64encode(stream.getvalue()).decode("ascii")
    return f"data:image/{form.lower()};base64,{data}"
