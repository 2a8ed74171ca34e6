"""Forward-backward and Viterbi for many sequences at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Numbers in one padded array of log-likelihoods: 16 MB.
_BATCH_ENTRIES = 1 << 21


def sequence_batches(lengths: NDArray[np.intp], n_states: int) -> Iterator[NDArray[np.intp]]:
    """Group sequences of similar length, so that a padded group fits into memory.

    Parameters
    ----------
    lengths : ndarray of shape (n_sequences,)
    n_states : int

    Yields
    ------
    ndarray of int
        Sequence numbers, the longest sequences first.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.solvers import sequence_batches
    >>> [group.tolist() for group in sequence_batches(np.array([2, 5, 3]), n_states=4)]
    [[1, 2, 0]]
    """
    # Similar lengths side by side: padding is what is wasted.
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        longest = max(int(lengths[order[start]]), 1)
        size = max(1, _BATCH_ENTRIES // (longest * n_states))
        yield order[start : start + size]
        start += size


def pad_sequences(
    rows: NDArray[Any], starts: NDArray[np.intp], lengths: NDArray[np.intp], fill: float
) -> NDArray[Any]:
    """Cut sequences out of one long array and pad them to the longest.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, ...)
        All sequences, one after the other.
    starts, lengths : ndarray of shape (n_sequences,)
        Sequence i is ``rows[starts[i] : starts[i] + lengths[i]]``.
    fill : float
        What stands beyond the end of a sequence.

    Returns
    -------
    ndarray of shape (n_sequences, longest, ...)

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.solvers import pad_sequences
    >>> pad_sequences(np.array([3.0, 5.0, 7.0]), np.array([1, 0]), np.array([2, 1]), -1.0)
    array([[ 5.,  7.],
           [ 3., -1.]])
    """
    inside = np.arange(lengths.max(initial=0)) < lengths[:, None]
    padded = np.full((*inside.shape, *rows.shape[1:]), fill)
    padded[inside] = rows[(starts[:, None] + np.arange(inside.shape[1]))[inside]]
    return padded


def forward_backward(
    log_emission: NDArray[Any],
    lengths: NDArray[np.intp],
    start: NDArray[Any],
    transition: NDArray[Any],
    weights: NDArray[Any] | None = None,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Posteriors of the states of hidden Markov chains.

    Parameters
    ----------
    log_emission : ndarray of shape (n_sequences, longest, n_states)
        ``log p(x_t | state)``; entries beyond the length of a sequence are not looked at. A
        state that is ruled out has -inf.
    lengths : ndarray of shape (n_sequences,)
    start : ndarray of shape (n_states,)
    transition : ndarray of shape (n_states, n_states)
        ``transition[i, j] = p(j | i)``.
    weights : ndarray of shape (n_sequences,), optional
        Of the sequences in the expected transitions; default 1.

    Returns
    -------
    posterior : ndarray of shape (n_sequences, longest, n_states)
        Zero beyond the length of a sequence.
    transitions : ndarray of shape (n_states, n_states)
        Expected number of transitions, weighted and summed over the sequences.
    evidence : ndarray of shape (n_sequences,)
        ``log p(sequence)``; -inf where the model rules the sequence out.

    Notes
    -----
    Each step is scaled to sum to one and the scales are kept, so nothing underflows.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.solvers import forward_backward
    >>> stay = np.array([[0.9, 0.1], [0.1, 0.9]])
    >>> seen = np.log([[[0.8, 0.2], [0.5, 0.5]]])
    >>> posterior, _, _ = forward_backward(seen, np.array([2]), np.array([0.5, 0.5]), stay)
    >>> posterior[0].round(2)
    array([[0.8 , 0.2 ],
           [0.74, 0.26]])
    """
    n, longest, n_states = log_emission.shape
    inside = np.arange(longest) < lengths[:, None]
    top = np.where(inside, log_emission.max(axis=2), 0.0)
    # A step that every state rules out: the evidence says so, and the others go on undisturbed.
    lost = np.isneginf(top)
    top = np.where(lost, 0.0, top)
    with np.errstate(invalid="ignore"):
        B = np.exp(log_emission - top[:, :, None])
    B[~inside | lost] = np.where(inside[~inside | lost], 0.0, 1.0)[:, None]
    forward = np.empty_like(B)
    scale = np.ones((n, longest))
    for t in range(longest):
        step = np.broadcast_to(start, (n, n_states)) if t == 0 else forward[:, t - 1] @ transition
        step = step * B[:, t]
        scale[:, t] = np.where(inside[:, t], step.sum(axis=1), 1.0)
        forward[:, t] = step / np.where(scale[:, t] > 0, scale[:, t], 1.0)[:, None]
    backward = np.ones_like(B)
    ahead = np.zeros_like(B)  # emission times backward over scale, one step ahead
    for t in range(longest - 1, -1, -1):
        safe = np.where(scale[:, t] > 0, scale[:, t], 1.0)[:, None]
        ahead[:, t] = np.where(inside[:, t, None], B[:, t] * backward[:, t] / safe, 0.0)
        if t:
            backward[:, t - 1] = np.where(inside[:, t, None], ahead[:, t] @ transition.T, 1.0)
    posterior = np.where(inside[:, :, None], forward * backward, 0.0)
    left = forward[:, :-1] if weights is None else forward[:, :-1] * weights[:, None, None]
    transitions = transition * (left.reshape(-1, n_states).T @ ahead[:, 1:].reshape(-1, n_states))
    with np.errstate(divide="ignore"):
        evidence = np.where(inside, np.log(scale) + top, 0.0).sum(axis=1)
    return posterior, transitions, evidence


def viterbi(
    log_emission: NDArray[Any],
    lengths: NDArray[np.intp],
    log_start: NDArray[Any],
    log_transition: NDArray[Any],
) -> NDArray[np.intp]:
    """Most probable path of states of each sequence (Viterbi, 1967).

    Parameters
    ----------
    log_emission : ndarray of shape (n_sequences, longest, n_states)
        ``log p(x_t | state)``; entries beyond the length of a sequence are not looked at.
    lengths : ndarray of shape (n_sequences,)
    log_start : ndarray of shape (n_states,)
    log_transition : ndarray of shape (n_states, n_states)

    Returns
    -------
    path : int ndarray of shape (n_sequences, longest)
        -1 beyond the length of a sequence.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.solvers import viterbi
    >>> stay = np.log([[0.9, 0.1], [0.1, 0.9]])
    >>> seen = np.log([[[0.8, 0.2], [0.4, 0.6]]])
    >>> viterbi(seen, np.array([2]), np.log([0.5, 0.5]), stay)
    array([[0, 0]])
    """
    n, longest, n_states = log_emission.shape
    score = log_start + log_emission[:, 0] if longest else np.zeros((n, n_states))
    came_from = np.zeros((n, longest, n_states), dtype=np.intp)
    for t in range(1, longest):
        options = score[:, :, None] + log_transition
        best = options.argmax(axis=1)
        new = np.take_along_axis(options, best[:, None, :], axis=1)[:, 0] + log_emission[:, t]
        going = (lengths > t)[:, None]
        came_from[:, t] = np.where(going, best, np.arange(n_states))
        # Beyond its end a sequence keeps its last score, and points back at the same state.
        score = np.where(going, new, score)
    path = np.full((n, longest), -1, dtype=np.intp)
    state = score.argmax(axis=1)
    for t in range(longest - 1, -1, -1):
        path[:, t] = np.where(lengths > t, state, -1)
        state = np.take_along_axis(came_from[:, t], state[:, None], axis=1)[:, 0]
    return path
