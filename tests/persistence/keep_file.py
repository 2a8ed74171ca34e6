"""Keep a model file of this version, which later versions must read; see test_old_files.py.

    python tests/persistence/keep_file.py

Run it once for each release, and never again for the same: the point of an old file is that an old
version wrote it. A file is kept for at least one minor version.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import leaven
from leaven.tables import label_table

FILES = Path(__file__).parent / "files"
METHODS = ["logistic-regression", "naive-bayes", "extra-trees", "harmonic", "self-training"]


def rows(n_rows: int = 60) -> pd.DataFrame:
    """Every kind of column, with gaps, and three classes."""
    rng = np.random.default_rng(1)
    kinds = np.arange(n_rows) % 3
    words = np.array(["rain wind snow cold", "goal ball team match", "bank loan rate price"])
    extra = np.array(["today", "again", "soon", "late"])
    table = pd.DataFrame(
        {
            "size": (rng.normal(size=n_rows) + 3 * kinds).round(2),
            "color": np.array(["red", "green", "blue"])[(kinds + (rng.random(n_rows) < 0.2)) % 3],
            "seen": pd.to_datetime(rng.integers(19_800, 20_100, size=n_rows), unit="D"),
            "note": [
                f"{words[kind]} {rng.choice(extra)} number {i}" for i, kind in enumerate(kinds)
            ],
            "way": [np.eye(3)[kind].round(1) + 0.25 for kind in kinds],
            "topic": np.array(["weather", "sport", "money"], dtype=object)[kinds],
        }
    )
    table.loc[::7, "size"] = np.nan
    table.loc[30:, "topic"] = None
    return table


def main() -> None:
    table = rows()
    result = label_table(table, "topic", candidates=METHODS, details=False)
    model = result.model()
    FILES.mkdir(exist_ok=True)
    path = FILES / f"table-{leaven.__version__}.leaven"
    if path.exists():
        raise SystemExit(f"{path} is there already, and an old file does not change.")
    model.save(path)
    expected = model.predict_proba(table.drop(columns="topic"))
    expected.round(6).to_csv(path.with_suffix(".csv"), index=False)


if __name__ == "__main__":
    main()
