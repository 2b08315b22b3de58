import numpy as np
import pytest

from soft_twin import load_robot
from soft_twin.driving.cables.c610 import COUNTS_PER_TURN, Feedback
from soft_twin.driving.cables.motors import MotorReadings
from soft_twin.driving.cables.rotor import COUNTS_PER_RPM, SLACK, FeedbackPeriod, Rotor
from soft_twin.driving.cables.winch import winch_of

TICK = 0.004  # [s]
FAST = 361_000.0  # [counts/s] of a cable at 0.05 m/s
ACCELERATION = 64e6  # [counts/s^2] of a cable at 8.8 m/s^2
SILENT_AFTER = 0.25  # [s]


class Line:
    """A rotor that turns, its controller that samples, and a line that is late or loses samples."""

    def __init__(self, speed, period=0.001, first=5000.0):
        self.rotor = Rotor(ACCELERATION, SILENT_AFTER)
        self.speed, self.period = speed, period
        self.angle, self.turned = first, 0.0
        self._waiting, self._time, self._next = [], 0.0, 0.0

    def sample(self):
        angle = round(self.angle) % COUNTS_PER_TURN
        return Feedback(1, angle, round(self.speed / COUNTS_PER_RPM), 0.0)

    def tick(self, deliver=True, lose=False, dt=TICK):
        self._time += dt
        while self._next <= self._time + 1e-9:
            self.angle += self.speed * self.period
            self.turned += self.speed * self.period
            self._next += self.period
            if not lose:
                self._waiting.append(self.sample())
        samples, self._waiting = (self._waiting, []) if deliver else ([], self._waiting)
        self.rotor.update(samples, dt, self.period)

    def collect(self, seconds):
        """What the controller sends in so long, while nobody reads it."""
        samples = []
        for _ in range(round(seconds / self.period)):
            self._time += self.period
            self._next += self.period
            self.angle += self.speed * self.period
            self.turned += self.speed * self.period
            samples.append(self.sample())
        return samples

    def run(self, seconds, **options):
        for _ in range(round(seconds / TICK)):
            self.tick(**options)

    @property
    def verdict(self):
        return self.rotor.jumps, self.rotor.losses


@pytest.fixture(params=[0.0, 0.2 * FAST, FAST, -FAST])
def line(request):
    line = Line(request.param)
    line.run(0.2)
    line.start = line.angle - line.rotor.counts
    return line


def _counted(line):
    """Counts since the line's start, less what the rotor has truly turned."""
    return line.rotor.counts - (line.angle - line.start)


def test_turns_are_counted(line):
    line.run(1.0)
    assert abs(_counted(line)) < 2.0
    assert line.verdict == (0, 0)


@pytest.mark.parametrize("counts", [400, -400, 1000, 2000, -3000, 4000])
def test_a_jump_of_the_angle_is_seen_whatever_the_speed(line, counts):
    line.angle += counts
    line.run(0.1)
    assert line.verdict == (1, 0)


def test_a_jump_smaller_than_the_slack_is_not_seen_and_displaces_by_no_more(line):
    before = _counted(line)
    line.angle += 0.9 * SLACK
    line.start += 0.9 * SLACK
    line.run(0.1)
    assert line.verdict == (0, 0)
    assert abs(_counted(line) - before) <= SLACK


@pytest.mark.parametrize("seconds", [0.008, 0.06, 0.2])
def test_samples_that_are_only_late_are_no_loss(line, seconds):
    line.run(seconds, deliver=False)
    line.run(0.2)
    assert line.verdict == (0, 0)
    assert abs(_counted(line)) < 2.0


@pytest.mark.parametrize("seconds", [0.008, 0.012])
def test_a_short_loss_is_bridged_by_the_speed_even_beyond_half_a_turn(line, seconds):
    line.run(seconds, lose=True)
    line.run(0.1)
    assert line.verdict == (0, 0)
    assert abs(_counted(line)) < 2.0


