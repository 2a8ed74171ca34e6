"""Texts through an embedding model; the packages are small fakes."""

from __future__ import annotations

import json
import sys
import types

import numpy as np
import pandas as pd
import pytest

import leaven
from leaven.cli import main
from leaven.exceptions import MissingExtraError
from leaven.tables import TableError, label_table
from leaven.tables import _embed as module
from leaven.tables._embed import Embedding, load_embedder

WORDS = ("rain", "snow", "goal", "ball")


class FakeModel:
    """Counts four words; remembers which texts it was asked for."""

    asked: list[str]

    def __init__(self, name):
        if name.startswith("absent"):
            raise OSError(f"Cannot reach the hub for {name}.\nMany lines more.")
        self.name = name

    @classmethod
    def from_pretrained(cls, name):
        return cls(name)

    def encode(self, texts):
        type(self).asked.extend(texts)
        if self.name == "broken":
            return np.full((len(texts), 2), np.nan)
        counts = [[text.count(word) for word in WORDS] for text in texts]
        return np.asarray(counts, dtype=np.float64) + 0.25


@pytest.fixture
def fake(monkeypatch):
    """Install both packages, as one fake."""
    FakeModel.asked = []
    for name, attribute in (
        ("sentence_transformers", "SentenceTransformer"),
        ("model2vec", "StaticModel"),
    ):
        package = types.ModuleType(name)
        setattr(package, attribute, FakeModel)
        package.__spec__ = types.SimpleNamespace(name=name)
        monkeypatch.setitem(sys.modules, name, package)
    return FakeModel


def news():
    rng = np.random.default_rng(3)
    kinds = rng.integers(2, size=40)
    words = [
        " ".join(rng.choice(WORDS[2:] if kind else WORDS[:2], 3)) + f" item {i} of today"
        for i, kind in enumerate(kinds)
    ]
    names = np.where(kinds, "sport", "weather").astype(object)
    table = pd.DataFrame({"words": words, "topic": names})
    table.loc[table.groupby("topic").cumcount() > 2, "topic"] = None
    return table, names


def test_texts_become_vectors_beside_the_words(fake):
    table, truth = news()
    found = label_table(table, "topic", method="harmonic", embed="small", details=False)
    assert found.summary.columns == {"words": "text", "words_vector": "vector"}
    assert (found.table["topic_predicted"] == truth).mean() > 0.9
    assert "words_vector" not in found.table
    assert fake.asked == table["words"].tolist()
    instead = label_table(
        table, "topic", method="harmonic", embed="small", ignore="words", details=False
    )
    assert instead.summary.columns == {"words_vector": "vector"}


def test_each_text_is_embedded_once(fake, tmp_path):
    table = pd.DataFrame({"t": ["rain", "snow", "rain"]})
    cache = tmp_path / "t.vectors.npz"
    first = Embedding("small", ("t",)).join(table, cache)
    assert fake.asked == ["rain", "snow"]
    np.testing.assert_array_equal(first["t_vector"].iloc[2], [1.25, 0.25, 0.25, 0.25])
    again = Embedding("small", ("t",)).join(pd.DataFrame({"t": ["snow", "ball"]}), cache)
    assert fake.asked == ["rain", "snow", "ball"]
    np.testing.assert_array_equal(again["t_vector"].iloc[0], first["t_vector"].iloc[1])
    Embedding("other", ("t",)).join(table, cache)
    assert fake.asked[3:] == ["rain", "snow"]
    assert [path.name for path in tmp_path.iterdir()] == ["t.vectors.npz"]


def test_a_broken_cache_is_made_anew(fake, tmp_path):
    cache = tmp_path / "t.vectors.npz"
    cache.write_bytes(b"PK\x03\x04 no archive")
    Embedding("small", ("t",)).join(pd.DataFrame({"t": ["rain"]}), cache)
    assert fake.asked == ["rain"]
    with np.load(cache) as file:
        assert str(file["model"]) == "small"


def test_a_saved_model_embeds_new_rows(fake, tmp_path):
    table, _ = news()
    label_table(table, "topic", method="harmonic", embed="small", details=False).save(
        tmp_path / "m.leaven"
    )
    model = leaven.load(tmp_path / "m.leaven")
    assert model.embedding == Embedding("small", ("words",))
    new = pd.DataFrame({"words": ["snow snow rain of new", "ball goal goal of new"]})
    assert model.predict(new).tolist() == ["weather", "sport"]
    assert fake.asked[-2:] == new["words"].tolist()


