"""Settings of the documentation: `make docs` builds it, with every warning an error."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import click  # noqa: E402
import notebook_pages  # noqa: E402
from public_names import public_names, public_packages  # noqa: E402
from sphinx.domains.python import PythonDomain  # noqa: E402
from tasks import TASKS  # noqa: E402

import leaven  # noqa: E402
from leaven.cli import main as command_line  # noqa: E402
from leaven.datasets import list_available  # noqa: E402

project = "leaven"
author = "The leaven developers"
copyright = "2026, The leaven developers"
release = version = leaven.__version__

# No intersphinx: the build needs no network.
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = [
    "_build",
    "api/generated/backreferences",
    "auto_examples/*.ipynb",
    "**sg_execution_times.rst",  # its tables load scripts from other servers
    "notebooks/*.ipynb",  # notebook_pages.py makes a page of each
]
templates_path = ["_templates"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # the docstrings say it in words
numpydoc_show_class_members = False  # the class template does it
numpydoc_class_members_toctree = False

# A reference to a name of leaven that does not exist is an error; other libraries are not asked.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!leaven\b).*")]

html_theme = "furo"
html_title = f"leaven {release}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
# The folder of publish.py in which these pages will stand: "dev", or the number of a tag.
html_context = {"folder": os.environ.get("DOCS_VERSION", "dev").removeprefix("v")}
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/versions.html",
        "sidebar/scroll-end.html",
    ]
}

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "auto_examples",
    "doc_module": ("leaven",),
    "backreferences_dir": "api/generated/backreferences",
    "show_memory": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    # "<matplotlib.legend.Legend object at 0x...>" tells a reader nothing.
    "ignore_repr_types": r"matplotlib\.",
}


def write_reference() -> list[str]:
    """Write the index by task and one page per public package; a new name appears by itself.

    Returns the pages, from which autosummary then makes a page for each name.
    """
    folder = HERE / "api" / "generated"
    (folder / "names").mkdir(parents=True, exist_ok=True)
    packages = public_packages()
    pages = {folder / "index.rst": [*reference_by_task(packages), *commands_by_line()]}
    members = set()
    for package in packages:
        name = package.__name__
        lines = [name, "=" * len(name), "", f".. automodule:: {name}", "   :no-members:", ""]
        lines += [f".. currentmodule:: {name}", "", ".. autosummary::", "   :toctree: names"]
        lines += ["", *(f"   {member}" for member in public_names(package))]
        pages[folder / f"{name}.rst"] = lines
        members |= {folder / "names" / f"{name}.{member}.rst" for member in public_names(package)}
    pages[folder / "datasets.rst"] = table_of_data()
    for stale in {*folder.glob("*.rst"), *folder.glob("names/*.rst")} - {*pages} - members:
        stale.unlink()
    for path, lines in pages.items():
        _write(path, lines)
    return [path.relative_to(HERE).as_posix() for path in pages]


def reference_by_task(packages: list[Any]) -> list[str]:
    """List every public name under the task that it serves, one line each."""
    lines = ["Reference", "=========", "", "Every public name by task, one line each. "]
    lines += ["The commands are at the end."]
    open_names = {f"{each.__name__}.{name}" for each in packages for name in public_names(each)}
    for task, sentence, wanted in TASKS:
        found = [
            name
            for want in wanted
            for name in sorted(open_names)
            if name == want or name.rpartition(".")[0] == want
        ]
        open_names -= set(found)
        lines += ["", task, "-" * len(task), "", sentence, ""]
        lines += [".. autosummary::", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in found]
    if open_names:
        raise ValueError(f"docs/tasks.py gives these names no task: {sorted(open_names)}")
    lines += ["", ".. toctree::", "   :hidden:", ""]
    return [*lines, *(f"   {package.__name__}" for package in packages), "   datasets"]


def table_of_data() -> list[str]:
    """List every known data set with its source, licence and file, whatever is on this machine."""
    with TemporaryDirectory() as empty:
        known = list_available(empty)
    title = "All data sets"
    more = "``leaven datasets NAME`` also says which checksum is expected, and how to get the file."
    lines = [title, "=" * len(title), "", more, "", ".. list-table::", "   :header-rows: 1", ""]
    rows = [["name", "kind", "source", "licence", "file in ``LEAVEN_DATA``"]]
    columns = known[["name", "kind", "source", "licence", "file"]].astype(object)
    for *cells, file in columns.where(columns.notna(), "").itertuples(index=False):
        rows.append([*cells, f"``{file}``" if file else "comes with scikit-learn"])
    for cells in rows:
        lines += [f"   {'* ' if not number else '  '}- {cell}" for number, cell in enumerate(cells)]
    return lines


def commands_by_line() -> list[str]:
    """List every command with the first sentence of its help."""
    lines = ["", "Commands", "--------", "", ":doc:`/command-line` has every option.", ""]
    context = click.Context(command_line)
    for name in command_line.list_commands(context):
        command = command_line.get_command(context, name)
        text = " ".join((command.help or "").split("\n\n")[0].split()) if command else ""
        lines += [f"``leaven {name}``", f"    {text}", ""]
    return lines


def _write(path: Path, lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def skip_what_is_not_ours(
    app: Any, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out what every scikit-learn estimator inherits, such as metadata routing."""
    module = getattr(member, "__module__", None) or ""
    return True if what == "class" and module.split(".")[0] == "sklearn" else None


def escape_shapes(
    app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Keep the underscore in "of shape (n_iter_,)" from being read as a link."""
    for number, line in enumerate(lines):
        lines[number] = re.sub(
            r"shape \([^)]*\)", lambda shape: re.sub(r"_(?=[,) ])", r"\\_", shape[0]), line
        )


def end_code_at_its_last_line(app: Any, name: str, source: list[str]) -> None:
    """Drop the empty line before a closing fence, which doctest needs and a reader does not."""
    source[0] = re.sub(r"\n\n```$", r"\n```", source[0], flags=re.MULTILINE)


def leave_out_private_names() -> None:
    """Give a class no second address under its private module.

    autodoc registers one for every class. A class that two packages export would have it twice,
    which is a warning.
    """
    note_object = PythonDomain.note_object

    def public_only(self: Any, name: str, *args: Any, **kwargs: Any) -> None:
        if "._" not in name:
            note_object(self, name, *args, **kwargs)

    PythonDomain.note_object = public_only


autosummary_generate = write_reference()
notebook_pages.write_pages()


def setup(app: Any) -> None:
    # After numpydoc, which has the default priority of 500.
    app.connect("autodoc-process-docstring", escape_shapes, priority=600)
    app.connect("autodoc-skip-member", skip_what_is_not_ours)
    app.connect("source-read", end_code_at_its_last_line)
    leave_out_private_names()
