"""The comparison of gyroscope and accelerometer: its parameters reach the kernel under their own names."""

from dataclasses import fields

import pytest

from soft_twin.errors import InputError
from soft_twin.sensing import agreement_kernel as kernel
from soft_twin.sensing.agreement import AgreementParameters


def test_every_place_of_the_kernel_is_one_parameter_s():
    names = [field.name for field in fields(AgreementParameters) if field.name != "astray_time"]
    places = [kernel.C_GRAVITY, *(getattr(kernel, f"C_{name.upper()}") for name in names)]
    assert sorted(places) == list(range(kernel.COEFFICIENTS))


def test_parameters_that_make_no_sense_are_named():
    with pytest.raises(InputError, match="hold = 0.0"):
        AgreementParameters(hold=0.0)
    with pytest.raises(InputError, match="base_odds = nan"):
        AgreementParameters(base_odds=float("nan"))
