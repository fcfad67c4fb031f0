"""TokenReject (HIP-904): an account gives tokens back to their treasuries, without fees."""

from collections.abc import Sequence

from web3sim.engine.interface import ZERO_ADDRESS, Address
from web3sim.operations import holdings
from web3sim.operations.rejections import reject_if, required
from web3sim.operations.signatures import usable_key
from web3sim.operations.transfers.body import Adjustment, NftTransfer, Outcome, TokenTransfers
from web3sim.operations.transfers.moves import Moves
from web3sim.state.overlay import Overlay


def reject(
    ledger: Overlay, owner_at: Address, tokens: Sequence[Address], nfts: Sequence[tuple[Address, int]]
) -> None:
    """Give back all units of some tokens, and some serials.

    Checks, in this order: the list, an owner is named, the serial numbers; the owner, its key; for each
    token, then for each serial, that it is there, who the treasury is and what the owner has; then as for a
    transfer.
    """
    tokens = [holdings.token_address(token) for token in tokens]
    nfts = [(holdings.token_address(token), serial_number) for token, serial_number in nfts]
    reject_if(not tokens and not nfts, "EMPTY_TOKEN_REFERENCE_LIST")
    reject_if(holdings.account_number(ledger, owner_at) == 0, "INVALID_ACCOUNT_ID")
    reject_if(len(set(tokens)) < len(tokens) or len(set(nfts)) < len(nfts), "TOKEN_REFERENCE_REPEATED")
    reject_if(ZERO_ADDRESS in (*tokens, *(token for token, _ in nfts)), "INVALID_TOKEN_ID")
    reject_if(any(serial_number <= 0 for _, serial_number in nfts), "INVALID_TOKEN_NFT_SERIAL_NUMBER")
    account = holdings.existing_account(ledger, owner_at, "INVALID_OWNER_ID")
    reject_if(account.key is not None and usable_key(account) is None, "ACCOUNT_IS_IMMUTABLE")
    owner = account.id
    moves = [_fungible(ledger, owner, token) for token in tokens]
    by_token: dict[int, list[NftTransfer]] = {}
    for token, serial_number in nfts:
        token_id, nft = _nft(ledger, owner, token, serial_number)
        by_token.setdefault(token_id, []).append(nft)
    moves += (TokenTransfers(token_id, nfts=tuple(serials)) for token_id, serials in by_token.items())
    moves_back = Moves(ledger, None, Outcome())
    moves_back.move_fungible(moves)
    moves_back.move_nfts(moves)


def _fungible(ledger: Overlay, owner: int, address: Address) -> TokenTransfers:
    token = holdings.usable_token_at(ledger, address)
    balance = holdings.unfrozen_relationship(ledger, token, owner).balance
    treasury = token.treasury_account_id
    reject_if(treasury == owner, "ACCOUNT_IS_TREASURY")
    reject_if(balance <= 0, "INSUFFICIENT_TOKEN_BALANCE")
    return TokenTransfers(token.id, (Adjustment(owner, -balance), Adjustment(treasury, balance)))


def _nft(ledger: Overlay, owner: int, address: Address, serial_number: int) -> tuple[int, NftTransfer]:
    token = holdings.named_token(ledger, address)
    nft = required(ledger.nft(token.id, serial_number), "INVALID_NFT_ID")
    holdings.check_usable(ledger, token)
    treasury = token.treasury_account_id
    reject_if(treasury == owner, "ACCOUNT_IS_TREASURY")
    reject_if(nft.account_id != owner, "INVALID_OWNER_ID")
    return token.id, NftTransfer(owner, treasury, serial_number)
