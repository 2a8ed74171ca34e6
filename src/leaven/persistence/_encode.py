"""From objects to JSON and arrays."""

from __future__ import annotations

import base64
import math
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from pathlib import PurePath
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.neighbors import BallTree, KDTree

from leaven.persistence._types import (
    TREE,
    WARNING_LIST,
    ModelFileError,
    may_be_stored,
    name_of,
    type_name,
)

# Every node but None, booleans, integers, finite floats, strings and lists is a JSON object
# with the kind of the node under this key.
KIND = "is"


class Encoder:
    """Turns objects into JSON nodes; the numbers of arrays go to ``arrays``.

    An object that is met again becomes a reference to the first one, so that what two
    estimators share (a graph, say) is stored once and shared again after loading.

    Attributes
    ----------
    arrays : list of ndarray
        What the nodes refer to by number.
    """

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._seen: dict[int, int] = {}
        self._alive: list[Any] = []  # an id is only unique while its object lives
        self._path: list[str] = []

    def encode(self, value: Any, name: str) -> Any:
        """Encode a value; ``name`` leads to it in error messages."""
        self._path.append(name)
        node = self._node(value)
        self._path.pop()
        return node

    def _node(self, value: Any) -> Any:
        # numpy's strings and floats are Python's too, by inheritance, and would lose their type.
        plain = isinstance(value, (bool, str)) and not isinstance(value, np.generic)
        if value is None or plain or type(value) is int:
            return value
        if isinstance(value, float) and not isinstance(value, np.generic):
            return value if math.isfinite(value) else {KIND: "float", "value": repr(float(value))}
        if name_of(type(value)) == WARNING_LIST:
            value = value.data
        if type(value) is list:
            return [self.encode(item, f"[{i}]") for i, item in enumerate(value)]
        if id(value) in self._seen:
            return {KIND: "same", "id": self._seen[id(value)]}
        for types, encode in _BY_TYPE:
            if isinstance(value, types):
                return encode(self, value)
        return self._object(value)

    def remember(self, value: Any) -> int:
        """Number an object for later references to it."""
        self._alive.append(value)
        number = self._seen[id(value)] = len(self._seen)
        return number

    def add_array(self, array: NDArray[Any]) -> int:
        """Store an array of numbers, strings or records and give its number."""
        if array.dtype.hasobject:
            raise self.refusal(f"an array of {array.dtype}")
        self.arrays.append(np.ascontiguousarray(array).reshape(array.shape))
        return len(self.arrays) - 1

    def refusal(self, what: str) -> ModelFileError:
        """The error for a value that has no place in a file."""
        path = self._path[0] + "".join(
            part if part.startswith("[") else f".{part}" for part in self._path[1:]
        )
        return ModelFileError(
            f"{path} is {what}, which cannot be saved: a model file holds plain values, arrays and "
            "estimators of leaven and scikit-learn. Replace it, or pickle the model and load it "
            "only where you trust its author."
        )

    def _object(self, value: Any) -> dict[str, Any]:
        cls = type(value)
        if name_of(cls) == TREE:
            return self._tree(value)
        if (
            callable(value)
            and not isinstance(value, (type, BaseEstimator))
            and not may_be_stored(cls)
        ):
            raise self.refusal(f"the function {getattr(value, '__qualname__', value)!r}")
        if not may_be_stored(cls):
            raise self.refusal(f"a {name_of(cls)}")
        node: dict[str, Any] = {KIND: "object", "class": name_of(cls), "id": self.remember(value)}
        node["state"] = [[name, self.encode(v, name)] for name, v in _state_of(value).items()]
        return node

    def _tree(self, tree: Any) -> dict[str, Any]:
        _, (n_features, n_classes, n_outputs), state = tree.__reduce__()
        return {
            KIND: "tree",
            "id": self.remember(tree),
            "n_features": int(n_features),
            "n_classes": self.encode(n_classes, "n_classes"),
            "n_outputs": int(n_outputs),
            "state": [[name, self.encode(value, name)] for name, value in state.items()],
        }


def _state_of(value: Any) -> dict[str, Any]:
    if is_dataclass(value) and "__getstate__" not in type(value).__dict__:
        return {field.name: getattr(value, field.name) for field in fields(value)}
    state = value.__getstate__() if hasattr(value, "__getstate__") else vars(value)
    state = dict(state or {})
    if isinstance(state.get("_tree"), (BallTree, KDTree)):
        del state["_tree"]  # compiled; built again from the rows
    return state


def _array(encoder: Encoder, value: NDArray[Any]) -> dict[str, Any]:
    number = encoder.remember(value)
    if value.dtype == object:
        items = [encoder.encode(item, f"[{i}]") for i, item in enumerate(value.ravel())]
        return {KIND: "objects", "id": number, "shape": list(value.shape), "items": items}
    return {KIND: "array", "id": number, "number": encoder.add_array(value)}


def _scalar(encoder: Encoder, value: np.generic) -> dict[str, Any]:
    if isinstance(value, (np.datetime64, np.timedelta64)) or value.dtype.kind not in "biufU":
        return {KIND: "scalar array", "number": encoder.add_array(np.asarray(value))}
    return {
        KIND: "scalar",
        "dtype": value.dtype.str,
        "value": encoder.encode(value.item(), "item"),
    }


def _sparse(encoder: Encoder, value: Any) -> dict[str, Any]:
    form = value if value.format in ("csr", "csc") else value.tocsr()
    parts = {part: encoder.add_array(getattr(form, part)) for part in ("data", "indices", "indptr")}
    return {
        KIND: "sparse",
        "id": encoder.remember(value),
        "class": type(form).__name__,
        "shape": [int(length) for length in form.shape],
        **parts,
    }


