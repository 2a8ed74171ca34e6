"""scikit-learn's checks."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.text import RelativeTfidf, StemmedCountVectorizer, TermSelector, TfidfSumSelector

# scikit-learn has no texts to check a vectorizer with: these checks need no data.
WITHOUT_DATA = [
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_get_params_invariance",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
]


@parametrize_with_checks([RelativeTfidf(), TermSelector(), TfidfSumSelector()])
def test_sklearn_contract(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("name", WITHOUT_DATA)
def test_vectorizer(name: str) -> None:
    getattr(estimator_checks, name)("StemmedCountVectorizer", StemmedCountVectorizer())
