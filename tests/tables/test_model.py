"""Models of tables: kept in a file, and used on rows that were not there."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal

import leaven
from leaven.datasets import load_example
from leaven.exceptions import LeavenWarning
from leaven.graph import NeighborIndex
from leaven.persistence import ModelFileError, save_object
from leaven.tables import (
    TableError,
    TableModel,
    describe_model,
    label_table,
    load_model,
)
from leaven.tables._model import without_own_columns


def table(n=60, seed=0):
    rng = np.random.RandomState(seed)
    truth = rng.randint(0, 2, n)
    return pd.DataFrame(
        {
            "size": rng.normal(size=n) + 4 * truth,
            "color": np.where(rng.uniform(size=n) < 0.9, np.array(["red", "blue"])[truth], "gray"),
            "seen": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.randint(0, 90, n), "D"),
            "kind": np.where(np.arange(n) < 12, np.array(["ox", "yak"])[truth], None),
        }
    ), np.array(["ox", "yak"])[truth]


@pytest.fixture(scope="module")
def learned():
    rows, _ = table()
    return label_table(rows, "kind", details=False)


TARGETS = {"orchard": "variety", "support_tickets": "topic"}


@functools.cache
def labeled_example(example):
    """Label a part with five labels, by a combination: once for all tests."""
    return label_table(load_example(example).head(150), TARGETS[example], details=False)


@pytest.mark.parametrize("example", TARGETS)
def test_saved_model_says_what_the_result_would(example, tmp_path):
    result, target = labeled_example(example), TARGETS[example]
    assert len(result.estimator.estimators) > 1
    result.save(tmp_path / "m.leaven")
    model = leaven.load(tmp_path / "m.leaven")
    new = load_example(example).tail(50).drop(columns=target)
    expected = result.estimator.predict_proba(result.preparer.transform(new))
    # Not equal: BLAS rounds by the layout of an array, which a file does not keep.
    assert_allclose(model.predict_proba(new).to_numpy(), expected, rtol=1e-9)
    assert model.predict(new).tolist() == [model.classes[code] for code in expected.argmax(axis=1)]


def test_new_rows_are_classified(learned, tmp_path):
    new, truth = table(40, seed=1)
    labels = learned.model().predict(new.drop(columns="kind"))
    assert np.mean(labels == truth) > 0.85
    assert labels.name == "kind"


def test_columns_missing_added_and_in_another_order(learned):
    model = learned.model()
    new = table(20, seed=2)[0].drop(columns="kind")
    expected = model.predict_proba(new)
    assert_frame_equal(model.predict_proba(new[["seen", "color", "size"]]), expected)
    with pytest.warns(LeavenWarning, match=r"does not know the column 'extra': not used"):
        assert_frame_equal(model.predict_proba(new.assign(extra=1)), expected)
    with pytest.warns(LeavenWarning, match=r"no column 'color', which the model learned from"):
        fewer = model.predict_proba(new.drop(columns="color"))
    assert_allclose(fewer.sum(axis=1), 1)
    with pytest.raises(TableError, match="none of the columns"):
        model.predict(pd.DataFrame({"other": [1.0]}))
    with pytest.raises(TableError, match="no rows"):
        model.predict(new.head(0))
    with pytest.raises(
        TypeError,
        match="a Table of pyarrow, got ndarray",
    ):
        model.predict(new.to_numpy())


def test_new_categories_and_other_dtypes(learned):
    model = learned.model()
    new = table(20, seed=3)[0].drop(columns="kind")
    expected = model.predict_proba(new)
    as_text = new.astype({"size": str, "seen": str})
    assert_allclose(model.predict_proba(as_text), expected, atol=1e-5)
    odd = new.assign(color="never seen")
    assert_allclose(model.predict_proba(odd).sum(axis=1), 1)
    assert_frame_equal(
        model.predict_proba(new.assign(color=new["color"].astype("category"))), expected
    )


def test_rows_without_any_cell_get_the_class_proportions(learned):
    new = table(5, seed=4)[0].drop(columns="kind")
    new.loc[2, :] = None
    with pytest.warns(LeavenWarning, match="1 row has no cell that the model knows"):
        found = learned.model().predict_proba(new)
    counts = learned.probabilities.sum()
    assert_allclose(found.iloc[2], counts / counts.sum(), atol=1e-3)


def test_labels_that_are_there_stay(learned):
    new = table(20, seed=5)[0]
    new.loc[0, "kind"] = "ox" if learned.model().predict(new)[0] == "yak" else "yak"
    labeled = learned.model().label(new, probabilities=True)
    assert labeled["kind_predicted"][0] == new["kind"][0]
    assert (labeled["kind_source"] == "given").sum() == new["kind"].notna().sum()
    assert_allclose(labeled[["kind_p_ox", "kind_p_yak"]].sum(axis=1), 1, atol=1e-5)
    assert learned.model().label(labeled).columns.tolist()[-1] == "kind_source"


def test_output_of_a_run_is_input_of_the_next(learned):
    filled = learned.table.copy()
    filled.loc[30, "kind"] = "yak"
    again = label_table(filled, "kind", details=False, method="naive-bayes")
    assert again.summary.n_given == learned.summary.n_given + 1
    assert list(again.table.columns) == list(learned.table.columns)


def test_columns_of_the_user_with_our_names_are_not_touched():
    rows = pd.DataFrame({"a": [1, 2], "t": ["x", "y"], "t_review": ["ok", "bad"]})
    assert without_own_columns(rows, "t") is rows
    ours = rows.assign(t_source=["given", "inferred"])
    assert without_own_columns(ours, "t").columns.tolist() == ["a", "t"]
    theirs = rows.assign(t_source=["web", "given"])
    assert without_own_columns(theirs, "t") is theirs


def test_integer_and_boolean_classes_come_back(tmp_path):
    rows, truth = table()
    for classes in (np.array([3, 7]), np.array([False, True])):
        values = pd.array(classes[(truth == "yak").astype(int)], dtype=object)
        rows["kind"] = np.where(np.arange(len(rows)) < 12, values, None)
        result = label_table(rows, "kind", details=False, method="naive-bayes")
        result.save(tmp_path / "m.leaven")
        found = load_model(tmp_path / "m.leaven").predict(rows.drop(columns="kind"))
        assert set(found.tolist()) <= set(classes.tolist())


def test_description_without_loading(learned, tmp_path):
    learned.save(tmp_path / "m.leaven")
    about = describe_model(tmp_path / "m.leaven").about
    assert about["n_rows"] == 60
    assert about["n_labeled"] == 12
    assert about["columns"] == learned.summary.columns
    low, middle, high = about["estimated_accuracy"]
    assert low <= middle <= high
    save_object(tmp_path / "other.leaven", [1], kind="note")
    with pytest.raises(TableError, match="holds a note, not the model of a table"):
        describe_model(tmp_path / "other.leaven")
    with pytest.raises(ModelFileError, match="holds a note"):
        load_model(tmp_path / "other.leaven")


def test_no_warning_where_nothing_differs(learned):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learned.model().predict(table(5, seed=6)[0])


def test_model_is_a_value(learned):
    assert isinstance(learned.model(), TableModel)
    with pytest.raises(AttributeError):
        learned.model().target = "other"


def test_methods_on_one_graph_search_once(monkeypatch, tmp_path):
    result = labeled_example("orchard")
    on_graph = [e for _, e in result.estimator.estimators if hasattr(e, "graph_builder_")]
    assert len(on_graph) > 1
    result.save(tmp_path / "m.leaven")
    model = leaven.load(tmp_path / "m.leaven")
    new = load_example("orchard").tail(40).drop(columns="variety")
    expected = result.estimator.predict_proba(result.preparer.transform(new))
    search, searched = NeighborIndex.of, []

    def counted(self, X_new, k):
        searched.append(len(X_new))
        return search(self, X_new, k)

    monkeypatch.setattr(NeighborIndex, "of", counted)
    assert_allclose(model.predict_proba(new).to_numpy(), expected, rtol=1e-12)
    assert searched == [40]


def test_rows_without_a_cell_get_the_proportions_of_the_others():
    rows, truth = table()
    rows.loc[[20, 31, 5], ["size", "color", "seen"]] = None
    with pytest.warns(LeavenWarning, match=r"2 rows have no cell in the columns"):
        found = label_table(rows, "kind", method="harmonic", details=False)
    others = ~np.isin(np.arange(60), [5, 20, 31])
    expected = found.probabilities[others].mean(axis=0)
    for row in (20, 31):
        assert_allclose(found.probabilities.iloc[row], expected, atol=1e-5)  # single precision
        assert found.table["kind_confidence"][row] == pytest.approx(expected.max(), abs=1e-6)
    assert found.table["kind_predicted"][5] == truth[5]
