"""Labels that come in partitions: the classes of all, and the codes of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaven._labels import UNLABELED, encode_labels, labeled_mask


def classes_in(y: Any) -> NDArray[Any] | None:
    """Return the classes in one partition, or None if it has no label.

    Parameters
    ----------
    y : array-like of shape (n_samples,)

    Returns
    -------
    classes : ndarray of shape (n_classes,) or None

    Examples
    --------
    >>> from leaven.partitions import classes_in
    >>> classes_in(["b", None, "a"])
    array(['a', 'b'], dtype=object)
    """
    return encode_labels(y)[0] if labeled_mask(y).any() else None


def merge_classes(
    parts: Sequence[NDArray[Any] | None], *, n_rows: int = 0, min_classes: int = 1
) -> NDArray[Any]:
    """Return the sorted classes of all partitions, in the dtype that one array would have.

    Parameters
    ----------
    parts : sequence of ndarray or None
        The classes in each partition; None where none is labeled.
    n_rows : int, default=0
        Rows in all, for the message where no row is labeled.
    min_classes : int, default=1
        Fewer distinct labels than this are an error.

    Returns
    -------
    classes : ndarray of shape (n_classes,)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.partitions import merge_classes
    >>> merge_classes([np.array([3, 1]), None, np.array([2])])
    array([1, 2, 3])
    """
    found = [part for part in parts if part is not None]
    if not found:
        return encode_labels(np.full(n_rows, UNLABELED))[0]
    # NumPy would turn numbers beside strings into strings; as objects, they are refused.
    alike = all(part.dtype.kind in "iuf" for part in found) or len({p.dtype for p in found}) == 1
    every = np.concatenate(found if alike else [part.astype(object) for part in found])
    return encode_labels(every, min_classes=min_classes)[0]


def codes_of(y: Any, classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the codes of one partition, given the sorted classes of all.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
    classes : ndarray of shape (n_classes,)

    Returns
    -------
    codes : ndarray of shape (n_samples,)
        -1 without a label.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.partitions import codes_of
    >>> codes_of([3, -1, 1], np.array([1, 2, 3]))
    array([ 2, -1,  0])
    """
    labeled = labeled_mask(y)
    codes = np.full(len(labeled), UNLABELED, dtype=np.intp)
    if labeled.any():
        own, own_codes = encode_labels(y)
        codes[labeled] = np.searchsorted(classes, own)[own_codes[labeled]]
    return codes
