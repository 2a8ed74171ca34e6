"""Documents and digits of Lefakis: pieces on small data, registry, methods on fake images."""

from __future__ import annotations

import os

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.neighbors import KNeighborsClassifier

from leaven.generative import SemiSupervisedGaussianMixture
from leaven.graph import KNNGraph
from leaven.graph_based import HarmonicClassifier
from leaven.self_labeling import SelfTrainingClassifier
from studies import TABLES
from studies import transduction_digits as s4
from studies import transduction_documents as documents
from studies.prepared import (
    OnRows,
    RememberedAnswers,
    RememberedKMeans,
    RowGraph,
    prepared,
    row_numbers,
)
from studies.registry import Run, is_installed

needs_data = pytest.mark.skipif(
    not os.environ.get("LEAVEN_DATA"), reason="LEAVEN_DATA is not set: no files of data sets"
)
X, Y = make_blobs([20, 20, 20], n_features=4, cluster_std=0.5, random_state=0)
MADE = []


def blobs(scale: float = 1.0) -> np.ndarray:
    MADE.append(scale)
    return scale * X


def blob_graph() -> object:
    return KNNGraph(4).build(X)


def partly(n_labeled: int, order: np.ndarray) -> np.ndarray:
    y = Y[order].astype(int)
    y[n_labeled:] = -1
    return y


def test_terms_by_all_labels_do_not_look_at_the_rows_they_are_fitted_on(monkeypatch):
    counts = np.array([[3, 0, 1, 2], [2, 0, 2, 1], [0, 2, 1, 3], [0, 4, 2, 2], [0, 1, 1, 1]])
    y = np.array([0, 0, 1, 1, 1])
    monkeypatch.setattr(documents, "documents", lambda: (sparse.csr_array(counts), y))
    prepared.cache_clear()
    terms = documents.TermsByAll("information-gain", 2).fit(counts[:1], y[:1])
    # The first two words are in one class only, the others in every document.
    assert_array_equal(terms.transform(sparse.csr_array(counts)).toarray(), counts[:, :2])
    prepared.cache_clear()


def maps(per_class: int) -> np.ndarray:
    return np.random.default_rng(per_class).integers(0, 9, (40, 12)).astype(float)


def test_graphs_of_maps_from_distances_that_are_computed_once(monkeypatch):
    monkeypatch.setitem(s4.VIEWS, "feature map", maps)
    monkeypatch.setattr(s4, "NEIGHBORS_KEPT", 7)
    M = maps(3)
    found = s4.digit_graph("feature map", 3).adjacency.toarray()
    expected = KNNGraph(5, metric=s4.som_distance).build(M).adjacency.toarray()
    assert_allclose(found, expected, atol=1e-6)
    weights = s4.affinities("feature map", 1.7, 3).adjacency.toarray()
    fields = np.hypot(M[:, None, ::2] - M[None, :, ::2], M[:, None, 1::2] - M[None, :, 1::2])
    by_hand = np.exp(-fields.sum(axis=2) / (2 * 1.7**2))
    kept = weights > 0
    assert 40 * 7 <= kept.sum() < 40 * 39
    assert_allclose(weights[kept], by_hand[kept], rtol=1e-5)


def test_settings_are_those_that_the_source_states():
    methods = documents.document_methods()
    assert methods["spectral transducer"].estimator.c == 3200  # section 2.4.4
    assert methods["spectral transducer"].estimator.graph.arguments == (50,)
    assert_allclose(methods["consistency"].estimator.alpha, 1 / 1.99)  # section 2.4.5
    assert methods["min-cut"].estimator.prior is None
    digits = s4.digit_methods(10)
    for name in ("pixels", "feature map", "sub-sampled"):
        assert digits[f"spectral transducer, {name}"].estimator.c == 3200  # section 3.4.4
    assert digits["consistency"].estimator.graph.arguments == ("pixels", 1.25, 10)  # 3.4.5


def test_tables_are_registered():
    of_source = {known: TABLES[known] for known in TABLES if known.startswith("S4-")}
    assert set(of_source) == {
        "S4-documents", "S4-alpha", "S4-figure-14", "S4-figures-1-7", "S4-digits", "S4-networks",
        "S4-lenet", "S4-figures-26-29", "S4-figure-32", "S4-figures-39-41",
    }  # fmt: skip
    table = TABLES["S4-documents"]
    assert table.published.loc[("100 labels per class", "NB"), "mean"] == 0.90
    assert table.published.loc[("1 label per class", "EM"), "mean"] == 0.68
    assert len(table.published) == 3
    for each in of_source.values():
        assert set(each.quick) <= set(each.datasets)
        for dataset, method in each.published.index:
            assert dataset in each.datasets
            assert method in each.methods


