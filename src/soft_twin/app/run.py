"""`soft-twin run ROBOT`: the whole loop on emulated hardware, without and with compensation, and a report.

A robot whose description has the node `pose_to_cables` holds the orientation of its plate, with a payload, too. With
`--weights` the robot takes a shape, see `shape_run`."""

import argparse
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from soft_twin import load_robot
from soft_twin.app import shape_run
from soft_twin.app.folders import writable
from soft_twin.descriptions.mistakes import mistake_at
from soft_twin.emulation.base_motion import RecordedMotion, inclinations
from soft_twin.emulation.imu_bench import calibrate_on_bench
from soft_twin.errors import InputError, RunError, UsageError
from soft_twin.recording.bag_metadata import write_metadata
from soft_twin.recording.writer import claimed
from soft_twin.robots.base import DrivenRobot, Robot
from soft_twin.robots.cable_tube import CableTube
from soft_twin.robots.fem_robot import FemRobot
from soft_twin.robots.tensegrity import TensegrityArm
from soft_twin.sensing.broad import read_broad
from soft_twin.sensing.imu_calibration import calibration_beside
from soft_twin.viewing.window import PORT, check_viewable

if TYPE_CHECKING:
    from soft_twin_ros.running.sequence import RunSequence

RECORDING = "run.mcap"
OF_A_RUN = ("metadata.yaml", "report.json", "report.png", "frames/frames.csv")  # beside its recording
WARM_UP, QUICK_WARM_UP = 10.0, 2.0  # [s]
PROFILE = {"inclinations_deg": [135.0, 90.0, 45.0, 0.0, -45.0], "move_time": 2.0, "hold_time": 2.0}
QUICK_ATTITUDES, QUICK_SHARE = slice(2, 4), 0.5  # of a profile's attitudes, and of its times, where it is to be quick
RECORDING_TIME, QUICK_RECORDING_TIME = 25.0, 5.0  # [s] of a recording, unless more is asked for
SWEEPS = 3  # of an arm that moves by itself
ARM_WARM_UP, QUICK_ARM_WARM_UP = 2.0, 0.5  # [s]
REST = 1.0  # [s] before a recording's first movement
TARES = [[20.0, 15.0], [-20.0, 10.0], [0.0, -22.0]]  # [°] of a plate that is held: pitch and roll, see PlateTurns
AIMS = [[-25.0, 10.0], [15.0, -20.0], [10.0, 22.0]]
AIM_TIME, QUICK_AIM_TIME = 3.0, 2.0  # [s]
PAYLOAD = 0.5  # [kg]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", help="name of a robot in config/, or path of a description")
    parser.add_argument("--imu", type=Path, metavar="FILE", help="a real IMU recording (BROAD's .mat) moves the base")
    parser.add_argument(
        "--start", type=float, metavar="S", help="second of the recording to begin with; default: its first movement"
    )
    parser.add_argument(
        "--duration", type=float, metavar="S", help=f"seconds of it to play; default {RECORDING_TIME:g}"
    )
    parser.add_argument(
        "--weights", type=Path, metavar="FILE", help="written by `soft-twin train`: the robot takes a shape instead"
    )
    parser.add_argument(
        "--pressures", metavar="PA,…", help="with --weights: whose shape it is, a chamber each; default: half of each"
    )
    kinds = "a mesh (.stl, .ply, .obj, .off) or a cloud (.ply, .csv), in metres"
    parser.add_argument("--target", type=Path, metavar="FILE", help=f"with --weights, instead: {kinds}")
    parser.add_argument(
        "--pose", choices=("fixed", "free"), help="of a --target: in base_link (default), or moved to where it fits"
    )
    parser.add_argument(
        "--scanner", action="store_true", help="an emulated scanner, and motion capture, see a surface that is learned"
    )
    parser.add_argument(
        "--scans",
        type=int,
        metavar="N",
        help="stand at N pressures before an emulated scanner: a recording that trains",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="where the results go; default out/ROBOT")
    parser.add_argument("--view", action="store_true", help="show it in a browser meanwhile, see `soft-twin view`")
    parser.add_argument("--port", type=int, metavar="N", help=f"with --view: of http://127.0.0.1; default {PORT}")
    parser.add_argument("--quick", action="store_true", help="a short run: fewer attitudes, less time at each")


