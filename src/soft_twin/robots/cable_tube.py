"""A soft tube of one or more segments, bent by cables that run inside its wall: the slender robot."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from soft_twin.descriptions.long_form import EMULATED_MESH
from soft_twin.errors import UsageError
from soft_twin.robots.fem_robot import FemRobot

if TYPE_CHECKING:
    from soft_twin.descriptions import cable_tube as descriptions
    from soft_twin.mechanics.model import Model
    from soft_twin.mesh.mesh import Mesh
    from soft_twin.solvers.time.integrators import BackwardEuler
    from soft_twin.twins.base import Twin
    from soft_twin.twins.moving import MovingBody
    from soft_twin.twins.rod import RodDynamics, RodTwin


@dataclass(frozen=True)
class CableTube(FemRobot):
    """The slender robot (Lai et al. 2025): a body of finite elements that has meshes to choose from, or is a rod.

    Attributes:
        tube: the short form that its file has.
    """

    tube: "descriptions.CableTube" = field(repr=False)

    @property
    def body(self) -> "descriptions.Body":
        """The tube: its segments, diameters, material and meshes."""
        return self.tube.body

    @property
    def material_key(self) -> str:
        return "material"

    def build_twin(self, backend="fem", mesh=None, element=None, material=None) -> "Twin":
        """The robot's physical twin; what is not given comes from the description.

        Args:
            backend: name of a twin, "fem", "rod" or "sofa", whose mechanics are SOFA's.
            mesh: name of one of the description's meshes, path of a mesh file, or (nodes (n, 3), cells (m, k)).
            element: name of an element, such as "tet4" or "hex20r".
            material: name of a material law, such as "corotational"; SOFA's is always that.

        Raises:
            UsageError: no such backend, or SOFA cannot be had.
            MeshError, MaterialError: see there.
        """
        choices = {"mesh": mesh, "element": element, "material": material}
        if backend == "fem":
            return super().build_twin(**choices)
        if backend == "rod":
            return self._named(self._build_rod(**choices))
        if backend == "sofa":
            from soft_twin.robots.sofa import build_sofa_twin

            return self._named(
                build_sofa_twin(self, self.build_mesh(mesh, element or "tet4"), material or "corotational")
            )
        raise UsageError(f"no twin '{backend}': there are fem, rod, sofa")

    def build_model(self, mesh=None, element=None, material=None) -> "Model":
        """The robot's mechanics: body, weight and cables; choices as in `build_twin`."""
        from soft_twin.robots.fem_models import FemBuilder

        swept = self.body.meshes[self.body.mesh].file is None
        chosen = None if swept and mesh is element is None else self.build_mesh(mesh, element)
        return FemBuilder(self, mesh=chosen, law=material).model()

    def build_emulated_model(self, mesh: str | None = None) -> "Model":
        """The mechanics of the emulated robot: its own mesh, "plant" if there is one of that name, scaled modulus and
        density, cables that rub. `mesh`: another one by its name in the description."""
        from soft_twin.robots.fem_models import FemBuilder

        name = mesh or (EMULATED_MESH if EMULATED_MESH in self.body.meshes else self.body.mesh)
        chosen = None if mesh is None and self.body.meshes[name].file is None else self.build_mesh(name)
        return FemBuilder(self, emulated=True, mesh=chosen).model()

    def build_mesh(self, mesh=None, element: str | None = None) -> "Mesh":
        """A mesh by its name in the description, a file's path, or from (nodes, cells); the description's by default.

        Raises:
            UsageError: no such mesh or element.
            MeshError: missing, broken, or of another size than the description says.
        """
        from soft_twin.robots.tube_meshes import tube_mesh

        return tube_mesh(self, mesh, element)

    def build_dynamics(self, dt: float = 0.01, backend: str = "fem", **choices: Any) -> "BackwardEuler | RodDynamics":
        """The robot in motion, from its undeformed shape, in steps of `dt` [s], with the description's damping.

        Of finite elements, its cables pull with `model.efforts`; a rod is told in each step what they do. Backends and
        choices as in `build_twin`.
        """
        if backend == "fem":
            return super().build_dynamics(dt, **choices)
        if backend == "sofa":
            raise UsageError("SOFA's body is driven by its winches in motion: build_dynamic_twin(backend='sofa')")
        if backend != "rod":
            raise UsageError(f"no dynamics '{backend}': there are fem, rod; sofa by build_dynamic_twin")
        from soft_twin.twins.rod import RodDynamics

        damping = self.damping.rayleigh_mass, self.damping.rayleigh_stiffness
        return RodDynamics(self._build_rod(**choices), dt, *damping)

    def build_dynamic_twin(self, dt: float = 0.01, backend: str = "fem", **choices: Any) -> "MovingBody":
        """The robot in motion with its winches and its base, at rest, upright, in steps of `dt` [s], with the
        description's damping. Backends and choices as in `build_twin`.

        Raises:
            UsageError: no such backend, or SOFA cannot be had.
        """
        damping = self.damping.rayleigh_mass, self.damping.rayleigh_stiffness
        if backend == "fem":
            return super().build_dynamic_twin(dt, **choices)
        if backend == "rod":
            from soft_twin.twins.rod import RodDynamicTwin

            return RodDynamicTwin(self._build_rod(**choices), dt, *damping)
        if backend == "sofa":
            from soft_twin.robots.sofa import build_sofa_dynamic_twin

            mesh = self.build_mesh(choices.pop("mesh", None), choices.pop("element", None) or "tet4")
            return build_sofa_dynamic_twin(self, dt, mesh, **choices)
        raise UsageError(f"no twin '{backend}': there are fem, rod, sofa")

    def _build_rod(self, **choices: Any) -> "RodTwin":
        """A rod has the tube's section; meshes, elements and laws are not for it."""
        from soft_twin.twins.rod import RodTwin, Section

        given = [name for name, value in choices.items() if value is not None]
        if given:
            raise UsageError(f"a rod twin takes no {' and no '.join(given)}: they are for backend 'fem'")
        if self.obstacles:
            raise UsageError(f"a rod twin touches nothing, '{self.name}' has obstacles: its twin is of backend 'fem'")
        body, law, cables = self.body, self.body.material, self.description.cables
        radii = 0.5 * body.outer_diameter, 0.5 * body.lumen_diameter
        return RodTwin(
            Section.of_tube(*radii, law.young_modulus, law.poisson_ratio, law.density),
            body.segment_lengths,
            np.array([cable.start[:2] for cable in cables]),
            np.array([cable.end[2] for cable in cables]),
            cables[0].stiffness,
        )


def read(tube: "descriptions.CableTube", path: Path, nodes: dict[str, Any]) -> CableTube:
    """A CableTube from its description."""
    return CableTube(name=tube.name, path=path, nodes=nodes, description=tube.as_fem, tube=tube)
