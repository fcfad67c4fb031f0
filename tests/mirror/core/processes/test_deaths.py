import fcntl

from mirror.core.processes import deaths


def test_nobody_waits_long_for_a_file_that_another_process_keeps(settings, tmp_path, monkeypatch):
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(deaths, "_LOCK_SECONDS", 0.1)
    with (tmp_path / "deaths.jsonl").open("a") as kept:
        fcntl.flock(kept, fcntl.LOCK_EX)
        deaths.record("loader", "was killed")
    deaths.record("web server", "ended")

    assert [death.process for death in deaths.recent(3600)] == ["web server"]
