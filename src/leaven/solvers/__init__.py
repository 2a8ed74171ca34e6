"""Numerics that several methods share: arrays in, arrays out, no estimators."""

from __future__ import annotations

from leaven.solvers._dirichlet import solve_dirichlet
from leaven.solvers._eigen import Eigenpairs, smallest_eigenpairs
from leaven.solvers._em import EMResult, normalize_log_rows, run_em
from leaven.solvers._linear import Solution, solve_spd
from leaven.solvers._markov import forward_backward, pad_sequences, sequence_batches, viterbi

__all__ = [
    "EMResult",
    "Eigenpairs",
    "Solution",
    "forward_backward",
    "normalize_log_rows",
    "pad_sequences",
    "run_em",
    "sequence_batches",
    "smallest_eigenpairs",
    "solve_dirichlet",
    "solve_spd",
    "viterbi",
]
