"""One "did you mean" for every name that a user can misspell."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# Likeness, from 0 to 1, below which a name is not offered: difflib's own default.
_CUTOFF = 0.6

# Names that are offered at most; more would be a list, and a list is given elsewhere.
_MOST = 3


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Return a sentence, with a space before it, that offers the names most like ``name``.

    Upper and lower case, spaces around the name, and ``_`` for ``-`` make no difference. It is
    empty if no name is close.

    Examples
    --------
    >>> from leaven._suggest import did_you_mean
    >>> did_you_mean("Topc", ["id", "topic", "text"])
    " Did you mean 'topic'?"
    >>> did_you_mean("label_spreadin", ["label-spreading", "svm"])
    " Did you mean 'label-spreading'?"
    >>> did_you_mean("qqq", ["id", "topic", "text"])
    ''
    """
    by_form: dict[str, str] = {}
    for each in known:
        by_form.setdefault(_form(each), str(each))
    close = difflib.get_close_matches(_form(name), by_form, n=_MOST, cutoff=_CUTOFF)
    if not close:
        return ""
    return f" Did you mean {' or '.join(repr(by_form[form]) for form in close)}?"


def _form(name: object) -> str:
    return str(name).strip().casefold().replace("_", "-")
