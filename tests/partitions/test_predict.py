"""Predictions of every classifier on Dask collections are those on one machine."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from leaven.generative import SemiSupervisedGaussianNB, SemiSupervisedMixedNB
from leaven.graph_based import HarmonicClassifier, LaplacianRLSClassifier
from leaven.low_density import EntropyRegularizedLogisticRegression, TransductiveSVC
from leaven.model_selection import SafeClassifier
from leaven.self_labeling import (
    ClusterThenLabel,
    SelfTrainingClassifier,
    SetredClassifier,
    TriTrainingClassifier,
)

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

BASE = LogisticRegression()
MODELS = [
    SemiSupervisedGaussianNB(),
    HarmonicClassifier(),
    LaplacianRLSClassifier(),
    EntropyRegularizedLogisticRegression(),
    TransductiveSVC(),
    SelfTrainingClassifier(BASE),
    SetredClassifier(BASE),
    TriTrainingClassifier(BASE, random_state=0),
    ClusterThenLabel(),
    SafeClassifier([("plain", BASE), ("em", SemiSupervisedGaussianNB())], random_state=0),
]


def problem():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 3)) + 3.0 * y[:, None]
    return X, np.where(np.arange(60) < 16, np.array(["no", "yes"], dtype=object)[y], None)


@pytest.mark.filterwarnings("ignore::leaven.exceptions.LeavenWarning")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_predictions_on_dask_collections(model):
    X, y = problem()
    model.fit(X, y)
    rng = np.random.default_rng(1)
    new = rng.normal(size=(50, 3)) + 3.0 * (np.arange(50) % 2)[:, None]
    chunked = da.from_array(new, chunks=((20, 0, 23, 7), (2, 1)))
    frame = dd.from_pandas(pd.DataFrame(new), npartitions=3)[[0, 1, 2]]
    for rows in (chunked, frame):
        rows = rows if rows is chunked else rows.to_dask_array(lengths=True)
        classes, proba = model.predict(rows), model.predict_proba(rows)
        assert isinstance(classes, da.Array)
        assert (classes.shape, classes.dtype) == ((50,), model.classes_.dtype)
        assert (proba.shape, proba.dtype) == ((50, 2), np.float64)
        assert classes.chunks[0] == proba.chunks[0] == rows.chunks[0]
        computed = proba.compute(scheduler="synchronous")
        assert computed.dtype == np.float64
        assert_allclose(computed, model.predict_proba(new), atol=1e-12)
        assert_array_equal(classes.compute(scheduler="synchronous"), model.predict(new))


def test_dataframes_keep_their_columns():
    X, y = problem()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(d=np.where(X[:, 0] > 1, "u", "v"))
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
