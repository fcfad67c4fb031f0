"""Transfers, airdrops and rejected tokens (HIP-904): from the arguments of calls to what the ledger does."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mirror.core.values import entity_id
from web3sim.engine.interface import ZERO_ADDRESS, Address
from web3sim.operations.holdings import account_number, existing_account, owner_of, pay_fee, token_address
from web3sim.operations.prices import AIRDROP, ASSOCIATE
from web3sim.operations.rejections import Rejected, Rejection, reject_if
from web3sim.operations.tokens.airdrops import MAX_PENDING_IDS, PendingId, airdrop
from web3sim.operations.tokens.reject import reject
from web3sim.operations.transfers.body import (
    Adjustment,
    NftTransfer,
    Outcome,
    Parties,
    TokenTransfers,
    Transfers,
    placeholder,
)
from web3sim.operations.transfers.checks import MAX_FUNGIBLE_ADJUSTMENTS, MAX_NFTS, credits_system_account
from web3sim.operations.transfers.crypto_transfer import crypto_transfer, price
from web3sim.state.overlay import Overlay
from web3sim.state.tables.rows import Token
from web3sim.system_contracts.abi import InvalidArguments, int64_of
from web3sim.system_contracts.functions import Invocation, UnknownFunction
from web3sim.system_contracts.token_service.events import log_fungible, log_nft, log_outcome

# Units, of one account each, and serials.
_Moves = tuple[Sequence[tuple[Any, ...]], Sequence[tuple[Any, ...]]]

_MAX_REJECTIONS = 10
_LAST_RESERVED_ACCOUNT = 1000


class _TransferBuilder:
    """A transfer between the accounts that the addresses of a call name."""

    def __init__(self, invocation: Invocation) -> None:
        self._ledger, self._sender = invocation.ledger, invocation.call.sender
        self.parties = Parties(invocation.ledger)
        self._missing_tokens: dict[Address, int] = {}

    def load(self, addresses: Iterable[Address]) -> None:
        """Read several accounts and the caller in one statement."""
        self._ledger.state.load({self._sender, *addresses})

    def load_lists(self, lists: Any, hbar: Any = ()) -> None:
        """Read the accounts of TransferLists of any version."""
        units = (each[0] for adjustments in (hbar, *(each[1] for each in lists)) for each in adjustments)
        self.load((*units, *(party for *_, nfts in lists for nft in nfts for party in nft[:2])))

    def token_id(self, address: Address, serial_number: int | None = None) -> int:
        """Return the id of a token, also one that the call has deleted, or a placeholder; 0 for none.

        With a serial number that serial is read, too.
        """
        long_zero = token_address(address)
        if long_zero == ZERO_ADDRESS:
            return 0
        self._ledger.load_token(long_zero, serial_number)
        token = self._ledger.known_token_at(long_zero)
        if token is not None:
            return token.id
        return self._missing_tokens.setdefault(long_zero, placeholder(len(self._missing_tokens)))

    def adjustment(self, address: Address, amount: int, approved: bool = False) -> Adjustment:
        return Adjustment(self.parties.number(address), amount, approved)

    def nft(self, sender: Address, receiver: Address, serial: int, approved: bool = False) -> NftTransfer:
        return NftTransfer(self.parties.number(sender), self.parties.number(receiver), serial, approved)

    def list(self, token: Address, adjustments: Any = (), nfts: Any = ()) -> TokenTransfers:
        """Return a TokenTransferList of any version."""
        only = nfts[0][2] if len(nfts) == 1 else None
        return TokenTransfers(
            self.token_id(token, only),
            tuple(self.adjustment(*each) for each in adjustments),
            tuple(self.nft(*each) for each in nfts),
        )

    def transfers(self, tokens: Iterable[TokenTransfers], hbar: Iterable[Adjustment] = ()) -> Transfers:
        return Transfers(tuple(hbar), tuple(tokens), self.parties.missing)

    def token_transfers(self, token: Address, adjustments: Any = (), nfts: Any = ()) -> Transfers:
        """Return the transfer of units or serials of one token."""
        self.load((*(each[0] for each in adjustments), *(each for nft in nfts for each in nft[:2])))
        return self.transfers([self.list(token, adjustments, nfts)])


# TRANSFERS BY THE SERVICE


def _transfer(invocation: Invocation, transfers: Transfers) -> None:
    """Carry out a transfer for its price, and that of the associations that it makes. Errors: Rejected."""
    invocation.extra_gas = invocation.prices.gas_of(price(invocation.ledger, transfers))
    reject_if(credits_system_account(transfers), "INVALID_RECEIVING_NODE_ACCOUNT", Rejection.WORD)
    outcome = crypto_transfer(invocation.ledger, invocation.sender_id, transfers)
    invocation.extra_gas += outcome.associations * invocation.prices.gas_of(ASSOCIATE)
    log_outcome(invocation, outcome)


def crypto_transfer_v1(invocation: Invocation, lists: Any) -> None:
    _transfer_lists(invocation, (), lists)


def crypto_transfer_v2(invocation: Invocation, hbar: Any, lists: Any) -> None:
    _transfer_lists(invocation, hbar[0], lists)


def _transfer_lists(invocation: Invocation, hbar: Any, lists: Any) -> None:
    """The lists of a token become one, of units or else of serials; amounts of an account are added."""
    body = _TransferBuilder(invocation)
    body.load_lists(lists, hbar)
    by_token: dict[int, TokenTransfers] = {}
    for token, units, nfts in lists:
        transfers = body.list(token, units, () if units else nfts)
        old = by_token.get(transfers.token_id, TokenTransfers(transfers.token_id))
        by_token[transfers.token_id] = TokenTransfers(
            transfers.token_id,
            _added(old.adjustments, transfers.adjustments) if old.adjustments else transfers.adjustments,
            tuple(dict.fromkeys((*old.nfts, *transfers.nfts))),
        )
    tinybars = _added((), [body.adjustment(*each) for each in hbar])
    _transfer(invocation, body.transfers(by_token.values(), tinybars))


def _added(first: Iterable[Adjustment], second: Iterable[Adjustment]) -> tuple[Adjustment, ...]:
    by_account: dict[int, Adjustment] = {}
    for each in (*first, *second):
        known = by_account.get(each.account, Adjustment(each.account, 0))
        approved = known.approved or each.approved
        by_account[each.account] = Adjustment(each.account, known.amount + each.amount, approved)
    return tuple(by_account.values())


def _concatenate(*lists: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Errors: InvalidArguments, if the lists have different lengths."""
    try:
        return list(zip(*lists, strict=True))
    except ValueError as error:
        raise InvalidArguments(str(error)) from None


