"""The jumping leg: its shape and start, what muscles do to it, and that the optimiser climbs by itself."""

import logging

import matplotlib.image
import numpy as np
import pytest

from soft_twin.parallel import Workers, kept_to_the_end, working_with
from soft_twin.solvers.time.integrators import BackwardEuler, CrankNicolson
from soft_twin.studies import leg as module
from soft_twin.studies.leg import (
    PAPERS,
    PASSIVE,
    RANGES,
    START,
    STARTUP,
    STEP,
    VELOCITY,
    Jump,
    Leg,
    Search,
    Signal,
    Trajectory,
    around,
    study,
    table,
    trusted,
)


@pytest.fixture(scope="module")
def leg():
    return Leg()


def trajectory_of(lowest, centre=None) -> Trajectory:
    lowest = np.array(lowest)
    return Trajectory(0.1 * np.arange(1, len(lowest) + 1), lowest, lowest + 0.2 if centre is None else np.array(centre))


def test_the_leg_is_the_papers(leg):
    assert len(leg.mesh.volume("dorsal")) == len(leg.mesh.volume("ventral")) == 10
    assert leg.mesh.size == pytest.approx([0.25, 0.2, 0.5])
    assert leg.model.body.mass == pytest.approx(9.0)
    back, front = (leg.mesh.nodes[leg.mesh.group(name), 0].mean() for name in ("dorsal", "ventral"))
    assert back < front


def test_muscles_are_activated_in_ramps():
    ventral, dorsal = ([trajectory(t) for t in (0.0, 0.02, 0.4, 0.5, 0.6)] for trajectory in (A.ventral, A.dorsal))
    assert ventral == pytest.approx([0.0, 0.3, 0.6, 0.3, 0.0])
    assert dorsal == pytest.approx([0.0, 0.0, 0.0, 0.0, 0.9])
    assert A.dorsal(0.58) == pytest.approx(0.6)
    assert A.end == pytest.approx(0.57 + 0.03)
    assert [PASSIVE.ventral(t) for t in (0.0, 0.5, 1.0)] == [PASSIVE.dorsal(t) for t in (0.0, 0.5, 1.0)] == [0.0] * 3


A = Signal(0.6, 0.9, 0.5, 0.57)


def test_a_passive_leg_falls_freely_and_does_not_penetrate(leg):
    jump = leg.jump(PASSIVE, 0.01, 0.6)
    trajectory, falling = jump.trajectory, jump.trajectory.times <= 0.5
    fall = START + VELOCITY[2] * trajectory.times - 0.5 * 9.81 * trajectory.times**2
    assert trajectory.lowest[falling] == pytest.approx(fall[falling], abs=1e-6)
    assert trajectory.centre[0] - trajectory.lowest[0] == pytest.approx((0.05 * 40 + 0.3 * 32) / 72, abs=1e-9)
    assert jump.finished and trajectory.penetration < 1e-4
    assert trajectory.lowest.min() == pytest.approx(0.0, abs=1e-6)


def test_the_ventral_muscle_shortens_the_front(leg):
    shape = leg.jump(Signal(a_v=1.0, t_v=0.9), 0.01, 0.1).shapes[-1]
    back, front = (np.ptp(shape[leg.mesh.group(name), 2]) / 0.25 for name in ("dorsal", "ventral"))
    assert front < back - 0.1


def test_quick_steps_and_the_papers_steps_move_alike(leg):
    signal = Signal(PAPERS.a_v, 0.0, 0.1)
    solved = leg.jump(signal, STEP, 0.2).shapes
    quick = leg.quick_jump(signal, lambda trajectory: False, 0.2).shapes
    euler = leg.jump(signal, STEP, 0.2, BackwardEuler).shapes
    assert np.abs(quick - solved).max() < 1e-3 < np.abs(euler - solved).max() < 2e-2


def test_the_flight_is_known_at_take_off(leg):
    whole = leg.quick_jump(PASSIVE, lambda trajectory: trajectory.sinks)
    assert whole.finished and whole.trajectory.times[-1] < 1.0
    assert leg.take_off(PASSIVE) == pytest.approx(whole.trajectory.rise, abs=2e-3)
    assert whole.trajectory.rise == pytest.approx(whole.trajectory.centre[whole.trajectory.times > 0.6].max(), abs=1e-4)


def test_heights_count_after_the_ground_was_met():
    trajectory = trajectory_of([1.0, 0.5, 0.0, 0.3, 0.2, 0.15])
    assert trajectory.height == 0.3 and trajectory.sinks
    assert trajectory_of([1.0, 0.5, 0.0, 0.3]).takes_off and not trajectory_of([1.0, 0.5, 0.0, 0.3]).sinks
    assert trajectory_of([1.0, 0.5, 0.2]).height == trajectory_of([1.0, 0.5, 0.2]).rise == 0.0
    assert not trajectory_of([1.0, 0.5, 0.2, 0.3]).takes_off
    assert trajectory_of([0.5, -2e-5, 0.1]).penetration == 2e-5


