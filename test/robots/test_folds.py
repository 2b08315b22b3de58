"""The wall of the bellows manipulator: what is smeared over it, against the folds that it stands for."""

import numpy as np
import pytest

import soft_twin
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.loads.loads import NodalLoad
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Model
from soft_twin.mesh.generate.sweep import Layer, Ring, sweep_stack
from soft_twin.mesh.selection import enclosed_volume
from soft_twin.solvers.equilibrium import equilibrium

MODULUS, POISSON, THICKNESS, DEPTH, LENGTH, RADIUS = 200e6, 0.45, 0.95e-3, 8e-3, 13.5e-3, 30.8e-3
RIM = 2e-3  # [m] radial, of the hard rings that sheets meet in
FORCE = 1.0  # [N]: small


def smeared() -> float:
    """N for each unit of strain of one bellows, from E_z = E p t³ / (2 (1 − ν²) h⁴)."""
    along = MODULUS * LENGTH * THICKNESS**3 / (2.0 * (1.0 - POISSON**2) * DEPTH**4)
    return along * 2.0 * np.pi * RADIUS * DEPTH


def fold() -> Model:
    """One fold, root to root: flat sheets between a ring at the root, halved, and one at the crest."""
    inner, outer = RADIUS - 0.5 * DEPTH, RADIUS + 0.5 * DEPTH
    root, crest = Ring(inner - RIM, inner, "rings"), Ring(outer, outer + RIM, "rings")
    sheet = Layer(THICKNESS, [root, Ring(inner, outer, "sheets", 12), crest], 1)
    half = 0.25 * LENGTH - 0.5 * THICKNESS
    mesh = sweep_stack([Layer(half, [root], 1), sheet, Layer(2.0 * half, [crest], 1), sheet, Layer(half, [root], 1)], 8)
    sheets = Material(energy_named("stable_neo_hookean", MODULUS, POISSON), 900.0, "sheets")
    rings = Material(energy_named("stable_neo_hookean", 100.0 * MODULUS, 0.3), 900.0, "rings")
    return Model(Body(mesh, [sheets, rings], "base"), [NodalLoad("tip", [0.0, 0.0, FORCE])])


def test_a_resolved_fold_gives_way_as_its_smeared_wall():
    model = fold()
    tip = np.unique(model.body.mesh.surface("tip"))
    longer = equilibrium(model).pose.points[tip, 2].mean() - model.body.mesh.nodes[tip, 2].mean()
    assert FORCE * LENGTH / longer == pytest.approx(smeared(), rel=0.05)


def test_the_wall_is_as_stiff_and_its_chambers_are_as_wide_as_three_bellows():
    mesh = soft_twin.load_robot("bellows").build_twin().body.mesh
    body = soft_twin.load_robot("bellows").description.body
    matrix, wound = body.materials[0], body.fibres[0]
    pitch = np.radians(wound.pitch_deg)
    along = matrix.young_modulus + wound.modulus * np.sin(pitch) ** 4
    sector = np.pi * (0.078**2 - 0.020**2) / 6.0
    chambers = [-enclosed_volume(mesh.nodes, mesh.surface(f"lower_{i}")) / 0.280 for i in (1, 2, 3)]
    np.testing.assert_allclose(chambers, sector, rtol=0.1)  # of chords of 30°
    assert sector == pytest.approx(np.pi * RADIUS**2, rel=0.01)
    assert along * (np.pi * (0.090**2 - 0.012**2) - 3.0 * sector) == pytest.approx(3.0 * smeared(), rel=0.03)
