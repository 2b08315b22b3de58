"""A plate's loop: what opens it, what it says then, and what no command exceeds."""

import copy
import pickle

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

import soft_twin
from soft_twin.errors import ConvergenceError, InputError
from soft_twin.inverse.plate_controller import CommandLimits, PlateController
from soft_twin.inverse.plate_holder import AGAIN, OBSERVED_EVERY, Measured, PlateHolder
from soft_twin.inverse.plate_payload import Payload
from soft_twin.twins.constant_curvature.kernels import bend_of

DOWN = np.array([0.0, 0.0, -9.81])
LYING = np.array([9.81, 0.0, 0.0])
DT = 0.02  # [s]
STANDING = Measured(DOWN, DOWN)


class Observer:
    """One that knows of 300 g, or breaks down."""

    def __init__(self):
        self.fails, self.steady, self.resets, self.looks, self.twist = False, True, 0, 0, 0.0
        self.slides, self.feels, self.mass = [], [], 0.3

    def update(self, gravity, sight, tensions, dt):
        self.looks += 1
        if self.fails:
            raise ConvergenceError("broke down", ())
        return Payload(self.mass, 0.01, 0.9, self.steady)

    def tare(self):
        self.mass = 0.0

    def slide(self, displacements):
        self.slides.append(displacements)

    def feel(self, tensions, dt):
        self.feels.append((*tensions, dt))

    def reset(self):
        self.resets += 1


@pytest.fixture(scope="module")
def chord():
    return soft_twin.load_robot("neck").build_twin("pcc_chord")


@pytest.fixture
def holder(chord):
    return PlateHolder(PlateController(chord))


def held(holder, measured, seconds=0.2):
    return [holder.update(measured, DT) for _ in range(round(seconds / DT))][-1]


def test_with_both_imus_the_loop_is_closed_and_what_is_missed_is_integrated(holder):
    holder.controller.aim(0.2, 0.0)
    found = held(holder, STANDING, 1.0)
    assert found.open_because == "" and found.tick.closed
    assert found.tick.correction[0] > 0.1


@pytest.mark.parametrize(
    ("lost", "words"),
    [
        (Measured(None, DOWN), "no gravity from the IMU of the base"),
        (Measured(DOWN, None), "no gravity from the IMU of the plate"),
        (Measured(None, None), "of the base and of the plate"),
        (Measured(DOWN, np.full(3, np.nan)), "no gravity from the IMU of the plate"),
        (Measured(DOWN, np.zeros(3)), "gravity in the plate"),
        (Measured(LYING, Rotation.from_euler("z", 0.3).as_matrix() @ LYING), "contradict each other by 17°"),
    ],
)
def test_an_imu_that_is_lost_or_wrong_opens_the_loop_and_is_named(holder, lost, words):
    holder.controller.aim(0.2, 0.0)
    before = held(holder, STANDING).tick.correction
    found = held(holder, lost, 1.0)
    assert words in found.open_because
    assert not found.tick.closed and np.isfinite(found.tick.displacements).all()
    np.testing.assert_array_equal(found.tick.correction, before)
    assert held(holder, STANDING).open_because == "", "it is closed again with the next good sample"


def test_what_a_tare_has_said_to_be_nothing_is_nothing_at_once_and_was_not_taken_off(chord):
    holder, pulled = PlateHolder(PlateController(chord), Observer()), Measured(DOWN, DOWN, np.full(3, 2.0))
    assert held(holder, pulled, 1.5 * OBSERVED_EVERY).payload.mass == holder.borne == 0.3
    holder.tare()
    assert (holder.borne, holder.payload.stiffness) == (0.0, 0.9)
    told = [held(holder, pulled, DT) for _ in range(round(2.0 * OBSERVED_EVERY / DT))]
    assert all(each.payload.mass == 0.0 and each.noticed == () for each in told)


def test_a_base_that_was_seen_last_is_taken_to_stand_so_while_its_imu_is_lost(holder):
    tilted = Rotation.from_euler("y", 0.4).as_matrix() @ DOWN
    held(holder, Measured(tilted, tilted))
    held(holder, Measured(None, DOWN))
    np.testing.assert_array_equal(holder.gravity, tilted)


