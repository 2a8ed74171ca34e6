"""What a run was made with, in words and numbers that can be compared between runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven.evaluation._trial import Active, Tuned


def describe(value: Any) -> str:
    """A text for a parameter that is the same in every process for equal values.

    Arrays are described by a digest, functions and classes by name, other objects by their
    class and attributes; no text holds an address in memory.
    """
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return repr(value)
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, np.ndarray) or hasattr(value, "tocsr"):
        return f"{type(value).__name__} {value.shape} {digest_of(value)}"
    if isinstance(value, (pd.DataFrame, pd.Series, pd.Index)):
        return f"{type(value).__name__} {value.shape} {digest_of(value)}"
    if isinstance(value, Mapping):
        pairs = sorted((describe(key), describe(item)) for key, item in value.items())
        return "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(describe, value))) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(describe, value)) + "]"
    name = getattr(value, "__qualname__", None)
    if name is not None:
        code = getattr(value, "__code__", None)
        body = "" if code is None else f" {hashlib.sha256(code.co_code).hexdigest()[:12]}"
        return f"{getattr(value, '__module__', '')}.{name}{body}"
    params = value.get_params(deep=False) if hasattr(value, "get_params") else _attributes(value)
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    return f"{kind}({', '.join(f'{key}={describe(params[key])}' for key in sorted(params))})"


def _attributes(value: Any) -> dict[str, Any]:
    return dict(getattr(value, "__dict__", {}))


def describe_estimator(estimator: Any) -> dict[str, str]:
    """Class and parameters of an estimator, each described by a text."""
    if isinstance(estimator, Tuned):
        inner = describe_estimator(estimator.estimator)
        return {**inner, "grid": describe(estimator.grid)}
    if isinstance(estimator, Active):
        inner = describe_estimator(estimator.estimator)
        return {**inner, "strategy": describe(estimator.strategy)}
    kind = f"{type(estimator).__module__}.{type(estimator).__qualname__}"
    params = {key: describe(value) for key, value in estimator.get_params(deep=False).items()}
    return {"class": kind, **params}


def describe_data(X: Any, y: NDArray[Any]) -> dict[str, str]:
    """Shape and digest of the rows, and digest of their classes."""
    return {
        "shape": " x ".join(map(str, X.shape)),
        "X": digest_of(X),
        "y": digest_of(np.asarray(y)),
    }


def digest_of(values: Any) -> str:
    """Twelve hexadecimal digits of the SHA-256 of an array, sparse matrix or table."""
    digest = hashlib.sha256()
    if isinstance(values, pd.DataFrame):
        digest.update(json.dumps([str(name) for name in values.columns]).encode())
        for j in range(values.shape[1]):
            digest.update(digest_of(values.iloc[:, j].to_numpy()).encode())
    elif hasattr(values, "tocsr"):
        matrix = values.tocsr().copy()
        matrix.sort_indices()
        for part in (matrix.data, matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)):
            digest.update(digest_of(part).encode())
    else:
        array = np.asarray(values)
        if array.dtype.kind in "OUST":
            kinds = [None if pd.isna(v) else v for v in array.ravel().tolist()]
            digest.update(json.dumps(kinds, default=str).encode())
        else:
            digest.update(f"{array.dtype.kind}{array.dtype.itemsize}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:12]
