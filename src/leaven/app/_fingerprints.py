"""Names for the rows of a table that survive sorting and growing."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

_WHOLE = re.compile(r"(-?\d+)\.0+")  # a whole number, as pandas writes it once a cell is missing
_DIGEST_BYTES = 8  # 64 bits: two of a million different rows collide with probability 3e-8


def fingerprints(table: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """Name every row by its content, and equal rows by content and order.

    The name is a hash of the cells of ``columns`` with their column names; the second of two
    equal rows gets ``.2`` at its end. Sorting the table, adding rows or moving columns changes
    no name, nor does a column of whole numbers that became one of decimals (``3`` and ``3.0``).

    Parameters
    ----------
    table : DataFrame
    columns : sequence of str
        The columns that make up the content.

    Returns
    -------
    names : list of str

    Examples
    --------
    >>> import pandas as pd
    >>> from leaven.app._fingerprints import fingerprints
    >>> names = fingerprints(pd.DataFrame({"a": ["x", "y", "x"]}), ["a"])
    >>> names[2] == names[0] + ".2", names[0] == names[1]
    (True, False)
    """
    ordered = sorted(columns)
    cells = [_texts(table[name]) for name in ordered]
    prefix = [f"{len(name)}:{name}" for name in ordered]
    seen: Counter[str] = Counter()
    names = []
    for row in zip(*cells, strict=True):
        # Lengths keep ("ab", "c") and ("a", "bc") apart.
        content = "".join(
            f"{head}{len(cell)}:{cell}" for head, cell in zip(prefix, row, strict=True)
        )
        digest = hashlib.blake2b(
            content.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES
        )
        name = digest.hexdigest()
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}.{seen[name]}")
    return names


def _texts(values: pd.Series) -> list[str]:
    """The cells as text, with ``""`` for a missing one."""
    missing = values.isna().to_numpy()
    return [
        "" if gap else _plain(str(cell))
        for cell, gap in zip(values.tolist(), missing.tolist(), strict=True)
    ]


def _plain(cell: str) -> str:
    # Most cells end otherwise; the pattern is for those few that may be such numbers.
    found = _WHOLE.fullmatch(cell) if cell.endswith("0") else None
    return cell if found is None else found[1]


@dataclass(frozen=True)
class Comparison:
    """What became of the rows of a table since it was opened last.

    Parameters
    ----------
    n_new : int
        Rows that were not there.
    changed : list of tuple of (int, str)
        Position of a row whose content changed, and the name that it had.
    gone : list of str
        Names of the rows that are no longer there.
    moved : bool
        Whether rows that are still there stand in another order.
    """

    n_new: int
    changed: list[tuple[int, str]]
    gone: list[str]
    moved: bool


def compare_rows(before: Sequence[str], now: Sequence[str]) -> Comparison:
    """Compare the names of the rows with those of the last time.

    A name that disappeared from a position where a new name stands is a changed row.

    Parameters
    ----------
    before, now : sequence of str

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from leaven.app._fingerprints import compare_rows
    >>> compare_rows(["a", "b", "c"], ["c", "x", "a", "d"])
    Comparison(n_new=1, changed=[(1, 'b')], gone=[], moved=True)
    """
    known, present = set(before), set(now)
    changed, gone = [], []
    for position, name in enumerate(before):
        if name in present:
            continue
        if position < len(now) and now[position] not in known:
            changed.append((position, name))
        else:
            gone.append(name)
    n_new = sum(name not in known for name in now) - len(changed)
    kept_before = [name for name in before if name in present]
    kept_now = [name for name in now if name in known]
    return Comparison(n_new, changed, gone, kept_before != kept_now)
