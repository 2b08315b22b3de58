"""A body with forces and constraints: everything that a solver asks for, at any positions.

Static equilibria minimise the potential Φ = W − (work of the loads); a time step minimises an incremental potential

    Φ(x) = m/2 (x − x̂)ᵀ M (x − x̂) + e W(x) + l (potential of the loads) − a · x,

whose factors m, e, l and vectors x̂, a the integrator chooses (`Increment`); statics are m = 0, e = l = 1. See
SORS, eqs. 1–10.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix, diags
from scipy.sparse.csgraph import connected_components

from soft_twin.checks import checked_kind, checked_list, checked_numbers, checked_positions
from soft_twin.errors import InputError, MeshError
from soft_twin.mechanics.actuators.base import Actuators, ActuatorSet
from soft_twin.mechanics.body import Addresses, Body, add_parts
from soft_twin.mechanics.constraints.base import Constraint
from soft_twin.mechanics.constraints.driven import Driven
from soft_twin.mechanics.constraints.multipliers import Multipliers
from soft_twin.mechanics.constraints.rows import Rows
from soft_twin.mechanics.loads.base import Force
from soft_twin.mechanics.loads.efforts import Effort
from soft_twin.mechanics.loads.loads import Gravity
from soft_twin.mechanics.unknowns import Coupling, PartCoupling, Pose, Unknowns

ROUND_OFF = 1e-15  # of the elastic modulus times the squared length, for the residual


@dataclass(frozen=True)
class Increment:
    """Factors and vectors of the module's Φ; `mass` [1/s²], `coasted` x̂ (n, 3) [m], `linear` a (n, 3) [N]."""

    elastic: float = 1.0
    load: float = 1.0
    mass: float = 0.0
    coasted: np.ndarray | None = None
    linear: np.ndarray | None = None


@dataclass(frozen=True)
class Assembled:
    """Φ's parts at some positions.

    Attributes:
        energy: elastic energy [J].
        elastic, loads: nodal forces (n, 3) [N] of the body, ∂W/∂x, and of the loads.
        gradient: ∂Φ/∂x (n, 3).
        rows: of each constraint.
        worst, cell: smallest det F, and the cell where it is.
    """

    energy: float
    elastic: np.ndarray
    loads: np.ndarray
    gradient: np.ndarray
    rows: list[Rows | None]
    worst: float
    cell: int


