"""Actuators as pairs of effort and coordinate: power, gradients and twins against differences and each other."""

import numpy as np
import pytest

from soft_twin.errors import InputError, MeshError
from soft_twin.mechanics.actuators.base import ActuatorSet
from soft_twin.mechanics.actuators.cables import CableActuators
from soft_twin.mechanics.actuators.chambers import Chambers
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.cables import Cables
from soft_twin.mechanics.constraints import RigidPlate
from soft_twin.mechanics.loads.loads import Gravity
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Model
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.twins.finite_element import FemTwin

SIZE, LENGTH = 0.005, 0.06
SIDEWAYS = np.array([0.0, -9.81, 0.0])


def finger(element="hex20r", law="stable_neo_hookean", plate=False):
    """A block of 20 × 15 × 60 mm with one closed chamber off its middle, two cables in it and one outside it."""
    grid = np.ones((4, 3, 12), dtype=bool)
    grid[2, 1, 1:11] = False
    mesh = voxel_mesh(grid, SIZE, element)
    body = Body(mesh, Material(energy_named(law, 3e5, 0.4), 1100.0), "base")
    inside = Cables(
        mesh, np.array([[0.003, y, 0.0] for y in (0.004, 0.011)]), [[0.003, y, LENGTH] for y in (0.004, 0.011)]
    )
    top = mesh.nodes[:, 2] > LENGTH - 1e-9
    outside = Cables.outside(mesh, [[0.03, 0.0075, 0.0]], np.flatnonzero(top), [[0.02, 0.0075, LENGTH]])
    parts = [
        CableActuators(inside, 3000.0, ["left", "right"]),
        Chambers(["chamber 1"], ["air"]),
        CableActuators(outside, 5000.0, ["back"]),
    ]
    return Model(body, [Gravity()], [RigidPlate(top)] if plate else [], actuators=parts)


@pytest.fixture(scope="module", params=[False, True], ids=["free", "plate"])
def twin(request):
    return FemTwin(finger(plate=request.param), LENGTH)


def moved(model, seed=0):
    return model.body.mesh.nodes + np.random.default_rng(seed).normal(0.0, 2e-4, model.body.mesh.nodes.shape)


def test_the_power_of_the_efforts_is_that_of_the_forces():
    """ẋ · Gᵀ e = e · ċ, with ċ by differences."""
    model, rng, h = finger(), np.random.default_rng(1), 2e-7
    x, velocity, efforts = (
        moved(model),
        rng.normal(size=(len(model.body.mesh.nodes), 3)),
        np.array([1.0, 2.0, 3e4, 0.5]),
    )
    model.efforts = efforts
    force = sum(part.force(x) for part in model.forces if not isinstance(part, Gravity))
    rate = (model.actuators.coordinates(x + h * velocity) - model.actuators.coordinates(x - h * velocity)) / (2 * h)
    assert (force * velocity).sum() == pytest.approx(efforts @ rate, rel=1e-6)
    np.testing.assert_allclose(model.actuators.gradients(x) @ efforts, force, atol=1e-12 * np.abs(force).max())
    np.testing.assert_allclose(model.actuators.changes(x, velocity[:, :, None])[0][:, 0], rate, rtol=1e-5)


@pytest.mark.parametrize("part", range(3))
def test_stiffness_is_the_slope_of_the_forces(part):
    model, h = finger(), 1e-6
    x, actuators = moved(model), model.actuators.parts[part]
    efforts = np.full(actuators.count, 2e4 if part == 1 else 1.5)
    direction = np.random.default_rng(2).normal(size=x.shape)
    slope = (actuators.gradients(x - h * direction) - actuators.gradients(x + h * direction)) @ efforts / (2 * h)
    found = np.zeros_like(x)
    for nodes, blocks in zip(actuators.groups, actuators.stiffness(x, efforts), strict=True):
        found[nodes] += np.einsum("abij,bj->ai", blocks + blocks.transpose(1, 0, 3, 2), direction[nodes]) / 2.0
    np.testing.assert_allclose(found, slope, atol=1e-5 * np.abs(slope).max())


def test_sensitivities_of_an_equilibrium_against_differences(twin):
    efforts, h = np.array([0.4, 0.2, 4e3, 0.3]), np.array([1e-3, 1e-3, 1.0, 1e-3])
    twin.equilibrium(SIDEWAYS, efforts=efforts)
    step = twin.linearise(SIDEWAYS)
    tips = step.step_per_effort
    for i in range(4):
        change = h * (np.arange(4) == i)
        high, low = (twin.equilibrium(SIDEWAYS, efforts=efforts + sign * change) for sign in (1.0, -1.0))
        slope = (high.points - low.points) / (2.0 * h[i])
        np.testing.assert_allclose(tips[:, :, i], slope, atol=2e-5 * np.abs(slope).max())
        rate = (high.coordinates - low.coordinates) / (2.0 * h[i])
        np.testing.assert_allclose(step.compliance[:, i], rate, atol=2e-5 * np.abs(rate).max())
    np.testing.assert_allclose(step.compliance, step.compliance.T, atol=1e-9 * np.abs(step.compliance).max())


