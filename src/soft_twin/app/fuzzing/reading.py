"""How each kind of file is read, as the commands read it, and what would be nonsense in what comes out."""

import contextlib
import io
import json
from pathlib import Path

import numpy as np

from soft_twin import load_robot
from soft_twin.app.cli import main
from soft_twin.app.fuzzing import learned
from soft_twin.errors import RecordingError, SoftTwinError
from soft_twin.learning.frames import TABLE, read_recording, read_scan
from soft_twin.recording.c3d_files import read_marker_set, read_markers
from soft_twin.recording.diff import diff, table
from soft_twin.recording.evaluation import evaluate
from soft_twin.recording.report import summary
from soft_twin.recording.report import table as report_table
from soft_twin.robots.alignment_file import read_alignment
from soft_twin.robots.cable_tube import CableTube
from soft_twin.robots.fem_robot import FemRobot
from soft_twin.robots.tensegrity import TensegrityArm
from soft_twin.sensing.imu_calibration import read_calibration
from soft_twin.sensing.repoimu import read_repoimu

LONGEST = 50.0  # [m] of anything in a robot


class CommandError(Exception):
    """A command ended with a message and a status that is not 0."""


def description(path: Path) -> str:
    """Read as a robot, and the graph of its nodes made."""
    from soft_twin_ros.running.graph import graph

    robot = load_robot(path)
    for node in graph(robot):
        node.command()
    return _odd_name(robot.name) or ODD[type(robot)](robot)


def calibration(path: Path) -> str:
    """Read as an IMU's calibration."""
    stored = read_calibration(path)
    values = np.concatenate([np.ravel(value) for value in vars(stored.imu).values() if np.ndim(value) or value])
    return "" if np.abs(values.astype(float)).max() < 1e3 else "a calibration of absurd size"


def samples(path: Path) -> str:
    """`soft-twin estimate`, and what it wrote."""
    out = path.with_name("out.npz")
    out.unlink(missing_ok=True)
    _command("estimate", str(path), "--out", str(out))
    with np.load(out, allow_pickle=False) as content:
        quaternions = content["quat"]
    turned = np.abs(np.linalg.norm(quaternions, axis=1) - 1.0)
    return "" if len(turned) and turned.max() < 1e-6 else "orientations that are none were written as success"


def run(path: Path) -> str:
    """Evaluated and compared with itself, as `report` and `diff` do."""
    evaluation = evaluate(path, load_robot("slender"))
    report = json.loads(json.dumps(summary(evaluation), allow_nan=False))
    report_table(report)
    table(diff(path, path))
    if not report["solves"] and not report["poses"]:
        raise RecordingError("nothing to report")  # as write_report says it
    return _odd_report(report)


def mesh(path: Path) -> str:
    """`soft-twin mesh --check`."""
    told = _command("mesh", "--check", str(path))
    return "" if "cells" in told and "nan" not in told else f"a mesh that is none: {told[:200]}"


def scan(path: Path) -> str:
    """As `soft-twin train` reads a scan of a robot of 0.2 m."""
    found = read_scan(path, learned.SIZE)
    lengths = np.linalg.norm(found.normals, axis=1)
    if len(found.points) < 30 or not np.isfinite(found.points).all() or np.abs(lengths - 1.0).max() > 1e-6:
        return "a scan of nothing, or with normals that are none"
    return "" if np.median(np.abs(found.points)) < LONGEST else "a scan of something far away"


def frames(path: Path) -> str:
    """As `soft-twin train` reads a recording: a table, and the scans beside it."""
    path.rename(path.with_name(TABLE))
    found = read_recording(path.parent, learned.CHAMBERS, learned.LIMITS, learned.SIZE)
    low, high = learned.LIMITS.T
    slack = 1e-3 * (high - low)
    inside = ((found.pressures >= low - slack) & (found.pressures <= high + slack)).all()
    return "" if inside and len(found.pressures) == len(found.scans) else "pressures beyond their limits"


def weights(path: Path) -> str:
    """Loaded, and asked for a surface."""
    import soft_twin.learning

    found = soft_twin.learning.load(path)
    points = found(found.shapes.limits.mean(axis=1))
    return "" if np.isfinite(points).all() and np.abs(points).max() < LONGEST else "weights of a surface that is none"


def markers(path: Path) -> str:
    """Read as a take over time, and as markers of a body at rest."""
    take, marked = read_markers(path), read_marker_set(path)
    sound = take.ndim == 3 and np.isfinite(take).all() and len(marked.names) == len(marked.points)
    return "" if sound else "markers that are none"


def trial(path: Path) -> str:
    """Read as a trial of RepoIMU."""
    read = read_repoimu(path)
    arrays = (read.angular_velocity, read.specific_force, read.quaternion_wxyz)
    turned = np.abs(np.linalg.norm(read.quaternion_wxyz, axis=1) - 1.0)
    return "" if all(np.isfinite(each).all() for each in arrays) and turned.max() < 1e-6 else "a trial that is none"


