"""The file around a saved object: a zip archive with a header, the objects and the arrays.

- ``header.json``: what the file is, its format number, the versions that wrote it, the date, what
  the writer had to say of it, and the SHA-256 of the other two. It is read and checked first.
- ``objects.json``: the values, with numbers in place of arrays.
- ``arrays.bin``: the arrays, one after the other; ``objects.json`` lists dtype and shape.
"""

from __future__ import annotations

import hashlib
import json
import platform
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
import scipy
import sklearn
from numpy.lib import format as npy
from numpy.typing import NDArray

from leaven import __version__
from leaven._files import DAMAGE, atomic_output
from leaven.persistence._decode import Decoder
from leaven.persistence._encode import Encoder
from leaven.persistence._types import ModelFileError

MAGIC = "leaven"
FORMAT = 1  # written by this version; raised when a reader of the old one would misread it
# Formats that this version reads. One stays in the list for at least one minor version.
READABLE = (1,)

_HEADER, _OBJECTS, _ARRAYS = "header.json", "objects.json", "arrays.bin"
_LARGEST_HEADER = 1 << 22  # 4 MiB; a header of a table with thousands of columns has 200 kB
_ALIGNMENT = 64  # bytes; arrays that begin at a cache line are read without a copy


@dataclass(frozen=True)
class FileHeader:
    """What a file says of itself before anything in it is loaded.

    Parameters
    ----------
    kind : str
        What was saved, such as ``"table model"``.
    format : int
    versions : dict of str to str
        Of leaven, Python and the libraries that wrote the file.
    created : str
        Date and time (UTC) in ISO format.
    fingerprint : str
        SHA-256 of the content.
    about : dict
        What the writer had to say: plain JSON values.

    Examples
    --------
    >>> from leaven.persistence import FileHeader
    >>> FileHeader("note", 1, {"leaven": "0.2.0"}, "2026-01-02T03:04:05+00:00", "ab12").about
    {}
    """

    kind: str
    format: int
    versions: dict[str, str]
    created: str
    fingerprint: str
    about: dict[str, Any] = field(default_factory=dict)


