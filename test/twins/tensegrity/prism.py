"""A prism of struts, the smallest tensegrity, whose twist is known in closed form."""

from pathlib import Path

import numpy as np
import yaml

RADIUS, HEIGHT = 0.1, 0.2  # [m]


def write_prism(folder: Path, sides: int, stretch: float) -> Path:
    """The file of a weightless prism on held bottoms, whose cords are shorter by `stretch` [m] than they are drawn."""
    around = 2.0 * np.pi * np.arange(sides) / sides
    bottoms, tops = _ring(around, 0.0), _ring(around + np.pi / 2.0 + np.pi / sides, HEIGHT)
    ends = {f"b{i}": point for i, point in enumerate(bottoms)} | {f"t{i}": point for i, point in enumerate(tops)}
    members, laws = [], {}
    for i in range(sides):
        after = (i + 1) % sides
        for group, one, other in (
            ("base", f"b{i}", f"b{after}"),
            ("top", f"t{i}", f"t{after}"),
            ("side", f"b{after}", f"t{i}"),
        ):
            members.append({"from": one, "to": other, "group": group})
            length = float(np.linalg.norm(ends[one] - ends[other])) - stretch
            laws[group] = {"law": "cord", "stiffness": 5000.0, "length": length}
    struts = [{"bottom": b.tolist(), "top": t.tolist()} for b, t in zip(bottoms, tops, strict=True)]
    robot = {
        "name": "prism",
        "kind": "tensegrity",
        "mounting_rpy_deg": [0.0, 0.0, 0.0],
        "structure": {"struts": struts, "members": members, "anchors": list(range(sides)), "node_mass": 0.0},
        "members": laws,
        "pressure": [0.0, 1e5],
        "zero_length": {
            "passive": 100.0,
            "active": 30.0,
            "position_rate": 0.001,
            "yaw_rate": 0.1,
            "steps_per_update": 20,
        },
        "emulated": {"cord_length": 0.0, "cylinder_stiffness_scale": 1.0, "force": 0.0, "inclination_deg": 0.0},
    }
    path = folder / "prism.yaml"
    path.write_text(yaml.safe_dump({"robot": robot}))
    return path


def _ring(angles: np.ndarray, height: float) -> np.ndarray:
    return np.column_stack([RADIUS * np.cos(angles), RADIUS * np.sin(angles), np.full(len(angles), height)])
