"""Labeling tables: what was there stays, and the labels are good."""

from __future__ import annotations

import functools
import json
import os
import pickle
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from leaven import tables
from leaven.exceptions import LeavenWarning, UnreachedWarning
from leaven.tables import TableError
from leaven.tables import _select as tables_select
from leaven.tables._scales import column_weights_of

# Most of these tests are not about the choice of a method, which takes its time.
label = functools.partial(tables.label, method="harmonic")
label_table = functools.partial(tables.label_table, method="harmonic", details=False)
QUICK = ["logistic-regression", "harmonic"]


def blobs(n: int = 60, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(n) % 3)
    centers = np.array([[0, 0], [6, 0], [0, 6]])
    X = centers[truth] + rng.normal(size=(n, 2))
    return pd.DataFrame({"x": X[:, 0], "y": X[:, 1]}), truth


def few_labels(truth: np.ndarray, per_class: int = 3) -> np.ndarray:
    labeled = np.zeros(len(truth), dtype=bool)
    for code in np.unique(truth):
        labeled[np.flatnonzero(truth == code)[:per_class]] = True
    return labeled


DTYPES: dict[str, Any] = {
    "str": lambda names, known: pd.Series(names).where(known),
    "cells": lambda names, known: pd.Series(names).where(known, ""),
    "category": lambda names, known: pd.Series(names).where(known).astype("category"),
    "int": lambda names, known: pd.Series(names).map(ord).where(known, -1),
    "int8": lambda names, known: pd.Series(names).map(ord).where(known, -1).astype("int8"),
    "Int64": lambda names, known: pd.Series(names).map(ord).astype("Int64").where(known),
    "float": lambda names, known: pd.Series(names).map(ord).astype(float).where(known),
    "object": lambda names, known: pd.Series(names, dtype=object).where(known, None),
    "boolean": lambda names, known: (pd.Series(names) == "a").astype("boolean").where(known),
    "bool": lambda names, known: (pd.Series(names) == "a").astype(object).where(known, None),
}


@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from(sorted(DTYPES)),
    seed=st.integers(0, 999),
    index=st.sampled_from(["range", "strings", "copies", "dates", "multi"]),
    n=st.integers(12, 40),
)
def test_everything_that_came_stays(kind: str, seed: int, index: str, n: int) -> None:
    table, truth = blobs(n, seed)
    rng = np.random.default_rng(seed)
    known = few_labels(truth)
    table["code"] = pd.array(rng.integers(0, 9, n), dtype="Int16")
    table["when"] = pd.date_range("2024-01-01", periods=n, freq="h", tz="UTC")
    table["level"] = pd.Categorical(rng.choice(["u", "v"], n), ["v", "u", "w"])
    table["target"] = DTYPES[kind](np.array(list("abc"))[truth], known)
    table.index = {
        "range": table.index,
        "strings": pd.Index([f"r{i}" for i in range(n)], name="key"),
        "copies": pd.Index([0] * n),
        "dates": pd.DatetimeIndex(table["when"]),
        "multi": pd.MultiIndex.from_arrays([range(n), range(n)]),
    }[index]
    before = table.copy(deep=True)
    result = label_table(table, "target").table
    pd.testing.assert_frame_equal(table, before)
    pd.testing.assert_frame_equal(result[table.columns], before)
    assert list(result.columns[-4:]) == [
        "target_predicted",
        "target_confidence",
        "target_source",
        "target_review",
    ]
    assert result["target_review"].dtype == bool
    assert not result["target_review"][known].any()
    predicted, confidence = result["target_predicted"], result["target_confidence"]
    assert predicted.dtype == before["target"].dtype
    assert predicted[known].tolist() == before["target"][known].tolist()
    assert result["target_source"].tolist() == np.where(known, "given", "inferred").tolist()
    assert set(predicted) <= set(before["target"][known])
    assert (confidence[known] == 1).all()
    assert confidence.between(0, 1).all()


