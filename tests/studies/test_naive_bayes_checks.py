"""What may be behind numbers of Saeed (2018) that differ."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax
from scipy.stats import norm

from leaven.generative import ClassPrior, SemiSupervisedGaussianNB
from studies import TABLES, Run, reproduce
from studies import naive_bayes_checks as checks
from studies.curve_em import Fits, Settings, fit_all, log_joint
from studies.curves import NaiveBayesCurve, QueriedCurve
from studies.naive_bayes import CURVE
from studies.naive_bayes_checks import ADDED, LITERAL, UNBIASED, VariedCurve
from studies.published import published_areas

SMOOTH = Settings(prior_smoothing=1.0)

SPREAD = np.array([1.0, 1e6, 1e-3])
"""Standard deviations so far apart that a billionth of the largest variance is not small."""


def rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes that the feature with the smallest variance tells best."""
    rng = np.random.default_rng(seed)
    codes = np.concatenate([[0, 1] * 4, rng.integers(0, 2, n - 8)])
    return rng.normal(size=(n, 3)) * SPREAD + codes[:, None] * SPREAD * [0.3, 0.1, 2.0], codes


@pytest.mark.parametrize("weight", [0.0, None])
def test_variances_as_they_are_need_no_scale(weight: float | None) -> None:
    X, codes = rows(200, 0)
    order, test = np.arange(150), np.arange(150, 200)

    def error(method: NaiveBayesCurve, rows: np.ndarray) -> np.ndarray:
        found = method.curve_plan(rows).predict(codes, 2, order, (8, 50), test)
        return np.asarray((found != codes[test]).mean(axis=1))

    plain = NaiveBayesCurve(weight=weight, unbiased=False)
    added = VariedCurve(variances=ADDED, weight=weight)
    assert (error(plain, X) == error(plain, X / SPREAD)).all()
    assert (error(plain, X) == error(VariedCurve(variances=LITERAL, weight=weight), X)).all()
    # What is added to them hides the feature that tells the classes.
    assert error(added, X)[1] > error(plain, X)[1] + 0.1
    labels = np.where(np.arange(150) < 50, codes[:150], -1)
    for method, smoothing in ((plain, 0.0), (added, 1e-9)):
        if weight is None:
            model = SemiSupervisedGaussianNB(
                prior=ClassPrior(smoothing=1.0), var_smoothing=smoothing
            )
            # Scaled, so that what rounding leaves of a variance is no part of this.
            unit = SPREAD if smoothing == 0.0 else 1.0
            found = model.fit(X[:150] / unit, labels).predict(X[150:] / unit)
            assert error(method, X)[1] == (found != codes[150:]).mean()


def test_the_unbiased_variance_by_hand() -> None:
    X, codes = rows(60, 3)
    X = X / SPREAD
    plan = VariedCurve(variances=UNBIASED).curve_plan(X)
    features = plan.features.start(np.arange(40))
    labels = codes[:40, None]
    found = log_joint(features, fit_all(features, Fits(labels, np.ones(1), np.ones(1)), 2, SMOOTH))
    for c in (0, 1):
        own = X[:40][codes[:40] == c]
        share = (len(own) + 1) / 42  # with the Laplace correction
        density = norm.logpdf(X[:40], own.mean(axis=0), own.std(axis=0, ddof=1)).sum(axis=1)
        assert_allclose(found[:, c, 0], density + np.log(share), rtol=1e-9)


@pytest.mark.parametrize("weight", [None, 0.3])
def test_em_with_the_unbiased_variance_by_hand(weight: float | None) -> None:
    """Row by row with SciPy's densities, and the tables have it unless they are told otherwise."""
    X, codes = rows(80, 5)
    X = X / SPREAD
    order, test, n = np.arange(60), np.arange(60, 80), 12
    of_labeled, of_others = (1.0, 1.0) if weight is None else (1.0 - weight, weight)
    labeled = np.arange(60) < n
    r = np.where(labeled[:, None], np.eye(2)[codes[:60]], 0.0)
    r0, steps = r[:n], 200
    for step in range(steps + 1):
        # The start is naive Bayes of the labeled rows, which have no weight there.
        w = r if step == 0 else r * np.where(labeled, of_labeled, of_others)[:, None]
        total = w.sum(axis=0)
        means = w.T @ X[:60] / total[:, None]
        squares = np.stack([w[:, c] @ (X[:60] - means[c]) ** 2 for c in (0, 1)])
        deviations = np.sqrt(squares / (total - 1.0)[:, None])
        shares = (total + 1.0) / (total.sum() + 2.0)
        logs = np.stack(
            [norm.logpdf(X, m, s).sum(axis=1) for m, s in zip(means, deviations, strict=True)], 1
        ) + np.log(shares)
        r = softmax(logs[:60], axis=1)
        r[:n] = r0
    settings = {"weight": weight, "max_iter": steps, "tol": 0.0}
    found = NaiveBayesCurve(**settings).curve_plan(X)
    model = found.features.start(order)
    labels = np.where(labeled, codes[:60], -1)[:, None]
    fits = Fits(labels, np.array([of_labeled]), np.array([of_others]))
    fitted = fit_all(model, fits, 2, Settings(1.0, steps, 0.0))
    assert_allclose(log_joint(found.features.start(test), fitted)[:, :, 0], logs[60:], rtol=1e-8)
    assert (found.predict(codes, 2, order, (n,), test)[0] == logs[60:].argmax(axis=1)).all()
    literal = NaiveBayesCurve(**settings, unbiased=False).curve_plan(X)
    fitted = fit_all(literal.features.start(order), fits, 2, Settings(1.0, steps, 0.0))
    assert np.abs(log_joint(literal.features.start(test), fitted)[:, :, 0] - logs[60:]).max() > 0.01


