"""The campaign for valves finds nothing with our drivers, and finds by name what is done wrong on purpose."""

import numpy as np
import pytest

from soft_twin.driving.session import ActuatorSession
from soft_twin.driving.valves.valve_driver import ValveDriver
from soft_twin.studies.campaigns import valves
from soft_twin.studies.campaigns.valve_cases import invent
from soft_twin.studies.campaigns.valves import ValveCampaign, session_on
from soft_twin.studies.campaigns.valves_vacuum import VacuumCampaign

SEEDS = range(24)
FEW = range(8)
ONCE = (50433, 50489, 310287, 322435, 335038, 335153, 2600649, 2600841, 2700816, 2701906, 9500117)  # broke a rule once


@pytest.mark.parametrize("seed", [*FEW, *ONCE])
def test_random_faults_of_valves_break_no_rule(seed):
    assert ValveCampaign().run_case(seed) == []


@pytest.mark.parametrize("seed", FEW)
def test_random_faults_of_valves_that_suck_break_no_rule(seed):
    assert VacuumCampaign().run_case(seed) == []


def test_a_case_is_the_same_whenever_it_is_run():
    assert invent(7) == invent(7)
    assert invent(7) != invent(8)
    assert ValveCampaign().story(7) == ValveCampaign().story(7)


class DeafSession(ActuatorSession):
    """Says that it stops, and does not."""

    def stop(self) -> str:
        return "stopped"


class ForgetfulSession(ActuatorSession):
    """Stops, and forgets that it did."""

    def stop(self) -> str:
        self.relax()
        return "stopped"


class MuteDriver(ValveDriver):
    """Ends after a second, and says nothing about it."""

    @property
    def running(self) -> bool:
        return super().running and self._clock.monotonic() < 1.0

    def tick(self) -> None:
        if self.running:
            super().tick()


class FrozenDriver(ValveDriver):
    """Does nothing any more after a second, and is said to run."""

    def tick(self) -> None:
        if self._clock.monotonic() < 1.0:
            super().tick()


class TrustingSession(ActuatorSession):
    """Believes that a driver that was opened runs."""

    def _is_there(self) -> bool:
        return self.driver is not None


class Through:
    """Valves as they are, but for what is written to them."""

    def __init__(self, valves, change):
        self._valves, self._change = valves, change

    def __getattr__(self, name):
        return getattr(self._valves, name)

    def write(self, pressures):
        return self._valves.write(self._change(pressures))

    def last_words(self, *_):
        """None."""

    def close(self, *_):
        self._valves.release()


def _highest_yet():
    """Never vents: what was told once stays."""
    highest = [-np.inf]

    def change(pressures):
        highest[0] = np.maximum(highest[0], pressures)
        return highest[0]

    return change


def _lowest_yet():
    """Never lets the air in: what was told once stays."""
    lowest = [np.inf]

    def change(pressures):
        lowest[0] = np.minimum(lowest[0], pressures)
        return lowest[0]

    return change


def _kinds(campaign: ValveCampaign, wanted: str) -> set[str]:
    """Of all cases until the wanted kind is seen."""
    kinds: set[str] = set()
    for seed in SEEDS:
        kinds |= {violation.kind for violation in campaign.run_case(seed)}
        if any(kind.startswith(wanted) for kind in kinds):
            break
    return {kind for kind in kinds if kind.startswith(wanted)}


def _session_of(kind):
    def open_session(case, world):
        good = session_on(case, world)
        return kind(
            good._open_driver, autostart=case.autostart, enable_when_active=case.enable_when_active, clock=world
        )

    return ValveCampaign(open_session)


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [(DeafSession, "stop forgotten"), (DeafSession, "not vented: stop"), (ForgetfulSession, "stop forgotten")],
)
def test_sessions_that_do_not_stop_are_named(kind, wanted):
    assert _kinds(_session_of(kind), wanted)


def test_a_driver_that_dies_mutely_is_named(monkeypatch):
    monkeypatch.setattr(valves, "ValveDriver", MuteDriver)
    assert _kinds(_session_of(TrustingSession), "mute death")


def test_a_driver_that_does_nothing_any_more_is_named(monkeypatch):
    monkeypatch.setattr(valves, "ValveDriver", FrozenDriver)
    assert _kinds(ValveCampaign(), "not vented")


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda: lambda pressures: pressures + 50e3, "told above the limit"),
        (lambda: lambda pressures: pressures - 50e3, "told below the limit"),
        (_highest_yet, "not vented"),
        (_highest_yet, "left under pressure"),
        (lambda: lambda pressures: 0.0 * pressures + 0.3e6, "told pressure without a right to"),
    ],
)
def test_valves_that_are_told_what_they_should_not_are_named(monkeypatch, change, wanted):
    good = valves.open_backend
    monkeypatch.setattr(valves, "open_backend", lambda case, world: Through(good(case, world), change()))
    assert _kinds(ValveCampaign(), wanted)


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda: lambda pressures: pressures - 100e3, "told below the limit"),
        (lambda: lambda pressures: 2.0 * np.minimum(pressures, 0.0), "told faster than the rate"),
        (lambda: lambda pressures: pressures - 15e3, "told what nobody commanded"),
        (lambda: lambda pressures: 0.0 * pressures - 30e3, "told vacuum without a right to"),
        (_lowest_yet, "not vented"),
        (_lowest_yet, "left under vacuum"),
    ],
)
def test_valves_that_suck_where_they_should_not_are_named(monkeypatch, change, wanted):
    good = valves.open_backend
    monkeypatch.setattr(valves, "open_backend", lambda case, world: Through(good(case, world), change()))
    assert _kinds(VacuumCampaign(), wanted)
