"""The methods that can label a table, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from leaven.tables._errors import TableError

AUTO = "auto"
"""The name that leaves the choice to leaven."""


@dataclass(frozen=True)
class Task:
    """What a method may want to know before it is made.

    Parameters
    ----------
    metric : {"euclidean", "cosine"}
        In which near rows of the prepared table are alike.
    has_text : bool
        Whether a column in use is a text.
    prior : {"labeled", "uniform"}, array of shape (n_classes,) or None
        Class proportions.
    random_state : int, RandomState instance or None
    """

    metric: str = "euclidean"
    has_text: bool = False
    prior: Any = "labeled"
    random_state: Any = None


@dataclass(frozen=True)
class Method:
    """A way to label a table.

    Parameters
    ----------
    make : callable
        Makes the estimator for a task. It needs ``fit(X, y)``, ``transduction_`` and
        ``label_distributions_``.
    merges_copies : bool
        Whether unlabeled rows that are equal are given as one. In a graph of nearest
        neighbors a row with ten copies has no other neighbors, and the label of no other
        row comes through: with the copies as one, accuracy rose by 10 to 20 points on
        tables of small integers.
    """

    make: Callable[[Task], Any]
    merges_copies: bool


def _harmonic(task: Task) -> Any:
    from leaven.graph import KNNGraph
    from leaven.graph_based import HarmonicClassifier

    # Edges to the nearest labeled row leave no part of the table without a label, and gave
    # one point of accuracy at 5 labels a class on tables of the UCI repository. Texts have
    # no near labeled row as long as labels are few: there, these edges cost 3 to 8 points.
    # Nine of ten true neighbors are enough for large tables: on 100,000 rows accuracy was the
    # same as with 99 of 100, in little more than half the time.
    graph = KNNGraph(
        n_neighbors=10, metric=task.metric, include_labeled=not task.has_text, recall=0.9
    )
    return HarmonicClassifier(graph, prior=task.prior)


METHODS: dict[str, Method] = {
    "harmonic": Method(_harmonic, merges_copies=True),
}
"""The methods, by the name that ``method`` takes."""


def find_method(name: str) -> tuple[str, Method]:
    """Return the name and the method; ``"auto"`` is ``"harmonic"``.

    Examples
    --------
    >>> from leaven.tables._methods import find_method
    >>> find_method("auto")[0]
    'harmonic'
    """
    if name == AUTO:
        name = "harmonic"
    if name not in METHODS:
        raise TableError(
            f"The method {name!r} is not known. Known methods: {', '.join([AUTO, *METHODS])}."
        )
    return name, METHODS[name]
