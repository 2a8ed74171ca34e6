"""What speaks for a class, against SciPy's odds ratios and counting by hand."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats.contingency import odds_ratio

from leaven.app._evidence import (
    Evidence,
    Things,
    _bins,
    count_things,
    log_odds,
    weigh_evidence,
)


@pytest.mark.parametrize(
    ("a", "n", "b", "m"), [(6, 10, 3, 17), (1, 8, 9, 30), (12, 13, 2, 40), (5, 7, 0, 11)]
)
def test_log_odds_are_those_of_scipy(a, n, b, m):
    # Cells with one half added, times two, are whole numbers with the same ratio; the standard
    # error of SciPy is then smaller by the square root of two.
    cells = 2 * np.array([[a, n - a], [b, m - b]]) + 1
    peer = odds_ratio(cells, kind="sample")
    interval = peer.confidence_interval(0.95)
    ratio, error = log_odds(np.array([[a]]), np.array([n]), np.array([a + b]), n + m)
    assert_allclose(ratio[0, 0], np.log(peer.statistic))
    half = (np.log(interval.high) - np.log(interval.low)) / 2
    assert_allclose(error[0, 0], np.sqrt(2) * half / 1.959964, rtol=1e-6)


def test_every_class_and_thing_has_its_own_table():
    inside = np.array([[3.0, 5.0], [2.0, 0.0]])
    ratio, error = log_odds(inside, np.array([4.0, 9.0]), np.array([8.0, 2.0]), 13.0)
    for thing, total in enumerate((8.0, 2.0)):
        for label, n_inside in enumerate((4.0, 9.0)):
            a = inside[thing, label]
            b, rest = total - a, 13.0 - n_inside
            table = [a + 0.5, n_inside - a + 0.5, b + 0.5, rest - b + 0.5]
            expected = np.log(table[0] * table[3] / (table[1] * table[2]))
            assert ratio[thing, label] == pytest.approx(expected)
            assert error[thing, label] == pytest.approx(np.sqrt(np.sum(1 / np.array(table))))


def small_table():
    return pd.DataFrame(
        {
            "text": ["Red apple", "the red, red car", "green apple 77", None],
            "size": [1.5, 2.5, 8.0, None],
            "color": ["red", " red ", "green", None],
        }
    )


def test_words_are_counted_once_per_row_without_numbers_and_function_words():
    things = count_things(small_table(), {"text": "text"})
    assert set(things.words) == {"red", "apple", "car", "green"}
    counted = {
        word: things.has[:, [number]].toarray().ravel() for word, number in things.words.items()
    }
    assert counted["red"].tolist() == [1, 1, 0, 0]
    assert counted["apple"].tolist() == [1, 0, 1, 0]


def test_columns_are_cut_into_bins_with_names():
    things = count_things(small_table(), {"text": "text", "size": "number", "color": "category"})
    names = np.array(things.names)[things.codes - len(things.words)]
    # The median of 1.5, 2.5 and 8 cuts the numbers in two; an empty cell is a bin of its own.
    assert names[:, 0].tolist() == ["up to 2.5", "up to 2.5", "above 2.5", "(empty)"]
    assert names[:, 1].tolist() == ["red", "red", "green", "(empty)"]
    assert things.columns == ["size", "color"]


def test_bins_of_numbers_are_those_of_qcut():
    values = pd.Series(np.random.default_rng(3).normal(size=200))
    codes, names = _bins(values, "number")
    assert codes.tolist() == pd.qcut(values, 8, labels=False).tolist()
    assert len(names) == 9  # eight bins, and the empty cells


def test_bins_of_dates_are_named_by_days():
    days = pd.Series(pd.date_range("2024-01-01", periods=60).strftime("%Y-%m-%d"))
    codes, names = _bins(days.where(days.index != 7), "date")
    assert codes[7] == len(names) - 1
    # The median of 59 days, of which the eighth is missing.
    assert names == ["up to 2024-01-31", "above 2024-01-31", "(empty)"]
    assert (np.diff(np.delete(codes, 7)) >= 0).all()


def test_rare_categories_count_as_one():
    values = pd.Series([f"v{i % 40}" for i in range(400)] + ["v0"] * 50)
    codes, names = _bins(values, "category")
    assert (names[0], names[-1], len(names)) == ("v0", "(other)", 31)
    assert (codes == 30).sum() == 100  # ten values of ten rows each


def brute_force(things, shares):
    """Count inside and outside each class, thing by thing; take the near end of the interval."""
    n_rows, n_classes = shares.shape
    has = np.zeros((n_rows, things.n_things))
    has[:, : len(things.words)] = things.has.toarray()
    for row in range(n_rows):
        has[row, things.codes[row]] = 1
    found = np.zeros((things.n_things, n_classes))
    for thing in range(things.n_things):
        for label in range(n_classes):
            a = sum(shares[row, label] for row in range(n_rows) if has[row, thing])
            b = sum(1 - shares[row, label] for row in range(n_rows) if has[row, thing])
            c = sum(shares[row, label] for row in range(n_rows) if not has[row, thing])
            d = sum(1 - shares[row, label] for row in range(n_rows) if not has[row, thing])
            cells = np.array([a, b, c, d]) + 0.5
            ratio = np.log(cells[0] / cells[1] / cells[2] * cells[3])
            width = 1.96 * np.sqrt((1 / cells).sum())
            # More frequent inside, without the halves: a / (a + c) > b / (b + d).
            if np.sign(a * d - b * c) == np.sign(ratio):
                found[thing, label] = np.sign(ratio) * max(0.0, abs(ratio) - width)
    return found


def test_evidence_is_the_near_end_of_the_interval(fruit):
    things = count_things(fruit[["text", "grams"]], {"text": "text", "grams": "number"})
    share = np.random.default_rng(5).dirichlet([0.4, 0.3, 0.8], len(fruit))
    share[:, 0] = np.where(np.arange(40) % 2, 0.9, 0.05)
    share /= share.sum(axis=1, keepdims=True)
    assert_allclose(weigh_evidence(things, share).ratio, brute_force(things, share), atol=1e-5)
    assert (weigh_evidence(things, share).ratio[:, 0] > 0).any()


def test_the_reasons_of_a_row_are_its_own_things_the_strongest_first():
    things = Things(
        {"plum": 0, "stone": 1, "sour": 2}, ["size"], np.array([[3], [4]], np.int32), ["s", "l"]
    )
    evidence = Evidence(np.array([[0.7, 0], [2.1, 0], [-1, 3], [0, 0.4], [0.2, 0]], np.float32))
    said = things.words_in(["Sour plum and a STONE", "stone again"])
    assert said == [0, 1, 2]
    found = evidence.of_row(things, 1, said, 0)
    assert found == {"words": ["stone", "plum"], "columns": [["size", "l"]]}
    assert evidence.of_row(things, 1, said, 0, most=1)["words"] == ["stone"]
    assert evidence.of_row(things, 0, [2, 0], 1) == {
        "words": ["sour"],
        "columns": [["size", "s"]],
    }
    # A class that came after the last fit has no evidence yet.
    assert evidence.of_row(things, 0, [2], 5) == {"words": [], "columns": []}
    assert evidence.of_group(things, 1) == ["sour", "size: s"]


def test_what_a_small_cluster_lacks_does_not_tell_it_from_the_others(fruit):
    """Sixty clusters of numbers: the bin of empty cells has no row at all, a rare word one."""
    n_rows = 60 * 20
    numbers = np.tile(np.arange(20), 60) + np.repeat(np.arange(60), 20) * 100.0
    words = ["once" if row == n_rows - 1 else "" for row in range(n_rows)]
    table = pd.DataFrame({"n": numbers, "t": words})
    things = count_things(table, {"t": "text", "n": "number"})
    members = np.eye(60)[np.repeat(np.arange(60), 20)]
    evidence = weigh_evidence(things, members)
    empty = things.n_things - 1
    assert things.names[-1] == "(empty)"
    assert (evidence.ratio[empty] == 0).all()
    assert not (evidence.ratio[things.words["once"], :-1] > 0).any()
    for cluster in (0, 30, 58):
        telling = evidence.of_group(things, cluster)
        assert all(name.startswith("n: ") for name in telling)
        assert telling


def test_words_are_looked_for_in_what_is_shown_of_a_text():
    things = Things({"stone": 0, "plum": 1}, [], np.empty((1, 0), np.int32), [])
    assert things.words_in(["plum " * 3_990 + "stone"]) == [0, 1]
    assert things.words_in(["plum " * 4_000 + "stone"]) == [1]


def test_a_text_column_without_words_is_no_error():
    things = count_things(pd.DataFrame({"t": ["77 8", "!!", ""]}), {"t": "text"})
    assert things.words == {}
    assert weigh_evidence(things, np.full((3, 2), 0.5)).ratio.shape == (0, 2)