@pytest.mark.parametrize("speed", [0.2 * FAST, -FAST])
def test_a_long_loss_while_the_rotor_turns_is_a_loss(speed):
    line = Line(speed)
    line.run(0.2)
    line.run(0.1, lose=True)
    line.run(0.1)
    assert line.verdict == (0, 1)


@pytest.mark.parametrize("period", [0.001, 0.004])
@pytest.mark.parametrize("tick", [0.001, TICK])
@pytest.mark.parametrize("seed", range(3))
def test_turns_that_a_coasting_rotor_makes_between_rare_samples_are_named_by_the_next_one(period, tick, seed):
    """The host has listened all the time between the two: what has not come by then was lost, not late."""
    rng, line = np.random.default_rng(seed), Line(0.8 * FAST, period)
    line.run(0.2)
    heard = []
    while len(heard) < 2:
        for _ in range(round(rng.uniform(0.05, 0.1) / tick)):
            line.speed *= np.exp(-tick / 0.013)  # of a motor without current, with 25 A s/m of friction
            line.tick(lose=True, dt=tick)
        while line.rotor.age > 0.0:
            line.tick(dt=tick)
        heard.append(sum(line.verdict))
    assert heard[-1] == 1


def test_a_rotor_that_rested_before_and_after_is_where_it_was():
    line = Line(0.0)
    line.run(0.2)
    line.run(0.2, lose=True)
    line.run(0.1)
    assert line.verdict == (0, 0)


def test_a_rotor_that_rests_elsewhere_after_a_loss_is_lost():
    line = Line(0.0)
    line.run(0.2)
    line.run(0.2, lose=True)
    line.angle += 3000.0
    line.run(0.1)
    assert sum(line.verdict) == 1


def test_a_gap_is_judged_though_it_is_followed_by_another_silence():
    line = Line(FAST)
    line.run(0.2)
    line.run(0.2, lose=True)
    line.speed = 0.0
    line.run(0.012)
    line.run(0.02, lose=True)
    assert line.verdict == (0, 1)


def test_a_rotor_that_rested_in_a_gap_is_where_it_was_though_it_is_silent_again():
    line = Line(0.0)
    line.run(0.2)
    for seconds in (0.05, 0.2):
        line.run(seconds, lose=True)
        line.run(0.012)
    line.run(0.1)
    assert line.verdict == (0, 0)


def test_after_a_silence_of_a_missing_motor_nothing_is_believed():
    line = Line(0.0)
    line.run(0.2)
    line.run(SILENT_AFTER + 0.02, lose=True)
    line.tick()
    assert line.verdict == (0, 1)


@pytest.mark.parametrize("counts", [800, -2000, 4000])
def test_two_rotors_that_speak_in_turn_are_seen_though_the_angle_comes_back(counts):
    line = Line(0.0)
    line.run(0.2)
    other = Feedback(1, round(line.angle + counts) % COUNTS_PER_TURN, 0, 0.0)
    line.rotor.update([line.sample(), other, line.sample(), other, line.sample()], TICK, line.period)
    assert line.verdict == (1, 0)


@pytest.mark.parametrize("counts", range(500, 8000, 500))
def test_a_wild_sample_leaves_no_turn_behind(counts):
    line = Line(0.0)
    line.run(0.2)
    start = line.rotor.counts
    wild = Feedback(1, round(line.angle + counts) % COUNTS_PER_TURN, 9000, 0.0)
    line.rotor.update([line.sample(), wild, line.sample(), line.sample()], TICK, line.period)
    line.run(0.1)
    assert sum(line.verdict) or abs(line.rotor.counts - start) < SLACK


def test_copies_of_samples_change_nothing(line):
    for _ in range(50):
        line.angle += line.speed * line.period
        line.rotor.update([line.sample()] * 2, line.period, line.period)
    assert line.verdict == (0, 0)
    assert abs(_counted(line)) < 2.0


