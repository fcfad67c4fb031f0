"""Royalties: a part of what the sender of a serial gets for it, else a fee that its receiver pays."""

from web3sim.operations.custom_fees.level import Level, TokenFees, fraction_of
from web3sim.operations.rejections import reject_if
from web3sim.operations.transfers.body import NftTransfer


def charge_royalties(level: Level, of_token: TokenFees, nft: NftTransfer) -> None:
    """Charge the royalties for a serial, once for all serials of a token that an account sends."""
    token = of_token.token
    if (nft.sender, token.id) in level.royalties_paid:
        return
    exchanged = {
        token_id: amounts[nft.sender]
        for token_id, amounts in level.requested.items()
        if amounts.get(nft.sender, 0) > 0
    }
    has_paid = (nft.receiver, token.id) in level.royalties_paid
    for fee in of_token.royalty:
        collector = fee["collector_account_id"]
        if exchanged:
            if not of_token.is_exempt(nft.sender, fee):
                for token_id, amount in exchanged.items():
                    royalty = fraction_of(amount, fee)
                    reject_if(royalty > amount, "INSUFFICIENT_SENDER_ACCOUNT_BALANCE_FOR_CUSTOM_FEE")
                    level.withhold(nft.sender, collector, royalty, token_id)
            continue
        fallback = fee["fallback_fee"]
        if fallback and not has_paid and not of_token.is_exempt(nft.receiver, fee):
            denominating = fallback["denominating_token_id"]
            level.charge(token, nft.receiver, collector, fallback["amount"], denominating)
    level.royalties_paid.add((nft.sender if exchanged else nft.receiver, token.id))
