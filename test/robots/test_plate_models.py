"""Models of the neck's plate: what they answer, by whatever physics, and what robots have them."""

import copy
import json
import pickle

import numpy as np
import pytest
import yaml

import soft_twin
from soft_twin.errors import DescriptionError, InputError, UsageError
from soft_twin.mechanics.contact import SelfContact
from soft_twin.mechanics.materials.infill import solid_modulus, young_modulus
from soft_twin.resources import folder
from soft_twin.twins.constant_curvature import axis_of, pitch_roll_of
from soft_twin.twins.constant_curvature.kernels import bend_of
from soft_twin.twins.plate_model import apart

DOWN = np.array([0.0, 0.0, -9.81])
POSES = np.radians([(10.0, 5.0), (44.4, 0.0), (0.0, 43.3), (-20.0, -20.0), (29.5, -35.0)])
NECK = yaml.safe_load((folder("config") / "neck.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def neck():
    return soft_twin.load_robot("neck")


@pytest.fixture(scope="module")
def plate(neck):
    return neck.build_twin("fem")


@pytest.fixture
def upright(plate):
    plate.twin.reset()
    plate.bear(DOWN)
    return plate


@pytest.fixture
def load(tmp_path):
    def load(change):
        content = copy.deepcopy(NECK)
        change(content["robot"])
        path = tmp_path / "mine.yaml"
        path.write_text(json.dumps(content, indent=0))
        return soft_twin.load_robot(path)

    return load


@pytest.mark.parametrize("name", ["pcc_arc", "pcc_chord"])
def test_constant_curvature_comes_from_the_description_alone(neck, name):
    model = neck.build_twin(name)
    np.testing.assert_allclose(np.hypot(*model.cable_positions.T), 0.052, rtol=1e-6)
    assert model.segment_lengths.tolist() == [pytest.approx(0.1)]
    for pose in POSES:
        np.testing.assert_allclose(model.orientation(model.displacements(*pose)), pose, atol=1e-9)


def test_straight_cables_begin_where_the_description_says(neck):
    """Bent by θ about the base's middle, the plate's cable anchors are where a rotation puts them."""
    pitch = 0.6
    end = 0.1 * np.array([1.0 - np.cos(pitch), np.sin(pitch)]) / pitch
    anchor = end + 0.052 * np.array([np.cos(pitch), -np.sin(pitch)])
    length = np.hypot(*(anchor - [0.052, -0.015]))
    assert neck.build_twin("pcc_chord").displacements(pitch, 0.0)[0] == pytest.approx(0.115 - length, abs=1e-9)


@pytest.mark.parametrize("pose", POSES)
def test_finite_elements_come_back_to_the_pose_that_was_asked_for(upright, pose):
    wound = upright.displacements(*pose)
    upright.twin.reset()
    np.testing.assert_allclose(upright.orientation(wound), pose, atol=np.radians(0.01))


def test_the_answer_does_not_depend_on_the_way_there(upright):
    direct = upright.displacements(*POSES[1])
    tensions = upright.twin.efforts
    assert tensions.min() == pytest.approx(2.0, abs=1e-3), "the pretension is the least"
    for pose in POSES[2:]:
        upright.displacements(*pose)
    np.testing.assert_allclose(upright.displacements(*POSES[1]), direct, atol=2e-5)


def test_ticks_along_a_ramp_stay_with_it(upright):
    for share in np.linspace(0.0, 1.0, 101):
        upright.tick(*(share * POSES[1]))
    upright.tick(*POSES[1])
    np.testing.assert_allclose(upright.now, POSES[1], atol=1e-3)


def test_a_neck_turned_a_third_is_the_same_neck(upright):
    """The section's mesh has four sides, the cables three: a third of a turn shows what the mesh is worth."""
    first = upright.solve(0.5, 0.0).coordinates
    axis = np.array([np.sin(0.5) * np.cos(2.0 * np.pi / 3.0), np.sin(0.5) * np.sin(2.0 * np.pi / 3.0), np.cos(0.5)])
    second = upright.solve(np.arcsin(axis[0]), -np.arctan2(axis[1], axis[2])).coordinates
    np.testing.assert_allclose(np.roll(second, -1), first, atol=5e-5)


def test_a_payload_bends_the_neck_and_is_taken_off_again(upright):
    wound = upright.displacements(*POSES[1])
    before = upright.orientation(wound)
    mass = upright.twin.body.mass
    upright.bear(DOWN, 1.0)
    assert upright.twin.body.mass == pytest.approx(mass + 1.0)
    assert upright.orientation(wound)[0] > before[0] + np.radians(0.02)
    upright.bear(DOWN)
    np.testing.assert_allclose(upright.orientation(wound), before, atol=1e-9)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda plate: pickle.loads(pickle.dumps(plate))])
