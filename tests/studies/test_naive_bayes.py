"""Published tables beside our numbers."""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from leaven.evaluation import CurveProtocol, read_store
from leaven.generative import (
    ClassPrior,
    RankSigmoid,
    SemiSupervisedCategoricalNB,
    SemiSupervisedGaussianNB,
)
from leaven.model_selection import AdaptiveKFold, tune
from studies import SOURCES, TABLES, Run, listing, reproduce, write_pages
from studies import naive_bayes as tables
from studies.curves import CurveTrial, NaiveBayesCurve, _folds
from studies.data import ORDERS, gaussian_twin, ordered, prepare
from studies.estimators import UNLABELED
from studies.naive_bayes import WEIGHTS
from studies.naive_bayes_checks import WeightAboveZero
from studies.published import published_areas, read_published
from studies.registry import Outcome, Table, find_tables, register
from studies.report import make_report, table_cells, update_page

needs_data = pytest.mark.skipif(not os.environ.get("LEAVEN_DATA"), reason="LEAVEN_DATA is not set")


def discrete(n: int = 60, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Two classes, one row of each first."""
    rng = np.random.default_rng(seed)
    codes = np.concatenate([[0, 1], rng.integers(0, 2, n - 2)])
    values = (codes[:, None] + (rng.random((n, 4)) < 0.3)) % 2 + rng.integers(0, 2, (n, 4))
    return pd.DataFrame(values.astype(str)).astype("category"), codes


def trial_of(method: NaiveBayesCurve, X: pd.DataFrame, codes: np.ndarray) -> CurveTrial:
    return CurveTrial(method.curve_plan(X), codes, 2, np.arange(len(codes)))


# The facts


def test_published_numbers() -> None:
    areas = published_areas("3.3")
    assert areas.loc[("house-votes", "NB")].tolist() == [1.043, 0.0234]
    assert areas.index.get_level_values("dataset").nunique() == 36
    assert set(read_published("f1")["source"]) == {"S0", "S2"}


def test_every_table_of_the_source_is_there() -> None:
    of_source = [table for table in TABLES.values() if table.source == "S1"]
    of_thesis = set(read_published("aulc")["table"])
    assert of_thesis <= {table.number for table in of_source}
    for table in of_source:
        assert table.quick
        assert set(table.quick) <= set(table.datasets)
        if table.number in of_thesis:  # not a figure, nor a run of ours on a difference
            assert table.methods[0] == "NB"
            assert set(table.published.index.get_level_values("method")) == set(table.methods)
            assert set(table.published.index.get_level_values("dataset")) == set(table.datasets)


@needs_data
@pytest.mark.parametrize(
    ("name", "rows"), [("vowel", 528), ("xd6", 512), ("house-votes", 435), ("breast-cancer", 286)]
)
def test_data_sets_have_the_rows_of_the_source(name: str, rows: int) -> None:
    X, y = prepare(name)
    assert len(X) == len(y) == rows


def test_orders_of_the_classes_by_hand() -> None:
    y = pd.Series(["c", "a", "b", "b", "a", "b"])
    found = {rule: sorted(ordered(y, rule).unique()) for rule in ORDERS}
    assert found == {
        "most frequent first": ["1 b", "2 a", "3 c"],
        "alphabetical": ["1 a", "2 b", "3 c"],
        "reversed": ["1 c", "2 b", "3 a"],
        "as in the file": ["1 c", "2 a", "3 b"],
        "rarest first": ["1 c", "2 a", "3 b"],
    }


@needs_data
def test_classes_are_numbered_by_frequency() -> None:
    _, y = prepare("balance-scale")
    assert sorted(y.unique()) == ["1 R", "2 L", "3 B"]  # 288, 288 and 49 rows; R is in row 2
    X, y = prepare("zoo-twin")
    assert y.value_counts()["1 mammal"] == 41
    assert all(isinstance(dtype, pd.CategoricalDtype) for dtype in X.dtypes)


# The methods


def exact_class(X: np.ndarray, codes: np.ndarray, row: np.ndarray, sizes: list[int]) -> int:
    """Naive Bayes of equation (2.8) in exact fractions; the first of equals."""
    joint = []
    for c in (0, 1):
        members = X[codes == c]
        p = Fraction(len(members) + 1, len(codes) + 2)
        for j, n_values in enumerate(sizes):
            p *= Fraction(int((members[:, j] == row[j]).sum()) + 1, len(members) + n_values)
        joint.append(p)
    return joint.index(max(joint))


def test_curves_of_naive_bayes_in_exact_fractions() -> None:
    X, codes = discrete(50, 3)
    order, test, sizes = np.arange(38), np.arange(38, 50), (1, 2, 3, 5, 9, 17, 38)
    found = NaiveBayesCurve().curve_plan(X).predict(codes, 2, order, sizes, test)
    values = np.column_stack([X.iloc[:, j].cat.codes for j in range(X.shape[1])])
    n_values = [len(X.iloc[:, j].cat.categories) for j in range(X.shape[1])]
    for i, size in enumerate(sizes):
        expected = [exact_class(values[:size], codes[:size], values[t], n_values) for t in test]
        assert found[i].tolist() == expected


@pytest.mark.parametrize("certainty", ["default", "confidence", "margin", "entropy"])
@pytest.mark.parametrize("weight", [0.0, 0.4, None])
def test_active_learning_asks_for_the_least_certain_rows(weight: float, certainty: str) -> None:
    X, _ = discrete()
    codes = np.random.default_rng(3).integers(0, 3, len(X))  # with two classes all are alike
    codes[:3] = [0, 1, 2]
    sizes, n_train = (3, 6, 11, 20), 40
    how = {} if certainty == "default" else {"certainty": certainty}
    method = NaiveBayesCurve(weight=weight, active=True, **how)
    train, test = np.arange(n_train), np.arange(n_train, len(X))
    found = method.curve_plan(X).predict(codes, 3, train, sizes, test)
    labels = np.where(train < 3, codes[:n_train], UNLABELED)
    form = {} if weight is None else {"unlabeled_weight": weight, "weighting": "convex"}
    model = SemiSupervisedCategoricalNB(**form, prior=ClassPrior(smoothing=1.0))
    for i, size in enumerate(sizes):
        model.fit(X[:n_train], labels)
        assert (found[i] == model.predict(X[n_train:])).all()
        if size < sizes[-1]:
            pool = np.flatnonzero(labels == UNLABELED)
            P = np.sort(model.predict_proba(X.iloc[pool]), axis=1)
            certain = {
                "default": P[:, -1],
                "confidence": P[:, -1],
                "margin": P[:, -1] - P[:, -2],
                "entropy": (P * np.log(P)).sum(axis=1),
            }
            order = np.argsort(certain[certainty].round(9), kind="stable")
            asked = pool[order[: sizes[i + 1] - size]]
            labels[asked] = codes[asked]


def agrees_with(public: Any, method: NaiveBayesCurve, X: Any, codes: np.ndarray) -> None:
    """Check all predictions of a trial; of equally probable classes any may be predicted."""
    split = CurveProtocol("trial", start=2).split(codes, 0)
    n_classes = len(np.unique(codes))
    found = method.curve_plan(X).predict(codes, n_classes, split.order, split.sizes, split.test)
    assert len(split.sizes) > 10
    rows = X.iloc if isinstance(X, pd.DataFrame) else X
    for at, size in enumerate(split.sizes):
        labels = np.where(np.arange(len(split.order)) < size, codes[split.order], UNLABELED)
        p = clone(public).fit(rows[split.order], labels).predict_proba(rows[split.test])
        assert_allclose(p[np.arange(len(p)), found[at]], p.max(axis=1), atol=1e-6)


@pytest.mark.parametrize("weight", [0.0, 0.2, 0.5])
def test_a_whole_trial_is_that_of_the_public_estimator(weight: float) -> None:
    options: Any = {
        "unlabeled_weight": weight,
        "weighting": "convex",
        "prior": ClassPrior(smoothing=1.0),
    }
    method = NaiveBayesCurve(weight=weight, unbiased=False)
    agrees_with(SemiSupervisedCategoricalNB(**options), method, *discrete(70, 11))
    X = np.random.default_rng(5).normal(size=(90, 3))  # no value twice: no feature is left out
    codes = np.digitize(X @ [1.0, 0.5, -0.8] + np.sin(7 * X[:, 0]), [-0.7, 0.6])
    agrees_with(SemiSupervisedGaussianNB(**options), method, X, codes)


@pytest.mark.parametrize("mean", ["kept", "beta", "true"])
def test_a_whole_trial_with_recalibration_is_that_of_the_public_estimator(mean: str) -> None:
    # Numbers, since rows of equal rank up to rounding are ties here, and not in the classifier.
    X = np.random.default_rng(6).normal(size=(90, 3))
    codes = (X @ [1.0, 0.5, -0.8] + np.sin(7 * X[:, 0]) > 0.3).astype(int)
    share = codes.mean()
    public = SemiSupervisedGaussianNB(
        recalibration=RankSigmoid(2.0, [1 - share, share] if mean == "true" else mean),
        prior=ClassPrior(smoothing=1.0),
    )
    agrees_with(public, NaiveBayesCurve(slope=2.0, mean=mean, unbiased=False), X, codes)


def test_cross_validation_chooses_as_tune_does() -> None:
    X, codes = discrete(80, 5)
    values = (0.0, 0.2, 0.4, 0.6, 0.8)
    trial = trial_of(NaiveBayesCurve(chosen="weight", values=values), X, codes)
    estimator = SemiSupervisedCategoricalNB(weighting="convex", prior=ClassPrior(smoothing=1.0))
    for size in (8, 15, 30):
        labels = np.where(np.arange(len(codes)) < size, codes, UNLABELED)
        folds = AdaptiveKFold(shuffle=False)
        expected = tune(estimator, X, labels, "unlabeled_weight", values, cv=folds, stages=1)
        assert trial.best_values(labels[:, None]) == [expected.best_value]


def test_cross_validation_in_two_stages_chooses_as_tune_does() -> None:
    X, codes = discrete(80, 5)
    values = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    trial = trial_of(NaiveBayesCurve(chosen="weight", values=values, refined=True), X, codes)
    estimator = SemiSupervisedCategoricalNB(weighting="convex", prior=ClassPrior(smoothing=1.0))
    chosen = []
    for size in (9, 21):
        labels = np.where(np.arange(len(codes)) < size, codes, UNLABELED)
        folds = AdaptiveKFold(shuffle=False)
        expected = tune(estimator, X, labels, "unlabeled_weight", values, cv=folds, stages=2)
        chosen.append(expected.best_value)
        assert_allclose(trial.best_values(labels[:, None]), [expected.best_value])
    assert any(round(10 * value) != 10 * value for value in chosen)  # the second stage counted


SSNB_MCV = NaiveBayesCurve(chosen="weight", values=WEIGHTS, refined=True)


def test_a_search_that_leaves_out_0_chooses_hundredths_as_tune_does() -> None:
    X, codes = discrete(80, 5)
    estimator = SemiSupervisedCategoricalNB(weighting="convex", prior=ClassPrior(smoothing=1.0))
    both = [trial_of(method, X, codes) for method in (SSNB_MCV, WeightAboveZero())]
    fine = [round(0.01 * i, 2) for i in range(1, 10)]
    zeros = 0
    for size in (2, 6, 9, 12, 21, 40):
        labels = np.where(np.arange(len(codes)) < size, codes, UNLABELED)
        kept, left_out = (float(trial.best_values(labels[:, None])[0]) for trial in both)
        folds = AdaptiveKFold(shuffle=False)
        if not _folds(labels):
            assert kept == left_out == 0.0
            continue
        tenths = tune(estimator, X, labels, "unlabeled_weight", WEIGHTS, cv=folds, stages=1)
        if tenths.best_value > 0.0:
            assert kept == left_out
            continue
        zeros += kept == 0.0
        found = tune(estimator, X, labels, "unlabeled_weight", fine, cv=folds, stages=1)
        assert left_out == found.best_value
    assert zeros


def test_twins_have_the_means_of_a_class_and_its_variance_as_deviation() -> None:
    rng = np.random.default_rng(0)
    classes = np.repeat(["a", "b"], 4000)
    X = rng.normal(size=(8000, 2)) * [3.0, 0.4] + (classes == "b")[:, None] * [5.0, -2.0]
    spreads = {"variance": [9.0, 0.16], "deviation": [3.0, 0.4]}
    # The same by hand in features from -1 to 1: lengths divide by half the width, then squared.
    half = np.ptp(X, axis=0) / 2
    scaled = gaussian_twin(X, classes, spread="variance, scaled to [-1, 1]")
    assert_allclose(scaled[4000:].std(axis=0), np.array([3.0, 0.4]) ** 2 / half**2, rtol=0.06)
    for spread, expected in spreads.items():
        twin = gaussian_twin(X, classes, spread=spread)
        assert_allclose(twin[4000:].std(axis=0), expected, rtol=0.06)
        assert_allclose(twin[4000:].mean(axis=0), [5.0, -2.0], atol=0.6)


def test_there_are_no_folds_while_no_class_has_two_labels() -> None:
    X, codes = discrete()
    labels = np.where(np.arange(len(codes)) < 2, codes, UNLABELED)
    assert _folds(labels) == []
    trial = trial_of(NaiveBayesCurve(chosen="slope", values=(0.5, 2.0)), X, codes)
    parameters = trial.parameters(labels[:, None])
    assert np.isnan(parameters.weight[0])
    assert parameters.slope[0] == 0.5


def test_known_class_proportions_are_those_of_the_data_set() -> None:
    X, codes = discrete()
    trial = trial_of(NaiveBayesCurve(slope=1.0, mean="true"), X, codes)
    assert_allclose(trial.true_mean, [np.mean(codes == 0), np.mean(codes == 1)])


# The protocols


def test_validation_rows_are_tested_to_choose_and_the_others_to_report() -> None:
    codes = np.random.default_rng(0).integers(0, 2, 50)
    test = tables.VALIDATED.split(codes, 3)
    choice = tables.ON_VALIDATION.split(codes, 3)
    assert test.sizes == choice.sizes
    assert (test.order == choice.order).all()
    assert (test.validation == choice.test).all()
    assert not set(test.test) & set(choice.test)


def test_curves_with_folds_start_later() -> None:
    codes = np.random.default_rng(0).integers(0, 3, 80)
    assert tables.FOLDS.split(codes, 0).sizes[:3] == (2, 3, 4)
    split = tables.FOLDS.split(codes, 0, continuous=True)
    assert split.sizes[0] == 12
    assert np.bincount(codes[split.order[:12]]).tolist() == [4, 4, 4]
    assert split.sizes[-1] == 60


def test_the_second_search_is_around_the_best_weight() -> None:
    assert tables.weights_around(0.0) == [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09]
    near = tables.weights_around(0.9)
    assert (near[0], near[-1], len(near)) == (0.81, 0.99, 18)


# The report


def toy_table(**changes: object) -> Table:
    index = pd.MultiIndex.from_product([["a", "b"], ["NB", "EM"]], names=["dataset", "method"])
    published = pd.DataFrame(
        {"mean": [1.0, 2.0, 3.0, 3.1], "se": [0.3, 0.4, 0.2, 0.1]}, index=index
    )
    return replace(
        TABLES["S1-3.3"],
        number="9.9",
        datasets=("a", "b", "c"),
        methods=("NB", "EM"),
        published=published,
        **changes,
    )


def toy_results() -> pd.DataFrame:
    rows = [("a", "NB", trial, None, 1.0 + trial / 10, "ok", "") for trial in range(8)] + [
        ("a", "EM", trial, None, 2.0 + trial / 5, "ok", "") for trial in range(8)
    ]
    rows += [
        ("b", "NB", 0, None, 3.0, "ok", ""),
        ("b", "EM", 0, None, None, "failed", "Oh: no\n x"),
    ]
    names = ["dataset", "method", "trial", "n_labeled", "error", "status", "message"]
    return pd.DataFrame(rows, columns=names).astype({"error": float}).drop(columns="n_labeled")


def test_report_by_hand() -> None:
    outcome = Outcome(toy_results(), {("a", "EM"): "λ = 0.1"})
    report = make_report(toy_table(), outcome, ["c"])
    cells = report.cells.set_index(["dataset", "method"])
    # Trials 1.0 ... 1.7: mean 1.35, variance 0.06, standard error sqrt(0.06 / 8).
    first = cells.loc[("a", "NB")]
    assert_allclose([first["mean"], first["se"]], [1.35, np.sqrt(0.0075)])
    assert_allclose(first["z"], 0.35 / np.sqrt(0.0075 + 0.09))
    second = cells.loc[("a", "EM")]
    # All eight differences have one sign (p = 1/128); 1.0 is twice its standard error of 0.5.
    assert (second["sign"], second["published_sign"], second["same_direction"]) == (1, 1, True)
    assert np.isnan(cells.loc[("b", "NB"), "z"]) or cells.loc[("b", "NB"), "se"] != 0
    lines = "\n".join(report.summary())
    assert "Not at hand, and left out: c." in lines
    assert "Not run" not in lines
    few = make_report(toy_table(), outcome, [])
    assert "Not run this time: c." in few.summary()
    assert "Failed: b, EM: 1 trials, Oh: no" in lines
    assert "of 1 clear published differences ours has the same sign in 1 (100%)" in lines
    header, rows = table_cells(report)
    assert header[-2:] == ["EM: ours", "published"]
    assert rows[0][0] == "a"
    assert rows[0][-2:] == ["worse", "worse"]
    assert "λ = 0.1" in rows[0]
    assert rows[1][-2:] == ["", ""]


def test_numbers_without_a_standard_error_have_neither_z_nor_a_clear_difference() -> None:
    table = toy_table()
    table = replace(table, published=table.published.assign(se=np.nan))
    report = make_report(table, Outcome(toy_results()), [])
    cells = report.cells.set_index(["dataset", "method"])
    assert cells["z"].isna().all()
    assert np.isnan(cells.loc[("a", "EM"), "published_sign"])
    lines = "\n".join(report.summary())
    # Means of a: 1.35 and 2.7 beside 1 and 2; of b: 3 beside 3. EM of b failed.
    assert "3 published numbers have no standard error; ours differ from them by 0.350" in lines
    assert "and 0.700 at most" in lines
    assert "EM against NB: of 1 published differences ours has the same sign in 1." in lines
    header, rows = table_cells(report)
    assert header == ["data set", "NB, ours", "published", "EM, ours", "published", "EM: ours"]
    assert rows[0][-1] == "worse"


def test_there_is_no_verdict_of_five_trials() -> None:
    # p of five differences of one sign is 2 / 32: "no difference" would be all that it can say.
    results = toy_results()
    report = make_report(toy_table(), Outcome(results[results["trial"] < 5]), [])
    cells = report.cells.set_index(["dataset", "method"])
    assert np.isnan(cells.loc[("a", "EM"), "sign"])
    assert "EM: ours" not in table_cells(report)[0]
    lines = "\n".join(report.summary())
    assert "ours has the same sign in 1 (100%)." in lines
    assert "verdict" not in lines


def test_a_published_difference_within_its_errors_is_none() -> None:
    results = toy_results().replace({"dataset": {"a": "b", "b": "a"}})
    report = make_report(toy_table(), Outcome(results), [])
    cells = report.cells.set_index(["dataset", "method"])
    assert cells.loc[("b", "EM"), "published_sign"] == 0  # 0.1 against 1.96 * 0.22


def test_higher_is_better_turns_the_verdicts_round() -> None:
    report = make_report(toy_table(higher_is_better=True), Outcome(toy_results()), [])
    cells = report.cells.set_index(["dataset", "method"])
    assert cells.loc[("a", "EM"), ["sign", "published_sign"]].tolist() == [-1, -1]


@pytest.mark.parametrize("as_html", [False, True])
def test_page_keeps_notes_and_other_tables(as_html: bool) -> None:
    page = update_page("", {"S1-3.4": "four", "S1-3.3": "three"}, source="S1", as_html=as_html)
    assert page.index("three") < page.index("four")
    page = page.replace("Nothing has been written", "We have written")
    page = update_page(page, {"S1-3.4": "new \\1 four"}, source="S1", as_html=as_html)
    assert "We have written" in page
    assert "three" in page
    assert "new \\1 four" in page
    assert "\nfour" not in page
    assert SOURCES["S1"].title in page
    assert SOURCES["S0"].title not in page


# All together, with a data set that comes with scikit-learn


def test_reproduce_resumes_and_lists_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LEAVEN_DATA", raising=False)
    run = Run(n_trials=2, datasets=("iris", "glass"), store=tmp_path / "new" / "r.sqlite")
    report = reproduce(["s1-3.4"], run)[0]
    # All data sets of the table that are not at hand, asked for or not; others were not run.
    assert {"glass", "letter"} <= set(report.missing)
    assert "iris" not in report.missing
    assert "wine" not in report.missing
    assert any(
        line.startswith("Not run this time: ") and "wine" in line for line in report.summary()
    )
    stored = read_store(tmp_path / "new" / "r-curve-iris.sqlite")
    assert set(stored["method"]) == {"NB", "SSNB"}
    again = reproduce(["S1-3.4"], replace(run, n_trials=3))[0]
    assert again.n_trials == 3
    both = read_store(tmp_path / "new" / "r-curve-iris.sqlite")
    assert both[both["trial"] < 2].reset_index(drop=True).equals(stored)
    drawn = []
    paths = write_pages([again], tmp_path, draw=lambda frame: drawn.append(frame) or "<svg/>")
    assert [path.name for path in paths] == ["s1.md", "s1.html"]
    assert "<figure><svg/></figure>" in paths[1].read_text(encoding="utf-8")
    assert "| iris |" in paths[0].read_text(encoding="utf-8")
    assert set(drawn[0]["dataset"]) == {"iris"}


def test_reproduce_without_any_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEAVEN_DATA", raising=False)
    assert reproduce(["S1-3.3"], Run(quick=True)) == []


@pytest.mark.parametrize("number", ["4.1", "4.3", "4.5", "6.2", "6.4", "3.6"])
def test_every_kind_of_table_runs_on_iris(
    number: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("LEAVEN_DATA", raising=False)
    monkeypatch.setattr(tables, "WEIGHTS", (0.0, 0.3, 0.5))
    monkeypatch.setattr(tables, "weights_around", lambda best: [0.25] if best else [0.05])
    table = TABLES[f"S1-{number}"]
    name = next(each for each in table.datasets if each.startswith("iris"))
    run = Run(n_trials=1, datasets=(name,), store=tmp_path / "r.sqlite")
    report = reproduce([table.id], run)[0]
    assert report.failed == []
    assert set(report.cells["method"]) == set(table.methods)
    chosen = report.cells.set_index("method")["choice"]
    if number in ("4.1", "4.3"):
        assert chosen[table.methods[-1]].startswith("λ = ")


@pytest.mark.parametrize("number", ["5.3", "5.4", "5.5", "5.6"])
def test_recalibrated_tables_run(number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sets = {"blogger": discrete(40, 1), "house-votes": discrete(40, 2), "monk1": discrete(40, 3)}
    named = {name: (X, np.array(["no", "yes"])[codes]) for name, (X, codes) in sets.items()}
    monkeypatch.setattr(tables, "sources", lambda names: {name: named[name] for name in names})
    monkeypatch.setattr(tables, "SLOPES", (0.25, 2.0))
    table = TABLES[f"S1-{number}"]
    outcome = table.run(table, Run(n_trials=1), list(named))
    report = make_report(table, outcome, [])
    assert report.failed == []
    assert set(report.cells["method"]) == set(table.methods)
    if number == "5.5":
        with pytest.raises(ValueError, match="give at least two"):
            table.run(table, Run(n_trials=1), ["monk1"])


def test_best_weight_is_the_one_with_the_smallest_area(monkeypatch: pytest.MonkeyPatch) -> None:
    X, codes = discrete(60, 7)
    data = {"monk1": (X, np.array(["no", "yes"])[codes])}
    monkeypatch.setattr(tables, "sources", lambda names: data)
    protocol = CurveProtocol("curve")
    best, results = tables.search_weights(Run(n_trials=1), "monk1", protocol)
    areas = tables.mean_areas(results)
    assert areas["monk1", tables.weight_name(best)] == min(areas.values())


def test_a_table_of_failed_trials_says_so(tmp_path: Path) -> None:
    results = toy_results().assign(status="failed", message="Oh: no")
    report = make_report(toy_table(), Outcome(results), [])
    assert "Failed: a, EM: 8 trials, Oh: no" in report.summary()
    assert table_cells(report)[1] == []
    assert set(tables.mean_areas(results).values()) == {np.inf}
    write_pages([report], tmp_path, draw=lambda frame: "")


def test_unknown_names() -> None:
    with pytest.raises(ValueError, match=r"There is no table 'S1-3.33'. Did you mean S1-3.3\?"):
        find_tables(["S1-3.33"])
    with pytest.raises(ValueError, match=r"'glas' is in none .* Did you mean 'glass'\? Known are"):
        reproduce(["S1-3.4"], Run(datasets=("glas",)))
    with pytest.raises(ValueError, match="source='S9' is not known"):
        register(replace(TABLES["S1-3.3"], source="S9"))
    assert [table.id for table in find_tables(["s1-3.4", "S1-3.4"])] == ["S1-3.4"]
    assert {table.source for table in find_tables(["s4"])} == {"S4"}
    assert len(find_tables(["all", "S1"])) == len(TABLES)


def test_listing_has_sources_and_counts() -> None:
    lines = listing(list(TABLES.values()))
    assert any(line.startswith("S1: Awat Abdulla Saeed, “Empirical Evaluation") for line in lines)
    assert any("S1-6.6" in line and "of 27 data sets here" in line for line in lines)
    assert any("S4-figure-32" in line and "about 10 minutes" in line for line in lines)
    assert lines[-1].startswith("All sources: ")
