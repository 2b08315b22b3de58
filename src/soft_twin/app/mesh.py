"""`soft-twin mesh ROBOT`: make a robot's meshes as its description says; `--check FILE`: how good a mesh is."""

import argparse
from pathlib import Path

from soft_twin.descriptions.fem_mesh import MeshSource
from soft_twin.descriptions.long_form import made_mesh
from soft_twin.errors import MeshError, SoftTwinError, UsageError
from soft_twin.mesh.elements import ELEMENTS, element_named
from soft_twin.mesh.files import read_mesh, write_mesh
from soft_twin.mesh.mesh import check_mesh
from soft_twin.mesh.quality import quality
from soft_twin.resources import folder
from soft_twin.robots import load_robot
from soft_twin.robots.cable_tube import CableTube
from soft_twin.robots.fem_meshes import build_mesh
from soft_twin.robots.fem_robot import FemRobot

SMALLEST, LARGEST = 1e-3, 10.0  # [m] that a soft robot measures


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", nargs="?", help="name of a robot, or path of its .yaml file")
    parser.add_argument(
        "--out",
        type=Path,
        help="folder for the meshes (default: beside the description; of robots that are shipped, the package's)",
    )
    parser.add_argument("--check", type=Path, metavar="FILE", help="instead, print how good the mesh in FILE is")
    parser.add_argument("--element", metavar="NAME", help=f"of the mesh that is checked: {', '.join(ELEMENTS)}")


def run(arguments: argparse.Namespace) -> int:
    if (arguments.robot is None) == (arguments.check is None):
        raise UsageError("give either a robot, whose meshes are made, or --check FILE")
    if arguments.check is not None:
        if arguments.out is not None:
            raise UsageError(f"--out {arguments.out}: of no use with --check, which writes nothing: leave it out")
        return _check(arguments.check, arguments.element)
    if arguments.element is not None:
        raise UsageError(
            f"--element {arguments.element}: of no use without --check, the description says it: leave it out"
        )
    robot = load_robot(arguments.robot)
    if not isinstance(robot, FemRobot):
        raise UsageError(f"robot '{robot.name}' has no meshed body")
    sources = _sources(robot)
    if not sources:
        raise UsageError(f"robot '{robot.name}' has no meshes to make: its description names files")
    shipped, own = folder("config").resolve(), robot.path.resolve().parent
    out = arguments.out or (folder("meshes") if own == shipped else own)
    failed: list[str] = []
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, (file, source) in sources.items():
            try:
                mesh = build_mesh(source, own)
                write_mesh(mesh, out / file)
            except SoftTwinError as error:  # the others can be made all the same, as those that need no Gmsh
                failed.append(f"{name}: {error}")
                continue
            print(f"{name}: {len(mesh.cells)} {mesh.element.name} cells, {len(mesh.nodes)} nodes -> {out / file}")
    except OSError as error:
        raise UsageError(f"cannot write meshes to '{out}': {error.strerror}") from error
    if failed:
        raise UsageError("; ".join(failed))
    return 0


def _sources(robot: FemRobot) -> dict[str, tuple[str, MeshSource]]:
    """Of each mesh its file's name and how it is made: all that a cable tube can choose from, or those of any body."""
    if isinstance(robot, CableTube):
        return {
            name: (choice.file or f"{robot.name}_{name}.vtu", MeshSource.model_validate(made_mesh(robot.body, choice)))
            for name, choice in robot.body.meshes.items()
            if choice.divisions or choice.size
        }
    sources = {"body": robot.description.body.mesh, "emulated": robot.description.emulated.mesh}
    return {
        name: (f"{robot.name}_{name}.vtu", source)
        for name, source in sources.items()
        if source is not None and source.file is None
    }


def _check(path: Path, element: str | None) -> int:
    mesh = read_mesh(path, element_named(element) if element else None, check=False)
    print(quality(mesh).table())
    check_mesh(mesh, f"mesh '{path}'")
    largest = float(mesh.size.max())
    if not SMALLEST <= largest <= LARGEST:
        guess = "most likely it is in millimetres, scale it" if largest > LARGEST else "was it scaled twice?"
        raise MeshError(f"mesh '{path}': measures {largest:.4g} m, and lengths are metres: {guess}")
    return 0
