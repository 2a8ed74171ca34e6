"""Files that keep fitted models: arrays and JSON, and nothing in them is executed on loading.

A pickle runs whatever its author wrote into it. A file of leaven holds plain values, arrays and
the names of classes of leaven and scikit-learn; :func:`load_object` puts them together and
refuses any other name.
"""

from __future__ import annotations

from leaven.persistence._file import (
    FORMAT,
    FileHeader,
    load_object,
    pack_object,
    read_header,
    save_object,
    unpack_object,
)
from leaven.persistence._types import ModelFileError

__all__ = [
    "FORMAT",
    "FileHeader",
    "ModelFileError",
    "load_object",
    "pack_object",
    "read_header",
    "save_object",
    "unpack_object",
]
