from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from prism import write_prism

import soft_twin
from soft_twin.errors import InputError, UsageError
from soft_twin.twins.tensegrity.cases import load_cases
from soft_twin.twins.tensegrity.forward import ForwardModel
from soft_twin.twins.tensegrity.mismatch import mismatched
from soft_twin.twins.tensegrity.shape import mean_node_error

NOISE = np.radians(0.5)


@pytest.mark.parametrize("name", ["straight", "bend 60°", "curled", "S-shaped"])
def test_exact_inclinations_give_the_exact_shape(arm, cases, name):
    case = cases[name]
    truth = arm.forward(case.pressures)
    shape = arm.build_estimator("energy").update(truth.inclinations, case.pressures)
    assert shape.converged and not shape.faults and 0.0 < shape.confidence <= 1.0
    assert mean_node_error(shape, truth) < 1e-3


@pytest.mark.parametrize("mounting", ["90.0, 0.0, 0.0", "0.0, 90.0, 0.0", "90.0, 0.0, 90.0", "0.0, -90.0, 0.0"])
@pytest.mark.parametrize("noise", [0.0, NOISE])
def test_an_arm_that_lies_on_its_side_is_found_before_its_base_not_behind(tmp_path, cases, mounting, noise):
    """Its mirror image behind the base, in a vertical plane, has the same inclinations and the same energy."""
    text = Path(soft_twin.load_robot("tm40").path).read_text(encoding="utf-8")
    path, case = tmp_path / "lying.yaml", cases["bend 30°"]
    path.write_text(text.replace("mounting_rpy_deg: [0.0, 0.0, 0.0]", f"mounting_rpy_deg: [{mounting}]"))
    arm, random = soft_twin.load_robot(path), np.random.default_rng(4)
    truth, errors = arm.forward(case.pressures), []
    for seed in range(3):
        estimator = arm.build_estimator("energy")
        estimator.reset(seed)
        shape = estimator.update(truth.inclinations + noise * random.normal(size=20), case.pressures)
        errors.append(mean_node_error(shape, truth))
        assert shape.confidence > 0.1
    assert max(errors) < (1e-3 if noise == 0.0 else 0.02)


@pytest.mark.parametrize(("name", "limit"), [("straight", 0.005), ("bend 60°", 0.008), ("curled", 0.010)])
def test_mean_node_error_with_half_a_degree_of_noise(arm, cases, name, limit):
    case = cases[name]
    truth, random = arm.forward(case.pressures), np.random.default_rng(0)
    estimator, errors = arm.build_estimator("energy"), []
    for seed in range(8):
        estimator.reset(seed)
        shape = estimator.update(truth.inclinations + random.normal(0.0, NOISE, 20), case.pressures)
        errors.append(mean_node_error(shape, truth))
    assert np.mean(errors) <= limit


def test_noise_costs_less_when_inclinations_are_weighted_than_when_they_are_enforced(arm, cases):
    case = cases["curled"]
    truth, random = arm.forward(case.pressures), np.random.default_rng(8)
    weighted, enforced = arm.build_estimator("energy"), arm.build_estimator("energy", unknown_work=1e3)
    errors = []
    for _ in range(8):
        inclinations = truth.inclinations + random.normal(0.0, np.radians(1.0), 20)
        shapes = [estimator.update(inclinations, case.pressures) for estimator in (weighted, enforced)]
        assert shapes[1].inclinations == pytest.approx(inclinations, abs=1e-4)
        errors.append([mean_node_error(shape, truth) for shape in shapes])
    assert np.mean(errors, axis=0)[0] < 0.75 * np.mean(errors, axis=0)[1]


