"""What a twin of a driven body is to the rest of the package, whatever physics is inside."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from soft_twin.checks import checked_gravity, checked_vector
from soft_twin.errors import InputError
from soft_twin.solvers.chord import largest_movement, product
from soft_twin.twins.frames import Frame, SectionFrame


def read_only(values: np.ndarray) -> np.ndarray:
    """The same numbers, as an array that cannot be written to."""
    view = values.view()
    view.flags.writeable = False
    return view


class CableWords:
    """What `coordinates` and `efforts` are called where all actuators are cables."""

    coordinates: np.ndarray
    efforts: np.ndarray

    @property
    def displacements(self) -> np.ndarray:
        """(a,) the coordinates [m]."""
        return self.coordinates

    @property
    def tensions(self) -> np.ndarray:
        """(a,) the efforts [N]."""
        return self.efforts


@dataclass(frozen=True)
class Equilibrium(CableWords):
    """A static equilibrium, in base_link.

    Attributes:
        points: (n, 3) positions of the body's nodes [m].
        tip: (3,) centre of the end section [m].
        coordinates: (a,) of the actuators: cable pulled in at the base [m], of a free one what keeps it just taut;
            volume let into a chamber [m³].
        efforts: (a,) of the actuators: tensions [N], pressures [Pa].
        residual: 2-norm of the unbalanced nodal forces [N].
        iterations: Newton steps that it took.
    """

    points: np.ndarray
    tip: np.ndarray
    coordinates: np.ndarray
    efforts: np.ndarray
    residual: float
    iterations: int


@dataclass(frozen=True)
class Linearisation:
    """How one Newton step would move the body, as a function of the actuators' efforts e (a,):

    x_new = x + `free_step` + `step_per_effort` e.

    Attributes:
        free_step: (n, 3) step with no actuator doing anything [m].
        step_per_effort: (n, 3, a) [m/N] or [m/Pa].
        coordinates: (a,) before the step, as if without effort.
        free_coordinates: (a,) change of the coordinates in the free step.
        compliance: (a, a) change of the coordinates for a unit of effort, what the actuators themselves give included.
        residual: 2-norm of the unbalanced nodal forces before the step [N].
        energy: elastic energy before the step [J].
        definite: the tangent stiffness is positive definite there, as that of a body in stable equilibrium.
    """

    free_step: np.ndarray
    step_per_effort: np.ndarray
    coordinates: np.ndarray
    free_coordinates: np.ndarray
    compliance: np.ndarray
    residual: float
    energy: float
    definite: bool = field(default=True, kw_only=True)

    def asked(self, efforts: np.ndarray) -> float:
        """How far the furthest node moves in a whole step to efforts (a,) [m]."""
        return largest_movement(self.free_step + product(self.step_per_effort, efforts))

    def driven(self, change: np.ndarray) -> float:
        """How far the furthest node moves by a change (a,) of the efforts alone [m]."""
        return largest_movement(product(self.step_per_effort, change))


@dataclass(frozen=True)
class Actuation:
    """What the actuators do: coordinates (a,) of those that are driven, None of the others; and the others' efforts
    (a,)."""

    coordinates: list[float | None]
    loads: np.ndarray


class Twin(ABC):
    """A body with a state: positions and actuators' efforts; the state is the start of the next solve. Arrays of it
    cannot be written to.

    Attributes:
        points: (n, 3) current positions of the body's nodes in base_link [m].
        rest: (n, 3) where they are in the undeformed body [m].
        efforts: (a,) current efforts of the actuators: cable tensions [N], chamber pressures [Pa].
        length: undeformed length [m].
        robot: name of the robot that it is of; "" where it was made without one.
        least_effort: (a,) what an actuator can do at the least: 0 for cables, which never push.
        effort_units: (a,) "N" or "Pa".
        softness: (a,) coordinate that an effort takes up while the body stands still: the stretch of a cable [m/N].
        simulator: whose mechanics are inside: "soft_twin" or "sofa".
    """

    points: np.ndarray
    rest: np.ndarray
    efforts: np.ndarray
    length: float
    robot: str = ""
    least_effort: np.ndarray
    effort_units: Sequence[str]
    softness: np.ndarray
    simulator: str = "soft_twin"

    @property
    def actuator_count(self) -> int:
        return len(self.least_effort)

    @property
    def tensions(self) -> np.ndarray:
        """The efforts, as they are called where all actuators are cables."""
        return self.efforts

    @property
    def stops(self) -> tuple[str, ...]:
        """What keeps the body from going on in the current state, beside its actuators' limits, in words."""
        return ()

    @abstractmethod
    def reset(self) -> None:
        """Back to the undeformed, unloaded state."""

    @abstractmethod
    def state(self) -> Any:
        """Where the body is and what its actuators do, for `restore`."""

    @abstractmethod
    def restore(self, state: Any) -> None:
        """Go back to a state that it was in."""

    @abstractmethod
    def body_coordinates(self) -> np.ndarray:
        """(a,) of the actuators in the current state, as if without effort."""

    @abstractmethod
    def _settle(self, gravity: np.ndarray, actuation: Actuation) -> tuple[float, int]:
        """Go to the equilibrium; its residual [N], and the number of Newton steps that it took.

        Raises:
            ConvergenceError: none was found.
        """

    def equilibrium(
        self,
        gravity: np.ndarray,
        displacements: Sequence[float | None] | None = None,
        tensions: Sequence[float] | None = None,
        *,
        coordinates: Sequence[float | None] | None = None,
        efforts: Sequence[float] | None = None,
    ) -> Equilibrium:
        """The static equilibrium, found from the undeformed state; it becomes the current state.

        Args:
            gravity: (3,) in base_link [m/s²].
            coordinates: (a,) of the actuators [m] or [m³], None for one that is free. A cable never pushes.
            efforts: (a,) [N] or [Pa]; of a cable ≥ 0. Neither: no actuator does anything. Beside coordinates: of those
                that are free, the others' are found.
            displacements, tensions: other names of the two, where all actuators are cables; else they are refused.

        Raises:
            InputError: wrong sizes, an effort below the least, not finite, or gravity in another unit; efforts where no
                actuator is free, or one thing by two names.
            ConvergenceError: no equilibrium was found.
        """
        gravity = checked_gravity(gravity)
        actuation = self._actuation(
            {"displacements": displacements, "coordinates": coordinates}, {"tensions": tensions, "efforts": efforts}
        )
        self.reset()
        residual, iterations = self._settle(gravity, actuation)
        return Equilibrium(self.points.copy(), self.tip, self.coordinates(), self.efforts.copy(), residual, iterations)

    @abstractmethod
    def linearise(self, gravity: np.ndarray) -> Linearisation:
        """The Newton step from the current state under gravity (3,) in base_link [m/s²]."""

    def relinearise(self, gravity: np.ndarray, learn: bool = False) -> Linearisation:
        """As `linearise`, but with what an earlier one has factorised, where that saves time and still is good:
        the residual and the coordinates are exact, steps and sensitivities are those of the earlier state. To `learn`
        is to put the sensitivities right by what the last step has shown of them, as goals out of reach ask for."""
        return self.linearise(gravity)

    def revised(self, step: Linearisation, efforts: np.ndarray) -> Linearisation:
        """The step as it is for efforts (a,), where it is linear in them only from piece to piece; else itself."""
        return step

    @abstractmethod
    def advance(self, step: Linearisation, efforts: np.ndarray, largest_step: float) -> float:
        """Take the step with efforts (a,), shortened so that no node moves more than `largest_step` [m].

        Returns:
            The largest node movement that the whole step asked for [m].
        """

    def coordinates(self) -> np.ndarray:
        """(a,) of the current state: what winches have wound in [m], what valves have let in [m³]."""
        return self.body_coordinates() + self.softness * self.efforts

    def displacements(self) -> np.ndarray:
        """The coordinates, as they are called where all actuators are cables."""
        return self.coordinates()

    @abstractmethod
    def section(self, z: float, field: np.ndarray) -> np.ndarray:
        """The value of a nodal field (n, 3, …) at the centre of the cross section at z [m]: (3, …).

        Raises:
            InputError: z is no number, not finite, or beyond the body's `span`.
        """

    def sections(self, heights: Sequence[float], field: np.ndarray) -> np.ndarray:
        """The values of a nodal field (n, 3) at the centres of the cross sections at `heights` (s,) [m]: (s, 3).

        Raises:
            InputError: as `section`.
        """
        return np.array([self.section(z, field) for z in heights])

    @property
    def span(self) -> tuple[float, float]:
        """The lowest and highest z of the undeformed body's cross sections [m]."""
        return 0.0, self.length

    @property
    def base(self) -> np.ndarray:
        """(3,) where the undeformed body's centre line begins [m]."""
        return self.section(self.span[0], self.rest)

    @abstractmethod
    def section_normal(self, z: float) -> np.ndarray:
        """(3,) unit normal of the cross section at z [m], +z undeformed. Raises as `section`."""

    def section_arms(self, z: float) -> tuple[np.ndarray, np.ndarray]:
        """Nodes (k,) of the cross section at z [m], and where they are in it undeformed (k, 3), from their mean [m].

        Raises:
            InputError: where its nodes do not say how a section is turned.
        """
        raise InputError(
            f"{type(self).__name__}: no orientation of its cross sections can be aimed at, those of finite elements can"
        )

    @property
    @abstractmethod
    def surface(self) -> np.ndarray:
        """(t, 3) nodes of the triangles of the outer surface, outward."""

    @property
    def frames(self) -> Mapping[str, Frame]:
        """Named places of the body; one is "tip", the centre of the end section where nothing else is said."""
        return {"tip": SectionFrame(self.length)}

    @property
    def tip(self) -> np.ndarray:
        """(3,) where the frame "tip" is in base_link [m]."""
        return self.frames["tip"].position(self)

    def _actuation(self, coordinates: dict[str, Any], efforts: dict[str, Any]) -> Actuation:
        """From what was given under one of the names of the coordinates or of the efforts."""
        a = self.actuator_count
        loads, driven = np.zeros(a), [None] * a
        for name, general in (("displacements", "coordinates"), ("tensions", "efforts")):
            if (coordinates | efforts).get(name) is not None and any(unit != "N" for unit in self.effort_units):
                raise InputError(f"{name}: not all actuators are cables: say {general}, in the order of the actuators")
        for name, values in efforts.items():
            if values is not None:
                loads = checked_vector(values, a, name)
                self._check_efforts(loads, name)
        for name, values in coordinates.items():
            if values is not None:
                each = list(np.atleast_1d(np.asarray(values, dtype=object)))
                checked = checked_vector([0.0 if value is None else value for value in each], a, name)
                driven = [None if value is None else own for value, own in zip(each, checked.tolist(), strict=True)]
        given = [[name for name, values in kind.items() if values is not None] for kind in (coordinates, efforts)]
        twice = next((names for names in given if len(names) > 1), None)
        if twice is None and all(given) and None not in driven:
            twice = given[0] + given[1]
        if twice is not None:
            raise InputError(f"equilibrium: give {twice[0]} or {twice[1]}, not both")
        free = np.array([value is None for value in driven])
        return Actuation(driven, np.where(free, loads, 0.0))

    def _check_efforts(self, efforts: np.ndarray, name: str) -> None:
        if (efforts < self.least_effort).any():
            raise InputError(f"{name}: {efforts.tolist()} has a negative one, a cable never pushes")
