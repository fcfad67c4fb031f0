"""The schedule service, 0x16b (HIP-755, HIP-756, HIP-1215), and a schedule at its own address.

Who schedules a call of a contract pays for it, or names a payer. Such a call waits for its second;
one that is executed on the signature of its payer, and the creation or change of a token, do not wait.
"""

from typing import Any

from mirror.core.db.reading.sql import MAX_INT64
from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import ContractID, DecodeError, SchedulableTransactionBody
from web3sim.engine.interface import ZERO_ADDRESS, Address
from web3sim.engine.ledger.intrinsic_gas import intrinsic_gas
from web3sim.operations import prices, schedules
from web3sim.operations.rejections import Rejected, Rejection, reject_if
from web3sim.operations.schedules import NewSchedule
from web3sim.operations.signatures import SIGNATURE_LENGTH, contract_key, message_id, signature_pairs
from web3sim.operations.tokens.create import scheduled_token
from web3sim.state.blocks import chain_id
from web3sim.state.proxy_code import TOKEN_SERVICE
from web3sim.state.tables.rows import Entity, Schedule, Token
from web3sim.system_contracts.abi import SELECTOR_LENGTH, InvalidArguments, decoded
from web3sim.system_contracts.function_signatures import selector_of
from web3sim.system_contracts.functions import Function, Invocation, UnknownFunction, by_selector, costs
from web3sim.system_contracts.token_service.bodies import check_creation
from web3sim.system_contracts.token_service.functions import CHANGES, CREATION_SELECTORS, CREATIONS
from web3sim.system_contracts.token_service.functions import FUNCTIONS as TOKEN_FUNCTIONS
from web3sim.system_contracts.token_service.info import info_struct

#: What makes the transaction of a call of the token service, by selector.
_MESSAGES = {selector_of(signature): parse_body for signature, parse_body in (CREATIONS | CHANGES).items()}
# The least recovery id that names a chain (EIP-155).
_FIRST_OF_CHAINS = 35


def _now(invocation: Invocation) -> int:
    return invocation.ledger.state.now_seconds


def _numbered(address: Address) -> Address:
    """Return a long-zero address. Errors: InvalidArguments for any other one."""
    if entity_id.num_of_long_zero(address) is None:
        raise InvalidArguments(f"0x{address.hex()} has no number")
    return address


# CREATING


def _check_native(invocation: Invocation, service: Address, data: bytes, payer: Address) -> None:
    """Errors: Rejected, InvalidArguments, UnknownFunction."""
    reject_if(service != TOKEN_SERVICE, "INVALID_CONTRACT_ID")
    if len(data) < SELECTOR_LENGTH:
        raise InvalidArguments("the data names no function")
    if data[:SELECTOR_LENGTH] not in _MESSAGES:
        raise UnknownFunction


def _native(invocation: Invocation, service: Address, data: bytes, payer: Address) -> Address:
    selector = data[:SELECTOR_LENGTH]
    arguments = decoded(TOKEN_FUNCTIONS[selector].parameters, data[SELECTOR_LENGTH:])
    message = _MESSAGES[selector](invocation, *arguments)
    if selector in CREATION_SELECTORS:
        check_creation(invocation.ledger, message.tokenCreation)
    creator, key = _creator(invocation)
    expires = _now(invocation) + schedules.DEFAULT_LIFE_SECONDS
    return _scheduled(invocation, NewSchedule(message, creator, _payer(invocation, payer), key, expires))


def _call(invocation: Invocation, to: Address, *terms: Any) -> Address:
    return _call_with_payer(invocation, to, invocation.call.sender, *terms)


def _call_on_signature(invocation: Invocation, to: Address, payer: Address, *terms: Any) -> Address:
    return _call_with_payer(invocation, to, payer, *terms, waits=False)


def _call_with_payer(
    invocation: Invocation, to: Address, payer_address: Address, *terms: Any, waits: bool = True
) -> Address:
    """`terms` are the seconds of the expiry, gas, value and data of the call."""
    payer = _payer(invocation, payer_address)
    *numbers, data = terms
    expires, gas, value = (min(number, MAX_INT64) for number in numbers)
    schedules.check_expiry(expires, _now(invocation))
    reject_if(gas < intrinsic_gas(data, creates=False), "INSUFFICIENT_GAS")
    reject_if(to == ZERO_ADDRESS, "INVALID_CONTRACT_ID")
    message: Any = SchedulableTransactionBody()
    body = message.contractCall
    body.contractID.CopyFrom(_contract_id(invocation, to))
    body.gas, body.amount, body.functionParameters = gas, value, data
    creator, key = _creator(invocation)
    return _scheduled(invocation, NewSchedule(message, creator, payer, key, expires, waits, key))


def _payer(invocation: Invocation, address: Address) -> Entity:
    payer = invocation.ledger.account_at(address)
    if payer is None:
        raise InvalidArguments("there is no such payer")
    return payer


def _contract_id(invocation: Invocation, address: Address) -> Any:
    num = entity_id.num_of_long_zero(address)
    if num is None or num > MAX_INT64:
        return ContractID(evm_address=address)
    contract = message_id(ContractID, "contractNum", invocation.ledger.state.encoded(0))
    contract.contractNum = num
    return contract


def _creator(invocation: Invocation) -> tuple[Entity, bytes | None]:
    """Return who calls, and the key by which a contract signs; an account signs nothing. Errors: Rejected."""
    creator = invocation.sender()
    if creator.type != "CONTRACT":
        return creator, None
    key = contract_key(creator.id, delegated=invocation.call.sender_is_delegated)
    return creator, bytes(key.SerializeToString())


