"""Fault campaigns: what drivers and sensors do when devices, hosts and people do what they should not.

Each campaign invents cases from a seed, lets the code under test live through them with emulated devices, and judges
by the bytes on the wire, the emulated device's own state, and what the user was told: never by what the code under
test believes. Emulators (`devices/`) are written from data sheets and import nothing of the code that they test.
"""

import importlib

from soft_twin.errors import UsageError
from soft_twin.studies.campaigns.base import Campaign

CAMPAIGNS = {  # module -> class
    "motors": "MotorCampaign",
    "motors_drums": "DrumCampaign",
    "motor_line": "MotorLineCampaign",
    "valves": "ValveCampaign",
    "valves_vacuum": "VacuumCampaign",
    "imu": "ImuCampaign",
    "imu_line": "ImuLineCampaign",
}


def open_campaign(name: str) -> Campaign:
    """The campaign of a name.

    Raises:
        UsageError: there is none; the message lists those there are.
    """
    if name not in CAMPAIGNS:
        raise UsageError(f"no campaign '{name}': there are {', '.join(CAMPAIGNS)}")
    return getattr(importlib.import_module(f"{__name__}.{name}"), CAMPAIGNS[name])()
