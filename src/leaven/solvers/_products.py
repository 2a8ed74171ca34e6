"""Products of a sparse matrix with a block of vectors, into memory that is there already.

``A @ X`` makes a new array for its result. Where a product is computed again and again on a
million rows, getting that memory is a good part of its time (benchmarks/graph_based.py solves).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaven.solvers._kernels import compiled

try:
    # SciPy offers no public product that adds to an array; ``A @ X`` calls this one.
    from scipy.sparse._sparsetools import csr_matvecs
except ImportError:  # pragma: no cover - another SciPy than those that are tested
    csr_matvecs = None

_COMPILED = (np.float32, np.float64)


def add_product(A: sparse.csr_array, X: NDArray[Any], out: NDArray[Any]) -> None:
    """Add ``A X`` to ``out`` in place.

    Parameters
    ----------
    A : csr_array of shape (n, m)
    X : ndarray of shape (m, k)
    out : ndarray of shape (n, k)
        In C order, of the dtype of A and X; anything else works too, by way of a temporary.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from leaven.solvers._products import add_product
    >>> out = np.array([[5.0], [7.0]])
    >>> add_product(sparse.csr_array([[2.0, 3.0], [0.0, 4.0]]), np.array([[10.0], [1.0]]), out)
    >>> out
    array([[28.],
           [11.]])
    """
    fits = (
        A.dtype == X.dtype == out.dtype
        and X.flags.c_contiguous
        and out.flags.c_contiguous
        and out.shape == (A.shape[0], X.shape[1])
        and X.shape[0] == A.shape[1]
    )
    kernels = compiled(*out.shape) if fits and A.dtype in _COMPILED else None
    if kernels is not None:
        kernels.add_product((0,) * X.shape[1], A.indptr, A.indices, A.data, X, out)
    elif fits and csr_matvecs is not None:
        csr_matvecs(*A.shape, X.shape[1], A.indptr, A.indices, A.data, X.ravel(), out.ravel())
    else:
        out += A @ X


def multiply(A: sparse.csr_array, X: NDArray[Any], out: NDArray[Any]) -> None:
    """Write ``A X`` into ``out``, as :func:`add_product` adds it.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from leaven.solvers._products import multiply
    >>> out = np.array([[5.0], [7.0]])
    >>> multiply(sparse.csr_array([[2.0, 3.0], [0.0, 4.0]]), np.array([[10.0], [1.0]]), out)
    >>> out
    array([[23.],
           [ 4.]])
    """
    out[...] = 0.0
    add_product(A, X, out)
