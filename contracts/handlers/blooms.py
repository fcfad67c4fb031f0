"""Log blooms of synthetic logs that contracts caused: of the log, the contract result and the block.

Topics and addresses may name accounts whose EVM address is looked up when the batch is written, so blooms are
computed then.
"""

from typing import Any

from ledger.ingest.batch import Batch
from mirror.values import entity_id, log_bloom

_ADDRESS_LENGTH = 20
_TOPICS = ("topic0", "topic1", "topic2", "topic3")


class Blooms:
    """The logs of a file that lack their bloom, and its contract results by consensus timestamp."""

    def __init__(self) -> None:
        self.results: dict[int, dict[str, Any]] = {}
        self._logs: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def add(self, log: dict[str, Any], batch: Batch) -> None:
        """Compute the bloom of an inserted log before it is written.

        Rows: contract_log bloom; contract_result bloom, record_file logs_bloom united with it.
        """
        if not self._logs:
            batch.complete_block(self._complete)
        address: dict[str, Any] = {"evm": entity_id.long_zero(log["contract_id"])}
        batch.evm_addresses.fill(address, "evm", log["contract_id"])
        self._logs.append((log, address))

    def _complete(self, block: dict[str, Any]) -> None:
        blooms = []
        for log, address in self._logs:
            topics = [log[name] for name in _TOPICS if log[name] is not None]
            log["bloom"] = log_bloom.of_log(address["evm"].rjust(_ADDRESS_LENGTH, b"\0"), topics)
            blooms.append(log["bloom"])
            result = self.results.get(log["consensus_timestamp"], {})
            bloom = result.get("bloom") or b""
            # Records may hold any bytes in place of a bloom.
            if len(bloom) in (0, log_bloom.BLOOM_LENGTH):
                result["bloom"] = log_bloom.union([bloom, log["bloom"]])
        block["logs_bloom"] = log_bloom.union([block["logs_bloom"], *blooms])
