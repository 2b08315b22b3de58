import subprocess
import sys
from types import SimpleNamespace

import pytest

from soft_twin.app.cli import main
from soft_twin.driving.cables.can_bus import open_bus
from soft_twin.emulation.devices import DEVICES


def _emulate(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "soft_twin.app.cli", "emulate", *arguments], stdout=subprocess.PIPE, text=True
    )


def test_emulated_motors_answer_a_driver_through_a_link(tmp_path):
    link = tmp_path / "can"
    process = _emulate("motors", "--link", str(link))
    try:
        assert process.stdout.readline().startswith("address: /dev/")
        with open_bus("slcan", str(link)) as bus:
            assert bus.recv(timeout=10.0).arbitration_id in range(0x201, 0x207)
    finally:
        process.terminate()
        process.wait(10.0)


def test_a_device_that_is_asked_to_end_takes_its_link_along(tmp_path):
    process = _emulate("dac_board", "--link", str(tmp_path / "dac"))
    assert process.stdout.readline().startswith("address: /dev/") and (tmp_path / "dac").is_symlink()
    process.terminate()
    assert process.wait(60.0) == 130
    assert not (tmp_path / "dac").is_symlink()


@pytest.mark.parametrize("kind", ["dac_board", "modbus", "modbus_vacuum"])
def test_a_robot_with_more_chambers_than_a_device_has_of_itself_gets_a_valve_for_each(kind):
    device = DEVICES[kind](SimpleNamespace(valves=SimpleNamespace(channels=range(60))), 0)
    try:
        assert len(device.chambers.pressures) == 60
    finally:
        device.close()


def test_it_ends_by_the_clock_and_tells_its_faults(capsys):
    assert main(["emulate", "openpneu", "--seconds", "0.2", "--fault", "garbage@0.05+0.05"]) == 0
    told = capsys.readouterr().out
    assert "garbage begins" in told
    assert "garbage ends" in told


def test_mistakes_are_told_in_one_line(capsys):
    assert main(["emulate", "imu", "--fault", "stuck@0", "--seconds", "1"]) == 2
    assert main(["emulate", "motors", "--robot", "no_robot"]) == 2
    assert main(["emulate", "motors", "--link", "/no/such/folder/can", "--seconds", "0.1"]) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["imu", "--seed", "-1"], "--seed -1: expected 0 or more"),
        (["motors", "--seed", "-1"], "--seed -1: expected 0 or more"),
        (["imu", "--seconds", "-1"], "--seconds -1: expected 0 or more"),
        (["imu", "--seconds", "nan"], "--seconds nan: expected 0 or more"),
        (["openpneu", "--robot", "slender"], "robot 'slender' has no valves to emulate"),
        (["dac_board", "--robot", "tm40"], "robot 'tm40' has no valves to emulate"),
    ],
)
def test_what_cannot_be_emulated_is_refused(capsys, words, message):
    assert main(["emulate", "--seconds", "0.1", *words]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", f"soft-twin: {message}\n")


def test_a_link_of_a_device_that_lives_stays_its_own(tmp_path, capsys):
    link = tmp_path / "imu"
    process = _emulate("imu", "--link", str(link))
    try:
        address = process.stdout.readline().strip().removeprefix("address: ")
        assert main(["emulate", "imu", "--link", str(link), "--seconds", "0.1"]) == 2
        assert "another emulated device has it" in capsys.readouterr().err
        assert str(link.readlink()) == address
    finally:
        process.terminate()
        process.wait(60.0)
    assert main(["emulate", "imu", "--link", str(link), "--seconds", "0.1"]) == 0


def test_only_a_link_is_replaced_and_only_its_own_is_removed(tmp_path, capsys):
    file = tmp_path / "precious"
    file.write_text("results")
    assert main(["emulate", "openpneu", "--link", str(file), "--seconds", "0.1"]) == 2
    assert "only a link is replaced" in capsys.readouterr().err
    assert file.read_text() == "results"
    link = tmp_path / "link"
    link.symlink_to(file)
    assert main(["emulate", "openpneu", "--link", str(link), "--seconds", "0.1"]) == 0
    assert not link.is_symlink()
    assert file.read_text() == "results"
