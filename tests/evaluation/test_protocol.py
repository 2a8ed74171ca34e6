from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaven.evaluation import (
    PROTOCOLS,
    CurveProtocol,
    DrawProtocol,
    FoldProtocol,
    get_protocol,
    label_schedule,
)
from leaven.evaluation._protocol import is_continuous, protocol_settings, random_order


def codes_of(n: int, n_classes: int, seed: int = 0) -> Any:
    codes = np.random.default_rng(seed).integers(n_classes, size=n)
    codes[: 3 * n_classes] = np.repeat(np.arange(n_classes), 3)
    return codes


def test_orders_are_the_same_on_every_machine() -> None:
    # From the streams that NumPy promises to keep; a change here breaks every store.
    assert random_order(10, 0, 0, 0).tolist() == [3, 2, 1, 8, 6, 0, 7, 4, 5, 9]
    assert random_order(10, 7, 3, 1).tolist() == [1, 9, 6, 5, 0, 7, 2, 8, 3, 4]


@given(
    st.sampled_from(sorted(set(PROTOCOLS) - {"50-per-class", "100-per-class"})),
    st.integers(100, 400),
    st.integers(2, 4),
    st.integers(0, 30),
)
@settings(max_examples=40, deadline=None)
def test_splits_are_sound(name: str, n: int, n_classes: int, trial: int) -> None:
    protocol = get_protocol(name)
    codes = np.arange(n) % n_classes
    split = protocol.split(codes, trial)
    parts = [split.order, split.test, split.validation]
    assert sorted(np.concatenate(parts).tolist()) == list(range(n))
    assert split.sizes[-1] <= len(split.order)
    again = protocol.split(codes, trial)
    assert all(
        np.array_equal(a, b)
        for a, b in zip(parts, [again.order, again.test, again.validation], strict=True)
    )
    other = protocol.split(codes, trial + 1)
    assert not np.array_equal(split.order, other.order)
    tested = split.tested(split.sizes[0])
    assert len(tested)
    assert not set(tested.tolist()) & set(split.order[: split.sizes[0]].tolist())


def test_seventy_five_to_twenty_five() -> None:
    codes = codes_of(203, 3)
    one = get_protocol("curve-discrete").split(codes, 4)
    assert (len(one.order), len(one.test)) == (152, 51)
    assert one.sizes == tuple(label_schedule(1, 152, include_n=True))
    two = get_protocol("curve-continuous").split(codes, 4)
    assert sorted(codes[two.order[:6]].tolist()) == [0, 0, 1, 1, 2, 2]
    assert two.sizes == tuple(label_schedule(6, 152, include_n=True))
    # The same partition, and beyond the start the same order.
    assert np.array_equal(one.test, two.test)
    rest = [row for row in one.order if row not in set(two.order[:6])]
    assert rest == two.order[6:].tolist()


def test_a_rare_class_gives_the_rows_it_has() -> None:
    codes = np.array([0] * 50 + [1] * 49 + [2])
    protocol = CurveProtocol("x", start=2)
    starts = [protocol.split(codes, trial) for trial in range(12)]
    counts = {(split.sizes[0], int((codes[split.order] == 2).sum())) for split in starts}
    assert counts == {(5, 1), (4, 0)}  # in training, or among the test rows


def test_sizes_before_the_start_rows_mean_a_random_order() -> None:
    codes = codes_of(100, 3)
    early = CurveProtocol("x", start=2, sizes=(3, 10)).split(codes, 0)
    assert np.array_equal(early.order, CurveProtocol("x", start=0).split(codes, 0).order)


def test_sixty_twenty_twenty() -> None:
    split = get_protocol("validation").split(codes_of(100, 2), 0)
    assert [len(part) for part in (split.order, split.validation, split.test)] == [60, 20, 20]


