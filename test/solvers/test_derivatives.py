"""Derivatives by parameters: against central differences of whole solutions, forward and adjoint."""

from dataclasses import dataclass

import numpy as np
import pytest
from bodies import distorted_block
from scipy.spatial.transform import Rotation

from soft_twin.errors import ConvergenceError, InputError, UsageError
from soft_twin.mechanics.actuators.cables import CableActuators, PulledCables
from soft_twin.mechanics.actuators.chambers import Chambers
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.cables import Cables
from soft_twin.mechanics.constraints import Driven, Prescribed, RigidPlate
from soft_twin.mechanics.contact import Contact, Plane, Sphere
from soft_twin.mechanics.loads import Effort, Gravity, NodalLoad, Pressure
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.materials.base import Energy
from soft_twin.mechanics.materials.muscle import Muscle
from soft_twin.mechanics.model import Increment, Model
from soft_twin.mesh.elements import ELEMENTS
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.mesh import make_mesh
from soft_twin.solvers import equilibrium as solve
from soft_twin.solvers.derivatives.derivatives import gradient, record, sensitivities, trajectory_gradient
from soft_twin.solvers.derivatives.forward import trajectory_sensitivities
from soft_twin.solvers.derivatives.parameters import Attribute, Density, Elastic
from soft_twin.solvers.equilibrium import equilibrium
from soft_twin.solvers.time.integrators import BackwardEuler, CrankNicolson, Integrator

RNG = np.random.default_rng(5)


def block(law="neo_hookean", element="hex8", scale=0.1):
    unit = distorted_block(element)
    mesh = make_mesh(scale * unit.nodes, unit.cells, ELEMENTS[element])
    return Body(mesh, Material(energy_named(law, 2e5, 0.4), 1100.0), mesh.nodes[:, 2] < 1e-9)


def differences(solve, parameter, relative=1e-4):
    """Central difference of fourth order of `solve()`, an array, by a parameter."""
    value = parameter.value
    step = relative * max(abs(value), 0.01)
    total = 0.0
    for shift, weight in ((-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12)):
        parameter.set(value + shift * step)
        total = total + weight / step * solve()
    parameter.set(value)
    return total


class Together:
    """Parameters that change at once, each by a part of its value that changes what is solved for as much as those of
    the others do, where derivatives are of these `sizes` (k,): one that is wrong is seen in the sum as by itself."""

    value = 1.0

    def __init__(self, parameters, sizes):
        self.parameters, self.values = parameters, np.array([parameter.value for parameter in parameters])
        self.share = np.abs(self.values * sizes).min()
        self.parts = self.share / sizes

    def set(self, value):
        for parameter, each in zip(self.parameters, self.values + (value - self.value) * self.parts, strict=True):
            parameter.set(each)


def sensitivities_are_exact(exact, solve, parameters, relative):
    """Derivatives (…, k) of arrays are those of differences, each to a millionth of its largest entry."""
    together = Together(parameters, np.abs(exact).max(axis=tuple(range(exact.ndim - 1))))
    numeric = differences(solve, together, relative)
    assert np.abs(exact @ together.parts - numeric).max() < 1e-6 * together.share


def gradient_is_exact(exact, value, parameters, relative=1e-4, tolerance=1e-6):
    """Derivatives (k,) of a number are those of differences, each to this part of it."""
    together = Together(parameters, exact)
    numeric = differences(value, together, relative)
    assert numeric == pytest.approx(len(parameters) * together.share, abs=tolerance * together.share)


def derivatives_are_exact(model, solved, parameters, relative=1e-4):
    """Forward, those of an equilibrium are what differences of whole solutions are; adjoint, they are those forward."""
    exact = sensitivities(model, solved, parameters)
    objective = RNG.normal(size=solved.pose.points.shape)
    adjoint = gradient(model, solved, objective, parameters)
    sensitivities_are_exact(exact, lambda: equilibrium(model).pose.points, parameters, relative)
    for index in range(len(parameters)):
        assert adjoint[index] == pytest.approx((objective * exact[..., index]).sum(), rel=1e-9)


