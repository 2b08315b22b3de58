"""Random sequences of commands, faults and plugging; the wire and the rotors are the judges."""

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from soft_twin.driving.states import DRIVEN, EVENTS, TABLE, State
from soft_twin.errors import SoftTwinError

from .wire import DT, Bench

CABLES = st.integers(0, 5)
RELAX_AFTER = 1.0  # [s] without a command
MARGIN = 0.001  # [m]
FAST = 1.3  # of the rate limit
WITHIN = 0.1  # [s] in which a rotor that slipped or turned round is found out
ASKED = ("activate", "deactivate", "connect", "disconnect", "relax", "clear_stop", "assume_taut_here")
STEPS = {(state, after) for (state, _), answer in (TABLE | EVENTS).items() for after in answer.next}


class Hardware(RuleBasedStateMachine):
    """A session that is asked for anything while anything happens to its motors."""

    def __init__(self):
        super().__init__()
        self.bench = Bench(enable_when_active=False)
        self.stopped = False
        self.found_by = None  # the bus on which the zero was found
        self.zero = np.zeros(6)
        self.trusted = False  # whether the rotors' angles have been told truly since then
        self.command_age = 0.0
        self.state = self.bench.session.state
        self.live(150, None)

    def ask(self, name, *arguments):
        try:
            getattr(self.bench.session, name)(*arguments)
        except SoftTwinError as error:
            assert str(error)
            return False
        self.look()
        return True

    def look(self):
        state = self.bench.session.state
        assert (self.state, state) in STEPS or self.state is state or self._through(state), (self.state, state)
        self.state = state

    def _through(self, state):
        """Two things at once: a device that is lost and comes back, a fault while homing."""
        return any((self.state, between) in STEPS and (between, state) in STEPS for between in State)

    def live(self, ticks, target):
        bench = self.bench
        for _ in range(ticks):
            before = bench.motors.displacements.copy()
            self.command_age += DT
            if target is not None and self.ask("command", target):
                self.command_age = 0.0
            bench.step()
            self.look()
            if self.state is State.HOMING:
                self.zero, self.trusted, self.found_by = bench.motors.displacements.copy(), True, bench.bus
                self.command_age = 0.0
            self.judge(before)

    def judge(self, before):
        bench = self.bench
        if bench.bus is None or not (bench.bus.plugged and bench.bus.open):
            return
        currents = bench.bus.currents[:6]
        assert np.abs(currents).max() <= bench.robot.winches.winch.current_limit + 1e-9
        if not currents.any():
            return
        assert self.state in DRIVEN
        assert not self.stopped
        assert self.found_by is bench.bus
        assert self.command_age < RELAX_AFTER + 3 * DT
        if self.trusted and self.state is State.ACTIVE:
            inward = bench.robot.winches.winch.direction * currents
            self.judge_motion((bench.motors.displacements - before) / DT, inward)

    def judge_motion(self, rates, inward):
        """What the body pulls out of a winch while a current holds against that, nobody has driven there."""
        limits = self.bench.robot.winches.cable_limits
        low, high = limits.displacement
        place = self.bench.motors.displacements - self.zero
        assert np.all((place < high + MARGIN) | (rates <= 1e-3) | (inward <= 0.0))
        assert np.all((place > low - MARGIN) | (rates >= -1e-3) | (inward >= 0.0))
        assert np.abs(rates).max() < FAST * limits.rate

    @rule(name=st.sampled_from(ASKED))
    def order(self, name):
        if self.ask(name) and name == "clear_stop":
            self.stopped = False
        elif name == "assume_taut_here" and self.bench.session.state is State.READY:
            self.know()

    @rule()
    def home(self):
        if self.ask("home"):
            self.know()

    def know(self):
        self.zero, self.found_by = self.bench.motors.displacements.copy(), self.bench.bus
        self.trusted = bool(np.all(self.bench.motors.wiring > 0.0))

    @rule()
    def enable(self):
        if self.ask("enable"):
            self.command_age = 0.0

    @rule(slack=st.floats(0.0, 0.03))
    def take_up_slack(self, slack):
        self.bench.slack = self.bench.motors.displacements + slack
        self.ask("take_up_slack")

    @rule()
    def home_enable_and_move(self):
        """What a user does; random orders seldom come that far."""
        self.home()
        self.enable()
        self.live(30, np.full(6, 0.004))

    @rule()
    def stop(self):
        assert self.ask("stop")
        self.stopped = True

    @rule(ticks=st.integers(1, 60), wanted=st.none() | st.floats(-0.02, 0.02))
    def pass_time(self, ticks, wanted):
        self.live(ticks, None if wanted is None else np.linspace(wanted, 0.0, 6))

    @rule()
    def wait_for_the_watchdog(self):
        self.live(270, None)

    @rule()
    def unplug(self):
        self.bench.unplug()

    @rule()
    def plug(self):
        self.bench.plug()

    @rule(cable=CABLES, counts=st.integers(500, 4000))
    def slip(self, cable, counts):
        self.bench.motors.jump(cable, counts)
        self.trusted = False

    @rule(cable=CABLES)
    def reverse(self, cable):
        self.bench.motors.wiring[cable] = -1.0
        self.trusted = False

    @rule(cable=CABLES, silent=st.booleans())
    def silence(self, cable, silent):
        self.bench.motors.silent[cable] = silent
        self.trusted = self.trusted and not silent  # it goes on for a moment with what it was told last

    @rule(cable=CABLES, share=st.sampled_from([0.0, 0.02, 1.0]))
    def dip(self, cable, share):
        self.bench.motors.derating[cable] = share

    @rule(cable=CABLES, stalled=st.booleans())
    def stall(self, cable, stalled):
        self.bench.motors.stalled[cable] = stalled

    @rule()
    def mend(self):
        motors = self.bench.motors
        motors.silent[:] = motors.stalled[:] = False
        motors.derating[:] = motors.wiring[:] = 1.0

    @invariant()
    def a_stop_is_undone_by_nothing_else(self):
        if self.stopped:
            assert self.bench.session.state is State.STOPPED
        assert self.bench.session.status().stopped is self.stopped


TestHardware = Hardware.TestCase
TestHardware.settings = settings(
    max_examples=20,
    stateful_step_count=25,
    derandomize=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
