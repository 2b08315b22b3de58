"""A membrane of two chambers whose shape is found in milliseconds, and sizes of what is learned that are enough for
it."""

from contextlib import contextmanager

import pytest
import yaml

import soft_twin

WIDTHS = [0.008, 0.03, 0.03, 0.008, 0.03, 0.03, 0.008]
CHAMBERS = ("left", "right")


def content(highest=3000.0):
    hollows = [{"name": name, "first": [1 + 3 * i, 1, 0], "last": [2 + 3 * i, 2, 0]} for i, name in enumerate(CHAMBERS)]
    voxels = {
        "cells": [7, 4, 2],
        "size": [0.144, 0.076, 0.012],
        "along_x": WIDTHS,
        "along_y": [0.008, 0.03, 0.03, 0.008],
        "along": [0.010, 0.002],
        "element": "hex20r",
        "hollows": hollows,
    }
    law = {"model": "stable_neo_hookean", "young_modulus": 250e3, "poisson_ratio": 0.45, "density": 1080.0}
    robot = {
        "name": "two_rooms",
        "kind": "fem",
        "body": {
            "mesh": {"voxels": voxels},
            "materials": [law],
            "damping": {"rayleigh_mass": 2.0, "rayleigh_stiffness": 0.005},
            "clamped": "base",
        },
        "chambers": [{"name": name, "surface": name, "pressure": [0.0, highest]} for name in CHAMBERS],
        "frames": {"tip": {"point": [0.0, 0.0, 0.012]}},
        "target": {"tip": [0.0, 0.0, 0.02]},
        "emulated": {"young_modulus_scale": 0.8},
    }
    learning = {
        "surface": "tip",
        "simulations": 12,
        "frames": 6,
        "unseen": 2,
        "seed": 1,
        "reality": {
            "second_constant": 0.2,
            "thickness": {"sheet": [0.010, 0.012], "deviation": 0.1, "length": 0.05},
            "fibres": [{"direction": [1.0, 0.0, 0.0], "modulus": 30e3}],
            "leak": 0.05,
            "creep": 0.06,
        },
        "scanner": {"eyes": [[0.1, -0.15, 0.2]], "points": 300},
        "markers": {"count": 12, "eyes": [[0.1, -0.15, 0.2], [-0.1, 0.15, 0.2]], "views": 1},
    }
    return {"robot": robot, "learning": learning}


def two_rooms(folder, **options):
    path = folder / "two_rooms.yaml"
    path.write_text(yaml.safe_dump(content(**options)), encoding="utf-8")
    return soft_twin.load_robot(path)


@contextmanager
def small_sizes():
    """Surfaces of fewer control points than a real body's, compared with scans at fewer points."""
    from soft_twin.learning import correction, teaching

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(teaching, "CONTROL_POINTS", (12, 12))
        for module in (correction, teaching):
            patch.setattr(module, "COMPARED", 225)
        yield
