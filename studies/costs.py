"""How many trials a data set of Saeed (2018) gets, by what a trial costs.

The source has 100 trials of everything. Here a data set has 100 trials in a table of single fits
if they take at most ten minutes of one core, else 25. A table that searches for a parameter takes
10 to 50 times as long: there a data set has 100 trials if they take at most five minutes, else 25,
else as many as fit into that time, and it is left out if not even ten do. With ten minutes for
these too, all sources would take more than eight hours of one core; two cores are to be through
with everything in four.
"""

from __future__ import annotations

from collections.abc import Iterable

MOST = 100
FEWER = 25
FEWEST = 10

BUDGET = 600.0
"""Seconds of one core for a data set in a table of single fits."""

SEARCH_BUDGET = 300.0
"""The same in a table that searches for a parameter."""

SECONDS = {
    "audiology": 0.075, "balance-scale": 0.03, "dna": 0.38, "flare1": 0.025, "flare2": 0.045,
    "kr-vs-kp": 0.1, "led7": 0.05, "marketing": 1.5, "mushroom": 0.19, "primary-tumor": 0.06,
    "shuttle-landing-control": 0.02, "soybean-large": 0.135, "splice": 0.35, "threeOf9": 0.02,
    "xd6": 0.02, "letter": 7.6, "magic04": 0.27, "pendigits": 0.97, "sleep": 6.15, "vowel": 0.04,
    "waveform-noise": 0.14, "arcene": 0.285, "madelon": 0.315, "spambase": 0.12,
    "synthetic": 0.025, "diabetes": 0.02, "climate-model-simulation-crashes": 0.02,
    "musk1": 0.025, "blood-transfusion": 0.02,
}  # fmt: skip
"""Processor seconds of a trial of NB and SSNB on one core of an AMD EPYC that had other work to do
beside it. Marketing, arcene, madelon, letter and sleep are older and from another machine."""

OTHERS = 0.015
"""Of any other data set at hand, with what naive Bayes and the store take."""

FITS = {
    "4.1": 10, "4.2": 10, "4.3": 10, "4.4": 10, "4.5": 25, "4.6": 25, "5.3": 12, "5.4": 12,
    "5.5": 12, "5.6": 45, "6.3": 2, "6.4": 2, "6.5": 2, "6.6": 2,
}  # fmt: skip
"""How many times the cost of NB and SSNB a trial of a table has; the others have about one.

Measured with three trials of 13 to 20 data sets per table, and one of some large ones. The fits of
a search run side by side, so that it takes less than their number; on small data sets it is half of
this. Sorts by rank take longer on large ones (21 times on magic04 in table 5.4).
"""

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
    >>> trials_of("3.4", ["iris", "pendigits", "letter"])
    {'iris': 100, 'pendigits': 100, 'letter': 25}
    >>> trials_of("4.1", ["iris", "magic04", "pendigits", "letter"])
    {'iris': 100, 'magic04': 100, 'pendigits': 25, 'letter': 0}
    """
    found = {name: _trials(cost_of(number, name), number[0] in "45") for name in names}
    if number == "5.5":
        # α of a data set is that of all others: they have the same trials, or are left out.
        return {name: n if n == MOST else 0 for name, n in found.items()}
    return found


def cost_of(number: str, name: str) -> float:
    """Processor seconds of a trial of a data set in a table."""
    return SECONDS.get(name.removesuffix("-twin"), OTHERS) * FITS.get(number, 1)


def _trials(seconds: float, is_search: bool) -> int:
    if not is_search:
        return MOST if MOST * seconds <= BUDGET else FEWER
    for n in (MOST, FEWER):
        if n * seconds <= SEARCH_BUDGET:
            return n
    n = int(SEARCH_BUDGET / seconds)
    return n if n >= FEWEST else 0


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
    "S1-omitted": 25, "S1-versions": 20, "S1-queries": 400, "S1-draws": 600, "S1-scaled": 150,
    "S1-twins": 160, "S2-1": 255, "S2-1-entropy": 30, "S2-figure-3": 1880, "S2-figure-4": 35,
    "S2-bandwidth": 130, "S4-documents": 200, "S4-figure-14": 15, "S4-figures-1-7": 15,
    "S4-alpha": 110, "S4-digits": 100, "S4-networks": 540, "S4-lenet": 30,
    "S4-figures-26-29": 295, "S4-figures-39-41": 75, "S4-figure-32": 1200,
}  # fmt: skip
"""Processor seconds of other tables with all of their trials; those of the readings of S1 are
scaled up from runs with fewer."""
