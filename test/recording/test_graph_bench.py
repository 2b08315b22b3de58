import json
import shutil

from soft_twin.app.cli import main


def test_the_last_line_is_one_json_object(run_path, tmp_path, monkeypatch, capsys):
    (tmp_path / "out" / "slender").mkdir(parents=True)
    shutil.copy(run_path, tmp_path / "out" / "slender" / "run.mcap")
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "graph"]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["latency_ms.median"] == 12.0
    assert figures["tip_error_mm.with"] < 1.0 < figures["tip_error_mm.without"]


def test_without_a_run_it_says_how_to_make_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "graph"]) == 2
    assert "first do 'soft-twin run slender'" in capsys.readouterr().err
