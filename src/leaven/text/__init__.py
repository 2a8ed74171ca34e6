"""From documents to columns: stemmed counts, term selection and tf-idf weights."""

from leaven.text._term_selection import TermSelector
from leaven.text._tfidf import RelativeTfidf, TfidfSumSelector
from leaven.text._vectorizer import StemmedCountVectorizer

__all__ = [
    "RelativeTfidf",
    "StemmedCountVectorizer",
    "TermSelector",
    "TfidfSumSelector",
]
