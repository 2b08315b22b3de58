"""Two IMUs aligned on a straight plate: what one rest tells, what more tell, and what is refused."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import soft_twin
from soft_twin.errors import DescriptionError, InputError, RecordingError
from soft_twin.inverse.plate_alignment import LARGEST, SPREAD, Alignment, Rest
from soft_twin.inverse.plate_controller import PlateController
from soft_twin.inverse.plate_holder import PlateHolder
from soft_twin.inverse.plate_payload import Payload
from soft_twin.inverse.plate_rest import Measured, straight_rest
from soft_twin.inverse.plate_sight import look, rotation_of
from soft_twin.robots.alignment_file import read_alignment, write_alignment
from soft_twin.twins.constant_curvature.kernels import bend_of

G = 9.81
DOWN, LYING, LEANING = np.array([[0.0, 0.0, -G], [0.0, -G, 0.0], [-G * np.sqrt(0.5), 0.0, -G * np.sqrt(0.5)]])
DT = 0.02  # [s]
TURN = np.radians([0.6, -0.4, 0.9])  # of the plate's IMU
PULL = np.full(3, 2.0)
KNOWN = Payload(0.0, 0.001, 1.0, True)


class Observer:
    """One that is told to begin anew."""

    forgotten = False

    def forget(self):
        self.forgotten = True


def told(gravity, bend=(0.0, 0.0), turn=TURN, base_turn=(0.0, 0.0, 0.0)):
    """What the IMUs of base and plate say of gravity (3,) in base_link."""
    base, plate = (Rotation.from_rotvec(each).as_matrix() for each in (base_turn, turn))
    return base.T @ gravity, plate.T @ rotation_of(np.array(bend)).T @ gravity


def missed(alignment, gravity, bend):
    """Angle [°] by which a bend is seen wrong."""
    base, plate = told(gravity, bend)
    sight = look(alignment.base(base), alignment.plate(plate), np.array(bend))
    return np.degrees(np.hypot(*(sight.bend - bend)))


def holder_at(measured, seconds=1.2):
    holder = PlateHolder(PlateController(soft_twin.load_robot("neck").build_twin("pcc_chord")))
    for _ in range(round(seconds / DT)):
        holder.look(measured, DT)
    return holder


@pytest.fixture(scope="module")
def fem():
    return soft_twin.load_robot("neck").build_twin("fem")


def test_one_rest_upright_mends_the_tilt_of_a_straight_plate_and_most_of_a_bent_one():
    alignment = Alignment.of([Rest.of(*told(DOWN), (0.0, 0.0))])
    assert missed(Alignment(), DOWN, (0.0, 0.0)) == pytest.approx(np.degrees(np.hypot(*TURN[:2])), rel=0.01)
    assert missed(alignment, DOWN, (0.0, 0.0)) < 0.02
    bent = np.radians([25.0, 0.0])
    assert missed(alignment, DOWN, bent) < 0.6 * missed(Alignment(), DOWN, bent)


def test_a_rest_is_shared_between_both_imus_as_the_prior_is():
    alignment = Alignment.of([Rest.of(*told(DOWN), (0.0, 0.0))])
    np.testing.assert_allclose(alignment.plate_turn, -np.array(alignment.base_turn), atol=1e-4)
    expected = 0.5 * TURN[:2] / (1.0 + 0.5 * (np.radians(0.15) / SPREAD) ** 2)
    np.testing.assert_allclose(alignment.plate_turn[:2], expected, rtol=0.02)  # to second order of the turns


def test_rests_in_other_attitudes_tell_the_turn_about_the_plates_axis():
    rests = [Rest.of(*told(gravity), (0.0, 0.0)) for gravity in (DOWN, LYING, LEANING)]
    one, three = Alignment.of(rests[:1]), Alignment.of(rests)
    for bend in np.radians([[25.0, 0.0], [-10.0, 20.0]]):
        assert missed(three, DOWN, bend) < 0.2 < 0.36 < missed(one, DOWN, bend)
        assert missed(three, LEANING, bend) < 0.3
    assert abs(one.plate_turn[2]) < 1e-9
    assert three.plate_turn[2] - three.base_turn[2] == pytest.approx(TURN[2], rel=0.02)


def test_a_bend_that_is_known_does_not_count_as_misalignment():
    bend = np.radians([1.0, -2.0])
    rest = Rest.of(*told(DOWN, bend, turn=(0.0, 0.0, 0.0)), bend)
    assert np.degrees(Alignment.of([rest]).apart) < 1e-3
    assert np.degrees(rest.apart) < 1e-6


def test_a_newer_rest_takes_the_place_of_one_in_the_same_attitude_and_of_what_it_contradicts():
    old = Alignment.of([Rest.of(*told(DOWN), (0.0, 0.0)), Rest.of(*told(LYING), (0.0, 0.0))])
    again = old.with_rest(Rest.of(*told(DOWN), (0.0, 0.0)))
    assert len(again.rests) == 2
    other = np.radians([0.6, -0.4, -3.5])  # about the axis that upright rests do not see
    moved = old.with_rest(Rest.of(*told(LEANING, turn=other), (0.0, 0.0)))
    assert len(moved.rests) == 1


def test_imus_that_are_too_far_apart_are_refused():
    with pytest.raises(InputError, match=r"6\.0° apart.*more than 5°"):
        Alignment.of([Rest.of(*told(DOWN, turn=(np.radians(6.0), 0.0, 0.0)), (0.0, 0.0))])
    Alignment.of([Rest.of(*told(DOWN, turn=(0.99 * LARGEST, 0.0, 0.0)), (0.0, 0.0))])


def test_a_holder_sees_by_its_alignment_and_its_observer_begins_anew(fem):
    holder = holder_at(Measured(*told(DOWN), PULL, np.zeros(3)))
    holder.observer = Observer()
    holder.payload = KNOWN
    holder.align(fem)
    assert holder.observer.forgotten and holder.payload is None
    holder.observer = None
    bend = np.degrees(holder.look(Measured(*told(DOWN)), DT).bend)
    assert np.hypot(*bend) < 0.1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"plate": None}, "no gravity from the IMU of the plate in the last 1 s"),
        ({"base": np.full(3, np.nan)}, "no gravity from the IMU of the base"),
        ({"displacements": None}, "is their driver running"),
        ({"tensions": np.zeros(3)}, "homed and enabled"),
        ({"displacements": np.array([0.02, -0.01, -0.01])}, "bend the plate by 20°.*stand straight"),
        ({"plate": np.array([2.0, 0.0, -9.6])}, "are 11.* apart on a plate"),
    ],
)
def test_what_is_no_rest_of_a_straight_plate_is_refused_and_nothing_changes(fem, change, words):
    base, plate = told(DOWN)
    values = {"base": base, "plate": plate, "tensions": PULL, "displacements": np.zeros(3)} | change
    holder = holder_at(Measured(**values))
    with pytest.raises(InputError, match=words):
        holder.align(fem)
    assert holder.alignment == Alignment()


def test_a_plate_that_moves_or_was_not_looked_at_long_enough_is_refused(fem):
    with pytest.raises(InputError, match="0.2 s are known of 1 s"):
        holder_at(Measured(*told(DOWN), PULL, np.zeros(3)), 0.2).align(fem)
    holder = holder_at(Measured(*told(DOWN), PULL, np.zeros(3)), 0.6)
    for k in range(30):
        holder.look(Measured(*told(DOWN, (0.001 * k, 0.0)), PULL, np.zeros(3)), DT)
    with pytest.raises(InputError, match="turned by .* wait until all is at rest"):
        holder.align(fem)


def straight_by(fem, gravity, besides, stiffness=1.0):
    """What is measured of a body so much stiffer than its model, whose cables hold it straight but for what they are
    wound in besides (c,) [m]; and the bend that it has."""
    fem.bear(gravity, 0.0)
    wound = fem.displacements(0.0, 0.0)
    fem.bear(gravity / stiffness, 0.0)
    bend = np.array(bend_of(*fem.orientation(wound + besides)))
    return Measured(*told(gravity, bend, turn=(0.0, 0.0, 0.0)), stiffness * fem.twin.efforts, wound), bend


@pytest.mark.parametrize("besides", [(2e-4, -1e-4, 0.0), (-1e-4, 1e-4, 0.0), (0.0, 0.0, 1.5e-4)])
@pytest.mark.parametrize("gravity", [DOWN, -DOWN, LEANING])
def test_cables_that_were_homed_askew_are_told_by_their_tensions(fem, gravity, besides):
    measured, bend = straight_by(fem, gravity, np.array(besides))
    found = straight_rest(fem, measured, KNOWN).bend
    assert np.degrees(np.hypot(*bend)) > 0.1
    assert np.hypot(*np.subtract(found, bend)) < 0.5 * np.hypot(*bend)


@pytest.mark.parametrize("stiffness", [0.85, 1.15])
def test_a_body_that_is_softer_or_stiffer_is_not_taken_for_cables_that_were_homed_askew(fem, stiffness):
    measured, bend = straight_by(fem, LYING, np.zeros(3), stiffness)
    found = straight_rest(fem, measured, KNOWN).bend
    assert np.degrees(np.hypot(*np.subtract(found, bend))) < 0.05


def test_a_payload_that_is_not_known_counts_where_it_tilts_the_plate(fem):
    upright, leaning = (Measured(*told(gravity), PULL, np.zeros(3)) for gravity in (DOWN, LYING))
    assert np.degrees(np.hypot(*straight_rest(fem, upright, None).bend)) < 0.3
    with pytest.raises(InputError, match="known to 1000 g only.*tare it"):
        straight_rest(fem, leaning, None)
    empty, borne = (straight_rest(fem, leaning, Payload(mass, 0.01, 1.0, True)).bend for mass in (0.0, 1.0))
    assert np.degrees(np.hypot(*np.subtract(borne, empty))) > 0.2


def test_a_file_keeps_an_alignment_and_a_broken_one_is_named(tmp_path):
    alignment = Alignment.of([Rest.of(*told(gravity), (0.001, 0.0)) for gravity in (DOWN, LYING)])
    write_alignment(tmp_path / "alignment.yaml", alignment)
    kept = read_alignment(tmp_path / "alignment.yaml")
    np.testing.assert_allclose(kept.plate_turn, alignment.plate_turn, atol=1e-12)
    (tmp_path / "broken.yaml").write_text("rests: [{base: [0, 0, 0], plate: [0, 0, 1], bend: [0, 0]}]")
    with pytest.raises(DescriptionError, match="base.*is zero"):
        read_alignment(tmp_path / "broken.yaml")
    with pytest.raises(RecordingError):
        write_alignment(tmp_path / "nowhere" / "alignment.yaml", alignment)
    with pytest.raises(RecordingError):
        read_alignment(tmp_path / "missing.yaml")
