"""Feature maps of images, archetypes of their regions, and the distance between maps."""

from __future__ import annotations

import os
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

from leaven.datasets import load
from leaven.exceptions import NotFittedError
from leaven.graph import KNNGraph
from leaven.representation import ArchetypeSubsampling, SOMFeatureMap, som_distance
from leaven.representation._archetypes import region_columns, replace_regions

HOME = os.environ.get("LEAVEN_DATA")
needs_mnist = pytest.mark.skipif(
    not HOME or not (Path(HOME) / "digits" / "mnist.npz").exists(),
    reason="LEAVEN_DATA names no directory with mnist",
)

# The tables of scikit-learn's checks are no images: these checks need no data.
WITHOUT_DATA = [
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_get_params_invariance",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
]


@pytest.mark.parametrize("estimator", [SOMFeatureMap(), ArchetypeSubsampling()])
@pytest.mark.parametrize("name", WITHOUT_DATA)
def test_sklearn_contract(name: str, estimator: Any) -> None:
    getattr(estimator_checks, name)(type(estimator).__name__, estimator)


@pytest.fixture(scope="module")
def digits() -> Any:
    return load_digits().data[:200]


@pytest.mark.parametrize(("shape", "field", "stride"), [((6, 5), 3, 1), ((7, 7), 2, 2)])
def test_winners_against_a_loop(shape: tuple[int, int], field: int, stride: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((8, shape[0] * shape[1]))
    model = SOMFeatureMap(shape, field=field, stride=stride, lattice=(2, 3), max_iter=200).fit(X)
    units, place = model.som_.units_, model.som_.coordinates_
    found, maps = model.winners(X), model.transform(X)
    for i, image in enumerate(X.reshape(-1, *shape)):
        flat: list[float] = []
        for r, top in enumerate(range(0, shape[0] - field + 1, stride)):
            for c, left in enumerate(range(0, shape[1] - field + 1, stride)):
                part = image[top : top + field, left : left + field].ravel()
                best = int(np.argmin(((units - part) ** 2).sum(axis=1)))
                assert found[i, r, c] == best
                flat += place[best].tolist()
        assert maps[i].tolist() == flat
    assert found.shape[1:] == model.map_shape_
    assert maps.shape[1] == len(model.get_feature_names_out())


@pytest.mark.parametrize("value", [0.0, 0.1, 7.3])
def test_map_of_a_constant_image_is_constant(digits: Any, value: float) -> None:
    model = SOMFeatureMap(field=3, lattice=(4, 4), random_state=0, max_iter=200).fit(digits)
    constant = np.full((5, 64), value)
    assert len(np.unique(model.winners(constant))) == 1
    alone = SOMFeatureMap(field=3, lattice=(4, 4)).fit(constant)
    assert len(np.unique(alone.winners(constant))) == 1


def test_scale_of_the_pixels_does_not_matter(digits: Any) -> None:
    model = SOMFeatureMap(field=3, lattice=(4, 4), n_fields=2000, random_state=0, max_iter=200)
    small = clone(model).fit(digits / 16)
    assert np.mean(small.winners(digits / 16) == model.fit(digits).winners(digits)) > 0.999


def test_error_falls_and_seed_repeats(digits: Any) -> None:
    def fit(seed: int, **parameters: Any) -> SOMFeatureMap:
        return SOMFeatureMap(
            field=3, lattice=(4, 4), n_fields=1000, random_state=seed, max_iter=200, **parameters
        ).fit(digits)

    model = fit(0)
    trace = model.som_.objective_trace_
    assert all(later <= sooner * 1.01 for sooner, later in pairwise(trace[1:]))
    assert trace[-1] < 0.8 * trace[1]
    assert_array_equal(model.transform(digits), fit(0).transform(digits))
    assert not np.array_equal(model.som_.units_, fit(1).som_.units_)
    assert not np.array_equal(model.som_.units_, fit(0, init="sample").som_.units_)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.transform(digits), model.transform(digits))


def test_types_and_input(digits: Any) -> None:
    before = digits.copy()
    model = SOMFeatureMap(field=3, lattice=(3, 3), random_state=0, max_iter=200).fit(digits)
    assert_array_equal(digits, before)
    assert model.transform(digits).dtype == np.float64
    assert model.transform(digits.astype(np.float32)).dtype == np.float32
    assert model.transform(digits.astype(np.uint8)).dtype == np.float64
    names = model.get_feature_names_out()
    assert names[:3].tolist() == ["field_0_0_row", "field_0_0_column", "field_0_1_row"]


