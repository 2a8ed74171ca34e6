"""Tests of the tests: printed examples of Demšar (2006), scipy, and brute force."""

from __future__ import annotations

import itertools
from math import factorial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from leaven.evaluation import wilcoxon_table
from leaven.statistics import (
    critical_difference,
    friedman_test,
    groups_within,
    nemenyi_test,
    rank_rows,
    wilcoxon_test,
)

# Demšar (2006), table 6: AUC of C4.5 with its parameters m and cf tuned. Both 0.975 of "voting"
# have ranks of their own in the table, 2 and 3, so they differed before they were rounded.
DEMSAR = pd.DataFrame(
    [
        ["adult (sample)", 0.763, 0.768, 0.771, 0.798],
        ["breast cancer", 0.599, 0.591, 0.590, 0.569],
        ["breast cancer wisconsin", 0.954, 0.971, 0.968, 0.967],
        ["cmc", 0.628, 0.661, 0.654, 0.657],
        ["ionosphere", 0.882, 0.888, 0.886, 0.898],
        ["iris", 0.936, 0.931, 0.916, 0.931],
        ["liver disorders", 0.661, 0.668, 0.609, 0.685],
        ["lung cancer", 0.583, 0.583, 0.563, 0.625],
        ["lymphography", 0.775, 0.838, 0.866, 0.875],
        ["mushroom", 1.000, 1.000, 1.000, 1.000],
        ["primary tumor", 0.940, 0.962, 0.965, 0.962],
        ["rheum", 0.619, 0.666, 0.614, 0.669],
        ["voting", 0.972, 0.981, 0.9751, 0.9750],
        ["wine", 0.957, 0.978, 0.946, 0.970],
    ],
    columns=["dataset", "C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"],
).set_index("dataset")

# Demšar (2006), table 5a: critical values of the two-tailed Nemenyi test.
Q_05 = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
Q_10 = [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920]


class TestDemsar:
    def test_friedman(self):
        result = friedman_test(DEMSAR, higher_is_better=True)
        assert round(result.chi2, 2) == 9.28
        assert round(result.f, 2) == 3.69
        assert result.mean_ranks.round(3).to_dict() == {
            "C4.5": 3.143,
            "C4.5+m": 2.000,
            "C4.5+cf": 2.893,
            "C4.5+m+cf": 1.964,
        }
        # F(3, 39) has the critical value 2.85 at 0.05: significant.
        assert round(float(stats.f.ppf(0.95, 3, 39)), 2) == 2.85
        assert_allclose(result.p_value, stats.f.sf(result.f, 3, 39))
        assert_allclose(result.p_value_chi2, stats.chi2.sf(result.chi2, 3))

    def test_nemenyi(self):
        at_05 = nemenyi_test(DEMSAR, higher_is_better=True)
        assert round(at_05.critical_difference, 2) == 1.25
        assert at_05.groups == [("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5")]
        at_10 = nemenyi_test(DEMSAR, higher_is_better=True, alpha=0.10)
        assert round(at_10.critical_difference, 2) == 1.12
        # "C4.5 performs significantly worse than C4.5+m and C4.5+m+cf"
        assert at_10.groups == [("C4.5+m+cf", "C4.5+m", "C4.5+cf"), ("C4.5+cf", "C4.5")]

    def test_wilcoxon(self):
        result = wilcoxon_test(DEMSAR["C4.5+m"], DEMSAR["C4.5"], higher_is_better=True)
        assert (result.positive_rank_sum, result.negative_rank_sum) == (93.0, 12.0)
        assert result.statistic == 12.0
        assert (result.n_pairs, result.n_zeros) == (14, 2)
        # "T = 12, critical value for N = 14 at 0.05 is 21": significant.
        assert result.verdict == "a"

    @pytest.mark.parametrize(
        ("n_methods", "q_05", "q_10"), list(zip(range(2, 11), Q_05, Q_10, strict=True))
    )
    def test_critical_values(self, n_methods, q_05, q_10):
        n = n_methods * (n_methods + 1)  # the root becomes sqrt(1 / 6)
        assert critical_difference(n, n_methods, 0.05) * 6**0.5 == pytest.approx(q_05, abs=1e-3)
        assert critical_difference(n, n_methods, 0.10) * 6**0.5 == pytest.approx(q_10, abs=1e-3)


