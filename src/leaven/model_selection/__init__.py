"""Choosing models and parameters from few labels."""

from __future__ import annotations

from leaven.model_selection._safe import SafeClassifier
from leaven.model_selection._safe_report import SafeReport
from leaven.model_selection._scoring import LabeledScorer, labeled_scorer
from leaven.model_selection._split import AdaptiveKFold, LabeledKFold, LabeledLeaveOneOut
from leaven.model_selection._transfer import transfer_parameter
from leaven.model_selection._tune import TuneResult, tune

__all__ = [
    "AdaptiveKFold",
    "LabeledKFold",
    "LabeledLeaveOneOut",
    "LabeledScorer",
    "SafeClassifier",
    "SafeReport",
    "TuneResult",
    "labeled_scorer",
    "transfer_parameter",
    "tune",
]
