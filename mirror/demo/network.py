"""The simulated network: submits transactions, moves the hbars, and closes blocks.

An action is a function `(network) -> None` that lets one thing happen: it changes the world and submits the
transactions that a real network would have recorded. It raises NotPossible when its kind can't happen now.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple, TypedDict, TypeVar, Unpack

from ledger.stream.ledger_identity import LedgerIdentity
from ledger.stream.record_item import HapiVersion
from mirror.core import config
from mirror.core.values.hapi.messages import (
    ResponseCodeEnum,
    TransactionBody,
    TransactionID,
    TransactionRecord,
)
from mirror.demo.streams.plain import Fields, compose
from mirror.demo.streams.record_files import (
    FEE_COLLECTION,
    Block,
    ComposedTransaction,
    Composer,
    account,
    place,
    timestamp,
    transfer_list,
)
from mirror.demo.streams.signing import SigningNode
from mirror.demo.world.accounts import HBAR, Account
from mirror.demo.world.fees import Price
from mirror.demo.world.world import World
from network.fees.estimate import ONCE

LOGGING_SINCE: HapiVersion = (0, 71, 0)
START = 1_735_765_200_000_000_000  # 2025-01-01T21:00, ns: a few hours from there cross a midnight

# One choice in this many is the action that was performed least often: more often among the first
# transactions, so that a short run has some of everything, too.
_RARE_AT_FIRST, _RARE, _FIRST = 20, 60, 2_000
_ATTEMPTS = 500
_PEOPLE_TRIED = 12
# Shortest and longest time between the valid start of a transaction and its consensus, ns.
_DELAY = 1_200_000_000, 6_000_000_000

# The share of transactions that pay the price for high volume (HIP-1313), if their kind has one, and the
# possible utilizations of the network by them, in ten-thousandths.
_HIGH_VOLUME_SHARE = 0.04
_UTILIZATIONS = (0, 3, 7, 150)
# Only accounts with at least this much left pay it.
_MIN_REMAINING = 200 * HBAR
# The largest number of bytes besides the body, and of signatures, that a transaction offers to pay for.
_ENVELOPE, _MAX_SIGNATURES = 1_000, 8


# The share of what would be refused that is submitted nevertheless: people make mistakes, but not often.
_MISTAKE_SHARE = 0.15

_First = TypeVar("_First")
_Second = TypeVar("_Second")
Perform = Callable[["Network"], object]
FailingTransaction = tuple[str, Fields, str]  # kind of body, its fields, result code


class NotPossible(Exception):
    """Nothing of the kind can happen now: an action raises it before it changes anything."""


def required(value: _First | None) -> _First:
    """Return a value. Errors: NotPossible if it is missing."""
    if value is None:
        raise NotPossible
    return value


def require(condition: object) -> None:
    """Errors: NotPossible unless the condition holds."""
    if not condition:
        raise NotPossible


def pair(first: _First | None, second: _Second | None) -> tuple[_First, _Second]:
    """Return two different parties. Errors: NotPossible if one of them is missing."""
    require(first is not second)
    return required(first), required(second)


class Action(NamedTuple):
    """Something that can happen; with a `weight` of 0 it is only chosen as a rare action."""

    perform: Perform
    weight: int


def weighted(*groups: tuple[int, *tuple[Perform, ...]]) -> tuple[Action, ...]:
    """Return actions in groups of a weight and the functions that have it."""
    return tuple(Action(perform, weight) for weight, *performs in groups for perform in performs)


class Submission(TypedDict, total=False):
    """What a transaction has besides its payer and its kind.

    `envelope` are other fields of TransactionBody, `record` those of TransactionRecord. Without a `result`
    code it succeeds. `transfers` (account -> tinybars) are made if it succeeds. A child of `parent` costs
    nothing and has a `nonce` of its own.
    """

    receipt: Fields | None
    record: Fields | None
    envelope: Fields | None
    transfers: Mapping[int, int] | None
    result: str | None
    fee: int | None
    parent: ComposedTransaction | None
    nonce: int
    sidecars: Iterable[Any]
    signatures: Any


class Network:
    """A network of `nodes` whose people perform `actions` as `seed` decides. `world` is its current state.

    `ledger` is what the nodes publish of the keys with which they sign blocks together, if they do.
    `counts` counts submitted transactions by the field of TransactionBody that holds them, and `performed`
    counts actions.
    """

    def __init__(
        self,
        seed: int,
        actions: Sequence[Action],
        *,
        nodes: Sequence[SigningNode] = (),
        start: int = START,
        hapi_version: HapiVersion = (0, 69, 0),
        ledger: LedgerIdentity | None = None,
    ) -> None:
        self.choose = Random(seed)
        self.world = World()
        self.counts: Counter[str] = Counter()
        self.performed: Counter[Perform] = Counter()
        self.composer = Composer(start=start, nodes=nodes, hapi_version=hapi_version)
        self.composer.shard_and_realm = config.shard_and_realm()
        if hapi_version >= LOGGING_SINCE:
            self.composer.fee_account = FEE_COLLECTION
        self.ledger = ledger
        self._due: list[tuple[int, int, Perform]] = []
        self._planned = 0
        self._installed: HapiVersion | None = None
        self._actions = actions
        self._weights = [action.weight for action in actions]
        self._nodes = [node.account_id for node in nodes] or [3]

    @property
    def now(self) -> int:
        """The consensus timestamp of the next transaction, in ns."""
        return self.composer.consensus_timestamp

    # WHAT HAPPENS

    def act(self, transactions: int, duration: int = 0) -> None:
        """Let people act until at least this many transactions are submitted, spread over `duration` ns."""
        submitted, choose = self.counts.total(), self.choose
        target, end = submitted + transactions, self.now + duration
        for _ in range(_ATTEMPTS * transactions):
            self.run_due_events()
            if choose.randrange(_RARE if submitted > _FIRST else _RARE_AT_FIRST) == 0:
                rarest = sorted(
                    self._actions, key=lambda each: (self.performed[each.perform], choose.random())
                )
                performed = any(self._perform(action) for action in rarest)
            else:
                (action,) = choose.choices(self._actions, self._weights)
                performed = self._perform(action)
            submitted = self.counts.total()
            if submitted >= target:
                return
            remaining_time = end - self.now
            if performed and remaining_time > 0:
                self.advance(
                    min(remaining_time, self.choose.randrange(1 + 2 * remaining_time // (target - submitted)))
                )
        raise RuntimeError("none of the actions is possible in this network")

    def _perform(self, action: Action) -> bool:
        try:
            action.perform(self)
        except NotPossible:
            return False
        self.performed[action.perform] += 1
        return True

    def call_at(self, time: int, event: Perform) -> None:
        """Call `event`, one that `publish.state` has a number for, at a time, before any action after it."""
        self._planned += 1
        heapq.heappush(self._due, (time, self._planned, event))

    def run_due_events(self) -> None:
        while self._due and self._due[0][0] <= self.now:
            _, _, event = heapq.heappop(self._due)
            event(self)

    def close(self) -> Block:
        """Close the transactions submitted since the last call into a block."""
        block = self.composer.block()
        if self._installed is not None:
            self.composer.hapi_version, self._installed = self._installed, None
            self.composer.fee_account = FEE_COLLECTION
        return block

    def upgrade(self, hapi_version: HapiVersion) -> None:
        """Let the nodes run this version of their software, at least LOGGING_SINCE, from the next block on.

        From then on they also collect all fees in one account (HIP-1259).
        """
        self._installed = hapi_version

    @property
    def logs_transfers(self) -> bool:
        """Return whether nodes log the token transfers of contracts themselves, as mirrors did before."""
        return self.composer.hapi_version >= LOGGING_SINCE

    def advance(self, nanoseconds: int) -> None:
        """Let time pass; the next block starts that much later."""
        self.composer.consensus_timestamp += nanoseconds

    # TRANSACTIONS

    def submit(
        self, kind: str, body: Fields, *, payer: int, **options: Unpack[Submission]
    ) -> ComposedTransaction:
        """Submit a transaction and move its hbars.

        `kind` is a field of TransactionBody and `body` its fields, as plain values. The fee and the staking
        rewards that are due are always paid.
        """
        result, parent = options.get("result") or "SUCCESS", options.get("parent")
        transfers, price = options.get("transfers"), options.get("fee")
        message = self.body(kind, body, options.get("envelope") or {})
        status = ResponseCodeEnum.Value(result)
        receipt = {"status": status, **(options.get("receipt") or {})}
        record = compose(TransactionRecord, {"receipt": receipt, **(options.get("record") or {})})
        # As nodes list them.
        record.tokenTransferLists.sort(key=lambda moved: moved.token.tokenNum)
        if parent is not None:
            record.parent_consensus_timestamp.CopyFrom(timestamp(parent.consensus_timestamp))
            message.transactionID.CopyFrom(parent.body.transactionID)
            message.transactionID.nonce = options.get("nonce", 0)
            price = 0
        elif not message.HasField("transactionID"):
            message.transactionID.CopyFrom(self.transaction_id(payer))
        fee = self._price(message, record, payer) if price is None else price
        rewards: dict[int, int] = {}
        if parent is None and not record.HasField("transferList"):
            moving = [*([payer] if fee else []), *((transfers or ()) if result == "SUCCESS" else ())]
            rewards = self.world.staking.due(moving, self.world.accounts)
        composed = self.composer.transaction(
            message,
            record,
            payer=payer,
            fee=fee,
            transfers=transfers,
            result=status,
            sidecars=options.get("sidecars", ()),
            signatures=options.get("signatures"),
            node=self.choose.choice(self._nodes),
            rewards=rewards,
        )
        self.world.staking.paid(rewards, self.world.accounts, composed.consensus_timestamp)
        for moved in composed.record.transferList.accountAmounts:
            holder = self.world.accounts[moved.accountID.accountNum]
            holder.balance += moved.amount
            holder.balance_timestamp = composed.consensus_timestamp
        self.counts[kind] += 1
        return composed

    def pay(self, amounts: Mapping[int, int], payer: int, **options: Unpack[Submission]) -> None:
        """Submit a transfer of tinybars by account."""
        options["transfers"] = amounts
        self.submit("cryptoTransfer", {"transfers": transfer_list(amounts)}, payer=payer, **options)

    def avoid_failure(self, failure: str | None) -> None:
        """Mostly skip an action that would fail with the result code `failure`. Errors: NotPossible."""
        require(failure is None or self.choose.random() < _MISTAKE_SHARE)

    def submit_failing(self, failing: Sequence[FailingTransaction], *, payer: int) -> None:
        """Submit one of these transactions, which fails. Errors: NotPossible if there are none."""
        kind, body, result = self.pick(failing)
        self.submit(kind, body, payer=payer, result=result)

    def body(self, kind: str, body: Fields, envelope: Fields) -> Any:
        """Return the TransactionBody that is submitted with these."""
        message = compose(TransactionBody, {**envelope, kind: body})
        place(message, *self.composer.shard_and_realm)
        return message

    def transaction_id(self, payer: int) -> Any:
        valid_start = timestamp(self.now - self.choose.randrange(*_DELAY))
        return TransactionID(accountID=account(payer), transactionValidStart=valid_start)

    def fee(self, kind: str) -> int:
        """Return what a transaction of a kind costs now at least, in tinybars."""
        return Price(self.world, self.body(kind, {}, {})).tinybars()

    def _price(self, message: Any, record: Any, payer: int) -> Callable[[int, int], int]:
        """Return the fee as a function of the bytes and signatures; some pay the price for high volume."""
        price = Price(self.world, message)
        if self.choose.random() < _HIGH_VOLUME_SHARE:
            message.high_volume = True
            busy_price = Price(self.world, message, self.choose.choice(_UTILIZATIONS))
            remaining = self.world.accounts[payer].balance - busy_price.tinybars()
            message.high_volume = busy_price.multiplier > ONCE and remaining > _MIN_REMAINING
            if message.high_volume:
                price, record.high_volume_pricing_multiplier = busy_price, busy_price.multiplier
        if not message.transactionFee:
            max_fee = price.tinybars(message.ByteSize() + _ENVELOPE, _MAX_SIGNATURES)
            message.transactionFee = 2 * max_fee
        return price.tinybars

    # CHOICES

    def pick(self, candidates: Sequence[_First]) -> _First:
        """Return one of these at random. Errors: NotPossible if there are none."""
        return required(self.find(candidates))

    def find(self, candidates: Sequence[_First]) -> _First | None:
        """Return one of these at random; None if there are none."""
        return self.choose.choice(candidates) if candidates else None

    def find_person(self, *, at_least: int = 100 * HBAR, settled: bool = False) -> Account | None:
        """Return a random person who can pay `at_least`; None if a few tries find none.

        A `settled` one may take on what prevents the closing of an account.
        """
        world = self.world
        for _ in range(_PEOPLE_TRIED):
            person = world.accounts[self.choose.choice(world.people)]
            if person.balance >= at_least and not (settled and person.passing):
                return person
        return None

    def person(self, *, at_least: int = 100 * HBAR, settled: bool = False) -> Account:
        """Return a random person as `find_person` does. Errors: NotPossible."""
        return required(self.find_person(at_least=at_least, settled=settled))

    def can_pay(self, number: int, at_least: int = 100 * HBAR) -> bool:
        """Return whether an account exists and can pay this much."""
        account = self.world.accounts[number]
        return not account.deleted and account.balance >= at_least

    def new_number(self) -> int:
        number = self.world.next_number
        self.world.next_number += 1
        return number
