"""The choice of a method for a table: honest estimates, and rules for large tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal

from leaven.graph import KNNGraph
from leaven.graph_based import HarmonicClassifier
from leaven.selection import Outcome, Step
from leaven.tables import LabelingOptions, TablePreparer
from leaven.tables import _select as tables_select
from leaven.tables._scales import apply_scales, column_weights_of, learn_scales
from leaven.tables._select import (
    PreparedRows,
    TableSelection,
    select_for_table,
    step_name,
    table_candidates,
    table_problem,
)
from leaven.tables._weighted_graph import ColumnWeightedGraph

QUICK = ["logistic-regression", "harmonic"]


def prepared(table: pd.DataFrame) -> PreparedRows:
    preparer = TablePreparer(weigh=False, random_state=0)
    return PreparedRows.of(preparer, preparer.fit_transform(table))


def chosen(rows: PreparedRows, codes: Any, **options: Any) -> TableSelection:
    return select_for_table(rows, codes, int(codes.max()) + 1, LabelingOptions(**options))


def two_moons(per_class: int, n: int = 200, noise: int = 0) -> tuple[PreparedRows, Any, Any]:
    from sklearn.datasets import make_moons

    X, truth = make_moons(n, noise=0.05, random_state=0)
    rng = np.random.RandomState(0)
    X = np.hstack([X, rng.normal(size=(n, noise))])
    codes = np.full(n, -1)
    for code in (0, 1):
        codes[np.flatnonzero(truth == code)[:per_class]] = code
    return prepared(pd.DataFrame(X).add_prefix("x")), truth, codes


def noted_builds(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bool, bool, int]]:
    """Keep what each weighted graph was built with: labels, edges to them, number of rows."""
    builds = []
    fit = ColumnWeightedGraph.fit

    def noted(self: ColumnWeightedGraph, X: Any, y: Any = None) -> ColumnWeightedGraph:
        builds.append((self.use_labels, self.graph.include_labeled, X.shape[0]))
        return fit(self, X, y)

    monkeypatch.setattr(ColumnWeightedGraph, "fit", noted)
    return builds


def test_labels_that_are_held_out_have_no_part_in_the_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Columns of noise and labels by chance: nothing can be learned. With weights from all
    # labels it looks as if it could.
    rng = np.random.RandomState(0)
    rows = prepared(pd.DataFrame(rng.normal(size=(100, 400))).add_prefix("x"))
    codes = np.full(100, -1)
    codes[:40] = np.arange(40) % 2

    def score(when: str) -> float:
        monkeypatch.setattr(tables_select, "_when_to_learn_weights", lambda *arguments: when)
        found = chosen(rows, codes, candidates=["harmonic"])
        return found.selection.outcomes[0].estimate.value

    assert score("in folds") < 0.6
    assert score("last") < 0.6
    assert score("once") > 0.7  # for large tables with ten labels per column only


def test_harmonic_is_that_of_a_weighted_table() -> None:
    rows, _, codes = two_moons(5, noise=2)
    found = chosen(rows, codes, method="harmonic")
    rng = np.random.RandomState(found.problem.seed)
    scales, weights = learn_scales(rows.Z, rows.layout, codes, rng)
    graph = KNNGraph(10, include_labeled=True, recall=0.9)
    plain = HarmonicClassifier(graph, prior="labeled").fit(apply_scales(rows.Z, scales), codes)
    assert_allclose(found.probabilities, plain.label_distributions_, atol=1e-6)
    assert weights[:2].mean() > weights[2:].mean()  # the noise counts less
    assert found.report is None
    # What is reported of the columns is what the model was fitted with.
    assert_array_equal(found.selection.fitted.scales, scales)
    reported = column_weights_of(rows.layout, found.selection.fitted.scales)
    assert_allclose(list(reported.values()), weights, rtol=1e-5)


def test_the_best_is_chosen_and_the_reason_given() -> None:
    rows, truth, codes = two_moons(10)
    found = chosen(rows, codes, candidates=QUICK)
    assert found.report is not None
    assert found.report.choice == "harmonic"
    assert found.report.reason.startswith("The unlabeled rows helped")
    assert (found.codes == truth).mean() > 0.95
    again = chosen(rows, codes, candidates=QUICK)
    assert_array_equal(again.probabilities, found.probabilities)
    assert_array_equal(found.selection.fitted.estimator.predict(rows.Z), found.codes)


def test_with_one_label_per_class_nothing_is_compared() -> None:
    rows, _, codes = two_moons(1)
    report = chosen(rows, codes).report
    assert report is not None
    assert report.choice == "combination"
    assert "no class has two labels" in report.reason
    assert "the weights that were best on other tables" in report.reason
    two = chosen(rows, codes, candidates=["naive-bayes", "harmonic"]).report
    assert two is not None
    assert two.choice == "harmonic"
    assert "the best on average with one label per class" in two.reason
    others = chosen(rows, codes, candidates=["naive-bayes", "linear-svm"]).report
    assert others is not None
    assert others.choice == "naive-bayes"


@pytest.mark.parametrize(("per_class", "when"), [(30, "once"), (4, "last")])
def test_large_tables(monkeypatch: pytest.MonkeyPatch, per_class: int, when: str) -> None:
    for name in ("MAX_ROWS_PER_FOLD_GRAPH", "MAX_ROWS_REPEATED"):
        monkeypatch.setattr(tables_select, name, 100)
    monkeypatch.setattr(tables_select, "MAX_ROWS", dict.fromkeys(tables_select.MAX_ROWS, 100))
    builds = noted_builds(monkeypatch)
    rows, truth, codes = two_moons(per_class, noise=1)
    found = chosen(rows, codes)
    report = found.report
    assert report is not None
    tried = report.candidates[report.candidates["status"] == "tried"]["name"].tolist()
    assert {"logistic-regression", "naive-bayes", "linear-svm", "harmonic"} <= set(tried)
    assert tried[-1] == "combination"
    skipped = report.candidates.set_index("name").loc["consistency", "reason"]
    assert skipped == (
        "consistency was skipped: 200 rows; beyond 100 it is tried only if it is named."
    )
    assert report.n_repeats == 1
    # One graph for all folds; with few labels another one, weighted by them, at the end.
    by_labels = [build[0] for build in builds]
    assert by_labels == ([False] if when == "once" else [False, True])
    assert (found.codes == truth).mean() > 0.9
    named = chosen(rows, codes, candidates=["consistency"]).report
    assert named is not None
    assert named.choice == "consistency"


@pytest.mark.parametrize(("per_class", "when"), [(30, "once"), (4, "last")])
def test_of_many_unlabeled_rows_a_sample_is_learned_from(
    monkeypatch: pytest.MonkeyPatch, per_class: int, when: str
) -> None:
    monkeypatch.setattr(tables_select, "MAX_ROWS_PER_FOLD_GRAPH", 100)
    monkeypatch.setattr(tables_select, "MAX_UNLABELED", 100)
    monkeypatch.setattr(tables_select, "_CHUNK", 30)
    builds = noted_builds(monkeypatch)
    rows, truth, codes = two_moons(per_class, n=400, noise=1)
    found = chosen(rows, codes, candidates=["harmonic"])
    n_labeled = 2 * per_class
    n = n_labeled + 100
    # One graph for the folds and one for the last fit, both of the sample.
    assert builds == [(False, False, n), (True, True, n)]
    sample = found.sample
    assert sample is not None
    assert len(sample) == n
    assert set(np.flatnonzero(codes >= 0)) <= set(sample)
    assert found.probabilities.shape == (400, 2)
    assert_array_equal(found.codes[codes >= 0], codes[codes >= 0])
    assert (found.codes == truth).mean() > 0.9
    others = np.setdiff1d(np.arange(400), sample)
    new = found.selection.fitted.estimator.predict_proba(rows.Z[others])
    assert_allclose(found.probabilities[others], new, atol=1e-6)
    assert found.report is not None
    (note,) = (note for note in found.report.notes if "sample" in note)
    assert f"all {n_labeled} labeled rows and 100 of the {400 - n_labeled} unlabeled ones" in note
    again = chosen(rows, codes, candidates=["harmonic"])
    assert_array_equal(again.sample, sample)
    assert_array_equal(again.probabilities, found.probabilities)


def test_a_sample_is_what_it_is_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, _, codes = two_moons(10, n=300)
    monkeypatch.setattr(tables_select, "MAX_UNLABELED", 100)
    found = chosen(rows, codes, candidates=QUICK)
    sample = found.sample
    assert sample is not None
    part = PreparedRows(rows.Z[sample], rows.layout)
    alone = chosen(part, codes[sample], candidates=QUICK)
    assert alone.sample is None
    assert alone.report is not None
    assert found.report is not None
    assert not any("sample" in note for note in alone.report.notes)
    assert_allclose(found.probabilities[sample], alone.probabilities)
    assert_array_equal(
        found.report.candidates.drop(columns="seconds").to_numpy(dtype=str),
        alone.report.candidates.drop(columns="seconds").to_numpy(dtype=str),
    )


def test_a_named_method_learns_from_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables_select, "MAX_UNLABELED", 50)
    rows, _, codes = two_moons(5)
    found = chosen(rows, codes, method="harmonic")
    assert found.sample is None
    assert found.selection.fitted.best_estimator.graph_.n_nodes == 200


def test_graphs_and_scales_are_made_once_per_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    learned = []

    def counted(Z: Any, layout: Any, codes: Any, rng: Any) -> Any:
        learned.append(None if codes is None else codes.tobytes())
        return learn_scales(Z, layout, codes, rng)

    from leaven.tables import _weighted_graph

    monkeypatch.setattr(_weighted_graph, "learn_scales", counted)
    monkeypatch.setattr(tables_select, "learn_scales", counted)
    rows, _, codes = two_moons(5)
    chosen(rows, codes, candidates=["harmonic", "consistency", "spectral-transducer"])
    # Without labels once, and once for the labels of each fold and of the last fit.
    assert len(learned) == len(set(learned))
    assert learned.count(None) == 1


def test_several_jobs_give_the_same() -> None:
    rows, _, codes = two_moons(3, n=40)
    with parallel_config(backend="threading"):  # starting processes takes seconds
        one, two = (chosen(rows, codes, candidates=["harmonic"], n_jobs=n) for n in (1, 2))
    first, second = one.selection.outcomes[0], two.selection.outcomes[0]
    assert first.estimate == second.estimate
    assert_array_equal(first.probabilities, second.probabilities)


def test_categories_are_zeros_and_ones_for_naive_bayes() -> None:
    rng = np.random.RandomState(0)
    truth = np.arange(80) % 2
    table = pd.DataFrame(
        {f"q{j}": np.where(rng.rand(80) < 0.9, truth, 1 - truth).astype(str) for j in range(5)}
    )
    rows = prepared(table)
    codes = np.where(np.arange(80) < 20, truth, -1)
    for method, name in (
        ("naive-bayes", "BernoulliNB"),
        ("naive-bayes-em", "SemiSupervisedBernoulliNB"),
    ):
        found = chosen(rows, codes, method=method)
        assert type(found.selection.fitted.best_estimator).__name__ == name
        assert (found.codes == truth).mean() > 0.9


def test_a_method_that_does_not_fit_is_refused() -> None:
    rng = np.random.RandomState(0)
    rows = prepared(pd.DataFrame(rng.normal(size=(60, 2))).add_prefix("x"))
    codes = np.where(np.arange(60) < 40, np.arange(60) % 20, -1)
    with pytest.raises(ValueError, match=r"transductive-svm was skipped.*Name another method"):
        chosen(rows, codes, method="transductive-svm")
    problem, _ = table_problem(rows, codes, 20, LabelingOptions())
    reasons = {each.name: each.skipped for each in table_candidates(problem)}
    assert reasons["transductive-svm"] is not None
    assert reasons["harmonic"] is None


def test_the_progress_names_what_the_last_candidate_took() -> None:
    last = Outcome("naive-bayes", "supervised", "tried", seconds=12.34)
    assert step_name(Step("harmonic", 2, 5, last)) == "Trying harmonic (naive-bayes: 12.3 s)"
    skipped = Outcome("rbf-svm", "supervised", "skipped", "It takes no sparse rows.")
    assert step_name(Step("harmonic", 2, 5, skipped)) == "Trying harmonic"
    assert step_name(Step("naive-bayes", 0, 5)) == "Trying naive-bayes"
    assert step_name(Step("combination", 5, 5, last)) == "Fitting on all labels"
