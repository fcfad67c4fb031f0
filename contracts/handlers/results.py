"""Results and logs of contract calls and creations, and the rows by which they are found.

Any transaction whose record has a function result has them, whatever its own result.
"""

from typing import Any

from contracts.handlers.blooms import Blooms
from contracts.handlers.positions import (
    CONTRACT_CALL,
    CONTRACT_CREATE,
    CONTRACT_TYPES,
    LogIndex,
    Positions,
    has_result,
)
from contracts.handlers.sidecars import SidecarFacts, add_sidecars
from contracts.models import (
    Contract,
    ContractLog,
    ContractResult,
    ContractTransaction,
    ContractTransactionHash,
)
from ledger.handlers.columns import convert, text
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import Order, every_item
from ledger.models import Entity
from ledger.stream.record_item import RecordItem
from mirror.core.values import entity_id
from mirror.core.values.ethereum import WEIBARS_PER_TINYBAR, EthereumData

# Contracts that a contract creates have records of their own since this HAPI version.
CHILD_RECORDS_SINCE = (0, 23, 0)
# Nodes log the token transfers of contracts themselves since this HAPI version.
NODE_LOGS_SINCE = (0, 71, 0)

MAX_INT64 = (1 << 63) - 1

_NO_TOPICS = (None,) * 4

_EMPTY_BLOOM = bytes(256)
# The intrinsic gas of a transaction, of a creation, and of the bytes of its call data.
_TRANSACTION_GAS, _CREATION_GAS, _ZERO_BYTE_GAS, _OTHER_BYTE_GAS = 21_000, 32_000, 4, 16
_NO_FACTS = SidecarFacts()


@every_item(Order.CONTRACT_RESULTS)
def contract_result(item: RecordItem, batch: Batch) -> None:
    """Store the result of a contract call or creation, with its sidecars and logs.

    Source: sidecars; record.contractCallResult or contractCreateResult; the body of calls and creations.
    Rows: those of `add_sidecars`; contract_result, contract_log, contract_transaction and
    contract_transaction_hash insert; entity versions of contracts created before HAPI 0.23, nonces silently.
    """
    result = item.function_result
    kind = item.transaction_type
    if result is None and kind not in CONTRACT_TYPES and not item.sidecar_records:
        return
    if not batch.persist.contracts:
        return
    facts = add_sidecars(item, batch) if item.sidecar_records else _NO_FACTS
    contracts = set(facts.contracts)
    if kind in (CONTRACT_CALL, CONTRACT_CREATE):
        _add_result(item, batch, item.entity_id, result, facts, contracts)
    elif result is not None:
        _add_result(item, batch, batch.lookup.contract(result.contractID), result, facts, contracts)
    elif batch.persist.contract_results and has_result(item):
        _add_failed_ethereum(item, batch)
    if contracts:
        add_contract_transactions(item, batch, contracts)


def _add_result(
    item: RecordItem,
    batch: Batch,
    contract: int,
    result: Any | None,
    facts: SidecarFacts,
    contracts: set[int],
) -> None:
    columns = _requested(item, batch, result)
    batch.mention(contract)
    created: list[int] = []
    if result is not None:
        created = _created_contracts(item, batch, contract, result)
        if batch.persist.track_nonce:
            for nonce in result.contract_nonces:
                entity = batch.lookup.contract(nonce.contract_id)
                batch.upsert(Entity, id=entity, ethereum_nonce=nonce.nonce, type="CONTRACT")
        columns |= {
            "bloom": b"" if result.bloom == _EMPTY_BLOOM else result.bloom,
            "call_result": result.contractCallResult,
            "error_message": text(result.errorMessage),
            "function_result": result.SerializeToString(),
            "gas_used": result.gasUsed,
            "gas_consumed": _gas_consumed(item, batch, result.gasUsed, facts, columns["function_parameters"]),
        }
    if not batch.persist.contract_results:
        return
    row = insert_result(
        item,
        batch,
        contract,
        sender_id=_sender(item, batch, result),
        created_contract_ids=created,
        failed_initcode=None if item.successful else _failed_initcode(item, facts),
        **columns,
    )
    if result is not None and result.logInfo:
        logs = _add_logs(item, batch, contract, result, contracts)
        if item.from_block:
            batch.state(Blooms).add_told_later(result, row, logs, batch)
    contracts.update((contract, item.payer_account_id))


