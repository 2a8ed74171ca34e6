"""Stopping a candidate before its last fold, where its weight in the combination is settled.

The weight of a candidate is a function of the log probabilities that it gives to held-out labels.
After one or two folds these are known for a part of the rows, and for the same rows those of the
best candidate so far. If even an optimistic guess for the other rows leaves it below the weight
from which a candidate is fitted at all, the other folds can change nothing that matters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leaven.selection._member import Member, members_at
from leaven.selection._pool import MIN_WEIGHT, member_temperature, tempered_log

# Held-out rows below which nothing is stopped: the deviation of fewer differences is a guess.
MIN_ROWS = 10

# Standard errors added to the mean difference, so that about one candidate in a thousand is
# stopped that would have got MIN_WEIGHT in the end.
OPTIMISM = 3.0

# Folds after which a candidate may be stopped. Later there is little left to save.
CHECKED_FOLDS = 2


def bound_log_odds(differences: NDArray[np.float64], n_rows: int, log_prior: float = 0.0) -> float:
    r"""Upper bound of the log weight of a candidate relative to a rival, from some of the rows.

    With the differences d of the log probabilities that the two give to the labels of the k rows
    seen so far, and n rows in all,

    .. math:: \log\frac{\pi}{\pi'} + \sqrt{n}\,\Big(\bar d + 3\, s\,
              \sqrt{\tfrac1k \big(1 - \tfrac kn\big)}\Big),

    the log odds of :func:`likelihood_weights` with the mean of all rows replaced by a bound of a
    sample without replacement. Once all rows are seen it is exact.

    Parameters
    ----------
    differences : ndarray of shape (n_seen,)
        At least two.
    n_rows : int
        Rows that are held out in all.
    log_prior : float, default=0.0
        Log ratio of the weights before any label is seen.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.selection import bound_log_odds
    >>> seen = np.array([-2.0, -1.0, -2.0, -1.0])
    >>> round(bound_log_odds(seen, n_rows=4), 3), round(bound_log_odds(seen, n_rows=100), 3)
    (-3.0, -6.515)
    """
    n_seen = len(differences)
    error = differences.std(ddof=1) * np.sqrt(max(1.0 / n_seen - 1.0 / n_rows, 0.0))
    return float(log_prior + np.sqrt(n_rows) * (differences.mean() + OPTIMISM * error))


@dataclass(frozen=True, eq=False)
class Rival:
    """A candidate that was estimated in full, which another one has to come near to.

    Parameters
    ----------
    name : str
    member : Member
    probabilities : ndarray of shape (n_repeats, n_tested, n_classes)
        Of the held-out rows.
    truth : ndarray of shape (n_tested,)
        Their classes.
    """

    name: str
    member: Member
    probabilities: NDArray[np.float64]
    truth: NDArray[np.intp]

    @property
    def scores(self) -> NDArray[np.float64]:
        """Log probabilities of the true classes, of shape (n_repeats, n_tested)."""
        return _of_truth(self.probabilities, self.member, self.truth)

    @property
    def log_weight(self) -> float:
        """Log of its weight in a combination, up to a constant that all rivals share."""
        scores = self.scores.mean(axis=0)
        return float(np.log(self.member.weight) + scores.sum() / np.sqrt(len(scores)))

    def is_out_of_reach(
        self, member: Member, answers: NDArray[np.float64], repeat: int, seen: NDArray[np.bool_]
    ) -> bool:
        """Whether a candidate would get less than the least weight, as far as its folds tell.

        Parameters
        ----------
        member : Member
            Of the candidate.
        answers : ndarray of shape (n_parameters, n_seen, n_classes)
            Its probabilities of the rows seen so far, for each of its parameters. The best of
            them counts, as the choice is not made yet, with the temperature that these rows tell.
        repeat : int
            In which they were held out.
        seen : ndarray of shape (n_tested,)
            Which of the rows they are.

        Returns
        -------
        bool
        """
        if seen.sum() < MIN_ROWS:
            return False
        truth = self.truth[seen]
        own = self.scores[repeat, seen]
        # What kind of table it is, is not settled yet: the better of both for the candidate.
        weights = [members_at((member, self.member), faintness)[0] for faintness in (0.0, 1.0)]
        log_prior = float(max(np.log(own / rival) for own, rival in weights))
        bound = max(
            bound_log_odds(
                _of_truth(each[None], member, truth)[0] - own, len(self.truth), log_prior
            )
            for each in answers
        )
        return bool(bound < np.log(MIN_WEIGHT))


def _of_truth(
    probabilities: NDArray[np.float64], member: Member, truth: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Log probabilities of the true classes, repeat by repeat, as in :func:`combine_held_out`."""
    logs = tempered_log(probabilities, member_temperature(probabilities, truth, member.temperature))
    return np.asarray(logs[..., np.arange(len(truth)), truth])
