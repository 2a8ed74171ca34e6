"""Schedules, scores, protocols, fingerprints and tables, against other ways to compute them."""

from __future__ import annotations

import enum
import functools
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.integrate import trapezoid
from scipy.stats import wilcoxon
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score
from sklearn.naive_bayes import GaussianNB

from leaven.active import SmallestMargin
from leaven.evaluation import (
    Active,
    CurveProtocol,
    DrawProtocol,
    FoldProtocol,
    Tuned,
    aulc,
    class_scores,
    escape_markdown,
    get_protocol,
    label_schedule,
    random_order,
    summary_table,
    trial_scores,
    wilcoxon_table,
)
from leaven.evaluation._fingerprint import describe, describe_data, describe_estimator, digest_of
from leaven.evaluation._protocol import (
    PROTOCOLS,
    derived_seed,
    is_continuous,
    per_class_first,
    protocol_settings,
)
from leaven.evaluation._schedule import colon
from leaven.evaluation._scores import macro_scores
from leaven.evaluation._tables import escape_latex

# Schedules and areas


@given(st.integers(1, 500), st.integers(0, 5_000), st.booleans())
@settings(max_examples=60)
def test_sizes_are_rounded_powers(n0: int, more: int, include_n: bool) -> None:
    n = n0 + more
    sizes = label_schedule(n0, n, include_n=include_n)
    assert sizes[0] == n0
    assert sizes[-1] <= n
    assert (np.diff(sizes) > 0).all()
    grid = {math.floor(n0 * 10 ** (0.05 * t) + 0.5) for t in range(200)}
    assert set(sizes) <= grid | {n}
    # No step of the grid is missing.
    assert {s for s in grid if s < 0.99 * n} <= set(sizes)


def test_a_grid_as_matlab_has_it() -> None:
    assert_allclose(colon(0.0, 0.1, 0.3), [0.0, 0.1, 0.2, 0.3])
    assert colon(0.0, 0.1, 0.3)[-1] == 0.3  # 3 * 0.1 is 0.30000000000000004
    assert_allclose(colon(1.0, 0.4, 2.0), [1.0, 1.4, 1.8])
    assert_array_equal(colon(2.0, 0.5, 2.0), [2.0])


@pytest.mark.parametrize("n0", [0, -1, 11])
def test_numbers_of_labels_that_cannot_be(n0: int) -> None:
    with pytest.raises(ValueError, match=f"n0={n0} and n=10"):
        label_schedule(n0, 10)


@pytest.mark.parametrize("value", [True, 2.0, "3", None])
def test_numbers_of_labels_are_integers(value: Any) -> None:
    with pytest.raises(TypeError, match="n0 must be an integer"):
        label_schedule(value, 10)
    assert label_schedule(np.int64(3), np.int64(4)) == [3, 4]


@given(st.lists(st.floats(0, 1), min_size=2, max_size=8), st.integers(0, 1_000))
@settings(max_examples=40)
def test_areas_equal_trapezoids(errors: list[float], seed: int) -> None:
    steps = np.random.default_rng(seed).integers(1, 9, size=len(errors))
    sizes = np.cumsum(steps)
    assert_allclose(aulc(sizes, errors), trapezoid(errors, np.log2(sizes)), atol=1e-12)
    curves = np.array([errors, errors[::-1]])
    assert_allclose(aulc(sizes, curves)[0], aulc(sizes, errors))
    assert aulc(sizes, np.stack([curves, curves])).shape == (2, 2)


@pytest.mark.parametrize(
    ("sizes", "errors", "message"),
    [
        ([], [], "positive numbers, each larger"),
        ([1, 1], [0.1, 0.2], "each larger than the one before"),
        ([0, 1], [0.1, 0.2], "positive numbers"),
        ([1, 2], [0.1], r"errors has shape \(1,\), but there are 2 sizes"),
        ([1, 2], 0.5, r"errors has shape \(\)"),
        ([[1, 2]], [0.1, 0.2], "positive numbers"),
    ],
)
def test_curves_that_cannot_be(sizes: Any, errors: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        aulc(sizes, errors)


# Scores


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=25))
@settings(max_examples=60)
def test_scores_over_classes_equal_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    truth, said = np.array(pairs).T
    options: dict[str, Any] = {"average": "macro", "zero_division": 0.0}
    expected = {
        "error": 1 - accuracy_score(truth, said),
        "accuracy": accuracy_score(truth, said),
        "f1": f1_score(truth, said, **options),
        "precision": precision_score(truth, said, **options),
        "recall": recall_score(truth, said, **options),
    }
    found = macro_scores(truth, said)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-12)
    table = class_scores(truth, said)
    assert_allclose(table.loc["average", "f1"], expected["f1"])
    assert table.loc["average", "support"] == len(truth)


