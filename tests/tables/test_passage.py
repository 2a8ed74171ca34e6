"""Words that tell the class, and the passage of a text that holds most of them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaven.tables._passage import telling_passage, word_weights

WEIGHTS = {"goal": 1.0, "ball": 0.7, "rain": 0.4, "snow": 0.25}


def test_weights_are_divergences_by_hand() -> None:
    """Of three texts with "goal" two are sport; two texts of the prior are added."""
    texts = ["goal one", "goal two", "goal three", "sun four", "sun five"]
    probabilities = np.eye(2)[[0, 0, 1, 1, 1]]
    weights = word_weights(texts, probabilities)
    assert sorted(weights) == ["goal", "sun"]
    prior = np.array([2 / 5, 3 / 5])
    share = (np.array([2, 1]) + 2 * prior) / 5
    assert weights["goal"] == pytest.approx(float(np.sum(share * np.log(share / prior))))
    assert weights["sun"] > weights["goal"] > 0


def test_texts_without_a_common_word_have_no_weights() -> None:
    assert word_weights(["one", "two"], np.eye(2)) == {}
    assert word_weights(["", "?"], np.eye(2)) == {}


words = st.sampled_from(["goal", "ball", "rain", "snow", "of", "the", "extraordinary", "a"])


@given(st.lists(words, min_size=1, max_size=40), st.integers(8, 60))
def test_no_other_passage_of_that_length_tells_more(text_words: list[str], width: int) -> None:
    text = " ".join(text_words)
    found = telling_passage(text, WEIGHTS, width)
    assert len(found) <= max(width, 3)
    inside = found.strip("…")
    assert inside in text
    if len(text) <= width:
        assert found == text
        return

    def weight(passage: str) -> float:
        return sum(WEIGHTS.get(word, 0.0) for word in set(re.findall(r"\w+", passage)))

    best = (
        max(
            weight(text[start : start + length])
            for start in range(len(text))
            for length in range(1, width - 1)
            # whole words only: neither end inside of one
            if (start == 0 or text[start - 1] == " ")
            and (start + length >= len(text) or text[start + length] == " ")
        )
        if any(len(word) <= width - 2 for word in text_words)
        else 0.0
    )
    assert weight(inside) >= best - 1e-9


def test_a_text_that_tells_nothing_is_shown_from_its_beginning() -> None:
    assert telling_passage("one two three four", {}, 12) == "one two…"
    assert telling_passage("x" * 50, {}, 12) == "x" * 10 + "…"
    assert telling_passage("  two\n\tlines ", {}, 12) == "two lines"
