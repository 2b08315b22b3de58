"""What hangs on a plate, from tensions and tilt: an emulated neck's, which is another body than the observer's twin."""

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

import soft_twin
from soft_twin.errors import ConvergenceError, InputError
from soft_twin.inverse.plate_payload import Payload, PayloadObserver
from soft_twin.inverse.plate_sight import Sight
from soft_twin.inverse.plate_watch import PlateWatch
from soft_twin.twins.constant_curvature import pitch_roll_of
from soft_twin.twins.constant_curvature.kernels import bend_of
from soft_twin.twins.finite_element import FemTwin

DOWN = np.array([0.0, 0.0, -9.81])
TILTED = 9.81 * np.array([np.sin(1.0), 0.0, -np.cos(1.0)])
PERIOD = 0.2  # [s]
BENT, STRAIGHT = (DOWN, (0.4, 0.3)), (TILTED, (0.0, 0.0))
STANDS = [("bent", *BENT, 0.0), ("bent", *BENT, 0.1), ("bent", *BENT, 1.0), ("straight", *STRAIGHT, 0.5)]
HANGING = -DOWN
HUNG = [
    ("straight", (0.0, 0.0), 0.0),
    ("first", (0.35, -0.26), 0.0),
    ("second", (-0.34, 0.17), 0.0),
    ("third", (0.0, 0.38), 0.5),
]
ASKEW = np.radians([0.12, -0.1])  # of the IMUs


@pytest.fixture(scope="module")
def robot():
    return soft_twin.load_robot("neck")


@pytest.fixture(scope="module")
def stands(robot):
    """Bend and tensions of emulated necks at rest with each payload: bent with an upright base, straight with a tilted
    one."""
    found = {}
    for name, gravity, pose, payload in [*STANDS, *((name, HANGING, pose, payload) for name, pose, payload in HUNG)]:
        found[name, payload] = stand(robot, gravity, pose, payload)
    return found


def stand(robot, gravity, pose, payload, where="tip"):
    """Gravity, how the plate of the emulated neck is seen at rest, and tensions."""
    model = robot.build_emulated_model()
    model.body.attach_mass(where, payload)
    neck = FemTwin(model, 0.1, robot.build_frames(model.body))
    rest = neck.equilibrium(gravity, coordinates=robot.build_twin("pcc_chord").displacements(*pose) + 4e-4)
    axis = neck.frames["tip"].rotation(neck)[:, 2]
    return gravity, Sight(np.array(bend_of(*pitch_roll_of(axis))), None, 0.0), rest.efforts


@pytest.fixture(scope="module")
def observer(robot, stands):
    """One that was told, once, that nothing hangs there."""
    observer = PayloadObserver(robot.build_twin("fem"))
    for _ in range(12):
        observer.update(*stands["bent", 0.0], PERIOD)
    observer.tare()
    for _ in range(12):
        observer.update(*stands["bent", 0.0], PERIOD)
    return observer


def watched(observer, stand, seconds):
    return [observer.update(*stand, PERIOD) for _ in range(round(seconds / PERIOD))][-1]


def test_a_body_that_is_softer_than_its_model_is_told_from_a_payload(observer, stands):
    known = watched(observer, stands["bent", 0.0], 1.0)
    assert known.mass < 0.01
    assert known.stiffness == pytest.approx(0.88, abs=0.02), "its E is 0.9 of ours, its mesh another one"


@pytest.mark.parametrize(("pose", "payload"), [(name, payload) for name, _, _, payload in STANDS])
def test_a_payload_is_known_within_a_tenth_or_20_grams(observer, stands, pose, payload):
    known = watched(observer, stands[pose, payload], 3.0)
    assert known.steady
    assert known.mass == pytest.approx(payload, rel=0.1, abs=0.02)
    assert known.deviation < 0.08


