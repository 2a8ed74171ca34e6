"""The last fit: the candidates that were decided on, on all labels."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from leaven._labels import one_hot
from leaven.base import (
    class_probabilities,
    final_step,
    needs_integer_labels,
    training_probabilities,
)
from leaven.selection._candidates import SUPERVISED, Candidate
from leaven.selection._decide import Decision
from leaven.selection._estimate import check_parameters, fit_rows
from leaven.selection._pool import Pool, WeightedCandidates
from leaven.selection._problem import Problem, give_graph


@dataclass(frozen=True, eq=False)
class FittedCandidate:
    """A candidate fitted on all labels.

    Parameters
    ----------
    name : str
    estimator : fitted estimator
        Takes rows as they are in the problem: a pipeline with the scaler where there is one.
    probabilities : ndarray of shape (n_samples, n_classes)
        Of the rows of the problem.
    n_unreached : int
        Distinct rows that no label reaches, for methods on a graph.
    scales : ndarray of shape (n_features,) or None
        The factor of each feature in the rows that the estimator learned from, if its graph or
        scaler has such factors (``scales_``).
    seconds : float
    """

    name: str
    estimator: Any
    probabilities: NDArray[np.float64]
    n_unreached: int
    scales: NDArray[np.floating[Any]] | None
    seconds: float


@dataclass(frozen=True, eq=False)
class Fitted:
    """What the last fit gives, made by :func:`fit`.

    Parameters
    ----------
    candidates : tuple of FittedCandidate
        Those that were decided on, in order of preference.
    estimator : WeightedCandidates
        All of them together, for new rows.
    probabilities : ndarray of shape (n_samples, n_classes)
        Of the rows of the problem; labeled rows keep their label.
    """

    candidates: tuple[FittedCandidate, ...]
    estimator: WeightedCandidates
    probabilities: NDArray[np.float64]

    @property
    def best_estimator(self) -> Any:
        """The fitted estimator of the only candidate, or all of them together."""
        return self.candidates[0].estimator if len(self.candidates) == 1 else self.estimator

    @property
    def n_unreached(self) -> int:
        """Distinct rows that no label reaches, in the candidate with most of them."""
        return max(each.n_unreached for each in self.candidates)

    @property
    def scales(self) -> NDArray[np.floating[Any]] | None:
        """Factors of the features in use: of the first candidate on a graph, or else the first."""
        found = [each for each in self.candidates if each.scales is not None]
        on_graph = [each for each in found if hasattr(final_step(each.estimator), "graph_")]
        return (on_graph or found)[0].scales if found else None


def fit(problem: Problem, candidates: Sequence[Candidate], decision: Decision) -> Fitted:
    """Fit the candidates that were decided on, with all labels.

    Parameters
    ----------
    problem : Problem
    candidates : sequence of Candidate
    decision : Decision

    Returns
    -------
    Fitted

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import fit, make_candidates, standard_problem, take_one
    >>> X = np.array([[0.0], [0.2], [5.0], [5.2]])
    >>> problem = standard_problem(X, np.array([0, -1, 1, -1]), np.array(["low", "high"]))
    >>> candidates = make_candidates(["harmonic"], problem)
    >>> fitted = fit(problem, candidates, take_one(candidates[0]))
    >>> problem.classes[fitted.probabilities.argmax(axis=1)]
    array(['low', 'low', 'high', 'high'], dtype='<U4')
    """
    used = [candidate for candidate in candidates if candidate.name in decision.weights]
    found = tuple(_fit_one(problem, each, decision.params[each.name]) for each in used)
    return put_together(problem, found, decision.pool)


def put_together(problem: Problem, found: tuple[FittedCandidate, ...], pool: Pool) -> Fitted:
    """Combine fitted candidates; labeled rows keep their label."""
    estimator = WeightedCandidates(
        [(each.name, each.estimator) for each in found], pool, problem.classes
    )
    probabilities = np.array(pool.combine({each.name: each.probabilities for each in found}))
    labeled = problem.labeled
    probabilities[labeled] = one_hot(problem.codes[labeled], problem.n_classes)
    return Fitted(found, estimator, probabilities)


def _fit_one(problem: Problem, candidate: Candidate, params: dict[str, Any]) -> FittedCandidate:
    begun = time.perf_counter()
    rows = problem.rows(scaled=candidate.scaled, merged=candidate.merges_duplicates)
    estimator = clone(candidate.estimator).set_params(**params, **candidate.last_params)
    check_parameters(estimator)
    before = estimator.get_params(deep=False).get("graph")
    give_graph(estimator, rows, rows.codes, problem.graphs)
    by_code = needs_integer_labels(estimator) and problem.classes.dtype.kind not in "iu"
    classes = np.arange(problem.n_classes) if by_code else problem.classes
    fit_rows(estimator, rows.X, rows.codes, candidate.kind, classes)
    if candidate.kind == SUPERVISED:
        P = class_probabilities(estimator, rows.X, classes=classes)
    else:
        P = training_probabilities(estimator, rows.X, slice(None), classes=classes)
    if "graph" in estimator.get_params(deep=False):
        # The parameter as it was: a clone of the estimator builds its own graph.
        estimator.set_params(graph=before)
    last = final_step(estimator)
    scaler = problem.scaler if candidate.scaled else None
    scales = getattr(getattr(last, "graph_builder_", None), "scales_", None)
    if scales is None:
        scales = getattr(scaler, "scales_", None)
    return FittedCandidate(
        candidate.name,
        estimator if scaler is None else Pipeline([("scale", scaler), (candidate.name, estimator)]),
        P[rows.node],
        int(getattr(last, "n_unreached_", 0)),
        scales,
        time.perf_counter() - begun,
    )
