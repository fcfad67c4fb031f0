"""Messages with fees in tokens are found by their hash after an upgrade."""

import pytest
from django.db import connection

from tests.build import START, Build
from tests.contracts.backfills.test_logs import log
from tests.upgrading import upgrade

pytestmark = pytest.mark.django_db

SUBMIT_MESSAGE, TRANSFER = 27, 14
TOPIC = 7001


def hashes() -> list[tuple[int, bytes, bytes, int]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "select consensus_timestamp, hash, hash_suffix, payer_account_id from transaction_hash order by 1"
        )
        return [(at, bytes(hash), bytes(rest), payer) for at, hash, rest, payer in cursor.fetchall()]


def fees(since: int) -> None:
    build = Build()
    build.topic(TOPIC, since=since)
    build.custom_fee(TOPIC, fixed_fees=[{"amount": 1}], since=since)


def test_messages_with_a_log_get_the_row_by_which_their_hash_is_found(build: Build) -> None:
    fees(START - 5)
    digest = bytes(range(48))
    build.transaction(START, type=SUBMIT_MESSAGE, transaction_hash=digest)
    log(START)
    log(START, 1)
    build.transaction(START + 1, type=SUBMIT_MESSAGE)
    build.transaction(START + 2, type=TRANSFER)
    log(START + 2)

    (state,) = upgrade("message_hashes")

    assert hashes() == [(START, digest[:32], digest[32:], 1001)]
    assert state.rows == 1


def test_a_hash_that_is_there_is_not_added_again(build: Build) -> None:
    fees(START - 5)
    build.transaction(START, type=SUBMIT_MESSAGE)
    build.transaction_hash(START)
    log(START)

    (state,) = upgrade("message_hashes")

    assert state.rows == 0


def test_nothing_is_looked_for_before_the_first_topic_with_fees(build: Build) -> None:
    build.transaction(START, type=SUBMIT_MESSAGE)
    log(START)
    assert upgrade("message_hashes")[0].rows == 0

    fees(START + 1)
    assert upgrade("message_hashes")[0].rows == 0


def test_a_node_without_transaction_hashes_gets_none(build: Build, settings_of: object) -> None:
    fees(START - 5)
    build.transaction(START, type=SUBMIT_MESSAGE)
    log(START)
    settings_of({"importer.parser.record.entity.persist.transactionHash": False})  # type: ignore[operator]

    assert upgrade("message_hashes")[0].rows == 0
