"""How far the labels of several people agree beyond chance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from leaven.statistics import cohen_kappa, fleiss_kappa


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
        "kappa": round(kappa, 4),
        "n_rows": len(shared),
        "people": people,
    }
