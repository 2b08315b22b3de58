"""Pressure in a chamber: a load that follows the surface as it moves (SORS, eq. 15, on faces of any order).

On the faces of the body around a chamber, with n outward from the material, the pressure pushes with −p n dA:
f_a = −p ∫ Nₐ x_ξ × x_η dξ dη. For a chamber that is closed, or whose rim is held, this is the gradient of p V, where
V = ⅓ ∫ x · n dA is minus the chamber's volume; the blocks [Σ_d A_abd x_d]× of its stiffness, with
A_abd = p ∫ Nₐ (N_b,η N_d,ξ − N_b,ξ N_d,η), then add up to a symmetric matrix, so that the symmetric half of each may be
taken.
"""

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix

from soft_twin.checks import checked_number, checked_numbers, checked_positions
from soft_twin.errors import InputError, MeshError
from soft_twin.linear_algebra.addresses import DROPPED, TRANSPOSED
from soft_twin.linear_algebra.compiled import kernel, part
from soft_twin.mechanics.body import Body
from soft_twin.mechanics.loads.base import Force
from soft_twin.mechanics.unknowns import cross_matrices
from soft_twin.mesh.faces import FaceRule, face_rule
from soft_twin.mesh.mesh import checked_indices

if TYPE_CHECKING:
    from soft_twin.mechanics.unknowns import Coupling, Pose

ROUND_OFF = 1e-12  # of a face's stiffness, for what faces side by side leave over


class Pressure(Force):
    """Gauge pressure on a surface. `pressure` [Pa] may be set at any time.

    Args:
        surface: name of one of the mesh's surfaces, or (f, k) nodes of faces, outward from the material.
        pressure: [Pa], positive pushes on the material.
        open_rim: allow a surface with a rim that moves: it has no potential, and Newton's method only has the
            symmetric part of its stiffness; derivatives have all of it.
    """

    def __init__(self, surface: str | np.ndarray, pressure: float = 0.0, open_rim: bool = False):
        self.surface, self.pressure, self.open_rim = surface, pressure, open_rim

    @property
    def pressure(self) -> float:
        return self._pressure

    @pressure.setter
    def pressure(self, value: float) -> None:
        value = checked_number(value, "pressure", "Pa")
        if not np.isfinite(value):
            raise InputError(f"pressure: {value} is not finite")
        self._pressure = value

    def attach(self, body: Body) -> None:
        checked = body.mesh.surface if isinstance(self.surface, str) else _checked_faces
        faces = checked(self.surface)
        if faces.ndim != 2 or not len(faces):
            raise MeshError(f"pressure: expected faces (f, k), found an array of shape {faces.shape}")
        checked_indices(faces.ravel(), len(body.mesh.nodes), "pressure's faces")
        self._faces, self._count = np.ascontiguousarray(faces), len(body.mesh.nodes)
        rule = face_rule(faces.shape[1])
        self._rule, self._turning = (rule.values, rule.gradients, rule.weights), _turning(rule)
        self._closed = _moving_rim(faces, body.place >= 0) == 0
        if not self._closed and not self.open_rim:
            raise MeshError(
                f"pressure on '{self.surface if isinstance(self.surface, str) else 'faces'}': its rim of "
                f"{_moving_rim(faces, body.place >= 0)} edges is neither closed nor clamped: close it or "
                "clamp its rim (or say open_rim=True in Python, to push on an open surface)"
            )

    def volume(self, x: np.ndarray) -> float:
        """Of the chamber [m³], up to what its clamped rim closes, at positions (n, 3) [m].

        Raises:
            InputError: positions of other nodes.
        """
        return _volume(checked_positions(x, self._count), self._faces, *self._rule)

    def force(self, x: np.ndarray) -> np.ndarray:
        force = np.zeros((self._count, 3))
        self.add_push(x, self.pressure, force)
        return force

    def add_push(self, x: np.ndarray, pressure: float, force: np.ndarray) -> None:
        """Add the nodal forces of a pressure [Pa] to (n, 3) [N]."""
        _add_push(x, self._faces, *self._rule, pressure, force)

    def energy(self, x: np.ndarray) -> float | None:
        return -self.pressure * self.volume(x) if self._closed else None

    @property
    def groups(self) -> np.ndarray:
        return self._faces

    def stiffness(self, x: np.ndarray) -> np.ndarray:
        along = self._along(x)
        return cross_matrices(0.5 * (along - along.swapaxes(1, 2)))

    def add_to(self, coupling: "Coupling", pose: "Pose", factor: float) -> None:
        self.add_stiffness(pose.points, factor * self.pressure, *coupling.direct)
        if coupling.on_plates.any():
            coupling.add_on_plates(factor * self.stiffness(pose.points)[coupling.on_plates], pose)

    def add_stiffness(self, x: np.ndarray, pressure: float, offsets, strides, data: np.ndarray) -> None:
        """Add the stiffness of a pressure [Pa] to a matrix's data, at its addresses of `groups`."""
        halves = 0.5 * pressure * (self._turning - self._turning.swapaxes(0, 1))
        _add_stiffness(x, self._faces, halves, offsets, strides, data)

    def remainder(self, x: np.ndarray) -> csr_matrix | None:
        """The antisymmetric half, which only a rim that moves leaves over."""
        if self._closed:
            return None
        along = self._along(x)
        half = cross_matrices(0.5 * (along + along.swapaxes(1, 2))).transpose(0, 1, 3, 2, 4)
        places = 3 * self._faces[:, :, None] + np.arange(3)
        rows = np.broadcast_to(places[:, :, :, None, None], half.shape)
        columns = np.broadcast_to(places[:, None, None], half.shape)
        summed = coo_matrix((half.ravel(), (rows.ravel(), columns.ravel())), shape=(x.size, x.size)).tocsr()
        summed.data[np.abs(summed.data) <= ROUND_OFF * np.abs(half).max()] = 0.0
        return summed

    def _along(self, x: np.ndarray) -> np.ndarray:
        """(f, k, k, 3) Σ_d A_abd x_d of the module's docstring, of which −∂f/∂x [N/m] are the cross matrices."""
        return np.einsum("abd,fdi->fabi", self.pressure * self._turning, x[self._faces])


