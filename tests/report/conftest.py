"""Results with everything in them, made by hand: the numbers are all different."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from leaven.datasets import load_example
from leaven.model_selection import SafeReport
from leaven.tables import label_table

SCORES = [
    # name, kind, score, low, high, seconds
    ("ridge", "supervised", 0.62, 0.51, 0.74, 0.3),
    ("harmonic", "semi-supervised", 0.81, 0.72, 0.91, 1.2),
    ("bayes", "supervised", 0.68, 0.57, 0.77, 0.1),
    ("self-training", "semi-supervised", 0.66, 0.53, 0.79, 2.4),
]
SKIPPED = [
    ("tsvm", "skipped", "tsvm was skipped: the time limit of 9 s was over."),
    ("em", "failed", "negative <counts>"),
]


@pytest.fixture(scope="session")
def make_selection():
    def make(**changes):
        rows = [
            {"name": n, "kind": k, "status": "tried", "score": s, "low": lo, "high": hi}
            | {"seconds": t, "reason": "", "se": (hi - lo) / 4, "params": {}}
            for n, k, s, lo, hi, t in SCORES
        ]
        rows += [
            {"name": n, "kind": "semi-supervised", "status": status, "score": np.nan}
            | {"low": np.nan, "high": np.nan, "se": np.nan, "seconds": 0.0, "params": {}}
            | {"reason": reason}
            for n, status, reason in SKIPPED
        ]
        differences = pd.DataFrame(
            [
                ("ridge", "supervised", -0.06, 0.03, -0.12, 0.01),
                ("harmonic", "semi-supervised", 0.13, 0.05, 0.034, 0.226),
                ("self-training", "semi-supervised", -0.02, 0.04, -0.1, 0.05),
            ],
            columns=["name", "kind", "difference", "se", "low", "high"],
        )
        report = SafeReport(
            candidates=pd.DataFrame(rows),
            differences=differences,
            choice="harmonic",
            kind="semi-supervised",
            unlabeled_helped="yes",
            reason="The unlabeled rows helped.",
            best_supervised="bayes",
            best_semi_supervised="harmonic",
            scoring="accuracy",
            caution=1.0,
            n_labeled=15,
            n_unlabeled=485,
            n_classes=3,
            n_tested=15,
            n_splits=5,
            n_repeats=10,
            seconds=4.2,
            notes=("a note of the comparison",),
        )
        return dataclasses.replace(report, **changes)

    return make


@pytest.fixture(scope="session")
def plain_result():
    return label_table(load_example("orchard"), "variety", method="harmonic", details=False)


@pytest.fixture(scope="session")
def rich_result(plain_result, make_selection):
    n_rows = len(plain_result.table)
    angle = np.arange(n_rows) * 0.7
    points = pd.DataFrame(
        {"row": np.arange(n_rows), "x": angle * np.cos(angle), "y": angle * np.sin(angle)}
    )
    curve = pd.DataFrame(
        [
            (method, size, start + 0.05 * step, 0.04 / (step + 1))
            for method, start in (("harmonic", 0.55), ("bayes", 0.42))
            for step, size in enumerate((6, 9, 15))
        ],
        columns=["method", "n_labeled", "accuracy", "standard_error"],
    )
    inferred = np.flatnonzero(plain_result.table["variety_source"] == "inferred")
    return dataclasses.replace(
        plain_result,
        selection=make_selection(),
        curve=curve,
        points=points,
        ask=inferred[[40, 7, 300]],
    )
