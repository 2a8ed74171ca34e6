"""Run the notebooks of docs/notebooks without Jupyter, and write a page of each.

``python docs/notebook_pages.py`` runs them and prints what took how long. The documentation shows
the pages with their outputs; tests/test_pages.py runs the cells and checks that the files hold no
outputs.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).parent / "notebooks"


def cells(path: Path) -> list[tuple[str, str]]:
    """List the kind and the text of every cell."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]


def run_cell(text: str, names: dict[str, Any]) -> tuple[str, Any]:
    """Run a cell; return what it printed, and the value of its last line or None."""
    body = ast.parse(text).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "<cell>", "exec"), names)
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    return printed.getvalue(), value


def run(path: Path) -> Iterator[tuple[str, str, str, Any]]:
    """Run a notebook; yield kind, text, printed text and value of each cell."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for kind, text in cells(path):
        yield (kind, text, *run_cell(text, names)) if kind == "code" else (kind, text, "", None)


def open_figures() -> Iterator[str]:
    """Close the figures of matplotlib that are open; yield each as PNG in base 64."""
    import matplotlib.pyplot as plt

    for number in plt.get_fignums():
        file = io.BytesIO()
        plt.figure(number).savefig(file, format="png", dpi=100)
        plt.close(number)
        yield base64.b64encode(file.getvalue()).decode()


def page(path: Path) -> str:
    """Run a notebook and return it, with its outputs, as a MyST page."""
    parts = []
    for kind, text, printed, value in run(path):
        if kind == "markdown":
            parts.append(text)
            continue
        parts.append(f"```python\n{text}\n```")
        if printed.strip():
            parts.append(f"```text\n{printed.rstrip()}\n```")
        parts += [
            _html(f'<img alt="figure" src="data:image/png;base64,{figure}">')
            for figure in open_figures()
        ]
        if value is None or type(value).__module__.startswith("matplotlib"):
            continue
        if hasattr(value, "_repr_html_"):
            parts.append(_html(value._repr_html_()))
        else:
            parts.append(f"```text\n{value!r}\n```")
    title, _, rest = "\n\n".join(parts).partition("\n")
    download = f"{{download}}`Download this notebook <../{path.name}>`"
    return f"{title}\n\n{download}\n{rest}\n"


def _html(text: str) -> str:
    # Five backticks: what an object shows of itself may hold fences of its own.
    return f'`````{{raw}} html\n<div class="notebook-output">{text}</div>\n`````'


def write_pages() -> None:
    """Write the page of every notebook that changed to docs/notebooks/generated.

    As the gallery does; ``make clean`` makes the next build run all of them.
    """
    folder = NOTEBOOKS / "generated"
    folder.mkdir(exist_ok=True)
    known = {folder / f"{path.stem}.md": path for path in sorted(NOTEBOOKS.glob("*.ipynb"))}
    for stale in {*folder.glob("*.md")} - {*known}:
        stale.unlink()
    for target, path in known.items():
        if not target.exists() or target.stat().st_mtime < path.stat().st_mtime:
            target.write_text(page(path), encoding="utf-8")


if __name__ == "__main__":
    import matplotlib as mpl

    mpl.use("agg")
    for each in sorted(NOTEBOOKS.glob("*.ipynb")):
        started = time.perf_counter()
        size = len(page(each))
        print(f"{each.name}: {time.perf_counter() - started:.1f} s, {size:,} characters")
