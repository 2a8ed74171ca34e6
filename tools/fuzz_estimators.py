"""Odd rows and labels for every public classifier; ``python -m tools.fuzz estimators`` runs it.

A case fits one classifier twice: on odd rows, and on the same rows told in another way (other names
of the classes, other marks, another container; another order of rows or classes where no two rows
are tied). Both fits answer alike, or both are refused in words.
"""

from __future__ import annotations

import functools
import inspect
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

# Words of libraries below leaven. A user can do nothing with them.
INTERNAL = [
    "exactly singular",
    "ingular matrix",
    "is singular",
    "reshape",
    "broadcast",
    "dtype mismatch",
    "unpack",
    "NoneType",
    "index out",
    "operand",
    "zero-size",
    "infs or NaNs",
    "has no attribute",
    "not subscriptable",
    "could not convert",
    "must be real",
    "ARPACK",
    "axis",
]
DTYPES = [np.float64] * 3 + [np.float32, np.float16, np.int64, np.int8, np.uint8, np.bool_]
# Sorted names, so that only the words differ.
NAMES: list[tuple[Any, ...]] = [
    (0, 1, 2, 3),
    (5, 6, 7, 900),
    (-7, -3, 0, 2**62),
    ("a", "b", "c", "d"),
    ("0", "1", "x|y", "ä b"),
    ("-2", "None ", "True", "nan "),
]
# Their random draws, or the folds of their cross-validation, follow the order of the rows or of
# the classes: tests/test_contract.py.
DRAWING = {
    "ClusterThenLabel",
    "CoForestClassifier",
    "CoTrainingClassifier",
    "DemocraticCoLearningClassifier",
    "S4VM",
    "SafeClassifier",
    "SetredClassifier",
    "StatisticalCoLearningClassifier",
    "TriTrainingClassifier",
}
SLOW = {
    "DemocraticCoLearningClassifier",
    "EntropyRegularizedLogisticRegression",
    "PoissonMBOClassifier",
    "S4VM",
    "SafeClassifier",
    "TransductiveSVC",
}
# As many parts as the code needs to do all that it does; the defaults only take longer.
SMALL = {"n_estimators": 4, "n_cuts": 3, "n_starts": 6, "n_separators": 3, "random_state": 0}
TOLERANCE = 1e-6
# Another order of the sums, in iterations that stop at 1e-3 or so. A row or a class that is treated
# in another way than the others moves probabilities by far more.
ORDER_TOLERANCE = 1e-2


@dataclass(frozen=True)
class Problem:
    """Rows, codes of their labels (-1 for none), and what the classes are called."""

    X: Any
    codes: np.ndarray
    names: tuple[Any, ...]
    mark: str = "None"
    generic: bool = False
    """No two distances are equal, and no scale is odd: the order of the rows does not matter."""

    def labels(self) -> Any:
        """The labels as a user might give them."""
        hidden = self.codes < 0
        named = [None if code < 0 else self.names[code] for code in self.codes]
        objects = np.array(named, dtype=object)
        if self.mark == "NaN":
            objects[hidden] = np.nan
        elif self.mark == "pandas.NA":
            objects[hidden] = pd.NA
        elif self.mark == "category":
            return pd.Series(pd.Categorical(named, categories=list(self.names)))
        elif self.mark == "list":
            return named
        elif self.mark == "-1" and not isinstance(self.names[0], str):
            return np.where(hidden, -1, np.array(self.names, dtype=np.int64)[self.codes])
        elif self.mark == "Int64" and not isinstance(self.names[0], str):
            return pd.Series(named, dtype="Int64")
        return objects


MARKS = ["None", "NaN", "pandas.NA", "category", "list", "-1", "Int64"]


@dataclass(frozen=True)
class Answer:
    """What a fitted classifier says, or why it was not fitted."""

    probabilities: list[np.ndarray]
    refused: str = ""
    failure: str = ""


