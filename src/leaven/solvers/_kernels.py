"""Where products of blocks are compiled by numba, and where they are SciPy's and NumPy's."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from leaven._optional import is_installed

# Rows from which on compiled products are worth importing numba, 0.3 s. A solve of fifty steps
# gains half of that at 60,000 rows and four times as much at 250,000, PoissonMBOClassifier with its
# thousand products several times as much at 60,000 (benchmarks/graph_based.py solves).
COMPILED_FROM = 50_000

# Wider blocks are divided before they get here, and each width is compiled by itself.
_MOST_COLUMNS = 16


def compiled(n_rows: int, n_columns: int) -> Any:
    """Return the module of compiled functions, or None where they are not wanted or not there.

    Parameters
    ----------
    n_rows, n_columns : int
        Of the block.

    Examples
    --------
    >>> from leaven.solvers._kernels import compiled
    >>> compiled(1_000, 10) is None
    True
    """
    if n_rows < COMPILED_FROM or not 1 <= n_columns <= _MOST_COLUMNS:
        return None
    return _module()


@lru_cache
def _module() -> Any:
    if not is_installed("numba"):
        return None
    try:
        from leaven.solvers import _compiled
    except (ImportError, RuntimeError):
        # numba refuses versions of NumPy that it does not know, and functions to be kept where
        # neither the package nor the home directory can be written to.
        return None
    return _compiled
