"""How chambers fill: bodies that balloon, chambers of unlike ranges, and what is learned of them."""

import numpy as np
import pytest
import yaml
from scipy.optimize import minimize_scalar
from small_membrane import content

import soft_twin
from soft_twin.errors import ConvergenceError, InputError
from soft_twin.learning.identity import description_hash
from soft_twin.learning.inflation import DOWN, HELD, find_inflation
from soft_twin.learning.simulations import BALLOONS, inflation_of, simulate, simulate_all, simulation_cases

HIGHEST = 12_000.0  # [Pa], of which a membrane of two rooms holds 11


def rooms(folder, change=lambda robot: None, highest=HIGHEST):
    mine = content(highest)
    change(mine["robot"])
    path = folder / "two_rooms.yaml"
    path.write_text(yaml.safe_dump(mine), encoding="utf-8")
    return soft_twin.load_robot(path)


class Squeezed:
    """A twin whose first chamber leaves less and less room to the second."""

    def equilibrium(self, gravity, efforts):
        self.efforts = efforts

    def body_coordinates(self):
        return 1e-8 * np.array([self.efforts[0], self.efforts[1] - 2.0 * self.efforts[0]])


@pytest.fixture(scope="module")
def ballooning(tmp_path_factory):
    robot = rooms(tmp_path_factory.mktemp("ballooning"))
    return robot, inflation_of(robot)


def test_pressures_end_where_a_body_balloons(ballooning):
    """At the share of the volume of the limit point, which is searched for here along volumes."""
    robot, inflation = ballooning
    twin = robot.build_twin()

    def lost(volume):
        return -twin.equilibrium(DOWN, coordinates=[volume, volume]).efforts[0]

    limit = minimize_scalar(lost, bounds=(1.2e-4, 2.0e-4), options={"xatol": 1e-6})
    first = inflation.volumes[0]
    np.testing.assert_allclose(inflation.volumes[-1] - first, HELD * (limit.x - first), rtol=0.02)
    assert 0.99 * -limit.fun < inflation.limits[0, 1] < -limit.fun < HIGHEST
    for i in (12, 16):
        found = twin.equilibrium(DOWN, coordinates=list(inflation.volumes[i])).efforts
        np.testing.assert_allclose(found, inflation.pressures[i], rtol=0.02)


def test_chambers_without_a_limit_point_reach_their_highest_pressures(tmp_path):
    """The same whether the last steps are by pressure or by volume."""
    robot = rooms(tmp_path, highest=6000.0)
    inflation, twin = inflation_of(robot), robot.build_twin()
    np.testing.assert_allclose(inflation.pressures, np.linspace([0.0, 0.0], [6000.0, 6000.0], 17))
    twin.equilibrium(DOWN, efforts=[4500.0, 4500.0])
    np.testing.assert_allclose(inflation.volumes[12], twin.body_coordinates(), rtol=1e-6)


def test_chambers_have_ranges_of_their_own(tmp_path):
    """A weak chamber that balloons ends where it does, the other goes on to its highest pressure."""
    unlike = rooms(tmp_path, lambda robot: robot["chambers"][1].update(pressure=[-500.0, 5000.0]))
    inflation = inflation_of(unlike)
    np.testing.assert_allclose(inflation.limits[1], [-500.0, 5000.0])
    assert 10_500.0 < inflation.limits[0, 1] < 11_100.0 and inflation.limits[0, 0] == 0.0
    shares = np.array([[0.2, 0.7], [0.9, 0.4]])
    np.testing.assert_allclose(inflation.shares_of(inflation.pressures_of(shares)), shares, atol=1e-12)


def test_volumes_that_may_be_let_in_end_the_range(tmp_path):
    limited = rooms(tmp_path, lambda robot: robot["chambers"][0].update(volume=[-1e-4, 5e-5]), 9000.0)
    inflation = inflation_of(limited)
    assert inflation.volumes[-1, 0] == pytest.approx(5e-5, rel=1e-9)
    assert inflation.limits[1, 1] > inflation.limits[0, 1]


def test_no_sample_of_a_ballooning_body_is_left_unsolved(ballooning):
    """What pressures do not hold is found by volume, and its pressures hold it: the same shape by pressure."""
    robot, inflation = ballooning
    found = simulate_all(robot, "tip", 8)
    assert found.failed == {} and found.by_volume.sum() >= 2
    twin, low = robot.build_twin(), inflation.limits[:, 0]
    for pressures, points in zip(found.pressures[found.by_volume], found.points[found.by_volume], strict=True):
        assert (pressures >= low - 1e-9).all() and pressures.max() < HIGHEST
        twin.equilibrium(DOWN, efforts=0.99 * pressures)
        near = twin.points[np.unique(twin.body.mesh.surface("tip"))][:, 2].max()
        assert 0.7 * points[:, 2].max() < near < points[:, 2].max()


def test_a_shape_that_its_pressures_do_not_hold_is_told(ballooning):
    """Beyond the limit point: a valve that holds the pressure would blow the chamber up further and further."""
    robot, inflation = ballooning
    beyond = np.array([[HIGHEST, HIGHEST], 1.4 * inflation.volumes[-1]])
    found = simulate(str(robot.path), description_hash(robot), "tip", beyond)
    assert found["by_volume"] and str(found["failure"]) == BALLOONS
    held = np.array([[HIGHEST, 0.0], [inflation.volumes[-1, 0], np.nan]])
    found = simulate(str(robot.path), description_hash(robot), "tip", held)
    assert found["by_volume"] and not str(found["failure"])
    assert found["pressures"][1] == 0.0 and 10_500.0 < found["pressures"][0] < 11_000.0


def test_chambers_that_are_hardly_inflated_keep_their_pressures(ballooning):
    _, inflation = ballooning
    pressures = np.array([[inflation.limits[0, 1], 3000.0]])
    ((own, volumes),) = simulation_cases(inflation, pressures)
    np.testing.assert_array_equal(own, pressures[0])
    assert volumes[0] == pytest.approx(inflation.volumes[-1, 0]) and np.isnan(volumes[1])


def test_what_cannot_begin_is_told_by_the_chambers_names(tmp_path):
    robot = rooms(tmp_path)
    with pytest.raises(ConvergenceError, match="no shape with left 50000 Pa, right 50000 Pa, of which simulations"):
        find_inflation(robot.build_twin(), np.array([[5e4, 6e4]] * 2), robot.chamber_names)
    with pytest.raises(InputError, match="left, right: no volume above the lowest pressures is allowed"):
        find_inflation(robot.build_twin(), np.array([[0.0, 3e3]] * 2), robot.chamber_names, np.full(2, -1.0))
    with pytest.raises(InputError, match="chamber 'right' does not fill while all pressures rise to left 3000 Pa"):
        find_inflation(Squeezed(), np.array([[0.0, 3e3]] * 2), robot.chamber_names)
