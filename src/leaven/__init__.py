"""leaven: learning from few labels.

A little leaven leavens the whole lump: a few labeled rows, with the structure of the
unlabeled ones, label everything.
"""

from __future__ import annotations

from importlib.metadata import version

__all__ = ["__version__"]

__version__ = version("leaven")
