"""Every example runs, and what it prints is what physics says: figures are lines `name: value unit`."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
FIGURE = re.compile(r"^(\S[^:\n]*): (-?[0-9.]+(?:e-?[0-9]+)?)\b", re.MULTILINE)


@pytest.fixture
def run(capsys):
    """Function name → figures by their names, and all that the example has printed."""

    def run(name):
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        printed = capsys.readouterr().out
        return {what: float(value) for what, value in FIGURE.findall(printed)}, printed

    return run


def test_every_example_has_a_test_and_stands_in_the_index():
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    tested = set(re.findall(r'run\("(\w+)"\)', Path(__file__).read_text(encoding="utf-8")))
    listed = set(re.findall(r"\.\./examples/(\w+)\.py\)", (ROOT / "docs" / "index.md").read_text(encoding="utf-8")))
    assert names
    assert names == tested == listed


def test_a_beam_sags_as_timoshenko_says(run):
    figures, _ = run("beam")
    # A clamped section cannot widen, which makes the beam stiffer near it: less sag, by a share of width over length.
    assert 0.98 * figures["theory"] < figures["sag"] < figures["theory"]
    bending = 1000.0 * 9.81 * 0.02**2 * 0.2**4 / (8.0 * 1e8 * 0.02**4 / 12.0)
    assert 1.0 < 1e-3 * figures["theory"] / bending < 1.02


def test_a_ball_carries_three_eighths_of_a_beam(run):
    figures, _ = run("contact")
    assert figures["share"] == pytest.approx(3.0 / 8.0, abs=0.003)
    assert figures["carried by the ball"] / figures["weight"] == pytest.approx(figures["share"], abs=1e-3)
    assert figures["penetration"] < 1e-3


def test_a_beam_that_is_let_go_swings_as_theory_says_and_keeps_its_energy(run):
    figures, _ = run("release")
    inertia, area = 0.01**4 / 12.0, 0.01**2
    assert figures["theory"] == pytest.approx(
        2e3 * np.pi / (1.87510407**2 * np.sqrt(2e7 * inertia / (1000.0 * area * 0.2**4))), rel=1e-4
    )
    assert figures["period"] == pytest.approx(figures["theory"], rel=0.01)
    assert figures["bent by"] == pytest.approx(1e3 * 1000.0 * 9.81 * area * 0.2**4 / (8.0 * 2e7 * inertia), rel=0.02)
    assert figures["energy left"] == pytest.approx(1.0, abs=1e-3)


def test_air_that_is_let_in_past_the_limit_point_does_the_work_that_the_walls_store(run):
    figures, _ = run("balloon")
    assert figures["last"] < 0.98 * figures["highest"]
    assert figures["work of the air"] == pytest.approx(figures["elastic energy"], rel=5e-3)


def test_youngs_modulus_is_found_within_what_noise_leaves(run):
    figures, _ = run("identification")
    assert figures["found"] == pytest.approx(figures["true"], rel=5e-3)
    assert figures["noise left"] == pytest.approx(0.3, rel=0.1)


def test_a_bar_is_shortened_by_its_cable_as_hooke_says(run):
    figures, printed = run("own_robot")
    stretch = 1e3 * 2.0 * 0.12 / (5e5 * 0.02**2)
    assert figures["shortened"] == pytest.approx(stretch, rel=0.03)
    assert figures["cable wound in"] == pytest.approx(figures["shortened"] + 1e3 * 2.0 / 4000.0, abs=1e-3)
    assert figures["tension for 1 mm"] == pytest.approx(2.0 / figures["shortened"], rel=0.01)
    assert "bar.yaml:13: robot.cables[0].stiffnes: there is no key" in printed


def test_the_finger_holds_its_tip_in_every_attitude(run):
    figures, printed = run("finger")
    for degrees in (90, 45, 0):
        assert figures[f"held at {degrees}"] < 0.1 < 1.0 < figures[f"untouched at {degrees}"]
    assert "actuators: left, right, air" in printed


def test_the_tip_comes_first_where_it_is_told_to(run):
    figures, _ = run("priorities")
    assert max(figures["tip alone, tip"], figures["tip first, tip"]) < 1e-3
    assert figures["tip first, middle"] < 0.9 * figures["tip alone, middle"]
    assert figures["side by side, tip"] > 0.1
    assert figures["side by side, middle"] < figures["tip first, middle"]


def test_a_necks_cables_are_the_chords_of_its_arc(run):
    figures, _ = run("arcs")
    # The plate's axis is leant by one turn, and its centre ends the arc that leaves the base along z.
    turn = Rotation.from_euler("XY", [-10.0, 20.0], degrees=True)
    lean = turn.apply([0.0, 0.0, 1.0])
    angle, azimuth = np.arccos(lean[2]), np.arctan2(lean[1], lean[0])
    along = Rotation.from_rotvec(angle * np.array([-np.sin(azimuth), np.cos(azimuth), 0.0]))
    centre = (
        0.1075
        / angle
        * np.array([(1.0 - np.cos(angle)) * np.cos(azimuth), (1.0 - np.cos(angle)) * np.sin(azimuth), np.sin(angle)])
    )
    for number, degrees in enumerate((90.0, 210.0, 330.0), start=1):
        hole = 0.05 * np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees)), 0.0])
        chord = np.linalg.norm(centre + along.apply(hole) - hole)
        assert figures[f"cable {number}"] == pytest.approx(1e3 * (0.1075 - chord), abs=2e-4)
    assert (figures["pitch"], figures["roll"]) == pytest.approx((20.0, -10.0), abs=1e-5)


def test_an_arms_shape_follows_from_its_inclinations(run):
    figures, _ = run("tensegrity")
    assert figures["struts"] == 20
    assert figures["nodes by inclinations"] < 8.0 < 100.0 < figures["nodes of a straight arm"]


def test_motors_wind_what_is_commanded_no_faster_than_they_may(run):
    figures, _ = run("motors")
    assert figures["furthest from what was commanded"] < 0.02
    assert 25.0 < figures["fastest"] < 1.3 * 50.0


def test_gravity_follows_a_base_that_turns(run):
    figures, _ = run("gravity")
    assert figures["the base turned by"] == pytest.approx(135.0, abs=0.1)
    assert figures["gravity, mean"] < figures["gravity, at most"] < 1.0


def test_a_recorded_run_ends_as_it_did(run):
    figures, _ = run("replay")
    assert figures["gravity turned by"] > 6.0
    assert max(figures[f"{what}, at most"] for what in ("gravity", "twin/tip", "cables/command")) < 1e-4  # [°, mm]