def test_at_the_shape_measured_inclinations_pull_as_hard_as_the_energy(arm, cases):
    case = cases["bend 30°"]
    estimator = arm.build_estimator("energy", tolerance=1e-8)
    inclinations = arm.forward(case.pressures).inclinations + np.random.default_rng(9).normal(0.0, NOISE, 20)
    shape = estimator.update(inclinations, case.pressures)
    last, free = estimator._situation, estimator.all_free
    estimator.minimiser.gradient(last.pose, free, last.laws, last.around)
    moments = free.gradient[free.equations[:, 4]] * arm.structure.strut_lengths
    stiffness = estimator.unknown_work / estimator.inclination_noise**2
    assert moments == pytest.approx(stiffness * (inclinations - shape.inclinations), abs=1e-6)


@pytest.mark.parametrize(("searches", "plausible"), [(1, False), (4, True)])
def test_a_start_that_fails_is_not_trusted_and_tried_again(arm, cases, monkeypatch, searches, plausible):
    """All 16 lifted starts of this seed lead to a minimum that is not the shape."""
    monkeypatch.setattr("soft_twin.shape_estimation.estimator.MAX_SEARCHES", searches)
    case = cases["curled"]
    noise = np.random.default_rng(4).normal(0.0, np.radians(1.0), (41, 20))[40]
    truth = arm.forward(case.pressures)
    estimator = arm.build_estimator("energy")
    estimator.reset(4040)
    shape = estimator.update(truth.inclinations + noise, case.pressures)
    assert (shape.certainty.work < 2.0) == plausible
    assert (shape.confidence > 0.3) if plausible else (shape.confidence < 0.01)
    assert not plausible or (mean_node_error(shape, truth) < 0.03 and not shape.faults)


def test_sound_inclinations_are_not_accused_of_what_a_wrong_minimum_makes_of_them(arm, tmp_path):
    """All 16 lifted starts lead to a minimum 10 J up, of 12 J that are plausible, at which two struts look swapped."""
    description = yaml.safe_load(arm.path.read_text(encoding="utf-8"))
    description["robot"]["structure"].update(sides=6, base_radius=0.13)
    (tmp_path / "six.yaml").write_text(yaml.safe_dump(description), encoding="utf-8")
    six, random = soft_twin.load_robot(tmp_path / "six.yaml"), np.random.default_rng(17)
    pressures = random.uniform(300e3, 600e3, int(six.structure.active.sum()))
    truth = six.forward(pressures, np.array([*(1.5 * random.normal(size=2)), 0.0]))
    shape = six.build_estimator("energy").update(truth.inclinations, pressures)
    assert shape.faults == ()
    assert shape.confidence > 0.7 and shape.certainty.work < 0.1
    assert mean_node_error(shape, truth) < 2e-3


def test_a_vertical_strut_is_no_difficulty(arm, straight, straight_pressures):
    inclinations = straight.inclinations.copy()
    inclinations[10] = 0.0
    shape = arm.build_estimator("energy").update(inclinations, straight_pressures)
    assert shape.converged and np.isfinite(shape.nodes).all()
    assert any(fault.startswith("strut 10: ") for fault in shape.faults)


def test_warm_and_cold_updates_agree(arm, cases):
    case = cases["bend 30°"]
    inclinations = arm.forward(case.pressures).inclinations + 0.005
    warm = arm.build_estimator("energy", tolerance=1e-6)
    warm.update(arm.forward(case.pressures).inclinations, case.pressures)
    cold = arm.build_estimator("energy", tolerance=1e-6)
    expected = cold.update(inclinations, case.pressures).nodes
    assert warm.update(inclinations, case.pressures).nodes == pytest.approx(expected, abs=1e-6)


def test_a_jump_to_another_pose_is_a_cold_start(arm, cases):
    bent, curled = cases["bend 60°"], cases["curled"]
    truth = arm.forward(curled.pressures)
    estimator = arm.build_estimator("energy")
    estimator.update(arm.forward(bent.pressures).inclinations, bent.pressures)
    assert mean_node_error(estimator.update(truth.inclinations, curled.pressures), truth) < 1e-3


