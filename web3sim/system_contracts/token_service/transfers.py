"""Transfers of hbar and tokens, by the functions that name a token."""

from collections.abc import Iterable, Sequence
from typing import Any

from mirror.core.db.reading.sql import MAX_INT64
from web3sim.engine.interface import Address
from web3sim.operations.crypto_transfer import crypto_transfer, price, with_approvals
from web3sim.operations.prices import ASSOCIATE
from web3sim.operations.refusals import Refused
from web3sim.operations.transfers.body import (
    Adjustment,
    NftTransfer,
    Outcome,
    Parties,
    TokenTransfers,
    Transfers,
    is_placeholder,
    placeholder,
)
from web3sim.operations.transfers.checks import credits_system_account
from web3sim.system_contracts.abi import InvalidArguments, word_of
from web3sim.system_contracts.functions import Function, Invocation
from web3sim.system_contracts.token_service.erc.events import log_outcome

SUCCESS = word_of(22)


# ARGUMENTS


class Arguments:
    """The accounts of a transfer by the addresses in the call."""

    def __init__(self, invocation: Invocation) -> None:
        self._ledger, self._sender = invocation.ledger, invocation.call.sender
        self.parties = Parties(invocation.ledger)
        self._missing_tokens: dict[Address, int] = {}

    def load(self, addresses: Iterable[Address]) -> None:
        """Read several accounts and the caller in one statement."""
        self._ledger.state.load({self._sender, *addresses})

    def token_id(self, address: Address, serial_number: int | None = None) -> int:
        """Return the id of a token, also one that the call has deleted, or a placeholder.

        With a serial number that serial is read, too.
        """
        self._ledger.load_token(address, serial_number)
        token = self._ledger.token_at(address) or self._ledger.token_deleted_at(address)
        if token is not None:
            return token.id
        return self._missing_tokens.setdefault(address, placeholder(len(self._missing_tokens)))

    def adjustment(self, address: Address, amount: int, approved: bool = False) -> Adjustment:
        return Adjustment(self.parties.number(address), amount, approved)

    def nft(self, sender: Address, receiver: Address, serial: int, approved: bool = False) -> NftTransfer:
        return NftTransfer(self.parties.number(sender), self.parties.number(receiver), serial, approved)

    def tokens(self, lists: Iterable[tuple[Any, ...]]) -> tuple[TokenTransfers, ...]:
        """TokenTransferList of any version: units, or without those serials; each token becomes one list."""
        lists = list(lists)
        self.load(
            address
            for _, adjustments, nfts in lists
            for address in (*(each[0] for each in adjustments), *(nft[1] for nft in nfts))
        )
        by_token: dict[int, TokenTransfers] = {}
        for token, adjustments, nfts in lists:
            token_id = self.token_id(token)
            if adjustments:
                transfers = TokenTransfers(token_id, tuple(self.adjustment(*each) for each in adjustments))
            else:
                transfers = TokenTransfers(token_id, nfts=tuple(self.nft(*each) for each in nfts))
            known = by_token.get(token_id)
            by_token[token_id] = transfers if known is None else _merged(known, transfers)
        return tuple(by_token.values())

    def transfers(self, tokens: Iterable[TokenTransfers], hbar: Iterable[Adjustment] = ()) -> Transfers:
        return Transfers(tuple(hbar), tuple(tokens), self.parties.missing)


def _merged(first: TokenTransfers, second: TokenTransfers) -> TokenTransfers:
    """Two lists of a token as one: amounts of an account are added, a serial stays once."""
    by_account: dict[int, Adjustment] = {}
    for each in (*first.adjustments, *second.adjustments):
        known = by_account.get(each.account, Adjustment(each.account, 0))
        by_account[each.account] = Adjustment(
            each.account, known.amount + each.amount, known.approved or each.approved
        )
    nfts = tuple(dict.fromkeys((*first.nfts, *second.nfts)))
    return TokenTransfers(first.token_id, tuple(by_account.values()), nfts)


def units_between(
    arguments: Arguments, sender: Address, receiver: Address, amount: int, *, approved: bool
) -> tuple[Adjustment, Adjustment]:
    """Return what the receiver gets and the sender gives. Errors: InvalidArguments."""
    if amount > MAX_INT64:
        raise InvalidArguments(f"{amount} is no amount of units")
    arguments.load((sender, receiver))
    return arguments.adjustment(receiver, amount), arguments.adjustment(sender, -amount, approved)


def _by_account(adjustments: Iterable[Adjustment]) -> tuple[Adjustment, ...]:
    """In the order in which the network processes two accounts: by number, new ones last."""
    return tuple(sorted(adjustments, key=lambda each: (is_placeholder(each.account), each.account)))


# TRANSFER


def transfer(invocation: Invocation, transfers: Transfers) -> Outcome:
    """Carry out transfers for their price. Errors: Refused."""
    invocation.more_gas = invocation.prices.gas_of(price(invocation.ledger, transfers))
    outcome = crypto_transfer(invocation.ledger, invocation.signers, transfers)
    invocation.more_gas += outcome.associations * invocation.prices.gas_of(ASSOCIATE)
    return outcome


