"""HAPI messages about tokens, as plain values."""

from collections.abc import Iterable, Mapping
from typing import Any

from mirror.demo.world.tokens import AirdropKey, CustomFee, FixedFee, FractionalFee

Move = tuple[int, int | None, int | None]  # serial, sender, receiver
Message = dict[str, Any]

ALL_SERIALS = -1  # in the record of a new treasury: all serials that the old one owned


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
