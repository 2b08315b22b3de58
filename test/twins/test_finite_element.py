"""The finite element twin against beam theory, finite differences, and itself."""

import numpy as np
import pytest
from bodies import body_of
from scipy.integrate import solve_bvp, trapezoid

import soft_twin
from soft_twin.errors import ConvergenceError, InputError, MeshError, UsageError
from soft_twin.mechanics.actuators.cables import CableActuators
from soft_twin.mechanics.cables import Cables
from soft_twin.mechanics.loads.loads import Gravity
from soft_twin.mechanics.model import Model
from soft_twin.mesh.generate.sweep import sweep_tube
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.solvers.equilibrium import equilibrium
from soft_twin.twins.finite_element import FemTwin

SIDEWAYS = np.array([0.0, -9.81, 0.0])
L, E, NU, RHO = 0.1, 0.8e6, 0.45, 1150.0
OUTER, INNER = 0.0045, 0.0018
AREA = np.pi * (OUTER**2 - INNER**2)
INERTIA = np.pi / 4 * (OUTER**4 - INNER**4)


@pytest.fixture(scope="module")
def twin(slender):
    return slender.build_twin()


@pytest.fixture(scope="module")
def coarse(slender):
    tube = sweep_tube(INNER, OUTER, L, (1, 6, 4))
    return slender.build_twin(mesh=(tube.nodes, tube.cells), element="hex20r")


def cables_of(twin):
    return twin.actuators.parts[0].cables


def timoshenko(load):
    """Tip deflection of a clamped beam under its weight; κ of a hollow circle (Cowper 1966)."""
    m = INNER / OUTER
    kappa = 6 * (1 + NU) * (1 + m**2) ** 2 / ((7 + 6 * NU) * (1 + m**2) ** 2 + (20 + 12 * NU) * m**2)
    shear = E / (2 * (1 + NU))
    return load * L**4 / (8 * E * INERTIA) + load * L**2 / (2 * kappa * shear * AREA)


def test_small_deflection_is_timoshenkos(twin):
    """A full clamp alone stiffens by about 2 %; linear tetrahedra would be 27 % off."""
    small = 1e-3 * SIDEWAYS
    sag = -twin.equilibrium(small).tip[1]
    assert sag == pytest.approx(timoshenko(1e-3 * RHO * AREA * 9.81), rel=0.03)


def test_large_deflection_is_the_elasticas(twin):
    """θ'' = −w (L − s) cos θ / EI, clamped at s = 0, free at s = L."""
    ratio = RHO * AREA * 9.81 / (E * INERTIA)
    s = np.linspace(0, L, 200)
    result = solve_bvp(
        lambda s, y: np.vstack([y[1], -ratio * (L - s) * np.cos(y[0])]),
        lambda a, b: np.array([a[0], b[1]]),
        s,
        np.zeros((2, s.size)),
        tol=1e-8,
    )
    sag = trapezoid(np.sin(result.sol(s)[0]), s)
    tip = twin.equilibrium(SIDEWAYS).tip
    assert -tip[1] == pytest.approx(sag, rel=0.03)
    assert abs(tip[0]) < 1e-9


@pytest.mark.parametrize(
    ("gravity", "tensions"),
    [
        ((0.0, -9.81, 0.0), (0, 0, 0, 0, 0, 0)),
        ((0.0, 0.0, -9.81), (0, 0, 0, 0.375, 0, 0)),
        ((0.0, -6.0, 8.0), (0.6, 0.6, 0, 0, 0, 0.4)),
    ],
)
def test_the_default_body_is_within_a_third_of_a_millimetre_of_a_fine_one(twin, slender, gravity, tensions):
    """Bent by up to 60 mm, by gravity and by cables."""
    fine = slender.build_twin(mesh=sweep_to(slender, (1, 8, 30)), element="hex20r")
    tips = [each.equilibrium(gravity, tensions=tensions).tip for each in (twin, fine)]
    assert np.hypot(*tips[0][:2]) > 0.025
    np.testing.assert_allclose(*tips, atol=3e-4)


