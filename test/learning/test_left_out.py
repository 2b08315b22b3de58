"""What frames that are left out say of choices: beside scipy's tests and by counting."""

import numpy as np
import pytest
from scipy.stats import ttest_rel

from soft_twin.learning.left_out import simplest_alike, surely_nearer


@pytest.mark.parametrize("count", [2, 3, 5, 9])
def test_surely_is_students_paired_test(count):
    random, said = np.random.default_rng(count), []
    for _ in range(200):
        own, others = random.normal(1.0, 0.5, count), random.normal(1.4, 0.5, count)
        said.append(surely_nearer(own, others))
        assert said[-1] == (ttest_rel(others, own, alternative="greater").pvalue < 0.05)
    assert 0 < sum(said) < 200


def test_chance_is_taken_for_sure_once_in_twenty():
    random = np.random.default_rng(0)
    own, others = random.normal(size=(2, 4000, 4))
    said = [surely_nearer(*pair) for pair in zip(own, others, strict=True)]
    assert np.mean(said) == pytest.approx(0.05, abs=0.011)  # three standard deviations


def test_what_is_alike_is_not_nearer():
    same = np.array([1.0, 2.0, 3.0])
    assert not surely_nearer(same, same) and surely_nearer(same, same + 0.5) and not surely_nearer(same, same - 0.5)


def test_the_simplest_is_chosen_of_those_that_are_not_worse():
    noise = np.array([0.3, -0.3, 0.3, -0.3])
    errors = {"none": np.ones(4), "some": 0.6 + noise, "all": 0.5 - noise}
    assert simplest_alike(errors) == "some"
    assert simplest_alike(errors | {"none": 0.6 + noise}) == "none"
