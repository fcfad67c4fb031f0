"""Time of loading by stage."""

import time

from mirror.core.metrics import ingest
from tests.counts import counted


def test_a_stage_within_another_counts_for_itself_alone(monkeypatch):
    seconds = iter([0.0, 10.0, 13.0, 20.0, 21.0, 24.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(seconds))
    stages = ("verify", "download")
    before = [counted("mirror_ingest_seconds_total", stage=stage) for stage in stages]

    with ingest.stage("verify"):
        with ingest.stage("download"):
            pass
        with ingest.stage("download"):
            pass

    after = [counted("mirror_ingest_seconds_total", stage=stage) for stage in stages]
    assert [now - then for now, then in zip(after, before, strict=True)] == [20.0, 4.0]