def _transfer_all(invocation: Invocation, transfers: Transfers, *, by_approval: bool = False) -> bytes:
    """Whoever has not signed gives by its allowance, unless the function is one that uses allowances."""
    if credits_system_account(transfers):
        invocation.more_gas = invocation.prices.gas_of(price(invocation.ledger, transfers))
        raise Refused("INVALID_RECEIVING_NODE_ACCOUNT", reverts=True)
    if not by_approval:
        transfers = with_approvals(invocation.ledger, invocation.signers, transfers)
    log_outcome(invocation, transfer(invocation, transfers))
    return SUCCESS


# FUNCTIONS


def _crypto_transfer_v1(invocation: Invocation) -> bytes:
    (lists,) = invocation.decoded()
    arguments = Arguments(invocation)
    return _transfer_all(invocation, arguments.transfers(arguments.tokens(lists)))


def _crypto_transfer_v2(invocation: Invocation) -> bytes:
    (hbar,), lists = invocation.decoded()
    arguments = Arguments(invocation)
    adjustments = [arguments.adjustment(*each) for each in hbar]
    return _transfer_all(invocation, arguments.transfers(arguments.tokens(lists), adjustments))


def _transfer_token(invocation: Invocation) -> bytes:
    return _transfer_units(invocation, approved=False)


def _transfer_from(invocation: Invocation) -> bytes:
    return _transfer_units(invocation, approved=True)


def _transfer_units(invocation: Invocation, *, approved: bool) -> bytes:
    token, sender, receiver, amount = invocation.decoded()
    arguments = Arguments(invocation)
    adjustments = units_between(arguments, sender, receiver, amount, approved=approved)
    tokens = TokenTransfers(arguments.token_id(token), _by_account(adjustments))
    transfers = arguments.transfers([tokens])
    if amount < 0:
        invocation.more_gas = invocation.prices.gas_of(price(invocation.ledger, transfers))
        raise Refused("INVALID_TRANSACTION_BODY", as_word=False, reverts=True)
    return _transfer_all(invocation, transfers, by_approval=approved)


def _transfer_tokens(invocation: Invocation) -> bytes:
    token, accounts, amounts = invocation.decoded()
    _check_lengths(accounts, amounts)
    arguments = Arguments(invocation)
    arguments.load(accounts)
    adjustments = tuple(map(arguments.adjustment, accounts, amounts))
    tokens = TokenTransfers(arguments.token_id(token), adjustments)
    return _transfer_all(invocation, arguments.transfers([tokens]))


def _transfer_nft(invocation: Invocation) -> bytes:
    token, sender, receiver, serial_number = invocation.decoded()
    return _transfer_serials(invocation, token, [sender], [receiver], [serial_number])


def _transfer_nfts(invocation: Invocation) -> bytes:
    token, senders, receivers, serial_numbers = invocation.decoded()
    _check_lengths(senders, receivers, serial_numbers)
    return _transfer_serials(invocation, token, senders, receivers, serial_numbers)


def _transfer_serials(
    invocation: Invocation,
    token: Address,
    senders: Sequence[Address],
    receivers: Sequence[Address],
    serial_numbers: Sequence[int],
) -> bytes:
    arguments = Arguments(invocation)
    arguments.load((*senders, *receivers))
    nfts = tuple(map(arguments.nft, senders, receivers, serial_numbers))
    only = serial_numbers[0] if len(serial_numbers) == 1 else None
    tokens = TokenTransfers(arguments.token_id(token, only), nfts=nfts)
    return _transfer_all(invocation, arguments.transfers([tokens]))


def _transfer_from_nft(invocation: Invocation) -> bytes:
    token, sender, receiver, serial_number = invocation.decoded()
    if serial_number > MAX_INT64:
        raise InvalidArguments(f"{serial_number} is no serial number")
    arguments = Arguments(invocation)
    arguments.load((sender, receiver))
    nft = arguments.nft(sender, receiver, serial_number, approved=True)
    tokens = TokenTransfers(arguments.token_id(token, serial_number), nfts=(nft,))
    return _transfer_all(invocation, arguments.transfers([tokens]), by_approval=True)


def _check_lengths(first: Sequence[Any], *others: Sequence[Any]) -> None:
    if any(len(other) != len(first) for other in others):
        raise InvalidArguments("the lists have different lengths")


def priced_by_handler(invocation: Invocation) -> int:
    """None: the handler adds the gas, which depends on the ledger before the transfer."""
    return 0


FUNCTIONS = tuple(
    Function(signature, handler, gas=priced_by_handler, writes=True)
    for signature, handler in (
        ("cryptoTransfer(TokenTransferListV1[])", _crypto_transfer_v1),
        ("cryptoTransfer(TransferList,TokenTransferListV2[])", _crypto_transfer_v2),
        ("transferFrom(address,address,address,uint256)", _transfer_from),
        ("transferFromNFT(address,address,address,uint256)", _transfer_from_nft),
        ("transferNFT(address,address,address,int64)", _transfer_nft),
        ("transferNFTs(address,address[],address[],int64[])", _transfer_nfts),
        ("transferToken(address,address,address,int64)", _transfer_token),
        ("transferTokens(address,address[],int64[])", _transfer_tokens),
    )
)
