"""A beam of finite elements sags under its own weight as Timoshenko's theory says."""

import numpy as np

from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.loads import Gravity
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Model
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.solvers.equilibrium import equilibrium

WIDTH, LENGTH = 0.02, 0.2  # [m]
E, NU, DENSITY, G = 1e8, 0.3, 1000.0, 9.81  # [Pa], –, [kg/m³], [m/s²]

mesh = voxel_mesh(np.ones((2, 2, 20)), WIDTH / 2, "hex20r")
body = Body(mesh, Material(energy_named("neo_hookean", E, NU), DENSITY), "base")
solved = equilibrium(Model(body, [Gravity([0.0, -G, 0.0])]))
tip = np.unique(mesh.surfaces["tip"])
sag = (mesh.nodes - solved.pose.points)[tip, 1].mean()

area, inertia, load = WIDTH**2, WIDTH**4 / 12, DENSITY * WIDTH**2 * G
shear = 5 / 6 * area * E / (2 * (1 + NU))
theory = load * LENGTH**4 / (8 * E * inertia) + load * LENGTH**2 / (2 * shear)

print(f"{len(mesh.nodes)} nodes, {solved.iterations} Newton steps")
print(f"sag: {1e3 * sag:.4f} mm")
print(f"theory: {1e3 * theory:.4f} mm")
