"""Schedules: creating, signing, executing, deleting and expiring them. Signatures are real."""

from functools import partial
from typing import Any

from mirror.core.values.hapi import messages
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.actions.tokens import supply, traders
from mirror.demo.actions.topics import receipt as message_receipt
from mirror.demo.actions.topics import text
from mirror.demo.network import Network, pair, require, required, weighted
from mirror.demo.streams.keys import wallet_of
from mirror.demo.streams.plain import compose
from mirror.demo.streams.record_files import ComposedTransaction, transfer_list
from mirror.demo.world.accounts import HBAR, Account
from mirror.demo.world.schedules import Schedule

_USUAL_LIFE = 30 * 60 * NANOS_PER_SECOND
_MAX_OPEN = 30
_MEMOS = ("Rent for {}", "Salaries, {}", "Gift for {}", "Share of {}", "Deposit for {}")
_OCCASIONS = ("March", "the flat", "the wedding", "the boat", "the choir", "the workshop")


def create(network: Network) -> None:
    """Schedule a payment that its senders have to sign, a message for its expiry, or a mint."""
    (kind,) = network.choose.choices(("payment", "message", "mint"), (4, 1, 1))
    body: dict[str, Any]
    if kind == "mint":
        creator, token = pair(
            _find_signer(network),
            traders.find_token(network, lambda token: token.fungible and token.supply_key),
        )
        require(len(_open(network)) < _MAX_OPEN)
        amount = max(1, token.initial_supply // network.choose.randrange(20, 400))
        body = {"tokenMint": {"token": token.number, "amount": amount}}
        _schedule(network, creator, body, payer=creator.number, required=[creator.number, token.treasury])
        return
    creator = required(_find_signer(network))
    require(len(_open(network)) < _MAX_OPEN)
    if kind == "message":
        topic = network.pick([topic for topic in network.world.topics.values() if topic.is_free])
        message = text(network, topic.subject, topic.sequence_number + 1)
        body = {"consensusSubmitMessage": {"topicID": topic.number, "message": message}}
        _schedule(network, creator, body, payer=creator.number, required=[creator.number], waits=True)
        return
    senders = [_find_signer(network) for _ in range(network.choose.choice((1, 1, 2)))]
    receiver = network.person()
    numbers = list(dict.fromkeys(sender.number for sender in senders if sender))
    require(numbers and receiver.number not in numbers)
    # Sometimes it is more than the sender has: then it fails when it is executed.
    max_amount = 60 if network.choose.random() < 0.9 else 10_000_000
    transfers = {number: -network.choose.randrange(1, max_amount) * HBAR for number in numbers}
    transfers[receiver.number] = -sum(transfers.values())
    payer = network.choose.choice((creator.number, numbers[0]))
    body = {"cryptoTransfer": {"transfers": transfer_list(transfers)}}
    _schedule(network, creator, body, payer=payer, required=[*numbers, payer])


def sign(network: Network) -> None:
    """Sign a schedule, which is executed after the last signature it needs."""
    schedule = network.pick([each for each in _open(network) if each.missing and not each.of_contract])
    signer = network.world.accounts[network.choose.choice(schedule.missing)]
    wallet = required(wallet_of(signer.number, signer.key))
    require(network.can_pay(signer.number))
    schedule.signed.append(signer.number)
    signed = network.submit(
        "scheduleSign",
        {"scheduleID": schedule.number},
        payer=signer.number,
        receipt={"scheduledTransactionID": _scheduled_id(schedule)},
        signatures=wallet.signatures,
    )
    schedule.add_signatures(signed.consensus_timestamp, _signature_map(signed))
    if not schedule.missing and not schedule.waits:
        execute(network, schedule)


def delete(network: Network) -> None:
    deletable = [each for each in _open(network) if each.admin_key and not each.of_contract]
    schedule = network.pick([each for each in deletable if network.can_pay(each.creator)])
    schedule.deleted = True
    network.submit("scheduleDelete", {"scheduleID": schedule.number}, payer=schedule.creator)


def change_invalid(network: Network) -> None:
    """Sign a schedule too late or twice, delete an immutable one, or create the same again."""
    payer = network.person()
    schedule = network.pick(list(network.world.schedules.values()))
    failures = (
        (schedule.executed, "scheduleSign", "SCHEDULE_ALREADY_EXECUTED"),
        (schedule.deleted, "scheduleSign", "SCHEDULE_ALREADY_DELETED"),
        (schedule.expired, "scheduleSign", "INVALID_SCHEDULE_ID"),
        (not schedule.admin_key, "scheduleDelete", "SCHEDULE_IS_IMMUTABLE"),
    )
    failing = next(((kind, result) for applies, kind, result in failures if applies), None)
    if failing is None and (schedule.of_contract or network.choose.random() < 0.5):
        failing = "scheduleSign", "NO_NEW_VALID_SIGNATURES"
    if failing:
        kind, result = failing
        network.submit(kind, {"scheduleID": schedule.number}, payer=payer.number, result=result)
        return
    body = {
        "scheduledTransactionBody": messages.SchedulableTransactionBody.FromString(schedule.scheduled),
        "memo": schedule.memo,
        "payerAccountID": schedule.payer,
        "wait_for_expiry": schedule.waits,
        "expiration_time": schedule.expiration,
        "adminKey": schedule.admin_key,
    }
    receipt = {"scheduleID": schedule.number, "scheduledTransactionID": _scheduled_id(schedule)}
    result = "IDENTICAL_SCHEDULE_ALREADY_CREATED"
    network.submit("scheduleCreate", body, payer=payer.number, receipt=receipt, result=result)


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
    payer: int,
    required: list[int],
    waits: bool = False,
) -> None:
    number, at, required = network.new_number(), network.now, list(dict.fromkeys(required))
    memo = network.choose.choice(_MEMOS).format(network.choose.choice(_OCCASIONS))
    scheduled |= {"memo": memo, "transactionFee": HBAR}
    message = compose(messages.SchedulableTransactionBody, scheduled)
    expires, expiration = at + _USUAL_LIFE, None
    if waits or network.choose.random() < 0.3:
        seconds = at // NANOS_PER_SECOND + network.choose.randrange(60, 7_200)
        expires = expiration = seconds * NANOS_PER_SECOND
    admin_key = creator.key if network.choose.random() < 0.8 else None
    body = {
        "scheduledTransactionBody": message,
        "memo": memo,
        "expiration_time": expiration,
        "wait_for_expiry": waits,
        "payerAccountID": payer if payer != creator.number else None,
        "adminKey": admin_key,
    }
    transaction_id = network.transaction_id(creator.number)
    schedule = Schedule(
        *(number, at, creator.number, payer, memo, admin_key, message.SerializeToString()),
        transaction_id=transaction_id.SerializeToString(),
        expires=expires,
        required=required,
        expiration=expiration,
        waits=waits,
    )
    network.world.bound.update((creator.number, *required))
    network.world.schedules[number] = schedule
    wallet = wallet_of(creator.number, creator.key)
    assert wallet is not None
    created = network.submit(
        "scheduleCreate",
        body,
        payer=creator.number,
        receipt={"scheduleID": number, "scheduledTransactionID": _scheduled_id(schedule)},
        envelope={"transactionID": transaction_id},
        signatures=wallet.signatures,
    )
    schedule.add_signatures(at, _signature_map(created))
    if creator.number in required:
        schedule.signed.append(creator.number)
    network.call_at(expires, partial(end, number=number))
    if not schedule.missing and not waits:
        execute(network, schedule)