# --- Wilcoxon ------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 5, 12, 50])
def test_wilcoxon_agrees_with_scipy_where_it_is_exact(n):
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=n), rng.normal(0.3, 1.0, size=n)
    peer = stats.wilcoxon(a, b, method="exact")
    ours = wilcoxon_test(a, b)
    assert ours.exact
    assert_allclose([ours.statistic, ours.p_value], [peer.statistic, peer.pvalue])


@pytest.mark.parametrize(("zeros", "zero_method"), [("split", "pratt"), ("drop", "wilcox")])
def test_wilcoxon_agrees_with_scipy_beyond(zeros, zero_method):
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 9, size=(2, 90)) / 10.0
    b[::3] += 0.1
    peer = stats.wilcoxon(
        np.round(a - b, 6), zero_method=zero_method, correction=False, method="approx"
    )
    ours = wilcoxon_test(a, b, zeros=zeros)
    assert not ours.exact
    assert ours.n_zeros > 5
    assert_allclose(ours.p_value, peer.pvalue)


def brute_force(a, b, zeros):
    """Flip the sign of every difference in all ways."""
    d = np.asarray(a) - np.asarray(b)
    if zeros == "drop":
        d = d[d != 0]
    ranks = stats.rankdata(np.abs(d))[d != 0]
    signs = d[d != 0] > 0
    seen = abs(ranks[signs].sum() - ranks.sum() / 2)
    flips = np.array(list(itertools.product([0, 1], repeat=len(ranks)))) @ ranks
    return np.mean(np.abs(flips - ranks.sum() / 2) >= seen - 1e-9) if len(ranks) else 1.0


@settings(max_examples=25)
@given(
    arrays(float, (2, 8), elements=st.integers(0, 6).map(float)), st.sampled_from(["split", "drop"])
)
def test_wilcoxon_with_ties_is_exact(pair, zeros):
    assert_allclose(wilcoxon_test(*pair, zeros=zeros).p_value, brute_force(*pair, zeros))


@settings(max_examples=25)
@given(arrays(float, (2, 9), elements=st.integers(0, 30).map(float)), st.booleans())
def test_wilcoxon_is_symmetric(pair, higher):
    one = wilcoxon_test(*pair, higher_is_better=higher)
    other = wilcoxon_test(*pair[::-1], higher_is_better=higher)
    assert one.p_value == other.p_value
    assert one.statistic == other.statistic
    assert one.positive_rank_sum + one.negative_rank_sum == pytest.approx(45.0)
    assert {"a": "b", "b": "a", "none": "none"}[one.direction] == other.direction
    assert wilcoxon_test(*pair, higher_is_better=not higher).direction == other.direction


def test_wilcoxon_ties_survive_rounding_errors():
    # 0.768 - 0.763 and 0.931 - 0.926 differ in the last bit; so do 0.3 and 0.1 + 0.2.
    result = wilcoxon_test([0.768, 0.926, 0.3], [0.763, 0.931, 0.1 + 0.2])
    assert result.n_zeros == 1
    assert result.positive_rank_sum == result.negative_rank_sum == 3.0
    assert result.direction == "none"


def test_wilcoxon_direction_and_verdict():
    low, high = np.arange(8) / 10, np.arange(8) / 10 + 0.05 * np.arange(1, 9)
    assert wilcoxon_test(low, high).verdict == "a"
    assert wilcoxon_test(low, high, higher_is_better=True).verdict == "b"
    strict = wilcoxon_test(low, high, alpha=0.001)
    assert (strict.direction, strict.verdict) == ("a", "none")
    same = wilcoxon_test(low, low)
    assert (same.p_value, same.direction, same.verdict) == (1.0, "none", "none")


def test_wilcoxon_pairs_series_by_index():
    a = pd.Series([1.0, 2.0, 4.0], index=["x", "y", "z"])
    b = pd.Series([5.0, 1.5, 2.1], index=["z", "x", "y"])
    assert wilcoxon_test(a, b) == wilcoxon_test([1.0, 2.0, 4.0], [1.5, 2.1, 5.0])
    with pytest.raises(ValueError, match="a and b are Series with different index"):
        wilcoxon_test(a, b.rename({"z": "w"}))