def loaded_block():
    body = block()
    top = np.flatnonzero(body.mesh.nodes[:, 2] > 0.2 - 1e-9)
    gravity, load = Gravity([5.0, 0.0, -9.81]), NodalLoad(top, [3.0, 4.0, -2.0])
    cables = Cables(body.mesh, np.array([[0.05, 0.1, 0.0]]), np.array([[0.05, 0.1, 0.2]]))
    pull = Effort(CableActuators(cables, np.inf), [40.0])
    model = Model(body, [gravity, load, pull])
    material = body.parts[0].material
    return model, [
        Elastic(material, "young_modulus"),
        Elastic(material, "poisson_ratio"),
        Density(model, material),
        Attribute(gravity, "vector", 0),
        Attribute(load, "value", 1),
        Attribute(pull, "efforts", 0),
    ]


def test_static_sensitivities_and_gradients_are_those_of_finite_differences():
    model, parameters = loaded_block()
    solved = equilibrium(model)
    derivatives_are_exact(model, solved, parameters)


@pytest.mark.parametrize("poisson_ratio", [0.45, 0.49, 0.499, 0.4999])
def test_derivatives_by_poisson_s_ratio_are_exact_where_it_is_nearly_a_half(poisson_ratio):
    body = block(element="hex20r")
    material = body.parts[0].material
    material.energy = energy_named("neo_hookean", 2e5, poisson_ratio)
    model, parameter = Model(body, [Gravity([5.0, 0.0, -9.81])]), Elastic(material, "poisson_ratio")
    solved = equilibrium(model)
    exact = sensitivities(model, solved, [parameter])[..., 0]
    relative = 0.003 * (0.5 - poisson_ratio) / poisson_ratio
    numeric = differences(lambda: equilibrium(model, solved.pose).pose.points, parameter, relative)
    assert np.abs(exact - numeric).max() < 1e-6 * np.abs(numeric).max()


def test_sensitivities_know_plates_cables_that_pull_and_contact(monkeypatch):
    monkeypatch.setattr(solve, "GAP_TOLERANCE", 1e-10)
    body = block()
    nodes = body.mesh.nodes
    cables = Cables.outside(
        body.mesh, np.array([[0.4, 0.1, 0.0], [-0.1, 0.1, 0.0]]), np.flatnonzero(nodes[:, 2] > 0.2 - 1e-9),
        np.array([[0.32, 0.1, 0.2], [-0.02, 0.1, 0.2]]),
    )  # fmt: skip
    stretching = CableActuators(cables, 1e3)
    pull = Driven(stretching, [0.02, 0.001])
    ball = Sphere([0.15, 0.26, 0.12], 0.085)
    gravity = Gravity([0.0, 3.0, -9.81])
    model = Model(body, [gravity], [RigidPlate(nodes[:, 2] > 0.2 - 1e-9), pull, Contact(ball)])
    solved = equilibrium(model)
    assert solved.multipliers[1][0] > 1.0 and max(solved.multipliers[2].values()) > 0.1
    parameters = [
        Elastic(body.parts[0].material, "young_modulus"),
        Attribute(pull, "coordinates", 0),
        Attribute(stretching, "softness", 0),
        Attribute(gravity, "vector", 1),
        Attribute(ball, "position", 1),
    ]
    exact = sensitivities(model, solved, parameters)
    sensitivities_are_exact(exact, lambda: equilibrium(model).pose.points, parameters, relative=2e-4)


def test_pressure_on_a_rim_that_moves_is_differentiated_too(monkeypatch):
    """Newton's method only has the symmetric part of its stiffness: solutions are asked to be better than usual."""
    monkeypatch.setattr(solve, "TOLERANCE", 1e-13)
    body = block(element="hex20")
    top = body.mesh.nodes[:, 2] > 0.2 - 1e-9
    faces = [cell[list(face)] for cell in body.mesh.cells for face in body.mesh.element.faces]
    inner = np.array([face for face in faces if top[face].all()])
    pressure = Pressure(inner, 3000.0, open_rim=True)
    model = Model(body, [pressure])
    solved = equilibrium(model)
    numeric = differences(lambda: equilibrium(model).pose.points, Attribute(pressure, "pressure"))
    exact = sensitivities(model, solved, [Attribute(pressure, "pressure")])[..., 0]
    assert np.abs(exact - numeric).max() < 1e-6 * np.abs(numeric).max()
    objective = RNG.normal(size=exact.shape)
    adjoint = gradient(model, solved, objective, [Attribute(pressure, "pressure")])
    assert adjoint[0] == pytest.approx((objective * exact).sum(), rel=1e-9)


