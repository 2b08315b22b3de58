"""A trunk of arcs behind plays whose truth is known: what it is learned from, and what goes beyond that."""

import numpy as np
import pytest

from soft_twin.parallel import Workers, working_with
from soft_twin.studies.learning import real_tips
from soft_twin.studies.learning.trunk_arcs import MOTORS, Trunk, learn, start

WIDTH, NOISE, PRIOR = 0.08, 1e-3, 0.01  # of inputs; [m]


def truth() -> Trunk:
    """Cables pull 90 degrees apart, turned by 30 degrees from disk to disk, and gravity straightens a little."""
    angles = np.deg2rad([[195.0, 105.0], [45.0, -45.0], [165.0, 255.0]])
    gains = np.array([0.6, 0.9, 1.2])[:, None, None] * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    spread = np.array([[1.0, 0.8, 0.7], [-0.1, 1.0, 0.8], [0.0, -0.2, 1.0]])
    rest = np.array([[0.02, 0.05], [0.0, -0.05], [-0.03, 0.0]])
    return Trunk(np.array([0.1, 0.1]), np.array([0.106, 0.098, 0.12]), rest, spread, gains)


def circle(radii: tuple[float, float, float], rng: np.random.Generator) -> np.ndarray:
    """(120, 6) inputs once around and back, each disk's pair at another phase."""
    turn = np.linspace(0.0, 2.0 * np.pi, 60)
    turn = np.concatenate([turn, turn[::-1]])
    inputs = rng.uniform(-0.05, 0.05, (120, 6))
    for (one, other), radius, phase in zip(MOTORS, radii, (1.0, 0.5, 0.0), strict=True):
        inputs[:, one] += radius * np.cos(turn + phase)
        inputs[:, other] -= radius * np.sin(turn + phase)
    return inputs


def recorded(inputs: np.ndarray, rng: np.random.Generator, place: np.ndarray | float = 0.0):
    """Inputs, and the disks' places (n, 3, 3) with noise."""
    places = truth().places(real_tips.play(inputs, WIDTH, place))
    return inputs, places + rng.normal(0.0, NOISE, places.shape)


def test_an_arc_is_rolled_out():
    bends = np.array([[np.pi / 2, 0.0], [0.0, 0.0], [0.0, np.pi / 2]])  # to x; straight on; to z
    trunk = Trunk(np.array([0.1, 0.2]), np.array([0.3, 0.1, 0.2]), bends, np.eye(3), np.zeros((3, 2, 2)))
    (first, second, third), radius, other = trunk.places(np.zeros((1, 6)))[0], 0.6 / np.pi, 0.4 / np.pi
    np.testing.assert_allclose(first, [0.1 + radius, -radius, 0.2], atol=1e-8)
    np.testing.assert_allclose(second, first + [0.1, 0.0, 0.0], atol=1e-8)
    np.testing.assert_allclose(third, second + [other, 0.0, other], atol=1e-8)


def test_a_cable_bends_towards_its_pull():
    trunk, plays = truth(), np.zeros((2, 6))
    plays[1, MOTORS[2][0]] = 0.1  # at the last disk, towards 165 degrees in x, z
    moved = np.diff(trunk.places(plays)[:, -1], axis=0)[0]
    assert moved[0] < 0.0 < moved[2]


@pytest.mark.parametrize("asked", ["circle", "random"])
def test_what_circles_tell_holds_for_other_inputs(asked):
    rng = np.random.default_rng(18)
    circles = [recorded(circle(radii, rng), rng) for radii in ((0.25, 0.3, 0.4), (0.15, 0.2, 0.3), (0.05, 0.1, 0.15))]
    inputs = circle((0.2, 0.25, 0.35), rng) if asked == "circle" else rng.uniform(-0.3, 0.3, (100, 6))
    inputs, places = recorded(inputs, rng)
    trunk = real_tips.learn_arcs(circles, WIDTH, PRIOR)
    off = trunk.places(real_tips.play(inputs, WIDTH)) - places
    design = [np.column_stack([np.ones(len(each)), each]) for each in (np.concatenate([c[0] for c in circles]), inputs)]
    tips = np.concatenate([c[1][:, -1] for c in circles])
    linear = design[1] @ np.linalg.lstsq(design[0], tips, rcond=None)[0] - places[:, -1]
    error = np.linalg.norm(off[:, -1], axis=1).mean()
    assert error < 4.0 * NOISE
    assert error < 0.2 * np.linalg.norm(linear, axis=1).mean()


def test_lengths_are_told_by_the_disks():
    rng = np.random.default_rng(3)
    plays = rng.uniform(-0.3, 0.3, (100, 6))
    found = learn(plays, truth().places(plays), 1e-4)
    np.testing.assert_allclose(found.lengths, truth().lengths, atol=1e-4)
    np.testing.assert_allclose(found.rest, truth().rest, atol=1e-3)
    np.testing.assert_allclose(found.spread, truth().spread, atol=1e-2)


def test_a_place_tells_where_friction_holds():
    rng = np.random.default_rng(5)
    held = np.array([0.07, -0.06, 0.05, -0.07, 0.06, -0.05])
    inputs, places = recorded(rng.uniform(-0.01, 0.01, (20, 6)), rng, held)
    errors = []
    for place in (0.0, start(truth(), inputs[0], WIDTH, places[0])):
        found = truth().places(real_tips.play(inputs, WIDTH, place))
        errors.append(np.linalg.norm(found - places, axis=2).mean())
    assert errors[1] < 3.0 * NOISE < 5.0 * NOISE < errors[0]


def test_widths_are_chosen_without_the_recording_that_is_held_back(monkeypatch):
    monkeypatch.setattr(real_tips, "ARCS", ((0.03, PRIOR), (WIDTH, PRIOR), (0.13, PRIOR), (WIDTH, 10.0)))
    rng = np.random.default_rng(7)
    made = {str(r): recorded(circle((r, 1.2 * r, 1.6 * r), rng)[::2], rng) for r in (0.15, 0.2, 0.25)}
    spoiled = made | {"0.15": (made["0.15"][0], truth().places(real_tips.play(made["0.15"][0], 0.13)))}
    with working_with(Workers(1)):
        found = real_tips.choose_arcs(spoiled)
    assert list(found) == list(made) and found["0.15"] == (WIDTH, PRIOR)
