import dataclasses
import math

import numpy as np
import pytest
from scipy.integrate import trapezoid

from soft_twin import load_robot
from soft_twin.descriptions.drives import WinchDescription
from soft_twin.driving.cables.winch import Winch, winch_of


def _winch(direction=1, growth=0.0, **choices):
    description = WinchDescription(
        radius=0.0065, gear_ratio=36.0, direction=direction, current_limit=3.0, growth=growth
    )
    return Winch(description, **choices)


@pytest.mark.parametrize("direction", [1, -1])
def test_a_turn_of_the_drum_winds_its_circumference_and_turns_the_rotor_36_times(direction):
    circumference = 2.0 * math.pi * 0.0065
    assert _winch(direction).rotor_counts(circumference) == pytest.approx(direction * 36 * 8192)


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("growth", [0.0, 2e-5])
@pytest.mark.parametrize("calibration", [1.0, 1.02])
def test_counts_and_displacements_are_inverse_to_each_other(direction, growth, calibration):
    winch = _winch(direction, growth=growth, calibration=calibration)
    displacements = np.linspace(-0.01, 0.05, 31)
    np.testing.assert_allclose(
        winch.displacement_of_counts(winch.rotor_counts(displacements)), displacements, atol=1e-15
    )


def test_a_growing_drum_winds_the_area_under_its_radius():
    # radius r0 + g phi, integrated over one turn
    turn = 2.0 * math.pi
    assert _winch(growth=1e-4).displacement(turn) == pytest.approx(0.0065 * turn + 0.5e-4 * turn**2)


@pytest.mark.parametrize("direction", [1, -1])
def test_rate_is_the_derivative_of_displacement(direction):
    winch = _winch(direction)
    counts_per_second = 600 / 60 * 8192  # at 600 rpm
    dt = 1e-3
    assert winch.rate(600) == pytest.approx(winch.displacement_of_counts(counts_per_second * dt) / dt)


def test_force_is_torque_over_radius():
    assert _winch().force(0.5) == pytest.approx(0.5 * 0.18 / 0.0065)


@pytest.mark.parametrize("length", [0.0, 0.05, 1.0])
def test_a_cable_wound_onto_itself_fills_an_area(length):
    diameter, width, first = 0.0007, 0.004, 0.0065
    winch = _winch(growth=diameter**2 / (2.0 * math.pi * width))
    filled = math.pi * width * (winch.radius(length) ** 2 - first**2)
    assert filled == pytest.approx(length * diameter**2)
    # and the angle is the integral of dL / r(L)
    lengths = np.linspace(0.0, length, 20001)
    assert winch.drum_angle(length) == pytest.approx(trapezoid(1.0 / winch.radius(lengths), x=lengths), rel=1e-8)


def test_rate_and_force_go_with_the_radius():
    winch = _winch(growth=1e-4)
    assert winch.rate(600, 0.05) / winch.rate(600) == pytest.approx(winch.radius(0.05) / 0.0065)
    assert winch.force(1.0, 0.05) * winch.radius(0.05) == pytest.approx(winch.force(1.0) * 0.0065)


def test_a_cable_does_the_work_of_its_motor():
    winch = _winch(growth=1e-4, calibration=1.2)
    assert winch.force(0.5, 0.03) * winch.rate(600, 0.03) == pytest.approx(0.5 * 0.18 * 600 / 60 * 2.0 * math.pi / 36.0)


def test_each_cable_is_wound_as_its_calibration_says():
    drive = load_robot("slender").winches
    second = dataclasses.replace(drive.cables[1], direction=-1, scale=1.02)
    winch = winch_of(dataclasses.replace(drive, cables=(drive.cables[0], second, *drive.cables[2:])))
    counts = winch.rotor_counts(np.full(6, 0.01))
    assert counts[1] == pytest.approx(-counts[0] / 1.02)
    np.testing.assert_allclose(winch.displacement_of_counts(counts), 0.01)


@pytest.mark.parametrize("gear_ratio", [19.2, 36.0, 100.0])
@pytest.mark.parametrize("radius", [0.003, 0.04])
def test_a_gear_without_losses_gives_all_of_the_rotors_power_to_the_cable(gear_ratio, radius):
    winch = Winch(WinchDescription(radius=radius, gear_ratio=gear_ratio, direction=1, current_limit=3.0))
    current, speed = 0.4, 2400.0  # [A, turns/min]; 0.18 N·m/A are told behind 36 turns
    power = 0.18 / 36.0 * current * speed * 2.0 * math.pi / 60.0
    assert winch.force(current) * winch.rate(speed) == pytest.approx(power)