def test_a_copy_bears_a_payload_of_its_own(upright, copied):
    own, mass = copied(upright), upright.twin.body.mass
    own.bear(DOWN, 1.0)
    assert upright.twin.body.mass == mass and own.twin.body.mass == pytest.approx(mass + 1.0)
    wound = upright.displacements(*POSES[1])
    before = upright.orientation(wound)
    upright.bear(DOWN, 1.0)
    assert upright.orientation(wound)[0] > before[0] + np.radians(0.02)
    np.testing.assert_allclose(own.orientation(wound), upright.orientation(wound), atol=1e-9)


@pytest.mark.parametrize("weight", [0.0, 9.81])
@pytest.mark.parametrize("wound", [[0.03, 0.0, 0.0], [0.02, 0.02, 0.0], [0.0, 0.045, 0.0], [0.0, 0.04, 0.04]])
def test_a_body_that_cables_lengths_hold_is_balanced_soon_though_their_tensions_buckle_it(plate, wound, weight):
    """It has directions of negative curvature all the way. Steps that are shifted out of them are 70 and more, and
    in the last case more than there may be."""
    assert plate.twin.equilibrium([0.0, 0.0, -weight], coordinates=wound).iterations < 25


def test_gravity_of_a_base_that_lies_bends_it_the_other_way(upright):
    rest = np.zeros(3)
    upright.bear([9.81, 0.0, 0.0], 1.0)
    sideways = upright.orientation(rest)
    assert sideways[0] > np.radians(0.1) and abs(sideways[1]) < 1e-6
    upright.bear([-9.81, 0.0, 0.0], 1.0)
    assert upright.orientation(rest)[0] < -np.radians(0.1)


def test_what_is_out_of_reach_is_refused_and_the_nearest_named(upright):
    with pytest.raises(InputError, match=r"pitch 75°, roll 0° is out of reach: the nearest is 54\.\d°, 0°"):
        upright.displacements(np.radians(75.0), 0.0)
    np.testing.assert_allclose(np.degrees(upright.now), [54.4, 0.0], atol=0.1)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("ask", ["displacements", "nearest", "step"])
def test_what_is_not_finite_is_refused_by_its_numbers(upright, ask):
    with pytest.raises(InputError, match=r"pitch and roll: \[0.1, inf\] is not finite"):
        getattr(upright, ask)(0.1, np.inf)


@pytest.mark.parametrize("asked", [(0.0, 89.0), (-60.0, 60.0)])
def test_no_pose_beside_the_nearest_is_nearer_and_in_reach(upright, asked):
    """Around what is named, half a degree nearer to what was asked for, nothing is in reach."""
    asked = np.radians(asked)
    nearest = upright.nearest(*asked)
    wanted, found = axis_of(*asked), axis_of(*nearest)
    away = apart(nearest, tuple(asked))
    towards = wanted - (wanted @ found) * found
    towards /= np.linalg.norm(towards)
    aside = np.cross(found, towards)
    for turn in np.radians([-60.0, 0.0, 60.0]):
        beside = found + np.radians(0.5) / np.cos(turn) * (np.cos(turn) * towards + np.sin(turn) * aside)
        tried = pitch_roll_of(beside)
        assert apart(tried, tuple(asked)) < away
        assert not upright.solve(*tried).reachable


@pytest.mark.parametrize("name", ["pcc_arc", "pcc_chord"])
def test_kinematics_name_the_nearest_within_the_cables_limits(neck, name):
    model = neck.build_twin(name)
    assert model.nearest(0.3, -0.2) == (0.3, -0.2)
    asked = np.radians([0.0, 89.0])
    told = model.displacements(*model.nearest(*asked))
    assert told.min() >= -0.045 and told.max() <= 0.055
    assert np.isclose(told, -0.045, atol=1e-5).any() or np.isclose(told, 0.055, atol=1e-5).any()
    with pytest.raises(InputError, match="not finite"):
        model.nearest(np.nan, 0.0)


def test_slopes_of_cables_are_those_that_differences_have(neck):
    """Where the smallest efforts are above the pretension, they keep to it: cables 2 and 3 are told alike."""
    bend = np.array(bend_of(0.3, 0.0))
    fem, chord = neck.build_twin("fem"), neck.build_twin("pcc_chord")
    fem.displacements(0.3, 0.0)
    straight = chord.slopes(bend)
    np.testing.assert_allclose(straight, chord.jacobian(bend[None])[:, 0], atol=1e-5)
    np.testing.assert_allclose(fem.slopes(bend), straight, atol=0.003)


def test_a_twin_that_was_told_too_much_finds_itself_again(upright):
    whole = upright.displacements(*POSES[1])
    upright.bear(DOWN, 50.0)
    for _ in range(60):
        upright.tick(0.3, 0.2)
    with pytest.raises(InputError, match="out of reach"):
        upright.displacements(*POSES[1])
    upright.bear(DOWN)
    np.testing.assert_allclose(upright.displacements(*POSES[1]), whole, atol=2e-5)


@pytest.mark.parametrize("displacements", [None, [None, 0.0, 0.0], "abc", [0.0, 0.0]])
def test_displacements_of_a_plate_are_a_number_for_each_cable(upright, displacements):
    with pytest.raises(InputError, match="displacements: "):
        upright.orientation(displacements)


