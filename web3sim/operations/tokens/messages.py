"""Creations and updates of tokens as protobuf messages, as in a schedule."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mirror.core.db.reading.sql import MAX_INT64
from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import (
    AccountID,
    CustomFee,
    FixedFee,
    FractionalFee,
    Key,
    RoyaltyFee,
    SchedulableTransactionBody,
    TokenID,
)
from web3sim.operations.tokens.create import NewToken
from web3sim.operations.tokens.update import TokenChange
from web3sim.state.tables.interface import CustomFees, Token

_MOST_DECIMALS = 2**31 - 1

# Column of token -> field of the bodies.
_KEYS = {
    "admin_key": "adminKey",
    "kyc_key": "kycKey",
    "freeze_key": "freezeKey",
    "wipe_key": "wipeKey",
    "supply_key": "supplyKey",
    "fee_schedule_key": "fee_schedule_key",
    "pause_key": "pause_key",
    "metadata_key": "metadata_key",
}


def creation_message(new: NewToken) -> bytes:
    """Return the serialized SchedulableTransactionBody that creates a token."""
    message: Any = SchedulableTransactionBody()
    body = message.tokenCreation
    body.name, body.symbol, body.memo = new.name, new.symbol, new.memo
    body.tokenType, body.supplyType = int(new.unique), int(new.finite)
    body.initialSupply, body.decimals, body.maxSupply = new.initial_supply, new.decimals, new.max_supply
    body.freezeDefault = new.freeze_default
    if new.treasury is not None:
        body.treasury.CopyFrom(_account(new.treasury.id))
    _set_shared(body, new)
    for fee in new.fees.fixed:
        body.custom_fees.append(_custom_fee(fee, fixed_fee=_fixed(fee)))
    for fee in new.fees.fractional:
        fractional = FractionalFee(
            minimum_amount=fee["minimum_amount"],
            maximum_amount=fee["maximum_amount"] or 0,
            net_of_transfers=fee["net_of_transfers"],
        )
        fractional.fractional_amount.numerator = fee["numerator"]
        fractional.fractional_amount.denominator = fee["denominator"]
        body.custom_fees.append(_custom_fee(fee, fractional_fee=fractional))
    for fee in new.fees.royalty:
        royalty = RoyaltyFee(fallback_fee=_fixed(fee["fallback_fee"]) if fee["fallback_fee"] else None)
        royalty.exchange_value_fraction.numerator = fee["numerator"]
        royalty.exchange_value_fraction.denominator = fee["denominator"]
        body.custom_fees.append(_custom_fee(fee, royalty_fee=royalty))
    return bytes(message.SerializeToString())


def update_message(token: Token, change: TokenChange) -> bytes:
    """Return the serialized SchedulableTransactionBody that changes a token."""
    message: Any = SchedulableTransactionBody()
    body = message.tokenUpdate
    body.token.CopyFrom(_token(token.id))
    body.name, body.symbol = change.name, change.symbol
    if change.memo:
        body.memo.value = change.memo
    if change.treasury is not None:
        body.treasury.CopyFrom(_account(change.treasury.id))
    _set_shared(body, change)
    return bytes(message.SerializeToString())


def scheduled_token(body: bytes) -> tuple[Token, CustomFees] | None:
    """Return the token that a SchedulableTransactionBody creates, with id 0; None if it creates none.

    Errors: DecodeError.
    """
    message: Any = SchedulableTransactionBody.FromString(body)
    if message.WhichOneof("data") != "tokenCreation":
        return None
    creation = message.tokenCreation
    token = Token(
        0,
        creation.name,
        creation.symbol,
        # The network would refuse more, but only when it executes the schedule.
        min(creation.decimals, _MOST_DECIMALS),
        creation.tokenType == 1,
        entity_id.of_account(creation.treasury),
        min(creation.initialSupply, MAX_INT64),
        creation.maxSupply,
        creation.supplyType == 1,
        creation.freezeDefault,
        memo=creation.memo,
        auto_renew_account_id=entity_id.of_account(creation.autoRenewAccount) or None,
        auto_renew_period=creation.autoRenewPeriod.seconds or None,
        expiration_timestamp=creation.expiry.seconds * 1_000_000_000 or None,
    )
    keys: dict[str, Any] = {
        column: getattr(creation, field).SerializeToString()
        for column, field in _KEYS.items()
        if creation.HasField(field)
    }
    return replace(token, **keys), _fees_of(creation.custom_fees)


def _set_shared(body: Any, token: NewToken | TokenChange) -> None:
    for column, key in token.keys.items():
        getattr(body, _KEYS[column]).CopyFrom(Key.FromString(key))
    if token.auto_renew_account is not None:
        body.autoRenewAccount.CopyFrom(_account(token.auto_renew_account.id))
    if token.auto_renew_period:
        body.autoRenewPeriod.seconds = token.auto_renew_period
    if token.expires:
        body.expiry.seconds = token.expires


def _account(encoded: int) -> Any:
    shard, realm, num = entity_id.decode(encoded)
    return AccountID(shardNum=shard, realmNum=realm, accountNum=num)


def _token(encoded: int) -> Any:
    shard, realm, num = entity_id.decode(encoded)
    return TokenID(shardNum=shard, realmNum=realm, tokenNum=num)


def _custom_fee(fee: Mapping[str, Any], **kind: Any) -> Any:
    collector = fee["collector_account_id"]
    collecting = None if collector is None else _account(collector)
    return CustomFee(fee_collector_account_id=collecting, **kind)


def _fixed(fee: Mapping[str, Any]) -> Any:
    """A fee in the new token itself names token 0.0.0."""
    denominating = fee["denominating_token_id"]
    paid_in = None if denominating is None else _token(denominating)
    return FixedFee(amount=fee["amount"], denominating_token_id=paid_in)


def _fees_of(messages: Any) -> CustomFees:
    kinds: dict[str, list[Mapping[str, Any]]] = {"fixed_fee": [], "fractional_fee": [], "royalty_fee": []}
    for message in messages:
        kind = message.WhichOneof("fee")
        collected = {
            "all_collectors_are_exempt": message.all_collectors_are_exempt,
            "collector_account_id": entity_id.of_account(message.fee_collector_account_id) or None,
        }
        if kind is not None:
            kinds[kind].append(collected | _terms(kind, getattr(message, kind)))
    return CustomFees(*(tuple(fees) for fees in kinds.values()))


def _terms(kind: str, fee: Any) -> dict[str, Any]:
    if kind == "fixed_fee":
        return _fixed_terms(fee)
    if kind == "fractional_fee":
        return {
            "denominator": fee.fractional_amount.denominator,
            "maximum_amount": fee.maximum_amount or None,
            "minimum_amount": fee.minimum_amount,
            "net_of_transfers": fee.net_of_transfers,
            "numerator": fee.fractional_amount.numerator,
        }
    return {
        "denominator": fee.exchange_value_fraction.denominator,
        "fallback_fee": _fixed_terms(fee.fallback_fee) if fee.HasField("fallback_fee") else None,
        "numerator": fee.exchange_value_fraction.numerator,
    }


def _fixed_terms(fee: Any) -> dict[str, Any]:
    named = fee.HasField("denominating_token_id")
    denominating = entity_id.of_token(fee.denominating_token_id) if named else None
    return {"amount": fee.amount, "denominating_token_id": denominating}
