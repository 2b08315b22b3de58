"""`soft-twin mesh ROBOT`: make a robot's meshes as its description says; `--check FILE`: how good a mesh is."""

import argparse
from pathlib import Path

from soft_twin.errors import MeshError, UsageError
from soft_twin.mesh.elements import ELEMENTS, element_named
from soft_twin.mesh.files import read_mesh, write_mesh
from soft_twin.mesh.generate.sweep import sweep_tube
from soft_twin.mesh.mesh import Mesh, check_mesh
from soft_twin.mesh.quality import quality
from soft_twin.resources import folder
from soft_twin.robots import load_robot
from soft_twin.robots.cable_tube import Body, MeshChoice

SMALLEST, LARGEST = 1e-3, 10.0  # [m] that a soft robot measures


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", nargs="?", help="name of a robot, or path of its .yaml file")
    parser.add_argument("--out", type=Path, help="folder for the meshes (default: where the twin looks for them)")
    parser.add_argument("--check", type=Path, metavar="FILE", help="instead, print how good the mesh in FILE is")
    parser.add_argument("--element", metavar="NAME", help=f"of the mesh that is checked: {', '.join(ELEMENTS)}")


def run(arguments: argparse.Namespace) -> int:
    if (arguments.robot is None) == (arguments.check is None):
        raise UsageError("give either a robot, whose meshes are made, or --check FILE")
    if arguments.check is not None:
        return _check(arguments.check, arguments.element)
    robot = load_robot(arguments.robot)
    body = getattr(robot, "body", None)
    if not isinstance(body, Body):
        raise UsageError(f"robot '{robot.name}' has no meshed body")
    out = arguments.out or folder("meshes")
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, choice in body.meshes.items():
            mesh = make(body, choice)
            write_mesh(mesh, out / choice.file)
            print(f"{name}: {len(mesh.cells)} {choice.element} cells, {len(mesh.nodes)} nodes -> {out / choice.file}")
    except OSError as error:
        raise UsageError(f"cannot write meshes to '{out}': {error.strerror}") from error
    return 0


def make(body: Body, choice: MeshChoice) -> Mesh:
    """The mesh of a tube that one entry of `meshes` describes: swept if it has divisions, else by Gmsh."""
    radii = 0.5 * body.lumen_diameter, 0.5 * body.outer_diameter
    if choice.divisions is not None:
        return sweep_tube(*radii, body.segment_lengths, choice.divisions, choice.element, choice.grading)
    if choice.size is None:
        raise UsageError(f"mesh '{choice.file}' has neither divisions nor size in the description")
    from soft_twin.mesh.generate.gmsh_tube import tube_tetrahedra

    return tube_tetrahedra(*radii, body.length, choice.size, order=2 if choice.element == "tet10" else 1)


def _check(path: Path, element: str | None) -> int:
    mesh = read_mesh(path, element_named(element) if element else None, check=False)
    print(quality(mesh).table())
    check_mesh(mesh, f"mesh '{path}'")
    largest = float(mesh.size.max())
    if not SMALLEST <= largest <= LARGEST:
        guess = "most likely it is in millimetres, scale it" if largest > LARGEST else "was it scaled twice?"
        raise MeshError(f"mesh '{path}': measures {largest:.4g} m, and lengths are metres: {guess}")
    return 0
