"""Graphs of weighted columns, and the weights that are read off a fitted one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from leaven.graph import KNNGraph
from leaven.tables import TablePreparer
from leaven.tables._scales import (
    FeatureLayout,
    FixedScaler,
    apply_scales,
    column_weights_of,
    learn_scales,
)
from leaven.tables._weighted_graph import ColumnWeightedGraph


def prepared(n: int = 80) -> tuple[FeatureLayout, Any, Any]:
    """A useful number, a number of noise with gaps, and a category of noise."""
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 2
    noise = rng.normal(size=n)
    noise[::9] = np.nan
    table = pd.DataFrame(
        {
            "useful": 3.0 * truth + rng.normal(size=n),
            "noise": noise,
            "kind": rng.choice(["u", "v"], n),
        }
    )
    preparer = TablePreparer(weigh=False, random_state=0)
    Z = preparer.fit_transform(table)
    return preparer.layout_, Z, np.where(np.arange(n) < 24, truth, -1)


def test_it_is_the_graph_of_the_scaled_rows() -> None:
    layout, Z, codes = prepared()
    builder = ColumnWeightedGraph(KNNGraph(4), layout, random_state=5).fit(Z, codes)
    scales = learn_scales(Z, layout, codes, np.random.RandomState(5))[0]
    assert_array_equal(builder.scales_, scales)
    plain = KNNGraph(4).fit(Z * scales)
    assert_allclose(builder.graph_.adjacency.toarray(), plain.graph_.adjacency.toarray())
    new = Z[:3] + 0.25
    assert_allclose(
        builder.weights_to(new).toarray(), plain.weights_to(new * scales).toarray(), rtol=1e-5
    )


def test_it_looks_at_labels_only_if_told() -> None:
    layout, Z, codes = prepared()
    by_labels = ColumnWeightedGraph(KNNGraph(4), layout)
    without = ColumnWeightedGraph(KNNGraph(4), layout, use_labels=False)
    edges = ColumnWeightedGraph(KNNGraph(4, include_labeled=True), layout, use_labels=False)
    assert [each.uses_labels() for each in (by_labels, without, edges)] == [True, False, True]
    flipped = np.where(codes < 0, codes, 1 - codes)
    shuffled = np.where(codes < 0, codes, np.arange(80) // 2 % 2)
    assert_array_equal(without.fit(Z, codes).scales_, clone(without).fit(Z, shuffled).scales_)
    # The names of the classes do not matter, which rows share one does.
    assert_allclose(by_labels.fit(Z, codes).scales_, clone(by_labels).fit(Z, flipped).scales_)
    assert not np.allclose(by_labels.scales_, clone(by_labels).fit(Z, shuffled).scales_)


def test_one_column_counts_the_same_whatever_the_labels_are() -> None:
    """So that one graph serves all folds; from the second column on the labels weigh."""
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 2
    words = np.array([["rain", "snow"], ["goal", "ball"]])
    texts = [
        " ".join([*rng.choice(words[kind], 3), "item", str(i)]) for i, kind in enumerate(truth)
    ]
    columns = {"text": texts, "x": truth + rng.normal(size=60), "kind": rng.choice(list("uv"), 60)}
    codes = np.where(np.arange(60) < 20, truth, -1)
    for names, uses in (
        (["text"], False),
        (["x"], False),
        (["kind"], False),
        (["x", "kind"], True),
        (["text", "x"], True),
    ):
        preparer = TablePreparer(weigh=False, text=["text"] if "text" in names else [])
        Z = preparer.fit_transform(pd.DataFrame({name: columns[name] for name in names}))
        builder = ColumnWeightedGraph(KNNGraph(4), preparer.layout_)
        assert builder.uses_labels() == uses
        with_labels, without = (
            learn_scales(Z, preparer.layout_, given, np.random.RandomState(0))[0]
            for given in (codes, None)
        )
        assert np.array_equal(with_labels, without) != uses
        assert ColumnWeightedGraph(
            KNNGraph(4, include_labeled=True), preparer.layout_
        ).uses_labels()


def test_factors_that_are_known_are_not_learned() -> None:
    layout, Z, codes = prepared()
    known = np.linspace(0.5, 1.5, Z.shape[1], dtype=np.float32)
    builder = ColumnWeightedGraph(KNNGraph(4), layout, scales=known).fit(Z, codes)
    assert builder.scales_ is known


def test_the_weights_of_columns_are_read_off_the_factors() -> None:
    layout, Z, codes = prepared()
    scales, weights = learn_scales(Z, layout, codes, np.random.RandomState(0))
    found = column_weights_of(layout, scales)
    assert list(found) == list(layout.names)
    assert list(found.values()) == pytest.approx(weights, rel=1e-5)
    assert found["useful"] > 2 * found["noise"]
    # Factors that were doubled are weights four times as large.
    assert column_weights_of(layout, 2 * scales) == pytest.approx(
        {name: 4 * weight for name, weight in found.items()}
    )


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0.1, 9.0), min_size=4, max_size=4), st.booleans())
def test_scaling_multiplies_features_and_keeps_what_came(
    factors: list[float], as_sparse: bool
) -> None:
    dense = np.arange(12, dtype=np.float32).reshape(3, 4)
    Z: Any = sparse.csr_matrix(dense) if as_sparse else dense.copy()
    scales = np.array(factors, dtype=np.float32)
    scaler = FixedScaler(scales).fit(Z)
    for found in (apply_scales(Z, scales), scaler.transform(Z)):
        plain = found.toarray() if as_sparse else found
        assert_allclose(plain, dense * scales, rtol=1e-6)
        assert found.dtype == np.float32
    assert_array_equal(Z.toarray() if as_sparse else Z, dense)
    assert scaler.scales_ is scales
