"""Contract transactions for tests: bodies, records and sidecars from plain values."""

from collections.abc import Sequence
from typing import Any

import rlp

from mirror.core.values.hapi.messages import (
    ContractActions,
    ContractBytecode,
    ContractID,
    ContractStateChanges,
    FileID,
    TransactionBody,
    TransactionReceipt,
    TransactionRecord,
    TransactionSidecarRecord,
)
from mirror.demo.streams.record_files import account, timestamp
from tests.composing import Composer

CALLER, CONTRACT, OTHER, FILE = 1001, 2001, 2002, 3001
TOPIC = bytes(31) + b"\7"


def contract(number: int) -> Any:
    return ContractID(contractNum=number)


def evm_contract(address: bytes) -> Any:
    return ContractID(evm_address=address)


def file(number: int) -> Any:
    return FileID(fileNum=number)


def function_result(number: int = CONTRACT, **more: Any) -> dict[str, Any]:
    """Return a ContractFunctionResult that is never empty."""
    result = {"gasUsed": 500, "contractCallResult": b"result", "bloom": bytes(255) + b"\1"}
    return {"contractID": contract(number)} | result | more


def log(number: int = CONTRACT, *topics: bytes, data: bytes = b"data") -> dict[str, Any]:
    return {"contractID": contract(number), "bloom": bytes(256), "topic": topics, "data": data}


def state(*changes: dict[str, Any], number: int = CONTRACT, migration: bool = False) -> Any:
    """Return a sidecar of storage changes, each made by `change`."""
    of_contract = {"contract_id": contract(number), "storage_changes": changes}
    return TransactionSidecarRecord(
        migration=migration, state_changes=ContractStateChanges(contract_state_changes=[of_contract])
    )


def change(slot: bytes, read: bytes, written: bytes | None = None) -> dict[str, Any]:
    storage_change: dict[str, Any] = {"slot": slot, "value_read": read}
    return storage_change if written is None else storage_change | {"value_written": {"value": written}}


def actions(*contract_actions: dict[str, Any]) -> Any:
    return TransactionSidecarRecord(actions=ContractActions(contract_actions=contract_actions))


def bytecode(
    number: int = CONTRACT, initcode: bytes = b"init", runtime: bytes = b"runtime", *, migration: bool = False
) -> Any:
    return TransactionSidecarRecord(
        migration=migration,
        bytecode=ContractBytecode(contract_id=contract(number), initcode=initcode, runtime_bytecode=runtime),
    )


def ethereum_data(
    call_data: bytes = b"",
    *,
    nonce: int = 7,
    kind: int = 2,
    value: int = 3 * 10**10,
    access_list: Sequence[Any] = (),
    authorization_list: Sequence[Any] = (),
) -> bytes:
    """Return a raw transaction: gas limit 100,000, prices 71 and 7 tinybars, value 3 tinybars."""
    price, tip = (tinybars * 10**10 for tinybars in (71, 7))
    chain, to, r, s = 298, b"\xaa" * 20, b"r" * 32, b"s" * 32
    prices = [tip, price] if kind in (2, 4) else [price]
    elements = [nonce, *prices, 100_000, to, value, call_data]
    lists = [list(access_list), *([list(authorization_list)] if kind == 4 else [])]
    elements = [*elements, 0x1B, r, s] if kind == 0 else [chain, *elements, *lists, 1, r, s]
    whole: bytes = rlp.encode(elements)
    return bytes((kind,)) + whole if kind else whole


class ContractStream(Composer):
    """A stream whose methods add one transaction and return its consensus timestamp."""

    def happen(
        self,
        kind: str,
        body: dict[str, Any],
        *,
        record: dict[str, Any] | None = None,
        receipt: dict[str, Any] | None = None,
        parent: int | None = None,
        nonce: int = 0,
        **options: Any,
    ) -> int:
        """Add a transaction with the body of field `kind`, a child of the one at `parent`."""
        complete = TransactionRecord(receipt=TransactionReceipt(**(receipt or {})), **(record or {}))
        if parent is not None:
            complete.parent_consensus_timestamp.CopyFrom(timestamp(parent))
        filled = TransactionBody(**{kind: body})
        filled.transactionID.nonce = nonce
        filled.transactionID.accountID.CopyFrom(account(options.get("payer", CALLER)))
        return self.transaction(filled, complete, **{"payer": CALLER} | options).consensus_timestamp

    def create(self, number: int = CONTRACT, body: dict[str, Any] | None = None, **options: Any) -> int:
        """Add a creation of a contract; the option `created` is its function result."""
        created = options.pop("created", function_result(number))
        options.setdefault("receipt", {"contractID": contract(number)})
        record = {"contractCreateResult": created} | options.pop("record", {})
        return self.happen("contractCreateInstance", body or {}, record=record, **options)

    def call(
        self, number: int = CONTRACT, ran: dict[str, Any] | None = None, *, called: Any = None, **options: Any
    ) -> int:
        """Add a call; `ran` is its function result, or None."""
        body = {
            "contractID": called or contract(number),
            "gas": 1000,
            "amount": 3,
            "functionParameters": b"\0\1parameters",
        }
        record = {"contractCallResult": ran} if ran is not None else {}
        return self.happen("contractCall", body, record=record | options.pop("record", {}), **options)

    def ethereum(
        self,
        data: bytes,
        ran: dict[str, Any] | None = None,
        *,
        hash: bytes = b"\xee" * 32,
        call_data: int = 0,
        **options: Any,
    ) -> int:
        """Add an Ethereum transaction; `call_data` is the file of its call data."""
        body = {"ethereum_data": data, "max_gas_allowance": 5}
        if call_data:
            body["call_data"] = file(call_data)
        record: dict[str, Any] = {"ethereum_hash": hash}
        if ran is not None:
            record["contractCallResult"] = ran
        return self.happen("ethereumTransaction", body, record=record, **options)

    def create_file(self, number: int = FILE, contents: bytes = b"") -> int:
        return self.happen("fileCreate", {"contents": contents}, receipt={"fileID": file(number)})

    def append(self, number: int = FILE, contents: bytes = b"") -> int:
        return self.happen("fileAppend", {"fileID": file(number), "contents": contents})

    def update_file(self, number: int = FILE, contents: bytes = b"") -> int:
        return self.happen("fileUpdate", {"fileID": file(number), "contents": contents})
