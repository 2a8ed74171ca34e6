"""Vectors of texts by an embedding model that is installed, each text embedded once."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven._files import atomic_output
from leaven._optional import import_optional, is_installed
from leaven._progress import phase
from leaven.exceptions import MissingExtraError
from leaven.tables._errors import TableError
from leaven.tables._kinds import as_cells
from leaven.tables._vectors import as_cells_of_vectors

SENTENCE_TRANSFORMERS, MODEL2VEC = "sentence_transformers", "model2vec"

SUFFIX = "_vector"
"""What is added to the name of a text column for the column of its vectors."""

DIGEST = 16
"""Bytes by which a text is known again: two of a billion texts agree with probability 1e-21."""

_OF_MODEL2VEC = "minishlab/"
"""Whose models on the Hugging Face hub are for model2vec."""

BATCH = 512
"""Texts that a model is given at a time: some seconds of work, so that the progress line moves."""

Embed = Callable[[list[str]], NDArray[np.float32]]
Vectors = dict[bytes, NDArray[np.float32]]


@dataclass(frozen=True)
class Embedding:
    """Which columns of a table go through which model.

    Parameters
    ----------
    model : str
        A name on the Hugging Face hub, or the path of a folder.
    columns : tuple of str
    cache : str, optional
        A file that keeps the vectors, unless :meth:`join` is given another.
    """

    model: str
    columns: tuple[str, ...]
    cache: str | None = None

    def names_of(self, columns: Sequence[str]) -> list[str]:
        """Name the columns of vectors that a table with these columns gets."""
        return [f"{column}{SUFFIX}" for column in self.columns if column in columns]

    def join(self, table: pd.DataFrame, cache: str | Path | None = None) -> pd.DataFrame:
        """Return a table with a column of vectors for each column of texts."""
        cache = self.cache if cache is None else cache
        known = read_cache(cache, self.model)
        embed: Embed | None = None
        new = {}
        for column in self.columns:
            if column not in table.columns:
                continue  # the model of a table says which columns are missing
            texts = as_cells(table[column]).astype(object).tolist()
            missing = _not_known(texts, known)
            if missing:
                embed = load_embedder(self.model) if embed is None else embed
                _embed_into(known, missing, embed, cache, self.model)
            vectors = np.stack([known[_digest(text)] for text in texts])
            new[f"{column}{SUFFIX}"] = as_cells_of_vectors(vectors)
        return table.assign(**new)


def _embed_into(
    known: Vectors, texts: list[str], embed: Embed, cache: str | Path | None, model: str
) -> None:
    """Embed batch by batch, and keep what is done: who interrupts a long run loses little."""
    n_written = len(known)
    for start in range(0, len(texts), BATCH):
        phase(f"Embedding {len(texts):,} texts, {start:,} done")
        part = texts[start : start + BATCH]
        known.update(zip(map(_digest, part), embed(part), strict=True))
        # The file is written as a whole: only when it has grown by a half, or at the end.
        if start + BATCH >= len(texts) or 2 * len(known) >= 3 * n_written:
            write_cache(cache, model, known)
            n_written = len(known)


def load_embedder(name: str) -> Embed:
    """Load an embedding model of sentence-transformers or model2vec.

    Parameters
    ----------
    name : str
        A name on the Hugging Face hub, or the path of a folder, which needs no network.

    Returns
    -------
    embed : callable
        Texts in, a float32 array with a line for each out.

    Raises
    ------
    MissingExtraError
        If neither package is installed.
    TableError
        If the model cannot be loaded.
    """
    package = _package_of(name)
    module = import_optional(package, extra="embed", needed_by=f"Embedding by {name!r}")
    try:
        with _no_other_bars():
            if package == MODEL2VEC:
                model = module.StaticModel.from_pretrained(name)
            else:
                model = module.SentenceTransformer(name)
    except Exception as error:  # of the hub, of the network, of the files: as many as versions
        raise not_loaded(name, error) from error

    def embed(texts: list[str]) -> NDArray[np.float32]:
        found = np.asarray(model.encode(texts), dtype=np.float32)
        if found.ndim != 2 or len(found) != len(texts) or not np.isfinite(found).all():
            raise TableError(
                f"The embedding model {name!r} gave an array of shape {found.shape} for "
                f"{len(texts):,} texts, or numbers that are not finite."
            )
        return found

    return embed


@contextmanager
def _no_other_bars() -> Iterator[None]:
    """Without the bar that transformers draws while it loads: it would break the line of ours."""
    try:
        bars = importlib.import_module("transformers.utils.logging")
    except ImportError:
        yield
        return
    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            bars.enable_progress_bar()


def not_loaded(name: str, error: Exception) -> TableError:
    """What to say of a model that could not be loaded, in one line."""
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    return TableError(
        f"The embedding model {name!r} could not be loaded: {reason}. Without a network, "
        "download it elsewhere and give the path of its folder."
    )


def _package_of(name: str) -> str:
    """Tell which of the two packages a model is for."""
    installed = [each for each in (SENTENCE_TRANSFORMERS, MODEL2VEC) if is_installed(each)]
    if not installed:
        raise MissingExtraError(
            f"Embedding by {name!r} needs sentence-transformers or model2vec. Install one with: "
            'pip install "leaven[embed]"'
        )
    if len(installed) == 1:
        return installed[0]
    config = Path(name) / "config.json"
    if config.is_file():
        try:
            # Every transformer says its type; model2vec has left it out since 0.10.
            kind = json.loads(config.read_text(encoding="utf-8")).get("model_type", MODEL2VEC)
        except (ValueError, AttributeError):
            kind = None
        return MODEL2VEC if kind == MODEL2VEC else SENTENCE_TRANSFORMERS
    return MODEL2VEC if name.startswith(_OF_MODEL2VEC) else SENTENCE_TRANSFORMERS


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST).digest()


def _not_known(texts: Sequence[str], known: Vectors) -> list[str]:
    return [text for text in dict.fromkeys(texts) if _digest(text) not in known]


def read_cache(path: str | Path | None, model: str) -> Vectors:
    """Vectors by the digests of their texts; none from a file that is another model's or broken."""
    if path is None or not Path(path).is_file():
        return {}
    try:
        # np.load leaves a broken archive open that it opened itself.
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
            if str(file["model"]) != model:
                return {}
            digests, vectors = file["digests"], file["vectors"]
            return {bytes(key): line for key, line in zip(digests, vectors, strict=True)}
    except Exception:  # whatever is wrong with a cache, it is made anew
        return {}


def write_cache(path: str | Path | None, model: str, known: Vectors) -> None:
    if path is None:
        return
    digests = np.frombuffer(b"".join(known), dtype=np.uint8).reshape(len(known), DIGEST)
    with atomic_output(path) as stream:
        np.savez(stream, model=np.str_(model), digests=digests, vectors=np.stack([*known.values()]))