def test_bad_images() -> None:
    X = np.random.default_rng(0).random((4, 20))
    with pytest.raises(
        ValueError, match=r"20 features, which is not a square.*image_shape=\(height"
    ):
        SOMFeatureMap().fit(X)
    with pytest.raises(ValueError, match=r"image_shape=\(4, 6\) has 24 pixels, but X has 20"):
        SOMFeatureMap((4, 6)).fit(X)
    with pytest.raises(ValueError, match=r"image_shape must be two positive integers"):
        SOMFeatureMap((20,)).fit(X)
    with pytest.raises(ValueError, match=r"field=5 does not fit into images of 4 × 5 pixels"):
        SOMFeatureMap((4, 5)).fit(X)
    with pytest.raises(NotFittedError):
        SOMFeatureMap().transform(X)
    with pytest.raises(ValueError, match="'stride' parameter"):
        SOMFeatureMap(stride=0).fit(X)


# Two clusters of 4 × 4 maps with four regions: FIRST and THIRD, which differ in the upper left
# region only, and SECOND twice.
FIRST = np.kron([[1, 8], [0, 5]], np.ones((2, 2)))
THIRD = np.kron([[3, 8], [0, 5]], np.ones((2, 2)))
SECOND = np.full((4, 4), 20.0)


def test_archetypes_by_hand() -> None:
    maps = np.array([FIRST.ravel(), THIRD.ravel(), SECOND.ravel(), SECOND.ravel()])
    model = ArchetypeSubsampling(2, random_state=0).fit(maps)
    assert model.map_shape_ == (4, 4)
    assert model.n_coordinates_ == 1
    low = model.clusters_[0]
    assert model.clusters_.tolist() == [low, low, 1 - low, 1 - low]
    middle = np.kron([[2, 8], [0, 5]], np.ones((2, 2)))
    assert_allclose(model.archetypes_[low].reshape(4, 4), middle)
    # The upper left region has 11, 11, 10, 10: from 2 that is 34, from 20 it is 38. The upper
    # right one has 15: 7 · 4 from 8, 5 · 4 from 20. The lower left one has a single 20.
    new = np.array([[11, 11, 15, 15], [10, 10, 15, 15], [20, 0, 19, 9], [0, 0, 19, 9]], dtype=float)
    expected = np.array([[2, 2, 20, 20], [2, 2, 20, 20], [0, 0, 20, 20], [0, 0, 20, 20]])
    assert_allclose(model.transform(new.reshape(1, -1)).reshape(4, 4), expected)
    assert model.nearest_clusters(new.reshape(1, -1)).tolist() == [[low, 1 - low, low, 1 - low]]
    assert_allclose(model.transform(maps[:2]), [middle.ravel()] * 2)


def test_regions_of_coordinates_use_lattice_distances() -> None:
    # One region of two fields, both at (0, 0). The lattice distances to the first archetype
    # are 5 + 0, to the second 3 + 3; squares would say 25 against 18.
    maps = np.zeros((1, 4))
    archetypes = np.array([[3.0, 4.0, 0.0, 0.0], [0.0, 3.0, 3.0, 0.0]])
    replaced, nearest = replace_regions(maps, archetypes, [np.arange(4)], 2)
    assert nearest.tolist() == [[0]]
    assert_array_equal(replaced, archetypes[:1])


def test_regions() -> None:
    columns = region_columns((3, 5), 2, 2)
    assert len(columns) == 6
    assert sorted(np.concatenate(columns).tolist()) == list(range(30))
    assert columns[0].tolist() == [0, 1, 2, 3, 10, 11, 12, 13]
    assert columns[-1].tolist() == [28, 29]


def test_archetypes_of_one_cluster_and_of_every_map(digits: Any) -> None:
    one = ArchetypeSubsampling(1, random_state=0).fit(digits)
    assert_allclose(one.transform(digits), np.tile(digits.mean(axis=0), (len(digits), 1)))
    few = digits[:6]
    every = ArchetypeSubsampling(6, random_state=0).fit(few)
    assert_allclose(every.transform(few), few)
    assert ArchetypeSubsampling(2).fit(few.astype(np.float32)).transform(few).dtype == np.float64


