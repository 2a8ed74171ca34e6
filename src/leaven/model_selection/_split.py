"""Cross-validation that splits the labeled rows and trains on every unlabeled one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator, KFold, StratifiedKFold
from sklearn.utils.validation import check_consistent_length, check_random_state

from leaven._labels import UNLABELED, encode_labels
from leaven.exceptions import LeavenWarning
from leaven.selection import adaptive_n_splits

Split = tuple[NDArray[np.intp], NDArray[np.intp]]

_SINGLETONS = ("train", "error")


def hold_out_rows(
    codes: NDArray[np.intp], share: float, rng: np.random.RandomState
) -> NDArray[np.intp]:
    """Draw ``share`` of the labeled rows, in the proportions of the classes.

    Every class keeps a row that is not drawn, and at least one row is drawn. The number of
    rows a class gives is its quota ``share * count`` rounded down, and the rows still missing
    come from the classes with the largest remainder.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
    share : float between 0 and 1
    rng : RandomState

    Returns
    -------
    rows : ndarray
        Sorted indices; empty if no class has two labeled rows.

    Examples
    --------
    >>> import numpy as np
    >>> from leaven.model_selection._split import hold_out_rows
    >>> codes = np.array([0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, -1])
    >>> np.bincount(codes[hold_out_rows(codes, 0.25, np.random.RandomState(0))])
    array([2, 1])
    """
    counts = _label_counts(codes)
    room = np.maximum(counts - 1, 0)
    wanted = min(max(1, round(share * counts.sum())), int(room.sum()))
    quota = share * counts
    drawn = np.minimum(np.floor(quota).astype(int), room)
    while drawn.sum() < wanted:
        remainder = np.where(drawn < room, quota - drawn, -np.inf)
        drawn[remainder.argmax()] += 1
    rows = [
        rng.choice(np.flatnonzero(codes == code), size=size, replace=False)
        for code, size in enumerate(drawn)
    ]
    return np.sort(np.concatenate(rows)).astype(np.intp)


class LabeledSplitter(BaseCrossValidator):
    """Turns test folds over the labeled rows into splits of all rows.

    A subclass gives :meth:`_test_folds`; whatever is not tested is trained on, so every
    unlabeled row is in every training set.
    """

    def split(self, X: Any, y: Any = None, groups: None = None) -> Iterator[Split]:
        """Yield the rows of the training and of the test set of each fold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Only its length is used.
        y : array-like of shape (n_samples,)
            Labels, with -1 in integers, and None, NaN or pandas.NA elsewhere, where a row is
            unlabeled.
        groups : None
            Not supported; anything but None is an error.

        Yields
        ------
        train : ndarray
            The labeled rows of the other folds and every unlabeled row.
        test : ndarray
            Labeled rows only.
        """
        classes, codes = self._encode(X, y, groups)
        for test in self._test_folds(classes, codes):
            train = np.ones(len(codes), dtype=bool)
            train[test] = False
            yield np.flatnonzero(train), test

    def get_n_splits(self, X: Any = None, y: Any = None, groups: None = None) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
        y : array-like of shape (n_samples,), default=None
        groups : None

        Returns
        -------
        n_splits : int
        """
        _, codes = self._encode(X, y, groups)
        return self._n_splits(codes)

    def _encode(self, X: Any, y: Any, groups: Any) -> tuple[NDArray[Any], NDArray[np.intp]]:
        name = type(self).__name__
        if groups is not None:
            raise ValueError(
                f"{name} does not support groups. Use a splitter of scikit-learn that does, such "
                "as StratifiedGroupKFold, with scoring=labeled_scorer(...)."
            )
        if y is None:
            raise ValueError(
                f"{name} needs y to tell the labeled rows from the unlabeled ones: call it as "
                "(X, y)."
            )
        classes, codes = encode_labels(y)
        if X is not None:
            check_consistent_length(X, codes)
        return classes, codes

    def _test_folds(
        self, classes: NDArray[Any], codes: NDArray[np.intp]
    ) -> Iterator[NDArray[np.intp]]:
        raise AssertionError(f"{type(self).__name__} must define _test_folds")

    def _n_splits(self, codes: NDArray[np.intp]) -> int:
        raise AssertionError(f"{type(self).__name__} must define _n_splits")


