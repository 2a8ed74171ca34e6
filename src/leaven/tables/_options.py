"""How to label a table: one set of options for the library, the command and the comparison."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from leaven._suggest import did_you_mean
from leaven.selection import candidate_names
from leaven.tables._errors import TableError

AUTO = "auto"
"""The method that leaves the choice to leaven."""


@dataclass(frozen=True, kw_only=True)
class LabelingOptions:
    """How to label a table.

    The keywords of :func:`label_table`, :func:`label` and :func:`compare_table`, checked here
    and nowhere else.

    Parameters
    ----------
    text : column name or collection of them, default=()
        Columns that are texts whatever they look like; others are detected.
    ignore : column name or collection of them, default=()
        Columns that are not to be learned from, such as a text whose vectors are given.
    embed : str, optional
        An embedding model of sentence-transformers or model2vec, by its name or the path of its
        folder, through which the texts go; their vectors are learned from beside the words. In a
        table without texts, a network of timm or torchvision for the images of ``image_folder``.
    embed_cache : str or Path, optional
        A file that keeps these vectors, so that no text is embedded twice.
    image_folder : str or Path, optional
        Where the paths of a column of images start. Small images of one size are then learned
        from by their pixels (extra ``image``); without it such a column is not used.
    method : str, default="auto"
        ``"auto"`` tries the candidates on labels that are held out and takes the best, or
        the best of those that learn from the labeled rows only unless the unlabeled rows
        help by more than the error of the estimate. The name of a candidate takes that one.
    candidates : collection of str, default=None
        What ``"auto"`` chooses from; None stands for all that fit the size of the table:
        "logistic-regression", "naive-bayes", "linear-svm", "harmonic", "consistency",
        "spectral-transducer", "naive-bayes-em", "self-training", "transductive-svm" and
        "cluster-then-label".
    time_limit : float, default=None
        Seconds after which no other candidate is tried. The final fit comes on top.
    prior : {"labeled", "uniform"}, dict, array or None, default="labeled"
        Class proportions that the graph methods aim at: those of the labeled rows, equal
        ones, given ones by class name, or none at all. The combination of all methods aims at
        those of the unlabeled rows: at given ones, or for "labeled" at an estimate.
    missing : collection of str, default=()
        Cells of the target that mean "no label", such as ``"NA"``.
    strict : bool, default=False
        Refuse labels with stray spaces, and labels that differ only in case or spaces,
        instead of a warning.
    ask : int, default=0
        How many rows to name that are most worth labeling next; ``TARGET_ask`` ranks them.
    sets : bool, default=False
        Whether to add ``TARGET_set``: the classes that the 90% prediction set holds, joined by
        ``|``, the most probable first.
    probabilities : bool, default=False
        Whether to add ``TARGET_p_CLASS`` for each class.
    min_confidence : float, default=0.0
        Rows below this confidence are left empty in ``TARGET_predicted``.
    target_error : float, default=None
        Flag as many rows for review as leave at most this share of the others wrong, by their
        confidence. None flags as many as are expected to be wrong.
    details : bool, default=True
        Whether to make the learning curve and the map too, which only the report shows.
    random_state : int, RandomState instance or None, default=0
    n_jobs : int, default=None
        Number of parallel jobs, over the folds of a candidate.
    progress : bool, default=False
        Whether to show a progress bar on standard error.
    """

    text: Hashable | Collection[Hashable] | None = ()
    ignore: Hashable | Collection[Hashable] | None = ()
    embed: str | None = None
    embed_cache: str | Path | None = None
    image_folder: str | Path | None = None
    method: str = AUTO
    candidates: Collection[str] | None = None
    time_limit: float | None = None
    prior: Any = "labeled"
    missing: Collection[str] = ()
    strict: bool = False
    ask: int = 0
    sets: bool = False
    probabilities: bool = False
    min_confidence: float = 0.0
    target_error: float | None = None
    details: bool = True
    random_state: Any = 0
    n_jobs: int | None = None
    progress: bool = False

    def __post_init__(self) -> None:
        check_methods(self.method, self.candidates)
        if (
            isinstance(self.ask, bool)
            or not isinstance(self.ask, (int, np.integer))
            or self.ask < 0
        ):
            raise TableError(f"ask must be a number of rows, 0 or more, got {self.ask!r}.")
        if not 0 <= self.min_confidence <= 1:
            raise TableError(
                f"min_confidence must be between 0 and 1, got {self.min_confidence!r}."
            )
        if self.target_error is not None and not 0 < self.target_error < 1:
            raise TableError(f"target_error must be between 0 and 1, got {self.target_error!r}.")
        if self.time_limit is not None and not self.time_limit > 0:
            raise TableError(
                f"time_limit must be a number of seconds above 0, got {self.time_limit!r}."
            )
        if isinstance(self.missing, str):
            raise TableError(
                f"missing must be a collection of cells, got {self.missing!r}: use "
                f"[{self.missing!r}]."
            )

    @property
    def is_auto(self) -> bool:
        """Whether the choice is left to leaven."""
        return self.method == AUTO

    @property
    def texts(self) -> list[Hashable]:
        """The names of the text columns, as a list."""
        return _as_list(self.text)

    @property
    def ignored(self) -> list[Hashable]:
        """The names of the columns to ignore, as a list."""
        return _as_list(self.ignore)


def _as_list(names: Hashable | Collection[Hashable] | None) -> list[Hashable]:
    if names is None:
        return []
    if isinstance(names, (list, tuple, set, frozenset)):
        return list(names)
    return [cast(Hashable, names)]


def make_options(
    options: LabelingOptions | None, changes: dict[str, Any], *, needed_by: str
) -> LabelingOptions:
    """Return options with some of them changed; a name that is none of them is an error."""
    known = [each.name for each in fields(LabelingOptions)]
    for name in changes:
        if name not in known:
            raise TypeError(
                f"{needed_by} has no option {name!r}.{did_you_mean(name, known)} See "
                "leaven.tables.LabelingOptions."
            )
    return replace(LabelingOptions() if options is None else options, **changes)


def refuse_options(options: LabelingOptions, names: Collection[str], *, needed_by: str) -> None:
    """Raise if an option that has no meaning here is set."""
    for each in fields(LabelingOptions):
        value = getattr(options, each.name)
        if each.name in names and value != each.default:
            raise TableError(f"{needed_by} makes no use of {each.name}, got {value!r}.")


def check_methods(method: str, candidates: Collection[str] | None) -> None:
    """Raise if a name is not known, or if both a method and candidates are named."""
    known = candidate_names()
    if method not in (AUTO, *known):
        raise TableError(
            f"The method {method!r} is not known.{did_you_mean(method, known)} Known methods: "
            f"{', '.join([AUTO, *known])}."
        )
    if candidates is None:
        return
    if isinstance(candidates, str):
        raise TableError(f"candidates must be a list of names, got {candidates!r}.")
    if method != AUTO:
        raise TableError(
            f"The method {method!r} and candidates are both named: candidates are for the method "
            f"{AUTO!r}, which chooses one of them."
        )
    if not candidates:
        raise TableError("candidates is empty: name at least one.")
    for name in candidates:
        if name not in known:
            raise TableError(
                f"The candidate {name!r} is not known.{did_you_mean(name, known)} Known "
                f"candidates: {', '.join(known)}."
            )
    if len(set(candidates)) < len(candidates):
        raise TableError("A candidate is named more than once.")
