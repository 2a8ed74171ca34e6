"""What vectors of texts gain over their words.

Small tables of 20 Newsgroups (four groups on one theme, 600 rows, 5 and 20 labels per class). The
vectors are latent semantic analysis of the whole corpus (18,828 messages): like an embedding
model, it has read much more than the table. Accuracy of the harmonic method, which goes by
neighbors, and of logistic regression on the unlabeled rows, means over draws.

    python benchmarks/vectors.py [N_DRAWS] [--embed NAME]

With a model of sentence-transformers or model2vec, by name or by the path of its folder, its
vectors are taken instead. Needs LEAVEN_DATA.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from leaven.datasets import load
from leaven.tables import label_table

GROUPS = ["comp.graphics", "comp.os.ms-windows.misc", "comp.sys.mac.hardware", "comp.windows.x"]
N_ROWS, N_DIMENSIONS = 600, 100


def lsa_vectors(texts: pd.Series) -> Any:
    words = TfidfVectorizer(sublinear_tf=True, min_df=5, max_features=50_000, dtype=np.float32)
    return TruncatedSVD(N_DIMENSIONS, random_state=0).fit_transform(words.fit_transform(texts))


def main(n_draws: int, embed: str | None, cache: Path) -> None:
    data = load("20news-18828")
    texts, groups = pd.Series(data.data), np.asarray(data.target, dtype=object)
    lsa = None if embed is not None else lsa_vectors(texts)
    inside = np.flatnonzero(np.isin(groups, GROUPS))
    rows = []
    for n_labels in (5, 20):
        for draw in range(n_draws):
            rng = np.random.default_rng(draw)
            chosen = rng.choice(inside, N_ROWS, replace=False)
            truth = pd.Series(groups[chosen], dtype=object)
            given = truth.groupby(truth).sample(n_labels, random_state=draw).index
            table = pd.DataFrame({"text": texts.to_numpy()[chosen], "group": None})
            table.loc[given, "group"] = truth[given]
            made: dict[str, Any] = {"embed": embed, "embed_cache": cache}
            if lsa is not None:
                made = {"vectors": lsa[chosen]}
            for method in ("harmonic", "logistic-regression"):
                for name, options in {
                    "words": {},
                    "words and vectors": made,
                    "vectors": {**made, "ignore": ["text"]},
                }.items():
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        found = label_table(
                            table, "group", method=method, text="text", details=False, **options
                        ).table["group_predicted"]
                    right = (found == truth)[~truth.index.isin(given)].mean()
                    rows.append((method, n_labels, name, right))
    frame = pd.DataFrame(rows, columns=["method", "labels per class", "learned from", "accuracy"])
    print(frame.groupby(["method", "labels per class", "learned from"])["accuracy"].mean().round(3))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("n_draws", type=int, nargs="?", default=5)
    parser.add_argument("--embed")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        main(arguments.n_draws, arguments.embed, Path(folder) / "vectors.npz")