def save_object(
    path: str | Path, value: Any, *, kind: str, about: Mapping[str, Any] | None = None
) -> None:
    """Write an object to a file; a file of that name is replaced at once or not at all.

    Parameters
    ----------
    path : str or path
    value : object
        Plain values, arrays, tables, and estimators of leaven and scikit-learn.
    kind : str
        What it is; :func:`load_object` checks it.
    about : mapping, optional
        JSON values for :func:`read_header`.

    Raises
    ------
    ModelFileError
        If something in the object cannot be stored; the message names the way to it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.linear_model import LogisticRegression
    >>> from leaven.persistence import load_object, save_object
    >>> model = LogisticRegression().fit([[0.0], [1.0], [3.0], [5.0]], [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_object(Path(folder) / "model.leaven", model, kind="classifier")
    ...     load_object(Path(folder) / "model.leaven", kind="classifier").predict([[0.5], [4.0]])
    array([0, 1])
    """
    objects, blob = pack_object(value, kind.replace(" ", "_"))
    header = {
        "magic": MAGIC,
        "kind": kind,
        "format": FORMAT,
        "versions": {
            "leaven": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
            "pandas": pd.__version__,
        },
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "fingerprint": _fingerprint(objects, blob),
        "about": dict(about or {}),
    }
    with (
        atomic_output(path) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        archive.writestr(_HEADER, json.dumps(header, indent=1))
        archive.writestr(_OBJECTS, objects)
        archive.writestr(_ARRAYS, blob)


def pack_object(value: Any, name: str) -> tuple[bytes, bytes]:
    """Encode an object for a file of another kind than :func:`save_object` writes.

    Parameters
    ----------
    value : object
        As for :func:`save_object`.
    name : str
        Leads to the parts of the object in error messages.

    Returns
    -------
    objects, arrays : bytes
        JSON, and the numbers that it refers to.

    Raises
    ------
    ModelFileError
        If something in the object cannot be stored.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.persistence import pack_object, unpack_object
    >>> unpack_object(*pack_object({"weights": np.array([0.5, 2.0])}, "settings"))
    {'weights': array([0.5, 2. ])}
    """
    encoder = Encoder()
    root = encoder.encode(value, name)
    specs, blob = _pack(encoder.arrays)
    return json.dumps({"arrays": specs, "root": root}, separators=(",", ":")).encode(), bytes(blob)


def unpack_object(objects: bytes, arrays: bytes) -> Any:
    """Give the object that :func:`pack_object` encoded. Nothing in it is executed.

    Parameters
    ----------
    objects, arrays : bytes

    Returns
    -------
    object

    Raises
    ------
    ModelFileError
        If the bytes are damaged or ask for classes of other packages.

    Examples
    --------
    >>> from leaven.persistence import pack_object, unpack_object
    >>> unpack_object(*pack_object((1, "two"), "pair"))
    (1, 'two')
    """
    try:
        content = json.loads(objects)
        return Decoder(_unpack(content["arrays"], arrays)).decode(content["root"])
    except ModelFileError:
        raise
    except DAMAGE as error:
        raise ModelFileError(f"The content is damaged: {error}.") from error


def read_header(path: str | Path) -> FileHeader:
    """Read what a file says of itself.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    FileHeader

    Raises
    ------
    ModelFileError
        If it is no file of leaven, damaged, or of a format that this version does not read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from leaven.persistence import load_object, read_header, save_object
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_object(Path(folder) / "a.leaven", {"c": (1, 2.5)}, kind="note", about={"n": 2})
    ...     read_header(Path(folder) / "a.leaven").about
    {'n': 2}
    """
    with _open(path) as file:
        return _read_header(path, file)


def load_object(path: str | Path, *, kind: str) -> Any:
    """Read an object from a file. No code in the file is executed.

    Parameters
    ----------
    path : str or path
    kind : str
        What is expected.

    Returns
    -------
    object

    Raises
    ------
    ModelFileError
        If it is no file of leaven, of another kind, damaged, of a format that this version does
        not read, or asks for classes of other packages.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from leaven.persistence import load_object, read_header, save_object
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_object(Path(folder) / "a.leaven", {"c": (1, 2.5)}, kind="note", about={"n": 2})
    ...     load_object(Path(folder) / "a.leaven", kind="note")
    {'c': (1, 2.5)}
    """
    with _open(path) as file:
        header = _read_header(path, file)
        if header.kind != kind:
            raise ModelFileError(f"{path} holds a {header.kind}, not a {kind}.")
        try:
            with zipfile.ZipFile(file) as archive:
                objects, blob = archive.read(_OBJECTS), archive.read(_ARRAYS)
            if _fingerprint(objects, blob) != header.fingerprint:
                raise ModelFileError("its content is not what was written")
            return unpack_object(objects, blob)
        except ModelFileError as error:
            raise ModelFileError(f"{path} cannot be loaded: {error}") from error
        except DAMAGE as error:
            raise ModelFileError(f"{path} is damaged: {error}. Save the model again.") from error


def _open(path: str | Path) -> IO[bytes]:
    try:
        return Path(path).open("rb")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelFileError(f"{path} cannot be opened: {reason}.") from error


def _read_header(path: str | Path, file: IO[bytes]) -> FileHeader:
    try:
        with zipfile.ZipFile(file) as archive:
            if archive.getinfo(_HEADER).file_size > _LARGEST_HEADER:
                raise ValueError("the header is too long")
            raw = json.loads(archive.read(_HEADER))
        if raw["magic"] != MAGIC:
            raise ValueError("it was written by another program")
        number, written_by = int(raw["format"]), str(raw["versions"]["leaven"])
        header = FileHeader(
            kind=str(raw["kind"]),
            format=number,
            versions={str(name): str(version) for name, version in raw["versions"].items()},
            created=str(raw["created"]),
            fingerprint=str(raw["fingerprint"]),
            about=dict(raw["about"]),
        )
    except DAMAGE as error:
        raise ModelFileError(
            f"{path} is not a model file of leaven, or is damaged: {error}. Give a file that was "
            "written by 'leaven label --save'."
        ) from error
    if number not in READABLE:
        newer = number > max(READABLE)
        advice = "Install that version or a later one" if newer else "Label the table again"
        raise ModelFileError(
            f"{path} has format {number}, written by leaven {written_by}; leaven {__version__} "
            f"reads format {', '.join(map(str, READABLE))}. {advice}."
        )
    return header


def _fingerprint(objects: bytes, blob: bytes | bytearray) -> str:
    digest = hashlib.sha256(objects)
    digest.update(blob)
    return digest.hexdigest()


def _pack(arrays: list[NDArray[Any]]) -> tuple[list[Any], bytearray]:
    """Lay the arrays one after the other; list dtype, shape and place of each."""
    blob = bytearray()
    specs = []
    for array in arrays:
        # Zeros up to the next aligned place.
        blob.extend(bytes(-len(blob) % _ALIGNMENT))
        specs.append([npy.dtype_to_descr(array.dtype), list(array.shape), len(blob)])
        blob.extend(array.tobytes())
    return specs, blob


def _unpack(specs: list[Any], blob: bytes) -> list[NDArray[Any]]:
    """Cut the arrays out again; each is a copy that may be written to."""
    arrays = []
    for described, shape, start in specs:
        dtype = npy.descr_to_dtype(_as_descr(described))
        if dtype.hasobject:
            raise ModelFileError("It holds an array of Python objects.")
        size = int(np.prod(shape, dtype=object)) if shape else 1
        if min(shape, default=0) < 0 or start < 0 or start + size * dtype.itemsize > len(blob):
            raise ModelFileError("It is shorter than its arrays.")
        flat = np.frombuffer(blob, dtype=dtype, count=size, offset=start)
        arrays.append(flat.reshape(shape).copy())
    return arrays


def _as_descr(described: Any) -> Any:
    """Give the fields of a record dtype as tuples again, which JSON made lists."""
    if isinstance(described, str):
        return described
    return [
        (name, _as_descr(kind), *(tuple(extent) for extent in rest))
        for name, kind, *rest in described
    ]
