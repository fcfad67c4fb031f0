"""The schedule service, 0x16b (HIP-755, HIP-756, HIP-1215), and a schedule at its own address.

Who schedules a call of a contract pays for it, or names a payer. Such a call waits for its second;
one that is executed on the signature of its payer, and the creation or change of a token, do not wait.
"""

from dataclasses import replace
from typing import Any

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import ContractID, DecodeError, SchedulableTransactionBody, SignatureMap
from mirror.core.values.timestamp import NANOS_PER_SECOND
from web3sim.engine.interface import Address
from web3sim.operations import prices, schedules
from web3sim.operations.refusals import Refused
from web3sim.operations.schedules import NewSchedule
from web3sim.operations.tokens.messages import creation_message, scheduled_token, update_message
from web3sim.state.proxies import TOKEN_SERVICE
from web3sim.state.tables.interface import Entity, Token
from web3sim.system_contracts.abi import (
    SELECTOR_LENGTH,
    InvalidArguments,
    address_at,
    encoded,
    number_at,
    word_of,
    word_of_address,
)
from web3sim.system_contracts.functions import SUCCESS, SUCCESS_CODE, Function, Invocation, by_selector, costs
from web3sim.system_contracts.token_service import creation, updates
from web3sim.system_contracts.token_service.info import info, no_token_info

_NOBODY = bytes(20)
_MOST_INT64 = 2**63 - 1
_CREATIONS, _UPDATES = by_selector(creation.FUNCTIONS), by_selector(updates.CHANGES)


def _now(invocation: Invocation) -> int:
    return invocation.ledger.state.block.consensus_start // NANOS_PER_SECOND


def _address(invocation: Invocation) -> Address:
    """The schedule that was called, or that the first argument names. Errors: InvalidArguments."""
    return address_at(invocation.arguments, 0) if invocation.target is None else invocation.target


# CREATING


def _native(invocation: Invocation) -> bytes:
    service, data, payer = invocation.decoded()
    body = _token_body(invocation, service, data)
    expires = _now(invocation) + schedules.USUAL_LIFE_SECONDS
    return _scheduled(invocation, body, invocation.account(payer), expires, waits=False)


def _token_body(invocation: Invocation, service: Address, data: bytes) -> bytes:
    """The creation or the change of a token that a call of the token service describes. Errors: Refused."""
    selector = data[:SELECTOR_LENGTH]
    function = _CREATIONS.get(selector) or _UPDATES.get(selector)
    if service != TOKEN_SERVICE or function is None:
        raise InvalidArguments("only the creation and the change of a token can be scheduled")
    inner = replace(invocation, function=function, arguments=data[SELECTOR_LENGTH:], logs=[], target=None)
    if selector in _CREATIONS:
        return creation_message(creation.new_token(inner))
    return update_message(*updates.token_change(inner))


def _call(invocation: Invocation) -> bytes:
    to, *others = invocation.decoded()
    return _scheduled_call(invocation, to, invocation.sender(), others)


def _call_with_payer(invocation: Invocation) -> bytes:
    to, payer, *others = invocation.decoded()
    return _scheduled_call(invocation, to, invocation.account(payer), others)


def _call_on_signature(invocation: Invocation) -> bytes:
    to, payer, *others = invocation.decoded()
    return _scheduled_call(invocation, to, invocation.account(payer), others, waits=False)


def _scheduled_call(
    invocation: Invocation, to: Address, payer: Entity, given: Any, *, waits: bool = True
) -> bytes:
    expires, gas, value, data = given
    schedules.check_expiry(expires, _now(invocation))
    if not schedules.has_capacity(expires, gas, _now(invocation)):
        raise Refused("SCHEDULE_EXPIRY_IS_BUSY")
    message: Any = SchedulableTransactionBody()
    body = message.contractCall
    called = invocation.ledger.entity_at(to)
    if called is None:
        body.contractID.CopyFrom(ContractID(evm_address=to))
    else:
        shard, realm, num = entity_id.decode(called.id)
        body.contractID.CopyFrom(ContractID(shardNum=shard, realmNum=realm, contractNum=num))
    body.gas, body.amount, body.functionParameters = gas, min(value, _MOST_INT64), data
    return _scheduled(invocation, bytes(message.SerializeToString()), payer, expires, waits=waits)


def _scheduled(invocation: Invocation, body: bytes, payer: Entity, expires: int, *, waits: bool) -> bytes:
    new = NewSchedule(body, invocation.sender(), payer, expires, waits)
    schedule = schedules.create_schedule(invocation.ledger, new, _now(invocation))
    return SUCCESS + word_of_address(invocation.ledger.address_of(schedule.id))


def _has_capacity(invocation: Invocation) -> bytes:
    expires, gas = number_at(invocation.arguments, 0), number_at(invocation.arguments, 1)
    return word_of(schedules.has_capacity(expires, gas, _now(invocation)))


