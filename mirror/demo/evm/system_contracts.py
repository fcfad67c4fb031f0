"""The network's own contracts, as contracts of the simulated network call them.

They answer that they did it: the sender of a transaction has made sure that the network permits what its
contract requests. `mirror.demo.evm.children` makes the record of it. Gas is the canonical price of an
operation at 852 tinycents for a unit of gas, and a fifth.

Those of simulated calls (`web3sim.system_contracts`) share nothing with them and are compared with them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from eth_abi.abi import decode

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import ResponseCodeEnum
from mirror.core.values.hashes import keccak256
from mirror.demo.streams.record_files import FEE_COLLECTOR
from mirror.demo.world.fees import tinybars
from mirror.demo.world.tokens import Relationship
from mirror.demo.world.world import World
from web3sim.engine.interface import AccountKind, Journal, Log, SystemAnswer, SystemCall
from web3sim.state.proxy_code import REDIRECT_FOR_TOKEN, TOKEN_SERVICE

# Tinybars; 852 tinycents at 12 cents for an hbar.
GAS_PRICE = 71
SERVICES = TOKENS, RATE, RANDOM, SCHEDULES = 0x167, 0x168, 0x169, 0x16B
_SUCCEEDED: bytes = ResponseCodeEnum.Value("SUCCESS").to_bytes(32, "big")
_TRANSFERRED = keccak256(b"Transfer(address,address,uint256)")
_TOKEN = (
    "(string,string,address,string,bool,int64,bool,(uint256,(bool,address,bytes,bytes,address))[],"
    "(int64,address,int64))"
)
_AMOUNTS = "(address,int64,bool)[]"
_DROPS = f"(address,{_AMOUNTS},(address,address,int64,bool)[])[]"

_DOLLAR = 10_000_000_000  # tinycents
_ASSOCIATING, _TRANSFERRING, _TRANSFERRING_HBARS, _VIEWING = 705_424, 15_284, 2_607, 2_607
_AIRDROPPING, _CREATING, _SCHEDULING, _DRAWING, _CONVERTING = 1_409_649, 100_000, 1_409_649, 15_284, 100


class Answer(NamedTuple):
    """`arguments` are those of what was requested; None if nothing is to be recorded.

    `created` is the number of a new entity, `moved` the log of units that went from one account to another.
    """

    output: bytes
    arguments: tuple[Any, ...] | None = None
    created: int | None = None
    moved: Log | None = None


class Function(NamedTuple):
    """A function of a system contract. `recorded_as` is the one as which it is recorded, if not itself.

    `answer` takes the services, the caller, the token that was called in its guise, and the arguments.
    """

    name: str
    types: tuple[str, ...]
    gas: int
    answer: Callable[..., Answer]
    recorded_as: str = ""


class SystemCallRequest(NamedTuple):
    """What a contract requested by its call data, and the answer."""

    caller: bytes
    service: int
    function: Function
    data: bytes
    answer: Answer


def _moved(output: bytes, token: bytes, sender: bytes, receiver: bytes, amount: int) -> Answer:
    topics = (_TRANSFERRED, sender.rjust(32, b"\0"), receiver.rjust(32, b"\0"))
    return Answer(output, (token, sender, receiver, amount), moved=Log(token, topics, _word(amount)))


def _transfer_units(services: "Services", caller: bytes, token: Any, *moved: Any) -> Answer:
    """Transfer as owner (transferToken), or by an allowance (transferFrom)."""
    return _moved(_SUCCEEDED, *moved)


def _make(services: "Services", caller: bytes, token: Any, *arguments: Any) -> Answer:
    """Answer with the address of a new entity: a token or a schedule."""
    created = services.world.next_number
    return Answer(_SUCCEEDED + entity_id.long_zero(created).rjust(32, b"\0"), arguments, created)


def _airdrop(services: "Services", caller: bytes, _: Any, drops: Any) -> Answer:
    ((token, ((_, _, _), (receiver, amount, _)), _),) = drops
    is_pending = services.relationship(token, receiver) is None
    moved = None if is_pending else _moved(_SUCCEEDED, token, caller, receiver, amount).moved
    return Answer(_SUCCEEDED, (drops,), moved=moved)


def _transfer_hbars(services: "Services", caller: bytes, token: Any, hbars: Any, units: Any) -> Answer:
    (((owner, _, _), (receiver, amount, _)),) = hbars
    return Answer(_SUCCEEDED, (owner, receiver, amount))


def _word(number: int) -> bytes:
    return number.to_bytes(32, "big")


_ONE, _TWO, _THREE = ("address",), ("address",) * 2, ("address",) * 3
_SCHEDULED_CALL = (*_TWO, "uint256", "uint256", "uint64", "bytes")
_FUNCTIONS = {
    (TOKENS, False): (
        Function(
            *("associateToken", _TWO, _ASSOCIATING),
            lambda services, caller, token, *associated: Answer(_SUCCEEDED, associated),
        ),
        Function("transferToken", (*_THREE, "int64"), _TRANSFERRING, _transfer_units),
        Function("transferFrom", (*_THREE, "uint256"), _TRANSFERRING, _transfer_units),
        Function("cryptoTransfer", (f"({_AMOUNTS})", _DROPS), _TRANSFERRING_HBARS, _transfer_hbars),
        Function("createFungibleToken", (_TOKEN, "int64", "int32"), _CREATING, _make),
        Function("airdropTokens", (_DROPS,), _AIRDROPPING, _airdrop),
    ),
    (TOKENS, True): (
        Function(
            *("transfer", ("address", "uint256"), _TRANSFERRING),
            lambda services, caller, token, *moved: _moved(_word(1), token, caller, *moved),
            "transferToken",
        ),
        Function(
            *("balanceOf", _ONE, _VIEWING),
            lambda services, caller, token, holder: Answer(
                _word(held.balance if (held := services.relationship(token, holder)) else 0)
            ),
        ),
    ),
    (RATE, False): (
        Function(
            *("tinycentsToTinybars", ("uint256",), _CONVERTING),
            lambda services, caller, token, tinycents: Answer(_word(tinybars(services.world, tinycents))),
        ),
    ),
    (RANDOM, False): (
        Function("getPseudorandomSeed", (), _DRAWING, lambda *call: Answer(keccak256(b"seed"), ())),
    ),
    (SCHEDULES, False): (Function("executeCallOnPayerSignature", _SCHEDULED_CALL, _SCHEDULING, _make),),
}
_BY_SELECTOR = {
    (service, in_guise, keccak256(f"{function.name}({','.join(function.types)})".encode())[:4]): function
    for (service, in_guise), functions in _FUNCTIONS.items()
    for function in functions
}


_SERVICES = {entity_id.long_zero(service): service for service in SERVICES}
_CREATING_SELECTOR = next(
    selector for (*_, selector), function in _BY_SELECTOR.items() if function.name == "createFungibleToken"
)


class Services:
    """The system contracts of one call. With `logs_transfers` they log the units that they move."""

    creation_gas = 0

    def __init__(self, world: World, *, logs_transfers: bool) -> None:
        self.world = world
        self._logs_transfers = logs_transfers
        self._journal: Journal | None = None

    def relationship(self, address: bytes, holder: bytes) -> Relationship | None:
        """Return the association of an account with a token before the call, if there is one."""
        token = self.world.tokens.issued.get(entity_id.num_of_long_zero(address) or 0)
        account = self.world.account_at(holder)
        return token.relationships.get(account.number) if token and account else None

    def requests(self) -> tuple[SystemCallRequest, ...]:
        """Return what contracts requested, without what was undone."""
        return tuple(self._journal.rows().values()) if self._journal else ()

    def is_system_contract(self, address: bytes) -> bool:
        return address in _SERVICES

    def proxied(self, address: bytes) -> AccountKind | None:
        return AccountKind.TOKEN if address == TOKEN_SERVICE else None

    def accepts_value(self, address: bytes, selector: bytes) -> bool:
        return selector == _CREATING_SELECTOR

    def account_code(self, address: bytes, data: bytes) -> bytes:
        return b""

    def tied_to_tokens(self, address: bytes, journal: Journal, *, only_as_treasury: bool = False) -> bool:
        return False

    def add_created(self, address: bytes, kind: AccountKind, journal: Journal) -> None:
        """Do nothing: contracts are numbered after the call."""

    def call(self, call: SystemCall, journal: Journal) -> SystemAnswer:
        service, data, token = _SERVICES[call.address], call.data, None
        if data[:4] == REDIRECT_FOR_TOKEN:
            token, data = data[4:24], data[24:]
        function = _BY_SELECTOR[service, token is not None, data[:4]]
        arguments = _with_bytes(decode(function.types, data[4:]))
        answer = function.answer(self, call.sender, token, *arguments)
        if call.data[:4] == _CREATING_SELECTOR:
            self._take_fee(journal, call)
        if answer.arguments is not None:
            self._journal = journal
            request = SystemCallRequest(call.sender, service, function, data, answer)
            journal.put_row(len(journal.rows()), request)
        logs = (answer.moved,) if answer.moved is not None and self._logs_transfers else ()
        return SystemAnswer(answer.output, function.gas, logs=logs)

    def _take_fee(self, journal: Journal, call: SystemCall) -> None:
        """Return the value to the caller, but for the fee."""
        fee = creation_fee(self.world)
        collector = entity_id.long_zero(FEE_COLLECTOR)
        changes = ((call.address, -call.value), (call.sender, call.value - fee), (collector, fee))
        for address, change in changes:
            journal.set_balance(address, journal.get_balance(address) + change)


def creation_fee(world: World) -> int:
    """Return the tinybars that the creation of a token costs besides its gas: a dollar and a fifth in all."""
    fee = tinybars(world, _DOLLAR)
    return fee + fee // 5 - _CREATING * GAS_PRICE


def _with_bytes(values: Any) -> Any:
    """Return decoded values with addresses as bytes."""
    if isinstance(values, tuple | list):
        return tuple(map(_with_bytes, values))
    is_address = isinstance(values, str) and len(values) == 42 and values.startswith("0x")
    return bytes.fromhex(values[2:]) if is_address else values
