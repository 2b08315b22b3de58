"""What `tune` finds, and what it is asked for where nothing else is said; apart from what it computes with, which a
node that only asks for it need not load."""

from dataclasses import dataclass, field

import numpy as np

from soft_twin.checks import checked_count
from soft_twin.errors import InputError

DT = 0.02  # [s] of a simulation's steps
SIMULATIONS = 8  # at most
STEPS = (1e-4, 1.0)  # [s] of a simulation
TOLD = 0.01  # share of e_total by which another simulation's is lower


def check_options(dt: float, simulations: int = 1) -> None:
    """Refuse what no search can be asked for.

    Raises:
        InputError: steps that are too short or too long, simulations that are no whole number from 1.
    """
    if not STEPS[0] <= dt <= STEPS[1]:
        raise InputError(f"steps of {dt:g} s: expected {STEPS[0]:g} to {STEPS[1]:g} s")
    checked_count(simulations, "simulations")


def percent(share: float) -> str:
    """A share in words, by two digits: 230 %, 0.73 %."""
    return f"{np.format_float_positional(100.0 * share, 2, fractional=False, trim='-')} %"


@dataclass(frozen=True)
class Tuned:
    """What least squares found.

    Attributes:
        values: of the parameters.
        uncertainties: their standard deviations, relative.
        error: e_total [mm³].
        history: e_total after each simulation.
        seconds: processor time.
        tips: (k, 3) of the twin with these values [m].
        distance: rms, of the tips of twin and recording [m].
        remarks: what who takes the values should know.
        material_key: where in the description's `body` the material stands.
    """

    values: dict[str, float]
    uncertainties: dict[str, float]
    error: float
    history: list[float]
    seconds: float
    tips: np.ndarray = field(repr=False)
    distance: float = np.nan
    remarks: tuple[str, ...] = ()
    material_key: str = "material"

    def in_words(self) -> str:
        """With what stands in the description then."""
        values = self.values
        told = "".join(f"note: {remark}\n" for remark in self.remarks)
        told += f"e_total {self.error:.4g} mm³, tips {1e3 * self.distance:.2g} mm apart (rms), after "
        told += f"{len(self.history)} simulations{self._another()}; in the description's"
        spread = {name: f"± {percent(each)}" for name, each in self.uncertainties.items()}
        if "cable_friction" in values:
            rubs = f"cable_friction: {values['cable_friction']:.4g}  # {spread['cable_friction']}"
            return f"{told} robot.emulated:\n  {rubs}"
        return (
            f"{told} robot.body:\n"
            f"  {self.material_key}.young_modulus: {values['young_modulus']:.0f}  # {spread['young_modulus']}\n"
            f"  {self.material_key}.density: {values['density']:.1f}  # {spread['density']}, known beforehand\n"
            f"  damping.rayleigh_mass: {values['mass_damping']:.4g}  # {spread['mass_damping']}\n"
            f"  damping.rayleigh_stiffness: {values['stiffness_damping']:.4g}  # {spread['stiffness_damping']}"
        )

    def _another(self) -> str:
        """Which simulation had a lower e_total, if one had: what is looked for are tips that are near each other."""
        least = min(self.history)
        if not least < (1.0 - TOLD) * self.error:
            return ""
        return f" (number {1 + self.history.index(least)} has {least:.4g} mm³: what is least is their tips' distance)"
