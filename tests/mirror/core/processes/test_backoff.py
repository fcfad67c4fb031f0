from mirror.core.processes.exits import Backoff


def test_pauses_grow_while_a_process_dies_soon_after_its_start() -> None:
    pauses = Backoff()
    assert [pauses.after(0.5) for _ in range(9)] == [0, 1, 2, 4, 8, 16, 32, 60, 60]


def test_a_process_that_has_worked_is_started_again_at_once() -> None:
    pauses = Backoff()
    assert [pauses.after(lived) for lived in (3, 3, 3, 12, 12, 12, 3, 3)] == [0, 1, 2, 0, 0, 0, 1, 2]
