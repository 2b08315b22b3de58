"""The action `calibrate` of the node that compensates for gravity: E, density and damping by a recorded release, or the
friction of the cables by a recording in which they bend the body."""

from pathlib import Path
from typing import Any

from soft_twin_msgs.action import CalibrateRelease

from soft_twin.calibration.tuned import DT, SIMULATIONS, check_options
from soft_twin.calibration.tuning_process import Found, TuningProcess
from soft_twin.errors import InputError, SoftTwinError
from soft_twin.files import is_missing
from soft_twin_ros.errands import Errands
from soft_twin_ros.node import RobotNode

MOST = 100  # simulations


class CalibrationActions(Errands):
    """See the module's docstring. It computes in a process of its own, which gives way to the node."""

    def __init__(self, node: RobotNode):
        self._process: TuningProcess | None = None
        self._found: Found | None = None
        super().__init__(node, {"calibrate": CalibrateRelease})

    def begin(self, name: str, request: CalibrateRelease.Goal) -> None:
        recording, dt, simulations = Path(request.recording), request.step or DT, request.simulations or SIMULATIONS
        if not request.recording or is_missing(recording):
            raise InputError(f"recording '{request.recording}': there is no such file or folder on the node's machine")
        check_options(dt, simulations)
        if simulations > MOST:
            raise InputError(f"{simulations} simulations: expected at most {MOST}")
        self.stop()
        namespace = request.robot_namespace.strip("/") or self.node.get_namespace().strip("/")
        self._process = TuningProcess(self.node.robot.path, recording, namespace, dt, simulations, request.friction)

    def ending(self) -> tuple[bool, str] | None:
        try:
            self._found = self._process.look()
        except SoftTwinError as error:
            self.stop()
            return False, str(error)
        return None if self._found is None else (True, self._found.tuned.in_words())

    def cancel(self) -> str:
        self.stop()
        return "cancelled: nothing was found"

    def filled(self, message: Any) -> Any:
        if isinstance(message, CalibrateRelease.Feedback):
            message.stage, message.progress = self._process.stage, self._process.progress
        elif self._found is not None:
            tuned = self._found.tuned
            message.names, message.values = list(tuned.values), list(tuned.values.values())
            message.uncertainties = [tuned.uncertainties[name] for name in tuned.values]
            message.distance = self._found.distance
        return message

    def stop(self) -> None:
        """End what computes."""
        if self._process is not None:
            self._process.stop()
        self._process = self._found = None
