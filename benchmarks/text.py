"""Which measure selects the best terms? Accuracy of naive Bayes on two against two newsgroups.

    LEAVEN_DATA=... python benchmarks/text.py [--terms 6000]

Multinomial naive Bayes with all labels, three folds; the terms are selected inside each fold.
"""

from __future__ import annotations

import argparse

from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from leaven.datasets import load_four_newsgroups
from leaven.text import StemmedCountVectorizer, TermSelector

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--terms", type=int, default=6_000)
    options = parser.parse_args()
    texts, y = load_four_newsgroups(return_X_y=True)
    X = StemmedCountVectorizer().fit_transform(texts)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    print(f"# {X.shape[0]:,} documents, {X.shape[1]:,} terms, of which {options.terms:,} are kept")
    print(f"all terms {cross_val_score(MultinomialNB(), X, y, cv=folds).mean():.3f}")
    measures = ("information-gain", "chi2", "ngl", "gss", "odds-ratio", "mutual-information")
    for measure, smoothing in [*((each, 0.0) for each in measures), ("mutual-information", 0.5)]:
        selector = TermSelector(measure, n_terms=options.terms, smoothing=smoothing)
        model = make_pipeline(selector, MultinomialNB())
        accuracy = cross_val_score(model, X, y, cv=folds).mean()
        print(f"{measure}, smoothing {smoothing:g}: {accuracy:.3f}", flush=True)
