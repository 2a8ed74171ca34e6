"""Leave out the examples of modules whose extra is not installed."""

from __future__ import annotations

import importlib.util

collect_ignore = []
if importlib.util.find_spec("torch") is None:
    collect_ignore += [
        f"src/leaven/representation/{name}.py"
        for name in ("_rbm_network", "_autoencoder", "_lenet")
    ]
if importlib.util.find_spec("numba") is None:
    collect_ignore.append("src/leaven/solvers/_compiled.py")