def test_cables_with_friction_are_differentiated():
    """A force without a potential, whose stiffness has no symmetry."""
    body, gravity = block(), Gravity([20.0, 3.0, -9.81])
    cables = Cables(body.mesh, np.array([[0.05, 0.1, 0.0]]), np.array([[0.05, 0.1, 0.2]]))
    pull = Effort(PulledCables(cables, 0.4), [60.0])
    model = Model(body, [gravity, pull])
    solved = equilibrium(model)
    parameters = [Attribute(pull, "efforts", 0), Attribute(pull.actuators, "friction"), Attribute(gravity, "vector", 0)]
    derivatives_are_exact(model, solved, parameters, relative=1e-2)


@pytest.mark.parametrize("touches", [False, True])
def test_gradients_through_time_with_a_plate_that_turns(touches, monkeypatch):
    """In steps of Crank–Nicolson its forces balance at the midpoint."""
    monkeypatch.setattr(solve, "TOLERANCE", 1e-13)
    body = block(law="stable_neo_hookean")
    nodes = body.mesh.nodes
    top = nodes[:, 2] > 0.2 - 1e-9
    body.attach_mass(np.flatnonzero(top), 3.0)
    cables = Cables.outside(body.mesh, np.array([[0.4, 0.1, 0.0]]), np.flatnonzero(top), np.array([[0.32, 0.1, 0.2]]))
    pull = Effort(CableActuators(cables, np.inf), [20.0])
    ball = Contact(Sphere([0.15, 0.1, 0.31], 0.1))
    model = Model(body, [Gravity([4.0, 3.0, -9.81]), pull], [RigidPlate(top), *[ball] * touches])
    parameters = [Elastic(body.parts[0].material, "young_modulus"), Attribute(pull, "efforts", 0)]

    def run():
        spinning = np.cross([2.0, -9.0, 12.0], nodes) * (nodes[:, 2:] > 1e-9)
        integrator = CrankNicolson(model, 0.02, velocities=spinning, mass_damping=3.0, stiffness_damping=1e-3)
        return integrator, record(integrator, 2)

    integrator, moments = run()
    turned = Rotation.from_matrix(moments[-1].solved.pose.rotations[0]).magnitude()
    assert turned > 0.2 and bool(moments[-1].solved.multipliers[-1]) == touches
    objective = RNG.normal(size=(2, *nodes.shape))
    exact = trajectory_gradient(integrator, moments, objective, parameters)

    def value():
        return float((objective * np.array([moment.solved.pose.points for moment in run()[1]])).sum())

    gradient_is_exact(exact, value, parameters, relative=1e-3)


@pytest.mark.parametrize("scheme", [BackwardEuler, CrankNicolson])
def test_pressure_on_a_rim_that_moves_is_differentiated_through_time(scheme, monkeypatch):
    monkeypatch.setattr(solve, "TOLERANCE", 1e-13)
    body = block()
    nodes = body.mesh.nodes
    faces = [cell[list(face)] for cell in body.mesh.cells for face in body.mesh.element.faces]
    pressure = Pressure(np.array([face for face in faces if (nodes[face, 2] > 0.2 - 1e-9).all()]), 2e4, open_rim=True)
    model = Model(body, [pressure])
    gradient_through_time_is_exact(scheme, model, [Attribute(pressure, "pressure")])


