"""HAPI messages about tokens."""

from collections.abc import Iterable, Mapping
from typing import Any

from mirror.core.values.hapi import messages
from mirror.demo.streams.record_files import account
from mirror.demo.world.tokens import AirdropKey, CustomFee, FixedFee, FractionalFee

Move = tuple[int, int | None, int | None]  # serial, sender, receiver

ALL_SERIALS = -1  # in the record of a new treasury: all serials that the old one owned


def token_id(number: int) -> Any:
    """Return the TokenID."""
    return messages.TokenID(tokenNum=number)


def units(token: int, amounts: Mapping[int, int], *, approved: bool = False) -> Any:
    """Return the TokenTransferList of account -> amount; `approved` debits use an allowance."""
    return messages.TokenTransferList(
        token=token_id(token),
        transfers=[
            messages.AccountAmount(accountID=account(of), amount=amount, is_approval=approved and amount < 0)
            for of, amount in amounts.items()
        ],
    )


def serials(token: int, moves: Iterable[Move], *, approved: bool = False) -> Any:
    """Return the TokenTransferList of serials. From None they are minted, to None they end."""
    return messages.TokenTransferList(
        token=token_id(token),
        nftTransfers=[
            messages.NftTransfer(
                serialNumber=serial,
                senderAccountID=account(sender) if sender else None,
                receiverAccountID=account(receiver) if receiver else None,
                is_approval=approved,
            )
            for serial, sender, receiver in moves
        ],
    )


def association(holder: int, token: int) -> Any:
    """Return the TokenAssociation."""
    return messages.TokenAssociation(account_id=account(holder), token_id=token_id(token))


def custom_fee(fee: CustomFee, token: int) -> Any:
    """Return the CustomFee. If `token` itself is its currency, the message says 0.0.0."""
    common = {
        "fee_collector_account_id": account(fee.collector),
        "all_collectors_are_exempt": fee.all_collectors_are_exempt,
    }
    if isinstance(fee, FixedFee):
        return messages.CustomFee(fixed_fee=_fixed(fee, token), **common)
    fraction = {"numerator": fee.numerator, "denominator": fee.denominator}
    if isinstance(fee, FractionalFee):
        fractional = messages.FractionalFee(
            fractional_amount=fraction,
            minimum_amount=fee.minimum,
            maximum_amount=fee.maximum,
            net_of_transfers=fee.net_of_transfers,
        )
        return messages.CustomFee(fractional_fee=fractional, **common)
    fallback = _fixed(fee.fallback, token) if fee.fallback else None
    royalty = messages.RoyaltyFee(exchange_value_fraction=fraction, fallback_fee=fallback)
    return messages.CustomFee(royalty_fee=royalty, **common)


def _fixed(fee: FixedFee, token: int) -> Any:
    denominating = None
    if fee.denominating_token:
        denominating = token_id(0 if fee.denominating_token == token else fee.denominating_token)
    return messages.FixedFee(amount=fee.amount, denominating_token_id=denominating)


def assessed_fee(amount: int, token: int | None, collector: int, payers: Iterable[int]) -> Any:
    """Return the AssessedCustomFee, in tinybars if there is no token."""
    return messages.AssessedCustomFee(
        amount=amount,
        token_id=token_id(token) if token else None,
        fee_collector_account_id=account(collector),
        effective_payer_account_id=[account(payer) for payer in payers],
    )


def airdrop_id(key: AirdropKey) -> Any:
    """Return the PendingAirdropId."""
    sender, receiver, token, serial = key
    parties = {"sender_id": account(sender), "receiver_id": account(receiver)}
    if serial:
        nft = {"token_ID": token_id(token), "serial_number": serial}
        return messages.PendingAirdropId(non_fungible_token=nft, **parties)
    return messages.PendingAirdropId(fungible_token_type=token_id(token), **parties)
