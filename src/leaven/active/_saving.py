"""Saving a session of labeling to a file, and going on with it.

The file is a zip archive:

- ``header.json``: the kind of file, its format number, the version of leaven and the
  fingerprint of the data. It is read and checked before anything else is opened.
- ``labels.json``: labels, steps and settings, readable by any program.
- ``X*.npy``: the rows, if they are stored as an array or a sparse matrix.
- ``predictions_*.npy``: what the stopping rules compare.
- ``objects.json`` and ``objects.bin``: estimator, strategy and stopping rules, and a data frame or
  texts if the rows are such, as :mod:`leaven.persistence` stores them. Nothing in them is
  executed.
- ``objects.pickle`` in their place, if :meth:`ActiveLearner.save` was allowed to pickle and had
  to. It is opened only by ``load(..., allow_pickle=True)``.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

import leaven
from leaven._files import DAMAGE, atomic_output
from leaven.active._model import PoolModel
from leaven.active._state import LabelState, as_python, rows_and_names
from leaven.persistence import ModelFileError, pack_object, unpack_object

KIND = "leaven active learner"
# Number of the file format, raised when an older leaven could not read the file, and the numbers
# that this one reads. In format 1 the objects are always a pickle.
FORMAT = 2
READABLE = (1, 2)

Learner = TypeVar("Learner", bound="SavingMixin")


def fingerprint(X: Any) -> dict[str, Any]:
    """Describe ``X`` so that another data set is told apart: shape, dtype, SHA-256.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.active._saving import fingerprint
    >>> one, other = fingerprint(np.zeros((3, 2))), fingerprint(np.ones((3, 2)))
    >>> one["shape"], one["sha256"] == other["sha256"]
    ([3, 2], False)
    """
    digest = hashlib.sha256()
    if isinstance(X, pd.DataFrame):
        kind = "data frame"
        dtype = ", ".join(f"{name}: {kind}" for name, kind in X.dtypes.items())
        digest.update(dtype.encode())
        digest.update(pd.util.hash_pandas_object(X, index=True).to_numpy().tobytes())
    elif sparse.issparse(X):
        kind, dtype = "sparse", str(X.dtype)
        canonical = sparse.csr_array(X, copy=True)
        canonical.sum_duplicates()
        for part in (canonical.indptr, canonical.indices):
            digest.update(part.astype(np.int64).tobytes())
        digest.update(canonical.data.tobytes())
    else:
        kind, dtype = "array", str(X.dtype)
        if X.dtype.kind == "O":
            for cell in X.ravel():
                digest.update(repr(cell).encode())
        else:
            digest.update(np.ascontiguousarray(X).tobytes())
    return {
        "kind": kind,
        "shape": [int(length) for length in X.shape],
        "dtype": dtype,
        "sha256": digest.hexdigest(),
    }


def write_state(
    path: str | os.PathLike[str],
    *,
    header: dict[str, Any],
    labels: dict[str, Any],
    predictions: dict[str, NDArray[Any]],
    objects: dict[str, Any],
    X: Any,
    allow_pickle: bool,
) -> None:
    """Write the archive to a temporary file beside ``path``, then put it in place at once."""
    # Class names are Python values and JSON cannot tell a number from its name otherwise.
    members: dict[str, bytes] = {
        "header.json": json.dumps(
            {"kind": KIND, "format": FORMAT, "leaven": leaven.__version__, **header}, indent=1
        ).encode(),
        "labels.json": json.dumps(labels).encode(),
        **_objects_as_members(objects, allow_pickle),
    }
    arrays = {**{f"predictions_{name}": array for name, array in predictions.items()}}
    if sparse.issparse(X):
        arrays |= {"X_data": X.data, "X_indices": X.indices, "X_indptr": X.indptr}
        arrays["X_shape"] = np.asarray(X.shape)
    elif X is not None:
        arrays["X"] = X
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=False)
        members[f"{name}.npy"] = buffer.getvalue()
    # Level 1: saved after every few labels, and the arrays hardly compress better at level 9.
    with (
        atomic_output(path) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        for name, content in members.items():
            archive.writestr(name, content)


def _objects_as_members(objects: dict[str, Any], allow_pickle: bool) -> dict[str, bytes]:
    """Encode the objects: by :mod:`leaven.persistence`, or by pickle where that is allowed."""
    try:
        plain, arrays = pack_object(objects, "learner")
        return {"objects.json": plain, "objects.bin": arrays}
    except ModelFileError as error:
        if not allow_pickle:
            raise ValueError(
                f"{error} For an ActiveLearner: save(path, allow_pickle=True), and load it with "
                "allow_pickle=True."
            ) from error
    try:
        return {"objects.pickle": pickle.dumps(objects, protocol=5)}
    except Exception as error:
        raise ValueError(
            "The estimator, the strategy or a stopping rule cannot be pickled, so that the state "
            f"cannot be saved: {error}. Functions defined inside other functions and lambdas are "
            "the usual cause; define them in a module."
        ) from error


class StoredState:
    """A file written by :func:`write_state`, its header checked when it is opened."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            with zipfile.ZipFile(self.path) as archive:
                self._names = archive.namelist()
            self.header: dict[str, Any] = self._json("header.json")
        except FileNotFoundError:
            raise
        except DAMAGE as error:
            raise ValueError(
                f"{self.path} is no saved ActiveLearner: {error}. Give a file that was written by "
                "ActiveLearner.save."
            ) from error
        if self.header.get("kind") != KIND:
            raise ValueError(f"{self.path} is no saved ActiveLearner, but holds {self.header}.")
        self._check_version()

    def _check_version(self) -> None:
        saved, number = str(self.header.get("leaven")), self.header.get("format")
        if number in READABLE and compatible(saved, leaven.__version__):
            return
        raise ValueError(
            f"{self.path} was saved by leaven {saved} (format {number}), but this is leaven "
            f"{leaven.__version__} (format {FORMAT}), which may ask other rows. Install leaven "
            f"{saved} to go on with it, or start anew with the labels: they are in labels.json "
            "inside the file, which is a zip archive."
        )

    def check_data(self, X: Any) -> None:
        """Refuse rows that are not those of the file."""
        saved, given = self.header["fingerprint"], fingerprint(X)
        for name in ("kind", "shape", "dtype", "sha256"):
            if saved[name] == given[name]:
                continue
            what = "content" if name == "sha256" else name
            values = "" if name == "sha256" else f": {saved[name]} there, {given[name]} here"
            raise ValueError(
                f"{self.path} belongs to another data set: X differs in {what}{values}. Give the "
                "X with which the learner was fitted, in the same order of rows."
            )

    def labels(self) -> dict[str, Any]:
        """Labels, steps and settings."""
        return self._json("labels.json")

    def predictions(self) -> dict[str, NDArray[Any]]:
        """What the stopping rules compare."""
        names = [name for name in self._names if name.startswith("predictions_")]
        return {
            name.removeprefix("predictions_").removesuffix(".npy"): self._array(name)
            for name in names
        }

    def rows(self) -> Any:
        """The rows, if they are stored as an array or a sparse matrix; else None."""
        if "X.npy" in self._names:
            return self._array("X.npy")
        if "X_data.npy" not in self._names:
            return None
        parts = tuple(self._array(f"X_{part}.npy") for part in ("data", "indices", "indptr"))
        return sparse.csr_array(parts, shape=tuple(self._array("X_shape.npy").tolist()))

    def objects(self, allow_pickle: bool) -> dict[str, Any]:
        """The estimator and what goes with it."""
        if "objects.pickle" not in self._names:
            try:
                plain, arrays = self._read("objects.json"), self._read("objects.bin")
                return dict(unpack_object(plain, arrays))
            except ModelFileError as error:
                raise ValueError(f"{self.path} cannot be loaded: {error}") from error
        if not allow_pickle:
            raise ValueError(
                f"{self.path} holds a pickle, and to open one can run code that its author put "
                "there. If you trust the author, load it with allow_pickle=True; otherwise give "
                "estimator (and X), then the pickle stays closed."
            )
        return dict(pickle.loads(self._read("objects.pickle")))

    def _read(self, name: str) -> bytes:
        try:
            with zipfile.ZipFile(self.path) as archive:
                return archive.read(name)
        except FileNotFoundError:
            raise
        except DAMAGE as error:
            raise ValueError(f"{self.path} is damaged: {error}. Go back to a copy.") from error

    def _json(self, name: str) -> dict[str, Any]:
        return dict(json.loads(self._read(name)))

    def _array(self, name: str) -> NDArray[Any]:
        return np.asarray(np.load(io.BytesIO(self._read(name)), allow_pickle=False))