def run(arguments: argparse.Namespace) -> int:
    robot = load_robot(arguments.robot)
    if arguments.view:
        check_viewable(_port(arguments))
    else:
        _refuse(arguments, ("port",), "without --view")
    if arguments.scans is not None:
        return _be_scanned(robot, arguments)
    if arguments.weights is not None:
        return _take_shape(robot, arguments)
    _refuse(arguments, ("pressures", "target", "pose"), "without --weights")
    if arguments.imu is None:
        _refuse(arguments, ("start", "duration"), "without --imu")
    make = SEQUENCES.get(type(robot))
    if make is None:
        raise UsageError(f"'{robot.name}' has no sequence to run: try `ros2 launch soft_twin {robot.name}.launch.py`")
    _check_nodes(robot, scanner=arguments.scanner)
    sequence = make(robot, arguments)
    folder = _folder(robot, arguments)
    path = _recorded_run(robot, sequence, folder, arguments.scanner, _port(arguments))
    _report(path, folder, robot, source=arguments.imu.stem if arguments.imu else "profile")
    return 0


def _report(path: Path, folder: Path, robot: Robot, source: str) -> None:
    """Write the report of a recorded run, and tell it."""
    from soft_twin.recording.report import table, write_report  # libraries for pictures: no start waits for them

    report = write_report(path, folder, robot, source)
    print(f"\n{table(report)}\n\n{folder}: run.mcap, report.json, report.png")


def _refuse(arguments: argparse.Namespace, options: Sequence[str], where: str) -> None:
    """See that none of these options was given.

    Raises:
        UsageError: one was, which is of no use there.
    """
    for option in options:
        value = getattr(arguments, option)
        if value is not None and value is not False:
            given = f"--{option}" if value is True else f"--{option} {value}"
            raise UsageError(f"{given}: of no use {where}, leave it out")


def _be_scanned(robot: Robot, arguments: argparse.Namespace) -> int:
    from soft_twin.app import scans_run

    _refuse(arguments, ("weights", "imu", "start", "duration", "pressures", "target", "pose", "quick"), "to --scans")
    _check_nodes(robot, scanner=True)
    sequence = scans_run.stands_of(robot, arguments.scans)
    folder = _free(arguments.out or Path("out") / f"{robot.name}_scans")
    path = _recorded_run(robot, sequence, folder, True, _port(arguments))
    print(f"\n{scans_run.told_frames(robot, path, folder)}")
    return 0


def _take_shape(robot: Robot, arguments: argparse.Namespace) -> int:
    if arguments.imu is not None:
        raise UsageError(f"--imu {arguments.imu}: the base stands while '{robot.name}' takes a shape, leave it out")
    if arguments.target is not None and arguments.pressures is not None:
        raise UsageError(f"--target {arguments.target} --pressures {arguments.pressures}: give one of them")
    if arguments.pose is not None and arguments.target is None:
        raise UsageError(f"--pose {arguments.pose}: of a --target, which is not given")
    _check_nodes(robot, weights=arguments.weights, scanner=arguments.scanner)
    correction = shape_run.weights_of(robot, arguments.weights)
    if arguments.target is not None:
        goal = shape_run.goal_from_file(correction, robot, arguments.target, arguments.pose or "fixed")
    else:
        pressures = shape_run.asked_pressures(robot, correction.shapes.limits, arguments.pressures)
        goal = shape_run.goal_by_pressures(correction, pressures)
    folder = _free(arguments.out or Path("out") / f"{robot.name}_shape")
    sequence = shape_run.shape_sequence(folder, goal, arguments.weights, arguments.quick)
    path = _recorded_run(robot, sequence, folder, arguments.scanner, _port(arguments))
    report = shape_run.write_shape_report(path, folder, robot, correction, goal)
    print(f"\n{shape_run.shape_table(report)}\n\n{folder}: run.mcap, report.json, target.csv")
    return 0


def _port(arguments: argparse.Namespace) -> int | None:
    """Of the view in a browser; None where there is to be none."""
    if not arguments.view:
        return None
    return PORT if arguments.port is None else arguments.port


