"""Random sequences of commands, faults and plugging; what the valves are told and what chambers have are the judges."""

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from soft_twin.driving.states import State

from .valve_bench import COUNT, KINDS, TICK, ValveBench

CHAMBERS = st.integers(0, COUNT - 1)
SHARES = st.lists(st.floats(-0.5, 1.5), min_size=COUNT, max_size=COUNT)
ASKED = ("enable", "enable", "relax", "clear_stop", "activate", "deactivate", "connect", "disconnect")
VENT_AFTER = 1.0  # [s] without a command
LONGEST_STEP = 0.1  # [s] at the rate limit after a halt
TURN = 4 * TICK  # [s] in which every chamber is told anew
MENDING = 10.0  # [s] in which what is whole again can be driven again
HONEST = 3.5  # [s] after a lying sensor, and an OpenPneu rests no more because of it
WIRE = 200.0  # [Pa] of the wire's steps and of the sensors' noise, in which a resting chamber may be found
NEAR = 5e3  # [Pa] in which a chamber counts as vented


class Chambers(RuleBasedStateMachine):
    """A session that is asked for anything while anything happens to its valves."""

    kind = ""

    def __init__(self):
        super().__init__()
        self.bench = ValveBench(self.kind)
        self.low, self.high = self.bench.limits.pressure
        self.stopped = False
        self.command_age = np.inf
        self.whole_for = self.relaxed_for = 0.0  # for how long nothing was wrong, and nobody drove
        self.honest_for = np.inf  # for how long no sensor has lied
        self.ramp = self.bench.targets
        self.live(50, None)

    def ask(self, name, *arguments):
        return self.bench.ask(name, *arguments)

    def live(self, ticks, command):
        for _ in range(ticks):
            if command is not None and self.ask("command", command):
                self.command_age = 0.0
            self.tick(TICK)

    def tick(self, dt):
        """One turn of everything, judged at the device's own set points."""
        bench, driven = self.bench, self.state is State.ACTIVE
        before, held = bench.targets, bench.pressures.copy()
        bench.step()
        after = bench.targets
        driven = driven or self.state is State.ACTIVE
        self.command_age += dt
        self.relaxed_for = 0.0 if driven else self.relaxed_for + dt
        self.whole_for = self.whole_for + dt if bench.there and not bench.lies else 0.0
        self.judge_limits(after)
        self.honest_for = 0.0 if bench.lies else self.honest_for + dt
        self.judge_rise(before, after, driven, dt)
        self.judge_fall(before, after, held, driven)

    def judge_limits(self, after):
        assert after.max() <= self.high + WIRE
        resting = after < self.low - WIRE  # by itself, as devices do without their host: never told so
        assert np.all(resting <= np.isclose(after, self.own_rest, atol=WIRE))

    def judge_rise(self, before, after, driven, dt):
        rate = self.bench.limits.rate
        found = np.maximum(self.bench.pressures + NEAR, self.bench.limits.vented + WIRE)
        if not driven:
            assert np.all(after <= np.maximum(before, found) + WIRE)
            self.ramp = after
            return
        self.ramp = np.minimum(self.ramp + rate * dt, np.maximum(before, after) + rate * TURN)
        assert np.all(after <= np.maximum(self.ramp, found) + WIRE)
        self.ramp = np.where(after <= found, np.maximum(self.ramp, after), self.ramp)

    def judge_fall(self, before, after, held, driven):
        """A chamber whose device keeps what it was told, and whose sensor does not lie, is not emptied at once."""
        limits = self.bench.limits
        if self.kind == "dac_board" or self.honest_for < HONEST:
            return
        most = (limits.rate if driven else limits.vent_rate) * (TURN + LONGEST_STEP)
        assert np.all(after >= np.minimum(before - most, held) - NEAR)

    @property
    def own_rest(self):
        return 0.1e6 if self.kind == "dac_board" else 0.0

    @property
    def state(self):
        return self.bench.session.state

    @rule(shares=SHARES, ticks=st.integers(1, 40))
    def commands(self, shares, ticks):
        self.live(ticks, self.low + np.array(shares) * (self.high - self.low))

    def bring_up(self):
        """Everything is mended, and a person takes every remedy until the chambers are driven."""
        self.bench.lies.clear()
        self.bench.replug()
        for _ in range(round(MENDING / (25 * TICK))):
            for name in ("connect", "clear_stop", "activate", "enable"):
                self.asks(name)
            if self.state is State.ACTIVE:
                return
            self.live(25, None)
        raise AssertionError(f"not driven again: {self.bench.session.status()}")

    @rule(chamber=CHAMBERS, beyond=st.floats(0.1, 1.0), seconds=st.floats(0.3, 1.2))
    def climbs_beyond_the_limit(self, chamber, beyond, seconds):
        """From the bottom, as fast as it goes, to more than is allowed."""
        self.bring_up()
        self.live(30, np.full(COUNT, self.low))
        start, end = self.bench.targets, self.bench.clock.now + seconds
        while self.bench.clock.now < end:
            self.live(1, np.where(np.arange(COUNT) == chamber, self.high + beyond * (self.high - self.low), self.low))
        assert self.state is State.ACTIVE
        assert np.all(self.bench.targets <= start + self.bench.limits.rate * (seconds + 2 * TURN))

    @rule(shares=SHARES, seconds=st.sampled_from([1.2, 3.0]))
    def halts_while_it_is_driven(self, shares, seconds):
        self.bring_up()
        self.commands(shares, 10)
        self.is_halted(seconds)
        assert self.state is not State.ACTIVE

    @rule(shares=SHARES, ticks=st.integers(1, 60))
    def host_dies(self, shares, ticks):
        """The process is killed and started again; the device goes on as it was told."""
        self.bring_up()
        self.live(30, self.bench.middle)
        self.commands(shares, 20)
        self.bench.begin_anew()
        self.stopped = False
        self.live(ticks, None)

    @rule(shares=SHARES, ticks=st.integers(20, 60))
    def is_driven(self, shares, ticks):
        """A person takes every remedy first."""
        for name in ("connect", "clear_stop", "activate", "enable"):
            self.asks(name)
            self.live(25 if name == "activate" else 1, None)
        self.commands(shares, ticks)

    @rule(ticks=st.integers(1, 60))
    def silence(self, ticks):
        self.live(ticks, None)

    @rule(name=st.sampled_from(ASKED))
    def asks(self, name):
        if self.ask(name) and name == "enable":
            self.command_age = 0.0
        self.stopped = self.stopped and name != "clear_stop"
        self.live(1, None)

    @rule()
    def stops(self):
        self.bench.session.stop()
        self.stopped = True
        self.live(1, None)

    @rule(chamber=CHAMBERS, value=st.sampled_from([-100e3, 0.0, np.nan]), shares=SHARES)
    def sensor_breaks(self, chamber, value, shares):
        self.is_driven(shares, 20)
        self.live(20, self.bench.middle)
        self.bench.lies[chamber] = value
        self.commands(shares, 20)

    @rule()
    def sensors_are_mended(self):
        self.bench.lies.clear()

    @rule()
    def is_unplugged(self):
        self.bench.unplug()
        self.live(2, None)

    @rule()
    def is_plugged_in(self):
        self.bench.replug()
        self.live(1, None)

    @rule(seconds=st.sampled_from([0.2, 0.7, 3.0]))
    def is_halted(self, seconds):
        """The process stands still; the device and the world do not."""
        self.bench.clock.sleep(seconds)
        self.command_age += seconds
        self.ramp = self.bench.targets + self.bench.limits.rate * LONGEST_STEP
        self.live(1, None)

    @invariant()
    def a_stop_lasts(self):
        assert (self.state is State.STOPPED) == self.stopped

    @invariant()
    def nobody_drives_without_commands(self):
        assert self.state is not State.ACTIVE or self.command_age <= VENT_AFTER + 3 * TICK

    @invariant()
    def whoever_is_not_driven_is_vented(self):
        limits = self.bench.limits
        time = (self.high - limits.vented) / limits.vent_rate + 2.0
        if min(self.whole_for, self.relaxed_for) > time and self.bench.session.connected:
            assert self.bench.targets.max() <= limits.vented + NEAR
            assert self.bench.pressures.max() <= limits.vented + NEAR

    def teardown(self):
        self.bench.session.close()
        self.bench.clock.sleep(0.1)
        if self.bench.there:
            assert self.bench.targets.max() <= self.bench.limits.vented + NEAR


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_is_asked_or_breaks_leads_beyond_what_is_allowed(kind):
    machine = type(kind, (Chambers,), {"kind": kind})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=5,
            stateful_step_count=12,
            deadline=None,
            derandomize=True,
            phases=[Phase.generate],  # twelve steps are short enough to be read as they are
            suppress_health_check=list(HealthCheck),
        ),
    )
