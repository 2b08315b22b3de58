"""Which robot simulations and weights belong to: a hash of all that moves the surface that is learned of its twin."""

import hashlib
from pathlib import Path

from soft_twin.descriptions.fem_mesh import MeshSource
from soft_twin.descriptions.load import read_description
from soft_twin.errors import MeshError
from soft_twin.files import checked_file
from soft_twin.mesh.files import MAX_FILE_SIZE
from soft_twin.robots.fem_meshes import mesh_file
from soft_twin.robots.fem_robot import FemRobot

# What moves no surface of the twin at rest: what drives the robot, what is measured of it and asked of it, and what is
# emulated of it.
ASIDE = {"name", "winches", "valves", "imus", "frames", "target", "posture", "emulated", "sofa"}
LEARNED = {"surface", "parts"}  # of `learning`: which points of the twin are learned


def description_hash(robot: FemRobot) -> str:
    """SHA-256 of the twin that a robot's description makes and of the surface of it that is learned, as hexadecimal
    digits.

    Counted is what the description says of the body, of what moves it and what it touches, and the content of the file
    that its mesh comes from; but not damping, which is of motion, chambers' channels, what is as it is where nothing is
    said, or comments.

    Raises:
        MeshError: the file of its mesh is missing.
    """
    said = robot.description
    chambers = tuple(each.model_copy(update={"channel": None}) for each in said.chambers)
    plain = said.model_copy(update={"chambers": chambers})
    digest = hashlib.sha256(plain.model_dump_json(exclude={*ASIDE, "body"}, exclude_defaults=True).encode())
    digest.update(said.body.model_dump_json(exclude={"damping"}, exclude_defaults=True).encode())
    digest.update(_mesh_digest(robot, said.body.mesh))
    learning = read_description(robot.path).learning
    if learning is not None:
        digest.update(learning.model_dump_json(include=LEARNED).encode())
    return digest.hexdigest()


def reality_hash(robot: FemRobot) -> str:
    """As `description_hash`, of the emulated reality that is scanned: how the emulated robot and the reality differ
    from the twin, the scanner and the seed count, too; not how it is learned."""
    learning = read_description(robot.path).learning
    emulated = robot.description.emulated.model_dump_json(include={"young_modulus_scale", "density_scale"})
    own = learning.model_dump_json(include={"seed", "reality", "scanner"}, exclude_defaults=True)
    digest = hashlib.sha256(f"{description_hash(robot)} {emulated} {own}".encode())
    if learning.reality.mesh is not None:
        digest.update(_mesh_digest(robot, learning.reality.mesh))
    return digest.hexdigest()


def _mesh_digest(robot: FemRobot, source: MeshSource) -> bytes:
    """Of the file that a mesh comes from; nothing where a generator makes it."""
    path = mesh_file(source, Path(robot.path).resolve().parent)
    if path is None:
        return b""
    return hashlib.sha256(checked_file(path, "mesh", MAX_FILE_SIZE, MeshError).read_bytes()).digest()
