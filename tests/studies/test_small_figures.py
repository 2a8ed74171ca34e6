"""Figures with an experiment of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.naive_bayes import GaussianNB

from leaven.generative import (
    ClassPrior,
    SemiSupervisedCategoricalNB,
    SemiSupervisedGaussianNB,
)
from studies import TABLES, Run
from studies.curves import NaiveBayesCurve
from studies.demonstrations import lattices_run, shapes_run
from studies.estimators import first_of_each
from studies.naive_bayes_figures import (
    errors,
    last_rows,
    line_data,
    mean_probabilities,
    queries_run,
    query_sizes,
    stratified,
)


def test_every_figure_that_was_asked_for_has_a_target() -> None:
    wanted = [
        "S0-figures-3.6-3.7", "S1-figures-1.8-1.9", "S1-figure-3.2", "S1-figures-3.3-3.5",
        "S1-figures-5.1-5.4", "S1-figure-6.2", "S1-figures-6.11-6.13", "S2-figure-2",
        "S2-figure-3", "S2-figure-4", "S2-figure-5", "S2-figure-6", "S4-figures-1-7",
        "S4-figure-14", "S4-figures-26-29", "S4-figure-32", "S4-figures-39-41",
    ]  # fmt: skip
    assert [each for each in wanted if each not in TABLES] == []


def test_the_index_cuts_in_the_middle(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    table = TABLES["S0-figures-3.6-3.7"]
    outcome = lattices_run(table, Run(), list(table.datasets))
    share = outcome.results.set_index(["dataset", "method"])["share"]
    # By hand: cutting beside a label leaves 1 of 5 vertices of a half of the chain where they
    # belong, and the index cuts in the middle of all three, as figures 3.6d and 3.7d do.
    assert share["chain of 10", "min-cut"] == 0.6
    assert (share.xs("influence index", level="method") == 1.0).all()
    assert outcome.draw is not None
    outcome.draw(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 1000


def test_bands_and_spirals() -> None:
    outcome = shapes_run(TABLES["S2-figure-2"], Run(n_trials=2), ["three bands", "two spirals"])
    mean = outcome.results.groupby("method")["accuracy"].mean()
    assert mean["harmonic"] > 0.95
    assert mean["1NN"] < 0.7


def test_errors_are_those_of_the_estimator() -> None:
    X, y = line_data()
    codes = (y == "2").astype(int)
    rng = np.random.default_rng(4)
    rows = rng.permutation(len(X))[:300]
    train, test = rows[:60], rows[60:]
    train, _ = first_of_each(train, codes, 2)
    found = errors(NaiveBayesCurve(weight=None, unbiased=False), X, codes, train, (4, 60), test)
    given = np.full(60, -1)
    for error, n in zip(found, (4, 60), strict=True):
        given[:n] = codes[train[:n]]
        model = SemiSupervisedGaussianNB(max_iter=200, tol=1e-6).fit(X[train], given)
        assert error == pytest.approx(np.mean(model.predict(X[test]) != codes[test]), abs=0.005)


def test_means_of_probabilities_are_those_of_the_estimator() -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, 40)
    noisy = np.where(rng.random((40, 3)) < 0.25, 1 - codes[:, None], codes[:, None])
    X = pd.DataFrame(noisy).astype("category")
    order = np.concatenate([[np.argmin(codes), np.argmax(codes)], np.arange(40)])
    order = np.array(list(dict.fromkeys(order.tolist())))
    found = mean_probabilities(NaiveBayesCurve(weight=None).curve_plan(X), codes, order, (6,))
    given = np.full(40, -1)
    given[order[:6]] = codes[order[:6]]
    prior = ClassPrior(smoothing=1.0)
    model = SemiSupervisedCategoricalNB(prior=prior, max_iter=200, tol=1e-6).fit(X, given)
    q = model.predict_proba(X)[order[6:], 1]
    assert found["probability"] == pytest.approx([q.mean()], abs=1e-4)
    assert found["log-odds"] == pytest.approx([expit(logit(q).mean())], abs=1e-3)


def test_stratified() -> None:
    codes = np.array([0] * 60 + [1] * 30 + [2] * 10)
    taken = stratified(codes, 10, np.random.default_rng(1).permutation(100))
    assert np.bincount(codes[taken]).tolist() == [6, 3, 1]
    assert len(set(taken.tolist())) == 10
    taken = stratified(codes, 7, np.arange(100))  # 4.2, 2.1 and 0.7
    assert np.bincount(codes[taken]).tolist() == [4, 2, 1]


def test_five_questions_at_a_time() -> None:
    assert query_sizes("iris") == (10, 15, 20, 25, 30, 35, 40, 45, 50)
    table = TABLES["S1-figure-6.2"]
    rows = [row for row in table.datasets if row.startswith("iris")]
    results = queries_run(table, Run(n_trials=2), rows).results
    assert sorted(set(results["n_labeled"])) == [10, 20, 40]
    # The same ten labels: before the first question the two methods are one.
    start = results[results["n_labeled"] == 10].set_index(["method", "trial"])["accuracy"]
    assert start["NB"].tolist() == start["ALNB"].tolist()


def test_rows_left_to_the_end_are_the_certain_ones() -> None:
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 40)
    X = rng.standard_normal((80, 1)) + 1.5 * codes[:, None]
    found = last_rows(X, codes, range(20), 7)
    assert len(set(found.tolist())) == 7
    # An oracle that knows all labels is surer of them than of most rows.
    shares = GaussianNB().fit(X, codes).predict_proba(X)
    sure = np.abs(shares[:, 0] - shares[:, 1])
    assert np.median(sure[found]) > np.quantile(sure, 0.75)
