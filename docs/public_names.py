"""The public names of leaven, as the reference lists them and tests/test_docs.py checks them."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

import leaven


def public_packages() -> list[ModuleType]:
    """List leaven itself and its public modules, but for those that export nothing."""
    names = ["leaven"] + [
        f"leaven.{module.name}"
        for module in pkgutil.iter_modules(leaven.__path__)
        if not module.name.startswith("_")
    ]
    modules = [importlib.import_module(name) for name in sorted(names)]
    return [module for module in modules if public_names(module)]


def public_names(module: ModuleType) -> list[str]:
    """List the names in ``__all__``; dunders and packages have no entry of their own here."""
    return [
        name
        for name in getattr(module, "__all__", [])
        if not name.startswith("__") and not isinstance(getattr(module, name), ModuleType)
    ]
