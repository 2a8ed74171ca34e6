"""Going on from a saved model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from leaven.selection import candidate_names
from leaven.tables import LabelingOptions, TableError, label_table
from leaven.tables._start import about_start, reuse, since_start

ABOUT = {
    "target": "kind",
    "n_labeled": 20,
    "estimated_accuracy": [0.61, 0.78, 0.9],
    "classes": ["a", "b"],
    "columns": {"words": "text", "size": "number"},
    "candidates": ["harmonic", "naive-bayes"],
    "embed": "some/model",
}


@pytest.mark.parametrize(
    ("n_labeled", "accuracy", "sentence"),
    [
        (32, (0.8, 0.84, 0.9), "12 labels more, estimated accuracy 78% → 84%."),
        (19, (0.7, 0.71, 0.8), "1 label fewer, estimated accuracy 78% → 71%."),
        (20, None, "the same number of labels, accuracy not estimated, where it was 78% before."),
    ],
)
def test_sentence(n_labeled, accuracy, sentence):
    found = since_start(ABOUT, n_labeled, accuracy, ["a", "b"])
    assert found == f"Since the last time: {sentence}"


def test_sentence_without_an_estimate_and_with_other_classes():
    about = ABOUT | {"estimated_accuracy": None}
    assert since_start(about, 21, (0.7, 0.71, 0.8), ["b", "c"]) == (
        "Since the last time: 1 label more, estimated accuracy 71%, where it was not estimated "
        "before, new class 'c', no label of class 'a' any more."
    )
    assert "neither then nor now" in since_start(about, 20, None, ["a", "b"])


def test_what_is_reused():
    found = reuse(LabelingOptions(time_limit=5.0), ABOUT, ["size", "words"])
    assert found.texts == ["words"]
    assert found.embed == "some/model"
    assert list(found.candidates)[:2] == ["harmonic", "naive-bayes"]
    assert sorted(found.candidates) == sorted(candidate_names())
    gone = reuse(LabelingOptions(embed="other", method="harmonic"), ABOUT, ["size"])
    assert gone.texts == []
    assert gone.embed == "other"
    assert gone.candidates is None
    assert reuse(LabelingOptions(), ABOUT, ["size"]).candidates is None


def blobs(n_labels, seed=0):
    rng = np.random.default_rng(seed)
    kinds = np.repeat(["a", "b"], 30)
    table = pd.DataFrame({"size": rng.normal(size=60) + 4 * (kinds == "b"), "kind": kinds})
    table.loc[table.groupby("kind").cumcount() >= n_labels, "kind"] = None
    return table


def test_two_runs_are_compared(tmp_path):
    options = {"candidates": ["naive-bayes", "logistic-regression"], "details": False}
    first = label_table(blobs(4), "kind", **options)
    assert first.summary.since == ""
    first.save(tmp_path / "m.leaven")
    second = label_table(blobs(9), "kind", start=tmp_path / "m.leaven", **options)
    before, after = (each.estimated_accuracy[1] for each in (first, second))
    assert second.summary.since == (
        f"Since the last time: 10 labels more, estimated accuracy {before:.0%} → {after:.0%}."
    )
    assert second.summary.to_dict()["since"] == second.summary.since
    again = label_table(blobs(9), "kind", start=first.model(), **options)
    assert again.summary.since == second.summary.since


def test_a_model_of_another_target_is_refused(tmp_path):
    model = label_table(blobs(4), "kind", method="naive-bayes", details=False).model()
    with pytest.raises(TableError, match="labels 'kind', not 'sort'"):
        about_start(model, "sort")