def test_a_class_that_is_never_predicted_has_precision_zero() -> None:
    table = class_scores(["a", "b", "c"], ["a", "a", "a"])
    assert table.loc["b", "precision"] == 0.0
    assert table.loc["a", "recall"] == 1.0
    assert table.index.tolist() == ["a", "b", "c", "average"]


# Protocols


def test_orders_depend_on_every_part_of_the_key() -> None:
    orders = {random_order(30, *key).tobytes() for key in ((0, 0), (0, 1), (1, 0), (1, 1))}
    assert len(orders) == 4
    assert_array_equal(np.sort(random_order(30, 4, 2)), np.arange(30))
    assert len(random_order(0, 1)) == 0
    assert 0 <= derived_seed(3, 4) < 2**31
    assert derived_seed(3, 4) != derived_seed(4, 3)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=20), st.integers(0, 4))
@settings(max_examples=60)
def test_the_first_rows_of_each_class_come_first(codes: list[int], k: int) -> None:
    classes = np.array(codes)
    order = np.random.default_rng(len(codes)).permutation(len(codes))
    moved, n_first = per_class_first(order, classes, k)
    assert sorted(moved.tolist()) == list(range(len(codes)))
    counts = np.bincount(classes, minlength=4)
    assert n_first == np.minimum(counts, k).sum()
    for part in (moved[:n_first], moved[n_first:]):  # the random order is kept within both
        places = np.argsort(order)[part]
        assert (np.diff(places) > 0).all()
    assert (np.bincount(classes[moved[:n_first]], minlength=4) == np.minimum(counts, k)).all()


@pytest.mark.parametrize("name", sorted(PROTOCOLS))
def test_named_protocols_split_without_overlap(name: str) -> None:
    protocol = get_protocol(name)
    codes = np.arange(900) % 3
    codes = np.sort(codes)
    for trial in (0, protocol.n_trials - 1):
        split = protocol.split(codes, trial, continuous=True)
        parts = np.concatenate([split.order, split.test, split.validation])
        assert len(set(parts.tolist())) == len(parts)
        assert split.sizes[-1] <= len(split.order)
        tested = split.tested(split.sizes[0])
        assert len(tested)
        assert not set(tested.tolist()) & set(split.order[: split.sizes[0]].tolist())
        again = protocol.split(codes, trial, continuous=True)
        assert_array_equal(again.order, split.order)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CurveProtocol("c", test_size=1.0), "test_size must be a share"),
        (lambda: CurveProtocol("c", validation_size=-0.1), "validation_size must be a share"),
        (lambda: CurveProtocol("c", n_trials=0), "n_trials must be an integer of at least 1"),
        (lambda: CurveProtocol("c", seed=-1), "seed must be an integer of at least 0"),
        (lambda: CurveProtocol("c", seed=True), "seed must be an integer"),
        (lambda: CurveProtocol("c", start=-2), "start must be an integer of at least 0"),
        (lambda: CurveProtocol("c", sizes=(2, 2)), "each larger than the one before"),
        (lambda: CurveProtocol("c", sizes=()), "numbers of labels"),
        (lambda: FoldProtocol("f", unlabeled=0.0), "unlabeled must be a share"),
        (lambda: FoldProtocol("f", train_size=1.5), "train_size must be a share"),
        (lambda: FoldProtocol("f", n_inner=0), "n_inner must be"),
        (lambda: DrawProtocol("d", per_class=0), "per_class must be"),
    ],
)
def test_protocols_that_cannot_be(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("protocol", "n", "message"),
    [
        (CurveProtocol("c", test_size=0.9, validation_size=0.1), 5, "leave none to train"),
        (CurveProtocol("c", sizes=(50,)), 20, "sizes go up to 50, but a trial has 15"),
        (FoldProtocol("f", unlabeled=0.97), 20, "less than one row"),
        (DrawProtocol("d", per_class=10), 20, "smallest class has 10 rows, but 10 of each"),
    ],
)
def test_data_that_are_too_few(protocol: Any, n: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        protocol.split(np.arange(n) % 2, 0)


def test_settings_leave_out_the_name_and_how_often() -> None:
    short, long = CurveProtocol("a", n_trials=3), CurveProtocol("b", n_trials=9)
    assert protocol_settings(short) == protocol_settings(long)
    assert protocol_settings(CurveProtocol("a", seed=1)) != protocol_settings(short)
    assert "n_outer" not in protocol_settings(FoldProtocol("f"))
    with pytest.raises(ValueError, match="protocol='curv' is not known"):
        get_protocol("curv")
    with pytest.raises(TypeError, match="a name or a protocol, got 7"):
        get_protocol(7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        (np.zeros((2, 2)), True),
        (np.zeros((2, 2), dtype=int), False),
        (pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), False),
        (pd.DataFrame({"a": [1.5, 2], "b": ["x", "y"]}), True),
        ([["a"], ["b"]], False),
        (sparse.csr_array(np.eye(2)), True),
    ],
)
def test_columns_of_floats_are_continuous(X: Any, expected: bool) -> None:
    assert is_continuous(X) is expected