@pytest.mark.parametrize(
    ("a", "b", "options", "message"),
    [
        ([1.0, 2.0], [1.0], {}, "a has 2 scores and b has 1; the test compares pairs"),
        (
            [],
            [],
            {},
            r"a must be one score per trial .*, of shape \(n_pairs,\), got shape",
        ),
        ([1.0], [[1.0]], {}, r"b must be one score .* got shape \(1, 1\)"),
        ([1.0, 2.0], [1.0, np.nan], {}, "b holds NaN or infinity at position 1"),
        ([1.0], [2.0], {"alpha": 5}, "alpha must be a probability between 0 and 1, .* got 5"),
        (
            [1.0],
            [2.0],
            {"zeros": "pratt"},
            r"zeros must be one of \('split', 'drop'\), got 'pratt'",
        ),
    ],
)
def test_wilcoxon_errors(a, b, options, message):
    with pytest.raises(ValueError, match=message):
        wilcoxon_test(a, b, **options)


# --- the table of pairs --------------------------------------------------------------------


def study(n_trials=8, n_datasets=3):
    """Errors of three methods: B is 0.1 worse than A, C equals A but for noise."""
    rng = np.random.default_rng(0)
    rows = []
    for d, trial in itertools.product(range(n_datasets), range(n_trials)):
        base = 0.2 + 0.1 * d + 0.05 * rng.random()
        for method, more in (("B", 0.1), ("A", 0.0), ("C", 0.02 * rng.normal())):
            rows += [(f"set {d}", method, trial, base + more + 0.01 * rng.random())]
    return pd.DataFrame(rows, columns=["dataset", "method", "trial", "error"])


def test_wilcoxon_table_tests_every_pair_and_the_data_sets():
    frame = study()
    table = wilcoxon_table(frame)
    assert len(table) == (3 + 1) * 3
    wide = frame.pivot_table(index=["dataset", "trial"], columns="method", values="error")
    for _, row in table[table["dataset"] != "all data sets"].iterrows():
        group = wide.loc[row["dataset"]]
        test = wilcoxon_test(group[row["method_a"]].to_numpy(), group[row["method_b"]].to_numpy())
        assert row["p_value"] == test.p_value
        assert row["n_pairs"] == 8
        assert row["mean_a"] == pytest.approx(group[row["method_a"]].mean())
    first = table.iloc[0]
    assert (first["method_a"], first["method_b"], first["better"]) == ("B", "A", "A")
    overall = table[table["dataset"] == "all data sets"].iloc[0]
    assert overall["n_pairs"] == 3
    assert (overall["p_value"], overall["direction"], overall["better"]) == (0.25, "A", "")
    assert wilcoxon_table(frame, higher_is_better=True).iloc[0]["better"] == "B"


def test_wilcoxon_table_takes_the_area_under_the_curves():
    sizes = {1: 0.8, 2: 0.5, 8: 0.1}
    frame = pd.DataFrame(
        [
            (method, trial, n, error * (1 + 0.1 * trial) * factor)
            for method, factor in (("A", 1.0), ("B", 2.0))
            for trial in range(6)
            for n, error in sizes.items()
        ],
        columns=["method", "trial", "n_labeled", "error"],
    ).sample(frac=1.0, random_state=0)
    row = wilcoxon_table(frame).iloc[0]
    area = 0.65 * 1 + 0.3 * 2  # trapezoids on log2(n)
    low, high = sorted([row["mean_a"], row["mean_b"]])
    assert low == pytest.approx(area * 1.25)
    assert high == pytest.approx(2 * area * 1.25)
    assert row["better"] == "A"


def test_wilcoxon_table_leaves_failed_trials_out():
    frame = study(n_datasets=1)
    frame.loc[(frame["method"] == "A") & (frame["trial"] == 3), "error"] = np.nan
    frame = frame[~((frame["method"] == "C") & (frame["trial"] < 2))]
    table = wilcoxon_table(frame).set_index(["method_a", "method_b"])["n_pairs"]
    assert table.to_dict() == {("B", "A"): 7, ("B", "C"): 6, ("A", "C"): 5}


