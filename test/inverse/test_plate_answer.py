"""One answer of a plate's model, within the limits of its cables."""

import numpy as np
import pytest

import soft_twin
from soft_twin.inverse.plate_answer import answer
from soft_twin.inverse.plate_table import PlateTable

NAMES = ["cable_1", "cable_2", "cable_3"]


@pytest.fixture(scope="module")
def neck():
    return soft_twin.load_robot("neck")


@pytest.mark.parametrize("name", ["pcc_arc", "pcc_chord", "fem"])
def test_out_of_reach_no_answer_exceeds_the_limits_and_what_binds_is_named(neck, name):
    found = answer(neck.build_twin(name), np.radians(79.0), 0.0, NAMES)
    assert not found.reachable
    assert found.displacements.min() >= -0.045 - 1e-9 and found.displacements.max() <= 0.055 + 1e-9
    assert found.active_limits == ("cable_1 displacement max",)
    assert 50.0 < np.degrees(found.reached[0]) < 65.0


@pytest.mark.parametrize("name", ["pcc_chord", "fem"])
def test_in_reach_it_is_what_was_asked_for(neck, name):
    found = answer(neck.build_twin(name), 0.3, -0.2, NAMES)
    assert found.reachable and found.active_limits == ()
    np.testing.assert_allclose(found.reached, [0.3, -0.2], atol=1e-3)
    np.testing.assert_allclose(found.displacements, neck.build_twin(name).displacements(0.3, -0.2), atol=2e-5)
    assert np.isfinite(found.efforts).all() == (name == "fem")


def test_an_answer_of_a_table_says_how_far_its_load_is_from_the_one_that_counts(neck):
    table = PlateTable(neck.build_twin("pcc_chord"), neck.build_twin("fem"), 0.3, rings=2, rays=6)
    assert answer(table, 0.2, 0.0, NAMES).caveat == ""
    table.bear(np.array([0.0, -9.81, 0.0]))
    assert "a gravity 90° from this one" in answer(table, 0.2, 0.0, NAMES).caveat
