"""A tube that a body is in: an obstacle that is felt from inside, around a smooth centre line, with radii that change.

With the nearest point c(u) of the centre line, ρ = |x − c|, R(u) the radius there and q = R'/|c'| its slope,

    g = (R − ρ) w,    w = (1 + q²)^(−1/2),    ∇u = c' / (c'·c' − (x − c)·c''),
    ∇g = w (R' ∇u − (x − c)/ρ) − (R − ρ) q w³ q' ∇u.

g vanishes on the wall and has its gradient everywhere; it is the distance where the radius stays the same, else nearly
so close to the wall. Centre line and radii are cubic splines of the chord's length, the radii without slope at the
mouths. Beyond a mouth, by a > 0 along the axis, the wall's end is rounded by the radius l of its lip:

    g = ((R + l − ρ)² + a²)^(1/2) − l  where ρ < R + l,    g = a − l  beside it.

So g and its gradient are continuous from the open in front of the mouth into the tube. Beyond the wall's thickness
there is nothing: what is deeper in the wall than that is outside.
"""

from collections.abc import Sequence

import numpy as np
from numba import njit

from soft_twin.checks import checked_number, checked_numbers
from soft_twin.errors import InputError
from soft_twin.mechanics.contact.obstacles import Obstacle, circle

SAMPLES = 12  # of the centre line between two of its points: where the search for the nearest begins
ITERATIONS = 30
SETTLED = 1e-13  # [m] of the nearest point
STEEP = 0.1  # of c'·c': the least that a step of the search is divided by
BEND = 0.95  # the most that R κ may be: at 1 the inner side of a bend is a fold
SHARP = 2.0  # [1/m] of the radius along the centre line: a crest that is flatter is none
LIP_ANGLES = np.radians([0.0, 45.0])  # from the tube's wall, of rings of points on a lip


