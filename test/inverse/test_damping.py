"""The weight of staying near the last efforts, on goals whose outcome is known."""

import numpy as np
import pytest

from soft_twin.inverse.damping import AFTER_POOR, NOTICED, STAY, Asked, Damping, Promise


class Valley:
    """A place (2,) = (slope · e, 1 + bend · e² / 2) that shall be at the origin, with one effort e below a limit: what
    is missed bends upward by more than its Jacobian at 0 knows."""

    def __init__(self, slope, bend, limit):
        self.slope, self.bend, self.limit = slope, bend, limit

    def asked(self, e):
        place, J = (
            np.array([self.slope * e - 0.1, 1.0 + 0.5 * self.bend * e * e]),
            np.array([self.slope, self.bend * e]),
        )
        return [Asked(place - J * e, J[:, None], 1e-4)]

    def lowest(self):
        """Where least is missed: s (s e − 0.1) + (1 + b e²/2) b e = 0."""
        s, b = self.slope, self.bend
        roots = np.roots([0.5 * b * b, 0.0, s * s + b, -0.1 * s])
        return float(roots[np.abs(roots.imag) < 1e-12].real[0])

    def step(self, e, weight):
        """Gauss and Newton's, with the weight of staying, as far as the limit."""
        (own,) = self.asked(e)
        J, stay = own.J[:, 0], (weight * self.slope) ** 2
        return np.clip((stay * e - J @ own.r) / (J @ J + stay), 0.0, self.limit)


@pytest.mark.parametrize("limit", [0.5, 1.0, np.inf])
def test_a_weight_is_found_at_once_with_which_a_step_to_a_limit_that_lost_gains(limit):
    valley = Valley(slope=0.01, bend=0.01, limit=limit)
    damping = Damping(STAY, 1)
    trials, e = 0, 0.0
    for _ in range(40):
        tried = valley.step(e, damping.weight)
        promise = Promise(valley.asked(e), 0.0, np.array([e]), np.array([valley.slope]))
        if damping.judge(promise.outcome(valley.asked(tried), np.array([tried]))):
            e = tried
        else:
            trials += 1
    assert trials <= 1
    left, least = (valley.asked(each)[0].missed(np.array([each])) for each in (e, valley.lowest()))
    assert left - least < 2.0 * NOTICED * least


def test_a_step_that_keeps_its_promise_stands_and_one_that_loses_is_taken_back():
    goals, base, scales = [Asked(np.array([-1.0]), np.eye(1), 1e-4)], np.zeros(1), np.ones(1)
    damping, promise = Damping(STAY, 1), Promise(goals, 0.0, base, scales)
    kept = promise.outcome(goals, np.ones(1))
    assert kept[0] == pytest.approx(1.0) and damping.judge(kept) and damping.weight == STAY
    lost = promise.outcome([Asked(np.array([0.5]), np.eye(1), 1e-4)], np.ones(1))
    assert lost[0] == pytest.approx(-1.25)
    assert not damping.judge(lost) and damping.weight == pytest.approx(max(AFTER_POOR * STAY, np.sqrt(0.5 * 3.25)))


@pytest.mark.parametrize("lasting", [False, True])
def test_steps_towards_a_kink_end_where_what_turns_back_is_remembered(lasting):
    """On either side the lowest point seems to lie on the other one, 10 µm away; a whole solve ends, a loop stays
    quick."""
    damping, e, rest, steps = Damping(STAY, 1), np.array([3e-5]), 0.1, []
    for _ in range(150):
        step = rest**2 / (rest**2 + damping.weight**2) * (-1e-5 * np.sign(e) - e)
        damping.note(step, 1e-4, lasting)
        e = e + step
        steps.append(abs(step[0]))
    assert (max(steps[-20:]) < 1e-7) == lasting
    assert abs(e[0]) < 1e-5
