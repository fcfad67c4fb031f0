"""Record items: a transaction with its record, the same for handlers whatever the format of the file."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from google.protobuf.unknown_fields import UnknownFieldSet

from mirror.core.values import entity_id, timestamp
from mirror.core.values.ethereum import EthereumData
from mirror.core.values.hapi import messages, result_codes, wire
from mirror.core.values.hapi.messages import AccountAmount, DecodeError, SignedTransaction, TransactionBody

HapiVersion = tuple[int, int, int]

NO_HAPI_VERSION: HapiVersion = (0, 0, 0)

_TYPES = {field.name: field.number for field in TransactionBody.DESCRIPTOR.oneofs_by_name["data"].fields}
_MEMO = TransactionBody.DESCRIPTOR.fields_by_name["memo"].number
_FILE_UPDATE = 19
_SYSTEM_ADMIN_NUM = 50
_CONTRACT_CALL = _TYPES["contractCall"]
HOOKS_NUM = 365  # of the contract that all hooks are called at
_SHORT_HASH_LENGTH = 32
_IS_APPROVAL = AccountAmount(is_approval=True).SerializeToString()
_NO_NONCES: Mapping[int, int] = {}
_NO_FIELDS: frozenset[str] = frozenset()


class InvalidItem(ValueError):
    """An item that cannot be read; readers turn it into a StreamFileError that says where the item is."""


class RecordItem:
    """A transaction and its record.

    `index` is its position in the file. `successful` needs a result that counts as success and, for a child
    whose parent precedes it in the file, a successful parent. `hapi_version` is (0, 0, 0) for files without
    one. A record `from_block` has fewer fields: `absent` names those that the block does not contain. Its
    `congestion_pricing_multiplier` is None unless it is from a block.
    `transaction_type` is 0 when it is unknown. `sidecar_records` are TransactionSidecarRecord messages.
    `ethereum` is the Ethereum transaction that the item wraps, set by its handler. `executed_hook` is the
    hook that it called, by owner (encoded) and number, if its block contains it. `preceding_hook_call` is the
    last call of a hook before this item among the children of its parent. `account_nonces` are the nonces of
    accounts (encoded) after a transaction that delegates, if its block contains them. `result_field` is the
    record's field with the result of a contract; code that adds such a result sets it too. `scheduled`: the
    item executed a schedule. Times are ns; `payer_account_id` is encoded.
    """

    __slots__ = (
        "_memo_bytes",
        "_record_bytes",
        "_signed",
        "_spends_allowances",
        "_transaction_bytes",
        "absent",
        "account_nonces",
        "body",
        "consensus_timestamp",
        "entity_id",
        "ethereum",
        "executed_hook",
        "hapi_version",
        "preceding_hook_call",
        "index",
        "nonce",
        "parent",
        "parent_consensus_timestamp",
        "payer_account_id",
        "record",
        "result",
        "result_field",
        "scheduled",
        "sidecar_records",
        "successful",
        "transaction",
        "transaction_type",
        "valid_start_ns",
    )

    from_block = False

    def __init__(
        self,
        index: int,
        transaction: Any,
        record: Any,
        *,
        previous: "RecordItem | None" = None,
        hapi_version: HapiVersion = NO_HAPI_VERSION,
        serialized: tuple[bytes, bytes] | None = None,
    ) -> None:
        """`previous` is the item before it; `serialized` are both messages, if known. Errors: InvalidItem."""
        self.index = index
        self.transaction = transaction
        self.record = record
        self.hapi_version = hapi_version
        self._transaction_bytes: bytes | None = None
        self._record_bytes: bytes | None = None
        if serialized is not None:
            self._transaction_bytes, self._record_bytes = serialized
        self.sidecar_records: Sequence[Any] = ()
        self.absent: frozenset[str] = _NO_FIELDS
        self.entity_id = 0
        self.ethereum: EthereumData | None = None
        self.account_nonces: Mapping[int, int] = _NO_NONCES
        self.executed_hook: tuple[int, int] | None = None
        self._memo_bytes: bytes | None = None
        self._spends_allowances: bool | None = None
        self._read_transaction()
        self._read_record(previous)

    def _read_transaction(self) -> None:
        self.body = self._parse_body()
        self.transaction_type = _type_of(self.body)
        transaction_id = self.body.transactionID
        # A node may submit any transaction id: a payer that cannot exist has a record all the same.
        self.payer_account_id = entity_id.from_account(transaction_id.accountID)
        self.valid_start_ns = timestamp.to_ns(transaction_id.transactionValidStart)
        self.nonce: int = transaction_id.nonce

    def _read_record(self, previous: "RecordItem | None") -> None:
        record = self.record
        self.scheduled: bool = record.HasField("scheduleRef")
        self.result_field: str | None = record.WhichOneof("body")
        self.consensus_timestamp = timestamp.to_ns(record.consensusTimestamp)
        if not self.consensus_timestamp and not record.HasField("consensusTimestamp"):
            raise InvalidItem("its record has no consensus timestamp")
        self.parent_consensus_timestamp: int | None = None
        self.parent: RecordItem | None = None
        self.preceding_hook_call: RecordItem | None = None
        if record.HasField("parent_consensus_timestamp"):
            self.parent_consensus_timestamp = timestamp.to_ns(record.parent_consensus_timestamp)
            if previous is not None:
                self.parent = _parent(previous, self.parent_consensus_timestamp)
                if previous.parent_consensus_timestamp == self.parent_consensus_timestamp:
                    self.preceding_hook_call = (
                        previous if previous.calls_hook else previous.preceding_hook_call
                    )
        self.result: int = self._status
        self.successful: bool = self.result in result_codes.SUCCESS and (
            self.parent is None or self.parent.successful
        )

    @property
    def _status(self) -> int:
        status: int = self.record.receipt.status
        return status

    @property
    def congestion_pricing_multiplier(self) -> int | None:
        return None

    @property
    def signature_map(self) -> Any:
        return self._signed.sigMap

    @property
    def transaction_bytes(self) -> bytes:
        if self._transaction_bytes is None:
            self._transaction_bytes = self.transaction.SerializeToString()
        return self._transaction_bytes

    @property
    def record_bytes(self) -> bytes:
        if self._record_bytes is None:
            self._record_bytes = self.record.SerializeToString()
        return self._record_bytes

    @property
    def memo(self) -> bytes:
        """The memo as its sender wrote it, even where that is not UTF-8 (`body.memo` then shows U+FFFD)."""
        if self._memo_bytes is None:
            memo: str = self.body.memo
            return memo.encode()
        return self._memo_bytes

    @property
    def is_child(self) -> bool:
        return self.parent_consensus_timestamp is not None

    @property
    def calls_hook(self) -> bool:
        """Return whether the item calls a hook: a child that calls the contract of all hooks."""
        return (
            self.is_child
            and self.transaction_type == _CONTRACT_CALL
            and HOOKS_NUM
            in (
                self.body.contractCall.contractID.contractNum,
                self.record.contractCallResult.contractID.contractNum,
            )
        )

    @property
    def ran_contract(self) -> bool:
        """Return whether the record has the result of a contract call or creation, be it an empty one."""
        return self.result_field is not None

    @property
    def contract_parent(self) -> "RecordItem | None":
        """Return the item whose contract caused this one: the call of a hook before it, or its parent.

        The call of a hook has none, and causes only what ran a contract itself.
        """
        if self.parent_consensus_timestamp is None or self.calls_hook:
            return None
        if self.preceding_hook_call is not None and self.ran_contract:
            return self.preceding_hook_call
        return self.parent if self.parent is not None and self.parent.ran_contract else None

    @property
    def spender_account_id(self) -> int:
        """Return the spender of the allowances that the item uses up: who called, or else the payer."""
        kind = self.result_field
        if kind is None:
            return self.payer_account_id
        return entity_id.from_account(getattr(self.record, kind).sender_id) or self.payer_account_id

    @property
    def spends_allowances(self) -> bool:
        """Return whether the body requests a transfer of hbar out of an allowance."""
        spends = self._spends_allowances
        if spends is None:
            transfers = self.body.cryptoTransfer.transfers
            # Whether any is an approval is seen faster in the bytes, which rarely have these by chance.
            spends = _IS_APPROVAL in transfers.SerializeToString() and any(
                transfer.is_approval for transfer in transfers.accountAmounts
            )
            self._spends_allowances = spends
        return spends

    @property
    def is_top_level(self) -> bool:
        """The item counts in its block's gas and bloom totals."""
        return (
            self.parent_consensus_timestamp is None
            or self.nonce == 0
            or self.body.transactionID.scheduled
            or (
                self.transaction_type == _FILE_UPDATE
                and entity_id.decode(self.payer_account_id)[2] == _SYSTEM_ADMIN_NUM
            )
        )

    @property
    def hash(self) -> bytes:
        """The hash of a contract transaction (32 bytes): the Ethereum hash, or the start of its own."""
        if self.ethereum is not None:
            return self.ethereum.hash
        start: bytes = self.record.transactionHash[:_SHORT_HASH_LENGTH]
        return start.ljust(_SHORT_HASH_LENGTH, b"\0")

    @property
    def function_result(self) -> Any | None:
        """The record's ContractFunctionResult; None when it has none or an empty one."""
        kind = self.result_field
        if kind is None:
            return None
        result = getattr(self.record, kind)
        return result if result.ByteSize() else None

    def _parse_body(self) -> Any:
        self._signed = signed = self._signed_transaction()
        body_bytes = signed.bodyBytes
        if not body_bytes and signed is self.transaction:
            if not signed.HasField("body"):
                raise InvalidItem("its transaction has no body")
            return signed.body
        try:
            return TransactionBody.FromString(body_bytes)
        except DecodeError:
            return self._parse_body_with_invalid_text(body_bytes)

    def _signed_transaction(self) -> Any:
        """Return what has the bytes of the body and the signatures: in older transactions themselves."""
        if not (signed_bytes := self.transaction.signedTransactionBytes):
            return self.transaction
        try:
            return SignedTransaction.FromString(signed_bytes)
        except DecodeError as error:
            raise InvalidItem(f"its signed transaction cannot be parsed ({error})") from error

    def _parse_body_with_invalid_text(self, body_bytes: bytes) -> Any:
        try:
            body = messages.parse(TransactionBody, body_bytes)
            self._memo_bytes = wire.last_bytes(body_bytes, _MEMO)
        except DecodeError as error:
            raise InvalidItem(f"its transaction body cannot be parsed ({error})") from error
        return body


