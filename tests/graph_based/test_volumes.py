"""Class sizes within bounds: the assignment against linear programming and brute force."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from leaven.graph_based._mbo import whole_sizes
from leaven.graph_based._volumes import assign_volumes


def by_linear_programming(scores, low, high):
    """Largest sum of scores; the vertices of this polytope are whole numbers."""
    n, k = scores.shape
    each_row = np.kron(np.eye(n), np.ones(k))
    each_class = np.kron(np.ones(n), np.eye(k))
    return -linprog(
        -scores.ravel(),
        A_ub=np.vstack([each_class, -each_class]),
        b_ub=np.concatenate([high, -low]),
        A_eq=each_row,
        b_eq=np.ones(n),
        bounds=(0, 1),
    ).fun


def test_brute_force_on_seven_rows():
    rng = np.random.default_rng(3)
    for _ in range(20):
        scores = rng.normal(size=(7, 3)) * [1.0, 3.0, 0.2]
        sizes = rng.multinomial(7, [0.5, 0.3, 0.2])
        best = max(
            scores[np.arange(7), labels].sum()
            for labels in map(list, product(range(3), repeat=7))
            if (np.bincount(labels, minlength=3) == sizes).all()
        )
        labels, _ = assign_volumes(scores, sizes, sizes)
        assert scores[np.arange(7), labels].sum() == pytest.approx(best)


@st.composite
def problems(draw):
    seed = draw(st.integers(0, 2**32 - 1))
    n, k = draw(st.integers(2, 30)), draw(st.integers(2, 5))
    slack = draw(st.sampled_from([0.0, 0.3, 1.0]))
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, k)) * rng.choice([1.0, 1e-3, 10.0], size=k)
    if draw(st.booleans()):
        scores = np.round(scores, 1)  # with ties
    sizes = rng.multinomial(n, rng.dirichlet(np.ones(k)))
    start = rng.normal(size=k) if draw(st.booleans()) else None
    return scores, np.floor(sizes * (1 - slack)), np.ceil(sizes * (1 + slack)), start


@settings(deadline=None, max_examples=60)
@given(problems())
def test_sum_is_the_optimum_of_the_linear_program_from_any_start(problem):
    scores, low, high, start = problem
    labels, _ = assign_volumes(scores, low, high, prices=start)
    sizes = np.bincount(labels, minlength=scores.shape[1])
    assert (low <= sizes).all()
    assert (sizes <= high).all()
    reached = scores[np.arange(len(scores)), labels].sum()
    best = by_linear_programming(scores, low, high)
    assert reached == pytest.approx(best, rel=1e-7, abs=1e-7)


def test_bounds_that_do_not_bind_change_nothing():
    scores = np.random.default_rng(0).normal(size=(50, 4))
    labels, prices = assign_volumes(scores, np.zeros(4), np.full(4, 50))
    assert (labels == scores.argmax(axis=1)).all()
    assert (prices == 0).all()


def test_many_rows_have_exactly_the_sizes_and_labels_of_the_prices():
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(5_000, 6)) + np.array([2.0, 0.0, 0.0, 0.0, 0.0, -1.0])
    sizes = np.array([100, 900, 1_000, 700, 800, 1_500])
    labels, prices = assign_volumes(scores, sizes, sizes)
    assert (np.bincount(labels) == sizes).all()
    # A few rows on the boundary aside, prices alone give the labels.
    assert ((scores - prices).argmax(axis=1) == labels).mean() > 0.99


def test_impossible_sizes_are_refused():
    with pytest.raises(ValueError, match=r"No labeling of 3 rows has class sizes between \[2, 2\]"):
        assign_volumes(np.zeros((3, 2)), np.array([2, 2]), np.array([2, 2]))


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=8), st.integers(0, 1000))
def test_whole_sizes_are_within_one_of_the_proportions(weights, total):
    q = np.array(weights) / np.sum(weights)
    sizes = whole_sizes(q, total)
    assert sizes.sum() == total
    assert (np.abs(sizes - q * total) < 1 + 1e-9).all()


def test_equal_remainders_are_served_by_preference():
    tied = np.array([0.2, 0.4, 0.4])  # 0.8, 1.6 and 1.6 of four rows
    assert whole_sizes(tied, 4).tolist() == [1, 2, 1]
    assert whole_sizes(tied, 4, np.array([9.0, -0.5, 0.5])).tolist() == [1, 1, 2]
    assert whole_sizes(np.array([0.55, 0.3, 0.15]), 7, np.array([0.0, 0.0, 9.0])).tolist() == [
        4,
        2,
        1,
    ]


def middle_prices(scores, labels, low, high):
    """Mean over all zeros of the middles of valid prices, each end by linear programming."""
    k = scores.shape[1]
    sizes = np.bincount(labels, minlength=k)
    # One more price than there are classes: that of rows which the bounds leave to any class.
    unit = np.eye(k + 1)
    limits = [
        (unit[a] - unit[b], scores[i, a] - scores[i, b])
        for i, a in enumerate(labels)
        for b in range(k)
    ]
    limits += [(unit[c] - unit[k], 0.0) for c in range(k) if sizes[c] < high[c]]
    limits += [(unit[k] - unit[c], 0.0) for c in range(k) if sizes[c] > low[c]]
    A, b = np.array([row for row, _ in limits]), [limit for _, limit in limits]
    middle = np.zeros((k + 1, k + 1))
    for c, zero in product(range(k + 1), repeat=2):
        ends = [
            linprog(sign * (unit[c] - unit[zero]), A, b, bounds=(None, None)) for sign in (1, -1)
        ]
        assert all(end.status == 0 for end in ends)
        middle[c, zero] = (ends[0].fun - ends[1].fun) / 2
    prices = middle.mean(axis=1)
    return (prices - prices[k])[:k]


def test_prices_are_the_middle_of_what_is_valid():
    rng = np.random.default_rng(4)
    for k, n in [(2, 6), (3, 9), (4, 9)] * 3:
        scores = rng.normal(size=(n, k))
        # One class is between its bounds, so that no price is free; the others are moved.
        low, high = np.full(k, n // k - 1), np.full(k, n // k)
        low[0], high[0] = 0, n
        labels, prices = assign_volumes(scores, low, high)
        assert prices == pytest.approx(middle_prices(scores, labels, low, high), abs=1e-7)


def test_the_price_of_two_classes_is_the_middle_of_what_is_valid():
    # The rows prefer the second class by -1, 0.5, 2 and 6: two of them have it, so that its price
    # is above the other by 0.5 to 2.
    scores = np.array([[1.0, 0.0], [0.0, 0.5], [3.0, 5.0], [-6.0, 0.0]])
    two = np.array([2, 2])
    for start in (None, np.array([0.3, 1.2]), np.array([9.0, -4.0])):
        labels, prices = assign_volumes(scores, two, two, prices=start)
        assert labels.tolist() == [0, 0, 1, 1]
        assert prices == pytest.approx([-0.625, 0.625])


@settings(deadline=None, max_examples=60)
@given(problems(), st.randoms(use_true_random=False))
def test_prices_are_valid_and_follow_neither_start_nor_order(problem, random):
    scores, low, high, start = problem
    labels, prices = assign_volumes(scores, low, high, prices=start)
    net = scores - prices
    assert net[np.arange(len(net)), labels] == pytest.approx(net.max(axis=1), abs=1e-9)
    sizes = np.bincount(labels, minlength=len(prices))
    if (low < high).any():
        assert (prices[sizes < high] <= 1e-9).all()
        assert (prices[sizes > low] >= -1e-9).all()

    order = random.sample(range(len(prices)), len(prices))
    again = assign_volumes(scores[::-1, order], low[order], high[order])[1]
    assert again == pytest.approx(prices[order], abs=1e-9)
