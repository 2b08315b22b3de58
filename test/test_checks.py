"""Checks of what comes from outside: each says in one line what was expected and what was found."""

import numpy as np
import pytest

from soft_twin.checks import check_positive, checked_count, checked_kind, checked_list, checked_number, checked_numbers
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


def test_lists_are_of_one_kind():
    assert checked_list((value for value in (1, 2)), int, "whole numbers", "counts") == [1, 2]
    for alone, found in ((3, "3"), ("34", "'34'"), (None, "None")):
        with pytest.raises(InputError, match=f"^counts: expected a list of counts, found {found}$"):
            checked_list(alone, int, "whole numbers", "counts")
    with pytest.raises(InputError, match="^counts: expected whole numbers, found '2'$"):
        checked_list([1, "2"], int, "whole numbers", "counts")


@pytest.mark.parametrize("value", [0, -1, 2.5, "3", None, True])
def test_counts_are_whole_numbers_from_one_on(value):
    assert checked_count(np.int64(3), "most") == 3
    with pytest.raises(InputError, match=f"^most: {value!r}: expected 1 or more$"):
        checked_count(value, "most")


@pytest.mark.parametrize("value", ["3", None, [3.0], np.ones((1, 1)), 3j])
def test_a_number_is_one_and_no_text(value):
    for good in (3, np.float32(3.0), np.int64(3), np.array(3.0)):
        assert checked_number(good, "size", "m") == 3.0
    with pytest.raises(InputError, match=r"^size: expected a number \[m\], found "):
        checked_number(value, "size", "m")
    with pytest.raises(InputError, match="^share: expected a number, found "):
        checked_number(value, "share")
    with pytest.raises(InputError, match=r"^size: expected a number \[m\], found "):
        check_positive(value, "size", "m")