def _transfer_token(sender: Address, receiver: Address, amount: int) -> _Moves:
    if amount < 0:
        raise InvalidArguments(f"{amount} is no amount of units")
    return ((sender, -amount), (receiver, amount)), ()


#: The units and serials that a call moves, by the arguments behind the token. Those of `From` are out of an
#: allowance, also where the owner calls.
MOVES: Mapping[str, Callable[..., _Moves]] = {
    "transferFrom(address,address,address,uint256)": lambda sender, receiver, amount: (
        ((sender, -int64_of(amount), True), (receiver, amount)),
        (),
    ),
    "transferFromNFT(address,address,address,uint256)": lambda sender, receiver, serial: (
        (),
        [(sender, receiver, int64_of(serial), True)],
    ),
    "transferNFT(address,address,address,int64)": lambda *nft: ((), [nft]),
    "transferNFTs(address,address[],address[],int64[])": lambda *lists: ((), _concatenate(*lists)),
    "transferToken(address,address,address,int64)": _transfer_token,
    "transferTokens(address,address[],int64[])": lambda *lists: (_concatenate(*lists), ()),
}


def transfer_function(moves: Callable[..., _Moves]) -> Callable[..., None]:
    """Return the function that moves units or serials of the token in its first argument."""

    def function(invocation: Invocation, token: Address, *arguments: Any) -> None:
        _transfer(invocation, _TransferBuilder(invocation).token_transfers(token, *moves(*arguments)))

    return function


# TRANSFERS BY THE TOKEN


def called_token(invocation: Invocation, address: Address, serial: int | None = None) -> Token:
    """Return the token that was called. Errors: InvalidArguments, if there is none."""
    invocation.ledger.load_token(address, serial)
    try:
        return invocation.token(address)
    except Rejected:
        raise InvalidArguments("there is no such token") from None


def erc_transfer_limits(invocation: Invocation, token: Address, receiver: Address, amount: int) -> None:
    """Of unique tokens there is no such function."""
    if called_token(invocation, token).unique:
        raise UnknownFunction


def erc_transfer(invocation: Invocation, token: Address, receiver: Address, amount: int) -> bool:
    """From the caller itself."""
    units = ((invocation.call.sender, -int64_of(amount)), (receiver, amount))
    return _erc_transfer(invocation, called_token(invocation, token), units)


def erc_transfer_from(
    invocation: Invocation, address: Address, sender: Address, receiver: Address, number: int
) -> bool | None:
    """ERC-20: out of an allowance, also where the owner calls. ERC-721: by whoever owns or may spend it."""
    token = called_token(invocation, address, int64_of(number))
    if not token.unique:
        return _erc_transfer(invocation, token, ((sender, -number, True), (receiver, number)))
    row = invocation.ledger.nft(token.id, number)
    owns = row is not None and owner_of(token, row) == invocation.sender_id
    outcome = _transfer_called(invocation, token, nfts=[(sender, receiver, number, not owns)])
    log_nft(invocation, token.id, outcome.nfts[token.id][0])
    return None


