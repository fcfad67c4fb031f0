"""The token service, 0x167: what a token answers as a contract at its own address (ERC-20, ERC-721).

A question comes through the proxy code at that address, or as `redirectForToken(address,bytes)`. Amounts are
in the token's smallest unit.
"""

from collections.abc import Callable
from dataclasses import dataclass

from mirror.db.sql import MAX_INT64
from mirror.values.result_codes import NAMES
from web3sim.engine.interface import Address, SystemAnswer
from web3sim.state.ledger import LedgerState
from web3sim.state.tables.interface import Nft, Token
from web3sim.system_contracts.abi import address_at, number_at, one_string, word_of, word_of_address

# From the canonical price of a query, whatever it answers.
VIEW_GAS = 2_607

_NUMBERS = {name: number for number, name in NAMES.items()}
_MOST_DECIMALS = 255
_NO_SERIAL = b"ERC721Metadata: URI query for nonexistent token"
_NOBODY = bytes(20)


class WrongType(Exception):
    """The function is not one of tokens of this type: the service halts."""


class Refused(Exception):
    """The service reverts with the name of a response code, or with its number as a word."""

    def __init__(self, code: str, *, as_word: bool = False) -> None:
        self.code = code
        self.output = word_of(_NUMBERS[code]) if as_word else code.encode()
        super().__init__(code)


@dataclass(frozen=True, slots=True)
class Question:
    """`arguments` is what follows the selector; `static`: nothing in this frame may change the state."""

    state: LedgerState
    token: Token
    arguments: bytes
    static: bool

    def accounts(self, count: int) -> list[int | None]:
        """The ids of the accounts that the first arguments name. Errors: InvalidArguments."""
        addresses = [address_at(self.arguments, index) for index in range(count)]
        self.state.load(addresses)
        return [self.state.account_id_at(address) for address in addresses]

    def nft(self) -> Nft | None:
        """The serial that the first argument names. Errors: InvalidArguments."""
        serial_number = number_at(self.arguments, 0)
        if not self.token.unique or serial_number > MAX_INT64:
            return None
        return self.state.nft(self.token.id, serial_number)


View = Callable[[Question], bytes]


def answer_view(
    state: LedgerState, token: Address, signature: str, arguments: bytes, static: bool
) -> SystemAnswer:
    """Answer one of VIEWS for the token at an address. Errors: InvalidArguments, WrongType."""
    try:
        found = state.token_at(token)
        if found is None:
            raise Refused("INVALID_TOKEN_ID")
        output = VIEWS[signature](Question(state, found, arguments, static))
    except Refused as refused:
        return SystemAnswer(refused.output, gas=VIEW_GAS, reverted=True, child_failure=refused.code)
    return SystemAnswer(output, gas=VIEW_GAS)


# BOTH TYPES


def _name(question: Question) -> bytes:
    return one_string(question.token.name.encode())


def _symbol(question: Question) -> bytes:
    return one_string(question.token.symbol.encode())


def _total_supply(question: Question) -> bytes:
    return _amount(question.state.total_supply(question.token))


def _balance_of(question: Question) -> bytes:
    (account,) = question.accounts(1)
    if account is None:
        raise Refused("INVALID_ACCOUNT_ID")
    return _amount(question.state.token_balance(question.token, account))


# FUNGIBLE


def _decimals(question: Question) -> bytes:
    if question.token.unique:
        raise WrongType
    return word_of(min(question.token.decimals, _MOST_DECIMALS))


def _allowance(question: Question) -> bytes:
    owner, spender = question.accounts(2)
    if question.token.unique:
        raise Refused("INVALID_TOKEN_ID")
    if owner is None:
        raise Refused("INVALID_ALLOWANCE_OWNER_ID")
    return _amount(
        0 if spender is None else question.state.token_allowance(question.token.id, owner, spender)
    )


# UNIQUE


def _owner_of(question: Question) -> bytes:
    nft = question.nft()
    if not question.token.unique:
        raise WrongType
    if nft is None:
        raise Refused("INVALID_TOKEN_NFT_SERIAL_NUMBER", as_word=True)
    owner = question.state.entity(nft.account_id or question.token.treasury_account_id)
    if owner is None:
        raise Refused("INVALID_ACCOUNT_ID", as_word=True)
    return word_of_address(owner.address)


def _token_uri(question: Question) -> bytes:
    nft = question.nft()
    if not question.token.unique:
        raise WrongType
    return one_string(_NO_SERIAL if nft is None else nft.metadata.decode(errors="replace").encode())


def _get_approved(question: Question) -> bytes:
    nft = question.nft()
    if nft is None:
        wrong_token = question.static and not question.token.unique
        raise Refused("INVALID_TOKEN_ID" if wrong_token else "INVALID_TOKEN_NFT_SERIAL_NUMBER")
    return word_of_address(question.state.address_of(nft.spender) if nft.spender else _NOBODY)


def _is_approved_for_all(question: Question) -> bytes:
    owner, operator = question.accounts(2)
    if owner is None or operator is None:
        return word_of(False)
    return word_of(question.state.approved_for_all(question.token.id, owner, operator))


def _amount(number: int) -> bytes:
    """Of what is older than what is stored, more may be known to have gone than to have come."""
    return word_of(max(number, 0))


VIEWS: dict[str, View] = {
    "name()": _name,
    "symbol()": _symbol,
    "decimals()": _decimals,
    "totalSupply()": _total_supply,
    "balanceOf(address)": _balance_of,
    "allowance(address,address)": _allowance,
    "getApproved(uint256)": _get_approved,
    "isApprovedForAll(address,address)": _is_approved_for_all,
    "ownerOf(uint256)": _owner_of,
    "tokenURI(uint256)": _token_uri,
}
