"""Calls of Linux and their portable forms, one by one and in a whole node.

The node runs in Pythons from which `tests/without_linux/sitecustomize.py` has hidden what macOS lacks:

- `os`: memfd_create, pidfd_open, sched_getaffinity, posix_fadvise, posix_fallocate, fdatasync, and others;
- `select.epoll`, `signal.pidfd_send_signal`, `signal.sigtimedwait`, `time.pthread_getcpuclockid`;
- the options TCP_INFO, TCP_USER_TIMEOUT and SO_PEERCRED of sockets, locks of open files, seals of files;
- prctl and mallopt of the C library, and the limit of address space;
- /proc, which only psutil may read, since that has other means on macOS;
- setproctitle, which is not for macOS;
- copies as the usual way to start a process of multiprocessing, which is "spawn" there.

This shows that the node needs none of them. It does not show that macOS has what else the node needs.
"""

import ctypes
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from mirror.core.processes import operating_system, process_table
from tests import forking
from tests.linux import linux_only
from tests.node import LiveNode, in_session, kill
from tests.waiting import PATIENCE_SECONDS, wait_until

HIDING = Path(__file__).parents[3] / "without_linux"
IDENTITY = "0x0000000000000000000000000000000000000004"


class _Library(ctypes.CDLL):
    def __getattr__(self, name: str) -> Any:
        if name == "prctl":
            raise AttributeError(name)
        return super().__getattr__(name)


