"""Forces: resultants, potentials, stiffness against differences, and closed forms."""

import numpy as np
import pytest
from bodies import distorted_block
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from soft_twin.errors import InputError, MeshError
from soft_twin.mechanics.actuators.cables import CableActuators, PulledCables
from soft_twin.mechanics.actuators.chambers import Chambers
from soft_twin.mechanics.body import Body, Material, nodes_in
from soft_twin.mechanics.cables import Cables
from soft_twin.mechanics.constraints import Driven, Prescribed
from soft_twin.mechanics.contact import Box, Contact, Lumen, Plane, SelfContact, Sphere
from soft_twin.mechanics.loads import Effort, Gravity, NodalLoad, Pressure
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.materials.mooney_rivlin import MooneyRivlin
from soft_twin.mechanics.materials.muscle import Muscle
from soft_twin.mechanics.materials.ogden import Ogden
from soft_twin.mechanics.model import Model
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.mesh import Mesh
from soft_twin.solvers.equilibrium import equilibrium
from soft_twin.solvers.time.integrators import BackwardEuler

RNG = np.random.default_rng(2)


def body_of_block(element="hex8", clamped=True, law="neo_hookean"):
    mesh = distorted_block(element)
    held = mesh.nodes[:, 2] < 1e-9 if clamped else None
    return Body(mesh, Material(energy_named(law, 1e5, 0.3), 1000.0), held)


def outer_faces(mesh):
    """(f, k) faces that belong to one cell only, outward."""
    faces = np.vstack([mesh.cells[:, list(face)] for face in mesh.element.faces])
    corners = np.sort(faces[:, : mesh.element.corners_per_face], axis=1)
    _, first, count = np.unique(corners, axis=0, return_index=True, return_counts=True)
    return faces[first[count == 1]]


def moved(body):
    return body.mesh.nodes + RNG.uniform(-0.05, 0.05, body.mesh.nodes.shape)


def slope(function, x, direction, step=1e-6):
    return (function(x + step * direction) - function(x - step * direction)) / (2 * step)


def stiffness_times(force, x, direction):
    """Σ of a force's blocks times a nodal field."""
    result = np.zeros_like(x)
    groups = force.groups
    np.add.at(result, groups, np.einsum("mabij,mbj->mai", force.stiffness(x), direction[groups]))
    return result


def some_cable(body):
    return Cables(body.mesh, np.array([[0.4, 0.6, 0.0]]), np.array([[0.4, 0.6, 2.0]]))


def test_values_may_be_set_as_lists_and_are_checked_each_time():
    body = body_of_block()
    gravity, load = Gravity(), NodalLoad("top", [0.0, 0.0, 1.0])
    load.nodes = np.flatnonzero(body.mesh.nodes[:, 2] > 2.0 - 1e-9)
    pull, pressure = Effort(CableActuators(some_cable(body), np.inf), [1.0]), Pressure(outer_faces(body.mesh), 10.0)
    wound = Driven(CableActuators(some_cable(body), np.inf))
    model = Model(body, [gravity, load, pull, pressure], [wound])
    gravity.vector, load.value, pull.efforts, wound.coordinates = [0, 0, 1.0], [0, 1.0, 0], [2.0], [0.01]
    assert equilibrium(model).multipliers[0][0] > 0.0
    for owner, name, wrong in (
        (gravity, "vector", [0.0, 1.0]),
        (gravity, "vector", [0.0, 1.0, np.nan]),
        (load, "value", [0.0, 1.0]),
        (load, "value", np.zeros((2, 3))),
        (load, "value", [0.0, 0.0, np.inf]),
        (pull, "efforts", [-1.0]),
        (pull, "efforts", [1.0, 2.0]),
        (pull, "efforts", [np.nan]),
        (pressure, "pressure", np.nan),
        (wound, "coordinates", [0.0, 0.0]),
        (wound, "coordinates", [np.nan]),
    ):
        before = getattr(owner, name)
        with pytest.raises(InputError):
            setattr(owner, name, wrong)
        assert getattr(owner, name) is before


