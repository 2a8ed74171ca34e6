"""Folds, decisions, pools and expectations, each rule by hand or by brute force."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from scipy.special import log_softmax, softmax
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler

from leaven.graph import KNNGraph
from leaven.graph_based import HarmonicClassifier
from leaven.selection import (
    Candidate,
    Decision,
    Folds,
    GraphPool,
    Member,
    Outcome,
    Pool,
    adaptive_n_splits,
    combine_held_out,
    conformal_threshold,
    decide,
    draw_folds,
    expected_accuracy,
    fit_temperature,
    kind_of_values,
    likelihood_weights,
    likely_scores,
    mislabeled_probability,
    missing_classes,
    prediction_sets,
    prior_pool,
    probability_above_zero,
    rows_above_target,
    set_threshold,
    standard_problem,
    take_one,
    tempered_log,
)
from leaven.selection._decide import decide_without_folds
from leaven.selection._folds import choose_within_folds, row_correctness, score_folds
from leaven.selection._pool import WeightedCandidates, single_pool
from leaven.selection._problem import give_graph, graph_parameter, make_scaler, merge_duplicates
from leaven.statistics import Estimate

# Folds


@pytest.mark.parametrize(
    ("codes", "most", "expected"),
    [
        ([0, 0, 1, 1, 1, -1], 10, 2),
        ([0, 1, 1, 1], 10, 3),  # a class with one label does not bound the folds
        ([0, 1, 2], 10, 0),
        ([-1, -1], 10, 0),
        ([0] * 9 + [1] * 9, 4, 4),
    ],
)
def test_as_many_folds_as_the_smallest_class_allows(codes, most, expected):
    assert adaptive_n_splits(np.array(codes), most) == expected


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=40), st.integers(1, 4), st.integers(0, 99))
@settings(max_examples=60)
def test_drawn_folds_leave_something_to_learn_from(codes, n_repeats, seed):
    codes = np.array(codes)
    folds = draw_folds(codes, n_repeats, seed)
    counts = np.bincount(codes[codes >= 0], minlength=4)
    if (counts < 2).all():
        assert folds is None
        return
    assert set(codes[folds.rows]) == set(np.flatnonzero(counts >= 2))
    assert folds.n_repeats <= n_repeats
    assert len({fold.tobytes() for fold in folds.fold}) == folds.n_repeats
    assert folds.n_splits == min(5, int(np.median(counts[counts >= 2])))
    held_out = np.zeros((folds.n_repeats, len(folds.rows)), dtype=int)
    for repeat, test in folds.tests():
        held_out[repeat] += test
        # Sizes differ by one at most.
        assert (
            len(folds.rows) // folds.n_splits <= test.sum() <= -(-len(folds.rows) // folds.n_splits)
        )
    assert (held_out == 1).all()


@pytest.mark.parametrize(("n", "repeats"), [(20, 2), (50, 2), (51, 1)])
def test_many_labels_are_dealt_once(n, repeats):
    assert draw_folds(np.arange(n) % 2, random_state=0).n_repeats == repeats


def test_the_same_seed_deals_the_same_folds():
    codes = np.arange(30) % 3
    assert_array_equal(draw_folds(codes, 3, 7).fold, draw_folds(codes, 3, 7).fold)
    assert (draw_folds(codes, 3, 7).fold != draw_folds(codes, 3, 8).fold).any()


def test_results_of_rows_and_of_folds():
    folds = Folds(np.array([0, 2, 3]), np.array([[0, 1, 0], [1, 0, 0]]))
    codes = np.array([1, -1, 0, 1])
    P = np.array(
        [
            [[0.2, 0.8], [0.6, 0.4], [0.9, 0.1]],  # right, right, wrong
            [[0.7, 0.3], [0.3, 0.7], [0.4, 0.6]],  # wrong, wrong, right
        ]
    )
    assert_allclose(row_correctness(P, codes, folds), [0.5, 0.5, 0.5])
    assert_allclose(score_folds(P, codes, folds, None), [[0.5, 1.0], [0.5, 0.0]])

    def mean_of_truth(found, rows):
        return float(found[np.arange(len(rows)), codes[rows]].mean())

    expected = [[(0.8 + 0.1) / 2, 0.6], [(0.3 + 0.6) / 2, 0.3]]
    assert_allclose(score_folds(P, codes, folds, mean_of_truth), expected)


@given(st.integers(2, 4), st.integers(0, 1_000))
@settings(max_examples=40)
def test_parameters_are_chosen_on_the_other_folds_by_brute_force(n_parameters, seed):
    rng = np.random.default_rng(seed)
    folds = Folds(np.arange(6), np.array([[0, 1, 2, 0, 1, 2], [2, 2, 1, 1, 0, 0]]))
    P = rng.random((n_parameters, 2, 6, 2))
    scores = rng.integers(0, 3, size=(n_parameters, 2, 3)) / 2.0
    chosen, best = choose_within_folds(P, scores, folds)
    for repeat in range(2):
        for row, fold in enumerate(folds.fold[repeat]):
            others = [
                scores[p, repeat, [f for f in range(3) if f != fold]].sum()
                for p in range(n_parameters)
            ]
            assert_array_equal(chosen[repeat, row], P[int(np.argmax(others)), repeat, row])
    assert best == int(np.argmax(scores.mean(axis=(1, 2)).round(9)))
    alone, first = choose_within_folds(P[:1], scores[:1], folds)
    assert first == 0
    assert_array_equal(alone, P[0])


# Pools


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("floor", [0.0, 0.02])
def test_a_power_and_a_floor(temperature, floor):
    p = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 4))
    powered = (p + floor) ** temperature
    expected = powered / powered.sum(axis=-1, keepdims=True)
    assert_allclose(np.exp(tempered_log(p, temperature, floor)), expected)


def test_a_class_of_probability_zero_is_not_ruled_out():
    logs = tempered_log(np.array([1.0, 0.0]))
    assert np.isfinite(logs).all()
    assert_allclose(np.exp(logs[1]), 0.02 / 1.04)


def test_weights_without_rows_are_the_prior_and_a_lost_candidate_loses():
    prior = np.array([1.0, 3.0])
    assert_allclose(likelihood_weights(np.empty((0, 2)), prior), [0.25, 0.75])
    scores = np.log(np.tile([0.9, 0.1], (100, 1)))
    assert likelihood_weights(scores, prior)[0] > 0.999
    permuted = likelihood_weights(scores[:4][:, ::-1], prior[::-1])
    assert_allclose(permuted[::-1], likelihood_weights(scores[:4], prior))


@pytest.mark.parametrize("seed", range(4))
def test_the_temperature_is_the_best_of_a_fine_grid(seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(25, 3)) * 2
    codes = rng.integers(3, size=25)
    weight = rng.random(25)
    found = fit_temperature(scores, codes, weight, center=0.1, scale=0.7)

    def value(log_tau):
        logs = log_softmax(np.exp(log_tau) * scores, axis=1)[np.arange(25), codes]
        return weight @ logs - np.log1p(((log_tau - 0.1) / 0.7) ** 2)

    grid = np.linspace(-2.9, 3.1, 6_001)
    best = grid[np.argmax([value(each) for each in grid])]
    assert_allclose(np.log(found), best, atol=3e-3)
    assert fit_temperature(np.empty((0, 2)), np.empty(0, dtype=int), center=0.5) == np.exp(0.5)


def test_a_pool_multiplies_powers_and_one_candidate_stays_as_it_is():
    p, q = np.random.default_rng(1).dirichlet(np.ones(3), size=(2, 5))
    pool = Pool({"a": 0.7, "b": 0.3}, {"a": 0.8, "b": 1.2}, 1.5)
    expected = softmax(1.5 * (0.7 * tempered_log(p, 0.8) + 0.3 * tempered_log(q, 1.2)), axis=-1)
    assert_allclose(pool.combine({"a": p, "b": q}), expected)
    assert_array_equal(single_pool("a").combine({"a": p}), p)
    warm = Pool({"a": 1.0}, {"a": 1.0}, 0.5)
    assert (warm.combine({"a": p}).max(axis=1) < p.max(axis=1)).all()


def test_weights_before_any_label_are_those_of_the_members():
    pool = prior_pool({"a": Member(6.0, 0.5), "b": Member(), "c": Member(4.0, 2.0)})
    assert pool.weights == {"a": 0.5, "b": pytest.approx(1 / 6), "c": pytest.approx(1 / 3)}
    assert pool.temperatures == {"a": 0.5, "b": 1.0, "c": 2.0}


def test_what_is_said_of_a_row_does_not_depend_on_its_own_label():
    rng = np.random.default_rng(2)
    folds = draw_folds(np.arange(12) % 2, 2, 0)
    P = [rng.dirichlet(np.ones(2), size=(2, 12)) for _ in range(3)]
    same = dict.fromkeys("abc", Member())
    codes = np.arange(12) % 2
    before = combine_held_out("abc", P, codes, folds, same)
    changed = codes.copy()
    changed[0] = 1 - changed[0]
    after = combine_held_out("abc", P, changed, folds, same)
    assert_allclose(after.held_out[:, 0], before.held_out[:, 0])
    assert not np.allclose(after.held_out[:, 1:], before.held_out[:, 1:])
    assert_allclose(sum(before.pool.weights.values()), 1.0)
    assert_allclose(before.held_out.sum(axis=-1), 1.0)


def test_fitted_candidates_speak_together_for_new_rows():
    X = np.array([[0.0], [1.0], [4.0], [5.0]])
    names = np.array(["x", "y"])
    y = names[[0, 0, 1, 1]]
    models = [("bayes", GaussianNB().fit(X, y)), ("logistic", LogisticRegression().fit(X, y))]
    pool = Pool({"bayes": 0.4, "logistic": 0.6}, {"bayes": 1.0, "logistic": 1.0}, 0.9)
    together = WeightedCandidates(models, pool, names)
    new = np.array([[2.0], [3.5]])
    expected = pool.combine({name: each.predict_proba(new) for name, each in models})
    assert_allclose(together.predict_proba(new), expected)
    assert_array_equal(together.predict(new), names[expected.argmax(axis=1)])
    assert_array_equal(together.classes_, names)


# Decisions


def outcome(name, kind, right, status="tried"):
    right = np.asarray(right, dtype=float)
    n = len(right)
    P = np.zeros((1, n, 2))
    P[0, np.arange(n), np.where(right > 0.5, 0, 1)] = 0.9
    P[P == 0] = 0.1
    mean = float(right.mean()) if n else np.nan
    se = 0.05
    return Outcome(
        name,
        kind,
        status,
        "because." if status != "tried" else "",
        right,
        Estimate(mean, se, mean - se, mean + se),
        {"p": name},
        0.1,
        P,
    )


FOLDS = Folds(np.arange(20), (np.arange(20) % 5)[None])
CODES = np.zeros(20, dtype=np.intp)


def test_a_clear_gain_is_taken_and_a_small_one_is_not():
    base = outcome("base", "supervised", [1] * 8 + [0] * 12)
    better = outcome("better", "semi-supervised", [1] * 19 + [0])
    near = outcome("near", "semi-supervised", [1] * 9 + [0] * 11)
    yes = decide([base, better], CODES, FOLDS)
    assert (yes.choice, yes.unlabeled_helped, yes.kind) == ("better", "yes", "semi-supervised")
    assert yes.params == {"better": {"p": "better"}}
    assert "The unlabeled rows helped: better 0.95 against 0.40 of base" in yes.reason
    assert yes.probability_helped > 0.8
    unsure = decide([base, near], CODES, FOLDS, caution=3.0)
    assert (unsure.choice, unsure.unlabeled_helped) == ("base", "cannot tell")
    assert "within 3 standard errors" in unsure.reason
    no = decide([better, outcome("s", "supervised", [1] * 20)], CODES, FOLDS)
    assert (no.choice, no.unlabeled_helped) == ("s", "no")
    assert (no.best_supervised, no.best_semi_supervised) == ("s", "better")


@pytest.mark.parametrize("kind", ["supervised", "semi-supervised"])
def test_one_kind_alone_cannot_tell(kind):
    both = [outcome("a", kind, [1] * 10 + [0] * 10), outcome("b", kind, [1] * 12 + [0] * 8)]
    found = decide(both, CODES, FOLDS)
    assert (found.choice, found.unlabeled_helped) == ("b", "cannot tell")
    assert np.isnan(found.probability_helped)
    assert "cannot be told: no " in found.reason


def test_equal_scores_go_to_the_first():
    same = [1] * 10 + [0] * 10
    found = decide(
        [outcome("a", "supervised", same), outcome("b", "supervised", same)], CODES, FOLDS
    )
    assert found.choice == "a"


def test_three_are_combined_unless_told_otherwise():
    some = [
        outcome("a", "supervised", [1] * 12 + [0] * 8),
        outcome("b", "supervised", [0] * 4 + [1] * 16),
        outcome("c", "semi-supervised", [1] * 15 + [0] * 5),
        outcome("d", "supervised", [], status="failed"),
    ]
    found = decide(some, CODES, FOLDS)
    assert found.choice == "combination"
    assert set(found.weights) <= {"a", "b", "c"}
    assert found.combined is not None
    assert "On 20 labels that were held out, all methods combined were right" in found.reason
    assert {each.name for each in found.differences} == {"a", "c", "combination"}
    assert found.best_supervised == "b"
    single = decide(some, CODES, FOLDS, combine=False)
    assert single.choice in {"b", "c"}
    assert single.combined is None


def test_nothing_tried_names_the_reasons():
    with pytest.raises(ValueError, match=r"No candidate could be estimated. because."):
        decide([outcome("d", "supervised", [], status="failed")], CODES, FOLDS)


def test_without_folds_members_decide_or_the_first_supervised_one():
    candidates = [
        Candidate("graph", HarmonicClassifier(), "semi-supervised"),
        Candidate("bayes", GaussianNB(), "supervised"),
        Candidate("late", GaussianNB(), "supervised"),
        Candidate("none", GaussianNB(), "supervised", skipped="none was skipped."),
    ]
    outcomes, found = decide_without_folds(candidates)
    assert found.choice == "bayes"
    assert [each.status for each in outcomes] == ["skipped"] * 4
    assert "no class has two labels" in outcomes[0].reason
    assert outcomes[3].reason == "none was skipped."
    assert decide_without_folds(candidates, "graph")[1].choice == "graph"
    _, together = decide_without_folds(candidates, combine=True)
    assert together.choice == "combination"
    assert set(together.weights) == {"graph", "bayes", "late"}
    assert together.kind == "semi-supervised"
    with pytest.raises(ValueError, match=r"No candidate fits the data. none was skipped"):
        decide_without_folds(candidates[3:])


def test_one_candidate_with_the_first_of_its_grid():
    candidate = Candidate("bayes", GaussianNB(), "supervised", grid=[{"var_smoothing": 0.1}, {}])
    found = take_one(candidate)
    assert isinstance(found, Decision)
    assert found.params == {"bayes": {"var_smoothing": 0.1}}
    assert take_one(candidate, {"var_smoothing": 0.7}).params == {"bayes": {"var_smoothing": 0.7}}


# Expectations


@given(st.lists(st.floats(0, 1), max_size=30), st.floats(0.01, 0.5))
@settings(max_examples=80)
def test_a_threshold_is_an_interpolated_rank(scores, alpha):
    found = conformal_threshold(np.array(scores), alpha)
    if not scores:
        assert found == 0.0
        return
    n = len(scores)
    rank = alpha * (n + 1)
    ordered = [0.0, *sorted(scores), 1.0]
    low = int(rank)
    expected = ordered[low] + (rank - low) * (ordered[min(low + 1, n + 1)] - ordered[low])
    assert_allclose(found, expected, atol=1e-12)


def test_quantiles_of_the_probability_of_the_true_class_by_repetition():
    P = np.array([[0.75, 0.25], [0.5, 0.5]])
    # Each probability as often as it says: 0.25 once, 0.5 four times, 0.75 three times, of 8.
    pool = np.sort(np.repeat([0.25, 0.5, 0.75], [1, 4, 3]))
    found = likely_scores(P)
    for level in (0.1, 0.3, 0.6, 0.9):
        expected = pool[min(int(np.ceil(level * 8)) - 1, 7)]
        assert found[round(200 * level)] == pytest.approx(expected)
    assert len(likely_scores(np.empty((0, 3)))) == 0


def test_thresholds_of_labels_and_of_the_model_are_averaged_on_the_log_scale():
    likely = np.linspace(0.2, 1.0, 201)
    scores = np.full(20, 0.5)
    share = 20 / 60
    expected = 0.5**share * (0.2 + 0.8 * 0.1) ** (1 - share)
    assert_allclose(set_threshold(scores, likely, 0.1), expected)
    assert_allclose(set_threshold(np.empty(0), likely, 0.1), 0.28)


@given(st.integers(1, 20), st.integers(2, 4), st.integers(0, 500))
@settings(max_examples=40)
def test_every_set_holds_the_most_probable_class(n, K, seed):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(K), size=n)
    wide, narrow = (prediction_sets(P, rng.random(5), alpha) for alpha in (0.02, 0.4))
    assert wide[np.arange(n), P.argmax(axis=1)].all()
    assert (wide.sum(axis=1) >= 1).all()
    for row, chosen in zip(P, narrow, strict=True):  # a set is an upper part of the classes
        assert row[chosen].min() >= row[~chosen].max(initial=0.0)


@pytest.mark.parametrize("confidence", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("right", [[], [1.0] * 30, [0.0] * 3, [1.0, 0.0, 0.5]])
def test_expected_accuracy_lies_between_its_two_sources(confidence, right):
    found = expected_accuracy(confidence, np.array(right))
    m = np.clip(confidence, 0.01, 0.99)
    ends = sorted([m, np.clip(np.mean(right), 0.01, 0.99) if right else m])
    assert ends[0] - 1e-9 <= found.value <= ends[1] + 1e-9
    assert 0 <= found.low < found.value < found.high <= 1
    wider = expected_accuracy(confidence, np.array(right), level=0.99)
    assert wider.low < found.low
    assert wider.high >= found.high


def test_a_gain_by_integrals_of_prior_and_likelihood():
    grid = np.linspace(-1, 1, 20_001)
    for value, se in [(0.1, 0.04), (-0.05, 0.02), (0.0, 0.3)]:
        density = stats.norm.pdf(grid, 0.012, 0.05) * stats.norm.pdf(value, grid, se)
        expected = density[grid > 0].sum() / density.sum()
        assert_allclose(probability_above_zero(Estimate(value, se, 0, 0)), expected, atol=1e-3)


@given(st.lists(st.sampled_from([0.5, 0.7, 0.9, 0.99, 1.0]), max_size=12), st.floats(0.0, 0.5))
@settings(max_examples=60)
def test_flagged_rows_by_trying_every_cut(confidence, target):
    c = np.array(confidence)
    flagged = rows_above_target(c, target)
    cuts = [(c <= value) for value in np.unique(c)] + [np.zeros(len(c), dtype=bool)]
    good = [f for f in cuts if not (~f).any() or (1 - c[~f]).mean() <= target + 1e-12]
    assert flagged.sum() == min(f.sum() for f in good)


def test_a_wrong_label_by_the_rule_of_bayes():
    p = np.array([0.0, 0.2, 1.0])
    found = mislabeled_probability(p, 0.1)
    assert_allclose(found, [1.0, 0.1 * 0.8 / (0.1 * 0.8 + 0.9 * 0.2), 0.0])


def test_classes_that_no_row_got():
    P = np.array([[0.5, 0.2, 0.3], [0.1, 0.3, 0.6]])
    (missing,) = missing_classes(P)
    assert (missing.code, missing.expected) == (1, pytest.approx(0.5))
    assert missing_classes(P[:0]) == ()
    assert missing_classes(np.eye(3)) == ()


# Problems


@pytest.mark.parametrize(
    ("X", "kind", "scaler"),
    [
        (np.array([[0.0, 1.0]]), "binary", type(None)),
        (np.array([[0.0, 3.0]]), "counts", StandardScaler),
        (np.array([[0.5, 0.0]]), "continuous", StandardScaler),
        (np.array([[-1.0, 0.0]]), "continuous", StandardScaler),
        (sparse.csr_array([[0.0, 2.0, 0.0]]), "counts", TfidfTransformer),
        (sparse.csr_array([[0.0, 0.5]]), "nonnegative", Normalizer),
        (sparse.csr_array([[0.0, -0.5]]), "continuous", MaxAbsScaler),
        (sparse.csr_array([[0.0, 1.0]]), "binary", Normalizer),
        (sparse.csr_array((2, 2)), "binary", Normalizer),
    ],
)
def test_kinds_of_values_and_their_scalers(X, kind, scaler):
    assert kind_of_values(X) == kind
    assert type(make_scaler(X, kind)) is scaler


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=15))
@settings(max_examples=60)
def test_unlabeled_duplicates_are_one_node(rows):
    values, labeled = np.array([r[0] for r in rows], dtype=float), np.array([r[1] for r in rows])
    codes = np.where(labeled, 0, -1)
    for form in (np.asarray, sparse.csr_array):
        kept, node = merge_duplicates(form(values[:, None] + 1), codes)
        assert_array_equal(values[kept][node], values)
        assert_array_equal(kept[node][labeled], np.flatnonzero(labeled))
        n_distinct = len(set(values[~labeled].tolist()))
        assert len(kept) == labeled.sum() + n_distinct


def test_graphs_are_shared_by_equal_builders_only():
    X = np.random.default_rng(0).normal(size=(12, 2))
    codes = np.array([0, 1] + [-1] * 10)
    problem = standard_problem(X, codes, np.array([0, 1]))
    rows = problem.rows(scaled=True, merged=True)
    first, second, third = (HarmonicClassifier(KNNGraph(k)) for k in (3, 3, 4))
    for each in (first, second, third):
        give_graph(each, rows, codes, problem.graphs)
    assert first.graph.estimator is second.graph.estimator
    assert first.graph.estimator is not third.graph.estimator
    assert len(problem.graphs) == 2
    assert graph_parameter(first) is None  # built already
    assert isinstance(graph_parameter(HarmonicClassifier()), KNNGraph)
    assert graph_parameter(GaussianNB()) is None
    looks = HarmonicClassifier(KNNGraph(3, include_labeled=True))
    give_graph(looks, rows, codes, problem.graphs, only_without_labels=True)
    assert isinstance(looks.graph, KNNGraph)
    give_graph(looks, rows, codes, problem.graphs)
    assert len(problem.graphs) == 3
    assert len(pickle.loads(pickle.dumps(problem.graphs))) == 0
    assert isinstance(problem.graphs, GraphPool)