@pytest.mark.parametrize(
    ("n", "name", "labeled", "unlabeled"),
    [
        # Tables 2.1-2.3 and 3.3-3.5 of Nguyen (2019) print these counts.
        (8870, "split-70", 1064, 2484),
        (8870, "split-90", 354, 3194),
        (8870, "split-97", 106, 3442),
        (8843, "split-70", 1061, 2476),
        (8843, "split-97", 106, 3431),
        (3842, "split-70-transductive", 1152, 2690),
        (1797, "split-90-transductive", 179, 1618),
        (1797, "split-97-transductive", 53, 1744),
        (8870, "split-97-transductive", 266, 8604),
    ],
)
def test_split_x_has_the_published_counts(n: int, name: str, labeled: int, unlabeled: int) -> None:
    split = get_protocol(name).split(np.arange(n) % 2, 0)
    assert split.sizes == (labeled,)
    assert len(split.order) - labeled == unlabeled
    assert len(split.test) == (0 if "transductive" in name else n - len(split.order))


def test_inner_divisions_share_their_outer_one() -> None:
    protocol = get_protocol("split-70")
    codes = codes_of(200, 2)
    splits = [protocol.split(codes, trial) for trial in range(6)]
    tests = [sorted(split.test.tolist()) for split in splits]
    assert all(test == tests[0] for test in tests[:5])
    assert tests[5] != tests[0]
    labeled = {tuple(sorted(split.order[: split.sizes[0]])) for split in splits}
    assert len(labeled) == 6
    assert protocol.n_trials == 25


def test_k_labeled_a_class() -> None:
    codes = codes_of(90, 3)
    split = get_protocol("5-per-class").split(codes, 2)
    assert np.bincount(codes[split.order[: split.sizes[0]]]).tolist() == [5, 5, 5]
    assert np.array_equal(split.tested(15), split.order[15:])
    with pytest.raises(ValueError, match="The smallest class has 1 rows, but 1 of each class"):
        get_protocol("1-per-class").split(np.array([0, 0, 0, 1]), 0)


def test_what_makes_an_experiment_another_one() -> None:
    base = protocol_settings(CurveProtocol("a", n_trials=5))
    assert base == protocol_settings(CurveProtocol("b", n_trials=50))
    assert base != protocol_settings(CurveProtocol("a", seed=1))
    more = protocol_settings(FoldProtocol("a", n_outer=9))
    assert more == protocol_settings(FoldProtocol("a"))
    assert more != protocol_settings(FoldProtocol("a", n_inner=9))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CurveProtocol("x", test_size=1.5), "test_size must be a share"),
        (lambda: CurveProtocol("x", start="two"), "start must be an integer of at least 0"),
        (lambda: CurveProtocol("x", sizes=(5, 5)), "sizes must be numbers of labels"),
        (lambda: CurveProtocol("x", seed=-1), "seed must be an integer of at least 0, got -1"),
        (lambda: FoldProtocol("x", unlabeled=1.0), "unlabeled must be a share"),
        (lambda: DrawProtocol("x", per_class=0), "per_class must be an integer of at least 1"),
        (lambda: get_protocol("split-71"), "protocol='split-71' is not known. Known are"),
        (lambda: CurveProtocol("x", sizes=(5, 90)).split(np.arange(100) % 2, 0), "sizes go up to"),
        (lambda: FoldProtocol("x", unlabeled=0.97).split(np.arange(20) % 2, 0), "too few"),
    ],
)
def test_bad_protocols(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_what_is_continuous() -> None:
    assert is_continuous(np.ones((3, 2)))
    assert not is_continuous(np.ones((3, 2), dtype=int))
    frame = pd.DataFrame({"a": ["x", "y"], "b": pd.Categorical(["u", "v"])})
    assert not is_continuous(frame)
    assert is_continuous(frame.assign(c=[0.5, 1.0]))


def test_the_names_of_the_protocols_say_what_they_draw():
    drawn = {name: protocol for name, protocol in PROTOCOLS.items() if name.endswith("-per-class")}
    assert sorted(int(name.split("-")[0]) for name in drawn) == [1, 2, 5, 10, 15, 20, 50, 100]
    assert all(name == f"{protocol.per_class}-per-class" for name, protocol in drawn.items())
    shares = {name: protocol for name, protocol in PROTOCOLS.items() if name.startswith("split-")}
    assert sorted(shares) == sorted(
        f"split-{x}{y}" for x in (70, 90, 97) for y in ("", "-transductive")
    )
    assert all(round(100 * p.unlabeled) == int(name.split("-")[1]) for name, p in shares.items())
