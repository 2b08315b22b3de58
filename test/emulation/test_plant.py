"""The emulated body: at rest it is the statics of its own parameters, in motion it obeys Newton."""

import numpy as np
import pytest
import yaml

import soft_twin
from soft_twin.emulation.plant import Plant
from soft_twin.errors import InputError
from soft_twin.mechanics.contact import SelfContact
from soft_twin.mechanics.moving_base import MovingBase

SIDEWAYS, UPRIGHT, STILL = np.array([0.0, -9.81, 0.0]), np.array([0.0, 0.0, -9.81]), np.zeros(3)


@pytest.fixture(scope="module")
def robot():
    return soft_twin.load_robot("slender")


@pytest.fixture
def plant(robot):
    return Plant(robot, mesh="hex20r")


def run(plant, steps, wound=None, gravity=SIDEWAYS, dt=0.02, rate=STILL, acceleration=STILL):
    for _ in range(steps):
        plant.step(dt, plant.coordinates - 1e-4 if wound is None else wound, MovingBase(gravity, rate, acceleration))


def test_it_sags_more_than_the_twin_since_it_is_softer_and_heavier(plant, robot):
    """Small deflections scale with ρ/E, here by 1.05/0.92; large ones a little less."""
    run(plant, 150)
    ratio = plant.tip[1] / robot.build_twin().equilibrium(SIDEWAYS).tip[1]
    assert 1.08 < ratio < 1.05 / 0.92
    assert np.abs(plant.velocities).max() < 1e-4


def test_released_sideways_it_swings_with_the_beams_first_frequency(robot):
    """ω₁ = 1.875² √(EI/(ρ A L⁴)), a light damping and a small amplitude; implicit Euler delays a little."""
    plant = Plant(robot, mesh="hex20r")
    plant._dynamics.mass_damping = plant._dynamics.stiffness_damping = 0.0
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
    assert plant.efforts[0] > 0.1
    np.testing.assert_allclose(plant.efforts[1:], 0.0, atol=1e-9)
    assert plant.tip[1] > 0.01


def test_a_taut_cable_is_its_spring(plant, robot):
    wound = np.array([1e-3, -2e-3, -2e-3, -2e-3, -2e-3, -2e-3])
    run(plant, 150, wound=wound)
    stretch = wound[0] - plant.coordinates[0]
    assert plant.efforts[0] == pytest.approx(robot.description.cables[0].stiffness * stretch, rel=2e-2)


def test_friction_makes_the_shape_depend_on_where_it_comes_from(plant):
    """A cable that turned by θ and was let out pulls with exp(−μ θ) of what one wound in does
    that bends the body as much: the mean of exp(±μ θ) along the cable is about exp(±μ θ/2)."""
    wound = np.array([2e-3, -2e-3, -2e-3, -2e-3, -2e-3, -2e-3])
    for scale in np.concatenate([np.linspace(0.0, 1.2, 60), np.linspace(1.2, 1.0, 20), np.ones(60)]):
        run(plant, 1, wound=np.where(wound > 0, scale * wound, wound), gravity=STILL)
    from_above = plant.efforts[0]
    plant.settle(STILL)
    for scale in np.concatenate([np.linspace(0.0, 1.0, 60), np.ones(80)]):
        run(plant, 1, wound=np.where(wound > 0, scale * wound, wound), gravity=STILL)
    turned = np.arccos(plant.tip_direction[2])
    assert turned > 0.2
    assert np.log(plant.efforts[0] / from_above) == pytest.approx(0.1 * turned, rel=0.1)


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
            plant.step(0.02, wound, MovingBase(gravity))
        assert (plant.points == before).all()


def wound_for(robot, tensions):
    """(6,) displacements that hold the twin in the equilibrium with these tensions: a target within reach."""
    return robot.build_twin().equilibrium(UPRIGHT, tensions=tensions).displacements


def ramp(plant, start, goal, seconds, hold=0.0, dt=0.02):
    for share in np.minimum(np.arange(1, round((seconds + hold) / dt) + 1) * dt / seconds, 1.0):
        plant.step(dt, start + share * (goal - start), MovingBase(UPRIGHT))