@pytest.mark.parametrize("scheme", [BackwardEuler, CrankNicolson])
def test_prescribed_motions_are_differentiated(scheme):
    body = block()
    nodes = body.mesh.nodes
    lead = Prescribed(nodes[:, 2] > 0.2 - 1e-9, velocity=[0.2, 0.1, 0.05])
    model, parameter = Model(body, [Gravity()], [lead]), Attribute(lead, "velocity", 0)
    solved = equilibrium(model, time=0.1)
    exact = sensitivities(model, solved, [parameter], time=0.1)[..., 0]
    numeric = differences(lambda: equilibrium(model, time=0.1).pose.points, parameter)
    assert np.abs(exact - numeric).max() < 1e-6 * np.abs(numeric).max()
    objective = RNG.normal(size=exact.shape)
    adjoint = gradient(model, solved, objective, [parameter], time=0.1)
    assert adjoint[0] == pytest.approx((objective * exact).sum(), rel=1e-9)
    with pytest.raises(InputError, match="prescribed nodes are not where they are to be at 0 s"):
        sensitivities(model, solved, [parameter])
    gradient_through_time_is_exact(scheme, model, [parameter])


@pytest.mark.parametrize("scheme", [BackwardEuler, CrankNicolson])
def test_sensitivities_know_the_inertia_of_prescribed_nodes(scheme):
    """What a consistent mass pushes as the lead sets off is in all later steps."""
    body = block()
    lead = Prescribed(body.mesh.nodes[:, 2] > 0.2 - 1e-9, velocity=[0.2, 0.1, 0.05])
    model, parameter = Model(body, [], [lead], consistent_mass=True), Attribute(lead, "velocity", 0)
    integrator = scheme(model, 0.004, mass_damping=3.0)
    rest, still = model.rest, np.zeros_like(model.rest.points)

    def moments():
        integrator.restart(rest, still, 0.0)
        return record(integrator, 4)

    def points():
        return np.array([moment.solved.pose.points for moment in moments()])

    recorded = moments()
    found = trajectory_sensitivities(integrator, recorded, [parameter])[..., 0]
    numeric = parameter.differences(points)
    assert found == pytest.approx(numeric, abs=1e-6 * np.abs(numeric).max())
    objective = np.random.default_rng(2).normal(size=found.shape)
    adjoint = trajectory_gradient(integrator, recorded, objective, [parameter])
    assert adjoint[0] == pytest.approx((objective * found).sum(), rel=1e-6)


@dataclass
class Ramp:
    """What a robot does in time: its pressure, muscle and wall follow a few numbers."""

    chamber: Pressure
    muscle: Muscle
    wall: Sphere
    pressure_rate: float = 4e5
    activation_rate: float = 20.0
    wall_speed: float = -1.0

    def __call__(self, time):
        self.chamber.pressure = self.pressure_rate * time
        self.muscle.activation = self.activation_rate * time**2
        self.wall.position = np.array([0.4 + self.wall_speed * time, 0.113, 0.087])


@pytest.mark.parametrize("scheme", [BackwardEuler, CrankNicolson])
def test_actuation_that_changes_from_step_to_step_is_differentiated(scheme, monkeypatch):
    monkeypatch.setattr(solve, "TOLERANCE", 1e-13)
    monkeypatch.setattr(solve, "GAP_TOLERANCE", 1e-10)
    mesh = block().mesh
    solid, muscle = Material(energy_named("neo_hookean", 2e5, 0.4), 1100.0), Muscle(5e4, [0.1, 0.0, 1.0])
    body = Body(mesh, [solid, Material(muscle, 0.0)], mesh.nodes[:, 2] < 1e-9)
    faces = [cell[list(face)] for cell in mesh.cells for face in mesh.element.faces]
    chamber = Pressure(np.array([face for face in faces if (mesh.nodes[face, 2] > 0.2 - 1e-9).all()]), open_rim=True)
    wall = Sphere([0.4, 0.113, 0.087], 0.09)
    ramp, touch = Ramp(chamber, muscle, wall), Contact(wall)
    model = Model(body, [chamber], [touch])
    parameters = [Attribute(ramp, name) for name in ("pressure_rate", "activation_rate", "wall_speed")]
    moments = gradient_through_time_is_exact(scheme, model, parameters, ramp)
    assert moments[-1].solved.multipliers[0], "the wall is reached"


