"""Slips are found by their sum, and what the times of a host's looks add to it is none."""

import can
import numpy as np
import pytest

from soft_twin.driving.cables.c610 import COUNTS_PER_TURN, Feedback
from soft_twin.driving.cables.rotor import COUNTS_PER_RPM, Rotor
from soft_twin.driving.cables.slips import SampleTime

from ..wire import DT, Bench

FAST, ACCELERATION, SILENT_AFTER = 361_000.0, 64e6, 0.25  # of a slender robot's motor [counts/s, counts/s², s]


def _hear(rotor, angle, samples, looks, period):
    """Let the rotor at `angle(t)` [counts] be sampled, and be looked at, at these times [s]."""
    waiting, last = [], 0.0
    for time, is_look in sorted([(t, False) for t in samples] + [(t, True) for t in looks]):
        if is_look:
            rotor.update(waiting, time - last, period)
            waiting, last = [], time
        else:
            speed = (angle(time + 1e-6) - angle(time - 1e-6)) / 2e-6
            waiting.append(Feedback(1, round(angle(time)) % COUNTS_PER_TURN, round(speed / COUNTS_PER_RPM), 0.0))


@pytest.mark.parametrize("commands", [90.0, 100.0, 200.0])
@pytest.mark.parametrize("phase", [0.3, 1.5, 2.7, 3.9, 5.1])
def test_looks_in_step_with_a_ripple_of_the_speed_are_no_slips(commands, phase):
    """A host looks each 4 ms, and when commands come; they make the speed rise and fall."""
    circular, verdicts = 2.0 * np.pi * commands, []

    def angle(t):
        return 0.2 * FAST * (t + 0.5 / circular * np.sin(circular * t + phase))

    for seen_after in (0.0007, 0.0021, 0.0035):
        looks = [*np.arange(0.0, 2.0, 0.004), *(np.arange(0.0, 2.0, 1.0 / commands) + 0.0013)]
        rotor = Rotor(ACCELERATION, SILENT_AFTER)
        _hear(rotor, angle, np.arange(0.0, 2.0, 0.004) + seen_after, looks, 0.004)
        verdicts.append((rotor.jumps, rotor.losses))
    assert verdicts == [(0, 0)] * 3


@pytest.mark.parametrize("slip", [0.0, -300.0])
@pytest.mark.parametrize("looks", ["at odd times", "in step"])
def test_slips_add_up_while_a_cable_goes_to_and_fro_however_late_its_samples_are_seen(slip, looks):
    """At 100 mm/s and 4 m/s², until it rests. Nothing is lost, though samples are found after more than one period, or
    are old when they are found."""
    amplitude, circular, end = 18_000.0, 40.0, 2.0
    rest = 20.5 * np.pi / circular

    def angle(t):
        moved = min(t, rest)
        return amplitude * np.sin(circular * moved) + slip * max(np.floor((moved - 1.0013) / 0.02), 0.0)

    times = {
        "at odd times": np.cumsum(np.random.default_rng(0).choice([0.001, 0.002, 0.003, 0.004], 800)),
        "in step": np.sort([*np.arange(0.0034, end, 0.004), *np.arange(0.1001, end, 0.1)]),
    }[looks]
    rotor = Rotor(ACCELERATION, SILENT_AFTER)
    _hear(rotor, angle, np.arange(0.0, end, 0.004), times[times < end], 0.004)
    assert (rotor.jumps > 0) == (slip < 0.0)
    assert rotor.losses == 0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("slip", [0.0, -164.0])
def test_slips_of_a_percent_of_the_way_are_named_while_a_cable_runs_on(slip, seed):
    """At 100 mm/s and 4 m/s², seen by a host whose ticks are late: 0.35 s after they amount to 0.5 mm at the latest."""
    times = np.arange(0.0, 3.0, 1e-4)
    turns = np.repeat([0.1, 0.6, 1.1, 1.3, 3.0], 2)[1:-1] + np.tile([0.025, -0.025], 4)
    senses = np.interp(times, [0.1, *turns], [0, 1, 1, -1, -1, 1, 1, -1, -1])
    ways = np.cumsum(722_000.0 * senses) * 1e-4

    def angle(t):
        return np.interp(t, times, ways) + slip * max(np.floor((t - 0.9013) / 0.02), 0.0)

    late = 0.001 * np.random.default_rng(seed).random(800)
    rotor = Rotor(ACCELERATION, SILENT_AFTER)
    too_late = 0.9 + 0.02 * 3600.0 / 164.0 + 0.35
    _hear(rotor, angle, np.arange(0.0, too_late, 0.004) + 0.0012, np.cumsum(0.004 + late)[:340], 0.004)
    assert (rotor.jumps > 0) == (slip < 0.0)
    assert rotor.losses == 0


