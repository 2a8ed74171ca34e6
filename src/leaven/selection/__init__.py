"""Choosing among methods from few labels: estimate, decide, fit.

Values in, values out: a frozen :class:`Problem` and its :class:`Candidate` s give
:class:`Outcome` s on labels that are held out, these a :class:`Decision` with weights over the
candidates, and that the fitted candidates, all in a :class:`Selection`. Labels are encoded
already, and nothing here knows of tables, files or commands.
"""

from __future__ import annotations

from leaven.selection._assess import (
    MissingClass,
    conformal_threshold,
    expected_accuracy,
    likely_scores,
    mislabeled_probability,
    missing_classes,
    prediction_sets,
    probability_above_zero,
    rows_above_target,
    set_threshold,
    weighted_quantiles,
)
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
from leaven.selection._gain import Change, compare_answers, gain_prior, judge_change
from leaven.selection._member import Member, estimate_faintness, fade, members_at
from leaven.selection._pool import (
    COMBINATION,
    Pool,
    WeightedCandidates,
    combine_held_out,
    fit_temperature,
    likelihood_weights,
    member_temperature,
    prior_pool,
    tempered_log,
)
from leaven.selection._problem import GraphPool, Problem, kind_of_values, standard_problem
from leaven.selection._refit import refit
from leaven.selection._select import Selection, fit_named, select
from leaven.selection._shift import chosen_by_class, class_shift
from leaven.selection._stop import bound_log_odds
from leaven.selection._verdict import Assessment, Suspect, assess

__all__ = [
    "COMBINATION",
    "FAILED",
    "SEMI_SUPERVISED",
    "SKIPPED",
    "SUPERVISED",
    "TRIED",
    "Assessment",
    "Candidate",
    "Change",
    "Decision",
    "Difference",
    "Fitted",
    "FittedCandidate",
    "Folds",
    "GraphPool",
    "Member",
    "MissingClass",
    "Outcome",
    "Pool",
    "Problem",
    "Selection",
    "Step",
    "Suspect",
    "WeightedCandidates",
    "adaptive_n_splits",
    "assess",
    "bound_log_odds",
    "candidate_names",
    "chosen_by_class",
    "class_shift",
    "combine_held_out",
    "compare_answers",
    "conformal_threshold",
    "decide",
    "draw_folds",
    "estimate",
    "estimate_faintness",
    "expected_accuracy",
    "fade",
    "fit",
    "fit_named",
    "fit_temperature",
    "gain_prior",
    "judge_change",
    "kind_of_values",
    "likelihood_weights",
    "likely_scores",
    "make_candidates",
    "member_temperature",
    "members_at",
    "mislabeled_probability",
    "missing_classes",
    "prediction_sets",
    "prior_pool",
    "probability_above_zero",
    "refit",
    "rows_above_target",
    "select",
    "set_threshold",
    "standard_problem",
    "take_one",
    "tempered_log",
    "weighted_quantiles",
]
