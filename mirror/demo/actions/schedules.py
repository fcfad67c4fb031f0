"""Schedules: created, signed with real signatures, executed, deleted, and left to expire."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ledger.stream.record.compose import ComposedTransaction, account, timestamp, transfer_list
from mirror.demo.actions import texts
from mirror.demo.actions.executions import execute, scheduled_body, scheduled_id
from mirror.demo.keys.wallet import EcdsaWallet, Ed25519Wallet, wallet_of
from mirror.demo.network import Action, Network
from mirror.demo.tokens import traders
from mirror.demo.tokens.messages import token_id
from mirror.demo.world.accounts import HBAR, Account
from mirror.demo.world.schedules import Schedule
from mirror.values.hapi import Key, SignedTransaction, Transaction
from mirror.values.timestamp import NANOS_PER_SECOND

_USUAL_LIFE = 30 * 60 * NANOS_PER_SECOND
_MOST_OPEN = 30
_MEMOS = ("Rent for {}", "Salaries, {}", "Gift for {}", "Share of {}", "Deposit for {}")
_OCCASIONS = ("March", "the flat", "the wedding", "the boat", "the choir", "the workshop")


def create(network: Network) -> bool:
    """Somebody schedules a payment, sometimes a message, or that more of a token is minted."""
    (what,) = network.choose.choices((_schedule_payment, _schedule_message, _schedule_mint), (4, 1, 1))
    return what(network)


def _schedule_payment(network: Network) -> bool:
    """Somebody schedules a payment that others have to sign, who pay it."""
    creator = _signer(network)
    if creator is None or not _has_room(network):
        return False
    senders = [one for one in (_signer(network) for _ in range(network.choose.choice((1, 1, 2)))) if one]
    receiver = network.person()
    numbers = list(dict.fromkeys(sender.number for sender in senders))
    if receiver is None or receiver.number in numbers or not numbers:
        return False
    # Now and then somebody is to pay more than there is, which shows when it happens.
    most = 60 if network.choose.random() < 0.9 else 10_000_000
    transfers = {number: -network.choose.randrange(1, most) * HBAR for number in numbers}
    transfers[receiver.number] = -sum(transfers.values())
    body = {"cryptoTransfer": {"transfers": transfer_list(transfers)}}
    payer = network.choose.choice((creator, network.world.accounts[numbers[0]]))
    required = list(dict.fromkeys((*numbers, payer.number)))
    _schedule(network, creator, body, payer=payer, required=required)
    return True


def _schedule_message(network: Network) -> bool:
    """Somebody schedules a message, which nobody else has to sign: it is said when its time has come."""
    creator = _signer(network)
    topics = [topic for topic in network.world.topics.values() if topic.is_free]
    if creator is None or not topics or not _has_room(network):
        return False
    topic = network.choose.choice(topics)
    message = texts.message(network, topic.subject, topic.sequence_number + 1)
    body = {"consensusSubmitMessage": {"topicID": {"topicNum": topic.number}, "message": message}}
    _schedule(network, creator, body, payer=creator, required=[creator.number], waits=True)
    return True


def _schedule_mint(network: Network) -> bool:
    """Somebody asks a treasury for more of a token."""
    creator = _signer(network)
    minted = traders.token(network, lambda one: one.fungible and one.supply_key)
    if creator is None or minted is None or not _has_room(network):
        return False
    amount = max(1, minted.initial_supply // network.choose.randrange(20, 400))
    body = {"tokenMint": {"token": token_id(minted.number), "amount": amount}}
    required = list(dict.fromkeys((creator.number, minted.treasury)))
    _schedule(network, creator, body, payer=creator, required=required)
    return True


def sign(network: Network) -> bool:
    """Somebody signs what was scheduled; the last one who has to lets it happen."""
    schedules = [one for one in _open(network) if one.missing]
    if not schedules:
        return False
    schedule = network.choose.choice(schedules)
    signer = network.world.accounts[network.choose.choice(schedule.missing)]
    if _wallet(signer) is None or not network.can_pay(signer.number):
        return False
    body = {"scheduleID": {"scheduleNum": schedule.number}}
    schedule.signed.append(signer.number)
    signed = network.submit(
        "scheduleSign",
        body,
        payer=signer.number,
        receipt={"scheduledTransactionID": scheduled_id(schedule)},
        signatures=_signatures(signer),
    )
    schedule.keep(signed.consensus_timestamp, _signature_map(signed))
    if not schedule.missing and not schedule.waits:
        execute(network, schedule)
    return True


def delete(network: Network) -> bool:
    """Somebody thinks better of it."""
    schedules = [one for one in _open(network) if one.admin_key and network.can_pay(one.creator)]
    if not schedules:
        return False
    schedule = network.choose.choice(schedules)
    schedule.deleted = True
    body = {"scheduleID": {"scheduleNum": schedule.number}}
    network.submit("scheduleDelete", body, payer=schedule.creator)
    return True


def change_in_vain(network: Network) -> bool:
    """Somebody signs too late, or twice, or deletes what can't be, or schedules the same again."""
    payer, schedules = network.person(), list(network.world.schedules.values())
    if payer is None or not schedules:
        return False
    schedule = network.choose.choice(schedules)
    number: dict[str, Any] = {"scheduleID": {"scheduleNum": schedule.number}}
    if schedule.executed:
        network.submit("scheduleSign", number, payer=payer.number, result="SCHEDULE_ALREADY_EXECUTED")
    elif schedule.deleted:
        network.submit("scheduleSign", number, payer=payer.number, result="SCHEDULE_ALREADY_DELETED")
    elif schedule.expired:
        network.submit("scheduleSign", number, payer=payer.number, result="INVALID_SCHEDULE_ID")
    elif not schedule.admin_key:
        network.submit("scheduleDelete", number, payer=payer.number, result="SCHEDULE_IS_IMMUTABLE")
    elif network.choose.random() < 0.5:
        network.submit("scheduleSign", number, payer=payer.number, result="NO_NEW_VALID_SIGNATURES")
    else:
        network.submit(
            "scheduleCreate",
            _create_body(schedule),
            payer=payer.number,
            receipt={**number, "scheduledTransactionID": scheduled_id(schedule)},
            result="IDENTICAL_SCHEDULE_ALREADY_CREATED",
        )
    return True


