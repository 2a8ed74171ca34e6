"""Counts of stems: alphabetic words, without stop words, each cut down to its stem."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

from leaven._optional import import_optional

# Two letters or more, with no digit or underscore in the same word.
ALPHABETIC = r"\b[^\W\d_]{2,}\b"


def make_stemmer(language: str) -> Callable[[str], str]:
    """Return the function from a word to its stem in a language.

    Every distinct word is stemmed once: a corpus repeats its words many times, and the
    stemmer takes far longer than a look into a dictionary.

    Parameters
    ----------
    language : str
        A Snowball algorithm, such as ``"english"``.

    Returns
    -------
    callable

    Examples
    --------
    >>> from leaven.text._vectorizer import make_stemmer
    >>> stem = make_stemmer("english")
    >>> stem("talks"), stem("talking")
    ('talk', 'talk')
    """
    snowball = import_optional(
        "snowballstemmer", extra="text", needed_by="StemmedCountVectorizer(language=...)"
    )
    known = sorted(snowball.algorithms())
    if language not in known:
        raise ValueError(
            f"language={language!r} has no stemmer. Use one of {known}, or None for no stemming."
        )
    compute = snowball.stemmer(language).stemWord
    stems: dict[str, str] = {}

    def stem(word: str) -> str:
        found = stems.get(word)
        if found is None:
            found = stems[word] = compute(word)
        return found

    return stem


class StemmedCountVectorizer(CountVectorizer):
    """Count the stems of the words of each document.

    The dictionary is made in the three steps of Lefakis [1]_: words with a symbol that is
    not a letter are dropped whole, very common words are dropped by a list, and what is left
    is cut to its stem [2]_, so that "talk" and "talks" share a column. The counts are sparse;
    memory grows with the number of distinct words in each document, not with documents times
    vocabulary.

    A word is a run of letters, digits and underscores. "w1n" and "x_y" are dropped whole,
    and punctuation separates: "don't" is "don" and "t", of which single letters are dropped.

    Parameters
    ----------
    language : str or None, default="english"
        The Snowball stemmer to use, or None for words as they are. Stemming needs the extra
        ``text``.
    stop_words : {"auto", "english"}, list of str or None, default="auto"
        The words to drop before stemming, in lower case. ``"english"`` is scikit-learn's
        list, and so is ``"auto"`` for English; there is no list for other languages, so give
        one, or None to drop none and leave it to ``max_df``.
    token_pattern : str, default=two or more letters
        A regular expression for a word. The default does not suit scripts that write vowels
        as marks, such as Hindi.
    lowercase : bool, default=True
    min_df : float or int, default=1
        Stems in fewer documents (int), or in a smaller share of them (float), are dropped.
    max_df : float or int, default=1.0
        Stems in more documents, or in a larger share of them, are dropped.
    max_features : int, default=None
        Keep this many of the most frequent stems.
    vocabulary : mapping or iterable, default=None
        The stems to count, if they are known beforehand.
    binary : bool, default=False
        Count a stem once a document.
    dtype : type, default=np.int64

    Attributes
    ----------
    vocabulary_ : dict
        The column of each stem.

    See Also
    --------
    TermSelector : Keeps the stems that tell the classes apart.
    RelativeTfidf : Weighs the counts.

    References
    ----------
    .. [1] L. Lefakis, "Transductive learning for document classification and handwritten
       character recognition", Utrecht University, section 2.2.
    .. [2] M. F. Porter, "Snowball: a language for stemming algorithms", 2001.

    Examples
    --------
    >>> from leaven.text import StemmedCountVectorizer
    >>> texts = ["She talks and talks.", "We talked about the 2nd window", "windows"]
    >>> vectorizer = StemmedCountVectorizer()
    >>> vectorizer.fit_transform(texts).toarray()
    array([[2, 0],
           [1, 1],
           [0, 1]])
    >>> vectorizer.get_feature_names_out()
    array(['talk', 'window'], dtype=object)
    """

    def __init__(
        self,
        language: str | None = "english",
        *,
        stop_words: Any = "auto",
        token_pattern: str = ALPHABETIC,
        lowercase: bool = True,
        min_df: float | int = 1,
        max_df: float | int = 1.0,
        max_features: int | None = None,
        vocabulary: Any = None,
        binary: bool = False,
        dtype: Any = np.int64,
    ) -> None:
        super().__init__(
            stop_words=stop_words,
            token_pattern=token_pattern,
            lowercase=lowercase,
            min_df=min_df,
            max_df=max_df,
            max_features=max_features,
            vocabulary=vocabulary,
            binary=binary,
            dtype=dtype,
        )
        self.language = language

    # scikit-learn's table, with one more word for stop_words; get_stop_words checks the word.
    _parameter_constraints = {  # noqa: RUF012
        **CountVectorizer._parameter_constraints,
        "stop_words": [list, set, frozenset, tuple, str, None],
        "language": [str, None],
    }

    def get_stop_words(self) -> frozenset[str] | None:
        """Return the words that are dropped.

        Returns
        -------
        frozenset or None
        """
        if self.stop_words is None:
            return None
        if isinstance(self.stop_words, str):
            is_english = self.stop_words == "auto" and self.language in ("english", "porter")
            if is_english or self.stop_words == "english":
                return frozenset(ENGLISH_STOP_WORDS)
            if self.stop_words == "auto":
                raise ValueError(
                    f"There is no list of stop words for language={self.language!r}. Give "
                    "stop_words a list of words in lower case, or None to drop none."
                )
            raise ValueError(
                "stop_words must be 'auto', 'english', a list of words in lower case or None, "
                f"got {self.stop_words!r}."
            )
        return frozenset(self.stop_words)

    def decode(self, doc: Any) -> str:
        """Return the document as a string.

        Parameters
        ----------
        doc : str or bytes

        Returns
        -------
        str
        """
        if not isinstance(doc, (str, bytes)):
            raise ValueError(
                f"A document must be a string, got {doc!r} of type {type(doc).__name__}. Put '' "
                "in the place of a missing text, for example texts.fillna('')."
            )
        return str(super().decode(doc))

    def build_analyzer(self) -> Callable[[Any], list[str]]:
        """Return the function from a document to the list of its stems.

        Returns
        -------
        callable
        """
        find = re.compile(self.token_pattern).findall
        stem = None if self.language is None else make_stemmer(self.language)
        stop_words = self.get_stop_words() or frozenset()
        lowercase, decode = self.lowercase, self.decode

        def analyze(document: Any) -> list[str]:
            text = decode(document)
            words = find(text.lower() if lowercase else text)
            if stem is None:
                return [word for word in words if word not in stop_words]
            return [stem(word) for word in words if word not in stop_words]

        return analyze

    def fit_transform(self, raw_documents: Iterable[Any], y: Any = None) -> Any:
        """Learn the vocabulary and return the counts.

        Parameters
        ----------
        raw_documents : iterable of str
        y : None
            Not used.

        Returns
        -------
        sparse matrix of shape (n_documents, n_stems)
        """
        _check_documents(raw_documents)
        try:
            return super().fit_transform(raw_documents)
        except ValueError as error:
            if "empty vocabulary" not in str(error):
                raise
            dropped = "" if self.stop_words is None else " and is not a stop word"
            raise ValueError(
                "The vocabulary is empty: the documents hold no word that matches "
                f"token_pattern={self.token_pattern!r}{dropped}. Give longer documents, or "
                "stop_words=None, or another token_pattern."
            ) from error

    def transform(self, raw_documents: Iterable[Any]) -> Any:
        """Count the known stems of other documents.

        Parameters
        ----------
        raw_documents : iterable of str

        Returns
        -------
        sparse matrix of shape (n_documents, n_stems)
        """
        _check_documents(raw_documents)
        return super().transform(raw_documents)


def _check_documents(documents: Any) -> None:
    """Refuse a table: it would be read as the list of its column names."""
    shape = getattr(documents, "shape", None)
    if shape is not None and len(shape) != 1:
        raise ValueError(
            f"The documents have the shape {tuple(shape)}, but they must be a list, a Series or "
            "an array of strings. Pick one column of a table, for example table['text']."
        )