def test_consistency_has_the_stated_parameter():
    methods = [documents.document_methods()["consistency"], s4.digit_methods(14)["consistency"]]
    for method in methods:
        assert_allclose(method.estimator.alpha, 1 / 1.99)


@pytest.mark.parametrize("supervised", [False, True])
def test_rows_in_any_order_are_the_features_they_number(supervised):
    order = np.random.default_rng(0).permutation(60)
    model = KNeighborsClassifier(1) if supervised else SemiSupervisedGaussianMixture(
        covariance_type="tied-spherical"
    )  # fmt: skip
    y = partly(15, order)
    found = OnRows(model, blobs, (1.0,), supervised=supervised).fit(row_numbers(60)[order], y)
    if supervised:
        expected = model.fit(X[order][:15], y[:15]).predict(X[order])
        expected[:15] = y[:15]
    else:
        expected = model.fit(X[order], y).transduction_
    assert_array_equal(found.transduction_, expected)
    assert_array_equal(found.predict(row_numbers(60)[order][:5]), Y[order][:5])


def test_a_graph_of_rows_is_cut_out_and_turned_with_them():
    order = np.random.default_rng(1).permutation(60)[:50]
    W = blob_graph().adjacency.toarray()
    graph = RowGraph(blob_graph).fit(row_numbers(60)[order]).graph_
    assert_allclose(graph.adjacency.toarray(), W[np.ix_(order, order)])
    y = partly(12, order)
    found = OnRows(HarmonicClassifier(RowGraph(blob_graph), prior=None)).fit(
        row_numbers(60)[order], y
    )
    assert (found.transduction_ == Y[order]).mean() > 0.9


def test_clusters_are_remembered_for_the_same_rows_only():
    first = RememberedKMeans(3, n_init=1, random_state=0).fit(X)
    again = RememberedKMeans(3, n_init=1, random_state=0).fit(X.copy())
    assert again.cluster_centers_ is first.cluster_centers_
    assert_array_equal(again.predict(X), first.labels_)
    other = RememberedKMeans(3, n_init=1, random_state=0).fit(X + 1)
    assert_allclose(other.cluster_centers_.mean(), first.cluster_centers_.mean() + 1)


class CountedMixture(SemiSupervisedGaussianMixture):
    fits = 0

    def fit(self, X, y):
        CountedMixture.fits += 1
        return super().fit(X, y)


def test_self_training_with_remembered_answers_is_self_training():
    estimator = CountedMixture(covariance_type="tied-spherical")
    options = {"k_best": 1, "per_class": "always"}
    for order in (np.arange(60), np.random.default_rng(2).permutation(60)):
        y = partly(60, order)
        y[np.setdiff1d(np.arange(60), [np.flatnonzero(y == label)[0] for label in range(3)])] = -1
        expected = {
            rounds: SelfTrainingClassifier(estimator, max_iter=rounds, **options).fit(X[order], y)
            for rounds in (1, 3, 5)
        }
        CountedMixture.fits = 0
        for rounds, plain in expected.items():
            found = SelfTrainingClassifier(
                RememberedAnswers(estimator), max_iter=rounds, **options
            ).fit(X[order], y)
            assert_array_equal(found.label_distributions_, plain.label_distributions_)
            assert_array_equal(found.transduction_, plain.transduction_)
            assert_array_equal(found.labeled_iter_, plain.labeled_iter_)
        assert CountedMixture.fits == 6  # five rounds and the last answer, not 2 + 4 + 6


def test_remembered_answers_are_those_for_the_same_rows_only():
    model = RememberedAnswers(KNeighborsClassifier(3)).fit(X, Y)
    plain = KNeighborsClassifier(3).fit(X, Y)
    for rows in (X[:20], X[-20:], X[:20]):  # as many each time
        assert_array_equal(model.predict_proba(rows), plain.predict_proba(rows))
    assert (model.predict(X[:20]) != model.predict(X[-20:])).any()