def test_a_minimum_that_is_not_the_shape_is_left_when_it_is_diagnosed(arm, cases, monkeypatch):
    monkeypatch.setattr("soft_twin.shape_estimation.estimator.JUMP", np.inf)  # tracks anything, into a wrong minimum
    bent, curled = cases["bend 60°"], cases["curled"]
    truth = arm.forward(curled.pressures)
    estimator = arm.build_estimator("energy")
    estimator.update(arm.forward(bent.pressures).inclinations, bent.pressures)
    assert mean_node_error(estimator.update(truth.inclinations, curled.pressures), truth) > 0.05
    assert estimator.diagnose() == ()
    assert mean_node_error(estimator.update(truth.inclinations, curled.pressures), truth) < 1e-3


def test_same_seed_gives_the_same_shape_to_the_bit(arm, cases):
    case = cases["curled"]
    inclinations = arm.forward(case.pressures).inclinations
    estimator = arm.build_estimator("energy")
    shapes = []
    for _ in range(2):
        estimator.reset(7)
        shapes.append(estimator.update(inclinations, case.pressures).nodes)
    assert np.array_equal(*shapes)


def test_hanging_arm_is_estimated_in_its_base_frame(arm, straight_pressures, tmp_path):
    import soft_twin

    path = tmp_path / "hanging.yaml"
    text = arm.path.read_text(encoding="utf-8")
    path.write_text(text.replace("mounting_rpy_deg: [0.0, 0.0, 0.0]", "mounting_rpy_deg: [180.0, 0.0, 0.0]"))
    hanging = soft_twin.load_robot(path)
    truth = hanging.forward(straight_pressures)
    assert truth.nodes[:4, 2] == pytest.approx(np.zeros(4), abs=1e-12)
    assert truth.length() > arm.forward(straight_pressures).length()
    assert np.all(truth.inclinations > np.pi / 2)
    shape = hanging.build_estimator("energy").update(truth.inclinations, straight_pressures)
    assert mean_node_error(shape, truth) < 1e-3


def test_missing_inclinations_free_their_struts(arm, straight, straight_pressures):
    inclinations = straight.inclinations + np.random.default_rng(1).normal(0.0, NOISE, 20)
    whole = arm.build_estimator("energy").update(inclinations, straight_pressures)
    inclinations[[3, 7, 12, 19]] = np.nan
    shape = arm.build_estimator("energy").update(inclinations, straight_pressures)
    assert shape.freed == (3, 7, 12, 19)
    assert shape.faults[0] == "strut 3: no inclination, the strut is freed"
    assert mean_node_error(shape, straight) < mean_node_error(whole, straight) + 2e-3


def test_inclination_outside_its_range_is_named_and_not_used(arm, straight, straight_pressures):
    inclinations = straight.inclinations.copy()
    inclinations[5] = 4.0
    shape = arm.build_estimator("energy").update(inclinations, straight_pressures)
    assert shape.freed == (5,) and "strut 5: inclination 4 rad is outside" in shape.faults[0]
    assert mean_node_error(shape, straight) < 1e-3


def test_without_any_inclination_the_last_good_shape_is_stale(arm, straight, straight_pressures):
    estimator = arm.build_estimator("energy")
    good = estimator.update(straight.inclinations, straight_pressures)
    stale = estimator.update(np.full(20, np.nan), straight_pressures)
    assert stale.stale and stale.confidence == 0.0
    assert np.array_equal(stale.nodes, good.nodes)
    assert not estimator.update(straight.inclinations, straight_pressures).stale


def test_without_any_inclination_at_the_start_there_is_an_error(arm, straight_pressures):
    with pytest.raises(InputError, match="strut 0: no inclination"):
        arm.build_estimator("energy").update(np.full(20, np.nan), straight_pressures)


def test_missing_pressures_are_the_last_known_ones(arm, straight, straight_pressures):
    estimator = arm.build_estimator("energy")
    estimator.update(straight.inclinations, straight_pressures)
    shape = estimator.update(straight.inclinations, np.where(np.arange(40) == 9, np.nan, straight_pressures))
    assert shape.faults == ("cylinders 9: no pressure, the last one is used",)
    with pytest.raises(InputError, match="no pressure and none known"):
        arm.build_estimator("energy").update(straight.inclinations, np.full(40, np.nan))


