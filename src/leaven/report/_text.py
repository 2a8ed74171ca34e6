"""Words and numbers of the report: everything that goes onto the page passes through here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape, unescape
from typing import Any

import numpy as np
import pandas as pd

# Characters of a cell in a table of the page.
LONGEST_CELL = 160

_LONGEST_NAME = 80  # characters of a column or a class: two lines on a narrow screen
# Characters from which a cell asks for a wider column.
_LONG = 40

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]")


def plain(value: Any, limit: int = LONGEST_CELL) -> str:
    """Return a value as text: nothing for a missing one, and cut after ``limit`` characters.

    Characters that a page cannot hold (control characters, halves of a surrogate pair) become
    the replacement character, so that the page can always be written as UTF-8.

    Examples
    --------
    >>> from leaven.report._text import plain
    >>> plain(None), plain(7), plain("abcdef", 3)
    ('', '7', 'abc …')
    """
    if isinstance(value, (pd.Timestamp, np.datetime64)) and not pd.isna(value):
        text = str(value).removesuffix(" 00:00:00")
    else:
        text = "" if pd.api.types.is_scalar(value) and pd.isna(value) else str(value)
    text = text if len(text) <= limit else text[:limit].rstrip() + " …"
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _UNPRINTABLE.sub("\ufffd", text)


def safe(value: Any, limit: int = LONGEST_CELL) -> str:
    """Return a value as text that is ready for HTML, in an element or a quoted attribute."""
    return escape(plain(value, limit), quote=True)


def name(value: Any) -> str:
    """Return a name the user gave, kept apart from the direction of the text around it."""
    return f"<bdi>{safe(value, _LONGEST_NAME)}</bdi>"


def count(number: int, singular: str, plural: str | None = None) -> str:
    """Return a number and its noun.

    Examples
    --------
    >>> from leaven.report._text import count
    >>> count(1, "row"), count(1200, "class", "classes")
    ('1 row', '1,200 classes')
    """
    noun = singular if number == 1 else plural or f"{singular}s"
    return f"{number:,} {noun}"


def percent(share: float, digits: int = 1) -> str:
    """Return a share as a percentage; a dash if it is not a number."""
    return f"{100 * share:.{digits}f}\u00a0%" if np.isfinite(share) else "–"


def points(difference: float, *, signed: bool = True) -> str:
    """Return a difference of two shares in percentage points, with a true minus sign.

    Examples
    --------
    >>> from leaven.report._text import points
    >>> points(0.0321), points(-0.5), points(0.02, signed=False)
    ('+3.2', '−50.0', '2.0')
    """
    number = f"{100 * difference:+.1f}" if signed else f"{100 * difference:.1f}"
    return number.replace("-", "−")


def element(tag: str, content: str, **attributes: str | None) -> str:
    """Return an HTML element; ``content`` is HTML, the attributes are escaped here.

    Examples
    --------
    >>> from leaven.report._text import element
    >>> element("td", "7", class_="number", title='a "b"')
    '<td class="number" title="a &quot;b&quot;">7</td>'
    """
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value, quote=True)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{pairs}>{content}</{tag}>"


def bullets(items: Iterable[str]) -> str:
    """Return a list of items that are HTML already."""
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def table(
    caption: str,
    header: Iterable[tuple[str, bool]],
    rows: Iterable[Iterable[str]],
    *,
    more: int = 0,
    cards: bool = False,
) -> str:
    """Return a table that scrolls by itself where it is wider than the screen.

    Parameters
    ----------
    caption : str
        Plain text.
    header : iterable of (str, bool)
        HTML, and whether the column holds numbers.
    rows : iterable of iterables of str
        HTML of the cells; the first one names the row.
    more : int, default=0
        How many rows were left out.
    cards : bool, default=False
        On a phone show each row as a block of lines, each with the name of its column.
    """
    columns = [(text, number, _words(text)) for text, number in header]
    head = "".join(
        element("th", text, scope="col", class_="number" if number else None)
        for text, number, _ in columns
    )
    body = []
    for row in rows:
        cells: list[str] = []
        for content, (_, number, label) in zip(row, columns, strict=True):
            first = not cells
            look = "number" if number else "long" if len(_words(content)) > _LONG else None
            cells.append(
                element(
                    "th" if first else "td",
                    content,
                    scope="row" if first else None,
                    class_=look,
                    dir=None if number or not content else "auto",
                    data_label=label if cards else None,
                )
            )
        body.append(f"<tr>{''.join(cells)}</tr>")
    if more:
        body.append(f'<tr><td colspan="{len(columns)}">and {more:,} more</td></tr>')
    content = (
        f"<caption><span>{safe(caption)}</span></caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody>"
    )
    # A region that scrolls must be reachable by the keyboard.
    return element(
        "div",
        element("table", content, class_="cards" if cards else None),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=caption,
    )


def _words(html: str) -> str:
    """Return the text of HTML that was made here."""
    return unescape(re.sub(r"<[^>]*>", "", html))