@pytest.fixture(params=[pytest.param("linux", marks=linux_only), "portable"])
def hide(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what hides a call of a module in the portable case: `hide(os, "memfd_create")`."""

    def hide(module: object, name: str) -> None:
        if request.param == "portable":
            monkeypatch.delattr(module, name, raising=False)

    hide.__name__ = request.param
    return hide


# MEMORY

of_glibc = pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="only of glibc")

_HEAPS = """
import ctypes, sys, threading
from mirror.core.processes import operating_system
if sys.argv[1] == "shared":
    operating_system.share_heap()
released, held = threading.Event(), []
def hold():
    held.append(bytearray(10_000))
    released.wait()
threads = [threading.Thread(target=hold) for _ in range(8)]
for thread in threads:
    thread.start()
library = ctypes.CDLL(None)
library.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(library.fopen(b"/dev/stdout", b"w"))
library.malloc_info(0, file)
library.fflush(file)
released.set()
"""
_LARGE_BLOCKS = """
import sys, psutil
from mirror.core.processes import operating_system
if sys.argv[1] == "shared":
    operating_system.share_heap()
# Left to itself, glibc has blocks of this size in its heap once one was freed.
del (block := bytearray(30 << 20))[:]
del block
before = psutil.Process().memory_info().rss
blocks = [bytearray(1 << 20) for _ in range(28)]
last = bytearray(1000)
del blocks
print(psutil.Process().memory_info().rss - before)
"""


def _printed(program: str, *arguments: str) -> str:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@of_glibc
def test_threads_share_a_heap() -> None:
    assert _printed(_HEAPS, "separate").count("<heap nr=") > 1
    assert _printed(_HEAPS, "shared").count("<heap nr=") == 1


@of_glibc
def test_freed_large_blocks_are_returned() -> None:
    assert int(_printed(_LARGE_BLOCKS, "separate")) > 20 << 20
    assert int(_printed(_LARGE_BLOCKS, "shared")) < 10 << 20


# FILES


def test_memory_file_is_shared_with_a_copy_of_the_process(hide):
    hide(os, "memfd_create")
    file = operating_system.memory_file("test", 8)

    forking.begun(os.pwrite, file, b"written", 0).join()

    assert os.pread(file, 9, 0) == b"written\0"
    os.close(file)


def test_temporary_file_is_removed_at_the_end_of_its_process(tmp_path):
    program = (
        "import os\n"
        "del os.memfd_create\n"
        "from mirror.core.processes import operating_system\n"
        "operating_system.memory_file('test')\n"
        "print(os.listdir(os.environ['TMPDIR']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("['test-")
    assert list(tmp_path.iterdir()) == []


def test_allocated_file_takes_its_space(hide, tmp_path):
    hide(os, "posix_fallocate")
    path = tmp_path / "file"
    path.write_bytes(b"present")
    with path.open("r+b") as file:
        operating_system.allocate(file.fileno(), 1 << 16)

    status = path.stat()
    assert status.st_size == 1 << 16
    assert status.st_blocks * 512 >= status.st_size
    assert path.read_bytes().rstrip(b"\0") == b"present"


# PROCESSES


def test_usable_processors_are_counted(hide):
    hide(os, "sched_getaffinity")
    assert 1 <= operating_system.usable_processors() <= (os.cpu_count() or 1)


_CHILD = """
import ctypes, os, signal, sys, time
from mirror.core.processes import operating_system
from tests.mirror.core.processes.test_operating_system import _Library
if sys.argv[1] == "portable":
    ctypes.CDLL = _Library
if os.fork() == 0:
    operating_system.signal_after(os.getppid(), signal.SIGKILL)
    print(os.getpid(), flush=True)
    time.sleep(600)
sys.stdin.read()
"""


def test_limit_of_open_files_is_raised_to_the_hard_one():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        limit = operating_system.raise_descriptor_limit()
        assert limit == min(hard, operating_system._MAX_DESCRIPTORS)
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (limit, hard)
        assert operating_system.raise_descriptor_limit() == limit
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_process_ends_with_its_killed_parent(hide):
    process = subprocess.Popen(
        [sys.executable, "-c", _CHILD, hide.__name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    child = int(process.stdout.readline())

    process.kill()
    process.communicate()

    wait_until(lambda: not psutil.pid_exists(child) or _is_zombie(child))


def _is_zombie(pid: int) -> bool:
    with suppress(psutil.Error):
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    return True


def test_process_whose_parent_has_ended_before_ends_at_once(hide, monkeypatch):
    if hide.__name__ == "portable":
        monkeypatch.setattr(ctypes, "CDLL", _Library)
    process = forking.begun(_end_after_nobody)
    process.join(PATIENCE_SECONDS)
    assert process.exitcode == -signal.SIGKILL


def _end_after_nobody() -> None:
    operating_system.signal_after(0, signal.SIGKILL)
    time.sleep(PATIENCE_SECONDS)


def test_processor_time_of_a_process_grows_with_its_work(hide):
    hide(time, "pthread_getcpuclockid")
    before = operating_system.processor_seconds(os.getpid()) or 0.0
    wait_until(lambda: (operating_system.processor_seconds(os.getpid()) or 0.0) > before)


def test_process_that_has_ended_has_no_processor_time(hide):
    hide(time, "pthread_getcpuclockid")
    process = forking.begun(int)
    process.join()
    assert operating_system.processor_seconds(process.pid or 0) is None


@linux_only
def test_priority_of_all_threads_but_the_first_is_lowered():
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import threading, time; threading.Thread(target=time.sleep, args=[600]).start()",
        ]
    )
    threads = wait_until(lambda: [each.id for each in psutil.Process(process.pid).threads()][1:])
    usual = os.getpriority(os.PRIO_PROCESS, process.pid)

    operating_system.lower_thread_priority(process.pid, 19)

    assert [os.getpriority(os.PRIO_PROCESS, each) for each in threads] == [19]
    assert os.getpriority(os.PRIO_PROCESS, process.pid) == usual
    process.kill()
    process.wait()


def test_process_that_has_ended_has_no_threads_with_a_priority():
    process = forking.begun(int)
    process.join()
    with pytest.raises(OSError, match="No such file"):
        operating_system.lower_thread_priority(process.pid or 0, 19)


def test_process_without_an_oom_score_continues(monkeypatch, tmp_path):
    monkeypatch.setattr(operating_system, "_OOM_SCORE", tmp_path / "missing" / "oom_score_adj")
    operating_system.become_expendable()


# TITLES


@pytest.mark.parametrize("role", ["web server", "web worker", "simulation starter", "gRPC server"])
def test_title_of_a_process_has_no_space_by_which_python_would_miscount_its_threads(role):
    title = process_table.title(role)
    assert title is None or " " not in title[:15]


def test_identity_of_a_process_is_the_same_for_all_and_none_at_its_end():
    program = (
        "import sys\n"
        "from mirror.core.processes import process_table\n"
        "print(process_table.identity(int(sys.argv[1])))"
    )
    process = subprocess.Popen(["sleep", "600"])
    own = process_table.identity(process.pid)
    done = subprocess.run(
        [sys.executable, "-c", program, str(process.pid)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == own
    process.kill()
    # It is not reaped yet.
    wait_until(lambda: process_table.identity(process.pid) is None)
    process.wait()
    assert process_table.identity(process.pid) is None


# SOCKETS


@linux_only
def test_unacknowledged_data_ends_a_connection():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        operating_system.set_tcp_user_timeout(listening, 2.5)
        assert listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 2500


# A WHOLE NODE


@pytest.fixture
def node(data_folder, tables):
    files = data_folder / "tmp"
    files.mkdir()
    node = LiveNode(data_folder, SVC_MIRROR_WEB_WORKERS="2", PYTHONPATH=str(HIDING), TMPDIR=str(files))
    yield node
    node.kill()


def test_node_answers_calls_and_stops_without_the_calls_of_linux(node):
    node.start("up", "--live")

    node.goes_on()
    assert json.loads(node.get("/api/v1/blocks?limit=1")[1])["blocks"]
    assert _call(node) == {"result": "0xabcd"}
    for page in ("/", "/admin/login/", "/api/v1/docs/"):
        assert node.get(page)[0] == 200, page
    session = node.process.pid

    assert node.stop(signal.SIGTERM) == 0
    assert in_session(session) == []
    assert list((node.folder / "tmp").iterdir()) == []


def test_all_processes_end_with_a_killed_node_without_the_calls_of_linux(node):
    node.start("up", "--live")
    assert _call(node) == {"result": "0xabcd"}
    # The call may have run in a process of the other web worker.
    node.wait_for(lambda: _call(node) == {"result": "0xabcd"} and node.simulator())
    kill(node.simulator())
    wait_until(lambda: "simulation worker" in node.deaths)
    node.wait_for(lambda: _call(node) == {"result": "0xabcd"})

    node.process.kill()
    node.process.wait()

    wait_until(lambda: in_session(node.process.pid) == [])


def _call(node: LiveNode) -> object:
    """Call a contract that every network has: it returns its data."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{node.port}/api/v1/contracts/call",
        json.dumps({"to": IDENTITY, "data": "0xabcd"}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        return json.load(answer)