def insert_result(item: RecordItem, batch: Batch, contract: int, **columns: Any) -> dict[str, Any]:
    """Store a result, and return its row. Rows: contract_result and contract_transaction_hash insert."""
    hash = item.hash
    row = batch.insert(
        ContractResult,
        consensus_timestamp=item.consensus_timestamp,
        contract_id=contract,
        payer_account_id=item.payer_account_id,
        transaction_hash=hash,
        transaction_index=batch.state(Positions).result_position(item, batch),
        transaction_nonce=item.nonce,
        transaction_result=item.result,
        **columns,
    )
    batch.state(Blooms).results[item.consensus_timestamp] = row
    if batch.persist.contract_transaction_hash:
        batch.rows_for(ContractTransactionHash).append(
            (item.consensus_timestamp, hash, item.payer_account_id, contract, item.result)
        )
    return row


def _requested(item: RecordItem, batch: Batch, result: Any | None) -> dict[str, Any]:
    """Return amount, gas and parameters of the call: from the body of a call or creation, else the result."""
    if item.transaction_type == CONTRACT_CALL:
        call = item.body.contractCall
        amount, gas, parameters = call.amount, call.gas, call.functionParameters
    elif item.transaction_type == CONTRACT_CREATE:
        create = item.body.contractCreateInstance
        amount, gas, parameters = create.initialBalance, create.gas, create.constructorParameters
    elif item.from_block and item.ethereum is not None:
        return _requested_by_ethereum(item, item.ethereum, batch, result)
    else:
        assert result is not None
        amount = None if "amount" in item.absent else result.amount
        gas, parameters = result.gas, result.functionParameters
    return {"amount": amount, "gas_limit": gas, "function_parameters": parameters}


