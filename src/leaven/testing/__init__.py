"""Checks of what leaven promises, for its own classes and for those of third parties.

They come on top of :func:`sklearn.utils.estimator_checks.check_estimator`, which knows nothing
of unlabeled rows.
"""

from __future__ import annotations

from leaven.testing._query_strategy import check_query_strategy, query_strategy_checks
from leaven.testing._semi_supervised import check_semi_supervised, semi_supervised_checks

__all__ = [
    "check_query_strategy",
    "check_semi_supervised",
    "query_strategy_checks",
    "semi_supervised_checks",
]
