"""Any body of finite elements that cables, chambers or both move: one YAML file and, where it likes, one mesh."""

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from soft_twin.descriptions.drives import CableDrive, CableLimits, ImuPlace, Mismatch, ValveDrive, WoundCable
from soft_twin.errors import DescriptionError, InputError, UsageError
from soft_twin.robots.base import DrivenRobot, turned

if TYPE_CHECKING:
    from soft_twin.descriptions import fem_robot as descriptions
    from soft_twin.descriptions.body import Damping
    from soft_twin.inverse.inverse import Inverse
    from soft_twin.inverse.limits import Limit
    from soft_twin.inverse.plate_controller import PlateGains
    from soft_twin.inverse.plate_holder import PlateHolder
    from soft_twin.mechanics.body import Body
    from soft_twin.mechanics.model import Model
    from soft_twin.twins.base import Twin
    from soft_twin.twins.frames import Frame
    from soft_twin.twins.moving import MovingBody
    from soft_twin.twins.plate_model import PlateModel


@dataclass(frozen=True)
class FemRobot(DrivenRobot):
    """See the module's docstring.

    Attributes:
        description: all that its file says.
    """

    description: "descriptions.FemRobot" = field(repr=False)

    @property
    def cable_names(self) -> list[str]:
        return [cable.name for cable in self.description.cables]

    @property
    def chamber_names(self) -> list[str]:
        return [chamber.name for chamber in self.description.chambers]

    @property
    def plate_names(self) -> list[str]:
        return [plate.name for plate in self.description.body.plates]

    @property
    def material_key(self) -> str:
        return "materials[0]"

    @property
    def muscle_names(self) -> list[str]:
        return [muscle.name for muscle in self.description.muscles]

    @property
    def winches(self) -> CableDrive | None:
        """What drives its cables; None where it has none.

        Raises:
            DescriptionError: there are no winches, or a cable has no motor.
        """
        self._check_muscles()
        cables, winches = self.description.cables, self.description.winches
        if not cables:
            return None
        missing = next((i for i, cable in enumerate(cables) if winches is None or cable.motor_id is None), None)
        if missing is not None:
            key = "'winches' and its 'motor_id'" if winches is None else "its 'motor_id'"
            raise self.mistake(f"cable '{cables[missing].name}' has no drive: give {key}", "cables", missing)
        tension, displacement = _alike([cable.tension for cable in cables]), _alike([c.displacement for c in cables])
        limits = CableLimits(tension, displacement, winches.rate, winches.acceleration)
        wound = [
            WoundCable(name=c.name, motor_id=c.motor_id, direction=c.direction, scale=c.scale, offset=c.offset)
            for c in cables
        ]
        return CableDrive(tuple(wound), limits, winches.drum)

    @property
    def valves(self) -> ValveDrive | None:
        """What drives its chambers, each within the pressures that it may have; None where it has none.

        Raises:
            DescriptionError: there are no valves, or a chamber has no channel.
        """
        self._check_muscles()
        chambers, valves = self.description.chambers, self.description.valves
        if not chambers:
            return None
        missing = next((i for i, each in enumerate(chambers) if valves is None or each.channel is None), None)
        if missing is not None:
            key = "'valves' and its 'channel'" if valves is None else "its 'channel'"
            raise self.mistake(f"chamber '{chambers[missing].name}' has no drive: give {key}", "chambers", missing)
        low, high = np.array([chamber.pressure for chamber in chambers]).T
        channels = tuple(chamber.channel for chamber in chambers)
        return ValveDrive(
            chamber_names=tuple(self.chamber_names),
            channels=channels,
            lowest=tuple(low.tolist()),
            highest=tuple(high.tolist()),
            **dict(valves),
        )

    def _check_muscles(self) -> None:
        for i, muscle in enumerate(self.description.muscles):
            raise self.mistake(f"muscle '{muscle.name}' has no drive: there is no driver of muscles", "muscles", i)

    @property
    def imus(self) -> tuple[ImuPlace, ...]:
        """Where its IMUs sit."""
        return tuple(ImuPlace(imu.name, turned(imu.mounting_rpy_deg), imu.plate) for imu in self.description.imus)

    @property
    def plate_imu(self) -> ImuPlace | None:
        plate = self.description.frames["tip"].plate
        return next((imu for imu in self.imus if plate is not None and imu.plate == plate), None)

    @property
    def payload_carrier(self) -> str | None:
        plate = self.description.frames["tip"].plate
        return next((each.nodes for each in self.description.body.plates if each.name == plate), None)

    @property
    def damping(self) -> "Damping":
        return self.description.body.damping

    @property
    def obstacles(self) -> "tuple[descriptions.Obstacle, ...]":
        """Descriptions of what its body may press on."""
        return self.description.obstacles

    @property
    def touches(self) -> bool:
        """Whether its body may press on something, be it on itself."""
        return bool(self.obstacles) or self.description.self_contact is not None

    @property
    def emulated(self) -> Mismatch:
        """How the emulated robot differs from the twin."""
        return Mismatch(**{key: value for key, value in dict(self.description.emulated).items() if key != "mesh"})

    def mistake(self, message: str, *keys: str | int) -> DescriptionError:
        """A mistake in the robot's file, at these keys of the robot."""
        from soft_twin.descriptions.mistakes import mistake_at

        return mistake_at(self.path, ["robot", *keys], message)

    @property
    def target_tip(self) -> tuple[float, float, float]:
        """Default target (3,) of the frame `tip` in base_link [m]."""
        return self.description.target.tip

    def build_model(self, **choices: Any) -> "Model":
        """Its mechanics: body, plates, weight, actuators, contact without friction; there is nothing to choose.

        Raises:
            DescriptionError: the mesh is missing, broken or of another size; names that it has not, a chamber that is
                not closed, a cable through no cell.
        """
        from soft_twin.robots.fem_models import FemBuilder

        if choices:
            raise DescriptionError(f"{self.path}: a robot of kind 'fem' has no choice of {', '.join(choices)}")
        return FemBuilder(self).model()

    def build_emulated_model(self) -> "Model":
        """The mechanics of the emulated robot: as `build_model`, with what its description says it differs by, a mesh
        of its own perhaps, and with friction of its cables and where it touches.

        Raises:
            DescriptionError: see build_model.
        """
        from soft_twin.robots.fem_models import FemBuilder

        return FemBuilder(self, emulated=True).model()

    def build_twin(self, model: str | None = None, backend: str = "fem", **choices: Any) -> "Twin | PlateModel":
        """A twin of it, in contact with its obstacles and itself, if it is said to be; choices as in `build_model`.

        Args:
            model: of PLATE_MODELS, for one that answers pitch and roll of its plate instead; see `plate_models.py`.
            backend: "fem", or "sofa" for one whose mechanics are SOFA's, of linear tetrahedra and without contact.

        Raises:
            DescriptionError: see build_model; a target out of all reach; or what the model asks for is not so.
            UsageError: there is no such model or backend; SOFA cannot be had, or has not what the robot has.
        """
        if model is not None:
            from soft_twin.robots.plate_models import build_plate_model

            return build_plate_model(self, model)
        if backend == "sofa":
            from soft_twin.robots.sofa import build_sofa_twin

            return self._named(build_sofa_twin(self, **choices))
        if backend != "fem":
            raise UsageError(f"no twin '{backend}' of robot '{self.name}': there are fem, sofa")
        from soft_twin.twins.contact import ContactTwin
        from soft_twin.twins.finite_element import FemTwin

        model = self.build_model(**choices)
        length = float(model.body.mesh.size.max())
        kind = ContactTwin if self.touches else FemTwin
        twin = kind(model, length, self.build_frames(model.body))
        if words := self.description.out_of_reach(twin.base):
            raise self.mistake(words, "target", "tip")
        return self._named(twin)

    def _named(self, twin: "Twin") -> "Twin":
        """A twin of it, which knows whose it is."""
        twin.robot = self.name
        return twin

    def build_dynamic_twin(self, dt: float = 0.01, backend: str = "fem", **choices: Any) -> "MovingBody":
        """As DrivenRobot; `backend`: "fem", or "sofa" for one that SOFA moves.

        Raises:
            UsageError: there is no such backend; SOFA cannot be had, or has not what the robot has.
        """
        if backend == "sofa":
            from soft_twin.robots.sofa import build_sofa_dynamic_twin

            return build_sofa_dynamic_twin(self, dt, **choices)
        if backend != "fem":
            raise UsageError(f"no twin '{backend}' of robot '{self.name}': there are fem, sofa")
        return super().build_dynamic_twin(dt, **choices)

    def build_plate_holder(self, model: str = "fem", gains: "PlateGains | None" = None) -> "PlateHolder":
        """What holds its plate in closed loop, and knows what hangs on it; see PlateHolder.

        Args:
            model: of PLATE_MODELS, which steers.
            gains: of the loop.

        Raises:
            DescriptionError, UsageError: as build_twin; or a cable has no drive.
        """
        from soft_twin.inverse.plate_controller import CommandLimits, PlateController
        from soft_twin.inverse.plate_holder import Once, PlateHolder
        from soft_twin.inverse.plate_payload import PayloadObserver

        if (winches := self.winches) is None:
            raise self.mistake("a plate is held by cables: there are none", "cables")
        limits = CommandLimits(winches.cable_limits.displacement, winches.cable_limits.rate, self.cable_names)
        controller = PlateController(self.build_twin(model), gains, limits)
        holder = PlateHolder(controller, PayloadObserver(self.build_twin("fem")))
        if controller.model.moves:
            holder.scout = Once(partial(self.build_twin, model))
        return holder

    def build_frames(self, body: "Body") -> "dict[str, Frame]":
        from soft_twin.robots.fem_models import FemBuilder

        return FemBuilder(self).frames(body)

    def build_inverse(self, twin: "Twin | None" = None) -> "Inverse":
        """The solver that finds what cables and chambers shall do for goals on `twin`, or on one of its own. On a SOFA
        twin, places of the tip are SOFA's own inverse's, where it has one.

        Raises:
            InputError: it is a twin of another robot.
        """
        from soft_twin.inverse.inverse import Inverse, arc_posture
        from soft_twin.inverse.sofa import SofaInverse

        twin = self.build_twin() if twin is None else twin
        if twin.robot not in ("", self.name):
            raise InputError(f"inverse of robot '{self.name}': the twin is of robot '{twin.robot}'")
        posture = arc_posture if self.description.posture == "arc" else None
        kind = SofaInverse if twin.simulator == "sofa" else Inverse
        return kind(twin, self.limits(), self.actuator_names, posture, self._free_efforts())

    def limits(self) -> "list[Limit]":
        """Of tensions and pressures, of displacements and volumes."""
        from soft_twin.inverse.limits import CoordinateLimit, EffortLimit

        cables, chambers = self.description.cables, self.description.chambers
        tensions = [(max(cable.tension[0], cable.pretension), cable.tension[1]) for cable in cables]
        muscles = self.description.muscles
        efforts = tensions + [chamber.pressure for chamber in chambers] + [muscle.stress for muscle in muscles]
        coordinates = [cable.displacement for cable in cables] + [chamber.volume for chamber in chambers]
        coordinates += [(-np.inf, np.inf)] * len(muscles)
        counts = (len(cables), len(chambers), len(muscles))
        called = np.repeat([("tension", "displacement"), ("pressure", "volume"), ("stress", "contraction")], counts, 0)
        return [
            EffortLimit(*np.array(efforts).T, called[:, 0].tolist()),
            CoordinateLimit(*np.array(coordinates).T, called[:, 1].tolist()),
        ]

    def _free_efforts(self) -> list[float]:
        """Tensions [N], pressures and stresses [Pa] of actuators that are let go, chambers vented, in their order."""
        valves = self.description.valves
        vented = 0.0 if valves is None else valves.vented
        return [vented if name in self.chamber_names else 0.0 for name in self.actuator_names]


def read(description: "descriptions.FemRobot", path: Path, nodes: dict[str, Any]) -> FemRobot:
    """A FemRobot from its description."""
    return FemRobot(name=description.name, path=path, nodes=nodes, description=description)


def _alike(limits: list[tuple[float, float]]) -> tuple:
    """Lower and upper limits: numbers where all are alike, else (c,)."""
    if len(set(limits)) == 1:
        return limits[0]
    low, high = np.array(limits).T
    return low, high
