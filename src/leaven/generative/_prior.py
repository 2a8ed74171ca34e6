"""Class proportions of the EM classifiers: learned, fixed, or learned with pseudo-counts."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

# Parameters that prior replaced.
FORMER_NAMES = ("class_prior", "fit_prior", "prior_smoothing")


@dataclass(frozen=True)
class ClassPrior:
    """Class proportions of an EM classifier, and their pseudo-count.

    Parameters
    ----------
    proportions : {"labeled", "uniform"}, dict, array-like or None, default=None
        None learns the proportions with the other parameters. Otherwise they are fixed: those of
        the labeled rows, equal ones, a dict from class to proportion, or proportions in the
        order of ``classes_``. The share of each component within its class is learned still.
    smoothing : float, default=0.0
        Pseudo-count of each component. scikit-learn has 0, the Laplace estimates of the
        literature have 1.

    Examples
    --------
    >>> from leaven.generative import ClassPrior, SemiSupervisedCategoricalNB
    >>> X = [["a"], ["b"], ["a"], ["a"]]
    >>> model = SemiSupervisedCategoricalNB(prior=ClassPrior(smoothing=1.0), unlabeled_weight=0.0)
    >>> model.fit(X, ["yes", "no", "yes", None]).class_log_prior_.round(3)  # log 2/5, log 3/5
    array([-0.916, -0.511])
    """

    proportions: Any = None
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.smoothing, Real) or not 0 <= self.smoothing < np.inf:
            raise ValueError(
                f"ClassPrior has smoothing={self.smoothing!r}, which must be a finite number, "
                "zero or more."
            )
        named = isinstance(self.proportions, (str, Mapping)) or self.proportions is None
        if not named:
            # A tuple can be compared and cannot be changed.
            values = np.asarray(self.proportions, dtype=np.float64)
            object.__setattr__(self, "proportions", tuple(values.ravel().tolist()))


def as_class_prior(prior: Any) -> ClassPrior:
    """Return the value behind a ``prior`` parameter, which may be proportions only."""
    return prior if isinstance(prior, ClassPrior) else ClassPrior(prior)


def translate_former_names(params: dict[str, Any], owner: str, present: Any = None) -> None:
    """Replace the former names among ``params`` by ``prior``, with a warning.

    Parameters
    ----------
    params : dict
        Changed in place.
    owner : str
        Name of the class, for the message.
    present : prior, default=None
        The prior that is changed by what is given.
    """
    former = {name: params.pop(name) for name in FORMER_NAMES if name in params}
    if not former:
        return
    warnings.warn(
        f"{', '.join(former)} of {owner} was replaced by prior in version 0.1 and goes away in "
        "0.2. Use prior='uniform' or proportions for fixed ones, and "
        "prior=ClassPrior(smoothing=...) for pseudo-counts.",
        FutureWarning,
        stacklevel=4,
    )
    if "prior" in params:
        raise ValueError(f"{owner} got both prior and {', '.join(former)}. Give prior alone.")
    prior = as_class_prior(present)
    proportions = prior.proportions
    if former.get("class_prior") is not None:
        proportions = former["class_prior"]
    elif former.get("fit_prior") is False:
        proportions = "uniform"
    elif "fit_prior" in former or "class_prior" in former:
        proportions = None
    params["prior"] = ClassPrior(proportions, former.get("prior_smoothing", prior.smoothing))


def accept_former_names(init: Callable[..., None]) -> Callable[..., None]:
    """Wrap a constructor so that it takes the former names for one more release."""

    @functools.wraps(init)
    def wrapper(self: Any, **params: Any) -> None:
        translate_former_names(params, type(self).__name__)
        init(self, **params)

    return wrapper
