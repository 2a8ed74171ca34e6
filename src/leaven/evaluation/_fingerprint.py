"""What a run was made with, in words and numbers that can be compared between runs."""

from __future__ import annotations

import copyreg
import enum
import hashlib
import importlib
import json
import types
from pathlib import PurePath
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from leaven.evaluation._trial import Active, Tuned

# Attribute by which an object names itself: a string that changes when what it does changes.
NAMED_BY = "__fingerprint__"

# Characters of one description; a longer one is cut, and told apart by a digest of all of it.
_LONGEST = 4_000

# What objects say of themselves to pickle; fixed, as the answer depends on it.
_PICKLE_PROTOCOL = 4


def describe(value: Any) -> str:
    """A text for a parameter that is the same in every process, for equal values only.

    Arrays are described by a digest, estimators by class and parameters, functions by name and
    code (with their defaults and what they close over, if they cannot be imported), other
    objects by what they tell :mod:`pickle`. What can be seen into by none of these is refused:
    two objects of which nothing is known must not look equal.

    Examples
    --------
    >>> from leaven.evaluation._fingerprint import describe
    >>> describe({"b": slice(0, 2), "a": 1.5})
    "{'a': 1.5, 'b': builtins.slice(0, 2, None)}"
    >>> describe(lambda X: X * 2) == describe(lambda X: X * 3)
    False
    """
    text = _describe(value, ())
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}... {hashlib.sha256(text.encode()).hexdigest()}"


def _describe(value: Any, above: tuple[int, ...]) -> str:
    if value is None or type(value) in (bool, int, float, complex, str, bytes):
        return repr(value)
    if id(value) in above:
        return "<itself>"  # a recursive function, or an object that holds itself
    above = (*above, id(value))
    own_name = getattr(value, NAMED_BY, None)
    if isinstance(own_name, str):
        return f"{_kind(value)} {own_name!r}"
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, np.ndarray) or hasattr(value, "tocsr"):
        return f"{type(value).__name__} {value.shape} {digest_of(value)}"
    if isinstance(value, (pd.DataFrame, pd.Series, pd.Index)):
        return f"{type(value).__name__} {value.shape} {digest_of(value)}"
    if isinstance(value, PurePath):
        return f"path {value.as_posix()!r}"
    if isinstance(value, enum.Enum):
        return f"{_kind(value)}.{value.name}"
    if type(value) in (dict, types.MappingProxyType):
        pairs = sorted((_describe(key, above), _describe(v, above)) for key, v in value.items())
        return "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
    if type(value) in (set, frozenset):
        return "{" + ", ".join(sorted(_describe(item, above) for item in value)) + "}"
    if type(value) in (list, tuple):
        return "[" + ", ".join(_describe(item, above) for item in value) + "]"
    if isinstance(value, types.ModuleType):
        return value.__name__
    if isinstance(value, type):
        return _describe_class(value, above)
    if isinstance(value, types.FunctionType):
        return _describe_function(value, above)
    if isinstance(value, FrozenEstimator):  # its parameters do not tell what was learned
        return f"{_kind(value)}({_describe(vars(value.estimator), above)})"
    if hasattr(value, "get_params"):
        params = value.get_params(deep=False)
        inside = ", ".join(f"{key}={_describe(params[key], above)}" for key in sorted(params))
        return f"{_describe(type(value), above)}({inside})"
    return _describe_object(value, above)


def _describe_class(value: type, above: tuple[int, ...]) -> str:
    """Name of a class; of one that cannot be imported, its functions and values too."""
    name = f"{value.__module__}.{value.__qualname__}"
    if _can_be_imported(value):
        return name
    parts = [
        f"{key}={_describe(getattr(member, '__func__', member), above)}"
        for key, member in sorted(vars(value).items())
        if isinstance(getattr(member, "__func__", member), types.FunctionType)
        or (not key.startswith("__") and _is_plain(member))
    ]
    parts += [_describe(base, above) for base in value.__bases__ if base is not object]
    return f"{name} {_digest(', '.join(parts))}"


