"""A chamber that is driven by volume is followed past the pressure at which a driven pressure would burst it."""

import numpy as np
from scipy.integrate import simpson

from soft_twin.mechanics.actuators.chambers import Chambers
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.constraints import Driven
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Model
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.solvers.equilibrium import equilibrium

grid = np.ones((4, 4, 4), dtype=bool)
grid[1:3, 1:3, 1:3] = False  # a cube of 40 mm with a room of 20 mm in it
mesh = voxel_mesh(grid, 0.01, "hex8f")
rubber = Material(energy_named("neo_hookean", 1e5, 0.45), density=1000.0)
air = Driven(Chambers(["chamber 1"]), [0.0])
model = Model(Body(mesh, rubber, mesh.nodes[:, 2] < 1e-9), [], [air])

room, shares = 0.02**3, np.linspace(0.0, 12.0, 13)
pressures, pose = [], None
for share in shares:
    air.coordinates[0] = share * room
    solved = equilibrium(model, pose)
    pose = solved.pose
    pressures.append(air.efforts(pose.points, solved.multipliers[0])[0])
    print(f"  {share:.0f} rooms let in: {1e-3 * pressures[-1]:.2f} kPa")

pressures = np.array(pressures)
highest = int(pressures.argmax())
print(f"highest: {1e-3 * pressures[highest]:.3f} kPa at {shares[highest]:.1f} rooms")
print(f"last: {1e-3 * pressures[-1]:.3f} kPa")
print(f"work of the air: {1e3 * simpson(pressures, x=shares * room):.2f} mJ")
print(f"elastic energy: {1e3 * solved.assembled.energy:.2f} mJ")
