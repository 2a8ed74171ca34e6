"""Tables of Nguyen (2019): protocol and methods on small data, registry, one table end to end."""

from __future__ import annotations

import os

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from leaven.graph import KNNGraph
from leaven.graph_based import MinCutClassifier
from studies import TABLES, Run, reproduce
from studies.generative_framework import (
    ChosenNeighbors,
    SampleProtocol,
    abalones,
    body,
    graph_methods,
    mixtures,
    odd_digits,
    published,
    words,
)

needs_data = pytest.mark.skipif(
    not os.environ.get("LEAVEN_DATA"), reason="LEAVEN_DATA is not set: no files of data sets"
)
NUMBERS = ["2.1", "2.2", "2.3", *(f"3.{i}" for i in range(1, 9))]


def test_every_table_is_registered_with_its_published_numbers():
    sizes = {"2.1": 12, "2.2": 12, "2.3": 12, "3.1": 2, "3.2": 2, "3.3": 18, "3.4": 18,
             "3.5": 18, "3.6": 9, "3.7": 9, "3.8": 9}  # fmt: skip
    for number in NUMBERS:
        table = TABLES[f"S0-{number}"]
        assert len(table.published) == sizes[number], number
        assert set(table.published.index.get_level_values("dataset")) == set(table.datasets)
        assert set(table.published.index.get_level_values("method")) == set(table.methods)
        assert table.quick, number
        assert set(table.quick) <= set(table.datasets)
        assert table.higher_is_better
        assert table.value == "f1"


def test_published_numbers_by_hand():
    # Read off the printed tables.
    assert published("2.2").loc[("split-97", "EM-tree"), "mean"] == 0.89
    assert published("3.4").loc[("kNN, split-97", "graphical model"), "mean"] == 0.84
    assert published("3.5").loc[("kNN, split-97", "min-cut"), "mean"] == 0.41
    assert published("3.8").loc[("split-97", "SVM"), "mean"] == 0.36


def test_sample_protocol_takes_a_new_sample_in_each_trial():
    codes = np.repeat([0, 1], 20)
    protocol = SampleProtocol("sample", per_class=2, n_sampled=5)
    first, second = protocol.split(codes, 0), protocol.split(codes, 1)
    for split in (first, second):
        assert split.sizes == (4,)
        assert len(set(split.order)) == len(split.order) == 10
        assert_array_equal(np.bincount(codes[split.order]), [5, 5])
        assert_array_equal(np.bincount(codes[split.order[:4]]), [2, 2])
        assert_array_equal(split.tested(4), split.order[4:])
    assert set(first.order) != set(second.order)
    assert_array_equal(first.order, protocol.split(codes, 0).order)


def test_neighbors_are_chosen_that_give_hidden_labels_back():
    # Pairs of rows of one class, far apart and next to pairs of the other class: one neighbor
    # is right, three are not.
    places = np.arange(24) * 10.0
    X = np.concatenate([places, places + 1])[:, None]
    y = np.tile(np.arange(24) % 2, 2)
    graph = KNNGraph(weight="inverse-distance", include_labeled=True)
    model = ChosenNeighbors(MinCutClassifier(graph), (1, 3), random_state=0).fit(X, y)
    assert model.n_neighbors_ == 1
    assert ChosenNeighbors(MinCutClassifier(graph), (3,)).fit(X, y).n_neighbors_ == 3


def test_methods_of_the_tables():
    assert list(mixtures([1, 2])) == list(TABLES["S0-2.1"].methods)
    methods = graph_methods("kNN-MST", "20news-bydate", (2, 3))
    assert list(methods) == ["min-cut", "graphical model"]
    graph = methods["min-cut"].estimator.graph
    assert (graph.metric, graph.weight, graph.include_labeled) == ("cosine", "cosine", True)
    assert graph_methods("MST", "digits", (2, 3))["min-cut"].candidates == (10,)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Subject: a\n\nOne.\n\nTwo.\n--\nName\n", "One.\n\nTwo."),
        ("Subject: a\n\nIn article <1> b wrote:\n> No.\n| Nor this.\nYes.", "Yes."),
        ("no header", ""),
        ("a: b\n\n-- \nonly a signature", "-- \nonly a signature"),  # the rule is the first line
    ],
)
def test_body_of_a_document(text, rest):
    from sklearn.datasets import _twenty_newsgroups as peer

    assert body(text) == rest
    strip = peer.strip_newsgroup_header(text)
    strip = peer.strip_newsgroup_quoting(peer.strip_newsgroup_footer(strip))
    assert strip == rest


def test_odd_digits_have_the_class_sizes_of_the_source():
    X, y = odd_digits()
    assert X.shape == (1797, 64)
    assert ((y == "odd").sum(), (y == "even").sum()) == (906, 891)


@needs_data
def test_data_have_the_sizes_of_the_source():
    X, y = abalones()
    assert X.shape == (3842, 7)
    assert ((y == "5 to 9").sum(), (y == "10 to 15").sum()) == (2022, 1820)
    weights, y = words("talk")
    assert weights.shape == (8144, 600)
    lengths = np.sqrt(weights.power(2).sum(axis=1))
    empty = lengths < 0.5  # documents that hold nothing but quotes, or no frequent word
    assert_allclose(lengths[~empty], 1.0)
    assert empty.mean() < 0.05
    # Parts of rows of length one, times 100.
    whole, _ = words("talk", "whole texts, times 100")
    lengths = np.sqrt(whole.power(2).sum(axis=1))
    assert 90 < lengths.max() <= 100 + 1e-9
    counts, _ = words("talk", "counts")
    assert (counts.data == np.round(counts.data)).all()
    assert (y == "comp").sum() == 4891


def test_a_table_end_to_end():
    report = reproduce(["S0-3.1"], Run(quick=True, n_trials=2))[0]
    assert not report.failed
    assert report.cells["method"].tolist() == ["min-cut", "graphical model"]
    assert report.cells["published"].tolist() == [0.87, 0.89]
    assert (report.results["n_labeled"] == 14).all()
    assert (report.cells["mean"] > 0.5).all()