def sweep_to(slender, divisions):
    tube = sweep_tube(INNER, OUTER, slender.body.segment_lengths, divisions)
    return tube.nodes, tube.cells


def test_linear_tetrahedra_lock_as_the_literature_says(slender, twin):
    tip = slender.build_twin(element="tet4").equilibrium(SIDEWAYS).tip
    assert 0.6 < tip[1] / twin.equilibrium(SIDEWAYS).tip[1] < 0.85


def test_axial_compression_under_own_weight(twin):
    """u = ρ g L² / 2E, a little less at a clamp that cannot widen."""
    tip = twin.equilibrium([0.0, 0.0, -9.81]).tip
    assert L - tip[2] == pytest.approx(RHO * 9.81 * L**2 / (2 * E), rel=0.03)
    assert np.abs(tip[:2]).max() < 1e-9


def test_turning_gravity_by_the_symmetry_turns_the_shape(twin):
    turn = np.array([[-0.5, -np.sqrt(0.75), 0], [np.sqrt(0.75), -0.5, 0], [0, 0, 1]])
    tip = twin.equilibrium(SIDEWAYS).tip
    np.testing.assert_allclose(twin.equilibrium(turn @ SIDEWAYS).tip, turn @ tip, atol=1e-9)


def test_cable_gradients_and_stiffness_against_finite_differences(coarse):
    rng, h = np.random.default_rng(0), 1e-7
    body, cables = coarse.body, cables_of(coarse)
    x = body.mesh.nodes + rng.normal(0, 2e-4, body.mesh.nodes.shape)
    direction = rng.normal(size=x.shape)
    gradients = cables.lengths_and_gradients(x)[1]
    numeric = (cables.lengths(x + h * direction) - cables.lengths(x - h * direction)) / (2 * h)
    np.testing.assert_allclose(np.einsum("nic,ni->c", gradients, direction), numeric, rtol=1e-6)


def test_changes_and_pull_of_cables_are_products_with_their_gradients(coarse):
    rng, cables, shape = np.random.default_rng(0), cables_of(coarse), coarse.points.shape
    x = coarse.body.mesh.nodes + rng.normal(0, 2e-4, shape)
    lengths, gradients = cables.lengths_and_gradients(x)
    same, directions = cables.lengths_and_directions(x)
    np.testing.assert_array_equal(same, lengths)
    movements, tensions, force = rng.normal(size=(*shape, 2)), rng.uniform(size=cables.count), rng.normal(size=shape)
    expected = np.einsum("nic,nir->cr", gradients, movements)
    np.testing.assert_allclose(cables.changes(directions, movements), expected, rtol=1e-12, atol=1e-12)
    expected = force - gradients @ tensions
    cables.add_pull(directions, tensions[cables.owners], force)
    np.testing.assert_allclose(force, expected, rtol=1e-12, atol=1e-12)


def test_cables_start_at_their_drawn_lengths(coarse, slender):
    drawn = [cable.end[2] - cable.start[2] for cable in slender.description.cables]
    np.testing.assert_allclose(cables_of(coarse).rest_lengths, drawn, rtol=1e-12)


def test_a_cable_in_bent_cells_is_as_long_as_its_curve(coarse):
    """Quadratic cells bent into a parabola x = c z²; a chord in each of the four cells would be 0.4 % too short."""
    c = 12.0
    x = coarse.points + np.multiply.outer(c * coarse.points[:, 2] ** 2, [1.0, 0.0, 0.0])
    slope = 2.0 * c * cables_of(coarse).rest_lengths
    curve = (slope * np.hypot(1.0, slope) + np.arcsinh(slope)) / (4.0 * c)
    np.testing.assert_allclose(cables_of(coarse).lengths(x), curve, rtol=1e-4)


