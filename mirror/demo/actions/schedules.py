"""Schedules: creating, signing, deleting and expiring them. Signatures are real."""

from collections.abc import Callable
from functools import partial
from typing import Any

from mirror.core.values.hapi.messages import Key, SignedTransaction, Transaction
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.actions import texts
from mirror.demo.actions.executions import execute, scheduled_body, scheduled_id
from mirror.demo.keys.wallet import wallet_of
from mirror.demo.network import Network, NotPossible, both, weighted
from mirror.demo.streams.record_files import ComposedTransaction, account, timestamp, transfer_list
from mirror.demo.tokens import traders
from mirror.demo.world.accounts import HBAR, Account
from mirror.demo.world.messages import token_id
from mirror.demo.world.schedules import Schedule

_USUAL_LIFE = 30 * 60 * NANOS_PER_SECOND
_MOST_OPEN = 30
_MEMOS = ("Rent for {}", "Salaries, {}", "Gift for {}", "Share of {}", "Deposit for {}")
_OCCASIONS = ("March", "the flat", "the wedding", "the boat", "the choir", "the workshop")


def create(network: Network) -> None:
    """Schedule a payment, sometimes a message or a mint."""
    (schedule,) = network.choose.choices((_schedule_payment, _schedule_message, _schedule_mint), (4, 1, 1))
    schedule(network)


def _schedule_payment(network: Network) -> None:
    """Schedule a payment that its senders have to sign."""
    creator = _creator(network)
    senders = [_find_signer(network) for _ in range(network.choose.choice((1, 1, 2)))]
    receiver = network.person()
    numbers = list(dict.fromkeys(sender.number for sender in senders if sender))
    if receiver.number in numbers or not numbers:
        raise NotPossible
    # Sometimes it is more than the sender has: then it fails when it is executed.
    most = 60 if network.choose.random() < 0.9 else 10_000_000
    transfers = {number: -network.choose.randrange(1, most) * HBAR for number in numbers}
    transfers[receiver.number] = -sum(transfers.values())
    body = {"cryptoTransfer": {"transfers": transfer_list(transfers)}}
    payer = network.choose.choice((creator, network.world.accounts[numbers[0]]))
    required = list(dict.fromkeys((*numbers, payer.number)))
    _schedule(network, creator, body, payer=payer, required=required)


def _schedule_message(network: Network) -> None:
    """Schedule a message for its expiry, which only its creator has to sign."""
    creator = _creator(network)
    topics = [topic for topic in network.world.topics.values() if topic.is_free]
    topic = network.pick(topics)
    message = texts.message(network, topic.subject, topic.sequence_number + 1)
    body = {"consensusSubmitMessage": {"topicID": {"topicNum": topic.number}, "message": message}}
    _schedule(network, creator, body, payer=creator, required=[creator.number], waits=True)


