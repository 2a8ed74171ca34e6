from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist

from leaven.self_labeling._selection import (
    as_array,
    class_quotas,
    nearest_distances,
    select_confident,
    select_for_every_class,
    top_per_class,
)


@st.composite
def rounds(draw):
    """Draw confidences with ties, predicted classes and a number of classes."""
    n = draw(st.integers(1, 25))
    seed = draw(st.integers(0, 2**16))
    rng = np.random.default_rng(seed)
    return rng.choice([0.3, 0.5, 0.6, 0.75, 0.9, 1.0], size=n), rng.integers(3, size=n)


@given(rounds(), st.lists(st.integers(1, 4), min_size=3, max_size=3))
@settings(max_examples=25, deadline=None)
def test_top_per_class_is_a_sorted_list_cut_off(problem, quotas):
    confidence, predicted = problem
    chosen = top_per_class(confidence, predicted, np.array(quotas))
    expected = []
    for code, quota in enumerate(quotas):
        rows = [i for i in range(len(confidence)) if predicted[i] == code]
        expected += sorted(rows, key=lambda i: (-confidence[i], i))[:quota]
    assert chosen.tolist() == sorted(expected, key=lambda i: (-confidence[i], i))


@given(
    rounds(),
    st.sampled_from([None, 0.5, 0.75, 1.0]),
    st.sampled_from([None, 1, 3, 50]),
    st.booleans(),
)
@settings(max_examples=50, deadline=None)
def test_select_confident_by_brute_force(problem, threshold, k_best, per_class):
    confidence, predicted = problem
    rows = sorted(range(len(confidence)), key=lambda i: (-confidence[i], i))
    if k_best is not None:
        kept, used = [], dict.fromkeys(range(3), 0)
        for i in rows:
            key = predicted[i] if per_class else 0
            if used[key] < k_best:
                kept.append(i)
                used[key] += 1
        rows = kept
    if threshold is not None:
        rows = [i for i in rows if confidence[i] > threshold or confidence[i] == threshold == 1.0]
    chosen = select_confident(
        confidence, predicted, 3, threshold=threshold, k_best=k_best, per_class=per_class
    )
    assert chosen.tolist() == rows


@given(st.integers(0, 2**16), st.integers(1, 12), st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_every_class_takes_its_best_rows(seed, n_rows, k_best):
    proba = np.random.default_rng(seed).dirichlet(np.ones(3), size=n_rows)
    pairs = sorted((-proba[i, c], i, c) for i in range(n_rows) for c in range(3))
    taken: dict[int, int] = {}
    for _, i, c in pairs:
        if i not in taken and list(taken.values()).count(c) < k_best:
            taken[i] = c
    chosen, codes = select_for_every_class(proba, threshold=None, k_best=k_best)
    assert dict(zip(chosen.tolist(), codes.tolist(), strict=True)) == taken
    chosen, codes = select_for_every_class(proba, threshold=0.6, k_best=k_best)
    assert (proba[chosen, codes] > 0.6).all()


@given(
    st.lists(st.integers(1, 60), min_size=2, max_size=6), st.one_of(st.none(), st.integers(1, 40))
)
@settings(max_examples=40, deadline=None)
def test_quotas_follow_the_classes(counts, per_round):
    counts = np.array(counts)
    quotas = class_quotas(counts, per_round)
    assert (quotas >= 1).all()
    if per_round is None:
        assert quotas[counts.argmin()] == 1
        assert_allclose(quotas, counts / counts.min(), atol=0.5)
    elif per_round >= len(counts):
        # Classes that are lifted to one row may take it from nobody: the sum then exceeds.
        assert quotas.sum() >= per_round
        share = per_round * counts / counts.sum()
        assert (quotas <= np.maximum(1, np.ceil(share))).all()


def test_blum_and_mitchells_one_to_three():
    # p = 1 and n = 3 for 3 positive and 9 negative labeled pages.
    assert_array_equal(class_quotas(np.array([9, 3]), None), [3, 1])


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_nearest_distances(metric, monkeypatch):
    rng = np.random.default_rng(0)
    X, reference = rng.normal(size=(23, 4)), rng.normal(size=(5, 4))
    name = "cityblock" if metric == "manhattan" else metric
    expected = cdist(X, reference, name).min(axis=1)
    monkeypatch.setattr("leaven.self_labeling._selection._DISTANCES_PER_BLOCK", 20)
    assert_allclose(nearest_distances(X, reference, metric), expected)
    found = nearest_distances(sparse.csr_array(X), sparse.csr_array(reference), metric)
    assert_allclose(found, expected)


def test_as_array_says_what_to_do():
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"]})
    assert_array_equal(as_array(frame[["a"]]), [[1.5], [2.5]])
    with pytest.raises(ValueError, match="Encode them before this classifier"):
        as_array(frame)
