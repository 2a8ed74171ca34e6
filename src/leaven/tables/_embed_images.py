"""Vectors of images by a pretrained network of timm or torchvision, each image once."""

from __future__ import annotations

import hashlib
import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven._optional import import_optional, is_installed
from leaven.exceptions import LeavenWarning, MissingExtraError
from leaven.tables._embed import (
    DIGEST,
    SUFFIX,
    Vectors,
    not_loaded,
    read_cache,
    write_cache,
)
from leaven.tables._errors import TableError
from leaven.tables._images import opened, unread_note

TIMM, TORCHVISION = "timm", "torchvision"

_BATCH = 32  # images in memory at a time: 20 MB at the usual 224 x 224 pixels

_HEADS = ("fc", "classifier", "heads", "head")
"""What the last layers of the networks of torchvision are called, which give classes."""

EmbedImages = Callable[[Sequence[Any]], NDArray[np.float32]]


@dataclass(frozen=True)
class ImageVectors:
    """Which column of paths goes through which network.

    Parameters
    ----------
    model : str
        A name that timm or torchvision knows, or the path of a folder of timm.
    column : str
    cache : str, optional
        A file that keeps the vectors, unless :meth:`join` is given another.
    """

    model: str
    column: str
    cache: str | None = None
    reason: ClassVar[str] = "paths of images: their vectors are used"

    def names_of(self, columns: Sequence[str]) -> list[str]:
        """Name the columns of vectors that a table with these columns gets."""
        return [f"{self.column}{SUFFIX}"] if self.column in columns else []

    def join(
        self, table: pd.DataFrame, folder: str | Path, cache: str | Path | None = None
    ) -> pd.DataFrame:
        """Return a table with the vectors, and warn of images that cannot be used."""
        if self.column not in table.columns:
            return table
        cache = self.cache if cache is None else cache
        known = read_cache(cache, self.model)
        n_known = len(known)
        found, unread = embed_files(table[self.column], folder, self.model, known)
        if unread:
            warnings.warn(unread_note(unread), LeavenWarning, stacklevel=2)
        if len(known) > n_known:
            write_cache(cache, self.model, known)
        cells = np.empty(len(table), dtype=object)
        for place, digest in enumerate(found):
            cells[place] = None if digest is None else known[digest]
        if all(cell is None for cell in cells):
            path, reason = next(iter(unread.items()))
            raise TableError(f"No image can be read from {folder}: {path!r} ({reason}), ...")
        return table.assign(**{f"{self.column}{SUFFIX}": cells})


def embed_files(
    cells: pd.Series, folder: str | Path, model: str, known: Vectors
) -> tuple[list[bytes | None], dict[str, str]]:
    """Put the vectors of image files that are not known yet into ``known``.

    Parameters
    ----------
    cells : Series of str
        Paths, relative to ``folder`` or absolute.
    folder : str or Path
    model : str
    known : dict
        Vectors by the digests of the files, to which those of new files are added.

    Returns
    -------
    digests : list of bytes or None
        Of each file; None where it is no image.
    unread : dict of str to str
        Paths of those that cannot be read, and why.
    """
    embed: EmbedImages | None = None
    found: list[bytes | None] = []
    unread: dict[str, str] = {}
    waiting: dict[bytes, Any] = {}

    def flush() -> None:
        nonlocal embed
        if waiting:
            embed = load_image_embedder(model) if embed is None else embed
            vectors = embed(list(waiting.values()))
            known.update(zip(waiting, vectors, strict=True))
            waiting.clear()

    for cell in cells:
        path = "" if pd.isna(cell) else str(cell).strip()
        content, problem = _content(Path(folder) / path)
        digest = hashlib.blake2b(content, digest_size=DIGEST).digest()
        if problem is None and digest not in known and digest not in waiting:
            image, problem = opened(io.BytesIO(content), "RGB")
            if problem is None:
                waiting[digest] = image
        found.append(digest if problem is None else None)
        if problem is not None:
            unread[path] = problem
        if len(waiting) == _BATCH:
            flush()
    flush()
    return found, unread


