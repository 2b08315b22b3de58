"""The robot is pushed through two tubes and a colon (the paper's Figures 17 and 19), compensated and not.

The paper gives no dimensions of its phantoms; these are of our own making. "straight" and "curved" are bores of 13 and
12 mm that lean down by 30°, the second an arc of 130 mm; "colon" is level, turns by 35° to the back and then by 40° to
the left within 80 mm, and is 28 mm wide with folds of 21 mm every 25 mm. All are rigid, with friction 0.1. Seen from
the mouth, z goes in, y is the patient's front, x the patient's right: supine, gravity pulls to the back; lying on the
left side, to the left.

The base is moved along the phantom's centre line, which goes on before the mouth as it begins, and the body is asked to
lie on that line, its tip farthest in: straight in the straight tube, an arc in the curved one, bent with the colon. How
far in the base is the hand knows; gravity is felt by the chip alone. The robot is put into its shape first, then the
phantom stands around its last centimetre. "As upright": told, within TURNING from then on, that gravity pulls along the
axis of a robot that stands upright. The controller's twin knows nothing of the wall, as in the paper.

The force on the wall is the sum of all normal forces. The robot passes if in the end its tip is within OBJECT of where
it should be, as near as the ball of 10 mm that the paper's volunteer fetches lies around it. Files: table.json,
lumen.mcap, lumen.png.
"""

from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

from soft_twin.constants import STANDARD_GRAVITY, UPRIGHT_GRAVITY
from soft_twin.emulation.plant import Plant
from soft_twin.emulation.spline_motion import SplineMotion
from soft_twin.inverse.targets import PoseTarget, pose_target
from soft_twin.mechanics.contact.lumen import Lumen
from soft_twin.mechanics.contact.surroundings import Surroundings
from soft_twin.parallel import compute_here
from soft_twin.robots import load_robot
from soft_twin.sensing.gravity_ahead import GravityAhead
from soft_twin.studies.results import write_picture
from soft_twin.studies.slender.carried import HELD, LET_BE, LOOP, Delayed, Way
from soft_twin.studies.slender.loop import PERIOD, History, Loop
from soft_twin.studies.slender.poses import record
from soft_twin.studies.slender.shared import emulated_robot, tuned_twin, write_table

matplotlib.use("Agg")

LENGTH, MOUTH, BORE_LENGTH = 0.1, 0.09, 0.1  # [m] of the robot; from its base to the mouth at first; of the phantoms
AT_TIP = 0.99  # of the robot's length: where its tip shall be, as cables press it together
FRICTION, LIP = 0.1, 2e-3  # of the wall; [m] of its mouth
SPACING = 0.0025  # [m] of the points of a centre line
OBJECT = 0.005  # [m]
ALONG = np.array([0.0, 0.0, 1.0])
UPRIGHT = np.array(UPRIGHT_GRAVITY)  # [m/s²]
TURNING = 1.0  # [s] in which what is told turns to that
NOWHERE = np.array([0.0, 0.0, -10.0])  # [m] from where no phantom is near
KNOTS, STATIONS = 33, 21
OUTER_RADIUS = 0.0045  # [m] of the robot, in pictures
COLOURS = {HELD: "#0072b2", LET_BE: "#d55e00"}
REACH = 0.5  # of the peak force without compensation
ATTITUDES = {"supine": (0.0, -1.0, 0.0), "left lateral": (-1.0, 0.0, 0.0)}  # gravity across the level axis


@dataclass(frozen=True)
class Piece:
    """Of a centre line: its length [m], the angle by which it turns [°], and to which side, from +x towards +y [°]."""

    length: float
    turn: float = 0.0
    side: float = 0.0

    def end(self, along: float) -> tuple[np.ndarray, np.ndarray]:
        """Attitude (3, 3) and place (3,) after so much of it [m], in those of its beginning; it may go on."""
        angle, side = np.radians(self.turn) * along / self.length, np.radians(self.side)
        sideways = np.array([np.cos(side), np.sin(side), 0.0])
        half = 0.5 * angle
        way = along * np.sinc(half / np.pi) * (np.cos(half) * ALONG + np.sin(half) * sideways)
        return Rotation.from_rotvec(angle * np.cross(ALONG, sideways)).as_matrix(), way


