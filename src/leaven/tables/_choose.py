"""Choosing a method for a table from its own labels, without a look at the labels held back."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from leaven._labels import UNLABELED, class_prior, encode_labels, labeled_mask, mask_labels
from leaven.exceptions import UnreachedWarning
from leaven.graph import KNNGraph
from leaven.model_selection import SafeClassifier
from leaven.model_selection._safe_candidates import (
    RECIPES,
    Candidate,
    Facts,
    collect_candidates,
)
from leaven.model_selection._safe_folds import Data, Folds, draw_folds
from leaven.model_selection._safe_report import Decision, Outcome
from leaven.tables._methods import AUTO
from leaven.tables._weigh import FixedScale, GraphCache, Layout, WeighedGraph, learn_scales, scaled

GRAPH_METHODS = ("harmonic", "consistency", "spectral-transducer")
"""Candidates that live on the graph of the weighed rows."""

MOST_ROWS_IN_FOLDS = 5_000
"""Up to so many rows the columns are weighed, and the graph is built, anew in each fold."""

FEW_FOLDS_FROM = 2_000
"""Beyond so many rows the cross-validation is not repeated."""

MOST_ROWS = {
    "transductive-svm": 2_000,
    "cluster-then-label": 2_000,
    "self-training": 20_000,
    "spectral-transducer": 20_000,
    "naive-bayes-em": 20_000,
    "consistency": 20_000,
}
"""Beyond so many rows a candidate is tried only if it is named: it takes its time, and the
others are as good on most tables."""

MOST_UNLABELED = 50_000
"""Of more unlabeled rows so many, drawn at random, are learned from, unless a method is named.

