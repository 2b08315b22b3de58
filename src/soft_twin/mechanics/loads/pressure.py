"""Pressure in a chamber: a load that follows the surface as it moves (SORS, eq. 15, on faces of any order).

On the faces of the body around a chamber, with n outward from the material, the pressure pushes with −p n dA:
f_a = −p ∫ Nₐ x_ξ × x_η dξ dη. For a chamber that is closed, or whose rim is held, this is the gradient of p V, where
V = ⅓ ∫ x · n dA is minus the chamber's volume; the blocks p ∫ Nₐ (N_b,η [x_ξ]× − N_b,ξ [x_η]×) of its stiffness then
add up to a symmetric matrix, so that the symmetric half of each may be taken.
"""

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix

from soft_twin.errors import InputError, MeshError
from soft_twin.mechanics.body import Body
from soft_twin.mechanics.loads.base import Force
from soft_twin.mesh.faces import area_vectors, face_rule
from soft_twin.mesh.mesh import checked_indices

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
        value = float(value)
        if not np.isfinite(value):
            raise InputError(f"pressure: {value} is not finite")
        self._pressure = value

    def attach(self, body: Body) -> None:
        faces = body.mesh.surface(self.surface) if isinstance(self.surface, str) else np.asarray(self.surface)
        if faces.ndim != 2 or not len(faces):
            raise MeshError(f"pressure: expected faces (f, k), found an array of shape {faces.shape}")
        checked_indices(faces.ravel(), len(body.mesh.nodes), "pressure's faces")
        self._faces, self._rule, self._count = faces, face_rule(faces.shape[1]), len(body.mesh.nodes)
        self._closed = _moving_rim(faces, body.place >= 0) == 0
        if not self._closed and not self.open_rim:
            raise MeshError(
                f"pressure on '{self.surface if isinstance(self.surface, str) else 'faces'}': its rim of "
                f"{_moving_rim(faces, body.place >= 0)} edges is neither closed nor clamped: close it or "
                "clamp its rim (or say open_rim=True in Python, to push on an open surface)"
            )

    def volume(self, x: np.ndarray) -> float:
        """Of the chamber [m³], up to what its clamped rim closes."""
        normals = area_vectors(self._rule, x[self._faces])[2]
        places = np.einsum("qk,fki->fqi", self._rule.values, x[self._faces])
        return -float(np.einsum("q,fqi,fqi->", self._rule.weights, places, normals)) / 3.0

    def force(self, x: np.ndarray) -> np.ndarray:
        normals = area_vectors(self._rule, x[self._faces])[2]
        shares = -self.pressure * np.einsum("q,qk,fqi->fki", self._rule.weights, self._rule.values, normals)
        force = np.zeros((self._count, 3))
        np.add.at(force, self._faces, shares)
        return force

    def energy(self, x: np.ndarray) -> float | None:
        return -self.pressure * self.volume(x) if self._closed else None

    @property
    def groups(self) -> np.ndarray:
        return self._faces

    def stiffness(self, x: np.ndarray) -> np.ndarray:
        blocks = self._blocks(x)
        return 0.5 * (blocks + blocks.transpose(0, 2, 1, 4, 3))

    def remainder(self, x: np.ndarray) -> csr_matrix | None:
        """The antisymmetric half, which only a rim that moves leaves over."""
        if self._closed:
            return None
        blocks = self._blocks(x)
        half = 0.5 * (blocks - blocks.transpose(0, 2, 1, 4, 3)).transpose(0, 1, 3, 2, 4)
        places = 3 * self._faces[:, :, None] + np.arange(3)
        rows = np.broadcast_to(places[:, :, :, None, None], half.shape)
        columns = np.broadcast_to(places[:, None, None], half.shape)
        summed = coo_matrix((half.ravel(), (rows.ravel(), columns.ravel())), shape=(x.size, x.size)).tocsr()
        summed.data[np.abs(summed.data) <= ROUND_OFF * np.abs(half).max()] = 0.0
        return summed

    def _blocks(self, x: np.ndarray) -> np.ndarray:
        """−∂f/∂x (f, k, k, 3, 3) [N/m] of each face."""
        first, second, _ = area_vectors(self._rule, x[self._faces])
        N, dN, w = self._rule.values, self._rule.gradients, self.pressure * self._rule.weights
        along = np.einsum("q,qa,qb,fqi->fabi", w, N, dN[:, :, 1], first)
        along -= np.einsum("q,qa,qb,fqi->fabi", w, N, dN[:, :, 0], second)
        return np.einsum("jik,fabk->fabij", _CROSS, along)


_CROSS = np.zeros((3, 3, 3))  # ([v]×)ᵢⱼ = ε_jik v_k
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    _CROSS[_i, _j, _k], _CROSS[_j, _i, _k] = 1.0, -1.0


def _moving_rim(faces: np.ndarray, free: np.ndarray) -> int:
    """Number of edges that belong to one face only and whose corners are not both held."""
    corners = faces[:, : 3 if faces.shape[1] in (3, 6) else 4]
    edges = np.sort(np.stack([corners, np.roll(corners, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
    unique, count = np.unique(edges, axis=0, return_counts=True)
    return int(free[unique[count == 1]].any(axis=1).sum())
