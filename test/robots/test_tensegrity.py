import copy

import numpy as np
import pytest
import yaml

import soft_twin
from soft_twin.errors import DescriptionError


@pytest.fixture(scope="module")
def description():
    return yaml.safe_load(soft_twin.load_robot("tm40").path.read_text(encoding="utf-8"))


def _load(description, folder):
    path = folder / "robot.yaml"
    path.write_text(yaml.safe_dump(description), encoding="utf-8")
    return soft_twin.load_robot(path)


def test_tm40_has_20_struts_and_40_cylinders():
    arm = soft_twin.load_robot("tm40")
    assert arm.name == "tm40"
    assert arm.structure.strut_count == 20 and arm.model.cylinder_count == 40
    assert arm.structure.strut_lengths[:5] == pytest.approx([0.39, 0.39, 0.39, 0.39, 0.33])


def test_a_cylinder_ends_where_its_stroke_ends(description, tmp_path):
    free = soft_twin.load_robot("tm40")
    stopped = copy.deepcopy(description)
    stopped["robot"]["members"]["module"]["stroke"] = [0.27, 0.4]
    arm = _load(stopped, tmp_path)
    pressures = np.full(40, 600e3)
    lengths = [
        np.linalg.norm(np.diff(one.forward(pressures).nodes[one.structure.members], axis=1)[:, 0], axis=1)[
            [group.startswith("module") for group in one.structure.groups]
        ]
        for one in (free, arm)
    ]
    assert lengths[0].min() < 0.268
    assert lengths[1].min() > 0.2698


def test_struts_and_members_one_by_one_make_the_same_arm_as_the_generator(description, tmp_path):
    arm = soft_twin.load_robot("tm40")
    names = arm.structure.node_names
    start = arm.model.start.nodes(arm.structure.strut_lengths)
    listed = copy.deepcopy(description)
    listed["robot"]["structure"] = {
        "struts": [{"bottom": start[i].tolist(), "top": start[20 + i].tolist()} for i in range(20)],
        "members": [
            {"from": names[a], "to": names[c], "group": group}
            for (a, c), group in zip(arm.structure.members, arm.structure.groups, strict=True)
        ],
        "anchors": [0, 1, 2, 3],
        "node_mass": 0.05,
    }
    pressures = np.full(40, 400e3)
    assert _load(listed, tmp_path).forward(pressures).nodes == pytest.approx(arm.forward(pressures).nodes, abs=1e-8)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda robot: robot["members"].pop("joint"), "no law for the group 'joint_0'"),
        (lambda robot: robot["members"]["octagon"].update(stiffness=-1.0), "octagon.stiffness: -1 is outside"),
        (lambda robot: robot["members"]["module"].update(stroke=[0.3, 0.2]), "the lower limit 0.3 is not below"),
        (lambda robot: robot["structure"].update(strut_lengths=[0.39]), "a tower needs at least 2 modules"),
        (lambda robot: robot["structure"].update(generator="spheres"), "'spheres' is none of stacked_prisms"),
        (lambda robot: robot.update(pressure=[-1000.0, 600000.0]), "below the ambient pressure"),
    ],
)
def test_a_mistake_is_named(description, tmp_path, change, message):
    broken = copy.deepcopy(description)
    change(broken["robot"])
    with pytest.raises(DescriptionError, match=message):
        _load(broken, tmp_path)
