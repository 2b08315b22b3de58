"""Readings of the arm's sensors, checked before an estimator sees them."""

from dataclasses import dataclass

import numpy as np

from soft_twin.checks import checked_numbers
from soft_twin.errors import InputError
from soft_twin.twins.tensegrity.model import ArmModel

YAW_LIMIT = 1e-3  # [rad] a strut this close to the vertical has no yaw; its inclination is held at this
MAX_MISSING_PRESSURES = 0.5  # share of the cylinders


@dataclass(frozen=True)
class Readings:
    """Usable readings.

    Attributes:
        inclinations: (s,) [rad], meaningless where not measured.
        measured: (s,) True where the inclination is usable.
        pressures: (c,) gauge [Pa], complete.
        faults: what was wrong, one sentence each.
        unusable: there is nothing to estimate a shape from.
    """

    inclinations: np.ndarray
    measured: np.ndarray
    pressures: np.ndarray
    faults: tuple[str, ...]
    unusable: bool = False


def check_readings(
    model: ArmModel, inclinations: np.ndarray, pressures: np.ndarray, last_pressures: np.ndarray | None
) -> Readings:
    """The readings with unusable inclinations marked, and missing pressures replaced by the last known ones.

    Raises:
        InputError: the number of inclinations or pressures is wrong, or a pressure is out of range.
    """
    inclinations = _sized(inclinations, model.structure.strut_count, "inclinations [rad]")
    pressures = _sized(pressures, model.cylinder_count, "pressures [Pa]")
    measured = (inclinations >= 0.0) & (inclinations <= np.pi)
    faults = [_inclination_fault(i, inclinations[i]) for i in np.flatnonzero(~measured)]
    pressures, pressure_faults, complete = _complete(pressures, last_pressures)
    faults += pressure_faults
    if complete:
        pressures = model.checked_pressures(pressures)
    return Readings(
        inclinations=np.clip(np.where(measured, inclinations, 0.0), YAW_LIMIT, np.pi - YAW_LIMIT),
        measured=measured,
        pressures=pressures,
        faults=tuple(faults),
        unusable=not complete or not measured.any(),
    )


def _sized(values: np.ndarray, count: int, what: str) -> np.ndarray:
    values = checked_numbers(values, f"{count} values", what)
    if values.shape != (count,):
        raise InputError(f"{what}: expected {count} values, found shape {values.shape}")
    return values


def _inclination_fault(strut: int, value: float) -> str:
    if np.isnan(value):
        return f"strut {strut}: no inclination, the strut is freed"
    return f"strut {strut}: inclination {value:g} rad is outside 0…π, the strut is freed"


def _complete(pressures: np.ndarray, last: np.ndarray | None) -> tuple[np.ndarray, list[str], bool]:
    """Pressures with gaps filled, what was missing, and whether that was possible."""
    missing = np.isnan(pressures)
    if not missing.any():
        return pressures, [], True
    names = ", ".join(str(k) for k in np.flatnonzero(missing)[:8]) + (" …" if missing.sum() > 8 else "")
    if last is not None:
        return np.where(missing, last, pressures), [f"cylinders {names}: no pressure, the last one is used"], True
    if missing.mean() > MAX_MISSING_PRESSURES:
        return pressures, [f"cylinders {names}: no pressure and none known from before"], False
    filled = np.where(missing, pressures[~missing].mean(), pressures)
    return filled, [f"cylinders {names}: no pressure, the others' mean is used"], True