def _turning(rule: FaceRule) -> np.ndarray:
    """(k, k, k) A_abd of the module's docstring, at unit pressure."""
    N, dN, w = rule.values, rule.gradients, rule.weights
    along, back = (np.einsum("q,qa,qb,qd->abd", w, N, dN[:, :, i], dN[:, :, 1 - i]) for i in (1, 0))
    return along - back


@part()
def _fill_normal(x, nodes, gradients, normal):
    """normal = x_ξ × x_η at a point of a face, of which these are the shape functions' gradients (k, 2)."""
    a0, a1, a2, b0, b1, b2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for a in range(len(nodes)):
        p, first, second = x[nodes[a]], gradients[a, 0], gradients[a, 1]
        a0 += first * p[0]
        a1 += first * p[1]
        a2 += first * p[2]
        b0 += second * p[0]
        b1 += second * p[1]
        b2 += second * p[2]
    normal[0] = a1 * b2 - a2 * b1
    normal[1] = a2 * b0 - a0 * b2
    normal[2] = a0 * b1 - a1 * b0


@kernel()
def _volume(x, faces, values, gradients, weights):
    total, normal = 0.0, np.empty(3)
    for f in range(len(faces)):
        for q in range(len(weights)):
            _fill_normal(x, faces[f], gradients[q], normal)
            height = 0.0
            for a in range(faces.shape[1]):
                p = x[faces[f, a]]
                height += values[q, a] * (p[0] * normal[0] + p[1] * normal[1] + p[2] * normal[2])
            total += weights[q] * height
    return -total / 3.0


@kernel()
def _add_push(x, faces, values, gradients, weights, pressure, force):
    normal = np.empty(3)
    for f in range(len(faces)):
        for q in range(len(weights)):
            _fill_normal(x, faces[f], gradients[q], normal)
            for a in range(faces.shape[1]):
                share = pressure * weights[q] * values[q, a]
                for i in range(3):
                    force[faces[f, a], i] -= share * normal[i]


@kernel()
def _add_stiffness(x, faces, halves, offsets, strides, data):
    """Add [Σ_d halves_abd x_d]× to the blocks of each face's nodes a, b < a; those of a = b are zero."""
    k, u = faces.shape[1], np.empty(3)
    for f in range(len(faces)):
        block = -1
        for a in range(k):
            for b in range(a + 1):
                block += 1
                offset, stride = offsets[f, block], strides[f, block]
                if offset == DROPPED or a == b:
                    continue
                u[:] = 0.0
                for d in range(k):
                    p, share = x[faces[f, d]], halves[a, b, d]
                    u[0] += share * p[0]
                    u[1] += share * p[1]
                    u[2] += share * p[2]
                sign = 1.0
                if offset < 0:
                    offset, sign = TRANSPOSED - offset, -1.0
                for i in range(3):
                    j, along = (i + 1) % 3, sign * u[(i + 2) % 3]
                    data[offset + i + j * stride] -= along
                    data[offset + j + i * stride] += along


def _moving_rim(faces: np.ndarray, free: np.ndarray) -> int:
    """Number of edges that belong to one face only and whose corners are not both held."""
    corners = faces[:, : 3 if faces.shape[1] in (3, 6) else 4]
    edges = np.sort(np.stack([corners, np.roll(corners, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
    unique, count = np.unique(edges, axis=0, return_counts=True)
    return int(free[unique[count == 1]].any(axis=1).sum())


def _checked_faces(faces: np.ndarray) -> np.ndarray:
    """Faces as an array.

    Raises:
        InputError: they are no numbers, or have different numbers of nodes.
    """
    checked_numbers(faces, "faces (f, k) of as many nodes each", "pressure")
    return np.asarray(faces)