def test_an_open_loop_that_was_asked_for_says_so(holder):
    holder.closed = False
    found = held(holder, STANDING)
    assert found.open_because == "as it was asked for"
    assert found.sight is not None and not found.tick.closed


def test_the_model_is_told_what_hangs_on_the_plate(chord, monkeypatch):
    observer, told = Observer(), []
    monkeypatch.setattr(chord, "bear", lambda gravity, payload: told.append(payload))
    holder = PlateHolder(PlateController(chord), observer)
    measured = Measured(DOWN, DOWN, np.full(3, 5.0))
    assert held(holder, measured, 0.5 * OBSERVED_EVERY).payload is None
    assert held(holder, measured, 1.2 * OBSERVED_EVERY).payload.mass == 0.3
    assert (told[0], told[-1]) == (0.0, 0.3)
    observer.fails = True
    assert held(holder, measured, 1.2 * OBSERVED_EVERY).payload.mass == 0.3
    assert observer.resets > 0
    looks = observer.looks
    held(holder, Measured(DOWN, None, np.full(3, 5.0)), 2.0 * OBSERVED_EVERY)
    assert observer.looks == looks, "a plate that is not seen tells nothing of its payload"


def test_a_twin_that_has_not_followed_is_asked_again_soon_but_not_for_ever(chord):
    """While the plate moves there is no hurry."""
    observer = Observer()
    holder = PlateHolder(PlateController(chord), observer)
    observer.steady, measured = False, Measured(DOWN, DOWN, np.full(3, 5.0))
    holder.aim(0.3, 0.2, duration=3.0)
    held(holder, measured, 4.2 * OBSERVED_EVERY)
    assert observer.looks == 4
    held(holder, measured, 3.0)
    observer.looks = 0
    held(holder, measured, 4.2 * OBSERVED_EVERY)
    assert observer.looks == 4, "it will not come there"
    observer.steady = True
    held(holder, measured, 1.2 * OBSERVED_EVERY)
    observer.steady, observer.looks = False, 0
    held(holder, measured, 1.2 * OBSERVED_EVERY)
    observer.steady = True
    held(holder, measured, 2.5 * AGAIN)
    assert observer.looks >= 3


def test_what_a_weight_twists_a_leaning_neck_by_does_not_count_as_bend(chord):
    """By the model that steers, of a body as stiff as was found; kinematics by the observer's twin."""
    leaning, target = 9.81 * np.array([0.0, -np.sqrt(0.75), -0.5]), np.radians([-20.0, 14.0])
    fem = soft_twin.load_robot("neck").build_twin("fem")
    fem.bear(leaning, 1.0)
    fem.solve(*target)
    felt = fem.frame.rotation(fem.twin).T @ leaning
    assert abs(np.degrees(fem.twist)) > 0.5

    def seen(model, stiffness=1.0, followed=0.0):
        holder = PlateHolder(PlateController(model), Observer())
        holder.payload, holder.observer.twist = Payload(1.0, 0.01, stiffness, True), followed
        holder.controller.expected = np.array(bend_of(*target))
        return np.degrees(holder.update(Measured(leaning, felt), DT).sight.bend - bend_of(*target))

    assert np.hypot(*seen(chord)) > 1.0, "as much, where gravity tells a turn with a sine of a half"
    for said in (seen(chord, followed=fem.twist), seen(fem)):
        np.testing.assert_allclose(said, 0.0, atol=1e-4)
    fem.solve(*target)
    half = seen(fem, stiffness=2.0)
    np.testing.assert_allclose(half, 0.5 * seen(chord), atol=0.02 * np.hypot(*half))


def test_the_observer_is_told_what_winches_and_cables_do_in_every_tick_that_says_it(chord):
    observer, unknown = Observer(), np.full(3, np.nan)
    holder, wound = PlateHolder(PlateController(chord), observer), np.array([1e-3, 0.0, -1e-3])
    held(holder, Measured(DOWN, DOWN, unknown, wound), 3 * DT)
    held(holder, Measured(DOWN, DOWN, np.ones(3), unknown), 2 * DT)
    np.testing.assert_array_equal(observer.slides, [wound] * 3)
    assert observer.feels == [(1.0, 1.0, 1.0, DT)] * 2


