"""What actuators are to solvers, twins and the inverse: pairs of an effort e and the coordinate c that it works on.

Effort times the rate of the coordinate is power: a cable's tension [N] and the length wound in [m], a chamber's
pressure [Pa] and the volume let in [m³]. The coordinate that the body itself has, c(x), gives the nodal forces
eᵀ ∂c/∂x and the stiffness −e ∂²c/∂x². What winch or valve count is c(x) + s e: a cable stretches by s for each newton.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from soft_twin.checks import in_words
from soft_twin.errors import InputError
from soft_twin.mechanics.body import Body

if TYPE_CHECKING:
    from soft_twin.mechanics.unknowns import Coupling, Pose


@dataclass(frozen=True)
class ActuatorState:
    """Actuators at some positions: c (a,), the coordinates (a,) that act on the body, whose gradients (n, 3, a) those
    are, and which are c, up to a constant, where no friction keeps a part of an effort."""

    coordinates: np.ndarray
    effective: np.ndarray
    gradients: np.ndarray


class Actuators(ABC):
    """Some actuators of one kind on a body; see the module's docstring.

    Attributes:
        has_potential: whether constant efforts are the slope of one, −e·c.
        unit: of an effort, "N" or "Pa".
        names: of each of the a actuators.
        softness: (a,) s, the coordinate that an effort takes up while the body stands still.
        least_effort: (a,) what an actuator can do at the least: 0 where it only pulls, −∞ where there is no such limit.
        tolerance: (a,) how exactly a prescribed coordinate is met.
    """

    has_potential = True
    unit: str
    names: list[str]
    softness: np.ndarray
    least_effort: np.ndarray
    tolerance: np.ndarray

    @property
    def count(self) -> int:
        return len(self.names)

    @abstractmethod
    def attach(self, body: Body) -> None:
        """Look up names and prepare.

        Raises:
            MeshError, InputError: what they act on is not of this body.
        """

    @property
    @abstractmethod
    def groups(self) -> np.ndarray:
        """(m, k) nodes that the stiffness couples."""

    @abstractmethod
    def coordinates(self, x: np.ndarray) -> np.ndarray:
        """c (a,) at positions (n, 3) [m]; 0 in the undeformed body."""

    @abstractmethod
    def gradients(self, x: np.ndarray) -> np.ndarray:
        """∂c/∂x (n, 3, a) at positions (n, 3), less what friction keeps from the body."""

    def effective_coordinates(self, x: np.ndarray) -> np.ndarray:
        """(a,) whose gradients those are, up to a constant: c(x), where no friction keeps a part of an effort."""
        return self.coordinates(x)

    def at(self, x: np.ndarray) -> ActuatorState:
        """All of these at once."""
        return ActuatorState(self.coordinates(x), self.effective_coordinates(x), self.gradients(x))

    def begin(self, x: np.ndarray) -> None:  # noqa: B027, most actuators do not care
        """A step starts at positions (n, 3): friction during it is that of the way there."""

    def forget(self) -> None:  # noqa: B027
        """Friction is as if nothing had ever moved."""

    @abstractmethod
    def stiffness(self, x: np.ndarray, efforts: np.ndarray, which: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Blocks −e ∂²c/∂x² (m, k, k, 3, 3) [N/m] for `groups`, or for some of them, symmetric as a whole."""

    def remainder(self, x: np.ndarray, efforts: np.ndarray) -> csr_matrix | None:
        """What `stiffness` leaves out of −∂f/∂x (3 n, 3 n) [N/m], see `Force.remainder`."""
        return None

    def add_forces(self, x: np.ndarray, efforts: np.ndarray, force: np.ndarray) -> None:
        """Add eᵀ ∂c/∂x to nodal forces (n, 3) [N]."""
        force += self.gradients(x) @ efforts

    def changes(self, x: np.ndarray, *movements: np.ndarray) -> list[np.ndarray]:
        """For each movement (n, 3, r) [m] of the nodes, the changes (a, r) of the coordinates, to first order."""
        gradients = self.gradients(x)
        return [np.tensordot(gradients, each, axes=((0, 1), (0, 1))) for each in movements]

    @abstractmethod
    def add_stiffness(self, x: np.ndarray, efforts: np.ndarray, offsets, strides, data) -> None:
        """Add the stiffness to a matrix's data at its addresses of `groups`."""

    def add_to(self, coupling: "Coupling", pose: "Pose", efforts: np.ndarray) -> None:
        """Add the stiffness at a pose with efforts (a,) to the matrix of a coupling of `groups`."""
        self.add_stiffness(pose.points, efforts, *coupling.direct)
        if coupling.on_plates.any():
            coupling.add_on_plates(self.stiffness(pose.points, efforts, coupling.on_plates), pose)


