"""The lines of Python that do the same as the command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from leaven.tables import LabelingResult, TableError, format_of_path

_PLACEHOLDER = "table.csv"


def python_snippet(
    result: LabelingResult, title: str, reading: Mapping[str, Any] | None = None
) -> str:
    """Return lines that read the table and label it as it was done.

    Parameters
    ----------
    result : LabelingResult
    title : str
        The name of the file, if its suffix is that of a table.
    reading : mapping, optional
        Further arguments of the function of pandas that reads the file.
    """
    reader = _reader(result, title, dict(reading or {}))
    arguments = ["table", f"target={result.summary.target!r}", *_options(result)]
    call = f"labeled = leaven.label({', '.join(arguments)})"
    if len(call) > 60:  # A phone shows no more in a line.
        inside = "".join(f"    {argument},\n" for argument in arguments)
        call = f"labeled = leaven.label(\n{inside})"
    return f"import leaven\nimport pandas as pd\n\n{reader}\n{call}\n"


def _reader(result: LabelingResult, title: str, reading: dict[str, Any]) -> str:
    comment = ""
    try:
        file_format = format_of_path(title)
        file = title
    except TableError:
        file_format, file = format_of_path(_PLACEHOLDER), _PLACEHOLDER
        comment = "  # the name of your file"
    if file_format.kind == "parquet":
        return f"table = pd.read_parquet({file!r})"
    options: dict[str, Any] = {}
    if file_format.kind == "jsonl":
        options["lines"] = True
    else:
        if file_format.delimiter != ",":
            options["sep"] = file_format.delimiter
        if _came_as_text(result):
            # As the command reads a file: "007" and "NA" stay what they are.
            options.update(dtype=str, keep_default_na=False)
    options.update(reading)
    arguments = "".join(f", {key}={_literal(value)}" for key, value in options.items())
    function = "read_json" if file_format.kind == "jsonl" else "read_csv"
    return f"table = pd.{function}({file!r}{arguments}){comment}"


def _came_as_text(result: LabelingResult) -> bool:
    """Whether every cell that came is a string, as when the command reads a CSV file."""
    came = result.table.iloc[:, : len(result.preparer.feature_names_in_) + 1]
    columns = [came.iloc[:, place] for place in range(came.shape[1])]
    return all(
        not column.hasnans and pd.api.types.infer_dtype(column) == "string" for column in columns
    )


def _options(result: LabelingResult) -> list[str]:
    """Write the arguments that are not the defaults."""
    found = []
    texts = [str(text) for text in result.preparer.text]
    if texts:
        found.append(f"text={texts!r}")
    if result.selection is None:
        found.append(f"method={result.summary.method!r}")
    options = result.options
    if result.selection is not None and options.candidates is not None:
        found.append(f"candidates={list(options.candidates)!r}")
    if result.selection is not None and options.time_limit is not None:
        found.append(f"time_limit={options.time_limit!r}")
    prior = options.prior
    if prior is None or (isinstance(prior, str) and prior != "labeled"):
        found.append(f"prior={prior!r}")
    elif not isinstance(prior, str):
        names = [_plain(each.name) for each in result.summary.classes]
        pairs = prior.items() if isinstance(prior, dict) else zip(names, prior, strict=True)
        # From the command line the names are strings, whatever the classes are.
        by_text = {str(each): each for each in names}
        shares = {by_text.get(str(key), key): float(share) for key, share in pairs}
        found.append(f"prior={shares!r}")
    missing = _missing_cells(result)
    if missing:
        found.append(f"missing={missing!r}")
    seed = options.random_state
    if isinstance(seed, (int, np.integer)) and seed != 0:
        found.append(f"random_state={int(seed)}")
    return found


def _missing_cells(result: LabelingResult) -> list[str]:
    """Cells of the target that were read as "no label" though they are not empty."""
    target = result.summary.target
    names = [str(column) for column in result.table.columns]
    cells = result.table.iloc[:, names.index(target)]
    inferred = result.table.iloc[:, names.index(f"{target}_source")].to_numpy() == "inferred"
    distinct = cells[inferred].dropna().unique().tolist()
    # -1 among integers needs no mention.
    return sorted({str(cell) for cell in distinct if str(cell).strip() not in ("", "-1")})


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _literal(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else repr(value)
