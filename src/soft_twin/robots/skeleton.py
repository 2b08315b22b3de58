"""A robot's frames as a tree of links, at rest and as its twin deforms: what its URDF and its transforms are made of.

Of a body: cross sections at equal distances, each hung on the one below it, the tip on the last of them; the other
named frames and the plates on the base; the IMUs on what carries them. Of a tensegrity: its struts, and the tip. The
root is `base_link`. No two links share a name: each kind of them ends in a word of its own.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from soft_twin.robots.base import DrivenRobot, Robot
from soft_twin.robots.links import BASE, TIP, Link, Solid, imu_link, plate_link
from soft_twin.robots.tensegrity import TensegrityArm
from soft_twin.twins.frames import NodesFrame, SectionFrame
from soft_twin.twins.rigid_fits import RigidFits

if TYPE_CHECKING:
    from soft_twin.mechanics.model import Model

SECTIONS = 5  # equal lengths that a body is cut into
DISC = 0.02  # of the body's length, thickness of what is drawn of a cross section
STRUT_DIAMETER = 0.008  # [m] as drawn
ROUND = 1.03  # farthest node of a cross section, to half of its size: a square has √2


class Skeleton(ABC):
    """See the module's docstring.

    Attributes:
        moving: the links that move, parents before children.
        fixed: the others.
    """

    def __init__(
        self,
        names: Sequence[str],
        parents: Sequence[str],
        rest: np.ndarray,
        fixed: Sequence[Link],
        solids: Mapping[str, Solid],
    ):
        """`names`, `parents`: of the links that move. `rest`: (n, 3) undeformed nodes. `solids`: of links, by name."""
        order = [BASE, *names]
        self._parents = np.array([order.index(parent) for parent in parents])
        poses = zip(names, parents, *self.transforms(rest), strict=True)
        self.moving = tuple(Link(*pose, moves=True, solid=solids.get(pose[0])) for pose in poses)
        self.fixed = tuple(fixed)

    @abstractmethod
    def in_base(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places (m, 3) [m] and rotations (m, 3, 3) of the moving links in base_link, of nodes at points (n, 3)."""

    def transforms(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same in the frames of their parents."""
        places, rotations = self.in_base(points)
        origins = np.concatenate([np.zeros((1, 3)), places])[self._parents]
        turns = np.concatenate([np.eye(3)[None], rotations])[self._parents].transpose(0, 2, 1)
        return (turns @ (places - origins)[:, :, None])[:, :, 0], turns @ rotations


class BodySkeleton(Skeleton):
    """Of a body of finite elements; the points are its mesh's nodes."""

    def __init__(self, robot: DrivenRobot, model: "Model"):
        """`model`: the robot's, as its twin has it."""
        mesh, named = model.body.mesh, robot.build_frames(model.body)
        heights = mesh.bounds[0][2] + mesh.size[2] * np.arange(1, SECTIONS) / SECTIONS
        sections = {f"section_{i + 1}": SectionFrame(z) for i, z in enumerate(heights)}
        others = {f"{name}_frame": frame for name, frame in named.items() if name != "tip"}
        plates = zip(robot.plate_names, model.unknowns.plates, strict=True)
        others |= {plate_link(name): NodesFrame(nodes, mesh.nodes) for name, nodes in plates}
        frames = {**sections, TIP: named["tip"], **others}
        weights, around = zip(*((each.weights(mesh), each.around(mesh)) for each in frames.values()), strict=True)
        self._fits = RigidFits(mesh.nodes, weights, around)
        parents = [BASE, *sections, *[BASE] * len(others)]
        drawn = (*sections, *(plate_link(name) for name in robot.plate_names))
        thickness = DISC * mesh.size[2]
        places = {name: frames[name].weights(mesh) @ mesh.nodes for name in drawn}
        solids = {name: _slice(mesh.nodes[frames[name].around(mesh)], places[name], thickness) for name in drawn}
        super().__init__(list(frames), parents, mesh.nodes, _carried(robot), solids)

    def in_base(self, points):
        return self._fits.transforms(points)


class TensegritySkeleton(Skeleton):
    """Of a tensegrity; the points are its nodes, as those of a Shape. A strut's frame has its z axis along the strut,
    from its bottom, and is turned no more than that needs."""

    def __init__(self, arm: TensegrityArm):
        structure, model = arm.structure, arm.model
        rest = model.start.nodes(structure.strut_lengths) @ model.level
        self._struts = structure.strut_count
        tip = np.zeros(len(rest))
        tip[structure.top_nodes] = 1.0 / len(structure.top_nodes)
        self._tip = RigidFits(rest, [tip])
        names = [*(f"strut_{i}" for i in range(self._struts)), TIP]
        lengths = zip(names, structure.strut_lengths, strict=False)
        super().__init__(names, [BASE] * len(names), rest, (), {name: _strut(length) for name, length in lengths})

    def in_base(self, points):
        bottoms, tops = np.split(points, [self._struts])
        place, turn = self._tip.transforms(points)
        return np.concatenate([bottoms, place]), np.concatenate([_along(tops - bottoms), turn])


def build_skeleton(robot: Robot, model: "Model | None" = None) -> Skeleton:
    """A robot's; `model`: its model, where it is built already.

    Raises:
        DescriptionError, MeshError: its body cannot be built.
    """
    if isinstance(robot, TensegrityArm):
        return TensegritySkeleton(robot)
    return BodySkeleton(robot, robot.build_model() if model is None else model)


def _carried(robot: DrivenRobot) -> list[Link]:
    """Its IMUs on what carries them: the one in the base that gravity is measured by is called `imu_link`."""
    links, main = [], next((imu.name for imu in robot.imus if imu.plate is None), None)
    for imu in robot.imus:
        name = "imu_link" if imu.name == main else imu_link(imu.name)
        links.append(Link(name, BASE if imu.plate is None else plate_link(imu.plate), rotation=imu.mounting))
    return links


def _slice(nodes: np.ndarray, place: np.ndarray, thickness: float) -> Solid:
    """What is drawn of a cross section or a plate at a place (3,), of the size of these nodes (k, 3)."""
    low, high = nodes.min(axis=0), nodes.max(axis=0)
    size, centre = high - low, np.append(((low + high) / 2.0 - place)[:2], 0.0)
    reach = np.linalg.norm((nodes - place)[:, :2], axis=1).max()
    if reach <= ROUND * size[:2].max() / 2.0:
        return Solid(np.array([2.0 * reach, 2.0 * reach, thickness]), round=True)
    return Solid(np.array([*size[:2], thickness]), centre)


def _strut(length: float) -> Solid:
    """From its bottom along z."""
    return Solid(np.array([STRUT_DIAMETER, STRUT_DIAMETER, length]), np.array([0.0, 0.0, length / 2.0]), round=True)


def _along(axes: np.ndarray) -> np.ndarray:
    """(s, 3, 3) the shortest rotations that take +z to axes a (s, 3): I + [v]× + [v]×² / (1 + a_z), v = z × a
    (Rodrigues); about x where a is −z and all are as short."""
    x, y, z = (axes / np.linalg.norm(axes, axis=1, keepdims=True)).T
    down = z < 1e-12 - 1.0
    xx, xy, yy = np.where(down, [[0.0], [0.0], [2.0]], np.array([x * x, x * y, y * y]) / np.where(down, 1.0, 1.0 + z))
    return np.moveaxis(np.array([[1.0 - xx, -xy, x], [-xy, 1.0 - yy, y], [-x, -y, z]]), 2, 0)
