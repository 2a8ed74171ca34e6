"""``leaven predict``: label new rows with a saved model."""

from __future__ import annotations

import os
import warnings
from typing import Any

import click

from leaven.cli._common import BadInput, console, errors_as_one_line, parse_delimiter
from leaven.cli._pictures import STANDARD_STREAM, is_image_folder


@click.command()
@click.argument("model", type=click.Path())
@click.argument("file", type=click.Path(allow_dash=True))
@click.option(
    "--out",
    type=click.Path(allow_dash=True),
    help="Where to write; '-' is CSV on standard output. [default: FILE with .labeled before "
    "its suffix]",
)
@click.option(
    "--vectors",
    type=click.Path(dir_okay=False),
    metavar="FILE.npy",
    help="The vectors of the rows, if MODEL learned from vectors.",
)
@click.option(
    "--embed",
    metavar="NAME",
    help="Where the embedding model of MODEL is, if it is no longer where it was.",
)
@click.option("--probabilities", is_flag=True, help="Also write a column for each class.")
@click.option("--delimiter", metavar="CHARACTER", help="Field delimiter, if not the suffix's.")
@click.option("--encoding", default="utf-8", show_default=True, help="The encoding of a text file.")
@click.option("--force", is_flag=True, help="Allow the output to replace the input.")
@click.option("--quiet", is_flag=True, help="Print no summary.")
def predict(
    model: str,
    file: str,
    out: str | None,
    vectors: str | None,
    embed: str | None,
    probabilities: bool,
    delimiter: str | None,
    encoding: str,
    force: bool,
    quiet: bool,
) -> None:
    """Label every row of FILE with the saved model MODEL.

    All rows are written in order with the columns COLUMN_predicted, COLUMN_confidence and
    COLUMN_source. Labels in the target column are kept. Columns that MODEL learned from may be
    missing from FILE, and there may be others; a message says so. FILE may also be a folder of
    images, if MODEL learned from images. 'leaven label --save' writes MODEL.
    """
    with errors_as_one_line():
        from leaven.cli._outputs import embedding_cache, refuse_same_file
        from leaven.tables import (
            TableOutput,
            format_of_path,
            labeled_path,
            load_model,
            read_with_format,
        )

        pictures = is_image_folder(file)
        if os.path.isdir(file) and not pictures:
            raise BadInput(
                f"{file!r} is a directory, but not one of images: give a table, or a folder that "
                "holds images and no tables."
            )
        named = f"{os.path.normpath(file)}.csv" if pictures else file
        source = format_of_path(named)
        out = labeled_path(named) if out is None else out
        output = TableOutput.at(out)
        refuse_same_file({"the output": out}, {"the input": file, "the model": model}, force=force)
        learned = load_model(model)
        if embed is not None or learned.uses_embedder:
            learned = learned.with_embedder(embed, cache=embedding_cache(out))
        table: Any = file
        found, folder = source, "."
        if not pictures:
            table, found = read_with_format(
                file, delimiter=parse_delimiter(delimiter), encoding=encoding, file_format=source
            )
            folder = "." if file == STANDARD_STREAM else os.path.dirname(os.path.abspath(file))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            labeled = learned.label(
                table, probabilities=probabilities, vectors=vectors, image_folder=folder
            )
        output.like_input(source, found).write(labeled)
    if quiet:
        return
    screen = console(err=True)
    for note in dict.fromkeys(str(each.message) for each in caught):
        screen.print(f"Note: {note}")
    n_inferred = int((labeled[f"{learned.target}_source"] == "inferred").sum())
    screen.print(f"Labeled {n_inferred:,} of {len(labeled):,} rows by {model}; wrote {out}.")
