"""Airdrops and rejected tokens (HIP-904), by the service or by the token."""

from typing import Any

from web3sim.engine.interface import Address
from web3sim.operations.crypto_transfer import price
from web3sim.operations.prices import AIRDROP, ASSOCIATE, TOKEN_OPERATION
from web3sim.operations.tokens.airdrops import PendingId, airdrop, cancel, claim
from web3sim.operations.tokens.reject import reject
from web3sim.operations.transfers.body import Parties, TokenTransfers
from web3sim.system_contracts.functions import SUCCESS, Function, Invocation, costs
from web3sim.system_contracts.token_service.erc.events import log_outcome
from web3sim.system_contracts.token_service.transfers import Arguments

# AIRDROP


def _airdrop_tokens(invocation: Invocation) -> bytes:
    """Each list stays as it is: a token that is there twice is refused."""
    (lists,) = invocation.decoded()
    arguments = Arguments(invocation)
    tokens = [
        TokenTransfers(
            arguments.token_id(token),
            tuple(arguments.adjustment(*each) for each in adjustments),
            tuple(arguments.nft(*each) for each in nfts),
        )
        for token, adjustments, nfts in lists
    ]
    transfers = arguments.transfers(tokens)
    invocation.more_gas = invocation.prices.gas_of(price(invocation.ledger, transfers))
    outcome = airdrop(invocation.ledger, invocation.signers, transfers)
    invocation.more_gas += outcome.associations * invocation.prices.gas_of(ASSOCIATE)
    log_outcome(invocation, outcome)
    return SUCCESS


# CLAIM AND CANCEL


def _pending_ids(invocation: Invocation) -> list[PendingId]:
    """Errors: Refused."""
    (structs,) = invocation.decoded()
    parties = Parties(invocation.ledger)
    return [_pending_id(invocation, parties, *struct) for struct in structs]


def _pending_id(
    invocation: Invocation, parties: Parties, sender: Address, receiver: Address, token: Address, serial: int
) -> PendingId:
    found = invocation.token(token)
    numbers = parties.number(sender), parties.number(receiver)
    return PendingId(*numbers, found.id, serial if found.unique else None)


def _cancel_airdrops(invocation: Invocation) -> bytes:
    cancel(invocation.ledger, invocation.signers, _pending_ids(invocation))
    return SUCCESS


def _claim_airdrops(invocation: Invocation) -> bytes:
    return _claim(invocation, _pending_ids(invocation))


def _claim(invocation: Invocation, ids: list[PendingId]) -> bytes:
    log_outcome(invocation, claim(invocation.ledger, invocation.signers, ids))
    return SUCCESS


def _cancel_airdrop(invocation: Invocation) -> bytes:
    """An airdrop of the caller, with the token that was called."""
    token, receiver, serial = _token_and_arguments(invocation)
    ids = [PendingId(invocation.sender().id, receiver, token, serial)]
    cancel(invocation.ledger, invocation.signers, ids)
    return SUCCESS


def _claim_airdrop(invocation: Invocation) -> bytes:
    """An airdrop to the caller, with the token that was called."""
    token, sender, serial = _token_and_arguments(invocation)
    return _claim(invocation, [PendingId(sender, invocation.sender().id, token, serial)])


def _token_and_arguments(invocation: Invocation) -> tuple[int, int, int | None]:
    token = invocation.token()
    arguments: Any = invocation.decoded()
    account = Parties(invocation.ledger).number(arguments[0])
    return token.id, account, arguments[1] if len(arguments) > 1 else None


# REJECT


def _reject_tokens(invocation: Invocation) -> bytes:
    owner, tokens, nfts = invocation.decoded()
    arguments = Arguments(invocation)
    outcome = reject(
        invocation.ledger,
        invocation.signers,
        invocation.ledger.account_at(owner),
        [arguments.token_id(token) for token in tokens],
        [(arguments.token_id(token), serial_number) for token, serial_number in nfts],
    )
    log_outcome(invocation, outcome)
    return SUCCESS


def _reject_token(invocation: Invocation) -> bytes:
    """All units that the caller has of the token that was called, or serials of it."""
    token = invocation.token()
    serial_numbers: Any = invocation.decoded()
    tokens = [] if serial_numbers else [token.id]
    nfts = [(token.id, number) for number in serial_numbers[0]] if serial_numbers else []
    outcome = reject(invocation.ledger, invocation.signers, invocation.sender(), tokens, nfts)
    log_outcome(invocation, outcome)
    return SUCCESS


_GAS = costs(TOKEN_OPERATION)

FUNCTIONS = (
    Function("airdropTokens(TokenTransferListV2[])", _airdrop_tokens, gas=costs(AIRDROP), writes=True),
    Function("cancelAirdrops(PendingAirdrop[])", _cancel_airdrops, gas=_GAS, writes=True),
    Function("claimAirdrops(PendingAirdrop[])", _claim_airdrops, gas=_GAS, writes=True),
    Function("rejectTokens(address,address[],NftID[])", _reject_tokens, gas=_GAS, writes=True),
)
PROXY_FUNCTIONS = tuple(
    Function(signature, handler, gas=_GAS, writes=True)
    for signature, handler in (
        ("cancelAirdropFT(address)", _cancel_airdrop),
        ("cancelAirdropNFT(address,int64)", _cancel_airdrop),
        ("claimAirdropFT(address)", _claim_airdrop),
        ("claimAirdropNFT(address,int64)", _claim_airdrop),
        ("rejectTokenFT()", _reject_token),
        ("rejectTokenNFTs(int64[])", _reject_token),
    )
)