def load_image_embedder(name: str) -> EmbedImages:
    """Load a pretrained network of timm or torchvision without its last layer.

    Parameters
    ----------
    name : str
        Such as ``"resnet18"``. The path of a folder, with the ``config.json`` and the weights of
        timm in it, needs no network.

    Returns
    -------
    embed : callable
        Images of Pillow in, a float32 array with a line for each out.

    Raises
    ------
    MissingExtraError
        If neither package is installed.
    TableError
        If the network cannot be loaded.
    """
    installed = [each for each in (TIMM, TORCHVISION) if is_installed(each)]
    if not installed:
        raise MissingExtraError(
            f"Embedding images by {name!r} needs timm or torchvision. Install one with: "
            "pip install timm"
        )
    try:
        # Installed packages that do not fit each other fail at the import, in their own ways.
        torch: Any = import_optional("torch", extra="deep", needed_by=f"Embedding by {name!r}")
        load = _from_timm if installed[0] == TIMM else _from_torchvision
        model, settings = load(torch, name)
        model.eval()
    except MissingExtraError:
        raise
    except Exception as error:  # of the hub, of the network, of the files: as many as versions
        raise not_loaded(name, error) from error

    def embed(images: Sequence[Any]) -> NDArray[np.float32]:
        batch = np.stack([as_input(image, **settings) for image in images])
        with torch.inference_mode():
            answer = model(torch.from_numpy(batch))
        found = np.asarray(answer.detach().cpu().numpy(), dtype=np.float32)
        # Networks without a pooling layer keep a vector for each place of the image.
        found = found.reshape(*found.shape[:2], -1).mean(axis=2)
        if len(found) != len(images) or not np.isfinite(found).all():
            raise TableError(
                f"The network {name!r} gave an array of shape {found.shape} for {len(images):,} "
                "images, or numbers that are not finite."
            )
        return np.asarray(found, dtype=np.float32)

    return embed


def as_input(
    image: Any,
    *,
    size: tuple[int, int],
    mean: Sequence[float],
    std: Sequence[float],
    crop: float,
) -> NDArray[np.float32]:
    """Scale and crop an image to the middle, and standardize its colors.

    Parameters
    ----------
    image : PIL.Image.Image
    size : tuple of two int
        Height and width that the network takes.
    mean, std : sequences of 3 float
        Of the colors, between 0 and 1.
    crop : float
        Share of the shorter side that stays.

    Returns
    -------
    array of shape (3, height, width)

    Examples
    --------
    >>> from PIL import Image
    >>> from leaven.tables._embed_images import as_input
    >>> gray = Image.new("RGB", (40, 20), (51, 51, 51))
    >>> found = as_input(gray, size=(8, 8), mean=(0.1, 0.2, 0.3), std=(0.1, 0.2, 0.5), crop=0.8)
    >>> found.shape, [round(float(value), 3) for value in found[:, 0, 0]]
    ((3, 8, 8), [1.0, 0.0, -0.2])
    """
    height, width = size
    factor = max(height / (crop * image.height), width / (crop * image.width))
    wide, high = (
        max(round(image.width * factor), width),
        max(round(image.height * factor), height),
    )
    left, top = (wide - width) // 2, (high - height) // 2
    small = image.convert("RGB").resize((wide, high), resample=_BICUBIC)
    small = small.crop((left, top, left + width, top + height))
    values = np.asarray(small, dtype=np.float32) / np.float32(255)
    center: NDArray[Any] = np.array(mean, dtype=np.float32)
    spread: NDArray[Any] = np.array(std, dtype=np.float32)
    found = (values - center) / spread
    return np.ascontiguousarray(found.transpose(2, 0, 1), dtype=np.float32)


_BICUBIC = 3  # PIL.Image.Resampling.BICUBIC, which is an optional dependency


def _from_timm(torch: Any, name: str) -> tuple[Any, dict[str, Any]]:
    timm: Any = import_optional(TIMM, extra="image", needed_by=f"Embedding by {name!r}")
    source = f"local-dir:{Path(name).absolute()}" if Path(name).is_dir() else name
    model = timm.create_model(source, pretrained=True, num_classes=0)
    config = model.pretrained_cfg
    _, height, width = config["input_size"]
    settings = {
        "size": (int(height), int(width)),
        "mean": tuple(config["mean"]),
        "std": tuple(config["std"]),
        "crop": float(config.get("crop_pct") or 1.0),
    }
    return model, settings


def _from_torchvision(torch: Any, name: str) -> tuple[Any, dict[str, Any]]:
    models: Any = import_optional(
        "torchvision.models", extra="image", needed_by=f"Embedding by {name!r}"
    )
    weights = models.get_model_weights(name).DEFAULT
    model = models.get_model(name, weights=weights)
    for head in _HEADS:
        if hasattr(model, head):
            setattr(model, head, torch.nn.Identity())
            break
    transform = weights.transforms()
    size = int(transform.crop_size[0])
    settings = {
        "size": (size, size),
        "mean": tuple(transform.mean),
        "std": tuple(transform.std),
        "crop": size / float(transform.resize_size[0]),
    }
    return model, settings


def _content(path: Path) -> tuple[bytes, str | None]:
    """The bytes of a file, or why there are none."""
    try:
        return path.read_bytes(), None
    except FileNotFoundError:
        return b"", "no such file"
    except (OSError, ValueError) as error:
        return b"", str(getattr(error, "strerror", None) or error)
