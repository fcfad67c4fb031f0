"""Gas a contract transaction consumed, as far as its records tell."""

from contracts.handlers.sidecars import Seen
from ledger.ingest.batch import Batch
from ledger.stream.record.item import RecordItem
from mirror.values.transaction_types import NUMBERS

CONTRACT_CREATE = NUMBERS["CONTRACTCREATEINSTANCE"]

_TRANSACTION = 21_000
_CREATION = 32_000
_ZERO_BYTE = 4
_OTHER_BYTE = 16


def gas_consumed(
    item: RecordItem, batch: Batch, *, gas_used: int, seen: Seen, function_parameters: bytes
) -> int | None:
    """Since HAPI 0.69 the gas used; before, what the outermost call used and the intrinsic gas of a
    transaction (the yellow paper's g0), None if no sidecar tells the first.
    """
    if item.hapi_version >= batch.persist.smart_contract_throttling_version:
        return gas_used
    if seen.gas_used is None:
        return None
    payload = function_parameters
    if seen.has_bytecode and item.transaction_type == CONTRACT_CREATE:
        payload = item.body.contractCreateInstance.initcode or seen.initcode
    zeros = payload.count(0)
    intrinsic = _TRANSACTION + _ZERO_BYTE * zeros + _OTHER_BYTE * (len(payload) - zeros)
    return seen.gas_used + intrinsic + (_CREATION if seen.creation else 0)
