"""Topics: creating them, submitting messages, updating and deleting them."""

import json
from typing import Any

from mirror.core.values.timestamp import NANOS_PER_DAY, NANOS_PER_SECOND
from mirror.demo.actions.tokens import traders
from mirror.demo.network import Network, NotPossible, pair, require, weighted
from mirror.demo.streams.keys import NO_KEY, Ed25519Wallet
from mirror.demo.world.accounts import AUTO_RENEW_PERIOD, HBAR, Account
from mirror.demo.world.messages import assessed_fee, units
from mirror.demo.world.topics import RUNNING_HASH_VERSION, Message, Topic

_MAX_TOPICS, _MIN_TOPICS = 24, 4
_CHUNK = 1_024
_IN_TOKENS = 0.7  # share of the fees in tokens, where the owner has some

_PLACES = ("Accra", "Bergen", "Cusco", "Dhaka", "Edirne", "Fukuoka", "Ghent", "Havana", "Izmir", "Jaipur")
_STEPS = ("picked", "washed", "dried", "packed", "weighed", "loaded", "shipped", "cleared", "received")
_LOTS = ("Blue vase", "Sea chart of 1780", "Grandfather clock", "Silver spoon", "Persian rug", "Old globe")
_PIECES = ("Nf3", "e4", "d4", "c5", "Nc6", "Bb5", "a6", "O-O", "Be7", "Re1", "b5", "Bb3", "d6", "c3")
_REMARKS = (
    "The minutes of the last meeting were approved.",
    "The new bridge opens in spring, a month later than planned.",
    "Three offers came in for the school roof; the second was taken.",
    "The library asks for longer hours on Saturdays.",
    "Dogs stay on the leash in the park until the ducklings have left.",
    "The budget for street lights was raised by four percent.",
    "A thank you went to everyone who helped after the storm.",
    "The market moves to the harbour while the square is paved.",
)
# Additions to the memo of a topic.
_RULES = ("please be brief", "in English", "no advertising", "readers welcome", "archived weekly")
# The memo of a topic about each subject.
_SUBJECTS = (
    "Weather stations",
    "Coffee from {}: every step",
    "Auction house of {}",
    "Chess club {}, game {}",
    "Town hall of {}",
    "Chat, {} and around",
)


def create(network: Network) -> None:
    """Create a topic: open to all, for the owner alone, or for a fee."""
    owner = network.person(settled=True)
    if owner.key is None or len(_living(network)) >= _MAX_TOPICS:
        raise NotPossible
    number, subject = network.new_number(), network.choose.randrange(len(_SUBJECTS))
    topic = Topic(number, network.now, owner.number, subject, _memo(network, subject))
    topic.auto_renew_period = AUTO_RENEW_PERIOD
    body: dict[str, Any] = {"memo": topic.memo, "autoRenewPeriod": AUTO_RENEW_PERIOD}
    if network.choose.random() < 0.9:
        topic.admin_key = body["adminKey"] = owner.key
        topic.auto_renew_account = body["autoRenewAccount"] = owner.number
    match network.choose.randrange(4):
        case 0:
            topic.submit_key = body["submitKey"] = Ed25519Wallet(number, "submit").key
        case 1:
            _set_fee(network, topic)
            topic.fee_schedule_key = body["fee_schedule_key"] = owner.key
            topic.fee_exempt_keys = body["fee_exempt_key_list"] = [owner.key]
            body["custom_fees"] = _fees(topic)
    network.world.bound.add(owner.number)
    network.world.topics[number] = topic
    network.submit("consensusCreateTopic", body, payer=owner.number, receipt={"topicID": number})


def submit(network: Network) -> None:
    topic, payer = _writable(network)
    write(network, topic, payer, text(network, topic.subject, topic.sequence_number + 1))


def submit_to_oldest(network: Network) -> None:
    """Submit a message to the oldest topic that is free for all, if there is one."""
    topic = next((topic for topic in network.world.topics.values() if topic.is_free), None)
    payer = network.find_person()
    if topic is not None and payer is not None:
        write(network, topic, payer, text(network, topic.subject, topic.sequence_number + 1))


def submit_long(network: Network) -> None:
    """Submit a message of several chunks, each in a transaction."""
    topic, payer = _writable(network)
    contents = _long_text(network, topic.subject)
    chunks = [contents[start : start + _CHUNK] for start in range(0, len(contents), _CHUNK)]
    initial = network.transaction_id(payer.number)
    for number, chunk in enumerate(chunks, start=1):
        if not _can_pay_fee(network, topic, payer):
            break
        write(network, topic, payer, chunk, chunk=(number, len(chunks)), initial=initial)