def compatible(saved: str, current: str) -> bool:
    """Whether two versions may share a state: the same minor before 1.0, the same major after.

    Examples
    --------
    >>> from leaven.active._saving import compatible
    >>> compatible("0.1.0", "0.1.7"), compatible("0.1.0", "0.2.0"), compatible("1.2", "1.4")
    (True, False, True)
    """
    one, other = saved.split("."), current.split(".")
    return one[:2] == other[:2] if "0" in (one[0], other[0]) else one[0] == other[0]


class SavingMixin:
    """Gives :class:`ActiveLearner` ``save`` and ``load``."""

    if TYPE_CHECKING:
        estimator: Any
        strategy: Any
        stopping: Any
        batch_size: int
        diversity: str | None
        budget: int | None
        sees_pool: bool | str
        random_state: Any
        verbose: int
        _X: Any
        _names: pd.Index | None
        _own_index: bool
        _state: LabelState
        _seed: int
        _model: PoolModel
        _fitted_step: int | None
        _trace: dict[int, NDArray[np.intp]]
        _trace_names: list[Any]
        _begin: Callable[..., None]

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        with_rows: bool = True,
        allow_pickle: bool = False,
    ) -> None:
        """Write the session to a file; a file of this name is replaced, at once or not at all.

        Labels, steps and settings are stored as JSON inside a zip archive, the estimator, the
        strategy and the stopping rules as JSON and arrays (:mod:`leaven.persistence`): to load
        such a file runs nothing that it brings.

        Parameters
        ----------
        path : str or path
        with_rows : bool, default=True
            Whether ``X`` is stored too, so that ``load(path)`` needs nothing else. Otherwise
            ``load`` is to be given the same ``X``; it checks that.
        allow_pickle : bool, default=False
            Whether an estimator, strategy or rule of another package than leaven and
            scikit-learn may be pickled. Otherwise it is refused.
        """
        check_is_fitted(self)
        random_state = self.random_state if isinstance(self.random_state, Integral) else None
        settings = {
            "batch_size": int(self.batch_size),
            "diversity": self.diversity,
            "budget": None if self.budget is None else int(self.budget),
            "sees_pool": self.sees_pool if self.sees_pool == "auto" else bool(self.sees_pool),
            "verbose": int(self.verbose),
            "random_state": None if random_state is None else int(random_state),
        }
        as_arrays = sparse.issparse(self._X) or (
            isinstance(self._X, np.ndarray) and self._X.dtype.kind != "O"
        )
        rows = self._X
        if not as_arrays and self._names is not None and isinstance(rows, np.ndarray):
            rows = pd.Series(rows, index=self._names)  # texts, with the names of their rows
        names = None
        if self._own_index and self._names is not None:
            names = as_python(self._names.to_numpy())
        write_state(
            path,
            header={"fingerprint": fingerprint(self._X)},
            labels={
                **self._state.to_json(),
                "seed": self._seed,
                "settings": settings,
                "index": names,
                "trace_names": self._trace_names,
            },
            predictions={str(step): codes for step, codes in self._trace.items()},
            objects={
                "estimator": self.estimator,
                "strategy": self.strategy,
                "stopping": self.stopping,
                "X": rows if with_rows and not as_arrays else None,
                # A warm start goes on from here; any other fit can be done again.
                "model": self._model if self._model.warm else None,
                "fitted_step": self._fitted_step,
            },
            X=self._X if with_rows and as_arrays else None,
            allow_pickle=allow_pickle,
        )

    @classmethod
    def load(
        cls: type[Learner],
        path: str | os.PathLike[str],
        X: Any = None,
        *,
        estimator: Any = None,
        strategy: Any = None,
        stopping: Any = None,
        allow_pickle: bool = False,
    ) -> Learner:
        """Go on with a session that was saved; the next query is what it would have been.

        A file of another version of leaven, or of other rows, is refused with the reason. Nothing
        in the file is executed, unless it holds a pickle and ``allow_pickle`` is set.

        Parameters
        ----------
        path : str or path
        X : array-like, sparse matrix, DataFrame or texts, default=None
            The rows; needed if they were not saved, and checked in any case.
        estimator : classifier, default=None
            To be used in place of the saved one, together with ``strategy`` and ``stopping``.
        strategy : query strategy, default=None
        stopping : stopping rule or list of them, default=None
        allow_pickle : bool, default=False
            Whether a pickle in the file may be opened, which can run code: only for files whose
            author you trust. With ``estimator`` (and ``X`` if it is a data frame) it stays
            closed in any case.

        Returns
        -------
        learner : ActiveLearner
        """
        stored = StoredState(path)
        labels = stored.labels()
        rows = names = None
        if X is not None:
            rows, names = rows_and_names(X, labels["index"])
            stored.check_data(rows)
        objects: dict[str, Any] = {}
        if rows is None:
            rows = stored.rows()
        if estimator is None or rows is None:
            objects = stored.objects(allow_pickle)
        if rows is None:
            rows = objects["X"]
            if rows is None:
                raise ValueError(f"{path} was saved without the rows. Give X, the same as to fit.")
        if X is None:
            rows, names = rows_and_names(rows, labels["index"])
        if estimator is None:
            parts = {name: objects[name] for name in ("estimator", "strategy", "stopping")}
            if strategy is not None:
                parts["strategy"] = strategy
            if stopping is not None:
                parts["stopping"] = stopping
        else:
            parts = {"estimator": estimator, "strategy": strategy, "stopping": stopping}
        learner = cls(**parts, **labels["settings"])
        learner._begin(rows, names, LabelState.from_json(labels), labels["seed"])
        learner._own_index = labels["index"] is not None
        learner._trace = {int(step): codes for step, codes in stored.predictions().items()}
        learner._trace_names = labels["trace_names"]
        if estimator is None and objects["model"] is not None:
            learner._model, learner._fitted_step = objects["model"], objects["fitted_step"]
        return learner
