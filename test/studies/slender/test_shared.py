"""What the slender robot's experiments share."""

import pytest

from soft_twin.errors import UsageError
from soft_twin.studies.slender.shared import emulated_robot, tuned_twin, variant


def test_a_variant_leaves_the_values_that_it_was_given_as_they_are(tmp_path):
    meshes = {"hex20r": {"element": "hex20r", "divisions": [1, 6, 4]}}
    made = variant(tmp_path, "one", {"body.meshes": meshes, "body.meshes.hex20r.divisions": [1, 6, 8]})
    assert made.body.meshes["hex20r"].divisions == (1, 6, 8)
    assert meshes["hex20r"]["divisions"] == [1, 6, 4]


def test_a_folder_above_that_takes_nothing_is_told(tmp_path):
    (tmp_path / "tuned").touch()
    folder = tmp_path / "static"
    folder.mkdir()
    with pytest.raises(UsageError, match="cannot store results in '.*tuned'"):
        tuned_twin(folder, emulated_robot(folder))
