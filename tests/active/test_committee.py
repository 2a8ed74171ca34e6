from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from leaven.active import QueryByCommittee, _committee, kl_to_consensus, vote_entropy
from leaven.active._committee import bootstrap
from leaven.active._density import kl_density
from leaven.active._em_committee import em_member, expected_model, supervised_twin
from leaven.active._posterior import draw_member, log_dirichlet, normal_inverse_chi2
from leaven.generative import (
    SemiSupervisedBernoulliNB,
    SemiSupervisedCategoricalNB,
    SemiSupervisedGaussianNB,
    SemiSupervisedMultinomialNB,
)
from leaven.graph import FullGraph, GivenGraph
from leaven.graph_based import HarmonicClassifier


def blobs(n_rows=40, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    return rng.normal(size=(n_rows, 2)) + 2.0 * np.eye(3)[y][:, :2], y


def test_votes_by_hand():
    # Four members; shares (1), (3/4, 1/4), (1/2, 1/4, 1/4).
    votes = [["a", "a", "c"], ["a", "b", "a"], ["a", "a", "b"], ["a", "a", "a"]]
    assert_allclose(
        vote_entropy(votes), [0.0, np.log(4) - 0.75 * np.log(3), 1.5 * np.log(2)], atol=1e-15
    )


def test_kl_by_hand():
    P = np.array([[[0.9, 0.1], [0.5, 0.5], [1.0, 0.0]], [[0.3, 0.7], [0.5, 0.5], [0.0, 1.0]]])
    consensus = np.array([0.6, 0.4])
    by_member = [
        0.9 * np.log(0.9 / consensus[0]) + 0.1 * np.log(0.1 / consensus[1]),
        0.3 * np.log(0.3 / consensus[0]) + 0.7 * np.log(0.7 / consensus[1]),
    ]
    assert_allclose(kl_to_consensus(P), [np.mean(by_member), 0.0, np.log(2)], atol=1e-15)


@pytest.mark.parametrize("disagreement", ["vote-entropy", "kl"])
def test_given_members(disagreement):
    X, y = blobs(20)
    pool = blobs(15, seed=1)[0]
    members = [LogisticRegression(), KNeighborsClassifier(3), GaussianNB()]
    fitted = [clone(m).fit(X, y) for m in members]
    found = QueryByCommittee(disagreement, committee=members).scores(None, pool, X, y)
    if disagreement == "kl":
        expected = kl_to_consensus([m.predict_proba(pool) for m in fitted])
    else:
        expected = vote_entropy([m.predict(pool) for m in fitted])
    assert_allclose(found, expected)
    assert found.max() > 0
    assert not hasattr(members[0], "coef_")


def test_members_that_only_predict_may_vote():
    X, y = blobs(20, 2)
    members = [LinearSVC(), DecisionTreeClassifier(random_state=0)]
    pool = blobs(15, 2, seed=1)[0]
    scores = QueryByCommittee(committee=members).scores(None, pool, X, y)
    a, b = (m.fit(X, y).predict(pool) for m in members)
    assert_allclose(scores, np.where(a == b, 0.0, np.log(2)), atol=1e-15)


def test_semi_supervised_and_other_members_side_by_side():
    X, y = blobs(30, 2)
    hidden = np.where(np.arange(30) < 8, y, -1)
    members = [SemiSupervisedGaussianNB(), GaussianNB()]
    found = QueryByCommittee("kl", committee=members).scores(None, X[8:], X, hidden)
    expected = kl_to_consensus(
        [
            SemiSupervisedGaussianNB().fit(X, hidden).predict_proba(X[8:]),
            GaussianNB().fit(X[:8], y[:8]).predict_proba(X[8:]),
        ]
    )
    assert_allclose(found, expected)


@pytest.mark.parametrize("seed", range(5))
def test_bags_hold_every_class(seed):
    codes = np.array([0, 0, 0, 0, 0, 0, 1, -1, -1, 2])
    bag = bootstrap(codes, 3, np.random.RandomState(seed))
    assert len(bag) == 8
    assert set(codes[bag]) == {0, 1, 2}


@pytest.mark.parametrize("disagreement", ["vote-entropy", "kl"])
def test_bagging(disagreement):
    X, y = blobs(20)
    pool = np.vstack([blobs(30, seed=1)[0], [[40.0, 0.0]]])
    model = GaussianNB().fit(X, y)
    strategy = QueryByCommittee(disagreement, n_members=7, random_state=0)
    scores = strategy.scores(model, pool, X, y)
    assert_array_equal(scores, clone(strategy).scores(model, pool, X, y))
    assert scores.max() > scores.min() >= 0
    other = QueryByCommittee(disagreement, n_members=7, random_state=1)
    assert (other.scores(model, pool, X, y) != scores).any()


def test_bagging_disagrees_at_the_boundary():
    X = np.concatenate([np.linspace(-3, -1, 10), np.linspace(1, 3, 10)])[:, None]
    y = np.repeat([0, 1], 10)
    pool = np.array([[-3.0], [-2.0], [0.0], [2.0], [3.0]])
    strategy = QueryByCommittee("kl", n_members=20, random_state=0)
    assert strategy.scores(LogisticRegression().fit(X, y), pool, X, y).argmax() == 2


def test_bagging_a_semi_supervised_estimator_hides_labels():
    # On a given graph no row may be repeated or left out.
    X, y = blobs(30, 2)
    hidden = np.where(np.arange(30) < 8, y, -1)
    W = FullGraph().build(X).adjacency
    model = HarmonicClassifier(FullGraph(), prior=None).fit(X, hidden)
    strategy = QueryByCommittee("kl", n_members=4, random_state=0)
    scores = strategy.scores(model, X[8:], X, hidden)
    assert scores.shape == (22,)
    assert scores.max() > 0
    on_graph = HarmonicClassifier(GivenGraph(W), prior=None).fit(X, hidden)
    members = strategy._fitted(on_graph, X, hidden, np.random.RandomState(0))
    assert all(len(m.transduction_) == 30 for m in members)


def test_frames_sparse_rows_and_pipelines():
    X, y = blobs(20)
    pool = blobs(10, seed=1)[0]
    strategy = QueryByCommittee("kl", n_members=3, random_state=np.random.RandomState(0))
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    frame, pool_frame = (pd.DataFrame(rows, columns=["a", "b"]) for rows in (X, pool))
    from_frame = strategy.scores(pipeline.fit(frame, y), pool_frame, frame, y)
    strategy = QueryByCommittee("kl", n_members=3, random_state=np.random.RandomState(0))
    assert_allclose(from_frame, strategy.scores(pipeline.fit(X, y), pool, X, y))
    counts, pool_counts = (sparse.csr_array(np.abs(rows).round()) for rows in (X, pool))
    model = MultinomialNB().fit(counts, y)
    for committee in ("bagging", "posterior"):
        strategy = QueryByCommittee("kl", committee=committee, random_state=0)
        assert strategy.scores(model, pool_counts, counts, y).max() > 0


NB = [
    (GaussianNB(), lambda X: X),
    (MultinomialNB(), lambda X: np.abs(X).round()),
    (BernoulliNB(), lambda X: X > 0.5),
    (CategoricalNB(min_categories=9), lambda X: np.abs(X).round().astype(int)),
]


@pytest.mark.parametrize(("model", "view"), NB, ids=lambda value: str(value)[:20])
def test_posterior_committees(model, view):
    X, y = blobs(30)
    pool = blobs(20, seed=1)[0]
    fitted = clone(model).fit(view(X), y)
    before = {name: np.copy(value) for name, value in vars(fitted).items() if name == "theta_"}
    for disagreement in ("vote-entropy", "kl"):
        strategy = QueryByCommittee(
            disagreement, committee="posterior", n_members=25, random_state=0
        )
        scores = strategy.scores(fitted, view(pool))
        assert np.isfinite(scores).all()
        assert scores.max() > 0
        assert_array_equal(scores, strategy.scores(fitted, view(pool)))
    for name, value in before.items():
        assert_array_equal(getattr(fitted, name), value)


@pytest.mark.parametrize(("model", "view"), NB[1:], ids=lambda value: str(value)[:20])
def test_discrete_posteriors_have_the_fitted_mean(model, view):
    X, y = blobs(12)
    fitted = clone(model).fit(view(X), y)
    rng = np.random.RandomState(0)
    members = [draw_member(fitted, rng) for _ in range(2000)]

    def flat(m):
        log_p = m.feature_log_prob_
        return np.exp(np.hstack(log_p) if isinstance(log_p, list) else log_p)

    assert_allclose(np.mean([flat(m) for m in members], axis=0), flat(fitted), atol=0.02)
    priors = np.mean([np.exp(m.class_log_prior_) for m in members], axis=0)
    assert_allclose(priors, np.exp(fitted.class_log_prior_), atol=0.02)


def test_gaussian_posterior_moments():
    rng = np.random.RandomState(0)
    each = np.ones((20_000, 1))  # as many classes, all alike
    mu, sigma2 = normal_inverse_chi2(
        9.0 * each.ravel(), 2.0 * each, 3.0 * each, np.array([5.0]), rng
    )
    # E[1/χ²_9] = 1/7, so E σ² = (5 + 27) / 7, and Var μ = E σ² / 9.
    assert_allclose(sigma2.mean(), 32 / 7, rtol=0.03)
    assert_allclose(mu.mean(), 2.0, atol=0.03)
    assert_allclose(mu.var(), 32 / 63, rtol=0.05)


def test_more_rows_agree_more():
    pool = blobs(30, 2, seed=9)[0]
    scores = []
    for n_rows in (6, 600):
        X, y = blobs(n_rows, 2)
        strategy = QueryByCommittee("kl", committee="posterior", n_members=50, random_state=0)
        scores.append(strategy.scores(GaussianNB().fit(X, y), pool).mean())
    assert scores[1] < 0.1 * scores[0]


def test_posterior_keeps_what_was_given():
    X, y = blobs(20, 2)
    rng = np.random.RandomState(0)
    given = GaussianNB(priors=[0.3, 0.7]).fit(X, y)
    assert_array_equal(draw_member(given, rng).class_prior_, [0.3, 0.7])
    uniform = BernoulliNB(fit_prior=False).fit(X > 0, y)
    assert_allclose(np.exp(draw_member(uniform, rng).class_log_prior_), 0.5)
    pipeline = make_pipeline(StandardScaler(), GaussianNB()).fit(X, y)
    strategy = QueryByCommittee("kl", committee="posterior", random_state=0)
    bare = strategy.scores(
        GaussianNB().fit(StandardScaler().fit_transform(X), y), pipeline[:-1].transform(X)
    )
    assert bare.shape == strategy.scores(pipeline, X).shape


def test_dirichlet_without_counts():
    draws = np.exp(log_dirichlet(np.array([[1e-12, 1.0], [2.0, 2.0]]), np.random.RandomState(0)))
    assert_allclose(draws.sum(axis=1), 1.0)


def test_errors():
    X, y = blobs(12)
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="committee='posterior' draws the parameters of a naive"):
        QueryByCommittee(committee="posterior").scores(model, X)
    with pytest.raises(NotFittedError):
        QueryByCommittee(committee="posterior").scores(GaussianNB(), X)
    with pytest.raises(ValueError, match="QueryByCommittee fits the estimator again and needs the"):
        QueryByCommittee().scores(model, X)
    with pytest.raises(ValueError, match="committee holds 1 estimators; with fewer than 2 nobody"):
        QueryByCommittee(committee=[model]).scores(model, X, X, y)
    with pytest.raises(ValueError, match="X_pool is empty"):
        QueryByCommittee().scores(model, X[:0], X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        QueryByCommittee().scores(model, X, X, y[:-1])
    for options in ({"disagreement": "jeffreys"}, {"committee": "boosting"}, {"n_members": 1}):
        (name,) = options
        with pytest.raises(ValueError, match=f"'{name}' parameter of QueryByCommittee"):
            QueryByCommittee(**options).scores(model, X, X, y)
    with pytest.raises(ValueError, match="one row per member"):
        vote_entropy([0, 1])
    with pytest.raises(ValueError, match="n_members, n_samples, n_classes"):
        kl_to_consensus([[0.5, 0.5]])


SEMI = [
    (SemiSupervisedGaussianNB(), GaussianNB(), lambda X: X),
    (SemiSupervisedMultinomialNB(alpha=0.7), MultinomialNB(alpha=0.7), lambda X: np.abs(X).round()),
    (SemiSupervisedBernoulliNB(), BernoulliNB(), lambda X: (X > 0.5).astype(float)),
    (
        SemiSupervisedCategoricalNB(),
        CategoricalNB(min_categories=9),
        lambda X: np.abs(X).round().astype(int),
    ),
]


@pytest.mark.parametrize(("model", "peer", "view"), SEMI, ids=lambda value: str(value)[:26])
def test_posterior_of_semi_supervised_models(model, peer, view):
    X, truth = blobs(40)
    y = np.where(np.arange(40) < 12, truth, -1)
    pool = view(blobs(20, seed=1)[0])
    fitted = clone(model).fit(view(X), y)
    strategy = QueryByCommittee("kl", committee="posterior", n_members=400, random_state=0)
    scores = strategy.scores(fitted, pool, view(X), y)
    assert np.isfinite(scores).all()
    assert scores.max() > 0
    # All rows labeled: the committee is that of scikit-learn's model.
    supervised = clone(model).fit(view(X), truth)
    ours = strategy.scores(supervised, pool, view(X), truth)
    theirs = strategy.scores(clone(peer).fit(view(X), truth), pool, view(X), truth)
    assert_allclose(ours.mean(), theirs.mean(), rtol=0.35)
    assert np.corrcoef(ours, theirs)[0, 1] > 0.8


def test_expected_counts_by_hand():
    X = np.array([[3, 1], [0, 4], [2, 2], [1, 0]])
    y = np.array([0, 1, -1, -1])
    model = SemiSupervisedMultinomialNB(unlabeled_weight=0.3).fit(X, y)
    P = model.predict_proba(X[2:])
    found = expected_model(supervised_twin(model), model, X, X, y)
    expected = np.array([X[0] + 0.3 * P[:, 0] @ X[2:], X[1] + 0.3 * P[:, 1] @ X[2:]])
    assert_allclose(found.feature_count_, expected)
    assert_allclose(found.class_count_, 1 + 0.3 * P.sum(axis=0))


def test_em_of_a_member_ends_at_a_fixed_point_of_em():
    X, truth = blobs(60, 2)
    y = np.where(np.arange(60) < 8, truth, -1)
    member = em_member(GaussianNB(), X, y, 2, np.random.RandomState(0), max_iter=500, tol=1e-10)
    P = np.eye(2)[np.maximum(y, 0)]
    P[y < 0] = member.predict_proba(X[y < 0])
    total = P.sum(axis=0)
    mean = P.T @ X / total[:, None]
    assert_allclose(member.theta_, mean, atol=1e-6)
    assert_allclose(member.class_prior_, total / 60, atol=1e-6)
    # Without unlabeled rows there is nothing to improve: a draw from the posterior.
    drawn = em_member(GaussianNB(), X, truth, 2, np.random.RandomState(3))
    again = draw_member(GaussianNB().fit(X, truth), np.random.RandomState(3))
    assert_allclose(drawn.theta_, again.theta_)


def test_em_settles_what_few_labels_leave_open():
    # Two clusters far apart: a draw from two labels per class may put the border anywhere, and
    # EM puts it back into the gap.
    rng = np.random.default_rng(4)
    truth = np.arange(90) % 2
    X = 8.0 * truth[:, None] + rng.normal(size=(90, 1))
    y = np.where(np.arange(90) < 4, truth, -1)
    pool = X[y < 0]
    alone = GaussianNB().fit(X[y >= 0], y[y >= 0])
    early = QueryByCommittee("kl", committee="posterior", n_members=15, random_state=0)
    late = QueryByCommittee("kl", committee="posterior-em", n_members=15, random_state=0)
    for model in (alone, SemiSupervisedGaussianNB().fit(X, y)):
        assert late.scores(model, pool, X, y).mean() < 0.2 * early.scores(alone, pool).mean()


@pytest.mark.parametrize(("committee", "n_runs"), [("posterior", 0), ("posterior-em", 3)])
def test_each_member_of_one_committee_alone_runs_em(committee, n_runs, monkeypatch):
    X, truth = blobs(40, 2)
    y = np.where(np.arange(40) < 12, truth, -1)
    model, runs = SemiSupervisedGaussianNB().fit(X, y), []

    def counted(*args, **kwargs):
        runs.append(args)
        return em_member(*args, **kwargs)

    monkeypatch.setattr(_committee, "em_member", counted)
    QueryByCommittee(committee=committee, n_members=3, random_state=0).scores(model, X, X, y)
    assert len(runs) == n_runs


def test_posterior_needs_rows_and_one_component():
    X, truth = blobs(40, 2)
    y = np.where(np.arange(40) < 12, truth, -1)
    model = SemiSupervisedGaussianNB().fit(X, y)
    with pytest.raises(ValueError, match="needs the training rows"):
        QueryByCommittee(committee="posterior").scores(model, X)
    several = SemiSupervisedGaussianNB(n_components=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="one component per class"):
        QueryByCommittee(committee="posterior-em").scores(several, X, X, y)
    fixed = SemiSupervisedGaussianNB(prior=[0.3, 0.7]).fit(X, y)
    assert_allclose(supervised_twin(fixed).priors, [0.3, 0.7])


@given(st.integers(0, 10_000))
def test_density_of_documents_by_its_definition(seed):
    rng = np.random.default_rng(seed)
    X = rng.poisson(1.0, (7, 5)).astype(float)
    X[:, 0] += 1
    X[3] = 0  # an empty document says nothing about the others
    P = X.sum(axis=0) / X.sum()
    shares = X / np.maximum(X.sum(axis=1, keepdims=True), 1)
    expected = []
    for i in range(7):
        mixed = 0.5 * shares[i] + 0.5 * P
        divergence = [
            sum(p * np.log(p / m) for p, m in zip(shares[h], mixed, strict=True) if p > 0)
            for h in range(7)
            if h != 3
        ]
        expected.append(np.exp(-np.mean(divergence)))
    assert_allclose(kl_density(X), expected)
    assert_allclose(kl_density(sparse.csr_array(X)), expected)


def test_density_of_documents_refuses_negative_values():
    with pytest.raises(ValueError, match="similarity='kl' compares shares of words"):
        kl_density(np.array([[1.0, -1.0]]))
    assert_allclose(kl_density(np.zeros((2, 3))), 1.0)
