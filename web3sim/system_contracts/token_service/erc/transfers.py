"""Transfers as a token answers them at its own address: ERC-20 and ERC-721."""

from mirror.core.db.reading.sql import MAX_INT64
from web3sim.engine.interface import Address
from web3sim.operations.holdings import owner_of
from web3sim.operations.prices import TRANSFER_UNITS
from web3sim.operations.transfers.body import TokenTransfers
from web3sim.state.tables.interface import Token
from web3sim.system_contracts.abi import InvalidArguments, word_of
from web3sim.system_contracts.functions import Function, Invocation, WrongType
from web3sim.system_contracts.token_service.erc.events import log_serial, log_units
from web3sim.system_contracts.token_service.transfers import (
    Arguments,
    priced_by_handler,
    transfer,
    units_between,
)

_TRUE = word_of(True)


def _token(invocation: Invocation, serial_number: int | None = None) -> Token:
    """Return the token that was called; a missing token costs as much. Errors: Refused."""
    invocation.more_gas = invocation.prices.gas_of(2 * TRANSFER_UNITS)
    assert invocation.target is not None
    invocation.ledger.load_token(invocation.target, serial_number)
    return invocation.token()


def _transfer(invocation: Invocation) -> bytes:
    """From the caller itself."""
    receiver, amount = invocation.decoded()
    token = _token(invocation)
    if token.unique:
        raise WrongType
    return _transfer_units(invocation, token, invocation.call.sender, receiver, amount, approved=False)


def _transfer_from(invocation: Invocation) -> bytes:
    """ERC-20: out of an allowance, also where the owner calls. ERC-721: by whoever owns or may spend it."""
    sender, receiver, number = invocation.decoded()
    if number > MAX_INT64:
        raise InvalidArguments(f"{number} is no amount and no serial number")
    token = _token(invocation, number)
    if not token.unique:
        return _transfer_units(invocation, token, sender, receiver, number, approved=True)
    arguments = Arguments(invocation)
    arguments.load((sender, receiver))
    row = invocation.ledger.nft(token.id, number)
    owns = row is not None and owner_of(token, row) == invocation.signers.sender_id
    nft = arguments.nft(sender, receiver, number, approved=not owns)
    outcome = transfer(invocation, arguments.transfers([TokenTransfers(token.id, nfts=(nft,))]))
    moved = outcome.nfts[token.id][0]
    log_serial(invocation, token.id, moved.sender, moved.receiver, moved.serial_number)
    return b""


def _transfer_units(
    invocation: Invocation, token: Token, sender: Address, receiver: Address, amount: int, *, approved: bool
) -> bytes:
    arguments = Arguments(invocation)
    adjustments = units_between(arguments, sender, receiver, amount, approved=approved)
    transfer(invocation, arguments.transfers([TokenTransfers(token.id, adjustments)]))
    giver, getter = invocation.account(sender), invocation.account(receiver)
    log_units(invocation, token.id, giver.id, getter.id, amount)
    return _TRUE


PROXY_FUNCTIONS = tuple(
    Function(signature, handler, "(bool)", priced_by_handler, writes=True, tells_code=False)
    for signature, handler in (
        ("transfer(address,uint256)", _transfer),
        ("transferFrom(address,address,uint256)", _transfer_from),
    )
)
