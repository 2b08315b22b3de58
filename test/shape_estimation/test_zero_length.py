import dataclasses

import numpy as np
import pytest

from soft_twin.errors import InputError
from soft_twin.shape_estimation.zero_length import gradients, lay_on, nodes_of
from soft_twin.twins.tensegrity.shape import mean_node_error


def test_gradients_are_the_energys_derivatives(arm):
    random = np.random.default_rng(0)
    structure = arm.structure
    centres, yaws, tilts = random.normal(size=(20, 3)), random.normal(size=20), random.uniform(0.2, 1.0, 20)
    stiffness = random.uniform(1.0, 2.0, 80)
    free = np.full((20, 3), np.nan)

    def energy(centres, yaws):
        nodes = nodes_of(centres, yaws, tilts, structure.strut_lengths)
        return gradients(nodes, yaws, tilts, structure.strut_lengths, structure.members, stiffness, free)

    _, by_position, by_yaw = energy(centres, yaws)
    h = 1e-6
    for i in (0, 7, 19):
        turn = h * (np.arange(20) == i)
        assert (energy(centres, yaws + turn)[0] - energy(centres, yaws - turn)[0]) / (2 * h) == pytest.approx(by_yaw[i])
        move = np.outer(turn, [1.0, 0.0, 0.0])
        slope = (energy(centres + move, yaws)[0] - energy(centres - move, yaws)[0]) / (2 * h)
        assert slope == pytest.approx(by_position[i, 0])


@pytest.mark.parametrize(("ratio", "length"), [(1.0, 0.96), (2.0, 1.07), (3.0, 1.13), (3.64, 1.16), (140 / 27, 1.20)])
def test_stiffness_ratio_sets_the_length(arm, straight, straight_pressures, ratio, length):
    estimator = arm.build_estimator("zero_length", passive=27.0 * ratio, active=27.0, steps=8000, anchored=True)
    estimator.start_at(straight)
    shape = estimator.update(straight.inclinations, straight_pressures)
    assert shape.converged
    assert shape.length() == pytest.approx(length, abs=0.015)


@pytest.mark.parametrize("start", ["collapsed", "expanded"])
def test_energy_falls_and_gradients_fade(arm, straight, straight_pressures, start):
    estimator = arm.build_estimator("zero_length", steps=1000, start=start)
    estimator.update(straight.inclinations, straight_pressures)
    energies = estimator.descent.energies
    assert np.all(np.diff(energies[20:]) <= 1e-9)
    gradients = np.abs(estimator.descent.position_gradients).max(axis=(1, 2))
    assert gradients[-1] < 0.05 * gradients[0]


def test_curled_shape_is_three_times_worse_than_ours_at_least(arm, cases):
    case = cases["curled"]
    truth = arm.forward(case.pressures)
    inclinations = truth.inclinations + np.random.default_rng(0).normal(0.0, np.radians(0.5), 20)
    paper = arm.build_estimator("zero_length", steps=8000, anchored=True)
    paper.start_at(truth)
    ours = arm.build_estimator("energy").update(inclinations, case.pressures)
    assert mean_node_error(paper.update(inclinations, case.pressures), truth) > 3.0 * mean_node_error(ours, truth)


def test_a_shape_is_laid_on_its_base_turned_and_mirrored(straight):
    base = straight.nodes[:4]
    turn = np.array([[np.cos(2.0), np.sin(2.0), 0.0], [-np.sin(2.0), np.cos(2.0), 0.0], [0.0, 0.0, 1.0]])
    moved = straight.nodes * [1.0, -1.0, 1.0] @ turn + [0.3, -2.0, 5.0]
    assert lay_on(moved, np.arange(4), base) == pytest.approx(straight.nodes, abs=1e-9)


def test_unknown_start_is_an_error(arm):
    with pytest.raises(InputError, match="random, collapsed, expanded"):
        arm.build_estimator("zero_length", start="upside down")


@pytest.mark.parametrize(("kept", "words"), [(None, "expected a shape"), (19, "a shape of 19 struts, the arm has 20")])
def test_a_start_that_is_no_shape_of_the_arm_is_refused(arm, straight, kept, words):
    shape = "a" if kept is None else dataclasses.replace(straight, nodes=straight.nodes[: 2 * kept])
    with pytest.raises(InputError, match=words):
        arm.build_estimator("zero_length").start_at(shape)