class LabeledKFold(LabeledSplitter):
    """Folds of the labeled rows; every unlabeled row is in every training set.

    A plain ``StratifiedKFold`` would take the mark of an unlabeled row for a class of its own:
    it would hold out unlabeled rows, which a method without labels needs, and score against
    the mark.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2. Every class needs as many labeled rows when ``stratify``
        is True; see :class:`AdaptiveKFold` when a class may have fewer.
    shuffle : bool, default=True
        Whether to put rows into folds at random, as k-fold cross-validation is defined in
        section 2.8 of [1]_. If False, rows keep their order.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffle; leave it None if ``shuffle`` is False.
    stratify : bool, default=True
        Whether each fold gets an equal share of each class. If False, a training set may be
        left without any row of a rare class.

    See Also
    --------
    AdaptiveKFold : As many folds as the smallest class allows.
    LabeledLeaveOneOut : One fold for each labeled row.
    labeled_scorer : Lets any other splitter be used with unlabeled rows.

    Notes
    -----
    When every row is labeled, the folds are those of ``sklearn.model_selection``'s
    ``StratifiedKFold`` (or ``KFold``) with the same parameters.

    References
    ----------
    .. [1] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018.

    Examples
    --------
    >>> from leaven.model_selection import LabeledKFold
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> y = ["a", None, "a", "b", "b", None]
    >>> for train, test in LabeledKFold(n_splits=2, shuffle=False).split(X, y):
    ...     print(train, test)
    [1 2 4 5] [0 3]
    [0 1 3 5] [2 4]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = True,
        random_state: Any = None,
        stratify: bool = True,
    ) -> None:
        _check_count("n_splits", n_splits, type(self).__name__)
        _check_shuffle(shuffle, random_state)
        if not isinstance(stratify, bool):
            raise TypeError(f"stratify must be True or False, got {stratify!r}.")
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self.stratify = stratify

    def get_n_splits(self, X: Any = None, y: Any = None, groups: None = None) -> int:
        """Return ``n_splits``, whatever the data.

        Parameters
        ----------
        X : array-like, default=None
            Not needed.
        y : array-like, default=None
            Not needed.
        groups : None
            Not needed.

        Returns
        -------
        n_splits : int
        """
        return self.n_splits

    def _test_folds(
        self, classes: NDArray[Any], codes: NDArray[np.intp]
    ) -> Iterator[NDArray[np.intp]]:
        rows = np.flatnonzero(codes != UNLABELED)
        if len(rows) < self.n_splits:
            raise ValueError(
                f"y holds {len(rows)} labeled rows, fewer than n_splits={self.n_splits}: a fold "
                "would be empty. Use fewer folds, or AdaptiveKFold, which takes as many folds as "
                "the smallest class allows."
            )
        if self.stratify:
            _check_class_sizes(classes, codes, self.n_splits)
        kind = StratifiedKFold if self.stratify else KFold
        splitter = kind(self.n_splits, shuffle=self.shuffle, random_state=self.random_state)
        for _, test in splitter.split(rows, codes[rows]):
            yield rows[test]


class AdaptiveKFold(LabeledSplitter):
    r"""Stratified folds of the labeled rows, as many as the smallest class allows.

    With few labels the number of folds cannot be fixed beforehand. Section 4.5 of [1]_ adapts
    it to the labels at hand, so that every class is in every training set: two folds when the
    smallest class has two labeled rows (each fold then leaves out one of them), more as labels
    come in, up to ten, so that bias and variance of the estimate fall.

    .. math:: k = \min(k_{max}, \min_c l_c), \quad l_c \ge 2

    where :math:`l_c` is the number of labeled rows of class c. Every unlabeled row is in every
    training set.

    Parameters
    ----------
    max_splits : int, default=10
        The most folds to use, at least 2.
    shuffle : bool, default=True
        Whether to put rows into folds at random. If False, rows keep their order.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffle; leave it None if ``shuffle`` is False.
    singletons : {"train", "error"}, default="train"
        What to do with a class that has one labeled row. No fold can both hold it out and
        train on its class, and the source asks for every class in every training set. So
        "train" keeps the row in every training set, does not test on it, leaves its class out
        of the minimum above, and gives a ``LeavenWarning``; "error" refuses. If no class has
        two labeled rows, it is an error in any case.

    See Also
    --------
    LabeledKFold : A fixed number of folds.
    LabeledLeaveOneOut : One fold for each labeled row: less bias, more variance.

    References
    ----------
    .. [1] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018, sections 4.5 and 4.6.

    Examples
    --------
    >>> from leaven.model_selection import AdaptiveKFold
    >>> y = [0, 0, 0, 0, 0, 1, 1, 1, -1, -1]
    >>> AdaptiveKFold().get_n_splits(y=y)
    3
    >>> for train, test in AdaptiveKFold(shuffle=False).split(y, y):
    ...     print(train, test)
    [2 3 4 6 7 8 9] [0 1 5]
    [0 1 4 5 7 8 9] [2 3 6]
    [0 1 2 3 5 6 8 9] [4 7]
    """

    def __init__(
        self,
        max_splits: int = 10,
        *,
        shuffle: bool = True,
        random_state: Any = None,
        singletons: str = "train",
    ) -> None:
        _check_count("max_splits", max_splits, type(self).__name__)
        _check_shuffle(shuffle, random_state)
        _check_singletons(singletons)
        self.max_splits = max_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self.singletons = singletons

    def _n_splits(self, codes: NDArray[np.intp]) -> int:
        n_splits = adaptive_n_splits(codes, self.max_splits)
        if n_splits == 0:
            raise ValueError(_NOTHING_TO_HOLD_OUT)
        return n_splits

    def _test_folds(
        self, classes: NDArray[Any], codes: NDArray[np.intp]
    ) -> Iterator[NDArray[np.intp]]:
        n_splits = self._n_splits(codes)
        rows = rows_to_test(classes, codes, self.singletons)
        splitter = StratifiedKFold(n_splits, shuffle=self.shuffle, random_state=self.random_state)
        for _, test in splitter.split(rows, codes[rows]):
            yield rows[test]


class LabeledLeaveOneOut(LabeledSplitter):
    """Each labeled row is held out once; every unlabeled row is in every training set.

    The extreme of k-fold cross-validation, with as many folds as labeled rows: section 2.8,
    equation (2.77) of [1]_. Almost without bias, but of high variance.

    Parameters
    ----------
    singletons : {"train", "error"}, default="train"
        What to do with a class that has one labeled row: "train" keeps it in every training
        set and never tests on it, with a ``LeavenWarning``; "error" refuses. A model cannot
        name a class that it has not seen, so testing on such a row would add the same error to
        every parameter value and, with two classes, leave one class to train on.

    See Also
    --------
    AdaptiveKFold : Fewer folds, less variance.

    References
    ----------
    .. [1] A. A. Saeed, "Empirical evaluation of semi-supervised naïve Bayes for active
       learning", PhD thesis, University of East Anglia, 2018.

    Examples
    --------
    >>> from leaven.model_selection import LabeledLeaveOneOut
    >>> y = [0, 0, -1, 1, 1]
    >>> for train, test in LabeledLeaveOneOut().split(y, y):
    ...     print(train, test)
    [1 2 3 4] [0]
    [0 2 3 4] [1]
    [0 1 2 4] [3]
    [0 1 2 3] [4]
    """

    def __init__(self, *, singletons: str = "train") -> None:
        _check_singletons(singletons)
        self.singletons = singletons

    def _n_splits(self, codes: NDArray[np.intp]) -> int:
        counts = _label_counts(codes)
        n_splits = int(counts[counts >= 2].sum())
        if n_splits == 0:
            raise ValueError(_NOTHING_TO_HOLD_OUT)
        return n_splits

    def _test_folds(
        self, classes: NDArray[Any], codes: NDArray[np.intp]
    ) -> Iterator[NDArray[np.intp]]:
        for row in rows_to_test(classes, codes, self.singletons):
            yield np.array([row], dtype=np.intp)


_NOTHING_TO_HOLD_OUT = (
    "Every class of y has one labeled row only: holding one out would leave no row of its class "
    "to train on. Label at least two rows of one class."
)


def rows_to_test(
    classes: NDArray[Any], codes: NDArray[np.intp], singletons: str
) -> NDArray[np.intp]:
    """Labeled rows whose class has another labeled row; says what happens to the rest."""
    counts = _label_counts(codes)
    if not (counts >= 2).any():
        raise ValueError(_NOTHING_TO_HOLD_OUT)
    lone = counts == 1
    if lone.any():
        names = ", ".join(repr(name) for name in classes[lone].tolist())
        if singletons == "error":
            raise ValueError(
                f"One labeled row only of class {names}: it cannot be both held out and trained "
                "on. Label a second row, or pass singletons='train' to keep it in training."
            )
        warnings.warn(
            f"One labeled row only of class {names}: it stays in every training set and is not "
            "tested. Label a second row to have the class in the score.",
            LeavenWarning,
            stacklevel=4,
        )
    labeled = np.flatnonzero(codes != UNLABELED)
    return np.asarray(labeled[~lone[codes[labeled]]], dtype=np.intp)


def _label_counts(codes: NDArray[np.intp]) -> NDArray[np.intp]:
    return np.asarray(np.bincount(codes[codes != UNLABELED]), dtype=np.intp)


def _check_class_sizes(classes: NDArray[Any], codes: NDArray[np.intp], n_splits: int) -> None:
    counts = _label_counts(codes)
    small = np.flatnonzero(counts < n_splits)
    if not len(small):
        return
    listed = ", ".join(
        f"{name!r} ({count} labeled row{'s' if count > 1 else ''})"
        for name, count in zip(classes[small].tolist(), counts[small].tolist(), strict=True)
    )
    raise ValueError(
        f"n_splits={n_splits} needs {n_splits} labeled rows of every class, but y has fewer of "
        f"class {listed}. Use AdaptiveKFold, which takes as many folds as the smallest class "
        "allows, or fewer folds, or label more rows."
    )


def _check_count(argument: str, value: Any, owner: str) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{argument} of {owner} must be an integer, got {value!r}.")
    if value < 2:
        raise ValueError(f"{argument} of {owner} must be at least 2, got {value}.")


def _check_shuffle(shuffle: Any, random_state: Any) -> None:
    if not isinstance(shuffle, bool):
        raise TypeError(f"shuffle must be True or False, got {shuffle!r}.")
    if not shuffle and random_state is not None:
        raise ValueError(
            f"random_state={random_state!r} has no effect with shuffle=False. Leave it None, or "
            "set shuffle=True."
        )
    check_random_state(random_state)


def _check_singletons(singletons: Any) -> None:
    if singletons not in _SINGLETONS:
        raise ValueError(f"singletons must be one of {_SINGLETONS}, got {singletons!r}.")