@pytest.mark.parametrize("told", [(12.0, -6.0, 0.0), (-12.0, 0.0, 12.0)])
def test_tensions_that_are_told_late_are_no_payload(observer, stands, told):
    """After a quick motion the plate rests already, and what its cables pull by is told with a lag of 0.1 s."""
    gravity, sight, tensions = stands["bent", 0.0]
    watched(observer, stands["bent", 0.0], 2.0)
    found, every = [], 0.02
    for tick in range(1, 101):
        late = np.maximum(tensions + np.array(told) * np.exp(-tick * every / 0.1), 0.0)
        observer.feel(late, every)
        if tick % round(PERIOD / every) == 0:
            found.append(observer.update(gravity, sight, late, PERIOD))
    assert all(known.steady and known.mass < 0.05 and known.deviation < 0.1 for known in found)


def test_tensions_that_rest_again_count_at_once(observer, stands):
    """A motion of 0.3 s that winches do by 200 N/s, and 0.12 s of rest: more than a driver is late by."""
    watched(observer, stands["bent", 0.0], 2.0)
    _, _, tensions = stands["bent", 1.0]
    for tick in range(21):
        observer.feel(tensions + 60.0 * max(0.0, 1.0 - tick / 15.0), 0.02)
    found = observer.update(*stands["bent", 1.0], PERIOD)
    assert found.steady and found.mass == pytest.approx(1.0, rel=0.15)


def test_what_is_put_on_a_plate_at_rest_is_found_at_once_though_little_was_known_of_it(observer, stands):
    """It is the same pose, with the same errors: what is seen otherwise there is the payload."""
    (gravity, empty, free), (_, loaded, held) = stands["bent", 0.0], stands["bent", 1.0]
    half = Sight(0.5 * (empty.bend + loaded.bend), None, 0.0)
    watched(observer, stands["bent", 0.0], 2.0)
    observer._covariance[1, 1] = 0.12**2
    observer.update(*stands["bent", 0.0], PERIOD)
    found = watched(observer, (gravity, half, 0.5 * (free + held)), 2.0 * PERIOD)
    assert found.steady and found.mass == pytest.approx(0.5, rel=0.1)


def test_what_still_shakes_when_it_is_looked_at_first_is_found_by_the_next_look(observer, stands):
    """Tensions that swing tell little: it is the look before that the next one is compared with."""
    (gravity, empty, free), (_, loaded, held) = stands["bent", 0.0], stands["bent", 1.0]
    third, pulls = Sight(empty.bend + 0.3 * (loaded.bend - empty.bend), None, 0.0), free + 0.3 * (held - free)
    watched(observer, stands["bent", 0.0], 2.0)
    observer._covariance[1, 1] = 0.08**2

    def looked_at(sight, tensions, swing):
        for tick in range(25):
            felt = tensions + swing * np.sin(tick / 3.0) * np.array([0.5, -1.0, 0.5])
            observer.feel(felt, 0.02)
        return observer.update(gravity, sight, felt, 0.5)

    looked_at(empty, free, 0.0)
    shaken, found = looked_at(third, pulls, 4.0), looked_at(third, pulls, 0.0)
    assert shaken.steady and shaken.mass < 0.15, "it tells little"
    assert found.steady and found.mass == pytest.approx(0.3, rel=0.1)


@pytest.mark.parametrize("stiffness", [1.3, 0.7])
def test_nothing_on_the_plate_the_first_look_tells_how_stiff_the_body_is_however_wrong_that_was(
    robot, stands, stiffness
):
    observer = PayloadObserver(robot.build_twin("fem"))
    observer._state[0] = 1.0 / stiffness
    observer._covariance[0, 0] = 0.5**2
    observer.tare()
    first = watched(observer, stands["bent", 0.0], 2.0 * PERIOD)
    assert first.steady and first.stiffness == pytest.approx(0.88, abs=0.015)


def test_a_payload_that_falls_off_is_missed_within_a_second(observer, stands):
    watched(observer, stands["bent", 1.0], 3.0)
    assert watched(observer, stands["bent", 0.0], 1.0).mass < 0.02


FRICTION, WAY = 0.1, np.array([1e-3, -1e-3, -1e-3])


