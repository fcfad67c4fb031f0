"""TokenUpdateNfts: the metadata of serials."""

from collections.abc import Sequence
from dataclasses import replace

from web3sim.engine.interface import Address
from web3sim.operations.holdings import owner_of
from web3sim.operations.refusals import refuse_if, required
from web3sim.operations.signers import Signers
from web3sim.operations.token_lookup import has_key, named_token
from web3sim.operations.tokens.supply import MOST_METADATA_BYTES, check_count
from web3sim.state.overlay import Overlay
from web3sim.state.tables.interface import Nft, Token


def update_metadata(
    ledger: Overlay, signers: Signers, address: Address, serials: Sequence[int], metadata: bytes
) -> None:
    """Replace the metadata of serials.

    Checks, in this order: serials are given; the token; serials exist, up to the first that is not the
    treasury's; the metadata key, or where all are the treasury's this or the supply key, and its signature;
    the length of the metadata, the number of serials; all serials exist. A paused token may be updated.
    Errors: Refused.
    """
    refuse_if(not serials, "MISSING_SERIAL_NUMBERS")
    token = named_token(ledger, address)
    keys = [token.metadata_key]
    code = "TOKEN_HAS_NO_METADATA_KEY"
    if _are_all_of_treasury(ledger, token, serials):
        keys.append(token.supply_key)
        code = "TOKEN_HAS_NO_METADATA_OR_SUPPLY_KEY"
    refuse_if(not any(map(has_key, keys)), code)
    refuse_if(not any(map(signers.is_active, keys)), "INVALID_SIGNATURE")
    refuse_if(len(metadata) > MOST_METADATA_BYTES, "METADATA_TOO_LONG")
    check_count(serials)
    for serial_number in serials:
        refuse_if(serial_number <= 0, "INVALID_TOKEN_NFT_SERIAL_NUMBER")
        nft = _nft(ledger, token, serial_number)
        ledger.put_nft(token.id, serial_number, replace(nft, metadata=metadata))


def _are_all_of_treasury(ledger: Overlay, token: Token, serials: Sequence[int]) -> bool:
    treasury = token.treasury_account_id
    return all(owner_of(token, _nft(ledger, token, serial_number)) == treasury for serial_number in serials)


def _nft(ledger: Overlay, token: Token, serial_number: int) -> Nft:
    return required(ledger.nft(token.id, serial_number), "INVALID_NFT_ID")
