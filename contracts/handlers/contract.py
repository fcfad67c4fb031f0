"""Contracts (contract service): created, updated, deleted.

A transaction is about the contract of its receipt, or else of its body. Results of calls and creations are in
`results.py`.
"""

from typing import Any

from contracts.handlers.positions import CONTRACT_CREATE, ETHEREUM
from contracts.models import Contract
from ledger.handlers.columns import changed_staking, convert, keys, staking, text
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import at_genesis, handles, names_entity
from ledger.stream.record_file import GenesisState
from ledger.stream.record_item import RecordItem
from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import ContractID, Key


@names_entity("CONTRACTCALL", "CONTRACTUPDATEINSTANCE", "CONTRACTDELETEINSTANCE")
def named_contract(item: RecordItem, batch: Batch) -> int:
    body = getattr(item.body, item.body.WhichOneof("data"))
    return created_contract(item, batch) or batch.lookup.contract(body.contractID)


@names_entity("CONTRACTCREATEINSTANCE")
def created_contract(item: RecordItem, batch: Batch) -> int:
    return batch.lookup.contract(item.record.receipt.contractID)


@handles("CONTRACTCREATEINSTANCE")
def contract_create(item: RecordItem, batch: Batch) -> None:
    """Create a contract; its initial balance arrives with the transaction's transfers.

    Source: body.contractCreateInstance, receipt.contractID, record.contractCreateResult; code from the body,
    the bytecode sidecar, a file, or the transaction this is a child of.
    Rows: entity version, contract upsert.
    """
    if not batch.persist.contracts or not item.entity_id:
        return
    # BODY
    body, timestamp = item.body.contractCreateInstance, item.consensus_timestamp
    key = body.adminKey if body.HasField("adminKey") else implicit_key(item.entity_id)
    columns: dict[str, Any] = {
        "balance": 0,
        "balance_timestamp": timestamp,
        "max_automatic_token_associations": body.max_automatic_token_associations,
        "memo": text(body.memo),
    } | keys(key.SerializeToString())
    columns |= _common(item, body, batch)
    if columns.get("auto_renew_account_id") == 0:
        del columns["auto_renew_account_id"]
        batch.recoverable(item, "the auto renew account of the new contract is 0.0.0")
    created = item.record.contractCreateResult
    if created.HasField("evm_address"):
        columns["evm_address"] = created.evm_address.value
    columns |= staking(item, body, batch)
    # ROWS
    batch.change_entity(
        item, id=item.entity_id, type="CONTRACT", created_timestamp=timestamp, deleted=False, **columns
    )
    batch.upsert(Contract, id=item.entity_id, **_code(item, batch))


@at_genesis
def first_contracts(state: GenesisState, timestamp: int, batch: Batch) -> None:
    """Store the code of contracts that a network begins with. Rows: contract upsert."""
    if batch.persist.contracts:
        for contract, code in state.code.items():
            batch.upsert(Contract, id=contract, runtime_bytecode=code)


@handles("CONTRACTUPDATEINSTANCE")
def contract_update(item: RecordItem, batch: Batch) -> None:
    """Change what the body sets of a contract. Source: body.contractUpdateInstance. Rows: entity version."""
    # BODY
    body = item.body.contractUpdateInstance
    columns = _common(item, body, batch)
    columns |= convert(item, batch, body, "adminKey", "expirationTime", "max_automatic_token_associations")
    columns |= convert(item, batch, body, "memoWrapper") or ({"memo": text(body.memo)} if body.memo else {})
    columns |= changed_staking(item, body, batch)
    # ROWS
    batch.change_entity(item, id=item.entity_id, type="CONTRACT", deleted=False, **columns)


@handles("CONTRACTDELETEINSTANCE")
def contract_delete(item: RecordItem, batch: Batch) -> None:
    """Delete a contract. Source: body.contractDeleteInstance. Rows: entity version."""
    # BODY
    body = item.body.contractDeleteInstance
    obtainer = 0
    if body.HasField("transferAccountID"):
        obtainer = entity_id.from_account(body.transferAccountID)
    elif body.HasField("transferContractID"):
        obtainer = batch.lookup.contract(body.transferContractID)
        if not obtainer:
            batch.recoverable(item, "the contract that obtains the balance is not known")
    # ROWS
    batch.mention(obtainer)
    batch.change_entity(
        item,
        id=item.entity_id,
        type="CONTRACT",
        deleted=True,
        obtainer_id=obtainer or None,
        permanent_removal=body.permanent_removal,
    )


def implicit_key(contract: int) -> Any:
    """Return the key of a contract without an admin key: its own id, so that it can't be changed."""
    shard, realm, num = entity_id.decode(contract)
    return Key(contractID=ContractID(shardNum=shard, realmNum=realm, contractNum=num))


def _common(item: RecordItem, body: Any, batch: Batch) -> dict[str, Any]:
    """Return the columns that bodies of creations and updates set in the same way."""
    columns: dict[str, Any] = {}
    if body.HasField("auto_renew_account_id"):
        account = batch.account(item, body.auto_renew_account_id, "auto renew account")
        if account is not None:
            columns["auto_renew_account_id"] = account
            batch.mention(account)
    return columns | convert(item, batch, body, "autoRenewPeriod", "proxyAccountID")


def _code(item: RecordItem, batch: Batch) -> dict[str, Any]:
    """Return file_id, initcode and runtime_bytecode of the new contract; None for what is unknown.

    A bytecode sidecar without init code comes from a block: there the init code is in the file alone.
    """
    body = item.body.contractCreateInstance
    file = entity_id.from_file(body.fileID) if body.HasField("fileID") else 0
    batch.mention(file)
    initcode = body.initcode if body.HasField("initcode") else None
    runtime = None
    bytecode = _bytecode(item)
    if bytecode is not None:
        # A block without the code has the same sidecar as one of a contract without code.
        runtime = bytecode.runtime_bytecode or (None if item.from_block else b"")
        if initcode is None and bytecode.initcode:
            initcode = bytecode.initcode
        elif initcode is None and file:
            content = batch.files.decoded(file, item.consensus_timestamp)
            initcode = None if content is None else content + body.constructorParameters
    if item.is_child and item.parent is not None:
        file, initcode = _code_of_parent(item.parent, file, initcode)
    return {"file_id": file or None, "initcode": initcode, "runtime_bytecode": runtime}


def _bytecode(item: RecordItem) -> Any | None:
    """Return the ContractBytecode sidecar of the created contract, unless it migrates an old contract."""
    created = item.record.receipt.contractID
    for sidecar in item.sidecar_records:
        if sidecar.HasField("bytecode") and not sidecar.migration and sidecar.bytecode.contract_id == created:
            return sidecar.bytecode
    return None


def _code_of_parent(parent: RecordItem, file: int, initcode: bytes | None) -> tuple[int, bytes | None]:
    """Return `file` and `initcode`, completed from the transaction whose contract created this one."""
    if parent.transaction_type == CONTRACT_CREATE:
        body = parent.body.contractCreateInstance
        if not file and body.HasField("fileID"):
            file = entity_id.from_file(body.fileID)
        elif initcode is None and body.HasField("initcode"):
            initcode = body.initcode
    elif parent.transaction_type == ETHEREUM:
        ethereum = parent.body.ethereumTransaction
        if not file and ethereum.HasField("call_data"):
            file = entity_id.from_file(ethereum.call_data)
        elif initcode is None and parent.ethereum is not None:
            initcode = parent.ethereum.call_data
    return file, initcode
