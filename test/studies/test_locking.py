"""The validation of locking, on few meshes."""

import numpy as np
import pytest

from soft_twin import load_robot
from soft_twin.errors import UsageError
from soft_twin.studies import locking
from soft_twin.studies.locking import beam, deflection, run, table, timoshenko, tube


def test_timoshenko_is_euler_and_bernoulli_without_shear():
    assert timoshenko(2.0, 3.0, 5.0, 7.0, 1e30) == pytest.approx(2.0 * 3.0**4 / (8.0 * 5.0 * 7.0))


def test_a_slender_beam_at_zero_poissons_ratio_is_timoshenkos(monkeypatch):
    """Nothing is stiffened by the clamp, and two quadratic cells over the side are exact to a thousandth."""
    monkeypatch.setattr(locking, "RATIOS", (0.0,))
    monkeypatch.setattr(locking, "BEAMS", {"hex20": (1,), "hex20r": (1,)})
    monkeypatch.setattr(locking, "FINEST", 2)
    study = beam()
    assert study.reference[0] == pytest.approx(study.timoshenko[0], rel=2e-3)
    assert np.isnan(study.rows[1].shares[0])
    assert "singular" in table(study)


def test_linear_cells_lock_and_mean_dilatation_does_not():
    shares = {name: deflection(locking._cubes(name, 2), 0.49) / 20.75e-3 for name in ("hex8", "hex8f", "hex20r")}
    assert shares["hex8"] < 0.65
    assert shares["hex8f"] == pytest.approx(1.0, abs=0.04)
    assert shares["hex20r"] == pytest.approx(1.0, abs=0.02)


def test_tables_and_pictures_are_made(monkeypatch, tmp_path):
    monkeypatch.setattr(locking, "RATIOS", (0.3, 0.45))
    monkeypatch.setattr(locking, "BEAMS", {"tet4": (1,), "hex8f": (1, 2)})
    monkeypatch.setattr(locking, "TUBES", {"hex20r": ((1, 6, 10),)})
    monkeypatch.setattr(locking, "TUBE_SIZES", {})
    monkeypatch.setattr(locking, "FINEST", 2)
    monkeypatch.setattr(locking, "FINEST_TUBE", (1, 8, 20))
    text = run(tmp_path, tmp_path)
    assert "beam: tip deflection" in text and "tube: tip deflection" in text
    assert (tmp_path / "beam.png").stat().st_size > 1000 and (tmp_path / "tube.png").stat().st_size > 1000


def test_what_is_left_out_without_gmsh_is_said(monkeypatch):
    def no_gmsh(*_):
        raise UsageError("Gmsh is needed")

    monkeypatch.setattr("soft_twin.mesh.generate.gmsh_tube.tube_tetrahedra", no_gmsh)
    monkeypatch.setattr(locking, "RATIOS", (0.3,))
    monkeypatch.setattr(locking, "TUBES", {})
    monkeypatch.setattr(locking, "FINEST_TUBE", (1, 8, 20))
    study = tube()
    assert [row.note for row in study.rows] == ["the default mesh"]
    assert table(study).splitlines()[-1] == "left out: tet4 and tet10: Gmsh is needed"


@pytest.mark.parametrize("poisson_ratio", [0.3, 0.49])
def test_the_robots_default_is_within_a_percent_of_the_reference(poisson_ratio):
    """60 cells of hex20r, shorter towards the clamp, against 2 × 12 × 60."""
    reference = deflection(locking.sweep_tube(0.0018, 0.0045, 0.1, (2, 12, 60)), poisson_ratio)
    assert deflection(load_robot("slender").build_mesh(), poisson_ratio) == pytest.approx(reference, rel=0.01)