@dataclass(frozen=True)
class Phantom:
    """A tube.

    Attributes:
        pieces: of the centre line, from the base's first place, MOUTH before the tube.
        lean: of the axis at that place, down from level [°].
        widest, narrowest: radii [m].
        folds: distance from one to the next [m].
    """

    pieces: tuple[Piece, ...]
    lean: float
    widest: float
    narrowest: float
    folds: float = 0.03

    def at(self, along: float) -> tuple[np.ndarray, np.ndarray]:
        """Attitude (3, 3), z along the centre line, and place (3,) so far along it [m], in those of its beginning."""
        begin = max(i for i, (start, _, _) in enumerate(self._starts) if i == 0 or along >= start)
        start, attitude, place = self._starts[begin]
        turned, way = self.pieces[begin].end(along - start)
        return attitude @ turned, place + attitude @ way

    @cached_property
    def _starts(self) -> list[tuple[float, np.ndarray, np.ndarray]]:
        """Of each piece, how far along it begins [m], and `at` there."""
        found = [(0.0, np.eye(3), np.zeros(3))]
        for piece in self.pieces[:-1]:
            along, attitude, place = found[-1]
            turned, way = piece.end(piece.length)
            found.append((along + piece.length, attitude @ turned, place + attitude @ way))
        return found

    def gravity(self, across: tuple[float, float, float]) -> np.ndarray:
        """(3,) [m/s²] in the frame of its beginning, `across`: what its side of it points to."""
        lean = np.radians(self.lean)
        return STANDARD_GRAVITY * (np.cos(lean) * np.array(across) + np.sin(lean) * ALONG)

    @property
    def line(self) -> tuple[np.ndarray, np.ndarray]:
        """Points (k, 3) of its centre line from mouth to mouth, and the radii (k,) there [m]."""
        inside = np.linspace(0.0, BORE_LENGTH, round(BORE_LENGTH / SPACING) + 1)
        waves = 0.5 * (1.0 + np.cos(2.0 * np.pi * inside / self.folds))
        points = np.array([self.at(MOUTH + each)[1] for each in inside])
        return points, self.narrowest + (self.widest - self.narrowest) * waves

    def obstacle(self, name: str) -> dict:
        """As descriptions say it."""
        points, radii = self.line
        return {
            "name": name,
            "kind": "lumen",
            "points": points.tolist(),
            "radii": radii.tolist(),
            "lip": LIP,
            "friction": FRICTION,
            "nodes": "outside",
        }


PHANTOMS = {
    "straight": Phantom((Piece(0.2),), 30.0, 0.0065, 0.0065),
    "curved": Phantom((Piece(0.2, np.degrees(0.2 / 0.13)),), 30.0, 0.006, 0.006),
    "colon": Phantom((Piece(0.1), Piece(0.035, 35.0, -90.0), Piece(0.045, 40.0, 180.0), Piece(0.02)), 0.0,
                     0.014, 0.0105, 0.025),
}  # fmt: skip


@dataclass(frozen=True)
class Schedule:
    """Times [s]: without the phantom, in it before the push, of the push, after it; and how far it goes [m]."""

    shaped: float = 2.0
    waited: float = 2.0
    pushed: float = 6.0
    after: float = 1.0
    depth: float = 0.08

    def depth_at(self, time: float) -> float:
        """[m] of the base, `time` [s] after the push has begun."""
        share = min(max(time / self.pushed, 0.0), 1.0)
        return self.depth * share**3 * (10.0 - 15.0 * share + 6.0 * share**2)


@dataclass(frozen=True)
class Pushed:
    """How a run went; times from when the phantom is there.

    Attributes:
        history: of the loop.
        depths: (t,) of the base [m].
        forces: (t,) on the wall, sums of normal forces [N].
        largest: (t,) normal force at one place [N].
        places: (t, 3) of the tip, in the frame of the phantom's beginning [m].
        offsets: (t,) of the tip from the centre line [m].
        shape: (s, 3) the robot's centre line in the end, in the same frame [m].
    """

    history: History
    depths: np.ndarray
    forces: np.ndarray
    largest: np.ndarray
    places: np.ndarray
    offsets: np.ndarray
    shape: np.ndarray


@dataclass(frozen=True)
class Row:
    """A run.

    Attributes:
        phantom, attitude, way: which, and how it was controlled.
        peak_mn, mean_mn: force on the wall [mN], its largest and its mean from the beginning of the push on, as all of
            these.
        place_mn: largest normal force at one place [mN].
        offset_mm: largest distance of the tip from the centre line.
        missed_mm: distance of the tip from where it should be in the end.
        passes: see the module's docstring.
        share: of the peak without compensation.
    """

    phantom: str
    attitude: str
    way: str
    peak_mn: float
    mean_mn: float
    place_mn: float
    offset_mm: float
    missed_mm: float
    passes: bool
    share: float


class Told(GravityAhead):
    """Tells what is felt until a time [s], and, within TURNING, that it stands upright from then on."""

    def __init__(self, until: float):
        super().__init__()
        self._until = until

    def update(self, time, gravity, rates, force):
        share = min(max((time - self._until) / TURNING, 0.0), 1.0)
        told = (1.0 - share) * super().update(time, gravity, rates, force) + share * UPRIGHT
        return np.linalg.norm(UPRIGHT) * told / np.linalg.norm(told)


