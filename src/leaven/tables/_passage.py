"""The passage of a long text that tells its class, for lists where only a line fits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer

MAX_TEXTS = 2_000
"""Texts that words are weighted on: enough to know a word, and a second of work at most."""

_MAX_WORDS = 20_000
"""Words that are weighted, the most frequent ones."""

_SMOOTHING = 2.0
"""Texts with the class proportions of all that every word is in besides, so that a word of two
texts does not seem to tell everything."""

_WORD = re.compile(r"(?u)\b\w\w+\b")


def word_weights(texts: Sequence[str], probabilities: NDArray[np.float64]) -> dict[str, float]:
    r"""Weigh words by how much they tell of the class.

    The weight of a word is the Kullback-Leibler divergence of the class proportions of the texts
    that hold it, smoothed, from those of all texts.

    Parameters
    ----------
    texts : sequence of str
    probabilities : ndarray of shape (n_texts, n_classes)

    Returns
    -------
    dict of str to float
        Of the words that two texts hold or more, in lower case.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.tables._passage import word_weights
    >>> texts = ["the goal", "the goal", "the rain", "the rain"]
    >>> weights = word_weights(texts, np.eye(2)[[0, 0, 1, 1]])
    >>> {word: round(weight, 3) for word, weight in sorted(weights.items())}
    {'goal': 0.131, 'rain': 0.131, 'the': 0.0}
    """
    counter = CountVectorizer(
        binary=True, min_df=2, max_features=_MAX_WORDS, token_pattern=_WORD.pattern
    )
    try:
        holds = counter.fit_transform(texts)
    except ValueError:  # no word is in two texts
        return {}
    prior = probabilities.mean(axis=0) + 1e-12  # a class that no text has
    counts = np.asarray(holds.sum(axis=0)).ravel()
    shares = (holds.T @ probabilities + _SMOOTHING * prior) / (counts + _SMOOTHING)[:, None]
    weights = np.maximum(np.sum(shares * np.log(shares / prior), axis=1), 0.0)  # rounding
    return dict(zip(counter.get_feature_names_out().tolist(), weights.tolist(), strict=True))


def telling_passage(text: str, weights: Mapping[str, float], width: int) -> str:
    """Cut out the passage whose distinct words weigh most.

    Parameters
    ----------
    text : str
    weights : mapping of str to float
        Of words in lower case; others weigh nothing.
    width : int
        Characters of the passage at most, with the dots where something was cut off.

    Returns
    -------
    str
        In one line.

    Examples
    --------
    >>> from leaven.tables._passage import telling_passage
    >>> text = "Dear all, as I wrote last week the invoice is wrong. Thank you, Ann"
    >>> telling_passage(text, {"invoice": 1.0, "wrong": 0.5}, 30)
    '…week the invoice is wrong.…'
    """
    text = " ".join(text.split())
    if len(text) <= width:
        return text
    room = max(width - 2, 1)  # for the dots
    words = [(match.start(), match.end(), match.group().lower()) for match in _WORD.finditer(text)]
    best, start, end = 0.0, 0, 0
    for first, (begin, _, _) in enumerate(words):
        # No more words than this fit, as each has two characters.
        inside = [word for word in words[first : first + room] if word[1] - begin <= room]
        total = sum(weights.get(word, 0.0) for word in {word for _, _, word in inside})
        if total > best + 1e-12:  # of equal ones the first
            best, start, end = total, begin, inside[-1][1]
    return _widened(text, start, end, room)


def _widened(text: str, start: int, end: int, room: int) -> str:
    """Fill the room with whole words, half of it before the passage, which makes it readable."""
    earliest = max(start - (room - (end - start)) // 2, 0)
    # The first word that begins there or later.
    begin = earliest and (text.find(" ", earliest - 1, start) + 1 or start)
    stop = begin + room
    if stop < len(text) and text[stop] != " ":
        space = text.rfind(" ", max(end, begin), stop)
        stop = space if space >= 0 else (end or stop)
    passage = text[begin:stop].strip()
    return ("…" if begin else "") + passage + ("…" if stop < len(text) else "")