def test_an_s_shape_is_reached_and_stays(robot):
    """What docs/ros.md asks for, in a tenth of a second: cables press the body together, and it stays at rest."""
    plant, twin = Plant(robot, mesh="hex20r"), robot.build_twin()
    goal = robot.build_inverse(twin).solve(UPRIGHT, [0.01, 0.0, 0.097]).displacements
    ramp(plant, np.zeros(6), goal, 0.1, hold=1.0)
    assert plant.damped_steps == 0
    np.testing.assert_allclose(plant.tip, [0.01, 0.0, 0.097], atol=1e-3)
    assert np.abs(plant.velocities).max() < 1e-4


def test_random_targets_within_reach_are_reached_at_any_speed(robot):
    """Every step is solved, and afterwards the body stands where it did before."""
    plant, random = Plant(robot, mesh="hex20r"), np.random.default_rng(3)
    rest, before = plant.tip, np.zeros(6)
    for _ in range(4):
        goal = wound_for(robot, random.uniform(0.0, 0.6, 6) * (random.random(6) < 0.5))
        ramp(plant, before, goal, random.uniform(0.1, 1.0))
        before = goal
    ramp(plant, before, np.full(6, -0.002), 0.2, hold=1.5)
    assert plant.damped_steps == 0
    np.testing.assert_allclose(plant.tip, rest, atol=1e-4)


def test_a_body_that_nothing_drives_loses_energy(robot):
    """Let go of a bent shape with its cables held: kinetic, elastic and cables' energy together only fall, but for
    what the friction of the cables, which is that of the step before, may be off by."""
    plant = Plant(robot, mesh="hex20r")
    plant.settle(STILL)
    goal = wound_for(robot, np.array([0.0, 0.05, 0.0, 0.4, 0.2, 0.3]))
    for share in np.linspace(0.05, 1.0, 20):
        plant.step(0.02, share * goal, MovingBase(STILL))
    energies = []
    for _ in range(40):
        plant.step(0.02, goal, MovingBase(STILL))
        energies.append(plant.energy())
    assert np.diff(energies).max() < 1e-3 * energies[0]
    assert energies[-1] <= energies[0]


def test_it_recovers_from_commands_that_crush_it(robot):
    """Half as much cable as it is long, then none: steps are taken to the end, and it stands up again."""
    plant = Plant(robot, mesh="hex20r")
    rest = plant.tip
    for wound in (0.05, -0.05):
        run(plant, 3, wound=np.array([wound, 0.0, 0.0, 0.0, wound, 0.0]), gravity=UPRIGHT)
        assert np.isfinite(plant.points).all()
        assert np.isfinite(plant.efforts).all()
    plant.settle(UPRIGHT)
    run(plant, 20, wound=np.full(6, -0.002), gravity=UPRIGHT)
    np.testing.assert_allclose(plant.tip, rest, atol=1e-4)
    np.testing.assert_allclose(plant.efforts, 0.0, atol=1e-9)


def test_links_that_meet_do_not_pass_through_each_other(tmp_path):
    """A neck with joints of 2 mm, bent to its stops in half a second, and let go."""
    content = yaml.safe_load(soft_twin.load_robot("neck").path.read_text())
    robot = content["robot"]
    for layer in robot["body"]["mesh"]["stack"]["layers"]:
        layer["length"] = 0.002 if len(layer["rings"]) == 1 else 0.018
    robot["emulated"].pop("mesh")
    robot.pop("sofa")
    path = tmp_path / "narrow.yaml"
    path.write_text(yaml.safe_dump(content))
    plant = Plant(soft_twin.load_robot(path))
    (links,) = (each for each in plant.model.constraints if isinstance(each, SelfContact))
    goal, deepest, met = np.array([0.045, -0.012, -0.012]), 0.0, False
    for share in [*np.linspace(0.02, 1.0, 50), *np.linspace(1.0, 0.0, 10), *np.zeros(20)]:
        plant.step(0.01, share * goal, MovingBase(UPRIGHT))
        deepest, met = max(deepest, links.penetration(plant.points)), met or links.rows(plant.points, {}) is not None
    assert met and deepest < 1e-6
    assert plant.damped_steps == 0
    np.testing.assert_allclose(plant.tip[:2], 0.0, atol=2e-4)