def test_no_command_exceeds_the_limits_and_nothing_is_wound_up_against_them(chord):
    limits = CommandLimits(displacement=(-0.005, 0.012), rate=0.02)
    controller = PlateController(chord, limits=limits)
    start = np.array([0.002, -0.001, 0.0])
    holder = PlateHolder(controller)
    holder.begin_at(start)
    controller.aim(0.7, 0.2)
    told = [start]
    for _ in range(150):
        found = holder.update(STANDING, DT)
        told.append(found.tick.displacements)
    assert np.abs(np.diff(told, axis=0)).max() <= limits.rate * DT + 1e-12
    assert np.min(told) >= -0.005 - 1e-12 and np.max(told) <= 0.012 + 1e-12
    assert "cable_1 displacement max" in found.tick.active_limits and not found.tick.reachable
    blocked = found.tick.blocked
    assert (blocked @ found.tick.correction < 0.01).all()


@pytest.fixture
def limited():
    """A holder whose cables go as far as the neck's."""
    return PlateHolder(PlateController(soft_twin.load_robot("neck").build_twin("pcc_chord")))


def test_a_target_out_of_reach_is_refused_and_the_nearest_named_or_gone_to(limited):
    before = limited.controller.target
    with pytest.raises(InputError, match=r"pitch 75°, roll 0° is out of reach: the nearest is 56.9°, 0°"):
        limited.aim(np.radians(75.0), 0.0)
    assert limited.controller.target == before
    limited.goes_to_nearest = True
    np.testing.assert_allclose(np.degrees(limited.aim(np.radians(75.0), 0.0)), [56.9, 0.0], atol=0.05)
    np.testing.assert_allclose(np.degrees(limited.controller.target), [56.9, 0.0], atol=0.05)
    assert limited.aim(0.2, 0.1) == (0.2, 0.1)


def test_what_is_in_reach_is_asked_of_another_model_than_steers():
    """Under gravity and payload as they are known."""
    robot = soft_twin.load_robot("neck")
    holder = robot.build_plate_holder("fem")
    holder.payload, holder.gravity = Payload(0.4, 0.01, 1.0, True), LYING
    before = holder.controller.model.twin.points.copy()
    with pytest.raises(InputError, match="the nearest is 54"):
        holder.aim(np.radians(75.0), 0.0)
    np.testing.assert_array_equal(holder.controller.model.twin.points, before)
    assert holder.scout() is not holder.controller.model
    np.testing.assert_array_equal(holder.scout().gravity, LYING)
    assert holder.scout().payload == 0.4


@pytest.mark.parametrize("model", ["pcc_arc", "fem"])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda holder: pickle.loads(pickle.dumps(holder))])
def test_a_copy_asks_a_model_of_its_own_what_is_in_reach(model, copied):
    holder = soft_twin.load_robot("neck").build_plate_holder(model)
    early = copied(holder)
    holder.aim(0.1, 0.0)
    late = copied(holder)
    scouts = [one.scout() for one in (holder, early, late)]
    assert len(set(map(id, scouts))) == 3
    for one, scout in zip((holder, early, late), scouts, strict=True):
        assert scout is one.scout() and (scout is one.controller.model) == (model == "pcc_arc")
        assert one.within_reach(0.2, 0.1) == (0.2, 0.1)


def with_four_cables(folder):
    """The neck with cables that pull at 10, 95, 170 and 285°, as far out as none of the others."""
    neck = soft_twin.load_robot("neck")
    content = yaml.safe_load(neck.path.read_text(encoding="utf-8"))["robot"]
    first, cables = content["cables"][0], []
    for k, (angle, radius) in enumerate(((10, 0.040), (95, 0.052), (170, 0.060), (285, 0.045)), 1):
        x, y = radius * np.cos(np.radians(angle)), radius * np.sin(np.radians(angle))
        ends = {"start": [float(x), float(y), first["start"][2]], "end": [float(x), float(y), first["end"][2]]}
        cables.append({**first, **ends, "name": f"cable_{k}", "motor_id": k})
    content |= {"cables": cables, "name": "four"}
    content["emulated"]["wound"] = [0.0] * 4
    content.pop("sofa", None)
    path = folder / "four.yaml"
    path.write_text(yaml.safe_dump({"robot": content}), encoding="utf-8")
    return soft_twin.load_robot(path)


