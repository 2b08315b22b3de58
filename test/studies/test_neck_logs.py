"""Logs of real necks, where they are; the parts of the study without them."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from soft_twin.errors import RecordingError, UsageError
from soft_twin.studies import neck_logs
from soft_twin.studies.neck_logs import FITTED, LENGTH, Log

DATA = Path(os.environ.get("SOFT_TWIN_DATA", "../shared/data"))
HEAD = (
    b"encoder1,encoder2,encoder3,inclination_target,inclination_sensor,orientation_target,"
    b"motor_target1,motor_target2,motor_target3\n"
)
LOG = Log("soft25mm", 0.0, np.zeros(3), np.array([0.0196, -0.007, -0.007]), 0.0, (20.0, 90.0), True, "short")


def test_the_payload_hangs_where_the_parameters_say():
    bare, loaded = (neck_logs.build("soft25mm", payload, FITTED).body for payload in (0.0, 0.8))
    more = loaded.attached - bare.attached
    assert more.sum() == pytest.approx(0.8) and (more >= 0.0).all()
    place = [FITTED.payload_x, FITTED.payload_y, LENGTH + FITTED.payload_z]
    np.testing.assert_allclose(more @ loaded.mesh.nodes / 0.8, place, atol=1e-9)


def test_taut_cables_of_stiff_drives_tilt_as_chords_do():
    stiff = replace(FITTED, stiffness=1e7, wound_in=0.0)
    np.testing.assert_allclose(neck_logs.by_finite_elements(stiff, [LOG]), neck_logs.by_chords([LOG]), atol=0.15)


def test_a_fit_goes_towards_what_made_the_measurements():
    true = replace(FITTED, stiffness=1.2 * FITTED.stiffness, silicone=0.9 * FITTED.silicone)
    asked = [replace(LOG, neck="soft35mm")]
    logs = [
        replace(log, inclination=value)
        for log, value in zip(asked, neck_logs.by_finite_elements(true, asked), strict=True)
    ]
    measured = np.array([log.inclination for log in logs])
    before, after = (
        np.abs(neck_logs.by_finite_elements(each, logs) - measured).max()
        for each in (FITTED, neck_logs.fit(logs, steps=2))
    )
    assert after < 0.2 * before


def test_missing_logs_are_said(tmp_path):
    with pytest.raises(UsageError, match="no logs of necks"):
        neck_logs.read_logs(tmp_path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no recording at '.*test_soft25mm_0gr.csv': No such file"),
        (b"", "not readable as a table"),
        (bytes(range(128, 256)), "not readable as a table"),
        (b"time,encoder1\n0,1\n0,1,2\n", "not readable as a table"),
        (b"time,encoder1\n" + 60 * b"0,1\n", "expected columns encoder1, encoder2, .*orientation_target"),
        (HEAD + 49 * (b"1" + 8 * b",1" + b"\n"), "expected 50 rows of finite numbers or more, found 49 rows"),
        (HEAD + 60 * (b"1" + 8 * b",x" + b"\n"), "rows of finite numbers"),
    ],
)
def test_a_log_that_is_missing_or_none_is_named(content, said, tmp_path):
    folder = tmp_path / neck_logs.FOLDER / "three_necks"
    folder.mkdir(parents=True)
    if content is not None:
        (folder / "test_soft25mm_0gr.csv").write_bytes(content)
    with pytest.raises(RecordingError, match=said):
        neck_logs.read_logs(tmp_path)


@pytest.mark.skipif(not (DATA / "neck_uc3m").is_dir(), reason="no logs of necks here")
def test_finite_elements_with_one_set_of_parameters_come_nearer_to_logs_held_back_than_chords(tmp_path):
    logs = neck_logs.read_logs(DATA)
    assert len(logs) == 12 + 2 * 70
    some = [log for log in logs if not log.fitted][::24]
    measured = np.array([log.inclination for log in some])
    found = {"chords": neck_logs.by_chords(some), "fem": neck_logs.by_finite_elements(FITTED, some)}
    chords, fem = (np.abs(values - measured).mean() for values in found.values())
    assert fem < 1.0 < chords
    neck_logs.draw(tmp_path / "picture.png", some, found)
    assert (tmp_path / "picture.png").exists()
    assert len(neck_logs.targets_table(logs).splitlines()) == 4