@pytest.mark.parametrize("seed", range(5))
def test_jitter_noise_and_braking_are_no_jump(seed):
    rng = np.random.default_rng(seed)
    line = Line(0.0, period=0.004)
    for i in range(1000):
        line.speed = FAST * np.sin(12.0 * 0.004 * i) * (0.0 if i % 300 > 250 else 1.0)  # blocked now and then
        line.tick(deliver=rng.random() < 0.8, dt=TICK * rng.uniform(0.7, 1.3))
    assert line.verdict == (0, 0)


def test_the_period_is_learned_though_samples_are_late_and_lost():
    rng = np.random.default_rng(0)
    period, waiting = FeedbackPeriod(2), np.zeros(2)
    for tick in range(1000):
        waiting += 4.0 if 400 < tick < 600 or rng.random() < 0.9 else 3.0
        late = rng.random() < 0.2
        period.update(np.zeros(2) if late else waiting, TICK)
        waiting = waiting if late else np.zeros(2)
    assert period.seconds == pytest.approx(0.001, rel=0.03)


@pytest.mark.parametrize("part", [0.0, 0.3, 0.6, 0.9])
def test_a_host_that_was_halted_waits_for_what_is_still_on_its_way(line, part):
    """It finds a part of what was sent meanwhile in its buffer; the rest comes one and two ticks later."""
    first = round(part * 300)
    sent = line.collect(0.3)
    line.rotor.update(sent[:first], 0.3, line.period)
    rest = sent[first:] + line.collect(TICK)
    half = len(rest) // 2
    line.rotor.update(rest[:half], TICK, line.period)
    line.rotor.update(rest[half:] + line.collect(TICK), TICK, line.period)
    line.run(0.1)
    assert line.verdict == (0, 0)
    assert _counted(line) == pytest.approx(0.0, abs=SLACK)


def test_only_time_in_which_the_host_has_listened_makes_a_rotor_silent():
    line = Line(0.0)
    line.run(0.2)
    line.rotor.update([], 0.5, line.period)
    assert line.rotor.age >= 0.5
    assert line.rotor.unheard < 0.02
    line.run(0.3, deliver=False)
    assert line.rotor.unheard == pytest.approx(0.3, abs=0.01)


def test_samples_that_were_lost_at_first_are_soon_not_missed():
    period = FeedbackPeriod(2)
    for tick in range(250):
        period.update(np.full(2, 1.0 if tick % 4 else 2.0), TICK)
    assert period.seconds == pytest.approx(0.0032, rel=0.05)
    for _ in range(130):
        period.update(np.full(2, 4.0), TICK)
    assert period.seconds == pytest.approx(0.001, rel=0.03)


@pytest.mark.parametrize("waited", [25, 100, 200])
def test_samples_that_have_waited_do_not_make_the_period_shorter(waited):
    period = FeedbackPeriod(2)
    for _ in range(300):
        period.update(np.full(2, 4.0), TICK)
    for _ in range(waited):
        period.update(np.zeros(2), TICK)
    period.update(np.full(2, 4.0 * waited), TICK)
    for _ in range(200):
        period.update(np.full(2, 4.0), TICK)
        assert period.seconds == pytest.approx(0.001, rel=0.03)


@pytest.mark.parametrize("seed", range(8))
def test_feedback_that_comes_in_bursts_does_not_make_the_period_shorter(seed):
    """A busy machine lets an emulated robot live at odd times, and then all that it has missed at once."""
    rng, period, behind = np.random.default_rng(seed), FeedbackPeriod(2), 0.0
    for _ in range(3000):
        behind += TICK
        waits = rng.random() < 0.85
        period.update(np.zeros(2) if waits else np.full(2, behind / TICK), TICK)
        behind = behind if waits else 0.0
        assert period.seconds == 0.0 or period.seconds > 0.9 * TICK


