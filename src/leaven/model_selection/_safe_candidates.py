"""The candidates of the safe classifier: what they are, and which fit the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler
from sklearn.svm import LinearSVC

from leaven._base import TransductionMixin
from leaven._distinct import distinct_rows
from leaven._labels import UNLABELED
from leaven.generative import (
    SemiSupervisedBernoulliNB,
    SemiSupervisedGaussianMixture,
    SemiSupervisedMultinomialNB,
)
from leaven.graph import KNNGraph
from leaven.graph_based import ConsistencyClassifier, HarmonicClassifier, SpectralTransducer
from leaven.low_density import TransductiveSVC
from leaven.self_labeling import ClusterThenLabel, SelfTrainingClassifier

SUPERVISED, SEMI_SUPERVISED = "supervised", "semi-supervised"

_WEIGHTS = (0.01, 0.1, 1.0)
"""Weights of an unlabeled row in naive Bayes: from all of a table together counting about as
much as the labels, to each counting as a label does."""


@dataclass(frozen=True)
class Facts:
    """What a candidate may want to know of the data before it is made."""

    n_rows: int
    n_classes: int
    n_unlabeled: int
    is_sparse: bool
    values: str
    """ "binary", "counts", "nonnegative" (sparse only) or "continuous"."""
    prior: Any = None
    seed: int = 0


@dataclass(frozen=True)
class Recipe:
    """How to make a candidate, and which data it fits."""

    make: Callable[[Facts], Any]
    kind: str
    cost: int
    """The cheap ones are tried first; the order of the registry settles ties of the score."""
    is_naive_bayes: bool = False
    """Counts and zeros and ones are for naive Bayes as they are, and it cannot take all."""
    merges_copies: bool = False
    most_rows: int | None = None
    most_classes: int | None = None
    grid: tuple[dict[str, Any], ...] = ({},)


@dataclass
class Candidate:
    """One candidate of a fit. ``skipped`` holds the reason if it is not to be tried."""

    name: str
    estimator: Any
    kind: str
    cost: int = 0
    scaled: bool = False
    merges_copies: bool = False
    grid: tuple[dict[str, Any], ...] = ({},)
    skipped: str | None = None


def _naive_bayes(facts: Facts) -> Any:
    if facts.values == "binary":
        return BernoulliNB()
    return GaussianNB() if facts.values == "continuous" else MultinomialNB()


def _naive_bayes_em(facts: Facts) -> Any:
    if facts.values == "binary":
        return SemiSupervisedBernoulliNB()
    if facts.values == "continuous":
        # One Gaussian a class without covariances: naive Bayes whose variances are drawn
        # towards their mean, so that a single label a class is enough.
        return SemiSupervisedGaussianMixture(covariance_type="diag", shrinkage=0.1)
    return SemiSupervisedMultinomialNB()


def _graph(facts: Facts) -> Any:
    # Not include_labeled: that graph depends on the labels, and could not be shared by folds.
    return KNNGraph(10, metric="cosine" if facts.is_sparse else "euclidean", recall=0.9)


def _self_training(facts: Facts) -> Any:
    # Every class grows by as many rows: with few labels a threshold lets one class take all. But
    # classes are not equally large, and so the surest two fifths of the rows are enough. The
    # second round starts where the first one ended.
    k_best = math.ceil(facts.n_unlabeled / (5 * facts.n_classes))
    base = LogisticRegression(max_iter=1_000, warm_start=True)
    return SelfTrainingClassifier(base, k_best=max(k_best, 1), per_class=True, max_iter=2)


def _transductive_svm(facts: Facts) -> Any:
    # All unlabeled rows together cost as much as all labeled ones. A wide gap is enough: what
    # counts is the side of each row.
    n_labeled = facts.n_rows - facts.n_unlabeled
    return TransductiveSVC(C_unlabeled=n_labeled / max(facts.n_unlabeled, 1), tol=0.1)


def _explicit(prior: Any) -> Any:
    """A prior that the user knows; one estimated from few labels is left out."""
    return None if isinstance(prior, str) else prior


RECIPES: dict[str, Recipe] = {
    "logistic-regression": Recipe(
        lambda facts: LogisticRegression(max_iter=1_000), SUPERVISED, cost=2
    ),
    "naive-bayes": Recipe(_naive_bayes, SUPERVISED, cost=1, is_naive_bayes=True),
    "linear-svm": Recipe(
        lambda facts: LinearSVC(max_iter=10_000, random_state=facts.seed), SUPERVISED, cost=3
    ),
    "harmonic": Recipe(
        lambda facts: HarmonicClassifier(_graph(facts), prior=facts.prior),
        SEMI_SUPERVISED,
        cost=4,
        merges_copies=True,
    ),
    "consistency": Recipe(
        lambda facts: ConsistencyClassifier(_graph(facts), prior=facts.prior),
        SEMI_SUPERVISED,
        cost=5,
        merges_copies=True,
    ),
    "spectral-transducer": Recipe(
        lambda facts: SpectralTransducer(_graph(facts), prior=_explicit(facts.prior)),
        SEMI_SUPERVISED,
        cost=7,
        merges_copies=True,
        most_rows=100_000,
    ),
    "naive-bayes-em": Recipe(
        _naive_bayes_em,
        SEMI_SUPERVISED,
        cost=6,
        is_naive_bayes=True,
        grid=tuple({"unlabeled_weight": weight} for weight in _WEIGHTS),
    ),
    "self-training": Recipe(
        _self_training,
        SEMI_SUPERVISED,
        cost=9,
        most_rows=100_000,
    ),
    "transductive-svm": Recipe(
        _transductive_svm, SEMI_SUPERVISED, cost=10, most_rows=5_000, most_classes=3
    ),
    "cluster-then-label": Recipe(
        lambda facts: ClusterThenLabel(random_state=facts.seed),
        SEMI_SUPERVISED,
        cost=8,
        most_rows=200_000,
    ),
}
"""The default candidates by name. Of equal scores the first in this order is taken."""


def kind_of_values(X: Any) -> str:
    """Tell what the numbers of ``X`` are, which decides the kind of naive Bayes.

    "binary" if all are 0 or 1; "counts" if all are nonnegative integers and half of them or
    more are zero, as in tables of words (integers that are seldom zero, such as an age, are
    measurements); "nonnegative" for other sparse rows without a negative number, such as
    tf-idf; "continuous" for the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.model_selection._safe_candidates import kind_of_values
    >>> kind_of_values(np.array([[0.0, 1.0]])), kind_of_values(np.array([[0.0, 3.0]]))
    ('binary', 'counts')
    >>> kind_of_values(np.array([[5.0, 3.0]]))
    'continuous'
    """
    is_sparse = sparse.issparse(X)
    values = X.data if is_sparse else X
    if values.size and values.min() < 0:
        return "continuous"
    if ((values == 0) | (values == 1)).all():
        return "binary"
    n_cells = X.shape[0] * X.shape[1]
    if np.count_nonzero(values) <= n_cells / 2 and (values == np.floor(values)).all():
        return "counts"
    return "nonnegative" if is_sparse else "continuous"


def make_scaler(X: Any, values: str) -> Any:
    """Return the transformer that makes the columns comparable, or None if they are.

    Texts (sparse counts) get tf-idf weights, other nonnegative sparse rows unit length, as
    their graph is one of cosines; binary columns and counts of dense rows are alike already;
    everything else gets unit variance, without moving the zeros of sparse rows.
    """
    if sparse.issparse(X):
        if values == "counts":
            return TfidfTransformer(sublinear_tf=True)
        return MaxAbsScaler() if values == "continuous" else Normalizer()
    return None if values == "binary" else StandardScaler()


def last_step(estimator: Any) -> Any:
    """The estimator at the end of a pipeline, or the estimator itself."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def uses_unlabeled_rows(estimator: Any) -> bool:
    """Whether an estimator is semi-supervised.

    It is if it is a classifier of leaven or of ``sklearn.semi_supervised``; a pipeline is what
    its last step is, and a wrapper with a parameter ``estimator``, such as a grid search, what
    that is.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from leaven.graph_based import HarmonicClassifier
    >>> from leaven.model_selection._safe_candidates import uses_unlabeled_rows
    >>> uses_unlabeled_rows(HarmonicClassifier()), uses_unlabeled_rows(SVC())
    (True, False)
    """
    estimator = last_step(estimator)
    if isinstance(estimator, TransductionMixin) or is_of_sklearn(estimator):
        return True
    inner = getattr(estimator, "estimator", None)
    return hasattr(inner, "fit") and uses_unlabeled_rows(inner)


