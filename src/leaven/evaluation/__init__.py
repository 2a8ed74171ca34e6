"""Experiments with few labels: protocols, learning curves, comparisons and statistics."""

from __future__ import annotations

from leaven.evaluation._curve import learning_curve
from leaven.evaluation._protocol import (
    PROTOCOLS,
    CurveProtocol,
    DrawProtocol,
    FoldProtocol,
    Split,
    get_protocol,
    random_order,
)
from leaven.evaluation._schedule import aulc, label_schedule
from leaven.evaluation._scores import class_scores
from leaven.evaluation._store import read_store
from leaven.evaluation._study import compare
from leaven.evaluation._tables import SummaryTable, escape_markdown, summary_table
from leaven.evaluation._trial import Active, Tuned
from leaven.evaluation._trial_scores import trial_scores
from leaven.evaluation._wilcoxon import wilcoxon_table
from leaven.statistics import (
    FriedmanResult,
    NemenyiResult,
    WilcoxonResult,
    friedman_test,
    nemenyi_test,
    wilcoxon_test,
)

__all__ = [
    "PROTOCOLS",
    "Active",
    "CurveProtocol",
    "DrawProtocol",
    "FoldProtocol",
    "FriedmanResult",
    "NemenyiResult",
    "Split",
    "SummaryTable",
    "Tuned",
    "WilcoxonResult",
    "aulc",
    "class_scores",
    "compare",
    "escape_markdown",
    "friedman_test",
    "get_protocol",
    "label_schedule",
    "learning_curve",
    "nemenyi_test",
    "random_order",
    "read_store",
    "summary_table",
    "trial_scores",
    "wilcoxon_table",
    "wilcoxon_test",
]
