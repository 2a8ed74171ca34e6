"""How far the labels of several people agree beyond chance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from leaven.statistics import cohen_kappa, fleiss_kappa

Pattern = frozenset[tuple[str, Any]]
"""Who gave which label to a row: pairs of user and label."""


def agreement(patterns: Mapping[Pattern, int]) -> dict[str, Any] | None:
    """Summarize how far people agree on the rows that they share.

    Parameters
    ----------
    patterns : mapping of pattern to int
        How many rows have these labels of these people; at least two people each. There are few
        patterns, however many rows.

    Returns
    -------
    summary : dict or None
        ``measure`` (Cohen's for two people, Fleiss' for more, over the rows that all of them
        labeled), ``kappa``, ``n_rows`` and ``people``. None where no row is shared by all.

    Examples
    --------
    >>> from leaven.app._agreement import agreement
    >>> same, other = (frozenset({("ann", name), ("bob", "a")}) for name in "ab")
    >>> agreement({same: 1, other: 1})
    {'measure': "Cohen's kappa", 'kappa': 0.0, 'n_rows': 2, 'people': ['ann', 'bob']}
    """
    people = sorted({user for pattern in patterns for user, _ in pattern})
    shared = [(dict(pattern), n) for pattern, n in patterns.items() if len(pattern) == len(people)]
    if not shared:
        return None
    names = sorted({label for labels, _ in shared for label in labels.values()}, key=str)
    once = np.array([[names.index(labels[user]) for user in people] for labels, _ in shared])
    codes = np.repeat(once, [n for _, n in shared], axis=0)
    if len(people) == 2:
        measure, kappa = "Cohen's kappa", cohen_kappa(codes[:, 0], codes[:, 1])
    else:
        counts = (codes[:, :, None] == np.arange(len(names))).sum(axis=1)
        measure, kappa = "Fleiss' kappa", fleiss_kappa(counts)
    return {
        "measure": measure,
        "kappa": round(kappa, 4),
        "n_rows": len(codes),
        "people": people,
    }