class ActuatorSet:
    """Actuators of several kinds, one behind the other."""

    def __init__(self, parts: Sequence[Actuators]):
        """Raises InputError where two actuators share a name."""
        self.parts = list(parts)
        self.names = [name for part in self.parts for name in part.names]
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            raise InputError(f"actuators: two share the name '{twice[0]}'")
        self.units = [part.unit for part in self.parts for _ in part.names]
        self._slices, start = [], 0
        for part in self.parts:
            self._slices.append(slice(start, start + part.count))
            start += part.count

    @property
    def softness(self) -> np.ndarray:
        """(a,) see Actuators."""
        return self._joined("softness")

    @property
    def least_effort(self) -> np.ndarray:
        """(a,) see Actuators."""
        return self._joined("least_effort")

    @property
    def tolerance(self) -> np.ndarray:
        """(a,) see Actuators; known when they are attached to a body."""
        return self._joined("tolerance")

    def __len__(self) -> int:
        return len(self.names)

    def split(self, values: np.ndarray) -> list[np.ndarray]:
        """The values (a,) of each part's actuators.

        Raises:
            InputError: of more or fewer actuators.
        """
        shape = np.asarray(values, dtype=object).shape
        if shape != (len(self),):
            found = shape[0] if len(shape) == 1 else in_words(values)
            raise InputError(f"actuators: one value for each of the {len(self)} is needed, not {found}")
        return [values[own] for own in self._slices]

    def coordinates(self, x: np.ndarray) -> np.ndarray:
        """c (a,) at positions (n, 3) [m]."""
        if len(self.parts) == 1:
            return self.parts[0].coordinates(x)
        return np.concatenate([np.zeros(0)] + [part.coordinates(x) for part in self.parts])

    def at(self, x: np.ndarray) -> ActuatorState:
        """Of all actuators, see Actuators."""
        if len(self.parts) == 1:
            return self.parts[0].at(x)
        states = [ActuatorState(np.zeros(0), np.zeros(0), np.zeros((*x.shape, 0)))] + [
            part.at(x) for part in self.parts
        ]
        return ActuatorState(
            np.concatenate([state.coordinates for state in states]),
            np.concatenate([state.effective for state in states]),
            np.concatenate([state.gradients for state in states], axis=2),
        )

    def begin(self, x: np.ndarray) -> None:
        """A step starts at positions (n, 3)."""
        for part in self.parts:
            part.begin(x)

    def forget(self) -> None:
        """Friction is as if nothing had ever moved."""
        for part in self.parts:
            part.forget()

    def gradients(self, x: np.ndarray) -> np.ndarray:
        """∂c/∂x (n, 3, a) at positions (n, 3), see Actuators."""
        if len(self.parts) == 1:
            return self.parts[0].gradients(x)
        return np.concatenate([np.zeros((*x.shape, 0))] + [part.gradients(x) for part in self.parts], axis=2)

    def changes(self, x: np.ndarray, *movements: np.ndarray) -> list[np.ndarray]:
        """For each movement (n, 3, r) [m] of the nodes, the changes (a, r) of the coordinates, to first order."""
        if len(self.parts) == 1:
            return self.parts[0].changes(x, *movements)
        own = [part.changes(x, *movements) for part in self.parts]
        return [np.concatenate(changes) for changes in zip(*own, strict=True)]

    def _joined(self, name: str) -> np.ndarray:
        return np.concatenate([np.zeros(0)] + [getattr(part, name) for part in self.parts])
