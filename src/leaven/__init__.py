"""leaven: learning from few labels.

A little leaven leavens the whole lump: a few labeled rows, with the structure of the
unlabeled ones, label everything.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leaven.app import annotate
    from leaven.tables import label
    from leaven.tables import load_model as load

__all__ = ["__version__", "annotate", "label", "load"]

__version__ = version("leaven")


def __getattr__(name: str) -> Any:
    # Loaded when it is asked for: `import leaven` and `leaven --help` stay light.
    if name == "label":
        from leaven.tables import label

        return label
    if name == "load":
        from leaven.tables import load_model

        return load_model
    if name == "annotate":
        from leaven.app import annotate

        return annotate
    raise AttributeError(f"module 'leaven' has no attribute {name!r}")