def test_blobs_are_labeled_right() -> None:
    table, truth = blobs()
    names = np.array(["a", "b", "c"])[truth]
    table["t"] = pd.Series(names).where(few_labels(truth))
    result = tables.label_table(table, "t", candidates=QUICK, ask=4)
    assert (result.table["t_predicted"] == names).mean() > 0.95
    summary = result.summary
    assert (summary.n_rows, summary.n_given, summary.n_inferred) == (60, 9, 51)
    assert summary.method == result.selection.choice
    assert result.selection.candidates["name"].tolist() == QUICK
    assert result.curve is None  # too few labels
    assert sorted(result.points["row"]) == list(range(60))
    assert len(set(result.ask)) == 4
    assert summary.n_review == int(result.table["t_review"].sum())
    assert [count.given for count in summary.classes] == [3, 3, 3]
    for count in summary.classes:
        total = int((result.table["t_predicted"] == count.name).sum())
        assert count.given + count.inferred == total
    assert_allclose(result.probabilities.sum(axis=1), 1, atol=1e-5)
    inferred = result.table["t_source"] == "inferred"
    mean = result.table["t_confidence"][inferred].mean()
    assert_allclose(summary.mean_confidence, mean, atol=1e-5)
    assert json.loads(json.dumps(summary.to_dict()))["classes"][0]["name"] == "a"


def test_strings_give_the_same_labels_as_types() -> None:
    table, truth = blobs()
    table["t"] = pd.Series(np.array(["a", "b", "c"])[truth]).where(few_labels(truth))
    cells = table.astype({"x": str, "y": str}).fillna({"t": ""})
    assert label(table, "t")["t_predicted"].tolist() == label(cells, "t")["t_predicted"].tolist()


def test_repeatable_and_independent_of_global_state() -> None:
    table, truth = blobs()
    words = np.array([["red", "warm"], ["blue", "cold"], ["green", "mild"]])
    rng = np.random.default_rng(0)
    table["note"] = [" ".join(rng.choice(words[t], 4)) + f" row{i}" for i, t in enumerate(truth)]
    table["t"] = np.where(few_labels(truth), truth, -1)
    first = label(table, "t")
    np.random.seed(123)  # noqa: NPY002
    pd.testing.assert_frame_equal(label(table, "t"), first)


def test_copies_of_a_row_do_not_cut_it_off() -> None:
    # Each of eight places holds 15 equal rows; only four places have a label.
    table = pd.DataFrame({"x": np.repeat([0.0, 1.0, 8.0, 9.0], 30), "z": np.arange(120) % 2})
    table["t"] = None
    table.loc[[0, 1], "t"] = "low"
    table.loc[[90, 91], "t"] = "high"
    table = table.sample(frac=1, random_state=0)
    labeled = label(table, "t")
    expected = np.where(table["x"] < 5, "low", "high")
    assert labeled["t_predicted"].tolist() == expected.tolist()


def test_copies_with_different_labels_keep_them() -> None:
    table, truth = blobs()
    table.loc[:1, ["x", "y"]] = 3.0
    table["t"] = np.where(few_labels(truth), truth, -1)
    table.loc[0, "t"], table.loc[1, "t"] = 0, 1
    assert label(table, "t")["t_predicted"].iloc[:2].tolist() == [0, 1]


def test_the_prior_is_used() -> None:
    rng = np.random.default_rng(0)
    n = 200
    table = pd.DataFrame({"x": rng.normal(size=n), "y": rng.normal(size=n), "t": -1})
    table.loc[:9, "t"] = [0, 1] * 5
    shares = {
        share: float((label(table, "t", prior={0: share, 1: 1 - share})["t_predicted"] == 0).mean())
        for share in (0.2, 0.8)
    }
    assert shares[0.2] < 0.4 < 0.6 < shares[0.8]
    assert label(table, "t", prior={"0": 0.2, "1": 0.8}).equals(label(table, "t", prior=[0.2, 0.8]))
    for prior in (None, "uniform"):
        assert len(label(table, "t", prior=prior)) == n


def test_proportions_are_asked_for_where_labels_do_not_tell_them() -> None:
    table, truth = blobs(90)
    wide = 4 * np.random.default_rng(1).normal(size=table.shape)

    def notes(table: pd.DataFrame, per_class: tuple[int, int, int], **options: Any) -> str:
        y = np.full(len(truth), None, dtype=object)
        for code, n in enumerate(per_class):
            y[np.flatnonzero(truth == code)[:n]] = f"c{code}"
        options = {"candidates": [*QUICK, "naive-bayes"]} | options
        result = tables.label_table(table.assign(kind=y), "kind", details=False, **options)
        return " ".join(result.summary.notes)

    asked = "--prior"
    assert asked in notes(table + wide, (5, 5, 5))
    assert asked in notes(table + wide, (5, 5, 3))  # a small class
    assert asked not in notes(table + wide, (6, 5, 3))  # as of a random sample
    assert asked not in notes(table + wide, (5, 5, 5), prior={"c0": 0.5, "c1": 0.3, "c2": 0.2})
    assert asked not in notes(table + wide, (5, 5, 5), prior="uniform")
    assert asked not in notes(table, (5, 5, 5))  # clear classes: proportions change nothing
    assert asked not in notes(table + wide, (5, 5, 5), method="harmonic", candidates=None)


