"""A real beam of silicone, clamped at one end and let go: its rest, its period, its motion, with one set of parameters.

Dragon Skin 10, 10 × 3 × 3 cm, without and with a weight on the upper tip edge (Dubied, Michelis, Spielberg and
Katzschmann, IEEE Robotics and Automation Letters 2022; motion capture at 100 Hz in data/beam_dragonskin). It is held
straight, and falls with its weight when it is let go; the periods (0.13, 0.23, 0.30 s) say that the weight stays on, so
it is a mass that has inertia. The moment of release is not in the recordings: of each, it is the one that fits best.
Markers are where the camera saw them on the straight beam.

No elastic law does both: whatever E is, T² through the drop at rest is fixed by geometry and weights, and measured it
is 5, 16 and 13 % less. The rubber creeps (its rest sinks by 2 % from the third second to the last) and is stiffer while
it moves; so its material relaxes (solvers/time/relaxation.py). Pictures: motion.png, errors.png.
"""

from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy.interpolate import CubicSpline
from scipy.signal import find_peaks
from scipy.spatial.transform import Rotation

from soft_twin.calibration.distances import chamfer_distance, marker_error
from soft_twin.calibration.experiments import Hanging, Released
from soft_twin.calibration.markers import Markers
from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.errors import UsageError
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.loads import Gravity
from soft_twin.mechanics.materials import NeoHookean
from soft_twin.mechanics.model import Model
from soft_twin.mesh.generate.voxels import voxel_mesh
from soft_twin.mesh.mesh import Mesh
from soft_twin.recording.c3d_files import read_markers
from soft_twin.solvers.derivatives.parameters import Attribute, Density, Elastic, Parameter
from soft_twin.solvers.time.integrators import CrankNicolson
from soft_twin.solvers.time.relaxation import RelaxingCrankNicolson
from soft_twin.studies.results import write_picture

matplotlib.use("Agg")

SIZE = np.array([0.1, 0.03, 0.03])  # [m] along x, y, z
CELLS = (6, 2, 2)
RATE = 100.0  # [Hz]
STEP = 0.005  # [s]
MOTION = 2.0  # [s] after the release that are compared
LOADS = {"gravity": 0.0, "load52": 0.51012, "load101": 1.00062}  # weights on the tip [N]
STRAIGHT = {"gravity": 65, "load52": 43, "load101": 51}  # frames in which the beam is held straight
EARLIEST = 0.04  # [s] around the first visible fall, in which the release is looked for
AT_REST = 100  # last frames, in which the motion has died out
# Markers on the straight beam [m]: top, left and right of the tip, three of the clamp
MARKERS = np.array(
    [[0, 0.015, 0.036], [0, -0.006, 0.024], [0, 0.036, 0.006], [-0.094, -0.01, -0.001], [-0.094, 0.04, 0.0275]]
    + [[-0.094, 0.04, 0]]
)
TIP, LEFT = slice(0, 3), 1
PARAMETERS = {
    "young_modulus": 258e3,  # at rest
    "poisson_ratio": 0.49,
    "density": 1070.0,
    "mass_damping": 2.0,
    "stiffness_damping": 1.0e-3,
    "relaxing_share": 0.12,
    "relaxation_time": 1.0,
}


@dataclass(frozen=True)
class Recording:
    """Markers of one load in the frame of the beam.

    Attributes:
        load: weight on the tip [N].
        straight: (3, 3) tip markers on the straight beam [m].
        rest: (3, 3) at rest [m].
        markers: (t, 3, 3) all frames [m].
        onset: [s] when the left marker has fallen by 0.5 mm.
    """

    load: float
    straight: np.ndarray
    rest: np.ndarray
    markers: np.ndarray
    onset: float

    def after(self, release: float, steps: int) -> np.ndarray:
        """Markers (steps, 3, 3) at the ends of steps of STEP after `release` [s], between frames by cubic splines."""
        times = np.arange(len(self.markers)) / RATE
        return CubicSpline(times, self.markers)(release + STEP * np.arange(1, steps + 1))


def read_recordings(data: Path) -> dict[str, Recording]:
    """All loads.

    Raises:
        UsageError: the recordings, or the package that reads them, are not there.
    """
    folder = data / "beam_dragonskin"
    if not folder.is_dir():
        raise UsageError(f"no recordings of the beam in {folder}: --data or $SOFT_TWIN_DATA says where they are")
    return {name: _recording(folder / f"beam_{name}_V2_a.c3d", name) for name in LOADS}


def _recording(path: Path, name: str) -> Recording:
    frames = read_markers(path)
    turn, shift = rigid_motion(frames[STRAIGHT[name]], MARKERS)
    tip = (frames @ turn.T + shift)[:, TIP]
    straight = tip[STRAIGHT[name]]
    onset = int(np.flatnonzero(straight[LEFT, 2] - tip[:, LEFT, 2] > 0.5e-3)[0]) / RATE
    return Recording(LOADS[name], straight, tip[-AT_REST:].mean(axis=0), tip, onset)