def test_sensitivities_are_the_derivatives_of_the_equilibrium(coarse):
    """d tip / dT and d displacement / dT against finite differences of whole equilibria."""
    tensions, h = np.array([0.3, 0.1, 0.2, 0.15, 0.05, 0.25]), 1e-4
    coarse.equilibrium(SIDEWAYS, tensions=tensions)
    step = coarse.linearise(SIDEWAYS)
    tip_by_tension = coarse.section(L, step.step_per_effort)
    for cable in range(6):
        change = h * np.eye(6)[cable]
        high = coarse.equilibrium(SIDEWAYS, tensions=tensions + change)
        low = coarse.equilibrium(SIDEWAYS, tensions=tensions - change)
        np.testing.assert_allclose(tip_by_tension[:, cable], (high.tip - low.tip) / (2 * h), rtol=1e-5, atol=1e-9)
        np.testing.assert_allclose(
            step.compliance[:, cable], (high.displacements - low.displacements) / (2 * h), rtol=1e-5, atol=1e-10
        )


def test_several_sections_at_once_are_those_one_by_one(coarse):
    heights, points = np.linspace(0.0, L, 6), coarse.equilibrium(SIDEWAYS).points
    one_by_one = [coarse.section(z, points) for z in heights]
    np.testing.assert_allclose(coarse.sections(heights, points), one_by_one, rtol=1e-12, atol=1e-15)


def test_tensions_and_displacements_are_two_ways_to_the_same_equilibrium(coarse):
    driven = coarse.equilibrium(SIDEWAYS, tensions=[0.4, 0.0, 0.0, 0.3, 0.2, 0.1])
    held = [d if t > 0 else None for d, t in zip(driven.displacements, driven.tensions, strict=True)]
    again = coarse.equilibrium(SIDEWAYS, displacements=held)
    np.testing.assert_allclose(again.tensions, driven.tensions, atol=1e-7)
    np.testing.assert_allclose(again.tip, driven.tip, atol=1e-8)


def test_a_cable_never_pushes(coarse):
    result = coarse.equilibrium([0.0, 0.0, -9.81], displacements=[-0.001, 0.002, None, None, None, None])
    assert result.tensions[0] == 0.0
    assert result.tensions[1] > 0.0
    assert (result.tensions[2:] == 0.0).all()
    assert result.displacements[1] == pytest.approx(0.002, abs=1e-8)


@pytest.mark.parametrize("upright", [[0.0, 0.0, -9.81], [0.0, 0.0, 9.81]])
def test_cables_that_are_all_just_taut_converge(coarse, upright):
    """Here every cable is at the border between slack and taut."""
    slack = coarse.equilibrium(upright)
    again = coarse.equilibrium(upright, displacements=slack.displacements)
    np.testing.assert_allclose(again.tip, slack.tip, atol=1e-7)


def test_equilibria_do_not_depend_on_the_past(coarse):
    first = coarse.equilibrium(SIDEWAYS)
    coarse.equilibrium([9.81, 0.0, 0.0])
    assert (coarse.equilibrium(SIDEWAYS).points == first.points).all()


def test_some_actuators_are_driven_while_others_efforts_are_held(coarse):
    """Where all are held, and where some are driven to what they then do, the body is the same."""
    tensions = np.array([0.5, 0.1, 0.3, 0.2, 0.4, 0.0])
    held = coarse.equilibrium(SIDEWAYS, tensions=tensions)
    driven = [None, held.coordinates[1], None, held.coordinates[3], held.coordinates[4], None]
    found = coarse.equilibrium(SIDEWAYS, coordinates=driven, efforts=tensions)
    np.testing.assert_allclose(found.tip, held.tip, atol=1e-8)
    np.testing.assert_allclose(found.efforts, tensions, atol=1e-5)
    assert coarse.is_held(SIDEWAYS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gravity": [0, 0]}, "gravity: expected 3"),
        ({"gravity": [0, 0, float("nan")]}, "not finite"),
        ({"gravity": "down"}, "gravity: expected 3"),
        ({"gravity": SIDEWAYS, "tensions": [-1, 0, 0, 0, 0, 0]}, "never pushes"),
        ({"gravity": SIDEWAYS, "tensions": [1, 0]}, "tensions: expected 6"),
        ({"gravity": SIDEWAYS, "displacements": [0.001] * 5}, "displacements: expected 6"),
        ({"gravity": SIDEWAYS, "displacements": 0.001}, "displacements: expected 6"),
        ({"gravity": SIDEWAYS, "displacements": [0.0] * 6, "tensions": [0.0] * 6}, "not both"),
        ({"gravity": SIDEWAYS, "displacements": [0.0] * 6, "coordinates": [0.0] * 6}, "not both"),
    ],
)
def test_bad_input_is_named(coarse, arguments, message):
    with pytest.raises(InputError, match=message):
        coarse.equilibrium(**arguments)


