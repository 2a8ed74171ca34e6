"""Figures 1 to 22 of Lefakis: documents with few labels per class.

The source prints curves, not numbers. What its text says in numbers is in
``published/stated.csv``; every other number here has nothing beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize
from sklearn.svm import SVC

from leaven.datasets import load_four_newsgroups
from leaven.evaluation import CurveProtocol, DrawProtocol
from leaven.generative import ClassPrior, SemiSupervisedMultinomialNB
from leaven.graph import FullGraph, Graph, KNNGraph
from leaven.graph_based import ConsistencyClassifier, MinCutClassifier, SpectralTransducer
from leaven.self_labeling import SelfTrainingClassifier
from leaven.text import RelativeTfidf, StemmedCountVectorizer, TermSelector
from studies.prepared import OnRows, RowGraph, prepared, row_numbers
from studies.published import read_published
from studies.registry import Outcome, Run, Table, no_numbers, register

LABELS = (1, 2, 5, 10, 20, 50, 100)
N_TERMS = 6000
"""Terms that are kept (section 2.2)."""

MU = 0.99
ALPHA = 1 / (1 + MU)
"""Section 2.4.5 sets μ = 0.99, and α = 1 / (1 + μ)."""

COST = 3200.0
"""c of the spectral transducer (sections 2.4.4 and 3.4.4)."""

WEIGHTS = (0.1, 0.3, 0.5, 0.7, 1.0)
"""λ in figure 14; which values the source has is not in its text."""

MEASURES = ("information-gain", "mutual-information", "chi2", "odds-ratio", "gss", "ngl")
CRITERIA = ("max", "sum", "weighted-sum")
NUMBERS_OF_TERMS = (250, 500, 1000, 2000, 4000, 6000, 10000)


def size_name(k: int) -> str:
    """Name of a row of the tables, which stands where others have a data set."""
    return f"{k} label{'s' if k > 1 else ''} per class"


def stated(number: str) -> pd.DataFrame:
    """Numbers that the text of the source gives for one experiment."""
    frame = read_published("stated")
    rows = frame[(frame["source"] == "S4") & (frame["table"] == number)]
    return rows.set_index(["dataset", "method"])[["mean"]].assign(se=np.nan)


@lru_cache(maxsize=1)
def documents() -> tuple[Any, NDArray[Any]]:
    """Counts of stems in the documents of section 2.2, and their classes."""
    texts, y = load_four_newsgroups(return_X_y=True)
    return StemmedCountVectorizer(dtype=np.float64).fit_transform(texts), np.asarray(y)


def selected_counts() -> Any:
    """Counts of the terms with the largest mutual information.

    All labels are used for it, those of the tested rows too, as in the source. One is added to
    each count: without it the measure is largest for any term that is in one class only, and
    largest of all for those of the smaller class, which fill all 6,000 places.
    """
    counts, y = documents()
    selector = TermSelector("mutual-information", "max", N_TERMS, smoothing=1.0)
    return selector.fit_transform(counts, y)


def weighted_counts() -> Any:
    """Tf-idf as in section 2.2, in rows of length one, which leaves the cosines as they are."""
    return normalize(RelativeTfidf().fit_transform(documents()[0]))


def neighbor_graph(n_neighbors: int) -> Graph:
    """Nearest neighbors by the cosine of tf-idf, weights normalized over those of a row."""
    builder = KNNGraph(n_neighbors, metric="cosine", weight="normalized-cosine", symmetrize="mean")
    return builder.build(prepared(weighted_counts))


def full_graph() -> Graph:
    """The cosine between all documents (section 2.4.5)."""
    return FullGraph(metric="cosine", weight="cosine").build(prepared(weighted_counts))


def document_methods() -> dict[str, Any]:
    """Methods of chapter 2."""
    em = SemiSupervisedMultinomialNB(prior=ClassPrior(smoothing=1.0), tol=1e-4)
    ten: dict[str, Any] = {"k_best": 1, "per_class": "always", "max_iter": 10}
    # Without the nearest labeled row among the neighbors a cut of three edges frees the label.
    cut = KNNGraph(
        3, metric="cosine", weight="normalized-cosine", symmetrize="mean", include_labeled=True
    )
    plain_cut = KNNGraph(3, metric="cosine", weight="cosine", include_labeled=True)
    nearest = RowGraph(neighbor_graph, (50,))
    return {
        "NB": OnRows(MultinomialNB(), selected_counts, supervised=True),
        "SVM": OnRows(SVC(kernel="linear"), weighted_counts, supervised=True),
        "self-training": OnRows(SelfTrainingClassifier(MultinomialNB(), **ten), selected_counts),
        "EM": OnRows(em, selected_counts),
        "min-cut": OnRows(MinCutClassifier(cut, prior=None), weighted_counts),
        "min-cut, cosine": OnRows(MinCutClassifier(plain_cut, prior=None), weighted_counts),
        "min-cut, 3 neighbors": OnRows(
            MinCutClassifier(RowGraph(neighbor_graph, (3,)), prior=None)
        ),
        "spectral transducer": OnRows(SpectralTransducer(nearest, c=COST)),
        "spectral transducer, d = 20": OnRows(
            SpectralTransducer(nearest, c=COST, n_eigenvectors=20)
        ),
        "consistency": consistency(ALPHA),
    }


def consistency(alpha: float) -> OnRows:
    """Learning with local and global consistency on all cosines.

    These are 14 million weights. With α near one half the iteration is done in twenty rounds; with
    0.99 it stops far from its limit unless the tolerance is very small, and is not used.
    """
    method = "iterate" if alpha < 0.6 else "closed"
    return OnRows(ConsistencyClassifier(RowGraph(full_graph), alpha=alpha, method=method, tol=1e-7))


def alpha_methods() -> dict[str, Any]:
    """Consistency with the α of the source, and with one that is common elsewhere."""
    return {"α = 0.503": consistency(ALPHA), "α = 0.99": consistency(0.99)}


def weighted_methods() -> dict[str, Any]:
    """EM with unlabeled documents of weight λ (figure 14)."""
    return {
        f"EM, λ = {weight:g}": OnRows(
            SemiSupervisedMultinomialNB(
                unlabeled_weight=weight, prior=ClassPrior(smoothing=1.0), tol=1e-4
            ),
            selected_counts,
        )
        for weight in (1.0, *WEIGHTS[:-1])
    }


SIZES = {size_name(k): k for k in LABELS}


def draws_run(run: Run, datasets: list[str], methods: Mapping[str, Any]) -> Outcome:
    """All methods on the same draws of labels."""
    y = documents()[1]
    frames = [
        run.compare(
            methods,
            {name: (row_numbers(len(y)), y)},
            DrawProtocol(f"S4-documents-{SIZES[name]}", per_class=SIZES[name]),
        )
        for name in datasets
    ]
    return Outcome(pd.concat(frames, ignore_index=True))


def documents_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """Figures 8 to 13 and 15 to 22."""
    return draws_run(run, datasets, document_methods())


def weights_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """Figure 14."""
    return draws_run(run, datasets, weighted_methods())


def alpha_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """What α does to consistency on documents."""
    return draws_run(run, datasets, alpha_methods())


class TermsByAll(TransformerMixin, BaseEstimator):
    """Terms that were selected once with all labels, those of the tested documents too.

    Parameters
    ----------
    measure : str
        The largest value of the classes counts.
    n_terms : int
    smoothing : float, default=0.0
        Added to each count.
    """

    def __init__(self, measure: str, n_terms: int, smoothing: float = 0.0) -> None:
        self.measure = measure
        self.n_terms = n_terms
        self.smoothing = smoothing

    def fit(self, X: Any, y: Any = None) -> TermsByAll:
        """Look the selection up."""
        self.selector_ = prepared(selected_by_all, self.measure, self.n_terms, self.smoothing)
        return self

    def transform(self, X: Any) -> Any:
        """Columns of the selected terms."""
        return self.selector_.transform(X)


def selected_by_all(measure: str, n_terms: int, smoothing: float) -> TermSelector:
    """A selector that has seen all documents."""
    return TermSelector(measure, "max", n_terms, smoothing=smoothing).fit(*documents())


BY_ALL = {
    "mutual-information, max, all labels": ("mutual-information", 0.0),
    "mutual-information, max, all labels, one added": ("mutual-information", 1.0),
    "information-gain, max, all labels": ("information-gain", 0.0),
}
"""Methods of figures 1 to 7 that select terms with the labels of the tested documents too."""


def terms_name(n: int) -> str:
    """Name of a row of figures 1 to 7."""
    return f"{n:,} terms"


TERMS = {terms_name(n): n for n in NUMBERS_OF_TERMS}


def terms_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """Figures 1 to 7: naive Bayes on three quarters of the documents, by number of terms."""
    counts, y = documents()
    # All labels of the training part, once: the source tests on a part that it sets aside.
    n_train = int(np.ceil(0.75 * len(y)))
    protocol = CurveProtocol("S4-terms", sizes=(n_train - 1,), n_trials=10)
    frames = []
    for name in datasets:
        methods = {
            f"{measure}, {criterion}": make_pipeline(
                TermSelector(measure, criterion, TERMS[name]), MultinomialNB()
            )
            for measure in MEASURES
            for criterion in CRITERIA
        }
        for method, (measure, smoothing) in BY_ALL.items():
            by_all = TermsByAll(measure, TERMS[name], smoothing)
            methods[method] = make_pipeline(by_all, MultinomialNB())
        methods = {f"{method}, {name}": each for method, each in methods.items()}
        frame = run.compare(methods, {name: (counts, y)}, protocol)
        frame["method"] = frame["method"].str.removesuffix(f", {name}")
        frames.append(frame)
    return Outcome(pd.concat(frames, ignore_index=True))


ACCURACY: dict[str, Any] = {"value": "accuracy", "higher_is_better": True}
DOCUMENTS = (
    "3,930 documents of four newsgroups as two classes, k labels per class drawn in each of 10 "
    "trials; the unlabeled documents are tested."
)

register(
    Table(
        "S4",
        "documents",
        "Documents with few labels (figures 8 to 13 and 15 to 22)",
        tuple(SIZES),
        tuple(document_methods()),
        f"{DOCUMENTS} Naive Bayes, self-training and EM see counts of the 6,000 stems with the "
        "largest mutual information with all labels (as in the source, where the labels of the "
        "tested documents help to select terms), with one added to each count; the others see "
        "tf-idf of all stems. Min-cut has three neighbors and the nearest labeled document, with "
        "the weights of the "
        "source (cosines normalized over the neighbors), with plain cosines, and without the "
        "labeled neighbor; "
        "consistency has all cosines and α = 1 / 1.99 = 0.503, from μ = 0.99 in the source; the "
        "spectral transducer has d = 80 eigenvectors, or 20: the source does not say how many. "
        "The published numbers are those of the text, which has them rounded.",
        stated("documents"),
        documents_run,
        reading="one added to each count in the selection of terms, by NB at 100 labels",
        printed_figure="figure 18 has the curves of all methods up to 100 labels per class. The "
        "spectral transducer and min-cut are on top, min-cut at chance with one label; naive Bayes "
        "reaches them at 100; consistency and self-training stay below.",
        score="accuracy on the unlabeled documents",
        quick=tuple(map(size_name, (1, 5, 100))),
        needs=lambda name: "20news-18828",
        **ACCURACY,
    )
)
register(
    Table(
        "S4",
        "figure-14",
        "EM with the weight of unlabeled documents",
        tuple(SIZES),
        tuple(weighted_methods()),
        f"{DOCUMENTS} Counts of 6,000 stems as for EM in S4-documents.",
        no_numbers(),
        weights_run,
        printed_figure="λ = 1 is best with the fewest labels, smaller ones from 20 labels on.",
        score="accuracy on the unlabeled documents",
        quick=tuple(map(size_name, (1, 20))),
        needs=lambda name: "20news-18828",
        **ACCURACY,
    )
)
register(
    Table(
        "S4",
        "alpha",
        "Consistency on documents with two values of α",
        tuple(map(size_name, (1, 5, 20, 100))),
        tuple(alpha_methods()),
        f"{DOCUMENTS} All cosines. The source has μ = 0.99 and α = 1 / (1 + μ) = 0.503.",
        no_numbers(),
        alpha_run,
        printed_figure="figure 17 has one curve, low with one label and relatively low with 100.",
        score="accuracy on the unlabeled documents",
        quick=(size_name(20),),
        needs=lambda name: "20news-18828",
        **ACCURACY,
    )
)
register(
    Table(
        "S4",
        "figures-1-7",
        "Naive Bayes by measure and number of terms",
        tuple(TERMS),
        (*(f"{measure}, {criterion}" for measure in MEASURES for criterion in CRITERIA), *BY_ALL),
        "Three quarters of the 3,930 documents to train and to select terms by, the others to "
        "test, in 10 trials; the source does not say how large its test set is. The last three "
        "columns select terms by all documents, those of the test too, once with one added to each "
        "count.",
        no_numbers(),
        terms_run,
        printed_figure="by its text mutual information is the best measure at about 6,000 terms, "
        "with 2 points less than all terms (7).",
        score="accuracy on the test documents",
        quick=(terms_name(1000),),
        needs=lambda name: "20news-18828",
        **ACCURACY,
    )
)
