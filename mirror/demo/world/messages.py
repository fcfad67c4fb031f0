"""HAPI messages about tokens, as plain values."""

from collections.abc import Iterable, Mapping
from typing import Any

from mirror.demo.world.tokens import AirdropKey, CustomFee, FixedFee, FractionalFee, Token

Move = tuple[int, int | None, int | None]  # serial, sender, receiver
Message = dict[str, Any]

ALL_SERIALS = -1  # in the record of a new treasury: all serials that the old one owned


# Attribute of Token -> field of the transaction bodies.
KEY_FIELDS = {
    "admin_key": "adminKey",
    "fee_schedule_key": "fee_schedule_key",
    "freeze_key": "freezeKey",
    "kyc_key": "kycKey",
    "metadata_key": "metadata_key",
    "pause_key": "pause_key",
    "supply_key": "supplyKey",
    "wipe_key": "wipeKey",
}


def amounts(moved: Mapping[int, int], *, approved: bool = False) -> list[Message]:
    return [
        {"accountID": of, "amount": amount, "is_approval": approved and amount < 0}
        for of, amount in moved.items()
    ]


def units(token: int, moved: Mapping[int, int], *, approved: bool = False) -> Message:
    """Return the TokenTransferList of account -> amount."""
    return {"token": token, "transfers": amounts(moved, approved=approved)}


def serials(token: int, moves: Iterable[Move], *, approved: bool = False) -> Message:
    """Return the TokenTransferList of serials. From None they are minted, to None they end."""
    transfers = [
        {
            "serialNumber": serial,
            "senderAccountID": sender,
            "receiverAccountID": receiver,
            "is_approval": approved,
        }
        for serial, sender, receiver in moves
    ]
    return {"token": token, "nftTransfers": transfers}


def association(holder: int, token: int) -> Message:
    return {"account_id": holder, "token_id": token}


def token_creation(created: Token) -> Message:
    return {
        "name": created.name,
        "symbol": created.symbol,
        "decimals": created.decimals,
        "initialSupply": created.initial_supply,
        "treasury": created.treasury,
        "tokenType": "FUNGIBLE_COMMON" if created.fungible else "NON_FUNGIBLE_UNIQUE",
        "supplyType": "FINITE" if created.finite else "INFINITE",
        "maxSupply": created.max_supply,
        "freezeDefault": created.freeze_default,
        "memo": created.memo,
        "metadata": created.metadata,
        "custom_fees": [custom_fee(fee, created.number) for fee in created.fees],
        **{name: getattr(created, key) for key, name in KEY_FIELDS.items()},
        "autoRenewAccount": created.auto_renew_account,
        "autoRenewPeriod": created.auto_renew_period,
        "expiry": created.expiration,
    }


def custom_fee(fee: CustomFee, token: int) -> Message:
    """Return the CustomFee. If `token` itself is its currency, the message says 0.0.0."""
    common = {
        "fee_collector_account_id": fee.collector,
        "all_collectors_are_exempt": fee.all_collectors_are_exempt,
    }
    if isinstance(fee, FixedFee):
        return {"fixed_fee": _fixed(fee, token), **common}
    fraction = {"numerator": fee.numerator, "denominator": fee.denominator}
    if isinstance(fee, FractionalFee):
        fractional = {
            "fractional_amount": fraction,
            "minimum_amount": fee.minimum,
            "maximum_amount": fee.maximum,
            "net_of_transfers": fee.net_of_transfers,
        }
        return {"fractional_fee": fractional, **common}
    royalty = {"exchange_value_fraction": fraction}
    if fee.fallback:
        royalty["fallback_fee"] = _fixed(fee.fallback, token)
    return {"royalty_fee": royalty, **common}


def _fixed(fee: FixedFee, token: int) -> Message:
    currency = 0 if fee.denominating_token == token else fee.denominating_token
    return {"amount": fee.amount, "denominating_token_id": currency}


def assessed_fee(amount: int, token: int | None, collector: int, payers: Iterable[int]) -> Message:
    """Return the AssessedCustomFee, in tinybars if there is no token."""
    return {
        "amount": amount,
        "token_id": token,
        "fee_collector_account_id": collector,
        "effective_payer_account_id": payers,
    }


def pending_airdrop(key: AirdropKey, amount: int | None) -> Message:
    record: Message = {"pending_airdrop_id": airdrop_id(key)}
    return record if amount is None else record | {"pending_airdrop_value": {"amount": amount}}


def airdrop_id(key: AirdropKey) -> Message:
    sender, receiver, token, serial = key
    parties = {"sender_id": sender, "receiver_id": receiver}
    if serial:
        return {"non_fungible_token": {"token_ID": token, "serial_number": serial}, **parties}
    return {"fungible_token_type": token, **parties}