def _type_of(body: Any) -> int:
    """Return the field number of the transaction's data, or that of the only unknown field, else 0."""
    kind = body.WhichOneof("data")
    if kind is not None:
        number: int = _TYPES[kind]
        return number
    unknown = UnknownFieldSet(body)
    numbers = {unknown[index].field_number for index in range(len(unknown))}
    return numbers.pop() if len(numbers) == 1 else 0


def _parent(previous: RecordItem, parent_consensus_timestamp: int) -> RecordItem | None:
    """Return a child's parent: the item before it, that one's parent or (in a batch) its grandparent."""
    if previous.consensus_timestamp == parent_consensus_timestamp:
        return previous
    parent = previous.parent
    if parent is None or parent.consensus_timestamp == parent_consensus_timestamp:
        return parent
    if parent.parent_consensus_timestamp == parent_consensus_timestamp:
        return parent.parent
    return None


# The oneof members of an AccountAmount, and of the two sides of an NftTransfer.
_ACCOUNT = ("pre_tx_allowance_hook", "pre_post_tx_allowance_hook")
_SENDER = ("pre_tx_sender_allowance_hook", "pre_post_tx_sender_allowance_hook")
_RECEIVER = ("pre_tx_receiver_allowance_hook", "pre_post_tx_receiver_allowance_hook")


