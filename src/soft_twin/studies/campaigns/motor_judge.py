"""The motors' judge: see motors.py for its rules. It sees bytes, the winches themselves, and what the user is told."""

import math

import numpy as np

from soft_twin.studies.campaigns.base import Violation
from soft_twin.studies.campaigns.motor_book import CaseBook
from soft_twin.studies.campaigns.motor_motion_rules import MotionRules
from soft_twin.studies.campaigns.motor_order_rules import OrderRules
from soft_twin.studies.campaigns.motor_recovery_rules import RecoveryRules
from soft_twin.studies.campaigns.motor_telling_rules import TellingRules
from soft_twin.studies.campaigns.motor_wire_rules import WireRules
from soft_twin.studies.campaigns.motor_world import MotorWorld


class MotorJudge:
    """Watches one case by rules of the wire, of orders, of motion, of telling and of recovery."""

    def __init__(self, world: MotorWorld):
        self._book = CaseBook(world)
        self._wire, self._motion = WireRules(self._book), MotionRules(self._book)
        self._telling = TellingRules(self._book)
        orders, recovery = OrderRules(self._book), RecoveryRules(self._book)
        self.found = self._book.found
        self.called, self.raised, self.commanded = orders.called, orders.raised, orders.commanded
        self.look = self._telling.look
        self.comes_back, self.recovered = recovery.comes_back, recovery.recovered

    @property
    def violations(self) -> list[Violation]:
        """Found so far, one of each kind."""
        return self._book.violations

    @property
    def homing(self) -> bool:
        """Whether slack is being taken up, as far as the judge has been told."""
        return self._book.homing

    def host_was_halted(self) -> None:
        """The host did nothing for a while: what it could not see or say, starts anew."""
        self._book.off_since[:] = np.nan
        self._book.unplugged_since = self._book.silent_since = math.nan
        self._book.target_since = self._book.world.clock.now
        self._motion.host_was_halted()
        self._telling.host_was_halted()

    def tick_begins(self) -> None:
        """The driver is about to live for a tick."""
        self._book.tick += 1

    def physics(self) -> None:
        """The winches and the bus against their limits; to be called each tick."""
        self._motion.physics()
        self._wire.check_bus(self._book.world.clock.now)
