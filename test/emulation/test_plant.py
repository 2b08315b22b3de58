"""The emulated body: at rest it is the statics of its own parameters, in motion it obeys Newton."""

import numpy as np
import pytest

import soft_twin
from soft_twin.emulation.plant import Plant
from soft_twin.errors import InputError

SIDEWAYS, STILL = np.array([0.0, -9.81, 0.0]), np.zeros(3)


@pytest.fixture(scope="module")
def robot():
    return soft_twin.load_robot("slender")


@pytest.fixture
def plant(robot):
    return Plant(robot, mesh="hex20r")


def run(plant, steps, wound=None, gravity=SIDEWAYS, dt=0.02, rate=STILL, acceleration=STILL):
    for _ in range(steps):
        plant.step(dt, plant.free_displacements - 1e-4 if wound is None else wound, gravity, rate, acceleration)


def test_it_sags_more_than_the_twin_since_it_is_softer_and_heavier(plant, robot):
    """Small deflections scale with ρ/E, here by 1.05/0.92; large ones a little less."""
    run(plant, 150)
    ratio = plant.tip[1] / robot.build_twin().equilibrium(SIDEWAYS).tip[1]
    assert 1.08 < ratio < 1.05 / 0.92
    assert np.abs(plant.velocities).max() < 1e-4


def test_released_sideways_it_swings_with_the_beams_first_frequency(robot):
    """ω₁ = 1.875² √(EI/(ρ A L⁴)), a light damping and a small amplitude; implicit Euler delays a little."""
    plant = Plant(robot, mesh="hex20r")
    plant._alpha = plant._beta = 0.0
    outer, inner = 0.0045, 0.0018
    inertia, area = np.pi / 4 * (outer**4 - inner**4), np.pi * (outer**2 - inner**2)
    stiffness, mass = 0.92 * 0.8e6 * inertia, 1.05 * 1150.0 * area
    period = 2 * np.pi / (1.875**2 * np.sqrt(stiffness / (mass * 0.1**4)))
    plant.settle(np.zeros(3))
    tips = []
    for _ in range(250):
        run(plant, 1, gravity=0.01 * SIDEWAYS, dt=0.002)
        tips.append(plant.tip[1])
    first_minimum = np.argmin(tips[: int(0.8 * period / 0.002)]) + 1
    assert first_minimum * 0.002 == pytest.approx(period / 2, rel=0.05)


def test_wound_cables_pull_and_slack_ones_do_not(plant):
    run(plant, 100, wound=np.array([2e-3, -2e-3, -2e-3, -2e-3, -2e-3, -2e-3]), gravity=np.array([0, 0, -9.81]))
    assert plant.tensions[0] > 0.1
    np.testing.assert_allclose(plant.tensions[1:], 0.0, atol=1e-9)
    assert plant.tip[1] > 0.01


def test_a_taut_cable_is_its_spring(plant, robot):
    wound = np.array([1e-3, -2e-3, -2e-3, -2e-3, -2e-3, -2e-3])
    run(plant, 150, wound=wound)
    stretch = wound[0] - plant.free_displacements[0]
    assert plant.tensions[0] == pytest.approx(robot.cable_stiffness * stretch, rel=2e-2)


def test_friction_makes_the_shape_depend_on_where_it_comes_from(plant):
    """A cable that turned by θ and was let out pulls with exp(−μ θ) of what one wound in does
    that bends the body as much: the mean of exp(±μ θ) along the cable is about exp(±μ θ/2)."""
    wound = np.array([2e-3, -2e-3, -2e-3, -2e-3, -2e-3, -2e-3])
    for scale in np.concatenate([np.linspace(0.0, 1.2, 60), np.linspace(1.2, 1.0, 20), np.ones(60)]):
        run(plant, 1, wound=np.where(wound > 0, scale * wound, wound), gravity=STILL)
    from_above = plant.tensions[0]
    plant.settle(STILL)
    for scale in np.concatenate([np.linspace(0.0, 1.0, 60), np.ones(80)]):
        run(plant, 1, wound=np.where(wound > 0, scale * wound, wound), gravity=STILL)
    turned = np.arccos(plant.tip_direction[2])
    assert turned > 0.2
    assert np.log(plant.tensions[0] / from_above) == pytest.approx(0.1 * turned, rel=0.1)


def test_spinning_the_base_stretches_it(plant):
    """Centrifugal force about x pushes the hanging body outwards along z."""
    plant.settle(np.array([0, 0, 9.81]))
    before = plant.tip[2]
    run(plant, 100, gravity=np.array([0, 0, 9.81]), rate=np.array([5.0, 0.0, 0.0]))
    assert plant.tip[2] > before + 1e-5


def test_bad_input_is_refused(plant):
    for wound, gravity in ((np.zeros(5), SIDEWAYS), (np.full(6, np.nan), SIDEWAYS), (np.zeros(6), np.full(3, np.inf))):
        before = plant.points.copy()
        with pytest.raises(InputError):
            plant.step(0.02, wound, gravity, STILL, STILL)
        assert (plant.points == before).all()
