"""Tables 2.1 to 2.3 and 3.1 to 3.8 of Nguyen (2019): mixtures of words, and cuts of graphs."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import SVC

from leaven.datasets import load, load_comp_vs, make_two_gaussians
from leaven.evaluation import DrawProtocol, FoldProtocol, Split
from leaven.exceptions import ConvergenceWarning, LeavenWarning
from leaven.generative import SemiSupervisedMultinomialNB
from leaven.graph import KNNGraph, KNNTreeGraph, SpanningTreeGraph
from leaven.graph_based import BeliefPropagationClassifier, MinCutClassifier
from leaven.text import TfidfSumSelector
from studies.estimators import NO_ROWS, UNLABELED, Transducer, first_of_each, random_order
from studies.published import read_published
from studies.registry import Outcome, Run, Table, register

N_TERMS = 600
SPLITS = (70, 90, 97)
COMPONENTS = list(range(1, 16))
QUICK_COMPONENTS = [1, 5, 10]
EM_STEPS, EM_TOLERANCE = 60, 1e-4
"""When EM on documents stops; the source does not say. With a relative change of 1e-6 in place of
1e-4 a fit takes three to four times as long, and F1 moves by 0.02 or less."""

NEIGHBORS = tuple(range(1, 11))
QUICK_NEIGHBORS = {"abalone": (3, 6, 10), "digits": (3, 6, 10), "20news-bydate": (10,)}
AGES = range(5, 16)
"""Rings of the abalones that are kept; those with up to nine are one class (appendix A)."""

GAMMA: dict[str, Any] = {"digits": "scale", "20news-bydate": 0.05}
"""γ is one over the number of features ("auto") on abalones. With it the SVM gives all rows to one
class on digits, with pixels from 0 to 16, and on documents in rows of length one, far from what is
printed. Here the variance of the pixels is divided by as well, and documents have the γ of 3, 10,
30 and 100 times 1 / 600 that comes nearest to table 3.8."""

CAPTIONS = {"2.1": "sci", "2.2": "rec", "2.3": "talk"}
"""The caption of table 2.1 says rec and that of 2.2 sci. The numbers are the other way round:
the result files of the author have 1,957 and 1,581 tested documents where table 2.1 was made,
which are 40 % of the 4,891 and 3,952 documents of comp and sci, and our numbers agree."""

NAMES = {
    "mincut": "min-cut",
    "graphical-model": "graphical model",
    "logistic-regression": "logistic regression",
    "svm-rbf": "SVM",
}


def split_name(x: int) -> str:
    """Name of a row of the tables."""
    return f"split-{x}"


# Data


READINGS = ("bodies, stop words removed", "bodies", "whole texts, times 100", "counts")
"""How documents become numbers. The source says "tf-idf vectorizer" and 600 words by their sum; the
first reading is what the tables have."""

DOCUMENTS_READ = "how documents become numbers, by NB and EM of tables 2.1 to 2.3"

SCALE = 100.0
"""Factor of the third reading, so that a document weighs more than the pseudo-counts of naive
Bayes; the settings file of the author has one of 10,000."""

QUOTED = re.compile(r"(writes in|writes:|wrote:|says:|said:|^In article|^Quoted from|^\||^>)")


def body(text: str) -> str:
    r"""A document without its header, signature and quoted lines.

    These are the rules of scikit-learn's ``fetch_20newsgroups(remove=("headers", "footers",
    "quotes"))``.

    Examples
    --------
    >>> from studies.generative_framework import body
    >>> body("From: x@y.z\n\nHe wrote:\n> Is it?\nIt is.\n--\nX")
    'It is.'
    """
    text = text.partition("\n\n")[2]
    lines = text.strip().split("\n")
    rules = [i for i, line in enumerate(lines) if not line.strip().strip("-")]
    if rules and rules[-1] > 0:
        text = "\n".join(lines[: rules[-1]])
    return "\n".join(line for line in text.split("\n") if not QUOTED.search(line))


@lru_cache(maxsize=3)
def words(other: str, reading: str = READINGS[0]) -> tuple[Any, NDArray[Any]]:
    """The 600 words with the largest sum of tf-idf, and classes of the documents."""
    texts, y = load_comp_vs(other, return_X_y=True)
    stop = "english" if "stop words removed" in reading else None
    if reading.startswith("bodies"):
        texts = [body(text) for text in texts]
    counts = CountVectorizer(dtype=np.float64, stop_words=stop).fit_transform(texts)
    if reading == "counts":
        selector = TfidfSumSelector(N_TERMS, weighting=TfidfTransformer(norm=None))
        return selector.fit_transform(counts), np.asarray(y)
    weights = TfidfTransformer().fit_transform(counts)
    total = np.asarray(weights.sum(axis=0)).ravel()
    kept = np.sort(np.argsort(-total, kind="stable")[:N_TERMS])
    if reading.startswith("bodies"):
        return TfidfTransformer().fit_transform(counts[:, kept]), np.asarray(y)
    return SCALE * weights[:, kept], np.asarray(y)


def abalones() -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Seven measures of abalones of 5 to 15 rings, and whether they have ten or more."""
    bunch = load("abalone")
    rings = bunch.target.astype(int).to_numpy()
    kept = np.isin(rings, list(AGES))
    X = bunch.data.drop(columns="sex").to_numpy(dtype=float)
    return X[kept], np.where(rings[kept] < 10, "5 to 9", "10 to 15")