def test_a_wide_range_of_column_names() -> None:
    table, truth = blobs()
    table.columns = [0, "y"]
    table[7] = np.where(few_labels(truth), truth, -1)
    labeled = label(table, 7)
    new = ["7_predicted", "7_confidence", "7_source", "7_review"]
    assert list(labeled.columns) == [0, "y", 7, *new]


def test_text_can_be_named_in_several_ways() -> None:
    table, truth = blobs()
    table["note"] = np.array(["red", "blue", "green"])[truth]
    table["t"] = np.where(few_labels(truth), truth, -1)
    for text in ("note", ["note"], ("note",), {"note"}):
        assert label_table(table, "t", text=text).summary.columns["note"] == "text"
    assert label_table(table, "t").summary.columns["note"] == "category"


def test_a_table_of_texts() -> None:
    rng = np.random.default_rng(0)
    topics = {"bill": ["invoice", "refund", "charge", "card"], "bug": ["crash", "error", "log"]}
    names = np.array(list(topics))[np.arange(60) % 2]
    others = ["please", "hello", "today", "again", "team"]
    texts = [" ".join([*rng.choice(topics[t], 3), *rng.choice(others, 3)]) for t in names]
    table = pd.DataFrame({"text": texts, "t": pd.Series(names).where(np.arange(60) < 6)})
    result = label_table(table, "t")
    assert result.preparer.metric_ == "cosine"
    assert dict(result.estimator.estimators)["harmonic"].graph_builder_.graph.metric == "cosine"
    assert (result.table["t_predicted"] == names).mean() > 0.9


def three_topics() -> pd.DataFrame:
    """Texts of three topics that share no word, two of them with labels."""
    topics = ["refund bill card bank money cash", "crash error log bug fault trace"]
    topics.append("rain sun wind cloud sky storm")
    texts = [" ".join(pair) for topic in topics for pair in combinations(topic.split(), 3)]
    table = pd.DataFrame({"text": texts, "t": np.full(60, None, dtype=object)})
    table.loc[[0, 1], "t"], table.loc[[20, 21], "t"] = "pay", "bug"
    return table


def test_rows_that_no_label_reaches_are_told_of() -> None:
    table = three_topics()
    with pytest.warns(UnreachedWarning, match="20 distinct rows are near no labeled row"):
        labeled = label_table(table, "t", text="text").table
    assert labeled["t_confidence"].iloc[-20:].eq(0.5).all()


def test_a_sample_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    from leaven.report import render_report

    monkeypatch.setattr(tables_select, "MAX_UNLABELED", 80)
    table, truth = blobs(300)
    names = np.array(list("abc"))[truth]
    table["t"] = pd.Series(names).where(few_labels(truth, 10))
    result = tables.label_table(table, "t", candidates=QUICK)
    assert (result.table["t_predicted"] == names).mean() > 0.95
    assert result.table["t_confidence"].notna().all()
    said = "all 30 labeled rows and 80 of the 270 unlabeled ones"
    assert sum(said in note for note in result.selection.notes) == 1
    assert render_report(result).count(said) == 1


def test_the_weights_are_those_of_the_fitted_model() -> None:
    # They used to be learned once more, with another seed, and belonged to no model.
    table, truth = blobs()
    table["noise"] = np.random.default_rng(1).normal(size=60)
    table["t"] = np.where(few_labels(truth, 5), truth, -1)
    graph_methods = ["harmonic", "consistency", "spectral-transducer"]
    for options in ({"method": "harmonic"}, {"candidates": graph_methods}):
        result = tables.label_table(table, "t", **options)
        fitted = dict(result.estimator.estimators)
        scales = fitted["harmonic"].graph_builder_.scales_
        layout = result.preparer.layout_
        by_feature = dict(zip(layout.names, np.asarray(scales, float) ** 2, strict=True))
        assert result.summary.weights == pytest.approx(by_feature)
        assert result.summary.weights["noise"] < result.summary.weights["x"]
    assert len(fitted) > 1  # the last one was a vote
    # A method that compares no neighbors has no weights from labels.
    result = tables.label_table(table, "t", method="logistic-regression")
    assert result.summary.weights == {"x": 1.0, "y": 1.0, "noise": 1.0}
    assert column_weights_of(layout, None) == result.summary.weights


