"""Blooms of contract logs that a block doesn't have: they are over the EVM addresses of their contracts.

A block names contracts by number. The address of one that the block itself changes is in its state; others
have had theirs since an earlier block, so that the tables know them.
"""

from functools import partial
from typing import Any

from ledger.ingest.rows.batch import Batch
from ledger.stream.record_file import RecordFile
from mirror.core.values import entity_id, log_bloom

_ADDRESS_LENGTH = 20


def complete_blooms(batch: Batch, file: RecordFile) -> None:
    """Add missing blooms before the batch is written. Call it before the items become rows."""
    incomplete = [
        result
        for item in file.items
        if item.from_block and item.result_field is not None
        for result in (getattr(item.record, item.result_field),)
        if any(not log.bloom for log in result.logInfo)
    ]
    if not incomplete:
        return
    addresses: dict[int, dict[str, Any]] = {}
    for result in incomplete:
        for log in result.logInfo:
            contract = entity_id.from_contract(log.contractID)
            if not log.bloom and contract not in addresses:
                address = addresses[contract] = {"evm": entity_id.long_zero(contract)}
                batch.evm_addresses.fill(address, "evm", contract)
    batch.complete_block(partial(_complete, file, incomplete, addresses))


def _complete(
    file: RecordFile, incomplete: list[Any], addresses: dict[int, dict[str, Any]], block: dict[str, Any]
) -> None:
    for result in incomplete:
        for log in result.logInfo:
            if not log.bloom:
                address = addresses[entity_id.from_contract(log.contractID)]["evm"]
                log.bloom = log_bloom.create_bloom(address.rjust(_ADDRESS_LENGTH, b"\0"), log.topic)
        result.bloom = log_bloom.union(log.bloom for log in result.logInfo)
    block["logs_bloom"] = file.block_totals().logs_bloom
