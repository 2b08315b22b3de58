"""A made-up run of the slender robot: base through inclinations, tip errors and delays known in closed form."""

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation
from synthetic import Recorder, arc, joints, pose, shape, solver_status, xyz, xyzw

CABLES = [f"cable_{i}" for i in range(1, 7)]
LENGTH = 0.1  # [m]
START = {"without": 10.0, "with": 34.0}
SAG = {"without": 0.5, "with": 0.03}  # [rad] the tip's tilt when the base is horizontal
LATENCY = 0.012  # [s] of every cable command but each fiftieth
LATE = 0.045  # [s] of those
ANGLES = (90.0, 135.0, 90.0, 45.0, 0.0, -45.0, 90.0)


def base_inclination(time: float) -> float:
    """[rad] upright, then 2 s to each angle and 2 s of rest there."""
    leg, within = divmod(max(time, 0.0), 4.0)
    if leg >= len(ANGLES) - 1:
        return np.radians(ANGLES[-1])
    s = min(within / 2.0, 1.0)
    first, last = ANGLES[int(leg)], ANGLES[int(leg) + 1]
    return np.radians(first + (last - first) * (10 * s**3 - 15 * s**4 + 6 * s**5))


def body(inclination: float, name: str) -> np.ndarray:
    """(k, 3) sagging towards gravity, which is −9.81 (0, cos θ, sin θ) in the base's frame."""
    return arc(LENGTH, np.array([0.0, -SAG[name] * np.cos(inclination)]) + 1e-12)


def tip_error(inclination: float, name: str) -> float:
    return float(np.linalg.norm(body(inclination, name)[-1] - [0.0, 0.0, LENGTH]))


def write(path: Path, seed: int = 1) -> None:
    """The run: 10 s of warm-up, a pass without, a pause, a pass with compensation."""
    recorder = Recorder(path)
    noise = np.random.default_rng(seed)
    phases = {0.0: "warm-up", START["without"]: "without", 33.0: "between", START["with"]: "with", 57.0: "done"}
    for k, time in enumerate(np.arange(0.0, 58.0, 0.04)):
        for at in [at for at in phases if at <= time]:
            recorder.add("run/phase", "std_msgs/msg/String", at, {"data": phases.pop(at)})
        name = "with" if time >= START["with"] else "without"
        _add_moment(recorder, k, float(time), name, noise)
    recorder.close()


def _add_moment(recorder: Recorder, k: int, time: float, name: str, noise: np.random.Generator) -> None:
    inclination = base_inclination(time - START[name])
    points = body(inclination, name)
    turn = Rotation.from_rotvec([-(np.pi / 2 - inclination), 0.0, 0.0])
    tip_turn = Rotation.from_rotvec([SAG[name] * np.cos(inclination), 0.0, 0.0])
    world_from_base = turn.inv().as_quat()
    gravity = -9.81 * np.array([0.0, np.cos(inclination), np.sin(inclination)])
    limits = ["cable_1 tension low"] if k % 4 == 0 else []
    status = solver_status(0.004 + 0.001 * noise.random(), compensating=name == "with", limits=limits)
    delay = LATE if k % 50 == 0 else LATENCY
    recorder.add("truth/base", "geometry_msgs/msg/QuaternionStamped", time, {"quaternion": xyzw(world_from_base)})
    recorder.add("truth/tip", "geometry_msgs/msg/PoseStamped", time, pose(points[-1], tip_turn.as_quat()))
    recorder.add("twin/tip", "geometry_msgs/msg/PoseStamped", time, pose(points[-1] * 1.01), delay=0.01)
    recorder.add("gravity", "geometry_msgs/msg/Vector3Stamped", time, {"vector": xyz(gravity)}, delay=0.002)
    recorder.add("solver/status", "soft_twin_msgs/msg/SolverStatus", time, status, delay=0.009)
    if k % 5 == 0:
        recorder.add("truth/shape", "soft_twin_msgs/msg/Shape", time, shape(points))
    if name == "with":
        pull = 1.5e-3 * np.cos(inclination - np.arange(6))
        recorder.add("cables/command", "sensor_msgs/msg/JointState", time, joints(CABLES, pull), delay=delay)
        recorder.add("cables/state", "sensor_msgs/msg/JointState", time, joints(CABLES, 0.95 * pull), delay=0.001)
