"""Columns of image paths: the pixels of small images as vectors."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven._optional import import_optional
from leaven.exceptions import LeavenWarning
from leaven.tables._errors import TableError
from leaven.tables._kinds import DROPPED, IMAGE_PATHS, column_kinds

IMAGE_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".bmp": "image/bmp",
}
"""What a browser shows. Not SVG, which may hold scripts."""

IMAGE = "image"
"""Name of the column of paths in the table of a folder."""

SUFFIX = "_pixels"
"""What is added to the name of a column of paths for the column of pixels."""

MOST_PIXELS = 64 * 64
"""Of an image whose pixels are compared one by one: in larger ones nothing stays in its place."""

SAME_SIZE = 0.9
"""Share of the images that must have one size; the others are skipped, as those that do not open.
With more of another size the table is one of images of several sizes, and not of one with
mistakes."""

_MOST_NAMED = 5  # images that a note names before it says how many more there are


@dataclass(frozen=True)
class Pixels:
    """Which column of paths becomes pixels, and of which size.

    Parameters
    ----------
    column : str
    size : tuple of two int
        Width and height.
    """

    column: str
    size: tuple[int, ...]
    reason: ClassVar[str] = "paths of images: their pixels are used"

    def names_of(self, columns: Sequence[str]) -> list[str]:
        """Name the columns of pixels that a table with these columns gets."""
        return [f"{self.column}{SUFFIX}"] if self.column in columns else []

    def join(self, table: pd.DataFrame, folder: str | Path) -> pd.DataFrame:
        """Return a table with the pixels, and warn of images that cannot be used."""
        if self.column not in table.columns:
            return table
        images, unread = read_images(table[self.column], folder)
        cells = np.empty(len(table), dtype=object)
        for place, image in enumerate(images):
            if image is not None and image.shape[::-1] == self.size:
                cells[place] = image.ravel().astype(np.float32)
            elif image is not None:
                path, size = str(table[self.column].iloc[place]), _times(image.shape[::-1])
                unread[path] = f"it is {size}, not {_times(self.size)}"
        if unread:
            warnings.warn(unread_note(unread), LeavenWarning, stacklevel=2)
        return table.assign(**{f"{self.column}{SUFFIX}": cells})


def find_pixels(features: pd.DataFrame, folder: str | Path) -> Pixels | None:
    """Return the column of paths whose images are small and of one size, or None if there is none.

    Where images cannot be compared by their pixels, a warning says so, and the other columns are
    learned from.

    Raises
    ------
    TableError
        If there is no other column.
    """
    kinds = column_kinds(features)
    for kind in kinds:
        if kind.reason != IMAGE_PATHS:
            continue
        images, unread = read_images(features[kind.name], folder)
        sizes = Counter(image.shape[::-1] for image in images if image is not None)
        problem = _problem_with(kind.name, sizes, unread, folder)
        if problem is None:
            return Pixels(kind.name, sizes.most_common(1)[0][0])
        if all(each.kind == DROPPED for each in kinds):
            raise problem
        warnings.warn(f"Not learned from: {problem.message}", LeavenWarning, stacklevel=2)
    return None


def _problem_with(
    name: str, sizes: Counter[tuple[int, ...]], unread: dict[str, str], folder: str | Path
) -> TableError | None:
    """Why the images of a column cannot be compared by their pixels."""
    if not sizes:
        path, reason = next(iter(unread.items()))
        return TableError(
            f"No image of {name!r} can be read from {folder}: {path!r} ({reason}), ..."
        )
    (size, count) = sizes.most_common(1)[0]
    if count >= SAME_SIZE * sizes.total() and np.prod(size) <= MOST_PIXELS:
        return None
    listed = ", ".join(_times(size) for size in sorted(sizes)[:_MOST_NAMED])
    return TableError(
        f"The images of {name!r} are too large or of several sizes ({listed}) to be compared pixel "
        f"by pixel, which takes one size of at most {MOST_PIXELS:,} pixels. Compute a vector of "
        "each with a pretrained network, by the option embed or by yourself.",
        advice=("Pass", "vectors", "vectors.npy"),
    )


def read_images(
    cells: pd.Series, folder: str | Path
) -> tuple[list[NDArray[np.uint8] | None], dict[str, str]]:
    """Read images in gray.

    Parameters
    ----------
    cells : Series of str
        Paths, relative to ``folder`` or absolute.
    folder : str or Path

    Returns
    -------
    images : list of arrays of shape (height, width), or None
    unread : dict of str to str
        Paths of those that cannot be read, and why.
    """
    images: list[NDArray[np.uint8] | None] = []
    unread: dict[str, str] = {}
    for cell in cells:
        path = "" if pd.isna(cell) else str(cell).strip()
        image, problem = opened(Path(folder) / path, "L")
        images.append(None if problem is not None else np.asarray(image, dtype=np.uint8))
        if problem is not None:
            unread[path] = problem
    return images, unread


def opened(file: Path | IO[bytes], mode: str) -> tuple[Any, str | None]:
    """Open an image of Pillow in a mode such as "RGB", or say why it cannot be opened.

    Parameters
    ----------
    file : Path or binary stream
    mode : str

    Returns
    -------
    image : PIL.Image.Image or None
    problem : str or None
    """
    pillow: Any = import_optional("PIL.Image", extra="image", needed_by="Reading images")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pillow.DecompressionBombWarning)
            with pillow.open(file) as image:
                return image.convert(mode), None
    except (OSError, ValueError, SyntaxError, pillow.DecompressionBombError) as error:
        return None, _reason(error)
    except pillow.DecompressionBombWarning:
        return None, "it is too large"


def image_column(table: pd.DataFrame) -> str | None:
    """Name the first column of a table that holds paths of images, or return None."""
    names = [kind.name for kind in column_kinds(table) if kind.reason == IMAGE_PATHS]
    return names[0] if names else None


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
    >>> from leaven.tables import image_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.png", "a.JPG", "notes.txt"):
    ...         pathlib.Path(folder, name).touch()
    ...     image_table(folder)["image"].tolist()
    ['a.JPG', 'b.png']
    """
    root = Path(folder)
    paths = [
        each for each in root.rglob("*") if each.suffix.lower() in IMAGE_TYPES and each.is_file()
    ]
    if not paths:
        known = ", ".join(sorted(IMAGE_TYPES))
        raise TableError(f"The folder {folder} has no image that a browser shows ({known}).")
    return pd.DataFrame({IMAGE: sorted(each.relative_to(root).as_posix() for each in paths)})


