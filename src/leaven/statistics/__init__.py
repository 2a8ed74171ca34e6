"""Statistics of comparisons: ranks, tests, intervals, agreement and selection bias.

Arrays and data frames of scores in, small results out; nothing here knows of estimators.
"""

from __future__ import annotations

from leaven.statistics._agreement import cohen_kappa, fleiss_kappa
from leaven.statistics._friedman import (
    FriedmanResult,
    NemenyiResult,
    friedman_test,
    nemenyi_test,
)
from leaven.statistics._intervals import (
    Estimate,
    estimate_difference,
    estimate_from_folds,
    estimate_share,
    wilson_interval,
)
from leaven.statistics._ranks import (
    check_alpha,
    critical_difference,
    drop_rounding_noise,
    groups_within,
    rank_rows,
    rank_standard_error,
)
from leaven.statistics._shrinkage import shrink_best, shrinkage_share
from leaven.statistics._wilcoxon import WilcoxonResult, wilcoxon_test

__all__ = [
    "Estimate",
    "FriedmanResult",
    "NemenyiResult",
    "WilcoxonResult",
    "check_alpha",
    "cohen_kappa",
    "critical_difference",
    "drop_rounding_noise",
    "estimate_difference",
    "estimate_from_folds",
    "estimate_share",
    "fleiss_kappa",
    "friedman_test",
    "groups_within",
    "nemenyi_test",
    "rank_rows",
    "rank_standard_error",
    "shrink_best",
    "shrinkage_share",
    "wilcoxon_test",
    "wilson_interval",
]