class HookCall(NamedTuple):
    """A call of a hook, with the AccountID of its owner."""

    hook_id: int
    owner: Any


def calls_of(body: Any) -> Iterator[HookCall]:
    """Return the calls of a transfer in the network's order.

    Hooks that run only before the transfer come first, then the first calls of hooks that run before and
    after it, then their second calls.
    """
    before = [HookCall(call.hook_id, owner) for twice, call, owner in _requested(body) if not twice]
    around = [HookCall(call.hook_id, owner) for twice, call, owner in _requested(body) if twice]
    return iter(before + around + around)


def _requested(body: Any) -> Iterator[tuple[bool, Any, Any]]:
    """Yield whether a hook runs twice, its HookCall and owner: hbar, units, serials; senders first."""
    for transfer in body.transfers.accountAmounts:
        yield from _requested_of(transfer, _ACCOUNT, transfer.accountID)
    for token in body.tokenTransfers:
        for transfer in token.transfers:
            yield from _requested_of(transfer, _ACCOUNT, transfer.accountID)
        for transfer in token.nftTransfers:
            yield from _requested_of(transfer, _SENDER, transfer.senderAccountID)
            yield from _requested_of(transfer, _RECEIVER, transfer.receiverAccountID)


def _requested_of(transfer: Any, members: tuple[str, str], owner: Any) -> Iterator[tuple[bool, Any, Any]]:
    for twice, member in enumerate(members):
        if transfer.HasField(member):
            yield bool(twice), getattr(transfer, member), owner
