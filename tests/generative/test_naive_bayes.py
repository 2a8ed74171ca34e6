"""The naive Bayes models against scikit-learn, and what the theory of EM promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB

from leaven.generative import (
    ClassPrior,
    SemiSupervisedBernoulliNB,
    SemiSupervisedCategoricalNB,
    SemiSupervisedGaussianNB,
    SemiSupervisedMixedNB,
    SemiSupervisedMultinomialNB,
)

from .problems import (
    MODELS,
    class_prior_of,
    counts,
    em_by_scikit_learn,
    hide,
    numbers,
    parameters_of,
)

each_model = pytest.mark.parametrize("name", MODELS)


def assert_same_model(ours, peer, X, tolerance=1e-9):
    assert_allclose(parameters_of(ours), parameters_of(peer), atol=tolerance, rtol=tolerance)
    assert_allclose(class_prior_of(ours), class_prior_of(peer), atol=tolerance)
    assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=tolerance)


@each_model
@pytest.mark.parametrize("prior", [None, "uniform", [0.2, 0.5, 0.3]])
def test_all_rows_labeled_is_scikit_learn(name, prior):
    ours, peer, make, settings_ = MODELS[name]
    X, y = make(np.random.default_rng(0))
    names = np.array(["ham", "eggs", "spam"])[y]
    proportions = [1 / 3] * 3 if prior == "uniform" else prior
    theirs = {"priors" if name == "gaussian" else "class_prior": proportions}
    model = ours(**settings_, prior=prior).fit(X, names)
    assert_same_model(model, peer(**settings_, **theirs).fit(X, names), X)
    assert model.converged_


def test_defaults_are_scikit_learns():
    X, y = counts(np.random.default_rng(1))
    for ours, peer in [
        (SemiSupervisedMultinomialNB, MultinomialNB),
        (SemiSupervisedBernoulliNB, BernoulliNB),
        (SemiSupervisedGaussianNB, GaussianNB),
    ]:
        assert_same_model(ours().fit(X, y), peer().fit(X, y), X)


def test_one_pseudo_count_a_feature():
    X, y = counts(np.random.default_rng(1))
    alpha = np.linspace(0.1, 3, X.shape[1])
    model = SemiSupervisedMultinomialNB(alpha=alpha).fit(X, y)
    assert_same_model(model, MultinomialNB(alpha=alpha).fit(X, y), X)
    # The peer cannot do this for yes-no features, but each of them stands alone.
    model = SemiSupervisedBernoulliNB(alpha=alpha).fit(X, y)
    for j, own in enumerate(alpha):
        alone = BernoulliNB(alpha=own).fit(X[:, [j]], y)
        assert_allclose(model.feature_log_prob_[:, [j]], alone.feature_log_prob_, rtol=1e-12)


@each_model
@pytest.mark.parametrize("n_iter", [1, 4])
def test_iterations_equal_em_written_with_scikit_learn(name, n_iter):
    ours, peer, make, settings_ = MODELS[name]
    rng = np.random.default_rng(2)
    X, y = make(rng)
    labels = hide(rng, y)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = ours(**settings_, max_iter=n_iter, tol=0.0).fit(X, labels)
    oracle = em_by_scikit_learn(peer(**settings_), X, labels, n_iter)
    assert_same_model(model, oracle, X)
    assert model.n_iter_ == n_iter
    assert model.stop_reason_ == "max_iter"
    assert not model.converged_
    free = labels < 0
    assert_allclose(model.label_distributions_[free], oracle.predict_proba(X[free]), atol=1e-9)
    assert_array_equal(model.transduction_[~free], labels[~free])


@each_model
@pytest.mark.parametrize("weighting", ["unlabeled", "convex", "normalized"])
def test_weight_zero_is_exactly_supervised(name, weighting):
    ours, peer, make, settings_ = MODELS[name]
    rng = np.random.default_rng(3)
    X, y = make(rng)
    labels = hide(rng, y, per_class=12)
    model = ours(**settings_, unlabeled_weight=0.0, weighting=weighting).fit(X, labels)
    known = labels >= 0
    assert_same_model(model, peer(**settings_).fit(X[known], labels[known]), X, 1e-12)


@each_model
def test_which_weight_of_each_form_is_plain_em(name):
    ours, _, make, settings_ = MODELS[name]
    rng = np.random.default_rng(4)
    X, y = make(rng)
    labels = hide(rng, y, per_class=4)
    n_labeled, n_unlabeled = (labels >= 0).sum(), (labels < 0).sum()
    normalized = n_unlabeled / (n_labeled + n_unlabeled)
    more = {"max_iter": 5000, "tol": 1e-14}
    plain = ours(**settings_, **more).fit(X, labels)
    model = ours(**settings_, weighting="normalized", unlabeled_weight=normalized, **more)
    model.fit(X, labels)
    assert_allclose(parameters_of(model), parameters_of(plain), rtol=1e-9)
    assert_allclose(model.objective_trace_, plain.objective_trace_, rtol=1e-12)
    # In equation (4.5) every row weighs a half at λ = 1/2, and half a pseudo-count matches it.
    # The start, which is the supervised estimate, is another then: compare where both end.
    halved = {name: value / 2 if name == "alpha" else value for name, value in settings_.items()}
    model = ours(**halved, weighting="convex", unlabeled_weight=0.5, **more).fit(X, labels)
    assert_allclose(parameters_of(model), parameters_of(plain), rtol=1e-3)
    assert_allclose(model.objective_trace_[-1], plain.objective_trace_[-1] / 2, rtol=1e-9)


@pytest.mark.parametrize("weight", [0.3, 0.5, 0.8])
def test_convex_is_equation_4_5_as_printed(weight):
    # Two iterations of Saeed (2018), (4.5), written out: (1 - λ) and λ, + 1, + C and + S_j.
    rng = np.random.default_rng(8)
    X = rng.integers(0, [2, 3, 4], size=(30, 3))
    y = np.where(np.arange(30) < 6, np.arange(30) % 2, -1)
    X[:4] = [[1, 2, 3], [0, 1, 0], [1, 0, 2], [0, 2, 1]]
    sizes = [2, 3, 4]

    def estimate(q, weights):
        N = weights @ q
        prior = (N + 1) / (N.sum() + 2)
        tables = [
            np.array([(weights * (X[:, j] == s)) @ q + 1 for s in range(S)]) / (N + S)
            for j, S in enumerate(sizes)
        ]
        joint = np.array(
            [prior * np.prod([tables[j][row[j]] for j in range(3)], axis=0) for row in X]
        )
        return joint / joint.sum(axis=1, keepdims=True)

    labeled = y >= 0
    q = np.eye(2)[np.where(labeled, y, 0)]
    posterior = estimate(q, labeled.astype(float))
    for _ in range(2):
        q = np.where(labeled[:, None], q, posterior)
        posterior = estimate(q, np.where(labeled, 1 - weight, weight))
    model = SemiSupervisedCategoricalNB(
        min_categories=sizes,
        prior=ClassPrior(smoothing=1.0),
        weighting="convex",
        unlabeled_weight=weight,
        max_iter=2,
        tol=0.0,
    )
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert_allclose(model.predict_proba(X), posterior, atol=1e-12)


@pytest.mark.parametrize("weight", [0.1, 0.7])
@pytest.mark.parametrize("weighting", ["unlabeled", "convex", "normalized"])
def test_weights_between_are_those_of_the_sources(weighting, weight):
    rng = np.random.default_rng(5)
    X, y = numbers(rng)
    labels = hide(rng, y)
    n_labeled, n_unlabeled = (labels >= 0).sum(), (labels < 0).sum()
    by_source = {
        "unlabeled": (1.0, weight),
        "convex": (1 - weight, weight),
        "normalized": ((1 - weight) / n_labeled, weight / n_unlabeled),
    }[weighting]
    # Without smoothing a common factor of the weights does not matter: the printed formulas.
    oracle = em_by_scikit_learn(GaussianNB(var_smoothing=0.0), X, labels, 3, *by_source)
    model = SemiSupervisedGaussianNB(
        var_smoothing=0.0, weighting=weighting, unlabeled_weight=weight, max_iter=3, tol=0.0
    )
    with pytest.warns(ConvergenceWarning):
        model.fit(X, labels)
    assert_same_model(model, oracle, X)


def test_convex_weight_one_forgets_the_labels_after_the_start():
    rng = np.random.default_rng(6)
    X, y = numbers(rng)
    labels = hide(rng, y)
    oracle = em_by_scikit_learn(GaussianNB(var_smoothing=0.0), X, labels, 3, 0.0, 1.0)
    model = SemiSupervisedGaussianNB(
        var_smoothing=0.0, weighting="convex", unlabeled_weight=1.0, max_iter=3, tol=0.0
    )
    with pytest.warns(ConvergenceWarning):
        model.fit(X, labels)
    assert_same_model(model, oracle, X)


OPTIONS = st.fixed_dictionaries(
    {
        "weighting": st.sampled_from(["unlabeled", "convex", "normalized"]),
        "unlabeled_weight": st.sampled_from([0.02, 0.5, 0.9, 1.0]),
        "n_components": st.sampled_from([1, 2, 4]),
        "init": st.sampled_from(["random", "tree", "kmeans"]),
        "hard": st.booleans(),
        "prior": st.builds(
            ClassPrior, st.sampled_from([None, "uniform"]), st.sampled_from([0.0, 1.0])
        ),
        "component_classes": st.sampled_from(["fixed", "learned"]),
    }
)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", [*MODELS, "mixed"])
@given(options=OPTIONS, smoothing=st.sampled_from([1e-9, 0.01, 1.0]), seed=st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_the_objective_never_falls(name, options, smoothing, seed):
    rng = np.random.default_rng(seed)
    if options["component_classes"] == "learned":
        options = options | {"prior": ClassPrior(smoothing=options["prior"].smoothing)}
    if name == "mixed":
        X, y = numbers(rng)
        X[:, 0] = rng.poisson(1 + y)
        model = SemiSupervisedMixedNB(
            categorical_features=[0], alpha=smoothing, var_smoothing=smoothing
        )
    else:
        ours, _, make, _ = MODELS[name]
        X, y = make(rng)
        setting = "var_smoothing" if name == "gaussian" else "alpha"
        model = ours(**{setting: smoothing})
    labels = hide(rng, y, per_class=4)
    model.set_params(**options, max_iter=60, tol=1e-12, random_state=0).fit(X, labels)
    trace = model.objective_trace_
    assert np.isfinite(trace).all()
    assert (np.diff(trace) >= -1e-9 * np.abs(trace[1:])).all()
    assert_allclose(model.label_distributions_.sum(axis=1), 1.0)


def test_epsilon_in_the_m_step_alone_would_go_downhill():
    # Why the Gaussian model has its noise term: EM by scikit-learn adds epsilon to variances
    # and measures by the plain likelihood, which here falls.
    rng = np.random.default_rng(7)
    X, y = numbers(rng, n_rows=60)
    labels = hide(rng, y, per_class=3)
    peer = GaussianNB(var_smoothing=0.5)
    likelihoods = []
    for n_iter in range(12):
        em_by_scikit_learn(peer, X, labels, n_iter)
        joint = peer.predict_joint_log_proba(X)
        known = labels >= 0
        likelihoods.append(
            joint[known, labels[known]].sum() + np.logaddexp.reduce(joint[~known], axis=1).sum()
        )
    assert np.diff(likelihoods).min() < -0.01
    model = SemiSupervisedGaussianNB(var_smoothing=0.5, max_iter=500).fit(X, labels)
    assert np.diff(model.objective_trace_).min() >= -1e-9


@each_model
def test_hard_em_ends_at_a_partition_that_repeats(name):
    ours, peer, make, settings_ = MODELS[name]
    rng = np.random.default_rng(8)
    X, y = make(rng, n_rows=150)
    labels = hide(rng, y)
    # It stops at the partition, not at a small change, however coarse the tolerance.
    model = ours(**settings_, hard=True, tol=0.5).fit(X, labels)
    again = peer(**settings_).fit(X, model.transduction_)
    free = labels < 0
    assert_array_equal(again.predict(X)[free], model.transduction_[free])
    assert_allclose(parameters_of(model), parameters_of(again), rtol=1e-9)
    assert model.converged_


def test_sparse_and_dense_and_integer_counts_agree():
    rng = np.random.default_rng(9)
    X, y = counts(rng)
    labels = hide(rng, y)
    for ours in (SemiSupervisedMultinomialNB, SemiSupervisedBernoulliNB):
        dense = ours().fit(X, labels)
        for form in (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix):
            other = ours().fit(form(X.astype(float)), labels)
            assert_allclose(other.feature_log_prob_, dense.feature_log_prob_, rtol=1e-12)
            proba = other.predict_proba(form(X.astype(np.float32)))
            assert_allclose(proba, dense.predict_proba(X), atol=1e-12)


def test_fit_leaves_its_input_alone_and_repeats_itself():
    rng = np.random.default_rng(10)
    X, y = numbers(rng)
    labels = hide(rng, y)
    X_before, labels_before = X.copy(), labels.copy()
    model = SemiSupervisedGaussianNB(n_components=2, random_state=3)
    first = model.fit(X, labels).predict_proba(X)
    assert_array_equal(model.fit(X, labels).predict_proba(X), first)
    assert_array_equal(X, X_before)
    assert_array_equal(labels, labels_before)


def test_no_underflow_with_long_documents_and_many_classes():
    rng = np.random.default_rng(11)
    n_classes, n_terms, n_rows, words = 300, 10_000, 360, 100_000
    y = np.resize(np.arange(n_classes), n_rows)
    theta = rng.dirichlet(np.full(n_terms, 0.01), size=n_classes)
    blocks = [sparse.csr_matrix(rng.multinomial(words, theta[code])[None, :]) for code in y]
    X = sparse.vstack(blocks, format="csr").astype(float)
    labels = np.where(np.arange(n_rows) < n_classes, y, -1)
    for model in (SemiSupervisedMultinomialNB(), SemiSupervisedBernoulliNB()):
        model.fit(X, labels)
        assert np.isfinite(model.objective_trace_).all()
        assert np.isfinite(model.feature_log_prob_).all()
        assert_allclose(model.label_distributions_.sum(axis=1), 1.0)
        assert (model.transduction_ == y).all()


def test_verbose_logs_one_line_an_iteration(caplog):
    rng = np.random.default_rng(12)
    X, y = numbers(rng)
    with caplog.at_level("INFO", logger="leaven"):
        model = SemiSupervisedGaussianNB(verbose=1).fit(X, hide(rng, y))
    assert len(caplog.records) == model.n_iter_
    assert f"{model.objective_trace_[-1]:.9g}" in caplog.records[-1].getMessage()


def test_progress_changes_nothing(capsys):
    rng = np.random.default_rng(12)
    X, y = numbers(rng)
    labels = hide(rng, y)
    quiet = SemiSupervisedGaussianNB().fit(X, labels)
    shown = SemiSupervisedGaussianNB(progress=True).fit(X, labels)
    assert_array_equal(shown.label_distributions_, quiet.label_distributions_)
    assert capsys.readouterr().out.strip() == ""  # stdout is for data
