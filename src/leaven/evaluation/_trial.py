"""One trial: fit at each number of labels and predict the test rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from leaven._labels import UNLABELED, encode_labels, mask_labels
from leaven.active import simulate
from leaven.base import (
    final_step,
    learns_from_unlabeled,
    needs_integer_labels,
    seeded_clone,
    take_rows,
)
from leaven.evaluation._curve_bayes import BayesPlan
from leaven.evaluation._protocol import Split


@dataclass(frozen=True)
class Tuned:
    """An estimator whose parameters are chosen on the validation rows of the protocol.

    At each number of labels every setting of the grid is fitted, and the one with the fewest
    errors on the validation rows (the first of equals) predicts the test rows. For protocols
    with a validation set, such as ``"validation"``.

    Parameters
    ----------
    estimator : classifier
    grid : dict
        Parameter names and lists of values, as for :class:`sklearn.model_selection.GridSearchCV`.
    """

    estimator: Any
    grid: dict[str, list[Any]]


@dataclass(frozen=True)
class Active:
    """An estimator that asks for the labels itself, by a query strategy.

    Under a :class:`CurveProtocol` the rows at the start are those of every other method, and
    the strategy chooses all further ones.

    Parameters
    ----------
    estimator : classifier
    strategy : query strategy
        See :mod:`leaven.active`.
    """

    estimator: Any
    strategy: Any


@dataclass(frozen=True)
class Data:
    """Rows and their classes; ``y`` holds the class names, ``codes`` their numbers."""

    X: Any
    y: NDArray[Any]
    classes: NDArray[Any]
    codes: NDArray[np.intp]


@dataclass(frozen=True)
class Prediction:
    """Class codes of the tested rows at one number of labels, and the time they took."""

    n_labeled: int
    rows: NDArray[np.intp]
    codes: NDArray[np.intp]
    seconds: float


def as_data(X: Any, y: Any, *, needed_by: str) -> Data:
    """Check rows and classes of a data set in which every label is known."""
    classes, codes = encode_labels(y, min_classes=2)
    if (codes == UNLABELED).any():
        raise ValueError(
            f"y has {int((codes == UNLABELED).sum())} unlabeled rows, but {needed_by} hides and "
            "reveals labels itself and tests against them: every row needs its true label."
        )
    if isinstance(X, pd.Series):
        X = X.to_numpy()
    if isinstance(X, (list, tuple)):
        texts = bool(len(X)) and isinstance(X[0], str)
        X = np.asarray(X, dtype=object) if texts else np.asarray(X)
    if hasattr(X, "tocsr"):
        X = X.tocsr()
    if X.shape[0] != len(codes):
        raise ValueError(f"X has {X.shape[0]} rows, but y has {len(codes)}. Give one label a row.")
    if classes.dtype == object:
        # Names of fixed width: what scikit-learn does with objects takes longer than many a fit.
        classes = classes.astype(str)
    return Data(X, classes[codes], classes, codes)


def asked(active: Active, data: Data, split: Split, seed: int) -> Split:
    """The split with its training rows in the order in which the strategy asks for them."""
    if len(split.sizes) < 2:
        raise ValueError(
            "Active asks for labels between one size and the next, but the protocol has a single "
            "size. Use a CurveProtocol."
        )
    found = simulate(
        active.estimator,
        take_rows(data.X, split.order),
        data.y[split.order],
        labeled=np.arange(split.sizes[0]),
        sizes=list(split.sizes),
        strategy=active.strategy,
        random_state=seed,
    ).order
    never = np.setdiff1d(np.arange(len(split.order)), found)
    return replace(split, order=split.order[np.concatenate([found, never])])


def tell_classes(estimator: Any, classes: NDArray[Any]) -> Any:
    """Set the parameter ``classes`` of the estimator, or of the last step of a pipeline."""
    last = final_step(estimator)
    if "classes" not in last.get_params(deep=False):
        raise ValueError(
            f"known_classes=True, but {type(last).__name__} has no parameter 'classes' that would "
            "tell it of classes without a labeled row. Use known_classes=False."
        )
    last.set_params(classes=classes)
    return estimator


def predictions(
    estimator: Any,
    data: Data,
    split: Split,
    *,
    seed: int,
    semi_supervised: bool | None = None,
    known_classes: bool = False,
    plan: BayesPlan | None = None,
) -> Iterator[Prediction]:
    """Predict the test rows at each number of labels of a split.

    Where the labels are all of one class, that class is predicted: most classifiers refuse to
    be fitted with it. Not so with ``known_classes``, where the estimator is told all classes
    by its parameter ``classes`` and decides.
    """
    if isinstance(estimator, Active):
        split = asked(estimator, data, split, seed)
        estimator = estimator.estimator
    if plan is not None and len(split.test):
        by_plan = _by_plan(plan, data, split, known_classes=known_classes)
        if by_plan is not None:
            yield from by_plan
            return
    grid: list[dict[str, Any]] = [{}]
    if isinstance(estimator, Tuned):
        if not len(split.validation):
            raise ValueError(
                "Tuned chooses parameters on validation rows, but the protocol has none. Use a "
                "protocol with validation_size, such as 'validation'."
            )
        grid = list(ParameterGrid(estimator.grid))
        estimator = estimator.estimator
    by_itself = semi_supervised is None
    if semi_supervised is None:
        semi_supervised = learns_from_unlabeled(estimator)
    model = seeded_clone(estimator, np.random.RandomState(seed))
    if known_classes:
        tell_classes(model, data.classes)
    # scikit-learn's own semi-supervised classifiers know no mark but -1.
    y = data.codes if needs_integer_labels(estimator) else data.y
    X_train, y_train = take_rows(data.X, split.order), y[split.order]
    train_codes = data.codes[split.order]
    X_test = take_rows(data.X, split.test) if len(split.test) else None
    hidden = mask_labels(y_train, np.ones(len(y_train), dtype=bool))
    for size in split.sizes:
        start = time.perf_counter()
        rows = split.tested(size)
        if not len(rows):
            raise ValueError(f"With {size} labeled rows none are left unlabeled to test on.")
        labels = train_codes[:size]
        if not known_classes and (labels == labels[0]).all():
            codes: NDArray[np.intp] = np.full(len(rows), labels[0])
        else:
            partly = hidden.copy()
            partly[:size] = y_train[:size]
            only_labeled = (take_rows(X_train, slice(0, size)), y_train[:size])
            few = 2 * len(np.unique(labels)) >= size
            given = (X_train, partly) if semi_supervised else only_labeled
            fitted = _fit_best(model, grid, given, data, split, y, few)
            if by_itself and not semi_supervised and learns_from_unlabeled(fitted):
                # A class from elsewhere that declares nothing is known by what its fit leaves.
                semi_supervised = True
                fitted = _fit_best(model, grid, (X_train, partly), data, split, y, few)
            codes = _test_codes(fitted, X_test, data, split, size, y)
        yield Prediction(size, rows, codes, time.perf_counter() - start)


def _fit_best(
    model: Any,
    grid: list[dict[str, Any]],
    given: tuple[Any, Any],
    data: Data,
    split: Split,
    y: NDArray[Any],
    few: bool,
) -> Any:
    """Fit each setting of the grid; return the one with the fewest errors in validation."""
    best, fewest = None, np.inf
    for params in grid:
        candidate = clone(model)
        if params:
            candidate.set_params(**params)
        with warnings.catch_warnings() if few else nullcontext():
            if few:
                # Few labels of many classes are the point, and no sign of a regression.
                warnings.filterwarnings("ignore", message="The number of unique classes is")
            candidate.fit(*given)
        if len(grid) == 1:
            return candidate
        predicted = candidate.predict(take_rows(data.X, split.validation))
        wrong = float(np.mean(predicted != y[split.validation]))
        if wrong < fewest:
            best, fewest = candidate, wrong
    return best


def _test_codes(
    fitted: Any, X_test: Any, data: Data, split: Split, size: int, y: NDArray[Any]
) -> NDArray[np.intp]:
    """Class codes of the tested rows; a transductive answer for unlabeled training rows."""
    names = None
    if X_test is None:
        X_test = take_rows(data.X, split.order[size:])
        transduction = getattr(final_step(fitted), "transduction_", None)
        if transduction is not None and len(transduction) == len(split.order):
            names = transduction[size:]
            # scikit-learn's self-training leaves rows without an answer.
            if names.dtype.kind in "iu" and (names == UNLABELED).any():
                names = None
    if names is None:
        names = fitted.predict(X_test)
    if y is data.codes:
        return np.asarray(names, dtype=np.intp)
    return codes_of(np.asarray(names), data.classes)


def codes_of(names: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Numbers of class names, which are sorted; a name that is no class is an error."""
    names = names.astype(classes.dtype.kind, copy=False) if classes.dtype.kind == "U" else names
    codes = np.minimum(np.searchsorted(classes, names), len(classes) - 1)
    strange = classes[codes] != names
    if strange.any():
        raise ValueError(f"The estimator predicted {names[strange][0]!r}, which is not in y.")
    return codes.astype(np.intp)


def _by_plan(
    plan: BayesPlan, data: Data, split: Split, *, known_classes: bool
) -> list[Prediction] | None:
    start = time.perf_counter()
    table = plan.predict(
        data.codes,
        len(data.classes),
        split.order,
        split.sizes,
        split.test,
        known_classes=known_classes,
    )
    if table is None:
        return None
    seconds = (time.perf_counter() - start) / len(split.sizes)
    return [
        Prediction(size, split.test, codes, seconds)
        for size, codes in zip(split.sizes, table, strict=True)
    ]
