"""Real necks with three cables: encoders in, inclination out, by constant curvature and by finite elements.

Nagua et al., "A first approach to a proposal of a soft robotic link acting as a neck" and Frontiers in Robotics and AI
2020, doi 10.3389/frobt.2020.00027 (logs: github.com/HUMASoft/Data-and-Results). Three necks of 107.5 mm, two of
silicone with 25 and 35 mm of diameter and a helical spring, each with 0, 400, 800 and 1000 g on its plate, at one
pose; and the spring at 70 poses with 0 and 1000 g. Winches of 10 mm; cables at 90°, 210° and 330°, 52 mm from the axis
(the spring's 50 mm: what the logged targets follow).

Finite elements know a neck as a cylinder with a rigid plate and straight cables outside; a spring is the cylinder that
bends and shortens as it does. One set of parameters holds for all logs: E of the silicone, E and diameter of the
spring's cylinder, stiffness of cables with what holds them, how much they are wound in where the encoders say 0, the
plate's mass, and where a payload's centre of mass is. They are fitted on the logs with 0 and 1000 g, and on every
sixth of the 70 poses; the rest is held back. Picture: neck_logs.png.
"""

import warnings
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import least_squares, nnls

from soft_twin.constants import UPRIGHT_GRAVITY
from soft_twin.errors import ConvergenceError, RecordingError, UsageError
from soft_twin.files import checked_file, one_line
from soft_twin.mechanics.actuators.cables import CableActuators
from soft_twin.mechanics.body import Body, Material
from soft_twin.mechanics.cables import Cables
from soft_twin.mechanics.constraints import RigidPlate
from soft_twin.mechanics.loads.loads import Gravity
from soft_twin.mechanics.materials import energy_named
from soft_twin.mechanics.model import Model
from soft_twin.mesh.generate.sweep import Layer, Ring, sweep_stack
from soft_twin.studies.results import write_picture
from soft_twin.twins.constant_curvature import ConstantCurvature
from soft_twin.twins.finite_element import FemTwin
from soft_twin.twins.frames import NodesFrame

matplotlib.use("Agg")

FOLDER = Path("neck_uc3m")
LENGTH, WINCH = 0.1075, 0.01  # [m]
PLATE_RADIUS, PLATE_HEIGHT = 0.06, 0.1  # [m] of the rigid block that stands for the plate and what is on it
ANGLES = np.radians([90.0, 210.0, 330.0])
RADII = {"soft25mm": 0.052, "soft35mm": 0.052, "spring": 0.04998}  # [m] of the cables
DIAMETERS = {"soft25mm": 0.025, "soft35mm": 0.035}  # [m]
GRAMS = (0, 400, 800, 1000)
POSES, PERIOD, SETTLED = 70, 100, 30  # of the long logs: poses, samples of one, and its last that count
LAST = 50  # samples of the short logs that count
POISSON_RATIO, DENSITY = 0.47, 1100.0
DOWN = np.array(UPRIGHT_GRAVITY)
NEAR = 0.6  # of a parameter, by which a fit may change it
LOST = 60.0  # [°] what a model says that finds no equilibrium
COLUMNS = {"encoder1", "encoder2", "encoder3", "inclination_target", "inclination_sensor", "orientation_target"}
MAX_SIZE = 100_000_000  # [bytes]
EVERY = 6  # of the long logs' poses that parameters are fitted on


@dataclass(frozen=True)
class Log:
    """What was measured at one pose.

    Attributes:
        neck: its name.
        payload: [kg].
        targets: (3,) of the motors [°].
        displacements: (3,) cable pulled in, by the encoders [m].
        inclination: measured by the IMU on the plate [°].
        asked: inclination and orientation that the targets were made for [°].
        fitted: whether parameters are fitted on it.
        series: "short" or "long".
    """

    neck: str
    payload: float
    targets: np.ndarray
    displacements: np.ndarray
    inclination: float
    asked: tuple[float, float]
    fitted: bool
    series: str


