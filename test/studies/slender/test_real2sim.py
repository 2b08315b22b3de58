"""Releases in small: a twin of the same body is where the robot is, beam theory is right where it should be."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from soft_twin.studies.slender import real2sim
from soft_twin.studies.slender.shared import Motion, gravity_at

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
