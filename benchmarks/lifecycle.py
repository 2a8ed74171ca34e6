"""How long it takes to come back to a saved model, in processor time.

- `leaven --help` and `import leaven`, each as a ratio to `import sklearn` in a process of its own;
- loading the file of a model and labeling a first row, in a process of its own, without imports;
- labeling 100,000 rows of 20 columns (15 numbers, 5 categories) by a saved model, for several
  methods, each also as a ratio to reading that table from a CSV file.

    python benchmarks/lifecycle.py [--rows 100000] [--methods harmonic,naive-bayes]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from leaven.tables import label_table, load_model

REPEATS = 3  # the least of them counts: noise only adds


def child_seconds(code: str, *arguments: str) -> float:
    """Processor time of a process that runs ``code``, the least of some runs."""
    import resource

    found = []
    for _ in range(REPEATS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-c", code, *arguments], check=True, stdout=subprocess.DEVNULL
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def rows(n_rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    kinds = rng.integers(3, size=n_rows)
    table = pd.DataFrame({f"x{j}": rng.normal(size=n_rows) + kinds * (j < 4) for j in range(15)})
    for j in range(5):
        codes = (rng.integers(6, size=n_rows) + kinds * (j == 0)) % 6
        table[f"c{j}"] = np.array(list("uvwxyz"))[codes]
    return table.assign(kind=np.array(["a", "b", "c"], dtype=object)[kinds])


FIRST = """
import sys, time
import leaven.tables, leaven.selection, pandas as pd, sklearn.pipeline, sklearn.ensemble
started = time.process_time()
model = leaven.load(sys.argv[1])
model.predict(pd.read_csv(sys.argv[2], nrows=1))
print(time.process_time() - started)
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--methods", default="logistic-regression,naive-bayes,harmonic,auto")
    options = parser.parse_args()
    base = child_seconds("import sklearn.base")
    for name, code in {
        "leaven --help": "from leaven.cli import main; main(['--help'])",
        "import leaven": "import leaven",
    }.items():
        took = child_seconds(code)
        print(f"{name:34s} {took:6.2f} s  {took / base:5.2f} x import sklearn")
    train, new = rows(2_000), rows(options.rows, seed=1).drop(columns="kind")
    train.loc[60:, "kind"] = None
    with tempfile.TemporaryDirectory() as folder:
        path, table = Path(folder) / "m.leaven", Path(folder) / "new.csv"
        new.to_csv(table, index=False)
        started = time.process_time()
        pd.read_csv(table)
        reading = time.process_time() - started
        for method in options.methods.split(","):
            label_table(train, "kind", method=method, details=False).save(path)
            first = subprocess.run(
                [sys.executable, "-c", FIRST, str(path), str(table)],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            model = load_model(path)
            took = np.inf
            for _ in range(REPEATS):
                started = time.process_time()
                model.predict(new)
                took = min(took, time.process_time() - started)
            print(
                f"{method:34s} {took:6.2f} s  {took / reading:5.1f} x read_csv  load and first row "
                f"{float(first):.2f} s  {path.stat().st_size / 1e6:.1f} MB"
            )


if __name__ == "__main__":
    main()
