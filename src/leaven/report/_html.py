"""One self-contained HTML page about a labeled table: no script, no network."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import pandas as pd

from leaven.tables import LabelingResult, LabelingSummary

_BINS = 10
_DOUBTFUL = 10
_MOST_CLASSES = 50
_MOST_CHARACTERS = 160

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 52rem; margin: 0 auto;
       padding: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .3rem .8rem .3rem 0;
       border-bottom: 1px solid #ddd; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.bar { background: #4878a8; height: .7rem; min-width: 1px; } .track { width: 9rem; }
svg { width: 100%; max-width: 32rem; height: auto; } svg text { font-size: 11px; fill: #555; }
@media print { body { max-width: none; } }
"""


def render_report(result: LabelingResult, *, title: str = "Labeled table") -> str:
    """Render what was done to a table as one HTML page.

    Parameters
    ----------
    result : LabelingResult
        As returned by :func:`leaven.tables.label_table`.
    title : str, default="Labeled table"
        Usually the name of the file.

    Returns
    -------
    str
        A page that needs nothing else: no script, no style sheet, no network. It shows the
        classes with their shares, how sure the inferred labels are, the columns that were
        used, and the rows that are hardest to call.

    Examples
    --------
    >>> from leaven.datasets import load_example
    >>> from leaven.report import render_report
    >>> from leaven.tables import label_table
    >>> page = render_report(label_table(load_example("orchard"), "variety"), title="orchard")
    >>> page.startswith("<!doctype html>"), "orchard" in page
    (True, True)
    """
    summary = result.summary
    sections = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{_opening(summary)}</p>",
        "<h2>Classes</h2>",
        _classes(summary),
        "<h2>How sure the inferred labels are</h2>",
        _confidence(result),
        "<h2>Hardest to call</h2>",
        "<p>Rows whose inferred label is least certain: these are worth a look, or a label.</p>",
        _doubtful(result),
        "<h2>Columns</h2>",
        _columns(summary),
        *([f"<h2>Notes</h2>{_list(summary.notes)}"] if summary.notes else []),
        "<h2>The same in Python</h2>",
        f"<pre>{escape(_snippet(summary))}</pre>",
    ]
    body = "\n".join(sections)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body>\n{body}\n"
        "</body></html>\n"
    )


def _opening(summary: LabelingSummary) -> str:
    return (
        f"{summary.n_inferred:,} of {summary.n_rows:,} rows were labeled in "
        f"<b>{escape(summary.target)}</b> from {summary.n_given:,} given labels of "
        f"{len(summary.classes):,} classes, by the method <b>{escape(summary.method)}</b> in "
        f"{summary.seconds:.1f} seconds. The mean confidence of the inferred labels is "
        f"{summary.mean_confidence:.2f}. Confidence is the method's own estimate; it was not "
        "checked against labels that were held back."
    )


def _classes(summary: LabelingSummary) -> str:
    counts = sorted(summary.classes, key=lambda count: -(count.given + count.inferred))
    rows = []
    for count in counts[:_MOST_CLASSES]:
        share = (count.given + count.inferred) / summary.n_rows
        rows.append(
            f"<tr><td>{escape(str(count.name))}</td><td class=number>{count.given:,}</td>"
            f"<td class=number>{count.inferred:,}</td><td class=number>{share:.1%}</td>"
            f'<td class=track><div class=bar style="width:{100 * share:.1f}%"></div></td></tr>'
        )
    if len(counts) > _MOST_CLASSES:
        rows.append(f"<tr><td colspan=5>and {len(counts) - _MOST_CLASSES:,} more</td></tr>")
    head = "<tr><th>class</th><th class=number>given</th><th class=number>inferred</th>"
    head += "<th class=number>share</th><th></th></tr>"
    return f"<div class=scroll><table>{head}{''.join(rows)}</table></div>"


def _inferred(result: LabelingResult) -> tuple[Any, pd.Series]:
    target = result.summary.target
    source = result.table[f"{target}_source"].to_numpy()
    rows = np.flatnonzero(source == "inferred")
    return rows, result.table[f"{target}_confidence"].iloc[rows]


def _confidence(result: LabelingResult) -> str:
    _, confidence = _inferred(result)
    counts, _ = np.histogram(confidence.to_numpy(dtype=float), bins=_BINS, range=(0.0, 1.0))
    top = max(int(counts.max(initial=0)), 1)
    bars = []
    for number, count in enumerate(counts.tolist()):
        x, height = 10 + 30 * number, 100 * count / top
        label = f"{number / _BINS:.1f} to {(number + 1) / _BINS:.1f}: {count:,} rows"
        bars.append(
            f'<g><title>{label}</title><rect x="{x}" y="{115 - height:.1f}" width="28" '
            f'height="{height:.1f}" fill="#4878a8"/>'
            f'<text x="{x + 14}" y="{111 - height:.1f}" text-anchor="middle">{count:,}</text></g>'
        )
    ticks = "".join(
        f'<text x="{10 + 30 * n}" y="130" text-anchor="middle">{n / _BINS:.1f}</text>'
        for n in range(0, _BINS + 1, 2)
    )
    return (
        '<svg viewBox="0 0 325 140" role="img" aria-label="Histogram of the confidence of the '
        f'inferred labels">{"".join(bars)}<line x1="10" y1="115" x2="310" y2="115" '
        f'stroke="#555"/>{ticks}</svg>'
    )


def _doubtful(result: LabelingResult) -> str:
    rows, confidence = _inferred(result)
    order = np.argsort(confidence.to_numpy(dtype=float), kind="stable")[:_DOUBTFUL]
    target = result.summary.target
    hidden = {f"{target}_source", f"{target}_confidence", f"{target}_predicted", target}
    shown = [column for column in result.table.columns if str(column) not in hidden][:4]
    head = "".join(f"<th>{escape(str(column))}</th>" for column in shown)
    lines = []
    for place in order:
        row = result.table.iloc[rows[place]]
        cells = "".join(f"<td>{_cell(row[column])}</td>" for column in shown)
        lines.append(
            f"<tr><td class=number>{rows[place] + 1:,}</td>"
            f"<td>{_cell(row[f'{target}_predicted'])}</td>"
            f"<td class=number>{row[f'{target}_confidence']:.2f}</td>{cells}</tr>"
        )
    head = f"<tr><th class=number>row</th><th>label</th><th class=number>sure</th>{head}</tr>"
    return f"<div class=scroll><table>{head}{''.join(lines)}</table></div>"


def _cell(value: Any) -> str:
    text = "" if pd.api.types.is_scalar(value) and pd.isna(value) else str(value)
    return escape(text if len(text) <= _MOST_CHARACTERS else text[:_MOST_CHARACTERS] + " …")


def _columns(summary: LabelingSummary) -> str:
    used = [f"{name}: {kind}" for name, kind in summary.columns.items()]
    dropped = [f"{name}: not used, {reason}" for name, reason in summary.dropped.items()]
    return _list([*used, *dropped])


def _list(items: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"


def _snippet(summary: LabelingSummary) -> str:
    return (
        "import leaven, pandas as pd\n"
        "table = pd.read_csv(...)\n"
        f"labeled = leaven.label(table, target={summary.target!r}, method={summary.method!r})"
    )
