"""Categories, chunks, class proportions, weights and clusters of the EM classifiers."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit, softmax
from scipy.stats import rankdata

from leaven.exceptions import MemoryBoundError
from leaven.generative import ClassPrior, RankSigmoid
from leaven.generative._chunks import chunks, take_rows
from leaven.generative._components import (
    agglomerate,
    check_candidates,
    search_n_components,
    start_responsibilities,
)
from leaven.generative._encoding import distinct_values, holds_numbers, learn_table
from leaven.generative._prior import as_class_prior, translate_former_names
from leaven.generative._recalibration import rank_rows, shift_to_mean
from leaven.generative._weighting import label_weights, row_weights

# Chunks


@given(st.lists(st.booleans(), max_size=25), st.integers(1, 30))
@settings(max_examples=60)
def test_chunks_cover_rows_in_order_and_are_slices_where_they_can_be(mask, size):
    rows = np.flatnonzero(mask)
    found, places = [], []
    for piece, where in chunks(rows, size):
        found.extend(np.arange(len(mask))[piece].tolist())
        places.extend(range(where.start, where.stop))
        own = rows[where]
        assert len(own) <= size
        is_run = own[-1] - own[0] == len(own) - 1
        assert isinstance(piece, slice) is bool(is_run)
    assert found == rows.tolist()
    assert places == list(range(len(rows)))


@pytest.mark.parametrize("rows", [slice(1, 4), slice(0, 0), np.array([4, 0, 2])])
def test_rows_of_every_kind_of_table(rows):
    dense = np.arange(15.0).reshape(5, 3)
    dense[1, 1] = 0.0
    both = take_rows((dense, sparse.csr_array(dense)), rows)
    assert_array_equal(both[0], dense[rows])
    assert_array_equal(both[1].toarray(), dense[rows])


def test_a_slice_of_sparse_rows_shares_memory():
    X = sparse.csr_array(np.arange(12.0).reshape(4, 3))
    part = take_rows(X, slice(1, 3))
    assert np.shares_memory(part.data, X.data)
    assert_allclose(part @ np.array([1.0, 2.0, 3.0]), X.toarray()[1:3] @ [1.0, 2.0, 3.0])


# Weights


@pytest.mark.parametrize(
    ("weighting", "weight", "expected"),
    [
        ("unlabeled", 0.0, (1.0, 0.0)),
        ("unlabeled", 0.3, (1.0, 0.3)),
        ("convex", 0.3, (0.7, 0.3)),
        ("normalized", 0.8, (1.0, 1.0)),  # 8 of 10 rows are unlabeled: plain EM
        ("normalized", 0.5, (1.0, 0.25)),
        ("normalized", 0.95, (4.0 / 19.0, 1.0)),
        ("normalized", 0.0, (1.0, 0.0)),
        ("normalized", 1.0, (0.0, 1.0)),
    ],
)
def test_three_forms_of_weights(weighting, weight, expected):
    assert_allclose(label_weights(2.0, 8.0, weight, weighting), expected)
    assert label_weights(2.0, 0.0, weight, weighting) == (1.0, 1.0)


def test_normalized_weights_have_the_ratio_of_their_definition():
    for n, m, weight in itertools.product([1.0, 7.5], [2.0, 30.0], [0.1, 0.6]):
        labeled, unlabeled = label_weights(n, m, weight, "normalized")
        assert_allclose(unlabeled / labeled, (weight / m) / ((1 - weight) / n))
        assert max(labeled, unlabeled) == 1.0


def test_rows_multiply_by_their_own_weight():
    codes = np.array([0, -1, 1, -1])
    own = np.array([2.0, 3.0, 0.0, 5.0])
    found = row_weights(codes, 0.25, "normalized", own)
    labeled, unlabeled = label_weights(2.0, 8.0, 0.25, "normalized")
    assert_allclose(found, np.array([labeled, unlabeled, labeled, unlabeled]) * own)
    with pytest.raises(ValueError, match="weighting='other' is not known"):
        row_weights(codes, 0.5, "other")


# Class proportions


def test_a_prior_is_a_value():
    assert as_class_prior(None) == ClassPrior()
    assert as_class_prior("uniform") == ClassPrior("uniform")
    given_prior = ClassPrior([0.25, 0.75], smoothing=2)
    assert as_class_prior(given_prior) is given_prior
    assert given_prior.proportions == (0.25, 0.75)
    assert given_prior == ClassPrior(np.array([0.25, 0.75]), 2.0)
    assert ClassPrior({"a": 0.5, "b": 0.5}).proportions == {"a": 0.5, "b": 0.5}


@pytest.mark.parametrize("smoothing", [-0.1, np.nan, np.inf, "1"])
def test_pseudo_counts_that_cannot_be(smoothing):
    with pytest.raises(ValueError, match="must be a finite number, zero or more"):
        ClassPrior(smoothing=smoothing)


@pytest.mark.parametrize(
    ("former", "expected"),
    [
        ({"class_prior": [0.2, 0.8]}, ClassPrior((0.2, 0.8))),
        ({"fit_prior": False}, ClassPrior("uniform")),
        ({"fit_prior": True}, ClassPrior(None)),
        ({"class_prior": None}, ClassPrior(None)),
        ({"prior_smoothing": 3.0}, ClassPrior("labeled", 3.0)),
        ({"class_prior": [0.5, 0.5], "fit_prior": False}, ClassPrior((0.5, 0.5))),
    ],
)
def test_former_names_of_the_prior(former, expected):
    params = {**former, "max_iter": 5}
    with pytest.warns(FutureWarning, match="of Model was replaced by prior"):
        translate_former_names(params, "Model", ClassPrior("labeled"))
    assert params == {"max_iter": 5, "prior": expected}


def test_former_and_present_names_together():
    params = {"prior": None, "fit_prior": True}
    with (
        pytest.warns(FutureWarning, match="fit_prior of Model"),
        pytest.raises(ValueError, match="Model got both prior and fit_prior"),
    ):
        translate_former_names(params, "Model")
    untouched = {"max_iter": 3}
    translate_former_names(untouched, "Model")
    assert untouched == {"max_iter": 3}


# Categories


def table_of(X, **options):
    options = {"missing": "category", **options}
    return learn_table(distinct_values(X, np.ones(len(X), dtype=bool)), **options)


def test_every_column_has_its_slots_and_one_for_the_unknown():
    X = pd.DataFrame({"a": ["x", "y", "x"], "b": [0, 2, 1]})
    table = table_of(X)
    assert_array_equal(table.n_categories, [2, 3])
    assert_array_equal(table.offsets, [1, 4, 8])
    assert_array_equal(table.encode(X), [[1, 4], [2, 6], [1, 5]])
    new = pd.DataFrame({"a": ["z", "y"], "b": [9, -4]})
    assert_array_equal(table.encode(new), [[3, 7], [2, 7]])


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_values_are_a_category_or_nothing(missing):
    X = pd.DataFrame({"a": ["x", missing, "y"]}, dtype=object)
    own = table_of(X)
    assert_array_equal(own.encode(X).ravel(), [1, 3, 2])
    ignored = table_of(X, missing="ignore")
    assert_array_equal(ignored.encode(X).ravel(), [1, 0, 2])
    never = table_of(X.iloc[[0, 2]])
    assert never.encode(X).ravel()[1] == never.offsets[-1] - 1  # unknown: not seen in fit


def test_missing_codes_among_integers():
    X = np.array([[0.0], [np.nan], [2.0]])
    table = table_of(X)
    assert_array_equal(table.n_categories, [4])
    assert_array_equal(table.encode(X).ravel(), [1, 4, 3])


def test_declared_categories_count_whether_seen_or_not():
    column = pd.Categorical(["low", "high"], categories=["low", "mid", "high"])
    table = table_of(pd.DataFrame({"a": column}))
    assert_array_equal(table.n_categories, [3])
    assert_array_equal(table.encode(pd.DataFrame({"a": ["mid", "none"]})).ravel(), [2, 4])


@pytest.mark.parametrize(("least", "expected"), [(5, [5, 5]), ([1, 6], [2, 6]), (None, [2, 3])])
def test_a_least_number_of_categories(least, expected):
    X = np.array([[0, 2], [1, 0]])
    assert_array_equal(table_of(X, min_categories=least).n_categories, expected)


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.array([[0, -1]]), {}, "Negative values in data: feature 1 holds -1"),
        (np.array([[0.5]]), {}, "Feature 0 holds infinity or fractions"),
        (np.array([[np.inf]]), {}, "infinity or fractions"),
        (np.array([[1, 2]]), {"min_categories": [1, 2, 3]}, "one for each of the 2 features"),
        (np.array([[1, 2]]), {"min_categories": 2.5}, "must be an integer"),
        (np.array([[1, -2]]), {"names": ["a", "b"]}, "feature 'b' holds -2"),
    ],
)
def test_tables_that_cannot_be(X, options, message):
    with pytest.raises(ValueError, match=message):
        table_of(X, **options)


def test_identifiers_are_no_categories():
    with pytest.raises(MemoryBoundError, match="Feature 0 has codes up to 20000000"):
        table_of(np.array([[20_000_000], [3]]))


def test_a_column_that_held_numbers_holds_words():
    table = table_of(np.array([[1], [2]]))
    with pytest.raises(ValueError, match="held integer codes in fit, and now holds something else"):
        table.encode(np.array([["red"]], dtype=object))


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (np.array([1, 2]), True),
        (np.array([True, False]), True),
        (np.array([1, None, 2.5], dtype=object), True),
        (np.array(["1", "2"]), False),
        (np.array([1, "a"], dtype=object), False),
        (pd.Series([1, pd.NA], dtype="Int64"), True),
        (pd.Series(pd.Categorical([1, 2])), False),
    ],
)
def test_what_holds_numbers(column, expected):
    assert holds_numbers(column) is expected


@given(
    st.lists(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=2, max_size=2), min_size=2)
)
@settings(max_examples=40)
def test_values_of_parts_are_those_of_all(cells):
    X = np.array(cells, dtype=object)
    cut = len(X) // 2
    everywhere = np.ones(len(X), dtype=bool)
    whole = distinct_values(X, everywhere)
    parts = distinct_values(X[:cut], everywhere[:cut])
    parts += distinct_values(X[cut:], everywhere[cut:])
    assert_array_equal(
        learn_table(parts, missing="ignore").encode(X),
        learn_table(whole, missing="ignore").encode(X),
    )


def test_rows_that_take_no_part_bring_no_categories():
    X = np.array([["a"], ["b"], ["c"]], dtype=object)
    found = distinct_values(X, np.array([True, False, True]))
    assert list(found.columns[0]) == ["a", "c"]


def test_parts_of_different_types_are_joined_by_value():
    one = distinct_values(pd.DataFrame({"a": pd.Categorical(["x", "y"])}), np.ones(2, dtype=bool))
    one += distinct_values(pd.DataFrame({"a": ["z", "x"]}), np.ones(2, dtype=bool))
    assert sorted(one.columns[0]) == ["x", "y", "z"]
    words = distinct_values(np.array([["1"]]), np.ones(1, dtype=bool))
    words += distinct_values(np.array([[2]]), np.ones(1, dtype=bool))
    assert set(words.columns[0]) == {"1", 2}


# Components


def closest_groups(X, n_clusters):
    """Merge the two groups with the largest cosine of their means, by trying all pairs."""
    groups = [[i] for i in range(len(X))]
    while len(groups) > n_clusters:
        means = [X[g].mean(axis=0) for g in groups]
        best = max(
            itertools.combinations(range(len(groups)), 2),
            key=lambda p: (
                means[p[0]]
                @ means[p[1]]
                / (np.linalg.norm(means[p[0]]) * np.linalg.norm(means[p[1]]))
            ),
        )
        groups[best[0]] += groups.pop(best[1])
    return {frozenset(g) for g in groups}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_clusters", [1, 3, 8])
def test_the_tree_equals_merging_by_trying_all_pairs(seed, n_clusters):
    X = np.random.default_rng(seed).random((10, 4)) + 0.05
    for form in (np.asarray, sparse.csr_array):
        labels = agglomerate(form(X), n_clusters)
        found = {frozenset(np.flatnonzero(labels == c).tolist()) for c in range(n_clusters)}
        assert found == closest_groups(X, n_clusters)
        assert (np.diff(np.unique(labels, return_index=True)[1]) > 0).all()  # by first row


def test_rows_of_zeros_are_similar_to_nothing():
    X = np.array([[0.0, 0.0], [1.0, 0.1], [0.9, 0.0], [0.0, 1.0]])
    assert_array_equal(agglomerate(X, 3), [0, 1, 1, 2])


def test_a_tree_beyond_the_memory_is_refused():
    with pytest.raises(MemoryBoundError, match=r"20000 labeled rows of one class.*6.4 GB"):
        agglomerate(sparse.csr_array((20_000, 3)), 2)


@pytest.mark.parametrize(
    ("given_counts", "expected"), [(3, [3]), ([1, 2], [1, 2]), (np.int8(2), [2])]
)
def test_counts_to_try(given_counts, expected):
    assert check_candidates(given_counts) == expected


@pytest.mark.parametrize("bad", [0, -1, [], [1, 0], 1.5, "two", [[1]], None])
def test_counts_that_cannot_be(bad):
    with pytest.raises(ValueError, match="must be a positive integer, or a list"):
        check_candidates(bad)


@pytest.mark.parametrize("init", ["random", "tree", "kmeans"])
def test_rows_are_spread_over_the_components_of_their_class_only(init):
    rng = np.random.RandomState(0)
    codes = np.array([0, 0, 0, 1, 1, 1])
    R = start_responsibilities(rng.random_sample((6, 3)), codes, np.array(["a", "b"]), 2, init, rng)
    assert_allclose(R.sum(axis=1), 1.0)
    assert (R[:3, 2:] == 0).all()
    assert (R[3:, :2] == 0).all()
    if init != "random":
        assert set(R.ravel()) == {0.0, 1.0}
        assert (R.sum(axis=0) > 0).all()


def test_weights_count_as_equal_rows_in_the_tree():
    X = np.random.default_rng(0).random((5, 3))
    weights = np.array([1.0, 3.0, 1.0, 2.0, 1.0])
    codes = np.zeros(5, dtype=np.intp)
    rng = np.random.RandomState(0)
    weighted = start_responsibilities(X, codes, np.array(["a"]), 2, "tree", rng, weights)
    assert_array_equal(weighted.argmax(axis=1), agglomerate(X * weights[:, None], 2))


def test_too_few_rows_for_so_many_clusters():
    with pytest.raises(ValueError, match="class 'b' has only 1 labeled rows"):
        start_responsibilities(
            np.eye(3),
            np.array([0, 0, 1]),
            np.array(["a", "b"]),
            2,
            "tree",
            np.random.RandomState(0),
        )


def test_the_count_with_the_best_hidden_labels_is_chosen():
    codes = np.array([0] * 6 + [1] * 6 + [-1] * 3)
    asked = []

    def transduce(partly, count):
        asked.append((count, int((partly == -1).sum()) - 3))
        if count == 4:
            raise ValueError("too many")
        wrong = {1: 6, 2: 1, 3: 1}[count]
        answer = np.array([0] * 6 + [1] * 6 + [0] * 3)
        answer[:wrong] = 1 - answer[:wrong]
        return answer

    best, accuracy = search_n_components([1, 2, 3, 4], codes, np.array(["a", "b"]), transduce, 0)
    assert best == 2  # the smaller of two equals
    assert_allclose([accuracy[k] for k in (1, 2, 3)], [6 / 12, 11 / 12, 11 / 12])
    assert np.isnan(accuracy[4])
    assert {hidden for count, hidden in asked if count == 1} == {2, 3}  # five folds of twelve

    with pytest.raises(ValueError, match="too many"):
        search_n_components([4], codes, np.array(["a", "b"]), transduce, 0)
    with pytest.raises(ValueError, match="class 'b' has 1"):
        search_n_components([1, 2], np.array([0, 0, 1]), np.array(["a", "b"]), transduce, 0)


# Recalibration


@given(st.integers(1, 30), st.integers(2, 5), st.integers(0, 1_000))
@settings(max_examples=60)
def test_shifted_softmax_has_the_wanted_mean(n, K, seed):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, K)) * 3
    target = rng.dirichlet(np.ones(K))
    weights = rng.random(n) + 0.1 if seed % 2 else None
    q = shift_to_mean(logits.copy(), target, weights)
    assert_allclose(np.average(q, axis=0, weights=weights), target, atol=1e-8)
    # One number per column was added: differences of log-ratios are those of the logits.
    change = np.log(q) - logits
    change -= change[:, [0]]
    assert_allclose(change, np.tile(change[0], (n, 1)), atol=1e-6)
    assert_allclose(q, softmax(logits + change[0], axis=1), atol=1e-8)


def test_a_class_without_a_share_gets_nothing():
    logits = np.random.default_rng(0).normal(size=(6, 3))
    q = shift_to_mean(logits, np.array([0.4, 0.0, 0.6]))
    assert_array_equal(q[:, 1], 0.0)
    assert_allclose(q.mean(axis=0), [0.4, 0.0, 0.6])
    assert_array_equal(shift_to_mean(logits, np.array([0.0, 1.0, 0.0])), np.eye(3)[[1] * 6])


@given(st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]), min_size=1, max_size=12))
@settings(max_examples=60)
def test_ranks_of_two_classes_equal_scipy(values):
    q = np.column_stack([1.0 - np.array(values), values])
    found = rank_rows(q)
    assert_allclose(found[:, 1], rankdata(values))
    assert_allclose(found[:, 0], rankdata(1.0 - np.array(values)))


def test_ranks_with_weights_are_those_of_repeated_rows():
    q = np.array([[0.3, 0.7], [0.9, 0.1], [0.5, 0.5]])
    repeated = np.repeat(q, [2, 3, 1], axis=0)
    expected = rank_rows(repeated)[[0, 2, 5]]
    assert_allclose(rank_rows(q, np.array([2.0, 3.0, 1.0])), expected)


def test_ones_are_told_apart_by_what_is_left():
    q = np.array([[1.0, 1e-30], [1.0, 1e-20], [0.5, 0.5]])
    assert_allclose(rank_rows(q)[:, 0], [3.0, 2.0, 1.0])


def test_a_sigmoid_of_ranks_around_the_old_mean():
    q = np.random.default_rng(1).dirichlet([1.0, 2.0], size=9)
    alpha = 4.0
    s = rankdata(q[:, 1]) / 9
    found = RankSigmoid(alpha, mean="beta").transform(q)
    assert_allclose(found[:, 1], expit(alpha * (s - q[:, 1].mean())))
    kept = RankSigmoid(alpha).transform(q)
    assert_allclose(kept.mean(axis=0), q.mean(axis=0))
    assert_array_equal(np.argsort(kept[:, 1]), np.argsort(q[:, 1]))


@pytest.mark.parametrize("K", [3, 4])
def test_several_classes_keep_their_mean_and_sum_to_one(K):
    q = np.random.default_rng(K).dirichlet(np.ones(K) * 0.3, size=25)
    for mean in ("kept", np.full(K, 1 / K)):
        found = RankSigmoid(6.0, mean=mean).transform(q)
        wanted = q.mean(axis=0) if isinstance(mean, str) else mean
        assert_allclose(found.sum(axis=1), 1.0)
        assert_allclose(found.mean(axis=0), wanted, atol=1e-8)
