"""The network's own contracts, as contracts of the simulated network ask them for something.

They answer that they did it: the sender of a transaction has made sure that the network permits what its
contract asks for. `mirror.demo.evm.children` makes the record of it. Gas is the canonical price of an
operation at 852 tinycents for a unit of gas, and a fifth.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from eth_abi.abi import decode

from mirror.core.values import entity_id
from mirror.core.values.hashes import keccak256
from mirror.demo.evm.token_service import SUCCEEDED, TRANSFERRED, Moved
from web3sim.state.proxies import REDIRECT_FOR_TOKEN

TOKENS, RATE, RANDOM, SCHEDULES = 0x167, 0x168, 0x169, 0x16B
_TOKEN = (
    "(string,string,address,string,bool,int64,bool,(uint256,(bool,address,bytes,bytes,address))[],"
    "(int64,address,int64))"
)
_DROPS = "(address,(address,int64,bool)[],(address,address,int64,bool)[])[]"

_ASSOCIATING, _TRANSFERRING, _VIEWING = 705_424, 15_284, 2_607
_AIRDROPPING, _CREATING, _SCHEDULING, _DRAWING, _CONVERTING = 1_409_649, 100_000, 1_409_649, 15_284, 100


class Rate(NamedTuple):
    """So many cents are worth so many hbars."""

    cents: int
    hbars: int

    def tinybars(self, tinycents: int) -> int:
        return tinycents * self.hbars // self.cents


@dataclass(frozen=True, slots=True)
class SystemCallRequest:
    """What a contract asked for, with the arguments of the function.

    `made` is the number of a new entity, `moved` the units that went from one account to another.
    """

    caller: bytes
    service: int
    function: str
    arguments: tuple[Any, ...]
    data: bytes
    gas: int
    output: bytes
    made: int | None = None
    moved: Moved | None = None


class Question(NamedTuple):
    """A call of a system contract. `token` is the token that was called in its guise, by address."""

    state: Any
    caller: bytes
    value: int
    data: bytes
    arguments: tuple[Any, ...]
    token: bytes | None


class Answer(NamedTuple):
    """`arguments` are those of what was asked for; None if nothing is to be recorded."""

    output: bytes
    arguments: tuple[Any, ...] | None = None
    made: int | None = None
    moved: Moved | None = None


class Function(NamedTuple):
    name: str
    types: tuple[str, ...]
    gas: int
    answer: Callable[[Question], Answer]


def _associate(question: Question) -> Answer:
    return Answer(SUCCEEDED, question.arguments)


def _transfer_token(question: Question) -> Answer:
    token, sender, receiver, amount = question.arguments
    return _moved(SUCCEEDED, token, sender, receiver, amount)


def _transfer(question: Question) -> Answer:
    assert question.token is not None
    receiver, amount = question.arguments
    return _moved((1).to_bytes(32, "big"), question.token, question.caller, receiver, amount)


def _moved(output: bytes, token: bytes, sender: bytes, receiver: bytes, amount: int) -> Answer:
    topics = (TRANSFERRED, sender.rjust(32, b"\0"), receiver.rjust(32, b"\0"))
    return Answer(output, (token, sender, receiver, amount), moved=Moved(token, topics, amount))


def _balance_of(question: Question) -> Answer:
    (holder,) = question.arguments
    return Answer(question.state.units(question.token, holder).to_bytes(32, "big"))


def _create(question: Question) -> Answer:
    made = question.state.place.next_number
    return Answer(SUCCEEDED + entity_id.long_zero(made).rjust(32, b"\0"), question.arguments, made)


def _airdrop(question: Question) -> Answer:
    (((token, ((_, _, _), (receiver, amount, _)), _),),) = question.arguments
    is_pending = not question.state.is_associated(token, receiver)
    moved = None if is_pending else _moved(SUCCEEDED, token, question.caller, receiver, amount).moved
    return Answer(SUCCEEDED, question.arguments, moved=moved)


def _schedule(question: Question) -> Answer:
    made = question.state.place.next_number
    return Answer(SUCCEEDED + entity_id.long_zero(made).rjust(32, b"\0"), question.arguments, made)


def _convert(question: Question) -> Answer:
    rate: Rate = question.state.place.rate
    return Answer(rate.tinybars(question.arguments[0]).to_bytes(32, "big"))


def _draw(question: Question) -> Answer:
    return Answer(keccak256(b"seed"), ())


_FUNCTIONS = {
    (TOKENS, False): (
        Function("associateToken", ("address", "address"), _ASSOCIATING, _associate),
        Function("transferToken", ("address", "address", "address", "int64"), _TRANSFERRING, _transfer_token),
        Function("createFungibleToken", (_TOKEN, "int64", "int32"), _CREATING, _create),
        Function("airdropTokens", (_DROPS,), _AIRDROPPING + _TRANSFERRING, _airdrop),
    ),
    (TOKENS, True): (
        Function("transfer", ("address", "uint256"), _TRANSFERRING, _transfer),
        Function("balanceOf", ("address",), _VIEWING, _balance_of),
    ),
    (RATE, False): (Function("tinycentsToTinybars", ("uint256",), _CONVERTING, _convert),),
    (RANDOM, False): (Function("getPseudorandomSeed", (), _DRAWING, _draw),),
    (SCHEDULES, False): (
        Function(
            "executeCallOnPayerSignature",
            ("address", "address", "uint256", "uint256", "uint64", "bytes"),
            _SCHEDULING,
            _schedule,
        ),
    ),
}
_BY_SELECTOR = {
    (service, in_guise, keccak256(f"{one.name}({','.join(one.types)})".encode())[:4]): one
    for (service, in_guise), functions in _FUNCTIONS.items()
    for one in functions
}


def knows(service: int, data: bytes) -> bool:
    """Return whether a call is one of those here; others spend allowances."""
    return data[:4] == REDIRECT_FOR_TOKEN or (service, False, data[:4]) in _BY_SELECTOR


def ask(computation: Any, service: int) -> None:
    """Answer a call of a system contract."""
    state, message = computation.state, computation.msg
    data, token = bytes(message.data), None
    if data[:4] == REDIRECT_FOR_TOKEN:
        token, data = data[4:24], data[24:]
    function = _BY_SELECTOR[service, token is not None, data[:4]]
    computation.consume_gas(function.gas, reason=function.name)
    arguments = _with_bytes(decode(function.types, data[4:]))
    value = message.value if message.should_transfer_value else 0
    question = Question(state, message.sender, value, data, arguments, token)
    answer = function.answer(question)
    if function.name == "createFungibleToken":
        _take_fee(question)
    moved = answer.moved
    if moved is not None and state.logs_transfers:
        numbers = [int.from_bytes(topic, "big") for topic in moved.topics]
        computation.add_log_entry(moved.token, numbers, moved.amount.to_bytes(32, "big"))
    if answer.arguments is not None:
        caller, made = message.sender, answer.made
        name = "transferToken" if function.name == "transfer" else function.name
        given = (name, answer.arguments, data, function.gas, answer.output)
        state.note(SystemCallRequest(caller, service, *given, made, moved))
    computation.output = answer.output


def creation_fee(rate: Rate, gas_price: int) -> int:
    """Return the tinybars that the creation of a token costs, beside its gas: a dollar and a fifth in all."""
    fee = rate.tinybars(10_000_000_000)
    return fee + fee // 5 - _CREATING * gas_price


def _take_fee(question: Question) -> None:
    """The value that came goes back to the caller, but for the fee."""
    state = question.state
    fee = creation_fee(state.place.rate, state.place.gas_price)
    service, collector = entity_id.long_zero(TOKENS), entity_id.long_zero(98)
    state.set_balance(service, state.get_balance(service) - question.value)
    state.set_balance(question.caller, state.get_balance(question.caller) + question.value - fee)
    state.set_balance(collector, state.get_balance(collector) + fee)


def _with_bytes(values: Any) -> Any:
    """Return decoded values with addresses as bytes."""
    if isinstance(values, tuple | list):
        return tuple(map(_with_bytes, values))
    is_address = isinstance(values, str) and len(values) == 42 and values.startswith("0x")
    return bytes.fromhex(values[2:]) if is_address else values