@contextmanager
def _viewed(port: int | None, variables: Mapping[str, str]) -> Iterator[None]:
    """A process of its own shows the run in a browser meanwhile; `variables`: of the nodes' environment."""
    from soft_twin_ros.parent import ENDS_WITH

    if port is None:
        yield
        return
    command = [sys.executable, "-m", "soft_twin.app.cli", "view", "--port", str(port)]
    process = subprocess.Popen(command, env={**variables, ENDS_WITH: str(os.getpid())})
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def _recorded_run(robot: Robot, sequence: "RunSequence", folder: Path, scanner: bool, port: int | None = None) -> Path:
    """Run a sequence; where it was recorded. What a run before has left there is removed.

    Raises:
        RunError: a node ended or stayed in error.
        KeyboardInterrupt: it was asked to end.
    """
    from soft_twin_ros.running.processes import environment
    from soft_twin_ros.running.run import run as run_robot

    variables = environment(folder / "log")
    path = folder / RECORDING
    for name in (*OF_A_RUN, RECORDING):
        (folder / name).unlink(missing_ok=True)
    print(f"{robot.name} on emulated hardware, in ROS domain {variables['ROS_DOMAIN_ID']}", flush=True)
    try:
        with _viewed(port, variables):
            run_robot(robot, sequence, path, variables, scanner)
    except RunError as error:
        raise RunError(f"{error}; recorded until then: {path}" if path.exists() else str(error)) from error
    except KeyboardInterrupt:
        print(f"interrupted; recorded until then: {path if path.exists() else 'nothing'}", flush=True)
        raise
    finally:
        write_metadata(path)
    return path


def _base_turns(robot: DrivenRobot, arguments: argparse.Namespace) -> "RunSequence":
    """The base turns as the arguments ask; files and times are checked here, before anything is started."""
    from soft_twin_ros.running.base_turns import BaseTurns
    from soft_twin_ros.running.graph import solver_of

    warm_up = QUICK_WARM_UP if arguments.quick else WARM_UP
    if arguments.imu is not None:
        emulation, duration = _recorded(arguments)
        calibration_beside(_folder(robot, arguments) / RECORDING).unlink(missing_ok=True)
        return BaseTurns(emulation, robot.target_tip, duration, warm_up, solver=solver_of(robot))
    profile = _profile(robot, arguments.quick)
    motion = inclinations(profile["inclinations_deg"], profile["move_time"], profile["hold_time"])
    holds = {phase: f"{phase}°" for phase in motion.holds}
    calibration = _calibrated(robot, _folder(robot, arguments))
    return BaseTurns(profile, robot.target_tip, motion.duration, warm_up, holds, solver_of(robot), calibration)


def _calibrated(robot: DrivenRobot, folder: Path) -> str:
    """The calibration file of the board in the base, which is calibrated on a bench before it is put there; empty:
    there is none, or its calibration is the description's."""
    path = calibration_beside(folder / RECORDING).resolve()
    path.unlink(missing_ok=True)
    if robot.nodes.get("imu_to_gravity", {}).get("calibration") or all(place.plate for place in robot.imus):
        return ""
    own = robot.nodes.get("emulated_robot", {})
    calibrate_on_bench(robot, path, **{name: own[name] for name in ("seed", "ambient") if name in own})
    return str(path)


def _held_or_turned(robot: FemRobot, arguments: argparse.Namespace) -> "RunSequence":
    """Its plate's orientation is held where the description has the node for that, else its tip."""
    from soft_twin_ros.running.graph import POSE

    return _plate_turns(robot, arguments) if POSE in robot.nodes else _base_turns(robot, arguments)


def _plate_turns(robot: FemRobot, arguments: argparse.Namespace) -> "RunSequence":
    """Likewise of a robot that holds its plate."""
    from soft_twin_ros.running.graph import POSE
    from soft_twin_ros.running.plate_turns import PlateTurns

    own, quick = robot.nodes[POSE], arguments.quick
    if arguments.imu is not None:
        emulation, duration = _recorded(arguments)
        holds = {}
    else:
        emulation = _profile(robot, quick)
        motion = inclinations(emulation["inclinations_deg"], emulation["move_time"], emulation["hold_time"])
        duration, holds = motion.duration, {phase: f"{phase}°" for phase in motion.holds}
    return PlateTurns(
        emulation=emulation,
        target=[own.get("pitch_deg", 0.0), own.get("roll_deg", 0.0)],
        duration=duration,
        warm_up=QUICK_WARM_UP if quick else WARM_UP,
        tares=TARES[:1] if quick else TARES,
        aims=AIMS[:1] if quick else AIMS,
        aim_time=QUICK_AIM_TIME if quick else AIM_TIME,
        payload=PAYLOAD,
        plate_imu=robot.plate_imu.name,
        holds=holds,
    )


