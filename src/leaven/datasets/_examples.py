"""The example tables that come with leaven."""

from __future__ import annotations

from importlib.resources import files

import pandas as pd

# The column to be filled, and the columns that hold dates.
EXAMPLES: dict[str, tuple[str, list[str]]] = {
    "support_tickets": ("topic", ["created"]),
    "orchard": ("variety", []),
}


def load_example(name: str, *, with_truth: bool = False) -> pd.DataFrame:
    """Load an example table, in which few rows are labeled.

    - ``"support_tickets"``: 600 short texts (``text``) with ``id``, ``created`` and
      ``channel``; ``topic`` (billing, bug, feature, login or shipping) is filled in 20 rows.
    - ``"orchard"``: 500 apples with six measurements, of which ``acidity_g_l`` has missing
      values, and their ``site``; ``variety`` is filled in 15 rows. Ripening changes an
      apple more than its variety does, so that the unlabeled rows help much.

    Both tables are made up. ``leaven example NAME`` writes them as files.

    Parameters
    ----------
    name : {"support_tickets", "orchard"}
    with_truth : bool, default=False
        Add the column ``topic_true`` or ``variety_true`` with the class of every row.

    Returns
    -------
    DataFrame
        An empty label is NaN.

    See Also
    --------
    load : Data sets of the literature.

    Examples
    --------
    >>> from leaven.datasets import load_example
    >>> tickets = load_example("support_tickets")
    >>> tickets.shape, int(tickets["topic"].notna().sum())
    ((600, 5), 20)
    """
    if name not in EXAMPLES:
        raise ValueError(f"There is no example {name!r}. Known examples: {', '.join(EXAMPLES)}.")
    target, dates = EXAMPLES[name]
    folder = files("leaven.datasets") / "data"
    with (folder / f"{name}.csv").open(encoding="utf-8") as stream:
        table = pd.read_csv(stream, parse_dates=dates)
    if with_truth:
        with (folder / "truth" / f"{name}.csv").open(encoding="utf-8") as stream:
            truth = pd.read_csv(stream, index_col="id")[target]
        table[f"{target}_true"] = truth.loc[table["id"]].to_numpy()
    return table