def watched_after(observer, stand, slid):
    """Winches read more than what pulls at the plate where they have wound in, and less where they have let out."""
    gravity, sight, tensions = stand
    observer.slide(np.zeros(3))
    observer.slide(slid)
    observer.follow(gravity, sight.bend, tensions)
    anchors, leaves = observer.plate.twin.actuators.parts[0].cables, [0.0, 0.0, 1.0]
    along = anchors.lengths_and_directions(observer.plate.twin.points)[1]
    read = tensions * np.exp(FRICTION * np.arccos(along @ leaves) * np.sign(slid))
    return watched(observer, (gravity, sight, read), 3.0)


def test_cables_that_rub_are_told_from_a_payload(robot, stands):
    observer = PayloadObserver(robot.build_twin("fem"))
    observer.tare()
    for slid in (WAY, -WAY, WAY):
        known = watched_after(observer, stands["bent", 0.0], slid)
    assert known.friction == pytest.approx(FRICTION, abs=0.02)
    assert known.stiffness == pytest.approx(0.88, abs=0.02)
    for slid in (WAY, -WAY):
        assert watched_after(observer, stands["bent", 1.0], slid).mass == pytest.approx(1.0, rel=0.1)


def test_a_tare_forgets_the_payload_alone(observer, stands):
    """What others have said of stiffness and friction stays, and the next pose adds to it."""
    gravity, sight, tensions = stands["bent", 1.0]
    known = watched(observer, (gravity, sight, tensions), 3.0)
    observer.tare()
    moving = observer.update(gravity, Sight(sight.bend + [0.05, 0.0], None, 0.0), tensions, PERIOD)
    assert not moving.steady
    assert (known.mass, moving.mass) == (pytest.approx(1.0, rel=0.1), 0.0)
    assert moving.deviation == observer.parameters.tare_deviation, "somebody has said so"
    assert (moving.stiffness, moving.friction) == (known.stiffness, known.friction)
    assert watched(observer, stands["bent", 0.0], 2.0).stiffness == pytest.approx(known.stiffness, abs=0.01)


def test_from_a_plate_that_turns_nothing_is_learnt(observer, stands):
    gravity, sight, tensions = stands["bent", 0.1]
    before = watched(observer, (gravity, sight, tensions), 3.0)
    turned = Sight(sight.bend + [0.05, 0.0], None, 0.0)
    moving = observer.update(gravity, turned, 2.0 * tensions, PERIOD)
    assert not moving.steady
    assert (moving.mass, moving.stiffness) == (before.mass, before.stiffness)


def test_what_is_no_measurement_is_refused(observer, stands):
    gravity, sight, tensions = stands["bent", 0.0]
    for wrong in ((np.full(3, np.nan), sight, tensions), (gravity, sight, tensions[:2])):
        with pytest.raises(InputError):
            observer.update(*wrong, PERIOD)


def wrong_by(stand, askew):
    gravity, sight, tensions = stand
    return gravity, Sight(sight.bend + askew, None, 0.0), tensions


def test_before_anything_told_it_from_the_bodys_stiffness_a_payload_is_not_known(robot, stands):
    observer = PayloadObserver(robot.build_twin("fem"))
    for name in (("bent", 0.0), ("bent", 1.0)):
        known = watched(observer, stands[name], 3.0)
        assert known.steady and np.isnan(known.mass) and known.borne == 0.0
        assert known.deviation > 0.4
    observer.tare()
    assert watched(observer, stands["bent", 0.0], 3.0).mass < 0.02


def test_below_a_base_that_hangs_it_is_found_though_imus_err(robot, stands):
    """What is not known yet, and would be beyond its bounds, does not mislead what is known with it."""
    observer = PayloadObserver(robot.build_twin("fem"))
    watched(observer, wrong_by(stands["straight", 0.0], ASKEW), 3.0)
    for name in ("first", "second"):
        before = watched(observer, wrong_by(stands[name, 0.0], ASKEW), 3.0)
        observer.tare()
        known = watched(observer, wrong_by(stands[name, 0.0], ASKEW), 3.0)
        assert known.mass < 0.05, before
        assert known.stiffness == pytest.approx(0.88, abs=0.02)
    found = watched(observer, wrong_by(stands["third", 0.5], ASKEW), 4.0)
    assert found.mass == pytest.approx(0.5, abs=0.1)
    assert abs(found.mass - 0.5) < 2.5 * found.deviation