def rigid_motion(points: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotation (3, 3) and shift (3,) that move points (m, 3) nearest to targets (m, 3) (Kabsch 1976)."""
    centre, goal = points.mean(axis=0), targets.mean(axis=0)
    turn = Rotation.align_vectors(targets - goal, points - centre)[0].as_matrix()
    return turn, goal - turn @ centre


def beam_mesh(cells: tuple[int, int, int] = CELLS, element: str = "hex20r") -> Mesh:
    """The beam, clamped end at x = −0.1 m, y and z from 0."""
    mesh = voxel_mesh(np.ones(cells, bool), SIZE / cells, element)
    return Mesh(mesh.nodes - [SIZE[0], 0.0, 0.0], mesh.cells, mesh.element)


def beam_model(load: float, mesh: Mesh | None = None) -> Model:
    """The beam with PARAMETERS' material and a weight [N] on the upper tip edge."""
    mesh = beam_mesh() if mesh is None else mesh
    law = NeoHookean(PARAMETERS["young_modulus"], PARAMETERS["poisson_ratio"])
    clamped = mesh.nodes[:, 0] < 1e-9 - SIZE[0]
    body = Body(mesh, Material(law, PARAMETERS["density"]), clamped)
    edge = (mesh.nodes[:, 0] > -1e-9) & (mesh.nodes[:, 2] > SIZE[2] - 1e-9)
    body.attach_mass(np.flatnonzero(edge), load / STANDARD_GRAVITY)
    return Model(body, [Gravity([0.0, 0.0, -STANDARD_GRAVITY])], consistent_mass=True)


def material_parameters(model: Model) -> dict[str, Parameter]:
    """Of a body of one material."""
    material = model.body.parts[0].material
    return {
        "young_modulus": Elastic(material, "young_modulus"),
        "poisson_ratio": Elastic(material, "poisson_ratio"),
        "density": Density(model, material),
    }


def hanging(recording: Recording) -> Hanging:
    """The beam at rest."""
    model = beam_model(recording.load)
    markers = Markers(model.body.mesh, recording.straight)
    return Hanging(model, markers, recording.rest[None], material_parameters(model))


def released(recording: Recording, release: float, duration: float = MOTION, relaxing: bool = True) -> Released:
    """The beam let go at `release` [s]; only without relaxation may gradients be taken."""
    model = beam_model(recording.load)
    damping = {name: PARAMETERS[name] for name in ("mass_damping", "stiffness_damping")}
    integrator: CrankNicolson = CrankNicolson(model, STEP, **damping)
    if relaxing:
        relaxation = PARAMETERS["relaxing_share"], PARAMETERS["relaxation_time"]
        integrator = RelaxingCrankNicolson(model, STEP, *relaxation, **damping)
    parameters = material_parameters(model) | {name: Attribute(integrator, name) for name in damping}
    markers = Markers(model.body.mesh, recording.straight)
    return Released(integrator, markers, recording.after(release, round(duration / STEP)), parameters)


@dataclass(frozen=True)
class Row:
    """One load.

    Attributes:
        recording: what was measured.
        release: moment of release that fits best [s].
        rest: (3, 3) simulated tip markers at rest [m].
        motion, measured: (t, 3, 3) simulated and measured tip markers after the release [m].
    """

    recording: Recording
    release: float
    rest: np.ndarray
    motion: np.ndarray
    measured: np.ndarray

    @property
    def drops(self) -> np.ndarray:
        """Of the left marker at rest (2,), simulated and measured [m]."""
        straight = self.recording.straight[LEFT, 2]
        return straight - np.array([self.rest[LEFT, 2], self.recording.rest[LEFT, 2]])

    @property
    def periods(self) -> np.ndarray:
        """(2,) simulated and measured [s]."""
        return np.array([period(markers[:, LEFT, 2]) for markers in (self.motion, self.measured)])

    @property
    def error(self) -> float:
        """SORS, eq. 20 [m]."""
        return marker_error(self.motion, self.measured)

    @property
    def chamfer(self) -> float:
        """SORS, eq. 21 [m]."""
        return float(np.mean([chamfer_distance(*clouds) for clouds in zip(self.motion, self.measured, strict=True)]))


def run(folder: Path, data: Path) -> str:
    """All loads."""
    rows = {name: compare(recording) for name, recording in read_recordings(data).items()}
    draw(folder, rows)
    return table(rows)


def compare(recording: Recording, duration: float = MOTION) -> Row:
    """Rest and motion of one load, with PARAMETERS."""
    rest = hanging(recording).positions()[0]
    motion = released(recording, recording.onset, duration).positions()
    release = moment_of_release(recording, motion)
    return Row(recording, release, rest, motion, recording.after(release, len(motion)))


def moment_of_release(recording: Recording, motion: np.ndarray) -> float:
    """When [s] a simulated motion (t, 3, 3) starts to be nearest to the recorded one."""
    moments = recording.onset + np.arange(-EARLIEST, EARLIEST + 1e-9, 5e-4)
    errors = [marker_error(motion, recording.after(moment, len(motion))) for moment in moments]
    return float(moments[int(np.argmin(errors))])


def period(heights: np.ndarray) -> float:
    """Mean time [s] between the troughs of heights (t,) [m] at the ends of steps, those deeper than 0.5 mm."""
    times = STEP * np.arange(len(heights))
    fine = np.arange(0.0, times[-1], 1e-4)
    troughs, _ = find_peaks(-CubicSpline(times, heights)(fine), prominence=0.5e-3)
    return float(np.diff(fine[troughs]).mean())


def table(rows: dict[str, Row]) -> str:
    """The comparison as lines of text."""
    values = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in PARAMETERS.items())
    lines = [
        f"beam, one set of parameters (SI): {values}",
        f"{'load':>6} {'drop at rest [mm]':>26} {'period [s]':>26} {'error, eq. 20':>14} {'eq. 21':>8} {'release':>8}",
    ]
    for row in rows.values():
        (drop, fallen), (found, measured) = 1e3 * row.drops, row.periods
        lines.append(
            f"{row.recording.load:4.2f} N {drop:8.2f} of {fallen:5.2f}: {drop - fallen:+5.2f}"
            f" {found:10.4f} of {measured:.4f}: {100.0 * (found / measured - 1.0):+4.1f} %"
            f" {1e3 * row.error:11.2f} mm {1e3 * row.chamfer:5.2f} mm {row.release:6.3f} s"
        )
    mean = np.mean([row.error for row in rows.values()])
    lines.append(f"mean marker error over the {MOTION:g} s after the release: {1e3 * mean:.2f} mm (SORS: 4.98 mm)")
    return "\n".join(lines)


