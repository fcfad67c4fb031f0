"""A contract result as JSON: the base that lists of one contract show, and the full object around it."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict

import orjson
from google.protobuf.message import DecodeError

from contracts.api import formats
from contracts.queries.ethereum import Ethereum
from contracts.queries.result_rows import Native, Result
from contracts.queries.results import Details
from mirror.core import config
from mirror.core.db.reading.sql import MAX_INT64, Row
from mirror.core.rest.views import Answer
from mirror.core.values import entity_id, hexadecimal, timestamp
from mirror.core.values.ethereum import (
    LEGACY,
    WEIBARS_PER_TINYBAR,
    Access,
    Authorization,
    access_list_payload,
)
from mirror.core.values.hapi import messages, result_codes
from mirror.core.values.json_types import EntityId, EvmAddress, Hex, Int32, Int64, Quantity, Timestamp

_NO_LOGS_BLOOM = bytes(256)
_UNKNOWN_GAS = -1


class LogJson(TypedDict):
    address: EvmAddress | None
    bloom: Hex
    contract_id: EntityId | None
    data: Hex
    index: Int32
    topics: list[Hex]


class StateChangeJson(TypedDict):
    """A slot that was only read has no value written."""

    address: EvmAddress | None
    contract_id: EntityId | None
    slot: Hex
    value_read: Hex | None
    value_written: Hex | None


# "from" is a keyword, so this class has another syntax.
_From = TypedDict("_From", {"from": Hex | None})


class ResultJson(_From):
    """A contract result. Only one without a contract, which failed before it ran, has no address."""

    address: EvmAddress | None
    amount: int | None
    bloom: Hex
    call_result: Hex
    contract_id: EntityId | None
    created_contract_ids: list[EntityId]
    error_message: str | None
    function_parameters: Hex
    gas_consumed: Int64 | None
    gas_limit: Int64
    gas_used: Int64 | None
    timestamp: Timestamp
    to: EvmAddress | None
    hash: Hex


class FullResultJson(ResultJson):
    """A contract result.

    Without an Ethereum transaction it has the type 0, and null for nonce, signature and maximum fees. The
    access list is hex or null, or an array where the setting rest.response.accessList says so.
    """

    block_hash: Hex
    block_number: Int64 | None
    result: str
    transaction_index: Int32 | None
    status: Literal["0x0", "0x1"]
    failed_initcode: Hex
    access_list: Hex | list[Access] | None
    authorization_list: NotRequired[list[Authorization]]
    block_gas_used: Int64 | None
    chain_id: Quantity
    gas_price: Quantity | None
    max_fee_per_gas: Quantity | None
    max_priority_fee_per_gas: Quantity | None
    r: Hex | None
    s: Hex | None
    type: Int32
    v: int | None
    nonce: Int64 | None


class ResultWithLogsJson(FullResultJson):
    """A contract result with its logs and state changes."""

    logs: list[LogJson]
    state_changes: list[StateChangeJson]


def base_json(result: Result, *, in_tinybars: bool) -> Answer:
    """Return the result as the list of one contract has it."""
    amount, gas_consumed = result.amount, result.gas_consumed
    failed = result.transaction_result not in result_codes.SUCCESS
    if gas_consumed is None and result.gas_used == 0 and failed:
        # It never ran.
        gas_consumed = 0
    contract = formats.long_zero(result.contract_id)
    bloom = _NO_LOGS_BLOOM if result.bloom == b"" else result.bloom
    return {
        "address": formats.address(result.evm_address, result.contract_id),
        "amount": amount if in_tinybars or amount is None else _number(amount * WEIBARS_PER_TINYBAR),
        "bloom": formats.plain(bloom),
        "call_result": formats.plain(result.call_result),
        "contract_id": entity_id.text(result.contract_id),
        "created_contract_ids": [entity_id.text(created) for created in result.created_contract_ids or ()],
        "error_message": result.error_message or None,
        "from": _sender(result),
        "function_parameters": formats.plain(result.function_parameters),
        "gas_consumed": gas_consumed,
        "gas_limit": result.gas_limit,
        "gas_used": result.gas_used,
        "timestamp": timestamp.text(result.consensus_timestamp),
        "to": contract,
        "hash": formats.plain(result.transaction_hash),
    }


def _sender(result: Result) -> str | None:
    """Return the long-zero address; of a sender without number its alias, which only the record has."""
    if result.sender_id is not None:
        return formats.long_zero(result.sender_id)
    try:
        alias = messages.ContractFunctionResult.FromString(result.function_result or b"").sender_id.alias
    except DecodeError:
        return None
    return hexadecimal.text(alias) if alias else None


class Form(NamedTuple):
    """The form in which the request and the settings want results, and what native ones have."""

    in_tinybars: bool
    array_of_access: bool
    with_authorizations: bool
    native: Native

    @classmethod
    def configured(cls, in_tinybars: bool, native: Native) -> "Form":
        return cls(
            in_tinybars=in_tinybars,
            array_of_access=config.value("rest.response.accessList") == "array",
            with_authorizations=config.value("rest.response.enableDelegationAddress"),
            native=native,
        )


def full_json(result: Result, form: Form, details: Details | None = None) -> Answer:
    """Return the result with its block and Ethereum transaction."""
    block, ethereum = result.block, result.ethereum
    succeeded = result.transaction_result in result_codes.SUCCESS
    gas_used = None if block is None or block.gas_used == _UNKNOWN_GAS else block.gas_used
    failed_initcode = result.failed_initcode
    if not failed_initcode and not succeeded and ethereum is not None:
        failed_initcode = ethereum.call_data
    answer = base_json(result, in_tinybars=form.in_tinybars)
    answer["block_hash"] = "0x" if block is None else f"0x{block.hash}"
    answer["block_number"] = None if block is None else block.number
    if details is not None:
        answer["logs"] = [log_json(row) for row in details.logs]
    answer["result"] = result_codes.name(result.transaction_result)
    answer["transaction_index"] = result.transaction_index
    if details is not None:
        answer["state_changes"] = [state_change_json(row) for row in details.state_changes]
    answer["status"] = "0x1" if succeeded else "0x0"
    answer["failed_initcode"] = formats.plain(failed_initcode)
    if ethereum is None:
        answer |= _native_json(result, form, gas_used)
    else:
        if not succeeded and answer["error_message"] is None:
            answer["error_message"] = answer["result"]
        call_data = None if details is None else details.call_data
        answer |= _ethereum_json(ethereum, result, form, gas_used, call_data)
    return answer


def _native_json(result: Result, form: Form, block_gas_used: int | None) -> Answer:
    """Return the members of a result without an Ethereum transaction."""
    price = form.native.gas_prices.get(result.consensus_timestamp)
    if price is not None and not form.in_tinybars:
        price *= WEIBARS_PER_TINYBAR
    answer: Answer = {
        "access_list": [] if form.array_of_access else None,
        "block_gas_used": block_gas_used,
        "chain_id": form.native.chain_id,
        "gas_price": None if price is None else hex(price),
        "max_fee_per_gas": None,
        "max_priority_fee_per_gas": None,
        "r": None,
        "s": None,
        "type": LEGACY,
        "v": None,
        "nonce": None,
    }
    return answer


def _ethereum_json(
    ethereum: Ethereum, result: Result, form: Form, block_gas_used: int | None, call_data: bytes | None
) -> Answer:
    has_v = ethereum.type == LEGACY and ethereum.signature_v
    price = _price_in_tinybars if form.in_tinybars else formats.quantity
    answer = {
        "access_list": _access_list(ethereum, form),
        "block_gas_used": block_gas_used,
        "chain_id": formats.quantity(ethereum.chain_id),
        "gas_price": price(ethereum.gas_price),
        "max_fee_per_gas": price(ethereum.max_fee_per_gas),
        "max_priority_fee_per_gas": price(ethereum.max_priority_fee_per_gas),
        "r": formats.plain(ethereum.signature_r),
        "s": formats.plain(ethereum.signature_s),
        "type": ethereum.type,
        "v": _number(_unsigned(ethereum.signature_v)) if has_v else ethereum.recovery_id,
        "nonce": ethereum.nonce,
    }
    if form.with_authorizations:
        answer["authorization_list"] = [
            _authorization(authorization) for authorization in ethereum.authorization_list or ()
        ]
    if ethereum.value is not None:
        answer["amount"] = _number(_amount(ethereum.value, form))
    if ethereum.gas_limit is not None:
        answer["gas_limit"] = ethereum.gas_limit
    if ethereum.to_address:
        answer["to"] = hexadecimal.text(ethereum.to_address)
    if parameters := ethereum.call_data or call_data:
        answer["function_parameters"] = hexadecimal.text(parameters)
    return answer


def _authorization(stored: Mapping[str, Any]) -> Answer:
    """Return an authorization as it is stored; rows of the original say `yparity`."""
    return {"y_parity" if name == "yparity" else name: value for name, value in stored.items()}


def _access_list(ethereum: Ethereum, form: Form) -> Any:
    """Return the list in the form that the setting says: an array, or hex or null."""
    if form.array_of_access:
        return ethereum.access_list or []
    return hexadecimal.text(access_list_payload(ethereum.access_list)) if ethereum.access_list else None


def _amount(weibars: bytes, form: Form) -> int:
    """Return the value of a transaction: signed tinybars without a fraction, or unsigned weibars."""
    if not form.in_tinybars:
        return _unsigned(weibars)
    number = int.from_bytes(weibars, "big", signed=True)
    tinybars = abs(number) // WEIBARS_PER_TINYBAR
    return -tinybars if number < 0 else tinybars


def _price_in_tinybars(weibars: bytes | None) -> str:
    return hex(_unsigned(weibars) // WEIBARS_PER_TINYBAR) if weibars else "0x"


def _unsigned(data: bytes | None) -> int:
    return int.from_bytes(data or b"", "big")


def _number(number: int | None) -> Any:
    """Return a whole number of any size for JSON."""
    return number if number is None or abs(number) <= MAX_INT64 else orjson.Fragment(str(number))


def log_json(log: Row) -> Answer:
    evm_address, bloom, contract_id, data, index, *topics = log
    return {
        "address": formats.address(evm_address, contract_id),
        "bloom": formats.plain(bloom),
        "contract_id": entity_id.text(contract_id),
        "data": formats.padded(data),
        "index": index,
        "topics": [formats.word(topic) for topic in topics if topic is not None],
    }


def state_change_json(change: Row) -> StateChangeJson:
    evm_address, contract_id, slot, value_read, value_written = change
    return {
        "address": formats.address(evm_address, contract_id),
        "contract_id": entity_id.text(contract_id),
        "slot": formats.word(slot),
        "value_read": formats.uint256(value_read),
        "value_written": formats.uint256(value_written),
    }
