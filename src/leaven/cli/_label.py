"""``leaven label``: fill in the labels of a table."""

from __future__ import annotations

import json
import os
import warnings
from typing import TYPE_CHECKING, Any

import click

from leaven._progress import phase, progress_bar
from leaven.cli._common import (
    BadInput,
    console,
    errors_as_one_line,
    is_terminal,
    needed_target,
    parse_delimiter,
    parse_names,
    reading_options,
)
from leaven.cli._pictures import has_tables, image_folder, image_rows, is_image_folder

if TYPE_CHECKING:
    from leaven.tables import LabelingResult

STANDARD_STREAM = "-"


@click.command()
@click.argument("file", type=click.Path(allow_dash=True))
@reading_options
@click.option(
    "--embed",
    metavar="NAME",
    help="Also learn from embeddings of the texts by this model of sentence-transformers or "
    "model2vec, or of the images by a network of timm or torchvision: a name, or the path of a "
    "folder.",
)
@click.option(
    "--method",
    default="auto",
    metavar="auto|NAME",
    show_default=True,
    help="The method; auto tests the candidates on held-out labels and combines them.",
)
@click.option(
    "--candidates",
    metavar="NAME,NAME,...",
    help="The candidates of auto. [default: all that suit the size of the table]",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time after which auto tries no further candidate.",
)
@click.option(
    "--out",
    type=click.Path(allow_dash=True),
    help="Where to write; '-' is CSV on standard output. [default: FILE with .labeled before "
    "its suffix]",
)
@click.option(
    "--report",
    type=click.Path(dir_okay=False),
    metavar="FILE.html",
    help="Where to write the HTML report. [default: NAME.report.html next to the output, if that "
    "is a file]",
)
@click.option("--no-report", is_flag=True, help="Do not write a report.")
@click.option(
    "--save",
    type=click.Path(dir_okay=False),
    metavar="MODEL.leaven",
    help="Save the model, to label new rows with 'leaven predict'.",
)
@click.option(
    "--start",
    type=click.Path(dir_okay=False),
    metavar="MODEL.leaven",
    help="Continue from the model of an earlier run, and compare with it.",
)
@click.option(
    "--prior",
    default="labeled",
    show_default=True,
    metavar="labeled|uniform|none|A=0.7,B=0.3",
    help="Class proportions to aim at: those of the labeled rows, equal ones, none, or given.",
)
@click.option(
    "--ask",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Also list the N rows most worth labeling next.",
)
@click.option("--sets", is_flag=True, help="Add COLUMN_set, the classes of the 90% prediction set.")
@click.option("--probabilities", is_flag=True, help="Add a column COLUMN_p_CLASS for each class.")
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="P",
    help="Leave rows below this confidence empty in COLUMN_predicted.",
)
@click.option(
    "--target-error",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Flag just enough rows that at most this share of the rest is expected to be wrong.",
)
@click.option("--explain", is_flag=True, help="Print how every candidate scored, and the reason.")
@click.option(
    "--strict",
    is_flag=True,
    help="Refuse labels with stray spaces, or that differ only in case or spaces.",
)
@click.option(
    "--labels",
    type=click.Path(dir_okay=False),
    metavar="FILE.db|FILE.csv",
    help="Use the labels in this event file of leaven annotate; for a folder of images, in a table "
    "with a column of their names.",
)
@click.option("--force", is_flag=True, help="Allow the output to replace the input.")
@click.option(
    "--resume", is_flag=True, help="With many files: keep those that an earlier run has written."
)
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="With many files: unlabeled rows to learn from. [default: 50000]",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="With many files: a Dask scheduler whose workers do the work.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.option("--quiet", is_flag=True, help="Print no summary.")
def label(
    file: str,
    target: str | None,
    text: tuple[str, ...],
    ignore: tuple[str, ...],
    vectors: str | None,
    missing: tuple[str, ...],
    delimiter: str | None,
    encoding: str,
    seed: int,
    jobs: int,
    embed: str | None,
    method: str,
    candidates: str | None,
    time_limit: float | None,
    out: str | None,
    report: str | None,
    no_report: bool,
    save: str | None,
    start: str | None,
    prior: str,
    ask: int,
    sets: bool,
    probabilities: bool,
    min_confidence: float,
    target_error: float | None,
    explain: bool,
    strict: bool,
    labels: str | None,
    force: bool,
    resume: bool,
    sample: int | None,
    scheduler: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Label every row of the table FILE.

    Rows with an empty cell in the target column get a label, learned from the rows that have
    one. All rows are written in the same order with their cells unchanged, and four new columns:
    COLUMN_predicted, COLUMN_confidence, COLUMN_source ('given' or 'inferred'), and
    COLUMN_review, which is True where the row is hard to classify.

    FILE is CSV, TSV, JSON lines, Parquet or Excel, text also as .gz; '-' is standard input. It
    may also be a directory or a quoted pattern such as 'rows/*.parquet'; --out is then a directory,
    which gets one file for each. A directory of images is labeled by --labels, a table of names
    and labels, or by its subfolders.
    """
    delimiter = parse_delimiter(delimiter)
    if report is not None and no_report:
        raise BadInput("--report and --no-report contradict each other: give one of them.")
    show = not quiet and is_terminal()
    # The line is there before the imports, which take a second of their own.
    with errors_as_one_line(), progress_bar("Starting", None, show=show):
        from leaven._files import atomic_output
        from leaven.cli._label_summary import print_summary
        from leaven.cli._outputs import default_report, embedding_cache, refuse_same_file
        from leaven.tables import (
            LabelingOptions,
            TableOutput,
            format_of_path,
            label_table,
            labeled_path,
            read_with_format,
        )

        pictures = is_image_folder(file)
        column = "" if pictures else needed_target(target)
        if is_many(file) and not pictures:
            refuse_with_many(
                report=report,
                ask=ask,
                explain=explain,
                force=force,
                sets=sets,
                target_error=target_error is not None,
                labels=labels,
                vectors=vectors,
                embed=embed,
                start=start,
            )
            many = LabelingOptions(
                text=text,
                ignore=ignore,
                method=method,
                candidates=parse_names(candidates),
                time_limit=time_limit,
                prior=parse_prior(prior),
                missing=missing,
                strict=strict,
                probabilities=probabilities,
                min_confidence=min_confidence,
                random_state=seed,
                n_jobs=jobs,
                progress=show,
            )
            label_many(
                file,
                column,
                out,
                many,
                save=save,
                as_json=as_json,
                quiet=quiet,
                resume=resume,
                scheduler=scheduler,
                delimiter=delimiter,
                encoding=encoding,
                **({} if sample is None else {"sample": sample}),
            )
            return
        if resume or scheduler is not None or sample is not None:
            raise BadInput(
                "--resume, --sample and --scheduler are for many files: FILE must be a directory "
                "or a pattern such as 'rows/*.parquet'."
            )
        # What can be known to fail is told before the work, and before anything is read.
        named = f"{os.path.normpath(file)}.csv" if pictures else file
        source = format_of_path(named)
        out = labeled_path(named) if out is None else out
        output = TableOutput.at(out)
        if report is None and not no_report:
            report = default_report(out)
        for extra in (report, save):
            if extra is not None:
                check_report(extra)
        refuse_same_file(
            {"the output": out, "the report": report, "the model": save},
            {"the input": file},
            force=force,
        )
        options = LabelingOptions(
            text=text,
            ignore=ignore,
            embed=embed,
            embed_cache=None if embed is None else embedding_cache(out),
            image_folder=image_folder(file, pictures),
            method=method,
            candidates=parse_names(candidates),
            time_limit=time_limit,
            prior=parse_prior(prior),
            missing=missing,
            strict=strict,
            ask=ask,
            sets=sets,
            probabilities=probabilities,
            min_confidence=min_confidence,
            target_error=target_error,
            details=report is not None,
            random_state=seed,
            n_jobs=jobs,
            progress=show,
        )
        phase("Reading the table")
        if pictures:
            found = source
            table, column = image_rows(file, labels, target)
        else:
            table, found = read_with_format(
                file, delimiter=delimiter, encoding=encoding, file_format=source
            )
        if labels is not None and not pictures:
            from leaven.app import take_over_labels

            table = take_over_labels(table, column, labels)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = label_table(table, column, options, vectors=vectors, start=start)
        phase("Writing the result")
        page = None if report is None else _page(result, file, delimiter, encoding)
        output.like_input(source, found).write(result.table)
        if report is not None and page is not None:
            with atomic_output(report) as stream:
                stream.write(page)
        if save is not None:
            result.save(save)
    notes = [str(each.message) for each in caught if issubclass(each.category, UserWarning)]
    if not quiet:
        print_summary(
            result, file, out, notes, report=report, save=save, explain=explain, as_json=as_json
        )


def is_many(file: str) -> bool:
    """Whether FILE names a directory or a pattern, and not a file.

    Examples
    --------
    >>> from leaven.cli._label import is_many
    >>> is_many("rows/*.parquet"), is_many("rows.csv")
    (True, False)
    """
    if os.path.isdir(file):
        return True
    return any(sign in file for sign in "*?[") and not os.path.exists(file)


def refuse_with_many(**given: Any) -> None:
    """Raise if an option is given that makes no sense for many files."""
    names = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if names:
        raise BadInput(f"{names[0]} is for one file, but FILE names many. Leave it out.")


def label_many(
    file: str,
    target: str,
    out: str | None,
    options: Any,
    *,
    save: str | None,
    as_json: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Label many files, keep the model if asked to, and print a summary."""
    from leaven.tables import label_files

    if os.path.isdir(file) and not has_tables(file):
        raise BadInput(
            f"The directory {file!r} holds neither tables nor images: give a file, or a directory "
            "with some."
        )
    if out is None or out == STANDARD_STREAM:
        raise BadInput("Many files need a directory to go to: name it with --out.")
    if save is not None:
        check_report(save)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        done = label_files(file, target, out, options, **settings)
    if save is not None:
        done.model.save(save)
    if quiet:
        return
    notes = [str(each.message) for each in caught if issubclass(each.category, UserWarning)]
    summary = done.result.summary
    if as_json:
        facts = {
            "files": len(done.files),
            "kept": done.n_kept,
            "rows": done.n_rows,
            "labeled": done.n_labeled,
            "learned_from": done.n_fitted,
            "chosen_on": done.n_learned,
            "method": summary.method,
            "out": out,
            "notes": notes,
        }
        click.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    screen = console(err=True)
    for note in dict.fromkeys(notes):
        screen.print(f"Note: {note}")
    kept = f", {done.n_kept:,} of them kept from an earlier run" if done.n_kept else ""
    chosen = f" (chosen on {done.n_learned:,})" if done.n_learned < done.n_fitted else ""
    screen.print(
        f"Labeled {done.n_rows - done.n_labeled:,} of {done.n_rows:,} rows in "
        f"{len(done.files):,} files by {summary.method}, learned from {done.n_fitted:,} rows"
        f"{chosen}; wrote {out}{kept}."
    )


def _page(result: LabelingResult, file: str, delimiter: str | None, encoding: str) -> bytes:
    from leaven.report import render_report

    title = "Labeled table" if file == STANDARD_STREAM else os.path.basename(file)
    reading: dict[str, Any] = {} if delimiter is None else {"sep": delimiter}
    if encoding.lower() not in ("utf-8", "utf8"):
        reading["encoding"] = encoding
    return render_report(result, title=title, reading=reading).encode("utf-8")


def parse_prior(text: str) -> str | dict[str, float] | None:
    """Understand the value of ``--prior``.

    Examples
    --------
    >>> from leaven.cli._label import parse_prior
    >>> parse_prior("spam=0.3, ham=0.7"), parse_prior("none"), parse_prior("uniform")
    ({'spam': 0.3, 'ham': 0.7}, None, 'uniform')
    """
    if text in ("labeled", "uniform"):
        return text
    if text == "none":
        return None
    try:
        if text.lstrip().startswith("{"):
            return {str(name): float(share) for name, share in json.loads(text).items()}
        pairs = [part.rpartition("=") for part in text.split(",")]
        if not all(name.strip() for name, _, _ in pairs):
            raise ValueError(text)
        return {name.strip(): float(share) for name, _, share in pairs}
    except (ValueError, TypeError, AttributeError):
        raise BadInput(
            f"--prior {text!r} is not understood. Use labeled, uniform, none, or proportions such "
            "as spam=0.3,ham=0.7 (as JSON if a name holds a comma)."
        ) from None


def check_report(path: str) -> None:
    """Raise if a report or a model cannot be written to this path."""
    from leaven._files import output_problem

    problem = output_problem(path)
    if problem is not None:
        raise BadInput(problem)
