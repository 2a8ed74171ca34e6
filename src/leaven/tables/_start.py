"""Going on from a saved model: what is reused, and how the new run compares with it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from leaven.selection import candidate_names
from leaven.tables._errors import TableError
from leaven.tables._kinds import TEXT
from leaven.tables._model import TableModel
from leaven.tables._model_file import describe_model
from leaven.tables._options import LabelingOptions


def about_start(start: str | Path | TableModel, target: Hashable) -> dict[str, Any]:
    """Return what a model says of itself, if it is one of this target.

    Of a file only the header is read.
    """
    about = start.about if isinstance(start, TableModel) else describe_model(start).about
    if about["target"] != str(target):
        raise TableError(
            f"The model to start from labels {about['target']!r}, not {str(target)!r}. Is it that "
            "of another table?"
        )
    return about


def reuse(
    options: LabelingOptions, about: dict[str, Any], columns: Sequence[Hashable]
) -> LabelingOptions:
    """Take over from the last time what the options do not say.

    Columns that were texts are texts again, whatever the rows at hand look like; the embedding
    model is the same; and the candidates that were used come first, which counts where a time
    limit ends the search.
    """
    names = {str(column): column for column in columns}
    texts = list(options.texts)
    texts += [
        names[name]
        for name, kind in about["columns"].items()
        if kind == TEXT and name in names and names[name] not in texts
    ]
    changes: dict[str, Any] = {"text": texts}
    if options.embed is None and about.get("embed") is not None:
        changes["embed"] = about["embed"]
    if options.is_auto and options.candidates is None and options.time_limit is not None:
        known = candidate_names()
        first = [name for name in about["candidates"] if name in known]
        changes["candidates"] = [*first, *(name for name in known if name not in first)]
    return replace(options, **changes)


def since_start(
    about: dict[str, Any], n_labeled: int, accuracy: Sequence[float] | None, classes: Sequence[Any]
) -> str:
    """Say what changed since the last time, in one sentence.

    Parameters
    ----------
    about : dict
        Of the model of the last time.
    n_labeled : int
        Labels of this time.
    accuracy : sequence of three floats or None
        Low end, estimate and high end of this time.
    classes : sequence
        Of this time.

    Examples
    --------
    >>> from leaven.tables._start import since_start
    >>> about = {"n_labeled": 20, "estimated_accuracy": [0.7, 0.78, 0.85], "classes": ["a", "b"]}
    >>> since_start(about, 32, (0.8, 0.84, 0.9), ["a", "b"])
    'Since the last time: 12 labels more, estimated accuracy 78% → 84%.'
    """
    more = n_labeled - about["n_labeled"]
    labels = "the same number of labels"
    if more:
        word = "label" if abs(more) == 1 else "labels"
        labels = f"{abs(more):,} {word} {'more' if more > 0 else 'fewer'}"
    before = about["estimated_accuracy"]
    if before is not None and accuracy is not None:
        estimate = f"estimated accuracy {before[1]:.0%} → {accuracy[1]:.0%}"
    elif accuracy is not None:
        estimate = f"estimated accuracy {accuracy[1]:.0%}, where it was not estimated before"
    elif before is not None:
        estimate = f"accuracy not estimated, where it was {before[1]:.0%} before"
    else:
        estimate = "accuracy not estimated, neither then nor now"
    new = [str(name) for name in classes if str(name) not in about["classes"]]
    gone = [name for name in about["classes"] if name not in {str(each) for each in classes}]
    parts = [labels, estimate]
    parts += [f"new class {', '.join(map(repr, new[:5]))}"] if new else []
    parts += [f"no label of class {', '.join(map(repr, gone[:5]))} any more"] if gone else []
    return f"Since the last time: {', '.join(parts)}."