def test_a_combination_tells_of_rows_that_no_label_reaches() -> None:
    # The warning was lost when several methods were used.
    table = three_topics()
    table.loc[[2, 3, 4], "t"], table.loc[[22, 23, 24], "t"] = "pay", "bug"
    names = ["harmonic", "consistency", "spectral-transducer"]
    with pytest.warns(UnreachedWarning, match="20 distinct rows are near no labeled row") as caught:
        result = tables.label_table(table, "t", text="text", candidates=names, details=False)
    assert result.summary.method == "combination"
    assert len(caught) == 1
    assert "the methods that go by neighbors" in str(caught[0].message)


def test_rows_of_a_sample_that_no_label_reaches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables_select, "MAX_UNLABELED", 50)
    table = three_topics()
    with pytest.warns(UnreachedWarning, match="distinct rows of the sample are near no labeled"):
        labeled = tables.label(table, "t", text="text", candidates=["harmonic"])
    assert labeled["t_confidence"].iloc[-20:].lt(0.6).all()


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({}, {"target": "T"}, "no target column 'T'. Did you mean 't'"),
        ({}, {"text": "t"}, "both the target and a text"),
        ({}, {"text": ["nope"]}, "no text column 'nope'"),
        (
            {},
            {"method": "magic"},
            "'magic' is not known. Known methods: auto, logistic",
        ),
        ({}, {"method": "harmonics"}, "Did you mean 'harmonic'"),
        ({}, {"candidates": ["harmonic"]}, "both named"),
        ({}, {"method": "auto", "candidates": []}, "candidates is empty"),
        ({}, {"method": "auto", "candidates": "harmonic"}, "must be a list of names"),
        ({}, {"method": "auto", "candidates": ["naive_bayes"]}, "Did you mean 'naive-bayes'"),
        ({}, {"method": "auto", "candidates": ["harmonic", "harmonic"]}, "more than once"),
        ({}, {"ask": -1}, "ask must be a number of rows"),
        ({}, {"missing": "NA"}, "missing must be a collection of cells"),
        ({}, {"time_limit": 0}, "time_limit must be a number of seconds"),
        ({}, {"prior": "equal"}, "prior='equal' is not known"),
        ({}, {"prior": {0: 1.0}}, "must name every class"),
        ({}, {"prior": {0: 0.5, 1: 0.2, 2: 0.2}}, "sums to 0.9"),
        ({}, {"prior": object()}, "prior|float"),
        ({"t_source": 1}, {}, "already has a column 't_source'"),
        ({"t_review": 1}, {}, "already has a column 't_review'"),
        ({"x": 1, "y": 1}, {}, "no column to learn from"),
    ],
)
def test_bad_arguments(change: dict, arguments: dict, message: str) -> None:
    table, truth = blobs()
    table["t"] = np.where(few_labels(truth), truth, -1)
    with pytest.raises(TableError, match=message):
        label_table(table.assign(**change), **{"target": "t", **arguments})


def test_doubtful_labels_warn_or_are_refused() -> None:
    table, truth = blobs()
    names = np.array(["a", "b", "c"])[truth].astype(object)
    table["t"] = pd.Series(names).where(few_labels(truth))
    first = table["t"].first_valid_index()
    table.loc[first, "t"] = f"{table.loc[first, 't'].upper()} "
    with pytest.warns(LeavenWarning) as caught:
        result = label_table(table, "t")
    told = [str(each.message) for each in caught]
    assert any("differ only in case or spaces" in text for text in told)
    assert any("with spaces around the name" in text for text in told)
    assert set(told) < set(result.summary.notes)  # and the class with one label
    with pytest.raises(TableError, match=r"differ only in case or spaces.*Correct the labels"):
        label_table(table, "t", strict=True)


