"""The jumping leg: its start, what muscles do to it, and that optimisers find what is better."""

import numpy as np
import pytest

from soft_twin.validation.leg import PAPERS, SHARE, START, Jump, Leg, Signal, optimise, table


@pytest.fixture(scope="module")
def leg():
    return Leg()


def test_each_muscle_has_ten_voxels_and_the_leg_is_half_a_metre_high(leg):
    assert len(leg.mesh.volume("dorsal")) == len(leg.mesh.volume("ventral")) == 10
    assert leg.mesh.size[2] == pytest.approx(0.5)


def test_the_start_is_contracted_in_front_only(leg):
    x = leg.start(2.0).points
    front, back = (leg.mesh.group(name) for name in ("ventral", "dorsal"))
    shares = [np.ptp(x[nodes, 2]) / np.ptp(leg.mesh.nodes[nodes, 2]) for nodes in (front, back)]
    assert 1.0 - 2.0 * SHARE < shares[0] < 0.9 < shares[1]
    assert x[:, 2].min() == pytest.approx(START)


def test_a_passive_leg_falls_freely_and_does_not_penetrate(leg):
    jump = leg.jump(Signal(), 0.01, 0.4)
    falling = jump.times <= 0.2
    assert jump.lowest[falling] == pytest.approx(START - 0.5 * 9.81 * jump.times[falling] ** 2, abs=1e-6)
    assert jump.finished and jump.penetration < 1e-4
    assert jump.lowest.min() == pytest.approx(0.0, abs=1e-6)


def test_optuna_climbs_and_starts_from_the_papers_signal():
    pytest.importorskip("optuna")
    tried = []

    def hill(signal):
        tried.append(signal)
        height = 1.0 - (signal.a_v - 1.5) ** 2 - (signal.t_v - 0.3) ** 2
        lowest = np.array([0.0, height])
        return Jump(signal, np.array([0.1, 0.2]), lowest, np.zeros((2, 1, 3)), 0.0, 0.0, True)

    history = []
    best = optimise(hill, 20, history)
    assert tried[0] == PAPERS
    assert len(history) == 20 and max(history) > 0.9
    assert hill(best).height == pytest.approx(max(history))
    assert "20 trials" in table({"best": hill(best)}, hill(best), history)
