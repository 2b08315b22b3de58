"""A twin's shapes under many pressures: simulated in parallel, each stored as it ends.

A shape is found under pressure. A body that balloons may have none there, or none that can be reached: then chambers
are driven by the volumes of the same sample, and the pressures that they turn out to need are the sample's, if the body
stays there when these are held. One that has no shape at all either way, or that no pressures hold, is told by its
number and left out.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from soft_twin.errors import ConvergenceError, MeshError, UsageError
from soft_twin.learning.identity import description_hash
from soft_twin.learning.inflation import DOWN, find_inflation
from soft_twin.learning.samples import Inflation, inflation_shares
from soft_twin.learning.surfaces import SurfaceFit
from soft_twin.mesh.facets import facets
from soft_twin.parallel import Say, Workers, compute_all, terminal_progress
from soft_twin.robots import load_robot
from soft_twin.robots.fem_robot import FemRobot
from soft_twin.twins.finite_element import FemTwin

if TYPE_CHECKING:
    from soft_twin.descriptions.learning import Learning

MOST_FAILURES, MOST_BALLOONING = 0.02, 0.3  # share of the simulations
MUCH = 0.5  # share of inflation of chambers that are driven by volume where pressures have no shape
BALLOONS = "it balloons: these pressures do not hold the volumes that they were found for"


@dataclass(frozen=True)
class SurfaceMesh:
    """The surface that is learned: of the undeformed body.

    Attributes:
        weights: (p, n) of the mesh's nodes in its points.
        points: (p, 3) at rest [m].
        triangles: (t, 3) numbers of points, outward.
        between: (t, p) of the points in the middle of each triangle, see `Facets`; None: nobody knows what is there.
    """

    weights: csr_matrix
    points: np.ndarray
    triangles: np.ndarray
    between: csr_matrix | None = None


@dataclass(frozen=True)
class Simulations:
    """What a twin does.

    Attributes:
        pressures: (m, a) [Pa].
        points: (m, p, 3) of its surface [m].
        by_volume: (m,) which were found by driving volumes.
        failed: numbers of the samples that have no shape, left out above, with what was wrong.
        seconds: processor time of one, in the mean.
    """

    pressures: np.ndarray
    points: np.ndarray
    by_volume: np.ndarray
    failed: dict[int, str]
    seconds: float = 0.0


def learnable(name_or_path: str | Path) -> tuple[FemRobot, "Learning"]:
    """A robot and what its description says of `learning`.

    Raises:
        UsageError: it has no surface that is learned.
    """
    from soft_twin.descriptions.load import read_description

    robot = load_robot(name_or_path)
    learning = read_description(robot.path).learning
    if learning is None:
        raise UsageError(f"nothing of robot '{robot.name}' is learned: {robot.path} has no part 'learning'")
    return robot, learning


def surface_of(twin: FemTwin, name: str, parts: int = 1) -> SurfaceMesh:
    """The twin's surface of that name, each edge of its faces cut into `parts`.

    Raises:
        MeshError: there is none.
    """
    mesh = twin.body.mesh
    found = facets(mesh, mesh.surface(name), parts)
    return SurfaceMesh(found.weights, found.weights @ mesh.nodes, found.triangles, found.between)


def learned_surface(robot: FemRobot, learning: "Learning") -> SurfaceMesh:
    """The surface that is learned of a robot, which can be flattened: seen before anything is simulated.

    Raises:
        MeshError: there is none of that name, or it cannot be flattened.
    """
    found = surface_of(robot.build_twin(), learning.surface, learning.parts)
    try:
        SurfaceFit.at_rest(found.points, found.triangles)
    except MeshError as error:
        raise MeshError(f"robot '{robot.name}', surface '{learning.surface}': {error}") from error
    return found


def pressure_limits(robot: FemRobot) -> np.ndarray:
    """(a, 2) lowest and highest pressure of each chamber [Pa]."""
    return np.array([chamber.pressure for chamber in robot.description.chambers])


def simulate_all(
    robot: FemRobot,
    surface: str,
    count: int,
    workers: Workers | None = None,
    store: Path | None = None,
    say: Say | None = None,
    parts: int = 1,
) -> Simulations:
    """`count` shapes of the robot's twin, its surface as `surface_of` has it; who is killed and started again with the
    same `store` goes on.

    Raises:
        ConvergenceError: more than 1 of 50 have no shape.
        others: of `compute_each`, `find_inflation` and `inflation_shares`.
    """
    inflation = inflation_of(robot, store)
    pressures = inflation.pressures_of(inflation_shares(len(robot.chamber_names), count))
    name = f"simulations of {robot.name}"
    return gathered(simulated(robot, surface, parts, inflation, pressures, workers, store, say, name))


def simulated(
    robot: FemRobot,
    surface: str,
    parts: int,
    inflation: Inflation,
    pressures: np.ndarray,
    workers: Workers | None = None,
    store: Path | None = None,
    say: Say | None = None,
    name: str = "simulations",
) -> list[dict[str, np.ndarray]]:
    """Results of `simulate` at pressures (m, a) [Pa]; otherwise as `simulate_all`.

    Raises:
        others: of `compute_each`.
    """
    finer = {} if parts == 1 else {"parts": parts}  # results of surfaces that are not cut keep their names
    work: Callable = partial(simulate, str(robot.path), description_hash(robot), surface, **finer)
    return compute_all(work, simulation_cases(inflation, pressures), workers or Workers(), store, say, name)


def simulation_cases(inflation: Inflation, pressures: np.ndarray) -> list[np.ndarray]:
    """(2, a) of each sample of pressures (m, a) [Pa]: them, and the volumes [m³] by which chambers are driven where
    these have no shape; NaN for those that are not much inflated, whose pressures will do."""
    shares = inflation.shares_of(pressures)
    volumes = np.where(shares > MUCH, inflation.volumes_of(shares), np.nan)
    return [np.vstack(pair) for pair in zip(pressures, volumes, strict=True)]


def inflation_of(robot: FemRobot, store: Path | None = None) -> Inflation:
    """How the robot's chambers fill, see `find_inflation`; kept in a store, with progress on terminals.

    Raises:
        ConvergenceError, InputError: as `find_inflation`.
    """
    work = partial(_inflation_of, str(robot.path), description_hash(robot))
    found = compute_all(work, ["inflation"], store=store)[0]
    return Inflation(found["pressures"], found["volumes"])


def gathered(results: list[dict]) -> Simulations:
    """Results of `simulate`, as one.

    Raises:
        ConvergenceError: more than 1 of 50 failed, or 3 of 10 balloon.
    """
    failed = {i: str(each["failure"]) for i, each in enumerate(results) if str(each["failure"])}
    ballooning = [i for i, reason in failed.items() if reason == BALLOONS]
    unsolved = [i for i in failed if i not in ballooning]
    for kind, most in ((unsolved, MOST_FAILURES), (ballooning, MOST_BALLOONING)):
        if len(kind) > most * len(results):
            pressures = ", ".join(f"{each:g}" for each in results[kind[0]]["pressures"])
            raise ConvergenceError(
                f"{len(kind)} of {len(results)} simulations failed, the first is {kind[0]} (pressures {pressures} Pa): "
                f"{failed[kind[0]]}"
            )
    good = [each for i, each in enumerate(results) if i not in failed]
    columns = ([each[key] for each in good] for key in ("pressures", "points", "by_volume"))
    seconds = float(np.mean([each["seconds"] for each in results]))
    return Simulations(*(np.array(column) for column in columns), failed, seconds)


def simulate(path: str, digest: str, surface: str, case: np.ndarray, parts: int = 1) -> dict[str, np.ndarray]:
    """The twin's surface under the pressures that are the first row of a case (2, a), or, where that has no shape, with
    the volumes of the second that are numbers. `digest` is the description's, which stored results belong to."""
    return shape_of(*_twin_of(path, digest, surface, parts), case)


