"""Gas that a contract transaction consumed."""

from contracts.handlers.sidecars import SidecarFacts
from ledger.ingest.rows.batch import Batch
from ledger.stream.record.item import RecordItem
from mirror.core.values.hapi.transaction_types import NUMBERS

CONTRACT_CREATE = NUMBERS["CONTRACTCREATEINSTANCE"]

_TRANSACTION = 21_000
_CREATION = 32_000
_ZERO_BYTE = 4
_OTHER_BYTE = 16


def gas_consumed(
    item: RecordItem, batch: Batch, *, gas_used: int, facts: SidecarFacts, function_parameters: bytes
) -> int | None:
    """Return the gas consumed: since HAPI 0.69 the gas used.

    Before, it is the gas of the outermost call and the intrinsic gas of the transaction (g0 in the yellow
    paper), or None if no sidecar has the former.
    """
    if item.hapi_version >= batch.persist.smart_contract_throttling_version:
        return gas_used
    if facts.gas_used is None:
        return None
    payload = function_parameters
    if facts.has_bytecode and item.transaction_type == CONTRACT_CREATE:
        payload = item.body.contractCreateInstance.initcode or facts.initcode
    zeros = payload.count(0)
    intrinsic = _TRANSACTION + _ZERO_BYTE * zeros + _OTHER_BYTE * (len(payload) - zeros)
    return facts.gas_used + intrinsic + (_CREATION if facts.creation else 0)
