"""One answer to each question about an estimator, and the base of leaven's own classifiers.

Does it learn from unlabeled rows? Which step decides at the end? What class probabilities does
it give? The functions here answer for pipelines, searches, wrappers and classes from elsewhere;
the guide page "Your own estimators" says what a class of your own declares.
"""

from __future__ import annotations

from leaven.base._answers import class_probabilities, normalize_rows, training_probabilities
from leaven.base._capabilities import (
    final_step,
    learns_from_unlabeled,
    needs_integer_labels,
    rows_of_final_step,
)
from leaven.base._rows import seeded_clone, take_rows
from leaven.base._transduction import TransductionMixin

__all__ = [
    "TransductionMixin",
    "class_probabilities",
    "final_step",
    "learns_from_unlabeled",
    "needs_integer_labels",
    "normalize_rows",
    "rows_of_final_step",
    "seeded_clone",
    "take_rows",
    "training_probabilities",
]
