"""The smallest values of many owners at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[Any]

# With 32 bits of a float they fill the 64 of one sort key: 8,192 rows of a chunk (_CHUNK of
# _cells.py) and 524,288 collected pairs (twice its _COLLECTED). Larger input falls back to lexsort.
_OWNER_BITS, _PLACE_BITS = 13, 19


def first_of_each(owner: Ints, value: Floats, n: int, k: int) -> Ints:
    """Return where the ``k`` smallest values (not negative) of each owner are, in order.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.graph._sorting import first_of_each
    >>> value = np.array([5.0, 7.0, 3.0, 4.0, 6.0], dtype=np.float32)
    >>> first_of_each(np.array([0, 0, 1, 0, 1]), value, 2, 2)
    array([[3, 0],
           [2, 4]])
    """
    if n > 1 << _OWNER_BITS or len(owner) > 1 << _PLACE_BITS:
        by = np.lexsort((value, owner))
    else:
        # Owner, value and place in one integer: bits of floats that are not negative sort like
        # the floats, and sorting plain integers is many times faster than sorting by two keys.
        bits = np.maximum(value, np.float32(0.0)).view(np.uint32).astype(np.uint64)
        key = owner.astype(np.uint64) << np.uint64(32 + _PLACE_BITS)
        key |= bits << np.uint64(_PLACE_BITS)
        key |= np.arange(len(owner), dtype=np.uint64)
        key.sort()
        by = (key & np.uint64((1 << _PLACE_BITS) - 1)).astype(np.intp)
    return np.asarray(by[np.searchsorted(owner[by], np.arange(n))[:, None] + np.arange(k)])
