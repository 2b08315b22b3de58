"""Ticks that keep a factorisation, against ticks that do not."""

import numpy as np
import pytest

from soft_twin import load_robot
from soft_twin.inverse.controller import Controller
from soft_twin.solvers.chord import Chord, is_good

DOWN = np.array([0.0, 0.0, -9.81])


class Counted(Controller):
    """A controller that counts factorisations."""

    def __init__(self, reuse):
        robot = load_robot("slender")
        super().__init__(robot.build_inverse(), robot.target_tip, reuse)
        self.enable(True)
        self.factorisations = 0
        factorise = self.twin.model.unknowns.matrix.factorise_and_solve

        def counted(assemble, right_hand_sides):
            self.factorisations += 1
            return factorise(assemble, right_hand_sides)

        self.twin.model.unknowns.matrix.factorise_and_solve = counted

    def follow(self, motion):
        """Tips (t, 3) [m] for pairs of target and gravity."""
        tips = []
        for target, gravity in motion:
            self.set_target(target)
            tips.append(self.update(gravity).tip)
        return np.array(tips)


def circle(radius, height, ticks, turns):
    """A target that runs around a circle, starting slowly from the axis."""
    for i in range(int(ticks * turns)):
        angle, ramp = 2 * np.pi * i / ticks, min(1.0, i / 50)
        yield [radius * ramp * np.cos(angle), radius * ramp * np.sin(angle), 0.1 + (height - 0.1) * ramp], DOWN


def swing(ticks):
    for angle in np.radians(np.linspace(135, -45, ticks)):
        yield [0.0, 0.0, 0.097], -9.81 * np.array([0.0, np.cos(angle), np.sin(angle)])


@pytest.fixture(params=[False, True], ids=["free", "compensating"])
def compensating(request):
    return request.param


@pytest.mark.parametrize("motion", [lambda: circle(0.01, 0.097, 200, 1.5), lambda: swing(200)], ids=["circle", "swing"])
def test_slow_motion_is_followed_as_closely_with_a_fraction_of_the_factorisations(motion):
    fresh, reusing = Counted(False), Counted(True)
    apart = np.linalg.norm(fresh.follow(motion()) - reusing.follow(motion()), axis=1)
    assert np.median(apart) < 5e-5
    assert apart.max() < 5e-4
    assert reusing.factorisations < 0.5 * fresh.factorisations


def test_fast_bent_motion_does_not_diverge():
    """35 mm around in one second at 100 Hz, where a factorisation every five ticks fails."""
    errors = []
    for reuse in (False, True):
        motion = list(circle(0.035, 0.0914, 100, 2))
        tips = Counted(reuse).follow(motion)
        errors.append(np.linalg.norm(tips - [target for target, _ in motion], axis=1)[60:])
    assert errors[1].mean() < 1.3 * errors[0].mean()
    assert errors[1].max() < 1.5 * errors[0].max()


def test_where_it_settles_is_an_equilibrium(compensating):
    controller = Counted(True)
    controller.enable(compensating)
    gravity = np.array([0.0, -6.0, -7.0])
    for _ in range(60):
        tick = controller.update(gravity)
    count = controller.factorisations
    assert count < 30
    exact = load_robot("slender").build_twin().equilibrium(gravity, tensions=tick.tensions)
    np.testing.assert_allclose(tick.tip, exact.tip, atol=1e-7)


def test_a_reset_forgets_the_factorisation():
    controller = Counted(True)
    controller.follow(swing(30))
    controller.reset()
    before = controller.factorisations
    controller.update(DOWN)
    assert controller.factorisations == before + 1


@pytest.mark.parametrize(
    ("left", "moved", "good"),
    [
        (0.0, 0.0, True),
        (0.2, 1.0, True),
        (0.4, 1.0, False),
        (1e-3, 1.5e-3, True),
        (1e-3, 1e-3, False),
        (np.nan, 1, False),
    ],
)
def test_what_a_step_may_leave_undone(left, moved, good):
    assert is_good(left, moved, length=1.0) is good


@pytest.fixture
def chord():
    rng = np.random.default_rng(0)
    moves = rng.normal(size=(5, 3, 2))
    return Chord(
        moves, moves.reshape(15, 2), 1e-3 * moves[:, :, [0, 1, 0]], 1e-3 * moves.reshape(15, 2)[:, [0, 1, 0]], DOWN
    )


def test_what_a_change_of_efforts_has_moved_beyond_what_was_expected_is_learnt_along_it(chord):
    """Broyden's condition: the new sensitivities say what has happened, and the old ones across the change."""
    expected, change = chord.step_per_effort, np.array([0.3, -0.2])
    beyond = np.random.default_rng(1).normal(size=(5, 3))
    chord.use(DOWN)
    chord.taken(change, 1e-3 * (expected @ change), whole=True)
    chord.learn(beyond, beyond.ravel(), DOWN)
    np.testing.assert_allclose(chord.step_per_effort @ change, expected @ change + beyond, rtol=1e-12)
    np.testing.assert_allclose(chord.steps @ change, (chord.step_per_effort @ change).ravel(), rtol=1e-12)
    across = np.array([0.2, 0.3]) / (expected**2).sum(axis=(0, 1))
    np.testing.assert_allclose(chord.step_per_effort @ across, expected @ across, rtol=1e-12)


@pytest.mark.parametrize(("gravity", "whole"), [(DOWN, False), (-DOWN, True)])
def test_nothing_is_learnt_where_gravity_or_a_shortened_step_had_a_hand_in_it(chord, gravity, whole):
    expected, change = chord.step_per_effort, np.array([0.01, 0.0])
    chord.use(gravity)
    chord.taken(change, expected @ change, whole)
    chord.learn(np.ones((5, 3)), np.ones(15), gravity)
    np.testing.assert_array_equal(chord.step_per_effort, expected)