def shape_of(twin: FemTwin, weights: csr_matrix, case: np.ndarray) -> dict[str, np.ndarray]:
    """As `simulate`, of a twin whose nodes' weights (p, n) make the points of its surface."""
    begin, (pressures, volumes) = time.process_time(), case
    failure, by_volume = "", False
    try:
        twin.equilibrium(DOWN, efforts=pressures)
    except ConvergenceError:
        by_volume = True
        try:
            driven = [None if np.isnan(volume) else volume for volume in volumes]
            others = pressures if None in driven else None
            pressures = twin.equilibrium(DOWN, coordinates=driven, efforts=others).efforts
            failure = "" if twin.is_held(DOWN) else BALLOONS
        except ConvergenceError as error:
            failure = str(error)
    return {
        "pressures": pressures,
        "points": weights @ twin.points,
        "by_volume": np.array(by_volume),
        "failure": np.array(failure),
        "seconds": np.array(time.process_time() - begin),
    }


def _inflation_of(path: str, digest: str, case: str) -> dict[str, np.ndarray]:
    robot = load_robot(path)
    largest = np.array([chamber.volume[1] for chamber in robot.description.chambers])
    found = find_inflation(robot.build_twin(), pressure_limits(robot), robot.chamber_names, largest, terminal_progress)
    return {"pressures": found.pressures, "volumes": found.volumes}


@lru_cache(maxsize=2)
def _twin_of(path: str, digest: str, surface: str, parts: int) -> tuple[FemTwin, csr_matrix]:
    twin = load_robot(path).build_twin()
    return twin, surface_of(twin, surface, parts).weights