def test_the_rest_of_a_flight_is_ballistic():
    times = 0.1 * np.arange(1, 6)
    flight = 0.3 + 3.0 * times - 0.5 * 9.81 * times**2
    assert trajectory_of(np.append(0.0, flight[:3]), np.append(0.2, flight[:3])).rise == pytest.approx(0.3 + 4.5 / 9.81)
    assert trajectory_of(np.append(0.0, flight), np.append(0.2, flight)).rise == pytest.approx(flight.max())


def test_optuna_climbs_a_narrow_hill_by_itself():
    pytest.importorskip("optuna")
    top, width = np.array([1.4, 0.6, 0.5, 0.3]), np.array([0.3, 0.3, 0.1, 0.1])

    def hill(signal):
        return float(np.exp(-(((np.array(list(vars(signal).values())) - top) / width) ** 2).sum()))

    signals, heights = study(hill, 120, seed=1)
    assert heights == pytest.approx([hill(signal) for signal in signals])
    assert heights[:STARTUP].max() < 0.5 < 0.8 < heights.max()
    low, high = np.transpose(list(RANGES.values()))
    values = np.array([list(vars(each).values()) for each in signals])
    assert ((values >= low) & (values <= high)).all()


def test_quick_jumps_that_went_astray_do_not_count():
    fine = Jump(PAPERS, trajectory_of([0.0, 0.3]), np.zeros((2, 1, 3)), 0.0, True)
    failed = Jump(PAPERS, fine.trajectory, fine.shapes, 0.0, False)
    assert [trusted(fine, 0.3), trusted(fine, 122.0), trusted(failed, 0.3)] == [0.3, 0.0, 0.0]


def test_last_studies_stay_around_a_signal_and_in_the_ranges():
    near = around(Signal(1.0, 1.95, 0.5, 0.12))
    assert near["a_v"] == pytest.approx((0.84, 1.16)) and near["a_d"] == pytest.approx((1.79, 2.0))
    assert near["t_v"] == pytest.approx((0.436, 0.564)) and near["t_d"] == pytest.approx((0.1, 0.184))
    pytest.importorskip("optuna")
    signals, _ = study(lambda signal: signal.a_v, 20, 0, near)
    assert all(low <= getattr(each, name) <= high for each in signals for name, (low, high) in near.items())


def test_the_highest_jump_is_the_best():
    signals = [Signal(a_v=0.1 * i) for i in range(300)]
    tried = [signals[place] for place in (299, 153, 2)] + [Signal(a_d=0.1), Signal(a_d=0.2)]
    heights = np.array([0.4, 0.48, 0.47, 0.3, 0.5])
    found = Search(signals, np.linspace(0.0, 1.0, 300), np.array([299, 153, 2]), tried, heights)
    assert found.best is tried[4]
    assert "2 of 3 finalists jump above 0.463 m, the highest 0.480 m" in str(found)
    assert "of 2 more trials around the highest 1, the best 0.500 m" in str(found)


def test_the_table_says_what_did_not_converge():
    failed = Jump(PAPERS, trajectory_of([0.0, 0.3]), np.zeros((2, 1, 3)), 0.0, False)
    line = table({"failed": failed}).splitlines()[1]
    assert "0.300" in line and " no " in line and "a_d 1.05" in line


def test_an_interrupted_trial_is_no_warning(caplog):
    pytest.importorskip("optuna")

    def interrupted(signal):
        raise KeyboardInterrupt

    logging.getLogger("optuna").addHandler(caplog.handler)
    with pytest.raises(KeyboardInterrupt):
        study(interrupted, 2, 0)
    logging.getLogger("optuna").removeHandler(caplog.handler)
    assert not caplog.records


def test_a_whole_run_goes_on_where_it_was_interrupted(tmp_path, monkeypatch):
    pytest.importorskip("optuna")
    sizes = {"STUDIES": 2, "TRIALS": 1, "FINALISTS": 1, "LAST_STUDIES": 1, "LAST_TRIALS": 1, "STEP": 0.01}
    for name, value in (sizes | {"PAPERS_STEP": 0.01}).items():
        monkeypatch.setattr(module, name, value)
    jump, height, tried = Leg.jump, Leg.height, []
    monkeypatch.setattr(
        Leg, "jump", lambda own, signal, dt=0.01, scheme=CrankNicolson: jump(own, signal, dt, 0.7, scheme)
    )

    def interrupted(own, signal):
        raise KeyboardInterrupt

    monkeypatch.setattr(Leg, "take_off", lambda own, signal: tried.append(signal) or 0.1)
    monkeypatch.setattr(Leg, "height", interrupted)
    with working_with(Workers(1)):
        with pytest.raises(KeyboardInterrupt), kept_to_the_end():
            module.run(tmp_path, tmp_path)
        monkeypatch.setattr(Leg, "height", height)
        with kept_to_the_end():
            told = module.run(tmp_path, tmp_path).splitlines()
    assert len(tried) == 2, "studies that had ended were kept"
    heights = {line[:23].strip(): float(line[23:34]) for line in told[1:6]}
    assert 0.0 < heights["passive"] < 0.3 < START, "a passive leg does not fly up to where it fell from"
    assert heights["paper's signal"] > heights["passive"]
    assert all(" yes " in line for line in told[1:6])
    assert np.ptp(matplotlib.image.imread(tmp_path / "leg.png")) > 0.5
