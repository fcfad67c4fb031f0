"""TokenReject (HIP-904): an account gives tokens back to their treasuries, without fees."""

from collections.abc import Sequence

from web3sim.operations.holdings import associated, usable_token
from web3sim.operations.refusals import Refused, refuse_if, required
from web3sim.operations.signers import Signers
from web3sim.operations.transfers.body import Adjustment, NftTransfer, Outcome, TokenTransfers
from web3sim.operations.transfers.moves import Moves
from web3sim.state.overlay import Overlay
from web3sim.state.tables.interface import Entity

#: Of a network's default configuration.
MOST_REJECTIONS = 10

# The id of a token, and a serial number.
NftId = tuple[int, int]


def reject(
    ledger: Overlay, signers: Signers, owner: Entity | None, tokens: Sequence[int], nfts: Sequence[NftId]
) -> Outcome:
    """Give back all units of some tokens, and some serials. Errors: Refused.

    Checks, in this order: the list and its serial numbers; the owner and its signature; for each token, then
    for each serial, that it is there, who the treasury is and what the owner has; then as for a transfer.
    """
    refuse_if(len(tokens) + len(nfts) > MOST_REJECTIONS, "TOKEN_REFERENCE_LIST_SIZE_LIMIT_EXCEEDED")
    refuse_if(not tokens and not nfts, "EMPTY_TOKEN_REFERENCE_LIST")
    refuse_if(len(set(tokens)) < len(tokens) or len(set(nfts)) < len(nfts), "TOKEN_REFERENCE_REPEATED")
    refuse_if(any(serial_number <= 0 for _, serial_number in nfts), "INVALID_TOKEN_NFT_SERIAL_NUMBER")
    if owner is None:
        raise Refused("INVALID_OWNER_ID")
    refuse_if(not signers.has_signed(owner), "INVALID_SIGNATURE")
    moves = [_units(ledger, owner.id, token_id) for token_id in tokens]
    by_token: dict[int, list[NftTransfer]] = {}
    for token_id, serial_number in nfts:
        by_token.setdefault(token_id, []).append(_serial(ledger, owner.id, token_id, serial_number))
    moves += (TokenTransfers(token_id, nfts=tuple(serials)) for token_id, serials in by_token.items())
    outcome = Outcome()
    back = Moves(ledger, signers.sender_id, outcome)
    back.move_units(moves)
    back.move_serials(moves)
    return outcome


def _units(ledger: Overlay, owner: int, token_id: int) -> TokenTransfers:
    token = usable_token(ledger, token_id)
    balance = associated(ledger, token, owner).balance
    treasury = token.treasury_account_id
    refuse_if(treasury == owner, "ACCOUNT_IS_TREASURY")
    refuse_if(balance <= 0, "INSUFFICIENT_TOKEN_BALANCE")
    return TokenTransfers(token_id, (Adjustment(owner, -balance), Adjustment(treasury, balance)))


def _serial(ledger: Overlay, owner: int, token_id: int, serial_number: int) -> NftTransfer:
    nft = required(ledger.nft(token_id, serial_number), "INVALID_NFT_ID")
    treasury = usable_token(ledger, token_id).treasury_account_id
    refuse_if(treasury == owner, "ACCOUNT_IS_TREASURY")
    refuse_if(nft.account_id != owner, "INVALID_OWNER_ID")
    return NftTransfer(owner, treasury, serial_number)
