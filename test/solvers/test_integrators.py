"""Motion in time against closed forms: one mode of a bar, free fall, damping; adaptive steps; a bounce."""

from dataclasses import replace

import numpy as np
import pytest

from soft_twin.errors import ConvergenceError, InputError
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.constraints import Prescribed
from soft_twin.mechanics.contact import Contact, Plane
from soft_twin.mechanics.loads import Gravity
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Model
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.solvers.equilibrium import minimise
from soft_twin.solvers.time.integrators import BackwardEuler, CrankNicolson

SIZE, YOUNG_MODULUS, DENSITY = 0.1, 1e4, 1000.0
OMEGA = np.sqrt(YOUNG_MODULUS * SIZE / (0.5 * DENSITY * SIZE**3))  # a cell with half of its mass on top
SCHEMES = {"backward Euler": BackwardEuler, "Crank-Nicolson": CrankNicolson}


def oscillator(law="linear") -> tuple[Model, np.ndarray]:
    """One cell, ν = 0, that is pulled up and down: a spring E A/L with half of the cell's mass. And its mode (n, 3)."""
    mesh = voxel_mesh(np.ones((1, 1, 1), bool), SIZE, "hex8")
    body = Body(mesh, Material(energy_named(law, YOUNG_MODULUS, 0.0), DENSITY), mesh.nodes[:, 2] < 1e-9)
    return Model(body), np.outer(mesh.nodes[:, 2] > 0.5 * SIZE, [0.0, 0.0, 1.0])


def block(**options) -> Model:
    mesh = voxel_mesh(np.ones((2, 2, 2), bool), 0.05, "hex8")
    return Model(Body(mesh, Material(energy_named("stable_neo_hookean", 2e4, 0.3), DENSITY)), **options)


def stretch_after(scheme, dt: float, duration: float, speed=0.01, **damping) -> float:
    """Height [m] of the oscillator's top above rest, struck at the start."""
    model, mode = oscillator()
    integrator = scheme(model, dt, velocities=speed * mode, **damping)
    integrator.advance(duration)
    return float(integrator.pose.points[:, 2].max()) - SIZE


@pytest.mark.parametrize(("name", "order"), [("backward Euler", 1), ("Crank-Nicolson", 2)])
def test_one_mode_is_reached_with_the_schemes_order(name, order):
    duration = 2.0 / OMEGA
    exact = 0.01 / OMEGA * np.sin(2.0)
    steps = duration / np.array([40, 80])
    errors = [abs(stretch_after(SCHEMES[name], dt, duration) - exact) for dt in steps]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.1)
    assert SCHEMES[name].order == order


def test_crank_nicolsons_frequency_is_its_own():
    """tan(ω' h/2) = ω h/2: after a whole number of steps the stretch is known to round-off."""
    dt, count = 0.5 / OMEGA, 30
    own = 2.0 / dt * np.arctan(0.5 * OMEGA * dt)
    expected = 0.01 / OMEGA * np.sin(own * count * dt)
    assert stretch_after(CrankNicolson, dt, count * dt) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_bodies_fall_freely(scheme):
    """Crank–Nicolson exactly, backward Euler with its h t g/2 of velocity that comes early."""
    model, start = block(forces=[Gravity()]), np.array([0.3, 0.0, 1.0])
    integrator = scheme(model, 0.02, velocities=start)
    integrator.advance(0.4)
    early = 0.02 if scheme is BackwardEuler else 0.0
    moved = integrator.pose.points - model.rest.points
    expected = 0.4 * start - 0.5 * np.array([0.0, 0.0, 9.81]) * 0.4 * (0.4 + early)
    assert moved == pytest.approx(np.tile(expected, (27, 1)), abs=1e-9)
    assert integrator.velocities[:, 2] == pytest.approx(1.0 - 9.81 * 0.4)


def test_damping_by_mass_slows_down_exponentially():
    integrator = CrankNicolson(block(), 1e-3, velocities=[0.0, 1.0, 0.0], mass_damping=4.0)
    integrator.advance(0.5)
    assert integrator.velocities[:, 1] == pytest.approx(np.exp(-4.0 * 0.5), rel=1e-2)


