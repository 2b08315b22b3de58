import numpy as np
import pytest

from soft_twin.driving.cables.motion_memory import MotionMemory


@pytest.fixture
def memory():
    """Two cables that move with 0.01 and −0.02 m/s, told in ticks of uneven length."""
    memory, now = MotionMemory(2), 0.0
    for dt in np.random.default_rng(0).uniform(0.001, 0.006, 60):
        now += dt
        memory.advance(np.array([0.01, -0.02]) * now, np.array([0.01, -0.02]), dt)
    memory.now = now
    return memory


@pytest.mark.parametrize("ages", [[0.0, 0.0], [0.008, 0.008], [0.0123, 0.05]])
def test_the_motion_is_known_as_it_was(memory, ages):
    displacements, rates = memory.at(np.array(ages))
    np.testing.assert_allclose(displacements, np.array([0.01, -0.02]) * (memory.now - np.array(ages)), atol=1e-12)
    np.testing.assert_allclose(rates, [0.01, -0.02])


def test_beyond_its_memory_it_answers_with_the_oldest(memory):
    np.testing.assert_allclose(memory.at(np.array([10.0, 20.0]))[0], 0.0, atol=1e-12)


def test_a_cable_that_starts_again_has_always_been_there(memory):
    memory.restart(np.array([False, True]), np.array([9.0, 0.003]))
    displacements, rates = memory.at(np.array([0.01, 0.01]))
    np.testing.assert_allclose(displacements, [0.01 * (memory.now - 0.01), 0.003])
    np.testing.assert_allclose(rates, [0.01, 0.0])
