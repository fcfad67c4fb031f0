"""The events of ERC-20 and ERC-721, logged by the address of a token: Transfer, Approval, ApprovalForAll.

A number is an amount in the token's smallest unit; of a unique token it is a serial number, which is indexed.
"""

from mirror.values.hashes import keccak256
from web3sim.state.tables.interface import Token
from web3sim.system_contracts.abi import word_of
from web3sim.system_contracts.functions import Invocation

TRANSFER = keccak256(b"Transfer(address,address,uint256)")
APPROVAL = keccak256(b"Approval(address,address,uint256)")
APPROVAL_FOR_ALL = keccak256(b"ApprovalForAll(address,address,bool)")
_NOBODY = bytes(20)


def log_transfer(
    invocation: Invocation, token: Token, sender: int | None, receiver: int | None, number: int
) -> None:
    """None in place of the sender is a mint, of the receiver a burn or wipe."""
    _log(invocation, token, TRANSFER, sender, receiver, number)


def log_approval(invocation: Invocation, token: Token, owner: int, spender: int | None, number: int) -> None:
    """None in place of the spender: nobody is approved."""
    _log(invocation, token, APPROVAL, owner, spender, number)


def log_approval_for_all(
    invocation: Invocation, token: Token, owner: int, operator: bytes, *, approved: bool
) -> None:
    ledger = invocation.ledger
    owner_address = ledger.address_of(owner)
    invocation.log(
        ledger.address_of(token.id), APPROVAL_FOR_ALL, owner_address, operator, data=word_of(approved)
    )


def _log(
    invocation: Invocation, token: Token, event: bytes, first: int | None, second: int | None, number: int
) -> None:
    ledger = invocation.ledger
    addresses = [_NOBODY if each is None else ledger.address_of(each) for each in (first, second)]
    if token.unique:
        invocation.log(ledger.address_of(token.id), event, *addresses, word_of(number))
    else:
        invocation.log(ledger.address_of(token.id), event, *addresses, data=word_of(number))