def test_paths_of_images_are_no_features() -> None:
    table, truth = blobs()
    table["picture"] = [f"img/{i:03d}.PNG" for i in range(60)]
    table["t"] = np.where(few_labels(truth), truth, -1)
    assert "extract features" in label_table(table, "t").summary.dropped["picture"]
    with pytest.raises(TableError, match=r"'picture' holds paths of images. Extract features"):
        label_table(table[["picture", "t"]], "t")
    same = table.assign(picture="img/same.jpg", more=[f"{i}.jpeg" for i in range(60)])
    assert set(label_table(same, "t").summary.dropped) == {"picture", "more"}


def test_the_estimator_labels_new_rows() -> None:
    table, truth = blobs()
    table["t"] = np.where(few_labels(truth), truth, -1)
    for method in ("harmonic", "logistic-regression"):
        result = label_table(table, "t", method=method)
        found = result.estimator.predict(result.preparer.transform(table[["x", "y"]]))
        agree = found == result.table["t_predicted"].to_numpy()
        assert agree[table["t"] == -1].all()


def test_bad_tables() -> None:
    with pytest.raises(TypeError, match="a Table of pyarrow, got list"):
        label_table([1, 2], "t")  # type: ignore[arg-type]
    table = pd.DataFrame([[1, 2, 0], [3, 4, -1]], columns=["a", "a", "t"])
    with pytest.raises(TableError, match="duplicate column names: 'a'"):
        label_table(table, "t")
    with pytest.raises(TableError, match="duplicate"):
        label_table(pd.DataFrame([[1, 2, 0]], columns=[1, "1", "t"]), "t")
    with pytest.raises(TableError, match="several levels"):
        label_table(pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), "a")
    with pytest.raises(TableError, match="no column but the target"):
        label_table(pd.DataFrame({"t": ["a", "b", None]}), "t")


def test_the_error_survives_pickling() -> None:
    error = TableError("Wrong.", advice=("Pass", "delimiter", "\t"))
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == "Wrong. Pass delimiter='\\t'."
    assert again.for_command_line() == "Wrong. Pass --delimiter tab."


@pytest.mark.skipif("LEAVEN_DATA" not in os.environ, reason="needs the data of LEAVEN_DATA")
# One row of house-votes is empty.
@pytest.mark.filterwarnings("ignore:1 row has no cell")
@pytest.mark.parametrize(
    ("file", "per_class", "at_least"),
    [
        ("uci-continuous/iris.csv.gz", 5, 0.90),
        ("uci-continuous/wine.csv.gz", 5, 0.85),
        ("uci-continuous/breast-cancer-wisconsin.csv.gz", 5, 0.90),
        ("uci-discrete/house-votes.csv.gz", 10, 0.85),
        ("uci-discrete/soybean-large.csv.gz", 5, 0.75),
    ],
)
def test_real_tables(file: str, per_class: int, at_least: float) -> None:
    path = os.path.join(os.environ["LEAVEN_DATA"], file)
    if not os.path.exists(path):
        pytest.skip(f"{file} is not there")
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    truth = table["target"].to_numpy()
    accuracy = []
    for seed in range(3):
        shuffled = np.random.default_rng(seed).permutation(len(truth))
        known = np.zeros(len(truth), dtype=bool)
        known[shuffled] = few_labels(truth[shuffled], per_class)
        hidden = table.assign(target=np.where(known, truth, ""))
        predicted = label(hidden, "target")["target_predicted"].to_numpy()
        accuracy.append((predicted == truth)[~known].mean())
    assert np.mean(accuracy) >= at_least


def test_options_can_be_given_whole_or_by_name() -> None:
    table, truth = blobs()
    table["t"] = np.where(few_labels(truth), truth, -1)
    options = tables.LabelingOptions(method="harmonic", prior="uniform", details=False)
    whole = tables.label_table(table, "t", options)
    by_name = tables.label_table(table, "t", method="harmonic", prior="uniform", details=False)
    pd.testing.assert_frame_equal(whole.table, by_name.table)
    assert whole.options is options or whole.options == options
    changed = tables.label_table(table, "t", options, prior=None)
    assert changed.options.prior is None
    assert options.prior == "uniform"
    pd.testing.assert_frame_equal(
        tables.label(table, "t", method="harmonic", prior="uniform"), whole.table
    )
    with pytest.raises(
        TypeError, match=r"label_table has no option 'metod'\. Did you mean 'method'"
    ):
        tables.label_table(table, "t", metod="harmonic")
    with pytest.raises(TypeError, match="label returns the table alone, without ask"):
        tables.label(table, "t", ask=3)
