"""leaven: learning from few labels.

A little leaven leavens the whole lump: a few labeled rows, with the structure of the
unlabeled ones, label everything.
"""

from __future__ import annotations

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from leaven import (
        active,
        app,
        base,
        datasets,
        evaluation,
        exceptions,
        generative,
        graph,
        graph_based,
        low_density,
        model_selection,
        partitions,
        persistence,
        plotting,
        report,
        representation,
        selection,
        self_labeling,
        solvers,
        statistics,
        tables,
        testing,
        text,
    )
    from leaven.app import annotate
    from leaven.tables import label
    from leaven.tables import load_model as load

    __version__: str

__all__ = [
    "__version__",
    "active",
    "annotate",
    "app",
    "base",
    "datasets",
    "evaluation",
    "exceptions",
    "generative",
    "graph",
    "graph_based",
    "label",
    "load",
    "low_density",
    "model_selection",
    "partitions",
    "persistence",
    "plotting",
    "report",
    "representation",
    "selection",
    "self_labeling",
    "solvers",
    "statistics",
    "tables",
    "testing",
    "text",
]

# The functions offered here: the packages they come from, and their names there.
_HOMES = {
    "annotate": ("leaven.app", "annotate"),
    "label": ("leaven.tables", "label"),
    "load": ("leaven.tables", "load_model"),
}


def __getattr__(name: str) -> _typing.Any:
    # Loaded when it is asked for: `import leaven` and `leaven --help` stay light.
    if name == "__version__":
        # Written once, in pyproject.toml; reading it takes longer than all the rest here.
        found: _typing.Any = _importlib.import_module("importlib.metadata").version("leaven")
    elif name in _HOMES:
        package, there = _HOMES[name]
        found = getattr(_importlib.import_module(package), there)
    elif name in __all__:
        return _importlib.import_module(f"leaven.{name}")  # which sets it here
    else:
        raise AttributeError(f"module 'leaven' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