def draw(folder: Path, rows: dict[str, Row]) -> None:
    """motion.png and errors.png."""
    _draw_motion(folder / "motion.png", rows)
    _draw_errors(folder / "errors.png", rows)


def _draw_motion(path: Path, rows: dict[str, Row]) -> None:
    figure = Figure(figsize=(11.0, 8.0), layout="constrained")
    for axes, row in zip(figure.subplots(len(rows), 1, sharex=True, squeeze=False)[:, 0], rows.values(), strict=True):
        times, straight = STEP * np.arange(1, len(row.motion) + 1), row.recording.straight[LEFT, 2]
        axes.plot(times, 1e3 * (row.measured[:, LEFT, 2] - straight), color="black", linewidth=1.0, label="measured")
        axes.plot(times, 1e3 * (row.motion[:, LEFT, 2] - straight), color="#0072b2", linewidth=1.2, label="simulated")
        axes.axhline(-1e3 * row.drops[1], color="black", linestyle=":", linewidth=0.8, label="measured at rest")
        axes.axhline(-1e3 * row.drops[0], color="#0072b2", linestyle=":", linewidth=0.8, label="simulated at rest")
        axes.set(ylabel="left marker, z [mm]", title=f"{row.recording.load:.2f} N on the tip")
        axes.grid(alpha=0.3)
    figure.axes[0].legend(fontsize=8, loc="lower right", ncol=4)
    figure.axes[-1].set(xlabel="time after the release [s]")
    write_picture(path, figure, dpi=110)


def _draw_errors(path: Path, rows: dict[str, Row]) -> None:
    figure = Figure(figsize=(11.0, 4.0), layout="constrained")
    axes = figure.subplots(1, 2)
    for row, colour in zip(rows.values(), ("#009e73", "#0072b2", "#d55e00"), strict=False):
        label, times = f"{row.recording.load:.2f} N", STEP * np.arange(1, len(row.motion) + 1)
        distances = np.linalg.norm(row.motion - row.measured, axis=2).mean(axis=1)
        axes[0].plot(times, 1e3 * distances, color=colour, label=label)
        for markers, style in ((row.measured, "-"), (row.motion, "--")):
            path_of = 1e3 * (markers[:, LEFT] - row.recording.straight[LEFT])
            axes[1].plot(path_of[:, 0], path_of[:, 2], style, color=colour, linewidth=0.9)
    axes[0].set(xlabel="time after the release [s]", ylabel="mean marker distance [mm]", title="error")
    axes[0].legend(fontsize=8)
    axes[1].set(xlabel="x [mm]", ylabel="z [mm]", title="path of the left marker: measured –, simulated --")
    for each in axes:
        each.grid(alpha=0.3)
    write_picture(path, figure, dpi=110)