# Fingerprints


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def double(x: float) -> float:
    return 2 * x


def make_power(n: int) -> Any:
    return lambda x: x**n


class Named:
    __fingerprint__ = "first"

    def __reduce__(self) -> Any:
        raise TypeError("no")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        ("1", 1),
        (None, "None"),
        ([1, 2], [2, 1]),
        ({"a": 1}, {"a": 2}),
        ({1, 2}, {1, 3}),
        (np.arange(3), np.arange(3.0)),
        (np.arange(4), np.arange(4).reshape(2, 2)),
        (Color.RED, Color.BLUE),
        (make_power(2), make_power(3)),
        (functools.partial(double, 1), functools.partial(double, 2)),
        (Path("a"), Path("b")),
        (slice(1), slice(2)),
        (re.compile("a"), re.compile("b")),
        (LogisticRegression(C=1.0), LogisticRegression(C=2.0)),
        (LogisticRegression(), GaussianNB()),
        (np.random.RandomState(1), np.random.RandomState(2)),
        (sparse.csr_array(np.eye(2)), sparse.csr_array(2 * np.eye(2))),
        (pd.Series([1, 2]), pd.Series([1, 3])),
        (b"a", "a"),
        (1j, 1.0),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_differs_has_another_description(one: Any, other: Any) -> None:
    assert describe(one) != describe(other)
    assert describe(one) == describe(one)


def test_what_is_equal_has_one_description() -> None:
    assert describe({"b": 1, "a": 2}) == describe({"a": 2, "b": 1})
    assert describe({3, 1, 2}) == describe({2, 3, 1})
    assert describe(make_power(4)) == describe(make_power(4))
    assert describe(np.float64(1.5)) == describe(1.5)
    assert describe(LogisticRegression(C=3)) == describe(LogisticRegression(C=3))
    shuffled = sparse.coo_array(([2.0, 1.0], ([1, 0], [1, 0])))
    assert digest_of(shuffled) == digest_of(sparse.csr_array(np.diag([1.0, 2.0])))
    assert digest_of(np.asfortranarray(np.eye(3))) == digest_of(np.eye(3))


def test_a_frozen_estimator_is_told_by_what_it_learned() -> None:
    X = np.array([[0.0], [1.0], [2.0]])
    one = FrozenEstimator(GaussianNB().fit(X, [0, 0, 1]))
    other = FrozenEstimator(GaussianNB().fit(X, [0, 1, 1]))
    assert describe(one) != describe(other)
    assert describe_estimator(one) != describe_estimator(other)


def test_objects_that_hold_themselves_and_long_ones() -> None:
    circle: list[Any] = []
    circle.append(circle)
    assert describe(circle) == "[<itself>]"
    long, longer = "x" * 5_000, "x" * 5_001
    assert len(describe(long)) < 4_200
    assert describe(long) != describe(longer)


def test_what_cannot_be_looked_into_names_itself_or_is_refused() -> None:
    assert "'first'" in describe(Named())

    class Closed:
        def __reduce__(self) -> Any:
            raise TypeError("no")

    with pytest.raises(ValueError, match=r"cannot be looked into.*__fingerprint__"):
        describe(Closed())


def test_tuned_and_active_methods_are_told_by_their_parts() -> None:
    base = GaussianNB()
    tuned = describe_estimator(Tuned(base, {"var_smoothing": [0.1, 0.2]}))
    assert tuned["grid"] != describe_estimator(Tuned(base, {"var_smoothing": [0.1]}))["grid"]
    active = describe_estimator(Active(base, SmallestMargin()))
    assert "SmallestMargin" in active["strategy"]
    assert active["class"] == describe_estimator(base)["class"]


def test_data_are_told_by_shape_values_and_classes() -> None:
    X, y = np.arange(6.0).reshape(3, 2), np.array(["a", "b", "a"])
    first = describe_data(X, y)
    assert first["shape"] == "3 x 2"
    assert describe_data(X + 1, y)["X"] != first["X"]
    assert describe_data(X, y[::-1][[1, 0, 2]])["y"] != first["y"]
    frame = pd.DataFrame(X, columns=["p", "q"])
    assert describe_data(frame, y)["X"] != describe_data(frame.rename(columns={"p": "r"}), y)["X"]


