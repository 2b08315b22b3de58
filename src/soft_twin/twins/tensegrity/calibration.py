"""Rest lengths and the cylinders' law from one straight pose of known length.

One pose cannot tell all parameters apart, so each has a standard deviation before the measurement, and the estimate is
the most probable one: least squares of the struts' inclinations, the arm's length and the parameters' own offsets, each
divided by its standard deviation.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import least_squares

from soft_twin.checks import checked_numbers
from soft_twin.errors import InputError
from soft_twin.twins.tensegrity.forward import ForwardModel
from soft_twin.twins.tensegrity.model import ArmModel, MemberLaws
from soft_twin.twins.tensegrity.newton import StrutPlacement

INCLINATION_NOISE = np.radians(0.5)  # [rad]
LENGTH_NOISE = 1e-3  # [m]
IMPLAUSIBLE = 3.0  # standard deviations
MAX_INCLINATION_ERROR = np.radians(2.5)  # [rad] rms after the calibration
DIFFERENCE = 0.02  # in standard deviations of a parameter


@dataclass(frozen=True)
class Offset:
    """One parameter that is calibrated: its unit, and its standard deviation before the measurement."""

    name: str
    unit: str
    deviation: float


OFFSETS = (
    Offset("cord_length", "m", 0.001),
    Offset("module_cylinder_length", "m", 0.01),
    Offset("joint_cylinder_length", "m", 0.01),
    Offset("cylinder_stiffness", "share", 0.3),
    Offset("cylinder_area", "share", 0.05),
)


@dataclass(frozen=True)
class Calibration:
    """A calibrated model.

    Attributes:
        model: with the new laws.
        offsets: what was added to each of OFFSETS (shares multiply by 1 + offset).
        inclination_error: rms of the predicted inclinations before and after [rad].
        length_error: of the predicted length before and after [m].
    """

    model: ArmModel
    offsets: dict[str, float]
    inclination_error: tuple[float, float]
    length_error: tuple[float, float]


def calibrate_straight(
    model: ArmModel,
    inclinations: np.ndarray,
    pressures: np.ndarray,
    length: float,
    progress: Callable[[int, float], None] = lambda evaluations, error: None,
) -> Calibration:
    """Calibrate from one pose, best the straight one at full pressure, with nothing at the tip.

    Args:
        inclinations: (s,) mean over some seconds [rad].
        pressures: (c,) gauge [Pa].
        length: from the mean of the anchors to the mean of the tip's nodes, measured with a rule [m].
        progress: called with the number of forward solves and the rms of the residuals.

    Raises:
        InputError: wrong sizes, values that are not finite, an implausible length, or a pose that only implausible
            parameters explain.
        ConvergenceError: the forward model has no equilibrium near the description's parameters.
    """
    inclinations = _checked(model, inclinations, length)
    pressures = model.checked_pressures(pressures)
    deviations = np.array([offset.deviation for offset in OFFSETS])
    pose = model.start
    count = 0

    def residuals(scaled: np.ndarray) -> np.ndarray:
        nonlocal pose, count
        count += 1
        laws = with_offsets(model, scaled * deviations).at(pressures)
        pose = ForwardModel(model).solve(laws, model.loads(), pose).pose
        error = _errors(model, pose, inclinations, length)
        progress(count, float(np.sqrt(np.mean(error**2))))
        return np.concatenate([error, scaled])

    before = residuals(np.zeros(len(OFFSETS)))
    found = least_squares(residuals, np.zeros(len(OFFSETS)), jac=lambda scaled: _jacobian(residuals, scaled))
    offsets = found.x * deviations
    _check_plausible(found.x, offsets, _inclination_error(found.fun))
    return Calibration(
        replace(model, laws=with_offsets(model, offsets)),
        {offset.name: float(value) for offset, value in zip(OFFSETS, offsets, strict=True)},
        (_inclination_error(before), _inclination_error(found.fun)),
        (_length_error(before), _length_error(found.fun)),
    )


def with_offsets(model: ArmModel, offsets: np.ndarray) -> MemberLaws:
    """The model's laws with the offsets (5,), in the order of OFFSETS."""
    cord, module, joint, stiffness, area = offsets
    laws, groups = model.laws, np.array(model.structure.groups)
    active = model.structure.active
    lengths = np.where(np.char.startswith(groups, "joint"), joint, module)
    return replace(
        laws,
        stiffness=laws.stiffness * np.where(active, max(1.0 + stiffness, 0.05), 1.0),
        rest_lengths=laws.rest_lengths + np.where(active, lengths, cord),
        areas=laws.areas * max(1.0 + area, 0.05),
    )


def check_length(model: ArmModel, length: float) -> None:
    """Raise an InputError for a length [m] that the arm cannot have."""
    longest = model.structure.strut_lengths.sum()
    if not 0.0 < length < longest:
        raise InputError(f"calibration: length {length:g} m, expected the arm's, between 0 and {longest:g} m")


def _checked(model: ArmModel, inclinations: np.ndarray, length: float) -> np.ndarray:
    inclinations = checked_numbers(inclinations, f"{model.structure.strut_count} inclinations", "calibration")
    if inclinations.shape != (model.structure.strut_count,) or not np.isfinite(inclinations).all():
        raise InputError(f"calibration: expected {model.structure.strut_count} finite inclinations [rad]")
    check_length(model, length)
    return inclinations


def _errors(model: ArmModel, pose: StrutPlacement, inclinations: np.ndarray, length: float) -> np.ndarray:
    predicted = np.arccos(np.clip(pose.directions[:, 2], -1.0, 1.0))
    nodes = pose.nodes(model.structure.strut_lengths)
    tip = nodes[model.structure.top_nodes].mean(axis=0)
    reached = np.linalg.norm(tip - model.structure.anchor_points.mean(axis=0))
    return np.append((predicted - inclinations) / INCLINATION_NOISE, (reached - length) / LENGTH_NOISE)


def _check_plausible(scaled: np.ndarray, offsets: np.ndarray, inclination_error: float) -> None:
    if inclination_error > MAX_INCLINATION_ERROR:
        raise InputError(
            f"calibration: inclinations stay {np.degrees(inclination_error):.1f} deg (rms) off whatever the parameters:"
            " is the arm straight, unloaded, and no strut's sensor swapped?"
        )
    worst = int(np.argmax(np.abs(scaled)))
    if abs(scaled[worst]) > IMPLAUSIBLE:
        raise InputError(
            f"calibration: {OFFSETS[worst].name} would change by {offsets[worst]:.2g} {OFFSETS[worst].unit}, more than"
            f" {IMPLAUSIBLE:g} standard deviations: is the arm straight, unloaded, and its length right?"
        )


def _jacobian(function: Callable[[np.ndarray], np.ndarray], point: np.ndarray) -> np.ndarray:
    """Central differences, wide enough to stand above the equilibria's tolerance."""
    steps = DIFFERENCE * np.eye(len(point))
    return np.column_stack([(function(point + h) - function(point - h)) / (2.0 * DIFFERENCE) for h in steps])


def _inclination_error(residuals: np.ndarray) -> float:
    return float(np.sqrt(np.mean(residuals[: -1 - len(OFFSETS)] ** 2)) * INCLINATION_NOISE)


def _length_error(residuals: np.ndarray) -> float:
    return float(abs(residuals[-1 - len(OFFSETS)]) * LENGTH_NOISE)
