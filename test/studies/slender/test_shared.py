"""What the slender robot's experiments share."""

from soft_twin.studies.slender.shared import variant


def test_a_variant_leaves_the_values_that_it_was_given_as_they_are(tmp_path):
    meshes = {"hex20r": {"element": "hex20r", "divisions": [1, 6, 4]}}
    made = variant(tmp_path, "one", {"body.meshes": meshes, "body.meshes.hex20r.divisions": [1, 6, 8]})
    assert made.body.meshes["hex20r"].divisions == (1, 6, 8)
    assert meshes["hex20r"]["divisions"] == [1, 6, 4]
