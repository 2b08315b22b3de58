"""Target orientation of a plate in, cable displacements out: by a model, and by what the IMUs of base and plate see.

Publishes cables/command while compensating, with the stamp of the gravity sample behind it; with each tick
solver/status, twin/tip, payload [kg], NaN where it is not known yet, and payload/deviation; at most at `picture_rate`
shape, body and twin/target, the orientation that is aimed at, where the twin has its tip; the robot's links on /tf at
most at `transform_rate`. The model that steers is set by the parameter `model`, also while the node runs.
The service `align`, called while cables that are homed hold the plate straight, finds by how much the two IMUs are
turned against each other, and corrects them from then on; the parameter `alignment` names the file that keeps it.
Without the base's or the plate's gravity the loop is open, and the diagnostics say so; without both the node is silent,
and the driver's watchdog acts.
"""

import sys
from copy import copy
from dataclasses import dataclass
from functools import partial

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.parameter import Parameter
from rclpy.task import Future
from sensor_msgs.msg import JointState
from soft_twin_msgs.msg import Shape, SolverStatus
from soft_twin_msgs.srv import SetTarget, SolveIk
from std_msgs.msg import Float64
from std_srvs.srv import SetBool, Trigger
from visualization_msgs.msg import Marker

from soft_twin.compiling import compiled_by_one
from soft_twin.errors import ConvergenceError, InputError, SoftTwinError, UsageError
from soft_twin.files import is_missing
from soft_twin.inverse.plate import FemPlate, out_of_reach
from soft_twin.inverse.plate_alignment import Alignment
from soft_twin.inverse.plate_answer import PlateAnswer, answer
from soft_twin.inverse.plate_holder import Held, Once
from soft_twin.inverse.plate_rest import Measured, straight_rest
from soft_twin.inverse.recent import Recent
from soft_twin.robots.alignment_file import read_alignment, write_alignment
from soft_twin.robots.fem_robot import FemRobot
from soft_twin.robots.links import plate_link
from soft_twin.robots.plate_models import PLATE_MODELS
from soft_twin.robots.skeleton import build_skeleton
from soft_twin.twins.base import Twin
from soft_twin.twins.constant_curvature.kernels import bend_of
from soft_twin.twins.frames import STATIONS
from soft_twin.twins.plate_model import PlateModel, apart
from soft_twin_ros.background import Background
from soft_twin_ros.body_marker import BodyMarker
from soft_twin_ros.conversions import (
    efforts_in_order,
    joint_state,
    pose_message,
    positions_in_order,
    shape_message,
    to_pose,
    to_seconds,
)
from soft_twin_ros.conversions import header as header_of
from soft_twin_ros.gravity_samples import GravitySamples
from soft_twin_ros.inverse_service import gravity_of
from soft_twin_ros.managed_node import ManagedNode, ManagedParameters
from soft_twin_ros.node import ERROR, OK, WARN, Health, run, waiting
from soft_twin_ros.parameters import parameter
from soft_twin_ros.plate_motions import PlateMotions, miss, refuse_what_is_not_held, target_tilt, tilted
from soft_twin_ros.plate_targets import Aimed, PlateTargets
from soft_twin_ros.qos import COMMAND, NEWEST
from soft_twin_ros.robot_frames import RobotFrames

OVERTAKEN = "another target has taken its place"
SHORTEST_TICK, LONGEST_TICK = 1e-3, 0.1  # [s] that one tick stands for
NEARLY = 0.9  # of the time between two ticks, after which the next one is due
FIRST_RAMP = 2.5  # [s] in which free cables come to the target at the soonest
NAN = float("nan")