@pytest.mark.parametrize("count", [0, -1])
def test_cables_without_points_are_refused(count):
    with pytest.raises(InputError, match=f"at least 1 point in each cell is needed, not {count}"):
        Cables(body_of_block().mesh, [[0.5, 0.5, 0.0]], [[0.5, 0.5, 2.0]], points_per_cell=count)


def test_parts_of_another_mesh_are_refused():
    body, small = body_of_block(), voxel_mesh(np.ones((1, 1, 1)), 3.0, "hex8")
    small = Body(small, Material(energy_named("linear", 1e5, 0.3), 1.0), "base")
    for part in (Effort(CableActuators(some_cable(body), np.inf)), Driven(CableActuators(some_cable(body), np.inf))):
        with pytest.raises(InputError, match="threaded through another mesh"):
            part.attach(small)
    short = Cables(small.mesh, [[0.4, 0.6, 0.0]], [[0.4, 0.6, 2.0]])
    with pytest.raises(InputError, match="threaded through another mesh"):
        Effort(CableActuators(short, np.inf)).attach(body)
    with pytest.raises(MeshError, match="pressure's faces: expected indices below 8"):
        Pressure(outer_faces(body.mesh), 1.0).attach(small)
    with pytest.raises(InputError, match="prescribed velocity: expected 3 numbers"):
        Prescribed("base", velocity=[0.0, 1.0])


def test_what_is_no_part_is_told_at_once():
    with pytest.raises(InputError, match=r"prescribed motion: expected a function of time \[s\], found an array"):
        Prescribed("base", motion=np.zeros((4, 3)))
    with pytest.raises(InputError, match="cables: expected Cables that are threaded through a mesh, found a list"):
        CableActuators([1], 1e3)
    with pytest.raises(InputError, match=r"pressure: expected faces \(f, k\) of as many nodes each, found a list"):
        Pressure([[0, 1, 2], [1, 2]], 1.0).attach(body_of_block())


def test_gravity_pulls_with_the_body_s_weight_and_may_change():
    body = body_of_block()
    gravity = Gravity([0.0, 0.0, -9.81])
    gravity.attach(body)
    assert gravity.force(body.mesh.nodes).sum(axis=0) == pytest.approx([0.0, 0.0, -9.81 * 12.0 * 1000.0])
    gravity.vector = np.array([1.0, 2.0, 3.0])
    assert gravity.force(body.mesh.nodes).sum(axis=0) == pytest.approx([12e3, 24e3, 36e3])


@pytest.mark.parametrize("element", ["tet4", "tet10", "hex8", "hex20"])
def test_pressure_all_around_has_no_resultant_and_is_its_potential_s_slope(element):
    body = body_of_block(element, clamped=False)
    pressure = Pressure(outer_faces(body.mesh), 700.0)
    pressure.attach(body)
    x, direction = moved(body), RNG.normal(size=body.mesh.nodes.shape)
    force = pressure.force(x)
    assert np.abs(force.sum(axis=0)).max() < 1e-9
    assert np.abs(np.cross(x, force).sum(axis=0)).max() < 1e-9
    assert pressure.volume(body.mesh.nodes) == pytest.approx(-12.0)
    assert (force * direction).sum() == pytest.approx(-slope(pressure.energy, x, direction), rel=1e-7)
    numeric = -slope(pressure.force, x, direction)
    assert np.abs(stiffness_times(pressure, x, direction) - numeric).max() < 1e-6 * np.abs(numeric).max()