def test_a_body_is_brought_to_the_same_shape_by_efforts_and_by_coordinates(twin):
    by_effort = twin.equilibrium(SIDEWAYS, efforts=[0.4, 0.2, 4e3, 0.3])
    by_coordinate = twin.equilibrium(SIDEWAYS, coordinates=by_effort.coordinates)
    np.testing.assert_allclose(by_coordinate.points, by_effort.points, atol=1e-7)
    np.testing.assert_allclose(by_coordinate.efforts, by_effort.efforts, rtol=1e-4)
    mixed = twin.equilibrium(SIDEWAYS, coordinates=[None, None, by_effort.coordinates[2], None])
    assert mixed.coordinates[2] == pytest.approx(by_effort.coordinates[2], rel=1e-6)
    assert (mixed.efforts[[0, 1, 3]] == 0.0).all()


def test_a_plate_stays_rigid_while_its_cable_pulls_it():
    twin = FemTwin(finger(plate=True), LENGTH)
    found = twin.equilibrium(SIDEWAYS, coordinates=[None, None, None, 0.004])
    top = twin.model.unknowns.plates[0]
    rest, now = twin.body.mesh.nodes[top], found.points[top]
    apart = [np.linalg.norm(points[:, None] - points[None], axis=2) for points in (rest, now)]
    np.testing.assert_allclose(apart[1], apart[0], atol=1e-12)
    assert found.efforts[3] > 0.1
    assert np.linalg.norm(now - rest, axis=1).min() > 1e-3


def test_a_chamber_driven_by_volume_is_followed_past_its_limit_point():
    """A balloon of a neo-Hookean shell: pressure rises to its limit and falls; volume steps go on."""
    grid = np.ones((5, 5, 5), dtype=bool)
    grid[1:4, 1:4, 1:4] = False
    mesh = voxel_mesh(grid, 0.01, "hex8f")
    body = Body(mesh, Material(energy_named("neo_hookean", 1e5, 0.45), 0.0), mesh.nodes[:, 2] < 1e-9)
    chambers = Chambers(["chamber 1"])
    twin = FemTwin(Model(body, [Gravity()], actuators=[chambers]), 0.05)
    rest = 0.03**3
    pressures = [
        twin.equilibrium(np.zeros(3), coordinates=[share * rest]).efforts[0] for share in (0.5, 1.0, 2.0, 4.0, 8.0)
    ]
    highest = int(np.argmax(pressures))
    assert 0 < highest < len(pressures) - 1
    assert pressures[-1] < 0.98 * pressures[highest]


def test_efforts_that_an_actuator_cannot_have_are_refused(twin):
    with pytest.raises(InputError, match="efforts: .*negative"):
        twin.equilibrium(SIDEWAYS, efforts=[-0.1, 0.0, 0.0, 0.0])
    with pytest.raises(InputError, match="tensions: not all actuators are cables: say efforts"):
        twin.equilibrium(SIDEWAYS, tensions=[0.0] * 4, efforts=[0.0] * 4)
    with pytest.raises(InputError, match="coordinates: expected 4"):
        twin.equilibrium(SIDEWAYS, coordinates=[0.0] * 3)


def test_what_does_not_fit_is_named():
    model = finger()
    with pytest.raises(InputError, match="two share the name 'air'"):
        ActuatorSet([Chambers(["a"], ["air"]), Chambers(["b"], ["air"])])
    with pytest.raises(InputError, match="2 names for 1 surfaces"):
        Chambers(["chamber 1"], ["a", "b"])
    with pytest.raises(MeshError, match="chamber 7"):
        Model(model.body, [Gravity()], actuators=[Chambers(["chamber 7"])])
    faces = model.body.mesh.surface("chamber 1")
    with pytest.raises(MeshError, match="chambers 'air' and 'more air' press on 42 faces both: give each a surface"):
        Model(model.body, [Gravity()], actuators=[Chambers(["chamber 1", faces[::-1]], ["air", "more air"])])
    with pytest.raises(InputError, match="one Gravity"):
        FemTwin(Model(model.body), LENGTH)
    for count in (3, 5):
        with pytest.raises(InputError, match=f"one value for each of the 4 is needed, not {count}"):
            model.drive([0.0] * count)
        with pytest.raises(InputError, match=f"one value for each of the 4 is needed, not {count}"):
            model.efforts = np.zeros(count)


def test_efforts_and_coordinates_may_be_lists_and_what_are_none_is_told():
    model, efforts = finger("hex8"), [0.4, 0.2, 3e3, 0.1]
    x = model.rest.points
    model.efforts = np.array(efforts)
    expected = model.loads(x)
    model.efforts = efforts
    assert np.array_equal(model.loads(x), expected)
    given = np.array(efforts)
    model.efforts = given
    given[:] = 0.0
    assert np.array_equal(model.loads(x), expected)
    for bad, found in ((3.0, "3.0"), (None, "None"), ([0.4, 0.2], "2"), (np.ones((4, 1)), "an array of shape")):
        with pytest.raises(InputError, match=f"one value for each of the 4 is needed, not ({found})"):
            model.efforts = bad
    with pytest.raises(InputError, match="efforts: expected numbers, found a list"):
        model.efforts = ["a", "b", "c", "d"]
    for bad, found in ((3.0, "3.0"), ([0.01], "1")):
        with pytest.raises(InputError, match=f"one value for each of the 4 is needed, not {found}"):
            model.drive(bad)
