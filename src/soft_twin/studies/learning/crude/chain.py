"""A chain of plates in MuJoCo: bellows as springs that are stretched and bent between them.

Between two plates is a slide along the axis and a hinge each way. A bellows of area A, whose middle is r from the axis,
pushes the plates apart with the force p A and turns them with p A r; walls are springs of EA/h and EI/h over a length
h. Sections stay circles. A shape is where the chain comes to rest, damped. Needs `pip install mujoco`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial.transform import Rotation, Slerp

from soft_twin.errors import ConvergenceError, UsageError
from soft_twin.learning.shape_twins import ShapeTwin, plain_surface
from soft_twin.studies.learning.crude.tubes import tube_points, tube_triangles

STEP, MOST_STEPS, AT_REST = 0.01, 20_000, 1e-5  # [s], steps, [rad/s] or [m/s]
DAMPING = 0.05  # [s] of the joints' stiffness
SPACING = 0.015  # [m] of sections


@dataclass(frozen=True)
class Bellows:
    """A segment of bellows.

    Attributes:
        low, high: where it begins and ends [m].
        chambers: numbers of its chambers.
        directions: (c, 2) of these from the axis.
        area: of one [m²].
        arm: of its middle from the axis [m].
        tension: EA of the walls [N].
        bending: EI of the walls [N m²].
        mass: per length [kg/m].
    """

    low: float
    high: float
    chambers: Sequence[int]
    directions: np.ndarray
    area: float
    arm: float
    tension: float
    bending: float
    mass: float


class ChainShapes(ShapeTwin):
    """See the module's docstring.

    Args:
        segments: from the base on; what is between them is rigid.
        length, radius: of the body [m].
        limits: (a, 2) of the pressures [Pa].
        joints: of each segment.
        plate: mass per length of what is rigid [kg/m].

    Raises:
        UsageError: MuJoCo is not installed.
    """

    def __init__(
        self,
        segments: Sequence[Bellows],
        length: float,
        radius: float,
        limits: np.ndarray,
        joints: int = 6,
        plate: float = 2.5,
    ):
        try:
            import mujoco
        except ImportError:
            raise UsageError("a chain of plates needs MuJoCo: pip install mujoco") from None
        self._mujoco, self._segments, self._joints = mujoco, tuple(segments), joints
        self._radius, self.limits = radius, np.asarray(limits, float)
        self._model = mujoco.MjModel.from_xml_string(_xml(self._segments, length, joints, plate))
        self._data = mujoco.MjData(self._model)
        self._plates = np.array(_plates(self._segments, length, joints))
        self._heights = np.linspace(0.0, length, 1 + int(np.ceil(length / SPACING)))
        rest = tube_points(np.outer(self._heights, [0.0, 0.0, 1.0]), Rotation.identity(len(self._heights)), radius)
        self.surface = plain_surface(rest, tube_triangles(len(self._heights)))

    def shapes_of(self, pressures: np.ndarray) -> np.ndarray:
        """See ShapeTwin.

        Raises:
            ConvergenceError: the chain does not come to rest.
        """
        return np.array([self._shape(row) for row in np.asarray(pressures, float)])

    def _shape(self, pressures: np.ndarray) -> np.ndarray:
        self._mujoco.mj_resetData(self._model, self._data)
        self._data.qfrc_applied[:] = self._forces(pressures)
        for _ in range(MOST_STEPS):
            self._mujoco.mj_step(self._model, self._data)
            if np.abs(self._data.qvel).max() < AT_REST and self._data.time > 10.0 * DAMPING:
                return self._tube()
        raise ConvergenceError(f"MuJoCo's chain does not come to rest in {MOST_STEPS * STEP:g} s")

    def _forces(self, pressures: np.ndarray) -> np.ndarray:
        """(3 j,) of each joint: along the slide, and about x and y."""
        found = []
        for own in self._segments:
            forces = own.area * pressures[list(own.chambers)]
            x, y = own.arm * (forces @ own.directions)
            found += [[forces.sum(), y, -x]] * self._joints
        return np.ravel(found)

    def _tube(self) -> np.ndarray:
        """The surface around the plates, which are joined smoothly."""
        middles, turns = self._data.xpos[1:], Rotation.from_matrix(self._data.xmat[1:].reshape(-1, 3, 3))
        along = turns.apply([0.0, 0.0, 1.0])
        lengths = np.linalg.norm(np.gradient(middles, self._plates, axis=0), axis=1)
        spline = CubicHermiteSpline(self._plates, middles, along * lengths[:, None])
        return tube_points(spline(self._heights), Slerp(self._plates, turns)(self._heights), self._radius)


def _plates(segments: Sequence[Bellows], length: float, joints: int) -> list[float]:
    """Heights of the chain's bodies, the base's first and the tip's last [m]."""
    heights = [0.0]
    for own in segments:
        heights += [own.low, *np.linspace(own.low, own.high, joints + 1)[1:]]
    return [*heights, length]


def _xml(segments: Sequence[Bellows], length: float, joints: int, plate: float) -> str:
    """The chain in MuJoCo's words: bodies in bodies, each where the one below it ends."""
    opened, closed, below = [_body(0.0, 0.0, "", plate * segments[0].low)], ["</body>"], 0.0
    for own, above in zip(segments, [*(each.low for each in segments[1:]), length], strict=True):
        opened.append(_body(own.low - below, 0.0, "", 1e-4))
        below, each = own.low, (own.high - own.low) / joints
        for number in range(joints):
            mass = own.mass * each + (plate * (above - own.high) if number == joints - 1 else 0.0)
            opened.append(_body(each, each, _joints(own, each), mass))
            below += each
        closed += ["</body>"] * (joints + 1)
    opened.append(_body(length - below, 0.0, "", 1e-4))
    closed.append("</body>")
    return (
        f'<mujoco><option gravity="0 0 -9.81" timestep="{STEP}" integrator="implicitfast"/>'
        f"<worldbody>{''.join(opened)}{''.join(closed)}</worldbody></mujoco>"
    )


def _body(ahead: float, below: float, joints: str, mass: float) -> str:
    """One body so far ahead of the one that carries it; its mass is half of `below` behind it [m], [kg]."""
    inertia = f"{max(1e-3 * mass, 1e-7):g}"
    return (
        f'<body pos="0 0 {ahead:.9g}">{joints}<inertial pos="0 0 {-0.5 * below:.9g}" mass="{max(mass, 1e-5):g}" '
        f'diaginertia="{inertia} {inertia} {inertia}"/>'
    )


def _joints(own: Bellows, length: float) -> str:
    """Between two plates so far apart [m]; the hinges are halfway."""
    slide, hinge = own.tension / length, own.bending / length
    words = f'<joint type="slide" axis="0 0 1" stiffness="{slide:g}" damping="{DAMPING * slide:g}"/>'
    for axis in ("1 0 0", "0 1 0"):
        place = f'pos="0 0 {-0.5 * length:.9g}"'
        words += f'<joint type="hinge" axis="{axis}" {place} stiffness="{hinge:g}" damping="{DAMPING * hinge:g}"/>'
    return words
