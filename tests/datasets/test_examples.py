from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.semi_supervised import LabelSpreading

from leaven.datasets import load_example
from leaven.datasets._examples import EXAMPLES
from studies.make_examples import make_orchard, make_support_tickets, write_all

DATA = Path(str(files("leaven.datasets") / "data"))


@pytest.mark.parametrize(
    ("name", "target", "rows", "labels", "classes"),
    [("support_tickets", "topic", 600, 20, 5), ("orchard", "variety", 500, 15, 3)],
)
def test_labels_and_truth(name: str, target: str, rows: int, labels: int, classes: int) -> None:
    table = load_example(name)
    full = load_example(name, with_truth=True)
    truth = full.pop(f"{target}_true")
    pd.testing.assert_frame_equal(full, table)
    assert len(table) == rows
    given = table[target].notna()
    assert int(given.sum()) == labels
    assert truth.notna().all()
    assert truth.nunique() == table[target].nunique() == classes
    assert (truth[given] == table.loc[given, target]).all()
    assert table["id"].is_unique


def test_columns() -> None:
    tickets = load_example("support_tickets")
    assert list(tickets.columns) == ["id", "created", "channel", "text", "topic"]
    assert tickets["created"].dtype.kind == "M"
    assert tickets["created"].is_monotonic_increasing
    assert tickets["channel"].nunique() == 4
    assert tickets["text"].str.len().between(20, 500).all()
    assert not tickets["text"].str.contains(r"[\[\]{}|]").any()  # no template is left over
    assert tickets["topic"].head().notna().any()  # the quickstart shows the first rows
    orchard = load_example("orchard")
    assert orchard.select_dtypes("number").shape[1] == 6
    missing = orchard.drop(columns="variety").isna().mean()
    assert missing[missing > 0].index.tolist() == ["acidity_g_l"]
    assert 0.04 < missing["acidity_g_l"] < 0.12


def test_files_are_what_the_generator_makes(tmp_path: Path) -> None:
    write_all(tmp_path)
    for path in [*DATA.glob("*.csv"), *DATA.glob("truth/*.csv")]:
        shipped = pd.read_csv(path)
        made = pd.read_csv(tmp_path / path.relative_to(DATA))
        # The last digit of a rounded measurement may differ between machines.
        pd.testing.assert_frame_equal(shipped, made, atol=0.11, rtol=0)


def test_files_are_small_and_are_the_known_examples() -> None:
    paths = list(DATA.rglob("*.csv"))
    assert sum(path.stat().st_size for path in paths) < 300_000
    # `leaven example` offers every table of the folder by its name.
    assert {path.stem for path in DATA.glob("*.csv")} == set(EXAMPLES)


def test_unlabeled_tickets_help() -> None:
    table, truth = make_support_tickets()
    classes, codes = np.unique(truth["topic"], return_inverse=True)
    given = table["topic"].notna().to_numpy()
    X = CountVectorizer(stop_words="english").fit_transform(table["text"])
    model = MultinomialNB(alpha=0.1).fit(X[given], codes[given])
    supervised = np.mean(model.predict(X[~given]) == codes[~given])
    for _ in range(20):  # EM of this test's own
        R = model.predict_proba(X)
        R[given] = np.eye(len(classes))[codes[given]]
        model.feature_log_prob_ = np.log((C := R.T @ X + 0.1) / C.sum(axis=1, keepdims=True))
        model.class_log_prior_ = np.log(R.mean(axis=0))
    with_unlabeled = np.mean(model.predict(X[~given]) == codes[~given])
    assert 0.4 < supervised < 0.7
    assert with_unlabeled > supervised + 0.15


def test_unlabeled_apples_help() -> None:
    table, truth = make_orchard()
    _, codes = np.unique(truth["variety"], return_inverse=True)
    given = table["variety"].notna().to_numpy()
    X = table.select_dtypes("number")
    X = X.fillna(X.mean())
    Z = ((X - X.mean()) / X.std()).to_numpy()
    linear = LogisticRegression(max_iter=1000).fit(Z[given], codes[given])
    supervised = np.mean(linear.predict(Z[~given]) == codes[~given])
    y = np.where(given, codes, -1)
    spread = LabelSpreading(kernel="knn", n_neighbors=7, alpha=0.95, max_iter=1000).fit(Z, y)
    with_unlabeled = np.mean(spread.transduction_[~given] == codes[~given])
    assert with_unlabeled > supervised + 0.2
    assert with_unlabeled > 0.75


def test_unknown_example() -> None:
    with pytest.raises(ValueError, match=r"no example 'x'. Known examples: support_tickets, orch"):
        load_example("x")
