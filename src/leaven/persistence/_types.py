"""Which classes and functions a model file may name."""

from __future__ import annotations

import builtins
import importlib
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

# Nothing else is ever imported on behalf of a file.
PACKAGES = ("leaven", "sklearn")

# Of leaven only what methods are made of: the other packages hold files, servers and processes.
METHODS = frozenset(
    {
        "active",
        "base",
        "generative",
        "graph",
        "graph_based",
        "low_density",
        "model_selection",
        "representation",
        "selection",
        "self_labeling",
        "solvers",
        "tables",
        "text",
    }
)
# Parts of scikit-learn's estimators that are no estimators themselves.
PLAIN_CLASSES = frozenset(
    {
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.utils._metadata_requests.MetadataRequest",  # in scorers of scikit-learn 1.6
        "sklearn.utils._metadata_requests.MethodMetadataRequest",
    }
)
PLAIN_MODULES = frozenset({"sklearn.gaussian_process.kernels", "sklearn.model_selection._split"})
# A list of scikit-learn 1.6 and 1.7 that warns when it is read; it is stored as a plain one.
WARNING_LIST = "sklearn.compose._column_transformer._RemainderColsList"
TREE = "sklearn.tree._tree.Tree"
BUILTIN_TYPES = frozenset({"bool", "bytes", "float", "int", "object", "str"})


class ModelFileError(ValueError):
    """A model file cannot be written or read; the message says why and what to do."""


def name_of(cls: type) -> str:
    """Give the dotted name under which a class is stored.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from leaven.persistence._types import name_of
    >>> name_of(SVC)
    'sklearn.svm._classes.SVC'
    """
    return f"{cls.__module__}.{cls.__qualname__}"


def may_be_stored(cls: type) -> bool:
    """Whether objects of a class may stand in a model file.

    Estimators and their parts are bags of attributes: to restore one is to set these. A class
    that does something when it is opened or goes out of use is left out.
    """
    package, _, rest = cls.__module__.partition(".")
    if package not in PACKAGES or hasattr(cls, "__del__") or hasattr(cls, "__enter__"):
        return False
    if package == "leaven":
        return rest.partition(".")[0] in METHODS
    return (
        issubclass(cls, BaseEstimator)
        or name_of(cls) in PLAIN_CLASSES
        or cls.__module__ in PLAIN_MODULES
    )


def find_class(name: str) -> type:
    """Find a class by its stored name.

    Raises
    ------
    ModelFileError
        If the name is of another package, does not exist, or may not stand in a file.
    """
    package = name.partition(".")[0]
    if package not in PACKAGES:
        raise ModelFileError(
            f"The file asks for {name!r}. Only classes of leaven and scikit-learn are loaded, so "
            "that a file from elsewhere cannot run its own code."
        )
    found = _look_up(name)
    if not isinstance(found, type) or name_of(found) != name or not may_be_stored(found):
        raise ModelFileError(
            f"The file asks for {name!r}, which this version of leaven does not load. It may come "
            "from another version of leaven or scikit-learn; 'leaven show' prints which."
        )
    return found


def _look_up(name: str) -> Any:
    """Import the longest module in a dotted name and follow the rest by attributes."""
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return None
    # The longest module first: a class may share its name with a package above it.
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part, None)
        return found
    return None


def type_name(value: type) -> str | None:
    """Name a class that stands as a value, such as a dtype parameter; None if it may not."""
    if getattr(builtins, value.__name__, None) is value and value.__name__ in BUILTIN_TYPES:
        return f"builtins.{value.__name__}"
    if issubclass(value, np.generic) and getattr(np, value.__name__, None) is value:
        return f"numpy.{value.__name__}"
    return name_of(value) if may_be_stored(value) else None


def find_type(name: str) -> type:
    """Give the class that :func:`type_name` named."""
    package, _, rest = name.partition(".")
    if package == "builtins" and rest in BUILTIN_TYPES:
        builtin: type = getattr(builtins, rest)
        return builtin
    if package == "numpy":
        found = getattr(np, rest, None)
        if isinstance(found, type) and issubclass(found, np.generic):
            return found
    return find_class(name)
