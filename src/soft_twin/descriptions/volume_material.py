"""What volumes of a body are made of: isotropic laws by E and ν, and laws of rubber by constants of their own."""

from typing import Annotated, Any

from pydantic import Field, model_validator

from soft_twin.descriptions.kinds_of_value import LAW, NAMED, Number, Several, mistake
from soft_twin.descriptions.part import Part

Stress = Number(-1e10, 1e10, "Pa")
HOOKE = ("young_modulus", "poisson_ratio")
RUBBERS = {"ogden": ("moduli", "exponents", "bulk_modulus"), "mooney_rivlin": ("c1", "c2", "bulk_modulus")}
NUMBERS = ("exponents",)  # of the constants; all others are stresses


class VolumeMaterial(Part):
    """What a volume of the body is made of: a law with `young_modulus` and `poisson_ratio`, or `ogden` or
    `mooney_rivlin` with constants of their own."""

    model: Annotated[str, LAW] = Field(description="law, see twin.md, such as `corotational`")
    young_modulus: Annotated[float | None, Number(1e2, 1e12, "Pa")] = Field(
        default=None, description="E; not of `ogden` and `mooney_rivlin`"
    )
    poisson_ratio: Annotated[float | None, Number(-0.99, 0.4999)] = Field(default=None, description="ν, likewise")
    density: Annotated[float, Number(10.0, 3e4, "kg/m³")] = Field(description="ρ")
    volume: Annotated[str | None, NAMED] = Field(
        default=None, description="name of the volume; without: all of it; several in one place add up, densities, too"
    )
    moduli: Annotated[tuple[float, ...] | None, Several(Stress, 1, 6)] = Field(
        default=None, description="μᵢ of `ogden`: W = Σ μᵢ/αᵢ (Σⱼ λ̄ⱼ^αᵢ − 3) + κ/2 (J − 1)²"
    )
    exponents: Annotated[tuple[float, ...] | None, Several(Number(-50.0, 50.0), 1, 6)] = Field(
        default=None, description="αᵢ of `ogden`, none of them 0; the shear modulus is Σ μᵢ αᵢ/2"
    )
    c1: Annotated[float | None, Stress] = Field(
        default=None, description="of `mooney_rivlin`: W = c₁ (Ī₁ − 3) + c₂ (Ī₂ − 3) + κ/2 (J − 1)²"
    )
    c2: Annotated[float | None, Stress] = Field(default=None, description="likewise; the shear modulus is 2 (c₁ + c₂)")
    bulk_modulus: Annotated[float | None, Number(1e2, 1e12, "Pa")] = Field(
        default=None, description="κ of `ogden` and `mooney_rivlin`"
    )

    @model_validator(mode="after")
    def _has_its_laws_constants(self) -> "VolumeMaterial":
        own = RUBBERS.get(self.model, HOOKE)
        for key in dict.fromkeys((*HOOKE, *(key for keys in RUBBERS.values() for key in keys))):
            if getattr(self, key) is None and key in own:
                raise mistake(f"the key '{key}' is missing: '{self.model}' takes {', '.join(own)}")
            if getattr(self, key) is not None and key not in own:
                raise mistake(f"belongs to another law: '{self.model}' takes {', '.join(own)}", key)
        if self.model == "ogden" and len(self.moduli) != len(self.exponents):
            raise mistake(f"{len(self.exponents)} exponents for {len(self.moduli)} moduli", "exponents")
        return self

    @property
    def is_rubber(self) -> bool:
        """Whether its law has constants of its own."""
        return self.model in RUBBERS

    def constants(self, scale: float = 1.0) -> dict[str, Any]:
        """Of a law of rubber, by name, with its stresses times a factor."""
        given = {key: getattr(self, key) for key in RUBBERS[self.model]}
        return {key: value if key in NUMBERS else _times(scale, value) for key, value in given.items()}

    @property
    def elasticity(self) -> tuple[float, float]:
        """E [Pa] and ν; of rubber, those at small strains."""
        if not self.is_rubber:
            return self.young_modulus, self.poisson_ratio
        if self.model == "ogden":
            shear = 0.5 * sum(m * a for m, a in zip(self.moduli, self.exponents, strict=True))
        else:
            shear = 2.0 * (self.c1 + self.c2)
        kappa = self.bulk_modulus
        return 9.0 * kappa * shear / (3.0 * kappa + shear), 0.5 * (3.0 * kappa - 2.0 * shear) / (3.0 * kappa + shear)


def _times(scale: float, value: Any) -> Any:
    return tuple(scale * one for one in value) if isinstance(value, tuple) else scale * value