def gradient_through_time_is_exact(scheme, model, parameters, actuate=lambda time: None):
    """That of a random objective over four steps is what differences of whole motions say; the motion's moments."""

    def run():
        integrator = scheme(model, 0.004, mass_damping=3.0, stiffness_damping=1e-3)
        return integrator, record(integrator, 4, actuate)

    integrator, moments = run()
    objective = np.random.default_rng(1).normal(size=(4, *model.body.mesh.nodes.shape))
    exact = trajectory_gradient(integrator, moments, objective, parameters, actuate)

    def value():
        return float((objective * np.array([moment.solved.pose.points for moment in run()[1]])).sum())

    gradient_is_exact(exact, value, parameters, relative=1e-3)
    return moments


@pytest.mark.parametrize("scheme", [BackwardEuler, CrankNicolson])
def test_gradients_through_time(scheme):
    body = block(law="corotational")
    gravity = Gravity([4.0, 0.0, -9.81])
    cables = Cables(body.mesh, np.array([[0.05, 0.1, 0.0]]), np.array([[0.05, 0.1, 0.2]]))
    pull = Driven(CableActuators(cables, 1e4), [0.004])
    floor = Contact(Plane([0.302, 0.0, 0.0], [-1.0, 0.0, 0.0]))
    model = Model(body, [gravity], [pull, floor])
    material = body.parts[0].material
    parameters = [Elastic(material, "young_modulus"), Density(model, material), Attribute(pull, "coordinates", 0)]

    def run():
        integrator = scheme(model, 0.004, velocities=[0.3, 0.1, 0.0], mass_damping=3.0, stiffness_damping=1e-3)
        return integrator, record(integrator, 6)

    integrator, moments = run()
    assert moments[-1].solved.multipliers[1], "the wall is reached"
    objective = RNG.normal(size=(6, *body.mesh.nodes.shape))
    exact = trajectory_gradient(integrator, moments, objective, parameters)
    assert integrator.time == pytest.approx(0.024)

    def value():
        return sum(
            (weights * moment.solved.pose.points).sum() for weights, moment in zip(objective, run()[1], strict=True)
        )

    gradient_is_exact(exact, value, parameters, tolerance=1e-5)


def test_what_cannot_be_differentiated_is_refused():
    model, parameters = loaded_block()
    solved = equilibrium(model)
    with pytest.raises(InputError, match="objective"):
        gradient(model, solved, np.zeros(3), parameters)

    gravity = model.forces[0]
    for owner, name, index in ((gravity, "vectr", 0), (gravity, "vector", None), (gravity, "vector", 3)):
        for use in (lambda which: which.value, lambda which: which.set(1.0)):
            with pytest.raises(UsageError, match=f"a Gravity has no number '{name}"):
                use(Attribute(owner, name, index))

    with pytest.raises(UsageError, match="a Material's density: take Density"):
        Attribute(model.body.parts[0].material, "density").set(5.0)

    class Follower(NodalLoad):
        def force(self, x):
            return super().force(x) * (1.0 + x[-1, 0])

    own = Model(block(), [Follower([30], [0.0, 0.0, 1.0])])
    with pytest.raises(UsageError, match="a Follower changes with the positions and has no stiffness"):
        sensitivities(own, equilibrium(own), [])

    class Own(Energy):
        def energy(self, F):
            return 0.5 * ((F - np.eye(3)) ** 2).sum(axis=(1, 2))

    with pytest.raises(UsageError, match="Own has no young_modulus"):
        Elastic(Material(Own(), 1.0), "young_modulus").value  # noqa: B018