class Lumen(Obstacle):
    """See the module's docstring.

    Attributes:
        points, radii: (k, 3), (k,) [m] of the description, in its own frame.
        lip, wall: [m] radius of the mouths' edges, thickness of the wall.
        length: of the centre line's chords [m].
    """

    def __init__(
        self,
        points: np.ndarray,
        radii: Sequence[float] | float,
        lip: float = 2e-3,
        wall: float | None = None,
        position: Sequence[float] = (0.0, 0.0, 0.0),
        rotation: np.ndarray | None = None,
    ):
        """
        Args:
            points: (k, 3) that the centre line goes through, from mouth to mouth [m].
            radii: (k,) of the tube there, or one number [m].
            lip: radius of the mouths' edges [m].
            wall: thickness [m]; None: the largest radius, and at least the lip.
            position, rotation: of its own frame.

        Raises:
            InputError: fewer than two points, two in one place, radii of another number or not positive, a wall thinner
                than its lip, a bend that is narrower than the tube.
        """
        from scipy.interpolate import CubicSpline  # here, since loading it takes as long as all of mechanics

        super().__init__(position, rotation)
        self.points = np.array(checked_numbers(points, "points (k, 3)", "lumen"))
        if self.points.ndim != 2 or self.points.shape[1] != 3 or len(self.points) < 2:
            raise InputError(f"lumen: expected two or more points (k, 3), found an array {self.points.shape}")
        radii = np.array(checked_numbers(radii, "one radius [m], or one of each point", "lumen"))
        self.radii = np.full(len(self.points), radii) if radii.ndim == 0 else radii
        if self.radii.shape != (len(self.points),):
            raise InputError(f"lumen: {len(self.points)} points, radii {self.radii.shape}: expected one for each")
        if not (np.isfinite(self.points).all() and np.isfinite(self.radii).all()):
            raise InputError("lumen: points and radii must be finite")
        chords = np.linalg.norm(np.diff(self.points, axis=0), axis=1)
        if not (chords > 0.0).all():
            raise InputError(f"lumen: points {chords.argmin()} and {chords.argmin() + 1} are in one place")
        self.lip = checked_number(lip, "lumen's lip", "m")
        widest = max(float(self.radii.max()), self.lip)
        self.wall = widest if wall is None else checked_number(wall, "lumen's wall", "m")
        if not 0.0 < self.lip <= self.wall:
            raise InputError(f"lumen: lip {lip:g} m, wall {self.wall:g} m: expected 0 < lip ≤ wall")
        self._chords = np.concatenate([[0.0], np.cumsum(chords)])
        self.length = float(self._chords[-1])
        self._line = CubicSpline(self._chords, self.points)
        self._radius = CubicSpline(self._chords, self.radii, bc_type=((1, 0.0), (1, 0.0)))
        between = np.arange(SAMPLES * len(chords) + 1) / SAMPLES
        self._samples = np.interp(between, np.arange(len(self._chords)), self._chords)
        self._sampled = self._line(self._samples)
        self._check_shape()

    @property
    def narrowest(self) -> float:
        """The smallest radius [m]."""
        return float(self._radius(self._samples).min())

    def axis(self, share: np.ndarray) -> np.ndarray:
        """(p, 3) points of the centre line in the world at shares (p,) of its length, 0…1."""
        return self.position + self._line(self.length * np.asarray(share)) @ self.rotation.T

    def along(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of points (p, 3) the shares (p,) of the centre line where they are nearest to it, 0…1, and the distances (p,)
        from its points there [m]."""
        own = np.ascontiguousarray((np.atleast_2d(points) - self.position) @ self.rotation)
        parameters = self._nearest(own)
        return parameters / self.length, np.linalg.norm(own - self._line(parameters), axis=1)

    def _distance(self, points):
        gaps, slopes = self._gap(points)
        return gaps, slopes / np.linalg.norm(slopes, axis=1)[:, None]

    def _gap(self, points):
        points = np.ascontiguousarray(points)
        gaps, slopes, splines = np.empty(len(points)), np.empty_like(points), (self._line.c, self._radius.c)
        _measure(points, self._nearest(points), self._chords, *splines, self.lip, self.wall, gaps, slopes)
        return gaps, slopes

    def edge_points(self, spacing):
        """Rings on the lips, and on the crests of folds."""
        places, directions = [], []
        for end, outward in ((0.0, -1.0), (self.length, 1.0)):
            tangent, across = self._axes(end)
            radius, middle = float(self._radius(end)), self._line(end)
            for angle in LIP_ANGLES:
                ring = circle(radius + self.lip, spacing) @ across
                direction = np.sin(angle) * outward * tangent - np.cos(angle) * ring
                places.append(middle + (radius + self.lip) * ring + self.lip * direction)
                directions.append(direction)
        for crest in self._crests():
            for u in np.clip(crest + spacing * np.array([-1.0, 0.0, 1.0]), 0.0, self.length):
                radius = float(self._radius(u))
                places.append(self._line(u) + radius * circle(radius, spacing) @ self._axes(u)[1])
                directions.append(self._distance(places[-1])[1])
        return np.concatenate(places), np.concatenate(directions)

    def _axes(self, u: float) -> tuple[np.ndarray, np.ndarray]:
        """Unit vector (3,) along the centre line at a parameter, and two (2, 3) across it."""
        tangent = self._line(u, 1) / np.linalg.norm(self._line(u, 1))
        return tangent, np.linalg.svd(tangent[None])[2][1:]

    def _crests(self) -> np.ndarray:
        """Parameters of the folds' crests: where the radius is smallest between the mouths."""
        found = self._radius.derivative().roots(discontinuity=False, extrapolate=False)
        inside = found[(found > 0.0) & (found < self.length)]
        return inside[self._radius(inside, 2) > SHARP]

    def _nearest(self, points: np.ndarray) -> np.ndarray:
        parameters = np.empty(len(points))
        _find(points, self._samples, self._sampled, self._chords, self._line.c, parameters)
        return parameters

    def _check_shape(self) -> None:
        """Raises InputError: see __init__."""
        radii, u = self._radius(self._samples), self._samples
        if not radii.min() > 0.0:
            raise InputError(
                f"lumen: {u[radii.argmin()]:.4g} m along it, a radius of {radii.min():g} m is not positive"
            )
        first, second = self._line(u, 1), self._line(u, 2)
        bends = np.linalg.norm(np.cross(first, second), axis=1) / np.linalg.norm(first, axis=1) ** 3
        worst = int((bends * radii).argmax())
        if bends[worst] * radii[worst] > BEND:
            raise InputError(
                f"lumen: {u[worst]:.4g} m along it, it bends around {1e3 / bends[worst]:.3g} mm, which is too tight "
                f"for a radius of {1e3 * radii[worst]:.3g} mm"
            )


@njit(cache=True, nogil=True)
def _find(points, samples, sampled, knots, line, parameters):
    """Parameters (p,) of the points of a spline, coefficients `line` (4, k, 3), that are nearest to points (p, 3)."""
    c, first, second = np.empty(3), np.empty(3), np.empty(3)
    last = len(samples) - 1
    for p in range(len(points)):
        best, nearest = 0, np.inf
        for j in range(last + 1):
            away = 0.0
            for i in range(3):
                away += (points[p, i] - sampled[j, i]) ** 2
            if away < nearest:
                best, nearest = j, away
        low, high = samples[max(best - 1, 0)], samples[min(best + 1, last)]
        u = samples[best]
        for _ in range(ITERATIONS):
            _evaluate(knots, line, u, c, first, second)
            slope, steep, speed = 0.0, 0.0, 0.0
            for i in range(3):
                away = points[p, i] - c[i]
                slope += away * first[i]
                steep -= away * second[i]
                speed += first[i] * first[i]
            step = slope / max(speed + steep, STEEP * speed)
            after = min(max(u + step, low), high)
            moved, u = abs(after - u), after
            if moved <= SETTLED:
                break
        parameters[p] = u


@njit(cache=True, nogil=True)
def _evaluate(knots, line, u, c, first, second):
    """A spline and its derivatives by its parameter u: (3,) each."""
    piece = min(max(np.searchsorted(knots, u, side="right") - 1, 0), line.shape[1] - 1)
    t = u - knots[piece]
    for i in range(3):
        a, b, d, e = line[0, piece, i], line[1, piece, i], line[2, piece, i], line[3, piece, i]
        c[i] = ((a * t + b) * t + d) * t + e
        first[i] = (3.0 * a * t + 2.0 * b) * t + d
        second[i] = 6.0 * a * t + 2.0 * b


@njit(cache=True, nogil=True)
def _measure(points, parameters, knots, line, radius, lip, wall, gaps, slopes):
    """Gaps (p,) of points (p, 3) with nearest points at `parameters` (p,), and their gradients (p, 3)."""
    c, first, second, radial = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for p in range(len(points)):
        u = parameters[p]
        _evaluate(knots, line, u, c, first, second)
        speed, along, bend = 0.0, 0.0, 0.0
        for i in range(3):
            radial[i] = points[p, i] - c[i]
            speed += first[i] * first[i]
            along += radial[i] * first[i]
            bend += radial[i] * second[i]
        size = np.sqrt(speed)
        a, side = 0.0, 0.0  # beyond a mouth, and along the centre line or against it
        if (u <= knots[0] and along < 0.0) or (u >= knots[-1] and along > 0.0):
            a, side = abs(along) / size, np.sign(along)
            for i in range(3):
                radial[i] -= along * first[i] / speed
        rho = 0.0
        for i in range(3):
            rho += radial[i] * radial[i]
        rho = max(np.sqrt(rho), 1e-12)
        piece = min(max(np.searchsorted(knots, u, side="right") - 1, 0), radius.shape[1] - 1)
        t = u - knots[piece]
        R = ((radius[0, piece] * t + radius[1, piece]) * t + radius[2, piece]) * t + radius[3, piece]
        by_radial, by_along = -1.0, 0.0  # of the gradient, along the unit vectors
        if a > 0.0:
            inward, out = R + lip - rho, rho - R - wall
            if inward >= 0.0:
                far = max(np.sqrt(inward * inward + a * a), 1e-12)
                gaps[p], by_radial, by_along = far - lip, -inward / far, side * a / far
            elif out <= 0.0:
                gaps[p], by_radial, by_along = a - lip, 0.0, side
            else:
                ahead = max(a - lip, 0.0)
                far = max(np.sqrt(out * out + ahead * ahead), 1e-12)
                gaps[p], by_radial, by_along = far, out / far, side * ahead / far
        elif rho > R + wall:
            gaps[p], by_radial = rho - R - wall, 1.0
        else:
            slope = (3.0 * radius[0, piece] * t + 2.0 * radius[1, piece]) * t + radius[2, piece]
            curve = 6.0 * radius[0, piece] * t + 2.0 * radius[1, piece]
            turn = 0.0
            for i in range(3):
                turn += first[i] * second[i]
            q = slope / size
            changes = curve / size - slope * turn / (speed * size)
            w = 1.0 / np.sqrt(1.0 + q * q)
            gaps[p] = (R - rho) * w
            by_radial = -w
            by_along = (w * slope - gaps[p] * q * w * w * changes) * size / (speed - bend)
        for i in range(3):
            slopes[p, i] = by_radial * radial[i] / rho + by_along * first[i] / size
