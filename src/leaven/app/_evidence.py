"""Which words and columns speak for a class: log-odds of what the model answers.

The explanation is that of naive Bayes, made of the answers of whatever model there is: a word
speaks for a class if it is more frequent in the rows with that answer than in the others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

_SMOOTHING = 0.5  # added to every count (Haldane and Anscombe): no odds are infinite
_MOST_WORDS = 20_000  # the most frequent; of rarer ones no model of few labels knows anything
_READ = 20_000  # characters of a text in which words are looked for: those that are sent at once
_BINS = 8  # most of a column of numbers: octiles show "small" and "large" without noise
_ROWS_PER_BIN = 20  # fewest: with less even a pure bin is within two standard errors of chance
_MOST_VALUES = 30  # of a column of categories; the others count as one
_DISTINCT = 1.96  # standard errors: what is shown is the near end of the 95% interval
_TOKEN = re.compile(r"(?u)\b(?=\w*[^\W\d])\w\w+\b")  # scikit-learn's, without bare numbers
# Words that explain nothing to a reader, however frequent they are in a class. Not scikit-learn's
# list, which has "bill", "call", "fire" and "system" in it.
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "am an and are as at be been but by can could did do does for from had has have he her "
        "him his how if in into is it its just me my no not of on or our she should so than "
        "that the their them then there they this to too us was we were what when which who "
        "why will with would you your",
    )
)


def log_odds(
    inside: NDArray[Any], n_inside: NDArray[Any], total: NDArray[Any], n_total: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log-odds ratio of things inside and outside each class, with its standard error.

    Of ``n`` rows of the class ``a`` have the thing, and of ``m`` others ``b``. With one half
    added to each count the ratio is ``log((a (m - b)) / (b (n - a)))``, and its variance
    ``1/a + 1/(n - a) + 1/b + 1/(m - b)`` (Woolf, 1955).

    Parameters
    ----------
    inside : array of shape (n_things, n_classes)
        Rows of each class that have the thing; the rows may count in part.
    n_inside : array of shape (n_classes,)
    total : array of shape (n_things,)
    n_total : float

    Returns
    -------
    ratio, error : ndarray of shape (n_things, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.app._evidence import log_odds
    >>> ratio, error = log_odds(np.array([[6.5]]), np.array([10.0]), np.array([9.0]), 20.0)
    >>> round(float(ratio[0, 0]), 3), round(float(error[0, 0]), 3)
    (1.54, 0.923)
    """
    a = np.clip(inside, 0.0, None)
    b = np.clip(total[:, None] - a, 0.0, None)
    not_a = np.clip(n_inside[None, :] - a, 0.0, None)
    not_b = np.clip(n_total - n_inside[None, :] - b, 0.0, None)
    cells = [each + _SMOOTHING for each in (a, not_a, b, not_b)]
    ratio = np.log(cells[0]) - np.log(cells[1]) - np.log(cells[2]) + np.log(cells[3])
    error = np.sqrt(sum(1.0 / each for each in cells))
    return np.asarray(ratio), np.asarray(error)


@dataclass(frozen=True, eq=False)
class Things:
    """What the rows of a table have: words of the texts, and bins of the other columns.

    Parameters
    ----------
    words : dict of str to int
        Number of each word.
    columns : list of str
        The columns that are not texts.
    codes : int array of shape (n_rows, n_columns)
        Number of the thing that stands in each cell; counted on from the words.
    names : list of str
        Of the things that are not words, such as ``"red"`` or ``"at most 3.5"``.
    has : CSR array of shape (n_rows, n_words)
        Which words each row has; None in the process of the server, which has no use for it.
    """

    words: dict[str, int]
    columns: list[str]
    codes: NDArray[np.int32]
    names: list[str]
    has: Any = None

    @cached_property
    def spelling(self) -> list[str]:
        """The words by number."""
        return sorted(self.words, key=self.words.__getitem__)

    @property
    def n_things(self) -> int:
        """Words and bins together."""
        return len(self.words) + len(self.names)

    def words_in(self, texts: Sequence[str]) -> list[int]:
        """The numbers of the words in texts, each once, in order of their number."""
        found = {word for text in texts for word in _TOKEN.findall(text[:_READ].lower())}
        return sorted(self.words[word] for word in found if word in self.words)


