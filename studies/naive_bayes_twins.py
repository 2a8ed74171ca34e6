"""What another draw of the synthetic data of Saeed (2018) does to its numbers.

The source drew each synthetic data set once, and its standard errors are over trials on that one
draw. Ours is another one. These runs draw several, so that a printed number can be compared with
what a single draw may give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaven.datasets import make_independent_twin
from leaven.evaluation import CurveProtocol, trial_scores
from studies.costs import cost_of
from studies.curves import QueriedCurve
from studies.data import SPREADS, TWIN, gaussian_twin, prepare
from studies.naive_bayes import CURVE, NB, QUERIED, QUICK, SPLIT, SSNB, original
from studies.naive_bayes_readings import beside
from studies.published import published_areas
from studies.registry import Outcome, Run, Table, register

N_DRAWS = 10
"""Draws of each synthetic data set."""

N_TRIALS = 10
"""Trials on each draw."""

MOST_SECONDS = {"draws": 0.2, "twins": 1.0}
"""Seconds of a trial of NB and SSNB above which a data set is left out. There are a hundred trials,
of NB, SSNB and ALSSNB, or of NB alone under four readings."""

DIGITS = {
    "variance, five digits": 5,
    "variance, six digits": 6,
    "variance, seven digits": 7,
}
"""Significant digits of numbers that were written to a file, as ``%g`` writes six. They matter
where a feature has a class variance that is tiny beside its size: the refractive index of glass is
1.518 with a variance of 0.00001."""

ROUNDED = "glass"
"""The data set at hand that they matter on."""

READINGS = (*SPREADS, *DIGITS)

DRAWN = (
    f"Each data set is drawn {N_DRAWS} times, with {N_TRIALS} trials on each draw, in splits of "
    "its own. ± is the standard error of the difference from a single other draw: the spread of "
    "the draws, without that of their trials, and the error of our mean. So z tells how unusual "
    "the one draw of the source would be."
)


def drawn(name: str, reading: str, seed: int) -> tuple[Any, Any]:
    """One draw of the synthetic data of a data set.

    Parameters
    ----------
    name : str
        Of the original data set.
    reading : str
        One of ``READINGS``; a discrete table has but one way to be drawn.
    seed : int
    """
    X, y = prepare(name)
    if isinstance(X, pd.DataFrame):
        return make_independent_twin(X, y, kind="categorical", smoothing=1.0, random_state=seed)
    if reading not in DIGITS:
        return gaussian_twin(X, y.to_numpy(), spread=reading, seed=seed), y
    return significant(gaussian_twin(X, y.to_numpy(), seed=seed), DIGITS[reading]), y


def significant(X: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    """Numbers to so many significant digits.

    Examples
    --------
    >>> import numpy as np
    >>> from studies.naive_bayes_twins import significant
    >>> significant(np.array([1.51234567, -12345.0, 0.0]), 3)
    array([ 1.51e+00, -1.23e+04,  0.00e+00])
    """
    size = np.where(X == 0, 1.0, np.abs(X))
    unit = 10.0 ** (digits - 1 - np.floor(np.log10(size)))
    return np.asarray(np.round(X * unit) / unit)


def protocol_of(seed: int) -> CurveProtocol:
    """Curves on one draw, in splits of its own: with common ones, their errors would be too."""
    return replace(CURVE, name=f"curve-{seed}", seed=seed)


def draw_error(means: NDArray[np.float64], variances: NDArray[np.float64], n: int) -> float:
    """Standard error of the difference between the mean of our draws and one other draw.

    Without the error of that other one over its trials, which it comes with.

    Parameters
    ----------
    means, variances : array of shape (n_draws,)
        Over the trials of each draw.
    n : int
        Trials of a draw.
    """
    total = float(np.var(means, ddof=1))
    between = max(total - float(np.mean(variances)) / n, 0.0)
    return float(np.sqrt(between + total / len(means)))


def run_draws(
    run: Run, name: str, reading: str, methods: Mapping[str, Any]
) -> dict[str, tuple[NDArray[np.float64], float]]:
    """Mean areas of each draw, and the error of a single other draw, for each method."""
    inner = replace(run, n_trials=run.trials or N_TRIALS)
    frames = []
    for seed in range(N_DRAWS):
        data = {f"{name}, {reading}, {seed}": drawn(name, reading, seed)}
        found = inner.compare(methods, data, protocol_of(seed))
        frames.append(trial_scores(found[found["status"] == "ok"]))
    result = {}
    for method in methods:
        means = np.array([frame[method].mean() for frame in frames])
        variances = np.array([frame[method].var(ddof=1) for frame in frames])
        result[method] = means, draw_error(means, variances, inner.n_trials or N_TRIALS)
    return result


def rows_of(dataset: str, method: str, areas: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Results in which a trial is a draw."""
    return [
        {"dataset": dataset, "method": method, "trial": seed, "n_labeled": 0, "area": float(area),
         "seconds": 0.0, "status": "ok", "message": ""}
        for seed, area in enumerate(areas)
    ]  # fmt: skip