def test_efforts_of_actuators_of_two_kinds_are_parameters():
    filled = np.ones((3, 3, 4))
    filled[1, 1, 1:3] = 0.0
    mesh = voxel_mesh(filled, 0.01)
    cables = CableActuators(Cables(mesh, np.array([[0.005, 0.005, 0.0]]), np.array([[0.005, 0.005, 0.04]])), np.inf)
    body = Body(mesh, Material(energy_named("neo_hookean", 1e5, 0.4), 1100.0), "base")
    model = Model(body, actuators=[cables, Chambers(["chamber 1"])])
    efforts = np.array([0.4, 3e3])

    def positions(own):
        model.efforts = own
        return equilibrium(model).pose.points

    positions(efforts)
    exact = sensitivities(model, equilibrium(model), [Attribute(model, "efforts", 0), Attribute(model, "efforts", 1)])
    for index, step in enumerate(1e-3 * np.diag(efforts)):
        numeric = (positions(efforts + step) - positions(efforts - step)) / (2.0 * step[index])
        assert np.abs(exact[..., index] - numeric).max() < 1e-5 * np.abs(numeric).max()


def test_what_are_no_parameters_and_no_solution_is_told():
    model, parameters = loaded_block()
    solved, moving = equilibrium(model), BackwardEuler(model, 0.01)
    objective, moments = np.zeros(solved.pose.points.shape), record(moving, 1)
    for found, bad in (("a Elastic", parameters[0]), ("'young_modulus'", "young_modulus")):
        for use in (
            lambda bad=bad: sensitivities(model, solved, bad),
            lambda bad=bad: gradient(model, solved, objective, bad),
            lambda bad=bad: trajectory_gradient(moving, moments, objective[None], bad),
            lambda bad=bad: trajectory_sensitivities(moving, moments, bad),
        ):
            with pytest.raises(InputError, match=f"parameters: expected a list of parameters, found {found}"):
                use()
    with pytest.raises(InputError, match="parameters: expected parameters, such as an Attribute, found a tuple"):
        sensitivities(model, solved, [(model.forces[0], "vector", 2)])
    with pytest.raises(InputError, match="solved: expected a solution, as equilibrium.* gives it, found a Pose"):
        gradient(model, solved.pose, objective, parameters)
    with pytest.raises(InputError, match="objective: expected .*, found 'tip'"):
        gradient(model, solved, "tip", parameters)

    other = equilibrium(Model(block(element="hex20r")))
    with pytest.raises(InputError, match="pose: expected finite points .* is it another model's?"):
        sensitivities(model, other, parameters)


def test_solutions_of_a_model_that_has_changed_since_are_refused():
    model, parameters = loaded_block()
    solved = equilibrium(model)
    parameters[3].set(6.0)
    with pytest.raises(InputError, match="the model is not as it was when it was solved"):
        sensitivities(model, solved, parameters)
    with pytest.raises(InputError, match="the model is not as it was when it was solved"):
        gradient(model, solved, solved.pose.points, parameters)
    integrator = BackwardEuler(model, 0.004)
    moments = record(integrator, 2)
    parameters[3].set(5.0)
    moments += record(integrator, 1)
    objective = np.ones((3, *solved.pose.points.shape))
    with pytest.raises(InputError, match="the model is not as it was"):
        trajectory_gradient(integrator, moments, objective, parameters)
    hurried = BackwardEuler(model, 0.004, newton_steps=1)
    with pytest.raises(UsageError, match="steps of 1 Newton steps"):
        trajectory_gradient(hurried, record(hurried, 3), objective, parameters)


def test_a_contact_that_is_lost_within_a_difference_is_named():
    """A thousandth of a coordinate of 200 m is more than the contact reaches."""
    near = block().mesh
    mesh = make_mesh(near.nodes + [200.0, 0.0, 0.0], near.cells, near.element)
    body = Body(mesh, Material(energy_named("neo_hookean", 2e5, 0.4), 1100.0), mesh.nodes[:, 2] < 1e-9)
    wall = Plane([200.302, 0.0, 0.0], [-1.0, 0.0, 0.0])
    model = Model(body, [Gravity([20.0, 0.0, -9.81])], [Contact(wall)])
    solved = equilibrium(model)
    assert max(solved.multipliers[0].values()) > 0.1
    with pytest.raises(ConvergenceError, match="a contact is lost"):
        sensitivities(model, solved, [Attribute(wall, "position", 0)])