def labels_of_folders(paths: pd.Series) -> pd.Series:
    """Take the first folder of a path for the class of an image; in none it is unlabeled.

    Parameters
    ----------
    paths : Series of str

    Returns
    -------
    labels : Series of str

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.tables import labels_of_folders
    >>> labels_of_folders(pd.Series(["cat/1.png", "2.png", "dog/old/3.png"])).tolist()
    ['cat', '', 'dog']
    """
    first = paths.str.partition("/")
    return first[0].where(first[1] == "/", "")


def join_labels(table: pd.DataFrame, labels: pd.DataFrame, target: str | None) -> tuple[Any, str]:
    """Give the images of a folder the labels of a table with a column of paths.

    Parameters
    ----------
    table : DataFrame
        With the column ``image``.
    labels : DataFrame
        A column with the paths of images and one with labels.
    target : str or None
        The column of labels; None if there is only one other column.

    Returns
    -------
    table : DataFrame
    target : str

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.tables import join_labels
    >>> images = pd.DataFrame({"image": ["a.png", "b.png"]})
    >>> labels = pd.DataFrame({"file": ["b.png"], "kind": ["cat"]})
    >>> join_labels(images, labels, None)[0]["kind"].tolist()
    ['', 'cat']
    """
    known = set(table["image"])
    hits = {name: int(labels[name].astype(str).isin(known).sum()) for name in labels.columns}
    paths = max(hits, key=lambda name: hits[name])
    if not hits[paths]:
        raise TableError(
            "No column of the labels holds names of images of the folder, such as "
            f"{table['image'].iloc[0]!r}."
        )
    others = [str(name) for name in labels.columns if name != paths]
    if target is None and len(others) != 1:
        raise TableError(
            f"The labels have the columns {', '.join(others)}: which one is the target?",
            advice=("Pass", "target", others[0] if others else "..."),
        )
    target = others[0] if target is None else target
    if target not in others:
        raise TableError(f"The labels have no column {target!r}.")
    given = labels[labels[target].notna()].drop_duplicates(paths, keep="last")
    by_path = dict(zip(given[paths].astype(str), given[target], strict=True))
    return table.assign(**{target: table["image"].map(by_path).fillna("")}), target


def unread_note(unread: dict[str, str]) -> str:
    shown = ", ".join(f"{path!r} ({why})" for path, why in list(unread.items())[:_MOST_NAMED])
    more = f" and {len(unread) - _MOST_NAMED:,} more" if len(unread) > _MOST_NAMED else ""
    n = len(unread)
    what = "1 image was skipped" if n == 1 else f"{n:,} images were skipped"
    return f"{what}: {shown}{more}."


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    text = getattr(error, "strerror", None) or str(error).splitlines()[0]
    return "it is no image" if "cannot identify" in text else str(text)


def _times(size: Sequence[int]) -> str:
    return f"{size[0]} x {size[1]}"
