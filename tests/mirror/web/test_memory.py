"""Memory of a web worker."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mirror.core.processes import process_table
from tests.linux import linux_only
from tests.web3sim.serving import ServingNode, serving_node

__all__ = ["serving_node"]

_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) ", re.MULTILINE)
# The address space that glibc reserves for each further heap, at a multiple of it.
_HEAP_BYTES = 64 << 20


def _further_heaps(pid: int) -> int:
    """Return how many heaps the threads of a process have made."""
    mappings = [
        (int(first, 16), int(end, 16), rights)
        for first, end, rights in _MAPPING.findall(Path(f"/proc/{pid}/maps").read_text())
    ]
    return sum(
        first % _HEAP_BYTES == 0 and (end, first + _HEAP_BYTES, "---p") in mappings
        for first, end, rights in mappings
        if rights == "rw-p"
    )


@linux_only
def test_threads_of_a_web_worker_share_a_heap(serving_node: ServingNode) -> None:
    node = serving_node
    node.start(SVC_MIRROR_WEB_WORKERS="1")
    with ThreadPoolExecutor(20) as threads:
        paths = [f"blocks?limit={number}" for number in range(1, 61)]
        assert set(threads.map(node.ask, paths)) == {200}
    (worker,) = (pid for pid in node.processes() if "mirror/web-worker" in process_table.command(pid))
    # The supervisor, of which the web server is a copy, may have made one.
    assert _further_heaps(worker) <= 1