def _mapping(encoder: Encoder, value: dict[Any, Any]) -> dict[str, Any]:
    if type(value) not in (dict, defaultdict, OrderedDict):
        raise encoder.refusal(f"a {name_of(type(value))}")
    items = [
        [encoder.encode(key, "key"), encoder.encode(item, f"[{key!r}]")]
        for key, item in value.items()
    ]
    return {KIND: "dict", "items": items}


def _sequence(kind: str) -> Callable[[Encoder, Any], dict[str, Any]]:
    def encode(encoder: Encoder, value: Any) -> dict[str, Any]:
        if type(value).__name__ != kind:  # a named tuple would come back as another type
            raise encoder.refusal(f"a {name_of(type(value))}")
        ordered = sorted(value, key=repr) if kind in ("set", "frozenset") else value
        return {KIND: kind, "items": [encoder.encode(item, "[]") for item in ordered]}

    return encode


def _class(encoder: Encoder, value: type) -> dict[str, Any]:
    name = type_name(value)
    if name is None:
        raise encoder.refusal(f"the class {name_of(value)}")
    return {KIND: "type", "name": name}


def _random_state(encoder: Encoder, value: np.random.RandomState) -> dict[str, Any]:
    return {KIND: "random state", "state": encoder.encode(value.get_state(legacy=True), "state")}


def _generator(encoder: Encoder, value: np.random.Generator) -> dict[str, Any]:
    bits = value.bit_generator
    if not isinstance(bits, np.random.PCG64):
        raise encoder.refusal(f"a generator with {type(bits).__name__}")
    return {KIND: "generator", "state": encoder.encode(bits.state, "state")}


def _frame(encoder: Encoder, value: pd.DataFrame) -> dict[str, Any]:
    return {
        KIND: "frame",
        "columns": encoder.encode(value.columns, "columns"),
        "index": encoder.encode(value.index, "index"),
        "data": [_column(encoder, value.iloc[:, i]) for i in range(value.shape[1])],
    }


def _series(encoder: Encoder, value: pd.Series) -> dict[str, Any]:
    return {
        KIND: "series",
        "name": encoder.encode(value.name, "name"),
        "index": encoder.encode(value.index, "index"),
        "data": _column(encoder, value),
    }


def _index(encoder: Encoder, value: pd.Index) -> dict[str, Any]:
    if isinstance(value, pd.MultiIndex):
        raise encoder.refusal("an index with more than one part")
    name = encoder.encode(value.name, "name")
    if isinstance(value, pd.RangeIndex):
        span = [int(value.start), int(value.stop), int(value.step)]
        return {KIND: "range index", "span": span, "name": name}
    return {KIND: "index", "data": _column(encoder, value), "name": name}


def _column(encoder: Encoder, value: Any) -> dict[str, Any]:
    """Encode the cells of a column or an index, and their dtype."""
    dtype = value.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        cells = value.array
        return {
            KIND: "categorical",
            "codes": encoder.encode(np.asarray(cells.codes), "codes"),
            "categories": encoder.encode(dtype.categories, "categories"),
            "ordered": bool(dtype.ordered),
        }
    if isinstance(dtype, np.dtype):
        cells = value.to_numpy()
    elif isinstance(dtype, pd.DatetimeTZDtype):
        cells = value.to_numpy(dtype="datetime64[ns]")
    else:
        cells = value.to_numpy(dtype=object)
    return {KIND: "column", "dtype": str(dtype), "cells": encoder.encode(cells, "cells")}


_MISSING = {id(pd.NA): "NA", id(pd.NaT): "NaT"}


def _missing(encoder: Encoder, value: Any) -> dict[str, Any]:
    return {KIND: "missing", "name": _MISSING[id(value)]}


_BY_TYPE: list[tuple[Any, Callable[[Encoder, Any], dict[str, Any]]]] = [
    (np.ndarray, _array),
    (np.generic, _scalar),
    (tuple, _sequence("tuple")),
    (frozenset, _sequence("frozenset")),
    (set, _sequence("set")),
    (dict, _mapping),
    (type, _class),
    (np.dtype, lambda encoder, value: {KIND: "dtype", "name": value.str}),
    (np.ufunc, lambda encoder, value: {KIND: "ufunc", "name": value.__name__}),
    (np.random.RandomState, _random_state),
    (np.random.Generator, _generator),
    (pd.DataFrame, _frame),
    (pd.Series, _series),
    (pd.Index, _index),
    ((type(pd.NA), type(pd.NaT)), _missing),
    (pd.Timestamp, lambda encoder, value: {KIND: "timestamp", "value": value.isoformat()}),
    (
        datetime,
        lambda encoder, value: {
            KIND: "datetime",
            "value": value.isoformat(),
            "fold": value.fold,  # the second 2:30 of the night on which clocks go back
        },
    ),
    (date, lambda encoder, value: {KIND: "date", "value": value.isoformat()}),
    (
        slice,
        lambda encoder, value: {
            KIND: "slice",
            "items": [encoder.encode(v, "part") for v in (value.start, value.stop, value.step)],
        },
    ),
    (range, lambda encoder, value: {KIND: "range", "items": [value.start, value.stop, value.step]}),
    (bytes, lambda encoder, v: {KIND: "bytes", "value": base64.b64encode(v).decode("ascii")}),
    (PurePath, lambda encoder, value: {KIND: "path", "value": str(value)}),
    (sparse.spmatrix, _sparse),
    (sparse.sparray, _sparse),
]
