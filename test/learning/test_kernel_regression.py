"""Regression against functions that it can be, and an honest choice of its constants."""

import numpy as np
import pytest

from soft_twin.errors import InputError
from soft_twin.learning.kernel_regression import CONSTANTS, Constants, choose, predict

RANDOM = np.random.default_rng(0)
INPUTS = RANDOM.uniform(-1.0, 1.0, (150, 3))
FOLDS = np.array_split(np.arange(150), 5)


def test_a_linear_map_is_found_and_goes_on_beyond_the_data():
    outputs = INPUTS @ RANDOM.normal(size=(3, 2)) + [1.0, -2.0]
    beyond = 5.0 * INPUTS[:4]
    expected = outputs[:4] + 4.0 * (outputs[:4] - [1.0, -2.0])
    np.testing.assert_allclose(predict(INPUTS, outputs, beyond, Constants(1e-9)), expected, atol=1e-6)


def test_a_bent_map_wants_a_bent_kernel():
    outputs = np.column_stack([np.sin(3.0 * INPUTS[:, 0]) + INPUTS[:, 1] ** 2, INPUTS[:, 2]])
    choice = choose({"all": INPUTS}, outputs, FOLDS, [*CONSTANTS, Constants(1e-3, 1.0, 0.5)])
    assert choice.constants.bent > 0.0 and choice.error < 0.1
    assert choose({"all": INPUTS}, outputs, FOLDS, [Constants(1e-3)]).error > 2.0 * choice.error


def test_inputs_that_say_nothing_are_not_chosen():
    outputs = INPUTS[:, :2] @ RANDOM.normal(size=(2, 2))
    noise = RANDOM.normal(size=INPUTS.shape)
    choice = choose({"noise": noise, "some": INPUTS[:, :1], "own": INPUTS}, outputs, FOLDS, CONSTANTS[:2])
    assert choice.inputs == "own"


def test_the_error_of_a_choice_is_that_of_rows_held_back():
    noise = RANDOM.normal(size=(150, 1))
    choice = choose({"all": INPUTS}, noise, FOLDS)
    assert choice.error > 0.9 * np.abs(noise).mean()


def test_what_is_no_number_is_refused():
    with pytest.raises(InputError, match="finite"):
        predict(INPUTS, np.full((150, 1), np.nan), INPUTS, Constants(1.0))
