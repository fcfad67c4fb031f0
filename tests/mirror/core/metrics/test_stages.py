"""Time of loading by stage."""

import time

from mirror.core.metrics import ingest


def test_a_stage_within_another_counts_for_itself_alone(monkeypatch):
    seconds = iter([0.0, 10.0, 13.0, 20.0, 21.0, 24.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(seconds))
    ingest.SECONDS.reset()

    with ingest.stage("verify"):
        with ingest.stage("download"):
            pass
        with ingest.stage("download"):
            pass

    assert ingest.SECONDS.values() == {("download",): 4.0, ("verify",): 20.0}
