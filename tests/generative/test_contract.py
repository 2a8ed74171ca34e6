"""scikit-learn's own checks on every classifier of the family."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.generative import (
    SemiSupervisedBernoulliNB,
    SemiSupervisedCategoricalNB,
    SemiSupervisedGaussianNB,
    SemiSupervisedMixedNB,
    SemiSupervisedMultinomialNB,
)

MARK = "-1 marks an unlabeled row and cannot be the name of a class"


FRACTIONS = "the check fits fractions, which are no categories"


def expected_failures(estimator):
    failures = {"check_classifiers_classes": MARK}
    if isinstance(estimator, SemiSupervisedCategoricalNB):
        failures["check_sample_weight_equivalence_on_dense_data"] = FRACTIONS
    return failures


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        SemiSupervisedMultinomialNB(),
        SemiSupervisedBernoulliNB(),
        SemiSupervisedCategoricalNB(),
        SemiSupervisedGaussianNB(),
        SemiSupervisedMixedNB(),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
