"""Targets of a plate on their way to its controller: whether they are in reach is looked at first, in a thread."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from rclpy.task import Future

from soft_twin.errors import SoftTwinError
from soft_twin.inverse.plate import out_of_reach
from soft_twin.inverse.plate_holder import PlateHolder
from soft_twin.twins.plate_model import REACHED, apart
from soft_twin_ros.background import Background
from soft_twin_ros.node import RobotNode


@dataclass(frozen=True)
class Aimed:
    """A target.

    Attributes:
        asked: pitch and roll [rad] that somebody asked for.
        aimed: that are aimed at: these, or the nearest in reach.
    """

    asked: tuple[float, float]
    aimed: tuple[float, float]

    @property
    def beyond(self) -> str:
        """That what was asked for is out of reach, in words; "" where it is not."""
        return "" if apart(self.asked, self.aimed) < REACHED else out_of_reach(self.asked, self.aimed)

    def __str__(self) -> str:
        angles = np.degrees(self.aimed).round(1) + 0.0  # no -0.0
        return f"pitch {angles[0]:.1f}°, roll {angles[1]:.1f}°"


class PlateTargets:
    """See the module's docstring.

    Attributes:
        now: what is aimed at.
        refusal: why the last target of the topic was refused; "" where it was not.
    """

    def __init__(self, node: RobotNode, holder: PlateHolder, now: Aimed, overtaken: Callable[[], None]):
        """`now`: what is aimed at already. `overtaken`: is called when another target takes its place."""
        self.now, self.refusal = now, ""
        self._node, self._holder, self._overtaken = node, holder, overtaken
        self._background = Background(node, "reach")
        self._waiting: tuple[tuple[float, float], float] | None = None
        self._looking = False

    def take(self, asked: tuple[float, float], duration: float) -> None:
        """Aim at a target of a stream [rad], in a duration [s]; those that newer ones have overtaken are left out."""
        self._waiting = asked, duration
        if not self._looking:
            self._look()

    async def aim(
        self,
        asked: tuple[float, float],
        duration: float,
        speed: float = 0.0,
        refuse: Callable[[], None] = lambda: None,
    ) -> Aimed:
        """Aim at a target [rad], in a duration [s] or at a speed [rad/s], see the controller's `aim`; what is aimed at
        then. `refuse`: called when its reach is known, raises what keeps the target from being aimed at by then.

        Raises:
            SoftTwinError: it is refused, or its reach cannot be told.
        """
        aimed = await self.looked_at(asked)
        refuse()
        self._adopt(Aimed(asked, aimed), duration, speed)
        return self.now

    def looked_at(self, asked: tuple[float, float]) -> Future:
        """A future of what a target [rad] would be answered by. Raises as `aim`."""
        return self._background.run(lambda: self._holder.within_reach(*asked))

    def refuse(self, why: str) -> None:
        """A target makes no sense."""
        self.refusal = why
        self._node.get_logger().error(f"target refused: {why}")

    def close(self) -> None:
        """Look at no more targets."""
        self._background.close()

    def _look(self) -> None:
        (asked, duration), self._waiting, self._looking = self._waiting, None, True
        self.looked_at(asked).add_done_callback(lambda found: self._answered(found, asked, duration))

    def _answered(self, found: Future, asked: tuple[float, float], duration: float) -> None:
        self._looking = False
        error = found.exception()
        if isinstance(error, SoftTwinError):
            self.refuse(str(error))
        elif error is not None:
            raise error
        else:
            self._adopt(Aimed(asked, found.result()), duration)
        if self._waiting is not None:
            self._look()

    def _adopt(self, aimed: Aimed, duration: float, speed: float = 0.0) -> None:
        self._holder.controller.aim(*aimed.aimed, duration, speed)
        self.now, self.refusal = aimed, ""
        self._overtaken()