def draws_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """NB, SSNB and ALSSNB on several draws; a reading may stand behind the name of a data set."""
    methods = {"NB": NB, "SSNB": SSNB, QUERIED: QueriedCurve()}
    rows: list[dict[str, Any]] = []
    errors = {}
    for dataset in datasets:
        name, _, reading = dataset.partition(": ")
        found = run_draws(run, original(name), reading or SPREADS[0], methods)
        for method, (areas, error) in found.items():
            shown = "ALSSNB" if method == QUERIED else method
            rows += rows_of(dataset, shown, areas)
            errors[dataset, shown] = error
    return Outcome(pd.DataFrame(rows), errors=errors)


def twins_run(table: Table, run: Run, datasets: list[str]) -> Outcome:
    """NB on several draws of continuous synthetic data under each reading."""
    rows: list[dict[str, Any]] = []
    errors = {}
    for name in datasets:
        for reading in READINGS if name == ROUNDED else SPREADS:
            areas, error = run_draws(run, name, reading, {"NB": NB})["NB"]
            rows += rows_of(name, f"NB, {reading}", areas)
            errors[name, f"NB, {reading}"] = error
    return Outcome(pd.DataFrame(rows), errors=errors)


def printed_draws() -> pd.DataFrame:
    """Areas of tables 3.5, 3.6, 6.5 and 6.6; NB is the same in two of them each."""
    frames = [published_areas(number) for number in ("3.5", "3.6", "6.5", "6.6")]
    every = pd.concat(frames)
    every = every[~every.index.duplicated()]
    return every.rename(index=lambda name: f"{name}{TWIN}", level="dataset")


def left_out(names: Sequence[str], most: float) -> dict[str, int]:
    """No trial for data sets that take too long."""
    return {name: 0 for name in names if cost_of("3.4", name) > most}


def add_all() -> None:
    """Register both."""
    areas = printed_draws()
    names = tuple(dict.fromkeys(areas.index.get_level_values("dataset")))
    register(
        Table(
            "S1",
            "draws",
            "Other draws of the synthetic data sets",
            names,
            ("NB", "SSNB", "ALSSNB"),
            f"{SPLIT} {DRAWN} Data sets are drawn as for tables 3.5, 3.6, 6.5 and 6.6, which the "
            "published numbers are of.",
            areas,
            draws_run,
            value="area",
            quick=tuple(name for name in names if original(name) in QUICK[:6]),
            needs=original,
            trials=left_out(names, MOST_SECONDS["draws"]),
        )
    )
    twin = f"{ROUNDED}{TWIN}"
    of_twin = areas.loc[[twin]]
    names = tuple(f"{twin}: {reading}" for reading in DIGITS)
    register(
        Table(
            "S1",
            "digits",
            "Synthetic data of glass with few digits",
            names,
            ("NB", "SSNB", "ALSSNB"),
            f"{SPLIT} {DRAWN} As S1-draws, but numbers have five to seven significant digits, as "
            "if they had been written to a file. The published numbers are those of tables 3.6 "
            "and 6.6.",
            pd.concat([of_twin.rename(index={twin: name}, level="dataset") for name in names]),
            draws_run,
            value="area",
            quick=names[1:2],
            needs=lambda name: ROUNDED,
        )
    )
    areas = published_areas("3.6")
    names = tuple(areas.xs("NB", level="method").index)
    register(
        Table(
            "S1",
            "twins",
            "How the continuous synthetic data sets were drawn",
            names,
            tuple(f"NB, {reading}" for reading in READINGS),
            f"{SPLIT} {DRAWN} Numbers of a class are its mean plus a standard normal number times "
            "the variance, the standard deviation, or the variance of features that were "
            "standardized or scaled to [-1, 1] before; on glass also the variance in numbers of "
            "five to seven significant digits. The published numbers are those of NB in table 3.6.",
            beside(areas, READINGS),
            twins_run,
            value="area",
            quick=("iris", "wine", "diabetes"),
            trials=left_out(names, MOST_SECONDS["twins"]),
        )
    )


add_all()