def test_naive_bayes_asks_for_both_learners() -> None:
    X, codes = rows(80, 1)
    order, test, sizes = np.arange(60), np.arange(60, 80), (8, 20, 40, 60)
    X = X / SPREAD  # nothing to speak of is added here, and both are alike
    usual_ones = (NaiveBayesCurve(active=True, unbiased=False), QueriedCurve(unbiased=False))
    for weight, usual in zip((0.0, None), usual_ones, strict=True):
        added = VariedCurve(variances=ADDED, weight=weight, active=True)
        found = added.curve_plan(X).predict(codes, 2, order, sizes, test)
        assert (found == usual.curve_plan(X).predict(codes, 2, order, sizes, test)).all()


def test_later_curves_have_the_order_of_the_usual_ones() -> None:
    codes = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [10, 20, 50]))
    usual, later = (each.split(codes, 3, continuous=True) for each in (CURVE, checks.LATER))
    assert later.sizes[0] == 12
    assert later.sizes[-1] == len(later.order) == 60
    assert (np.bincount(codes[later.order[:6]]) == 2).all()
    assert usual.sizes[0] == 6
    assert not set(later.test) & set(later.order)


def test_published_numbers_come_from_the_table_that_a_row_names() -> None:
    printed = checks.printed_places()["mean"]
    assert printed["wine", "SSNB-λ"] == published_areas("4.1")["mean"]["wine", "SSNB-lambda"]
    validated = published_areas("4.3")["mean"]
    assert printed["wine, validation rows", "SSNB-λ"] == validated["wine", "SSNB-lambda-cvs"]
    assert ("glass, validation rows", "SSNB-λ") not in printed.index
    starts = checks.printed_starts()["mean"]
    assert starts["haberman", "NB"] == 1.397
    assert starts["haberman, table 5.6", "NB"] == 1.487


def test_wine_runs_without_other_data() -> None:
    # wine comes with scikit-learn.
    report = reproduce(["S1-trials"], Run(n_trials=2, datasets=("wine", "wine, validation rows")))[
        0
    ]
    assert report.cells["method"].tolist() == ["NB", "SSNB", "SSNB-λ"] * 2
    assert (report.cells["dataset"].unique() == ["wine", "wine, validation rows"]).all()
    assert TABLES["S1-trials"].trials["wine"] == 1_000
    report = reproduce(["S1-variances"], Run(n_trials=2, datasets=("wine",)))[0]
    assert len(report.cells) == 15  # five learners, three ways
    assert report.cells["published"].notna().all()
    assert TABLES["S1-variances"].published["mean"]["wine", "SSNB-λ, n - 1"] == 0.255
    report = reproduce(["S1-variances"], Run(n_trials=2, datasets=("iris",)))[0]
    assert len(report.cells) == 12  # λ is printed for wine


def test_unbiased_variances_on_several_draws() -> None:
    table = TABLES["S1-unbiased"]
    (report,) = reproduce([table.id], Run(n_trials=2, datasets=("iris-twin",)))
    cells = report.cells.set_index("method")
    assert list(cells.index) == list(table.methods)
    assert cells.loc["NB, n - 1", "published"] == 0.067
    assert (report.results.groupby("method").size() == 10).all()


def test_the_tables_search_for_the_weight_in_one_stage() -> None:
    run = Run(n_trials=8, datasets=("iris",))  # comes with scikit-learn
    cells = [
        each.cells.set_index("method")["mean"] for each in reproduce(["S1-4.5", "S1-stages"], run)
    ]
    areas = [cells[1][f"{checks.MCV}, {stages}"] for stages in checks.STAGES]
    assert cells[0][checks.MCV] == areas[0]
    assert len({*areas}) == 3
