"""How far the labels of several people agree beyond chance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def cohen_kappa(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Cohen's kappa of two people, ``(p_o - p_e) / (1 - p_e)`` (Cohen, 1960).

    ``p_o`` is the share of rows with the same label and ``p_e`` the share expected if each drew
    labels at random from their own frequencies. One label everywhere is full agreement, 1.

    Parameters
    ----------
    first, second : ndarray of shape (n_rows,)

    Returns
    -------
    kappa : float

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.app._agreement import cohen_kappa
    >>> round(cohen_kappa(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])), 3)
    0.5
    """
    names = np.unique(np.concatenate([first, second]))
    expected = float(sum(np.mean(first == name) * np.mean(second == name) for name in names))
    observed = float(np.mean(first == second))
    return 1.0 if expected >= 1.0 else (observed - expected) / (1.0 - expected)


def fleiss_kappa(counts: NDArray[Any]) -> float:
    """Fleiss' kappa of several people (Fleiss, 1971, equation 7).

    Parameters
    ----------
    counts : array of shape (n_rows, n_classes)
        How many people gave each label to each row; the same number of people in every row.

    Returns
    -------
    kappa : float

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.app._agreement import fleiss_kappa
    >>> round(fleiss_kappa(np.array([[3, 0], [2, 1], [0, 3]])), 3)
    0.55
    """
    counts = np.asarray(counts, dtype=np.float64)
    n_people = counts[0].sum()
    within = ((counts**2).sum(axis=1) - n_people) / (n_people * (n_people - 1))
    shares = counts.sum(axis=0) / counts.sum()
    expected = float((shares**2).sum())
    return 1.0 if expected >= 1.0 else float((within.mean() - expected) / (1.0 - expected))


def agreement(ratings: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """Summarize how far people agree on the rows that they share.

    Parameters
    ----------
    ratings : mapping of row to mapping of user to label
        Rows with at least two labels.

    Returns
    -------
    summary : dict or None
        ``measure`` (Cohen's for two people, Fleiss' for more, over the rows that all of them
        labeled), ``kappa``, ``n_rows`` and ``people``. None where no row is shared by all.

    Examples
    --------
    >>> from leaven.app._agreement import agreement
    >>> rows = {"r1": {"ann": "a", "bob": "a"}, "r2": {"ann": "b", "bob": "a"}}
    >>> agreement(rows)
    {'measure': "Cohen's kappa", 'kappa': 0.0, 'n_rows': 2, 'people': ['ann', 'bob']}
    """
    people = sorted({user for labels in ratings.values() for user in labels})
    shared = [labels for labels in ratings.values() if len(labels) == len(people)]
    if not shared:
        return None
    names = sorted({label for labels in shared for label in labels.values()}, key=str)
    codes = np.array([[names.index(labels[user]) for user in people] for labels in shared])
    if len(people) == 2:
        measure, kappa = "Cohen's kappa", cohen_kappa(codes[:, 0], codes[:, 1])
    else:
        counts = np.array([np.bincount(row, minlength=len(names)) for row in codes])
        measure, kappa = "Fleiss' kappa", fleiss_kappa(counts)
    return {
        "measure": measure,
        "kappa": round(kappa, 3),
        "n_rows": len(shared),
        "people": people,
    }