def test_wilcoxon_table_errors():
    frame = study(n_datasets=1)
    with pytest.raises(ValueError, match="nothing to compare: methods \\['A'\\] in 8 trials"):
        wilcoxon_table(frame[frame["method"] == "A"])
    with pytest.raises(ValueError, match="frame has no column 'trial'; its columns are"):
        wilcoxon_table(frame.drop(columns="trial"))
    with pytest.raises(ValueError, match="frame has no column 'accuracy'"):
        wilcoxon_table(frame, value="accuracy")
    with pytest.raises(ValueError, match="several rows for dataset, trial, method ="):
        wilcoxon_table(pd.concat([frame, frame]))
    twice = pd.concat([frame, frame]).assign(n_labeled=4)
    with pytest.raises(ValueError, match="several rows for dataset, trial, method, n_labeled ="):
        wilcoxon_table(twice)
    with pytest.raises(ValueError, match="frame has no rows"):
        wilcoxon_table(frame.iloc[:0])
    with pytest.raises(TypeError, match=r"frame must be a pandas DataFrame .* got list"):
        wilcoxon_table([1])


# --- Friedman ------------------------------------------------------------------------------


@pytest.mark.parametrize("higher", [False, True])
@pytest.mark.parametrize("step", [0.0, 0.5])  # with a step there are many ties
def test_friedman_agrees_with_scipy(higher, step):
    scores = np.random.default_rng(1).normal(size=(17, 5)) + np.linspace(0, 1, 5)
    scores = np.round(scores / step) * step if step else scores
    peer = stats.friedmanchisquare(*scores.T)
    ours = friedman_test(scores, higher, tie_correction=True)
    assert_allclose([ours.chi2, ours.p_value_chi2], [peer.statistic, peer.pvalue])
    plain = friedman_test(scores, higher)
    if step:
        assert plain.chi2 < ours.chi2
        assert plain.p_value > ours.p_value
    else:
        assert_allclose([plain.chi2, plain.f], [ours.chi2, ours.f])


def test_iman_davenport_is_the_anova_of_the_ranks():
    # Without ties F is the two-way analysis of variance of the ranks, computed the long way.
    scores = np.random.default_rng(2).normal(size=(9, 4)) + np.array([0.0, 0.4, 0.9, 0.2])
    ranks = stats.rankdata(scores, axis=1)
    n, k = ranks.shape
    between = n * ((ranks.mean(axis=0) - ranks.mean()) ** 2).sum()
    within = ((ranks - ranks.mean()) ** 2).sum() - between
    expected = (between / (k - 1)) / (within / ((k - 1) * (n - 1)))
    assert_allclose(friedman_test(scores).f, expected)


@settings(max_examples=25)
@given(arrays(float, (6, 4), elements=st.integers(0, 9).map(float)), st.permutations(range(4)))
def test_friedman_invariants(scores, order):
    result = friedman_test(scores)
    assert result.mean_ranks.sum() == pytest.approx(10.0)
    assert 0.0 <= result.p_value <= 1.0
    grown = friedman_test(np.exp(scores / 3.0))  # only the order within a data set counts
    assert_allclose(grown.mean_ranks, result.mean_ranks)
    permuted = friedman_test(scores[:, order])
    assert_allclose(permuted.mean_ranks, result.mean_ranks[list(order)])
    assert_allclose(permuted.chi2, result.chi2, atol=1e-12)
    flipped = friedman_test(-scores, higher_is_better=True)
    assert_allclose(flipped.mean_ranks, result.mean_ranks)


def test_friedman_at_the_ends():
    agree = friedman_test([[1, 2, 3]] * 4)
    assert_allclose(agree.chi2, 8.0)
    assert agree.f == np.inf
    assert_allclose(agree.p_value, factorial(3) ** -3.0)
    tied = friedman_test([[1, 1, 2]] * 4, tie_correction=True)
    assert tied.f == np.inf
    assert_allclose(tied.p_value, 3.0**-3)  # the odd one out is one of three
    for correction in (False, True):
        same = friedman_test(np.ones((5, 3)), tie_correction=correction)
        assert (same.chi2, same.f, same.p_value, same.p_value_chi2) == (0.0, 0.0, 1.0, 1.0)


