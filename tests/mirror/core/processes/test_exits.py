import fcntl

from mirror.core.processes import exits


def test_nobody_waits_long_for_a_file_that_another_process_keeps(settings, tmp_path, monkeypatch):
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(exits, "_LOCK_SECONDS", 0.1)
    with (tmp_path / "deaths.jsonl").open("a") as kept:
        fcntl.flock(kept, fcntl.LOCK_EX)
        exits.record("loader", "was killed")
    exits.record("web server", "ended")

    assert [death.process for death in exits.recent(3600)] == ["web server"]
