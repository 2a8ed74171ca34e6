"""Protocols of experiments as data: which rows are labeled, hidden and tested in each trial.

The splits of a protocol depend on its seed, the number of the trial and the classes of the rows,
and on nothing else: every method meets the same splits, so that differences may be tested in
pairs. They are the same on every machine too: orders of rows are made by sorting the raw 64-bit
numbers of ``PCG64(SeedSequence([seed, trial, part]))``. NumPy promises never to change those
streams, which it does not promise of ``Generator.permutation``.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leaven.evaluation._schedule import label_schedule

# A protocol without test rows, or without validation rows, says so by an empty index.
NO_ROWS = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class Split:
    """Rows of one trial; made by the ``split`` method of a protocol.

    Parameters
    ----------
    order : int array of shape (n_train,)
        Training rows in the order in which their labels become known.
    sizes : tuple of int
        Numbers of labels at which to evaluate: the rows of ``order`` from its start are labeled.
    test : int array
        Rows to test on; empty if these are the rows of ``order`` that are still unlabeled.
    validation : int array
        Rows with labels to choose parameters by; empty for most protocols.
    """

    order: NDArray[np.intp]
    sizes: tuple[int, ...]
    test: NDArray[np.intp]
    validation: NDArray[np.intp]

    def tested(self, size: int) -> NDArray[np.intp]:
        """Rows to test on when ``size`` rows are labeled."""
        return self.test if len(self.test) else self.order[size:]


def raw_numbers(n: int, *key: int) -> NDArray[np.uint64]:
    """``n`` random 64-bit numbers that are the same everywhere for the same key."""
    return np.asarray(np.random.PCG64(np.random.SeedSequence(list(key))).random_raw(n))


def random_order(n: int, *key: int) -> NDArray[np.intp]:
    """The numbers below ``n`` in an order that is the same everywhere for the same key.

    For protocols of your own: the order depends on nothing but the key, neither on the
    platform nor on the version of NumPy.

    Parameters
    ----------
    n : int
    *key : int
        Such as a seed and the number of the trial. Give keys of one length: zeros at the end do
        not count.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> from leaven.evaluation import random_order
    >>> random_order(5, 0, 1)
    array([4, 1, 2, 0, 3])
    """
    return np.argsort(raw_numbers(n, *key), kind="stable")


def derived_seed(*key: int) -> int:
    """A seed for an estimator, below 2**31."""
    return int(raw_numbers(1, *key)[0] >> np.uint64(33))


def per_class_first(
    order: NDArray[np.intp], codes: NDArray[np.intp], k: int
) -> tuple[NDArray[np.intp], int]:
    """Move the first ``k`` rows of each class to the front; return how many they are.

    A class with fewer rows gives those it has.
    """
    of_order = codes[order]
    # A mask keeps the random order within both parts.
    first = np.zeros(len(order), dtype=bool)
    for code in np.unique(of_order):
        first[np.flatnonzero(of_order == code)[:k]] = True
    return np.concatenate([order[first], order[~first]]), int(first.sum())


def is_continuous(X: Any) -> bool:
    """Whether X has columns of floats; integers, strings and categories are discrete."""
    dtypes = list(X.dtypes) if hasattr(X, "dtypes") else [getattr(X, "dtype", np.asarray(X).dtype)]
    return any(getattr(dtype, "kind", "O") == "f" for dtype in dtypes)


def check_share(name: str, value: float) -> None:
    """Refuse a share of the rows that is not strictly between 0 and 1."""
    if not 0.0 < value < 1.0:
        raise ValueError(f"{name} must be a share of the rows between 0 and 1, got {value!r}.")


def check_count(name: str, value: Any, least: int) -> None:
    """Refuse what is not an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")