@dataclass(frozen=True)
class Parameters:
    """One set for all necks: see the module's docstring. [Pa], [m], [N/m], [kg]."""

    silicone: float
    spring: float
    spring_diameter: float
    stiffness: float
    wound_in: float
    plate: float
    payload_x: float
    payload_y: float
    payload_z: float


FITTED = Parameters(9.77e6, 0.763e6, 0.0419, 19.9e3, -0.7e-3, 0.204, -0.0145, 0.018, 0.0501)


def run(folder: Path, data: Path) -> str:
    """Table and picture; see __init__.py."""
    logs = read_logs(data)
    found = {"constant curvature, chords": by_chords(logs), "finite elements": by_finite_elements(FITTED, logs)}
    draw(folder / "neck_logs.png", logs, found)
    return f"{table(logs, found)}\n\n{targets_table(logs)}"


def read_logs(data: Path) -> list[Log]:
    """All poses of all logs.

    Raises:
        UsageError: they are not there.
        RecordingError: one of them is missing, or no log.
    """
    if not (data / FOLDER).is_dir():
        raise UsageError(f"no logs of necks in {data / FOLDER}: --data or $SOFT_TWIN_DATA says where they are")
    logs = []
    for neck in RADII:
        for grams in GRAMS:
            rows = _rows(data / FOLDER / "three_necks" / f"test_{neck}_{grams}gr.csv", LAST)[-LAST:]
            logs.append(_log(neck, grams, rows, grams in (GRAMS[0], GRAMS[-1]), "short"))
    for grams in (GRAMS[0], GRAMS[-1]):
        rows = _rows(data / FOLDER / "openloop" / f"spring_test_{grams}gr.csv", POSES * PERIOD)
        for pose in range(POSES):
            own = rows[(pose + 1) * PERIOD - SETTLED : (pose + 1) * PERIOD]
            logs.append(_log("spring", grams, own, pose % EVERY == 0, "long"))
    return logs


def by_chords(logs: Sequence[Log]) -> np.ndarray:
    """(l,) inclination [°] by constant curvature with straight cables, which knows neither payload nor material."""
    necks = {neck: chords(neck) for neck in RADII}
    bends = [necks[log.neck].bends_of(log.displacements)[0][0] for log in logs]
    return np.degrees(np.hypot(*np.array(bends).T))


def chords(neck: str) -> ConstantCurvature:
    """Constant curvature of a neck."""
    return ConstantCurvature([LENGTH], _places(neck)[:, :2], cables="chord")


def by_finite_elements(parameters: Parameters, logs: Sequence[Log]) -> np.ndarray:
    """(l,) inclination [°] by finite elements."""
    twins = {key: build(*key, parameters) for key in {(log.neck, log.payload) for log in logs}}
    return np.array([_inclination(twins[log.neck, log.payload], log, parameters) for log in logs])


def build(neck: str, payload: float, parameters: Parameters) -> FemTwin:
    """A neck with a payload [kg]: a cylinder, and above it the rigid block that carries cables and payload."""
    modulus, diameter = (parameters.silicone, DIAMETERS.get(neck, parameters.spring_diameter))
    if neck == "spring":
        modulus = parameters.spring
    core = Ring(0.0, 0.5 * diameter, "core")
    block = [Ring(0.0, 0.5 * diameter, "block"), Ring(0.5 * diameter, PLATE_RADIUS, "block")]
    mesh = sweep_stack([Layer(LENGTH, [core], 4), Layer(PLATE_HEIGHT, block, 1)], 4, "hex20r")
    law = energy_named("stable_neo_hookean", modulus, POISSON_RATIO)
    body = Body(mesh, [Material(law, DENSITY, "core"), Material(law, 0.0, "block")], "base")
    plate = np.flatnonzero(mesh.nodes[:, 2] > LENGTH - 1e-9)
    centre = np.array([parameters.payload_x, parameters.payload_y, LENGTH + parameters.payload_z])
    for mass, place in ((parameters.plate, np.array([0.0, 0.0, LENGTH])), (payload, centre)):
        for node, share in _shares(mesh.nodes[plate], place):
            body.attach_mass(plate[[node]], mass * share)
    start = _places(neck)
    cables = Cables.outside(mesh, start, plate, start + [0.0, 0.0, LENGTH])
    actuators = [CableActuators(cables, parameters.stiffness)]
    model = Model(body, [Gravity()], [RigidPlate(plate)], actuators=actuators)
    return FemTwin(model, LENGTH, {"tip": NodesFrame(plate, mesh.nodes)})


