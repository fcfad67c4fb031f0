"""A record file's own rows: the block with its totals, and its sidecar files."""

import time

from ledger.ingest.batch import Batch
from ledger.models import RecordFile as RecordFileRow
from ledger.models import SidecarFile as SidecarFileRow
from ledger.stream.record.record_file import RecordFile

DIGEST_SHA384 = 0


def add_block(
    rows: Batch, file: RecordFile, *, index: int, count: int, node_id: int, load_start: int
) -> None:
    """Rows: record_file; its presence says that the whole file is stored.

    `count` is the number of transactions stored; the totals are those of all. Load times are ms.
    """
    totals = file.block_totals()
    major, minor, patch = file.hapi_version or (None, None, None)
    software_major, software_minor, software_patch = file.software_version or (major, minor, patch)
    rows.insert(
        RecordFileRow,
        name=file.name,
        load_start=load_start,
        load_end=time.time_ns() // 1_000_000,
        hash=file.hash,
        prev_hash=file.previous_hash,
        consensus_start=file.consensus_start,
        consensus_end=file.consensus_end,
        count=count,
        digest_algorithm=DIGEST_SHA384,
        hapi_version_major=major,
        hapi_version_minor=minor,
        hapi_version_patch=patch,
        software_version_major=software_major,
        software_version_minor=software_minor,
        software_version_patch=software_patch,
        version=file.version,
        file_hash=file.file_hash,
        index=index,
        gas_used=totals.gas_used,
        logs_bloom=totals.logs_bloom,
        size=file.size,
        sidecar_count=len(file.sidecars),
        node_id=node_id,
        round_start=file.round_start,
        round_end=file.round_end,
    )


def add_sidecar(
    rows: Batch,
    file: RecordFile,
    *,
    number: int,
    name: str,
    digest: bytes,
    types: list[int],
    count: int | None,
    size: int | None,
) -> None:
    """Rows: sidecar_file; count of records and stored size are null when the sidecar was not read."""
    rows.insert(
        SidecarFileRow,
        consensus_end=file.consensus_end,
        id=number,
        name=name,
        hash=digest,
        hash_algorithm=DIGEST_SHA384,
        types=types,
        count=count,
        size=size,
    )
