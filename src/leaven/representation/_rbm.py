"""Restricted Boltzmann machines: energies, contrastive divergence, training.

A machine has visible units v and hidden units h with weights W (visible × hidden) and biases
b and c. Units are ``"binary"``, or ``"gaussian"``: linear with noise of variance one. The
energy of Hinton and Salakhutdinov (2006), with the quadratic terms that linear units need:

    E(v, h) = -b·v - c·h - v·W·h            both binary
    E(v, h) = |v - b|²/2 - c·h - v·W·h      Gaussian visible units
    E(v, h) = -b·v + |h - c|²/2 - v·W·h     Gaussian hidden units

Given one side, the units of the other are independent, with mean σ(field) if binary and the
field itself if Gaussian, where the field of h is c + vᵀW and the field of v is b + W h.

The first functions are for machines small enough to enumerate, on NumPy arrays; training
takes tensors, and needs nothing of PyTorch but their methods.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

# Binary units that are enumerated at most, for about a million states.
MAX_ENUMERATED = 20


class Machine(NamedTuple):
    """The parameters of a machine, and the kinds of its units."""

    weights: Any
    visible_bias: Any
    hidden_bias: Any
    visible: str = "binary"
    hidden: str = "binary"


class Step(NamedTuple):
    """A direction for every parameter, and the reconstruction it comes from."""

    weights: Any
    visible_bias: Any
    hidden_bias: Any
    reconstruction: Any


def free_energy(V: NDArray[Any], machine: Machine) -> NDArray[Any]:
    """Give ``F(v) = -log Σ_h exp(-E(v, h))`` of each row of ``V``.

    With binary hidden units that is ``-b·v - Σ_j log(1 + exp(c_j + v·W_j))``, with
    ``|v - b|²/2`` for ``-b·v`` where the visible units are Gaussian. With Gaussian hidden
    units it is ``-b·v - c·a - |a|²/2`` with ``a = vᵀW``, up to a constant.
    """
    W, b, c = machine.weights, machine.visible_bias, machine.hidden_bias
    inputs = V @ W
    if machine.hidden == "binary":
        hidden = np.logaddexp(0.0, c + inputs).sum(axis=1)
    else:
        hidden = inputs @ c + 0.5 * (inputs**2).sum(axis=1)
    if machine.visible == "binary":
        return np.asarray(-V @ b - hidden)
    return np.asarray(0.5 * ((V - b) ** 2).sum(axis=1) - hidden)


def log_partition(machine: Machine) -> float:
    """Give ``log Z``, the constant with ``log p(v) = -F(v) - log Z``, by enumeration.

    Visible units are enumerated if they are binary. Gaussian ones are integrated by hand
    for each state of the hidden units:
    ``∫ exp(-|v - b|²/2 + v·Wh) dv = (2π)^{d/2} exp(b·Wh + |Wh|²/2)``.
    """
    W, b, c = machine.weights, machine.visible_bias, machine.hidden_bias
    if machine.visible == "binary":
        return float(logsumexp(-free_energy(binary_states(len(b)), machine)))
    if machine.hidden != "binary":
        raise ValueError("Gaussian visible and hidden units: no side can be enumerated.")
    H = binary_states(len(c))
    fields = H @ W.T
    exponents = H @ c + fields @ b + 0.5 * (fields**2).sum(axis=1)
    return float(logsumexp(exponents) + 0.5 * len(b) * np.log(2 * np.pi))


def log_likelihood(V: NDArray[Any], machine: Machine) -> NDArray[Any]:
    """Give the exact log-likelihood of each row of ``V``; only for small machines."""
    return -free_energy(V, machine) - log_partition(machine)


def binary_states(n_units: int) -> NDArray[np.float64]:
    """List all states of binary units, one a row."""
    if n_units > MAX_ENUMERATED:
        raise ValueError(
            f"{n_units} binary units have 2**{n_units} states; at most {MAX_ENUMERATED} units "
            "are enumerated."
        )
    return np.array(list(itertools.product([0.0, 1.0], repeat=n_units)))


def unit_mean(field: Any, kind: str) -> Any:
    """Mean of units that have this field: σ(field) if binary, the field if Gaussian."""
    return field.sigmoid() if kind == "binary" else field


def hidden_mean(V: Any, machine: Machine) -> Any:
    """Mean of the hidden units for each row of ``V``."""
    return unit_mean(V @ machine.weights + machine.hidden_bias, machine.hidden)


def visible_mean(H: Any, machine: Machine) -> Any:
    """Mean of the visible units for each row of ``H``: the "confabulation"."""
    return unit_mean(H @ machine.weights.T + machine.visible_bias, machine.visible)


def statistics(V: Any, machine: Machine) -> tuple[Any, Any, Any]:
    """Means over the rows of ``V`` of ``v hᵀ``, ``v`` and ``h``, with h at its mean.

    The gradient of the mean log-likelihood is this on the data less this under the model.
    """
    H = hidden_mean(V, machine)
    return V.T @ H / len(V), V.mean(0), H.mean(0)


def contrastive_divergence(V: Any, machine: Machine, generator: Any) -> Step:
    """Estimate the gradient of the mean log-likelihood by one step of Gibbs sampling (CD-1).

    The hidden units are sampled given the data, for their states pass on one bit each and
    not a real number; the reconstruction and its hidden units are means, which has less
    noise than sampling them too (Hinton and Salakhutdinov 2006, supporting material).
    """
    mean = hidden_mean(V, machine)
    if machine.hidden == "binary":
        sampled = mean.bernoulli(generator=generator)
    else:
        sampled = mean + mean.new_empty(mean.shape).normal_(generator=generator)
    reconstruction = visible_mean(sampled, machine)
    data, model = statistics(V, machine), statistics(reconstruction, machine)
    return Step(data[0] - model[0], data[1] - model[1], data[2] - model[2], reconstruction)


def train_rbm(
    V: Any,
    n_hidden: int,
    *,
    visible: str,
    hidden: str,
    epochs: int,
    learning_rate: float,
    momentum: tuple[float, float],
    momentum_epochs: int,
    weight_cost: float,
    batch_size: int,
    generator: Any,
    report: Callable[..., None],
) -> tuple[Machine, NDArray[np.float64]]:
    """Train a machine on the rows of the tensor ``V`` by CD-1.

    After each batch every parameter moves by
    ``Δ_k = m Δ_{k-1} + learning_rate (<v h>_data - <v h>_reconstruction - weight_cost w)``,
    where m is the first of ``momentum`` for ``momentum_epochs`` epochs and then the second;
    biases have no cost. Lefakis, section 3.3.2, prints the cost with a plus, which would
    let the weights grow; the minus is that of Hinton and Salakhutdinov.

    Returns
    -------
    machine : Machine
    errors : ndarray of shape (epochs,)
        Mean over the rows of the squared distance between data and reconstruction, while
        the epoch ran.
    """
    n_rows, n_visible = V.shape
    # Standardized Gaussian units are all active, where few pixels of an image are: the usual
    # 0.1 would saturate the hidden units.
    spread = 0.1 if visible == "binary" else 0.01
    W = V.new_empty((n_visible, n_hidden)).normal_(generator=generator) * spread
    machine = Machine(W, V.new_zeros(n_visible), V.new_zeros(n_hidden), visible, hidden)
    moves = [parameter.new_zeros(parameter.shape) for parameter in machine[:3]]
    errors = np.empty(epochs)
    for epoch in range(epochs):
        m = momentum[0] if epoch < momentum_epochs else momentum[1]
        order = V.new_empty(n_rows).uniform_(generator=generator).argsort()
        total = 0.0
        for start in range(0, n_rows, batch_size):
            batch = V[order[start : start + batch_size]]
            step = contrastive_divergence(batch, machine, generator)
            total += float(((batch - step.reconstruction) ** 2).sum())
            for place, (parameter, move) in enumerate(zip(machine[:3], moves, strict=True)):
                cost = weight_cost * parameter if place == 0 else 0.0
                move.mul_(m).add_(learning_rate * (step[place] - cost))
                parameter.add_(move)
        errors[epoch] = total / n_rows
        if not np.isfinite(errors[epoch]):
            name = (
                "pretrain_learning_rate"
                if visible == hidden == "binary"
                else ("linear_learning_rate")
            )
            raise ValueError(
                f"Pretraining of a layer of {n_hidden} units diverged in epoch {epoch + 1} with "
                f"{name}={learning_rate:g}. Set {name} ten times smaller."
            )
        report(
            "layer %d-%d, epoch %d: reconstruction error %.6g",
            n_visible,
            n_hidden,
            epoch + 1,
            errors[epoch],
        )
    return machine, errors
