"""Active learning: choose the rows whose labels are worth most."""

from __future__ import annotations

from leaven.active._batch import as_points, choose_batch
from leaven.active._co_testing import CoTesting
from leaven.active._committee import QueryByCommittee, kl_to_consensus, vote_entropy
from leaven.active._density import InformationDensity, mean_similarity
from leaven.active._expected_error import ExpectedErrorReduction
from leaven.active._learner import ActiveLearner
from leaven.active._queried_last import QueriedLast, queried_last
from leaven.active._random import RandomSampling
from leaven.active._simulate import Simulation, simulate
from leaven.active._stopping import (
    BudgetSpent,
    F1Change,
    OverallUncertainty,
    Progress,
    StablePredictions,
)
from leaven.active._stream import StreamSampler
from leaven.active._synthesis import QuerySynthesizer
from leaven.active._uncertainty import (
    HighestEntropy,
    LeastConfident,
    SmallestMargin,
    entropy,
    least_confidence,
    margin,
    probabilities,
)

__all__ = [
    "ActiveLearner",
    "BudgetSpent",
    "CoTesting",
    "ExpectedErrorReduction",
    "F1Change",
    "HighestEntropy",
    "InformationDensity",
    "LeastConfident",
    "OverallUncertainty",
    "Progress",
    "QueriedLast",
    "QueryByCommittee",
    "QuerySynthesizer",
    "RandomSampling",
    "Simulation",
    "SmallestMargin",
    "StablePredictions",
    "StreamSampler",
    "as_points",
    "choose_batch",
    "entropy",
    "kl_to_consensus",
    "least_confidence",
    "margin",
    "mean_similarity",
    "probabilities",
    "queried_last",
    "simulate",
    "vote_entropy",
]