@pytest.mark.parametrize("element", ["tet4", "hex20"])
def test_a_body_under_water_shrinks_as_its_law_says(element):
    """Neo-Hooke: μ s + (3 λ ln s − μ)/s = −p s² for the stretch s of all directions."""
    body = body_of_block(element, clamped=False)
    law, p = body.parts[0].material.energy, 2e4
    corner = np.flatnonzero((body.mesh.nodes == 0.0).all(axis=1))
    model = Model(body, [Pressure(outer_faces(body.mesh), p)], [Prescribed(corner)])
    solved = equilibrium(model)
    s = brentq(lambda s: law.mu * s + (3 * law.lam * np.log(s) - law.mu) / s + p * s**2, 0.5, 1.0, xtol=1e-14)
    assert s < 0.96
    lengths = np.linalg.norm(solved.pose.points - solved.pose.points[corner], axis=1)
    assert lengths == pytest.approx(s * np.linalg.norm(body.mesh.nodes, axis=1), abs=2e-7)


def test_a_chamber_with_a_loose_rim_is_refused_unless_it_is_meant():
    body = body_of_block()
    top = outer_faces(body.mesh)
    top = top[(body.mesh.nodes[top][:, :, 2] > 2.0 - 1e-9).all(axis=1)]
    with pytest.raises(MeshError, match="rim of 10 edges"):
        Model(body, [Pressure(top, 1.0)])
    model = Model(body, [Pressure(top, 500.0, open_rim=True)])
    assert model.loads(body.mesh.nodes).sum(axis=0) == pytest.approx([0.0, 0.0, -500.0 * 6.0])
    assert equilibrium(model).pose.points[:, 2].max() < 2.0


def test_a_side_wall_whose_rim_is_partly_clamped_is_not_closed():
    body = body_of_block()
    side = outer_faces(body.mesh)
    side = side[(body.mesh.nodes[side][:, :, 0] < 1e-9).all(axis=1)]
    with pytest.raises(MeshError, match="neither closed nor clamped"):
        Model(body, [Pressure(side, 1.0)])


@pytest.mark.parametrize("value", [[1.0, 2.0], [[1.0, 2.0, 3.0]], [np.nan, 0.0, 0.0]])
def test_nodal_loads_of_a_wrong_shape_are_refused(value):
    with pytest.raises(InputError, match="nodal load"):
        Model(body_of_block(), [NodalLoad([5, 6], value)])


def test_cable_tension_is_its_potential_s_slope_inside_and_outside():
    body = body_of_block()
    top = np.flatnonzero(body.mesh.nodes[:, 2] > 2.0 - 1e-9)
    inside = Cables(
        body.mesh, np.array([[0.4, 0.6, 0.0], [2.3, 1.2, 0.0]]), np.array([[0.7, 0.9, 2.0], [2.3, 1.2, 2.0]])
    )
    outside = Cables.outside(body.mesh, np.array([[-1.0, 0.0, 0.0]]), top, np.array([[-0.5, 1.0, 2.0]]))
    assert outside.rest_lengths == pytest.approx([np.sqrt(0.25 + 1.0 + 4.0)])
    for cables in (inside, outside):
        pull = Effort(CableActuators(cables, np.inf), 100.0 * np.arange(1, cables.count + 1))
        pull.attach(body)
        x, direction = moved(body), RNG.normal(size=body.mesh.nodes.shape)
        assert (pull.force(x) * direction).sum() == pytest.approx(-slope(pull.energy, x, direction), rel=1e-7)
        numeric = -slope(pull.force, x, direction)
        assert np.abs(stiffness_times(pull, x, direction) - numeric).max() < 1e-6 * np.abs(numeric).max()


