"""What inclinations cost: moments on the measured struts, and how they change with inclinations and loads."""

from dataclasses import dataclass

import numpy as np

from soft_twin.twins.tensegrity.newton import Laws, Minimiser, StrutPlacement, Surroundings, Unknowns


@dataclass(frozen=True)
class InclinationSensitivity:
    """At a minimum with given inclinations, of the k measured struts, in arcs at the struts' tops [m]:

    Attributes:
        struts: (k,) which struts.
        moments: (k,) g = ∂E/∂φ/L [N], what holds each strut at its inclination.
        stiffness: (k, k) S = dg/dφ/L [N/m], everything else following.
        by_load: (k, 6 s) dg/d(load of the nodes).
    """

    struts: np.ndarray
    moments: np.ndarray
    stiffness: np.ndarray
    by_load: np.ndarray

    def mismatch(self) -> np.ndarray:
        """(k,) how far [m of arc] each inclination alone is from where the rest of the arm would put it: g / S_ii.

        0 where all that holds it is slack.
        """
        held = np.diag(self.stiffness)
        return np.divide(self.moments, held, out=np.zeros_like(held), where=held != 0.0)


def inclination_sensitivity(
    minimiser: Minimiser, free: Unknowns, pose: StrutPlacement, measured: np.ndarray, laws: Laws, around: Surroundings
) -> InclinationSensitivity:
    """Sensitivities at a minimum.

    Args:
        free: the unknowns when no strut is measured; their last motion of a strut is along its inclination.
        measured: (s,) struts whose inclination was given.
    """
    forces = minimiser.gradient(pose, free, laws, around)
    gradient = free.gradient.copy()
    H = dense(minimiser.hessian(pose, free, laws, around, forces))
    _turn_on_latitudes(H, pose, free, forces, minimiser.lengths)
    tilts = free.equations[measured, 4]
    rest = np.setdiff1d(np.arange(free.count), tilts)
    stiffest = max(np.abs(np.diag(H)).max(), laws.stiffness.max())  # the diagonal is zero where all members are slack
    H[rest, rest] += 1e-9 * stiffest  # a strut that hangs on slack members only has no stiffness
    loads = -_load_jacobian(free)
    follow = np.linalg.solve(H[np.ix_(rest, rest)], np.hstack([H[np.ix_(rest, tilts)], loads[rest]]))
    coupling = H[np.ix_(tilts, rest)]
    return InclinationSensitivity(
        struts=np.flatnonzero(measured),
        moments=gradient[tilts],
        stiffness=H[np.ix_(tilts, tilts)] - coupling @ follow[:, : len(tilts)],
        by_load=loads[tilts] - coupling @ follow[:, len(tilts) :],
    )


def _turn_on_latitudes(
    H: np.ndarray, pose: StrutPlacement, free: Unknowns, forces: np.ndarray, lengths: np.ndarray
) -> None:
    """Change the yaws' curvature from a great circle's to that of the circle of constant inclination, which they keep.

    The two differ where the measurement holds a strut with a moment.
    """
    flat = pose.directions * [1.0, 1.0, 0.0]
    sines = np.maximum(np.sum(flat**2, axis=1, keepdims=True), 1e-9)
    difference = (pose.directions - flat / sines) / lengths[:, None]
    yaws = free.equations[:, 3]
    H[yaws, yaws] += np.sum(difference * forces[len(lengths) :], axis=1)


def dense(band: np.ndarray) -> np.ndarray:
    """The symmetric matrix (n, n) of a lower band (k + 1, n)."""
    count = band.shape[1]
    matrix = np.zeros((count, count))
    for offset, row in enumerate(band[:count]):
        index = np.arange(count - offset)
        matrix[index + offset, index] = matrix[index, index + offset] = row[: count - offset]
    return matrix


def _load_jacobian(free: Unknowns) -> np.ndarray:
    """(n, 6 s) derivative of the nodes' positions with respect to the unknowns, transposed."""
    count = len(free.equations)
    jacobian = np.zeros((free.count, 2 * count, 3))
    for i, equations in enumerate(free.equations):
        for d in range(3):
            if equations[d] >= 0:
                jacobian[equations[d], [i, count + i], d] = 1.0
        for a in range(2):
            jacobian[equations[3 + a], count + i] = free.tangents[i, a]
    return jacobian.reshape(free.count, -1)