@pytest.mark.parametrize("damping", ["mass_damping", "stiffness_damping"])
def test_oscillations_die_out_by_half_of_alpha_and_by_beta_omega_squared(damping):
    rate = 0.08 * OMEGA  # amplitude ~ exp(−rate t)
    value = 2.0 * rate if damping == "mass_damping" else 2.0 * rate / OMEGA**2
    own = np.sqrt(OMEGA**2 - rate**2)
    duration = 2.25 * 2.0 * np.pi / own
    expected = 0.01 / own * np.exp(-rate * duration)
    assert stretch_after(CrankNicolson, duration / 300, duration, **{damping: value}) == pytest.approx(
        expected, rel=2e-3
    )


def test_adaptive_steps_are_as_good_as_they_are_told():
    duration = 3.0 / OMEGA
    exact = 0.01 / OMEGA * np.sin(3.0)
    errors, counts = [], []
    for tolerance in (1e-7, 1e-8):
        model, mode = oscillator()
        integrator = CrankNicolson(model, 0.2 / OMEGA, velocities=0.01 * mode)
        counts.append(integrator.advance(duration, tolerance))
        assert integrator.time == pytest.approx(duration)
        errors.append(abs(float(integrator.pose.points[:, 2].max()) - SIZE - exact))
        assert errors[-1] < 3.0 * counts[-1] * tolerance
    assert errors[1] < errors[0] / 3.0 and counts[1] > counts[0]


def test_adaptive_steps_end_whatever_is_asked_of_them():
    """A tolerance that no step meets: none is shorter than a thousandth of the first, but what is left at the end."""
    model, mode = oscillator()
    integrator = CrankNicolson(model, 1e-4 / OMEGA, velocities=0.01 * mode)
    assert integrator.advance(1e-5 / OMEGA, 1e-40) <= 120


@pytest.mark.parametrize("consistent", [False, True])
def test_prescribed_nodes_start_with_the_speed_of_their_motion(consistent):
    """Else Crank–Nicolson's velocities of these nodes would go to and fro between 0 and twice theirs for ever."""
    mesh = block().body.mesh
    low = np.flatnonzero(mesh.nodes[:, 2] < 1e-9)

    def swing(time):
        return mesh.nodes[low] + [0.003 * np.sin(10.0 * time), 0.0, 0.0]

    model = block(constraints=[Prescribed(low, motion=swing)], consistent_mass=consistent)
    for scheme in SCHEMES.values():
        integrator = scheme(model, 0.001)
        assert integrator.velocities[low, 0] == pytest.approx(0.03, rel=1e-9)
        assert np.count_nonzero(integrator.velocities) == len(low)
    rough = CrankNicolson(model, 0.001)
    for _ in range(10):
        rough.step()
        assert rough.velocities[low, 0] == pytest.approx(0.03 * np.cos(10.0 * rough.time), rel=1e-3)


def led_cell(motion, consistent) -> tuple[Model, np.ndarray, float]:
    """The oscillator's cell on a base that moves up by `motion(time)` [m], of masses m/2 and m/2, or m/3, m/3 and m/6
    between them; the base's nodes, and ω [rad/s] of the top."""
    mesh, low = oscillator()[0].body.mesh, oscillator()[0].body.place < 0
    lead = Prescribed(low, motion=lambda time: mesh.nodes[low] + [0.0, 0.0, motion(time)])
    material = Material(energy_named("linear", YOUNG_MODULUS, 0.0), DENSITY)
    model = Model(Body(mesh, material), [], [lead], consistent_mass=consistent)
    return model, low, OMEGA * np.sqrt(1.5) if consistent else OMEGA


@pytest.mark.parametrize("consistent", [False, True])
def test_what_is_moved_suddenly_and_stopped_a_period_later_is_at_rest(consistent):
    """The stop takes back what the start has given: of Crank–Nicolson's own period, to round-off."""
    count, speed, omega = 13, 0.1, OMEGA * np.sqrt(1.5) if consistent else OMEGA
    h = 2.0 / omega * np.tan(np.pi / count)
    model, low, _ = led_cell(lambda time: speed * np.clip(time - 2 * h, 0.0, count * h), consistent)
    moving = CrankNicolson(model, h)
    for _ in range(count + 2):
        moving.step()
    aside = moving.pose.points - model.rest.points - [0.0, 0.0, speed * count * h]
    assert np.abs(aside).max() < 1e-9
    assert np.abs(moving.velocities).max() < 1e-7
    assert moving.advance(20 * h, 1e-9) <= 8
    assert np.abs(moving.velocities[low]).max() < 1e-9