The cost is then bounded, and little is lost: as the rows become many and the labels stay few,
harmonic functions come near to one constant with a spike at each label (Nadler, Srebro and
Zhou, 2009): ``benchmarks/tables.py`` with and without ``--method harmonic`` shows it. With fewer
rows more of them do help.
"""

_CHUNK = 100_000
"""Rows that are labeled at a time, as new ones."""

_LABELS_A_COLUMN = 10
_IN_FOLDS, _ONCE, _LAST = "in folds", "once", "last"


class TableClassifier(SafeClassifier):
    """The safe classifier for a prepared table: the graphs are those of weighed columns.

    Which columns count is learned from labels, and labels that are held back to estimate a
    candidate must not take part. Up to 5,000 rows the weights and the graph are made anew in
    each fold. Beyond, one graph serves all folds: with ten labels or more for each column its
    weights are learned from all labels (so few numbers from so many labels hold nothing of a
    single one), and with fewer labels they are learned without labels; then only the final
    fit has weights from labels.

    Of more than 50,000 unlabeled rows "auto" draws so many at random: on these and all labeled
    rows the candidates are estimated and the chosen one is fitted, which then labels the other
    rows as new ones. A note in ``report_`` says so. The method of a name learns from all rows.

    Parameters
    ----------
    layout : Layout
        Which feature belongs to which column.
    method : str, default="auto"
        "auto" chooses among the candidates; a name takes that one without an estimate.
    candidates : list of str, optional
        None stands for all names.
    metric : {"euclidean", "cosine"}, default="euclidean"
    has_text : bool, default=False
        Whether a column in use is a text.
    more_rows : matrix of shape (n_more, n_features), optional
        Further unlabeled rows to learn from; ``y`` must then be integers.
    time_limit, prior, random_state, n_jobs, progress :
        As in :class:`~leaven.model_selection.SafeClassifier`.

    Attributes
    ----------
    sample_ : ndarray of int or None
        The rows that were learned from, ascending; None if all were.
    """

    sample_: NDArray[np.intp] | None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: SafeClassifier._parameter_constraints[name]
        for name in ("candidates", "time_limit", "prior", "random_state", "n_jobs", "progress")
    }

    caution = 1.0
    vote = True
    scoring = "accuracy"
    verbose = 0
    n_repeats: int | str = "auto"

    def __init__(
        self,
        layout: Layout,
        *,
        method: str = AUTO,
        candidates: list[str] | None = None,
        metric: str = "euclidean",
        has_text: bool = False,
        more_rows: Any = None,
        time_limit: float | None = None,
        prior: Any = "labeled",
        random_state: Any = 0,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> None:
        self.layout = layout
        self.method = method
        self.candidates = candidates
        self.metric = metric
        self.has_text = has_text
        self.more_rows = more_rows
        self.time_limit = time_limit
        self.prior = prior
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: Any, y: Any) -> TableClassifier:
        """Choose a candidate, or take the named one, and fit it on all rows.

        Parameters
        ----------
        X : {array, CSR matrix} of shape (n_samples, n_features)
            Prepared and not weighed.
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        self._cache = GraphCache()
        n_rows = X.shape[0]
        if self.more_rows is not None:
            stack = sparse.vstack if sparse.issparse(X) else np.vstack
            X = stack([X, self.more_rows])
            y = np.concatenate([y, np.full(X.shape[0] - n_rows, UNLABELED)])
        self.sample_ = self._draw_sample(y) if self.method == AUTO else None
        if self.method != AUTO:
            self._fit_named(X, y)
        elif self.sample_ is None:
            super().fit(X, y)
        else:
            classes, codes = encode_labels(y)
            y = mask_labels(classes[codes], codes == UNLABELED)
            super().fit(X[self.sample_], y[self.sample_])
            self._label_others(X, codes, self.sample_)
        self._cache.clear()
        if self.more_rows is not None:
            self.transduction_ = self.transduction_[:n_rows]
            self.label_distributions_ = self.label_distributions_[:n_rows]
        return self

    def _draw_sample(self, y: Any) -> NDArray[np.intp] | None:
        """All labeled rows and as many others as may take part; None if all may."""
        labeled = labeled_mask(y)
        free = np.flatnonzero(~labeled)
        self._n_unlabeled = len(free)
        if len(free) <= MOST_UNLABELED:
            return None
        drawn = check_random_state(self.random_state).choice(free, MOST_UNLABELED, replace=False)
        return np.sort(np.concatenate([np.flatnonzero(labeled), drawn]))

    def _label_others(self, X: Any, codes: NDArray[np.intp], sample: NDArray[np.intp]) -> None:
        """Add the rows that were not learned from to the transduction, a chunk at a time."""
        found = np.empty((X.shape[0], len(self.classes_)), dtype=self.label_distributions_.dtype)
        found[sample] = self.label_distributions_
        others = np.setdiff1d(np.arange(X.shape[0]), sample, assume_unique=True)
        for start in range(0, len(others), _CHUNK):
            rows = others[start : start + _CHUNK]
            found[rows] = self.predict_proba(X[rows])
        self._store_transduction(found, codes)

    def usable(self, X: Any, y: Any) -> tuple[dict[str, str], dict[str, str]]:
        """Return the kinds of the candidates that fit the data, and why others do not."""
        self._cache = GraphCache()
        candidates = self._set_up(X, y)[0]
        fits = {each.name: each.kind for each in candidates if each.skipped is None}
        return fits, {each.name: each.skipped for each in candidates if each.skipped is not None}

    def _fit_named(self, X: Any, y: Any) -> None:
        candidates, data, rng = self._set_up(X, y)
        (candidate,) = candidates
        if candidate.skipped is not None:
            raise ValueError(f"{candidate.skipped} Name another method.")
        params: dict[str, Any] = candidate.grid[0]
        folds = draw_folds(data.codes, self.n_repeats, rng) if len(candidate.grid) > 1 else None
        if folds is not None:
            params = self._estimate(candidate, data, folds, None)[2]
        self._fit_chosen(candidate, params, data)

    def _set_up(self, X: Any, y: Any) -> tuple[list[Candidate], Data, np.random.RandomState]:
        X, codes = self._validate_fit(
            X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C"
        )
        rng = check_random_state(self.random_state)
        prior = self.prior
        if prior is not None and not isinstance(prior, str):
            prior = class_prior(prior, codes, self.classes_)
        facts = Facts(
            n_rows=X.shape[0],
            n_classes=len(self.classes_),
            n_unlabeled=int((codes == UNLABELED).sum()),
            is_sparse=sparse.issparse(X),
            values=self._kind_of_values(X),
            prior=prior,
            seed=int(rng.randint(np.iinfo(np.int32).max)),
        )
        self.n_repeats = 1 if facts.n_rows > FEW_FOLDS_FROM else "auto"
        self._weighing = self._when_to_weigh(codes)
        self._scales_once = None
        if self._weighing == _ONCE:
            seeded = check_random_state(facts.seed)
            self._scales_once = learn_scales(X, self.layout, codes, seeded)[0]
        data = Data(X, codes, facts.values)
        scales = learn_scales(X, self.layout, None, check_random_state(facts.seed))[0]
        if (scales != 1).any():
            data._scaled, data._scaler = scaled(X, scales), FixedScale(scales)
        else:
            data._scaled = X
        return self._make_candidates(facts), data, rng

    def _kind_of_values(self, X: Any) -> str:
        if self.layout.has_structured and self.layout.is_flag.all():
            return "binary"  # levels alone; naive Bayes takes every number above zero as one
        if sparse.issparse(X) and not (X.data < 0).any():
            return "nonnegative"
        return "continuous"

    def _when_to_weigh(self, codes: NDArray[np.intp]) -> str:
        if len(codes) <= MOST_ROWS_IN_FOLDS or self.method != AUTO:
            return _IN_FOLDS
        n_labeled = int((codes != UNLABELED).sum())
        return _ONCE if n_labeled >= _LABELS_A_COLUMN * len(self.layout.names) else _LAST

    def _make_candidates(self, facts: Facts) -> list[Candidate]:
        names = list(self.candidates or RECIPES) if self.method == AUTO else [self.method]
        found = collect_candidates(names, facts)
        limits = MOST_ROWS if self.method == AUTO and self.candidates is None else {}
        for candidate in found:
            if candidate.name in GRAPH_METHODS:
                candidate.scaled = False
                candidate.estimator.set_params(graph=self._graph(facts.seed))
            most = limits.get(candidate.name, facts.n_rows)
            if facts.n_rows > most and candidate.skipped is None:
                candidate.skipped = (
                    f"{candidate.name} was skipped: {facts.n_rows:,} rows; beyond {most:,} it is "
                    "tried only if it is named."
                )
        return found

    def _graph(self, seed: int, *, final: bool = False) -> Any:
        """Make the builder of the graph; ``final`` for the fit after the choice.

        Edges to the nearest labeled row leave no part of the table without a label, and gave
        one point of accuracy at 5 labels a class on tables of the UCI repository. Texts have
        no near labeled row as long as labels are few: there, these edges cost 3 to 8 points.
        Nine of ten true neighbors are enough for large tables: on 100,000 rows accuracy was
        the same as with 99 of 100, in little more than half the time.
        """
        by_labels = final or self._weighing == _IN_FOLDS
        graph = KNNGraph(
            10,
            metric=self.metric,
            include_labeled=by_labels and not self.has_text,
            recall=0.9,
            n_jobs=self.n_jobs,
        )
        return WeighedGraph(
            graph,
            self.layout,
            use_labels=by_labels,
            scales=None if by_labels else self._scales_once,
            random_state=seed,
            cache=self._cache if by_labels and not final else None,
        )

    def _without_estimate(self, candidates: list[Candidate]) -> tuple[list[Outcome], Decision]:
        """With one label a class nothing can be held out: "harmonic", if it is there.

        On average over tables it is better than the supervised candidates with so few labels.
        """
        outcomes, decision = super()._without_estimate(candidates)
        usable = [candidate.name for candidate in candidates if candidate.skipped is None]
        if "harmonic" not in usable:
            return outcomes, decision
        cannot = "no class has two labels, so that none could be held out"
        reason = (
            f"Whether the unlabeled rows helped cannot be told: {cannot}. By default harmonic is "
            "used, the best on average with one label a class. Label a second row of a class."
        )
        return outcomes, replace(decision, choice="harmonic", reason=reason)

    def _notes(self, codes: NDArray[np.intp], folds: Folds | None) -> tuple[str, ...]:
        # The table has its own note on classes with one label, by name and not by code.
        notes = super()._notes(codes, folds)
        own = [note for note in notes if not note.startswith("One label only")]
        if self.sample_ is not None:
            n_labeled = int((codes != UNLABELED).sum())
            own.append(
                f"Learned from a sample: all {n_labeled:,} labeled rows and {MOST_UNLABELED:,} of "
                f"the {self._n_unlabeled:,} unlabeled ones, drawn at random. What was chosen on "
                "these labeled the other rows as new ones. A method that is named learns from "
                "all rows."
            )
        return tuple(own)

    def _fit_chosen(self, chosen: Candidate, params: dict[str, Any], data: Data) -> None:
        # The graph of all folds of a sample is small enough to be built again for the last fit.
        again = self._weighing == _LAST or (self._weighing == _ONCE and self.sample_ is not None)
        if chosen.name in GRAPH_METHODS and again:
            estimator = clone(chosen.estimator)
            seed = estimator.get_params(deep=False)["graph"].random_state
            graph = self._graph(seed, final=True)
            chosen = replace(chosen, estimator=estimator.set_params(graph=graph))
        with warnings.catch_warnings():
            # Its advice is on graphs, which the user of a table did not choose.
            warnings.simplefilter("ignore", UnreachedWarning)
            super()._fit_chosen(chosen, params, data)
