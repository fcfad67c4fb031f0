"""Slots, of which all processes of a server together have some."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from mirror.core.db.scheduling import slow_slot
from mirror.core.db.scheduling.slow_slot import Files, SlowRequestSlot
from mirror.core.processes.file_lock import try_lock
from tests.waiting import PATIENCE_SECONDS, wait_until

_HOLDER = """
import sys
from mirror.core.db.scheduling.slow_slot import Files, SlowRequestSlot
assert SlowRequestSlot(Files(int(sys.argv[1]), int(sys.argv[2]))).try_acquire()
print("taken", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def files() -> Files:
    return slow_slot.create_files()


def _taking(slot: SlowRequestSlot, then: Callable[[], None]) -> threading.Thread:
    def take() -> None:
        slot.acquire()
        then()

    thread = threading.Thread(target=take)
    thread.start()
    return thread


def _is_waited_for(files: Files) -> bool:
    """Return whether a process waits for a slot that another one has."""
    watcher = SlowRequestSlot(files)
    if try_lock(watcher._next):
        watcher.try_acquire()
        return False
    return True


@pytest.fixture
def holder(files: Files) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has taken the slot."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, *map(str, files)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=files,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"taken\n"
    yield process
    process.kill()
    process.communicate()


def test_a_slot_is_taken_by_one_process_at_a_time(files):
    first, second = SlowRequestSlot(files), SlowRequestSlot(files)

    assert first.try_acquire()
    assert not second.try_acquire()
    first.release()
    assert second.try_acquire()


def test_a_process_that_dies_gives_its_slot_back(files, holder):
    own = SlowRequestSlot(files)
    assert not own.try_acquire()
    taken = threading.Event()
    thread = _taking(own, taken.set)

    holder.kill()

    assert taken.wait(PATIENCE_SECONDS)
    thread.join()


def test_a_process_that_is_waited_for_gives_way_before_it_has_the_slot_again(files):
    first, second = SlowRequestSlot(files), SlowRequestSlot(files)
    order: list[str] = []
    assert first.try_acquire()
    waiting = _taking(second, lambda: order.append("second"))
    wait_until(lambda: _is_waited_for(files))

    assert not first.offer()
    again = _taking(first, lambda: order.append("first"))
    waiting.join()
    second.release()
    again.join()

    assert order == ["second", "first"]


def test_a_slot_that_no_other_process_waits_for_is_kept(files):
    slot = SlowRequestSlot(files)
    assert slot.try_acquire()

    assert slot.offer()
    assert not SlowRequestSlot(files).try_acquire()