# LOOKING


def _fungible_info(invocation: Invocation) -> bytes:
    token, token_info = _scheduled_info(invocation, unique=False)
    return encoded(invocation.function.results, (SUCCESS_CODE, (token_info, token.decimals)))


def _unique_info(invocation: Invocation) -> bytes:
    """There is no serial yet."""
    _, token_info = _scheduled_info(invocation, unique=True)
    return encoded(invocation.function.results, (SUCCESS_CODE, (token_info, 0, _NOBODY, 0, b"", _NOBODY)))


def _scheduled_info(invocation: Invocation, *, unique: bool) -> tuple[Token, tuple[Any, ...]]:
    """The token that a schedule is to create, and its TokenInfo. Errors: Refused."""
    schedule = schedules.schedule_at(invocation.ledger, address_at(invocation.arguments, 0))
    try:
        found = scheduled_token(schedule.transaction_body)
    except DecodeError:
        found = None
    if found is None or found[0].unique is not unique:
        raise Refused("INVALID_SCHEDULE_ID")
    token, fees = found
    return token, info(invocation.ledger, token, token.total_supply, fees)


# SIGNING AND DELETING


def _authorize(invocation: Invocation) -> bytes:
    """The contract that calls signs, by its id; at the address of a schedule whoever calls does."""
    schedule = schedules.open_schedule(invocation.ledger, _address(invocation))
    key = schedules.key_of(invocation.sender())
    schedules.sign_schedule(invocation.ledger, schedule, frozenset({key}))
    return SUCCESS


def _sign(invocation: Invocation) -> bytes:
    """Sign with the keys of people whose signatures are in a SignatureMap."""
    _, signatures = invocation.decoded()
    schedule = schedules.open_schedule(invocation.ledger, _address(invocation))
    try:
        pairs = SignatureMap.FromString(signatures).sigPair
    except DecodeError:
        raise Refused("INVALID_TRANSACTION_BODY") from None
    keys = schedules.keys_that_signed(invocation.ledger, schedule, pairs)
    if not keys:
        raise Refused("NO_NEW_VALID_SIGNATURES")
    schedules.sign_schedule(invocation.ledger, schedule, keys)
    return SUCCESS


def _delete(invocation: Invocation) -> bytes:
    schedule = schedules.open_schedule(invocation.ledger, _address(invocation))
    schedules.delete_schedule(invocation.ledger, invocation.signers, schedule)
    return SUCCESS


_SIGN, _DELETE = costs(prices.SCHEDULE_SIGN), costs(prices.SCHEDULE_DELETE)
_CREATE, _CREATE_CALL = costs(prices.SCHEDULE_CREATE), costs(prices.SCHEDULE_CREATE_CALL)
_ADDRESS = "(int64,address)"
_FUNGIBLE_INFO = "(int64,(TokenInfoV1,int32))"
_UNIQUE_INFO = "(int64,(TokenInfoV1,int64,address,int64,bytes,address))"
_TIMED = "uint256,uint256,uint64,bytes"

FUNCTIONS = by_selector(
    (
        Function("authorizeSchedule(address)", _authorize, gas=_SIGN, writes=True),
        Function("deleteSchedule(address)", _delete, gas=_DELETE, writes=True),
        Function("signSchedule(address,bytes)", _sign, gas=_SIGN, writes=True),
        Function(
            "getScheduledCreateFungibleTokenInfo(address)",
            _fungible_info,
            _FUNGIBLE_INFO,
            nothing=lambda: ((no_token_info(), 0),),
        ),
        Function(
            "getScheduledCreateNonFungibleTokenInfo(address)",
            _unique_info,
            _UNIQUE_INFO,
            nothing=lambda: ((no_token_info(), 0, _NOBODY, 0, b"", _NOBODY),),
        ),
        Function("scheduleNative(address,bytes,address)", _native, _ADDRESS, _CREATE, writes=True),
        Function(f"scheduleCall(address,{_TIMED})", _call, _ADDRESS, _CREATE_CALL, writes=True),
        Function(
            f"scheduleCallWithPayer(address,address,{_TIMED})",
            _call_with_payer,
            _ADDRESS,
            _CREATE_CALL,
            writes=True,
        ),
        Function(
            f"executeCallOnPayerSignature(address,address,{_TIMED})",
            _call_on_signature,
            _ADDRESS,
            _CREATE_CALL,
            writes=True,
        ),
        Function("hasScheduleCapacity(uint256,uint256)", _has_capacity, "(bool)", tells_code=False),
    )
)
PROXY_FUNCTIONS = by_selector(
    (
        Function("signSchedule()", _authorize, gas=_SIGN, writes=True),
        Function("deleteSchedule()", _delete, gas=_DELETE, writes=True),
    )
)