class Model:
    """See the module's docstring.

    Attributes:
        body, forces, constraints: its parts; the values of forces and constraints may be set between solves.
        actuators: what moves it, by efforts that are loads, too, or by coordinates that are constraints, see `drive`.
        unknowns: what is free.
        prescribed: (k,) nodes whose positions are given.
        mass: (n, n) mass matrix of one coordinate [kg].
    """

    def __init__(
        self,
        body: Body,
        forces: Sequence[Force] = (),
        constraints: Sequence[Constraint] = (),
        consistent_mass: bool = False,
        actuators: Sequence[Actuators] = (),
    ):
        """`consistent_mass`: the elements' own mass matrices, instead of lumped ones.

        Raises:
            MeshError, InputError: names that match nothing, nodes fixed twice, nothing left to solve for, or parts that
                are no body, or in the wrong list.
        """
        forces = checked_list(forces, Force, "forces, such as a Gravity", "forces")
        constraints = checked_list(constraints, Constraint, "constraints, such as a Prescribed", "constraints")
        actuators = checked_list(actuators, Actuators, "actuators, such as Chambers", "actuators")
        checked_kind(body, Body, "a Body", "body")
        self.actuators, self._efforts = ActuatorSet(actuators), [Effort(part) for part in actuators]
        self._driven = [Driven(part) for part in actuators]
        self.body, self.forces, self.constraints = body, [*forces, *self._efforts], [*constraints, *self._driven]
        for part in (*self.forces, *self.constraints):
            part.attach(body)
        self._clamped = body.place < 0
        self.prescribed = self._prescribed_nodes()
        fixed = self._clamped.copy()
        fixed[self.prescribed] = True
        self._movable = np.repeat(~fixed, 3).astype(float)
        plates = [constraint.plate for constraint in self.constraints if constraint.plate is not None]
        coupled = [part.groups for part in (*self.forces, *self.constraints) if part.groups is not None]
        self.unknowns = Unknowns(body.mesh.nodes, fixed, plates, [body.mesh.cells, *coupled])
        self._parts = [PartCoupling(self.unknowns, part) for part in body.parts]
        self._stiff = [(each, Coupling(self.unknowns, each.groups)) for each in self.forces if each.groups is not None]
        self._curved = [
            (index, each, Coupling(self.unknowns, each.groups))
            for index, each in enumerate(self.constraints)
            if each.groups is not None
        ]
        self.load_factor = 1.0
        self._consistent_mass = consistent_mass
        self.update_mass()

    @property
    def rest(self) -> Pose:
        """The undeformed pose."""
        return self.unknowns.rest

    @property
    def gravity(self) -> Gravity:
        """The one among the forces, whose vector twins and moving bases set.

        Raises:
            InputError: there is none, or there are several.
        """
        found = [force for force in self.forces if isinstance(force, Gravity)]
        if len(found) != 1:
            raise InputError(f"a model that is turned has one Gravity among its forces, this one has {len(found)}")
        return found[0]

    @property
    def idle(self) -> Multipliers:
        """Those of constraints that do not push."""
        return Multipliers.none(len(self.constraints))

    @property
    def efforts(self) -> np.ndarray:
        """(a,) of the actuators [N] or [Pa]; may be set at any time.

        Raises:
            InputError: when they are set, to no numbers, or of more or fewer actuators.
        """
        if len(self._efforts) == 1:
            return self._efforts[0].efforts
        return np.concatenate([np.zeros(0)] + [part.efforts for part in self._efforts])

    @efforts.setter
    def efforts(self, values: np.ndarray) -> None:
        own = [np.array(checked_numbers(each, "numbers", "efforts")) for each in self.actuators.split(values)]
        for part, efforts in zip(self._efforts, own, strict=True):
            part.take(efforts)

    @property
    def load_factor(self) -> float:
        """0…1, scales all forces, and how far actuators are driven."""
        return self._load_factor

    @load_factor.setter
    def load_factor(self, factor: float) -> None:
        self._load_factor = factor
        for part in self._driven:
            part.share = factor

    def drive(self, coordinates: Sequence[float | None] | None) -> None:
        """Drive the actuators to coordinates (a,), None for one that is let go; None: let all go.

        Raises:
            InputError: no numbers, not finite, or of more or fewer actuators.
        """
        wanted = [None] * len(self.actuators) if coordinates is None else coordinates
        for part, own in zip(self._driven, self.actuators.split(wanted), strict=True):
            part.coordinates = own

    def driven_efforts(self, x: np.ndarray, multipliers: Multipliers) -> np.ndarray:
        """(a,) of actuators that are driven, in a solution at positions (n, 3) with multipliers; 0 of the others."""
        own = [(each, known) for each, known in zip(self.constraints, multipliers, strict=True) if each in self._driven]
        return np.concatenate([np.zeros(0)] + [part.efforts(x, known) for part, known in own])

    def undriven(self, multipliers: Multipliers) -> Multipliers:
        """The same, without those of actuators that are driven."""
        own = zip(self.constraints, multipliers, strict=True)
        return Multipliers({} if each in self._driven else known for each, known in own)

    @property
    def round_off(self) -> float:
        """Residual [N] that the arithmetic leaves."""
        return ROUND_OFF * self.body.modulus * float(np.linalg.norm(self.body.mesh.size)) ** 2

    def checked_pose(self, pose: Pose | None) -> Pose:
        """The pose, in contiguous arrays of floats; None: the undeformed one.

        Raises:
            InputError: it is no Pose, of other nodes or plates than this model's, or not finite.
        """
        rest = self.rest
        if pose is None:
            return rest
        checked_kind(pose, Pose, "a Pose, such as solved.pose", "pose")
        checked = []
        for name, like in vars(rest).items():
            values = np.ascontiguousarray(checked_numbers(getattr(pose, name), f"{name} {like.shape}", "pose"))
            if values.shape != like.shape or not np.isfinite(values).all():
                raise InputError(
                    f"pose: expected finite {name} {like.shape}, found {values.shape}: is it another model's?"
                )
            checked.append(values)
        return Pose(*checked)

    def prescribe(self, pose: Pose, time: float, fraction: float = 1.0) -> Pose:
        """The pose with the prescribed nodes where they are at `time`, or a fraction of the way there."""
        points = pose.points.copy()
        for constraint in self.constraints:
            nodes = constraint.prescribed
            if len(nodes):
                points[nodes] += fraction * (constraint.positions(time) - points[nodes])
        return Pose(points, pose.centres, pose.rotations)

    def assemble(
        self,
        pose: Pose,
        increment: Increment,
        multipliers: Multipliers,
        with_matrix: bool = False,
        penalty: float | None = None,
        support: float = 0.0,
    ) -> Assembled:
        """Φ's parts at a pose; with_matrix: its Hessian in the unknowns too, the rows' curvature with it.

        Args:
            pose, increment: Φ's.
            multipliers: of each constraint, by key [N].
            with_matrix: assemble the Hessian.
            penalty: [N/m] of broken rows; given, inequalities bend by the augmented Lagrangian's multipliers.
            support: [N/m] that the `supported` rows add along their gradients.
        """
        x, matrix = pose.points, self.unknowns.matrix
        if with_matrix:
            matrix.data[:] = 0.0
        elastic = np.zeros_like(x)
        parts, addresses = [], []
        for coupling in self._parts:
            coupling.clear()
            parts += coupling.parts
            addresses += coupling.addresses if with_matrix else [Addresses()] * len(coupling.addresses)
        energy, worst, cell = add_parts(x, parts, addresses, elastic)
        loads = self.loads(x)
        gradient = _times(increment.elastic, elastic) - _times(increment.load, loads)
        if increment.mass:
            gradient += increment.mass * (self.mass @ (x - increment.coasted))
        if increment.linear is not None:
            gradient -= increment.linear
        rows = self.rows(x, multipliers)
        if with_matrix:
            pushing = multipliers.pushing(rows, penalty)
            self._add_stiffness(pose, increment, pushing, gradient - pushing.reactions(rows, x))
            if support:
                self._add_support(pose, rows, multipliers, penalty, support)
        return Assembled(energy, elastic, loads, gradient, rows, worst, cell)

    def loads(self, x: np.ndarray) -> np.ndarray:
        """Nodal forces (n, 3) [N] of all forces."""
        total = np.zeros_like(x)
        for force in self.forces:
            force.add_force(x, total)
        return total if self.load_factor == 1.0 else self.load_factor * total

    def remainder(self, x: np.ndarray) -> csr_matrix:
        """What the forces' stiffness leaves out of −∂(loads)/∂x (3 n, 3 n) [N/m]."""
        total = csr_matrix((x.size, x.size))
        for force in self.forces:
            own = force.remainder(x)
            total = total if own is None else total + own
        return self.load_factor * total

    def potential(
        self, x: np.ndarray, increment: Increment, frozen: list[np.ndarray], elastic: float | None = None
    ) -> float:
        """Φ at positions (n, 3) [J], not finite where the body cannot be; forces without a potential do the work of
        `frozen`, one array (n, 3) for each force. `elastic`: elastic energy there [J], if it is known."""
        if elastic is None:
            elastic = self._elastic_energy(x)
        value = increment.elastic * elastic
        for load, before in zip(self.forces, frozen, strict=True):
            own = load.energy(x)
            share = -float((before * x).sum()) if own is None else own
            value += increment.load * self.load_factor * share
        if increment.mass:
            away = x - increment.coasted
            value += 0.5 * increment.mass * float((away * (self.mass @ away)).sum())
        if increment.linear is not None:
            value -= float((increment.linear * x).sum())
        return value

    def energy(self, x: np.ndarray) -> float:
        """Elastic energy and the loads' potential [J] at positions (n, 3); forces without a potential are left out.

        Raises:
            InputError: positions of other nodes.
        """
        x = checked_positions(x, len(self.body.mesh.nodes))
        return self._elastic_energy(x) + self.load_factor * sum(load.energy(x) or 0.0 for load in self.forces)

    def rows(self, x: np.ndarray, multipliers: Multipliers) -> list[Rows | None]:
        """Of each constraint, at positions (n, 3), without those that only fixed nodes are in."""
        rows = [each.rows(x, known) for each, known in zip(self.constraints, multipliers, strict=True)]
        return [own and own.take(abs(own.jacobian) @ self._movable > 0.0) for own in rows]

    def begin(self, x: np.ndarray) -> None:
        """Tell forces, the actuators among them, and constraints that a step starts at positions (n, 3)."""
        for part in (*self.forces, *self.constraints):
            part.begin(x)

    def accept(self) -> None:
        """Tell the constraints that the step which was begun is found."""
        for constraint in self.constraints:
            constraint.accept()

    def _elastic_energy(self, x: np.ndarray) -> float:
        return add_parts(x, self.body.parts, [Addresses()] * len(self.body.parts), np.zeros_like(x))[0]

    def _add_stiffness(self, pose: Pose, increment: Increment, multipliers: Multipliers, balance: np.ndarray) -> None:
        matrix = self.unknowns.matrix
        if increment.elastic != 1.0:
            matrix.data *= increment.elastic
        for part in self._parts:
            part.finish(pose, increment.elastic)
        for force, coupling in self._stiff:
            force.add_to(coupling, pose, increment.load * self.load_factor)
        for index, constraint, coupling in self._curved:
            if multipliers[index]:
                constraint.add_to(coupling, pose, multipliers[index])
        if increment.mass and self._mass_diagonal is not None:
            matrix.add_to_diagonal(increment.mass * self._mass_diagonal)
        elif increment.mass:
            for blocks, coupling in self._mass_blocks:
                coupling.add(increment.mass * blocks, pose)
        self.unknowns.add_plate_curvature(balance, pose)

    def supported(
        self, rows: Sequence[Rows | None], multipliers: Multipliers, penalty: float | None
    ) -> list[np.ndarray | None]:
        """Of each constraint's rows, which (m,) hold the body, and are of a constraint with a `support`."""
        parts = zip(self.constraints, rows, multipliers, strict=True)
        return [own and each.supports & own.holding(known, penalty) for each, own, known in parts]

    def reaching_far(self, rows: Sequence[Rows | None]) -> np.ndarray:
        """(m,) bool: of all rows, those of constraints that reach far."""
        pairs = zip(self.constraints, rows, strict=True)
        return np.concatenate([np.full(len(own.keys), each.reaches_far) for each, own in pairs if own is not None])

    def _add_support(self, pose: Pose, rows, multipliers: Multipliers, penalty: float | None, support: float) -> None:
        supported = self.supported(rows, multipliers, penalty)
        for index, constraint, coupling in self._curved:
            own, which = rows[index], supported[index]
            if own is not None and which.any():
                coupling.add(support * constraint.support(own.take(which)), pose)

    def _prescribed_nodes(self) -> np.ndarray:
        nodes = np.concatenate([np.zeros(0, np.int64)] + [each.prescribed for each in self.constraints])
        twice, clamped = len(nodes) - len(np.unique(nodes)), int(self._clamped[nodes].sum())
        if twice or clamped:
            raise InputError(f"{twice} nodes are prescribed twice, {clamped} are prescribed and clamped")
        return nodes

    def update_mass(self) -> None:
        """Mass matrix anew, after a density has changed; for the Hessian its blocks, of every node or every cell."""
        n, eye = len(self.body.mesh.nodes), np.eye(3)
        self._mass_diagonal: np.ndarray | None = None
        if not self._consistent_mass:
            masses = self.body.lumped_masses()
            self.mass: csr_matrix = diags(masses, format="csr")
            nodes = np.arange(n)[:, None]
            if not self.unknowns.plates:
                self._mass_diagonal = self.unknowns.transform(self.rest).T @ np.repeat(masses, 3)
            self._mass_blocks = [(masses[:, None, None, None, None] * eye, Coupling(self.unknowns, nodes))]
            return
        self.mass, self._mass_blocks = diags(self.body.attached, format="csr"), []
        hung = np.flatnonzero(self.body.attached)
        if len(hung):
            blocks = self.body.attached[hung, None, None, None, None] * eye
            self._mass_blocks.append((blocks, Coupling(self.unknowns, hung[:, None])))
        for part in self.body.parts:
            cells = self.body.cell_masses(part)
            rows = np.repeat(part.cells, part.cells.shape[1], axis=1).ravel()
            columns = np.tile(part.cells, (1, part.cells.shape[1])).ravel()
            self.mass = self.mass + coo_matrix((cells.ravel(), (rows, columns)), shape=(n, n)).tocsr()
            self._mass_blocks.append((cells[..., None, None] * eye, Coupling(self.unknowns, part.cells)))

    def check_not_floating(self) -> None:
        """Refuse a body that statics cannot hold: a piece of it is not clamped, prescribed, or held by a row.

        Raises:
            MeshError: it floats, with its place.
        """
        if any(own is not None for own in self.rows(self.body.mesh.nodes, self.idle)):
            return
        for piece in self._pieces:
            if self._movable[3 * piece].all():
                x, y, z = 1e3 * self.body.mesh.nodes[piece].mean(axis=0)
                raise MeshError(
                    f"the body floats: nothing of the {len(piece)} nodes around ({x:.4g}, {y:.4g}, {z:.4g}) mm is "
                    "clamped, prescribed or in contact, so it has no static shape"
                )

    @cached_property
    def _pieces(self) -> list[np.ndarray]:
        """The nodes of each part that hangs together, by cells or by plates."""
        count = len(self.body.mesh.nodes)
        groups = [self.body.mesh.cells, *(plate[None] for plate in self.unknowns.plates)]
        links = [
            np.column_stack([np.repeat(group[:, :1], group.shape[1], axis=1).ravel(), group.ravel()])
            for group in groups
        ]
        first, second = np.vstack(links).T
        joined = coo_matrix((np.ones(len(first)), (first, second)), shape=(count, count))
        labels = connected_components(joined.tocsr(), directed=False)[1]
        return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def _times(factor: float, field: np.ndarray) -> np.ndarray:
    return field if factor == 1.0 else factor * field