@pytest.mark.parametrize("consistent", [False, True])
def test_a_base_that_shakes_is_followed_with_second_order(consistent):
    """r̈ + ω² r = −s b̈ of the top against its base at b = A (1 − cos ν t), s = 1, or (1/3 + 1/6)/(1/3) with consistent
    masses; from where the base is fastest, too, whatever velocities a state is said to have there."""
    shake, height = 0.7 * OMEGA, 0.002
    model, low, omega = led_cell(lambda time: height * (1.0 - np.cos(shake * time)), consistent)
    driven = -(1.5 if consistent else 1.0) * height * shake**2 / (omega**2 - shake**2)

    def relative(time):
        return driven * (np.cos(shake * time) - np.cos(omega * time))

    def base(time):
        return height * (1.0 - np.cos(shake * time))

    def rates(time):
        fast = height * shake * np.sin(shake * time)
        return fast + driven * (omega * np.sin(omega * time) - shake * np.sin(shake * time))

    begin, end = 0.5 * np.pi / shake, 0.5 * np.pi / shake + 3.0 / omega
    up, errors = np.outer(~low, [0.0, 0.0, 1.0]), []
    for count in (20, 40):
        moving = CrankNicolson(model, (end - begin) / count)
        points = model.rest.points + base(begin) * np.array([0.0, 0.0, 1.0]) + relative(begin) * up
        moving.restart(replace(model.rest, points=points), rates(begin) * up, begin)
        for _ in range(count):
            moving.step()
        top = moving.pose.points[~low, 2].mean() - SIZE
        errors.append(abs(top - base(end) - relative(end)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_no_node_passes_more_than_half_a_cell_in_an_adaptive_step():
    integrator = BackwardEuler(block(), 0.1, velocities=[2.0, 0.0, 0.0])
    steps = integrator.advance(0.1, 1.0)
    assert steps >= 0.2 / (0.5 * 0.05)
    assert integrator.pose.points[:, 0].max() == pytest.approx(0.1 + 0.2)


def block_on_a_floor():
    """It sticks to it; the floor, and how the block moves from rest."""
    floor = Plane([0.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    model = block(forces=[Gravity()], constraints=[Contact(floor, friction=3.0)])
    integrator = BackwardEuler(model, 0.01, mass_damping=20.0)
    integrator.advance(0.1)
    return floor, integrator


def test_what_sticks_is_carried_along_by_steps_that_are_tried_again():
    """A block on a floor that moves by 1 mm before a step which is too long and taken back."""
    floor, integrator = block_on_a_floor()
    low = integrator.model.rest.points[:, 2] < 1e-9
    before = integrator.pose.points[low, 0]
    floor.position = np.array([1e-3, 0.0, 0.0])
    fail_above(integrator, 0.006)
    assert integrator.advance(0.01, 1e-2) > 1
    assert integrator.pose.points[low, 0] - before == pytest.approx(1e-3, rel=1e-3)


def test_what_sticks_is_carried_from_where_the_last_found_step_left_it():
    """A floor moves by 1 mm in a step that fails, which is tried again in halves, and then back."""
    floor, integrator = block_on_a_floor()
    low = integrator.model.rest.points[:, 2] < 1e-9
    before = integrator.pose.points[low, 0]
    fail_above(integrator, 0.006)
    floor.position = np.array([1e-3, 0.0, 0.0])
    with pytest.raises(ConvergenceError, match="too long"):
        integrator.step()
    for place in (0.5e-3, 1e-3):
        floor.position = np.array([place, 0.0, 0.0])
        integrator.step(0.005)
        assert integrator.pose.points[low, 0] - before == pytest.approx(place, rel=1e-3)
    start = integrator.pose, integrator.velocities, integrator.time
    floor.position = np.array([2e-3, 0.0, 0.0])
    integrator.restart(*start)
    floor.position = np.array([1.5e-3, 0.0, 0.0])
    integrator.step(0.005)
    assert integrator.pose.points[low, 0] - start[0].points[low, 0] == pytest.approx(-0.5e-3, rel=1e-3)


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_a_bounce_does_not_penetrate_and_gains_nothing(scheme):
    floor = Contact(Plane([0.0, 0.0, -0.05], [0.0, 0.0, 1.0]))
    integrator = scheme(block(forces=[Gravity()], constraints=[floor]), 4e-3)
    start, lowest, highest = integrator.energy(), [], []
    for _ in range(70):
        integrator.step()
        lowest.append(integrator.pose.points[:, 2].min())
        highest.append(integrator.energy())
    assert min(lowest) > -0.05 - 1e-8
    assert max(lowest[40:]) > -0.05 + 1e-3, "it comes up again"
    assert max(lowest[40:]) < 0.0
    assert max(highest) < start * (1.0 + 1e-6)


def fail_above(integrator, longest: float) -> list[float]:
    """Let steps longer than `longest` [s] fail; those that did."""
    failures, original = [], integrator.increment

    def only_short(dt):
        if dt > longest:
            failures.append(dt)
            raise ConvergenceError("too long", (), 0)
        return original(dt)

    integrator.increment = only_short
    return failures


def test_a_step_that_fails_leaves_the_state_and_adaptive_steps_get_shorter():
    model, mode = oscillator("neo_hookean")
    integrator = BackwardEuler(model, 0.01)
    failures = fail_above(integrator, 0.003)
    with pytest.raises(ConvergenceError):
        integrator.step()
    assert integrator.time == 0.0 and integrator.pose.points == pytest.approx(model.rest.points)
    integrator.advance(0.01, 1e-3)
    assert len(failures) >= 2 and integrator.time == pytest.approx(0.01)


def test_a_step_that_needs_more_iterations_than_it_may_fails():
    """A cell of a law that is not linear is struck hard."""
    model, mode = oscillator("stable_neo_hookean")
    patient = CrankNicolson(model, 0.5 / OMEGA, velocities=3.0 * mode)
    hasty = CrankNicolson(model, 0.5 / OMEGA, velocities=3.0 * mode, max_iterations=2)
    assert patient.step().iterations > 2
    with pytest.raises(ConvergenceError, match="2 steps"):
        hasty.step()
    assert hasty.time == 0.0


@pytest.mark.parametrize(("phase", "coasts"), [(0.5, True), (4.0, False)])
def test_steps_start_where_their_merit_function_is_lower(phase, coasts, monkeypatch):
    """Coasting on leaves inertia alone, and stretches: the stretch of an oscillator's step with ω h > 2 costs more."""
    starts = []

    def noted(model, pose, *arguments, **options):
        starts.append(pose.points)
        return minimise(model, pose, *arguments, **options)

    monkeypatch.setattr("soft_twin.solvers.time.integrators.minimise", noted)
    model, mode = oscillator()
    dt, velocities = phase / OMEGA, 0.01 * mode
    CrankNicolson(model, dt, velocities=velocities).step()
    assert np.array_equal(starts[0], model.rest.points + coasts * dt * velocities)


def test_steps_in_contact_start_where_less_of_the_obstacle_is_in_the_body(monkeypatch):
    """A plane presses a cell whose top moves with it: staying costs no energy, but would leave the plane inside."""
    starts = []

    def noted(model, pose, *arguments, **options):
        starts.append(pose.points)
        return minimise(model, pose, *arguments, **options)

    monkeypatch.setattr("soft_twin.solvers.time.integrators.minimise", noted)
    mode, dt = oscillator()[1], 4.0 / OMEGA
    plane = Plane([0.0, 0.0, SIZE - 0.001], [0.0, 0.0, -1.0])
    model = Model(oscillator()[0].body, [], [Contact(plane, mode[:, 2] > 0.0)])
    CrankNicolson(model, dt, velocities=-0.001 / dt * mode).step()
    assert np.array_equal(starts[0], model.rest.points - 0.001 * mode)


def test_what_makes_no_sense_is_named():
    with pytest.raises(InputError, match="time step: 0"):
        BackwardEuler(block(), 0.0)
    for velocities in ([0.0, 1.0], np.zeros((3, 3)), [np.nan, 0.0, 0.0]):
        with pytest.raises(InputError, match="velocities: expected finite numbers"):
            BackwardEuler(block(), 0.01, velocities=velocities)
    for name in ("max_iterations", "newton_steps"):
        with pytest.raises(InputError, match=f"{name}: 0: expected 1 or more"):
            BackwardEuler(block(), 0.01, **{name: 0})
        with pytest.raises(InputError, match=f"{name}: 1.5: expected 1 or more"):
            BackwardEuler(block(), 0.01, **{name: 1.5})
    with pytest.raises(InputError, match="time step: -0.1 s is not positive"):
        BackwardEuler(block(), 0.01).step(-0.1)
    with pytest.raises(InputError, match="duration: nan s is negative or not finite"):
        BackwardEuler(block(), 0.01).advance(np.nan)
    with pytest.raises(InputError, match="tolerance: 0.0 m is not positive"):
        BackwardEuler(block(), 0.01).advance(1.0, 0.0)
    with pytest.raises(InputError, match="damping: -1 1/s"):
        CrankNicolson(block(), 0.01, mass_damping=-1.0)
    with pytest.raises(InputError, match="inf 1/s and 0 s must not be negative, and finite"):
        CrankNicolson(block(), 0.01, mass_damping=np.inf)


class FromCurrentState(BackwardEuler):
    """Linearised where a step starts (Baraff and Witkin 1998), and not where the body coasts to."""

    def _coasted(self, dt):
        return self.pose


@pytest.mark.parametrize("scheme", [BackwardEuler, FromCurrentState], ids=["coasted", "current"])
def test_one_newton_step_is_all_of_a_linear_oscillators_step(scheme):
    """(m/h² + k + β k/h) x₁ = m (x₀ + h v₀)/h² + β k x₀/h, and v₁ = (x₁ − x₀)/h, wherever it is linearised."""
    h, beta, place, speed = 0.3 / OMEGA, 0.2 / OMEGA, 0.0, 0.01
    model, mode = oscillator()
    moving = scheme(model, h, velocities=speed * mode, stiffness_damping=beta, newton_steps=1)
    for _ in range(5):
        moving.step()
        ahead = (place + h * speed) / h**2 + beta / h * OMEGA**2 * place
        before, place = place, ahead / (1.0 / h**2 + (1.0 + beta / h) * OMEGA**2)
        speed = (place - before) / h
    assert moving.pose.points[:, 2].max() - SIZE == pytest.approx(place, rel=1e-6)
    assert moving.velocities[:, 2].max() == pytest.approx(speed, rel=1e-6)


def turning_bar(scheme, angle, h=1e-3):
    """A stiff bar that turns freely about its middle, by an angle [rad] a step; what it is stretched by after one step,
    and how much of its angular momentum is left after two."""
    mesh = voxel_mesh(np.ones((1, 1, 8), bool), 0.01, "hex8")
    body = Body(mesh, Material(energy_named("corotational", 1e9, 0.0), DENSITY))
    arms = mesh.nodes - mesh.nodes.mean(axis=0)
    turning = angle / h * np.cross([1.0, 0.0, 0.0], arms)
    moving = scheme(Model(body), h, velocities=turning, newton_steps=1)
    masses, momenta = body.lumped_masses(), []
    for _ in range(3):
        points = moving.pose.points - moving.pose.points.mean(axis=0)
        momenta.append(masses @ np.cross(points, moving.velocities)[:, 0])
        moving.step()
        if len(momenta) == 1:
            ends = (moving.pose.points[arms[:, 2] * side > 0.039].mean(axis=0) for side in (1.0, -1.0))
            stretch = np.linalg.norm(next(ends) - next(ends)) / 0.08 - 1.0
    return stretch, momenta[2] / momenta[0]


def test_a_bar_that_turns_is_stopped_where_steps_are_linearised_at_their_start():
    """Its nodes leave their circles along tangents, and stretch it by φ²/2. The next step takes the tension of that for
    a stiffness T/r of what is across it, which divides the way by 1 + κ φ²/2, κ = h² k/m. Linearised where it coasts
    to, the stretch is gone within the step."""
    stretch, left = turning_bar(FromCurrentState, 0.05)
    assert stretch == pytest.approx(np.hypot(1.0, 0.05) - 1.0, rel=1e-6)
    assert left < 0.2
    stretch, left = turning_bar(BackwardEuler, 0.05)
    assert stretch < 1e-3 * 0.05**2
    assert left > 0.99
