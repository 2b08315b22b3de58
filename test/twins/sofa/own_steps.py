"""What SOFA's stand-in answers, by our own finite elements."""

import numpy as np
from scipy.optimize import lsq_linear
from scipy.spatial.transform import Rotation

from soft_twin.mechanics.actuators.cables import CableActuators
from soft_twin.mechanics.actuators.chambers import Chambers
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.cables import Cables
from soft_twin.mechanics.constraints import RigidPlate
from soft_twin.mechanics.loads.loads import Gravity
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Model
from soft_twin.mechanics.unknowns import Pose
from soft_twin.mesh.elements import element_named
from soft_twin.mesh.mesh import Mesh
from soft_twin.solvers.time.driven_euler import DrivenEuler
from soft_twin.twins.finite_element import FemLinearisation, FemTwin


class Scene:
    """A body that is asked for steps."""

    def __init__(self, values: dict, arrays: dict):
        self._twin, self._tip, self._damping = twin_of(values, arrays), arrays["tip"], values.get("damping")

    def answer(self, question: str, values: dict, arrays: dict) -> dict:
        if question == "drive":
            return drive(self._twin, values, arrays, self._damping)
        if question == "step":
            found = [step(self._twin, values["gravity"], each, arrays) for each in arrays["efforts"]]
            return {name: np.array([each[name] for each in found]) for name in found[0]}
        return solve(self._twin, values["gravity"], arrays, self._tip)


def twin_of(values: dict, arrays: dict) -> FemTwin:
    mesh = Mesh(arrays["nodes"], arrays["cells"], element_named("tet4"))
    law = energy_named("corotational", float(arrays["moduli"][0]), values["poisson_ratio"])
    body = Body(mesh, Material(law, 0.0), arrays["clamped"])
    body.node_masses = arrays["masses"]
    plates = [np.flatnonzero(arrays["plate_of"] == i) for i in range(values["plates"])]
    actuators = []
    for i, told in enumerate(values["actuators"]):
        given = arrays[f"actuator_{i}"]
        if told["kind"] == "chamber":
            actuators.append(Chambers([given], [f"chamber {i}"]))
            continue
        if told["plate"] is None:
            cables = Cables.through(mesh, [given[[0, -1]]])
        else:
            cables = Cables.outside(mesh, given[:1], plates[told["plate"]], given[1:])
        actuators.append(CableActuators(cables, np.inf, [f"cable {i}"]))
    model = Model(body, [Gravity()], [RigidPlate(own) for own in plates], actuators=actuators)
    return FemTwin(model, float(mesh.size.max()))


def step(twin: FemTwin, gravity: list, efforts: np.ndarray, arrays: dict) -> dict:
    found = place(twin, gravity, arrays)
    return answer(twin, gravity, found, efforts)


def solve(twin: FemTwin, gravity: list, arrays: dict, tip: np.ndarray) -> dict:
    """Least squares within the limits of efforts."""
    found = place(twin, gravity, arrays)
    free, by_effort = (each[tip].mean(axis=0) for each in (found.free_step, found.step_per_effort))
    away = arrays["goal"] - twin.points[tip].mean(axis=0) - free
    weight = 1e-5 * np.abs(by_effort).max() * np.eye(len(by_effort.T))
    told = lsq_linear(
        np.vstack([by_effort, weight]), np.append(away, np.zeros(len(weight))), tuple(arrays["limits"][:, :2].T)
    ).x
    return answer(twin, gravity, found, told)


class Turning:
    """A base of which the loads on the nodes (n, 3) are known."""

    def __init__(self, gravity: list, loads: np.ndarray):
        self.gravity, self.loads = np.array(gravity), loads

    def inertial_forces(self, *_) -> np.ndarray:
        return self.loads


def drive(twin: FemTwin, values: dict, arrays: dict, damping: list) -> dict:
    """A step of our own, of which SOFA's is the first Newton step."""
    body, masses = twin.body, arrays["masses"]
    body.node_masses, body.mass, body.lumped_masses = masses, float(masses.sum()), lambda: masses
    twin.model.update_mass()
    dynamics = DrivenEuler(twin.model, values["dt"], mass_damping=damping[0], stiffness_damping=damping[1])
    rest = twin.model.rest
    dynamics.restart(Pose(arrays["points"], rest.centres, rest.rotations), arrays["velocities"], 0.0)
    dynamics.base = Turning(values["gravity"], arrays["loads"])
    dynamics.drive(arrays["wound"], np.full(len(arrays["wound"]), 1e-9))
    dynamics.step()
    return {"points": dynamics.pose.points, "velocities": dynamics.velocities, "efforts": dynamics.efforts}


def place(twin: FemTwin, gravity: list, arrays: dict) -> FemLinearisation:
    """The step from the poses. SOFA's stiffness knows neither how stress turns with the body nor how cables do, which
    nearly cancel; ours has the one, and so needs the efforts, which are those that balance the forces best."""
    twin.body.node_masses = arrays["masses"]
    rest, plates = twin.model.rest, arrays.get("plates")
    if plates is None:
        twin._pose = Pose(arrays["points"], rest.centres, rest.rotations)
    else:
        twin._pose = Pose(arrays["points"], plates[:, :3], Rotation.from_quat(plates[:, 3:]).as_matrix())
    reduced, pose = twin.model.unknowns.reduced, twin._pose
    gradients = reduced(twin.actuators.gradients(twin.points), pose)
    balanced = np.linalg.lstsq(gradients, -reduced(forces(twin, gravity), pose), rcond=None)[0]
    twin.efforts = np.maximum(balanced, twin.least_effort)
    return twin.linearise(np.array(gravity))


def forces(twin: FemTwin, gravity: list) -> np.ndarray:
    return twin.body.weight(np.array(gravity)) - twin.body.assemble(twin.points)[1]


def answer(twin: FemTwin, gravity: list, found, told: np.ndarray) -> dict:
    result = {"forces": forces(twin, gravity), "steps": found.free_step + found.step_per_effort @ told, "efforts": told}
    if twin.model.unknowns.plates:
        unknowns = found.steps[:, 0] + found.steps[:, 1:] @ told
        place_of = twin.model.unknowns._place[len(twin.points) :]
        result["plate_steps"] = unknowns.reshape(-1, 3)[place_of].reshape(-1, 6)
    return result
