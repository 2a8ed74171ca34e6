"""Files of the models of tables: load one, or read what it says of itself."""

from __future__ import annotations

from pathlib import Path

from leaven.persistence import FileHeader, ModelFileError, load_object, read_header
from leaven.tables._errors import TableError
from leaven.tables._model import KIND, TableModel

_ABOUT = (
    "target",
    "n_rows",
    "n_labeled",
    "classes",
    "labels_per_class",
    "method",
    "candidates",
    "estimated_accuracy",
    "columns",
    "dropped",
)
"""What a file must say of a model: ``leaven show`` and ``--start`` ask for these."""


def load_model(path: str | Path) -> TableModel:
    """Read the model of a table from a file. No code in the file is executed.

    Parameters
    ----------
    path : str or path
        Written by ``leaven label --save`` or :meth:`TableModel.save`.

    Returns
    -------
    TableModel

    Raises
    ------
    leaven.persistence.ModelFileError
        If it is no such file, is damaged, or of a version that cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import leaven
    >>> from leaven.datasets import load_example
    >>> from leaven.tables import label_table
    >>> orchard = load_example("orchard")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "orchard.leaven"
    ...     label_table(orchard, "variety", method="naive-bayes").model().save(path)
    ...     labels = leaven.load(path).predict(orchard.head(3))
    >>> labels.name, len(labels)
    ('variety', 3)
    """
    model: TableModel = load_object(path, kind=KIND)
    return model


def describe_model(path: str | Path) -> FileHeader:
    """Read what a file says of the model in it, without loading the model.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    FileHeader
        ``about`` holds rows, labels, classes, method, estimated accuracy and columns.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from leaven.datasets import load_example
    >>> from leaven.tables import describe_model, label_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "orchard.leaven"
    ...     label_table(load_example("orchard"), "variety", method="naive-bayes").save(path)
    ...     about = describe_model(path).about
    >>> about["n_labeled"], about["method"]
    (15, 'naive-bayes')
    """
    header = read_header(path)
    if header.kind != KIND:
        raise TableError(f"{path} holds a {header.kind}, not the model of a table.")
    lacking = [name for name in _ABOUT if name not in header.about]
    if lacking:
        raise ModelFileError(
            f"{path} does not say of its model: {', '.join(lacking)}. It was changed, or not "
            "written by 'leaven label --save'."
        )
    return header