def write(
    network: Network,
    topic: Topic,
    payer: Account,
    contents: bytes,
    *,
    chunk: tuple[int, int] | None = None,
    initial: Any = None,
) -> None:
    """Submit a message, or a chunk of one whose first transaction has the id `initial`."""
    body: dict[str, Any] = {"topicID": topic.number, "message": contents}
    envelope: dict[str, Any] = {}
    if chunk is not None:
        body["chunkInfo"] = {"initialTransactionID": initial, "number": chunk[0], "total": chunk[1]}
        if chunk[0] == 1:
            envelope["transactionID"] = initial
    record: dict[str, Any] = {}
    transfers: dict[int, int] | None = None
    if topic.fee and _pays_fee(topic, payer):
        limit = {"amount": 2 * topic.fee, "denominating_token_id": topic.fee_token}
        envelope["max_custom_fees"] = [{"account_id": payer.number, "fees": [limit]}]
        assessed = assessed_fee(topic.fee, topic.fee_token, topic.owner, [payer.number])
        record["assessed_custom_fees"] = [assessed]
        moved = {payer.number: -topic.fee, topic.owner: topic.fee}
        if topic.fee_token is None:
            transfers = moved
        else:
            record["tokenTransferLists"] = [units(topic.fee_token, moved)]
            network.world.tokens.issued[topic.fee_token].receive(moved, network.now)
    initial_id = initial.SerializeToString() if initial is not None else None
    message = topic.add(contents, payer.number, network.now, chunk, initial_id)
    network.submit(
        "consensusSubmitMessage",
        body,
        payer=payer.number,
        receipt=receipt(message),
        envelope=envelope,
        record=record,
        transfers=transfers,
    )


def receipt(message: Message) -> dict[str, Any]:
    return {
        "topicSequenceNumber": message.sequence_number,
        "topicRunningHash": message.running_hash,
        "topicRunningHashVersion": RUNNING_HASH_VERSION,
    }


def update(network: Network) -> None:
    """Change the memo, expiry, submit key, fee or auto-renew account of a topic."""
    topic = network.pick(_changeable(network))
    body: dict[str, Any] = {"topicID": topic.number}
    match network.choose.randrange(5):
        case 0:
            rule = network.choose.choice(_RULES)
            topic.memo = body["memo"] = f"{topic.memo.partition(' (')[0]} ({rule})"
        case 1:
            topic.expiration = body["expirationTime"] = network.now + 90 * NANOS_PER_DAY
        case 2:
            key = Ed25519Wallet(topic.number, "submit").key if topic.is_public else NO_KEY
            topic.submit_key = body["submitKey"] = key
        case 3 if topic.fee_schedule_key:
            if topic.fee:
                topic.fee = topic.fee_token = None
            else:
                _set_fee(network, topic)
            topic.fee_changed = network.now
            body["custom_fees"] = {"fees": _fees(topic)}
        case _ if topic.fee_schedule_key:
            exempt = network.find_person()
            topic.fee_exempt_keys = [exempt.key] if exempt and exempt.key else []
            body["fee_exempt_key_list"] = {"keys": topic.fee_exempt_keys}
        case _:
            topic.auto_renew_account, body["autoRenewAccount"] = None, 0
    topic.changed = network.now
    network.submit("consensusUpdateTopic", body, payer=topic.owner)


def delete(network: Network) -> None:
    """Delete a topic. Its messages stay."""
    require(len(_living(network)) > _MIN_TOPICS)
    topic = network.pick(_changeable(network))
    topic.deleted, topic.changed = True, network.now
    network.submit("consensusDeleteTopic", {"topicID": topic.number}, payer=topic.owner)


def submit_invalid(network: Network) -> None:
    """Submit a message to a deleted topic, without its key, too long, or for less than its fee."""
    payer, topic = pair(network.find_person(), network.find(_living(network)))
    deleted = [topic for topic in network.world.topics.values() if topic.deleted]
    body, envelope = {"topicID": topic.number, "message": b"Hello?"}, {}
    if not topic.is_public:
        result = "INVALID_SIGNATURE"
    elif _pays_fee(topic, payer):
        envelope["max_custom_fees"] = [{"account_id": payer.number, "fees": [{"amount": 1}]}]
        result = "MAX_CUSTOM_FEE_LIMIT_EXCEEDED"
    elif deleted and network.choose.random() < 0.7:
        body["topicID"], result = network.choose.choice(deleted).number, "INVALID_TOPIC_ID"
    else:
        body["message"], result = json.dumps({"noise": "-" * 1_100}).encode(), "MESSAGE_SIZE_TOO_LARGE"
    network.submit("consensusSubmitMessage", body, payer=payer.number, envelope=envelope, result=result)


