"""Cross-validation for the safe classifier: the same folds for all, one graph for all folds."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib import hash as content_hash
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator

from leaven._base import normalize_rows
from leaven._labels import UNLABELED, mask_labels
from leaven.graph import KNNGraph
from leaven.graph_based._base import GraphClassifier
from leaven.model_selection._safe_candidates import (
    SUPERVISED,
    Candidate,
    last_step,
    make_scaler,
    merge_copies,
)
from leaven.model_selection._scoring import LabeledScorer
from leaven.model_selection._split import AdaptiveKFold

_FITS = 10
"""About so many fits of each candidate, if the number of repeats is "auto"."""

_MOST_SPLITS = 5
"""More folds would train on a few more labels, but repeats tell more for the same time."""


class OutOfTimeError(Exception):
    """The rest of a candidate's folds would not end within the time limit."""


ROUNDING = 1e-12
"""Means of the same numbers may differ in the last digits; scores this close are equal."""


@dataclass(frozen=True)
class Folds:
    """Repeated folds of the labeled rows.

    Parameters
    ----------
    rows : ndarray of shape (n_tested,)
        The labeled rows that are held out once a repeat.
    fold : ndarray of shape (n_repeats, n_tested)
        In which fold of a repeat each of them is held out.
    """

    rows: NDArray[np.intp]
    fold: NDArray[np.intp]

    @property
    def n_splits(self) -> int:
        """Number of folds of a repeat."""
        return int(self.fold.max()) + 1

    def tests(self) -> Iterator[tuple[int, NDArray[np.bool_]]]:
        """Yield the repeat, and which of ``rows`` are held out, one fold after another."""
        for repeat, fold in enumerate(self.fold):
            for number in range(self.n_splits):
                yield repeat, fold == number