def test_shapes_of_maps() -> None:
    rng = np.random.default_rng(0)
    pairs = ArchetypeSubsampling(2).fit(rng.random((5, 32)))
    assert (pairs.map_shape_, pairs.n_coordinates_) == ((4, 4), 2)
    wide = ArchetypeSubsampling(2, map_shape=(2, 5)).fit(rng.random((5, 20)))
    assert (wide.map_shape_, wide.n_coordinates_) == ((2, 5), 2)
    with pytest.raises(ValueError, match=r"20 features, which is not a square map.*map_shape_"):
        ArchetypeSubsampling(2).fit(rng.random((5, 20)))
    with pytest.raises(ValueError, match=r"map_shape=\(3, 3\) has 9 fields, but X has 20"):
        ArchetypeSubsampling(2, map_shape=(3, 3)).fit(rng.random((5, 20)))
    with pytest.raises(ValueError, match=r"n_clusters=9 needs as many maps, but X has n_samples=5"):
        ArchetypeSubsampling(9).fit(rng.random((5, 16)))


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 5), st.integers(1, 3), st.data())
@settings(max_examples=25, deadline=None)
def test_distance_against_a_loop(n: int, m: int, fields: int, parts: int, data: Any) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    A = rng.integers(0, 9, (n, fields * parts)).astype(float)
    B = rng.integers(0, 9, (m, fields * parts)).astype(float)
    difference = (A[:, None] - B[None]).reshape(n, m, fields, parts)
    straight = sum(np.sqrt((difference[:, :, k] ** 2).sum(axis=2)) for k in range(fields))
    found = som_distance(A, B, n_coordinates=parts)
    assert_allclose(found, straight)
    steps = np.abs(difference).sum(axis=(2, 3))
    assert_allclose(som_distance(A, B, n_coordinates=parts, lattice_metric="manhattan"), steps)
    assert_allclose(som_distance(A[0], B[0], n_coordinates=parts), straight[0, 0])
    own = som_distance(A, n_coordinates=parts)
    assert_array_equal(own, own.T)
    assert_array_equal(np.diag(own), 0)
    assert_allclose(own, som_distance(A, A, n_coordinates=parts))


def test_distance_in_blocks() -> None:
    # More fields and rows than fit into one block.
    rng = np.random.default_rng(0)
    A = rng.integers(0, 10, (300, 1152)).astype(np.float32)
    whole = som_distance(A)
    assert whole.dtype == np.float32
    for i, j in [(0, 299), (299, 0), (120, 113), (57, 200)]:
        expected = np.linalg.norm((A[i] - A[j]).reshape(-1, 2).astype(float), axis=1).sum()
        assert_allclose(whole[i, j], expected, rtol=1e-5)
    assert_allclose(som_distance(A[:5], A), whole[:5], rtol=1e-5)


def test_bad_distance() -> None:
    with pytest.raises(ValueError, match=r"A has the shape \(3,\), but a map must have 2 numbers"):
        som_distance([1, 2, 3], [1, 2, 3])
    with pytest.raises(ValueError, match=r"maps of 2 numbers, but B of 4"):
        som_distance([1, 2], [1, 2, 3, 4])
    with pytest.raises(ValueError, match=r"lattice_metric must be one of .*got 'hex'"):
        som_distance([1, 2], [1, 2], lattice_metric="hex")


def test_graph_of_maps(digits: Any) -> None:
    X = digits[:60]
    maps = make_pipeline(
        SOMFeatureMap(field=3, lattice=(4, 4), random_state=0, max_iter=200),
        ArchetypeSubsampling(5, random_state=0),
    ).fit_transform(X)
    distance = som_distance(maps)
    graph = KNNGraph(3, metric=som_distance, weight="binary").build(maps)
    np.fill_diagonal(distance, np.inf)
    # Equal maps count as one: the third nearest of the others.
    _, first, kind, counts = np.unique(
        maps, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    kind = kind.reshape(-1)
    others = distance[:, first]
    others[np.arange(60), kind] = np.inf
    third = np.sort(others, axis=1)[:, 2]
    joined = graph.adjacency.toarray() > 0
    # Every edge is among the three nearest of one end; where no tie leaves a choice, all are.
    near = distance <= third[:, None] + 1e-9
    assert not (joined & ~(near | near.T)).any()
    clear = (near.sum(axis=1) == 3) & ~near[:, counts[kind] > 1].any(axis=1)
    assert joined[clear][near[clear]].all()
    assert clear.sum() > 10


def test_steps_are_the_manhattan_metric(digits: Any) -> None:
    maps = SOMFeatureMap(field=3, lattice=(4, 4), random_state=0, max_iter=200).fit_transform(
        digits
    )
    by_name = KNNGraph(4, metric="manhattan").build(maps[:80]).adjacency
    by_function = KNNGraph(
        4, metric=som_distance, metric_params={"lattice_metric": "manhattan"}
    ).build(maps[:80])
    assert_allclose(by_name.data.sum(), by_function.adjacency.data.sum(), rtol=0.02)


@needs_mnist
def test_mnist() -> None:
    X = load("mnist", subset="test").data[:300] / np.float32(255)
    model = SOMFeatureMap(n_fields=20_000, random_state=0).fit(X)
    assert model.map_shape_ == (24, 24)
    assert model.som_.converged_
    assert model.transform(X).shape == (300, 1152)
