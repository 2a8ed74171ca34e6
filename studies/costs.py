"""How many trials a data set of Saeed (2018) gets, by what a trial costs.

The source has 100 trials of everything. Here a data set has 100 trials in a table if they take at
most 150 seconds of one core, else 25, else as many as fit into that time; a data set of which not
even two fit is left out. Without it the tables would take 21 hours of one core with ten minutes
each, most of them for cross-validation on a few large data sets.
"""

from __future__ import annotations

from collections.abc import Iterable

MOST = 100
FEWER = 25
FEWEST = 2
BUDGET = 150.0
"""Seconds of one core for a data set in a table."""

SECONDS = {
    "audiology": 0.2, "balance-scale": 0.07, "breastw": 0.06, "dna": 0.9, "flare1": 0.07,
    "flare2": 0.15, "house-votes": 0.07, "kr-vs-kp": 0.3, "led7": 0.12, "marketing": 6.0,
    "monk1-local": 0.08, "mushroom": 0.5, "primary-tumor": 0.2, "soybean-large": 0.33,
    "splice": 0.9, "letter": 60.0, "magic04": 0.8, "pendigits": 3.5, "sleep": 74.0, "vowel": 0.15,
    "waveform-noise": 0.3, "arcene": 1.7, "madelon": 0.7, "spambase": 0.35, "synthetic": 0.1,
}  # fmt: skip
"""Processor seconds of a trial of SSNB, measured on one core of an AMD EPYC."""

OTHERS = 0.05
"""Of any other data set at hand."""

FITS = {
    "4.1": 28, "4.2": 28, "4.3": 28, "4.4": 28, "4.5": 290, "4.6": 290, "5.3": 32, "5.4": 32,
    "5.5": 32, "5.6": 200,
}  # fmt: skip
"""How many times the cost of SSNB a trial of a table has; the others have about one."""


def trials_of(number: str, names: Iterable[str]) -> dict[str, int]:
    """Number of trials of each data set of a table; 0 leaves it out.

    Examples
    --------
    >>> from studies.costs import trials_of
    >>> trials_of("3.4", ["iris", "pendigits", "letter"])
    {'iris': 100, 'pendigits': 25, 'letter': 2}
    >>> trials_of("4.1", ["iris", "magic04", "letter"])
    {'iris': 100, 'magic04': 6, 'letter': 0}
    """
    fits = FITS.get(number, 1)
    found = {
        name: _trials(SECONDS.get(name.removesuffix("-twin"), OTHERS) * fits) for name in names
    }
    if number == "5.5":
        # α of a data set is that of all others: they have the same trials, or are left out.
        return {name: FEWER if n >= FEWER else 0 for name, n in found.items()}
    return found


def _trials(seconds: float) -> int:
    for n in (MOST, FEWER):
        if n * seconds <= BUDGET:
            return n
    n = int(BUDGET / seconds)
    return n if n >= FEWEST else 0


def expected_seconds(number: str, names: Iterable[str]) -> float:
    """Processor seconds that a table takes with these data sets."""
    fits = FITS.get(number, 1)
    return sum(
        n * fits * SECONDS.get(name.removesuffix("-twin"), OTHERS)
        for name, n in trials_of(number, names).items()
    )