@dataclass(frozen=True)
class Parameters(ManagedParameters):
    """Of this node."""

    model: str = parameter("fem", f"what steers: {', '.join(PLATE_MODELS)}", settable=True)
    closed: bool = parameter(True, "hold what the IMUs see; false: the model alone steers", settable=True)
    compensate: bool = parameter(True, "hold the target; false: the cables are free", settable=True)
    ramp: float = parameter(
        0.0, "how long a target of the topic takes; 0: as its rate allows", "s", 0.0, 600.0, settable=True
    )
    go_to_nearest: bool = parameter(
        False,
        "a target out of reach: true: the nearest is held; false: it is refused, the nearest named",
        settable=True,
    )
    pitch_deg: float = parameter(0.0, "of the target at the start", "deg", -80.0, 80.0)
    roll_deg: float = parameter(0.0, "of the target at the start", "deg", -80.0, 80.0)
    alignment: str = parameter("", "file of the alignment of the plate's IMUs (YAML), written by the service align")
    rate: float = parameter(100.0, "greatest rate of ticks", "Hz", 20.0, 1000.0, settable=True)
    picture_rate: float = parameter(25.0, "greatest rate of shape, body and target", "Hz", 0.1, 100.0, settable=True)
    transform_rate: float = parameter(50.0, "greatest rate of transforms on /tf", "Hz", 0.1, 200.0, settable=True)
    stale_after: float = parameter(0.5, "a gravity sample older than this is refused", "s", 0.01, 10.0, settable=True)
    silent_after: float = parameter(
        0.3, "without a sample for so long an IMU, or the cables, are not known", "s", 0.01, 60.0, settable=True
    )