def _describe_function(value: types.FunctionType, above: tuple[int, ...]) -> str:
    """Name and code of a function; of one that cannot be imported, all that it uses."""
    code = _describe_code(value.__code__)
    if not _can_be_imported(value):
        code += _describe([value.__defaults__, value.__kwdefaults__], above)
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        code += _describe(cells, above)
        around = value.__globals__
        used = {name: around[name] for name in _names(value) if name in around}
        code += _describe(used, above)
    return f"{value.__module__}.{value.__qualname__} {_digest(code)}"


def _describe_code(code: types.CodeType) -> str:
    constants = [
        _describe_code(each) if isinstance(each, types.CodeType) else _describe(each, ())
        for each in code.co_consts
    ]
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {constants}"


def _names(function: types.FunctionType) -> set[str]:
    """The global names in a function, and in the functions inside it."""
    found: set[str] = set()
    waiting = [function.__code__]
    while waiting:
        code = waiting.pop()
        found.update(code.co_names)
        waiting += [each for each in code.co_consts if isinstance(each, types.CodeType)]
    return found


def _describe_object(value: Any, above: tuple[int, ...]) -> str:
    """Describe an object by what it tells pickle; refuse one that pickle cannot take."""
    reduce = copyreg.dispatch_table.get(type(value))
    try:
        parts: Any = value.__reduce_ex__(_PICKLE_PROTOCOL) if reduce is None else reduce(value)
    except Exception as error:
        raise ValueError(_cannot_see(value)) from error
    if isinstance(parts, str):
        return f"{getattr(value, '__module__', '')}.{parts}"
    make, args, *rest = parts
    state = rest[0] if rest else None
    items = [list(more) for more in rest[1:3] if more is not None]
    if getattr(make, "__module__", "") == "copyreg" and args:
        # copyreg.__newobj__(cls, ...), which is what plain objects are made by
        make, args = args[0], args[1:]
    inside = [_describe(item, above) for item in args]
    if state is not None:
        inside.append(_describe(state, above))
    inside += [_describe(item, above) for item in items if item]
    name = (
        _describe(make, above)
        if isinstance(make, (type, types.FunctionType))
        else f"{getattr(make, '__module__', '')}.{getattr(make, '__qualname__', _kind(make))}"
    )
    return f"{name}({', '.join(inside)})"


def _cannot_see(value: Any) -> str:
    return (
        f"a {_kind(value)} among the parameters cannot be looked into, so nothing tells whether "
        f"it is the same in the next run. Give it an attribute {NAMED_BY}, a string that changes "
        "when what it does changes, or compare without a store."
    )


def _can_be_imported(value: Any) -> bool:
    """Whether the name of a class or function leads to it, in a module that is a file."""
    if value.__module__ == "__main__":  # a script or notebook, in which it may change
        return False
    try:
        found: Any = importlib.import_module(value.__module__)
        for part in value.__qualname__.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return False
    return found is value


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, complex, str, bytes, list, tuple))


def _kind(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def describe_estimator(estimator: Any) -> dict[str, str]:
    """Class and parameters of an estimator, each described by a text."""
    if isinstance(estimator, Tuned):
        inner = describe_estimator(estimator.estimator)
        return {**inner, "grid": describe(estimator.grid)}
    if isinstance(estimator, Active):
        inner = describe_estimator(estimator.estimator)
        return {**inner, "strategy": describe(estimator.strategy)}
    kind = describe(type(estimator))
    if isinstance(estimator, FrozenEstimator):
        return {"class": kind, "estimator": describe(estimator)}
    params = estimator.get_params(deep=False)
    return {"class": kind, **{key: describe(value) for key, value in params.items()}}


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
        # Equal matrices may store their entries in different orders.
        matrix.sort_indices()
        for part in (matrix.data, matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)):
            digest.update(digest_of(part).encode())
    else:
        array = np.asarray(values)
        if array.dtype.kind in "OUST":
            cells = [
                None if pd.api.types.is_scalar(v) and pd.isna(v) else v
                for v in array.ravel().tolist()
            ]
            digest.update(json.dumps(cells, default=describe).encode())
        else:
            digest.update(f"{array.dtype.kind}{array.dtype.itemsize}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:12]