def _requested_by_ethereum(
    item: RecordItem, ethereum: EthereumData, batch: Batch, result: Any | None
) -> dict[str, Any]:
    """Return the same from the wrapped transaction, and copy it to the result, as record files do."""
    parameters = _call_data(item, ethereum, batch)
    amount = min(ethereum.value // WEIBARS_PER_TINYBAR, MAX_INT64)
    if result is not None:
        result.amount, result.gas, result.functionParameters = amount, ethereum.gas_limit, parameters
    return {"amount": amount, "gas_limit": ethereum.gas_limit, "function_parameters": parameters}


def _call_data(item: RecordItem, ethereum: EthereumData, batch: Batch) -> bytes:
    body = item.body.ethereumTransaction
    if ethereum.call_data or not body.HasField("call_data"):
        return ethereum.call_data
    return batch.files.decoded(entity_id.from_file(body.call_data), item.consensus_timestamp) or b""


def _gas_consumed(
    item: RecordItem, batch: Batch, gas_used: int, facts: SidecarFacts, parameters: bytes
) -> int | None:
    """Return the gas consumed: since HAPI 0.69 the gas used.

    Before, it is the gas of the outermost call and the intrinsic gas of the transaction (g0 in the yellow
    paper), or None if no sidecar has the former. A transaction without gas used never ran.
    """
    if item.hapi_version >= batch.persist.smart_contract_throttling_version:
        return gas_used
    if facts.gas_used is None:
        return None if gas_used else 0
    payload = parameters
    if facts.has_bytecode and item.transaction_type == CONTRACT_CREATE:
        payload = item.body.contractCreateInstance.initcode or facts.initcode
    zeros = payload.count(0)
    intrinsic = _TRANSACTION_GAS + _ZERO_BYTE_GAS * zeros + _OTHER_BYTE_GAS * (len(payload) - zeros)
    return facts.gas_used + intrinsic + (_CREATION_GAS if facts.creation else 0)


def _sender(item: RecordItem, batch: Batch, result: Any | None) -> int | None:
    if result is None or not result.HasField("sender_id"):
        return item.payer_account_id
    sender = entity_id.from_account(result.sender_id)
    batch.mention(sender)
    return sender or None


def _failed_initcode(item: RecordItem, facts: SidecarFacts) -> bytes | None:
    if item.transaction_type == CONTRACT_CREATE and item.body.contractCreateInstance.HasField("initcode"):
        initcode: bytes = item.body.contractCreateInstance.initcode
        return initcode
    return facts.initcode if facts.creation and facts.has_bytecode else None


def _created_contracts(item: RecordItem, batch: Batch, contract: int, result: Any) -> list[int]:
    """Return the contracts the result lists. Rows, before HAPI 0.23: entity version, contract upsert."""
    listed = [batch.lookup.contract(created) for created in result.createdContractIDs]
    created = [entity for entity in listed if entity]
    if not item.successful or item.hapi_version >= CHILD_RECORDS_SINCE:
        return created
    timestamp, columns = item.consensus_timestamp, dict[str, Any]()
    body = item.body.contractCreateInstance if item.transaction_type == CONTRACT_CREATE else None
    if body is not None:
        # What a contract's own creations share with it.
        columns = convert(item, batch, body, "adminKey", "autoRenewPeriod", "proxyAccountID")
        columns["memo"] = text(body.memo)
    for entity in created:
        if entity == contract:
            continue
        batch.change_entity(
            item,
            id=entity,
            type="CONTRACT",
            balance=0,
            balance_timestamp=timestamp,
            created_timestamp=timestamp,
            deleted=False,
            max_automatic_token_associations=0,
            **columns,
        )
        batch.mention(entity)
        if body is not None:
            batch.upsert(Contract, id=entity, file_id=entity_id.from_file(body.fileID) or None)
    return created


def _add_logs(item: RecordItem, batch: Batch, root: int, result: Any, contracts: set[int]) -> list[list[Any]]:
    """Store the logs of a result, and return their rows."""
    timestamp, payer, hash = item.consensus_timestamp, item.payer_account_id, item.hash
    position = batch.state(Positions).result_position(item, batch)
    log_index = batch.state(LogIndex)
    rows: list[list[Any]] = []
    for log in result.logInfo:
        contract = batch.lookup.contract(log.contractID)
        contracts.add(contract)
        batch.mention(contract)
        topics = [topic.lstrip(b"\0") or b"\0" for topic in log.topic]
        rows.append(
            [
                log.bloom,
                timestamp,
                contract,
                log.data,
                log_index.take(),
                *topics,
                *_NO_TOPICS[len(topics) :],
                payer,
                root or None,
                hash,
                position,
                False,  # synthetic
            ]
        )
    batch.rows_for(ContractLog).extend(rows)
    return rows


def _add_failed_ethereum(item: RecordItem, batch: Batch) -> None:
    """Store a result of a transaction that failed before any contract ran, so that it can be found."""
    ethereum = item.ethereum
    assert ethereum is not None
    insert_result(
        item,
        batch,
        0,
        call_result=b"",
        created_contract_ids=[],
        function_parameters=_call_data(item, ethereum, batch),
        gas_consumed=0,
        gas_limit=ethereum.gas_limit,
        gas_used=0,
        sender_id=item.payer_account_id,
    )


def add_contract_transactions(item: RecordItem, batch: Batch, entities: set[int]) -> None:
    """Store one row for each contract that takes part, and one for the payer; each lists all of them."""
    if batch.persist.contract_transaction:
        at, payer, listed = item.consensus_timestamp, item.payer_account_id, sorted(entities)
        batch.rows_for(ContractTransaction).extend([(at, entity, listed, payer) for entity in listed])