def draw_folds(
    codes: NDArray[np.intp], n_repeats: int | str, rng: np.random.RandomState
) -> Folds | None:
    """Draw the folds; None if no class has two labels.

    A repeat with the folds of an earlier one says nothing new: it is drawn again, and left out
    if there seem to be no others. Two classes with two labels each have two ways only.
    """
    counts = np.bincount(codes[codes != UNLABELED])
    if counts.max() < 2:
        return None
    rows = np.flatnonzero((codes != UNLABELED) & (counts[codes] >= 2))
    known: dict[bytes, NDArray[np.intp]] = {}
    splitter = AdaptiveKFold(_MOST_SPLITS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the report has a note on classes with one label
        n_splits = splitter.get_n_splits(y=codes)
        wanted = max(2, round(_FITS / n_splits)) if n_repeats == "auto" else int(n_repeats)
        for _ in range(4 * wanted):
            if len(known) == wanted:
                break
            splitter.random_state = int(rng.randint(np.iinfo(np.int32).max))
            fold: NDArray[np.intp] = np.empty(len(rows), dtype=np.intp)
            for number, (_, test) in enumerate(splitter.split(codes, codes)):
                fold[np.searchsorted(rows, test)] = number
            # Numbered by first appearance, equal folds are equal arrays.
            _, first, inverse = np.unique(fold, return_index=True, return_inverse=True)
            fold = np.argsort(np.argsort(first))[inverse]
            known.setdefault(fold.tobytes(), fold)
    return Folds(rows, np.array(list(known.values())))


@dataclass
class Data:
    """The rows in the forms in which candidates take them, each made when first needed."""

    X: Any
    codes: NDArray[np.intp]
    values: str
    _scaled: Any = field(default=None, init=False)
    _scaler: Any = field(default=None, init=False)
    _merged: tuple[NDArray[np.intp], NDArray[np.intp]] | None = field(default=None, init=False)
    _graphs: dict[Any, Any] = field(default_factory=dict, init=False)

    def rows_for(self, candidate: Candidate) -> tuple[Any, NDArray[np.intp], NDArray[np.intp]]:
        """Rows and codes to fit on, and the place of each row of ``X`` among them."""
        X = self.scaled if candidate.scaled else self.X
        if not candidate.merges_copies:
            return X, self.codes, np.arange(len(self.codes))
        if self._merged is None:
            self._merged = merge_copies(self.X, self.codes)
        kept, node = self._merged
        return (X if len(kept) == len(node) else X[kept]), self.codes[kept], node

    @property
    def scaled(self) -> Any:
        """The scaled rows; all rows take part in scaling, for every candidate alike."""
        if self._scaled is None:
            scaler = make_scaler(self.X, self.values)
            self._scaler = None if scaler is None else scaler.fit(self.X)
            self._scaled = self.X if scaler is None else self._scaler.transform(self.X)
        return self._scaled

    def scaler_for(self, candidate: Candidate) -> Any:
        """The fitted scaler of a candidate's rows, or None."""
        return self._scaler if candidate.scaled and self.scaled is not None else None

    def share_graph(self, candidate: Candidate, X: Any) -> tuple[Any, Any]:
        """Give a clone of the estimator whose graph is built already, and its own builder.

        Builders with the same parameters on the same rows are fitted once, whichever candidate
        asks. A builder that looks at the labels is built anew in every fold.
        """
        estimator = clone(candidate.estimator)
        params = estimator.get_params(deep=False)
        builder = params.get("graph")
        if builder is None and isinstance(estimator, GraphClassifier):
            builder = KNNGraph()
        looks_at_labels = getattr(builder, "_uses_labels", None)
        if looks_at_labels is None or looks_at_labels():
            return estimator, None
        key = (
            candidate.scaled,
            candidate.merges_copies,
            type(builder).__qualname__,
            content_hash(builder.get_params()),
        )
        if key not in self._graphs:
            self._graphs[key] = clone(builder).fit(X)
        return estimator.set_params(graph=FrozenEstimator(self._graphs[key])), params["graph"]


def class_probabilities(estimator: Any, X: Any, n_classes: int) -> NDArray[Any]:
    """Class probabilities of rows, from whatever the estimator can tell of them.

    Where there is no ``predict_proba`` they come from the decision function through a
    softmax, which keeps the order of the classes but is not calibrated.
    """
    if hasattr(estimator, "predict_proba"):
        found = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    elif hasattr(estimator, "decision_function"):
        found = np.asarray(estimator.decision_function(X), dtype=np.float64)
        if found.ndim == 1:
            found = np.column_stack([-found / 2, found / 2])
        found = softmax(found, axis=1)
    else:
        found = _indicator(estimator, np.asarray(estimator.predict(X)))
    return _checked(estimator, found, n_classes)


def training_probabilities(
    estimator: Any, X: Any, rows: NDArray[np.intp], n_classes: int
) -> NDArray[Any]:
    """Class probabilities that a fitted semi-supervised estimator gave to rows of the fit."""
    inner = last_step(estimator)
    if hasattr(inner, "label_distributions_"):
        return _checked(inner, np.asarray(inner.label_distributions_)[rows], n_classes)
    transduction = getattr(inner, "transduction_", None)
    if transduction is not None and not hasattr(estimator, "predict_proba"):
        return _checked(inner, _indicator(inner, np.asarray(transduction)[rows]), n_classes)
    return class_probabilities(estimator, X[rows], n_classes)


def _indicator(estimator: Any, predicted: NDArray[Any]) -> NDArray[np.float64]:
    classes = np.asarray(estimator.classes_)
    return (predicted[:, None] == classes[None, :]).astype(np.float64)


def _checked(estimator: Any, found: NDArray[Any], n_classes: int) -> NDArray[Any]:
    if found.shape[1] != n_classes:
        raise ValueError(
            f"{type(estimator).__name__} knows {found.shape[1]} classes, but there are {n_classes}."
        )
    if not np.isfinite(found).all():
        raise ValueError(f"{type(estimator).__name__} gave probabilities that are not finite.")
    return normalize_rows(found)


def fit_candidate(
    estimator: Any,
    X: Any,
    codes: NDArray[np.intp],
    kind: str,
    classes: NDArray[Any] | None = None,
) -> Any:
    """Fit on the labeled rows only if supervised, on all otherwise.

    The labels are the codes, or the names of ``classes`` in the marks of their dtype.
    """
    labeled = codes != UNLABELED
    if kind == SUPERVISED:
        rows = np.flatnonzero(labeled)
        return estimator.fit(X[rows], codes[rows] if classes is None else classes[codes[rows]])
    if classes is None:
        return estimator.fit(X, codes)
    return estimator.fit(X, mask_labels(classes[codes], ~labeled))


def _fit_folds(
    estimator: Any,
    X: Any,
    codes: NDArray[np.intp],
    kind: str,
    n_classes: int,
    jobs: list[tuple[dict[str, Any], NDArray[np.intp]]],
) -> list[NDArray[Any]]:
    """Fit once for each pair of parameters and rows to hold out; give their probabilities."""
    answers = []
    fitted = None
    with warnings.catch_warnings():
        # A fold has fewer labels than the final fit, whose warnings are the user's to see.
        warnings.simplefilter("ignore")
        for params, test in jobs:
            known = codes.copy()
            known[test] = UNLABELED
            # The last one is alive until the next is fitted: what it shares by its graph, such
            # as eigenvectors, is not computed again.
            fitted = fit_candidate(clone(estimator).set_params(**params), X, known, kind)
            if kind == SUPERVISED:
                answers.append(class_probabilities(fitted, X[test], n_classes))
            else:
                answers.append(training_probabilities(fitted, X, test, n_classes))
    return answers


def cross_validate(
    candidate: Candidate,
    data: Data,
    folds: Folds,
    n_classes: int,
    *,
    n_jobs: int | None = None,
    seconds_left: float | None = None,
) -> NDArray[Any]:
    """Class probabilities of the held-out rows.

    Returns
    -------
    probabilities : ndarray of shape (n_parameters, n_repeats, n_tested, n_classes)

    Raises
    ------
    OutOfTimeError
        After the first fold, if at its pace the others would not end in time.
    """
    X, codes, node = data.rows_for(candidate)
    estimator, _ = data.share_graph(candidate, X)
    held_out = [(repeat, test) for repeat, test in folds.tests()]
    places = [
        (number, repeat, test) for number in range(len(candidate.grid)) for repeat, test in held_out
    ]
    jobs = [(candidate.grid[number], node[folds.rows[test]]) for number, _, test in places]
    started = time.perf_counter()
    answers = _fit_folds(estimator, X, codes, candidate.kind, n_classes, jobs[:1])
    first = time.perf_counter() - started
    workers = min(effective_n_jobs(n_jobs), max(1, len(jobs) - 1))
    expected = first * len(jobs) / workers
    if seconds_left is not None and expected > seconds_left:
        raise OutOfTimeError(
            f"{candidate.name} was skipped: its {len(jobs)} fits would take about {expected:.2g} "
            f"seconds, with {max(seconds_left, 0.0):.2g} left of the time limit."
        )
    # Each worker takes a stretch of the folds, so that it is sent the rows and the graph once.
    stretches = [jobs[1:][i::workers] for i in range(workers)]
    parts = Parallel(n_jobs=workers)(
        delayed(_fit_folds)(estimator, X, codes, candidate.kind, n_classes, stretch)
        for stretch in stretches
    )
    rest: list[Any] = [None] * (len(jobs) - 1)
    for i, part in enumerate(parts):
        rest[i::workers] = part
    found = np.empty((len(candidate.grid), len(folds.fold), len(folds.rows), n_classes))
    for (number, repeat, test), answer in zip(places, answers + rest, strict=True):
        found[number, repeat, test] = answer
    return found


class _Answers(ClassifierMixin, BaseEstimator):
    """Gives a scorer the probabilities that are known already."""

    def __init__(self, classes: NDArray[Any], probabilities: NDArray[Any]) -> None:
        self.classes_ = classes
        self._probabilities = probabilities

    def predict_proba(self, X: Any) -> NDArray[Any]:
        return self._probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        return self.classes_[self._probabilities.argmax(axis=1)]

    def decision_function(self, X: Any) -> NDArray[Any]:
        p = self._probabilities
        return p[:, 1] if p.shape[1] == 2 else p

    def __sklearn_is_fitted__(self) -> bool:
        return True


def score_folds(
    probabilities: NDArray[Any],
    folds: Folds,
    X: Any,
    codes: NDArray[np.intp],
    classes: NDArray[Any],
    scorer: LabeledScorer,
) -> NDArray[np.float64]:
    """Score each fold of each repeat; shape (n_repeats, n_splits)."""
    scores = []
    for repeat, test in folds.tests():
        rows = folds.rows[test]
        answers = _Answers(classes, probabilities[repeat, test])
        scores.append(scorer(answers, X[rows], classes[codes[rows]]))
    return np.array(scores, dtype=np.float64).reshape(len(folds.fold), -1)


def choose_within_folds(
    probabilities: NDArray[Any], scores: NDArray[np.float64], folds: Folds
) -> tuple[NDArray[Any], int]:
    """Choose among the parameters of a candidate without looking at the rows to be tested.

    For each fold that parameter is taken which scores best on the other folds of the same
    repeat; so the score of the candidate is not that of the luckiest parameter. The final
    parameter is the best over all folds. Of equal ones the first is taken.

    Parameters
    ----------
    probabilities : ndarray of shape (n_parameters, n_repeats, n_tested, n_classes)
    scores : ndarray of shape (n_parameters, n_repeats, n_splits)
    folds : Folds

    Returns
    -------
    probabilities : ndarray of shape (n_repeats, n_tested, n_classes)
    best : int
    """
    if len(probabilities) == 1:
        return probabilities[0], 0
    chosen = np.empty_like(probabilities[0])
    others = scores.sum(axis=2, keepdims=True) - scores
    best = _first_best(others)
    for repeat, fold in enumerate(folds.fold):
        chosen[repeat] = probabilities[best[repeat, fold], repeat, np.arange(len(fold))]
    return chosen, int(_first_best(scores.mean(axis=(1, 2))))


def _first_best(scores: NDArray[np.float64]) -> NDArray[np.intp]:
    """Index of the largest along the first axis; sums that differ by rounding are equal."""
    return np.asarray(np.argmax(scores >= scores.max(axis=0) - ROUNDING, axis=0))


def row_correctness(
    probabilities: NDArray[Any], codes: NDArray[np.intp], folds: Folds
) -> NDArray[np.float64]:
    """Share of the repeats in which each tested row was called right."""
    right = probabilities.argmax(axis=2) == codes[folds.rows]
    return np.asarray(right.mean(axis=0), dtype=np.float64)