FRICTION = {
    "slips on a plane": (Plane([0.15, 0.199, 0.12], [0.1, -1.0, 0.05]), 0.1, None),
    "sticks to a plane": (Plane([0.15, 0.199, 0.12], [0.1, -1.0, 0.05]), 0.8, None),
    "slips on a ball": (Sphere([0.15, 0.26, 0.12], 0.085), 0.1, None),
    "slips on a ball between nodes": (Sphere([0.15, 0.26, 0.12], 0.085), 0.1, 0.025),
}


@pytest.mark.parametrize("case", FRICTION)
def test_friction_is_differentiated(case, monkeypatch):
    monkeypatch.setattr(solve, "GAP_TOLERANCE", 1e-10)
    body, (obstacle, mu, spacing) = block(), FRICTION[case]
    touch, gravity = Contact(obstacle, friction=mu, spacing=spacing), Gravity([20.0, 3.0, -9.81])
    model = Model(body, [gravity], [touch])
    solved = equilibrium(model)
    assert any(slips(touch, solved)), "at least one point slips in each case"
    parameters = [
        Elastic(body.parts[0].material, "young_modulus"),
        Attribute(gravity, "vector", 1),
        Attribute(touch, "friction"),
    ]
    derivatives_are_exact(model, solved, parameters, relative=2e-4)


@pytest.mark.parametrize("scheme", [BackwardEuler, CrankNicolson])
@pytest.mark.parametrize("mu", [0.2, 3.0])
def test_gradients_through_time_know_friction(scheme, mu, monkeypatch):
    monkeypatch.setattr(solve, "GAP_TOLERANCE", 1e-10)
    body = block(law="corotational")
    touch = Contact(Plane([0.302, 0.0, 0.0], [-1.0, 0.05, 0.1]), friction=mu)
    model = Model(body, [Gravity([4.0, 0.0, -9.81])], [touch])
    material = body.parts[0].material
    parameters = [Elastic(material, "young_modulus"), Density(model, material), Attribute(touch, "friction")]

    def run():
        integrator = scheme(model, 0.004, velocities=[0.6, 0.3, 0.1], mass_damping=3.0, stiffness_damping=1e-3)
        return integrator, record(integrator, 6)

    integrator, moments = run()
    assert all(slips(touch, moments[-1].solved)) == (mu < 1.0)
    objective = np.random.default_rng(2).normal(size=(6, *body.mesh.nodes.shape))
    exact = trajectory_gradient(integrator, moments, objective, parameters)

    def value():
        places = [moment.solved.pose.points for moment in run()[1]]
        return float((objective * np.array(places)).sum())

    gradient_is_exact(exact, value, parameters, tolerance=2e-6)


def slips(touch, solved) -> list[bool]:
    """Of each node that is pressed, whether friction is at its bound."""
    known = solved.multipliers[0]
    pressed = {key: force for key, force in known.items() if touch.bound(key) is None and force > 1e-6}
    squares = dict.fromkeys(pressed, 0.0)
    for key in known:
        if touch.bound(key) is not None and touch.bound(key)[0] in squares:
            squares[touch.bound(key)[0]] += known[key] ** 2
    return [squares[key] ** 0.5 > 0.999999 * touch.friction * force for key, force in pressed.items()]


class _Plain(Integrator):
    """Backward Euler without damping, once more."""

    order, differentiable = 1, True
    velocity_factors = 1.0, 0.0

    def increment(self, dt):
        return Increment(1.0, 1.0, 1.0 / dt**2, self.pose.points + dt * self.velocities)

    def velocities_after(self, points, dt):
        return (points - self.pose.points) / dt


def test_an_integrator_of_ones_own_is_differentiated_where_it_says_so():
    gradients = []
    for kind in (BackwardEuler, _Plain):
        model, parameters = loaded_block()
        integrator = kind(model, 0.004)
        moments = record(integrator, 2)
        objective = np.ones((2, *integrator.pose.points.shape))
        gradients.append(trajectory_gradient(integrator, moments, objective, parameters))
    np.testing.assert_allclose(gradients[1], gradients[0], rtol=1e-9)

    integrator.differentiable = False
    with pytest.raises(UsageError, match="no gradients through the steps of a _Plain"):
        trajectory_gradient(integrator, moments, objective, parameters)
