"""NaN from a base learner is refused with its name, or goes into no answer."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from leaven import self_labeling


class HalfNan(GaussianNB):
    def predict_proba(self, X):
        P = super().predict_proba(X).copy()
        P[::2] = np.nan
        return P


WRAPPERS = [
    wrapper
    for name in self_labeling.__all__
    if inspect.isclass(wrapper := getattr(self_labeling, name))
    and "estimator" in inspect.signature(wrapper).parameters
]


@pytest.mark.parametrize("wrapper", WRAPPERS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("case", ["half of the rows", "constant columns"])
def test_nan_of_the_base_learner(wrapper, case):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(40, 4))
    base = HalfNan()
    if case == "constant columns":  # a variance of zero gives 0 / 0
        X, base = np.ones((40, 4)) * [1.5, 2.5, -3.5, 4.5], GaussianNB(var_smoothing=0.0)
    y = np.where(np.arange(40) < 10, np.arange(40) % 2, -1)
    message = None
    with np.errstate(all="ignore"):
        model = wrapper(estimator=base)
        try:
            model.fit(X, y)
        except ValueError as error:
            message = str(error)
        else:
            answers = model.label_distributions_, model.predict_proba(X)
    if message is not None:
        assert f"{type(base).__name__}.predict_proba gave NaN" in message
    else:
        for P in answers:
            np.testing.assert_allclose(P.sum(axis=1), 1.0)


def test_there_are_wrappers():
    assert len(WRAPPERS) >= 6
