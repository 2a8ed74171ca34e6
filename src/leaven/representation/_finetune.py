"""Fine-tuning: all weights of a network at once, by conjugate gradients or L-BFGS."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, minimize

from leaven.exceptions import ConvergenceWarning
from leaven.representation._torch import to_arrays

# How scipy.optimize names the options of finetune; its CG is that of Polak and Ribière.
METHODS = {"lbfgs": "L-BFGS-B", "cg": "CG"}

# Iterations over which the decrease is judged: single ones may be small, as is the first.
WINDOW = 5


class Tuned(NamedTuple):
    """The weights after fine-tuning, and how it went."""

    parameters: list[NDArray[Any]]
    objective_trace: NDArray[np.float64]
    n_iter: int
    converged: bool


def flat_objective(
    torch: Any, loss: Callable[[list[Any]], Any], parameters: Sequence[Any]
) -> Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]:
    """Turn a loss of a list of tensors into value and gradient of one flat vector.

    The tensors give shapes and dtype only: the network works in their precision, whereas
    the optimizer sees 64-bit numbers.
    """
    sizes = [parameter.numel() for parameter in parameters]

    def objective(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        # torch.tensor copies, which keeps the optimizer's own vector out of the graph.
        vector = torch.tensor(flat, dtype=parameters[0].dtype, requires_grad=True)
        pieces = torch.split(vector, sizes)
        shaped = [piece.view(p.shape) for piece, p in zip(pieces, parameters, strict=True)]
        value = loss(shaped)
        value.backward()
        return float(value.detach()), vector.grad.numpy().astype(np.float64)

    return objective


def finetune(
    torch: Any,
    loss: Callable[[list[Any]], Any],
    parameters: Sequence[Any],
    *,
    method: str,
    max_iter: int,
    tol: float,
    report: Callable[..., None],
) -> Tuned:
    """Minimize ``loss`` from ``parameters`` on.

    It has converged when :data:`WINDOW` iterations together lower the loss by less than
    ``tol`` of its value, when the largest entry of the gradient has fallen to a
    tenth of ``tol`` of what it was, or when the line search finds nothing lower at the
    precision of the network.
    """
    objective = flat_objective(torch, loss, parameters)
    start = np.concatenate([array.ravel() for array in to_arrays(parameters)]).astype(np.float64)
    first, gradient = objective(start)
    trace = [first]
    settled = False

    def follow(intermediate_result: OptimizeResult) -> None:
        nonlocal settled
        trace.append(float(intermediate_result.fun))
        report("fine-tuning, iteration %d: loss %.6g", len(trace) - 1, trace[-1])
        if len(trace) > WINDOW:
            before = trace[-1 - WINDOW]
            settled = before - trace[-1] <= tol * abs(before)
        if settled:
            raise StopIteration

    options: dict[str, Any] = {
        "maxiter": max_iter,
        "gtol": 0.1 * tol * np.abs(gradient).max(),  # ends a loss that goes to zero
    }
    if method == "lbfgs":
        # Its own test of the decrease is not relative below a loss of one: ours is used.
        options |= {"ftol": 0.0, "maxfun": 20 * max_iter}
    result = minimize(
        objective, start, jac=True, method=METHODS[method], callback=follow, options=options
    )
    # Status 1 is the limit of iterations. The others are a small gradient, our own stop, or a
    # line search that fails, which with 32-bit losses means that rounding hides all descent.
    converged = settled or result.status != 1
    tensor = torch.tensor(result.x, dtype=parameters[0].dtype)
    pieces = torch.split(tensor, [parameter.numel() for parameter in parameters])
    tuned = [piece.view(p.shape) for piece, p in zip(pieces, parameters, strict=True)]
    return Tuned(to_arrays(tuned), np.asarray(trace), len(trace) - 1, converged)


def warn_if_not_converged(caller: Any, converged: bool) -> None:
    """Warn that ``finetune_iter`` ended the fine-tuning of ``caller``."""
    if not converged:
        warnings.warn(
            f"{type(caller).__name__}: fine-tuning stopped after "
            f"finetune_iter={caller.finetune_iter} iterations, before the loss settled. Set "
            "finetune_iter higher, or tol higher.",
            ConvergenceWarning,
            stacklevel=3,
        )
