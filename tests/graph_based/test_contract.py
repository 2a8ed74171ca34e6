"""scikit-learn's own checks on every classifier of the family."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from leaven.graph import KNNGraph
from leaven.graph_based import (
    ConsistencyClassifier,
    HarmonicClassifier,
    LabelPropagationClassifier,
    PoissonClassifier,
    PoissonMBOClassifier,
    SoftLabelPropagationClassifier,
)
from leaven.testing import check_semi_supervised

KNOWN = {"check_classifiers_classes": "-1 marks an unlabeled row, not a class"}


@parametrize_with_checks(
    [
        ConsistencyClassifier(),
        LabelPropagationClassifier(),
        PoissonClassifier(),
        PoissonMBOClassifier(),
        SoftLabelPropagationClassifier(),
        HarmonicClassifier(),
        HarmonicClassifier(KNNGraph(5), prior="labeled", label_noise=0.2),
    ],
    expected_failed_checks=lambda estimator: KNOWN,
)
def test_sklearn_contract(estimator, check):
    check(estimator)


def test_sparse_rows_by_angle_stay_as_they_are() -> None:
    """Rows without a direction are told apart by cosines only, and SciPy sorts in place there."""
    check_semi_supervised(HarmonicClassifier(KNNGraph(5, metric="cosine")))