def _profile(robot: DrivenRobot, quick: bool) -> dict[str, Any]:
    """How the base turns: as the description says for the node `emulated_robot`, else by PROFILE; shortened where it
    is to be quick.

    Raises:
        DescriptionError: the description says no inclinations or no times.
    """
    own = robot.nodes.get("emulated_robot", {})
    profile = {name: own.get(name, value) for name, value in PROFILE.items()}
    for name in own.keys() & profile.keys():
        try:
            inclinations(*(PROFILE | {name: own[name]}).values())
        except InputError as error:
            raise mistake_at(robot.path, ["nodes", "emulated_robot", name], str(error)) from error
    if not quick:
        return profile
    attitudes = profile["inclinations_deg"]
    times = {name: QUICK_SHARE * profile[name] for name in ("move_time", "hold_time")}
    return {"inclinations_deg": attitudes[QUICK_ATTITUDES] or attitudes[:2]} | times


def _recorded(arguments: argparse.Namespace) -> tuple[dict[str, Any], float]:
    """Parameters of the emulated robot whose base a recording moves, and for how long [s]."""
    trial = read_broad(arguments.imu)
    start = arguments.start
    if start is None:
        start = max(float(np.argmax(trial.movement)) / trial.rate - REST, 0.0)
    duration = arguments.duration
    if duration is None:
        available = (len(trial.movement) - 1) / trial.rate - start
        duration = min(QUICK_RECORDING_TIME if arguments.quick else RECORDING_TIME, available)
    try:
        RecordedMotion(trial, start, duration)
    except InputError as error:
        raise UsageError(f"--start, --duration: {error}") from error
    part = {"recording": str(arguments.imu.resolve()), "start": float(start), "duration": float(duration)}
    return part, duration


def _folder(robot: Robot, arguments: argparse.Namespace) -> Path:
    """Where the results go."""
    return _free(arguments.out or Path("out") / robot.name)


def _free(folder: Path) -> Path:
    """A folder that can be written into, and that no other run records into.

    Raises:
        UsageError, RecordingError: it cannot, or one does.
    """
    path = writable(folder) / RECORDING
    if path.exists():
        claimed(path).close()
    return folder


def _arm_bends(robot: TensegrityArm, arguments: argparse.Namespace) -> "RunSequence":
    """The arm moves by itself, and its base stands."""
    from soft_twin.emulation.tensegrity_arm import PHASES, SWEEP
    from soft_twin_ros.running.arm_bends import ArmBends

    if arguments.imu is not None:
        raise UsageError(f"--imu {arguments.imu}: nothing moves the base of '{robot.name}', leave it out")
    warm_up = QUICK_ARM_WARM_UP if arguments.quick else ARM_WARM_UP
    return ArmBends({}, SWEEP if arguments.quick else SWEEPS * SWEEP, warm_up, tuple(PHASES))


def _check_nodes(robot: Robot, **options: Any) -> None:
    """See that the nodes of a run can be started, and that none of them runs already.

    Raises:
        UsageError: they cannot, or one does.
        others: of `graph`.
    """
    _check_ros()
    from soft_twin_ros.only_one import refuse_taken
    from soft_twin_ros.running.graph import graph

    nodes = graph(robot, **options)
    if "ROS_DOMAIN_ID" in os.environ:  # else the run has a domain of its own
        refuse_taken(f"/{node.namespace}/{node.name}" for node in nodes)


def _check_ros() -> None:
    """See that the nodes can be started; the rest of this module does not need ROS.

    Raises:
        UsageError: a package is missing; the message says what to do.
    """
    for package, remedy in (("rclpy", "source a ROS 2 installation"), ("soft_twin_msgs", "build this workspace")):
        if importlib.util.find_spec(package) is None:
            raise UsageError(f"the Python package '{package}' is missing: {remedy}, or use `make run`")


SEQUENCES: dict[type, Callable[[Any, argparse.Namespace], "RunSequence"]] = {
    CableTube: _base_turns,
    FemRobot: _held_or_turned,
    TensegrityArm: _arm_bends,
}
