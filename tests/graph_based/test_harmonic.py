"""Harmonic functions against the dense formulas of Zhu, Ghahramani and Lafferty (2003)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from leaven.exceptions import ConvergenceWarning, UnreachedWarning
from leaven.graph import FullGraph, Gaussian, GivenGraph, KNNGraph
from leaven.graph_based import (
    HarmonicClassifier,
    class_mass_normalization,
    estimate_proportions,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
W = FullGraph(weight=Gaussian(0.8)).build(X).adjacency.toarray()
Y = np.full(60, -1)
Y[:9] = [0, 1, 2] * 3


def dense_harmonic(W, y):
    """Equation (5), with the labels as one-hot rows."""
    given = y >= 0
    L = np.diag(W.sum(axis=1)) - W
    f = np.zeros((len(y), y.max() + 1))
    f[given] = np.eye(y.max() + 1)[y[given]]
    f[~given] = -np.linalg.solve(L[np.ix_(~given, ~given)], L[np.ix_(~given, given)] @ f[given])
    return f


def two_rings(n=60):
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    rows = np.vstack([ring, 3 * ring])
    y = np.full(2 * n, -1)
    y[[0, n]] = [0, 1]
    return rows, y


@pytest.mark.parametrize("solver", ["auto", "direct", "cg", "amg", "propagation"])
def test_equals_the_dense_formula(solver):
    pytest.importorskip("pyamg")
    model = HarmonicClassifier(GivenGraph(W), prior=None, solver=solver, tol=1e-11).fit(X, Y)
    assert_allclose(model.scores_, dense_harmonic(W, Y), atol=1e-8)
    assert_array_equal(model.transduction_, dense_harmonic(W, Y).argmax(axis=1))
    assert model.converged_


@pytest.mark.parametrize("n_classes", [2, 3, 50, 200])
def test_any_number_of_classes(n_classes):
    rng = np.random.default_rng(n_classes)
    rows = rng.normal(size=(n_classes + 40, 2))
    y = np.full(len(rows), -1)
    y[:n_classes] = rng.permutation(n_classes)
    graph = KNNGraph(20)
    model = HarmonicClassifier(graph).fit(rows, y)
    assert_allclose(
        model.scores_, dense_harmonic(graph.build(rows).adjacency.toarray(), y), atol=1e-8
    )


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="1 class only"):
        HarmonicClassifier().fit(X, np.where(np.arange(60) < 3, 0, -1))


@given(seed=st.integers(0, 10_000), n_labeled=st.integers(2, 10))
@settings(max_examples=25, deadline=None)
def test_maximum_principle(seed, n_labeled):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(30, 2))
    y = np.full(30, -1)
    y[:n_labeled] = np.arange(n_labeled) % 2
    model = HarmonicClassifier(FullGraph()).fit(rows, y)
    inner = model.scores_[n_labeled:]
    assert (inner > 0).all()
    assert (inner < 1).all()
    assert_allclose(model.scores_.sum(axis=1), 1.0)
    neighbors = model.graph_.adjacency @ model.scores_ / model.graph_.degree[:, None]
    assert_allclose(inner, neighbors[n_labeled:], atol=1e-9)


def test_is_where_a_random_walk_ends():
    graph = KNNGraph(4, weight=Gaussian(1.0)).build(X)
    P = graph.adjacency.toarray() / graph.degree[:, None]
    model = HarmonicClassifier(GivenGraph(graph)).fit(X, Y)
    rng = np.random.default_rng(1)
    start, n_walks = 20, 4_000
    place = np.full(n_walks, start)
    while (Y[place] < 0).any():
        walking = np.flatnonzero(Y[place] < 0)
        steps = (P[place[walking]].cumsum(axis=1) > rng.random((len(walking), 1))).argmax(axis=1)
        place[walking] = steps
    shares = np.bincount(Y[place], minlength=3) / n_walks
    assert_allclose(shares, model.scores_[start], atol=4 * np.sqrt(0.25 / n_walks))


def test_class_mass_normalization_by_hand():
    f = np.array([[0.9, 0.1], [0.7, 0.3], [0.8, 0.2]])
    q = np.array([0.25, 0.75])
    expected = np.array([[q[0] * a / 2.4, q[1] * b / 0.6] for a, b in f])
    expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(class_mass_normalization(f, q), expected)
    for scores, prior, message in [
        (f, [0.2, 0.3, 0.5], "prior has shape"),
        (-f, q, "must not be negative"),
    ]:
        with pytest.raises(ValueError, match=message):
            class_mass_normalization(scores, prior)
    # A class without any mass has nothing to scale.
    assert_allclose(class_mass_normalization([[1, 0], [1, 0]], q), [[1, 0], [1, 0]])


@pytest.mark.parametrize("prior", ["labeled", "uniform", [0.2, 0.3, 0.5], {0: 0.2, 1: 0.3, 2: 0.5}])
def test_prior_switches_class_mass_normalization_on(prior):
    model = HarmonicClassifier(GivenGraph(W), prior=prior).fit(X, Y)
    q = [1 / 3, 1 / 3, 1 / 3] if isinstance(prior, str) else [0.2, 0.3, 0.5]
    assert_allclose(model.scores_, dense_harmonic(W, Y), atol=1e-8)
    f = dense_harmonic(W, Y)[9:]
    assert_allclose(model.label_distributions_[9:], class_mass_normalization(f, q), atol=1e-8)
    assert_allclose(model.label_distributions_[:9], np.eye(3)[Y[:9]])


def augmented(W, y, h, eta, rho):
    """Equation (10) on the graph with a dongle node for every row, solved as one system."""
    n, k = h.shape
    P = W / W.sum(axis=1, keepdims=True)
    given = y >= 0
    stay = np.where(given, 1 - rho, eta)  # probability of the step to the dongle
    target = np.where(given[:, None], np.eye(k)[y], h)
    if rho == 0:
        stay = np.where(given, 1.0, eta)
    A = np.eye(n) - (1 - stay)[:, None] * P
    return np.linalg.solve(A, stay[:, None] * target)


@pytest.mark.parametrize(("eta", "rho"), [(0.1, 0.0), (0.4, 0.0), (0.1, 0.3)])
def test_external_classifier(eta, rho):
    rng = np.random.default_rng(1)
    h = rng.dirichlet(np.ones(3), size=60)
    model = HarmonicClassifier(GivenGraph(W), external=h, external_weight=eta, label_noise=rho).fit(
        X, Y
    )
    assert_allclose(model.scores_, augmented(W, Y, h, eta, rho), atol=1e-8)


def test_noisy_labels_can_be_overruled():
    model = HarmonicClassifier(GivenGraph(W), prior=None, label_noise=0.4).fit(X, Y)
    zero = augmented(W, Y, np.zeros((60, 3)), 0.0, 0.4)
    assert_allclose(model.scores_, zero, atol=1e-8)
    assert model.label_distributions_[:9].max() < 1
    wrong = Y.copy()
    rows, partly = two_rings()
    partly[1:8] = 0
    partly[4] = 1  # a mistake among its neighbors
    model = HarmonicClassifier(KNNGraph(2), prior=None, label_noise=0.7).fit(rows, partly)
    assert model.transduction_[4] == 0
    assert HarmonicClassifier(KNNGraph(2), prior=None).fit(rows, partly).transduction_[4] == 1
    assert_array_equal(wrong, Y)


def test_external_estimator_is_fitted_on_the_labeled_rows():
    peer = LogisticRegression().fit(X[:9], Y[:9])
    model = HarmonicClassifier(GivenGraph(W), external=LogisticRegression()).fit(X, Y)
    expected = augmented(W, Y, peer.predict_proba(X), 0.1, 0.0)
    assert_allclose(model.scores_, expected, atol=1e-8)
    with pytest.raises(ValueError, match="external has shape"):
        HarmonicClassifier(external=np.ones((60, 2))).fit(X, Y)
    with pytest.raises(ValueError, match="rows that sum to 1"):
        HarmonicClassifier(external=np.ones((60, 3))).fit(X, Y)


def test_external_estimator_without_probabilities_counts_with_its_class():
    peer = LinearSVC().fit(X[:9], Y[:9])
    model = HarmonicClassifier(GivenGraph(W), external=LinearSVC()).fit(X, Y)
    expected = augmented(W, Y, np.eye(3)[peer.predict(X)], 0.1, 0.0)
    assert_allclose(model.scores_, expected, atol=1e-8)


def test_default_prior_is_the_estimate():
    model = HarmonicClassifier(GivenGraph(W)).fit(X, Y)
    estimate = estimate_proportions(model.graph_, Y, 3)
    given = HarmonicClassifier(GivenGraph(W), prior=estimate.chosen).fit(X, Y)
    assert_allclose(model.label_distributions_, given.label_distributions_)
    assert_allclose(model.class_proportions_.standard_errors, estimate.standard_errors)


@pytest.mark.parametrize("weight", ["gaussian", "cosine"])
def test_an_empty_document_gets_the_class_proportions(weight):
    rows = np.abs(RNG.normal(size=(40, 5)))
    rows[[7, 30]] = 0.0
    y = np.full(40, -1)
    y[:5] = [0, 1, 1, 0, 1]
    order = RNG.permutation(40)
    for chosen in (np.arange(40), order):
        with pytest.warns(UnreachedWarning, match="2 of 40 rows"):
            model = HarmonicClassifier(KNNGraph(5, metric="cosine", weight=weight)).fit(
                rows[chosen], y[chosen]
            )
        empty = np.zeros((2, 5))
        assert_allclose(model.predict_proba(empty), [[0.4, 0.6]] * 2)
        assert_allclose(model.predict_proba(sparse.csr_array(empty)), [[0.4, 0.6]] * 2)
        new = rows[chosen]
        assert_array_equal(model.predict(new), model.predict(new.copy()))
        found = model.label_distributions_[np.isin(chosen, [7, 30])]
        assert_allclose(found, [[0.4, 0.6]] * 2)


def test_components_without_a_label_get_the_labeled_proportions():
    rows = np.vstack([X, X + 100.0])
    y = np.concatenate([Y, np.full(60, -1)])
    y[5] = 0
    with pytest.warns(UnreachedWarning, match="60 of 120 rows, in 1 components"):
        model = HarmonicClassifier(KNNGraph(5), prior="uniform").fit(rows, y)
    assert model.n_unreached_ == 60
    assert_allclose(model.label_distributions_[60:], [[4 / 9, 3 / 9, 2 / 9]] * 60)
    alone = HarmonicClassifier(KNNGraph(5), prior="uniform").fit(X, y[:60])
    assert_allclose(model.label_distributions_[:60], alone.label_distributions_, atol=1e-8)
    # With an external classifier every row hears of a class.
    h = np.tile([0.2, 0.3, 0.5], (120, 1))
    model = HarmonicClassifier(KNNGraph(5), prior=None, external=h).fit(rows, y)
    assert_allclose(model.label_distributions_[60:], h[60:])
    # A row without any edge has only its external prediction, or its label.
    lonely = np.zeros((4, 4))
    lonely[0, 1] = lonely[1, 0] = 1.0
    model = HarmonicClassifier(GivenGraph(lonely), external=[[0.3, 0.7]] * 4, label_noise=0.2).fit(
        np.zeros((4, 1)), [0, -1, 1, -1]
    )
    assert_allclose(model.scores_[2:], [[0, 1], [0.3, 0.7]])


def test_new_rows():
    model = HarmonicClassifier(KNNGraph(5), prior="labeled").fit(X, Y)
    assert_array_equal(model.predict(X), model.transduction_)
    assert_allclose(model.predict_proba(X), model.label_distributions_, atol=1e-12)
    new = X[:4] + 0.05
    weights = model.graph_builder_.weights_to(new).toarray()
    f = weights @ model.scores_ / weights.sum(axis=1, keepdims=True)
    q = model.class_factors_
    assert_allclose(model.predict_proba(new), f * q / (f * q).sum(axis=1, keepdims=True))


@given(seed=st.integers(0, 1_000))
@settings(max_examples=15, deadline=None)
def test_permuting_rows_or_classes_permutes_the_answer(seed):
    rng = np.random.default_rng(seed)
    rows, names = rng.permutation(60), rng.permutation(3)
    base = HarmonicClassifier(KNNGraph(5), prior="labeled").fit(X, Y)
    moved = HarmonicClassifier(KNNGraph(5), prior="labeled").fit(X[rows], Y[rows])
    assert_allclose(moved.label_distributions_, base.label_distributions_[rows], atol=1e-9)
    renamed = HarmonicClassifier(KNNGraph(5), prior="labeled").fit(X, np.where(Y < 0, -1, names[Y]))
    assert_allclose(renamed.label_distributions_[:, names], base.label_distributions_, atol=1e-9)


def test_scaling_all_weights_changes_nothing():
    base = HarmonicClassifier(GivenGraph(W)).fit(X, Y)
    scaled = HarmonicClassifier(GivenGraph(37.0 * W)).fit(X, Y)
    assert_allclose(base.scores_, scaled.scores_, atol=1e-10)


def test_structure_beats_distance_on_rings_and_moons():
    rows, y = two_rings()
    assert_array_equal(HarmonicClassifier().fit(rows, y).transduction_, np.repeat([0, 1], 60))
    rows, truth = make_moons(300, noise=0.05, random_state=0)
    y = np.full(300, -1)
    y[[np.flatnonzero(truth == 0)[0], np.flatnonzero(truth == 1)[0]]] = [0, 1]
    assert (HarmonicClassifier().fit(rows, y).transduction_ == truth).mean() > 0.98


def test_names_dtypes_sparse_and_missing_marks():
    names = np.array(["a", "b", "c", None], dtype=object)[Y]
    model = HarmonicClassifier().fit(X, names)
    assert model.transduction_.dtype == object
    assert_array_equal(
        model.transduction_, np.array(["a", "b", "c"])[HarmonicClassifier().fit(X, Y).transduction_]
    )
    S = sparse.csr_array(np.abs(X))
    assert_allclose(
        HarmonicClassifier(KNNGraph(metric="cosine")).fit(S, Y).scores_,
        HarmonicClassifier(KNNGraph(metric="cosine")).fit(S.toarray(), Y).scores_,
        atol=1e-8,
    )
    low = HarmonicClassifier().fit(X.astype(np.float32), Y)
    assert low.label_distributions_.dtype == np.float32


def test_everything_labeled_is_allowed():
    model = HarmonicClassifier(prior="labeled").fit(X, np.arange(60) % 3)
    assert_array_equal(model.transduction_, np.arange(60) % 3)


def test_a_fitted_graph_is_shared():
    builder = KNNGraph(5).fit(X)
    frozen = FrozenEstimator(builder)
    model = HarmonicClassifier(frozen).fit(X, Y)
    assert model.graph_ is builder.graph_
    assert_allclose(model.scores_, HarmonicClassifier(KNNGraph(5)).fit(X, Y).scores_)
    with pytest.raises(ValueError, match="The graph has 60 nodes, but y has 50 rows"):
        HarmonicClassifier(frozen).fit(X[:50], Y[:50])


def test_pipeline_grid_search_and_clone():
    model = make_pipeline(StandardScaler(), HarmonicClassifier())
    search = GridSearchCV(model, {"harmonicclassifier__prior": [None, "labeled"]}, cv=3)
    search.fit(X, np.arange(60) % 2)
    builder = KNNGraph(5)
    fitted = clone(HarmonicClassifier(builder)).fit(X, Y)
    assert not hasattr(builder, "graph_")
    assert fitted.graph is not None


def test_not_converged_is_said():
    with pytest.warns(ConvergenceWarning, match="'propagation' stopped after 2 iterations"):
        model = HarmonicClassifier(solver="propagation", max_iter=2).fit(X, Y)
    assert not model.converged_


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"solver": "other"}, "The 'solver' parameter of HarmonicClassifier must be"),
        ({"label_noise": 1.0}, "The 'label_noise' parameter"),
        ({"external_weight": 0.0}, "The 'external_weight' parameter"),
        ({"prior": "other"}, "The 'prior' parameter"),
        ({"prior": [0.5, 0.5]}, "there are 3 classes"),
        ({"graph": "knn"}, "The 'graph' parameter"),
    ],
)
def test_bad_parameters(params, message):
    for graph in (GivenGraph(W), None):
        with pytest.raises(ValueError, match=message):
            HarmonicClassifier(**{"graph": graph, **params}).fit(X, Y)


def test_bad_data():
    with pytest.raises(ValueError, match="NaN"):
        HarmonicClassifier().fit(np.where(X > 2, np.nan, X), Y)
    for graph in (GivenGraph(W), None):
        with pytest.raises(ValueError, match="y is None"):
            HarmonicClassifier(graph).fit(X, None)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            HarmonicClassifier(graph).fit(X, Y[:50])
