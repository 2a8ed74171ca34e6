"""Small tables of HTML, for the objects that a notebook shows."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

_STYLE = "border-collapse:collapse;font-size:0.9em;margin:0.4em 0"
_CELL = "padding:0.15em 0.8em 0.15em 0"


class Bold(str):
    """A cell in bold type."""


class Italic(str):
    """A cell in italics."""


def html_table(rows: Iterable[Sequence[Any]], *, header: Sequence[Any] = ()) -> str:
    """Make a table; the first cell of a row is its name, the others are set to the right.

    Everything is escaped. Styles are inside the tags: a notebook has no place for another sheet.

    Examples
    --------
    >>> from leaven._html import html_table
    >>> "<td" in html_table([("a<b", 7)]), "a&lt;b" in html_table([("a<b", 7)])
    (True, True)
    """
    head = "".join(_cell(name, "th", i) for i, name in enumerate(header))
    body = "".join(
        f"<tr>{''.join(_cell(value, 'td', i) for i, value in enumerate(row))}</tr>" for row in rows
    )
    top = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f'<table style="{_STYLE}">{top}<tbody>{body}</tbody></table>'


def html_lines(*lines: str, strong: bool = False) -> str:
    """Make a paragraph for each line that is not empty.

    Examples
    --------
    >>> from leaven._html import html_lines
    >>> html_lines("5 < 7", "")
    '<p style="margin:0.3em 0">5 &lt; 7</p>'
    """
    tag = ("<b>", "</b>") if strong else ("", "")
    return "".join(
        f'<p style="margin:0.3em 0">{tag[0]}{html.escape(line)}{tag[1]}</p>'
        for line in lines
        if line
    )


def html_box(*parts: str) -> str:
    """Put parts together, in a box that scrolls sideways where they are wide.

    Examples
    --------
    >>> from leaven._html import html_box
    >>> html_box("<p>a</p>")
    '<div style="overflow-x:auto"><p>a</p></div>'
    """
    return f'<div style="overflow-x:auto">{"".join(parts)}</div>'


def _cell(value: Any, tag: str, place: int) -> str:
    side = "left" if place == 0 else "right"
    text = html.escape(str(value))
    if isinstance(value, Bold):
        text = f"<b>{text}</b>"
    elif isinstance(value, Italic):
        text = f"<i>{text}</i>"
    return f'<{tag} style="{_CELL};text-align:{side}">{text}</{tag}>'