def count_things(table: pd.DataFrame, kinds: dict[str, str]) -> Things:
    """Find the words and bins of a table.

    Parameters
    ----------
    table : DataFrame
    kinds : dict of str to str
        What each column holds; ``"text"``, ``"number"``, ``"date"``, or categories.

    Returns
    -------
    Things
    """
    n_rows = len(table)
    texts = [name for name, kind in kinds.items() if kind == "text"]
    words: dict[str, int] = {}
    has: Any = sparse.csr_array((n_rows, 0), dtype=np.float32)
    if texts:
        joined = table[texts].fillna("").astype(str).agg(" ".join, axis=1)
        counter = CountVectorizer(
            binary=True,
            max_features=_MOST_WORDS,
            token_pattern=_TOKEN.pattern,
            stop_words=sorted(_FUNCTION_WORDS),
            dtype=np.float32,
        )
        try:
            has = sparse.csr_array(counter.fit_transform(joined))
            words = {word: int(number) for word, number in counter.vocabulary_.items()}
        except ValueError:  # no word in any text
            has = sparse.csr_array((n_rows, 0), dtype=np.float32)
    columns: list[str] = []
    codes: list[NDArray[np.intp]] = []
    names: list[str] = []
    for name, kind in kinds.items():
        if kind == "text":
            continue
        binned, labels = _bins(table[name], kind)
        columns.append(name)
        codes.append(binned + len(words) + len(names))
        names += labels
    stacked = np.stack(codes, axis=1) if codes else np.empty((n_rows, 0))
    return Things(words, columns, stacked.astype(np.int32), names, has)


