"""The shape of an arm of twenty struts from nothing but how each of them leans."""

import numpy as np

import soft_twin
from soft_twin.twins.tensegrity.cases import load_cases
from soft_twin.twins.tensegrity.shape import mean_node_error

arm = soft_twin.load_robot("tm40")
case = next(case for case in load_cases(arm.model) if case.name == "bend 60°")
truth = arm.forward(case.pressures)
straight = arm.forward(np.full(arm.model.cylinder_count, arm.model.laws.pressure_range[1]))

noise = np.radians(0.5) * np.random.default_rng(0).normal(size=truth.strut_count)
shape = arm.build_estimator("energy").update(truth.inclinations + noise, case.pressures)
print(f"struts: {truth.strut_count}")
print(f"nodes of a straight arm: {1e3 * mean_node_error(straight, truth):.2f} mm off")
print(f"nodes by inclinations: {1e3 * mean_node_error(shape, truth):.2f} mm off")
