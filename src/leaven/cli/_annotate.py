"""``leaven annotate``: label rows on a page in the browser."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import click

from leaven.cli._common import BadInput, errors_as_one_line, parse_delimiter, parse_names


@click.command()
@click.argument("file", type=click.Path())
@click.option("--target", required=True, metavar="COLUMN", help="The column of labels.")
@click.option(
    "--text",
    multiple=True,
    metavar="COLUMN",
    help="A text column, shown first. Others are detected. May be given several times.",
)
@click.option("--columns", metavar="NAME,NAME,...", help="Columns to show before the others.")
@click.option("--classes", metavar="NAME,NAME,...", help="Classes to offer from the start.")
@click.option("--add-target", is_flag=True, help="Add the target if the table has no such column.")
@click.option("--image", metavar="COLUMN", help="A column with paths of images.")
@click.option(
    "--image-folder",
    type=click.Path(exists=True, file_okay=False),
    help="The folder that these paths are relative to. [default: the folder of FILE]",
)
@click.option(
    "--guide",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE.md",
    help="Guidelines, shown beside the rows.",
)
@click.option("--user", metavar="NAME", help="Who is labeling. [default: the account]")
@click.option(
    "--method",
    default="auto",
    show_default=True,
    metavar="auto|NAME",
    help="What makes the suggestions.",
)
@click.option(
    "--labels",
    type=click.Path(dir_okay=False),
    metavar="FILE.db",
    help="The event file. [default: FILE.labels.db]",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False),
    help="Where to write the labeled table when the page is done. [default: it can be downloaded]",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8710,
    show_default=True,
    help="The port, or the next free one; 0 picks any.",
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option(
    "--delimiter", metavar="CHARACTER", help="The field delimiter, if not that of the suffix."
)
@click.option("--encoding", default="utf-8", show_default=True, help="The encoding of a text file.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True)
def annotate(
    file: str,
    target: str,
    text: tuple[str, ...],
    columns: str | None,
    classes: str | None,
    add_target: bool,
    image: str | None,
    image_folder: str | None,
    guide: str | None,
    user: str | None,
    method: str,
    labels: str | None,
    out: str | None,
    host: str,
    port: int,
    no_browser: bool,
    delimiter: str | None,
    encoding: str,
    seed: int,
) -> None:
    """Label rows or images by hand, in the browser.

    FILE is a table or a folder of images. One key labels a row, saves the label and shows the next
    row. Every label is on disk, in the event file FILE.labels.db, before the page says that it is
    saved. Ctrl-C ends the command; run it again to continue.
    """
    with errors_as_one_line():
        from leaven.app import AnnotateOptions, image_table, open_page
        from leaven.cli._outputs import refuse_same_file
        from leaven.tables import TableOutput, read_table

        path = Path(f"{str(file).rstrip('/')}.labels.db" if labels is None else labels)
        output = None if out is None else TableOutput.at(out)
        inputs = {"the table to label": file, "the event file": str(path)}
        refuse_same_file({"the output": out}, inputs, force=None)
        is_folder = Path(file).is_dir()
        if is_folder:
            table, image, image_folder = image_table(file), "image", file
        else:
            table = read_table(file, delimiter=parse_delimiter(delimiter), encoding=encoding)
        names = tuple(parse_names(classes) or ())
        if target not in table.columns and not add_target and not names and not is_folder:
            _offer(target, list(map(str, table.columns)))
        options = AnnotateOptions(
            text=text,
            first=tuple(parse_names(columns) or ()),
            classes=names,
            images=image,
            image_folder=image_folder or str(Path(file).resolve().parent),
            guide=Path(guide).read_text(encoding="utf-8") if guide else "",
            user=user,
            method=method,
            host=host,
            port=port,
            seed=seed,
            title=Path(file).name,
        )
        with open_page(table, target, path, options) as page:
            click.echo(page.address)
            _flush()
            if page.elsewhere is not None:
                click.echo(f"From other computers: {page.elsewhere}", err=True)
            if not no_browser and not _open_browser(page.address):
                click.echo("No browser was found: open the address above.", err=True)
            # Ctrl-C and a polite kill are ways to end it beside "Done", not errors.
            with contextlib.suppress(KeyboardInterrupt, SystemExit):
                page.wait()
            _say_what_is_there(page.session.board.counts(), path)
            if output is not None:
                output.write(page.result())
                click.echo(f"Written to {out}", err=True)


def _say_what_is_there(counts: dict[str, int], path: Path) -> None:
    n_labeled = counts["given"] + counts["hand"] + counts["bulk"]
    click.echo(
        f"{n_labeled:,} of {counts['n_rows']:,} rows have a label; all labels are in {path}.",
        err=True,
    )


def _offer(target: str, columns: list[str]) -> None:
    """Ask whether to add the target, or say how to."""
    problem = f"There is no column {target!r}; the columns are {', '.join(columns[:12])}."
    if sys.stdin.isatty() and sys.stderr.isatty():
        if click.confirm(f"{problem} Add it?", err=True):
            return
        raise BadInput("Nothing was done.")
    raise BadInput(f"{problem} Pass --add-target to add it, or --classes to name its classes too.")


def _open_browser(address: str) -> bool:
    import webbrowser

    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False


def _flush() -> None:
    if sys.stdout is not None:  # closed by the caller
        sys.stdout.flush()
