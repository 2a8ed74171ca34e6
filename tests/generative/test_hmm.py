"""Hidden Markov models against enumeration, counts and hmmlearn."""

import itertools
import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from leaven.exceptions import ConvergenceWarning
from leaven.generative import SemiSupervisedHMM
from leaven.generative._categorical import CategoricalDensity
from leaven.generative._covariance import CovarianceDensity
from leaven.generative._hmm import Chain, ChainEM
from leaven.solvers import forward_backward, run_em, viterbi

# NumPy 2.5 deprecates an assignment inside hmmlearn 0.3.
of_hmmlearn = pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")


def sample(n_sequences, rng, *, n_states=2, length=30):
    """Sequences whose states stay for a while, and emit numbers around 0, 3, ..."""
    sequences, states = [], []
    for _ in range(n_sequences):
        state = [int(rng.integers(n_states))]
        for _ in range(length - 1):
            stay = rng.random() < 0.9
            state.append(state[-1] if stay else int(rng.integers(n_states)))
        state = np.array(state)
        states.append(state)
        sequences.append(3.0 * state[:, None] + rng.normal(size=(length, 1)) * 1.2)
    return sequences, states


@given(seed=st.integers(0, 10_000), length=st.integers(1, 6), clamp=st.booleans())
@settings(max_examples=40, deadline=None)
def test_forward_backward_and_viterbi_by_enumeration(seed, length, clamp):
    rng = np.random.default_rng(seed)
    start, A = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), size=3)
    log_b = rng.normal(size=(length, 3))
    if clamp:
        log_b[length // 2, [0, 2]] = -np.inf
    paths = list(itertools.product(range(3), repeat=length))
    joint = np.empty(len(paths))
    for number, path in enumerate(paths):
        p = np.log(start[path[0]]) + sum(log_b[t, s] for t, s in enumerate(path))
        joint[number] = np.exp(p + sum(np.log(A[i, j]) for i, j in itertools.pairwise(path)))
    share = joint / joint.sum()
    gamma, xi = np.zeros((length, 3)), np.zeros((3, 3))
    for path, p in zip(paths, share, strict=True):
        for t, s in enumerate(path):
            gamma[t, s] += p
        for i, j in itertools.pairwise(path):
            xi[i, j] += p
    # A longer sequence beside it, so that padding is at work.
    other = rng.normal(size=(length + 2, 3))
    padded = np.stack([np.vstack([log_b, np.full((2, 3), 99.0)]), other])
    lengths = np.array([length, length + 2])
    both = forward_backward(padded, lengths, start, A)
    alone = forward_backward(other[None], np.array([length + 2]), start, A)
    assert_allclose(both[0][0, :length], gamma, atol=1e-12)
    assert_allclose(both[1] - alone[1], xi, atol=1e-12)
    assert_allclose(both[2][0], np.log(joint.sum()), atol=1e-12)
    best = viterbi(padded, lengths, np.log(start), np.log(A))
    assert_array_equal(best[0, :length], paths[int(joint.argmax())])
    assert_array_equal(best[0, length:], -1)


def test_weights_multiply_the_expected_transitions():
    rng = np.random.default_rng(1)
    log_b, lengths = rng.normal(size=(2, 5, 2)), np.array([5, 3])
    start, A = np.array([0.4, 0.6]), np.array([[0.7, 0.3], [0.2, 0.8]])
    parts = [forward_backward(log_b[[i]], lengths[[i]], start, A)[1] for i in range(2)]
    both = forward_backward(log_b, lengths, start, A, np.array([1.0, 0.25]))[1]
    assert_allclose(both, parts[0] + 0.25 * parts[1])


def test_all_labeled_is_counting():
    sequences = [list("xyxz"), list("zzy")]
    labels = [["a", "a", "b", "b"], ["b", "a", "a"]]
    model = SemiSupervisedHMM(alpha=0.0).fit(sequences, labels)
    assert_allclose(model.start_proba_, [0.5, 0.5])
    # a->a twice, a->b once, b->b once, b->a once
    assert_allclose(model.transition_proba_, [[2 / 3, 1 / 3], [1 / 2, 1 / 2]])
    # a emits x, y, z, y; b emits x, z, z
    expected = [[1 / 4, 2 / 4, 1 / 4], [1 / 3, 0, 2 / 3]]
    assert_allclose(np.exp(model.feature_log_prob_[0]), expected, atol=1e-9)
    smooth = SemiSupervisedHMM(alpha=1.0).fit(sequences, labels)
    assert_allclose(smooth.transition_proba_, [[3 / 5, 2 / 5], [2 / 4, 2 / 4]])
    numbers, states = sample(4, np.random.default_rng(1))
    model = SemiSupervisedHMM(reg_covar=0.0).fit(numbers, states)
    rows, codes = np.concatenate(numbers).ravel(), np.concatenate(states)
    assert_allclose(model.means_.ravel(), [rows[codes == c].mean() for c in (0, 1)])
    assert_allclose(model.covariances_.ravel(), [rows[codes == c].var() for c in (0, 1)])


@pytest.mark.parametrize("kind", ["diag", "full", "tied", "spherical"])
@of_hmmlearn
def test_without_labels_it_is_hmmlearn(kind):
    hmm = pytest.importorskip("hmmlearn.hmm")
    rng = np.random.default_rng(2)
    sequences = [rng.normal(size=(n, 2)) + rng.integers(0, 3) for n in (12, 7, 20)]
    rows, lengths = np.concatenate(sequences), np.array([12, 7, 20])
    start, A = np.array([0.6, 0.4]), np.array([[0.7, 0.3], [0.2, 0.8]])
    mean, cov = np.array([[0.0, 0.5], [2.0, 1.0]]), np.array([[1.0, 0.2], [0.2, 0.8]])
    covariance = {
        "full": np.array([cov, cov]),
        "tied": cov,
        "diag": np.array([np.diag(cov)] * 2),
        "spherical": np.array([1.0, 1.3]),
    }[kind]
    peer = hmm.GaussianHMM(
        2, kind, n_iter=4, tol=-np.inf, init_params="", min_covar=0.0,
        covars_prior=0.0, covars_weight=0.0 if kind == "tied" else 1.0,
    )  # fmt: skip
    peer.startprob_, peer.transmat_, peer.means_ = start, A, mean
    peer.covars_ = covariance
    if kind in ("diag", "spherical"):
        peer.covars_prior, peer.covars_weight = 0.0, 1.0
    if kind == "full":
        peer.covars_weight = 0.0
    peer.fit(rows, lengths)
    steps = ChainEM(rows, np.full(39, -1), lengths, 2, np.ones(3), 0.0)
    chain = Chain(CovarianceDensity(kind, 0.0, 0.0, None, mean, covariance), start, A)
    ours = run_em(steps.expectation, steps.maximization, chain, max_iter=4, tol=0.0).parameters
    assert_allclose(ours.transition, peer.transmat_, atol=1e-8)
    assert_allclose(ours.start, peer.startprob_, atol=1e-8)
    assert_allclose(ours.density.mean, peer.means_, atol=1e-8)


@of_hmmlearn
def test_categorical_without_labels_is_hmmlearn():
    hmm = pytest.importorskip("hmmlearn.hmm")
    rng = np.random.default_rng(3)
    symbols, lengths = rng.integers(0, 3, size=40), np.array([25, 15])
    start, A = np.array([0.6, 0.4]), np.array([[0.7, 0.3], [0.2, 0.8]])
    emission = rng.dirichlet(np.ones(3), size=2)
    peer = hmm.CategoricalHMM(2, n_iter=5, tol=-np.inf, init_params="")
    peer.startprob_, peer.transmat_, peer.emissionprob_ = start, A, emission
    peer.fit(symbols[:, None], lengths)
    log_prob = np.vstack([np.zeros(2), np.log(emission.T), np.full(2, -50.0)])
    density = CategoricalDensity(1e-300, np.array([1, 5]), log_prob)
    rows = (symbols + 1)[:, None].astype(np.int32)
    steps = ChainEM(rows, np.full(40, -1), lengths, 2, np.ones(2), 0.0)
    ours = run_em(
        steps.expectation, steps.maximization, Chain(density, start, A), max_iter=5, tol=0
    )
    assert_allclose(ours.parameters.transition, peer.transmat_, atol=1e-8)
    assert_allclose(np.exp(ours.parameters.density.log_prob[1:4].T), peer.emissionprob_, atol=1e-8)


@given(
    seed=st.integers(0, 1000),
    alpha=st.sampled_from([0.0, 1.0]),
    weight=st.sampled_from([0.0, 0.3, 1.0]),
    symbols=st.booleans(),
)
@settings(max_examples=25, deadline=None)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_objective_never_falls(seed, alpha, weight, symbols):
    rng = np.random.default_rng(seed)
    sequences, states = sample(6, rng, length=12)
    if symbols:
        sequences = [np.round(s).astype(int).clip(-2, 5) + 2 for s in sequences]
    labels = [np.where(rng.random(12) < 0.5, s, -1) for s in states[:3]] + [None] * 3
    labels[0][:4] = [0, 1, 0, 1]
    model = SemiSupervisedHMM(alpha=alpha, unlabeled_weight=weight, max_iter=30, tol=1e-9)
    trace = model.fit(sequences, labels).objective_trace_
    assert np.diff(trace).min() >= -1e-9 * np.abs(trace).max()


def test_unlabeled_sequences_help_and_given_labels_stay():
    gain = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        sequences, states = sample(30, rng)
        labels = [np.where(np.arange(30) < 4, states[0], -1)] + [None] * 29
        labels[0][[0, 1, 2, 3]] = [0, 0, 1, 1]
        sequences[0][:4, 0] = [-0.5, 0.8, 2.4, 3.1]
        both = SemiSupervisedHMM().fit(sequences, labels)
        alone = SemiSupervisedHMM(unlabeled_weight=0.0).fit(sequences, labels)
        assert_array_equal(both.transduction_[0][:4], [0, 0, 1, 1])
        gain.append(both.score(sequences[1:], states[1:]) - alone.score(sequences[1:], states[1:]))
    assert np.mean(gain) > 0.02


def test_probabilities_decoders_and_names():
    sequences, states = sample(5, np.random.default_rng(1))
    names = [np.array(["low", "high"], dtype=object)[s] for s in states]
    model = SemiSupervisedHMM(decoder="posterior").fit(sequences, names)
    proba = model.predict_proba(sequences[:2])
    assert_allclose(proba[0].sum(axis=1), 1.0)
    assert_array_equal(model.predict(sequences[:2])[1], model.classes_[proba[1].argmax(axis=1)])
    assert model.score(sequences, names) > 0.85
    path = SemiSupervisedHMM().fit(sequences, names).predict(sequences[:1])[0]
    assert set(path) <= {"low", "high"}
    assert_allclose(model.label_distributions_[0].max(axis=1), 1.0)
    assert_array_equal(np.concatenate(model.transduction_), np.concatenate(names))


def test_what_is_reported(caplog):
    sequences, states = sample(3, np.random.default_rng(1))
    labels = [states[0], None, None]
    with caplog.at_level(logging.INFO, logger="leaven"):
        model = SemiSupervisedHMM(verbose=1).fit(sequences, labels)
    assert len(caplog.records) == model.n_iter_
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        SemiSupervisedHMM(max_iter=1, tol=0.0).fit(sequences, labels)


@pytest.mark.parametrize(
    ("sequences", "labels", "message"),
    [
        ([[[1.0, 2.0]], [[1.0]]], [[0], [1]], r"different widths: \[1, 2\]"),
        ([[1.0, 2.0]], [[0]], "2 observations, but 1 labels"),
        ([[1.0, 2.0]], [[0, 1], [0]], "1 sequences, but 2 label sequences"),
        ([], [], "no sequence"),
        ([[]], [[]], "at least one observation"),
        ([[1.0, np.nan]], [[0, 1]], "NaN"),
        ([[1.0, 2.0]], [None], "no labeled row"),
        ([[1.0, 2.0]], [[0, 0]], "1 class only"),
        ([[1.0, 2.0]], [[0, 1]], "Class 0 has 1 labeled row"),
    ],
)
def test_bad_input(sequences, labels, message):
    with pytest.raises(ValueError, match=message):
        SemiSupervisedHMM().fit(sequences, labels)


def test_new_sequences_of_another_width():
    sequences, states = sample(3, np.random.default_rng(1))
    model = SemiSupervisedHMM().fit(sequences, states)
    with pytest.raises(ValueError, match="width 2, but the model was fitted with 1"):
        model.predict([np.zeros((3, 2))])
