"""SOFA's side: a process that keeps scenes and steps them when it is asked. Run by SOFA's Python, which needs NumPy and
nothing of soft_twin.

A scene is SOFA's own statics: each step is Newton's, the implicit Euler solver of a body that has no inertia (first
order, one second, in which its masses are to its stiffness as nothing). Cables and chambers are the constraints of the
plugin SoftRobots, or, where the inverse is SOFA's too, actuators of SoftRobots.Inverse. Bodies with rigid plates have
six unknowns for each of those, and their nodes and all others meet in one mapped state that carries the elements.

A scene of a body in motion has its inertia, and steps of SOFA's own implicit Euler, which linearises where a step
begins, with Rayleigh damping of mass and stiffness; its cables are as long as winches leave them, or slack.

A message is JSON and then the bytes of the arrays that it names.
"""

import json
import os
import re
import sys
import traceback
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

PLUGINS = (
    "Sofa.Component.AnimationLoop",
    "Sofa.Component.Constraint.Lagrangian.Correction",
    "Sofa.Component.Constraint.Lagrangian.Solver",
    "Sofa.Component.Constraint.Projective",
    "Sofa.Component.LinearSolver.Direct",
    "Sofa.Component.Mapping.Linear",
    "Sofa.Component.Mapping.NonLinear",
    "Sofa.Component.Mass",
    "Sofa.Component.ODESolver.Backward",
    "Sofa.Component.SolidMechanics.FEM.Elastic",
    "Sofa.Component.StateContainer",
    "Sofa.Component.Topology.Container.Constant",
    "Sofa.Component.Topology.Container.Dynamic",
)
LOADS = "Sofa.Component.MechanicalLoad"  # of bodies in motion
ACTUATORS, INVERSE = "SoftRobots", "SoftRobots.Inverse"
CONSTRAINT_SOLVERS = ("BlockGaussSeidelConstraintSolver", "GenericConstraintSolver")  # the first that there is
TIME_STEP = 1.0  # [s]: impulses of constraints are forces, velocities are steps
ROTATION = "polar"  # SOFA's method of finding that of a tetrahedron: with `large` it is further from our law
EPSILON = 1e-6  # SOFA's weight of the energy that actuators spend; its default of 1e-3 leaves the tip 0.6 mm short

Arrays = dict[str, np.ndarray]


def send(connection: Connection, values: dict[str, Any], arrays: Arrays | None = None) -> None:
    """A message of plain values and arrays of numbers."""
    arrays = {name: np.ascontiguousarray(array) for name, array in (arrays or {}).items()}
    heads = [[name, array.dtype.str, array.shape] for name, array in arrays.items()]
    connection.send_bytes(json.dumps([values, heads]).encode())
    for array in arrays.values():
        connection.send_bytes(array.tobytes())


def receive(connection: Connection) -> tuple[dict[str, Any], Arrays]:
    """The next message; waits for it.

    Raises:
        EOFError, OSError: the other side is gone.
    """
    values, heads = json.loads(connection.recv_bytes())
    arrays = {name: np.frombuffer(connection.recv_bytes(), dtype).reshape(shape).copy() for name, dtype, shape in heads}
    return values, arrays


