"""The jumping leg: its shape and start, what muscles do to it, and that the optimiser climbs by itself."""

import numpy as np
import pytest

from soft_twin.twin.integrators import BackwardEuler
from soft_twin.validation.leg import (
    PAPERS,
    PASSIVE,
    RANGES,
    START,
    STARTUP,
    STEP,
    VELOCITY,
    Jump,
    Leg,
    Signal,
    optimise,
    progress,
    table,
)


@pytest.fixture(scope="module")
def leg():
    return Leg()


def jump_of(lowest, signal=PASSIVE, finished=True) -> Jump:
    lowest = np.array(lowest)
    return Jump(signal, 0.1 * np.arange(1, len(lowest) + 1), lowest, np.zeros((len(lowest), 1, 3)), 0.0, finished)


def test_the_leg_is_the_papers(leg):
    assert len(leg.mesh.volume("dorsal")) == len(leg.mesh.volume("ventral")) == 10
    assert leg.mesh.size == pytest.approx([0.25, 0.2, 0.5])
    assert leg.model.body.mass == pytest.approx(9.0)
    back, front = (leg.mesh.nodes[leg.mesh.group(name), 0].mean() for name in ("dorsal", "ventral"))
    assert back < front


def test_muscles_are_activated_in_ramps():
    ventral, dorsal = ([course(t) for t in (0.0, 0.02, 0.4, 0.5, 0.6)] for course in (A.ventral, A.dorsal))
    assert ventral == pytest.approx([0.0, 0.3, 0.6, 0.3, 0.0])
    assert dorsal == pytest.approx([0.0, 0.0, 0.0, 0.0, 0.9])
    assert A.dorsal(0.58) == pytest.approx(0.6)
    assert A.end == pytest.approx(0.57 + 0.03)
    assert [PASSIVE.ventral(t) for t in (0.0, 0.5, 1.0)] == [PASSIVE.dorsal(t) for t in (0.0, 0.5, 1.0)] == [0.0] * 3


A = Signal(0.6, 0.9, 0.5, 0.57)


def test_a_passive_leg_falls_freely_and_does_not_penetrate(leg):
    jump = leg.jump(PASSIVE, 0.01, 0.6)
    falling = jump.times <= 0.5
    fall = START + VELOCITY[2] * jump.times - 0.5 * 9.81 * jump.times**2
    assert jump.lowest[falling] == pytest.approx(fall[falling], abs=1e-6)
    assert jump.finished and jump.penetration < 1e-4
    assert jump.lowest.min() == pytest.approx(0.0, abs=1e-6)


def test_the_ventral_muscle_shortens_the_front(leg):
    shape = leg.jump(Signal(a_v=1.0, t_v=0.9), 0.01, 0.1).shapes[-1]
    back, front = (np.ptp(shape[leg.mesh.group(name), 2]) / 0.25 for name in ("dorsal", "ventral"))
    assert front < back - 0.1


def test_quick_steps_and_the_papers_steps_move_alike(leg):
    signal = Signal(PAPERS.a_v, 0.0, 0.1)
    solved = leg.jump(signal, STEP, 0.2).shapes
    quick, euler = leg.quick_jump(signal, 0.2).shapes, leg.jump(signal, STEP, 0.2, BackwardEuler).shapes
    assert np.abs(quick - solved).max() < 1e-3 < np.abs(euler - solved).max() < 2e-2


def test_a_quick_jump_ends_when_the_leg_sinks_again(leg):
    jump = leg.quick_jump(PASSIVE)
    assert jump.finished and jump.times[-1] < 1.0
    assert 0.15 < jump.height < 0.25
    assert jump.lowest[-1] == pytest.approx(jump.height - 0.1, abs=0.02)


def test_the_height_counts_after_the_ground_was_met():
    assert jump_of([1.0, 0.5, 0.0, 0.3, 0.2]).height == 0.3
    assert jump_of([1.0, 0.5, 0.2]).height == 0.0
    assert jump_of([0.5, -2e-5, 0.1]).penetration == 2e-5


def test_optuna_climbs_a_narrow_hill_by_itself():
    pytest.importorskip("optuna")
    top, width = np.array([1.4, 0.6, 0.5, 0.3]), np.array([0.3, 0.3, 0.1, 0.1])
    tried = []

    def hill(signal):
        tried.append(signal)
        return jump_of([0.0, np.exp(-((np.array(list(vars(signal).values())) - top) ** 2 / width**2).sum())], signal)

    history = []
    best = optimise(hill, 160, history, seed=1)
    assert len(history) == len(tried) == 160
    assert hill(best).height == pytest.approx(max(history))
    assert max(history[:STARTUP]) < 0.5 < 0.9 < max(history)
    low, high = np.transpose(list(RANGES.values()))
    values = np.array([list(vars(each).values()) for each in tried])
    assert ((values >= low) & (values <= high)).all()


def test_a_jump_that_did_not_converge_counts_as_none():
    pytest.importorskip("optuna")
    history = []
    optimise(lambda signal: jump_of([0.0, 1.0], signal, finished=signal.a_v < 1.0), 8, history)
    assert set(history) == {0.0, 1.0}


def test_the_table_says_how_soon():
    history = [0.1, 0.2, 0.5, 0.4, 0.6]
    assert "5 trials" in progress(history) and "2 above 0.463 m, the first is number 3" in progress(history)
    assert "number 5" in progress(history)
    assert "0 above 0.463 m; the best, 0.200 m, is number 2" in progress(history[:2])
    assert "0.300" in table({"best": jump_of([0.0, 0.3])}, history)