def is_of_sklearn(estimator: Any) -> bool:
    """Whether this is one of scikit-learn's semi-supervised classifiers."""
    return any(
        cls.__module__.startswith("sklearn.semi_supervised") for cls in type(estimator).__mro__
    )


def collect_candidates(given: Any, facts: Facts) -> list[Candidate]:
    """Turn the parameter ``candidates`` into candidates, in order of preference."""
    found = [
        _from_recipe(name, facts) if estimator is None else _from_user(name, estimator, place)
        for place, (name, estimator) in enumerate(_pairs(given))
    ]
    names = [candidate.name for candidate in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"candidates holds the name {twice[0]!r} more than once.")
    if not found:
        raise ValueError("candidates is empty: give at least one, or None for the defaults.")
    has_supervised = any(candidate.kind == SUPERVISED for candidate in found)
    for candidate in found:
        if candidate.kind == SEMI_SUPERVISED and not facts.n_unlabeled and has_supervised:
            candidate.skipped = f"{candidate.name} was skipped: there are no unlabeled rows."
    return found


def _pairs(given: Any) -> Iterable[tuple[str, Any]]:
    """Names with the estimator, or with None for one of the registry."""
    if given is None:
        return [(name, None) for name in RECIPES]
    if isinstance(given, dict):
        given = list(given.items())
    if isinstance(given, str):
        raise ValueError(f"candidates must be a list or a dict, got {given!r}: use [{given!r}].")
    pairs = []
    for item in given:
        if isinstance(item, str):
            if item not in RECIPES:
                raise ValueError(
                    f"candidates holds {item!r}, which is not known. Known names: "
                    f"{', '.join(RECIPES)}. Give an estimator of your own as (name, estimator)."
                )
            pairs.append((item, None))
        elif (
            isinstance(item, (tuple, list))
            and len(item) == 2
            and isinstance(item[0], str)
            and hasattr(item[1], "fit")
        ):
            pairs.append((item[0], item[1]))
        else:
            raise ValueError(
                "candidates must hold names, or pairs (name, estimator with a method fit), got "
                f"{item!r}."
            )
    return pairs