class Scene:
    """One body in SOFA.

    Attributes:
        has_inverse: its actuators are the inverse's.
    """

    def __init__(self, values: dict[str, Any], arrays: Arrays, has_inverse: bool):
        """See soft_twin.twins.sofa.scene for what is in a scene."""
        import Sofa.Core
        import Sofa.Simulation

        self._simulation, self.has_inverse = Sofa.Simulation, has_inverse
        self._values, self._arrays, self._masses = values, arrays, arrays["masses"]
        self.root = Sofa.Core.Node("root")
        self.root.dt.value = TIME_STEP
        self.root.addObject("FreeMotionAnimationLoop", computeBoundingBox=False)
        if has_inverse:
            self.root.addObject("QPInverseProblemSolver", epsilon=EPSILON)
        else:
            _add_first(self.root, CONSTRAINT_SOLVERS, maxIterations=1000, tolerance=1e-12)
        body = self.root.addChild("body")
        body.addObject("EulerImplicitSolver", **self._solver())
        body.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
        body.addObject("GenericConstraintCorrection")
        self._states: list[tuple[Any, np.ndarray]] = []  # of nodes that are free to move by themselves, and which
        self._plates = None
        self._elements = self._add_body(body)
        self._actuators = [self._add_actuator(i, each) for i, each in enumerate(values["actuators"])]
        if has_inverse:
            self._goal = self._add_effector()
        Sofa.Simulation.initRoot(self.root)

    def _solver(self) -> dict[str, Any]:
        """Settings of the implicit Euler solver."""
        return {"firstOrder": True, "rayleighMass": 0.0, "rayleighStiffness": 0.0}

    def _pulled(self) -> dict[str, Any]:
        """Settings of a cable."""
        return {"minForce": 0.0} if self.has_inverse else {"valueType": "force", "value": [0.0], "minForce": 0.0}

    def step(self, gravity: list[float], efforts: np.ndarray, poses: Arrays) -> Arrays:
        """Newton's step from some poses with the actuators at efforts (a,)."""
        self._place(gravity, poses)
        for own, given in zip(self._actuators, efforts, strict=True):
            own.value.value = [float(given)]
        return self._stepped()

    def solve(self, gravity: list[float], goal: np.ndarray, limits: np.ndarray, poses: Arrays) -> Arrays:
        """SOFA's own inverse step, towards a goal of the tip, with limits (a, 4) of efforts and coordinates."""
        self._place(gravity, poses)
        for own, (low, high, lowest, highest) in zip(self._actuators, limits, strict=True):
            if own.getClassName() == "CableActuator":
                own.minForce.value, own.maxForce.value = low, high
                own.maxNegativeDisp.value, own.maxPositiveDisp.value = -lowest, highest
            else:
                own.minPressure.value, own.maxPressure.value = low, high
            own.reinit()
        self._goal.effectorGoal.value = [goal.tolist()]
        return self._stepped()

    def go_on(self, gravity: Sequence[float]) -> None:
        """A further step as the last one, from where it led, under another gravity."""
        self.root.gravity.value = gravity
        self._simulation.animate(self.root, TIME_STEP)

    def _place(self, gravity: list[float], poses: Arrays) -> None:
        self.root.gravity.value = gravity
        if not np.array_equal(poses["masses"], self._masses):
            self._masses = poses["masses"]
            self._mass.vertexMass.value = self._masses.tolist()
        for state, own in self._states:
            state.reset_position.value = poses["points"][own]
        if self._plates is not None:
            self._plates.reset_position.value = poses["plates"]
        self._simulation.reset(self.root)

    def _stepped(self) -> Arrays:
        self._simulation.animate(self.root, TIME_STEP)
        found = {
            "forces": np.array(self._elements.force.value),
            "steps": TIME_STEP * np.array(self._elements.velocity.value),
            "efforts": np.array([_effort(each) for each in self._actuators]) / TIME_STEP,
        }
        if self._plates is not None:
            found["plate_steps"] = TIME_STEP * np.array(self._plates.velocity.value)
        return found

    def _add_body(self, body: Any) -> Any:
        """The elements, and what they are of; the state that has all nodes."""
        arrays, values = self._arrays, self._values
        plate_of = arrays["plate_of"]
        if not values["plates"]:
            self._add_state(body, np.arange(len(plate_of)))
            state, node = self._states[0][0], body
        else:
            node, state = self._add_plated(body, plate_of)
        node.addObject("MeshTopology", position=arrays["nodes"].tolist(), tetrahedra=arrays["cells"].tolist())
        moduli = arrays["moduli"]
        node.addObject(
            "TetrahedronFEMForceField",
            method=ROTATION,
            youngModulus=moduli.tolist() if np.ptp(moduli) > 0.0 else float(moduli[0]),
            poissonRatio=values["poisson_ratio"],
        )
        self._mass = node.addObject("DiagonalMass", vertexMass=arrays["masses"].tolist())
        self._node = node
        return state

    def _add_state(self, node: Any, own: np.ndarray) -> Any:
        arrays = self._arrays
        state = node.addObject("MechanicalObject", template="Vec3d", position=arrays["nodes"][own].tolist())
        clamped = np.flatnonzero(np.isin(own, arrays["clamped"]))
        if len(clamped):
            node.addObject("FixedProjectiveConstraint", indices=clamped.tolist())
        self._states.append((state, own))
        return state

    def _add_plated(self, body: Any, plate_of: np.ndarray) -> tuple[Any, Any]:
        """Free nodes, rigid plates, and the node of the graph where both meet."""
        nodes = self._arrays["nodes"]
        free = np.flatnonzero(plate_of < 0)
        soft = body.addChild("soft")
        soft_state = self._add_state(soft, free)
        rigid = body.addChild("plates")
        centres = self._arrays["centres"]
        frames = np.hstack([centres, np.tile([0.0, 0.0, 0.0, 1.0], (len(centres), 1))])
        self._plates = rigid.addObject("MechanicalObject", template="Rigid3d", position=frames.tolist())
        on = np.flatnonzero(plate_of >= 0)
        carried = rigid.addChild("carried")
        carried_state = carried.addObject("MechanicalObject", template="Vec3d", position=nodes[on].tolist())
        carried.addObject("RigidMapping", rigidIndexPerPoint=plate_of[on].tolist(), globalToLocalCoords=True)
        elements = soft.addChild("elements")
        carried.addChild(elements)
        pairs = np.zeros((len(nodes), 2), dtype=int)
        pairs[free, 1], pairs[on, 1] = np.arange(len(free)), np.arange(len(on))
        pairs[on, 0] = 1
        state = elements.addObject("MechanicalObject", template="Vec3d", position=nodes.tolist())
        elements.addObject(
            "SubsetMultiMapping",
            template="Vec3d,Vec3d",
            input=[soft_state.getLinkPath(), carried_state.getLinkPath()],
            output=state.getLinkPath(),
            indexPairs=pairs.ravel().tolist(),
        )
        return elements, state

    def _add_actuator(self, index: int, values: dict[str, Any]) -> Any:
        given = self._arrays[f"actuator_{index}"]
        role = "Actuator" if self.has_inverse else "Constraint"
        if values["kind"] == "chamber":
            extra = {} if self.has_inverse else {"valueType": "pressure", "value": [0.0]}
            extra |= {"triangles": given.tolist(), "flipNormal": True}  # pressure acts against the outward normal
            return self._node.addObject(f"SurfacePressure{role}", name=f"chamber_{index}", **extra)
        if values["plate"] is None:
            way = self._node.addChild(f"cable_{index}")
            way.addObject("MechanicalObject", template="Vec3d", position=given.tolist())
            way.addObject("BarycentricMapping", mapForces=False, mapMasses=False)
            pulled = {"hasPullPoint": False, "indices": list(range(len(given)))}
        else:
            way = self._plates.getContext().addChild(f"cable_{index}")
            local = (given[1:] - self._arrays["centres"][values["plate"]]).tolist()
            way.addObject("MechanicalObject", template="Vec3d", position=local)
            way.addObject("RigidMapping", index=values["plate"], globalToLocalCoords=False)
            pulled = {"pullPoint": given[0].tolist(), "indices": [0]}
        return way.addObject(f"Cable{role}", name=f"cable_{index}", **pulled, **self._pulled())

    def _add_effector(self) -> Any:
        """The mean of the tip's nodes."""
        tip = self._node.addChild("tip")
        own = self._arrays["tip"]
        tip.addObject("MechanicalObject", template="Vec3d", position=self._arrays["nodes"][own].tolist())
        tip.addObject("SubsetMapping", indices=own.tolist())
        middle = self._arrays["nodes"][own].mean(axis=0).tolist()
        return tip.addObject("BarycentricCenterEffector", effectorGoal=[middle], limitShiftToTarget=False)