@pytest.fixture(scope="module")
def neck():
    return soft_twin.load_robot("neck")


def pulled(plant, seconds, gravity=UPRIGHT):
    """(t, 3) tensions of a neck's cables [N], wound in by as much as always."""
    found = []
    for _ in range(round(seconds / 0.02)):
        plant.step(0.02, np.array([0.02, -0.006, -0.006]), MovingBase(gravity))
        found.append(plant.efforts.copy())
    return np.array(found)


def test_a_payload_is_carried_by_the_body_and_taken_off_again(neck):
    plant = Plant(neck)
    empty, mass = pulled(plant, 1.0)[-1], plant.model.body.mass
    plant.hang(0.6)
    assert plant.model.body.mass == pytest.approx(mass + 0.6) and plant.payload == 0.6
    assert pulled(plant, 1.0)[-1][0] < empty[0] - 1.0, "it leans, and helps the cable that bends it"
    plant.hang(0.0)
    np.testing.assert_allclose(pulled(plant, 1.0)[-1], empty, atol=0.1)


def test_a_payload_on_a_thread_pulls_as_one_that_is_fixed_once_it_has_come_to_rest(neck):
    fixed, hung = Plant(neck), Plant(neck)
    for plant, thread in ((fixed, 0.0), (hung, 0.15)):
        pulled(plant, 0.6)
        plant.hang(0.5, thread)
    weights, still = pulled(fixed, 1.0)[-1], pulled(hung, 1.5)[-20:]
    np.testing.assert_allclose(still.mean(axis=0), weights, atol=0.15)
    assert np.ptp(still, axis=0).max() < 0.3
    hung.hang(0.5, 0.15, swing=0.5)
    swinging = pulled(hung, 1.6)
    assert np.ptp(swinging, axis=0).max() > 0.5
    np.testing.assert_allclose(swinging.mean(axis=0), weights, atol=0.5)


UNEVEN = """
robot:
  name: uneven
  kind: fem
  body:
    mesh:
      voxels: {cells: [3, 2, 4], size: [0.02, 0.02, 0.06], along_x: [0.003, 0.003, 0.014], element: hex20r}
    materials: [{model: neo_hookean, young_modulus: 5.0e+5, poisson_ratio: 0.3, density: 1000.0}]
    damping: {rayleigh_mass: 20.0, rayleigh_stiffness: 0.01}
    clamped: base
    plates: [{name: lid, nodes: tip}]
  cables:
    - {name: pull, start: [0.0, 0.0, 0.0], end: [0.0, 0.0, 0.06], tension: [0.0, 5.0], displacement: [0.0, 0.01],
       stiffness: 4000.0}
  frames: {tip: {plate: lid}}
  target: {tip: [0.0, 0.0, 0.059]}
"""


@pytest.mark.parametrize("thread", [0.0, 0.1])
def test_a_payload_hangs_below_the_plates_middle_whatever_the_divisions(thread, tmp_path):
    """At the nodes' mean, e = 3 mm beside the axis, it would tilt the plate by m g e L/(E I)."""
    path = tmp_path / "uneven.yaml"
    path.write_text(UNEVEN)
    plant = Plant(soft_twin.load_robot(str(path)))
    plant.hang(0.1, thread)
    for _ in range(100):
        plant.step(0.02, np.array([-0.01]), MovingBase(-UPRIGHT))
    tilt = np.arcsin(np.hypot(*plant.plates.rotations[0][:2, 2]))
    beside = 0.1 * 9.81 * 0.003 * 0.06 / (5e5 * 0.02**4 / 12.0)
    assert tilt < 0.02 * beside


@pytest.mark.parametrize("values", [(-0.1, 0.0), (0.1, -0.2), (np.inf, 0.0)])
def test_what_cannot_hang_on_a_plate_is_refused(neck, robot, values):
    with pytest.raises(InputError, match="payload"):
        Plant(neck).hang(*values)
    with pytest.raises(InputError, match="is no plate"):
        Plant(robot).hang(0.1)
