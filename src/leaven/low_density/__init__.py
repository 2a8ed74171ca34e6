"""Low-density separation: boundaries that keep away from the unlabeled rows."""

from leaven.low_density._entropy import EntropyRegularizedLogisticRegression
from leaven.low_density._expectation import ExpectationRegularizedLogisticRegression
from leaven.low_density._implicit import ImplicitlyConstrainedLeastSquares
from leaven.low_density._s4vm import S4VM
from leaven.low_density._transductive_svc import TransductiveSVC

__all__ = [
    "S4VM",
    "EntropyRegularizedLogisticRegression",
    "ExpectationRegularizedLogisticRegression",
    "ImplicitlyConstrainedLeastSquares",
    "TransductiveSVC",
]
