"""Token transfers of one transaction: custom fees, refusals, and their effects."""

from typing import Any

from mirror.demo.network import Network
from mirror.demo.streams.record_files import transfer_list
from mirror.demo.world.accounts import HBAR
from mirror.demo.world.messages import Move, assessed_fee, association, serials, units
from mirror.demo.world.tokens import CustomFee, FixedFee, FractionalFee, Token

_MARGIN = 2 * HBAR  # what is left for the fee of the transaction


class Transfers:
    """The transfers of one transaction, to be used in this order.

    `pay` and `move` add transfers, and `body` returns the body. `assess` adds the custom fees (HIP-18),
    `failure` returns the result code of a failure, and `settle` changes the world. Receivers that have
    `claimed` the transfers are associated whatever their limit is.
    """

    def __init__(self, network: Network, *, claimed: bool = False) -> None:
        self.hbars: dict[int, int] = {}
        self._network = network
        self._units: dict[int, dict[int, int]] = {}
        self._serials: dict[int, list[Move]] = {}
        self._fees: list[Any] = []
        self._requested: dict[int, dict[int, int]] = {}
        self._claimed = claimed
        self.settled = False

    # TRANSFERS

    def pay(self, sender: int, receiver: int, amount: int) -> None:
        self._add(None, sender, -amount)
        self._add(None, receiver, amount)

    def move(self, token: Token, sender: int, receiver: int, share: int) -> None:
        """Move units of a fungible token, or a serial."""
        if token.fungible:
            self._add(token.number, sender, -share)
            self._add(token.number, receiver, share)
        else:
            self._serials.setdefault(token.number, []).append((share, sender, receiver))

    def lists(self, *, approved: bool = False) -> list[Any]:
        """Return the TokenTransferLists; `approved` debits use an allowance."""
        lists = [serials(token, moves, approved=approved) for token, moves in self._serials.items()]
        not_zero = (
            (token, {of: amount for of, amount in amounts.items() if amount})
            for token, amounts in self._units.items()
        )
        return [*(units(token, amounts, approved=approved) for token, amounts in not_zero), *lists]

    def body(self, *, approved: bool = False) -> dict[str, Any]:
        hbars = transfer_list(self.hbars) if self.hbars else None
        return {"tokenTransfers": self.lists(approved=approved), "transfers": hbars}

    def _add(self, token: int | None, of: int, amount: int) -> None:
        amounts = self.hbars if token is None else self._units.setdefault(token, {})
        amounts[of] = amounts.get(of, 0) + amount

    # CUSTOM FEES

    def assess(self) -> None:
        """Add the custom fees of the requested transfers."""
        issued, paid = self._network.world.tokens.issued, dict(self.hbars)
        self._requested = {token: dict(amounts) for token, amounts in self._units.items()}
        for number, amounts in self._requested.items():
            for of, amount in amounts.items():
                if amount < 0:
                    self._assess(issued[number], of)
        for number, moves in self._serials.items():
            charged = set()
            for _, sender, receiver in moves:
                if sender and receiver and sender not in charged:
                    charged.add(sender)
                    self._assess(issued[number], sender, receiver, paid.get(sender, 0))

    def _assess(self, token: Token, sender: int, receiver: int = 0, hbars: int = 0) -> None:
        """Add the fees of a sender of units, or of serials, for which the sender gets hbars or units."""
        prices: list[tuple[int | None, int]] = [(None, hbars)]
        prices += [(currency, amounts.get(sender, 0)) for currency, amounts in self._requested.items()]
        prices = [price for price in prices if price[1] > 0]
        for fee in token.fees:
            if token.exempts(sender, fee):
                continue
            if isinstance(fee, FixedFee):
                self._charge(fee, sender, fee.amount, fee.denominating_token)
            elif isinstance(fee, FractionalFee):
                payer, amounts = sender, self._requested[token.number]
                if not fee.net_of_transfers:
                    (payer,) = (of for of, amount in amounts.items() if amount > 0)
                if not token.exempts(payer, fee):
                    self._charge(fee, payer, fee.compute(-amounts[sender]), token.number)
            elif prices:
                for unit, amount in prices:
                    self._charge(fee, sender, amount * fee.numerator // fee.denominator, unit)
            elif fee.fallback and not token.exempts(receiver, fee):
                self._charge(fee, receiver, fee.fallback.amount, fee.fallback.denominating_token)

    def _charge(self, fee: CustomFee, payer: int, amount: int, token: int | None) -> None:
        if amount:
            self._add(token, payer, -amount)
            self._add(token, fee.collector, amount)
            self._fees.append(assessed_fee(amount, token, fee.collector, [payer]))

    # REFUSAL

    def failure(self) -> str | None:
        """Return the result code of the failure; None if the transfers succeed."""
        tokens, accounts = self._network.world.tokens, self._network.world.accounts
        for number, amounts in self._units.items():
            token, requested = tokens.issued[number], self._requested.get(number, {})
            for of, amount in amounts.items():
                if failure := self._failure(token, of):
                    return failure
                if token.balance(of) + amount < 0:
                    is_for_fee = token.balance(of) + requested.get(of, amount) >= 0
                    sender_lacks = "INSUFFICIENT_SENDER_ACCOUNT_BALANCE_FOR_CUSTOM_FEE"
                    return sender_lacks if is_for_fee else "INSUFFICIENT_TOKEN_BALANCE"
        for number, moves in self._serials.items():
            token = tokens.issued[number]
            for serial, sender, receiver in moves:
                for party in (sender, receiver):
                    if party and (failure := self._failure(token, party)):
                        return failure
                if token.serials[serial].owner != sender:
                    return "SENDER_DOES_NOT_OWN_NFT_SERIAL_NO"
        if any(amount < 0 and accounts[of].balance + amount < _MARGIN for of, amount in self.hbars.items()):
            return "INSUFFICIENT_ACCOUNT_BALANCE"
        return None

    def _failure(self, token: Token, of: int) -> str | None:
        failure = token.failure(of)
        if failure != "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT":
            return failure
        if not self._claimed and not can_associate(self._network, of):
            limited = self._network.world.accounts[of].max_automatic_token_associations
            return "NO_REMAINING_AUTOMATIC_ASSOCIATIONS" if limited else failure
        if token.kyc_key:
            return "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN"
        return "ACCOUNT_FROZEN_FOR_TOKEN" if token.freeze_default else None

    # EFFECTS

    def settle(self) -> dict[str, Any]:
        """Make the transfers now. Return the fields of the record except for hbars."""
        self.settled = True
        tokens, at = self._network.world.tokens, self._network.now
        associated: list[Any] = []
        for number, amounts in self._units.items():
            token = tokens.issued[number]
            for of, amount in amounts.items():
                if amount:
                    self._associate(token, of, associated)
                    token.relationships[of].receive(amount, at)
        for number, moves in self._serials.items():
            token = tokens.issued[number]
            for serial, sender, receiver in moves:
                assert sender is not None and receiver is not None
                self._associate(token, receiver, associated)
                token.receive({sender: -1}, at)
                token.receive({receiver: 1}, at)
                token.serials[serial].move(receiver, at)
        return {
            "tokenTransferLists": self.lists(),
            "assessed_custom_fees": self._fees,
            "automatic_token_associations": associated,
        }

    def _associate(self, token: Token, of: int, associated: list[Any]) -> None:
        if of not in token.relationships:
            begin_relationship(self._network, token, of, automatic=not self._claimed)
            associated.append(association(of, token.number))


def can_associate(network: Network, of: int) -> bool:
    """Return whether the limit of an account allows one more automatic association."""
    limit = network.world.accounts[of].max_automatic_token_associations
    return limit < 0 or network.world.tokens.automatic_associations[of] < limit


def begin_relationship(network: Network, token: Token, of: int, *, automatic: bool = False) -> None:
    """Associate an account now. It is not closed any more, as it may hold the token."""
    network.world.tokens.associate(token, of, network.now, automatic=automatic)
    network.world.bound.add(of)
