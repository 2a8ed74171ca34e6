"""Texts in clusters of which most hold no label: the graph must reach them."""

import numpy as np
import pandas as pd
import pytest

from leaven.tables import label

N_CLASSES, N_TEMPLATES, N_ROWS = 3, 6, 13


def texts(seed, *, mixed=False):
    """Texts from templates, more rows of each than neighbors in the graph.

    A text has five of the six words of its template, two of twelve words of its class and four
    of sixty that mean nothing. Labels are in the first half of the templates only.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for c in range(N_CLASSES):
        for template in range(N_TEMPLATES):
            for _ in range(N_ROWS):
                words = [f"class{c}word{k}" for k in rng.choice(12, 2, replace=False)]
                words += [f"case{c}x{template}word{k}" for k in rng.choice(6, 5, replace=False)]
                words += [f"other{k}" for k in rng.choice(60, 4, replace=False)]
                rows.append((" ".join(rng.permutation(words)), c, template, rng.normal()))
    table = pd.DataFrame(rows, columns=["text", "class", "template", "size"])
    truth, template = table["class"].to_numpy(), table.pop("template").to_numpy()
    y = np.full(len(table), None, dtype=object)
    for c in range(N_CLASSES):
        known = np.flatnonzero((truth == c) & (template < N_TEMPLATES // 2))
        for row in rng.choice(known, 4, replace=False):
            y[row] = f"c{c}"
    table["class"] = y
    if not mixed:
        table = table.drop(columns="size")
    return table, np.array([f"c{c}" for c in truth]), template >= N_TEMPLATES // 2


@pytest.mark.parametrize("method", ["harmonic", "consistency", "spectral-transducer"])
@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_clusters_without_a_label_get_the_class_of_the_nearest(method, mixed, seed):
    table, truth, bare = texts(seed, mixed=mixed)
    found = label(table, target="class", method=method)["class_predicted"].to_numpy()
    # Of one class for all it is a third; each cluster is right or wrong as a whole.
    assert np.mean(found[bare] == truth[bare]) > 0.7