@pytest.mark.parametrize(("mass", "deviation", "borne"), [(0.15, 0.1, 0.0), (0.25, 0.1, 0.25), (np.nan, 0.5, 0.0)])
def test_a_model_is_told_of_no_payload_that_may_be_none(mass, deviation, borne):
    assert Payload(mass, deviation, 1.0, True).borne == borne


def softer(robot, share, folder):
    """The robot of another modulus."""
    content = yaml.safe_load(robot.path.read_text(encoding="utf-8"))
    content["robot"]["body"]["materials"][0]["young_modulus"] *= share
    path = folder / "soft_neck.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return soft_twin.load_robot(path)


@pytest.fixture(scope="module")
def leaning(robot, tmp_path_factory):
    """An observer of a soft neck on a leaning base, and how that stands with nothing and with 700 g: linearised with
    nothing they bend it by 50° at the tensions that hold them, and twice as much would do that."""
    soft = softer(robot, 0.16, tmp_path_factory.mktemp("soft"))
    gravity = Rotation.from_euler("xyz", (60, 0, 40), degrees=True).inv().apply(DOWN)
    pose = np.radians([-20.0, 5.0])
    return soft, [stand(soft, gravity, pose, payload) for payload in (0.0, 0.7)]


def test_a_payload_beyond_what_is_linear_is_told_when_it_is_known(leaning):
    soft, (empty, loaded) = leaning
    observer = PayloadObserver(soft.build_twin("fem"))
    watched(observer, empty, 2.0)
    told = [observer.update(*loaded, PERIOD) for _ in range(20)]
    assert np.isnan(told[2].mass) and told[2].borne == 0.0
    assert all(np.isnan(each.mass) or abs(each.mass - 0.7) < 0.07 for each in told[1:])
    assert told[-1].mass == pytest.approx(0.7, abs=0.07)


def test_a_payload_with_which_the_twin_does_not_stand_where_the_plate_rests_is_forgotten(leaning):
    soft, (_, loaded) = leaning
    observer = PayloadObserver(soft.build_twin("fem"))
    observer._state[1], observer._covariance[1, 1] = 1.9, 0.03**2
    told = []
    for _ in range(30):
        try:
            told.append(observer.update(*loaded, PERIOD))
        except ConvergenceError:
            observer.reset()
    assert told[0].mass == 1.9 and np.isnan(told[12].mass)
    assert told[-1].mass == pytest.approx(0.7, rel=0.1)


def test_of_a_body_that_tensions_bend_far_they_tell_no_more_than_they_are_worth(robot, tmp_path):
    """A neck ten times softer on its side, with tensions that are told wrong by 0.1 N."""
    soft = softer(robot, 0.1, tmp_path)
    gravity, errors = np.array([0.0, -9.81, 0.0]), np.array([-0.1, 0.1, 0.1])
    _, sight, tensions = stand(soft, gravity, (0.0, 0.38), 0.0)
    known = watched(PayloadObserver(soft.build_twin("fem")), (gravity, sight, tensions + errors), 3.0)
    assert known.mass < 3.0 * known.deviation
    assert known.deviation < 0.06


def test_a_pose_that_is_looked_at_for_long_says_no_more_than_its_error_allows(observer, stands):
    """An error of the IMUs does not average out: the deviation stays above what it is worth."""
    gravity, sight, tensions = stands["bent", 0.1]
    known = watched(observer, (gravity, sight, tensions), 10.0)
    worth = observer.parameters.tilt_noise / np.radians(3.0)  # [kg]: a kilogram tilts it so
    assert known.deviation > worth


def test_what_goes_beyond_its_bounds_takes_along_what_it_is_correlated_with(robot):
    """Of a Gaussian with s and m along a ridge the likeliest state with m >= 0 is on the ridge, too."""
    observer = PayloadObserver(robot.build_twin("fem"))
    ridge, across = np.array([0.1, 1.0, 0.0]), np.array([1e-3, 1e-3, 0.05])
    observer._covariance = np.outer(ridge, ridge) + np.diag(across**2)
    observer._state = np.array([0.9, 0.2, 0.05])
    observer._measure(np.array([[0.0, 1.0, 0.0]]), np.array([-0.5]), np.array([[1.0]]))
    assert observer._state[1] == 0.0
    assert observer._state[0] == pytest.approx(0.88, abs=0.001)