def test_a_cable_s_end_off_the_plate_is_refused():
    body = body_of_block()
    top = np.flatnonzero(body.mesh.nodes[:, 2] > 2.0 - 1e-9)
    with pytest.raises(MeshError, match="cable 0 is 500 mm off the plane"):
        Cables.outside(body.mesh, np.zeros((1, 3)), top, np.array([[0.0, 0.0, 2.5]]))


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ([0.4, 0.6, 2.0], r"ends .*\(c, 3\).* shape \(3,\)"),
        (np.zeros((0, 3)), r"ends .* shape \(0, 3\)"),
        ([[0.4, 0.6]], r"ends .* shape \(1, 2\)"),
        ([["a", "b", "c"]], "ends .* found .*'a'"),
        ([[0.4, 0.6, 2.0], [0.4, 0.6]], "ends .* found "),
        ([[0.4, np.nan, 2.0]], r"cable 0 .* \[0.4, nan, 2.0\]"),
        ([[0.4, 0.6, 2.0], [0.7, 0.6, 2.0]], "1 (starts|anchors) but 2 ends"),
        ([[0.4, 0.6, 0.0]], "cable 0 starts where it ends"),
    ],
)
def test_cables_of_ends_that_are_none_are_refused(ends, message):
    mesh, start = body_of_block().mesh, [[0.4, 0.6, 0.0]]
    with pytest.raises(InputError, match=message):
        Cables(mesh, start, ends)
    with pytest.raises(InputError, match=message):
        Cables.outside(mesh, start, mesh.nodes[:, 2] > 2.0 - 1e-9, ends)


def test_cables_of_starts_that_are_none_are_refused():
    mesh, ends = body_of_block().mesh, [[0.4, 0.6, 2.0]]
    with pytest.raises(InputError, match=r"starts .* shape \(3,\)"):
        Cables(mesh, [0.4, 0.6, 0.0], ends)
    with pytest.raises(InputError, match="2 anchors but 1 ends"):
        Cables.outside(mesh, np.zeros((2, 3)), mesh.nodes[:, 2] > 2.0 - 1e-9, ends)


def test_a_cable_s_nodes_are_indices_a_mask_or_a_name():
    block = body_of_block().mesh
    mask = block.nodes[:, 2] > 2.0 - 1e-9
    mesh = Mesh(block.nodes, block.cells, block.element, groups={"top": np.flatnonzero(mask)})
    anchors, ends = [[-1.0, 0.0, 0.0]], [[-0.5, 1.0, 2.0]]
    x = moved(body_of_block())
    expected = Cables.outside(mesh, np.array(anchors), np.flatnonzero(mask), np.array(ends)).lengths(x)
    for nodes in (mask, "top", np.flatnonzero(mask).tolist()):
        np.testing.assert_array_equal(Cables.outside(mesh, anchors, nodes, ends).lengths(x), expected)
    with pytest.raises(MeshError, match="no node group 'tip'"):
        Cables.outside(mesh, anchors, "tip", ends)
    with pytest.raises(InputError, match="cables outside: no nodes"):
        Cables.outside(mesh, anchors, [], ends)
    with pytest.raises(MeshError, match="cables outside: expected indices below"):
        Cables.outside(mesh, anchors, [len(mesh.nodes)], ends)


def test_cables_may_be_lists():
    body = body_of_block()
    same = Cables(body.mesh, [[0.4, 0.6, 0.0]], [[0.4, 0.6, 2.0]])
    np.testing.assert_array_equal(same.rest_lengths, some_cable(body).rest_lengths)


def test_a_cable_that_turns_loses_tension_by_the_capstan_equation():
    """Bent by a rotation that grows linearly with z, a cable in the middle turns by the same angle; what reaches its
    end is exp(−μ θ)."""
    body = body_of_block("hex20")
    cables = Cables(body.mesh, np.array([[1.5, 1.0, 0.0]]), np.array([[1.5, 1.0, 2.0]]), points_per_cell=16)
    pull = Effort(PulledCables(cables, 0.3), [50.0])
    pull.attach(body)
    angle = 0.8
    t = angle * body.mesh.nodes[:, 2] / 2.0
    radius = 2.0 / angle
    offset = body.mesh.nodes[:, 0] - 1.5
    x = body.mesh.nodes.copy()
    x[:, 0], x[:, 2] = 1.5 + radius * (1 - np.cos(t)) + offset * np.cos(t), (radius - offset) * np.sin(t)
    total = pull.force(x).sum(axis=0)
    end = 50.0 * np.exp(-0.3 * angle)
    assert pull.energy(x) is None
    last = pull.actuators._factors_at(x)[-1]
    assert last * 50.0 == pytest.approx(end, rel=0.02)
    assert np.linalg.norm(total) < 50.0