def test_slack_everywhere_is_said(arm, straight):
    laws = arm.model.laws
    loose = replace(laws, rest_lengths=laws.rest_lengths + 0.05)
    estimator = replace(arm, model=replace(arm.model, laws=loose)).build_estimator()
    shape = estimator.update(straight.inclinations, np.zeros(40))
    assert shape.confidence == 0.0 and not shape.stale
    assert any("members are slack" in fault for fault in shape.faults)


@pytest.mark.parametrize("name", ["energy", "energy_tip_force"])
@pytest.mark.filterwarnings("error")
def test_an_arm_without_weight_whose_cords_are_all_too_long_is_told(tmp_path, name):
    """Nothing has any stiffness then, and nothing a moment."""
    prism = soft_twin.load_robot(write_prism(tmp_path, sides=3, stretch=-0.02))
    shape = prism.build_estimator(name).update(prism.forward([]).inclinations, [])
    assert shape.confidence == 0.0
    assert "9 of 9 members are slack: nothing determines the shape" in shape.faults


def test_an_arm_that_goes_slack_leaves_the_last_good_shape_stale(arm, straight, straight_pressures):
    laws = replace(arm.model.laws, areas=arm.model.laws.areas * 2.0)
    estimator = replace(arm, model=replace(arm.model, laws=laws)).build_estimator()
    good = estimator.update(straight.inclinations, straight_pressures)
    longer = replace(laws, rest_lengths=laws.rest_lengths + 0.08)
    estimator.model = replace(arm.model, laws=longer)
    slack = estimator.update(straight.inclinations, np.zeros(40))
    assert slack.stale and slack.confidence == 0.0 and "members are slack" in slack.faults[0]
    assert np.array_equal(slack.nodes, good.nodes)


@pytest.mark.parametrize("size", [19, 21])
def test_wrong_number_of_inclinations_is_an_error(arm, straight_pressures, size):
    with pytest.raises(InputError, match="expected 20 values"):
        arm.build_estimator("energy").update(np.full(size, 0.7), straight_pressures)


def test_unknown_estimator_is_an_error(arm):
    with pytest.raises(UsageError, match="energy, energy_tip_force, zero_length"):
        arm.build_estimator("magic")


@pytest.mark.parametrize(("name", "pair"), [("bend 30°", (11, 17)), ("curled", (5, 14)), ("bent and pulled", (1, 13))])
def test_swapped_struts_are_named(arm, cases, name, pair):
    case = cases[name]
    truth = arm.forward(case.pressures, case.tip_force)
    inclinations = truth.inclinations + np.random.default_rng(2).normal(0.0, NOISE, 20)
    inclinations[list(pair)] = inclinations[list(pair)[::-1]]
    shape = arm.build_estimator("energy").update(inclinations, case.pressures)
    assert shape.faults == (f"struts {pair[0]} and {pair[1]}: their inclinations are swapped",)


def test_a_wrong_inclination_is_named(arm, straight, straight_pressures):
    inclinations = straight.inclinations.copy()
    inclinations[9] += np.radians(15.0)
    estimator = arm.build_estimator("energy")
    estimator.update(inclinations, straight_pressures)
    assert len(estimator.diagnose()) == 1 and estimator.diagnose()[0].startswith("strut 9: ")


@pytest.mark.parametrize(("name", "strut"), [("straight", 2), ("bend 60°", 2), ("curled", 13)])
def test_a_sensor_that_is_upside_down_is_named(arm, cases, name, strut):
    """All 16 lifted starts end far from the shape, where other struts look worse."""
    case = cases[name]
    truth = arm.forward(case.pressures)
    inclinations = truth.inclinations + np.random.default_rng(2).normal(0.0, NOISE, 20)
    inclinations[strut] = np.pi - inclinations[strut]
    (fault,) = arm.build_estimator("energy").update(inclinations, case.pressures).faults
    turned = np.degrees(inclinations[strut] - truth.inclinations[strut])
    assert fault.startswith(f"strut {strut}: ")
    assert float(fault.split(" is ")[1].split("°")[0]) == pytest.approx(turned, abs=6.0)