def _from_user(name: str, estimator: Any, place: int) -> Candidate:
    semi = uses_unlabeled_rows(estimator)
    return Candidate(
        name,
        clone(estimator),
        SEMI_SUPERVISED if semi else SUPERVISED,
        # Nothing is known of its cost: after the defaults, the supervised ones first.
        cost=1_000 + 1_000 * semi + place,
    )


def _from_recipe(name: str, facts: Facts) -> Candidate:
    recipe = RECIPES[name]
    reason = _why_not(recipe, facts)
    return Candidate(
        name,
        recipe.make(facts),
        recipe.kind,
        cost=recipe.cost,
        scaled=facts.values == "continuous" or not recipe.is_naive_bayes,
        merges_copies=recipe.merges_copies,
        grid=recipe.grid,
        skipped=None if reason is None else f"{name} was skipped: {reason}.",
    )


def _why_not(recipe: Recipe, facts: Facts) -> str | None:
    """Why a default candidate does not fit the data, or None if it does."""
    n = facts.n_rows
    if recipe.most_rows is not None and n > recipe.most_rows:
        return f"{n:,} rows, it takes at most {recipe.most_rows:,}"
    if recipe.most_classes is not None and facts.n_classes > recipe.most_classes:
        # One machine a class: seven classes of a hundred rows took a second a fit.
        return f"{facts.n_classes:,} classes, it takes at most {recipe.most_classes:,}"
    if recipe.is_naive_bayes and facts.is_sparse and facts.values == "continuous":
        return "no kind of it takes sparse rows with negative values"
    return None


def merge_copies(X: Any, codes: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Choose one row for all unlabeled rows that are equal; labeled rows stay by themselves.

    In a graph of nearest neighbors a row with ten copies has no other neighbor, and no label
    of another row comes through. Labeled rows are not merged, not even when their label is
    held out, so that the graph is the same for all folds.

    Returns
    -------
    kept : ndarray of shape (n_nodes,)
        Rows of ``X``, ascending.
    node : ndarray of shape (n_samples,)
        ``kept[node]`` is a row equal to each row.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.model_selection._safe_candidates import merge_copies
    >>> X = np.array([[1.0], [2.0], [1.0], [2.0]])
    >>> merge_copies(X, np.array([-1, -1, -1, 0]))
    (array([0, 1, 3]), array([0, 1, 0, 2]))
    """
    own = np.arange(len(codes))
    free = np.flatnonzero(codes == UNLABELED)
    first, copy_of = distinct_rows(X[free])
    own[free] = free[first][copy_of]
    kept, node = np.unique(own, return_inverse=True)
    return kept, node
