"""The changes of the state by composed transactions, as far as a reader of blocks needs them.

A network commits a transaction with all of its children, and publishes each changed key once, with its last
value.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ledger.stream.block import state_after
from ledger.stream.block.state_after import ACCOUNTS
from ledger.stream.record_item import HOOKS_NUM, HookCall, calls_of
from mirror.core.values import entity_id, timestamp
from mirror.core.values.hapi import result_codes
from mirror.core.values.hapi.messages import StateChange
from mirror.demo.streams.record_files import ComposedTransaction, account


@dataclass(slots=True)
class Known:
    """What is known of an account or contract; the alias of a contract is its EVM address."""

    alias: bytes = b""
    ethereum_nonce: int = 0
    smart_contract: bool = False


_UNKNOWN = Known()


class KnownAccounts:
    """The aliases and nonces of accounts and contracts, as transactions say them."""

    def __init__(self) -> None:
        self._by_number: dict[int, Known] = {}
        self._by_alias: dict[bytes, int] = {}

    def add(
        self, number: int, alias: bytes, *, ethereum_nonce: int = 0, smart_contract: bool = False
    ) -> None:
        self._by_number[number] = Known(alias, ethereum_nonce, smart_contract)
        if alias and not smart_contract:
            self._by_alias[alias] = number

    def learn(self, transaction: ComposedTransaction) -> None:
        record = transaction.record
        if record.receipt.status in result_codes.SUCCESS:
            alias = transaction.body.cryptoCreateAccount.alias
            if alias:
                number = entity_id.from_account(record.receipt.accountID)
                self._get(number).alias = alias
                self._by_alias[alias] = number
            result = record.contractCreateResult
            if result.HasField("contractID"):
                contract = self._get(entity_id.from_contract(result.contractID))
                contract.smart_contract = True
                if result.HasField("evm_address"):
                    contract.alias = result.evm_address.value
        for number, nonce, is_contract in _nonces(record):
            self._get(number).ethereum_nonce = nonce
            self._get(number).smart_contract |= is_contract

    def _get(self, number: int) -> Known:
        return self._by_number.setdefault(number, Known())

    def changes(self, transactions: Iterable[ComposedTransaction]) -> Iterator[Any]:
        """Yield the StateChange messages of all accounts that have paid, got, called or been named."""
        for number in sorted({each for transaction in transactions for each in self._changed(transaction)}):
            known, changed = self._by_number.get(number, _UNKNOWN), account(number)
            change = StateChange(state_id=ACCOUNTS)
            change.map_update.key.account_id_key.CopyFrom(changed)
            value = change.map_update.value.account_value
            value.account_id.CopyFrom(changed)
            value.alias, value.ethereum_nonce = known.alias, known.ethereum_nonce
            value.smart_contract = known.smart_contract
            yield change

    def _changed(self, transaction: ComposedTransaction) -> Iterator[int]:
        record = transaction.record
        for moved in record.transferList.accountAmounts:
            yield entity_id.from_account(moved.accountID)
        for alias in _aliases(transaction.body):
            if alias in self._by_alias:
                yield self._by_alias[alias]
        if record.contractCreateResult.HasField("contractID"):
            yield entity_id.from_contract(record.contractCreateResult.contractID)
        yield from (number for number, _, _ in _nonces(record))


def _nonces(record: Any) -> Iterator[tuple[int, int, bool]]:
    """Yield the new nonces of a record: of which account or contract, and whether it is a contract."""
    which = record.WhichOneof("body")
    if which is not None:
        result = getattr(record, which)
        if result.HasField("signer_nonce"):
            yield entity_id.from_account(result.sender_id), result.signer_nonce.value, False
        for nonce in result.contract_nonces:
            yield entity_id.from_contract(nonce.contract_id), nonce.nonce, True


def _aliases(body: Any) -> Iterator[bytes]:
    """Yield the aliases by which a body names accounts that its transaction changes."""
    yield body.cryptoCreateAccount.alias
    yield body.cryptoUpdateAccount.accountIDToUpdate.alias
    for dropped in body.tokenAirdrop.token_transfers:
        yield from (amount.accountID.alias for amount in dropped.transfers)
        for nft in dropped.nftTransfers:
            yield from (nft.senderAccountID.alias, nft.receiverAccountID.alias)


@dataclass(frozen=True, slots=True)
class AnnouncedTransaction:
    """A transaction in a block, with the hook that it calls; an `explicit` trace lists the slots it wrote."""

    transaction: ComposedTransaction
    hook: HookCall | None = None
    explicit: bool = False


def groups(transactions: Iterable[ComposedTransaction]) -> Iterator[list[AnnouncedTransaction]]:
    """Yield each top level transaction, and its children and theirs, in their order."""
    group: list[AnnouncedTransaction] = []
    parents: dict[int, ComposedTransaction] = {}
    hooks: Iterator[HookCall] = iter(())
    for transaction in transactions:
        record = transaction.record
        has_parent = record.HasField("parent_consensus_timestamp")
        parent = timestamp.to_ns(record.parent_consensus_timestamp) if has_parent else None
        if parent not in parents:
            if group:
                yield group
            group, parents = [], {}
        if transaction.body.HasField("cryptoTransfer"):
            hooks = calls_of(transaction.body.cryptoTransfer)
        # The contract of all hooks.
        calls_hook = transaction.body.contractCall.contractID.contractNum == HOOKS_NUM
        hook = next(hooks, None) if parent in parents and calls_hook else None
        explicit = hook is not None or any(each.body.HasField("atomic_batch") for each in parents.values())
        group.append(AnnouncedTransaction(transaction, hook, explicit))
        parents[transaction.consensus_timestamp] = transaction
    if group:
        yield group


def state_changes(group: Sequence[AnnouncedTransaction], known: KnownAccounts) -> list[Any]:
    """Return the StateChange messages of a transaction and its children."""
    changed: dict[tuple[int, bytes], Any] = {}
    changes = known.changes(announced.transaction for announced in group)
    for change in chain(changes, *map(_changes, group)):
        # In its place, or in that of an earlier change of the same key.
        key = getattr(change, change.WhichOneof("change_operation")).key
        changed[change.state_id, key.SerializeToString(deterministic=True)] = change
    return list(changed.values())


def _changes(announced: AnnouncedTransaction) -> Iterator[Any]:
    body, record = announced.transaction.body, announced.transaction.record
    if record.receipt.status not in result_codes.SUCCESS:
        return
    kind = body.WhichOneof("data")
    if kind in _CHANGES:
        yield _CHANGES[kind](getattr(body, kind), record.receipt)
    elif kind in ("tokenClaimAirdrop", "tokenCancelAirdrop"):
        for airdrop in getattr(body, kind).pending_airdrops:
            yield _deleted(state_after.PENDING_AIRDROPS, {"pending_airdrop_id_key": airdrop})
    for pending in record.new_pending_airdrops:
        yield _updated(
            state_after.PENDING_AIRDROPS,
            {"pending_airdrop_id_key": pending.pending_airdrop_id},
            {"account_pending_airdrop_value": {"pending_airdrop_value": pending.pending_airdrop_value}},
        )
    yield from _contracts(announced)


def _updated(state: int, key: Mapping[str, Any], value: Mapping[str, Any], *, identical: bool = False) -> Any:
    return StateChange(state_id=state, map_update={"key": key, "value": value, "identical": identical})


def _deleted(state: int, key: Mapping[str, Any]) -> Any:
    return StateChange(state_id=state, map_delete={"key": key})


# The state of an entity, the field of its key, that of its value, and the one of its id in that.
_Entity = tuple[int, str, str, str]
_FILE = (state_after.FILES, "file_id_key", "file_value", "file_id")
_NODE = (state_after.NODES, "entity_number_key", "node_value", "node_id")
_REGISTERED = (
    state_after.REGISTERED_NODES, "entity_number_key", "registered_node_value", "registered_node_id"
)  # fmt: skip
_TOKEN = (state_after.TOKENS, "token_id_key", "token_value", "token_id")
_TOPIC = (state_after.TOPICS, "topic_id_key", "topic_value", "topic_id")


def _changed(entity: _Entity, entity_id: Any, **values: Any) -> Any:
    state, key, value, field = entity
    key_value = {"value": entity_id} if isinstance(entity_id, int) else entity_id
    return _updated(state, {key: key_value}, {value: {field: entity_id, **values}})


def _supply(body: Any, receipt: Any) -> Any:
    return _changed(_TOKEN, body.token, total_supply=receipt.newTotalSupply)


# Type of transaction -> its change by body and receipt: the id of a new or changed entity, or its totals.
_CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "fileCreate": lambda body, receipt: _changed(_FILE, receipt.fileID),
    "fileAppend": lambda body, receipt: _changed(_FILE, body.fileID),
    "fileUpdate": lambda body, receipt: _changed(_FILE, body.fileID),
    "nodeCreate": lambda body, receipt: _changed(_NODE, receipt.node_id),
    "nodeUpdate": lambda body, receipt: _changed(_NODE, body.node_id),
    "registeredNodeCreate": lambda body, receipt: _changed(_REGISTERED, receipt.registered_node_id),
    "registeredNodeUpdate": lambda body, receipt: _changed(_REGISTERED, body.registered_node_id),
    "tokenCreation": lambda body, receipt: _changed(_TOKEN, receipt.tokenID, total_supply=body.initialSupply),
    "tokenMint": _supply,
    "tokenBurn": _supply,
    "tokenWipe": _supply,
    "consensusCreateTopic": lambda body, receipt: _changed(_TOPIC, receipt.topicID),
    "consensusSubmitMessage": lambda body, receipt: _changed(
        *(_TOPIC, body.topicID),
        sequence_number=receipt.topicSequenceNumber,
        running_hash=receipt.topicRunningHash,
    ),
}


def _contracts(announced: AnnouncedTransaction) -> Iterator[Any]:
    for sidecar in announced.transaction.sidecars:
        kind = sidecar.WhichOneof("sidecar_records")
        if kind == "bytecode" and sidecar.bytecode.runtime_bytecode:
            code = {"bytecode_value": {"code": sidecar.bytecode.runtime_bytecode}}
            yield _updated(state_after.BYTECODE, {"contract_id_key": sidecar.bytecode.contract_id}, code)
        elif kind == "state_changes":
            for touched in sidecar.state_changes.contract_state_changes:
                yield from _stored(touched, announced)


def is_identical(change: Any) -> bool:
    """Return whether a StorageChange writes the value that it read; to delete an empty slot is a change."""
    return bool(change.value_read) and change.value_written.value == change.value_read


def _stored(touched: Any, announced: AnnouncedTransaction) -> Iterator[Any]:
    """Yield the changes of storage; that of a hook is its own, though all hooks run as one contract."""
    hook = announced.hook
    is_of_hook = hook is not None and touched.contract_id.contractNum == HOOKS_NUM
    state = state_after.HOOK_STORAGE if is_of_hook else state_after.STORAGE
    for change in touched.storage_changes:
        if not change.HasField("value_written"):
            continue
        key: Mapping[str, Any] = {"slot_key_key": {"contractID": touched.contract_id, "key": change.slot}}
        if hook is not None and is_of_hook:
            key = {"evm_hook_slot_key": {"hook_id": hook_id(hook), "key": change.slot}}
        written = change.value_written.value
        if written:
            value = {"slot_value_value": {"value": written}}
            yield _updated(state, key, value, identical=not announced.explicit and is_identical(change))
        else:
            yield _deleted(state, key)


def hook_id(hook: HookCall) -> dict[str, Any]:
    """Return the HookId of a called hook, as plain values."""
    owner = account(entity_id.from_account(hook.owner))
    return {"entity_id": {"account_id": owner}, "hook_id": hook.hook_id}
