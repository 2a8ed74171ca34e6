"""How many trials a data set of Saeed (2018) gets, by what a trial costs.

The source has 100 trials of everything. Here a data set has 100 trials in a table of single fits
if they take at most ten minutes of one core, else 25. A table that searches for a parameter takes
25 to 150 times as long: there a data set has 100 trials if they take at most two minutes, else 25,
else as many as fit into that time, and it is left out if not even two do. With ten minutes for
these too, all tables would take 10 hours of one core, half of them for cross-validation on a few
large data sets; two cores are to be through with everything in four hours.
"""

from __future__ import annotations

from collections.abc import Iterable

MOST = 100
FEWER = 25
FEWEST = 2

BUDGET = 600.0
"""Seconds of one core for a data set in a table of single fits."""

SEARCH_BUDGET = 120.0
"""The same in a table that searches for a parameter."""

SECONDS = {
    "audiology": 0.05, "balance-scale": 0.025, "dna": 0.32, "flare1": 0.015, "flare2": 0.03,
    "kr-vs-kp": 0.07, "led7": 0.03, "marketing": 1.5, "monk1": 0.01, "monk3": 0.015,
    "mushroom": 0.1, "primary-tumor": 0.045, "shuttle-landing-control": 0.015,
    "soybean-large": 0.1, "splice": 0.28, "threeOf9": 0.02, "xd6": 0.015, "letter": 7.6,
    "magic04": 0.18, "pendigits": 0.8, "sleep": 6.15, "vowel": 0.035, "waveform-noise": 0.1,
    "arcene": 0.285, "madelon": 0.315, "spambase": 0.13, "synthetic": 0.02, "diabetes": 0.015,
    "climate-model-simulation-crashes": 0.015, "musk1": 0.015, "blood-transfusion": 0.015,
}  # fmt: skip
"""Processor seconds of a trial of NB and SSNB on one core of an Intel Xeon (Sapphire Rapids) that
had other work to do beside it. All were measured data set by data set, and halved when whole tables
took half of their sum (116 s for table 3.6, where the sum was 232 s); letter and sleep were not run
again since."""

OTHERS = 0.01
"""Of any other data set at hand, with what naive Bayes and the store take."""

FITS = {
    "4.1": 26, "4.2": 26, "4.3": 25, "4.4": 25, "4.5": 53, "4.6": 53, "5.3": 40, "5.4": 40,
    "5.5": 40, "5.6": 150, "6.3": 2, "6.4": 2, "6.5": 2, "6.6": 2,
}  # fmt: skip
"""How many times the cost of NB and SSNB a trial of a table has; the others have about one.

Measured on whole tables (4.6, 5.4, 5.6 and 6.6) or three to ten data sets. Sorts by rank take
longer on large ones (75 times on mushroom in tables 5.3 and 5.4).
"""

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
    {'iris': 100, 'magic04': 25, 'pendigits': 5, 'letter': 0}
    """
    found = {name: _trials(cost_of(number, name), number[0] in "45") for name in names}
    if number == "5.5":
        # α of a data set is that of all others: they have the same trials, or are left out.
        return {name: FEWER if n >= FEWER else 0 for name, n in found.items()}
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
    return sum(n * cost_of(number, name) for name, n in trials_of(number, names).items())


WHOLE = {
    "S0-2.1": 800, "S0-2.2": 820, "S0-2.3": 930, "S0-readings": 890, "S0-3.3": 33, "S0-3.4": 85,
    "S0-3.5": 690, "S0-3.6": 10, "S0-3.7": 10, "S0-3.8": 195, "S2-1": 400, "S4-documents": 200,
    "S4-figure-14": 15, "S4-figures-1-7": 80, "S4-digits": 180, "S4-networks": 1070,
    "S4-figures-26-29": 530, "S4-figures-39-41": 50, "S4-figure-32": 2500,
}  # fmt: skip
"""Processor seconds of other tables with all of their trials, scaled up from runs with fewer."""
