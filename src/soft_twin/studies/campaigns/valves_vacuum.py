"""Fault campaign for pressure valves that suck, too: see valves.py."""

from soft_twin.studies.campaigns.valve_cases import invent_vacuum
from soft_twin.studies.campaigns.valves import ValveCampaign


class VacuumCampaign(ValveCampaign):
    """The cases of chambers below the ambient pressure."""

    name = "valves_vacuum"
    invent = staticmethod(invent_vacuum)