@pytest.mark.parametrize(("name", "general"), [("tensions", "efforts"), ("displacements", "coordinates")])
def test_words_of_cables_are_refused_where_a_chamber_would_take_them(name, general):
    finger = soft_twin.load_robot("finger").build_twin()
    with pytest.raises(InputError, match=f"{name}: not all actuators are cables: say {general}"):
        finger.equilibrium([0.0, 0.0, -9.81], **{name: np.full(finger.actuator_count, 0.1)})


def test_unknown_twins_meshes_and_elements_are_named(slender):
    with pytest.raises(UsageError, match="no twin 'magic': there are fem, rod"):
        slender.build_twin(backend="magic")
    with pytest.raises(UsageError, match="no mesh 'fine': there are hex20r"):
        slender.build_twin(mesh="fine")
    with pytest.raises(UsageError, match="no element 'brick'"):
        slender.build_twin(element="brick")
    with pytest.raises(MeshError, match="no mesh at"):
        slender.build_twin(mesh="/nowhere/tube.vtu")


def test_a_cable_outside_the_body_is_refused(slender):
    thin = sweep_tube(0.0035, OUTER, L, (1, 6, 4))
    with pytest.raises(MeshError, match="a cable leaves the body at"):
        slender.build_model((thin.nodes, thin.cells), "hex20r")


def column(cells, weight):
    """A twin of a column of hex20r with one cable along its middle, under gravity [m/s²]."""
    mesh, side, length = voxel_mesh(np.ones(cells, dtype=bool), 0.01, "hex20r"), 0.01 * cells[0], 0.01 * cells[2]
    middle = [0.5 * side, 0.5 * side]
    cables = Cables(mesh, np.array([[*middle, 0.0]]), np.array([[*middle, length]]))
    model = Model(body_of(mesh), [Gravity([0.0, 0.0, -weight])], actuators=[CableActuators(cables, 1e4)])
    return FemTwin(model, length)


def test_twin_and_simulator_refuse_a_body_whose_elements_move_without_energy():
    """One column of 20-node hexahedra with reduced quadrature: 12 motions a cell that no quadrature point feels."""
    twin = column((1, 1, 5), 0.1)
    with pytest.raises(ConvergenceError, match="elements move without energy"):
        twin.equilibrium(np.array([0.0, 0.0, -0.1]))
    with pytest.raises(ConvergenceError, match="elements move without energy"):
        equilibrium(twin.model)


@pytest.mark.parametrize(("weight", "wound", "leans"), [(0.02, None, False), (0.06, None, True), (0.0, 0.015, False)])
def test_twin_and_simulator_are_in_the_same_place_when_a_column_is_compressed(weight, wound, leans):
    """Its own weight buckles it from 7.84 EI/(ρ A L³) = 0.033 m/s² on (Greenhill 1881); a cable along its middle, which
    turns with it, does not. Ticks stay where it has gone."""
    twin = column((2, 2, 20), weight)
    found = twin.equilibrium([0.0, 0.0, -weight], coordinates=None if wound is None else [wound])
    assert (np.abs(found.tip[:2]).max() > 0.1) == leans
    twin.efforts = np.zeros(1)
    twin.model.drive([wound])
    np.testing.assert_allclose(equilibrium(twin.model).pose.points, found.points, atol=1e-9)
    twin.model.drive(None)
    twin.efforts = found.efforts
    assert twin.advance(twin.linearise([0.0, 0.0, -weight]), found.efforts, 0.005) < 1e-8