def test_lost_late_and_doubled_samples_do_not_add_up_to_a_jump():
    rng = np.random.default_rng(1)
    rotor, angle, waiting, silent = Rotor(ACCELERATION, SILENT_AFTER), 0.0, [], 0.0
    for i in range(4000):
        speed = 0.5 * FAST * np.sin(0.012 * i)
        angle += 0.001 * speed
        sample = Feedback(1, round(angle) % COUNTS_PER_TURN, round(speed / COUNTS_PER_RPM), 0.0)
        waiting += [sample] * rng.choice([0, 1, 1, 1, 2])
        silent += 0.001
        if i % 4 == 3 and rng.random() < 0.8:
            rotor.update(waiting, silent, 0.001)
            waiting, silent = [], 0.0
    assert (rotor.jumps, rotor.losses) == (0, 0)


class NewDriver:
    """A rotor that has just been met: nobody knows yet how often it sends, and whether all of that arrives."""

    def __init__(self):
        self.rotor = Rotor(ACCELERATION, SILENT_AFTER)
        self.angle, self.speed = 0.0, 0.0
        self._silent, self._waiting = 0.0, []
        self.rotor.update([self._sample()], TICK, 0.0)

    def _sample(self):
        return Feedback(1, round(self.angle) % COUNTS_PER_TURN, round(self.speed / COUNTS_PER_RPM), 0.0)

    def live(self, change, arrives, read):
        """For a millisecond: its speed changes [counts/s], it says so, and the host reads what has come."""
        self.speed = min(self.speed + change, FAST)
        self.angle += 0.001 * self.speed
        self._silent += 0.001
        if arrives:
            self._waiting.append(self._sample())
        if read:
            self.rotor.update(self._waiting, self._silent, 0.0)
            self._silent, self._waiting = 0.0, []


@pytest.mark.parametrize("seed", range(20))
def test_before_the_period_is_known_no_turn_is_lost_unnamed(seed):
    rng, driver = np.random.default_rng(seed), NewDriver()
    for i in range(250):
        driver.live(0.001 * rng.uniform(-0.3, 1.0) * ACCELERATION, arrives=rng.random() < 0.3, read=i % 4 == 3)
    driver.live(0.0, arrives=True, read=True)
    turns = (driver.angle - driver.rotor.counts) / COUNTS_PER_TURN
    assert driver.rotor.jumps + driver.rotor.losses or abs(turns) < 0.5


@pytest.mark.parametrize(("period", "patience"), [(1, 4), (4, 4), (10, 4), (1, 60)])
def test_before_the_period_is_known_slow_feedback_and_a_slow_host_are_no_loss(period, patience):
    driver = NewDriver()
    for i in range(240):
        driver.live(0.2 * 0.001 * ACCELERATION, arrives=i % period == 0, read=i % patience == patience - 1)
    driver.live(0.0, arrives=True, read=True)
    assert driver.rotor.jumps + driver.rotor.losses == 0
    assert driver.rotor.counts == pytest.approx(driver.angle, abs=2.0)


@pytest.mark.parametrize("acceleration", [-0.02 * ACCELERATION, 0.01 * ACCELERATION])
@pytest.mark.parametrize("seed", range(5))
def test_where_samples_are_lost_the_hosts_time_says_between_what_the_acceleration_lies(acceleration, seed):
    rng, line, known = np.random.default_rng(seed), Line(0.0), 0
    rounding = 2.0 * COUNTS_PER_RPM / line.period
    for i in range(400):
        line.speed += acceleration * line.period
        line.tick(deliver=i % 4 == 3, lose=rng.random() < 0.3, dt=line.period)
        low, high = line.rotor.acceleration_bounds
        if not np.isnan(low):
            known += 1
            assert low - rounding < acceleration < high + rounding
            assert max(abs(low), abs(high)) < 3.0 * abs(acceleration) + rounding
    assert known > 50


@pytest.mark.parametrize("seed", [0, 27])
def test_what_a_late_host_adds_up_while_a_rotor_turns_to_and_fro_is_no_jump_once_it_rests(seed):
    """Samples are counted whole, so their time is uncertain by a period, in each turning round anew."""
    line, rng, changing = Line(0.0), np.random.default_rng(seed), 0.6 * ACCELERATION
    line.run(0.2)
    for wanted in (*rng.choice([-1.3 * FAST, 0.0, 1.3 * FAST], 100), *np.zeros(100)):
        for _ in range(5):
            dt = rng.uniform(0.004, 0.007)
            line.speed += float(np.clip(wanted - line.speed, -changing * dt, changing * dt))
            line.tick(dt=dt)
    assert line.verdict == (0, 0)


