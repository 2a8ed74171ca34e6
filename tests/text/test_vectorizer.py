"""Counts of stems."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from leaven.exceptions import MissingExtraError, NotFittedError
from leaven.text import StemmedCountVectorizer

TEXTS = [
    "The windows of my WINDOW manager: windowing!",
    "w1nd0ws 1337 x_y crypt2 encryption",
    "Encrypted talks, talking; don't talk",
    "",
]


def test_words_by_hand() -> None:
    # "w1nd0ws", "1337", "x_y" and "crypt2" hold a symbol that is no letter and go whole;
    # "don't" is "don" and a single letter.
    vectorizer = StemmedCountVectorizer()
    counts = vectorizer.fit_transform(TEXTS)
    assert sparse.issparse(counts)
    assert counts.format == "csr"
    names = vectorizer.get_feature_names_out().tolist()
    assert names == ["don", "encrypt", "manag", "talk", "window"]
    assert_array_equal(
        counts.toarray(), [[0, 0, 1, 0, 3], [0, 1, 0, 0, 0], [1, 1, 0, 3, 0], [0, 0, 0, 0, 0]]
    )
    assert_array_equal(vectorizer.transform(["talked 2", "unknown"]).toarray()[:, 3], [1, 0])


def test_without_stemming_it_is_scikit_learns() -> None:
    ours = StemmedCountVectorizer(None, stop_words=["the", "my"], min_df=1, max_features=5)
    theirs = CountVectorizer(
        stop_words=["the", "my"], token_pattern=r"\b[^\W\d_]{2,}\b", max_features=5
    )
    assert_array_equal(ours.fit_transform(TEXTS).toarray(), theirs.fit_transform(TEXTS).toarray())
    assert_array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())


def test_document_frequency_counts_stems() -> None:
    # "talks" and "talking" are one stem in two documents.
    texts = ["talks window", "talking crypt", "crypt"]
    names = StemmedCountVectorizer(min_df=2).fit(texts).get_feature_names_out()
    assert names.tolist() == ["crypt", "talk"]
    names = StemmedCountVectorizer(max_df=1).fit(texts).get_feature_names_out()
    assert names.tolist() == ["window"]


def test_other_options() -> None:
    texts = ["Häuser und Haus", "HAUS"]
    german = StemmedCountVectorizer("german", stop_words=["und"]).fit(texts)
    assert german.get_feature_names_out().tolist() == ["haus"]
    assert german.transform(texts).toarray().ravel().tolist() == [2, 1]
    binary = StemmedCountVectorizer(binary=True, dtype=np.float32).fit_transform(TEXTS)
    assert binary.dtype == np.float32
    assert binary.max() == 1
    assert StemmedCountVectorizer(None, stop_words="english", lowercase=False).fit(
        ["Aa aa the"]
    ).vocabulary_ == {
        "Aa": 0,
        "aa": 1,
    }
    fixed = StemmedCountVectorizer(vocabulary=["window", "talk"])
    assert fixed.transform(TEXTS).toarray().tolist() == [[3, 0], [0, 0], [0, 3], [0, 0]]


def test_each_word_is_stemmed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    snowball = pytest.importorskip("snowballstemmer", exc_type=ImportError)
    asked: list[str] = []

    class Stemmer:
        def stemWord(self, word: str) -> str:
            asked.append(word)
            return word

    monkeypatch.setattr(snowball, "stemmer", lambda language: Stemmer())
    StemmedCountVectorizer().fit(["crypt crypt window"] * 50)
    assert sorted(asked) == ["crypt", "window"]


def test_it_is_an_estimator() -> None:
    vectorizer = StemmedCountVectorizer(min_df=2, stop_words=["the"])
    copy = clone(vectorizer)
    assert copy.get_params() == vectorizer.get_params()
    texts = pd.Series(["crypt key", "crypt keys", "windows mouse", "window mouse"] * 4)
    y = np.array(["sci", "sci", "comp", "comp"] * 4)
    search = GridSearchCV(
        make_pipeline(StemmedCountVectorizer(), MultinomialNB()),
        {"stemmedcountvectorizer__min_df": [1, 2]},
        cv=2,
    )
    assert search.fit(texts, y).score(texts, y) == 1.0
    again = pickle.loads(pickle.dumps(search))
    assert_array_equal(again.predict(texts), search.predict(texts))
    before = texts.copy()
    StemmedCountVectorizer().fit(texts)
    pd.testing.assert_series_equal(texts, before)


def test_empty_vocabulary() -> None:
    with pytest.raises(ValueError, match=r"vocabulary is empty.*is not a stop word.*stop_words="):
        StemmedCountVectorizer().fit(["the and of", "1337"])
    with pytest.raises(ValueError, match=r"vocabulary is empty: .*'\. Give longer"):
        StemmedCountVectorizer(stop_words=None).fit(["1337"])
    with pytest.raises(ValueError, match="no terms remain"):  # scikit-learn's own words
        StemmedCountVectorizer(min_df=3).fit(["window", "mouse", "key"])


@pytest.mark.parametrize(
    ("parameters", "texts", "message"),
    [
        ({"language": "klingon"}, TEXTS, r"language='klingon' has no stemmer.*'english'"),
        ({"language": "german"}, TEXTS, r"no list of stop words for language='german'"),
        ({"stop_words": "german"}, TEXTS, r"stop_words must be 'auto', 'english', .*'german'"),
        ({}, ["text", None], r"must be a string, got None of type NoneType.*fillna"),
        ({}, ["text", float("nan")], r"must be a string, got nan"),
        ({}, "text", r"string object received"),
        ({}, pd.DataFrame({"text": TEXTS}), r"shape \(4, 1\).*table\['text'\]"),
        ({"min_df": -1}, TEXTS, r"'min_df' parameter of StemmedCountVectorizer"),
    ],
)
def test_bad_input(parameters: dict[str, Any], texts: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StemmedCountVectorizer(**parameters).fit(texts)


def test_not_fitted() -> None:
    with pytest.raises(NotFittedError):
        StemmedCountVectorizer().transform(TEXTS)


def test_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "snowballstemmer", None)
    with pytest.raises(MissingExtraError, match=r'pip install "leaven\[text\]"'):
        StemmedCountVectorizer().fit(TEXTS)
    assert StemmedCountVectorizer(None, stop_words=None).fit(TEXTS).vocabulary_