def test_a_sound_arm_of_six_sides_raises_no_alarm(tmp_path):
    """Its inclinations hang together more than those of an arm of four sides."""
    text = Path(soft_twin.load_robot("tm40").path).read_text(encoding="utf-8")
    for old, new in (("sides: 4", "sides: 6"), ("[0.39, 0.33, 0.33, 0.33, 0.33]", "[0.39, 0.33, 0.33]")):
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "hexagonal.yaml"
    path.write_text(text)
    arm, random, faults = soft_twin.load_robot(path), np.random.default_rng(0), []
    robot = ForwardModel(mismatched(arm.model, arm.emulated, seed=3))
    estimator = arm.build_estimator("energy")
    for case in load_cases(arm.model):
        truth = robot.equilibrium(case.pressures, case.tip_force)
        for seed in range(3):
            estimator.reset(seed)
            noise = random.normal(0.0, arm.emulated.inclination, truth.strut_count)
            faults += estimator.update(truth.inclinations + noise, case.pressures).faults
    assert faults == []


def test_curvature_is_the_smallest_eigenvalue(arm, straight, straight_pressures):
    from soft_twin.twins.tensegrity.sensitivity import dense

    estimator = arm.build_estimator("energy")
    for _ in range(40):
        shape = estimator.update(straight.inclinations, straight_pressures)
    L = np.tril(dense(estimator._factor))
    assert shape.certainty.curvature == pytest.approx(np.linalg.eigvalsh(L @ L.T)[0], rel=1e-2)


def test_tip_force_is_found(arm, cases):
    case = cases["pulled at the tip"]
    truth = arm.forward(case.pressures, case.tip_force)
    estimator = arm.build_estimator("energy_tip_force", force_scale=100.0)
    shape = estimator.update(truth.inclinations, case.pressures)
    assert shape.tip_force == pytest.approx(case.tip_force, abs=0.15)
    assert mean_node_error(shape, truth) < 1e-3


def test_the_less_inclinations_are_trusted_the_less_of_a_force_they_tell(arm, cases):
    case = cases["pulled at the tip"]
    truth = arm.forward(case.pressures, case.tip_force)
    found = [
        arm.build_estimator("energy_tip_force", inclination_noise=noise).update(truth.inclinations, case.pressures)
        for noise in (0.002, 0.0122, 0.2)
    ]
    sizes = [np.linalg.norm(shape.tip_force) for shape in found]
    assert sizes[0] > sizes[1] > sizes[2] + 0.05  # [N]


@pytest.mark.parametrize("kind", ["energy", "energy_tip_force"])
@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"tries": 0}, "tries: 0: expected 1 or more"),
        ({"tolerance": -1.0}, "tolerance: -1.0 N is not positive"),
        ({"inclination_noise": 0.0}, "inclination_noise: 0.0 rad is not positive"),
        ({"unknown_work": "much"}, r"unknown_work: expected a number \[J\], found 'much'"),
    ],
)
def test_choices_that_make_no_sense_are_refused(arm, kind, choice, message):
    with pytest.raises(InputError, match=message):
        arm.build_estimator(kind, **choice)


@pytest.mark.parametrize("seed", ["a", -1, np.nan, 1.5, True])
def test_a_seed_that_is_none_is_refused_and_nothing_forgotten(arm, straight, straight_pressures, seed):
    estimator = arm.build_estimator()
    estimator.update(straight.inclinations, straight_pressures)
    with pytest.raises(InputError, match=f"seed: {seed!r}: expected 0 or more"):
        estimator.reset(seed)
    assert estimator.update(np.full(20, np.nan), straight_pressures).stale
