"""What a token answers as a contract at its own address: the views of ERC-20 and ERC-721 (HIP-218, HIP-376).

Amounts are in the token's smallest unit.
"""

from typing import Protocol

from mirror.core.db.reading.sql import MAX_INT64
from web3sim.operations.refusals import Refused
from web3sim.state.tables.interface import Nft, Token
from web3sim.system_contracts.abi import address_at, number_at, one_string, word_of, word_of_address
from web3sim.system_contracts.functions import Function, Handler, Invocation, WrongType

_MOST_DECIMALS = 255
_NO_SERIAL = b"ERC721Metadata: URI query for nonexistent token"
_ZERO_ADDRESS = bytes(20)


class OfToken(Protocol):
    """A view of a token whose other arguments begin with the one of index `first`."""

    def __call__(self, invocation: Invocation, token: Token, first: int = 0) -> bytes: ...


def _own(answer: OfToken) -> Handler:
    """Return the function of the token that was called."""
    return lambda invocation: answer(invocation, invocation.token())


def _accounts(invocation: Invocation, first: int, count: int) -> list[int | None]:
    """The ids of the accounts that some arguments name. Errors: InvalidArguments."""
    addresses = [address_at(invocation.arguments, first + index) for index in range(count)]
    invocation.ledger.state.load(addresses)
    return [invocation.ledger.account_id_at(address) for address in addresses]


def _nft(invocation: Invocation, token: Token, argument: int = 0) -> Nft | None:
    """The serial that an argument names. Errors: InvalidArguments."""
    serial_number = number_at(invocation.arguments, argument)
    if not token.unique or serial_number > MAX_INT64:
        return None
    return invocation.ledger.nft(token.id, serial_number)


# BOTH TYPES


def _name(invocation: Invocation) -> bytes:
    return one_string(invocation.token().name.encode())


def _symbol(invocation: Invocation) -> bytes:
    return one_string(invocation.token().symbol.encode())


def _total_supply(invocation: Invocation) -> bytes:
    return _amount(invocation.ledger.total_supply(invocation.token()))


def _balance_of(invocation: Invocation) -> bytes:
    token = invocation.token()
    account = invocation.ledger.account_id_at(address_at(invocation.arguments, 0))
    if account is None:
        raise Refused("INVALID_ACCOUNT_ID")
    return _amount(invocation.ledger.token_balance(token, account))


# FUNGIBLE


def _decimals(invocation: Invocation) -> bytes:
    token = invocation.token()
    if token.unique:
        raise WrongType
    return word_of(min(token.decimals, _MOST_DECIMALS))


def allowance(invocation: Invocation, token: Token, first: int = 0) -> bytes:
    """Arguments: owner, spender."""
    owner, spender = _accounts(invocation, first, 2)
    if token.unique:
        raise Refused("INVALID_TOKEN_ID")
    if owner is None:
        raise Refused("INVALID_ALLOWANCE_OWNER_ID")
    return _amount(0 if spender is None else invocation.ledger.token_allowance(token.id, owner, spender))


# UNIQUE


def _owner_of(invocation: Invocation) -> bytes:
    token = invocation.token()
    nft = _nft(invocation, token)
    if not token.unique:
        raise WrongType
    if nft is None:
        raise Refused("INVALID_TOKEN_NFT_SERIAL_NUMBER", as_word=True)
    owner = invocation.ledger.entity(nft.account_id or token.treasury_account_id)
    if owner is None:
        raise Refused("INVALID_ACCOUNT_ID", as_word=True)
    return word_of_address(owner.address)


def _token_uri(invocation: Invocation) -> bytes:
    token = invocation.token()
    nft = _nft(invocation, token)
    if not token.unique:
        raise WrongType
    return one_string(_NO_SERIAL if nft is None else nft.metadata.decode(errors="replace").encode())


def get_approved(invocation: Invocation, token: Token, first: int = 0) -> bytes:
    """Argument: the serial."""
    nft = _nft(invocation, token, first)
    if nft is None:
        wrong_token = invocation.call.static and not token.unique
        raise Refused("INVALID_TOKEN_ID" if wrong_token else "INVALID_TOKEN_NFT_SERIAL_NUMBER")
    return word_of_address(invocation.ledger.address_of(nft.spender) if nft.spender else _ZERO_ADDRESS)


def is_approved_for_all(invocation: Invocation, token: Token, first: int = 0) -> bytes:
    """Arguments: owner, operator. An unknown account approves and is approved for nothing."""
    owner, operator = _accounts(invocation, first, 2)
    if not token.unique:
        raise Refused("INVALID_TOKEN_ID")
    if owner is None or operator is None:
        return word_of(False)
    return word_of(invocation.ledger.approved_for_all(token.id, owner, operator))


def _amount(number: int) -> bytes:
    """Of balances older than what is stored, the debits may be known, but not the credits."""
    return word_of(max(number, 0))


PROXY_FUNCTIONS = (
    Function("name()", _name, "(string)"),
    Function("symbol()", _symbol, "(string)"),
    Function("decimals()", _decimals, "(uint8)"),
    Function("totalSupply()", _total_supply, "(uint256)"),
    Function("balanceOf(address)", _balance_of, "(uint256)"),
    Function("allowance(address,address)", _own(allowance), "(uint256)"),
    Function("getApproved(uint256)", _own(get_approved), "(address)"),
    Function("isApprovedForAll(address,address)", _own(is_approved_for_all), "(bool)"),
    Function("ownerOf(uint256)", _owner_of, "(address)"),
    Function("tokenURI(uint256)", _token_uri, "(string)"),
)
