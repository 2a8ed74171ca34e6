"""The model of a table on Dask DataFrames: the answers of pandas, lazily, with the right meta."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import leaven
from leaven.datasets import load_example
from leaven.exceptions import LeavenWarning
from leaven.tables import label_table

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "orchard.leaven"
    label_table(load_example("orchard"), "variety", method="naive-bayes").save(path)
    return leaven.load(path)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "label"])
def test_dask_dataframes_are_answered_as_pandas_ones(model, method):
    table = load_example("orchard")
    lazy = dd.from_pandas(table, npartitions=4)
    lazy = dd.concat([lazy, lazy.loc[-5:-1]])  # one partition has no rows
    options = {"probabilities": True} if method == "label" else {}
    expected = getattr(model, method)(table, **options)
    found = getattr(model, method)(lazy, **options)
    assert type(found).__name__ in ("DataFrame", "Series")
    assert hasattr(found, "dask")
    assert found.npartitions == 5
    computed = found.compute(scheduler="synchronous")
    pd.testing.assert_index_equal(computed.index, expected.index)
    if method == "predict":
        assert found.name == expected.name == "variety"
        assert found.dtype == computed.dtype
        pd.testing.assert_series_equal(computed, expected, check_dtype=False)
        return
    assert list(found.columns) == list(expected.columns)
    assert dict(found.dtypes) == dict(computed.dtypes)
    same = expected.astype(dict(computed.dtypes))
    pd.testing.assert_frame_equal(computed, same)


def test_numbers_as_classes_stay_numbers():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 60)
    table = pd.DataFrame({"x": 5.0 * kind + rng.normal(size=60), "t": np.where(kind, 7, 3)})
    table.loc[8:, "t"] = -1
    model = label_table(table, "t", method="naive-bayes").model()
    lazy = dd.from_pandas(table, npartitions=3)
    labels = model.predict(lazy)
    assert labels.dtype == np.int64
    assert (labels.compute() == np.where(kind, 7, 3)).mean() > 0.9
    assert model.label(lazy).dtypes["t_predicted"] == np.int64
    assert list(model.predict_proba(lazy).columns) == [3, 7]


def test_columns_that_differ_are_told_once(model):
    lazy = dd.from_pandas(load_example("orchard"), npartitions=4)
    with pytest.warns(LeavenWarning, match="does not know the column 'more'") as caught:
        found = model.predict(lazy.assign(more=1))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert len(found.compute(scheduler="synchronous")) == 500
    with pytest.raises(TypeError, match="must be a DataFrame"):
        model.predict(da.ones((3, 2)))