def _scheduled(invocation: Invocation, new: NewSchedule) -> Address:
    schedule, invocation.scheduled = schedules.create_schedule(invocation.ledger, new, _now(invocation))
    return invocation.ledger.address_of(schedule.id)


def _has_capacity(invocation: Invocation, expires: int, gas: int) -> bool:
    return schedules.has_capacity(expires, _now(invocation))


# READING


def _fungible_info(invocation: Invocation, address: Address) -> tuple[Any]:
    token, token_info = _scheduled_info(invocation, address, unique=False)
    return ((token_info, token.decimals),)


def _unique_info(invocation: Invocation, address: Address) -> tuple[Any]:
    """There is no serial yet: the treasury stands for owner and spender."""
    token, token_info = _scheduled_info(invocation, address, unique=True)
    treasury = entity_id.long_zero(token.treasury_account_id)
    return ((token_info, 0, treasury, 0, token.metadata, treasury),)


def _scheduled_info(
    invocation: Invocation, address: Address, *, unique: bool
) -> tuple[Token, tuple[Any, ...]]:
    """The token that a schedule is to create, and its TokenInfo. Errors: Rejected, InvalidArguments."""
    schedule = schedules.schedule_at(invocation.ledger, _numbered(address), "RECORD_NOT_FOUND")
    try:
        scheduled = scheduled_token(schedule.transaction_body)
    except DecodeError:
        raise InvalidArguments("the transaction of the schedule can't be read") from None
    if scheduled is None or scheduled[0].unique is not unique:
        raise Rejected("INVALID_SCHEDULE_ID")
    token, fees = scheduled
    if token.expiration_timestamp is None:
        raise InvalidArguments("the scheduled creation has no expiry")
    return token, info_struct(invocation.ledger, token, token.total_supply, fees)


# SIGNING AND DELETING


def _authorize(invocation: Invocation, address: Address) -> None:
    """The contract that calls signs, by its id."""
    schedule = schedules.schedule_at(invocation.ledger, address)
    _, key = _creator(invocation)
    _add_signatures(invocation, schedule, frozenset({key} if key else ()))


def _sign(invocation: Invocation, address: Address, signatures: bytes) -> None:
    """Sign with the keys of people whose signatures are in a SignatureMap."""
    schedule = schedules.schedule_at(invocation.ledger, address)
    pairs = signature_pairs(signatures)
    if pairs is None:
        raise InvalidArguments("the signatures are no SignatureMap")
    for pair in pairs:
        recovery_id = int.from_bytes(pair.ECDSA_secp256k1[SIGNATURE_LENGTH:])
        if recovery_id >= _FIRST_OF_CHAINS and (recovery_id - _FIRST_OF_CHAINS) // 2 != chain_id():
            raise InvalidArguments("a signature is for another chain")
    keys = schedules.signing_keys(invocation.ledger, schedule, pairs)
    _add_signatures(invocation, schedule, keys)


def _add_signatures(invocation: Invocation, schedule: Schedule, keys: frozenset[bytes]) -> None:
    now = _now(invocation)
    invocation.scheduled = schedules.sign_schedule(invocation.ledger, schedule, keys, now)


def _check_exists(invocation: Invocation, address: Address, *signatures: bytes) -> None:
    """Errors: Rejected."""
    schedules.schedule_at(invocation.ledger, address)


def _delete(invocation: Invocation, address: Address) -> None:
    schedule = schedules.schedule_at(invocation.ledger, _numbered(address))
    schedules.delete_schedule(invocation.ledger, schedule)


_ADDRESS = "(int64,address)"
_TIMED = "uint256,uint256,uint64,bytes"
_UNIQUE_INFO = "(int64,(TokenInfoV1,int64,address,int64,bytes,address))"
_SIGN: Any = {"gas": costs(prices.SCHEDULE_SIGN), "writes": True, "limits": _check_exists}
_DELETE: Any = {"gas": costs(prices.SCHEDULE_DELETE), "writes": True}
_CALL: Any = {"returns": _ADDRESS, "gas": costs(prices.SCHEDULE_CREATE_CALL), "writes": True,
              "schedules_calls": True}  # fmt: skip
_INFO: Any = {"static": False, "rejection": Rejection.TEXT}

_NATIVE: Any = {"returns": _ADDRESS, "gas": costs(prices.SCHEDULE_CREATE), "writes": True}

FUNCTIONS = by_selector(
    Function("authorizeSchedule(address)", _authorize, **_SIGN),
    Function("signSchedule(address,bytes)", _sign, **_SIGN),
    Function("deleteSchedule(address)", _delete, **_DELETE),
    Function(
        "getScheduledCreateFungibleTokenInfo(address)", _fungible_info, "(int64,(TokenInfoV1,int32))", **_INFO
    ),
    Function("getScheduledCreateNonFungibleTokenInfo(address)", _unique_info, _UNIQUE_INFO, **_INFO),
    Function(
        "scheduleNative(address,bytes,address)",
        _native,
        **_NATIVE | {"rejection": Rejection.TEXT, "limits": _check_native},
    ),
    Function(f"scheduleCall(address,{_TIMED})", _call, **_CALL),
    Function(f"scheduleCallWithPayer(address,address,{_TIMED})", _call_with_payer, **_CALL),
    Function(f"executeCallOnPayerSignature(address,address,{_TIMED})", _call_on_signature, **_CALL),
    Function("hasScheduleCapacity(uint256,uint256)", _has_capacity, "(bool)", has_code=False),
)
PROXY_FUNCTIONS = by_selector(
    Function("signSchedule()", _authorize, needs_target=True, **_SIGN),
    Function("deleteSchedule()", _delete, needs_target=True, **_DELETE),
)
