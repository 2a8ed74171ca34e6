"""What leaven promises of labels and unlabeled rows, for every public classifier and strategy."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import leaven
from leaven.base import TransductionMixin
from leaven.testing import (
    check_query_strategy,
    check_semi_supervised,
    query_strategy_checks,
    semi_supervised_checks,
)
from leaven.testing._semi_supervised import default_problem

# Classes whose constructor needs something, or that are too slow with their defaults.
MADE: dict[str, dict[str, Any]] = {
    "SelfTrainingClassifier": {"estimator": GaussianNB(), "threshold": 0.9},
    "SetredClassifier": {"estimator": GaussianNB()},
    "CoTrainingClassifier": {"estimator": GaussianNB()},
    "CoEMClassifier": {"estimator": GaussianNB()},
    "TriTrainingClassifier": {"estimator": GaussianNB()},
    "ClusterThenLabel": {},
    "CoForestClassifier": {"n_estimators": 6},
    "S4VM": {"n_starts": 3},
    "TableLabeler": {"method": "harmonic"},
    "SafeClassifier": {
        "candidates": [("plain", LogisticRegression(max_iter=1_000)), "harmonic"],
        "n_repeats": 1,
    },
    "RBMPretrainedClassifier": {
        "hidden_layer_sizes": (4,),
        "visible": "gaussian",
        "pretrain_epochs": 2,
        "tol": 1e-2,
    },
    "ClasswiseAutoencoder": {
        "hidden_layer_sizes": (3,),
        "visible": "gaussian",
        "min_examples": 1,
        "pretrain_epochs": 2,
    },
}
"""Arguments of those that are not made with their defaults."""

ELSEWHERE = {
    "LeNet5Classifier": "rows are square images; tests/representation/test_lenet.py",
}

DRAWS = "its random draws follow the order of the rows, or of the classes"
EXEMPT: dict[tuple[str, str], str] = {
    ("ClasswiseAutoencoder", "exchange"): DRAWS,
    ("ClusterThenLabel", "permutation"): DRAWS,
    ("CoForestClassifier", "permutation"): DRAWS,
    ("CoForestClassifier", "exchange"): DRAWS,
    ("CoTrainingClassifier", "permutation"): DRAWS,
    ("SetredClassifier", "permutation"): DRAWS,
    ("StatisticalCoLearningClassifier", "permutation"): DRAWS,
    ("TableLabeler", "permutation"): DRAWS,
    ("TriTrainingClassifier", "permutation"): DRAWS,
}


X, Y = default_problem()
ROWS = {"SemiSupervisedCategoricalNB": {"X": np.digitize(X, [17, 21, 25]), "y": Y}}
"""Rows of another kind, where a classifier needs them."""


def public_classifiers() -> list[type]:
    found = {}
    for module in pkgutil.iter_modules(leaven.__path__):
        if module.name.startswith("_") or module.name in {"cli", "testing", "base"}:
            continue
        package = importlib.import_module(f"leaven.{module.name}")
        for name in getattr(package, "__all__", []):
            thing = getattr(package, name)
            if isinstance(thing, type) and issubclass(thing, TransductionMixin):
                found[name] = thing
    return [found[name] for name in sorted(found)]


CLASSIFIERS = [cls for cls in public_classifiers() if cls.__name__ not in ELSEWHERE]


def test_the_lists_name_classes_that_exist() -> None:
    names = {cls.__name__ for cls in public_classifiers()}
    assert len(names) > 25
    assert names >= set(MADE) | set(ELSEWHERE) | {name for name, _ in EXEMPT}
    assert {check for _, check in EXEMPT} <= set(semi_supervised_checks())


@pytest.mark.parametrize("cls", CLASSIFIERS, ids=lambda cls: cls.__name__)
def test_classifier(cls: type) -> None:
    if cls.__module__.startswith("leaven.representation"):
        pytest.importorskip("torch")
    name = cls.__name__
    skip = [check for exempt, check in EXEMPT if exempt == name]
    done = check_semi_supervised(cls(**MADE.get(name, {})), skip=skip, **ROWS.get(name, {}))
    assert set(done) == set(semi_supervised_checks()) - set(skip)


@pytest.mark.parametrize(("name", "check"), EXEMPT, ids=lambda part: part)
def test_every_exemption_is_needed(name: str, check: str) -> None:
    cls = next(cls for cls in CLASSIFIERS if cls.__name__ == name)
    others = set(semi_supervised_checks()) - {check}
    with pytest.raises(AssertionError, match=f"{name} fails the check '{check}'"):
        check_semi_supervised(cls(**MADE.get(name, {})), skip=others)


STRATEGIES = [
    leaven.active.CoTesting(),
    leaven.active.ExpectedErrorReduction(),
    leaven.active.HighestEntropy(),
    leaven.active.InformationDensity(leaven.active.SmallestMargin()),
    leaven.active.LeastConfident(),
    leaven.active.QueryByCommittee("kl", n_members=3),
    leaven.active.QueryByCommittee(committee="posterior", n_members=3),
    leaven.active.QueryByCommittee(committee="posterior-em", n_members=3),
    leaven.active.RandomSampling(),
    leaven.active.SmallestMargin(),
]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_strategy(strategy: Any) -> None:
    draws = "random_state" in strategy.get_params() and not isinstance(
        strategy, leaven.active.ExpectedErrorReduction
    )
    # What is drawn depends on the pool, so that the next query draws other numbers.
    skip = ["permutation"] if draws else []
    done = check_query_strategy(strategy, skip=skip)
    assert set(done) == set(query_strategy_checks()) - set(skip)


def test_every_public_strategy_is_checked() -> None:
    public = {
        name
        for name in leaven.active.__all__
        if callable(getattr(getattr(leaven.active, name), "scores", None))
    }
    assert public == {type(strategy).__name__ for strategy in STRATEGIES}


def test_the_default_problem_has_no_ties() -> None:
    assert len(np.unique(pdist(X))) == 60 * 59 // 2
    assert (X > 0).all()
    assert np.bincount(Y + 1).tolist() == [52, 4, 4]
