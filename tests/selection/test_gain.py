"""The change of the answer by the unlabeled rows, and what it says of the gain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import softmax
from scipy.stats import norm

from leaven.datasets import make_two_moons
from leaven.selection import (
    Change,
    Decision,
    Pool,
    assess,
    compare_answers,
    fit,
    gain_prior,
    judge_change,
    make_candidates,
    select,
    standard_problem,
)
from leaven.statistics import Estimate


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.integers(2, 4), st.integers(0, 10_000))
def test_the_share_that_changed_bounds_the_gain_for_any_truth(n, n_classes, seed):
    rng = np.random.default_rng(seed)
    new, old = softmax(rng.normal(size=(2, n, n_classes)), axis=-1)
    found = compare_answers(new, old)
    for _ in range(5):
        truth = rng.integers(0, n_classes, n)
        gain = np.mean(new.argmax(axis=1) == truth) - np.mean(old.argmax(axis=1) == truth)
        assert abs(gain) <= found.share + 1e-12
    assert 0 <= found.promised <= found.share


def test_the_promise_is_the_expected_gain_if_the_probabilities_hold():
    rng = np.random.default_rng(0)
    new, old = softmax(2 * rng.normal(size=(2, 6, 3)), axis=-1)
    rows = np.arange(6)
    now, before = new.argmax(axis=1), old.argmax(axis=1)
    # Every truth drawn from the probabilities: the mean gain over many draws.
    draws = np.array([rng.choice(3, size=40_000, p=row) for row in new]).T
    gains = (draws == now).mean(axis=1) - (draws == before).mean(axis=1)
    assert_allclose(compare_answers(new, old).promised, gains.mean(), atol=0.01)
    assert compare_answers(new, old).share == np.mean(now != before)
    assert compare_answers(new, new) == Change(0.0, 0.0)
    assert (new[rows, now] >= new[rows, before]).all()


def test_the_prior_of_the_gain_is_its_formula():
    mean, deviation = gain_prior(Change(0.3, 0.11))
    assert mean == pytest.approx(1.4 * 0.11 - 0.07 * 0.3)
    assert deviation == pytest.approx(np.sqrt((0.38 * 0.3) ** 2 + 0.005**2))


def moons(per_class=6, n_rows=160):
    X, truth = make_two_moons(n_rows, random_state=1)
    codes = np.full(n_rows, -1)
    for code in (0, 1):
        codes[np.flatnonzero(truth == code)[:per_class]] = code
    return standard_problem(X, codes, np.array([0, 1])), truth


NAMES = ["logistic-regression", "naive-bayes", "harmonic", "consistency"]


def test_a_selection_is_compared_with_its_supervised_part():
    problem, truth = moons()
    selection = select(problem, make_candidates(NAMES, problem), random_state=0)
    decision, free = selection.decision, problem.codes < 0
    # By hand: the supervised candidates that were fitted, with their weights scaled up to one.
    fitted = {each.name: each.probabilities[free] for each in selection.fitted.candidates}
    weights = {name: w for name, w in decision.without.weights.items() if name in fitted}
    total = sum(weights.values())
    pool = replace(decision.without, weights={name: w / total for name, w in weights.items()})
    old = pool.combine(fitted)
    new = selection.probabilities[free]
    assert decision.changed == np.mean(new.argmax(axis=1) != old.argmax(axis=1))
    gain, (mean, sd) = decision.held_out_gain, gain_prior(compare_answers(new, old))
    precision = 1 / gain.se**2 + 1 / sd**2
    expected = norm.cdf((gain.value / gain.se**2 + mean / sd**2) / np.sqrt(precision))
    assert decision.probability_helped == pytest.approx(expected)
    true_gain = np.mean(new.argmax(axis=1) == truth[free]) - np.mean(
        old.argmax(axis=1) == truth[free]
    )
    assert abs(true_gain) <= decision.changed + 1e-12


def answers(new, old, gain, **changes):
    """The verdict where the answers of two candidates, one of them supervised, are given."""
    problem, _ = moons(2, 24)
    free = problem.codes < 0
    candidates = make_candidates(["logistic-regression", "harmonic"], problem)
    pool = Pool({"harmonic": 0.999, "logistic-regression": 0.001}, dict.fromkeys(NAMES, 1.0))
    without = Pool({"logistic-regression": 1.0}, dict.fromkeys(NAMES, 1.0))
    decision = Decision(
        "combination",
        pool,
        {"harmonic": {}, "logistic-regression": {}},
        "semi-supervised",
        held_out_gain=gain,
        without=without,
        **changes,
    )
    fitted = fit(problem, candidates, decision)
    probabilities = fitted.probabilities.copy()
    probabilities[free] = new
    by_name = {"harmonic": probabilities, "logistic-regression": probabilities.copy()}
    by_name["logistic-regression"][free] = old
    fitted = replace(
        fitted,
        probabilities=probabilities,
        candidates=tuple(
            replace(each, probabilities=by_name[each.name]) for each in fitted.candidates
        ),
    )
    return judge_change(decision, fitted, problem), fitted, problem


def rows(n_second, certainty, n=20):
    """Class probabilities of 20 rows of which the first ones are of the second class."""
    P = np.tile([0.9, 0.1], (n, 1))
    P[:n_second] = [1 - certainty, certainty]
    return P


UNKNOWN = Estimate(0.0, 0.5, -0.8, 0.8)


@pytest.mark.parametrize(
    ("new", "gain", "word"),
    [
        (rows(1, 0.95), UNKNOWN, "hardly"),  # one row in twenty
        (rows(6, 0.95), UNKNOWN, "yes"),  # a promise of 0.27
        (rows(6, 0.55), UNKNOWN, "cannot tell"),
        (rows(6, 0.55), Estimate(0.2, 0.02, 0.16, 0.24), "yes"),  # the labels say so
        (rows(6, 0.55), Estimate(-0.2, 0.02, -0.24, -0.16), "no"),
        (rows(6, 0.95), None, "cannot tell"),  # nothing was held out
    ],
)
def test_the_word_for_a_change(new, gain, word):
    found, _, _ = answers(new, rows(0, 0.5), gain)
    assert found.unlabeled_helped == word
    assert found.changed == pytest.approx(np.mean(new.argmax(axis=1) == 1))
    assert np.isnan(found.probability_helped) == (gain is None)


def test_nothing_to_compare_leaves_the_decision_as_it_is():
    found, fitted, problem = answers(rows(6, 0.9), rows(0, 0.5), UNKNOWN)
    alone = replace(found, without=None, changed=np.nan)
    assert judge_change(alone, fitted, problem) is alone
    elsewhere = Pool({"not fitted": 1.0}, {"not fitted": 1.0})
    other = replace(found, without=elsewhere, changed=np.nan)
    assert judge_change(other, fitted, problem) is other


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"unlabeled_helped": "yes", "probability_helped": 0.999}, "probably helped (9 in 10)."),
        (
            {"unlabeled_helped": "no", "probability_helped": 0.08},
            "probably did not help (9 in 10).",
        ),
        ({"unlabeled_helped": "hardly", "changed": 0.04}, "changed 4% of the labels: little"),
        ({"unlabeled_helped": "hardly", "changed": 0.001}, "changed hardly any of the labels:"),
        (
            {"unlabeled_helped": "cannot tell", "changed": 0.17},
            "changed 17% of the labels; whether for the better cannot be told.",
        ),
        ({"unlabeled_helped": "cannot tell", "changed": np.nan}, "helped cannot be told."),
    ],
)
def test_the_sentence_of_a_verdict(changes, sentence):
    problem, _ = moons(4, 60)
    selection = select(problem, make_candidates(NAMES, problem), random_state=0)
    told = replace(selection, decision=replace(selection.decision, **changes))
    assert sentence in assess(told, problem).verdict