@dataclass(frozen=True)
class CurveProtocol:
    """Learning curves on random partitions into training and test rows.

    The labels of the training rows become known one after the other in a random order, and the
    error on the test rows is taken at the sizes of :func:`label_schedule` (Saeed, 2018,
    sections 2.6, 3.1 and 4.4).

    Parameters
    ----------
    name : str
    seed : int, default=0
    n_trials : int, default=100
    test_size : float, default=0.25
        Share of the rows to test on, rounded up.
    validation_size : float, default=0.0
        Share of the rows held out to choose parameters by, rounded up.
    start : int or "auto", default="auto"
        Number of rows of each class that are labeled first, as far as the class has them; 0 starts
        with one row, whatever its class. "auto" is 2 if X has columns of floats, since a
        variance needs two rows, and 0 if it has none (integers, strings, categories).
    sizes : tuple of int or None, default=None
        Numbers of labels; None stands for the schedule from the start to all training rows.
    include_n : bool, default=True
        Let the schedule end with all training rows.
    """

    kind: ClassVar[str] = "curve"
    name: str
    seed: int = 0
    n_trials: int = 100
    test_size: float = 0.25
    validation_size: float = 0.0
    start: int | str = "auto"
    sizes: tuple[int, ...] | None = None
    include_n: bool = True

    def __post_init__(self) -> None:
        check_count("seed", self.seed, 0)
        check_count("n_trials", self.n_trials, 1)
        check_share("test_size", self.test_size)
        if self.validation_size:
            check_share("validation_size", self.validation_size)
        if self.start != "auto":
            check_count("start", self.start, 0)
        if self.sizes is not None:
            _check_sizes(self.sizes)

    def split(self, codes: NDArray[np.intp], trial: int, *, continuous: bool = False) -> Split:
        """Rows of a trial, from the class codes of all rows."""
        n = len(codes)
        n_test = math.ceil(self.test_size * n)
        n_validation = math.ceil(self.validation_size * n)
        rows = random_order(n, self.seed, trial, 0)
        test, rest = rows[:n_test], rows[n_test:]
        validation, order = rest[:n_validation], rest[n_validation:]
        if not len(order):
            raise ValueError(
                f"{n} rows are too few: {n_test} to test and {n_validation} to validate leave "
                "none to train."
            )
        start = self.start if self.start != "auto" else 2 * continuous
        first, n0 = per_class_first(order, codes, int(start))
        if self.sizes is None:
            sizes = tuple(label_schedule(max(n0, 1), len(order), include_n=self.include_n))
        else:
            sizes = self.sizes
            if sizes[-1] > len(order):
                raise ValueError(
                    f"sizes go up to {sizes[-1]}, but a trial has {len(order)} training rows. "
                    "Give smaller sizes, or a smaller test_size."
                )
        # Sizes that begin before the start rows are all labeled: a random order, then.
        return Split(first if sizes[0] >= n0 else order, sizes, test, validation)


@dataclass(frozen=True)
class FoldProtocol:
    """A fixed share of the training rows without labels, in repeated random divisions.

    ``split-x`` of Nguyen (2019): x % of the training rows are unlabeled. Trial
    ``a * n_inner + b`` is the b-th division into labeled and unlabeled of the a-th division into
    training and test rows. With ``train_size=1`` all rows are in training and the unlabeled
    ones are tested (section 3.5 there).

    Parameters
    ----------
    name : str
    seed : int, default=0
    unlabeled : float, default=0.7
        Share of the training rows without a label; the labeled ones are rounded down.
    train_size : float, default=0.4
        Share of the rows in training, rounded down. Section 2.4 of the source says 60 % but
        its counts of rows (1064 + 2484 of 8870) are those of 40 %.
    n_outer, n_inner : int, default=5
    """

    kind: ClassVar[str] = "fold"
    name: str
    seed: int = 0
    unlabeled: float = 0.7
    train_size: float = 0.4
    n_outer: int = 5
    n_inner: int = 5

    def __post_init__(self) -> None:
        check_count("seed", self.seed, 0)
        check_count("n_outer", self.n_outer, 1)
        check_count("n_inner", self.n_inner, 1)
        check_share("unlabeled", self.unlabeled)
        if self.train_size != 1.0:
            check_share("train_size", self.train_size)

    @property
    def n_trials(self) -> int:
        """Divisions in all."""
        return self.n_outer * self.n_inner

    def split(self, codes: NDArray[np.intp], trial: int, *, continuous: bool = False) -> Split:
        """Rows of a trial, from the class codes of all rows."""
        outer, inner = divmod(trial, self.n_inner)
        rows = random_order(len(codes), self.seed, outer, 0)
        # The share may be a hair below a whole number of rows: 0.3 * 10 == 2.999...
        n_train = math.floor(self.train_size * len(codes) + 1e-9)
        order = rows[:n_train][random_order(n_train, self.seed, outer, 1 + inner)]
        n_labeled = math.floor((1.0 - self.unlabeled) * n_train + 1e-9)
        if not n_labeled:
            raise ValueError(
                f"{len(codes)} rows are too few: {n_train} in training, of which "
                f"{1 - self.unlabeled:.0%} labeled is less than one row."
            )
        return Split(order, (n_labeled,), rows[n_train:], NO_ROWS)