def alignment(path: Path) -> str:
    """Read as the alignment of a plate's IMUs."""
    found = read_alignment(path)
    turns = np.array([found.base_turn, found.plate_turn])
    return "" if np.abs(turns).max() < np.radians(10.0) else f"IMUs that are turned by {turns.tolist()} rad"


def robots(path: Path) -> str:
    """Read as `robots:=FILE`, and what is in it as `robots:=TEXT`."""
    from soft_twin_ros.running.arguments import robots_of

    requests = robots_of(str(path))
    with contextlib.suppress(UnicodeDecodeError):
        robots_of(path.read_text(encoding="utf-8"))
    return "" if requests else "no robots"


def any_file(path: Path) -> str:
    """By its ending."""
    readers = {".yaml": description, ".mat": samples, ".npz": samples, ".mcap": run, ".db3": run, ".vtu": mesh}
    return (readers | {".c3d": markers, ".ply": scan, ".csv": _any_table})[path.suffix](path)


def _any_table(path: Path) -> str:
    """What stands in a table's place, for both readers of tables: that of frames must refuse it, too."""
    with contextlib.suppress(SoftTwinError):
        read_recording(path.parent, learned.CHAMBERS, learned.LIMITS, learned.SIZE)
    return trial(path)


def _command(*words: str) -> str:
    """What a command prints.

    Raises:
        CommandError: it ended otherwise than well, with one line.
    """
    told, wrong = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(wrong):
        status = main(list(words))
    if status:
        raise CommandError(wrong.getvalue().strip())
    return told.getvalue()


def _odd_name(name: str) -> str:
    return "" if name.isascii() and name.replace("_", "a").isalnum() and len(name) < 100 else f"a robot called {name!r}"


def _odd_tube(robot) -> str:
    body, drive, cables = robot.body, robot.winches, robot.description.cables
    limits = drive.cable_limits
    lengths = [*body.segment_lengths, body.outer_diameter, *limits.displacement, *robot.target_tip, drive.winch.radius]
    numbers = [*lengths, *limits.tension, limits.rate, limits.acceleration, cables[0].stiffness, cables[0].pretension]
    numbers += [body.material.young_modulus, body.material.density, body.damping.rayleigh_mass]
    if not np.isfinite(numbers).all() or np.abs(lengths).max() > LONGEST:
        return f"lengths that no robot has: {lengths}"
    if np.abs(limits.displacement).max() > 5.0 * body.length:
        return f"displacements {limits.displacement} of a body of {body.length} m"
    if not body.segment_lengths or not 1e1 < body.material.young_modulus < 1e13:
        return "no body"
    places = np.array([cable.start[:2] for cable in cables])
    apart = np.linalg.norm(places[:, None] - places, axis=2) + np.eye(len(places))
    if apart.min() < 1e-4 * body.outer_diameter:
        return "two cables at one place"
    sizes = [np.prod(choice.divisions or 0) for choice in body.meshes.values()]
    return "a mesh of more than a million cells" if max(sizes) > 1e6 else ""


def _odd_arm(arm) -> str:
    laws, structure = arm.model.laws, arm.structure
    numbers = [laws.stiffness, laws.areas, laws.pressure_range, structure.strut_lengths, structure.anchor_points]
    if not all(np.isfinite(values).all() for values in numbers):
        return "numbers that are none"
    lengths = np.concatenate([structure.strut_lengths, laws.rest_lengths])
    return "" if lengths.max() < 500.0 and structure.strut_count < 5000 else "struts that no arm has"


def _odd_body(robot) -> str:
    """Of any body of finite elements."""
    source, limits = robot.description.body.mesh, robot.limits()
    block = source.voxels
    if block is not None and (np.prod(block.cells) > 1e6 or max(block.size) > LONGEST):
        return f"{block.cells} cells of a block of {block.size} m"
    low, high = (np.concatenate([np.ravel(getattr(limit, side)) for limit in limits]) for side in ("low", "high"))
    places = [*robot.target_tip, *(value for cable in robot.description.cables for value in cable.displacement)]
    if not np.isfinite(places).all() or np.abs(places).max() > LONGEST:
        return f"lengths that no robot has: {places}"
    if np.isnan(low).any() or np.isnan(high).any() or (low > high).any():
        return f"limits {low} … {high}"
    return "" if robot.actuator_names else "nothing moves it"


ODD = {CableTube: _odd_tube, FemRobot: _odd_body, TensegrityArm: _odd_arm}


def _odd_report(report: dict) -> str:
    numbers = list(_numbers(report))
    if any(abs(number) > 1e12 for number in numbers):
        return f"a report with {max(numbers, key=abs):g} in it"
    if report["recording_complete"] and report["duration_s"] is not None and report["duration_s"] < 0.0:
        return "a recording of negative length"
    return ""


def _numbers(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _numbers(one)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value
