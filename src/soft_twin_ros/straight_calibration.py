"""The action `calibrate` of the node that estimates a tensegrity's shape: rest lengths and cylinder law, from readings
that are averaged while the arm stands straight."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from rclpy.task import Future
from soft_twin_msgs.action import CalibrateStraight

from soft_twin.errors import InputError, SoftTwinError
from soft_twin.twins.tensegrity.calibration import Calibration, calibrate_straight, check_length
from soft_twin.twins.tensegrity.model import ArmModel
from soft_twin_ros.background import Background
from soft_twin_ros.errands import LOST, Errands
from soft_twin_ros.node import RobotNode

LONGEST = 3600.0  # [s] of averaging


class StraightCalibration(Errands):
    """See the module's docstring. It computes in a thread; the node goes on by what was found."""

    def __init__(self, node: RobotNode, model: Callable[[], ArmModel], adopt: Callable[[Calibration], None]):
        """`model`: that of the node now. `adopt`: called with what was found."""
        self._model, self._adopt = model, adopt
        self._background = Background(node, "calibrate")
        self._inclinations: list[np.ndarray] = []
        self._pressures: list[np.ndarray] = []
        self._length = self._since = self._until = 0.0
        self._solving: Future | None = None
        self._found: Calibration | None = None
        super().__init__(node, {"calibrate": CalibrateStraight})

    def close(self) -> None:
        """Start no more work."""
        self._background.close()

    def take(self, inclinations: np.ndarray, pressures: np.ndarray) -> None:
        """Readings (n,) [rad] and (k,) [Pa] of which a shape was made."""
        self.hear()
        if self.busy and self._solving is None:
            self._inclinations.append(inclinations)
            self._pressures.append(pressures)

    def begin(self, name: str, request: CalibrateStraight.Goal) -> None:
        if self.busy:
            raise InputError("another calibration is averaging or solving: cancel it, or wait for its end")
        if self.silent:
            raise InputError(self.silence("no inclinations and pressures come in: nothing to calibrate from"))
        if not 0.0 <= request.duration <= LONGEST:
            raise InputError(f"duration {request.duration:g} s: expected 0 to {LONGEST:g}")
        check_length(self._model(), request.length)
        self._inclinations, self._pressures, self._length = [], [], request.length
        self._since = self.node.steady_now()
        self._until = self._since + request.duration
        self._solving = self._found = None

    def ending(self) -> tuple[bool, str] | None:
        if self._solving is None:
            if self.silent:
                return False, self.silence(f"no inclinations and pressures for {LOST:g} s: the model is as it was")
            if self._inclinations and self.node.steady_now() >= self._until:
                self._solving = self._background.run(self._solver())
            return None
        if not self._solving.done():
            return None
        if (error := self._solving.exception()) is not None:  # of whatever kind: it ends the goal, not the node
            return False, str(error) if isinstance(error, SoftTwinError) else f"it cannot be computed: {error!r}"
        self._found = self._solving.result()
        self._adopt(self._found)
        before, after = np.degrees(self._found.inclination_error)
        return True, f"inclinations fit to {after:.2f} deg (before: {before:.2f})"

    def cancel(self) -> str:
        return "cancelled: the model is as it was"

    def filled(self, message: Any) -> Any:
        if isinstance(message, CalibrateStraight.Feedback):
            averages = self._solving is None
            message.stage = "averaging" if averages else "solving"
            if averages and self._until > self._since:
                message.progress = min(1.0, (self.node.steady_now() - self._since) / (self._until - self._since))
        elif (found := self._found) is not None:
            message.names, message.offsets = list(found.offsets), list(found.offsets.values())
            message.inclination_error_before, message.inclination_error_after = found.inclination_error
            message.length_error_before, message.length_error_after = found.length_error
        return message

    def _solver(self) -> Callable[[], Calibration]:
        """What is solved: of these readings, whatever is collected meanwhile."""
        inclinations, pressures = np.mean(self._inclinations, axis=0), np.mean(self._pressures, axis=0)
        return partial(calibrate_straight, self._model(), inclinations, pressures, self._length)