def run(folder: Path, data: Path) -> str:
    """Push the robot through all phantoms, in both attitudes, with and without; `data` is not used."""
    twin, _ = tuned_twin(folder, emulated_robot(folder))
    for name, phantom in PHANTOMS.items():
        in_phantom(folder, name, phantom)
    cases = [(name, attitude, way) for name in PHANTOMS for attitude in ATTITUDES for way in (HELD, LET_BE)]
    work = partial(push, str(folder), str(twin.path), Schedule())
    found = dict(zip(cases, compute_here(work, cases, "pushes of 10 s"), strict=True))
    rows = [row(case, found) for case in cases]
    numbers = {"reach": {"share": REACH, "passes": True}, "loop": LOOP, "object_mm": 1e3 * OBJECT, "friction": FRICTION}
    write_table(folder, {"rows": [asdict(each) for each in rows], **numbers})
    draw(folder / "lumen.png", found)
    runs = {f"{name}, {attitude}, {way.name}": each for (name, attitude, way), each in found.items()}
    histories, forces = ({run: getattr(each, what) for run, each in runs.items()} for what in ("history", "forces"))
    record(folder / "lumen.mcap", twin, histories, forces)
    return table(rows)


def in_phantom(folder: Path, name: str, phantom: Phantom) -> None:
    """Write the description in_NAME.yaml of the emulated robot with a phantom before it.

    Raises:
        DescriptionError: the phantom is narrower than the robot.
    """
    emulated_robot(folder, f"in_{name}", obstacles=[phantom.obstacle(name)])


def push(folder: str, twin: str, schedule: Schedule, case: tuple[str, str, Way]) -> Pushed:
    """A case (phantom, attitude, way), with the descriptions in a folder, the twin's by its path."""
    name, attitude, way = case
    phantom, robot = PHANTOMS[name], load_robot(f"{folder}/in_{name}.yaml")
    plant, controller = Plant(robot), load_robot(twin).build_controller(reuse=True)
    begin = schedule.shaped + schedule.waited
    motion = Delayed(way_in(phantom, ATTITUDES[attitude], schedule), begin)
    loop = Loop(robot, plant, controller, motion, GravityAhead() if way.compensate else Told(schedule.shaped))
    around, seen = Surroundings(plant.model), []
    around.seen_from(np.eye(3), NOWHERE)
    plant.straighten()
    controller.enable(True)

    def look(depth: float) -> None:
        """What is there in the end of a period."""
        pushes = plant.contact_pushes
        seen.append((depth, pushes.sum(), pushes.max(initial=0.0), in_frame(phantom, depth, plant.tip)))

    def prepare(time: float) -> None:
        """The target of a period, and where the phantom is in its end."""
        depth, later = (schedule.depth_at(each - begin) for each in (time, time + PERIOD))
        look(depth)
        controller.aim(target(controller.inverse, phantom, depth))
        rotation, place = phantom.at(later)
        if time > schedule.shaped - 0.5 * PERIOD:
            appears = time < schedule.shaped + 0.5 * PERIOD
            (around.appear if appears else around.seen_from)(rotation, place)

    loop.run(motion.duration + schedule.after, prepare)
    look(schedule.depth)
    history = loop.history()
    there = history.times > schedule.shaped + 0.5 * PERIOD
    columns = (np.array(column)[1:][there] for column in zip(*seen, strict=True))
    depths, forces, largest, places = columns
    return Pushed(
        history=replace(history.after(schedule.shaped + 0.5 * PERIOD), times=history.times[there] - schedule.shaped),
        depths=depths,
        forces=forces,
        largest=largest,
        places=places,
        offsets=Lumen(*phantom.line, LIP).along(places)[1],
        shape=in_frame(phantom, schedule.depth, plant.centre_line),
    )


def way_in(phantom: Phantom, across: tuple[float, float, float], schedule: Schedule) -> SplineMotion:
    """How the base moves in the world."""
    times = np.linspace(0.0, schedule.pushed, KNOTS)
    pairs = [phantom.at(schedule.depth_at(time)) for time in times]
    to_world = Rotation.align_vectors([[0.0, 0.0, -1.0]], [phantom.gravity(across)])[0]
    attitudes = to_world * Rotation.from_matrix([attitude for attitude, _ in pairs])
    return SplineMotion(times, attitudes, to_world.apply([place for _, place in pairs]))


def target(inverse, phantom: Phantom, depth: float) -> PoseTarget:
    """On the centre line, with the base so far along it [m]."""
    attitude, place = phantom.at(depth)
    points = [phantom.at(depth + LENGTH * share)[1] for share in (*np.linspace(0.0, 1.0, STATIONS), AT_TIP)]
    own = (np.array(points) - place) @ attitude
    return pose_target(inverse, own[-1], line=own[:-1])