def fit(logs: Sequence[Log], start: Parameters = FITTED, steps: int = 4) -> Parameters:
    """Parameters that are nearest to what the logs to be fitted measured, in a sum that outliers do not rule; each
    step costs ten times as many equilibria as there are such logs."""
    logs = [log for log in logs if log.fitted]
    scales, measured = np.abs(astuple(start)), np.array([log.inclination for log in logs])

    def off(ratios: np.ndarray) -> np.ndarray:
        return by_finite_elements(Parameters(*(ratios * scales)), logs) - measured

    ratios = np.sign(astuple(start))
    bounds = ratios - NEAR, ratios + NEAR
    found = least_squares(off, ratios, bounds=bounds, diff_step=2e-3, loss="soft_l1", max_nfev=steps)
    return Parameters(*(found.x * scales).tolist())


def table(logs: Sequence[Log], found: dict[str, np.ndarray]) -> str:
    """Mean errors of the inclination [°], of logs that were fitted and of those held back."""
    lines = [f"{'inclination, mean error [°]':36} {'fitted':>8} {'held back':>10} {'all':>6} {'largest':>8}"]
    for name, values in found.items():
        lines.append(f"{name:36} " + _means(np.ones(len(logs), bool), logs, values))
        for neck, series in (("soft25mm", "short"), ("soft35mm", "short"), ("spring", "short"), ("spring", "long")):
            own = np.array([log.neck == neck and log.series == series for log in logs])
            lines.append(f"{f'  {neck}, {series} logs':36} " + _means(own, logs, values))
    return "\n".join(lines)


def targets_table(logs: Sequence[Log]) -> str:
    """How the logged motor targets differ from those of chords: between cables, and in what they have in common."""
    lines = [f"{'motor targets against chords [°]':36} {'between':>8} {'in common':>20}"]
    for neck in RADII:
        own = [log for log in logs if log.neck == neck]
        asked = np.radians([log.asked for log in own])
        bends = asked[:, :1] * np.column_stack([np.cos(asked[:, 1]), np.sin(asked[:, 1])])
        ours = np.degrees(chords(neck).displacements_of(bends[:, None]) / WINCH)
        away = np.array([log.targets for log in own]) - ours
        common = away.mean(axis=1)
        between = np.abs(away - common[:, None]).max()
        lines.append(f"{f'  {neck}':36} {between:8.3f} {common.min():12.2f}…{common.max():.2f}")
    return "\n".join(lines)


def draw(path: Path, logs: Sequence[Log], found: dict[str, np.ndarray]) -> None:
    """Found over measured inclinations."""
    figure = Figure(figsize=(9.0, 4.4), layout="constrained")
    measured = np.array([log.inclination for log in logs])
    for plot, (name, values) in zip(figure.subplots(1, 2, sharex=True, sharey=True), found.items(), strict=True):
        plot.plot([12.0, 30.0], [12.0, 30.0], "k-", linewidth=0.8)
        for neck, colour in zip(RADII, ("#0072b2", "#d55e00", "#009e73"), strict=True):
            own = np.array([log.neck == neck for log in logs])
            held = np.array([not log.fitted for log in logs])
            plot.plot(measured[own & held], values[own & held], "o", color=colour, ms=4, label=neck)
            plot.plot(measured[own & ~held], values[own & ~held], "o", color=colour, ms=4, fillstyle="none")
        plot.set(xlabel="measured inclination [°]", title=name)
        plot.grid(alpha=0.3)
    plot.legend(title="filled: held back", fontsize=8)
    figure.axes[0].set_ylabel("by the model [°]")
    write_picture(path, figure, dpi=110)