def test_rows_are_data_sets():
    scores = np.random.default_rng(0).random((7, 3))
    result = friedman_test(scores)
    assert (result.n_datasets, result.n_methods, len(result.mean_ranks)) == (7, 3, 3)
    assert isinstance(result.mean_ranks, np.ndarray)


@pytest.mark.parametrize("test", [friedman_test, nemenyi_test])
def test_bad_scores(test):
    with pytest.raises(ValueError, match=r"scores has 1 data sets .* and 3 methods"):
        test([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match=r"scores has 3 data sets .* and 1 methods"):
        test([[1.0], [2.0], [3.0]])
    with pytest.raises(
        ValueError, match=r"must have shape \(n_datasets, n_methods\), got .* \(3,\)"
    ):
        test([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="scores holds nan at row 1, column 'B'"):
        test(pd.DataFrame({"A": [1.0, 2.0], "B": [1.0, np.nan]}))
    with pytest.raises(ValueError, match="scores holds inf at row 0, column 1"):
        test([[1.0, np.inf], [1.0, 2.0]])
    with pytest.raises(ValueError, match="scores must be numbers"):
        test(pd.DataFrame({"dataset": ["a", "b"], "NB": [0.1, 0.2]}))


# --- Nemenyi -------------------------------------------------------------------------------


def test_two_methods_are_compared_by_a_normal_distribution():
    scores = np.random.default_rng(5).normal(size=(30, 2))
    result = nemenyi_test(scores)
    gap = abs(result.mean_ranks[0] - result.mean_ranks[1])
    assert_allclose(result.p_values[0, 1], 2 * stats.norm.sf(gap / np.sqrt(1 / 30)), rtol=1e-6)


def cliques(mean_ranks, difference):
    """Maximal sets without a differing pair, from all subsets."""
    k = len(mean_ranks)
    alike = [
        set(group)
        for size in range(1, k + 1)
        for group in itertools.combinations(range(k), size)
        if all(abs(mean_ranks[i] - mean_ranks[j]) < difference for i in group for j in group)
    ]
    return [group for group in alike if not any(group < other for other in alike)]


@settings(max_examples=25)
@given(arrays(float, 6, elements=st.integers(4, 24).map(lambda x: x / 4)), st.integers(1, 12))
def test_groups_are_the_maximal_cliques(mean_ranks, quarters):
    difference = quarters / 4 + 0.01
    found = groups_within(mean_ranks, difference)
    assert sorted(map(sorted, found)) == sorted(map(sorted, cliques(mean_ranks, difference)))
    assert all(list(mean_ranks[list(group)]) == sorted(mean_ranks[list(group)]) for group in found)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_p_values_and_groups_agree(alpha):
    scores = np.random.default_rng(0).normal(size=(25, 7)) + np.linspace(0, 1.5, 7)
    result = nemenyi_test(scores, alpha=alpha)
    together = np.zeros((7, 7), dtype=bool)
    for group in result.groups:
        together[np.ix_(group, group)] = True
    assert_array_equal(result.p_values > alpha, together)
    assert_allclose(result.p_values, result.p_values.T)
    assert_allclose(np.diag(result.p_values), 1.0)
    assert len(result.groups) > 1


def test_nemenyi_keeps_names_and_checks_alpha():
    result = nemenyi_test(DEMSAR, higher_is_better=True)
    assert list(result.p_values.index) == list(result.p_values.columns) == list(DEMSAR.columns)
    with pytest.raises(ValueError, match="alpha must be a probability between 0 and 1"):
        nemenyi_test(DEMSAR, alpha=0.0)


def test_groups_differ_at_the_critical_difference_itself():
    assert groups_within([1.0, 2.0], 1.0) == [(0,), (1,)]
    assert groups_within([1.0, 2.0], 1.0 + 1e-9) == [(0, 1)]


def test_ranks_of_tiny_and_huge_scores():
    assert_array_equal(rank_rows(np.array([[1e-9, 3e-9, 2e-9]]), False), [[1, 3, 2]])
    assert_array_equal(rank_rows(np.array([[1e12, 3e12, -2e12]]), True), [[2, 1, 3]])
    assert_array_equal(
        rank_rows(np.array([[0.0, 0.0, 0.1 + 0.2], [0.3, 0.1 + 0.2, 1]]), False),
        [[1.5, 1.5, 3], [1.5, 1.5, 3]],
    )
