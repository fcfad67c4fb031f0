import time

from mirror.core.config.clock import now_ns


def test_the_clock_runs_unless_it_is_fixed(settings_of):
    before = time.time_ns()
    assert before <= now_ns() <= time.time_ns()
    settings_of({"clock.now": 1234567890.25})
    assert now_ns() == 1234567890_250000000