@pytest.mark.parametrize("as_force", [True, False], ids=["as a force", "of the model"])
def test_a_cable_that_is_pulled_and_let_go_with_friction_takes_work_away(as_force):
    """What its tension does in a slow cycle of pulls is nothing without friction."""
    mesh = voxel_mesh(np.ones((2, 2, 6), bool), [0.01, 0.011, 0.012], "hex8f")
    body = Body(mesh, Material(energy_named("neo_hookean", 8e4, 0.4), 1000.0), "base")

    def work(friction):
        cables = CableActuators(Cables(mesh, [[0.004, 0.005, 0.0]], [[0.004, 0.005, 0.072]]), 2e3, friction=friction)
        pull = Effort(cables, [0.0])
        model = Model(body, [pull]) if as_force else Model(body, actuators=[cables])
        moving, done = BackwardEuler(model, 1.0), 0.0
        tensions = 4.0 * np.sin(np.linspace(0.0, np.pi, 21)) ** 2
        for before, tension in zip(tensions[:-1], tensions[1:], strict=True):
            start = cables.coordinates(moving.pose.points)[0]
            if as_force:
                pull.efforts = [tension]
            else:
                model.efforts = np.array([tension])
            moving.step()
            done += 0.5 * (before + tension) * (cables.coordinates(moving.pose.points)[0] - start)
        return done

    assert abs(work(0.0)) < 1e-6
    assert work(0.5) > 1e-3


def test_the_turning_of_a_nearly_straight_cable_is_exact():
    """Turned as a whole by a tiny angle, a straight cable turns where it enters, and nowhere else."""
    body = body_of_block()
    cables, angle = some_cable(body), 1e-10
    x = body.mesh.nodes.copy()
    x[:, 0] += angle * body.mesh.nodes[:, 2]
    np.testing.assert_allclose(cables.turning(x), np.full(len(cables.owners), angle), rtol=1e-4)


@pytest.mark.parametrize("friction", [0.5, 1.5])
def test_steps_with_a_nearly_straight_cable_with_friction_converge(friction):
    mesh = voxel_mesh(np.ones((3, 3, 6), int), 0.01, "hex8")
    body = Body(mesh, Material(energy_named("neo_hookean", 2e5, 0.4), 1000.0), mesh.nodes[:, 2] < 1e-9)
    cables = Cables(mesh, np.array([[0.004, 0.012, 0.0]]), np.array([[0.004, 0.012, 0.06]]))
    model = Model(body, [Gravity([3.0, -2.0, -9.81]), Effort(PulledCables(cables, friction), [1.5])])
    scheme = BackwardEuler(model, 0.005, mass_damping=1.0)
    assert max(scheme.step().iterations for _ in range(20)) <= 10


@pytest.mark.parametrize("bend", [1e-5, 1e-1])
def test_the_stiffness_of_cables_with_friction_is_the_slope_of_their_force(bend):
    """Two cables that are nearly straight, or bent."""
    body = body_of_block()
    starts, ends = [[0.4, 0.6, 0.0], [2.3, 1.2, 0.0]], [[0.7, 0.9, 2.0], [2.3, 1.2, 2.0]]
    pull = Effort(PulledCables(Cables(body.mesh, starts, ends), 0.7), [50.0, 80.0])
    pull.attach(body)
    x, direction = (
        body.mesh.nodes + bend * RNG.normal(size=body.mesh.nodes.shape),
        RNG.normal(size=body.mesh.nodes.shape),
    )
    turned = (pull.remainder(x) @ direction.ravel()).reshape(x.shape)
    numeric = -slope(pull.force, x, direction, step=1e-3 * bend)
    assert np.abs(turned).max() > 1.0
    assert np.abs(stiffness_times(pull, x, direction) + turned - numeric).max() < 1e-4 * np.abs(numeric).max()


