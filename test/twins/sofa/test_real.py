"""SOFA itself, where it is installed, beside our own mechanics on the same tetrahedra."""

import numpy as np
import pytest

from soft_twin import load_robot
from soft_twin.errors import UsageError
from soft_twin.inverse.inverse import Inverse
from soft_twin.inverse.plate import FemPlate
from soft_twin.robots.fem_models import FemBuilder
from soft_twin.robots.sofa import sofa_mesh
from soft_twin.twins.finite_element import FemTwin

SIDEWAYS = np.array([0.0, -9.81, 0.0])
TARGET = [0.01, 0.004, 0.096]


def sofa_twin(robot):
    try:
        return robot.build_twin(backend="sofa")
    except UsageError as error:
        pytest.skip(f"needs SOFA: {error}")


def same_tetrahedra(robot) -> FemTwin:
    builder = FemBuilder(robot, mesh=sofa_mesh(robot), law="corotational")
    model = builder.model()
    return FemTwin(model, float(model.body.mesh.size.max()), builder.frames(model.body))


@pytest.fixture(scope="module")
def slender():
    robot = load_robot("slender")
    return robot, sofa_twin(robot), robot.build_twin(element="tet4", material="corotational")


def test_the_slender_robot_sags_and_is_pulled_as_ours(slender):
    _, theirs, ours = slender
    for efforts, apart in (([0.0] * 6, 1e-4), ([0.5, 0.0, 0.0, 0.0, 0.0, 0.0], 1e-4), ([0.2] * 6, 3e-4)):
        found, expected = (twin.equilibrium(SIDEWAYS, efforts=efforts) for twin in (theirs, ours))
        assert np.linalg.norm(found.tip - expected.tip) < apart  # the laws find a tetrahedron's rotation differently


def test_cables_are_wound_in_by_what_is_asked_for(slender):
    _, theirs, ours = slender
    wanted = [0.002, 0.0, None, None, 0.003, 0.0]
    found, expected = (twin.equilibrium(SIDEWAYS, coordinates=wanted) for twin in (theirs, ours))
    assert np.linalg.norm(found.tip - expected.tip) < 3e-4
    assert np.allclose(found.efforts, expected.efforts, atol=0.02)
    assert np.allclose(found.coordinates[[0, 4]], [0.002, 0.003], atol=1e-7)


def test_our_inverse_brings_sofas_tip_to_its_target(slender):
    robot, theirs, ours = slender
    theirs.reset()
    found = Inverse(theirs, robot.limits(), robot.actuator_names).solve(SIDEWAYS, TARGET)
    assert found.reachable and found.error < 1e-6
    assert np.allclose(found.coordinates, robot.build_inverse(ours).solve(SIDEWAYS, TARGET).coordinates, atol=1e-4)


def test_so_does_sofas_own(slender):
    robot, theirs, _ = slender
    if not theirs.has_inverse:
        pytest.skip("needs SOFA's plugin SoftRobots.Inverse")
    theirs.reset()
    found = robot.build_inverse(theirs).solve(SIDEWAYS, TARGET, settled=1e-6)
    assert found.reachable and found.error < 1e-5
    assert (found.efforts > 0.049).all() and (found.efforts < 2.0).all()


def test_a_neck_is_tilted_as_ours_with_what_hangs_on_it():
    robot = load_robot("neck")
    theirs = FemPlate(robot.build_inverse(sofa_twin(robot)), lambda mass: hang(theirs, mass))
    ours = FemPlate(robot.build_inverse(same_tetrahedra(robot)), lambda mass: hang(ours, mass))
    for payload in (0.0, 0.5):
        for model in (theirs, ours):
            model.bear([0.0, -6.9, -6.9], payload)
        found, expected = (np.degrees(model.orientation(np.array([0.02, -0.005, 0.0]))) for model in (theirs, ours))
        assert np.abs(found - expected).max() < 0.05
        assert np.abs(expected).max() > 5.0


def hang(model: FemPlate, mass: float) -> None:
    model.twin.body.attach_mass("tip", mass)


def test_chambers_bend_an_arm_as_ours(tmp_path):
    robot = sofa_arm(tmp_path)
    theirs, ours = sofa_twin(robot), same_tetrahedra(robot)
    gravity, efforts = np.array([0.0, 0.0, -9.81]), [4e4, 0.0, 0.0, 0.0, 2e4, 0.0]
    found, expected = (twin.equilibrium(gravity, efforts=efforts) for twin in (theirs, ours))
    moved = np.linalg.norm(expected.tip - ours.equilibrium(gravity).tip)
    assert np.linalg.norm(found.tip - expected.tip) < 0.05 * moved
    assert np.allclose(found.coordinates, expected.coordinates, rtol=0.05, atol=1e-8)


def test_sofas_own_inverse_is_not_asked_for_pressures(tmp_path):
    assert not sofa_twin(sofa_arm(tmp_path)).has_inverse  # it gives none


def sofa_arm(folder):
    """The pneumatic arm, each of its cells cut as it is."""
    file = folder / "arm.yaml"
    text = load_robot("arm").path.read_text()
    file.write_text(text.replace("  name: arm\n", "  name: arm\n  sofa: {pieces: 1}\n", 1))
    return load_robot(str(file))