def test_of_targets_that_are_ever_further_out_of_reach_none_has_a_nearest_that_is_much_nearer(tmp_path):
    four = with_four_cables(tmp_path)
    tilts = [np.degrees(four.build_twin("fem").nearest(np.radians(asked), 0.0)[0]) for asked in (59.0, 60.5, 62.0)]
    assert min(tilts) > 57.0
    assert np.diff(tilts).min() > -0.5


def test_a_straight_plate_that_cannot_be_held_has_a_nearest_orientation_too():
    """Some 13 kg pull sideways at a neck that carries a few."""
    holder = soft_twin.load_robot("neck").build_plate_holder("fem")
    holder.payload, holder.gravity = Payload(13.0, 0.01, 1.0, True), np.array([8.5, 0.0, -4.9])
    with pytest.raises(InputError, match="pitch 0°, roll 0° is out of reach: the nearest is -?[0-9]"):
        holder.within_reach(0.0, 0.0)


def test_a_payload_that_the_model_cannot_stand_with_does_not_keep_it_from_an_answer():
    holder = soft_twin.load_robot("neck").build_plate_holder("fem")
    holder.observer, holder.payload = None, Payload(25.0, 0.01, 1.0, True)
    holder.controller.aim(-0.35, 0.09)
    leaning = Measured(np.array([8.5, 0.0, -4.9]), None)
    found = held(holder, leaning, 8.0)
    assert not found.tick.holding and 0.0 < holder.borne < 25.0
    assert any("not with the 25.00 kg found" in word for word in found.noticed)
    np.testing.assert_allclose(holder.controller.model.now, [-0.35, 0.09], atol=2e-3)
    holder.payload = Payload(0.5, 0.01, 1.0, True)
    assert not any("the model stands" in word for word in held(holder, leaning, 1.0).noticed)
    assert holder.borne == 0.5


def test_a_plate_at_a_stop_is_told_by_the_correction_at_its_largest(holder):
    holder.controller.aim(0.3, 0.0)
    assert held(holder, STANDING, 2.0).tick.at_largest


def test_cables_that_do_not_follow_open_the_loop_until_they_do(holder):
    holder.controller.aim(0.2, 0.0)
    held(holder, STANDING, 1.0)
    where = holder.controller.command
    found = held(holder, Measured(DOWN, DOWN, None, where - 0.03), 0.04)
    assert "do not follow, by 30.0 mm" in found.open_because and not found.follows
    blind = held(holder, Measured(DOWN, None, None, where - 0.03), 0.04)
    assert blind.open_because.startswith("no gravity from the IMU of the plate; the cables do not follow, by ")
    before = holder.controller.correction
    assert held(holder, Measured(DOWN, DOWN, None, where - 0.03), 1.0).tick.correction == pytest.approx(before)
    assert held(holder, Measured(DOWN, DOWN, None, holder.controller.command), 0.02).open_because == ""


def test_it_begins_where_the_plate_is_seen(holder):
    bend = np.array([0.3, 0.0])
    axis = Rotation.from_rotvec([-bend[1], bend[0], 0.0]).as_matrix()
    holder.look(Measured(DOWN, axis.T @ DOWN), DT)
    holder.begin_at(np.zeros(3))
    np.testing.assert_allclose(holder.controller.expected, bend, atol=1e-6)


@pytest.mark.parametrize("name", ["pcc_arc", "pcc_chord", "fem"])
@pytest.mark.parametrize(("pitch", "roll"), [(30.0, -20.0), (0.5, 20.0), (1.6, 0.0), (0.0, -3.2)])
def test_degrees_given_for_radians_are_refused_also_where_the_nearest_is_gone_to(name, pitch, roll):
    """By the holder, by its controller, which asks no model for its reach, and by the model itself."""
    holder = soft_twin.load_robot("neck").build_plate_holder(name)
    holder.goes_to_nearest, model = True, holder.controller.model
    calls = [holder.aim, holder.within_reach, holder.controller.aim, model.displacements, model.nearest, model.step]
    for call in calls:
        with pytest.raises(InputError, match=f"pitch {pitch:g} rad, roll {roll:g} rad: .*are they in degrees"):
            call(pitch, roll)
    assert holder.controller.target == (0.0, 0.0)
