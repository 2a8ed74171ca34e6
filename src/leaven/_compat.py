"""The only module that asks for private scikit-learn names or for versions.

scikit-learn's table of parameter constraints is private, but it is what gives every
estimator of that library the same messages; leaven's estimators use it through here.
"""

from __future__ import annotations

from typing import Any

from sklearn.utils._param_validation import (
    HasMethods,
    Hidden,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import _check_feature_names as check_feature_names
from sklearn.utils.validation import _num_features as num_features
from sklearn.utils.validation import _num_samples as num_samples

__all__ = [
    "HasMethods",
    "Hidden",
    "Interval",
    "StrOptions",
    "check_feature_names",
    "make_tree",
    "num_features",
    "num_samples",
    "validate_params_of",
]


def validate_params_of(estimator: Any) -> None:
    """Check an estimator's parameters against its ``_parameter_constraints`` table.

    Raises
    ------
    ValueError
        Named ``InvalidParameterError`` in scikit-learn: which parameter, what it must be,
        what came.
    """
    constraints = estimator._parameter_constraints
    params = {
        name: value
        for name, value in estimator.get_params(deep=False).items()
        if name in constraints
    }
    validate_parameter_constraints(constraints, params, caller_name=type(estimator).__name__)


def make_tree(n_features: int, n_classes: Any, n_outputs: int, state: dict[str, Any]) -> Any:
    """Build scikit-learn's compiled decision tree from its parts."""
    from sklearn.tree._tree import Tree

    tree = Tree(n_features, n_classes, n_outputs)
    tree.__setstate__(state)
    return tree