def _erc_transfer(invocation: Invocation, token: Token, units: tuple[Any, ...]) -> bool:
    _transfer_called(invocation, token, units)
    sender, receiver = (existing_account(invocation.ledger, address).id for address, *_ in units)
    log_fungible(invocation, token.id, sender, receiver, units[1][1])
    return True


def _transfer_called(invocation: Invocation, token: Token, units: Any = (), nfts: Any = ()) -> Outcome:
    transfers = _TransferBuilder(invocation).token_transfers(entity_id.long_zero(token.id), units, nfts)
    invocation.extra_gas = invocation.prices.gas_of(price(invocation.ledger, transfers))
    return crypto_transfer(invocation.ledger, invocation.sender_id, transfers)


# AIRDROPS


def airdrop_limits(invocation: Invocation, lists: Any) -> None:
    """Refuse too many units or serials, then receivers of the network itself or without a number."""
    units, nfts = (sum(len(each[index]) for each in lists) for index in (1, 2))
    too_many = units > MAX_FUNGIBLE_ADJUSTMENTS or nfts > MAX_NFTS
    reject_if(too_many, "TOKEN_REFERENCE_LIST_SIZE_LIMIT_EXCEEDED")
    credited = [
        *(address for _, units, _ in lists for address, amount, _ in units if amount > 0),
        *(receiver for _, _, nfts in lists for _, receiver, _, _ in nfts),
    ]
    invocation.ledger.state.load(credited)
    for address in credited:
        number = account_number(invocation.ledger, address)
        reserved = number is not None and entity_id.decode(number)[2] <= _LAST_RESERVED_ACCOUNT
        reject_if(reserved, "INVALID_RECEIVING_NODE_ACCOUNT")


def airdrop_tokens(invocation: Invocation, lists: Any) -> None:
    """Each list stays as it is: a token that is there twice is refused."""
    ledger, payer, prices = invocation.ledger, invocation.sender_id, invocation.prices

    def charge(new: int, repeated: int) -> None:
        if payer is not None:
            pay_fee(ledger, payer, prices.tinybars(new * AIRDROP + repeated * ASSOCIATE))

    body = _TransferBuilder(invocation)
    body.load_lists(lists)
    outcome = airdrop(ledger, body.transfers([body.list(*each) for each in lists]), charge)
    log_outcome(invocation, outcome)


PendingOperation = Callable[[Overlay, Sequence[PendingId]], None]


def pending_limits(invocation: Invocation, structs: Sequence[Any]) -> None:
    too_many = len(structs) > MAX_PENDING_IDS
    reject_if(too_many, "PENDING_AIRDROP_ID_LIST_TOO_LONG")
    for _, _, token, _ in structs:
        invocation.token(token_address(token))


def _numbers(ledger: Overlay) -> Callable[[Address], int]:
    """Return what numbers the parties of pending airdrops; 0 is no account's."""
    parties = Parties(ledger)
    return lambda address: 0 if account_number(ledger, address) == 0 else parties.number(address)


def pending_function(operation: PendingOperation) -> Callable[[Invocation, Any], None]:
    """Return the function that claims or cancels several airdrops."""

    def function(invocation: Invocation, structs: Any) -> None:
        invocation.ledger.state.load({party for struct in structs for party in struct[:2]})
        number = _numbers(invocation.ledger)
        ids = []
        for sender, receiver, address, serial in structs:
            token = invocation.token(token_address(address))
            ids.append(
                PendingId(number(sender), number(receiver), token.id, serial if token.unique else None)
            )
        operation(invocation.ledger, ids)

    return function


def called_pending_function(operation: PendingOperation, *, sending: bool) -> Callable[..., None]:
    """Return the function that claims or cancels an airdrop of the token that was called.

    `sending`: the caller is its sender, or else its receiver.
    """

    def function(
        invocation: Invocation, token_at: Address, other: Address, serial: int | None = None
    ) -> None:
        invocation.ledger.state.load((invocation.call.sender, other))
        token, number = called_token(invocation, token_at), _numbers(invocation.ledger)
        parties = number(invocation.call.sender), number(other)
        operation(invocation.ledger, [PendingId(*(parties if sending else parties[::-1]), token.id, serial)])

    return function


# REJECTIONS


def reject_limits(invocation: Invocation, owner: Address, tokens: Sequence[Any], nfts: Sequence[Any]) -> None:
    too_many = len(tokens) + len(nfts) > _MAX_REJECTIONS
    reject_if(too_many, "TOKEN_REFERENCE_LIST_SIZE_LIMIT_EXCEEDED")


def reject_called_token(invocation: Invocation, token: Address) -> None:
    """All units that the caller has."""
    reject(invocation.ledger, invocation.call.sender, [token], [])


def reject_called_limits(invocation: Invocation, token: Address, serials: Sequence[int]) -> None:
    reject_limits(invocation, invocation.call.sender, (), serials)


def reject_called_nfts(invocation: Invocation, token: Address, serials: Sequence[int]) -> None:
    reject(invocation.ledger, invocation.call.sender, [], [(token, serial) for serial in serials])