def in_frame(phantom: Phantom, depth: float, points: np.ndarray) -> np.ndarray:
    """Points (…, 3) of base_link in the frame of the phantom's beginning [m]."""
    attitude, place = phantom.at(depth)
    return points @ attitude.T + place


def row(case: tuple[str, str, Way], found: dict[tuple[str, str, Way], Pushed], schedule: Schedule = Schedule()) -> Row:
    """A row of the table."""
    name, attitude, way = case
    pushed, without = found[case], found[name, attitude, LET_BE]
    moving = pushed.history.times > schedule.waited
    peak, peak_without = (float(each.forces[moving].max()) for each in (pushed, without))
    missed = 1e3 * float(np.linalg.norm(pushed.places[-1] - PHANTOMS[name].at(schedule.depth + AT_TIP * LENGTH)[1]))
    return Row(
        phantom=name,
        attitude=attitude,
        way=way.name,
        peak_mn=1e3 * peak,
        mean_mn=1e3 * float(pushed.forces[moving].mean()),
        place_mn=1e3 * float(pushed.largest[moving].max()),
        offset_mm=1e3 * float(pushed.offsets[moving].max()),
        missed_mm=missed,
        passes=missed <= 1e3 * OBJECT,
        share=peak / peak_without if peak_without > 0.0 else float("nan"),
    )


def table(rows: list[Row]) -> str:
    """One line a run."""
    lines = [
        f"{'phantom':9} {'attitude':13} {'winches':12} {'peak [mN]':>9} {'mean':>6} {'one place':>9} "
        f"{'off the line [mm]':>17} {'missed [mm]':>11} {'passes':>6} {'of the peak without':>19}"
    ]
    lines += [
        f"{each.phantom:9} {each.attitude:13} {each.way:12} {each.peak_mn:9.1f} {each.mean_mn:6.1f} "
        f"{each.place_mn:9.1f} {each.offset_mm:17.1f} {each.missed_mm:11.1f} {'yes' if each.passes else 'no':>6} "
        f"{each.share:19.2f}"
        for each in rows
    ]
    return "\n".join([*lines, f"reach: passes, {REACH:g} of the peak without", f"loop: {LOOP}"])


def draw(path: Path, found: dict[tuple[str, str, Way], Pushed], schedule: Schedule = Schedule()) -> None:
    """Phantoms, the ways of tips, and robots in the end, seen across gravity; force on the wall over the push."""
    figure = Figure(figsize=(12.5, 8.5), layout="constrained")
    plots = figure.subplots(len(ATTITUDES) + 1, len(PHANTOMS))
    for column, (name, phantom) in zip(plots.T, PHANTOMS.items(), strict=True):
        *views, forces = column
        for axes, (attitude, across), line in zip(views, ATTITUDES.items(), ("-", "--"), strict=True):
            plane = [2, int(np.abs(across).argmax())]
            points, radii = phantom.line
            for wall in _sides(points[:, plane], radii):
                axes.plot(*1e3 * wall.T, color="0.35", linewidth=1.5)
            axes.plot(*1e3 * points[:, plane].T, "-.", color="0.6", linewidth=0.8)
            for way, colour in COLOURS.items():
                pushed = found[name, attitude, way]
                low, high = _sides(pushed.shape[:, plane], np.full(len(pushed.shape), OUTER_RADIUS))
                axes.fill(*1e3 * np.concatenate([low, high[::-1]]).T, color=colour, alpha=0.4)
                axes.plot(*1e3 * pushed.places[:, plane].T, ":", color=colour, linewidth=1.0)
                moving = pushed.history.times > schedule.waited
                label = f"{attitude}, {way.name}"
                forces.plot(*1e3 * np.array([pushed.depths, pushed.forces])[:, moving], line, color=colour, label=label)
            ylabel = f"{'xyz'[plane[1]]} [mm], gravity down"
            axes.set(title=f"{name}, {attitude}", xlabel="in [mm]", ylabel=ylabel, aspect="equal")
        forces.set(xlabel="base pushed in by [mm]", ylabel="force on the wall [mN]", ylim=(-0.5, None))
        forces.grid(alpha=0.3)
    figure.legend(*forces.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    write_picture(path, figure, dpi=110)


def _sides(line: np.ndarray, widths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(k, 2) and (k, 2) what runs so far (k,) beside a line (k, 2), on either side."""
    directions = np.gradient(line, axis=0)
    normals = np.column_stack([-directions[:, 1], directions[:, 0]])
    away = widths[:, None] * normals / np.maximum(np.linalg.norm(normals, axis=1), 1e-12)[:, None]
    return line + away, line - away
