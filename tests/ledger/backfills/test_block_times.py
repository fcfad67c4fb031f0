"""Blocks that lack some of their transactions are widened."""

from collections.abc import Callable

import pytest
from django.db import connection

from tests.build import START, Build, insert
from tests.upgrading import upgrade

pytestmark = pytest.mark.django_db


def blocks() -> list[tuple[int, int]]:
    with connection.cursor() as cursor:
        cursor.execute("select consensus_start, consensus_end from record_file order by index")
        return [(start - START, end - START) for start, end in cursor.fetchall()]


def block(number: int, start: int, end: int, count: int, **columns: object) -> None:
    Build().block(number, end=START + end, consensus_start=START + start, count=count, **columns)


def transactions(build: Build, *offsets: int) -> None:
    for offset in offsets:
        build.transaction(START + offset)


def test_a_block_takes_in_what_lies_before_it_and_then_what_lies_after_it(build: Build) -> None:
    block(1, 0, 10, 2)
    block(2, 30, 40, 5)
    block(3, 60, 70, 1)
    transactions(build, 0, 10, 25, 30, 40, 45, 50, 65)
    insert("sidecar_file", consensus_end=START + 40, id=1, hash_algorithm=0, hash=b"", name="s", types="{1}")

    (state,) = upgrade("block_times")

    assert blocks() == [(0, 10), (25, 50), (60, 70)]
    assert state.rows == 1
    with connection.cursor() as cursor:
        cursor.execute("select consensus_end from sidecar_file")
        assert cursor.fetchall() == [(START + 50,)]


def test_a_block_takes_no_more_than_it_lacks(build: Build) -> None:
    block(1, 30, 40, 3)
    transactions(build, 10, 20, 30, 40, 45)

    upgrade("block_times")

    assert blocks() == [(20, 40)]


def test_a_block_whose_transactions_are_not_stored_stays(build: Build) -> None:
    block(1, 0, 10, 2)
    block(2, 30, 40, 5)
    transactions(build, 0, 10)

    assert upgrade("block_times")[0].rows == 0
    assert blocks() == [(0, 10), (30, 40)]


def test_a_network_that_began_with_blocks_has_none_such(build: Build) -> None:
    block(1, 30, 40, 3, version=7)
    transactions(build, 20, 30, 40)

    assert upgrade("block_times")[0].rows == 0


def test_blocks_of_mainnet_before_the_fault_are_not_looked_at(
    build: Build, settings_of: Callable[..., None]
) -> None:
    settings_of({"network": "mainnet"})
    block(1, 30, 40, 3)
    transactions(build, 20, 30, 40)

    assert upgrade("block_times")[0].rows == 0
