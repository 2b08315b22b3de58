"""Emulated motion capture: markers stuck to a surface, each known by its name, with noise, missed where too few see it.

Markers are fixed material points, spread evenly over the undeformed surface. A camera sees one that it looks at not too
steeply, and that no triangle of the surface hides. Where a marker is follows from two cameras or more.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from soft_twin.emulation.scanner import sees
from soft_twin.mesh.triangles import drawn_places, vertex_normals

if TYPE_CHECKING:
    from soft_twin.descriptions.learning import Markers

CANDIDATES = 50  # drawn for each marker


@dataclass(frozen=True)
class MarkerPlaces:
    """Where markers sit.

    Attributes:
        corners: (k, 3) points of the surface around each.
        shares: (k, 3) of these.
    """

    corners: np.ndarray
    shares: np.ndarray

    def at(self, values: np.ndarray) -> np.ndarray:
        """(k, d) of what the surface's points (p, d) have."""
        return np.einsum("ks,ksd->kd", self.shares, values[self.corners])


def spread_markers(points: np.ndarray, triangles: np.ndarray, count: int, random: np.random.Generator) -> MarkerPlaces:
    """`count` places, each as far as can be from those before it.

    Args:
        points, triangles: of the undeformed surface, (p, 3) [m] and (t, 3).
        count: of markers.
        random: where the first one is, and which places are tried.
    """
    chosen, shares = drawn_places(points, triangles, CANDIDATES * count, random)
    places = MarkerPlaces(triangles[chosen], shares)
    x, taken = places.at(points), [0]
    away = np.linalg.norm(x - x[0], axis=1)
    for _ in range(count - 1):
        taken.append(int(np.argmax(away)))
        away = np.minimum(away, np.linalg.norm(x - x[taken[-1]], axis=1))
    return MarkerPlaces(places.corners[taken], places.shares[taken])


def capture(
    points: np.ndarray,
    triangles: np.ndarray,
    places: MarkerPlaces,
    markers: "Markers",
    random: np.random.Generator,
) -> np.ndarray:
    """(k, 3) where markers are seen [m]; NaN for one that too few cameras see.

    Args:
        points, triangles: of the surface as it is, (p, 3) [m] and (t, 3), outward.
        places: of the markers.
        markers: what the cameras are like.
        random: their noise.
    """
    x, normals = places.at(points), places.at(vertex_normals(points, triangles))
    normals = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    least, corners = np.cos(np.radians(markers.steepest_deg)), points[triangles]
    views = sum(sees(np.array(eye), x, normals, corners, least).astype(int) for eye in markers.eyes)
    noisy = x + random.normal(0.0, markers.noise, x.shape)
    return np.where((views >= markers.views)[:, None], noisy, np.nan)
