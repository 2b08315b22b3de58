"""Checks of what comes from outside: each says in one line what was expected and what was found."""

import numpy as np
import pytest

from soft_twin.checks import checked_count, checked_kind, checked_numbers
from soft_twin.errors import InputError


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ("abc", "'abc'"),
        ("a\nb" + "c" * 999, r"'a\\nbc+…"),
        ([[1.0], [1.0, 2.0]], "a list"),
        (np.array([["a"]]), r"an array of shape \(1, 1\)"),
        (dict, "the class dict"),
    ],
)
def test_what_are_no_numbers_is_told_in_a_few_words(values, found):
    with pytest.raises(InputError, match=f"^target: expected points \\(k, 3\\), found {found}$"):
        checked_numbers(values, "points (k, 3)", "target")


def test_what_is_of_another_kind_is_told():
    assert checked_kind(3, (int, str), "a name", "robot") == 3
    with pytest.raises(InputError, match="^robot: expected a name, found None$"):
        checked_kind(None, (int, str), "a name", "robot")


@pytest.mark.parametrize("value", [0, -1, 2.5, "3", None, True])
def test_counts_are_whole_numbers_from_one_on(value):
    assert checked_count(np.int64(3), "most") == 3
    with pytest.raises(InputError, match=f"^most: {value!r}: expected 1 or more$"):
        checked_count(value, "most")
