"""Choosing among methods from few labels: estimate, decide, fit.

Values in, values out: a frozen :class:`Problem` and its :class:`Candidate` s give
:class:`Outcome` s on labels that are held out, these a :class:`Decision` with weights over the
candidates, and that the fitted candidates, all in a :class:`Selection`. Labels are encoded
already, and nothing here knows of tables, files or commands.
"""

from __future__ import annotations

from leaven.selection._candidates import (
    SEMI_SUPERVISED,
    SUPERVISED,
    Candidate,
    candidate_names,
    make_candidates,
)
from leaven.selection._decide import Decision, Difference, decide, take_one
from leaven.selection._estimate import FAILED, SKIPPED, TRIED, Outcome, Step, estimate
from leaven.selection._fit import Fitted, FittedCandidate, fit
from leaven.selection._folds import Folds, adaptive_n_splits, draw_folds
from leaven.selection._problem import GraphPool, Problem, kind_of_values, standard_problem
from leaven.selection._select import Selection, fit_named, select
from leaven.selection._vote import VOTE, WeightedCandidates, count_votes

__all__ = [
    "FAILED",
    "SEMI_SUPERVISED",
    "SKIPPED",
    "SUPERVISED",
    "TRIED",
    "VOTE",
    "Candidate",
    "Decision",
    "Difference",
    "Fitted",
    "FittedCandidate",
    "Folds",
    "GraphPool",
    "Outcome",
    "Problem",
    "Selection",
    "Step",
    "WeightedCandidates",
    "adaptive_n_splits",
    "candidate_names",
    "count_votes",
    "decide",
    "draw_folds",
    "estimate",
    "fit",
    "fit_named",
    "kind_of_values",
    "make_candidates",
    "select",
    "standard_problem",
    "take_one",
]
