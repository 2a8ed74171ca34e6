"""How many trials a data set of Saeed (2018) gets, by what a trial costs.

The source has 100 trials of everything. Here a data set has 100 trials in a table of single fits
if they take at most ten minutes of one core, else 25. A table that searches for a parameter takes
10 to 200 times as long: there a data set has 100 trials if they take at most five minutes, 25 if
those take at most 950 seconds, and is left out otherwise. Two cores are to be through with
all sources in four hours.
"""

from __future__ import annotations

from collections.abc import Iterable

MOST = 100
FEWER = 25

BUDGET = 600.0
"""Seconds of one core for 100 trials of a data set in a table of single fits."""

SEARCH_BUDGET = 300.0
"""The same in a table that searches for a parameter."""

FEWER_BUDGET = 950.0
"""The same for 25 trials."""

SECONDS = {
    "audiology": 0.08, "balance-scale": 0.03, "dna": 0.32, "flare1": 0.025, "flare2": 0.045,
    "kr-vs-kp": 0.11, "led7": 0.05, "marketing": 1.05, "mushroom": 0.17, "primary-tumor": 0.06,
    "shuttle-landing-control": 0.02, "soybean-large": 0.12, "splice": 0.22, "threeOf9": 0.02,
    "xd6": 0.02, "letter": 3.7, "magic04": 0.17, "pendigits": 0.8, "sleep": 6.6, "vowel": 0.04,
    "waveform-noise": 0.12, "arcene": 0.8, "madelon": 0.3, "spambase": 0.1, "synthetic": 0.025,
    "diabetes": 0.02, "climate-model-simulation-crashes": 0.02, "musk1": 0.025,
    "blood-transfusion": 0.02,
}  # fmt: skip
"""Processor seconds of a trial of NB and SSNB on one core of an AMD EPYC that had other work to do
beside it."""

OTHERS = 0.015
"""Of any other data set at hand, with what naive Bayes and the store take."""

FITS = {
    "4.1": 10, "4.2": 10, "4.3": 10, "4.4": 10, "4.5": 25, "4.6": 25, "5.3": 12, "5.4": 12,
    "5.5": 12, "5.6": 45, "6.3": 2, "6.4": 2, "6.5": 2, "6.6": 2,
}  # fmt: skip
"""How many times the cost of NB and SSNB a trial of a table has; the others have about one.

Measured with three trials of 13 to 20 data sets per table. The fits of a search run side by side,
so that it takes less than their number; on small data sets it is half of this.
"""

SEARCHES = {
    "4.5": {
        "kr-vs-kp": 2.0, "mushroom": 4.3, "magic04": 6.9, "arcene": 30.0, "madelon": 13.0,
        "spambase": 4.9, "soybean-large": 1.9, "splice": 12.5, "dna": 6.5, "marketing": 56.0,
        "waveform-noise": 4.9, "pendigits": 49.0,
    },
    "5.4": {
        "kr-vs-kp": 0.95, "mushroom": 3.6, "magic04": 5.3, "arcene": 5.0, "madelon": 1.3,
        "spambase": 1.4,
    },
    "5.6": {
        "kr-vs-kp": 5.5, "mushroom": 22.5, "magic04": 37.0, "arcene": 40.0, "madelon": 8.7,
        "spambase": 10.4,
    },
}  # fmt: skip
"""Processor seconds of a trial of one search on large data sets, where folds and sorts take longer
than on small ones: one trial each. That of arcene is half of what it took before its fits were held
a few at a time."""

SAME = {"4.6": "4.5", "5.3": "5.4", "5.5": "5.4"}
"""Tables with the same search on other data sets, or with another mean."""

TAKEN = {
    "4.3": 0.75, "4.4": 0.7, "4.6": 0.6, "5.6": 0.7, "6.1": 0.45, "6.2": 0.55, "6.3": 0.6,
    "6.4": 0.8,
}  # fmt: skip
"""What long runs took of these costs, where it was much less: the seconds on the page of S1, with a
store that held NB already. It enters the estimate of the time, but not the number of trials."""

SHARED = {"5.5": "5.4"}
"""A table that needs hardly a fit when another one has been run with the same store."""


def trials_of(number: str, names: Iterable[str]) -> dict[str, int]:
    """Number of trials of each data set of a table; 0 leaves it out.

    Examples
    --------
    >>> from studies.costs import trials_of
    >>> trials_of("3.4", ["iris", "pendigits", "sleep"])
    {'iris': 100, 'pendigits': 100, 'sleep': 25}
    >>> trials_of("4.1", ["iris", "pendigits", "letter", "sleep"])
    {'iris': 100, 'pendigits': 25, 'letter': 25, 'sleep': 0}
    """
    found = {name: _trials(cost_of(number, name), number[0] in "45") for name in names}
    if number == "5.5":
        # α of a data set is that of all others: they have the same trials, or are left out.
        return {name: n if n == MOST else 0 for name, n in found.items()}
    return found


def cost_of(number: str, name: str) -> float:
    """Processor seconds of a trial of a data set in a table."""
    original = name.removesuffix("-twin")
    measured = SEARCHES.get(SAME.get(number, number), {})
    if original in measured:
        return measured[original]
    return SECONDS.get(original, OTHERS) * FITS.get(number, 1)


def _trials(seconds: float, is_search: bool) -> int:
    if MOST * seconds <= (SEARCH_BUDGET if is_search else BUDGET):
        return MOST
    return FEWER if not is_search or FEWER * seconds <= FEWER_BUDGET else 0


def expected_seconds(number: str, names: Iterable[str]) -> float:
    """Processor seconds that a table takes with these data sets."""
    if number in SHARED:
        return 0.0
    seconds = sum(n * cost_of(number, name) for name, n in trials_of(number, names).items())
    return seconds * TAKEN.get(number, 1.0)


WHOLE = {
    "S0-2.1": 415, "S0-2.2": 425, "S0-2.3": 440, "S0-readings": 60, "S0-3.3": 33, "S0-3.4": 85,
    "S0-3.5": 495, "S0-3.6": 10, "S0-3.7": 10, "S0-3.8": 130, "S1-positions": 100,
    "S1-figure-3.2": 25, "S1-figures-3.3-3.5": 50, "S1-orders": 130, "S1-soybean": 250,
    "S1-omitted": 25, "S1-versions": 20, "S1-queries": 400, "S1-draws": 600, "S1-digits": 40,
    "S1-twins": 160, "S1-certainty": 300, "S2-1": 255, "S2-1-entropy": 30, "S2-figure-3": 1880,
    "S2-figure-4": 35,
    "S2-bandwidth": 130, "S4-documents": 200, "S4-figure-14": 15, "S4-figures-1-7": 15,
    "S4-alpha": 110, "S4-digits": 100, "S4-networks": 540, "S4-lenet": 30,
    "S4-figures-26-29": 295, "S4-figures-39-41": 75, "S4-figure-32": 1200,
}  # fmt: skip
"""Processor seconds of other tables with all of their trials; those of the readings of S1 are
scaled up from runs with fewer."""
