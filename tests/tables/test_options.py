"""The options of labeling a table: checked once, in one place."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest

from leaven.cli import main
from leaven.selection import candidate_names
from leaven.tables import LabelingOptions, TableError
from leaven.tables._options import make_options, refuse_options


def test_the_defaults_leave_the_choice_to_leaven() -> None:
    options = LabelingOptions()
    assert options.is_auto
    assert options.texts == []
    assert options.candidates is None
    assert (options.random_state, options.ask, options.details) == (0, 0, True)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (None, []),
        ("note", ["note"]),
        (7, [7]),
        (["a", "b"], ["a", "b"]),
        (("a", "b"), ["a", "b"]),
        (frozenset(["a"]), ["a"]),
    ],
)
def test_texts_are_a_list_however_they_are_named(text: Any, names: list[Any]) -> None:
    assert LabelingOptions(text=text).texts == names


@pytest.mark.parametrize("name", candidate_names())
def test_every_candidate_can_be_named(name: str) -> None:
    assert not LabelingOptions(method=name).is_auto
    assert LabelingOptions(candidates=[name]).is_auto


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"method": "harmonics"}, "The method 'harmonics' is not known. Did you mean 'harmonic'?"),
        ({"candidates": ["svm"]}, "The candidate 'svm' is not known."),
        ({"candidates": "harmonic"}, "candidates must be a list of names, got 'harmonic'."),
        ({"candidates": []}, "candidates is empty: name at least one."),
        ({"candidates": ["harmonic"] * 2}, "A candidate is named more than once."),
        (
            {"method": "harmonic", "candidates": ["harmonic"]},
            "The method 'harmonic' and candidates are both named",
        ),
        ({"ask": -1}, "ask must be a number of rows, 0 or more, got -1."),
        ({"ask": True}, "ask must be a number of rows, 0 or more, got True."),
        ({"ask": 2.5}, "ask must be a number of rows, 0 or more, got 2.5."),
        ({"time_limit": 0.0}, "time_limit must be a number of seconds above 0, got 0.0."),
        ({"missing": "NA"}, "missing must be a collection of cells, got 'NA': use ['NA']."),
    ],
)
def test_what_is_wrong_is_told(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(TableError) as caught:
        LabelingOptions(**wrong)
    assert str(caught.value).startswith(message)


def test_they_do_not_change() -> None:
    options = LabelingOptions(method="harmonic")
    with pytest.raises(FrozenInstanceError):
        options.method = "auto"  # type: ignore[misc]
    changed = make_options(options, {"prior": None}, needed_by="f")
    assert (changed.method, changed.prior) == ("harmonic", None)
    assert options.prior == LabelingOptions().prior
    # A change is checked like the rest.
    with pytest.raises(TableError, match="ask must be"):
        make_options(options, {"ask": -3}, needed_by="f")
    with pytest.raises(TypeError, match=r"f has no option 'priors'\. Did you mean 'prior'"):
        make_options(None, {"priors": None}, needed_by="f")


def test_options_that_have_no_meaning_are_refused_only_if_set() -> None:
    refuse_options(LabelingOptions(), ["ask", "method"], needed_by="f")
    with pytest.raises(TableError, match="f makes no use of ask, got 2"):
        refuse_options(LabelingOptions(ask=2), ["ask"], needed_by="f")
    refuse_options(LabelingOptions(ask=2), ["method"], needed_by="f")


def test_the_command_offers_every_option() -> None:
    # Under another name, or by itself: the bar on a terminal, details with the report, a cache
    # beside the output, and the folder of FILE.
    renamed = {"random_state": "seed", "n_jobs": "jobs"}
    by_itself = {"progress", "details", "embed_cache", "image_folder"}
    command = main.commands["label"]
    parameters = {parameter.name for parameter in command.params}
    wanted = {renamed.get(each.name, each.name) for each in fields(LabelingOptions)} - by_itself
    assert wanted <= parameters
