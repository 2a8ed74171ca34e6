"""Comparing methods on the labels of one table."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaven.evaluation import nemenyi_test
from leaven.tables import TableError, TablePreparer, compare_table
from leaven.tables._compare import HideProtocol, TableMethod
from leaven.tables._select import PreparedRows


def moons(per_class: int = 10, n: int = 120) -> pd.DataFrame:
    from sklearn.datasets import make_moons

    X, truth = make_moons(n, noise=0.05, random_state=0)
    table = pd.DataFrame(X, columns=["x", "y"])
    names = np.array(["up", "down"])[truth]
    known = pd.Series(names).groupby(names).cumcount() < per_class
    table["t"] = pd.Series(names).where(known)
    return table


@settings(max_examples=25, deadline=None)
@given(
    counts=st.lists(st.integers(1, 9), min_size=2, max_size=4),
    hidden=st.floats(0.05, 0.95),
    trial=st.integers(0, 5),
)
def test_the_protocol_hides_a_share_of_each_class(
    counts: list[int], hidden: float, trial: int
) -> None:
    codes = np.repeat(np.arange(len(counts)), counts)
    protocol = HideProtocol("hide", hidden=hidden)
    split = protocol.split(codes, trial)
    assert sorted(split.order) == list(range(len(codes)))
    kept = np.bincount(codes[split.order[: split.sizes[0]]], minlength=len(counts))
    for count, n_kept in zip(counts, kept, strict=True):
        assert n_kept >= 1
        assert n_kept < count or count == 1
        if 1 <= hidden * count <= count - 1:
            assert count - n_kept == int(hidden * count)
    again = protocol.split(codes, trial)
    assert again.order.tolist() == split.order.tolist()


def test_the_better_method_is_found() -> None:
    names = ["naive-bayes", "harmonic", "logistic-regression"]
    found = compare_table(moons(), "t", candidates=names, n_trials=8)
    assert found.table["method"].iloc[0] == "harmonic"
    assert found.table["best"].tolist() == [True, False, False]
    assert (found.n_labeled, found.n_kept, found.n_unlabeled) == (20, 10, 100)
    assert len(found.results) == 24
    means = found.results.groupby("method")["accuracy"].agg(["mean", "sem"])
    for row in found.table.to_dict("records"):
        assert row["accuracy"] == pytest.approx(means.loc[row["method"], "mean"])
        assert row["standard_error"] == pytest.approx(means.loc[row["method"], "sem"])
    scores = found.results.pivot_table(index="trial", columns="method", values="accuracy")
    test = nemenyi_test(scores, higher_is_better=True)
    assert found.critical_difference == test.critical_difference
    text = found.to_markdown()
    assert text.startswith("| method | kind | accuracy | mean rank |")
    assert "| harmonic | semi-supervised | **" in text
    assert "the draws as blocks" in text
    assert json.loads(json.dumps(found.to_dict()))["n_trials"] == 8


def test_rows_that_no_label_reaches_are_no_reason_for_advice_on_graphs() -> None:
    # Warnings are errors here: there must be none, though one group of rows has no label.
    table = moons(n=60)
    far = pd.DataFrame(np.random.default_rng(0).normal(50, 0.1, (30, 2)), columns=["x", "y"])
    table = pd.concat([table, far], ignore_index=True)
    found = compare_table(table, "t", candidates=["harmonic"], n_trials=3)
    assert found.table["method"].tolist() == ["harmonic"]


def test_a_complete_table_and_one_method() -> None:
    table = moons(per_class=60)
    found = compare_table(table, "t", candidates=["naive-bayes"], n_trials=2, hide=0.9)
    assert found.n_unlabeled == 0
    assert found.n_kept == 12
    assert found.groups == []
    assert np.isnan(found.critical_difference)
    assert found.to_dict()["critical_difference"] is None
    assert len(found.explain()) == 1


def test_candidates_that_do_not_fit_are_left_out() -> None:
    rng = np.random.RandomState(0)
    table = pd.DataFrame({"x": rng.normal(size=60), "t": [f"c{i % 20:02d}" for i in range(60)]})
    found = compare_table(table, "t", candidates=["naive-bayes", "transductive-svm"], n_trials=1)
    assert list(found.left_out) == ["transductive-svm"]
    assert found.table["method"].tolist() == ["naive-bayes"]
    with pytest.raises(TableError, match="No candidate fits the table"):
        compare_table(table, "t", candidates=["transductive-svm"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"candidates": ["magic"]}, "The candidate 'magic' is not known"),
        ({"n_trials": 0}, "number of trials must be 1 or more"),
        ({"hide": 1.0}, "share of labels to hide"),
        ({"target": "T"}, "no target column 'T'"),
        ({"ask": 3}, "compare_table makes no use of ask, got 3"),
        ({"method": "harmonic"}, "makes no use of method, got 'harmonic'"),
        ({"time_limit": 2.0}, "makes no use of time_limit"),
    ],
)
def test_bad_arguments(arguments: dict, message: str) -> None:
    with pytest.raises(TableError, match=message):
        compare_table(moons(), **{"target": "t", **arguments})


def test_one_label_per_class_cannot_be_hidden() -> None:
    with pytest.raises(TableError, match="No class of 't' has two labels"):
        compare_table(moons(per_class=1), "t")


def test_an_unknown_option_is_answered_with_the_nearest() -> None:
    with pytest.raises(TypeError, match=r"no option 'candidate'\. Did you mean 'candidates'"):
        compare_table(moons(), "t", candidate=["harmonic"])


def test_more_rows_take_part() -> None:
    table = moons(per_class=10, n=200)
    preparer = TablePreparer(weigh=False, random_state=0)
    Z = preparer.fit_transform(table[["x", "y"]])
    codes = table["t"].map({"down": 0, "up": 1}).fillna(-1).to_numpy(dtype=int)
    part = np.sort(np.r_[np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)[::3]])
    rest = np.setdiff1d(np.arange(200), part)
    rows = PreparedRows.of(preparer, None)
    more = TableMethod("harmonic", rows=rows, more_rows=Z[rest]).fit(Z[part], codes[part])
    assert len(more.transduction_) == len(part)
    order = np.r_[part, rest]
    whole = TableMethod("harmonic", rows=rows).fit(Z[order], codes[order])
    np.testing.assert_allclose(more.label_distributions_, whole.label_distributions_[: len(part)])
    np.testing.assert_allclose(more.predict_proba(Z[:9]), whole.predict_proba(Z[:9]), atol=1e-6)
