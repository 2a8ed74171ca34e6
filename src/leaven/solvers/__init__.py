"""Numerics that several methods share: arrays in, arrays out, no estimators."""

from __future__ import annotations

from leaven.solvers._dirichlet import solve_dirichlet
from leaven.solvers._eigen import Eigenpairs, smallest_eigenpairs
from leaven.solvers._em import EMResult, normalize_log_rows, run_em
from leaven.solvers._linear import SingularSystemError, Solution, solve_spd
from leaven.solvers._markov import forward_backward, pad_sequences, sequence_batches, viterbi
from leaven.solvers._products import add_product

LIBSVM_STEPS = 1_000_000
"""Steps of LIBSVM, which has no bound of its own in scikit-learn: with a high cost and duplicates
with different labels it may not end. A few times the number of rows is usual, and this many take
about a second on small data."""

__all__ = [
    "LIBSVM_STEPS",
    "EMResult",
    "Eigenpairs",
    "SingularSystemError",
    "Solution",
    "add_product",
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
