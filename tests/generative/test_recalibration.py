"""Recalibration of class probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import rankdata
from sklearn.base import clone

from leaven.generative import LogOdds, RankSigmoid, SemiSupervisedGaussianNB
from leaven.generative._recalibration import rank_rows, shift_to_mean

from .problems import hide, numbers


@st.composite
def probabilities(draw, max_classes=5):
    """Rows that are sure, undecided, tied or anything between."""
    n_rows, n_classes = draw(st.integers(2, 12)), draw(st.integers(2, max_classes))
    logits = draw(
        arrays(
            float,
            (n_rows, n_classes),
            elements=st.sampled_from([-800.0, -30.0, -2.0, -0.5, 0.0, 0.5, 3.0, 40.0]),
        )
    )
    q = np.exp(logits - logits.max(axis=1, keepdims=True))
    return q / q.sum(axis=1, keepdims=True)


@st.composite
def recalibrations(draw):
    kind = draw(st.sampled_from([RankSigmoid, LogOdds]))
    size = draw(st.sampled_from([2.0**-10, 0.1, 1.0, 2.0**5]))
    return RankSigmoid(size) if kind is RankSigmoid else LogOdds(scale=min(size, 2.0))


@given(q=probabilities(), recalibration=recalibrations(), seed=st.integers(0, 1000))
@settings(max_examples=80, deadline=None)
def test_mean_is_the_wanted_one(q, recalibration, seed):
    proportions = np.random.default_rng(seed).dirichlet(np.ones(q.shape[1]))
    for mean, target in [("kept", q.mean(axis=0)), (proportions, proportions)]:
        new = clone(recalibration).set_params(mean=mean).transform(q)
        assert_allclose(new.mean(axis=0), target, atol=1e-8)
        assert_allclose(new.sum(axis=1), 1.0)
        assert (new >= 0).all()


@given(q=probabilities(max_classes=2), recalibration=recalibrations())
@settings(max_examples=60, deadline=None)
def test_order_is_kept_with_two_classes(q, recalibration):
    for mean in ("kept", [0.3, 0.7]):
        new = clone(recalibration).set_params(mean=mean).transform(q)
        order = np.argsort(q[:, 1], kind="stable")
        assert (np.diff(new[order, 1]) >= -1e-12)[np.diff(q[order, 1]) > 0].all()
        if isinstance(recalibration, RankSigmoid) and mean != "kept":  # no mean that is nearly 1
            told_apart = np.diff(q[order, 1]) > 0
            assert (np.diff(new[order, 1])[told_apart] > 0).all()


def test_two_classes_follow_the_printed_formula():
    rng = np.random.default_rng(0)
    positive = rng.random(30)
    alpha, wanted = 4.0, 0.37
    s = rankdata(positive) / len(positive)
    beta = brentq(lambda b: expit(alpha * (s - b)).mean() - wanted, -20, 20, xtol=1e-14)
    new = RankSigmoid(alpha, mean=[1 - wanted, wanted]).transform(
        np.column_stack([1 - positive, positive])
    )
    assert_allclose(new[:, 1], expit(alpha * (s - beta)), atol=1e-10)
    # Which class is called positive does not matter.
    swapped = RankSigmoid(alpha, mean=[wanted, 1 - wanted]).transform(
        np.column_stack([positive, 1 - positive])
    )
    assert_allclose(swapped[:, 0], new[:, 1], atol=1e-10)


def test_beta_is_the_mean_of_the_old_probabilities():
    # Section 5.4.2 read word by word: s = rank / u, β = mean(q), sigmoid(α (s - β)).
    positive = np.array([0.9, 0.2, 0.35, 0.99, 0.2])
    s, beta, alpha = np.array([4, 1.5, 3, 5, 1.5]) / 5, 0.528, 3.0
    expected = 1 / (1 + np.exp(-alpha * (s - beta)))
    new = RankSigmoid(alpha, mean="beta").transform(np.column_stack([1 - positive, positive]))
    assert_allclose(new[:, 1], expected, rtol=1e-12)
    assert_allclose(new.sum(axis=1), 1.0)
    assert abs(new[:, 1].mean() - positive.mean()) > 0.01  # the other reading keeps it
    q = np.random.default_rng(4).dirichlet(np.ones(3), size=7)
    each = expit(alpha * (rankdata(q, axis=0) / 7 - q.mean(axis=0)))
    expected = each / each.sum(axis=1, keepdims=True)
    assert_allclose(RankSigmoid(alpha, mean="beta").transform(q), expected, rtol=1e-12)


def test_a_flat_slope_gives_every_row_the_mean():
    q = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    flat = RankSigmoid(1e-9).transform(q)
    assert_allclose(flat, np.tile(q.mean(axis=0), (3, 1)), atol=1e-8)


def test_log_odds_are_scaled_and_shifted():
    rng = np.random.default_rng(1)
    positive = rng.random(20)
    q = np.column_stack([1 - positive, positive])
    assert_array_equal(LogOdds().transform(q), q)
    new = LogOdds(scale=0.5, mean=[0.4, 0.6]).transform(q)
    assert_allclose(np.ptp(logit(new[:, 1]) - 0.5 * logit(positive)), 0.0, atol=1e-9)
    # The diagnostic of figure 5.2: with sure answers far from the mean.
    sure = np.array([[1e-12, 1 - 1e-12]] * 3 + [[1 - 1e-6, 1e-6]] * 2)
    converted = LogOdds().converted_mean(sure)
    assert converted[1] > 0.99 > sure[:, 1].mean() + 0.3


def test_ranks_tell_rounded_ones_apart():
    q = np.array([[1e-20, 1.0], [1e-30, 1.0], [0.5, 0.5], [0.5, 0.5]])
    assert_allclose(rank_rows(q)[:, 1], [3, 4, 1.5, 1.5])
    assert_allclose(rank_rows(q)[:, 0], [2, 1, 3.5, 3.5])


def test_many_classes_agree_with_two_where_the_third_is_impossible():
    rng = np.random.default_rng(2)
    positive = rng.random(15)
    two = np.column_stack([1 - positive, positive])
    three = np.column_stack([two, np.zeros(15)])
    target = np.array([0.3, 0.7])
    logits = np.log(two)
    assert_allclose(
        shift_to_mean(np.column_stack([logits, np.zeros(15)]), np.append(target, 0.0))[:, :2],
        shift_to_mean(logits, target),
        atol=1e-12,
    )
    kept = LogOdds(scale=0.3).transform(three)
    assert_allclose(kept[:, :2], LogOdds(scale=0.3).transform(two), atol=1e-9)
    sure = shift_to_mean(logits, np.array([1.0, 0.0]))
    assert_allclose(sure, [[1.0, 0.0]] * 15)


@pytest.mark.parametrize(
    ("recalibration", "message"),
    [
        (RankSigmoid(0.0), "'alpha' parameter of RankSigmoid must be"),
        (LogOdds(scale=-1.0), "'scale' parameter of LogOdds must be"),
        (RankSigmoid(mean="middle"), "'mean' parameter of RankSigmoid must be"),
        (RankSigmoid(mean="labeled"), "only inside|alone does not"),
        (RankSigmoid(mean=[0.5, 0.2, 0.3]), "there are 2 classes"),
        (RankSigmoid(mean=[0.5, 0.2]), "sum to 1"),
    ],
)
def test_bad_settings(recalibration, message):
    with pytest.raises(ValueError, match=message):
        recalibration.transform([[0.5, 0.5], [0.1, 0.9]])


def test_bad_probabilities():
    with pytest.raises(ValueError, match="at least two classes"):
        RankSigmoid().transform([0.5, 0.5])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_inside_a_classifier():
    rng = np.random.default_rng(3)
    X, y = numbers(rng, n_rows=120, n_classes=2)
    labels = hide(rng, y, per_class=4)
    plain = SemiSupervisedGaussianNB().fit(X, labels)
    identity = SemiSupervisedGaussianNB(recalibration=LogOdds()).fit(X, labels)
    assert_allclose(identity.predict_proba(X), plain.predict_proba(X), atol=1e-9)

    # One iteration: the class proportions are those asked for, times the unlabeled rows.
    unlabeled = (labels < 0).sum()
    for mean, share in [("labeled", 0.5), ([0.9, 0.1], 0.9)]:
        recalibration = RankSigmoid(2.0, mean=mean)
        model = SemiSupervisedGaussianNB(recalibration=recalibration, max_iter=1).fit(X, labels)
        expected = (4 + share * unlabeled) / len(y)
        assert_allclose(np.exp(model.class_log_prior_[0]), expected, atol=1e-9)
        assert model.recalibration is recalibration
        assert recalibration.mean == mean

    several = SemiSupervisedGaussianNB(
        recalibration=RankSigmoid(2.0), n_components=2, random_state=0, hard=True
    ).fit(X, labels)
    assert np.isfinite(several.objective_trace_).all()
    with pytest.raises(ValueError, match="must be 'fixed'"):
        several.set_params(component_classes="learned").fit(X, labels)


def test_parameters_can_be_tuned_by_name():
    model = SemiSupervisedGaussianNB(recalibration=RankSigmoid())
    assert clone(model).set_params(recalibration__alpha=8.0).recalibration.alpha == 8.0