def test_an_interrupted_run_keeps_what_it_embedded(fake, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BATCH", 2)
    table = pd.DataFrame({"t": ["rain", "snow", "goal", "ball", "interrupt", "last"]})
    cache = tmp_path / "t.vectors.npz"
    encode = fake.encode

    def interrupted(self, texts):
        if "interrupt" in texts:
            raise KeyboardInterrupt
        return encode(self, texts)

    monkeypatch.setattr(fake, "encode", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Embedding("small", ("t",)).join(table, cache)
    monkeypatch.setattr(fake, "encode", encode)
    fake.asked.clear()
    whole = Embedding("small", ("t",)).join(table, cache)
    assert fake.asked == ["interrupt", "last"]
    np.testing.assert_array_equal(whole["t_vector"].iloc[2], [0.25, 0.25, 1.25, 0.25])


def test_the_bar_of_transformers_is_off_while_it_loads(fake, monkeypatch):
    """It would be drawn into the progress line of leaven."""
    state = {"shown": True}
    logging = types.SimpleNamespace(
        is_progress_bar_enabled=lambda: state["shown"],
        disable_progress_bar=lambda: state.update(shown=False),
        enable_progress_bar=lambda: state.update(shown=True),
    )
    for name in ("transformers", "transformers.utils"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "transformers.utils.logging", logging)
    while_loading = []

    class Watched(fake):
        def __init__(self, name):
            while_loading.append(state["shown"])
            super().__init__(name)

    monkeypatch.setattr(sys.modules["sentence_transformers"], "SentenceTransformer", Watched)
    load_embedder("small")
    assert while_loading == [False]
    assert state["shown"]


def test_a_model_takes_another_place_of_its_embedder_and_a_cache(fake, tmp_path):
    table, _ = news()
    model = label_table(table, "topic", method="harmonic", embed="small", details=False).model()
    new = pd.DataFrame({"words": ["snow snow rain of new", "ball goal goal of new"]})
    with pytest.raises(TableError, match="'absent' could not be loaded"):
        model.with_embedder("absent").predict(new)
    moved = model.with_embedder("elsewhere/small", cache=tmp_path / "new.vectors.npz")
    assert moved.embedding.model == "elsewhere/small"
    fake.asked.clear()
    for _ in range(2):
        assert moved.predict(new).tolist() == ["weather", "sport"]
    assert fake.asked == new["words"].tolist()
    # The cache is a place on this machine, and stays here.
    moved.save(tmp_path / "m.leaven")
    assert leaven.load(tmp_path / "m.leaven").embedding == Embedding("elsewhere/small", ("words",))
    plain = label_table(table, "topic", method="harmonic", details=False).model()
    with pytest.raises(TableError, match="learned from no vectors that an embedding model made"):
        plain.with_embedder("small")


def test_predict_embeds_once_and_finds_a_model_that_moved(fake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table, _ = news()
    label_table(table, "topic", method="harmonic", embed="small", details=False).save("m.leaven")
    pd.DataFrame({"words": ["snow snow rain of new", "ball goal goal of new"]}).to_csv(
        "new.csv", index=False
    )
    fake.asked.clear()
    for _ in range(2):
        main(["predict", "m.leaven", "new.csv", "--embed", "moved"], standalone_mode=False)
    assert fake.asked == ["snow snow rain of new", "ball goal goal of new"]
    assert pd.read_csv("new.labeled.csv")["topic_predicted"].tolist() == ["weather", "sport"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "m.leaven",
        "new.csv",
        "new.labeled.csv",
        "new.vectors.npz",
    ]


def test_a_missing_text_column_is_said_by_the_model(fake):
    table, _ = news()
    table["size"] = np.arange(len(table)) + 0.5
    model = label_table(table, "topic", method="harmonic", embed="small", details=False).model()
    with pytest.warns(UserWarning, match="no column 'words', 'words_vector'"):
        model.predict(pd.DataFrame({"size": [2.5]}))


def test_absence_is_one_clear_line(monkeypatch):
    monkeypatch.setattr(module, "is_installed", lambda name: False)
    with pytest.raises(MissingExtraError, match=r"needs sentence-transformers or model2vec") as one:
        load_embedder("small")
    assert "leaven[embed]" in str(one.value)
    assert "\n" not in str(one.value)


def test_no_network_is_one_clear_line(fake):
    with pytest.raises(TableError, match=r"'absent/model' could not be loaded: Cannot reach") as no:
        load_embedder("absent/model")
    assert "\n" not in str(no.value)
    assert "give the path of its folder" in str(no.value)


def test_numbers_that_are_none_are_refused(fake):
    with pytest.raises(TableError, match=r"gave an array of shape \(1, 2\) for 1 texts"):
        load_embedder("broken")(["rain"])


def test_a_table_without_texts_is_refused(fake):
    table = pd.DataFrame({"x": [0.5, 1.5, 7.5, 8.5], "y": ["a", None, "b", None]})
    with pytest.raises(TableError, match="no column looks like a text"):
        leaven.label(table, "y", embed="small")
    texts, _ = news()
    with pytest.raises(TableError, match="get the name 'words_vector', but there is such a column"):
        leaven.label(texts.assign(words_vector=1), "topic", embed="small")


def test_which_package_a_model_is_for(fake, monkeypatch, tmp_path):
    assert module._package_of("minishlab/potion") == "model2vec"
    assert module._package_of("all-MiniLM") == "sentence_transformers"
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "model2vec"}))
    assert module._package_of(str(tmp_path)) == "model2vec"
    (tmp_path / "config.json").write_text(json.dumps({"max_length": 512, "normalize": False}))
    assert module._package_of(str(tmp_path)) == "model2vec"
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    assert module._package_of(str(tmp_path)) == "sentence_transformers"
    (tmp_path / "config.json").write_text("no JSON")
    assert module._package_of(str(tmp_path)) == "sentence_transformers"
    monkeypatch.setattr(module, "is_installed", lambda name: name == "model2vec")
    assert module._package_of("all-MiniLM") == "model2vec"
