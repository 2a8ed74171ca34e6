"""The documentation does not lag behind the code."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest
from numpydoc.docscrape import NumpyDocString

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))

from public_names import public_names, public_packages  # noqa: E402

from leaven.cli import main  # noqa: E402

PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for folder in (".", "guide", "tutorials", "howto", "explanation")
    for path in (ROOT / "docs" / folder).glob("*.md")
}
NAMES = [
    (package.__name__, name) for package in public_packages() for name in public_names(package)
]


def docstring_problems(thing: Any) -> list[str]:
    """List what the docstring of a public class or function lacks."""
    if not callable(thing):
        return []  # a constant
    text = inspect.getdoc(thing) or ""
    parsed = NumpyDocString(text)
    found = [] if "".join(parsed["Summary"]).strip() else ["no summary"]
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return found  # its one sentence says when it is raised
    documented = [
        name.strip().lstrip("*") for entry in parsed["Parameters"] for name in entry.name.split(",")
    ]
    inherits = inspect.isclass(thing) and "__init__" not in vars(thing)
    parents = [base.__name__ for base in thing.__mro__[1:]] if inherits else []
    if documented or not any(f"`{name}`" in text for name in parents):
        expected = [name for name in inspect.signature(thing).parameters if name != "self"]
        if documented != expected:
            found.append(f"Parameters are {documented}, but the signature has {expected}")
    # What a function returns is shown in the example of that function.
    is_result = dataclasses.is_dataclass(thing) or "made by :func:" in text
    if not is_result and not any(">>>" in line for line in parsed["Examples"]):
        found.append("no Examples")
    return found


@pytest.mark.parametrize(("package", "name"), NAMES)
def test_docstring(package: str, name: str) -> None:
    thing = getattr(sys.modules[package], name)
    assert docstring_problems(thing) == []


@pytest.mark.parametrize(("package", "name"), NAMES)
def test_public_methods_have_a_docstring(package: str, name: str) -> None:
    thing = getattr(sys.modules[package], name)
    methods = vars(thing) if inspect.isclass(thing) else {}
    bare = [
        method
        for method, value in methods.items()
        if not method.startswith("_")
        and (inspect.isfunction(value) or isinstance(value, (property, classmethod)))
        and not inspect.getdoc(getattr(thing, method))
    ]
    assert bare == []


@pytest.mark.parametrize("package", public_packages(), ids=lambda package: package.__name__)
def test_pages_mention_every_name(package: ModuleType) -> None:
    # The reference lists every name by itself; a page of the guide says what it is for.
    text = "\n".join(PAGES.values())
    missing = [name for name in public_names(package) if not re.search(rf"\b{name}\b", text)]
    assert missing == [], f"no page in docs/ or docs/guide/ mentions these of {package.__name__}"


def commands(command: click.Command, path: str = "leaven") -> list[tuple[str, click.Command]]:
    found = [(path, command)]
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            found += commands(child, f"{path} {name}")
    return found


@pytest.mark.parametrize(("path", "command"), commands(main))
def test_the_command_line_is_documented(path: str, command: click.Command) -> None:
    text = PAGES["docs/command-line.md"]
    assert re.search(rf"^## `{path}`$|^# .*`{path}`", text, re.MULTILINE), f"no section on {path}"
    section = text[text.index(f"`{path}`") :]
    section = re.split(r"^## ", section, flags=re.MULTILINE)[0]
    missing = [
        option
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden
        for option in [*parameter.opts, *parameter.secondary_opts]
        if not re.search(rf"(?<![\w-]){option}(?![\w-])", section)
    ]
    assert missing == []


def test_links_between_the_pages_exist() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", readme):
        assert (ROOT / target).exists(), target


def test_the_dependency_table_is_complete() -> None:
    wanted = metadata.requires("leaven") or []
    names = {re.split(r"[\[<>=;~! ]", line)[0] for line in wanted} - {"leaven"}
    assert len(names) > 20
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text[text.index("## Dependencies") :]
    assert sorted(name for name in names if name not in table) == []


def test_a_poor_docstring_is_found() -> None:
    def good(a, b):
        """Sum.

        Parameters
        ----------
        a, b : int

        Examples
        --------
        >>> 1 + 1
        2
        """

    def stale(a, c):
        """Sum."""

    stale.__doc__ = good.__doc__

    def bare(a): ...

    assert docstring_problems(good) == []
    assert "signature has ['a', 'c']" in docstring_problems(stale)[0]
    assert len(docstring_problems(bare)) == 3


RELIABILITY = PAGES["docs/reliability.md"]


@pytest.mark.parametrize("named", sorted(set(re.findall(r"`(tests/[^`]+)`", RELIABILITY))))
def test_the_tests_of_the_reliability_page_exist(named: str) -> None:
    file, _, function = named.partition("::")
    source = (ROOT / file).read_text(encoding="utf-8")
    assert f"def {function}" in source


def test_every_promise_of_the_reliability_page_names_what_shows_it() -> None:
    lines = [line for line in RELIABILITY.splitlines() if line.startswith("|")]
    promises = [
        line.split("|")[1:3] for line in lines if "---" not in line and "promise" not in line
    ]
    assert len(promises) > 20
    proof = re.compile(r"`(tests/|make |\.github)")
    assert [what for what, shown in promises if not proof.search(shown)] == []
