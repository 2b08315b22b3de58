"""The validation of dynamics, over short times."""

from pathlib import Path

import numpy as np
import pytest

from soft_twin.solvers.time.integrators import BackwardEuler, CrankNicolson
from soft_twin.studies import dynamics
from soft_twin.studies.dynamics import beam, energies, euler_rotation, first_mode, study, table


def test_the_first_mode_is_a_cantilevers():
    """Euler and Bernoulli: 1.875² √(E I/(ρ A L⁴)); 4 linear cells over the length are stiffer."""
    closed = 1.875104**2 * np.sqrt(dynamics.YOUNG_MODULUS / dynamics.DENSITY * 0.02**2 / 12.0 / 0.1**4)
    assert first_mode(beam())[0] == pytest.approx(closed, rel=0.4)


def test_crank_nicolson_keeps_energy_and_backward_euler_does_not():
    assert energies(CrankNicolson, 1e-3, 0.3).drift < 1e-3
    lossy = energies(BackwardEuler, 1e-3, 0.3).total
    assert lossy[-1] < 0.9 * lossy[0]


@pytest.mark.parametrize(("scheme", "order"), [(CrankNicolson, 2.0), (BackwardEuler, 1.0)])
def test_orders(scheme, order, monkeypatch):
    monkeypatch.setattr(dynamics, "LATE", 0.04)
    dynamics._late.cache_clear()
    result = study(lambda dt: dynamics.position_error(scheme, dt), (4e-3, 2e-3))
    dynamics._late.cache_clear()
    assert result.orders[0] == pytest.approx(order, abs=0.25)
    assert "reach" in table(energies(scheme, 4e-3, 0.02), 0.0, {"positions": result})


def test_momentum_is_kept(monkeypatch):
    monkeypatch.setattr(dynamics, "SPAN", 0.1)
    linear, angular = dynamics.momentum_errors(CrankNicolson, 2e-3)
    assert linear < 1e-10 and angular < 1e-3


def test_a_rigid_plate_turns_with_its_inertia_to_second_order(monkeypatch):
    monkeypatch.setattr(dynamics, "SPAN", 0.1)
    result = study(dynamics.tumbling_error, (4e-3, 2e-3))
    assert result.errors[0] < 1e-3 * np.degrees(0.1 * np.linalg.norm(dynamics.TUMBLE))
    assert result.orders[0] == pytest.approx(2.0, abs=0.1)


def test_a_rigid_plate_that_is_alone_keeps_its_angular_momentum():
    model = beam(clamped=False, rigid_above=-1.0)
    x = model.rest.points
    integrator = CrankNicolson(model, 5e-3, velocities=np.cross(dynamics.TUMBLE, x - x.mean(axis=0)))
    before = dynamics._momenta(integrator)[1]
    integrator.advance(0.2)
    assert dynamics._momenta(integrator)[1] == pytest.approx(before, rel=1e-7)


def test_a_plate_that_swings_on_a_beam_keeps_energy_to_second_order():
    result = study(dynamics.plate_energy_error, (4e-3, 2e-3))
    assert result.errors[0] < 2e-3
    assert result.orders[0] > 1.8


def test_eulers_equations_about_a_principal_axis():
    rotation = euler_rotation(np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, 0.5]), 1.0)
    assert rotation[0, 0] == pytest.approx(np.cos(0.5))
    assert rotation[1, 0] == pytest.approx(np.sin(0.5))


def test_the_legend_hides_no_error_and_energies_are_named(monkeypatch):
    drawn, times, steps = [], np.linspace(0.0, 1.0, 50), np.array([4e-3, 2e-3, 1e-3])
    monkeypatch.setattr(dynamics, "write_picture", lambda path, figure, **_: drawn.append(figure))
    swing = dynamics.Energies(times, np.ones(50), np.cos(9.0 * times) ** 2)
    names = [f"angular momentum error, Crank–Nicolson {order}" for order in (1, 1, 2, 2, 2, 2)]
    studies = {f"{name}{i}": dynamics.Convergence(steps, steps ** int(name[-1])) for i, name in enumerate(names)}
    dynamics._draw(Path("dynamics.png"), swing, studies)
    course, _, orders = drawn[0].axes
    drawn[0].canvas.draw()
    assert [text.get_text() for text in course.get_legend().get_texts()] == ["kinetic", "elastic", "sum"]
    hidden = orders.get_legend().get_window_extent()
    for line in orders.get_lines():
        assert not any(hidden.contains(*place) for place in orders.transData.transform(line.get_xydata()))