@pytest.mark.parametrize("tick", [0.001, 0.0027, 0.004, 0.0053])
def test_what_samples_stand_for_adds_up_to_the_time_however_ticks_fall_between_them(tick):
    line, spans = Line(FAST, period=0.004), 0.0
    for _ in range(round(0.4 / tick)):
        line.tick(dt=tick)
        spans += line.rotor.span
    assert spans == pytest.approx(0.4, abs=2.0 * line.period)


def test_the_current_that_changed_the_speed_is_what_flowed_between_the_samples():
    """A current that grows evenly is on the average of both ends, however few samples tell of it."""
    rotor, seen = Rotor(ACCELERATION, SILENT_AFTER), []
    for k in range(20):
        rotor.update([Feedback(1, 0, 0.0, 0.1 * k)], 0.004, 0.004)
        seen.append(rotor.mean_current)
    np.testing.assert_allclose(seen[1:], 0.1 * np.arange(1, 20) - 0.05)


def test_frames_that_a_line_doubles_do_not_make_the_period_of_motors_that_turn_shorter():
    """Nothing is missing; a shorter period would have it that samples are."""
    readings, angle = MotorReadings(range(1, 7), winch_of(load_robot("slender").winches), 8.8, SILENT_AFTER), 0
    for tick in range(500):
        samples = []
        for _ in range(2):
            angle += 100
            samples += [Feedback(motor, angle % COUNTS_PER_TURN, 366, 0.0) for motor in range(1, 7)]
        doubled = 200 < tick < 400
        readings.update([sample for sample in samples for _ in range(1 + doubled)], TICK)
        assert readings.owed.max() < 0.001


@pytest.mark.parametrize("first", [2, 4, 10, 13])
@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_what_was_missed_in_a_halt_and_comes_in_two_parts_is_no_jump(first, sense):
    """An emulated robot that was halted lives at once what it has missed, while its rotors turn round."""
    line = Line(sense * FAST, period=0.004)
    line.run(1.0)
    line.start, missed = line.angle - line.rotor.counts, []
    for _ in range(15):
        slower = line.speed - sense * FAST * 2.0 / 15.0
        line.angle += 0.5 * (line.speed - slower) * line.period  # it has turned by the mean of both
        line.speed = slower
        missed += line.collect(line.period)
        line.rotor.update([], TICK, line.period)
    line.rotor.update(missed[:first], TICK, line.period)
    line.rotor.update([*missed[first:], *line.collect(2.0 * line.period)], TICK, line.period)
    line.run(0.5)
    assert line.verdict == (0, 0)
    assert abs(_counted(line)) < 2.0


@pytest.mark.parametrize("tail", [1, 2, 3])
@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_the_last_of_what_waited_has_waited_too_though_nothing_is_owed_any_more(tail, sense):
    """A period that is taken for 1 % longer than it is, and what was on its way before, make up for some samples."""
    line = Line(0.0, period=0.004)
    line.run(1.0)
    line.start, believed = line.angle - line.rotor.counts, 1.01 * line.period
    for _ in range(50):
        line.rotor.update([], TICK, believed)
    while line.rotor.owed > 0.02:
        line.rotor.update(line.collect(8.0 * line.period), TICK, believed)
    turning = []
    for _ in range(6):
        before, line.speed = line.speed, line.speed + 0.12 * sense * FAST
        line.angle += 0.5 * (before - line.speed) * line.period  # it has turned by the mean of both
        turning += line.collect(line.period)
    line.rotor.update(turning, TICK, believed)
    assert line.rotor.owed == 0.0
    line.rotor.update(line.collect((1 + tail) * line.period), TICK, believed)
    line.run(0.5)
    assert line.verdict == (0, 0)
    assert abs(_counted(line)) < 2.0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_a_period_that_nobody_knows_yet_leaves_open_is_no_slip(seed):
    """A cable that nobody holds unwinds ever more slowly while a driver that was just connected learns the period."""
    line, rng, seconds = Line(-3.0 * FAST, period=0.004), np.random.default_rng(seed), 0.0
    while seconds < 0.8:
        dt = rng.uniform(0.004, 0.0065)
        seconds += dt
        line.rotor.update(line.collect(dt), dt, line.period if seconds > 0.26 else 0.0)
        line.speed *= np.exp(-dt / 0.1)
    assert line.verdict == (0, 0)


