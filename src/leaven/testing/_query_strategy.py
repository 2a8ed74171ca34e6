"""What every query strategy promises."""

from __future__ import annotations

import pickle
from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB, MultinomialNB

from leaven._labels import UNLABELED
from leaven.active import ActiveLearner
from leaven.testing._run import SEED, Check, quiet, run_checks, seeded
from leaven.testing._semi_supervised import default_problem

# Relative difference of scores that is rounding: sums in another order.
TOLERANCE = 1e-9


def check_query_strategy(strategy: Any, *, skip: Collection[str] = ()) -> list[str]:
    """Check that a query strategy scores a pool as leaven's learners expect.

    A strategy is an object with ``scores(estimator, X_pool, X, y)``, which gives a number for
    every row of the pool; the largest is asked first, and -inf stands for "not considered".

    Parameters
    ----------
    strategy : query strategy
        A scikit-learn object (``get_params``). Every ``random_state`` in it
        that is None is set.
    skip : collection of str, default=()
        Names of checks that are not promised, such as ``"permutation"`` of a strategy that
        draws random numbers.

    Returns
    -------
    names : list of str
        The checks that were run.

    Raises
    ------
    AssertionError
        With the name of the check and what went wrong.

    Examples
    --------
    >>> from leaven.active import SmallestMargin
    >>> from leaven.testing import check_query_strategy
    >>> check_query_strategy(SmallestMargin())[:3]
    ['scores', 'permutation', 'repeatable']
    """
    X, y = default_problem()
    return run_checks(CHECKS, seeded(strategy), X, y, skip)


def query_strategy_checks() -> dict[str, Check]:
    """Give the checks of :func:`check_query_strategy` by name.

    Returns
    -------
    checks : dict from str to callable
        Each is called with the strategy, ``X`` and ``y``, and raises if it is not kept.

    Examples
    --------
    >>> from leaven.testing import query_strategy_checks
    >>> sorted(query_strategy_checks())[:3]
    ['data_frame', 'empty_pool', 'inputs_untouched']
    """
    return dict(CHECKS)


def check_scores(strategy: Any, X: Any, y: Any) -> None:
    """One number for every row of the pool, also of a single one; neither NaN nor +inf."""
    pool = X[y == UNLABELED]
    scores = _scores(strategy, X, y)
    assert scores.shape == (len(pool),), f"{len(pool)} rows gave scores of shape {scores.shape}"
    assert scores.dtype.kind == "f", f"scores have dtype {scores.dtype}"
    assert not np.isnan(scores).any(), "a score is NaN"
    assert not np.isposinf(scores).any(), "a score is +inf"
    assert np.isfinite(scores).any(), "no row was considered"
    assert _scores(strategy, X, y, pool=pool[:1]).shape == (1,)


def check_permutation(strategy: Any, X: Any, y: Any) -> None:
    """Permuting the pool permutes the scores."""
    pool = X[y == UNLABELED]
    order = np.random.RandomState(3).permutation(len(pool))
    scores = _scores(strategy, X, y)
    assert_allclose(_scores(strategy, X, y, pool=pool[order]), scores[order], rtol=TOLERANCE)


def check_repeatable(strategy: Any, X: Any, y: Any) -> None:
    """The same query gives the same scores, again and of a second object."""
    scores = _scores(strategy, X, y)
    assert_array_equal(_scores(strategy, X, y), scores)
    assert_array_equal(_scores(clone(strategy), X, y), scores)


def check_pickles(strategy: Any, X: Any, y: Any) -> None:
    """It pickles, and scores the same."""
    other = pickle.loads(pickle.dumps(strategy))
    assert_array_equal(_scores(other, X, y), _scores(strategy, X, y))


def check_inputs_untouched(strategy: Any, X: Any, y: Any) -> None:
    """Rows, labels, parameters and the fitted estimator are as they were."""
    rows, labels, pool = X.copy(), y.copy(), X[y == UNLABELED]
    for array in (rows, labels, pool):
        array.flags.writeable = False
    before = pool.copy()
    model = _model(X, y)
    answers, params = model.predict_proba(X), repr(strategy.get_params())
    quiet(strategy.scores, model, pool, rows, labels)
    assert_array_equal(rows, X)
    assert_array_equal(labels, y)
    assert_array_equal(pool, before)
    assert_array_equal(model.predict_proba(X), answers)
    assert repr(strategy.get_params()) == params, "scores changed a parameter"


def check_data_frame(strategy: Any, X: Any, y: Any) -> None:
    """Data frames give what arrays give."""
    names = [f"column {j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    model = _model(frame, y)
    pool = frame[y == UNLABELED]
    found = quiet(strategy.scores, model, pool, frame, y)
    assert found.shape == (len(pool),)
    assert_array_equal(quiet(strategy.scores, model, pool, frame, y), found)


def check_sparse(strategy: Any, X: Any, y: Any) -> None:
    """CSR rows give what dense ones give."""
    labeled = y != UNLABELED
    counts = np.floor(X)
    model = MultinomialNB().fit(counts[labeled], y[labeled])
    dense = quiet(strategy.scores, model, counts[~labeled], counts, y)
    rows = sparse.csr_array(counts)
    thin = quiet(strategy.scores, model, rows[np.flatnonzero(~labeled)], rows, y)
    assert thin.shape == dense.shape
    # A strategy that draws numbers draws them by the pool, and so others for other types.
    if "random_state" not in strategy.get_params(deep=True):
        assert_allclose(thin, dense, rtol=1e-6, atol=1e-9)


def check_empty_pool(strategy: Any, X: Any, y: Any) -> None:
    """An empty pool is a ValueError."""
    try:
        _scores(strategy, X, y, pool=X[:0])
    except ValueError:
        return
    raise AssertionError("an empty pool was taken without an error")


def check_learner(strategy: Any, X: Any, y: Any) -> None:
    """A learner that uses it asks for distinct rows of the pool, the same for the same seed."""
    asked = []
    for _ in range(2):
        learner = ActiveLearner(GaussianNB(), clone(strategy), batch_size=3, random_state=SEED)
        quiet(learner.fit, X, y)
        rows = list(quiet(learner.query))
        learner.teach(rows, [0] * len(rows))
        rows += list(quiet(learner.query))
        asked.append(rows)
    assert asked[0] == asked[1], "the same seed asked for other rows"
    assert len(set(asked[0])) == 6, "a row was asked twice"
    assert (y[asked[0]] == UNLABELED).all(), "a labeled row was asked"


CHECKS: dict[str, Check] = {
    "scores": check_scores,
    "permutation": check_permutation,
    "repeatable": check_repeatable,
    "pickles": check_pickles,
    "inputs_untouched": check_inputs_untouched,
    "data_frame": check_data_frame,
    "sparse": check_sparse,
    "empty_pool": check_empty_pool,
    "learner": check_learner,
}


def _model(X: Any, y: NDArray[np.intp]) -> Any:
    labeled = y != UNLABELED
    return GaussianNB().fit(X[labeled], y[labeled])


def _scores(strategy: Any, X: Any, y: Any, *, pool: Any = None) -> NDArray[Any]:
    pool = X[y == UNLABELED] if pool is None else pool
    return np.asarray(quiet(strategy.scores, _model(X, y), pool, X, y))
