"""Columns on request: prediction sets, probabilities, ranks of questions, suspicious labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from leaven.cli import main
from leaven.selection import rows_above_target
from leaven.tables import TableError, label_table


def iris(per_class=12, flipped=()):
    X, truth = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[truth]
    rows = pd.DataFrame(X, columns=["w", "x", "y", "z"])
    given = np.concatenate([np.flatnonzero(truth == code)[:per_class] for code in range(3)])
    rows["kind"] = None
    rows.loc[given, "kind"] = names[given]
    for row, wrong in flipped:
        rows.loc[row, "kind"] = wrong
    return rows, names


@pytest.fixture(scope="module")
def labeled():
    rows, names = iris(flipped=[(3, "c")])
    options = {"sets": True, "probabilities": True, "ask": 4, "details": False}
    candidates = ["logistic-regression", "naive-bayes", "harmonic"]
    return label_table(rows, "kind", candidates=candidates, **options), names


def test_sets_hold_the_class_of_most_rows(labeled):
    result, names = labeled
    table = result.table
    sets = table["kind_set"].str.split("|")
    inferred = table["kind_source"] == "inferred"
    held = np.array([name in found for name, found in zip(names, sets, strict=True)])
    assert held[inferred].mean() > 0.85
    first = np.array([found[0] for found in sets])
    assert (first == table["kind_predicted"]).all()
    assert (sets[~inferred].str.len() == 1).all()


def test_probabilities_sum_to_one_and_agree_with_the_confidence(labeled):
    table = labeled[0].table
    P = table[["kind_p_a", "kind_p_b", "kind_p_c"]]
    assert_allclose(P.sum(axis=1), 1, atol=1e-5)
    assert_allclose(P.max(axis=1), table["kind_confidence"], atol=1e-5)


def test_questions_are_ranked(labeled):
    result = labeled[0]
    ranks = result.table["kind_ask"]
    assert sorted(ranks.dropna()) == [1, 2, 3, 4]
    assert ranks.iloc[result.ask[0]] == 1


def test_a_flipped_label_is_suspected(labeled):
    table = labeled[0].table
    assert table["kind_suspect"][3]
    assert table["kind_suspect"].sum() <= 3
    assert table["kind_predicted"][3] == "c"  # given labels stay as given


def test_low_confidence_is_left_empty():
    rows, _ = iris()
    options = {"method": "naive-bayes", "details": False}
    full = label_table(rows, "kind", **options).table
    least = float(full["kind_confidence"].quantile(0.2))
    found = label_table(rows, "kind", min_confidence=least, **options).table
    empty = found["kind_predicted"].isna()
    assert (empty == (full["kind_confidence"] < least)).mean() > 0.99
    assert (found["kind_predicted"][~empty] == full["kind_predicted"][~empty]).all()


def test_target_error_leaves_a_margin_for_few_held_out_labels():
    rows, _ = iris(per_class=4)
    candidates = ["logistic-regression", "naive-bayes", "harmonic"]
    options = {"candidates": candidates, "target_error": 0.05, "details": False}
    result = label_table(rows, "kind", **options)
    table, n_tested = result.table, result.chosen.report.n_tested
    inferred = table["kind_source"] == "inferred"
    confidence = result.chosen.probabilities[inferred].max(axis=1)
    expected = rows_above_target(confidence, 0.05, n_tested, 3)
    assert n_tested == 12
    assert_array_equal(table.loc[inferred, "kind_review"].to_numpy(dtype=bool), expected)
    assert expected.sum() > rows_above_target(confidence, 0.05, n_tested, 2).sum()


def test_target_error_flags_what_leaves_the_others_within_it():
    rows, _ = iris()
    result = label_table(rows, "kind", method="naive-bayes", target_error=0.02, details=False)
    table = result.table
    rest = table[(table["kind_source"] == "inferred") & ~table["kind_review"]]
    assert (1 - rest["kind_confidence"]).mean() <= 0.02 + 1e-6
    assert "at most 2% of the others are expected to be wrong" in result.summary.review_rule


@pytest.mark.parametrize(
    ("options", "message"),
    [({"min_confidence": 1.5}, "min_confidence must be"), ({"target_error": 0.0}, "target_error")],
)
def test_bad_options(options, message):
    with pytest.raises(TableError, match=message):
        label_table(iris()[0], "kind", **options)


def test_as_typed(tmp_path):
    iris()[0].to_csv(tmp_path / "i.csv", index=False)
    options = ["--target", "kind", "--method", "naive-bayes", "--no-report", "--quiet"]
    more = ["--sets", "--probabilities", "--min-confidence", "0.6", "--ask", "3"]
    done = CliRunner().invoke(main, ["label", str(tmp_path / "i.csv"), *options, *more])
    assert done.exit_code == 0, done.output
    table = pd.read_csv(tmp_path / "i.labeled.csv")
    assert {"kind_set", "kind_p_a", "kind_ask"} <= set(table.columns)
