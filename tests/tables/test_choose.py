"""The choice of a method for a table: honest estimates, and rules for large tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from leaven.graph import KNNGraph
from leaven.graph_based import HarmonicClassifier
from leaven.tables import TablePreparer
from leaven.tables import _choose as choose
from leaven.tables._choose import TableClassifier
from leaven.tables._weigh import GraphCache, WeighedGraph, learn_scales, scaled

QUICK = ["logistic-regression", "harmonic"]


def prepared(table: pd.DataFrame) -> tuple[TablePreparer, Any]:
    preparer = TablePreparer(weigh=False, random_state=0)
    return preparer, preparer.fit_transform(table)


def two_moons(per_class: int, n: int = 200, noise: int = 0) -> tuple[pd.DataFrame, Any, Any]:
    from sklearn.datasets import make_moons

    X, truth = make_moons(n, noise=0.05, random_state=0)
    rng = np.random.RandomState(0)
    X = np.hstack([X, rng.normal(size=(n, noise))])
    codes = np.full(n, -1)
    for code in (0, 1):
        codes[np.flatnonzero(truth == code)[:per_class]] = code
    return pd.DataFrame(X).add_prefix("x"), truth, codes


def test_labels_that_are_held_back_have_no_say_in_the_weights() -> None:
    # Columns of noise and labels by chance: nothing can be learned. With weights from all
    # labels it looks as if it could.
    rng = np.random.RandomState(0)
    preparer, Z = prepared(pd.DataFrame(rng.normal(size=(100, 400))).add_prefix("x"))
    codes = np.full(100, -1)
    codes[:40] = np.arange(40) % 2

    def estimate(when: str) -> float:
        model = TableClassifier(preparer.layout_, candidates=["harmonic"])
        model._when_to_weigh = lambda codes: when  # type: ignore[method-assign]
        return float(model.fit(Z, codes).report_.candidates["score"].iloc[0])

    assert estimate("in folds") < 0.6
    assert estimate("last") < 0.6
    assert estimate("once") > 0.7  # for large tables with ten labels a column only


def test_harmonic_is_that_of_a_weighed_table() -> None:
    table, _, codes = two_moons(5, noise=2)
    preparer, Z = prepared(table)
    found = TableClassifier(preparer.layout_, method="harmonic", random_state=0).fit(Z, codes)
    scales, weights = learn_scales(
        Z, preparer.layout_, codes, np.random.RandomState(_seed_of(found))
    )
    graph = KNNGraph(10, include_labeled=True, recall=0.9)
    plain = HarmonicClassifier(graph, prior="labeled").fit(scaled(Z, scales), codes)
    assert_allclose(found.label_distributions_, plain.label_distributions_, atol=1e-6)
    assert weights[:2].mean() > weights[2:].mean()  # the noise counts less
    assert not hasattr(found, "report_")


def _seed_of(found: TableClassifier) -> int:
    return found.best_estimator_.graph_builder_.random_state


def test_the_best_is_chosen_and_the_reason_given() -> None:
    table, truth, codes = two_moons(10)
    preparer, Z = prepared(table)
    model = TableClassifier(preparer.layout_, candidates=QUICK, random_state=0).fit(Z, codes)
    assert model.report_.choice == "harmonic"
    assert model.report_.reason.startswith("The unlabeled rows helped")
    assert (model.transduction_ == truth).mean() > 0.95
    again = clone(model).fit(Z, codes)
    assert_array_equal(again.label_distributions_, model.label_distributions_)
    assert_array_equal(model.predict(Z), model.transduction_)


def test_with_one_label_a_class_it_is_harmonic() -> None:
    table, _, codes = two_moons(1)
    preparer, Z = prepared(table)
    report = TableClassifier(preparer.layout_).fit(Z, codes).report_
    assert report.choice == "harmonic"
    assert "no class has two labels" in report.reason
    others = TableClassifier(preparer.layout_, candidates=["naive-bayes", "linear-svm"])
    assert others.fit(Z, codes).report_.choice == "naive-bayes"


@pytest.mark.parametrize(("per_class", "when"), [(30, "once"), (4, "last")])
def test_large_tables(monkeypatch: pytest.MonkeyPatch, per_class: int, when: str) -> None:
    for name in ("MOST_ROWS_IN_FOLDS", "FEW_FOLDS_FROM"):
        monkeypatch.setattr(choose, name, 100)
    monkeypatch.setattr(choose, "MOST_ROWS", dict.fromkeys(choose.MOST_ROWS, 100))
    builds = []
    fit = WeighedGraph.fit

    def counted(self: WeighedGraph, X: Any, y: Any = None) -> WeighedGraph:
        builds.append(self.use_labels)
        return fit(self, X, y)

    monkeypatch.setattr(WeighedGraph, "fit", counted)
    table, truth, codes = two_moons(per_class, noise=1)
    preparer, Z = prepared(table)
    model = TableClassifier(preparer.layout_).fit(Z, codes)
    assert model._weighing == when
    report = model.report_
    tried = report.candidates[report.candidates["status"] == "tried"]["name"].tolist()
    assert tried[:4] == ["logistic-regression", "naive-bayes", "linear-svm", "harmonic"]
    assert set(tried[4:]) <= {"vote"}
    skipped = report.candidates.set_index("name").loc["consistency", "reason"]
    assert skipped == (
        "consistency was skipped: 200 rows; beyond 100 it is tried only if it is named."
    )
    assert report.n_repeats == 1
    # One graph for all folds; with few labels another one, weighed by them, at the end.
    assert builds == ([False] if when == "once" else [False, True])
    assert (model.transduction_ == truth).mean() > 0.9
    named = TableClassifier(preparer.layout_, candidates=["consistency"]).fit(Z, codes)
    assert named.report_.choice == "consistency"


@pytest.mark.parametrize(("per_class", "when"), [(30, "once"), (4, "last")])
def test_of_many_unlabeled_rows_a_sample_is_learned_from(
    monkeypatch: pytest.MonkeyPatch, per_class: int, when: str
) -> None:
    monkeypatch.setattr(choose, "MOST_ROWS_IN_FOLDS", 100)
    monkeypatch.setattr(choose, "MOST_UNLABELED", 100)
    monkeypatch.setattr(choose, "_CHUNK", 30)
    builds = []
    fit = WeighedGraph.fit

    def noted(self: WeighedGraph, X: Any, y: Any = None) -> WeighedGraph:
        builds.append((self.use_labels, self.graph.include_labeled, len(X)))
        return fit(self, X, y)

    monkeypatch.setattr(WeighedGraph, "fit", noted)
    table, truth, codes = two_moons(per_class, n=400, noise=1)
    preparer, Z = prepared(table)
    model = TableClassifier(preparer.layout_, candidates=["harmonic"]).fit(Z, codes)
    n_labeled = 2 * per_class
    n = n_labeled + 100
    assert model._weighing == when
    # One graph for the folds and one for the last fit, both of the sample.
    assert builds == [(False, False, n), (True, True, n)]
    sample = model.sample_
    assert sample is not None
    assert len(sample) == n
    assert set(np.flatnonzero(codes >= 0)) <= set(sample)
    assert model.label_distributions_.shape == (400, 2)
    assert_array_equal(model.transduction_[codes >= 0], codes[codes >= 0])
    assert (model.transduction_ == truth).mean() > 0.9
    others = np.setdiff1d(np.arange(400), sample)
    assert_allclose(model.label_distributions_[others], model.predict_proba(Z[others]), atol=1e-6)
    (note,) = (note for note in model.report_.notes if "sample" in note)
    assert f"all {n_labeled} labeled rows and 100 of the {400 - n_labeled} unlabeled ones" in note
    again = clone(model).fit(Z, codes)
    assert_array_equal(again.sample_, sample)
    assert_array_equal(again.label_distributions_, model.label_distributions_)


def test_a_sample_is_what_it_is_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    table, _, codes = two_moons(10, n=300)
    preparer, Z = prepared(table)
    names = np.array(["left", "right"], dtype=object)[codes]
    names[codes < 0] = None
    monkeypatch.setattr(choose, "MOST_UNLABELED", 100)
    model = TableClassifier(preparer.layout_, candidates=QUICK).fit(
        Z, pd.Series(names, index=range(300, 0, -1))
    )
    rows = model.sample_
    assert rows is not None
    alone = TableClassifier(preparer.layout_, candidates=QUICK).fit(Z[rows], names[rows])
    assert alone.sample_ is None
    assert not any("sample" in note for note in alone.report_.notes)
    assert_allclose(model.label_distributions_[rows], alone.label_distributions_)
    assert_array_equal(
        model.report_.candidates.drop(columns="seconds").to_numpy(dtype=str),
        alone.report_.candidates.drop(columns="seconds").to_numpy(dtype=str),
    )
    assert set(model.transduction_) == {"left", "right"}


def test_a_named_method_learns_from_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "MOST_UNLABELED", 50)
    table, _, codes = two_moons(5)
    preparer, Z = prepared(table)
    model = TableClassifier(preparer.layout_, method="harmonic").fit(Z, codes)
    assert model.sample_ is None
    assert model.best_estimator_.graph_.n_nodes == 200


def test_graphs_are_shared_by_the_candidates_of_a_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    builds = []
    fit = KNNGraph.fit

    def counted(self: KNNGraph, X: Any, y: Any = None) -> KNNGraph:
        builds.append(1)
        return fit(self, X, y)

    monkeypatch.setattr(KNNGraph, "fit", counted)
    table, _, codes = two_moons(5)
    preparer, Z = prepared(table)
    names = ["harmonic", "consistency"]
    TableClassifier(preparer.layout_, candidates=names).fit(Z, codes)
    # Folds that hold back the same rows share one too.
    together = len(builds)
    builds.clear()
    TableClassifier(preparer.layout_, candidates=names[:1]).fit(Z, codes)
    assert len(builds) == together


def test_the_cache_keeps_some_and_travels_empty() -> None:
    import copy
    import pickle

    cache = GraphCache()
    for i in range(100):
        cache.put(np.array([i]), i)
    assert cache.get(np.array([99])) == 99
    assert cache.get(np.array([0])) is None
    assert copy.deepcopy(cache) is cache
    assert pickle.loads(pickle.dumps(cache)).get(np.array([99])) is None


def test_several_jobs_give_the_same() -> None:
    table, _, codes = two_moons(3, n=40)
    preparer, Z = prepared(table)
    with parallel_config(backend="threading"):  # starting processes takes seconds
        one, two = (
            TableClassifier(preparer.layout_, candidates=["harmonic"], n_jobs=n).fit(Z, codes)
            for n in (1, 2)
        )
    assert one.report_.candidates["score"].tolist() == two.report_.candidates["score"].tolist()


def test_levels_are_zeros_and_ones_for_naive_bayes() -> None:
    rng = np.random.RandomState(0)
    truth = np.arange(80) % 2
    table = pd.DataFrame(
        {f"q{j}": np.where(rng.rand(80) < 0.9, truth, 1 - truth).astype(str) for j in range(5)}
    )
    preparer, Z = prepared(table)
    codes = np.where(np.arange(80) < 20, truth, -1)
    for method, name in (
        ("naive-bayes", "BernoulliNB"),
        ("naive-bayes-em", "SemiSupervisedBernoulliNB"),
    ):
        model = TableClassifier(preparer.layout_, method=method).fit(Z, codes)
        assert type(model.best_estimator_).__name__ == name
        assert (model.transduction_ == truth).mean() > 0.9


def test_more_rows_take_part() -> None:
    table, truth, codes = two_moons(10)
    preparer, Z = prepared(table)
    part = np.sort(np.r_[np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)[::3]])
    rest = np.setdiff1d(np.arange(200), part)
    plain = TableClassifier(preparer.layout_, method="harmonic")
    more = clone(plain).set_params(more_rows=Z[rest]).fit(Z[part], codes[part])
    assert len(more.transduction_) == len(part)
    order = np.r_[part, rest]
    whole = plain.fit(Z[order], codes[order])
    assert_allclose(more.label_distributions_, whole.label_distributions_[: len(part)])
    assert (more.transduction_ == truth[part]).mean() > 0.95


def test_more_rows_and_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "MOST_UNLABELED", 90)
    table, truth, codes = two_moons(10)
    preparer, Z = prepared(table)
    more = TableClassifier(preparer.layout_, candidates=["harmonic"], more_rows=Z[100:])
    more.fit(Z[:100], codes[:100])
    assert len(more.sample_) == 90 + (codes[:100] >= 0).sum()
    assert len(more.transduction_) == len(more.label_distributions_) == 100
    assert (more.transduction_ == truth[:100]).mean() > 0.9


def test_a_method_that_does_not_fit_is_refused() -> None:
    rng = np.random.RandomState(0)
    preparer, Z = prepared(pd.DataFrame(rng.normal(size=(60, 2))).add_prefix("x"))
    codes = np.where(np.arange(60) < 40, np.arange(60) % 20, -1)
    with pytest.raises(ValueError, match=r"transductive-svm was skipped.*Name another method"):
        TableClassifier(preparer.layout_, method="transductive-svm").fit(Z, codes)
