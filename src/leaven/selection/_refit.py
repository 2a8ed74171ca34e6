"""What was chosen on a sample, fitted once more on all rows, which come in partitions."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from leaven.partitions import Block, Partitions
from leaven.selection._pool import WeightedCandidates


def refit(
    estimator: WeightedCandidates, rows: Partitions, *, sampled: float = 1.0
) -> WeightedCandidates:
    """Fit the candidates again on rows in partitions; choice, parameters and scaling stay.

    Parameters
    ----------
    estimator : WeightedCandidates
        Of methods that fit partitions: the EM classifiers and the anchor graph.
    rows : Partitions
        Of :class:`~leaven.partitions.Block`, with labels in ``estimator.classes``.
    sampled : float, default=1.0
        Share of the unlabeled rows that the parameters were chosen on. A method with an
        ``unlabeled_weight`` gets this part of it, so that all unlabeled rows together weigh what
        those of the sample did: with few labels the weight that was best for a thousand rows
        would let a million drown the labels.

    Returns
    -------
    WeightedCandidates

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.partitions import as_partitions
    >>> from leaven.selection import fit_named, make_candidates, refit, standard_problem
    >>> X, codes = np.array([[0.5], [0.2], [5.5], [5.2]]), np.array([0, -1, 1, -1])
    >>> problem = standard_problem(X, codes, np.array([0, 1]))
    >>> (candidate,) = make_candidates(["anchor-graph"], problem)
    >>> chosen = fit_named(problem, candidate).fitted.estimator
    >>> all_rows = as_partitions([X, X + 0.1], [codes, codes])
    >>> refit(chosen, all_rows).predict(np.array([[0.7], [5.0]]))
    array([0, 1])
    """
    found = [(name, _refit_one(each, rows, sampled)) for name, each in estimator.estimators]
    return WeightedCandidates(found, estimator.pool, estimator.classes)


def _refit_one(fitted: Any, rows: Partitions, sampled: float) -> Any:
    # The engine puts a scaler, if there is one, and the method into a pipeline.
    steps = fitted.steps if isinstance(fitted, Pipeline) else [("method", fitted)]
    *scalers, (name, method) = steps
    if scalers:
        rows = rows.prepare(_scale, Pipeline(scalers))
    new = clone(method)
    weight = new.get_params(deep=False).get("unlabeled_weight")
    if weight is not None:
        new.set_params(unlabeled_weight=weight * sampled)
    new.fit(rows, None)
    # What it says of the rows themselves is as large as they are, and not needed to predict.
    del new.label_distributions_, new.transduction_
    return Pipeline([*scalers, (name, new)]) if scalers else new


def _scale(block: Block, scaler: Pipeline) -> Block:
    return block._replace(X=scaler.transform(block.X)) if block.X.shape[0] else block
