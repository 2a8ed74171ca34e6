"""Labels that are encoded already give the same fit as the names that they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from leaven import _compat
from leaven._labels import UNLABELED, EncodedLabels, encode_labels, labeled_mask
from leaven.base import TransductionMixin
from leaven.generative import SemiSupervisedBernoulliNB, SemiSupervisedMultinomialNB
from leaven.graph import KNNGraph
from leaven.graph_based import HarmonicClassifier
from leaven.selection import Problem, fit_named, make_candidates, standard_problem
from leaven.selection._candidates import RECIPES

NAMES = np.array(["high", "low", "middle"], dtype=object)


def rows(seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    codes = np.arange(60) % 3
    X = rng.poisson(np.array([[4.0, 1.0, 2.0], [1.0, 5.0, 2.0], [2.0, 1.0, 6.0]])[codes])
    codes[rng.permutation(60)[:42]] = UNLABELED
    return X.astype(float), codes


def own_estimators() -> list[Any]:
    X, codes = rows()
    problem = standard_problem(X, codes, NAMES)
    found = [each.estimator for each in make_candidates(list(RECIPES), problem)]
    found += [SemiSupervisedMultinomialNB(), SemiSupervisedBernoulliNB()]
    return [each for each in found if isinstance(each, TransductionMixin)]


@pytest.mark.parametrize("estimator", own_estimators(), ids=lambda each: type(each).__name__)
def test_the_fit_is_the_same(estimator: Any) -> None:
    X, codes = rows()
    names = np.where(codes == UNLABELED, None, NAMES[codes])
    by_name = estimator.fit(X, names)
    distributions, new = by_name.label_distributions_.copy(), by_name.predict_proba(X[:7] + 0.5)
    encoded = estimator.fit(X, EncodedLabels(NAMES, codes))
    assert_array_equal(encoded.classes_, NAMES)
    assert_allclose(encoded.label_distributions_, distributions)
    assert_allclose(encoded.predict_proba(X[:7] + 0.5), new)
    assert set(encoded.transduction_) <= set(NAMES)


def test_it_is_an_array_of_codes() -> None:
    labels = EncodedLabels(NAMES, np.array([2, UNLABELED, 0]))
    assert len(labels) == 3
    assert_array_equal(np.asarray(labels), [2, UNLABELED, 0])
    assert np.array(labels, dtype=float).dtype == float
    assert np.array(labels) is not labels.codes
    assert encode_labels(labels)[0] is NAMES
    assert_array_equal(labeled_mask(labels), [True, False, True])


def test_a_builder_that_looks_at_labels_takes_them() -> None:
    X, codes = rows()
    builder = KNNGraph(3, include_labeled=True)
    plain = builder.build(X, codes).adjacency.toarray()
    encoded = builder.build(X, EncodedLabels(NAMES, codes)).adjacency.toarray()
    assert_allclose(encoded, plain)


def test_parameters_are_checked_once_per_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    X, codes = rows()
    problem = standard_problem(X, codes, NAMES)
    checks: list[str] = []
    check = _compat.validate_parameter_constraints

    def counted(constraints: Any, params: Any, caller_name: str) -> None:
        checks.append(caller_name)
        check(constraints, params, caller_name)

    monkeypatch.setattr(_compat, "validate_parameter_constraints", counted)
    (em,) = make_candidates(["naive-bayes-em"], problem)
    fit_named(problem, em, random_state=0)
    # Before the folds, and before the last fit with the parameters that were chosen.
    assert checks == ["SemiSupervisedGaussianMixture"] * 2


def test_wrong_parameters_are_still_refused() -> None:
    X, codes = rows()
    problem = Problem(X, codes, NAMES, "continuous")
    (bad,) = make_candidates({"bad": HarmonicClassifier(tol=-1.0)}, problem)
    with pytest.raises(ValueError, match="'tol' parameter of HarmonicClassifier"):
        fit_named(problem, bad)


def test_others_get_names_in_their_own_marks() -> None:
    seen: list[Any] = []

    class Other(LogisticRegression):
        learns_from_unlabeled = True

        def fit(self, X: Any, y: Any) -> Any:
            seen.append(np.array(y, copy=True))
            labeled = labeled_mask(y)
            return super().fit(X[labeled], np.asarray(y)[labeled])

    X, codes = rows()
    for classes in (NAMES, np.array([4, 7, 9])):
        problem = Problem(X, codes, classes, "continuous")
        (other,) = make_candidates({"other": Other()}, problem)
        fit_named(problem, other)
    assert [each is None for each in seen[0]] == (codes == UNLABELED).tolist()
    assert_array_equal(seen[1], np.where(codes == UNLABELED, UNLABELED, np.array([4, 7, 9])[codes]))