def execute(network: Network, schedule: Schedule) -> None:
    """Execute a scheduled transaction now, which may fail by then."""
    # BODY
    scheduled: Any = messages.SchedulableTransactionBody.FromString(schedule.scheduled)
    kind = scheduled.WhichOneof("data")
    payer = network.world.accounts[schedule.payer]
    receipt: dict[str, Any] = {}
    record: dict[str, Any] = {}
    result, transfers, fee = "SUCCESS", None, None
    if payer.balance < HBAR:
        result, fee = "INSUFFICIENT_PAYER_BALANCE", 0
    elif kind == "cryptoTransfer":
        amounts = scheduled.cryptoTransfer.transfers.accountAmounts
        transfers = {each.accountID.accountNum: each.amount for each in amounts}
        result = _result_of_payment(network, transfers)
    elif kind == "tokenMint":
        amount = scheduled.tokenMint.amount
        minted = network.world.tokens.issued.get(scheduled.tokenMint.token.tokenNum)
        if minted is None:
            result = "TOKEN_WAS_DELETED"
        elif not minted.supply_key:
            result = "TOKEN_HAS_NO_SUPPLY_KEY"
        elif failure := supply.mint_failure(minted, amount):
            result = failure
        else:
            receipt, record = supply.receive(network, minted, amount)
    else:
        topic = network.world.topics.get(scheduled.consensusSubmitMessage.topicID.topicNum)
        if topic is None or not topic.is_free:
            result = "INVALID_TOPIC_ID" if topic is None or topic.deleted else "UNAUTHORIZED"
        else:
            message = topic.add(scheduled.consensusSubmitMessage.message, payer.number, network.now)
            receipt = message_receipt(message)
    # RECORD
    schedule.executed = network.now
    network.submit(
        kind,
        getattr(scheduled, kind),
        payer=payer.number,
        envelope={"transactionID": _scheduled_id(schedule), "memo": scheduled.memo, "nodeAccountID": {}},
        record={"scheduleRef": schedule.number, **record},
        receipt=receipt,
        transfers=transfers,
        result=result,
        fee=fee,
    )


def _result_of_payment(network: Network, transfers: dict[int, int]) -> str:
    for number, amount in transfers.items():
        # What was deleted since may also have been forgotten.
        holder = network.world.accounts.get(number)
        if holder is None or holder.deleted:
            return "ACCOUNT_DELETED"
        if holder.balance + amount < HBAR:
            return "INSUFFICIENT_ACCOUNT_BALANCE"
    return "SUCCESS"


def _scheduled_id(schedule: Schedule) -> Any:
    """Return the id of the scheduled transaction: that of the ScheduleCreate, marked as scheduled."""
    transaction_id = messages.TransactionID.FromString(schedule.transaction_id)
    transaction_id.scheduled = True
    return transaction_id


def _open(network: Network) -> list[Schedule]:
    return [schedule for schedule in network.world.schedules.values() if schedule.is_open]


def _find_signer(network: Network) -> Account | None:
    """Return an account that signs with one key; None if the first one tried does not."""
    person = network.find_person(settled=True)
    return person if person and wallet_of(person.number, person.key) else None


def _signature_map(composed: ComposedTransaction) -> Any:
    transaction = messages.Transaction.FromString(composed.transaction_bytes)
    return messages.SignedTransaction.FromString(transaction.signedTransactionBytes).sigMap


ACTIONS = weighted((2, create, sign), (0, delete, change_invalid))