def odd_digits() -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Images of 8 × 8 pixels, and whether the digit is odd."""
    bunch = load("digits")
    odd = np.asarray(bunch.target).astype(int) % 2 == 1
    return np.asarray(bunch.data, dtype=float), np.where(odd, "odd", "even")


def gaussians(std: float) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Many rows of the two normal distributions, of which a trial takes 75 of each."""
    X, y = make_two_gaussians(3000, std=std, random_state=0)[:2]
    return np.asarray(X), np.asarray(y)


DATA: dict[str, Callable[[], Any]] = {
    "abalone": abalones,
    "digits": odd_digits,
    "20news-bydate": partial(words, "rec"),
}
OF_TABLE = {"3": "abalone", "4": "digits", "5": "20news-bydate"}


# Protocols


@dataclass(frozen=True)
class SampleProtocol(DrawProtocol):
    """A sample of each class in each trial, of which a few rows are labeled.

    Parameters
    ----------
    n_sampled : int, default=75
        Rows of each class.
    """

    kind: ClassVar[str] = "sample"
    n_sampled: int = 75

    def split(self, codes: NDArray[np.intp], trial: int, *, continuous: bool = False) -> Split:
        """Rows of a trial: the sample, labeled rows first."""
        rows, n = first_of_each(
            random_order(len(codes), self.seed, trial, 0), codes, self.n_sampled
        )
        order, n_labeled = first_of_each(rows[:n], codes, self.per_class)
        return Split(order, (n_labeled,), NO_ROWS, NO_ROWS)


# Methods


