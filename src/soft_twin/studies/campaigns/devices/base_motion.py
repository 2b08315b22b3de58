"""How hands, robot arms and benches move a rigid base that carries an IMU: orientation, place, and what follows.

Orientation is R = R_start Rz(c) Ry(b) Rx(a) with smooth angles a, b, c of time; the IMU sits at R r + s(t). Rates and
accelerations are differences on a fine grid, so that both belong to the same motion exactly. Frames: board → world,
world z up.
"""

from dataclasses import dataclass

import numpy as np

GRAVITY = 9.81  # [m/s^2]
FINE = 1000.0  # [Hz]
KINDS = ("rest", "tremor", "poses", "swing", "hand", "carried", "shaken")


@dataclass(frozen=True)
class BaseMotion:
    """A motion on a fine grid of n instants.

    Attributes:
        time: (n,) [s].
        up: (n, 3) the world's up in the frame of the board, unit vectors.
        rates: (n, 3) angular velocity in the frame of the board [rad/s].
        force: (n, 3) specific force in the frame of the board [m/s²].
        words: what was done, with times.
    """

    time: np.ndarray
    up: np.ndarray
    rates: np.ndarray
    force: np.ndarray
    words: str


def random_motion(rng: np.random.Generator, duration: float) -> BaseMotion:
    """One or two kinds of motion after a rest that most people give a robot, and a rest in the end."""
    time = np.arange(round(duration * FINE) + 1) / FINE
    angles, place = np.zeros((3, len(time))), np.zeros((3, len(time)))
    start = rng.uniform(1.0, 3.0) if rng.random() < 0.8 else 0.0
    end = duration - rng.uniform(1.5, 2.5)
    words, edges = [], np.linspace(start, end, 1 + int(rng.integers(1, 3)))
    for a, b in zip(edges[:-1], edges[1:], strict=True):
        kind = str(rng.choice(KINDS, p=(0.08, 0.08, 0.26, 0.2, 0.18, 0.12, 0.08)))
        words.append(f"{kind} {a:.1f}–{b:.1f} s")
        turned, moved = _section(rng, kind, time, a, b)
        angles += turned
        place += moved
    lever = rng.uniform(-0.15, 0.15, 3)
    return _kinematics(time, angles, place, lever, _random_rotation(rng), ", ".join(words))


def _section(
    rng: np.random.Generator, kind: str, time: np.ndarray, start: float, end: float
) -> tuple[np.ndarray, np.ndarray]:
    """Angles (3, n) [rad] and places (3, n) [m] that one kind of motion adds between two times."""
    zero = np.zeros((3, len(time)))
    gate = _gate(time, start, end, rng.uniform(0.4, 0.9))
    if kind == "rest":
        return zero, zero
    if kind == "tremor":
        return gate * _waves(rng, time, (6.0, 12.0), np.radians(rng.uniform(0.05, 0.4))), zero
    if kind == "poses":
        return _poses(rng, time, start, end), zero
    if kind == "swing":
        return gate * _waves(rng, time, (0.2, 0.8), np.radians(rng.uniform(10.0, 50.0)), 1), zero
    if kind == "hand":
        turned = _waves(rng, time, (0.3, 1.5), np.radians(rng.uniform(5.0, 45.0)))
        return gate * turned, gate * _waves(rng, time, (0.3, 1.5), rng.uniform(0.0, 0.05))
    pace, reach = ((0.3, 1.2), rng.uniform(0.03, 0.2)) if kind == "carried" else ((1.5, 3.0), rng.uniform(0.02, 0.06))
    turned = _waves(rng, time, pace, np.radians(rng.uniform(1.0, 8.0)))
    return gate * turned, gate * _waves(rng, time, pace, reach)


def _waves(
    rng: np.random.Generator, time: np.ndarray, pace: tuple[float, float], size: float, count: int = 3
) -> np.ndarray:
    """(3, n) sums of sinusoids of random direction; slow ones are the largest."""
    total = np.zeros((3, len(time)))
    for _ in range(count):
        frequency = rng.uniform(*pace)
        direction = rng.standard_normal(3)
        direction *= size * (pace[0] / frequency) ** 0.5 / np.linalg.norm(direction)
        total += direction[:, None] * np.sin(2.0 * np.pi * (frequency * time + rng.random()))
    return total


def _poses(rng: np.random.Generator, time: np.ndarray, start: float, end: float) -> np.ndarray:
    """(3, n) minimum-jerk turns between poses, as a robot arm or a bench does them."""
    angles, now = np.zeros((3, len(time))), start
    while now < end - 0.4:
        duration = rng.uniform(0.3, min(2.0, end - now))
        turn = np.radians(rng.uniform(5.0, min(120.0, 150.0 * duration))) * _unit(rng)
        angles += turn[:, None] * _smooth((time - now) / duration)
        now += duration + rng.uniform(0.0, 1.5)
    return angles


def _smooth(x: np.ndarray) -> np.ndarray:
    """Minimum jerk from 0 to 1."""
    x = np.clip(x, 0.0, 1.0)
    return x**3 * (10.0 - 15.0 * x + 6.0 * x**2)


def _gate(time: np.ndarray, start: float, end: float, ramp: float) -> np.ndarray:
    return _smooth((time - start) / ramp) * _smooth((end - time) / ramp)


def _unit(rng: np.random.Generator) -> np.ndarray:
    vector = rng.standard_normal(3)
    return vector / np.linalg.norm(vector)


def _random_rotation(rng: np.random.Generator) -> np.ndarray:
    """(3, 3): upright within 40° for half of all robots, anyhow for the rest."""
    axis = _unit(rng)
    angle = np.radians(rng.uniform(0.0, 40.0)) if rng.random() < 0.5 else rng.uniform(0.0, np.pi)
    cross = np.cross(np.eye(3), axis)
    return np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross


def _kinematics(
    time: np.ndarray, angles: np.ndarray, place: np.ndarray, lever: np.ndarray, start: np.ndarray, words: str
) -> BaseMotion:
    a, b, c = angles
    da, db, dc = np.gradient(angles, 1.0 / FINE, axis=1)
    rates = np.array(
        [
            da - dc * np.sin(b),
            db * np.cos(a) + dc * np.cos(b) * np.sin(a),
            -db * np.sin(a) + dc * np.cos(b) * np.cos(a),
        ]
    )
    rotation = start @ _euler_matrices(a, b, c)
    position = rotation @ lever + place.T
    acceleration = np.gradient(np.gradient(position, 1.0 / FINE, axis=0), 1.0 / FINE, axis=0)
    acceleration[:2] = acceleration[-2:] = 0.0
    up = rotation[:, 2, :]
    force = np.einsum("nji,nj->ni", rotation, acceleration) + GRAVITY * up
    return BaseMotion(time, up, rates.T.copy(), force, words)


def _euler_matrices(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """(n, 3, 3) Rz(c) Ry(b) Rx(a)."""
    sa, ca, sb, cb, sc, cc = np.sin(a), np.cos(a), np.sin(b), np.cos(b), np.sin(c), np.cos(c)
    rows = [
        [cc * cb, cc * sb * sa - sc * ca, cc * sb * ca + sc * sa],
        [sc * cb, sc * sb * sa + cc * ca, sc * sb * ca - cc * sa],
        [-sb, cb * sa, cb * ca],
    ]
    return np.moveaxis(np.array(rows), 2, 0)