def _schedule_mint(network: Network) -> None:
    """Schedule a mint, which the treasury of the token has to sign."""
    creator, token = both(
        _find_signer(network), traders.find_token(network, lambda token: token.fungible and token.supply_key)
    )
    if not _has_room(network):
        raise NotPossible
    amount = max(1, token.initial_supply // network.choose.randrange(20, 400))
    body = {"tokenMint": {"token": token_id(token.number), "amount": amount}}
    required = list(dict.fromkeys((creator.number, token.treasury)))
    _schedule(network, creator, body, payer=creator, required=required)


def sign(network: Network) -> None:
    """Sign a schedule, which is executed after the last signature it needs."""
    schedules = [each for each in _open(network) if each.missing and not each.of_contract]
    schedule = network.pick(schedules)
    signer = network.world.accounts[network.choose.choice(schedule.missing)]
    if not wallet_of(signer.number, signer.key) or not network.can_pay(signer.number):
        raise NotPossible
    body = {"scheduleID": {"scheduleNum": schedule.number}}
    schedule.signed.append(signer.number)
    signed = network.submit(
        "scheduleSign",
        body,
        payer=signer.number,
        receipt={"scheduledTransactionID": scheduled_id(schedule)},
        signatures=_signatures(signer),
    )
    schedule.add_signatures(signed.consensus_timestamp, _signature_map(signed))
    if not schedule.missing and not schedule.waits:
        execute(network, schedule)


def delete(network: Network) -> None:
    """Delete a schedule."""
    schedules = [each for each in _open(network) if each.admin_key and network.can_pay(each.creator)]
    schedule = network.pick(schedules)
    schedule.deleted = True
    body = {"scheduleID": {"scheduleNum": schedule.number}}
    network.submit("scheduleDelete", body, payer=schedule.creator)


def change_in_vain(network: Network) -> None:
    """Sign a schedule too late or twice, delete an immutable one, or create the same again."""
    payer, schedules = network.person(), list(network.world.schedules.values())
    schedule = network.pick(schedules)
    number: dict[str, Any] = {"scheduleID": {"scheduleNum": schedule.number}}
    refusals = (
        (schedule.executed, "scheduleSign", "SCHEDULE_ALREADY_EXECUTED"),
        (schedule.deleted, "scheduleSign", "SCHEDULE_ALREADY_DELETED"),
        (schedule.expired, "scheduleSign", "INVALID_SCHEDULE_ID"),
        (not schedule.admin_key, "scheduleDelete", "SCHEDULE_IS_IMMUTABLE"),
    )
    refused = next(((kind, result) for applies, kind, result in refusals if applies), None)
    if refused is None and network.choose.random() < 0.5:
        refused = "scheduleSign", "NO_NEW_VALID_SIGNATURES"
    if refused:
        network.submit(refused[0], number, payer=payer.number, result=refused[1])
    else:
        network.submit(
            "scheduleCreate",
            _create_body(schedule),
            payer=payer.number,
            receipt={**number, "scheduledTransactionID": scheduled_id(schedule)},
            result="IDENTICAL_SCHEDULE_ALREADY_CREATED",
        )


def end(network: Network, number: int) -> None:
    """End a schedule at its expiry: execute it if it waited for that and is signed, else let it expire."""
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
    scheduled: dict[str, Any],
    *,
    payer: Account,
    required: list[int],
    waits: bool = False,
) -> None:
    number, at = network.new_number(), network.now
    memo = network.choose.choice(_MEMOS).format(network.choose.choice(_OCCASIONS))
    scheduled |= {"memo": memo, "transactionFee": HBAR}
    body: dict[str, Any] = {"scheduledTransactionBody": scheduled, "memo": memo}
    expires, expiration = at + _USUAL_LIFE, None
    if waits or network.choose.random() < 0.3:
        seconds = at // NANOS_PER_SECOND + network.choose.randrange(60, 7_200)
        expires = expiration = seconds * NANOS_PER_SECOND
        body["expiration_time"], body["wait_for_expiry"] = timestamp(expires), waits
    if payer is not creator:
        body["payerAccountID"] = account(payer.number)
    admin_key = creator.key if network.choose.random() < 0.8 else None
    if admin_key:
        body["adminKey"] = Key.FromString(admin_key)
    transaction_id = network.transaction_id(creator.number)
    schedule = Schedule(
        *(number, at, creator.number, payer.number, memo, admin_key, b""),
        transaction_id=transaction_id.SerializeToString(),
        expires=expires,
        required=required,
        expiration=expiration,
        waits=waits,
    )
    network.world.bound.update((creator.number, *required))
    network.world.schedules[number] = schedule
    created = network.submit(
        "scheduleCreate",
        body,
        payer=creator.number,
        receipt={"scheduleID": {"scheduleNum": number}, "scheduledTransactionID": scheduled_id(schedule)},
        envelope={"transactionID": transaction_id},
        signatures=_signatures(creator),
    )
    schedule.scheduled = created.body.scheduleCreate.scheduledTransactionBody.SerializeToString()
    schedule.add_signatures(at, _signature_map(created))
    if creator.number in required:
        schedule.signed.append(creator.number)
    network.at(expires, partial(end, number=number))
    if not schedule.missing and not waits:
        execute(network, schedule)


def _create_body(schedule: Schedule) -> dict[str, Any]:
    """Return a body that would create the same schedule again."""
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
    return [schedule for schedule in network.world.schedules.values() if schedule.is_open]


def _has_room(network: Network) -> bool:
    return len(_open(network)) < _MOST_OPEN


def _creator(network: Network) -> Account:
    """Return an account to create one more schedule. Errors: NotPossible."""
    creator = _find_signer(network)
    if creator is None or not _has_room(network):
        raise NotPossible
    return creator


def _find_signer(network: Network) -> Account | None:
    """Return an account that signs with one key; None if the first one tried does not."""
    person = network.find_person(settled=True)
    return person if person and wallet_of(person.number, person.key) else None


def _signatures(signer: Account) -> Callable[[bytes], Any]:
    """Return what makes the SignatureMap of a serialized body."""
    wallet = wallet_of(signer.number, signer.key)
    if wallet is None:
        raise ValueError(f"account {signer.number} does not sign with one key")
    return wallet.signatures


def _signature_map(composed: ComposedTransaction) -> Any:
    """Return the SignatureMap of a transaction."""
    transaction = Transaction.FromString(composed.transaction_bytes)
    return SignedTransaction.FromString(transaction.signedTransactionBytes).sigMap


ACTIONS = weighted((2, create, sign), (0, delete, change_in_vain))