class ChosenNeighbors(Transducer):
    """A graph classifier whose number of neighbors is chosen on a part of the labels.

    The labels of one of three parts are hidden once; the number that gives most of them back is
    taken, the smallest of equals.

    Parameters
    ----------
    estimator : graph classifier
    candidates : tuple of int
        A single one is taken without a search.
    random_state : int, RandomState or None, default=None
    """

    def __init__(
        self, estimator: Any, candidates: tuple[int, ...], random_state: Any = None
    ) -> None:
        self.estimator = estimator
        self.candidates = candidates
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> ChosenNeighbors:
        """Choose, then fit with all labels."""
        codes = self._begin(X, y)
        with warnings.catch_warnings():
            # Belief propagation on a graph with loops need not converge, as the source says.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", LeavenWarning)
            self.n_neighbors_ = self._choose(X, codes)
            self.estimator_ = self._with(self.n_neighbors_).fit(X, codes)
        self._finish(self.estimator_.label_distributions_, codes)
        return self

    def _with(self, n_neighbors: int) -> Any:
        return clone(self.estimator).set_params(graph__n_neighbors=n_neighbors)

    def _choose(self, X: Any, codes: NDArray[np.intp]) -> int:
        labeled = np.flatnonzero(codes != UNLABELED)
        if len(self.candidates) == 1 or np.bincount(codes[labeled]).min() < 3:
            return self.candidates[len(self.candidates) // 2]
        folds = StratifiedKFold(3, shuffle=True, random_state=self.random_state)
        _, part = next(folds.split(labeled, codes[labeled]))
        hidden = labeled[part]
        partly = codes.copy()
        partly[hidden] = UNLABELED
        right = {
            k: np.mean(self._with(k).fit(X, partly).transduction_[hidden] == codes[hidden])
            for k in self.candidates
        }
        return max(self.candidates, key=lambda k: (right[k], -k))


def mixtures(components: list[int]) -> dict[str, Any]:
    """Naive Bayes, and EM with the numbers of components to choose from."""
    return {
        "NB": MultinomialNB(),
        **{
            f"EM-{init}": SemiSupervisedMultinomialNB(
                n_components=components, init=init, max_iter=EM_STEPS, tol=EM_TOLERANCE
            )
            for init in ("random", "tree", "kmeans")
        },
    }


def graph_of(kind: str, dataset: str) -> Any:
    """A graph builder of section 3.5."""
    cosine = dataset == "20news-bydate"
    options: dict[str, Any] = {
        "metric": "cosine" if cosine else "euclidean",
        "weight": "cosine" if cosine else "inverse-distance",
    }
    if kind == "MST":
        return SpanningTreeGraph(10, **options)
    builder = KNNGraph if kind == "kNN" else KNNTreeGraph
    return builder(include_labeled=True, **options)


def graph_methods(kind: str, dataset: str, neighbors: tuple[int, ...]) -> dict[str, Any]:
    """Min-cut and the graphical model on one kind of graph."""
    graph = graph_of(kind, dataset)
    candidates = (10,) if kind == "MST" else neighbors
    return {
        "min-cut": ChosenNeighbors(MinCutClassifier(graph, prior=None), candidates),
        "graphical model": ChosenNeighbors(BeliefPropagationClassifier(graph), candidates),
    }


# Tables


def published(number: str) -> pd.DataFrame:
    """Average F1 in one table, by row and method."""
    frame = read_published("f1")
    rows = frame[(frame["source"] == "S0") & (frame["table"] == number)]
    names = [
        f"{graph}, split-{x}" if graph not in ("", "best") else f"split-{x}"
        for graph, x in zip(rows["graph"], rows["split"], strict=True)
    ]
    methods = [NAMES.get(method, method) for method in rows["method"]]
    index = pd.MultiIndex.from_arrays([names, methods], names=["dataset", "method"])
    return pd.DataFrame({"mean": rows["value"].to_numpy(), "se": np.nan}, index=index)


def _joined(frames: list[pd.DataFrame]) -> Outcome:
    return Outcome(pd.concat(frames, ignore_index=True))


def _suffix(run: Run) -> str:
    return "-quick" if run.quick else ""


def mixture_run(table: Table, run: Run, datasets: list[str], *, other: str) -> Outcome:
    """Tables 2.1 to 2.3."""
    methods = mixtures(QUICK_COMPONENTS if run.quick else COMPONENTS)
    frames = []
    for name in datasets:
        unlabeled = int(name.removeprefix("split-")) / 100
        protocol = FoldProtocol(
            f"{table.id}-{name}{_suffix(run)}", unlabeled=unlabeled, train_size=0.6
        )
        frames.append(run.compare(methods, {name: words(other)}, protocol))
    return _joined(frames)


def readings_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """Naive Bayes and EM with one component under each reading of the words."""
    frames = []
    for name in datasets:
        task, split = name.split(", ")
        protocol = FoldProtocol(
            f"{table.id}-{split}", unlabeled=int(split.removeprefix("split-")) / 100, train_size=0.6
        )
        for reading in READINGS:
            methods = {
                f"NB, {reading}": MultinomialNB(),
                f"EM, {reading}": SemiSupervisedMultinomialNB(max_iter=EM_STEPS, tol=EM_TOLERANCE),
            }
            data = {f"{name}, {reading}": words(task.removeprefix("comp against "), reading)}
            frames.append(run.compare(methods, data, protocol).assign(dataset=name))
    return _joined(frames)


def published_readings() -> pd.DataFrame:
    """NB and EM-random of tables 2.1 to 2.3 beside every reading."""
    rows = {}
    for number, other in CAPTIONS.items():
        numbers = published(number)["mean"]
        for x in SPLITS:
            for reading in READINGS:
                for short, method in (("NB", "NB"), ("EM", "EM-random")):
                    key = (f"comp against {other}, split-{x}", f"{short}, {reading}")
                    rows[key] = float(numbers[split_name(x), method])
    index = pd.MultiIndex.from_tuples(list(rows), names=["dataset", "method"])
    return pd.DataFrame({"mean": list(rows.values()), "se": np.nan}, index=index)


def transductive(table: Table, x: int, run: Run) -> FoldProtocol:
    """All rows in training, x % of them without a label, in five trials."""
    return FoldProtocol(
        f"{table.id}-split-{x}{_suffix(run)}", unlabeled=x / 100, train_size=1.0, n_inner=1
    )


def graph_run(table: Table, run: Run, datasets: list[str], *, data: str) -> Outcome:
    """Tables 3.3 to 3.5."""
    neighbors = QUICK_NEIGHBORS[data] if run.quick else NEIGHBORS
    X_y = DATA[data]()
    frames = []
    for name in datasets:
        kind, split = name.split(", ")
        protocol = transductive(table, int(split.removeprefix("split-")), run)
        # The store knows methods by name, and they differ from graph to graph.
        methods = {
            f"{kind}, {method}": each
            for method, each in graph_methods(kind, data, neighbors).items()
        }
        frame = run.compare(methods, {name: X_y}, protocol)
        frame["method"] = frame["method"].str.removeprefix(f"{kind}, ")
        frames.append(frame)
    return _joined(frames)


def supervised_run(table: Table, run: Run, datasets: list[str], *, data: str, kind: str) -> Outcome:
    """Tables 3.6 to 3.8."""
    neighbors = QUICK_NEIGHBORS[data] if run.quick else NEIGHBORS
    methods: Mapping[str, Any] = {
        "logistic regression": LogisticRegression(max_iter=5000),
        "SVM": SVC(gamma=GAMMA.get(data, "auto")),
        "graphical model": graph_methods(kind, data, neighbors)["graphical model"],
    }
    X_y = DATA[data]()
    frames = [
        run.compare(
            methods, {name: X_y}, transductive(table, int(name.removeprefix("split-")), run)
        )
        for name in datasets
    ]
    return _joined(frames)


def gaussian_run(table: Table, run: Run, datasets: list[str], *, std: float) -> Outcome:
    """Tables 3.1 and 3.2."""
    methods = graph_methods("kNN", "", NEIGHBORS)
    protocol = SampleProtocol(table.id, per_class=7, n_trials=25)
    return Outcome(run.compare(methods, {datasets[0]: gaussians(std)}, protocol))


def add(number: str, title: str, protocol: str, run: Any, **options: Any) -> None:
    """Register a table of the source."""
    numbers = options.pop("published", None)
    numbers = published(number) if numbers is None else numbers
    rows = tuple(dict.fromkeys(numbers.index.get_level_values("dataset")))
    methods = tuple(dict.fromkeys(numbers.index.get_level_values("method")))
    register(
        Table(
            "S0",
            number,
            title,
            rows,
            methods,
            protocol,
            numbers,
            run,
            score="F1, mean of the classes",
            value="f1",
            higher_is_better=True,
            **options,
        )
    )


def needed(data: str, row: str) -> str:
    """The data set of every row of a table."""
    return data


def add_all() -> None:
    """Register all tables of the source, in its order."""
    for number, other in CAPTIONS.items():
        caption = (
            ""
            if other == "talk"
            else " The captions of tables 2.1 and 2.2 are exchanged in the source, as the numbers "
            "of documents in its result files tell; here the published numbers stand beside the "
            "data they belong to."
        )
        add(
            number,
            f"Mixtures of words, comp against {other}",
            "Documents without header, signature, quoted lines and stop words; tf-idf of the 600 "
            "words with the largest sum, in rows of length one (of four readings, see S0-readings, "
            "chosen by the printed NB and EM together). 60 % of the documents to train, 40 % to "
            "test, in five divisions; of the training documents "
            "70, 90 or 97 % without a label, in five divisions of each. One to 15 components per "
            "class, chosen by cross-validation on the labeled documents; EM stops at a relative "
            f"change of {EM_TOLERANCE:g} or after {EM_STEPS} steps.{caption}",
            partial(mixture_run, other=other),
            reading=DOCUMENTS_READ,
            quick=("split-97",),
            needs=partial(needed, "20news-bydate"),
        )
    add(
        "readings",
        "How documents become numbers: NB and EM under four readings",
        "As tables 2.1 to 2.3, with one component per class, so that EM is beside EM-random. "
        "Bodies: documents without header, signature and quoted lines, as scikit-learn can remove "
        "them, with and without stop words; tf-idf of the 600 words with the largest sum, in rows "
        "of length one. Whole texts: the same of all lines, in rows that have length one with all "
        "words, times 100. Counts: of the 600 words of whole texts with the largest sum of tf-idf "
        "in rows that are not scaled.",
        readings_run,
        published=published_readings(),
        quick=tuple(f"comp against {other}, split-97" for other in CAPTIONS.values()),
        needs=partial(needed, "20news-bydate"),
    )
    for number, std in (("3.1", 0.6), ("3.2", 0.8)):
        row = f"standard deviation {std}"
        numbers = published(number).droplevel("dataset")
        numbers = pd.concat({row: numbers}, names=["dataset"])
        add(
            number,
            f"Two normal distributions of {row}",
            "75 rows of each class in the plane, 7 of them labeled. The source has one draw, ours "
            "is the mean of 25. Nearest neighbors, one to ten, chosen on a part of the labels; "
            "the source does not say which graph it took.",
            partial(gaussian_run, std=std),
            published=numbers,
            quick=(row,),
            needs=partial(needed, "digits"),  # always there: nothing is needed
        )
    how = (
        "All rows in training, x % of them without a label, in five trials, and these tested. "
        "One to ten neighbors, chosen on a third of the labels; every row is joined to its "
        "nearest labeled row."
    )
    for digit, data in OF_TABLE.items():
        title = {
            "abalone": "abalones of 5 to 9 against 10 to 15 rings",
            "digits": "odd against even digits",
            "20news-bydate": "comp against rec",
        }[data]
        best = {"abalone": "kNN", "digits": "kNN-MST", "20news-bydate": "kNN"}[data]
        add(
            f"3.{digit}",
            f"Cuts of graphs, {title}",
            how,
            partial(graph_run, data=data),
            reading=DOCUMENTS_READ if data == "20news-bydate" else "",
            quick=("kNN, split-97", "kNN-MST, split-97")
            + (() if data == "20news-bydate" else ("MST, split-97",)),
            needs=partial(needed, data),
        )
        add(
            f"3.{int(digit) + 3}",
            f"Supervised classifiers and a graph, {title}",
            f"{how} The graph is {best}, the best one of table 3.{digit} in the source."
            + {
                "digits": " γ of the SVM is divided by the variance of the pixels.",
                "20news-bydate": " γ of the SVM is 0.05.",
            }.get(data, ""),
            partial(supervised_run, data=data, kind=best),
            reading=" and ".join(
                text
                for here, text in (
                    (data in GAMMA, f"γ of the SVM, by its numbers in table 3.{int(digit) + 3}"),
                    (data == "20news-bydate", DOCUMENTS_READ),
                )
                if here
            ),
            quick=("split-97",) if data == "20news-bydate" else tuple(map(split_name, SPLITS)),
            needs=partial(needed, data),
        )


add_all()
