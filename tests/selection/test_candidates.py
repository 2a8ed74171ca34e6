"""The candidates and the rows that they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading

from leaven._labels import UNLABELED
from leaven.graph import KNNGraph
from leaven.selection import (
    SEMI_SUPERVISED,
    SUPERVISED,
    Candidate,
    Problem,
    kind_of_values,
    make_candidates,
    standard_problem,
)
from leaven.selection._candidates import RECIPES
from leaven.selection._problem import make_scaler, merge_duplicates


def problem(
    *,
    n: int = 100,
    n_classes: int = 2,
    n_unlabeled: int = 80,
    values: str = "continuous",
    form: Callable[[Any], Any] = np.asarray,
) -> Problem:
    codes = np.arange(n) % n_classes
    codes[:n_unlabeled] = UNLABELED
    return Problem(form(np.ones((n, 1))), codes, np.arange(n_classes), values)


def test_the_registry_skips_by_size_and_kind() -> None:
    names = [c.name for c in make_candidates(None, problem()) if c.skipped]
    assert names == []
    large = {c.name: c.skipped for c in make_candidates(None, problem(n=120_000))}
    assert large["transductive-svm"] == (
        "transductive-svm was skipped: 120,000 rows, it takes at most 5,000."
    )
    assert large["harmonic"] is None
    assert large["spectral-transducer"].endswith("120,000 rows, it takes at most 100,000.")
    many = {c.name: c.skipped for c in make_candidates(None, problem(n=600, n_classes=10))}
    assert many["transductive-svm"].endswith("skipped: 10 classes, it takes at most 3.")
    strange = make_candidates(None, problem(form=sparse.csr_matrix))
    dense_only = {"rbf-svm", "extra-trees", "random-forest", "self-trained-trees"}
    skipped = {c.name for c in strange if c.skipped}
    assert skipped == {"naive-bayes", "naive-bayes-em"} | dense_only
    full = make_candidates(None, problem(n_unlabeled=0))
    assert {c.name for c in full if not c.skipped} == {
        name for name, recipe in RECIPES.items() if recipe.kind == SUPERVISED
    }


@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        ("binary", ("BernoulliNB", "SemiSupervisedBernoulliNB")),
        ("counts", ("MultinomialNB", "SemiSupervisedMultinomialNB")),
        ("nonnegative", ("MultinomialNB", "SemiSupervisedMultinomialNB")),
        ("continuous", ("GaussianNB", "SemiSupervisedGaussianMixture")),
    ],
)
def test_the_kind_of_naive_bayes(values: str, kinds: tuple[str, str]) -> None:
    found = make_candidates(["naive-bayes", "naive-bayes-em"], problem(values=values))
    assert tuple(type(c.estimator).__name__ for c in found) == kinds


@pytest.mark.parametrize(
    ("n_unlabeled", "n_classes", "k_best"), [(80, 2, 8), (81, 2, 9), (45, 3, 3), (1, 2, 1)]
)
def test_self_training_adds_a_fifth_of_the_rows_in_each_round(
    n_unlabeled: int, n_classes: int, k_best: int
) -> None:
    rows = problem(n=100, n_unlabeled=n_unlabeled, n_classes=n_classes)
    for candidate in make_candidates(["self-training", "self-trained-trees"], rows):
        assert candidate.estimator.get_params()["k_best"] == k_best


def test_no_two_costs_are_equal_and_naive_bayes_is_the_cheapest() -> None:
    # The cheapest are tried first: what a time limit leaves out must not depend on ties.
    costs = {name: recipe.cost for name, recipe in RECIPES.items()}
    assert len(set(costs.values())) == len(costs)
    assert sorted(costs, key=lambda name: costs[name])[:2] == ["naive-bayes", "logistic-regression"]
    # Those of a caller who names no cost come before them.
    assert Candidate("own", LogisticRegression(), SUPERVISED).cost < min(costs.values())


def test_the_kind_of_values_and_the_scaler() -> None:
    binary = np.array([[0.0, 1.0], [1.0, 0.0]])
    counts = np.array([[0.0, 3.0], [2.0, 0.0]])
    cases = [
        (binary, "binary", "NoneType"),
        (counts, "counts", "StandardScaler"),
        (counts + 0.5, "continuous", "StandardScaler"),
        (-counts, "continuous", "StandardScaler"),
        (sparse.csr_matrix(binary), "binary", "Normalizer"),
        (sparse.csr_matrix(counts), "counts", "TfidfTransformer"),
        (sparse.csr_matrix(counts / 7), "nonnegative", "Normalizer"),
        (sparse.csr_matrix(-counts), "continuous", "MaxAbsScaler"),
    ]
    for X, values, scaler in cases:
        assert kind_of_values(X) == values
        assert type(make_scaler(X, values)).__name__ == scaler


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=20),
    st.lists(st.integers(-1, 1), min_size=20, max_size=20),
)
def test_duplicates_are_merged_unless_labeled(
    rows: list[tuple[int, int]], labels: list[int]
) -> None:
    X = np.array(rows, dtype=float)
    codes = np.array(labels[: len(X)])
    for form in (X, sparse.csr_matrix(X)):
        kept, node = merge_duplicates(form, codes)
        assert_array_equal(X[kept][node], X)
        labeled = np.flatnonzero(codes != UNLABELED)
        assert_array_equal(kept[node[labeled]], labeled)
        distinct = len(np.unique(X[codes == UNLABELED], axis=0))
        assert len(kept) == len(labeled) + distinct


def test_own_estimators_come_after_the_defaults_the_supervised_ones_first() -> None:
    own = ["naive-bayes", ("spread", LabelSpreading()), ("logistic", LogisticRegression())]
    found = make_candidates(own, problem())
    assert [each.kind for each in found] == [SUPERVISED, SEMI_SUPERVISED, SUPERVISED]
    by_cost = sorted(found, key=lambda each: each.cost)
    assert [each.name for each in by_cost] == ["naive-bayes", "logistic", "spread"]
    assert found[1].estimator is not own[1][1]  # a clone


def test_without_unlabeled_rows_methods_that_learn_from_them_are_left_out_if_others_stay() -> None:
    X, codes = np.array([[0.0], [0.2], [5.0], [5.2]]), np.array([0, 0, 1, 1])
    problem = standard_problem(X, codes, np.array([0, 1]))
    both = make_candidates(["logistic-regression", "harmonic"], problem)
    assert [each.skipped is None for each in both] == [True, False]
    assert "no unlabeled rows" in str(both[1].skipped)
    (alone,) = make_candidates(["harmonic"], problem)
    assert alone.skipped is None


def test_a_misspelled_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"which is not known\. Did you mean 'harmonic'"):
        make_candidates(["harmonics"], problem())


def test_a_graph_of_the_problem_reaches_the_graph_methods() -> None:
    base = problem()
    own = Problem(
        base.X,
        base.codes,
        base.classes,
        base.values,
        graph=KNNGraph(3),
        last_graph=KNNGraph(7),
        graph_scales=True,
    )
    harmonic, logistic = make_candidates(["harmonic", "logistic-regression"], own)
    assert harmonic.estimator.graph.n_neighbors == 3
    assert harmonic.last_params["graph"].n_neighbors == 7
    assert (harmonic.scaled, logistic.scaled) == (False, True)
    assert logistic.last_params == {}
    (plain,) = make_candidates(["harmonic"], base)
    assert plain.scaled
    assert plain.last_params == {}


def test_other_labels_of_the_same_rows_share_what_depends_on_rows_alone() -> None:
    rng = np.random.RandomState(0)
    X = rng.normal(size=(40, 2))
    codes = np.where(np.arange(40) < 8, np.arange(40) % 2, UNLABELED)
    first = standard_problem(X, codes, np.array([0, 1]))
    scaled = first.scaled
    more = codes.copy()
    more[20] = 1
    second = first.with_codes(more)
    assert second.scaled is scaled
    assert second.graphs is first.graphs
    assert second.n_unlabeled == first.n_unlabeled - 1
    assert first.codes[20] == UNLABELED


def two_topics(seed: int) -> tuple[sparse.csr_array, np.ndarray]:
    """Documents of 40 words from 3,000, a fifth of them of a tenth that a topic prefers."""
    rng = np.random.default_rng(seed)
    truth = np.arange(300) % 2
    words = np.where(
        rng.random((300, 40)) < 0.2,
        rng.integers(300, size=(300, 40)) + 300 * truth[:, None],
        rng.integers(3_000, size=(300, 40)),
    )
    X = np.zeros((300, 3_000))
    np.add.at(X, (np.arange(300)[:, None], words), 1.0)
    return sparse.csr_array(X / np.linalg.norm(X, axis=1, keepdims=True)), truth


def test_naive_bayes_with_em_has_a_small_pseudo_count_on_texts() -> None:
    right, usual = [], []
    for seed in range(4):
        X, truth = two_topics(seed)
        codes = np.where(np.arange(300) < 10, truth, -1)
        texts = standard_problem(X, codes, np.array([0, 1]))
        (candidate,) = make_candidates(["naive-bayes-em"], texts)
        for found, alpha in ((right, candidate.estimator.alpha), (usual, 1.0)):
            model = clone(candidate.estimator).set_params(alpha=alpha, unlabeled_weight=1.0)
            found.append((model.fit(X, codes).transduction_ == truth)[10:].mean())
    assert np.mean(right) > np.mean(usual) + 0.02  # 0.78 and 0.71
    dense = standard_problem(X.toarray(), codes, np.array([0, 1]))
    assert getattr(make_candidates(["naive-bayes-em"], dense)[0].estimator, "alpha", 1.0) == 1.0


@pytest.mark.parametrize("values", ["binary", "counts", "nonnegative", "continuous"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_texts_have_weights_and_temperatures_of_their_own(
    values: str, form: Callable[[Any], Any]
) -> None:
    is_text = form is sparse.csr_matrix and values != "continuous"
    for candidate in make_candidates(None, problem(values=values, form=form)):
        recipe = RECIPES[candidate.name]
        usual = (is_text and recipe.text_member) or recipe.member
        assert candidate.member.temperature == usual.temperature
        assert candidate.member == usual or not is_text
        # Every candidate that takes texts has numbers for them, which differ.
        if is_text and candidate.skipped is None:
            assert candidate.member != recipe.member
