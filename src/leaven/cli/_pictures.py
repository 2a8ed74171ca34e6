"""Folders of images as tables, for the commands that take both."""

from __future__ import annotations

import os
from typing import Any

STANDARD_STREAM = "-"


def is_image_folder(file: str) -> bool:
    """Whether FILE is a directory of images that holds no tables."""
    if not os.path.isdir(file):
        return False
    from leaven.tables import TableError, image_table

    try:
        return not has_tables(file) and len(image_table(file)) > 0
    except TableError:
        return False


def has_tables(folder: str) -> bool:
    """Whether a directory holds a file that could be a table."""
    from leaven.tables import TableError, find_files

    try:
        return len(find_files(folder)) > 0
    except TableError:
        return False


def image_rows(folder: str, labels: str | None, target: str | None) -> tuple[Any, str]:
    """Make a table of the images of a folder, labeled by a table or by their subfolders."""
    from leaven.tables import image_table, join_labels, labels_of_folders, read_table

    table = image_table(folder)
    if labels is not None:
        return join_labels(table, read_table(labels), target)
    target = "label" if target is None else target
    return table.assign(**{target: labels_of_folders(table["image"])}), target


def image_folder(file: str, pictures: bool) -> str | None:
    """Where the paths of images of a table start: at its own folder, if Pillow is there."""
    from leaven._optional import is_installed

    if pictures:
        return file
    if file == STANDARD_STREAM or not is_installed("PIL"):
        return None
    return os.path.dirname(os.path.abspath(file))