def _bins(values: pd.Series, kind: str) -> tuple[NDArray[np.intp], list[str]]:
    """Number the cells of a column by what stands in them."""
    if kind in ("number", "date"):
        if kind == "date" and not pd.api.types.is_numeric_dtype(values.dtype):
            values = pd.to_datetime(values, errors="coerce", utc=True, format="mixed")
            # In nanoseconds, whatever unit pandas chose: the names of the bins count on it.
            numbers = values.dt.as_unit("ns").astype("int64").to_numpy(dtype=float)
            numbers[values.isna().to_numpy()] = np.nan
        else:
            parsed = pd.to_numeric(values, errors="coerce")
            numbers = parsed.to_numpy(dtype=float, na_value=np.nan)
        known = numbers[np.isfinite(numbers)]
        n_bins = min(max(2, len(known) // _ROWS_PER_BIN), _BINS)
        quantiles = np.linspace(0, 1, n_bins + 1)[1:-1]
        edges: NDArray[Any] = np.unique(np.quantile(known, quantiles)) if len(known) else known
        codes = np.searchsorted(edges, numbers, side="left")
        codes[~np.isfinite(numbers)] = len(edges) + 1
        return codes.astype(np.intp), _bin_names(edges, kind)
    cells = values.astype(object).where(values.notna(), "").map(str).str.strip()
    frequent = cells.value_counts().index[:_MOST_VALUES]
    found = frequent.get_indexer(pd.Index(cells))
    codes = np.where(found < 0, len(frequent), found)
    return codes.astype(np.intp), [*(str(name) or "(empty)" for name in frequent), "(other)"]


def _bin_names(edges: Any, kind: str) -> list[str]:
    shown = [
        str(pd.Timestamp(int(edge), unit="ns").date()) if kind == "date" else _four_digits(edge)
        for edge in edges
    ]
    if not shown:
        return ["(any)", "(empty)"]
    between = [f"{low} to {high}" for low, high in pairwise(shown)]
    return [f"up to {shown[0]}", *between, f"above {shown[-1]}", "(empty)"]


def _four_digits(number: float) -> str:
    """Write a number with four digits that count, as the cells beside it are written.

    Examples
    --------
    >>> from leaven.app._evidence import _four_digits
    >>> [_four_digits(number) for number in (80712.0, 0.5, -1234567.0, 2e21, 1e-7)]
    ['80710', '0.5', '-1235000', '2e+21', '1e-07']
    """
    short = f"{number:.4g}"
    # Nobody writes 8.071e+04; from 16 digits on a cell has an exponent too.
    return f"{float(short):.0f}" if "e+" in short and abs(number) < 1e16 else short


@dataclass(frozen=True, eq=False)
class Evidence:
    """How much each thing speaks for each class.

    Parameters
    ----------
    ratio : float32 array of shape (n_things, n_classes)
        Log-odds less 1.96 standard errors, the near end of the 95% interval: zero where the
        interval holds zero, or the counts alone say the contrary; small for a word that is rare.
    """

    ratio: NDArray[np.float32]

    def of_row(
        self, things: Things, row: int, words: Sequence[int], label: int, most: int = 6
    ) -> dict[str, Any]:
        """The words and columns of a row that speak for a class, the strongest first.

        Parameters
        ----------
        things : Things
        row : int
        words : sequence of int
            Of the row, see :meth:`Things.words_in`.
        label : int
            Number of the class.
        most : int, default=6
            Words to return.
        """
        if label >= self.ratio.shape[1]:
            return {"words": [], "columns": []}
        weight = self.ratio[:, label]
        own = np.asarray(words, dtype=np.intp)
        best = own[np.argsort(-weight[own], kind="stable")[:most]]
        cells = things.codes[row]
        order = sorted(range(len(cells)), key=lambda j: -float(weight[cells[j]]))
        n_words = len(things.words)
        return {
            "words": [things.spelling[word] for word in best.tolist() if weight[word] > 0],
            "columns": [
                [things.columns[j], things.names[cells[j] - n_words]]
                for j in order[:3]
                if weight[cells[j]] > 0
            ],
        }

    def of_group(self, things: Things, group: int, most: int = 8) -> list[str]:
        """The things that tell a group from the others, the strongest first."""
        weight = self.ratio[:, group]
        best = [int(thing) for thing in np.argsort(-weight)[:most] if weight[thing] > 0]
        n_words = len(things.words)
        return [
            things.spelling[thing] if thing < n_words else _column_thing(things, thing)
            for thing in best
        ]


def _column_thing(things: Things, thing: int) -> str:
    column = int(np.flatnonzero((things.codes == thing).any(axis=0))[0])
    return f"{things.columns[column]}: {things.names[thing - len(things.words)]}"


def weigh_evidence(things: Things, shares: NDArray[Any]) -> Evidence:
    """Measure how much each thing speaks for each class.

    Parameters
    ----------
    things : Things
    shares : array of shape (n_rows, n_classes)
        How much of each row is in each class: probabilities, or zeros and ones.

    Returns
    -------
    Evidence
    """
    shares = np.asarray(shares, dtype=np.float64)
    n_words, n_classes = len(things.words), shares.shape[1]
    inside = np.zeros((things.n_things, n_classes))
    total = np.zeros(things.n_things)
    inside[:n_words] = things.has.T @ shares
    total[:n_words] = np.asarray(things.has.sum(axis=0)).ravel()
    for j in range(len(things.columns)):
        codes = things.codes[:, j]
        total += np.bincount(codes, minlength=len(total))
        for label in range(n_classes):
            inside[:, label] += np.bincount(codes, shares[:, label], minlength=len(total))
    ratio, error = log_odds(inside, shares.sum(axis=0), total, float(len(shares)))
    strength = np.sign(ratio) * np.clip(np.abs(ratio) - _DISTINCT * error, 0.0, None)
    # The half that is added to each count makes a thing that a small class does not even have
    # look frequent in it: of such signs the counts themselves know nothing.
    n_inside = shares.sum(axis=0)
    excess = inside * (len(shares) - n_inside) - (total[:, None] - inside) * n_inside
    strength[np.sign(excess) != np.sign(ratio)] = 0.0
    return Evidence(strength.astype(np.float32))
