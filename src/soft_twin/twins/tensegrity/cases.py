"""Load cases of a tensegrity arm, for benchmarks and experiments: pressures (c,) and a force at the tip (3,)."""

from dataclasses import dataclass

import numpy as np

from soft_twin.twins.tensegrity.forward import ForwardModel
from soft_twin.twins.tensegrity.model import ArmModel


@dataclass(frozen=True)
class LoadCase:
    """Gauge pressures (c,) [Pa] and tip_force (3,) in base_link [N]."""

    name: str
    pressures: np.ndarray
    tip_force: tuple[float, float, float] = (0.0, 0.0, 0.0)


def load_cases(model: ArmModel) -> list[LoadCase]:
    """Eight cases: straight at two pressures, two bends, curled, S-shaped, pulled at the tip, bent and pulled."""
    high = model.laws.pressure_range[1]
    straight = np.full(model.cylinder_count, high)
    return [
        LoadCase("straight", straight),
        LoadCase("straight, half pressure", 0.5 * straight),
        LoadCase("bend 30°", bending_pressures(model, azimuth=0.4, lowest=0.62)),
        LoadCase("bend 60°", bending_pressures(model, azimuth=2.0, lowest=0.32)),
        LoadCase("curled", bending_pressures(model, azimuth=-1.1, lowest=0.0)),
        LoadCase("S-shaped", bending_pressures(model, azimuth=1.0, lowest=0.2, turns=0.5)),
        LoadCase("pulled at the tip", straight, (3.0, -1.0, 0.0)),
        LoadCase("bent and pulled", bending_pressures(model, azimuth=0.4, lowest=0.62), (-0.5, 1.5, 0.0)),
    ]


def bending_pressures(model: ArmModel, azimuth: float, lowest: float, turns: float = 0.0) -> np.ndarray:
    """Pressures (c,) [Pa] that bend the arm towards an azimuth in base_link [rad].

    Where a cylinder sits is told from the arm without loads, which is straight however its base is turned.

    Args:
        lowest: pressure on the outer side as a share of the highest, which is on the inner side.
        turns: how often the bending direction turns around the arm from base to tip (0.5: an S).
    """
    high = model.laws.pressure_range[1]
    structure = model.structure
    unloaded = np.zeros((2 * structure.strut_count, 3))
    straight = ForwardModel(model).solve(model.laws.at(np.full(model.cylinder_count, high)), unloaded)
    nodes = (straight.pose.nodes(structure.strut_lengths) - structure.anchor_points.mean(axis=0)) @ model.level
    middles = nodes[structure.members[structure.active]].mean(axis=1)
    around = np.arctan2(middles[:, 1], middles[:, 0])
    height = np.where(middles[:, 2] > 0.5 * nodes[:, 2].max(), 1.0, 0.0)
    towards = 0.5 + np.cos(around - azimuth - 2.0 * np.pi * turns * height)
    return high * (lowest + (1.0 - lowest) * np.clip(towards, 0.0, 1.0))
