"""Past contract transactions, made ready to run again: the call, its block, its state.

Source: contract_result, with its ethereum_transaction, contract and transaction. The state is that of just
before the transaction (web3sim.state), and contains the changes by earlier transactions of its block. Amounts
are tinybars.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ledger.queries import files
from mirror.core import config
from mirror.core.db.distribution import distributable
from mirror.core.db.reading.sql import Values
from mirror.core.values import entity_id, ethereum
from mirror.core.values.ethereum import WEIBARS_PER_TINYBAR, InvalidEthereumData, created_address
from mirror.core.values.hapi.result_codes import NAMES, SUCCESS, WRONG_NONCE
from mirror.core.values.hapi.transaction_types import NUMBERS
from web3sim.calls.gas_price import prices_at
from web3sim.engine.interface import AccountRecord, Address, BlockEnvironment, CallRequest, StateReader
from web3sim.state import blocks
from web3sim.state.blocks import SelectedBlock
from web3sim.state.database import Reading
from web3sim.state.ledger import LedgerState
from web3sim.state.tables.rows import ADDRESS_LENGTH
from web3sim.system_contracts.contracts import NetworkContracts


@dataclass(frozen=True, slots=True)
class Wrapped:
    """An Ethereum transaction. `value` is in tinybars, None if it is unknown."""

    gas_limit: int
    to_address: Address | None
    call_data: bytes | None
    call_data_id: int | None
    value: int | None
    nonce: int


def from_row(columns: Sequence[Any]) -> Wrapped:
    """Return the transaction in a row, decoded from `data`; from the other columns if that is invalid."""
    data, gas_limit, to_address, call_data, call_data_id, value, in_weibars, nonce = columns
    try:
        decoded = ethereum.decode(data)
    except InvalidEthereumData:
        unit = WEIBARS_PER_TINYBAR if in_weibars else 1
        amount = int.from_bytes(value, "big") // unit if value else None
        return Wrapped(gas_limit, to_address, call_data, call_data_id, amount, nonce)
    return Wrapped(
        decoded.gas_limit,
        decoded.to_address,
        decoded.call_data or call_data,
        call_data_id,
        decoded.value // WEIBARS_PER_TINYBAR,
        decoded.nonce,
    )


_CREATION = NUMBERS["CONTRACTCREATEINSTANCE"]
_CREATING_TYPES = [NUMBERS["TOKENCREATION"], NUMBERS["SCHEDULECREATE"]]
_INVALID_SIGNATURE = "INVALID_SIGNATURE"

# A result and its transaction are read apart: in distributed tables one is on the machine of its contract,
# the other on the machine of its payer.
_COLUMNS = """
    r.consensus_timestamp, r.payer_account_id, r.contract_id, r.sender_id, r.function_parameters, r.gas_limit,
    r.amount, r.transaction_result, r.transaction_nonce, r.created_contract_ids, r.function_result,
    r.call_result, r.error_message, r.gas_used, r.gas_consumed, r.failed_initcode, c.initcode, c.file_id