def _rows(path: Path, least: int) -> np.ndarray:
    """At least so many rows of a log, by the names of its columns.

    Raises:
        RecordingError: it is missing, no table, short, or without a column or a number that is needed.
    """
    checked_file(path, "recording", MAX_SIZE, RecordingError)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # of an empty file
            rows = np.atleast_1d(np.genfromtxt(path, delimiter=",", names=True))
    except (ValueError, UserWarning) as error:
        raise RecordingError(f"{path}: not readable as a table: {one_line(error)}") from error
    names = rows.dtype.names or ()
    needed = [*_targets(names), *(name for name in names if name in COLUMNS)]
    if len(needed) < len(COLUMNS) + len(ANGLES):
        raise RecordingError(f"{path}: expected columns {', '.join(sorted(COLUMNS))} and three motors' targets")
    if len(rows) < least or not all(np.isfinite(rows[name]).all() for name in needed):
        raise RecordingError(f"{path}: expected {least} rows of finite numbers or more, found {len(rows)} rows")
    return rows


def _targets(names: Sequence[str]) -> list[str]:
    """Those of columns that are motors' targets, in their order."""
    return sorted(name for name in names if "target" in name and "motor" in name)


def _log(neck: str, grams: int, rows: np.ndarray, fitted: bool, series: str) -> Log:
    """Means over some rows of a log."""
    targets = _targets(rows.dtype.names)
    encoders = [rows[f"encoder{i + 1}"].mean() for i in range(3)]
    return Log(
        neck=neck,
        payload=1e-3 * grams,
        targets=np.array([rows[name].mean() for name in targets]),
        displacements=WINCH * np.radians(encoders),
        inclination=float(rows["inclination_sensor"].mean()),
        asked=(float(rows["inclination_target"][-1]), float(rows["orientation_target"][-1])),
        fitted=fitted,
        series=series,
    )


def _places(neck: str) -> np.ndarray:
    """(3, 3) where the cables leave the base [m]."""
    return RADII[neck] * np.column_stack([np.cos(ANGLES), np.sin(ANGLES), np.zeros(3)])


def _shares(nodes: np.ndarray, place: np.ndarray) -> list[tuple[int, float]]:
    """Nodes (k, 3), and what share of a mass each carries so that it is as if at `place` (3,): none negative."""
    shares, _ = nnls(np.vstack([nodes.T, np.ones(len(nodes))]), np.append(place, 1.0))
    return [(int(i), float(shares[i])) for i in np.flatnonzero(shares)]


def _inclination(twin: FemTwin, log: Log, parameters: Parameters) -> float:
    """[°] of the plate."""
    try:
        twin.equilibrium(DOWN, coordinates=log.displacements + parameters.wound_in)
    except ConvergenceError:
        return LOST
    axis = twin.frames["tip"].rotation(twin)[:, 2]
    return float(np.degrees(np.arccos(min(axis[2], 1.0))))


def _means(own: np.ndarray, logs: Sequence[Log], values: np.ndarray) -> str:
    away = np.abs(values - np.array([log.inclination for log in logs]))
    fitted = np.array([log.fitted for log in logs])
    parts = [away[own & fitted], away[own & ~fitted], away[own]]
    return f"{parts[0].mean():8.2f} {parts[1].mean():10.2f} {parts[2].mean():6.2f} {parts[2].max():8.2f}"
