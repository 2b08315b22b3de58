"""Releases in small: a twin of the same body is where the robot is, beam theory is right where it should be."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from soft_twin.mesh.generate.sweep import sweep_tube
from soft_twin.mesh.tetrahedra import linear_tetrahedra
from soft_twin.studies.slender import real2sim
from soft_twin.studies.slender.shared import Motion, gravity_at
from soft_twin.twins.sofa import process

DURATION = 0.2  # [s]


def test_a_twin_of_the_same_body_falls_as_the_robot_does_and_another_does_not(small, same):
    rows = []
    for real in (same, small("other")):
        motions = real2sim.fall(str(real.path), str(same.path), DURATION, (0.0, "let out"))
        assert -motions[0].tips[-1, 1] > 2e-3  # it did fall, along gravity
        rows.append(real2sim.compare(same, 0.0, "let out", *motions))
    assert rows[0].tip_mm < 1e-2 < 0.2 < rows[1].tip_mm
    assert rows[0].tilt_deg < 1e-2
    json.dumps([asdict(row) for row in rows])
    assert "robot" in real2sim.table(rows + [real2sim.compare(same, 0.0, "held", *motions)])


def test_cables_that_are_held_carry_the_robot(same):
    drops = [
        -real2sim.fall(str(same.path), str(same.path), DURATION, (0.0, winches))[0].tips[-1, 1]
        for winches in ("held", "let out")
    ]
    assert 0.0 < drops[0] < 0.9 * drops[1]


def test_where_sofa_is_its_body_falls_beside_the_twin(same, monkeypatch, tmp_path):
    """The stand-in's is of our own elements, linear tetrahedra: it falls as well, and less, as they are stiffer."""
    monkeypatch.setattr(process, "WORKER", Path(__file__).parents[2] / "twins" / "sofa" / "stand_in.py")
    tube = linear_tetrahedra(sweep_tube(0.0018, 0.0045, 0.1, (1, 6, 6), "hex8"), 1)
    monkeypatch.setattr(type(same), "build_mesh", build_mesh_but_tet4(type(same).build_mesh, tube))
    case = 0.0, "let out"
    motions = real2sim.fall(str(same.path), str(same.path), DURATION, case)
    row = real2sim.compare(same, *case, *motions)
    drops = [-1e3 * each.tips[:, 1].min() for each in motions]
    assert drops[1] == pytest.approx(drops[0], rel=1e-6) and 1.0 < drops[2] < drops[0]
    assert row.tip_mm < 1e-2 < row.sofa_axial_mm < row.sofa_tip_mm < drops[0] and row.sofa_tilt_deg > 0.5
    assert "SOFA" in real2sim.table([row])
    real2sim.draw(tmp_path / "real2sim.png", same, [(0.0, "held")], [motions])
    monkeypatch.setenv("FAULT", "no_sofa")
    assert len(real2sim.fall(str(same.path), str(same.path), DURATION, case)) == 2


def build_mesh_but_tet4(build, tube):
    """A robot's `build_mesh`, of a tube of few linear tetrahedra where these are asked for."""
    return lambda robot, mesh=None, element=None: tube if element == "tet4" else build(robot, mesh, element)


def test_beam_theory_is_right_for_small_deflections_and_says_nothing_upright(small):
    stiff = small("stiff", body__material={"model": "corotational", "young_modulus": 4e7, "poisson_ratio": 0.3,
                                           "density": 1150.0})  # fmt: skip
    gravity = gravity_at(-30.0)
    sag = stiff.build_twin().equilibrium(gravity).tip - [0.0, 0.0, 0.1]
    assert sag[:2] == pytest.approx(real2sim.beam_deflection(stiff, gravity)[:2], rel=0.05, abs=1e-9)
    assert (real2sim.beam_deflection(stiff, gravity_at(90.0))[:2] < 1e-12).all()


def test_axes_that_lean_alike_to_other_sides_are_apart():
    lean = np.radians(10.0)
    one, other = (np.array([[0.0, side * np.sin(lean), np.cos(lean)]]) for side in (1.0, -1.0))
    assert real2sim.angles_deg(one, other) == pytest.approx([20.0])
    assert real2sim.angles_deg(one, one) == pytest.approx([0.0])


def test_what_is_less_than_a_beams_error_is_counted_where_the_beam_errs(same):
    times, gravity = np.array([0.0, 1.0]), gravity_at(0.0)
    beam = float(np.linalg.norm(real2sim.beam_deflection(same, gravity)))

    def motion(drop):
        return Motion(times, np.array([[0.0, 0.0, 0.1], [0.0, -drop, 0.1]]), np.tile([0.0, 0.0, 1.0], (2, 1)))

    row = real2sim.compare(same, 0.0, "held", motion(0.5 * beam), motion(0.4 * beam))
    assert row.less_than_beam == pytest.approx(0.8)
    assert real2sim.compare(same, 0.0, "held", motion(beam), motion(0.0)).less_than_beam is None
