"""A bent beam is let go: it swings with the period of Euler and Bernoulli, and keeps its energy."""

import numpy as np

from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.loads import Gravity
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Model
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.solvers.equilibrium import equilibrium
from soft_twin.solvers.time.integrators import CrankNicolson

WIDTH, LENGTH, E, DENSITY = 0.01, 0.2, 2e7, 1000.0  # [m], [m], [Pa], [kg/m³]

mesh = voxel_mesh(np.ones((1, 1, 10)), np.array([WIDTH, WIDTH, LENGTH / 10]), "hex20r")
gravity = Gravity([0.0, -9.81, 0.0])
model = Model(Body(mesh, Material(energy_named("stable_neo_hookean", E, 0.3), DENSITY), "base"), [gravity])
hanging = equilibrium(model)
gravity.vector = np.zeros(3)  # what bent it is gone

# ω = 1.8751² √(E I / (ρ A L⁴)), I / A = width² / 12
theory = 2 * np.pi / (1.8751**2 * np.sqrt(E * WIDTH**2 / (12 * DENSITY * LENGTH**4)))
moving = CrankNicolson(model, dt=theory / 60, pose=hanging.pose)
tip, before = np.unique(mesh.surfaces["tip"]), moving.energy()
times, heights = [0.0], [hanging.pose.points[tip, 1].mean() - WIDTH / 2]
for _ in range(130):
    moving.step()
    times.append(moving.time)
    heights.append(moving.pose.points[tip, 1].mean() - WIDTH / 2)

times, heights = np.array(times), np.array(heights)
rising = np.flatnonzero((heights[:-1] < 0) & (heights[1:] >= 0))  # through straight, upwards
crossings = times[rising] - heights[rising] * np.diff(times)[rising] / np.diff(heights)[rising]
print(f"bent by: {-1e3 * heights[0]:.3f} mm")
print(f"period: {1e3 * np.diff(crossings)[0]:.3f} ms")
print(f"theory: {1e3 * theory:.3f} ms")
print(f"energy left: {moving.energy() / before:.5f}")