def test_remembered_answers_are_those_of_the_same_fit_only():
    def answer(rows, y, **settings):
        estimator = KNeighborsClassifier(**settings)
        found = RememberedAnswers(estimator).fit(rows, y).predict_proba(X[::2])
        assert_array_equal(found, estimator.fit(rows, y).predict_proba(X[::2]))
        found[:] = np.nan  # whoever gets an answer may overwrite it

    for _ in range(2):
        answer(X, Y, n_neighbors=3)
        answer(X, Y, n_neighbors=9)
        answer(X, 2 - Y, n_neighbors=3)
        answer(X + np.array([5.0, 0.0, 0.0, 0.0]), Y, n_neighbors=3)


@pytest.fixture
def fake_digits(monkeypatch):
    """Ten classes of images of 12 × 12 pixels, each with a bar of its own."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(10), 14)
    images = rng.random((140, 12, 12)).astype(np.float32) * 0.3
    for i, label in enumerate(y):
        images[i, label + 1] += 0.6
    data = images.reshape(140, -1), y.astype(str)
    monkeypatch.setattr(s4, "digits", lambda per_class: data)
    prepared.cache_clear()
    yield data
    prepared.cache_clear()


def test_whitened_pixels_have_the_shrunk_covariance(fake_digits):
    Z = s4.whitened_pixels(14)
    S = 0.2 * np.cov(fake_digits[0], rowvar=False) + 0.8 * np.eye(144)
    D = fake_digits[0] - fake_digits[0].mean(axis=0)
    assert_allclose(Z @ Z.T, D @ np.linalg.solve(S, D.T), atol=1e-3)


@pytest.mark.parametrize("table", ["S4-digits", "S4-figures-26-29", "S4-figures-39-41"])
def test_all_methods_on_fake_digits(fake_digits, monkeypatch, table):
    monkeypatch.setattr(s4, "N_CLUSTERS", 12)
    monkeypatch.setattr(s4, "NEIGHBORS_KEPT", 20)
    name = s4.size_name(2)
    # 140 rows have fewer eigenvectors to offer than 4,000.
    monkeypatch.setattr(s4, "spectral", lambda view, d, k: s4.OnRows(
        s4.SpectralTransducer(s4.RowGraph(s4.digit_graph, (view, k)), n_eigenvectors=min(d, 40))
    ))  # fmt: skip
    results = TABLES[table].run(TABLES[table], Run(n_trials=1), [name]).results
    assert (results["status"] == "ok").all(), results["message"].tolist()
    assert tuple(results["method"]) == TABLES[table].methods
    assert (results["n_labeled"] == 20).all()
    accuracy = results.set_index("method")["accuracy"]
    assert accuracy.max() > 0.9
    if table == "S4-digits":
        assert accuracy["EM, shrunk"] > 0.9
        assert accuracy["spectral transducer, pixels"] > 0.9


def test_networks_without_pytorch_say_what_to_install(monkeypatch):
    monkeypatch.setattr(s4, "is_installed", lambda name: False)
    table = TABLES["S4-networks"]
    with pytest.raises(ValueError, match=r"install leaven\[deep\]"):
        table.run(table, Run(n_trials=1), [s4.size_name(2)])


@pytest.mark.skipif(not is_installed("torch"), reason="PyTorch is not installed")
def test_networks_see_labeled_rows_only():
    methods = s4.network_methods(14, small=True)
    assert tuple(methods) == TABLES["S4-networks"].methods
    assert methods["LeNet-5"].supervised
    assert methods["pretrained network"].supervised


@pytest.mark.skipif(not is_installed("torch"), reason="PyTorch is not installed")
def test_lenet_does_not_learn_with_small_steps(fake_digits):
    table, name = TABLES["S4-lenet"], s4.size_name(2)
    results = table.run(table, Run(n_trials=1), [name]).results.set_index("method")
    assert (results["status"] == "ok").all(), results["message"].tolist()
    assert tuple(results.index) == table.methods
    slow = s4.lenet_methods(14)["LeNet-5, small steps"]
    assert slow.supervised
    assert slow.estimator.learning_rate < s4.lenet_methods(14)["LeNet-5"].estimator.learning_rate


@needs_data
def test_data_have_the_sizes_of_the_source():
    images, y = s4.digits(400)
    assert images.shape == (4000, 784)
    assert (images.min(), images.max()) == (0.0, 1.0)
    assert_array_equal(np.unique(y, return_counts=True)[1], np.full(10, 400))
