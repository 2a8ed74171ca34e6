"""The data sets of Saeed (2018), tables 3.1 and 3.2, in the form in which they were used."""

from __future__ import annotations

from typing import Any

import pandas as pd

from leaven.datasets import load, make_independent_twin

TWIN = "-twin"

ROWS = {"vowel": 528}
"""The source has 528 rows of vowel: the part that its donors train on, which is the first."""

DISTINCT = ("xd6",)
"""The source has all 512 rows that there can be, once each."""

# Naive Bayes with few labels often cannot tell classes without a label apart, and the first of
# them is taken. Where the classes have numbers or an order in the original file, that is used.
CLASS_ORDER = {
    "balance-scale": ("L", "B", "R"),
    "zoo": ("mammal", "bird", "reptile", "fish", "amphibian", "insect", "invertebrate"),
}


def prepare(name: str) -> tuple[Any, pd.Series[Any]]:
    """Rows and classes of a data set, or, with ``-twin`` after its name, of its twin.

    A discrete table becomes one of pandas categories in which a missing value is a category:
    the source says that rows with missing values were left out, but its numbers of rows are
    those of all rows. Numeric tables become arrays, without rows that miss a value.
    """
    original = name.removesuffix(TWIN)
    bunch = load(original)
    X, y = bunch.data, bunch.target
    if original in ROWS:
        X, y = X.iloc[: ROWS[original]], y.iloc[: ROWS[original]]
    if original in DISTINCT:
        first = ~X.assign(**{"class of the row": y}).duplicated()
        X, y = X[first], y[first]
    y = y.reset_index(drop=True)
    order = CLASS_ORDER.get(original, ())
    if set(y) == set(order):
        y = y.map({label: f"{i} {label}" for i, label in enumerate(order, start=1)})
    if bunch.kind == "discrete":
        X = X.reset_index(drop=True).astype(object).fillna("?").astype("category")
        kind = "categorical"
    else:
        kept = X.notna().all(axis=1).to_numpy()
        X, y = X.to_numpy(dtype=float)[kept], y[kept].reset_index(drop=True)
        kind = "gaussian"
    if name != original:
        X, y = make_independent_twin(X, y, kind=kind, random_state=0)
    return X, y
