"""Numerics that several methods share: arrays in, arrays out, no estimators."""

from __future__ import annotations

from leaven.solvers._dirichlet import solve_dirichlet
from leaven.solvers._eigen import Eigenpairs, smallest_eigenpairs
from leaven.solvers._linear import Solution, solve_spd

__all__ = ["Eigenpairs", "Solution", "smallest_eigenpairs", "solve_dirichlet", "solve_spd"]
