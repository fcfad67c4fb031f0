"""Log blooms that are known only when the batch is written, as EVM addresses are looked up then.

These are the blooms of synthetic logs: of the log, the contract result and the block; and those of contract
logs in blocks, of which the block's own is completed by `ledger.ingest.rows.file_rows`.
"""

from typing import Any

from ledger.ingest.rows.batch import Batch
from mirror.core.values import entity_id, log_bloom

_ADDRESS_LENGTH = 20
_TOPICS = ("topic0", "topic1", "topic2", "topic3")


class Blooms:
    """The logs of a file without their bloom, and its contract results by consensus timestamp."""

    def __init__(self) -> None:
        self.results: dict[int, dict[str, Any]] = {}
        self._logs: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._told_later: list[tuple[Any, dict[str, Any], list[list[Any]]]] = []
        self._registered = False

    def add(self, log: dict[str, Any], batch: Batch, *, of_contract: bool) -> None:
        """Compute the bloom of an inserted log before it is written. Tokens have only a long-zero address.

        Rows: contract_log bloom; contract_result bloom, record_file logs_bloom united with it.
        """
        self._register(batch)
        address: dict[str, Any] = {"evm": entity_id.long_zero(log["contract_id"])}
        if of_contract:
            batch.evm_addresses.fill(address, "evm", log["contract_id"])
        self._logs.append((log, address))

    def add_told_later(self, result: Any, row: dict[str, Any], logs: list[list[Any]], batch: Batch) -> None:
        """Copy the blooms of a function result to its row and those of its logs, before these are written.

        Rows: contract_result bloom, function_result; contract_log bloom, which is the first column of `logs`.
        """
        self._register(batch)
        self._told_later.append((result, row, logs))

    def _register(self, batch: Batch) -> None:
        if not self._registered:
            self._registered = True
            batch.complete_block(self._complete)

    def _complete(self, block: dict[str, Any]) -> None:
        for message, row, logs in self._told_later:
            row |= {"bloom": message.bloom, "function_result": message.SerializeToString()}
            for log, logged in zip(logs, message.logInfo, strict=True):
                log[0] = logged.bloom
        if self._logs:
            self._complete_synthetic(block)

    def _complete_synthetic(self, block: dict[str, Any]) -> None:
        blooms = []
        for log, address in self._logs:
            log["bloom"] = bloom_of(log, address["evm"])
            blooms.append(log["bloom"])
            result = self.results.get(log["consensus_timestamp"])
            if result is not None:
                result["bloom"] = united(result.get("bloom"), log["bloom"])
        block["logs_bloom"] = log_bloom.union([block["logs_bloom"], *blooms])


def bloom_of(log: dict[str, Any], address: bytes) -> bytes:
    """Return the bloom of a log's row; `address` is that of its contract."""
    topics = [log[name] for name in _TOPICS if log[name] is not None]
    return log_bloom.create_bloom(address.rjust(_ADDRESS_LENGTH, b"\0"), topics)


def united(bloom: bytes | None, of_log: bytes) -> bytes:
    """Return the bloom of a result with one more log. Records may hold any bytes in place of a bloom."""
    bloom = bloom or b""
    return log_bloom.union([bloom, of_log]) if len(bloom) in (0, log_bloom.BLOOM_LENGTH) else bloom
