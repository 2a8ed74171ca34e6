"""Pages and notebooks: links lead somewhere, code runs, addresses exist."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import click
import pandas as pd
import pytest
import yaml
from click.testing import CliRunner

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path[:0] = [str(DOCS), str(DOCS / "figures")]

import check_site  # noqa: E402
import method_table  # noqa: E402
import notebook_pages  # noqa: E402
import publish  # noqa: E402
from public_names import public_names, public_packages  # noqa: E402
from tasks import TASKS  # noqa: E402

from leaven.cli import main  # noqa: E402
from leaven.datasets import load_example  # noqa: E402

WRITTEN = [
    path
    for path in [*DOCS.rglob("*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md"))]
    if not {"_build", "api", "auto_examples", "generated"} & set(path.relative_to(ROOT).parts)
]
NAMES = [path.relative_to(ROOT).as_posix() for path in WRITTEN]
MADE_BY_THE_BUILD = re.compile(r"/?(\.\./)?(auto_examples|api/generated|generated|notebooks/gen)")
NOT_RUN = {
    "docs/guide/annotate.md": "it opens a browser and waits for a person",
    "docs/guide/vectors.md": "it needs a language model on the disk",
}


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", WRITTEN, ids=NAMES)
def test_links_and_images_lead_somewhere(path: Path) -> None:
    text = re.sub(r"^```(?!{).*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    docs = [
        (target, ".md")
        for shown in re.findall(r"{doc}`([^`]+)`", text)
        for target in [re.sub(r".*<(.*)>$", r"\1", shown, flags=re.S)]
    ]
    files = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text)
    files += re.findall(r"^```{(?:image|raw|include|literalinclude)} (\S+)", text, re.MULTILINE)
    files += re.findall(r"^:file: (\S+)", text, re.MULTILINE)
    for target, suffix in docs + [(each, "") for each in files]:
        if target == "html" or MADE_BY_THE_BUILD.match(target):
            continue  # the build fails where one of these is missing
        base = DOCS if target.startswith("/") else path.parent
        assert (base / (target.lstrip("/") + suffix)).exists(), f"{path.name} links to {target}"


@pytest.mark.parametrize("path", WRITTEN, ids=NAMES)
def test_python_without_prompts_runs(path: Path) -> None:
    # What has prompts is a doctest, and pytest collects it by itself.
    name = path.relative_to(ROOT).as_posix()
    plain = [each for each in blocks(path.read_text("utf-8"), "python") if ">>>" not in each]
    if name in NOT_RUN:
        assert plain, f"{name} needs no exemption"
        return
    for code in plain:
        exec(compile(code, name, "exec"), {})


def test_pages_with_doctests_are_collected() -> None:
    places = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    line = next(each for each in places.splitlines() if each.startswith("testpaths"))
    collected = re.findall(r'"([^"]+)"', line)
    for path, name in zip(WRITTEN, NAMES, strict=True):
        if ">>>" in path.read_text(encoding="utf-8"):
            assert any(name == each or name.startswith(f"{each}/") for each in collected), name


def shell_commands() -> list[tuple[str, str]]:
    found = []
    for path, name in zip(WRITTEN, NAMES, strict=True):
        for code in blocks(path.read_text(encoding="utf-8"), "sh"):
            lines = code.replace("\\\n", " ").splitlines()
            commands = [line for line in lines if line.startswith("leaven ")]
            found += [(name, line) for line in commands if "[options]" not in line]
    return found


@pytest.mark.parametrize(("name", "line"), shell_commands())
def test_commands_of_the_pages_exist(name: str, line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    if words[0] in {"--help", "--version"}:
        return
    command = main.get_command(click.Context(main), words[0])
    assert command is not None, line
    known = {option for each in command.params for option in [*each.opts, *each.secondary_opts]}
    used = {word.partition("=")[0] for word in words[1:] if word.startswith("-") and word != "-"}
    assert used - {"--help", "-h"} <= known, line


def files_of_the_pages() -> None:
    """Write the files that the commands of the pages below take for given, here."""
    tickets = load_example("support_tickets")
    for name in ("tickets.csv", "support_tickets.csv"):
        tickets.to_csv(name, index=False)
    tickets.drop(columns="topic").head(3).to_csv("new.csv", index=False)
    apples = load_example("orchard").drop(columns="variety")
    apples.head(3).to_csv("next_harvest.csv", index=False)
    Path("rows").mkdir()
    for number in range(3):
        tickets[number::3].to_parquet(f"rows/{number}.parquet")


FIRST_PAGES = [
    "README.md",
    "docs/index.md",
    "docs/quickstart.md",
    "docs/tutorials/label_table.md",
    "docs/howto/many_rows.md",
]


@pytest.mark.parametrize("page", FIRST_PAGES)
def test_commands_of_the_first_pages_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files_of_the_pages()
    ran = 0
    for name, line in shell_commands():
        words = shlex.split(line, comments=True)[1:]
        if name != page or words[0] == "annotate":  # which waits for a person
            continue
        if words[0] == "label":
            words += ["--candidates", "logistic-regression,harmonic"]  # two are enough here
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 0, f"{line}\n{result.output}"
        ran += 1
    assert ran >= 1


def test_addresses_that_do_not_exist_are_not_named() -> None:
    # There is no public repository, site or package page yet: CONTRIBUTING.md, "Release".
    unmade = re.compile(r"leaven-learn|leaven\.(?:readthedocs|dev|org)|pypi\.org/project/leaven")
    named = [*WRITTEN, ROOT / "pyproject.toml", ROOT / "CITATION.cff"]
    assert [path.name for path in named if unmade.search(path.read_text("utf-8"))] == []


NOTEBOOKS = sorted(notebook_pages.NOTEBOOKS.glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_and_is_stripped(path: Path) -> None:
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ran = list(notebook_pages.run(path))
    list(notebook_pages.open_figures())
    assert sum(kind == "code" for kind, *_ in ran) >= 3


def test_there_are_three_notebooks() -> None:
    assert len(NOTEBOOKS) >= 3


def test_a_cell_shows_its_last_value() -> None:
    names: dict[str, object] = {}
    assert notebook_pages.run_cell("a = 7\nprint(a - 2)\na * 6", names) == ("5\n", 42)
    assert notebook_pages.run_cell("b = a", names) == ("", None)


def test_dead_links_and_far_scripts_are_found(tmp_path: Path) -> None:
    style = tmp_path / "s.css"
    style.write_text("a{}")
    (tmp_path / "index.html").write_text(
        '<link rel="stylesheet" href="s.css"><p id="top"><a href="other.html#here">a</a>'
        '<a href="#top">b</a><a href="https://example.org/x">c</a><a href="gone.html">d</a>'
    )
    (tmp_path / "other.html").write_text('<a href="index.html#gone">e</a><h1 id="here">f</h1>')
    assert list(check_site.problems(tmp_path)) == [
        "index.html: no file for gone.html",
        "other.html: no anchor for index.html#gone",
    ]
    size = (tmp_path / "index.html").stat().st_size
    assert check_site.weight(tmp_path / "index.html") == size + 3
    far = tmp_path / "far"
    far.mkdir()
    (far / "index.html").write_text('<script src="https://example.org/a.js"></script>')
    assert list(check_site.problems(far)) == [
        "index.html loads https://example.org/a.js from another server"
    ]


def test_versions_stand_beside_each_other(tmp_path: Path) -> None:
    html, site = tmp_path / "html", tmp_path / "site"
    html.mkdir()
    (html / "index.html").write_text("first")
    assert publish.publish(html, site, "dev") == ["dev"]
    assert "url=dev/" in (site / "index.html").read_text()
    publish.publish(html, site, "0.9.0")
    (html / "index.html").write_text("second")
    (html / "new.html").write_text("new")
    # Numbers, not letters: 0.10 comes after 0.9.
    assert publish.publish(html, site, "0.10.0") == ["0.10.0", "0.9.0", "dev"]
    assert "url=0.10.0/" in (site / "index.html").read_text()
    assert (site / "versions.js").read_text() == (
        'window.LEAVEN_VERSIONS = ["0.10.0", "0.9.0", "dev"];\n'
    )
    assert (site / "0.9.0" / "index.html").read_text() == "first"
    assert (site / "0.10.0" / "new.html").exists()
    with pytest.raises(ValueError, match=r"Got '\.\./x'"):
        publish.publish(html, site, "../x")


@pytest.mark.skipif(os.name == "nt", reason="the workflow runs on Linux")
def test_the_workflow_deploys_beside_other_versions(tmp_path: Path) -> None:
    """Run the step of the workflow as it is written, with a repository on the disk as origin."""
    workflow = yaml.safe_load((ROOT / ".github/workflows/docs.yml").read_text(encoding="utf-8"))
    (script,) = [each["run"] for each in workflow["jobs"]["deploy"]["steps"] if "run" in each]
    origin, seed = tmp_path / "origin.git", tmp_path / "seed"

    def git(*words: str, at: Path = tmp_path) -> str:
        made = ("-c", "user.name=a", "-c", "user.email=a@localhost")
        ran = subprocess.run(["git", *made, *words], cwd=at, check=True, capture_output=True)
        return ran.stdout.decode()

    git("init", "-q", "--bare", str(origin))
    (seed / "docs").mkdir(parents=True)
    shutil.copy(DOCS / "publish.py", seed / "docs")
    git("init", "-q", at=seed)
    git("add", "-A", at=seed)
    git("commit", "-qm", "seed", at=seed)
    git("push", "-q", str(origin), "HEAD:main", at=seed)
    for run, version in enumerate(["dev", "v0.9.0", "v0.10.0", "v0.10.0"]):
        job = tmp_path / f"job{run}"
        git("clone", "-q", "--depth=1", "--branch=main", origin.as_uri(), str(job))
        (job / "html").mkdir()
        (job / "html" / "index.html").write_text(version)
        settings = {**os.environ, "version": version}
        subprocess.run(["bash", "-e", "-c", script], cwd=job, check=True, env=settings)
    assert git("ls-tree", "-r", "--name-only", "gh-pages", at=origin).split() == [
        ".nojekyll",
        "0.10.0/index.html",
        "0.9.0/index.html",
        "dev/index.html",
        "index.html",
        "versions.js",
    ]
    assert '["0.10.0", "0.9.0", "dev"]' in git("show", "gh-pages:versions.js", at=origin)
    assert git("log", "--format=%s", "gh-pages", at=origin).splitlines() == [
        "Publish 0.10.0",
        "Publish 0.9.0",
        "Publish dev",
    ]


def test_the_quickstart_shows_rows_of_the_example() -> None:
    text = (DOCS / "quickstart.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| (T\d+) \| (.+?) \| (.+?) \| (\w*) ?\|$", text, re.MULTILINE)
    assert len(shown) == 3
    tickets = load_example("support_tickets").set_index("id").fillna("")
    for name, channel, message, topic in shown:
        row = tickets.loc[name]
        assert (row["channel"], row["topic"]) == (channel, topic)
        assert row["text"].startswith(message.removesuffix(" ..."))


def test_every_method_page_shows_where_it_works_and_fails() -> None:
    pages = ["harmonic", "graph_based", "graphs", "generative", "self_labeling", "low_density"]
    for page in [*pages, "text", "representation", "deep", "active"]:
        text = (DOCS / "guide" / f"{page}.md").read_text(encoding="utf-8")
        assert f"sphx_glr_plot_limits_{page}_001.png" in text, page
        assert (ROOT / "examples" / f"plot_limits_{page}.py").is_file(), page


def test_every_classifier_is_in_the_table_with_its_measurements() -> None:
    text = method_table.PAGE.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| {class}`~leaven\.\w+\.(\w+)` \|(.*)\|$", text, re.MULTILINE))
    classifiers = method_table.public_classifiers()
    assert len(classifiers) > 35
    assert sorted(set(classifiers) - set(rows)) == [], "not in the table of docs/guide/choose.md"
    for name in classifiers:
        *_, source, accuracy, rank = [cell.strip() for cell in rows[name].split(" | ")]
        again = "run benchmarks/methods.py and docs/figures/method_table.py"
        assert source, f"{name} has no source; {again}"
        if name in method_table.ELSEWHERE:
            assert accuracy == method_table.ELSEWHERE[name]
            continue
        assert re.fullmatch(r"\d+\.\d( \(\d+ sets\))?", accuracy), f"{name}: {accuracy}; {again}"
        assert re.fullmatch(r"\d+\.\d", rank), f"{name}: {rank}; {again}"


def test_mean_ranks_by_hand() -> None:
    # Set 1: b, then a and c tied; set 2: a, c, and b does not apply.
    scores = pd.DataFrame({"a": [0.7, 0.9], "b": [0.8, None], "c": [0.7, 0.6]})
    assert method_table.mean_ranks(scores).to_dict() == {"a": 1.75, "b": 1.0, "c": 2.25}


def test_the_table_is_what_the_script_writes() -> None:
    text = method_table.PAGE.read_text(encoding="utf-8")
    assert method_table.filled(text) == text


def test_every_public_name_has_a_task_in_the_reference() -> None:
    wanted = {want for *_, wants in TASKS for want in wants}
    names = [f"{each.__name__}.{name}" for each in public_packages() for name in public_names(each)]
    assert [name for name in names if not {name, name.rpartition(".")[0]} & wanted] == []
    exists = {*names, *(each.__name__ for each in public_packages())}
    assert sorted(wanted - exists) == [], "tasks.py names what does not exist"