@pytest.mark.parametrize(("elapsed", "counts"), [((0.0027, 0.0053), (1, 1)), ((0.004, 0.006, 0.002), (1, 2, 0))])
def test_samples_stand_for_their_period_whenever_they_are_seen(elapsed, counts):
    time, total, waited = SampleTime(), 0.0, 0.0
    for k in range(300):
        waited += elapsed[k % len(elapsed)]
        if count := counts[k % len(counts)]:
            seconds = time.advance(waited, count, 0.004)
            total, waited = total + seconds, 0.0
            assert k < 10 or seconds == pytest.approx(count * 0.004)
    assert total == pytest.approx(100 * sum(elapsed) * 3 / len(elapsed), abs=0.008)


@pytest.mark.parametrize("believed", [0.0039, 0.0041])
def test_in_the_long_run_the_hosts_time_counts_with_lost_samples_and_a_period_that_is_not_quite_known(believed):
    rng, time, total, waited = np.random.default_rng(0), SampleTime(), 0.0, 0.0
    for _ in range(2000):
        waited += 0.004
        if rng.random() < 0.7:
            total, waited = total + time.advance(waited, 1, believed), 0.0
    assert total == pytest.approx(8.0 - waited, abs=0.01)


@pytest.mark.parametrize("believed", [0.00398, 0.004, 0.00402])
@pytest.mark.parametrize("every", [0.0003, 0.001, 0.0017])
def test_a_host_that_looks_often_loses_no_samples_by_a_period_that_is_not_quite_known(believed, every):
    """For 4 s, each seen at the first look after it came; then one is lost."""
    time, last, lost, came = SampleTime(), 0.0, [], 0
    for look in np.arange(every, 8.0, every):
        arrived = int(look / 0.004 + 1e-9)
        count = arrived - came - (came < 1500 <= arrived)
        if count:
            time.advance(look - last, count, believed, every)
            lost.append((came, time.lost))
            last = look
        came = arrived
    assert {1500} <= {sample for sample, missed in lost if missed} <= {1500, 1501}


class _Stream(Bench):
    """A bench whose motors tell each 4 ms, and whose driver ticks each 4 ms and at once with each command."""

    def stream(self, seconds, commands, command_at, sample_at):
        """Smooth commands, so many a second; phases of commands and samples in a tick [s]."""
        start = self.clock.now
        events = [(t, 0) for t in np.arange(0.0, seconds, DT)] + [(t + sample_at, 1) for t in np.arange(0, seconds, DT)]
        events += [(t + command_at, 2) for t in np.arange(0.0, seconds, 1.0 / commands)]
        for time, kind in sorted(events):
            self.clock.now = start + time
            if kind == 1:
                self._tell()
                continue
            if kind == 2:
                self.session.command(0.002 + 0.002 * np.sin(np.arange(6) + 2.0 * time))
            self.driver.tick()
            self.session.poll()

    def _tell(self):
        self.motors.step(DT, np.maximum(self.spring * self.motors.displacements, 0.0))
        self.bus.waiting += [
            can.Message(arbitration_id=i, data=d, is_extended_id=False) for i, d in self.motors.feedback()
        ]


@pytest.mark.parametrize(
    ("commands", "command_at", "sample_at"), [(100.0, 0.0005, 0.002), (100.0, 0.0019, 0.0036), (90.0, 0.0019, 0.002)]
)
def test_healthy_motors_follow_a_gentle_stream_of_commands(commands, command_at, sample_at):
    bench = _Stream().active()
    bench.stream(2.0, commands, command_at, sample_at)
    status = bench.session.status()
    assert (status.state.value, status.faults) == ("active", ())
