"""The same history as record files and as blocks, loaded in turn into the same empty database."""

import gc
import os
import statistics
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from ledger.stream.block.block_file import read_block_file, verify
from ledger.stream.record_file import RecordFile
from ledger.stream.record_formats import read_record_file
from tests.benchmarks.blocks.history import NODES, Node, blocks_of, node

_FORMS = ("record files", "blocks", "blocks, unverified")


def measure(folder: Path, stream: str, count: int, per_block: int, rounds: int, processes: int) -> None:
    records, native = folder / "records", folder / "native"
    blocks = blocks_of(stream, count, per_block, records)
    for block in blocks:
        block.write(native)
    print(f"{count:,} {stream} in {len(blocks)} blocks, {rounds} rounds, {processes} processes", flush=True)
    _reading(records, native, len(blocks), count)
    processor: dict[str, list[float]] = {form: [] for form in _FORMS}
    clock: dict[str, list[float]] = {form: [] for form in _FORMS}
    with node(folder, SVC_MIRROR_IMPORTER_PARSER_PROCESSES=str(processes)) as into:
        for _ in range(rounds):
            for form in _FORMS:
                into.empty()
                arguments = ["--without-signatures"] if form == "blocks, unverified" else []
                began = time.monotonic()
                used = _processor_seconds(into, records if form == "record files" else native, arguments)
                clock[form].append(time.monotonic() - began)
                processor[form].append(used)
    for form in _FORMS:
        seconds, used = statistics.median(clock[form]), statistics.median(processor[form])
        print(
            f"{form:19} {seconds:6.2f} s, {len(blocks) / seconds:6.1f} blocks and {count / seconds:8,.0f} "
            f"transactions per second; {used:6.2f} s of processor time, "
            f"{used / statistics.median(processor['record files']):.2f} times that of record files"
        )


def _processor_seconds(into: Node, path: Path, arguments: list[str]) -> float:
    """Load a folder by a process of its own; return its processor time, and that of its readers."""
    command = into.command("ingest", path, *arguments)
    child = os.spawnve(os.P_NOWAIT, command[0], command, into.environment)
    _, status, usage = os.wait4(child, 0)
    assert status == 0, f"loading failed: {status}"
    return usage.ru_utime + usage.ru_stime


def _reading(records: Path, native: Path, blocks: int, count: int) -> None:
    """Print what reading takes alone, and verifying; in this process, the best of three."""
    stored = [(path.name, path.read_bytes()) for path in sorted(records.glob("*.rcd.gz"))]
    files = [(str(path), path.read_bytes()) for path in sorted(native.rglob("*.blk.zstd"))]
    read = [read_block_file(*each) for each in files]
    # What proves the key of the network is done once.
    verify(read[0], NODES.identity)
    best: dict[str, float] = {}
    # As the loader does.
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)
    works: dict[str, Callable[[], object]] = {
        "record files": lambda: [read_record_file(*each) for each in stored],
        "blocks": lambda: [read_block_file(*each) for each in files],
        "signatures": lambda: deque(map(_verify, read), 0),
    }
    for _ in range(3):
        for name, work in works.items():
            began = time.process_time()
            work()
            best[name] = min(best.get(name, 1e9), time.process_time() - began)
    print(
        f"reading alone: record files {best['record files'] / count * 1e6:.1f} µs, "
        f"blocks {best['blocks'] / count * 1e6:.1f} µs for each transaction; "
        f"verifying a signature {best['signatures'] / blocks * 1e3:.1f} ms for each block"
    )


def _verify(block: RecordFile) -> None:
    verify(block, NODES.identity)
