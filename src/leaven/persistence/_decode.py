"""From JSON and arrays back to objects. No name in a file runs code that the file brought."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.neighbors import BallTree, KDTree

from leaven._compat import make_tree
from leaven.persistence._encode import KIND
from leaven.persistence._types import ModelFileError, find_class, find_type

_SEARCH_TREES = {"kd_tree": KDTree, "ball_tree": BallTree}
_SPARSE = ("csr_array", "csc_array", "csr_matrix", "csc_matrix")


class Decoder:
    """Puts together what :class:`~leaven.persistence._encode.Encoder` took apart."""

    def __init__(self, arrays: list[NDArray[Any]]) -> None:
        self._arrays = arrays
        self._known: dict[int, Any] = {}

    def decode(self, node: Any) -> Any:
        """Decode one node and all below it."""
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        if not isinstance(node, dict):
            return node
        decode = _BY_KIND.get(node.get(KIND, ""))
        if decode is None:
            raise ModelFileError(f"The file holds a value of unknown kind {node.get(KIND)!r}.")
        return decode(self, node)

    def keep(self, node: dict[str, Any], value: Any) -> Any:
        """Remember a value under its number, for references to it."""
        self._known[node["id"]] = value
        return value

    def array(self, number: int) -> NDArray[Any]:
        """Give an array of the file by its number."""
        if not isinstance(number, int) or not 0 <= number < len(self._arrays):
            raise ModelFileError(f"The file refers to array {number!r}, which it does not hold.")
        return self._arrays[number]

    def same(self, node: dict[str, Any]) -> Any:
        """Give the value that was decoded under a number."""
        if node["id"] not in self._known:
            raise ModelFileError(f"The file refers to value {node['id']!r} before it defines it.")
        return self._known[node["id"]]


def _object(decoder: Decoder, node: dict[str, Any]) -> Any:
    cls = find_class(node["class"])
    # Without __init__, which may do anything; and kept before its state, which may refer to it.
    value: Any = decoder.keep(node, object.__new__(cls))
    state = {name: decoder.decode(item) for name, item in node["state"]}
    if is_dataclass(cls) and "__setstate__" not in cls.__dict__:
        _restore_dataclass(value, state)
    elif hasattr(value, "__setstate__"):
        value.__setstate__(state)
    else:
        value.__dict__.update(state)
    if isinstance(value, BaseEstimator):
        _fill_parameters(value)
    if state.get("_fit_method") in _SEARCH_TREES and "_tree" not in state:
        _rebuild_tree(value)
    return value


def _restore_dataclass(value: Any, state: dict[str, Any]) -> None:
    known = {field.name: field for field in fields(value)}
    odd = set(state) - set(known)
    for name in set(known) - set(state):
        # A field that is newer than the file has its default.
        if known[name].default is not MISSING:
            state[name] = known[name].default
            continue
        make: Any = known[name].default_factory
        if make is MISSING:
            odd.add(name)
        else:
            state[name] = make()
    if odd:
        raise ModelFileError(
            f"The file's {type(value).__name__} and this version's differ in "
            f"{', '.join(sorted(odd))}. Label the table again, or read the file with the version "
            "that wrote it."
        )
    for name, item in state.items():
        object.__setattr__(value, name, item)  # frozen or not


def _fill_parameters(estimator: BaseEstimator) -> None:
    """Give parameters that are newer than the file their defaults."""
    for name, parameter in signature(type(estimator).__init__).parameters.items():
        if parameter.default is not parameter.empty and name not in vars(estimator):
            setattr(estimator, name, parameter.default)


def _rebuild_tree(neighbors: Any) -> None:
    """Build scikit-learn's compiled search tree again, as the ``fit`` of its estimators does."""
    neighbors._tree = _SEARCH_TREES[neighbors._fit_method](
        neighbors._fit_X,
        neighbors.leaf_size,
        metric=neighbors.effective_metric_,
        **neighbors.effective_metric_params_,
    )


def _tree(decoder: Decoder, node: dict[str, Any]) -> Any:
    state = {name: decoder.decode(item) for name, item in node["state"]}
    n_features, n_nodes = int(node["n_features"]), len(state["nodes"])
    nodes = state["nodes"]
    # The compiled code follows these numbers without looking.
    for child in ("left_child", "right_child"):
        forward = (nodes[child] == -1) | (nodes[child] > np.arange(n_nodes))
        if not (forward & (nodes[child] < n_nodes)).all():
            raise ModelFileError("The file holds a decision tree with a branch that leads nowhere.")
    split = nodes["left_child"] != -1
    feature = nodes["feature"][split]
    if ((feature < 0) | (feature >= n_features)).any() or state["node_count"] != n_nodes:
        raise ModelFileError("The file holds a decision tree that asks for a missing column.")
    n_classes = np.asarray(decoder.decode(node["n_classes"]), dtype=np.intp)
    tree = make_tree(n_features, n_classes, int(node["n_outputs"]), state)
    return decoder.keep(node, tree)


def _objects(decoder: Decoder, node: dict[str, Any]) -> NDArray[Any]:
    shape = tuple(node["shape"])
    if math.prod(shape) != len(node["items"]):  # before memory is taken for it
        raise ModelFileError(f"The file holds an array of shape {shape} with other items.")
    found: NDArray[Any] = np.empty(shape, dtype=object)
    decoder.keep(node, found)
    flat = found.reshape(-1)  # a view, into which each item goes as it is, also a list
    for i, item in enumerate(node["items"]):
        flat[i] = decoder.decode(item)
    return found