@dataclass(frozen=True)
class DrawProtocol:
    """A few labeled rows of each class, drawn again in each trial; the others are tested.

    As in the experiments of Lefakis (documents and digits): all rows are in training, k of each
    class labeled, and the error is that on the unlabeled ones.

    Parameters
    ----------
    name : str
    seed : int, default=0
    per_class : int, default=1
        Labeled rows of each class; every class must have more.
    n_trials : int, default=10
    """

    kind: ClassVar[str] = "draw"
    name: str
    seed: int = 0
    per_class: int = 1
    n_trials: int = 10

    def __post_init__(self) -> None:
        check_count("seed", self.seed, 0)
        check_count("per_class", self.per_class, 1)
        check_count("n_trials", self.n_trials, 1)

    def split(self, codes: NDArray[np.intp], trial: int, *, continuous: bool = False) -> Split:
        """Rows of a trial, from the class codes of all rows."""
        counts = np.bincount(codes)
        if (counts <= self.per_class).any():
            raise ValueError(
                f"The smallest class has {counts.min()} rows, but {self.per_class} of each class "
                "are labeled and some must be left to test. Draw fewer, or leave the class out."
            )
        rows = random_order(len(codes), self.seed, trial, 0)
        order, n_labeled = per_class_first(rows, codes, self.per_class)
        return Split(order, (n_labeled,), NO_ROWS, NO_ROWS)


Protocol = CurveProtocol | FoldProtocol | DrawProtocol

# Named by the designs of the literature that studies/ reproduces: learning curves by doubling,
# folds with 70, 90 or 97% of the training labels removed, and a few labels drawn per class.
_NAMED: list[Protocol] = [
    CurveProtocol("curve"),
    CurveProtocol("curve-discrete", start=0),
    CurveProtocol("curve-continuous", start=2),
    CurveProtocol("validation", test_size=0.2, validation_size=0.2),
    CurveProtocol("validation-discrete", test_size=0.2, validation_size=0.2, start=0),
    CurveProtocol("validation-continuous", test_size=0.2, validation_size=0.2, start=2),
    *(FoldProtocol(f"split-{x}", unlabeled=x / 100) for x in (70, 90, 97)),
    *(
        FoldProtocol(f"split-{x}-transductive", unlabeled=x / 100, train_size=1.0, n_inner=1)
        for x in (70, 90, 97)
    ),
    *(DrawProtocol(f"{k}-per-class", per_class=k) for k in (1, 2, 5, 10, 15, 20, 50, 100)),
]
PROTOCOLS: dict[str, Protocol] = {protocol.name: protocol for protocol in _NAMED}
"""The protocols that have a name; make others with the classes."""


def get_protocol(protocol: str | Protocol) -> Protocol:
    """Return a protocol by its name.

    Parameters
    ----------
    protocol : str, CurveProtocol, FoldProtocol or DrawProtocol
        A name in ``PROTOCOLS``; a protocol is returned as it is.

    Returns
    -------
    protocol : CurveProtocol, FoldProtocol or DrawProtocol

    Examples
    --------
    >>> from leaven.evaluation import get_protocol
    >>> protocol = get_protocol("split-90")
    >>> protocol.n_trials, protocol.unlabeled
    (25, 0.9)
    """
    if not isinstance(protocol, str):
        if isinstance(protocol, (CurveProtocol, FoldProtocol, DrawProtocol)):
            return protocol
        raise TypeError(f"protocol must be a name or a protocol, got {protocol!r}.")
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol={protocol!r} is not known. Known are {sorted(PROTOCOLS)}.")
    return PROTOCOLS[protocol]


def protocol_settings(protocol: Protocol) -> dict[str, Any]:
    """What decides about the splits: every field but the name and the number of trials."""
    passed_over = {"name", "n_trials", "n_outer"}
    fields = {"kind": protocol.kind, **asdict(protocol)}
    return {name: value for name, value in fields.items() if name not in passed_over}


def _check_sizes(sizes: Any) -> None:
    if not len(sizes) or sizes[0] < 1 or any(b <= a for a, b in itertools.pairwise(sizes)):
        raise ValueError(
            "sizes must be numbers of labels, at least 1 and each larger than the one before; got "
            f"{sizes!r}."
        )
