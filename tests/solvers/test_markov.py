"""Hidden Markov chains against sums over all paths."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from leaven.solvers import _markov, forward_backward, pad_sequences, sequence_batches, viterbi


def chain(seed, n_states):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(n_states, 2.0)), rng.dirichlet(np.full(n_states, 0.7), n_states)


def log_probability(path, log_emission, start, transition):
    total = np.log(start[path[0]]) + log_emission[0, path[0]]
    for t in range(1, len(path)):
        total += np.log(transition[path[t - 1], path[t]]) + log_emission[t, path[t]]
    return total


@given(st.integers(0, 10_000), st.integers(1, 3), st.lists(st.integers(1, 5), min_size=1))
@settings(max_examples=25, deadline=None)
def test_posteriors_transitions_and_paths_equal_brute_force(seed, n_states, lengths):
    lengths = np.array(lengths[:3])
    rng = np.random.default_rng(seed)
    start, transition = chain(seed, n_states)
    log_emission = rng.normal(size=(len(lengths), lengths.max(), n_states)) * 2 - 3
    weights = rng.random(len(lengths)) + 0.3
    posterior, transitions, evidence = forward_backward(
        log_emission, lengths, start, transition, weights
    )
    best = viterbi(log_emission, lengths, np.log(start), np.log(transition))
    expected_transitions = np.zeros((n_states, n_states))
    for i, length in enumerate(lengths):
        paths = list(itertools.product(range(n_states), repeat=int(length)))
        scores = np.array([log_probability(p, log_emission[i], start, transition) for p in paths])
        total = logsumexp(scores)
        assert_allclose(evidence[i], total, atol=1e-12)
        share = np.exp(scores - total)
        expected = np.zeros((length, n_states))
        for path, p in zip(paths, share, strict=True):
            expected[np.arange(length), list(path)] += p
            np.add.at(expected_transitions, (list(path[:-1]), list(path[1:])), p * weights[i])
        assert_allclose(posterior[i, :length], expected, atol=1e-10)
        assert_array_equal(posterior[i, length:], 0.0)
        assert_allclose(
            log_probability(best[i, :length], log_emission[i], start, transition), scores.max()
        )
        assert_array_equal(best[i, length:], -1)
    assert_allclose(transitions, expected_transitions, atol=1e-10)


def test_long_chains_do_not_underflow_and_reach_the_stationary_distribution():
    transition = np.array([[0.9, 0.1], [0.3, 0.7]])
    log_emission = np.full((1, 3_000, 2), -50.0)
    posterior, transitions, evidence = forward_backward(
        log_emission, np.array([3_000]), np.array([0.2, 0.8]), transition
    )
    assert_allclose(evidence, -150_000.0)
    assert_allclose(posterior[0, -1], [0.75, 0.25])
    assert_allclose(posterior[0, 0], [0.2, 0.8])
    assert_allclose(transitions.sum(), 2_999)


def test_a_state_that_is_ruled_out():
    log_emission = np.log(np.full((2, 3, 2), 0.5))
    log_emission[0, 1, 0] = -np.inf
    log_emission[1, 2] = -np.inf
    start, transition = chain(3, 2)
    posterior, _, evidence = forward_backward(log_emission, np.array([3, 3]), start, transition)
    assert_allclose(posterior[0, 1], [0.0, 1.0])
    assert np.isfinite(evidence[0])
    assert evidence[1] == -np.inf
    assert np.isfinite(posterior).all()


@given(st.lists(st.integers(0, 40), max_size=30), st.integers(1, 7), st.integers(1, 200))
@settings(max_examples=60, deadline=None)
def test_batches_hold_every_sequence_once_and_fit_into_memory(lengths, n_states, entries):
    lengths = np.array(lengths, dtype=np.intp)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_markov, "_BATCH_ENTRIES", entries)
        groups = list(sequence_batches(lengths, n_states))
    together = np.concatenate([*groups, np.empty(0, dtype=np.intp)])
    assert_array_equal(np.sort(together), np.arange(len(lengths)))
    assert_array_equal(lengths[together], np.sort(lengths)[::-1])  # the longest first
    for group in groups:
        assert len(group) == 1 or len(group) * max(lengths[group].max(), 1) * n_states <= entries
    # No group could have taken the first sequence of the next one.
    for group, after in itertools.pairwise(groups):
        padded = (len(group) + 1) * max(lengths[group[0]], 1) * n_states
        assert padded > entries, (group, after)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=8), st.integers(0, 1_000))
@settings(max_examples=40, deadline=None)
def test_padding_cuts_each_sequence_out_of_the_rows(lengths, seed):
    lengths = np.array(lengths)
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(int(lengths.sum()) + 5, 2))
    starts = 5 + np.concatenate([[0], np.cumsum(lengths)[:-1]])
    order = rng.permutation(len(lengths))
    padded = pad_sequences(rows, starts[order], lengths[order], -9.0)
    assert padded.shape == (len(lengths), lengths.max(), 2)
    for part, start, length in zip(padded, starts[order], lengths[order], strict=True):
        assert_array_equal(part[:length], rows[start : start + length])
        assert (part[length:] == -9.0).all()


def test_sequences_in_batches_equal_one_by_one():
    rng = np.random.default_rng(8)
    start, transition = chain(8, 3)
    lengths = np.array([4, 1, 6, 2, 6])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    rows = rng.normal(size=(lengths.sum(), 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_markov, "_BATCH_ENTRIES", 30)
        groups = list(sequence_batches(lengths, 3))
    assert len(groups) > 2
    for group in groups:
        padded = pad_sequences(rows, starts[group], lengths[group], 0.0)
        together = forward_backward(padded, lengths[group], start, transition)[0]
        for part, i in zip(together, group, strict=True):
            own = rows[starts[i] : starts[i] + lengths[i]][None]
            alone = forward_backward(own, lengths[[i]], start, transition)[0][0]
            assert_allclose(part[: lengths[i]], alone, atol=1e-12)