def _scalar(decoder: Decoder, node: dict[str, Any]) -> Any:
    return np.dtype(node["dtype"]).type(decoder.decode(node["value"]))


def _sparse(decoder: Decoder, node: dict[str, Any]) -> Any:
    if node["class"] not in _SPARSE:
        raise ModelFileError(f"The file holds a sparse matrix of unknown kind {node['class']!r}.")
    parts = tuple(decoder.array(node[part]) for part in ("data", "indices", "indptr"))
    try:
        found = getattr(sparse, node["class"])(parts, shape=tuple(node["shape"]))
        found.check_format(full_check=True)  # compiled code follows the indices without looking
    except ValueError as error:
        raise ModelFileError(f"The file holds a damaged sparse matrix: {error}.") from error
    return decoder.keep(node, found)


def _random_state(decoder: Decoder, node: dict[str, Any]) -> np.random.RandomState:
    found = np.random.RandomState()
    found.set_state(decoder.decode(node["state"]))
    return found


def _generator(decoder: Decoder, node: dict[str, Any]) -> np.random.Generator:
    bits = np.random.PCG64()
    bits.state = decoder.decode(node["state"])
    return np.random.Generator(bits)


def _frame(decoder: Decoder, node: dict[str, Any]) -> pd.DataFrame:
    columns = decoder.decode(node["columns"])
    index = decoder.decode(node["index"])
    data = {
        i: pd.Series(cells, index=index, dtype=_stored_dtype(cells))
        for i, cells in enumerate(map(decoder.decode, node["data"]))
    }
    frame = pd.DataFrame(data, index=index)
    frame.columns = columns
    return frame


def _series(decoder: Decoder, node: dict[str, Any]) -> pd.Series:
    index, name = decoder.decode(node["index"]), decoder.decode(node["name"])
    cells = decoder.decode(node["data"])
    found: pd.Series = pd.Series(cells, index=index, name=name, dtype=_stored_dtype(cells))
    return found


def _index(decoder: Decoder, node: dict[str, Any]) -> pd.Index:
    cells, name = decoder.decode(node["data"]), decoder.decode(node["name"])
    found: pd.Index = pd.Index(cells, dtype=_stored_dtype(cells), name=name)
    return found


def _stored_dtype(cells: Any) -> Any:
    """Keep objects as objects: pandas 3 would make strings of them. None: as the cells have it."""
    return object if isinstance(cells, np.ndarray) and cells.dtype == object else None


def _categorical(decoder: Decoder, node: dict[str, Any]) -> pd.Categorical:
    dtype = pd.CategoricalDtype(decoder.decode(node["categories"]), ordered=node["ordered"])
    return pd.Categorical.from_codes(decoder.decode(node["codes"]), dtype=dtype)


def _column(decoder: Decoder, node: dict[str, Any]) -> Any:
    cells, dtype = decoder.decode(node["cells"]), node["dtype"]
    if dtype.startswith("datetime64[") and "," in dtype:
        return pd.DatetimeIndex(cells).tz_localize("UTC").astype(dtype)
    if isinstance(cells, np.ndarray) and str(cells.dtype) == dtype:
        return cells
    return pd.array(cells, dtype=dtype)


def _ufunc(decoder: Decoder, node: dict[str, Any]) -> np.ufunc:
    found = getattr(np, str(node["name"]), None)
    if not isinstance(found, np.ufunc):
        raise ModelFileError(f"The file asks for the numpy function {node['name']!r}.")
    return found


def _items(decoder: Decoder, node: dict[str, Any]) -> list[Any]:
    return [decoder.decode(item) for item in node["items"]]


_BY_KIND: dict[str, Callable[[Decoder, dict[str, Any]], Any]] = {
    "same": lambda decoder, node: decoder.same(node),
    "object": _object,
    "tree": _tree,
    "array": lambda decoder, node: decoder.keep(node, decoder.array(node["number"])),
    "objects": _objects,
    "scalar": _scalar,
    "scalar array": lambda decoder, node: decoder.array(node["number"])[()],
    "sparse": _sparse,
    "float": lambda decoder, node: float(node["value"]),
    "tuple": lambda decoder, node: tuple(_items(decoder, node)),
    "set": lambda decoder, node: set(_items(decoder, node)),
    "frozenset": lambda decoder, node: frozenset(_items(decoder, node)),
    "dict": lambda decoder, node: {
        decoder.decode(key): decoder.decode(item) for key, item in node["items"]
    },
    "slice": lambda decoder, node: slice(*_items(decoder, node)),
    "range": lambda decoder, node: range(*node["items"]),
    "type": lambda decoder, node: find_type(str(node["name"])),
    "dtype": lambda decoder, node: np.dtype(str(node["name"])),
    "ufunc": _ufunc,
    "random state": _random_state,
    "generator": _generator,
    "frame": _frame,
    "series": _series,
    "index": _index,
    "range index": lambda decoder, node: pd.RangeIndex(
        range(*node["span"]), name=decoder.decode(node["name"])
    ),
    "column": _column,
    "categorical": _categorical,
    "missing": lambda decoder, node: pd.NA if node["name"] == "NA" else pd.NaT,
    "timestamp": lambda decoder, node: pd.Timestamp(node["value"]),
    "datetime": lambda decoder, node: datetime.fromisoformat(node["value"]).replace(
        fold=node["fold"]
    ),
    "date": lambda decoder, node: date.fromisoformat(node["value"]),
    "bytes": lambda decoder, node: base64.b64decode(node["value"]),
    "path": lambda decoder, node: Path(node["value"]),
}