class PoseToCables(ManagedNode):
    """See the module's docstring. A tick runs between callbacks, other models are built and asked in a thread."""

    computes = True

    def __init__(self):
        super().__init__("pose_to_cables", Parameters)
        if not isinstance(self.robot, FemRobot) or self.robot.plate_imu is None:
            raise UsageError(f"robot '{self.robot.name}' has no plate with an IMU at its tip: there is nothing to hold")
        plate = self.robot.plate_imu.plate
        with compiled_by_one("mechanics"):
            self._holder = self.robot.build_plate_holder(self.parameters.model)
            self._controller = self._holder.controller
            self._warm_up()
            first = self._first_target()
        self._models: dict[str, PlateModel] = {self.parameters.model: self._controller.model}
        self._asked_models: dict[str, PlateModel] = {}
        self._holder.closed = self.parameters.closed
        if self.parameters.alignment and not is_missing(self.parameters.alignment):
            self._holder.adopt(read_alignment(self.parameters.alignment))
        self._wanted = self.parameters.model
        self._base = GravitySamples(self, "gravity", self.base_frame)
        self._plate = GravitySamples(self, f"{self.robot.plate_imu.name}/gravity", self.frame(plate_link(plate)))
        self._cables: tuple[float, np.ndarray] | None = None  # stamp [s], tensions and displacements (2, c)
        self._recent_cables, self._cables_heard = Recent(), -np.inf
        self._held: Held | None = None
        self._holding, self._stamp, self._duration = False, 0.0, NAN
        self._newest = 0.0  # stamp [s] of the newest sample of the last tick
        self._lost = self._no_model = self._no_cables = self._wrong_cables = ""
        self._next_picture = self.steady_now()
        self._background = Background(self, "models")
        twin = self._holder.observer.plate.twin
        self._marker = BodyMarker(self.base_frame, twin.surface)
        self._heights = np.linspace(*twin.span, STATIONS)
        self._frames = RobotFrames(self, build_skeleton(self.robot, twin.model))
        self._targets = PlateTargets(self, self._holder, first, lambda: self._motions.end(False, OVERTAKEN))
        self._motions = PlateMotions(self, self._holder, self._targets, self.base_frame)
        self._offer_all()
        self.listen(JointState, "cables/state", self._take_cables, NEWEST)
        self.listen(PoseStamped, "target", self._take_target, COMMAND)

    def health(self) -> Health:
        values = self._values()
        if self._lost:
            return Health(ERROR, self._lost, values)
        if self._held is None and self._base.newest is None and self._plate.newest is None:
            return waiting(self._base.refusal or "waiting for gravity", values)
        if self._silent:
            told = "no gravity from base and plate: nothing is commanded, and drivers that hear nothing let go"
            return Health(ERROR, told, values)
        if self._controller.model is not self._models.get(self._wanted):
            return Health(WARN, self._no_model or f"the model '{self._wanted}' is being built", values)
        if self._held is None:
            return Health(OK, "the cables are free", values)
        return self._health_while_holding(values)

    @property
    def _silent(self) -> bool:
        """Whether nothing is heard of base and plate."""
        return min(self._base.silence, self._plate.silence) > self.parameters.silent_after

    def _health_while_holding(self, values: dict) -> Health:
        held = self._held
        if held.open_because and self.parameters.closed:
            return Health(WARN, f"open loop: {held.open_because}", values)
        if held.tick.holding:
            return Health(WARN, f"the last command is held: {held.tick.reason}", values)
        if self._targets.refusal:
            return Health(WARN, f"target refused, the last one is held: {self._targets.refusal}", values)
        if beyond := self._targets.now.beyond:
            return Health(WARN, f"{beyond}, and held", values)
        if stops := self._twin_now().stops:
            return Health(WARN, f"the plate is at its stops: {', '.join(stops)}", values)
        limits = ", ".join(held.tick.active_limits)
        if not held.tick.reachable:
            return Health(WARN, f"limits keep the plate from where it should be: {limits}", values)
        if held.tick.at_largest:
            return Health(
                WARN, "the plate does not come to where it should be: at a stop, or far from its model", values
            )
        how = "open loop, as it was asked for" if held.open_because else "closed loop"
        return Health(OK, "; ".join([f"limits bind: {limits}" if limits else how, *held.noticed]), values)

    def _values(self) -> dict:
        values = {f"refused_{reason}": count for reason, count in (self._base.refused + self._plate.refused).items()}
        values |= {"model": self._wanted, "tick_ms": 1e3 * self._duration}
        if refusal := self._no_model or self._no_cables or self._targets.refusal:
            values["refusal"] = refusal
        if rests := self._holder.alignment.rests:
            values |= {"alignment_deg": float(np.degrees(self._holder.alignment.apart)), "alignment_rests": len(rests)}
        if (held := self._held) is not None:
            error = np.degrees(miss(held, self._targets.now.asked))
            values |= {"error_deg": float(error), "progress": held.tick.progress}
            values["noticed"] = "; ".join(held.noticed)
            values["correction_deg"] = float(np.degrees(np.hypot(*held.tick.correction)))
            if held.payload is not None:
                values |= {"payload_kg": held.payload.mass, "payload_deviation_kg": held.payload.deviation}
                values["payload_deviation_any_centre_kg"] = held.payload.whole_deviation
        return values

    @property
    def has_work(self) -> bool:
        """A sample of each IMU, when the next tick is due; of one where the other is silent: nothing is integrated
        twice. It is due by the newest sample: the oldest may be the last one of an IMU that is silent now."""
        both = self._base, self._plate
        silent = [samples.silence > self.parameters.silent_after for samples in both]
        there = [samples.waiting is not None for samples in both]
        if not (any(there) and all(has or lost for has, lost in zip(there, silent, strict=True))):
            return False
        since = max(self._stamps_waiting) - self._newest
        return not 0.0 <= since < NEARLY / self.parameters.rate  # or the clock was set back

    @property
    def _stamps_waiting(self) -> list[float]:
        return [samples.waiting[0] for samples in (self._base, self._plate) if samples.waiting is not None]

    def work(self) -> None:
        """One tick for the newest samples."""
        start = self.steady_now()
        stamp, self._newest = min(self._stamps_waiting), max(self._stamps_waiting)
        for samples in (self._base, self._plate):
            samples.take()
        dt = float(np.clip(stamp - self._stamp, SHORTEST_TICK, LONGEST_TICK))
        self._stamp = stamp
        try:
            self._held, self._lost = self._tick(dt), ""
        except (ConvergenceError, InputError) as error:
            self._lost = f"the model has no answer, and there is no command yet that could be held: {error}"
            return
        self._duration = self.steady_now() - start
        for samples in (self._base, self._plate):
            samples.heard += self._duration  # while it computes it cannot hear, and nobody is silent
        self._motions.take(self._held, dt)
        self._publish(stamp)

    def adopt(self, old: Parameters, new: Parameters) -> None:
        if new.model not in PLATE_MODELS:
            raise InputError(f"model '{new.model}': there are {', '.join(PLATE_MODELS)}")
        self._holder.closed, self._holder.goes_to_nearest = new.closed, new.go_to_nearest
        if new.model == self._wanted:
            return
        self._wanted, self._no_model = new.model, ""
        if new.model in self._models:
            self._steer_by(self._models[new.model])
        else:
            built = self._background.run(lambda: self._model(new.model))
            built.add_done_callback(partial(self._switch, new.model))

    def rest(self) -> None:
        self._base.waiting = self._plate.waiting = self._held = None
        self._holding = False

    def close(self) -> None:
        self._background.close()
        self._targets.close()

    def _warm_up(self) -> None:
        """Compile and load what a tick needs before the first sample comes."""
        self._controller.model.step(0.0, 0.0)
        self._holder.observer.follow(self._holder.gravity, np.zeros(2), np.zeros(len(self.robot.cable_names)))
        self._holder.observer.reset()

    def _first_target(self) -> Aimed:
        """What is aimed at until somebody asks for something else; the model is asked before anything moves."""
        self._holder.goes_to_nearest = self.parameters.go_to_nearest
        pitch, roll = np.radians([self.parameters.pitch_deg, self.parameters.roll_deg]).tolist()
        try:
            aimed = self._holder.within_reach(pitch, roll, self._controller.model)
        except InputError as error:
            raise UsageError(f"parameters pitch_deg and roll_deg: {error}") from error
        self._controller.model.reset()
        self._controller.aim(*aimed)
        return Aimed((pitch, roll), aimed)

    def _model(self, name: str) -> PlateModel:
        """A model of the robot, built where nobody has asked for it yet."""
        if name not in self._models:
            self._models[name] = self.robot.build_twin(name)
        return self._models[name]

    def _switch(self, name: str, built: Future) -> None:
        """The model of that name has been built: it steers from now on, unless another one was asked for meanwhile."""
        if (error := built.exception()) is not None:
            told = f"the model '{name}' cannot be built: {error}"
            self.get_logger().error(told)
            self._no_model = told if name == self._wanted else self._no_model
        elif name == self._wanted:
            self._steer_by(self._models[name])

    def _steer_by(self, model: PlateModel) -> None:
        """That model from now on; what is in reach is asked of another one like it, where it has a state."""
        name, self._controller.model = self._wanted, model
        self._holder.scout = Once(partial(self.robot.build_twin, name)) if model.moves else lambda: model

    def _tick(self, dt: float) -> Held | None:
        measured = self._measured()
        if not self.parameters.compensate:
            self._holding = False
            self._holder.look(measured, dt)
            return None
        if not self._holding and measured.wound is not None:
            self._holder.look(measured, dt)
            self._holder.begin_at(measured.wound)
            self._controller.aim(*self._controller.target, max(self.parameters.ramp, FIRST_RAMP))
        self._holding = True
        return self._holder.update(measured, dt)

    def _measured(self) -> Measured:
        """What was measured when the tick's sample was: samples of one IMU may come later than all else."""
        stamp, silent_after = self._stamp, self.parameters.silent_after
        base, plate = (samples.measured_at(stamp, silent_after) for samples in (self._base, self._plate))
        heard = self.steady_now() - self._cables_heard <= silent_after
        self._no_cables = self._wrong_cables if heard else ""
        if not heard or self._cables is None:
            return Measured(base, plate)
        (told, (_, wound)), then = self._cables, self._recent_cables.at(stamp, silent_after)
        if then is None:
            self._no_cables = f"cables/state: none was stamped when gravity was, the last {told - stamp:+.2f} s from it"
            return Measured(base, plate, newest=wound)
        return Measured(base, plate, *then, newest=wound)

    def _offer_all(self) -> None:
        self._commands = self.offer(JointState, "cables/command", COMMAND)
        self._tips = self.offer(PoseStamped, "twin/tip")
        self._statuses = self.offer(SolverStatus, "solver/status")
        self._payloads = self.offer(Float64, "payload")
        self._deviations = self.offer(Float64, "payload/deviation")
        self._shapes = self.offer(Shape, "shape")
        self._bodies = self.offer(Marker, "body")
        self._aims = self.offer(PoseStamped, "twin/target")
        self.offer_waiting(SetTarget, "set_target", self._set_target)
        self.offer_waiting(SolveIk, "solve_ik", self._solve_ik)
        self.create_service(SetBool, "compensate", self._compensate)
        self.create_service(Trigger, "tare", self._tare)
        self.offer_waiting(Trigger, "align", self._align)

    def _take_cables(self, message: JointState) -> None:
        names, stamp, self._cables_heard = self.robot.cable_names, to_seconds(message.header.stamp), self.steady_now()
        try:
            values = np.array([efforts_in_order(message, names), positions_in_order(message, names)])
        except InputError as error:
            self._cables, self._wrong_cables = None, str(error)
            return
        self._cables, self._wrong_cables = (stamp, values), ""
        self._recent_cables.add(stamp, values, self.parameters.stale_after)

    def _take_target(self, message: PoseStamped) -> None:
        try:
            self._targets.take(target_tilt(message, self.base_frame), self.parameters.ramp)
        except InputError as error:
            self._targets.refuse(str(error))

    def _publish(self, stamp: float) -> None:
        twin, held, model = self._twin_now(), self._held, self._controller.model
        if held is not None:
            efforts = model.twin.efforts if isinstance(model, FemPlate) else np.full(len(self.robot.cable_names), NAN)
            self._commands.publish(joint_state(stamp, self.robot.cable_names, held.tick.displacements, efforts))
            self._statuses.publish(self._status(stamp, held))
            if held.payload is not None:
                self._payloads.publish(Float64(data=held.payload.mass))
                self._deviations.publish(Float64(data=held.payload.deviation))
        frame = twin.frames["tip"]
        place = frame.position(twin)
        self._tips.publish(pose_message(stamp, self.base_frame, place, frame.rotation(twin)))
        self._frames.send(stamp, twin.points, twin.coordinates())
        if self.steady_now() >= self._next_picture:
            self._next_picture = self.steady_now() + 1.0 / self.parameters.picture_rate
            line, names = twin.sections(self._heights, twin.points), [f"{1e3 * z:g}_mm" for z in self._heights]
            self._shapes.publish(shape_message(stamp, self.base_frame, names, line, NAN, NAN))
            self._bodies.publish(self._marker.frame(stamp, twin.points))
            self._aims.publish(pose_message(stamp, self.base_frame, place, self._turn_asked))

    def _twin_now(self) -> Twin:
        """The body as the model that steers has it, else as the observer of the payload sees it."""
        model = self._controller.model
        steers = self._held is not None and isinstance(model, FemPlate)
        return model.twin if steers else self._holder.observer.plate.twin

    @property
    def _turn_asked(self) -> np.ndarray:
        """(3, 3) how the plate shall be turned."""
        return tilted(np.array(bend_of(*self._targets.now.asked)))

    def _status(self, stamp: float, held: Held) -> SolverStatus:
        tick, asked = held.tick, self._targets.now.asked
        return SolverStatus(
            header=header_of(stamp, self.base_frame),
            frame="tip",
            target=to_pose(np.full(3, NAN), self._turn_asked),
            use_orientation=True,
            reached=to_pose(np.full(3, NAN), None if held.sight is None else tilted(held.sight.bend)),
            compensating=True,
            holding=tick.holding,
            actuators=list(self.robot.cable_names),
            efforts=[NAN] * len(tick.displacements),
            coordinates=[float(value) for value in tick.displacements],
            active_limits=list(dict.fromkeys([*tick.active_limits, *self._twin_now().stops])),
            error=NAN,
            orientation_error=miss(held, asked),
            converged=tick.progress >= 1.0,
            reachable=tick.reachable and not self._targets.now.beyond,
            residual=NAN,
            iterations=1,
            duration=self._duration,
        )

    async def _set_target(self, request: SetTarget.Request, response: SetTarget.Response) -> SetTarget.Response:
        try:
            aimed = await self._targets.aim(self._asked(request), self.parameters.ramp)
        except SoftTwinError as error:
            response.success, response.message = False, str(error)
            return response
        beyond = f": {aimed.beyond}" if aimed.beyond else ""
        response.success, response.message = True, f"holding {aimed} {self.when}{beyond}"
        return response

    def _asked(self, request: SetTarget.Request | SolveIk.Request) -> tuple[float, float]:
        refuse_what_is_not_held(request.use_orientation, request.frame)
        return target_tilt(request.target, self.base_frame)

    def _compensate(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self.set_parameters([Parameter("compensate", value=request.data)])
        response.success = True
        response.message = "the target is held" if request.data else "the cables are free"
        return response

    def _tare(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._holder.tare()
        response.success = True
        response.message = "what hangs on the plate now counts as nothing: bend it, and wait until it is at rest"
        return response

    async def _align(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            if self._held is None:
                raise InputError("the cables are free: let them hold the plate straight, and call again")
            if self._silent:
                raise InputError("no gravity from base and plate: there is nothing to align")
            measured, payload = self._holder.at_rest.mean(), self._holder.payload
            rest = await self._background.run(lambda: straight_rest(self._asked_model("fem"), measured, payload))
            alignment = self._holder.alignment.with_rest(rest)
            if self.parameters.alignment:
                write_alignment(self.parameters.alignment, alignment)
        except SoftTwinError as error:
            response.message = str(error)
            return response
        self._holder.adopt(alignment)
        response.success, response.message = True, _aligned(alignment, self.parameters.alignment)
        return response

    def _asked_model(self, name: str) -> PlateModel:
        """The model of that name that services ask, in the background: one of its own, as each bears another load."""
        if name not in self._asked_models:
            known = self._models.get(name)
            self._asked_models[name] = self.robot.build_twin(name) if known is None or known.moves else copy(known)
        return self._asked_models[name]

    async def _solve_ik(self, request: SolveIk.Request, response: SolveIk.Response) -> SolveIk.Response:
        try:
            asked, name, base = self._asked(request), self._wanted, self._base.measured(self.parameters.silent_after)
            gravity = None if base is None else self._holder.alignment.base(base)
            payload = self._holder.borne
            found = await self._background.run(lambda: self._answer(name, asked, request, gravity, payload))
        except SoftTwinError as error:
            response.success, response.message = False, str(error)
            return response
        response.success, response.message = True, f"{name}: {Aimed(asked, found.reached)}"
        if not found.reachable:
            response.message += f": {out_of_reach(asked, found.reached)}"
        if found.caveat:
            response.message += f"; {found.caveat}"
        response.actuators, response.error = list(self.robot.cable_names), NAN
        response.reachable, response.active_limits = bool(found.reachable), list(found.active_limits)
        response.efforts = [float(value) for value in found.efforts]
        response.coordinates = [float(value) for value in found.displacements]
        response.reached = to_pose(np.full(3, NAN), tilted(np.array(bend_of(*found.reached))))
        response.orientation_error = apart(found.reached, asked)
        return response

    def _answer(
        self,
        name: str,
        asked: tuple[float, float],
        request: SolveIk.Request,
        measured: np.ndarray | None,
        payload: float,
    ) -> PlateAnswer:
        """By the model of that name, under the gravity of the request or the one that is measured."""
        model = self._asked_model(name)
        if model.knows_loads:
            model.bear(gravity_of(request, measured), payload)
        return answer(model, *asked, self.robot.cable_names)


def _aligned(alignment: Alignment, kept: str) -> str:
    turned = f"the IMUs are turned by {np.degrees(alignment.apart):.2f}° against each other"
    where = f"written to {kept}" if kept else "to keep it, start the node with the parameter alignment:=FILE.yaml"
    return f"aligned: {turned}, by {len(alignment.rests)} attitudes of the base; tare again; {where}"


def main() -> int:
    """Run the node; the exit status of its process."""
    return run(PoseToCables)


if __name__ == "__main__":
    sys.exit(main())