def _living(network: Network) -> list[Topic]:
    return [topic for topic in network.world.topics.values() if not topic.deleted]


def _changeable(network: Network) -> list[Topic]:
    return [topic for topic in _living(network) if topic.admin_key and network.can_pay(topic.owner)]


def _writable(network: Network) -> tuple[Topic, Account]:
    """Return a topic and an account that may write to it. Errors: NotPossible."""
    topic = network.pick(_living(network))
    require(topic.is_public or network.can_pay(topic.owner))
    payer = network.person() if topic.is_public else network.world.accounts[topic.owner]
    token = network.world.tokens.issued.get(topic.fee_token or 0)
    if topic.is_public and token:
        holder = traders.find_one_of(network, token.relationships)
        payer = network.world.accounts[holder] if holder else payer
    require(_can_pay_fee(network, topic, payer))
    return topic, payer


def _pays_fee(topic: Topic, payer: Account) -> bool:
    return bool(topic.fee) and payer.number != topic.owner and payer.key not in topic.fee_exempt_keys


def _can_pay_fee(network: Network, topic: Topic, payer: Account) -> bool:
    """Return whether the payer can pay the fee in tokens now, if there is one."""
    if topic.fee_token is None or topic.fee is None or not _pays_fee(topic, payer):
        return True
    token = network.world.tokens.issued.get(topic.fee_token)
    # A token that was deleted may also have been forgotten.
    if token is None or token.failure(payer.number) or token.failure(topic.owner):
        return False
    return token.balance(payer.number) >= topic.fee


def _set_fee(network: Network, topic: Topic) -> None:
    """Let a message cost some hbars, or some units of a token that the owner has."""
    topic.fee, topic.fee_token = network.choose.randrange(1, 6) * HBAR // 10, None
    token = traders.find_token(
        network, lambda token: token.fungible and not token.fees and topic.owner in token.relationships
    )
    if token and network.choose.random() < _IN_TOKENS:
        topic.fee, topic.fee_token = network.choose.randrange(1, 6), token.number


def _fees(topic: Topic) -> list[dict[str, Any]]:
    fixed = {"amount": topic.fee, "denominating_token_id": topic.fee_token}
    return [{"fixed_fee": fixed, "fee_collector_account_id": topic.owner}] if topic.fee else []


# TEXTS
def _memo(network: Network, subject: int) -> str:
    return _SUBJECTS[subject].format(network.choose.choice(_PLACES), network.choose.randrange(1, 200))


def text(network: Network, subject: int, number: int) -> bytes:
    """Return a message about a subject, the `number`-th of its topic."""
    choose = network.choose
    match subject:
        case 0:
            place, celsius = choose.choice(_PLACES), round(choose.uniform(-8, 36), 1)
            measured = {"celsius": celsius, "humidity": choose.randrange(20, 100)}
            return json.dumps({"station": place, **measured, "reading": number}).encode()
        case 1:
            lot, step = f"C-{1000 + number // len(_STEPS)}", _STEPS[number % len(_STEPS)]
            return json.dumps({"lot": lot, "step": step, "at": network.now // NANOS_PER_SECOND}).encode()
        case 2:
            bid = 50 + number % 8 * 25 + choose.randrange(20)
            return json.dumps({"lot": _LOTS[number // 8 % len(_LOTS)], "bid": bid}).encode()
        case 3:
            return f"{(number + 1) // 2}{'.' if number % 2 else '...'} {choose.choice(_PIECES)}".encode()
        case 4:
            return choose.choice(_REMARKS).encode()
    place = choose.choice(_PLACES)
    greetings = (f"Hello from {place}!", f"Anyone in {place} today?", "👍", "See you tomorrow")
    return choose.choice((*greetings, f"Train to {place} is late")).encode()


def _long_text(network: Network, subject: int) -> bytes:
    """Return a message that takes two or three chunks: minutes, whatever the subject."""
    lines = [f"Minutes of {_memo(network, subject)}", ""]
    for number in range(1, network.choose.randrange(24, 44)):
        lines.append(f"{number}. {network.choose.choice(_REMARKS)}")
    return "\n".join(lines).encode()


ACTIONS = weighted((20, submit), (1, submit_long, create, update), (0, delete, submit_invalid))