@pytest.mark.parametrize("angles", [(0.0, 0.0), (1.2, 0.4), (np.pi, -2.0)])
def test_where_a_cable_turns_does_not_depend_on_how_the_body_is_laid(angles):
    mesh = voxel_mesh(np.ones((2, 2, 6)), np.array([0.006, 0.006, 0.1 / 6.0]))
    turn = Rotation.from_euler("xz", angles).as_matrix()
    laid = Mesh(mesh.nodes @ turn.T, mesh.cells, mesh.element, surfaces=mesh.surfaces)
    inside = np.array([[[0.003, 0.002, 0.0], [0.003, 0.002, 0.06], [0.003, 0.0, 0.1]]])
    bend = mesh.nodes + 20.0 * mesh.nodes[:, 2:] ** 2 * np.array([0.02, 0.05, 0.0])
    expected = Cables.through(mesh, inside).turning(bend)
    np.testing.assert_allclose(Cables.through(laid, inside @ turn.T).turning(bend @ turn.T), expected, atol=1e-7)
    assert expected[-1] > 0.1


def test_a_straight_cable_from_the_side_turns_nowhere():
    mesh = voxel_mesh(np.ones((2, 2, 5)), np.array([0.006, 0.005, 0.02]))
    aside = Cables.outside(mesh, np.array([[0.15, 0.0, 0.09]]), "tip", np.array([[0.006, 0.0, 0.1]]))
    assert aside.first_turns(mesh.nodes)[0] < 1e-9


def test_an_end_that_is_cut_aslant_says_why_it_has_no_nodes():
    mesh = voxel_mesh(np.ones((2, 2, 3)), 0.01)
    aslant = Mesh(mesh.nodes, mesh.cells, mesh.element, surfaces={"tip": np.zeros((0, 4), dtype=int)})
    with pytest.raises(InputError, match="frames.tip: no nodes, for no face lies flat at that end"):
        nodes_in(aslant, "tip", "frames.tip")


FLOOR = Plane([0.0, 0.0, 0.0], [0.0, 0.0, 1.0])
CUBE = voxel_mesh(np.ones((1, 1, 1)), 0.1)
RUBBER = energy_named("neo_hookean", 1e5, 0.3)


def middle_cable():
    return Cables(CUBE, np.array([[0.05, 0.05, 0.0]]), np.array([[0.05, 0.05, 0.1]]))


