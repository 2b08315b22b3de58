from dataclasses import replace

import numpy as np
import pytest

from soft_twin.twins.tensegrity import kernels
from soft_twin.twins.tensegrity.newton import Laws, Minimiser, StrutPlacement, Surroundings, Unknowns
from soft_twin.twins.tensegrity.sensitivity import dense, inclination_sensitivity


@pytest.fixture(scope="module")
def bent(arm, cases):
    """A pose off equilibrium, with holds, grips and cylinders beyond their stops: every term of the Hessian counts."""
    random = np.random.default_rng(5)
    model = arm.model
    directions = model.start.directions + 0.05 * random.normal(size=(20, 3))
    pose = StrutPlacement(
        np.where(
            np.arange(20)[:, None] < 4, model.start.bottoms, model.start.bottoms + 0.01 * random.normal(size=(20, 3))
        ),
        directions / np.linalg.norm(directions, axis=1, keepdims=True),
    )
    laws = model.laws.at(cases["curled"].pressures)
    nodes = pose.nodes(arm.structure.strut_lengths)
    lengths = np.linalg.norm(np.diff(nodes[arm.structure.members], axis=1)[:, 0], axis=1)
    stops = lengths[:, None] + random.choice([-0.011, 0.0, 0.011], (len(lengths), 1)) + [-0.01, 0.01]
    laws = replace(laws, stops=np.where(arm.structure.active[:, None], stops, laws.stops))
    holds = random.uniform(0.0, 50.0, 40)
    return pose, laws, Surroundings(
        model.loads((1.0, 2.0, -3.0)), holds, random.normal(size=(40, 3)), random.uniform(0.0, 300.0, 20),
        random.uniform(0.2, 2.0, 20),
    )  # fmt: skip


def _moved(pose, minimiser, unknowns, step):
    tangents = unknowns.tangents.copy()
    return StrutPlacement(
        *kernels.move_struts(
            pose.bottoms, pose.directions, minimiser.lengths, unknowns.measured, tangents, unknowns.equations, step, 1.0
        )
    )


@pytest.mark.parametrize("measured", [np.zeros(20, bool), np.ones(20, bool), np.arange(20) % 3 == 0])
def test_gradient_and_hessian_are_the_energys_derivatives(arm, bent, measured):
    pose, laws, around = bent
    minimiser, unknowns = Minimiser(arm.structure), Unknowns(arm.structure, measured)
    forces = minimiser.gradient(pose, unknowns, laws, around)
    gradient = unknowns.gradient.copy()
    H = dense(minimiser.hessian(pose, unknowns, laws, around, forces))
    random = np.random.default_rng(0)
    for _ in range(5):
        direction = random.normal(size=unknowns.count)

        def energy(h, direction=direction):
            return minimiser.energy(_moved(pose, minimiser, unknowns, h * direction), laws, around)

        assert (energy(1e-6) - energy(-1e-6)) / 2e-6 == pytest.approx(gradient @ direction, rel=1e-5)
        bend = (energy(1e-5) - 2.0 * energy(0.0) + energy(-1e-5)) / 1e-10
        assert bend == pytest.approx(direction @ H @ direction, rel=1e-3)


def test_unknowns_of_tm40_are_68_when_all_inclinations_are_known_and_88_when_none_is(arm):
    assert Unknowns(arm.structure, np.ones(20, bool)).count == 68
    assert Unknowns(arm.structure, np.zeros(20, bool)).count == 88
    assert Unknowns(arm.structure, np.ones(20, bool)).bandwidth <= 47


def test_convex_hessian_is_positive_semidefinite(arm, bent):
    pose, laws, around = bent
    minimiser, unknowns = Minimiser(arm.structure), Unknowns(arm.structure, np.ones(20, bool))
    forces = minimiser.gradient(pose, unknowns, laws, around)
    H = dense(minimiser.hessian(pose, unknowns, laws, around, forces, convex=True))
    assert np.linalg.eigvalsh(H).min() > -1e-9 * np.abs(H).max()


def test_a_slack_member_has_no_energy_and_no_force():
    nodes = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.9]])
    members, k, b = np.array([[0, 1]]), np.array([100.0]), np.array([1.0])
    nothing = np.array([[0.0, np.inf]]), np.zeros((2, 3)), np.zeros(2), np.zeros((2, 3))
    assert kernels.potential(nodes, members, k, b, *nothing) == 0.0
    assert np.all(kernels.node_gradient(nodes, members, k, b, *nothing) == 0.0)
    assert kernels.potential(2.0 * nodes, members, k, b, *nothing) == pytest.approx(0.5 * 100.0 * 0.8**2)


def test_moments_change_as_their_sensitivities_say(arm, cases):
    case = cases["bend 60°"]
    estimator = arm.build_estimator("energy", tolerance=1e-9)
    measured = np.ones(20, bool)
    inclinations = arm.forward(case.pressures).inclinations + 0.01 * np.random.default_rng(0).normal(size=20)
    laws = arm.model.laws.at(case.pressures)

    def moments(angles, force):
        around = Surroundings.of_loads(arm.model.loads(force))
        start = arm.forward(case.pressures).nodes
        directions = (start[20:] - start[:20]) / arm.structure.strut_lengths[:, None]
        pose = StrutPlacement(start[:20].copy(), directions).with_inclinations(angles, measured)
        minimum = estimator.minimiser.minimise(pose, estimator.unknowns, laws, around)
        return inclination_sensitivity(estimator.minimiser, estimator.all_free, minimum.pose, measured, laws, around)

    base = moments(inclinations, np.zeros(3))
    turn = 1e-5 * np.random.default_rng(1).normal(size=20)
    change = moments(inclinations + turn, np.zeros(3)).moments - moments(inclinations - turn, np.zeros(3)).moments
    arcs = turn * arm.structure.strut_lengths
    assert change / 2 == pytest.approx(base.stiffness @ arcs, rel=2e-3, abs=2e-5)
    tip_load = np.zeros((40, 3))
    tip_load[36:, 0] = 0.25
    pulled = moments(inclinations, [1e-3, 0, 0]).moments - moments(inclinations, [-1e-3, 0, 0]).moments
    assert pulled / 2e-3 == pytest.approx(base.by_load @ tip_load.ravel(), rel=1e-3, abs=1e-6)


def test_natural_length_shortens_with_pressure_as_the_cylinders_law_says(arm):
    laws = arm.model.laws.at(np.full(40, 100e3))
    active = arm.structure.active
    assert isinstance(laws, Laws)
    tension = laws.stiffness[active] * (arm.model.laws.rest_lengths[active] - laws.natural[active])
    assert tension == pytest.approx(np.full(40, 6.6e-5 * 100e3))
