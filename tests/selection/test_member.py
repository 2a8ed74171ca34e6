"""What is known of candidates before labels are seen, on tables of two kinds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from leaven.selection import (
    SEMI_SUPERVISED,
    Candidate,
    Folds,
    Member,
    combine_held_out,
    estimate_faintness,
    fade,
    likelihood_weights,
    make_candidates,
    member_temperature,
    members_at,
    prior_pool,
    standard_problem,
    tempered_log,
)
from leaven.selection._candidates import RECIPES
from leaven.selection._stop import Rival

MEMBERS = [Member(4.0, 1.2, 1.0), Member(1.0, 0.6, 9.0), Member(2.0, 1.0)]


def test_the_ends_are_the_numbers_of_both_kinds_of_tables() -> None:
    weights, temperatures = members_at(MEMBERS, 0.0)
    assert_allclose(weights, np.array([4.0, 1.0, 2.0]) / 7)
    assert_allclose(temperatures, [1.2, 0.6, 1.0])
    weights, temperatures = members_at(MEMBERS, 1.0)
    assert_allclose(weights, np.array([1.0, 9.0, 2.0]) / 12)
    assert_allclose(temperatures, [0.4, 0.2, 1 / 3])


def held_out(n_rows: int, seed: int, sharpness: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n_rows)
    P = rng.dirichlet(np.full(3, sharpness), size=(3, 2, n_rows))
    return P, truth


@given(st.integers(0, 10_000), st.integers(1, 12))
def test_it_is_the_posterior_mean_written_out(seed: int, n_rows: int) -> None:
    P, truth = held_out(n_rows, seed, 0.7)
    logs = np.log(P + 0.02)
    evidence = []
    for s in (0.0, 0.25, 0.5, 0.75, 1.0):
        u, v = np.array([4.0, 1.0, 2.0]), np.array([1.0, 9.0, 2.0])
        w = u ** (1 - s) * v**s
        w /= w.sum()
        powers = np.array([1.2, 0.6, 1.0]) * 3.0**-s
        # A product of powers, normalized, in each repeat; their logarithms are averaged.
        pooled = np.ones(P.shape[1:])
        for m in range(3):
            pooled *= np.exp(logs[m]) ** (w[m] * powers[m])
        pooled /= pooled.sum(axis=-1, keepdims=True)
        evidence.append(np.prod(pooled[:, np.arange(n_rows), truth], axis=1).prod() ** 0.5)
    expected = np.dot(evidence, [0.0, 0.25, 0.5, 0.75, 1.0]) / np.sum(evidence)
    assert estimate_faintness(logs, truth, MEMBERS) == pytest.approx(expected)


def test_nothing_held_out_is_in_the_middle_and_texts_have_no_faint_tables() -> None:
    nothing = np.empty((3, 1, 0, 2))
    none = np.empty(0, dtype=np.intp)
    assert estimate_faintness(nothing, none, MEMBERS) == pytest.approx(0.5)
    P, truth = held_out(8, 0, 0.2)
    assert estimate_faintness(np.log(P + 0.02), truth, [Member(), Member(3.0)]) == 0.0
    pool = prior_pool(dict(zip("abc", MEMBERS, strict=True)))
    weights, temperatures = members_at(MEMBERS, 0.5)
    assert_allclose(list(pool.weights.values()), weights)
    assert_allclose(list(pool.temperatures.values()), temperatures)


def confident(right: np.ndarray, truth: np.ndarray) -> np.ndarray:
    said = np.where(right, truth, 1 - truth)
    return np.where(np.eye(2)[said] > 0, 0.97, 0.03)


def test_a_combination_of_confident_candidates_that_fail_becomes_cautious() -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(20) % 2
    folds = Folds(np.arange(20), np.arange(20)[None] // 2 % 5)
    members = dict.fromkeys("abc", Member(2.0, 1.0, 1.0))
    found = {}
    for name, share in (("hard", 0.55), ("easy", 0.97)):
        P = [confident(rng.random(20) < share, truth)[None] for _ in range(3)]
        pool = combine_held_out("abc", P, truth, folds, members).pool
        row = dict.fromkeys("abc", np.array([0.97, 0.03]))
        found[name] = pool.combine({key: row[key] for key in pool.weights})[0]
    assert found["easy"] > 0.9
    assert found["hard"] < 0.75


def test_the_combination_starts_from_the_kind_of_table_that_held_out_labels_tell() -> None:
    P, truth = held_out(12, 4, 0.3)
    folds = Folds(np.arange(12), np.tile(np.arange(12) // 3, (2, 1)))
    members = dict(zip("abc", MEMBERS, strict=True))
    pool = combine_held_out("abc", list(P), truth, folds, members).pool
    s = estimate_faintness(np.log(P + 0.02), truth, MEMBERS)
    assert 0.05 < s < 0.95
    prior, centers = members_at(MEMBERS, s)
    powers = [member_temperature(p, truth, t) for p, t in zip(P, centers, strict=True)]
    logs = np.stack([tempered_log(p, power) for p, power in zip(P, powers, strict=True)])
    weights = likelihood_weights(logs[:, :, np.arange(12), truth].mean(axis=1).T, prior)
    assert_allclose(list(pool.temperatures.values()), powers)
    assert_allclose(list(pool.weights.values()), weights)


def test_a_candidate_is_not_stopped_that_counts_on_the_other_kind_of_tables() -> None:
    truth = np.arange(30) % 2
    answers = np.where(np.eye(2)[truth] > 0, 0.8, 0.2)[None]
    rival = Rival("rival", Member(1.0, 1.0, 1.0), answers, truth)
    seen = np.ones(30, dtype=bool)
    for faint_weight, stopped in ((0.001, True), (1.0, False)):
        light = Member(0.001, 1.0, faint_weight)
        assert rival.is_out_of_reach(light, answers, 0, seen) == stopped


@pytest.mark.parametrize(("labels", "left"), [(1, 1.0), (5, 1.0), (8, 0.625), (20, 0.25)])
def test_unlabeled_rows_count_less_the_more_labels_there_are(labels: int, left: float) -> None:
    assert fade(Member(3.0, 0.7, 2.0), labels) == Member(3.0 * left, 0.7, 2.0 * left)
    assert fade(Member(3.0), labels).faint_weight is None
    y = np.repeat([-1, 0, 1, 2], [10, labels, labels, 3 * labels])  # the typical class counts
    X = np.random.default_rng(0).random((len(y), 2))
    for rows, is_text in ((X, False), (sparse.csr_array(X), True)):
        problem = standard_problem(rows, y, np.array([0, 1, 2]))
        assert problem.labels_per_class == labels
        for each in make_candidates(None, problem):
            recipe = RECIPES[each.name]
            usual = (is_text and recipe.text_member) or recipe.member
            fades = each.kind == SEMI_SUPERVISED and not is_text
            assert each.member == (fade(usual, labels) if fades else usual)


def test_tables_have_faint_weights_and_texts_have_none() -> None:
    X = np.random.default_rng(0).random((20, 2))
    y = np.arange(20) % 3 - 1

    def members(X: object) -> list[Candidate]:
        found = make_candidates(None, standard_problem(X, y, np.array([0, 1])))
        return [each for each in found if each.skipped is None]

    assert all(each.member.faint_weight is not None for each in members(X))
    assert all(each.member.faint_weight is None for each in members(sparse.csr_array(X)))
    heaviest = max(members(X), key=lambda each: each.member.faint_weight or 0.0)
    assert heaviest.name == "random-forest"
