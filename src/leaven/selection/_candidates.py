"""The candidates: what they are, and which of them fit a problem."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.svm import SVC, LinearSVC

from leaven._suggest import did_you_mean
from leaven.base import learns_from_unlabeled
from leaven.generative import (
    SemiSupervisedBernoulliNB,
    SemiSupervisedGaussianMixture,
    SemiSupervisedMultinomialNB,
)
from leaven.graph_based import (
    AnchorGraphClassifier,
    ConsistencyClassifier,
    HarmonicClassifier,
    SpectralTransducer,
)
from leaven.low_density import TransductiveSVC
from leaven.selection._member import Member, fade
from leaven.selection._problem import Problem
from leaven.self_labeling import ClusterThenLabel, SelfTrainingClassifier

SUPERVISED, SEMI_SUPERVISED = "supervised", "semi-supervised"

# Weights of an unlabeled row in naive Bayes: from all of a table together counting about as
# much as the labels, to each counting as a label does.
_WEIGHTS = (0.01, 0.1, 1.0)

# Pseudo-count of naive Bayes with EM on sparse rows. These are mostly tf-idf of texts: a row sums
# to a few units, which vanish beside a count of one for each of ten thousand words, and EM then
# drifts to one class.
_SPARSE_ALPHA = 0.01

# Of the variances of a class towards their mean, so that a single label per class is enough.
_SHRINKAGE = 0.1

# Self-training adds a fifth of the unlabeled rows, the most confident ones, in each of two
# rounds.
_ROUNDS, _PART_PER_ROUND = 2, 5

# Of logistic regression: ten times the default, so that it also converges on wide rows.
_MAX_ITER = 1_000

# Of the linear support vector machine: ten times the default, for the same reason.
_MAX_ITER_SVM = 10_000

# Of a forest, in the last fit and in the folds, where they only have to rank candidates.
_TREES, _TREES_IN_FOLDS = 100, 40

# Cost of a row in the kernel machine: with few labels hardly a margin is violated.
_RBF_C = 10.0

# Rank of an estimator of the user's: after the defaults, the supervised ones first.
_UNKNOWN_COST = 1_000


@dataclass(frozen=True)
class Candidate:
    """An estimator to be tried, and how.

    Parameters
    ----------
    name : str
    estimator : estimator
        Not fitted.
    kind : {"supervised", "semi-supervised"}
        A supervised one is fitted on the labeled rows only.
    cost : int, default=0
        The cheap ones are tried first.
    scaled : bool, default=False
        Whether it takes the rows scaled.
    merges_duplicates : bool, default=False
        Whether one row stands for all unlabeled duplicates.
    grid : tuple of dict, default=({},)
        Parameters to choose from, on the folds.
    last_params : dict, default={}
        Parameters for the last fit, on all labels.
    skipped : str, default=None
        Why it is not to be tried; None if it is.
    member : Member
        Its weight in a combination before labels are seen, and its temperature.
    """

    name: str
    estimator: Any
    kind: str
    cost: int = 0
    scaled: bool = False
    merges_duplicates: bool = False
    grid: tuple[dict[str, Any], ...] = ({},)
    last_params: dict[str, Any] = field(default_factory=dict)
    skipped: str | None = None
    member: Member = field(default_factory=Member)


@dataclass(frozen=True)
class Recipe:
    """How to make one of the default candidates, and which problems it fits."""

    make: Callable[[Problem], Any]
    kind: str
    cost: int
    is_naive_bayes: bool = False
    """Naive Bayes takes counts, zeros and ones as they are, and cannot take everything."""
    on_graph: bool = False
    dense_only: bool = False
    on_request: bool = False
    """Known by name, but not tried unless it is named."""
    max_rows: int | None = None
    max_classes: int | None = None
    member: Member = field(default_factory=Member)
    text_member: Member | None = None
    """In place of ``member`` on texts: sparse rows without a negative number."""
    grid: tuple[dict[str, Any], ...] = ({},)
    last_params: dict[str, Any] = field(default_factory=dict)


def _naive_bayes(problem: Problem) -> Any:
    if problem.values == "binary":
        return BernoulliNB()
    return GaussianNB() if problem.values == "continuous" else MultinomialNB()


def _naive_bayes_em(problem: Problem) -> Any:
    if problem.values == "binary":
        return SemiSupervisedBernoulliNB()
    if problem.values == "continuous":
        # One Gaussian per class without covariances is naive Bayes; see _SHRINKAGE.
        return SemiSupervisedGaussianMixture(covariance_type="diag", shrinkage=_SHRINKAGE)
    return SemiSupervisedMultinomialNB(alpha=_SPARSE_ALPHA if problem.is_sparse else 1.0)


def _k_best(problem: Problem) -> int:
    # Every class grows by as many rows: with few labels a threshold lets one class take all. But
    # classes are not equally large, and so not all rows are added. The second round starts where
    # the first one ended.
    return max(math.ceil(problem.n_unlabeled / (_PART_PER_ROUND * problem.n_classes)), 1)


def _self_training(problem: Problem) -> Any:
    base = LogisticRegression(max_iter=_MAX_ITER, warm_start=True)
    return SelfTrainingClassifier(base, k_best=_k_best(problem), per_class=True, max_iter=_ROUNDS)


def _self_trained_trees(problem: Problem) -> Any:
    base = ExtraTreesClassifier(_TREES_IN_FOLDS, random_state=problem.seed)
    return SelfTrainingClassifier(base, k_best=_k_best(problem), per_class=True, max_iter=_ROUNDS)


def _transductive_svm(problem: Problem) -> Any:
    # All unlabeled rows together cost as much as all labeled ones. A wide gap (tol) is enough:
    # what counts is the side of each row.
    n_labeled = problem.n_rows - problem.n_unlabeled
    return TransductiveSVC(C_unlabeled=n_labeled / max(problem.n_unlabeled, 1), tol=0.1)


def _spectral_transducer(problem: Problem) -> Any:
    # A prior that the user knows; one estimated from few labels did not help here.
    prior = None if isinstance(problem.prior, str) else problem.prior
    return SpectralTransducer(problem.graph_builder(), prior=prior)


def _anchor_graph(problem: Problem) -> Any:
    # It is for very many rows per label, where harmonic functions are nearly constant, and class
    # mass normalization to proportions that are only estimated may give all rows to one class;
    # `benchmarks/cluster.py --models anchor,harmonic` shows both.
    prior = None if isinstance(problem.prior, str) else problem.prior
    return AnchorGraphClassifier(form="consistency", prior=prior, random_state=problem.seed)


# The default candidates by name. Of equal scores the first in this order is taken. max_rows
# and max_classes bound the time of one fit, which grows faster than the rows for these. The
# temperatures of the members are those of the largest likelihood on 51 tables with 2 and 5 labels
# per class, the weights round numbers. The last number is the weight where the columns say little,
# rounded from the forty first tables of benchmarks/fresh.py: logistic regression has 7.5 there, a
# forest 11 and all others 0.6 to 0.9. What is learned on all other tables, or equal weights, gives
# the same accuracy within 0.2 points (benchmarks/members.py). Texts are another matter: linear
# methods give the true class hardly more than the others there, and learn little from ten words per
# class, while EM, self-training and eigenvectors of the graph learn which words go together. The
# numbers for texts are rounded from nine groups of newsgroups (benchmarks/members.py): on the first
# draw of benchmarks/safe.py --texts 71.4, 78.5, 80.5 and 83.5% are right with 2, 5, 10 and 20
# labels per class, and 71.4, 76.8, 80.4 and 83.0% with those of tables; the calibration error with
# two is 0.11 instead of 0.22.
RECIPES: dict[str, Recipe] = {
    "logistic-regression": Recipe(
        lambda problem: LogisticRegression(max_iter=_MAX_ITER),
        SUPERVISED,
        cost=2,
        member=Member(2.0, 1.3, 8.0),
        text_member=Member(0.5, 12.0),
    ),
    "naive-bayes": Recipe(
        _naive_bayes,
        SUPERVISED,
        cost=1,
        is_naive_bayes=True,
        member=Member(1.0, 0.5, 1.0),
        text_member=Member(0.5, 12.0),
    ),
    "linear-svm": Recipe(
        lambda problem: LinearSVC(max_iter=_MAX_ITER_SVM, random_state=problem.seed),
        SUPERVISED,
        cost=3,
        member=Member(1.0, 1.6, 1.0),
        text_member=Member(0.5, 12.0),
    ),
    "rbf-svm": Recipe(
        lambda problem: SVC(C=_RBF_C),
        SUPERVISED,
        cost=4,
        dense_only=True,
        member=Member(2.0, 1.0, 1.0),
    ),
    "extra-trees": Recipe(
        lambda problem: ExtraTreesClassifier(_TREES_IN_FOLDS, random_state=problem.seed),
        SUPERVISED,
        cost=8,
        dense_only=True,
        last_params={"n_estimators": _TREES},
        member=Member(4.0, 1.0, 1.0),
    ),
    "random-forest": Recipe(
        lambda problem: RandomForestClassifier(_TREES_IN_FOLDS, random_state=problem.seed),
        SUPERVISED,
        cost=9,
        dense_only=True,
        last_params={"n_estimators": _TREES},
        member=Member(3.0, 1.4, 12.0),
    ),
    "harmonic": Recipe(
        lambda problem: HarmonicClassifier(problem.graph_builder(), prior=problem.prior),
        SEMI_SUPERVISED,
        cost=5,
        on_graph=True,
        member=Member(2.0, 1.3, 1.0),
        text_member=Member(1.0, 6.0),
    ),
    "consistency": Recipe(
        lambda problem: ConsistencyClassifier(problem.graph_builder(), prior=problem.prior),
        SEMI_SUPERVISED,
        cost=6,
        on_graph=True,
        member=Member(2.0, 2.5, 1.0),
        text_member=Member(0.5, 18.0),
    ),
    "spectral-transducer": Recipe(
        _spectral_transducer,
        SEMI_SUPERVISED,
        cost=10,
        on_graph=True,
        max_rows=100_000,
        member=Member(1.0, 0.6, 1.0),
        text_member=Member(3.0, 2.0),
    ),
    "naive-bayes-em": Recipe(
        _naive_bayes_em,
        SEMI_SUPERVISED,
        cost=7,
        is_naive_bayes=True,
        member=Member(3.0, 0.4, 1.0),
        text_member=Member(4.0, 0.7),
        grid=tuple({"unlabeled_weight": weight} for weight in _WEIGHTS),
    ),
    "self-training": Recipe(
        _self_training,
        SEMI_SUPERVISED,
        cost=12,
        max_rows=100_000,
        member=Member(2.0, 0.7, 1.0),
        text_member=Member(4.0, 8.0),
    ),
    "self-trained-trees": Recipe(
        _self_trained_trees,
        SEMI_SUPERVISED,
        cost=13,
        dense_only=True,
        max_rows=100_000,
        last_params={"estimator__n_estimators": _TREES},
        member=Member(4.0, 0.6, 1.0),
    ),
    # One machine per class: seven classes of a hundred rows took a second per fit.
    "transductive-svm": Recipe(
        _transductive_svm,
        SEMI_SUPERVISED,
        cost=14,
        max_rows=5_000,
        max_classes=3,
        member=Member(1.0, 0.9, 1.0),
        text_member=Member(1.0, 8.0),
    ),
    "cluster-then-label": Recipe(
        lambda problem: ClusterThenLabel(random_state=problem.seed),
        SEMI_SUPERVISED,
        cost=11,
        max_rows=200_000,
        member=Member(1.5, 0.45, 1.0),
        text_member=Member(0.5, 0.35),
    ),
    # Less accurate than the graph of all rows, which a choice can have: for rows by the million.
    "anchor-graph": Recipe(
        _anchor_graph,
        SEMI_SUPERVISED,
        cost=15,
        dense_only=True,
        on_request=True,
    ),
}


def candidate_names() -> tuple[str, ...]:
    """Return the names of the candidates, in order of preference.

    All but "anchor-graph" are tried where nothing else is asked for.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> from leaven.selection import candidate_names
    >>> candidate_names()[:4]
    ('logistic-regression', 'naive-bayes', 'linear-svm', 'rbf-svm')
    """
    return tuple(RECIPES)


def make_candidates(given: Any, problem: Problem) -> list[Candidate]:
    """Make the candidates of a problem, in order of preference.

    Parameters
    ----------
    given : list, dict or None
        Names of the defaults and pairs (name, estimator); a dict from name to estimator; None
        stands for all defaults.
    problem : Problem

    Returns
    -------
    list of Candidate
        Those that do not fit the problem say why in ``skipped``.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import make_candidates, standard_problem
    >>> X = np.array([[1.5], [2.5], [3.5]])
    >>> problem = standard_problem(X, np.array([0, 1, -1]), np.array(["a", "b"]))
    >>> [each.kind for each in make_candidates(["naive-bayes", "harmonic"], problem)]
    ['supervised', 'semi-supervised']
    """
    found = [
        _from_recipe(name, problem) if estimator is None else _from_user(name, estimator, place)
        for place, (name, estimator) in enumerate(_pairs(given))
    ]
    names = [candidate.name for candidate in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"candidates holds the name {twice[0]!r} more than once.")
    if not found:
        raise ValueError("candidates is empty: give at least one, or None for the defaults.")
    has_supervised = any(candidate.kind == SUPERVISED for candidate in found)
    if problem.n_unlabeled or not has_supervised:
        return found
    return [
        replace(each, skipped=f"{each.name} was skipped: there are no unlabeled rows.")
        if each.kind == SEMI_SUPERVISED
        else each
        for each in found
    ]


def _pairs(given: Any) -> list[tuple[str, Any]]:
    """Names with the estimator, or with None for a default."""
    if given is None:
        return [(name, None) for name, recipe in RECIPES.items() if not recipe.on_request]
    if isinstance(given, dict):
        given = list(given.items())
    if isinstance(given, str):
        raise ValueError(f"candidates must be a list or a dict, got {given!r}: use [{given!r}].")
    pairs: list[tuple[str, Any]] = []
    for item in given:
        if isinstance(item, str):
            if item not in RECIPES:
                raise ValueError(
                    f"candidates holds {item!r}, which is not known.{did_you_mean(item, RECIPES)} "
                    f"Known names: {', '.join(RECIPES)}. Give an estimator of your own as (name, "
                    "estimator)."
                )
            pairs.append((item, None))
        elif _is_pair(item):
            pairs.append((item[0], item[1]))
        else:
            raise ValueError(
                "candidates must hold names, or pairs (name, estimator with a method fit), got "
                f"{item!r}."
            )
    return pairs


def _is_pair(item: Any) -> bool:
    return (
        isinstance(item, Sequence)
        and len(item) == 2
        and isinstance(item[0], str)
        and hasattr(item[1], "fit")
    )


def _from_user(name: str, estimator: Any, place: int) -> Candidate:
    semi = learns_from_unlabeled(estimator)
    return Candidate(
        name,
        clone(estimator),
        SEMI_SUPERVISED if semi else SUPERVISED,
        cost=_UNKNOWN_COST * (1 + semi) + place,
    )


def _from_recipe(name: str, problem: Problem) -> Candidate:
    recipe = RECIPES[name]
    reason = _why_not(recipe, problem)
    scaled = problem.values == "continuous" or not recipe.is_naive_bayes
    last_graph = problem.last_graph if recipe.on_graph else None
    is_text = problem.is_sparse and problem.values != "continuous"
    member = recipe.text_member if is_text and recipe.text_member else recipe.member
    if recipe.kind == SEMI_SUPERVISED and not is_text:
        # Not on texts: there they are ahead with twenty labels per class too.
        member = fade(member, problem.labels_per_class)
    return Candidate(
        name,
        recipe.make(problem),
        recipe.kind,
        cost=recipe.cost,
        scaled=scaled and not (recipe.on_graph and problem.graph_scales),
        merges_duplicates=recipe.on_graph,
        grid=recipe.grid,
        last_params=recipe.last_params if last_graph is None else {"graph": last_graph},
        skipped=None if reason is None else f"{name} was skipped: {reason}.",
        member=member,
    )


def _why_not(recipe: Recipe, problem: Problem) -> str | None:
    """Why a default candidate does not fit the problem, or None if it does."""
    n = problem.n_rows
    if recipe.max_rows is not None and n > recipe.max_rows:
        return f"{n:,} rows, it takes at most {recipe.max_rows:,}"
    if recipe.max_classes is not None and problem.n_classes > recipe.max_classes:
        return f"{problem.n_classes:,} classes, it takes at most {recipe.max_classes:,}"
    if recipe.dense_only and problem.is_sparse:
        return "it takes no sparse rows"
    if recipe.is_naive_bayes and problem.is_sparse and problem.values == "continuous":
        return "no kind of it takes sparse rows with negative values"
    return None
