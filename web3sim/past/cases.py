"""A replayed transaction as a test case: the state it read, the call, its block, and what was recorded of it.

The format is that of cases of plain EVM behaviour (`pre`, `call`, `expect`), one case per file, with what a
ledger network adds: the kind of an account and whether it has to sign for what it receives in `pre`, the
address of a new contract in `call`. `profile` names the rules. Numbers are hex without leading zeros.
"""

from collections.abc import Iterable, Mapping

from mirror.core.values import timestamp
from mirror.core.values.hexadecimal import text as to_hex
from web3sim.engine.interface import (
    AccountRecord,
    Address,
    BlockEnvironment,
    CallRequest,
    Profile,
    StateReader,
)
from web3sim.past.recorded import Recorded
from web3sim.past.transactions import PastTransaction, Rerun

_FORMAT = 1
_REVERTED = "CONTRACT_REVERT_EXECUTED"


class ReadState:
    """A state that notes what was read of it."""

    def __init__(self, state: StateReader) -> None:
        self._state = state
        self.accounts: dict[Address, AccountRecord | None] = {}
        self.slots: dict[tuple[Address, int], int] = {}
        self.block_hashes: dict[int, bytes] = {}

    def account(self, address: Address) -> AccountRecord | None:
        self.accounts[address] = account = self._state.account(address)
        return account

    def slot(self, address: Address, slot: int) -> int:
        self.slots[address, slot] = value = self._state.slot(address, slot)
        return value

    def block_hash(self, number: int) -> bytes:
        self.block_hashes[number] = digest = self._state.block_hash(number)
        return digest


def build_case(
    transaction: PastTransaction,
    recorded: Recorded,
    rerun: Rerun,
    state: ReadState,
    differences: Iterable[object],
) -> Mapping[str, object]:
    return {
        "format": _FORMAT,
        "group": "replay",
        "fork": "cancun",
        "profile": Profile.LEDGER.value,
        "block": _block(rerun.block) | {"hashes": {hex(n): to_hex(h) for n, h in state.block_hashes.items()}},
        "codes": {},
        "cases": [
            {
                "name": f"replay/{timestamp.text(transaction.consensus_timestamp)}",
                "pre": _pre(state),
                "call": _call(rerun.request),
                "expect": _expected(transaction, recorded),
                "differences": [str(each) for each in differences],
            }
        ],
    }


def _block(block: BlockEnvironment) -> dict[str, object]:
    return {
        "number": hex(block.number),
        "timestamp": hex(block.timestamp),
        "coinbase": to_hex(block.coinbase),
        "prevrandao": to_hex(block.prevrandao),
        "gasLimit": hex(block.gas_limit),
        "baseFee": hex(block.base_fee),
        "chainId": hex(block.chain_id),
        "excessBlobGas": "0x0",
    }


def _pre(state: ReadState) -> dict[str, object]:
    storage: dict[Address, dict[str, str]] = {}
    for (address, slot), value in state.slots.items():
        storage.setdefault(address, {})[hex(slot)] = hex(value)
    return {
        to_hex(address): {
            "balance": hex(account.balance),
            "nonce": account.nonce,
            "code": to_hex(account.code),
            "storage": storage.get(address, {}),
            "kind": account.kind.value,
            "receiverSignatureRequired": account.receiver_signature_required,
        }
        for address, account in state.accounts.items()
        if account is not None
    }


def _call(request: CallRequest) -> dict[str, object]:
    created = request.new_contract_address
    return {
        "from": to_hex(request.sender),
        "to": None if request.to is None else to_hex(request.to),
        "data": to_hex(request.data),
        "value": hex(request.value),
        "gas": hex(request.gas),
        "gasPrice": hex(request.gas_price),
        "newContractAddress": None if created is None else to_hex(created),
        "evmVersion": request.version.text,
    }


def _expected(transaction: PastTransaction, recorded: Recorded) -> dict[str, object]:
    status = {"SUCCESS": "success", _REVERTED: "revert"}.get(transaction.result, "halt")
    changed: dict[str, dict[str, dict[str, str]]] = {}
    for (address, slot), change in recorded.changes.items():
        if change.written not in (None, change.read):
            storage = changed.setdefault(to_hex(address), {}).setdefault("storage", {})
            storage[hex(slot)] = hex(change.written)
    return {
        "status": status,
        "result": transaction.result,
        "error": transaction.error_message,
        "output": to_hex(transaction.call_result or b""),
        "gasUsed": transaction.gas_used,
        "gasConsumed": transaction.gas_consumed,
        "created": sorted(to_hex(address) for address in recorded.created),
        "logs": [
            {
                "address": to_hex(log.address),
                "topics": [to_hex(topic) for topic in log.topics],
                "data": to_hex(log.data),
            }
            for log in recorded.logs
        ],
        "postChanged": changed,
    }
