"""A beam whose end rests on a ball: the ball carries three eighths of its weight."""

import numpy as np

from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.constraints import Prescribed
from soft_twin.mechanics.contact import Contact, Sphere
from soft_twin.mechanics.loads import Gravity
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Model
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.solvers.equilibrium import equilibrium

WIDTH, LENGTH, RADIUS = 0.01, 0.2, 0.05  # [m]
DENSITY, G = 1000.0, 9.81  # [kg/m³], [m/s²]

mesh = voxel_mesh(np.ones((2, 2, 16)), np.array([WIDTH / 2, WIDTH / 2, LENGTH / 16]), "hex20r")
body = Body(mesh, Material(energy_named("neo_hookean", 1e8, 0.3), DENSITY))
ball = Sphere([WIDTH / 2, -RADIUS, LENGTH], RADIUS)  # its top touches the lower edge of the end
touch = Contact(ball, "tip")
solved = equilibrium(Model(body, [Gravity([0.0, -G, 0.0])], [Prescribed("base"), touch]))
push = touch.forces(solved.pose.points, solved.multipliers[1])

weight = DENSITY * WIDTH**2 * LENGTH * G
print(f"weight: {weight:.5f} N")
print(f"carried by the ball: {push[1]:.5f} N")
print(f"share: {push[1] / weight:.4f}")
print(f"penetration: {1e3 * touch.penetration(solved.pose.points):.6f} mm")
