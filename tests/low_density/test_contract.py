"""scikit-learn's own checks for every public estimator of the family."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.low_density import (
    S4VM,
    EntropyRegularizedLogisticRegression,
    ExpectationRegularizedLogisticRegression,
    ImplicitlyConstrainedLeastSquares,
    TransductiveSVC,
)

MINUS_ONE = {"check_classifiers_classes": "-1 marks an unlabeled row, not a class"}
ESTIMATORS = [
    TransductiveSVC(),
    TransductiveSVC(kernel="rbf", solver="annealing"),
    TransductiveSVC(solver="continuation"),
    EntropyRegularizedLogisticRegression(),
    ExpectationRegularizedLogisticRegression(),
    ImplicitlyConstrainedLeastSquares(),
    S4VM(n_starts=3, random_state=0),
]


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: MINUS_ONE)
def test_sklearn_contract(estimator, check):
    check(estimator)