class Motion(Scene):
    """One body in SOFA that moves: without rigid plates, with cables alone."""

    def __init__(self, values: dict[str, Any], arrays: Arrays):
        """`values` as of a scene, and `damping`: Rayleigh's α [1/s] and β [s]."""
        super().__init__(values, arrays, False)

    def _solver(self) -> dict[str, Any]:
        alpha, beta = self._values["damping"]
        return {"firstOrder": False, "rayleighMass": alpha, "rayleighStiffness": beta}

    def _pulled(self) -> dict[str, Any]:
        return {"valueType": "displacement", "value": [0.0], "minForce": 0.0}

    def _add_body(self, body: Any) -> Any:
        state = super()._add_body(body)
        count = len(self._arrays["nodes"])
        self._loads = self._node.addObject(
            "ConstantForceField", indices=list(range(count)), forces=np.zeros((count, 3)).tolist()
        )
        return state

    def drive(self, gravity: list[float], dt: float, arrays: Arrays) -> Arrays:
        """A step of `dt` [s] from points and velocities (n, 3) with nodal loads (n, 3) [N], to cables that are wound in
        by (a,) [m] at its end."""
        self._place(gravity, arrays)
        for state, own in self._states:
            state.velocity.value = arrays["velocities"][own]
        self._loads.forces.value = arrays["loads"].tolist()
        for own, given in zip(self._actuators, arrays["wound"], strict=True):
            own.value.value = [float(given)]
        self.root.dt.value = dt
        self._simulation.animate(self.root, dt)
        return {
            "points": np.array(self._elements.position.value),
            "velocities": np.array(self._elements.velocity.value),
            "efforts": np.array([_effort(each) for each in self._actuators]) / dt,
        }