"""
_ETHEREUM_COLUMNS = (
    "e.data, e.gas_limit, e.to_address, e.call_data, e.call_data_id, e.value, e.in_weibars, e.nonce"
)


@dataclass(frozen=True, slots=True)
class PastTransaction:
    """A row of contract_result and what belongs to it. `type` is a HAPI transaction type, `contract_id` 0 if
    nothing was called or created; `initcode` and `file_id` are those of the created contract.
    """

    consensus_timestamp: int
    payer_account_id: int
    contract_id: int
    sender_id: int | None
    function_parameters: bytes
    gas_limit: int
    amount: int | None
    transaction_result: int
    transaction_nonce: int
    created_contract_ids: list[int] | None
    function_result: bytes | None
    call_result: bytes | None
    error_message: str | None
    gas_used: int | None
    gas_consumed: int | None
    failed_initcode: bytes | None
    initcode: bytes | None
    file_id: int | None
    type: int | None = None
    ethereum: Wrapped | None = None

    @property
    def creates(self) -> bool:
        return self.type == _CREATION if self.ethereum is None else not self.ethereum.to_address

    @property
    def ran(self) -> bool:
        """Whether a contract was called: a result of failed checks may be stored, but without gas."""
        if self.transaction_result == WRONG_NONCE:
            return False
        return self.transaction_result in SUCCESS or bool(self.gas_used)

    @property
    def result(self) -> str:
        """The name of its response code."""
        return NAMES.get(self.transaction_result, "UNKNOWN")


class BlockMissing(Exception):
    """The block of a transaction is not stored, so that its number and time are unknown."""


class CodeMissing(Exception):
    """The init code of a creation, or the file with the data of a call, is not stored."""


# FINDING


def transaction_at(consensus_timestamp: int, reading: Reading) -> PastTransaction | None:
    transactions = _read(reading, "where r.consensus_timestamp = %s", (consensus_timestamp,))
    return transactions[0] if transactions else None


def transactions_between(
    first: int, last: int, contract_id: int | None, limit: int, reading: Reading
) -> list[PastTransaction]:
    """The first so many of a range of times (ns, both inclusive), in order; of one contract if given."""
    # Index: the primary key; of a contract contract_result__id_timestamp (contract_id, consensus_timestamp).
    of_contract = "" if contract_id is None else "and r.contract_id = %(contract)s"
    return _read(
        reading,
        f"""
        where r.consensus_timestamp between %(first)s and %(last)s {of_contract}
        order by r.consensus_timestamp limit %(limit)s
        """,
        {"first": first, "last": last, "contract": contract_id, "limit": limit},
    )


@distributable
def _read(reading: Reading, condition: str, values: Values) -> list[PastTransaction]:
    # Indexes: the primary keys, which begin with the time, and (id).
    rows = reading.fetch(
        f"select {_COLUMNS} from contract_result r left join contract c on c.id = r.contract_id {condition}",
        values,
    )
    results = [PastTransaction(*row) for row in rows]
    if not results:
        return []
    payer_rows = reading.fetch(
        f"""
        select t.consensus_timestamp, t.type, {_ETHEREUM_COLUMNS}
        from transaction t left join ethereum_transaction e
            on e.consensus_timestamp = t.consensus_timestamp and e.payer_account_id = t.payer_account_id
        where t.consensus_timestamp = any(%s) and t.payer_account_id = any(%s)
        """,
        ([past.consensus_timestamp for past in results], sorted({past.payer_account_id for past in results})),
    )
    # The bytes of an Ethereum transaction are null only where there is no row.
    by_timestamp = {
        time: {"type": number, "ethereum": None if data is None else from_row((data, *others))}
        for time, number, data, *others in payer_rows
    }
    return [replace(past, **by_timestamp.get(past.consensus_timestamp, {})) for past in results]


# RUNNING


@dataclass(frozen=True, slots=True)
class Rerun:
    """The input for running a past transaction again. `ledger` is the state that `state` reads."""

    request: CallRequest
    block: BlockEnvironment
    state: StateReader
    system: NetworkContracts
    ledger: LedgerState


def rerun(past: PastTransaction, reading: Reading, deadline: float | None = None) -> Rerun:
    """Errors: BlockMissing, CodeMissing; those of `reading`."""
    block = blocks.block_at(past.consensus_timestamp, reading)
    if block is None:
        raise BlockMissing
    selected = SelectedBlock(block, past.consensus_timestamp - 1)
    ledger = LedgerState(selected, reading)
    ledger.known_numbers = _created_numbers(past, block.consensus_end, reading)
    addresses = _Addresses(past, ledger, reading)
    prices = prices_at(past.consensus_timestamp)
    request = CallRequest(
        sender=addresses.sender,
        to=None if past.creates else addresses.receiver,
        data=_data(past),
        gas=past.gas_limit if past.ethereum is None else past.ethereum.gas_limit,
        value=_value(past),
        gas_price=prices.gas,
        new_contract_address=addresses.created if past.creates else None,
        version=ledger.version,
        deadline=deadline,
    )
    return Rerun(
        request,
        selected.environment(request.gas),
        RecordedState(ledger, past, request),
        NetworkContracts(ledger, prices),
        ledger,
    )


def _created_numbers(past: PastTransaction, end: int, reading: Reading) -> list[int]:
    """The numbers of the tokens and schedules that system contracts made in a transaction, in their order."""
    # Index: the primary key (consensus_timestamp). The parts of a transaction are in its block.
    rows = reading.fetch(
        """
        select entity_id from transaction
        where consensus_timestamp > %(at)s and consensus_timestamp <= %(end)s
            and parent_consensus_timestamp = %(at)s and type = any(%(types)s) and result = 22
        order by consensus_timestamp
        """,
        {"at": past.consensus_timestamp, "end": end, "types": _CREATING_TYPES},
    )
    return [entity_id.decode(entity)[2] for (entity,) in rows if entity]


def addresses_of(ids: Iterable[int], reading: Reading) -> dict[int, Address]:
    """Return the EVM addresses of entities, also of those deleted since; long-zero ones of unknown ids."""
    unique_ids = list(dict.fromkeys(ids))
    if not unique_ids:
        return {}
    # Index: the primary key (id).
    rows = reading.fetch("select id, evm_address, alias from entity where id = any(%s)", (unique_ids,))
    addresses = {
        id: next((bytes(name) for name in names if name is not None and len(name) == ADDRESS_LENGTH), None)
        for id, *names in rows
    }
    return {id: addresses.get(id) or entity_id.long_zero(id) for id in unique_ids}


class _Addresses:
    """The addresses that a past transaction names, as they were then."""

    def __init__(self, past: PastTransaction, ledger: LedgerState, reading: Reading) -> None:
        self._past, self._ledger, self._reading = past, ledger, reading
        self.sender = ledger.address_of(past.sender_id or past.payer_account_id)

    @property
    def receiver(self) -> Address:
        """An Ethereum transaction may name by number what has an address of its own."""
        past = self._past
        if past.ethereum is None or not past.ethereum.to_address:
            return self._ledger.address_of(past.contract_id)
        # The signer may have written any bytes here.
        to = past.ethereum.to_address.rjust(ADDRESS_LENGTH, b"\0")[-ADDRESS_LENGTH:]
        entity = None if entity_id.num_of_long_zero(to) is None else self._ledger.entity_at_any_address(to)
        return to if entity is None else entity.address

    @property
    def created(self) -> Address:
        """Where the new contract is, or would have been if the creation had not failed."""
        past = self._past
        if past.contract_id:
            return addresses_of([past.contract_id], self._reading)[past.contract_id]
        if past.ethereum is not None:
            return created_address(self.sender, past.ethereum.nonce)
        return self._ledger.next_contract_address()


def _value(past: PastTransaction) -> int:
    if past.ethereum is not None and past.ethereum.value is not None:
        return past.ethereum.value
    return past.amount or 0


def _data(past: PastTransaction) -> bytes:
    """Call data, or the init code with the arguments of the constructor. Errors: CodeMissing."""
    if past.ethereum is not None:
        if past.ethereum.call_data:
            return past.ethereum.call_data
        if past.function_parameters or past.ethereum.call_data_id is None:
            return past.function_parameters
        return _file_content(past.ethereum.call_data_id, past.consensus_timestamp)
    if not past.creates:
        return past.function_parameters
    initcode = past.initcode or past.failed_initcode
    if initcode:
        return initcode
    if past.file_id is not None:
        return _file_content(past.file_id, past.consensus_timestamp) + past.function_parameters
    if past.function_parameters:
        return past.function_parameters
    raise CodeMissing


def _file_content(file_id: int, time: int) -> bytes:
    """Return the bytes that a file holds in hex. Errors: CodeMissing."""
    content = files.content(file_id, time)
    try:
        return bytes.fromhex((content or b"").decode("ascii").strip().removeprefix("0x"))
    except ValueError:
        raise CodeMissing from None


class RecordedState:
    """The state before a past transaction, with what only its record shows.

    The sender could pay what it sent, and receivers whose signature is required have signed, unless the
    result says otherwise.
    """

    def __init__(self, ledger: LedgerState, past: PastTransaction, request: CallRequest) -> None:
        self._ledger, self._request = ledger, request
        self._is_unsigned = past.result == _INVALID_SIGNATURE
        self._min_balance: int = config.value("web3.evm.minimumAccountBalance")

    def account(self, address: Address) -> AccountRecord | None:
        account = self._ledger.account(address)
        sends = address == self._request.sender and self._request.value > 0
        if account is None:
            return AccountRecord(balance=self._min_balance) if sends else None
        if self._is_unsigned:
            entity = self._ledger.entity_at(address)
            required = entity is not None and entity.receiver_signature_required
            account = account._replace(receiver_signature_required=required)
        if sends and account.balance < self._request.value:
            account = account._replace(balance=max(self._min_balance, self._request.value))
        return account

    def slot(self, address: Address, slot: int) -> int:
        return self._ledger.slot(address, slot)

    def block_hash(self, number: int) -> bytes:
        return self._ledger.block_hash(number)