# Tables


def frame_of(errors: dict[str, list[float]], dataset: str = "d") -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"dataset": dataset, "method": method, "trial": trial, "error": error}
            for method, values in errors.items()
            for trial, error in enumerate(values)
        ]
    )


def test_pairs_are_tested_as_scipy_does() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 12))
    table = wilcoxon_table(frame_of({"a": a.tolist(), "b": b.tolist()}))
    assert_allclose(table["p_value"].iloc[0], wilcoxon(a, b, zero_method="zsplit").pvalue)
    assert table["n_pairs"].iloc[0] == 12
    assert_allclose(table[["mean_a", "mean_b"]].iloc[0], [a.mean(), b.mean()])


def test_several_data_sets_have_a_row_for_all() -> None:
    frame = pd.concat(
        [frame_of({"a": [0.1 * k, 0.2], "b": [0.3, 0.4]}, f"set {k}") for k in range(3)]
    )
    table = wilcoxon_table(frame)
    assert table["dataset"].tolist() == ["set 0", "set 1", "set 2", "all data sets"]
    assert table["n_pairs"].tolist() == [2, 2, 2, 3]
    upside_down = wilcoxon_table(frame, higher_is_better=True)
    assert (upside_down["direction"] == "b").all()


def test_trials_that_one_did_not_finish_are_left_out() -> None:
    frame = frame_of({"a": [0.1, np.nan, 0.3], "b": [0.2, 0.4, 0.6]})
    assert wilcoxon_table(frame)["n_pairs"].tolist() == [2]
    nothing = frame_of({"a": [np.nan, 0.2], "b": [0.1, np.nan]})
    with pytest.raises(ValueError, match="nothing to compare"):
        wilcoxon_table(nothing)


@pytest.mark.parametrize(
    ("frame", "kind", "message"),
    [
        ([1, 2], TypeError, "must be a pandas DataFrame"),
        (pd.DataFrame({"method": ["a"]}), ValueError, "no column 'trial'"),
        (frame_of({}).reindex(columns=["method", "trial", "error"]), ValueError, "no rows"),
        (pd.concat([frame_of({"a": [0.1]})] * 2), ValueError, "several rows for dataset"),
        (frame_of({"a": [0.1]}).assign(method=None), ValueError, "empty entries"),
        (
            pd.concat([frame_of({"a": [0.1]}).assign(n_labeled=3)] * 2),
            ValueError,
            "several rows for dataset, trial, method, n_labeled",
        ),
    ],
)
def test_frames_that_cannot_be(frame: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        trial_scores(frame)


def test_scores_keep_the_order_of_appearance() -> None:
    frame = pd.concat([frame_of({"z": [0.1], "a": [0.2]}, "y"), frame_of({"z": [0.3]}, "b")])
    scores = trial_scores(frame)
    assert scores.columns.tolist() == ["z", "a"]
    assert scores.index.get_level_values("dataset").tolist() == ["y", "b"]
    assert np.isnan(scores.iloc[1, 1])


@given(st.text(alphabet="ab|*_\\`[]<>~$#%&{}^–± \n", max_size=12))
@settings(max_examples=60)
def test_names_stand_for_themselves(text: str) -> None:
    cell = escape_markdown(text)
    assert "\n" not in cell
    assert re.sub(r"\\(.)", r"\1", cell) == text.replace("\n", " ")
    latex = escape_latex(text)
    bare = re.sub(r"\\(text\w+\{\}|[&%$#_{}])", "", latex.replace(r"$\pm$", ""))
    assert not set(bare) & set("&%$#_{}~^<>")


def test_a_custom_test_decides_on_italics() -> None:
    frame = frame_of({"a": [0.1, 0.2, 0.3], "b": [0.2, 0.3, 0.4], "c": [0.5, 0.6, 0.7]})
    calls = []

    def p_value(x: Any, y: Any) -> float:
        calls.append((x.mean(), y.mean()))
        return 0.5 if x.mean() < 0.4 else 0.001

    table = summary_table(frame, test=p_value)
    assert table.best.loc["d"].tolist() == [True, False, False]
    assert table.equivalent.loc["d"].tolist() == [False, True, False]
    assert_allclose(calls, [(0.3, 0.2), (0.6, 0.2)])
    assert summary_table(frame, test=None).equivalent.to_numpy().sum() == 0
    with pytest.raises(ValueError, match="test must be 'wilcoxon', None or a function"):
        summary_table(frame, test="t")
    with pytest.raises(ValueError, match="digits must be a whole number"):
        summary_table(frame, digits=-1)