@pytest.mark.parametrize("payload", [-0.1, np.nan, np.inf, "a", None, [0.1, 0.2]])
def test_a_payload_that_is_no_mass_is_refused(upright, payload):
    with pytest.raises(InputError, match="payload"):
        upright.bear(DOWN, payload)


def test_a_model_that_there_is_not_is_told_with_those_there_are(neck):
    with pytest.raises(UsageError, match="no model 'pcc' of a plate: there are pcc_arc, pcc_chord, fem"):
        neck.build_twin("pcc")


@pytest.mark.parametrize(
    ("index", "start", "told"),
    [
        (0, [0.052, 0.01, -0.015], "askew"),
        (0, [0.052, 0.0, 0.02], "not from base to end of the body"),
        (2, [-0.026, -0.0450333, -0.02], "another height than cable 'cable_1'"),
    ],
)
def test_cables_that_constant_curvature_does_not_know_are_named(load, index, start, told):
    with pytest.raises(DescriptionError, match=rf"cables\[{index}\].*{told}"):
        load(lambda robot: robot["cables"][index].update(start=start)).build_twin("pcc_chord")


@pytest.mark.parametrize("beyond", [-2e-17, 0.0, 5e-7, -5e-7])
def test_cables_end_with_the_body_though_its_layers_sum_up_to_a_little_more(load, beyond):
    def pitch(height):
        def end_there(robot):
            for cable in robot["cables"]:
                cable["end"] = [*cable["end"][:2], height]

        return load(end_there).build_twin("pcc_chord").orientation(np.array([0.002, 0.0, 0.0]))[0]

    length = load(lambda robot: None).description.body.mesh.extent[2]
    assert pitch(length + beyond) == pytest.approx(pitch(length), abs=1e-4) and abs(pitch(length)) > 0.01


def test_a_plate_that_is_only_a_place_has_no_finite_element_model(load):
    with pytest.raises(DescriptionError, match="frames.tip"):
        load(lambda robot: robot["frames"].update(tip={"nodes": "tip"})).build_twin("fem")


def test_the_necks_modulus_is_that_of_its_infill():
    written = NECK["robot"]["body"]["materials"][0]["young_modulus"]
    assert written == pytest.approx(young_modulus(0.4, 0.0016, 0.027), rel=1e-3)
    assert young_modulus(1.0, 0.0016, 0.027) == pytest.approx(20e6)
    assert solid_modulus(written, 0.4, 0.0016, 0.027) == pytest.approx(20e6, rel=1e-3)
    for wrong in ((1.1, 0.001, 0.02), (0.5, 0.011, 0.02), (0.5, 0.0, 0.02)):
        with pytest.raises(InputError):
            young_modulus(*wrong)


def narrow(robot):
    """Joints of 1.5 mm between links of 18.5 mm."""
    for body in (robot["body"], robot["emulated"], robot["sofa"]):
        for layer in body["mesh"]["stack"]["layers"]:
            joint = len(layer["rings"]) == 1
            layer |= {"length": 0.0015 if joint else 0.0185, "divisions": 1}


def test_a_neck_stops_where_its_links_meet(load):
    plate = load(narrow).build_twin("fem")
    passing = load(lambda robot: narrow(robot) or robot.pop("self_contact")).build_twin("fem")
    (links,) = (each for each in plate.twin.model.constraints if isinstance(each, SelfContact))
    told = [np.array([pull, 0.0, 0.0]) for pull in (0.005, 0.04)]
    found, free = ([model.orientation(each)[0] for each in told] for model in (plate, passing))
    assert found[0] == pytest.approx(free[0], abs=1e-9)  # not yet
    assert links.penetration(plate.twin.points) < 1e-7 < 1e-4 < links.penetration(passing.twin.points)
    assert plate.twin.efforts[0] > 1.05 * passing.twin.efforts[0]
    assert plate.twin.stops == ("the body presses on itself",) and passing.twin.stops == ()


def test_out_of_reach_says_that_links_have_met(load):
    plate = load(narrow).build_twin("fem")
    with pytest.raises(InputError, match=r"out of reach: the nearest is .*, where the body presses on"):
        plate.displacements(np.radians(70.0), 0.0)
    held = plate.tick(np.radians(70.0), 0.0)
    assert "the body presses on itself" in held.active_limits


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"nodes": "links"}, "robot.self_contact: no node group 'links'"),
        ({"nodes": "steps", "margin": 0.0}, "robot.self_contact.margin"),
        ({"node": "steps"}, "robot.self_contact.node"),
    ],
)
def test_stops_that_cannot_be_are_named(load, given, told):
    with pytest.raises(DescriptionError, match=told):
        load(lambda robot: robot.update(self_contact=given)).build_model()


def test_slack_that_is_not_told_of_each_cable_is_named(load):
    with pytest.raises(DescriptionError, match=r"emulated.wound: expected 3 lengths, one a cable, found 2"):
        load(lambda robot: robot["emulated"].update(wound=[-0.001, -0.002]))