def random_problem(rng: random.Random) -> Problem:
    """Make rows of an odd dtype and scale, some of them degenerate, and labels."""
    numbers = np.random.RandomState(rng.randrange(2**31))
    X = numbers.normal(size=(rng.randint(4, 26), rng.randint(1, 5)))
    n_classes = rng.choice([1, 2, 2, 3, 3, 4])
    codes = np.array([rng.choice([-1, *range(n_classes)]) for _ in X])
    names = rng.choice(NAMES)
    if rng.random() < 0.3:
        return Problem(X, codes, names, rng.choice(MARKS), generic=True)
    if rng.random() < 0.3:
        X[:, rng.randrange(X.shape[1])] = rng.choice([0.0, 1.0, -7.5])
    if rng.random() < 0.3:
        X[: len(X) // 2] = X[0]
    if rng.random() < 0.2:
        X[rng.randrange(len(X))] = 0.0
    if rng.random() < 0.2:
        X[:, -1] *= 10.0 ** rng.choice([-12, -4, 4, 12])
    if rng.random() < 0.1:  # an outlier
        X[rng.randrange(len(X)), 0] = rng.choice([1e6, -1e12, 1e40])
    X = X * 10.0 ** rng.choice([-300, -100, -8, -1, 0, 0, 0, 1, 8, 100, 300])
    if rng.random() < 0.2:
        X = np.abs(np.round(X))
    kind = rng.choice(DTYPES)
    if np.issubdtype(kind, np.integer):
        X = np.clip(X, -1e6, 1e6)
    with np.errstate(over="ignore"):
        X = X.astype(np.int64).astype(kind) if np.issubdtype(kind, np.integer) else X.astype(kind)
    if rng.random() < 0.08:
        X = sparse.csr_array(X.astype(np.float64))
    return Problem(X, codes, names, rng.choice(MARKS))


def other_words(rng: random.Random, problem: Problem) -> tuple[Problem, float, Callable[..., Any]]:
    """The same problem in other words: the tolerance, and what takes its answer back."""
    X, codes = problem.X, problem.codes
    ways = ["names", "marks", "container"] + ["memory", "rows", "classes"] * problem.generic
    way = rng.choice(ways)
    if way == "rows":
        order = np.random.RandomState(rng.randrange(2**31)).permutation(len(codes))
        back = np.argsort(order)
        moved = replace(problem, X=X[order], codes=codes[order])
        return moved, ORDER_TOLERANCE, lambda P: P[back]
    if way == "classes":
        present = sorted(set(codes[codes >= 0].tolist()))
        exchanged = dict(zip(present, present[::-1], strict=True))
        turned = np.array([exchanged.get(code, -1) for code in codes.tolist()])
        return replace(problem, codes=turned), ORDER_TOLERANCE, lambda P: P[:, ::-1]
    if way == "names":
        told = replace(problem, names=rng.choice(NAMES))
    elif way == "marks":
        told = replace(problem, mark=rng.choice(MARKS))
    elif way == "memory":
        wide = np.repeat(X, 2, axis=1)[:, ::2]
        told = replace(problem, X=rng.choice([np.asfortranarray(X), wide, pd.DataFrame(X)]))
        return told, ORDER_TOLERANCE, lambda P: P
    else:
        told = replace(problem, X=container(rng, X))
    return told, TOLERANCE, lambda P: P


def container(rng: random.Random, X: Any) -> Any:
    """The rows in something else that keeps values, dtype and the order in memory."""
    if sparse.issparse(X):
        return sparse.csr_matrix(X)
    if X.dtype in (np.float64, np.int64) and rng.random() < 0.5:
        return X.tolist()
    fixed = X.copy()
    fixed.flags.writeable = False
    return fixed


def answer(cls: type, problem: Problem, others: Sequence[Any]) -> Answer:
    """Fit the classifier, and look at all that it says."""
    try:
        fitted = make(cls).fit(problem.X, problem.labels())
        P = np.asarray(fitted.label_distributions_)
        Q = np.asarray(fitted.predict_proba(problem.X))
        predicted = fitted.predict(problem.X)
    except (ValueError, TypeError) as error:
        return Answer([], *refusal(error))
    labeled = problem.codes >= 0
    classes = np.unique(problem.codes[labeled])
    failure = ""
    if [problem.names[code] for code in classes] != fitted.classes_.tolist():
        failure = f"the classes are {fitted.classes_!r}"
    elif P.shape != Q.shape or P.shape != (len(labeled), len(classes)):
        failure = f"shapes {P.shape} and {Q.shape}"
    elif not all(map(is_distribution, (P, Q))):
        failure = f"no probabilities: {P[:2]}, {Q[:2]}"
    elif (P.argmax(axis=1)[labeled] != np.searchsorted(classes, problem.codes[labeled])).any():
        failure = "a labeled row lost its label"
    elif (fitted.transduction_ != fitted.classes_[P.argmax(axis=1)]).any():
        failure = "transduction_ is not the most probable class"
    elif (predicted != fitted.classes_[Q.argmax(axis=1)]).any():
        failure = "predict is not the most probable class"
    for rows in others:
        failure = failure or failure_on(fitted, rows)
    return Answer([P, Q], "", failure)


def failure_on(fitted: Any, rows: Any) -> str:
    """What is wrong with the answer for new rows; nothing if it is one, or refused in words."""
    try:
        R = np.asarray(fitted.predict_proba(rows))
    except (ValueError, TypeError) as error:
        return refusal(error)[1]
    return "" if is_distribution(R) else f"no probabilities of new rows: {R[:2]}"


def other_rows(rng: random.Random, X: np.ndarray) -> list[Any]:
    """New rows to predict: of another scale, or in another container."""
    if rng.random() < 0.2:
        return [sparse.csr_array(X[:2])]
    with np.errstate(over="ignore"):
        return [np.vstack([X[:1], X * rng.choice([0.0, 3.0, 1e8, -1e-8, 1e200])])]


def refusal(error: Exception) -> tuple[str, str]:
    """What the message says, and what is wrong with it."""
    text = str(error)
    wrong = not text or any(word in text for word in INTERNAL)
    return f"{type(error).__name__}: {text}", f"{type(error).__name__}: {text}" * wrong


def is_distribution(P: np.ndarray) -> bool:
    """Tell whether every row is finite, not negative, and sums to one."""
    return bool(np.isfinite(P).all() and (P >= 0).all()) and np.allclose(
        P.sum(axis=1), 1, atol=1e-4
    )


def estimators(rng: random.Random, folder: Path) -> str | None:
    """Fit a classifier on odd rows and labels, and once more in other words."""
    cls = random_classifier(rng)
    problem = random_problem(rng)
    dense = problem.X.toarray() if sparse.issparse(problem.X) else problem.X
    others = other_rows(rng, dense.astype(np.float64))
    told, tolerance, back = other_words(rng, problem)
    ordered = tolerance == ORDER_TOLERANCE
    first, second = answer(cls, problem, others), answer(cls, told, [])
    name = cls.__name__
    for found in (first, second):
        if found.failure:
            return f"{name}: {found.failure}"
    if bool(first.refused) != bool(second.refused):
        return f"{name}: refused one way only: {first.refused or second.refused}"
    if ordered and name in DRAWING:
        return None
    for one, other in zip(first.probabilities, map(back, second.probabilities), strict=True):
        if not np.allclose(one, other, atol=tolerance):
            return f"{name}: differs by {np.abs(one - other).max():.1g} in other words"
    return None


def random_classifier(rng: random.Random) -> type:
    """Draw a classifier, a slow one less often: the time is better spent on the others."""
    known = public_classifiers()
    return rng.choices(known, [0.3 if each.__name__ in SLOW else 1.0 for each in known])[0]


@functools.cache
def public_classifiers() -> list[type]:
    """List leaven's public classifiers that learn from unlabeled rows and need no extra."""
    from leaven import base, generative, graph_based, low_density, model_selection, self_labeling

    modules = (generative, graph_based, low_density, self_labeling, model_selection)
    found = [getattr(module, name) for module in modules for name in module.__all__]
    odd = {"SemiSupervisedHMM"}  # takes sequences
    return [
        each
        for each in found
        if isinstance(each, type)
        and hasattr(each, "predict_proba")
        and each.__name__ not in odd
        and base.learns_from_unlabeled(make(each))
    ]


@functools.cache
def _parameters(cls: type) -> frozenset[str]:
    return frozenset(inspect.signature(cls).parameters)


def make(cls: type) -> Any:
    """Make a classifier of few parts, on something it can wrap."""
    from sklearn.naive_bayes import GaussianNB

    known = _parameters(cls)
    params: dict[str, Any] = {name: value for name, value in SMALL.items() if name in known}
    if "estimator" in known:
        params["estimator"] = GaussianNB()
    if "candidates" in known:
        params["candidates"] = ["logistic-regression", "harmonic"]
    return cls(**params)