class LateLine(Line):
    """A line whose samples come one a tick, some ticks late, for a while; then all of them at once."""

    def __init__(self, speed):
        super().__init__(speed, period=TICK)
        self._late = []

    def fall_behind(self, ticks):
        for _ in range(ticks):
            self._late += self.collect(TICK)
            self.rotor.update([], TICK, self.period)

    def stay_behind(self, ticks, push=0.0):
        for _ in range(ticks):
            self._late += self.collect(TICK)
            self.rotor.update([self._late.pop(0)], TICK, self.period, push)

    def catch_up(self):
        self.rotor.update([*self._late, *self.collect(TICK)], TICK, self.period)
        self.run(0.3)


@pytest.mark.parametrize("ticks", [3, 5, 7])
@pytest.mark.parametrize("speed", [0.05 * FAST, -0.12 * FAST])
@pytest.mark.parametrize("push", [0.0, 6e6])
def test_samples_that_come_late_for_longer_than_one_waits_for_them_are_no_loss(ticks, speed, push):
    """A host that is too busy has them in a queue. The rotor is just where it should be if nothing is missing, and what
    it was told to do meanwhile is not enough for a whole turn more."""
    line = LateLine(speed)
    line.run(0.5)
    line.start = line.angle - line.rotor.counts
    line.fall_behind(ticks)
    line.stay_behind(15, push)
    line.catch_up()
    assert line.verdict == (0, 0)
    assert abs(_counted(line)) < 2.0


def test_samples_that_come_late_are_a_loss_where_the_rotor_may_have_been_driven_on_by_a_turn():
    line = LateLine(-0.12 * FAST)
    line.run(0.5)
    line.fall_behind(7)
    line.stay_behind(15, ACCELERATION)
    assert line.verdict == (0, 1)


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_the_last_samples_that_come_late_do_not_make_the_angle_jump(sense):
    """As an emulated robot's came on a busy host: by its clock the last are 1 to 3 ms apart, and what the rotor turns
    in 4 ms, when it gets faster, looks like a slip."""
    line = Line(0.0, period=TICK)
    line.rotor = Rotor(2.0 * ACCELERATION, SILENT_AFTER)  # the neck's drum is smaller
    line.run(0.5)
    line.start = line.angle - line.rotor.counts
    came = [(TICK, [])] * 6  # the time since the last look [s], and speeds of samples [rpm]
    came += [(0.0053, [-93, -171, -234, -285, -326, -358, -384]), (0.0027, []), (0.004, [-364]), (0.0285, [-345])]
    came += [(0.0018, [-400]), (0.0038, [-448, -276]), (0.0048, [-133, -15, 0]), (0.0038, [92, 168, 230])]
    came += [(0.0037, [1221]), (0.0012, [1784]), (0.0026, [1203])]
    for dt, speeds in came:
        samples = []
        for rpm in speeds:
            before, line.speed = line.speed, sense * rpm * COUNTS_PER_RPM
            line.angle += 0.5 * (before - line.speed) * line.period  # it has turned by the mean of both
            samples += line.collect(line.period)
        line.rotor.update(samples, dt, line.period)
    line.run(0.3)
    assert line.verdict == (0, 0)
    assert abs(_counted(line)) < 2.0