def end(network: Network, number: int) -> None:
    """The time of a schedule has come: it happens if it was waiting for that, or is forgotten."""
    schedule = network.world.schedules.get(number)
    if schedule is None or not schedule.is_open:
        return
    if schedule.waits and not schedule.missing and network.can_pay(schedule.payer):
        execute(network, schedule)
    else:
        schedule.expired = True


def _schedule(
    network: Network,
    creator: Account,
    body: dict[str, Any],
    *,
    payer: Account,
    required: list[int],
    waits: bool = False,
) -> None:
    number, at = network.new_number(), network.now
    memo = network.choose.choice(_MEMOS).format(network.choose.choice(_OCCASIONS))
    asked: dict[str, Any] = {"scheduledTransactionBody": {**body, "memo": memo, "transactionFee": HBAR}}
    asked["memo"] = memo
    expires, expiration = at + _USUAL_LIFE, None
    if waits or network.choose.random() < 0.3:
        seconds = at // NANOS_PER_SECOND + network.choose.randrange(60, 7_200)
        expires = expiration = seconds * NANOS_PER_SECOND
        asked["expiration_time"], asked["wait_for_expiry"] = timestamp(expires), waits
    if payer is not creator:
        asked["payerAccountID"] = account(payer.number)
    admin_key = creator.key if network.choose.random() < 0.8 else None
    if admin_key:
        asked["adminKey"] = Key.FromString(admin_key)
    transaction_id = network.transaction_id(creator.number)
    schedule = Schedule(
        number,
        at,
        creator.number,
        payer.number,
        memo,
        admin_key,
        b"",
        transaction_id.SerializeToString(),
        expires,
        required,
        expiration,
        waits,
    )
    network.world.bound.update((creator.number, *required))
    network.world.schedules[number] = schedule
    created = network.submit(
        "scheduleCreate",
        asked,
        payer=creator.number,
        receipt={
            "scheduleID": {"scheduleNum": number},
            "scheduledTransactionID": scheduled_id(schedule),
        },
        whole={"transactionID": transaction_id},
        signatures=_signatures(creator),
    )
    schedule.scheduled = created.body.scheduleCreate.scheduledTransactionBody.SerializeToString()
    schedule.keep(at, _signature_map(created))
    if creator.number in required:
        schedule.signed.append(creator.number)
    network.at(expires, partial(end, number=number))
    if not schedule.missing and not waits:
        execute(network, schedule)


def _create_body(schedule: Schedule) -> dict[str, Any]:
    """What would create the same schedule again."""
    body: dict[str, Any] = {
        "scheduledTransactionBody": scheduled_body(schedule),
        "memo": schedule.memo,
        "payerAccountID": account(schedule.payer),
        "wait_for_expiry": schedule.waits,
    }
    if schedule.expiration:
        body["expiration_time"] = timestamp(schedule.expiration)
    if schedule.admin_key:
        body["adminKey"] = Key.FromString(schedule.admin_key)
    return body


def _open(network: Network) -> list[Schedule]:
    return [one for one in network.world.schedules.values() if one.is_open]


def _has_room(network: Network) -> bool:
    return len(_open(network)) < _MOST_OPEN


def _signer(network: Network) -> Account | None:
    """Somebody who signs with one key."""
    found = network.person(settled=True)
    return found if found and _wallet(found) else None


def _wallet(of: Account) -> Ed25519Wallet | EcdsaWallet | None:
    """What an account signs with; None when it takes several keys, or has none."""
    return wallet_of(of.number, of.key)


def _signatures(signer: Account) -> Callable[[bytes], Any]:
    """Makes the SignatureMap of the bytes of a body. Errors: ValueError when it takes several keys."""
    own = _wallet(signer)
    if own is None:
        raise ValueError(f"account {signer.number} does not sign with one key")
    return own.signatures


def _signature_map(composed: ComposedTransaction) -> Any:
    """The SignatureMap of a transaction."""
    transaction = Transaction.FromString(composed.transaction_bytes)
    return SignedTransaction.FromString(transaction.signedTransactionBytes).sigMap


ACTIONS = (
    Action(create, 2),
    Action(sign, 2),
    Action(delete, 0),
    Action(change_in_vain, 0),
)