def _effort(actuator: Any) -> float:
    """Impulse of a cable [N s], or of a chamber [Pa s], in the last step."""
    return float((actuator.force if "Cable" in actuator.getClassName() else actuator.pressure).value)


def _add_first(node: Any, names: tuple[str, ...], **settings: Any) -> None:
    """The first of the components that this SOFA has."""
    for name in names:
        try:
            node.addObject(name, **settings)
            return
        except ValueError:
            if name == names[-1]:
                raise


def load(plugins: Sequence[str]) -> None:
    """Load plugins of SOFA.

    Raises:
        ImportError: SOFA's Python, or one of the plugins, is not there.
    """
    import SofaRuntime

    for plugin in plugins:
        if not SofaRuntime.importPlugin(plugin):
            raise ImportError(f"SOFA has no plugin {plugin}")


def version() -> str:
    """Of SOFA, as its libraries that are loaded are named, such as "25.06.00"; "" where they do not say it."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as stream:
            found = re.search(r"libSofa\.Core\.so\.(\d+(?:\.\d+)+)", stream.read())
    except OSError:  # no such system
        return ""
    return found.group(1) if found else ""


class Worker:
    """Answers messages until the other side is gone."""

    def __init__(self, connection: Connection):
        self._connection = connection
        self._scenes: dict[bool, Scene] = {}

    def serve(self) -> None:
        """Answer, one message after the other."""
        while True:
            try:
                values, arrays = receive(self._connection)
            except (EOFError, OSError):
                return
            try:
                answer = getattr(self, f"_{values.pop('ask')}")(values, arrays)
            except Exception as error:  # whatever goes wrong in SOFA is told to those who asked
                traceback.print_exc()
                send(self._connection, {"error": f"{type(error).__name__}: {error}"})
            else:
                send(self._connection, *answer)

    def _start(self, values: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
        """A scene; whether SOFA's own inverse can be asked for it."""
        load([*PLUGINS, ACTUATORS] if values["actuators"] else PLUGINS)
        if "damping" in values:
            load([LOADS])
            self._scenes = {False: Motion(values, arrays)}
            return {"inverse": False, "version": version()}, {}
        try:
            load([INVERSE])
            inverse = {each["kind"] for each in values["actuators"]} == {"cable"}  # to chambers it gives no pressure
        except (ImportError, RuntimeError):
            inverse = False
        self._given = values, arrays
        self._scenes = {False: Scene(values, arrays, False)}
        return {"inverse": inverse, "version": version()}, {}

    def _step(self, values: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
        """A Newton step for each set of efforts (s, a)."""
        sets = arrays.pop("efforts")
        found = [self._scenes[False].step(values["gravity"], each, arrays) for each in sets]
        return {}, {name: np.array([each[name] for each in found]) for name in found[0]}

    def _drive(self, values: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
        """A step of a body in motion."""
        return {}, self._scenes[False].drive(values["gravity"], values["dt"], arrays)

    def _solve(self, values: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
        """A step of SOFA's own inverse."""
        if True not in self._scenes:
            self._scenes[True] = Scene(*self._given, True)
        goal, limits = arrays.pop("goal"), arrays.pop("limits")
        return {}, self._scenes[True].solve(values["gravity"], goal, limits, arrays)


def main() -> None:
    """The descriptor of the connection is the only argument."""
    os.dup2(2, 1)  # what SOFA says goes to standard error
    Worker(Connection(int(sys.argv[1]))).serve()


if __name__ == "__main__":
    main()