def moving_as_said(said):
    """A cube whose base moves in a way of one's own."""
    return BackwardEuler(Model(Body(CUBE, Material(RUBBER, 1e3)), [], [Prescribed("base", motion=lambda _: said)]), 0.1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: voxel_mesh(np.ones((1, 1, 1)), "2 cm"), "voxels: expected one edge length .* found '2 cm'"),
        (lambda: voxel_mesh(np.ones((1, 1, 1)), [0.1, 0.2]), r"voxels: expected one edge .* of shape \(2,\)"),
        (lambda: energy_named("neo_hookean", "1e5", 0.3), r"Young's modulus: expected a number \[Pa\], found '1e5'"),
        (lambda: energy_named("linear", 1e5, None), "Poisson's ratio: expected a number, found None"),
        (lambda: Body(CUBE, Material(RUBBER, "heavy")), r"density: expected a number \[kg/m³\], found 'heavy'"),
        (lambda: Body(CUBE, Material("rubber", 1e3)), "material: expected an Energy, .* found 'rubber'"),
        (lambda: Body(CUBE, RUBBER), "materials: expected a list of materials, found a NeoHookean"),
        (lambda: Body("cube", Material(RUBBER, 1e3)), "body: expected a Mesh, found 'cube'"),
        (
            lambda: Body(CUBE, Material(RUBBER, 1e3)).attach_mass("tip", "1 kg"),
            r"attached mass: .*\[kg\], found '1 kg'",
        ),
        (lambda: NodalLoad("tip", [[1.0, 2.0], [3.0]]), "nodal load: expected .* numbers, found a list"),
        (lambda: Pressure("tip", "10 kPa"), r"pressure: expected a number \[Pa\], found '10 kPa'"),
        (lambda: Driven(Chambers(["chamber 1"]), ["open"]), "driven coordinate: expected a number, found 'open'"),
        (lambda: CableActuators(middle_cable(), "stiff"), r"cables' stiffness: expected a number .* found 'stiff'"),
        (lambda: CableActuators(middle_cable(), 1e3, friction=None), "cables' friction: expected a number, found None"),
        (lambda: MooneyRivlin("1e5", 1e4, 1e6), r"Mooney–Rivlin's c1: expected a number \[Pa\], found '1e5'"),
        (lambda: Ogden([[1e5], [1e4, 2.0]], [2.0], 1e6), "Ogden's moduli: expected some numbers .* found a list"),
        (lambda: Ogden([1e5], [2.0], None), r"bulk modulus: expected a number \[Pa\], found None"),
        (lambda: Muscle("1e5", [0.0, 0.0, 1.0]), r"muscle's stiffness: expected a number \[Pa\], found '1e5'"),
        (lambda: Muscle(1e5, "z"), "muscle's direction: expected numbers .* found 'z'"),
        (lambda: Muscle(1e5, [0.0, 0.0, 1.0], "full"), "muscle's activation: expected a number, .* found 'full'"),
        (lambda: SelfContact("tip", "near"), r"self contact's margin: expected a number \[m\], found 'near'"),
        (lambda: Lumen([[0.0], [1.0, 2.0]], 0.1), "lumen: expected points .* found a list"),
        (lambda: Lumen([[0.0] * 3, [1.0] * 3], "wide"), "lumen: expected one radius .* found 'wide'"),
        (lambda: Lumen([[0.0] * 3, [1.0] * 3], 0.1, "round"), r"lumen's lip: expected a number \[m\], found 'round'"),
        (lambda: Sphere([0.0, 0.0, 0.0], "1"), r"sphere's radius: expected a number \[m\], found '1'"),
        (lambda: Contact(FLOOR, "tip", "rough"), "contact's friction: expected a number, found 'rough'"),
        (lambda: Contact(FLOOR, "tip", spacing="wide"), r"contact's spacing: expected a number \[m\], found 'wide'"),
        (lambda: Contact("floor", "tip"), "contact: expected an obstacle, such as a Plane, found 'floor'"),
        (lambda: moving_as_said([[0.0], [1.0, 2.0]]), "prescribed motion: expected .* numbers, found a list"),
    ],
)
def test_what_is_no_number_is_named(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_what_is_done_to_an_array_later_changes_nothing():
    value, rotation = np.array([0.0, 0.0, 1.0]), np.eye(3)
    load, box = NodalLoad("tip", value), Box([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], rotation)
    value[:], rotation[:] = np.nan, 0.0
    assert np.array_equal(load.value, [0.0, 0.0, 1.0])
    assert np.array_equal(box.rotation, np.eye(3))


@pytest.mark.parametrize("change", [lambda x: x[:-1], lambda x: x.ravel(), lambda x: "tip", lambda x: NodalLoad])
def test_positions_of_other_nodes_are_refused_and_lists_are_taken(change):
    grid = np.ones((3, 3, 3))
    grid[1, 1, 1] = 0.0
    mesh = voxel_mesh(grid, 0.01)
    cable = Cables(mesh, np.array([[0.005, 0.005, 0.0]]), np.array([[0.005, 0.005, 0.03]]))
    room, touch = Pressure("chamber 1"), Contact(FLOOR, "base")
    body = Body(mesh, Material(RUBBER, 1e3), "tip")
    model = Model(body, [room], [touch])
    x = mesh.nodes + 0.001 * RNG.normal(size=mesh.nodes.shape)
    for ask in (
        room.volume,
        cable.lengths,
        model.energy,
        touch.penetration,
        lambda x: touch.forces(x, {}),
        lambda x: body.assemble(x)[0],
    ):
        assert ask(x.tolist()) == pytest.approx(ask(x), rel=1e-12)
        with pytest.raises(InputError, match=r"positions: expected \(64, 3\) of this body's nodes, such as .* found"):
            ask(change(x))
