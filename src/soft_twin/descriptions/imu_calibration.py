"""What a calibration file of an IMU has."""

from typing import Annotated

from pydantic import Field, model_validator

from soft_twin.descriptions.kinds_of_value import Number, Several, mistake
from soft_twin.descriptions.part import Part

Vector = tuple[float, float, float] | None
Matrix = tuple[float, ...] | None

LEAST_VOLUME = 0.1  # determinant of a matrix that turns and scales axes, and flattens none


class ImuCalibrationFile(Part):
    """Corrections of one IMU, see sensing/calibration.py; what is left out corrects nothing."""

    accelerometer_matrix: Annotated[Matrix, Several(Number(-2.0, 2.0), 9, 9)] = Field(
        default=None, description="scale errors and angles between the axes, row by row"
    )
    accelerometer_offset: Annotated[Vector, Several(Number(-50.0, 50.0, "m/s²"), 3, 3)] = Field(
        default=None, description="specific force that it shows where there is none"
    )
    gyroscope_bias: Annotated[Vector, Several(Number(-2.0, 2.0, "rad/s"), 3, 3)] = Field(
        default=None, description="rate that it shows at rest, at the reference temperature"
    )
    gyroscope_bias_per_kelvin: Annotated[Vector, Several(Number(-0.1, 0.1, "rad/s/K"), 3, 3)] = Field(
        default=None, description="change of that with temperature"
    )
    reference_temperature: Annotated[float | None, Number(-40.0, 125.0, "°C")] = Field(
        default=None, description="at which the bias was measured"
    )
    mounting: Annotated[Matrix, Several(Number(-1.0, 1.0), 9, 9)] = Field(
        default=None, description="rotation from the board to base_link, row by row"
    )

    @model_validator(mode="after")
    def _flattens_nothing(self) -> "ImuCalibrationFile":
        if self.accelerometer_matrix is not None and _determinant(self.accelerometer_matrix) < LEAST_VOLUME:
            found = _determinant(self.accelerometer_matrix)
            raise mistake(f"determinant {found:.2g}, expected one near 1", "accelerometer_matrix")
        return self


def _determinant(m: tuple[float, ...]) -> float:
    a, b, c, d, e, f, g, h, i = m
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