@pytest.mark.parametrize("payload", [-0.1, 500.0, np.inf, np.nan])  # 500 are grams
def test_a_payload_that_no_neck_carries_is_refused_and_changes_nothing(payload):
    plate = soft_twin.load_robot("neck").build_twin("fem")
    plate.bear(DOWN, 0.2)
    with pytest.raises(InputError, match="expected a mass from 0 to 100 kg"):
        plate.bear(-DOWN, payload)
    assert plate.payload == 0.2 and np.array_equal(plate.gravity, DOWN)


POSES = [np.radians(pose) for pose in ((0.0, -22.0), (15.0, 20.0), (-25.0, 5.0))]


@pytest.fixture(scope="module")
def taught(robot):
    """An observer that was told in three poses that nothing hangs there, and what it knows."""
    observer = PayloadObserver(robot.build_twin("fem"))
    for pose in POSES:
        empty = stand(robot, DOWN, pose, 0.0)
        watched(observer, empty, 1.0)
        observer.tare()
        watched(observer, empty, 2.2)
    return observer, [each.copy() for each in (observer._state, observer._covariance, observer._by_moment)]


@pytest.fixture
def tared(taught):
    observer, known = taught
    observer.forget()
    observer._state, observer._covariance, observer._by_moment = (each.copy() for each in known)
    return observer


@pytest.mark.parametrize("side", [(1.0, 0.0), (0.0, -1.0)])
def test_how_much_more_is_told_of_a_payload_beside_the_plates_centre_is_known_and_nothing_was_put_on(
    robot, tared, side
):
    """On the plate's rim, in poses that lean to it and away from it, where it is told by half as much, and twice."""
    body, half = robot.build_emulated_model().body, 0.5
    nodes = robot.build_frames(body)["tip"].nodes
    beside = body.mesh.nodes[nodes] - body.mesh.nodes[nodes].mean(axis=0)
    rim = nodes[beside[:, :2] @ side > 0.017]
    centre = (body.mesh.nodes[rim] - body.mesh.nodes[nodes].mean(axis=0)).mean(axis=0)
    watch, found, noticed = PlateWatch(), [], []
    rests = [stand(robot, DOWN, pose, half, rim) for pose in POSES]
    watched(tared, rests[0], 3.0)  # it was put on before anybody watches
    for rest in rests:
        for _ in range(15):
            known = tared.update(*rest, PERIOD)
            noticed += watch.update(False, None, known, None, None, (), PERIOD)
        found.append(known)
    told, expected = (
        np.array(each) for each in zip(*((k.mass, 1.0 + centre @ k.leverage) for k in found), strict=True)
    )
    np.testing.assert_allclose(told / half, expected, atol=0.35)
    assert np.ptp(told) > 0.5, "by far more than the filter has it err by"
    assert not noticed
    larger = told > 0.0
    assert (np.abs(told - half)[larger] < 2.0 * np.array([k.whole_deviation for k in found])[larger]).all()


def test_of_nothing_and_of_what_is_not_known_the_centre_says_nothing():
    beside = (60.0, 0.0, 20.0)
    assert Payload(0.0, 0.1, 1.0, True, leverage=beside).whole_deviation == 0.1
    assert Payload(np.nan, 0.1, 1.0, True, leverage=beside).whole_deviation == 0.1
    assert Payload(0.5, 0.1, 1.0, True, leverage=beside).whole_deviation == pytest.approx(0.463, abs=0.003)


def test_the_centre_of_a_payload_is_told_beside_the_filter_which_it_leaves_as_it_was(robot, tared):
    known = watched(tared, stand(robot, DOWN, POSES[0], 0.5), 3.0)
    assert known.mass == pytest.approx(0.5, abs=0.05) and known.deviation < 0.1
    assert known.whole_deviation > 3.0 * known.deviation
