"""The tree by which results of partitions are merged."""

from __future__ import annotations

import pytest

from leaven.partitions._merge import merge_in_order


def bracket(a: str, b: str) -> str:
    return f"({a}{b})"


@pytest.mark.parametrize(
    ("letters", "tree"),
    [
        ("a", "a"),
        ("abc", "((ab)c)"),
        ("abcd", "((ab)(cd))"),
        ("abcdefg", "(((ab)(cd))((ef)g))"),  # 4 + 2 + 1, the small ones first
    ],
)
def test_equal_numbers_of_partitions_are_merged(letters: str, tree: str) -> None:
    # One after the other, the rounding of a sum would grow with the number of partitions.
    assert merge_in_order(letters, bracket) == tree


def test_few_results_are_kept() -> None:
    # Sixteen partitions wait in at most five places, which the depth of the tree shows.
    merged = merge_in_order("abcdefghijklmnop", bracket)
    assert merged.startswith("((((ab)")
    assert merged.endswith("(op))))")


def test_nothing_to_merge() -> None:
    with pytest.raises(ValueError, match="There is no partition"):
        merge_in_order([], bracket)
