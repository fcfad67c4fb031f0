"""Composed streams to measure loading with: plain transfers, and the mixture of a busy network."""

import random
from collections.abc import Callable
from pathlib import Path

from ledger.stream.record_item import HapiVersion
from mirror.core.values.hapi.messages import CryptoUpdateTransactionBody
from mirror.demo.streams.record_files import TREASURY, Block
from tests.composing import Composer
from tests.contracts.compose import ContractStream, change, contract, function_result, log, state
from tests.tokens.compose import TokenStream, serials, units

ACCOUNTS, TOKENS, TOPICS, CONTRACTS = 1_000, 20, 20, 20
FIRST_ACCOUNT, FIRST_TOKEN, FIRST_TOPIC, FIRST_CONTRACT = 1_001, 5_001, 6_001, 7_001
NFT, SERIALS = 5_900, 2_000
HBAR = 100_000_000

#: What is done with each block of a stream.
Write = Callable[[Block], object]
_VERSION: HapiVersion = (0, 69, 0)


def into(folder: Path) -> Write:
    """Write blocks into a folder as record files."""
    return lambda block: block.write(folder)


def transfers(write: Write, count: int, per_block: int, version: HapiVersion = _VERSION) -> None:
    """Write transfers between two of a thousand accounts, with the fee."""
    choose = random.Random(1)
    composer = Composer(hapi_version=version)
    people = _people(composer, write)
    for done in range(count):
        payer, receiver = choose.sample(people, 2)
        amount = choose.randint(1, 1000)
        composer.crypto_transfer({payer: -amount, receiver: amount}, payer=payer)
        if (done + 1) % per_block == 0 or done + 1 == count:
            write(composer.block())


class BusyStream(TokenStream, ContractStream):  # type: ignore[misc]  # two vocabularies name a create
    """A stream with tokens and contracts; `happen` and `create` are those of tokens."""


def mixed(write: Write, count: int, per_block: int, version: HapiVersion = _VERSION) -> None:
    """Write what a busy network does: 40 % transfers, 20 % topic messages, 20 % token and NFT transfers, 15 %
    contract calls with logs and state changes, 5 % changes of accounts and associations.
    """
    choose = random.Random(2)
    stream = BusyStream(hapi_version=version)
    people = _people(stream, write)
    _tokens_and_topics(stream, people)
    write(stream.block())
    sequence = dict.fromkeys(range(FIRST_TOPIC, FIRST_TOPIC + TOPICS), 0)
    owners = dict.fromkeys(range(1, SERIALS + 1), TREASURY)

    def transfer() -> None:
        payer, receiver = choose.sample(people, 2)
        amount = choose.randint(1, 1000)
        stream.crypto_transfer({payer: -amount, receiver: amount}, payer=payer)

    def message() -> None:
        topic = choose.choice(list(sequence))
        sequence[topic] += 1
        stream.happen(
            "consensusSubmitMessage",
            {"topicID": {"topicNum": topic}, "message": choose.randbytes(120)},
            receipt={
                "topicSequenceNumber": sequence[topic],
                "topicRunningHash": choose.randbytes(48),
                "topicRunningHashVersion": 3,
            },
            payer=choose.choice(people),
        )

    def token_transfer() -> None:
        sender, receiver = choose.sample(people, 2)
        if choose.random() < 0.25:
            serial = choose.randint(1, SERIALS)
            stream.transfer(serials(NFT, (serial, owners[serial], receiver)), payer=sender)
            owners[serial] = receiver
        else:
            token = FIRST_TOKEN + choose.randrange(TOKENS)
            stream.transfer(units(token, {sender: -3, receiver: 3}), payer=sender)

    def call() -> None:
        number = FIRST_CONTRACT + choose.randrange(CONTRACTS)
        topics = [choose.randbytes(32) for _ in range(3)]
        logs = [log(number, *topics, data=choose.randbytes(32)) for _ in range(2)]
        slots = [bytes(31) + bytes([choose.randrange(200)]) for _ in range(3)]
        changes = [change(slot, choose.randbytes(8), choose.randbytes(8)) for slot in dict.fromkeys(slots)]
        ran = function_result(number, logInfo=logs, functionParameters=choose.randbytes(68))
        ContractStream.happen(
            stream,
            "contractCall",
            {"contractID": contract(number), "gas": 90_000, "functionParameters": choose.randbytes(68)},
            record={"contractCallResult": ran},
            receipt={"contractID": contract(number)},
            sidecars=[state(*changes, number=number)],
            payer=choose.choice(people),
        )

    def other() -> None:
        person = choose.choice(people)
        if choose.random() < 0.5:
            update = CryptoUpdateTransactionBody()
            update.memo.value = f"memo {choose.random()}"
            stream.crypto_update(person, update, payer=person)
        else:
            stream.associate(person, NFT)

    kinds: list[Callable[[], None]] = [transfer, message, token_transfer, call, other]
    for done, happen in enumerate(choose.choices(kinds, weights=[40, 20, 20, 15, 5], k=count)):
        happen()
        if (done + 1) % per_block == 0 or done + 1 == count:
            write(stream.block())


def _people(composer: Composer, write: Write) -> range:
    people = range(FIRST_ACCOUNT, FIRST_ACCOUNT + ACCOUNTS)
    for person in people:
        composer.crypto_create(person, initial_balance=10 * HBAR)
    write(composer.block())
    return people


def _tokens_and_topics(stream: BusyStream, people: range) -> None:
    tokens = range(FIRST_TOKEN, FIRST_TOKEN + TOKENS)
    for token in tokens:
        stream.create(token, supply=1_000_000)
    stream.create_nft(NFT)
    for first in range(1, SERIALS + 1, 10):
        stream.mint_serials(NFT, *range(first, first + 10), total=first + 9)
    for person in people:
        stream.associate(person, *tokens)
    for topic in range(FIRST_TOPIC, FIRST_TOPIC + TOPICS):
        stream.happen("consensusCreateTopic", {"memo": "topic"}, receipt={"topicID": {"topicNum": topic}})
    for number in range(FIRST_CONTRACT, FIRST_CONTRACT + CONTRACTS):
        ContractStream.create(stream, number)
