"""The supply of tokens: minting, burning, wiping; the metadata of serials.

Amounts are in the token's smallest unit.
"""

from collections.abc import Sequence

from web3sim.operations.prices import MINT_SERIAL, TOKEN_OPERATION
from web3sim.operations.tokens.metadata import update_metadata
from web3sim.operations.tokens.supply import NewSupply, burn, mint, wipe
from web3sim.system_contracts.abi import encoded, int64_of, word_of
from web3sim.system_contracts.functions import SUCCESS, SUCCESS_CODE, Function, Invocation, costs
from web3sim.system_contracts.token_service.erc.events import log_serial, log_units


def _mint_token(invocation: Invocation) -> bytes:
    token, amount, metadata = invocation.decoded()
    now = invocation.ledger.state.block.consensus_start
    new = mint(invocation.ledger, invocation.signers, token, int64_of(amount), metadata, now=now)
    _log(invocation, new, None, new.account)
    return encoded(invocation.function.results, (SUCCESS_CODE, new.total, new.serials))


def _burn_token(invocation: Invocation) -> bytes:
    token, amount, serials = invocation.decoded()
    new = burn(invocation.ledger, invocation.signers, token, int64_of(amount), serials)
    _log(invocation, new, new.account, None)
    return SUCCESS + word_of(new.total)


def _wipe_token_account(invocation: Invocation) -> bytes:
    token, account, amount = invocation.decoded()
    return _wipe(invocation, token, account, amount, ())


def _wipe_token_account_nft(invocation: Invocation) -> bytes:
    token, account, serials = invocation.decoded()
    return _wipe(invocation, token, account, 0, serials)


def _wipe(invocation: Invocation, token: bytes, account: bytes, amount: int, serials: Sequence[int]) -> bytes:
    new = wipe(invocation.ledger, invocation.signers, token, account, amount, serials)
    _log(invocation, new, new.account, None)
    return SUCCESS


def _log(invocation: Invocation, new: NewSupply, sender: int | None, receiver: int | None) -> None:
    for serial_number in new.serials:
        log_serial(invocation, new.token.id, sender, receiver, serial_number)
    if new.amount:
        log_units(invocation, new.token.id, sender, receiver, new.amount)


def _update_metadata(invocation: Invocation) -> bytes:
    token, serials, metadata = invocation.decoded()
    update_metadata(invocation.ledger, invocation.signers, token, serials, metadata)
    return SUCCESS


def _minting(invocation: Invocation) -> int:
    """The gas of a mint: of each serial, or of units."""
    *_, metadata = invocation.decoded()
    if metadata:
        return len(metadata) * invocation.prices.gas_of(MINT_SERIAL)
    return invocation.prices.gas_of(TOKEN_OPERATION)


_MINTED, _GAS = "(int64,int64,int64[])", costs(TOKEN_OPERATION)
_METADATA = "updateNFTsMetadata(address,int64[],bytes)"

FUNCTIONS = (
    *(
        Function(f"mintToken(address,{amount},bytes[])", _mint_token, _MINTED, gas=_minting, writes=True)
        for amount in ("uint64", "int64")
    ),
    *(
        Function(f"burnToken(address,{amount},int64[])", _burn_token, "(int64,int64)", gas=_GAS, writes=True)
        for amount in ("uint64", "int64")
    ),
    *(
        Function(f"wipeTokenAccount(address,address,{amount})", _wipe_token_account, gas=_GAS, writes=True)
        for amount in ("uint32", "int64")
    ),
    Function("wipeTokenAccountNFT(address,address,int64[])", _wipe_token_account_nft, gas=_GAS, writes=True),
    Function(_METADATA, _update_metadata, gas=_GAS, writes=True),
)
