"""What a correction is learned on top of: any model that has a surface under pressures.

A robot's own twin of finite elements is simulated in parallel by `simulations`. Everything else has one method, and the
same learning: `learn_shapes(twin.simulations(count), twin.surface, twin.inflation)`.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from scipy.sparse import identity

from soft_twin.learning.inflation import find_inflation
from soft_twin.learning.samples import Inflation, inflation_shares
from soft_twin.learning.simulations import Simulations, SurfaceMesh, gathered, shape_of, simulation_cases, surface_of
from soft_twin.parallel import Say
from soft_twin.twins.finite_element import FemTwin

STEPS = 9  # of pressure, of an inflation that is even in it


class ShapeTwin(ABC):
    """A model of a body whose surface pressures move.

    Attributes:
        surface: at rest; one whose triangles can be flattened.
        limits: (a, 2) lowest and highest pressure of each chamber [Pa].
    """

    surface: SurfaceMesh
    limits: np.ndarray

    @abstractmethod
    def shapes_of(self, pressures: np.ndarray) -> np.ndarray:
        """(m, p, 3) points of the surface [m] at pressures (m, a) [Pa], in the order of those at rest."""

    @property
    def inflation(self) -> Inflation:
        """How chambers fill: evenly with pressure where nothing else is known, with volumes in units of their own."""
        pressures = np.linspace(*self.limits.T, STEPS)
        return Inflation(pressures, np.tile(np.linspace(0.0, 1.0, STEPS)[:, None], len(self.limits)))

    def simulations(self, count: int, say: Say | None = None) -> Simulations:
        """Of corners of the pressures and a Halton sequence between, as those of a robot's own twin are."""
        pressures = self.inflation.pressures_of(inflation_shares(len(self.limits), count))
        begin, points = time.process_time(), []
        for number, row in enumerate(pressures, 1):
            points.append(self.shapes_of(row[None])[0])
            if say is not None:
                say(f"shapes of the twin: {number} of {count}")
        seconds = (time.process_time() - begin) / count
        return Simulations(pressures, np.array(points), np.zeros(count, bool), {}, seconds)


def plain_surface(points: np.ndarray, triangles: np.ndarray) -> SurfaceMesh:
    """A surface of points (p, 3) [m] that are no mesh's; triangles (t, 3), outward."""
    return SurfaceMesh(identity(len(points), format="csr"), points, triangles)


class FemShapes(ShapeTwin):
    """A twin of finite elements that is no robot's.

    Args:
        twin: it.
        surface: name of the mesh's surface.
        limits: (a, 2) of the pressures [Pa].
        names: of the chambers.
        parts: into which edges of its faces are cut.
    """

    def __init__(self, twin: FemTwin, surface: str, limits: np.ndarray, names: Sequence[str], parts: int = 1):
        self._twin, self.limits = twin, np.asarray(limits, float)
        self.surface = surface_of(twin, surface, parts)
        self._inflation = find_inflation(twin, self.limits, names)

    @property
    def inflation(self) -> Inflation:
        """Of the body."""
        return self._inflation

    def shapes_of(self, pressures: np.ndarray) -> np.ndarray:
        """See ShapeTwin.

        Raises:
            ConvergenceError: one has no shape.
        """
        cases = simulation_cases(self.inflation, pressures)
        return gathered([shape_of(self._twin, self.surface.weights, case) for case in cases]).points

    def simulations(self, count: int, say: Say | None = None) -> Simulations:
        """See ShapeTwin; what cannot be found is left out and told.

        Raises:
            ConvergenceError: too many have no shape.
        """
        pressures = self.inflation.pressures_of(inflation_shares(len(self.limits), count))
        results = []
        for number, case in enumerate(simulation_cases(self.inflation, pressures), 1):
            results.append(shape_of(self._twin, self.surface.weights, case))
            if say is not None:
                say(f"shapes of the twin: {number} of {count}")
        return gathered(results)
