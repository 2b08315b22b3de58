"""The shape of a tensegrity, as the forward model and the estimators give it."""

from dataclasses import dataclass, field

import numpy as np

MAX_SLACK = 0.3  # share of the members


@dataclass(frozen=True)
class Certainty:
    """How sure a minimum is to be the shape. Nothing here is a proof: minima exist that are not the shape.

    Attributes:
        gap: energy from this minimum to the next one that the last cold start found, divided by this one's
            energy; inf where it found no other, NaN where there was none.
        curvature: smallest eigenvalue of the Hessian [N/m], all unknowns in metres.
        minima: number of distinct minima that the last cold start found.
        work: what forces that are in no model must have done on the arm, if the cold start was right [J].
    """

    gap: float
    curvature: float
    minima: int
    work: float


@dataclass(frozen=True)
class Shape:
    """Positions of the nodes and what goes with them.

    Attributes:
        nodes: (2 s, 3) in base_link [m], struts' bottoms first, then their tops.
        anchors: (a,) struts whose bottoms are held.
        top_nodes: (t,) nodes of the tip.
        tensions: (m,) of the members [N]; 0 where slack, negative where a cylinder pushes at the end of its stroke.
        energy: elastic and potential energy [J]; its zero has no meaning.
        residual: largest unbalanced force of the unknowns [N].
        confidence: 0…1, a monotone summary of `certainty`, no probability.
        iterations: Newton steps or gradient steps of this update.
        converged: the residual is below the tolerance.
        inclinations: (s,) of the struts in this shape [rad].
        tip_force: (3,) in base_link [N]; zero where it is no unknown.
        certainty: what confidence is made of.
        freed: struts whose inclination was not used.
        faults: what was wrong with the input, or leaves the shape undetermined, one sentence each.
        stale: this is an earlier update's shape, because the input could not be used.
    """

    nodes: np.ndarray
    anchors: np.ndarray = field(repr=False)
    top_nodes: np.ndarray = field(repr=False)
    tensions: np.ndarray
    energy: float
    residual: float
    confidence: float
    iterations: int
    converged: bool
    inclinations: np.ndarray = field(repr=False)
    tip_force: np.ndarray = field(default_factory=lambda: np.zeros(3))
    certainty: Certainty | None = None
    freed: tuple[int, ...] = ()
    faults: tuple[str, ...] = ()
    stale: bool = False

    @property
    def strut_count(self) -> int:
        return len(self.nodes) // 2

    def slackness(self) -> tuple[str, ...]:
        """The sentence that too many members are slack, or nothing."""
        slack, count = int(np.sum(self.tensions == 0.0)), len(self.tensions)
        if slack <= MAX_SLACK * count:
            return ()
        return (f"{slack} of {count} members are slack: nothing determines the shape",)

    def length(self) -> float:
        """Distance from the mean of the anchored bottoms to the mean of the tip's nodes [m]."""
        return float(np.linalg.norm(self.tip() - self.nodes[self.anchors].mean(axis=0)))

    def tip(self) -> np.ndarray:
        """(3,) mean of the tip's nodes, in base_link [m]."""
        return self.nodes[self.top_nodes].mean(axis=0)


def tip_direction(shape: Shape) -> np.ndarray:
    """(3,) unit normal of the polygon of the tip's nodes in base_link, outward, in whatever order they come."""
    around = shape.nodes[shape.top_nodes] - shape.tip()
    right, up = np.linalg.svd(around)[2][:2]
    around = around[np.argsort(np.arctan2(around @ up, around @ right))]
    normal = np.cross(around, np.roll(around, -1, axis=0)).sum(axis=0)
    bottoms = shape.nodes[shape.top_nodes - shape.strut_count].mean(axis=0)
    return np.sign(normal @ (shape.tip() - bottoms)) * normal / np.linalg.norm(normal)


def bend_angle(shape: Shape) -> float:
    """Angle between base_link's z axis and the normal of the polygon of the tip's nodes [rad]."""
    return float(np.arccos(np.clip(tip_direction(shape)[2], -1.0, 1.0)))


def mean_node_error(shape: Shape, truth: Shape) -> float:
    """Mean distance between the nodes of two shapes [m]."""
    return float(np.linalg.norm(shape.nodes - truth.nodes, axis=1).mean())
