"""Modules that an extra brings: the message names what to install."""

from __future__ import annotations

import pytest

from leaven._optional import import_optional, is_installed
from leaven.exceptions import MissingExtraError


@pytest.mark.parametrize("module", ["no_such_package", "no_such_package.part.inner"])
def test_the_package_and_the_extra_are_named(module: str) -> None:
    expected = 'plot_map needs no_such_package. Install it with: pip install "leaven[plot]"'
    with pytest.raises(MissingExtraError) as raised:
        import_optional(module, extra="plot", needed_by="plot_map")
    assert str(raised.value) == expected


def test_what_is_there_is_told_without_an_import() -> None:
    assert is_installed("json")
    assert not is_installed("no_such_package")
