"""Predictions of every classifier on Dask collections are those on one machine."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from leaven.active import ActiveLearner, StreamSampler
from leaven.generative import SemiSupervisedGaussianNB, SemiSupervisedMixedNB
from leaven.representation import SelfOrganizingMap
from leaven.self_labeling import CalibratedTreeClassifier
from tests.test_contract import MADE, public_classifiers

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

BASE = LogisticRegression()
CLASSIFIERS = [cls(**MADE.get(cls.__name__, {})) for cls in public_classifiers()]


def problem():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 4)) + 3.0 * y[:, None]
    return X, np.where(np.arange(60) < 16, np.array(["no", "yes"], dtype=object)[y], None)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_predictions_of_every_classifier_on_dask_arrays(model):
    if type(model).__module__.startswith("leaven.representation"):
        pytest.importorskip("torch")
    X, y = problem()
    rng = np.random.default_rng(1)
    new = rng.normal(size=(50, 4)) + 3.0 * (np.arange(50) % 2)[:, None]
    if type(model).__name__ == "SemiSupervisedCategoricalNB":
        X, new = (X > 1.5).astype(int), (new > 1.5).astype(int)
    elif "Multinomial" in type(model).__name__:
        X, new = np.abs(X), np.abs(new)
    model.fit(X, y)
    rows = da.from_array(new, chunks=((20, 0, 23, 7), (2, 2)))
    classes, proba = model.predict(rows), model.predict_proba(rows)
    assert isinstance(classes, da.Array)
    assert (classes.shape, classes.dtype) == ((50,), model.classes_.dtype)
    assert (proba.shape, proba.dtype) == ((50, 2), np.float64)
    assert classes.chunks[0] == proba.chunks[0] == rows.chunks[0]
    computed = proba.compute(scheduler="synchronous")
    assert computed.dtype == np.float64
    assert_allclose(computed, model.predict_proba(new), atol=1e-6)
    assert_array_equal(classes.compute(scheduler="synchronous"), model.predict(new))


def test_predictions_of_what_is_no_semi_supervised_classifier():
    X, y = problem()
    kinds = {
        ActiveLearner(BASE): {"predict", "predict_proba"},
        StreamSampler(BASE): {"predict"},
        CalibratedTreeClassifier(): {"predict", "predict_proba"},
        SelfOrganizingMap((2, 3), random_state=0): {"predict"},
    }
    for model, methods in kinds.items():
        supervised = isinstance(model, (CalibratedTreeClassifier, StreamSampler))
        model.fit(X[:16], y[:16]) if supervised else model.fit(X, y)
        for method in methods:
            expected = getattr(model, method)(X)
            found = getattr(model, method)(da.from_array(X, chunks=(25, -1)))
            assert isinstance(found, da.Array), (model, method)
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            assert_array_equal(found.compute(scheduler="synchronous"), expected)


def test_dataframes_keep_their_columns():
    X, y = problem()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "e"]).assign(d=np.where(X[:, 0] > 1, "u", "v"))
    model = SemiSupervisedMixedNB().fit(frame, y)
    lazy = dd.from_pandas(frame, npartitions=4)
    lazy = lazy[lazy["a"] > frame["a"].median() - 1e9]  # lengths are no longer known
    proba = model.predict_proba(lazy)
    assert isinstance(proba, da.Array)
    assert proba.npartitions == 4
    assert_allclose(proba.compute(), model.predict_proba(frame), atol=1e-12)
    assert_array_equal(model.predict(lazy).compute(), model.predict(frame))
    empty = model.predict(lazy[lazy["a"] > 1e9])
    assert len(empty.compute()) == 0


def test_what_is_no_table_is_refused():
    X, y = problem()
    model = SemiSupervisedGaussianNB().fit(X, y)
    with pytest.raises(TypeError, match="two dimensions"):
        model.predict(da.from_array(X[:, 0]))
    with pytest.raises(ValueError, match="2 features"):
        model.predict(da.from_array(X[:, :2])).compute(scheduler="synchronous")
