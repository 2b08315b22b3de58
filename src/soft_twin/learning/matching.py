"""How far surfaces are from what was seen of them: scans without correspondences, markers with gaps.

Lengths are in millimetres.
"""

from abc import abstractmethod
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp

from soft_twin.learning.layer import unit
from soft_twin.learning.losses import Cloud, nearest

REACH = 1.5  # of a patch: a point whose nearest one is further aside is opposite a hole
Surface = Callable[[jax.Array], tuple[jax.Array, jax.Array]]
Linearised = Callable[[jax.Array], tuple[jax.Array, jax.Array, jax.Array]]


class Match(eqx.Module):
    """What was seen, in f frames.

    Attributes:
        clouds: arrays (f, k, …).
    """

    clouds: Cloud

    @abstractmethod
    def residuals(self, points: jax.Array, normals: jax.Array, cloud: Cloud) -> jax.Array:
        """(r,) of a surface's points and normals (p, 3) and one frame's cloud; their sum of squares is the distance
        [mm²]. What is nearest to what, and directions, do not count for derivatives."""

    def distances(self, points: jax.Array, normals: jax.Array) -> jax.Array:
        """(f,) mean squared distances [mm²] of surfaces (f, p, 3)."""
        return jax.lax.map(lambda own: (self.residuals(*own) ** 2).sum(), (points, normals, self.clouds))

    def linearised(self, surface: Surface) -> Linearised:
        """Shares (f, a) → ½ Hessian (f, a, a) and ½ gradient (f, a) of the squared distances, as Gauss and Newton have
        them, and the distances (f,) themselves.

        Args:
            surface: shares (a,) → points and normals (p, 3); one that is compiled already where it is the same
                function, or the same module with other arrays.
        """
        return lambda shares: _linearised(surface, self, shares)


@eqx.filter_jit
def _linearised(surface: Surface, match: Match, shares: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """See `Match.linearised`."""

    def one(own: tuple[jax.Array, Cloud]) -> tuple[jax.Array, jax.Array, jax.Array]:
        shares, cloud = own

        def residuals(shares: jax.Array) -> tuple[jax.Array, jax.Array]:
            found = match.residuals(*surface(shares), cloud)
            return found, found

        slopes, found = jax.jacfwd(residuals, has_aux=True)(shares)
        return slopes.T @ slopes, slopes.T @ found, (found**2).sum()

    return jax.lax.map(one, (shares, match.clouds))


class ScanMatch(Match):
    """Scans without correspondences.

    A point counts by its distance along the mean of both surfaces' normals, which is none where both lie on one sphere,
    and by what it is aside by more than a patch. A point of the surface opposite a hole of the scan does not count.

    Attributes:
        patch: radius [mm] of what a sample stands for.
    """

    patch: float = eqx.field(static=True)

    def residuals(self, points: jax.Array, normals: jax.Array, cloud: Cloud) -> jax.Array:
        """See Match."""
        fixed, there = jax.lax.stop_gradient(normals), cloud.there
        seen, own = nearest(points, cloud.points, there), nearest(cloud.points, points)
        away, across = points - cloud.points[seen], cloud.normals[seen]
        aside = (away**2).sum(axis=1) - (away * across).sum(axis=1) ** 2
        counts = jax.lax.stop_gradient(aside < (REACH * self.patch) ** 2)
        forth = self._parts(away, unit(fixed + across)) * jnp.sqrt(counts / len(points))
        back = self._parts(cloud.points - points[own], unit(fixed[own] + cloud.normals)) * jnp.sqrt(there / there.sum())
        return jnp.concatenate([forth.ravel(), back.ravel()])

    def _parts(self, away: jax.Array, across: jax.Array) -> jax.Array:
        """(2, n) of each pair: how far it is apart along a direction, and aside by more than a patch."""
        off = (away * across).sum(axis=1)
        aside = jnp.sqrt(jnp.maximum((away**2).sum(axis=1) - off**2, 1e-12))
        return jnp.stack([off, jnp.maximum(aside - self.patch, 0.0)])


class MarkerMatch(Match):
    """Markers in the order of a surface's points, some of them not seen."""

    def residuals(self, points: jax.Array, normals: jax.Array, cloud: Cloud) -> jax.Array:
        """See Match."""
        return ((points - cloud.points) * jnp.sqrt(cloud.there / cloud.there.sum())[:, None]).ravel()
