"""A start in the middle of a stream with the balances of a file: from then on as if all had been loaded.

`MIRROR_TEST_POINTS=100` starts at so many points of a history of as many blocks more.
"""

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ledger.ingest.balances import choosing
from ledger.ingest.balances.start import Start
from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.source.local import find_record_files
from mirror.demo.publish.history import BalanceWriter, History
from mirror.demo.streams.balance_files import compose_balances
from mirror.demo.streams.keys import first_book, nodes
from mirror.demo.streams.record_files import account
from mirror.models import LoadedRange
from tests.ledger.compose import Stream
from tests.ledger.ingest.load import stored
from tests.ledger.ingest.tables import empty_tables
from tests.signing import signing_nodes
from tests.tokens.compose import TokenStream, serials, token

pytestmark = pytest.mark.usefixtures("ledger_tables")

POINTS = int(os.environ.get("MIRROR_TEST_POINTS", "2"))
ACCOUNTS = "id, balance"
RELATIONSHIPS = "account_id, token_id, balance"


def started(folder: Path, files: Sequence[Any], quorums: Quorums | None = None) -> Start:
    start = choosing.from_folders([folder], files, quorums)
    assert start is not None
    return start


@pytest.mark.parametrize("half", [False, True], ids=["between blocks", "within a block"])
def test_balances_continue_from_the_file_and_name_it(tmp_path, half):
    stream = Stream()
    stream.create(1001, 500)
    stream.block()
    stream.send({1001: -5, 2: 5}, payer=1001)
    stream.send({1001: -7, 2: 7}, payer=1001)
    middle = stream.block()
    stream.send({1001: -11, 1002: 11}, payer=1001)
    last = stream.block()
    for block in (middle, last):
        block.write(tmp_path)
    first, second = (each.consensus_timestamp for each in middle.transactions)
    at, balance = (first, 495) if half else (second, 488)
    composed = compose_balances(at, [(2, 1_000, {}), (1001, balance, {}), (1009, 3, {2001: 4})])
    composed.write(tmp_path)
    files = find_record_files([tmp_path])

    done = Pipeline(LoadOptions(balances=started(tmp_path, files))).run(files)

    assert (done.files, done.earlier) == ((2, 0) if half else (1, 1))
    assert stored("entity", ACCOUNTS, "balance is not null") == [
        (2, 1_007 if half else 1_000),
        (1001, 477),
        (1009, 3),
    ]
    assert stored("token_account", RELATIONSHIPS) == [(1009, 2001, 4)]
    assert stored("account_balance_file", "name, consensus_timestamp, synthetic, count") == [
        (composed.name, at, False, 3)
    ]
    assert list(LoadedRange.objects.values_list("consensus_start", "rests_on", "basis")) == [
        (at + 1 if half else last.transactions[0].consensus_timestamp, "balances", composed.name)
    ]


def test_a_file_that_is_older_than_the_first_record_file_does_not_serve(tmp_path):
    stream = Stream()
    for amount in (1, 2, 3):
        stream.send({1001: -amount, 2: amount})
        stream.consensus_timestamp += 600 * 10**9
        block = stream.block()
        if amount == 1:
            at = block.transactions[-1].consensus_timestamp
        else:
            block.write(tmp_path)
    compose_balances(at, [(2, 10, {})]).write(tmp_path)

    with pytest.raises(choosing.NoBalances, match="are older than it"):
        choosing.from_folders([tmp_path], find_record_files([tmp_path]), None)


def test_files_from_the_beginning_of_a_network_need_no_balances(tmp_path):
    stream = Stream()
    stream.send({1001: -5, 2: 5})
    stream.block().write(tmp_path)
    compose_balances(stream.consensus_timestamp, [(2, 10, {})]).write(tmp_path)

    assert choosing.from_folders([tmp_path], find_record_files([tmp_path]), None) is None


def test_a_file_that_too_few_nodes_have_signed_gives_no_balances(tmp_path):
    stream = Stream(nodes=signing_nodes(3))
    stream.send({1001: -5, 2: 5})
    stream.block()
    stream.send({1001: -5, 2: 5})
    block = stream.block()
    block.write(tmp_path)
    at = block.transactions[-1].consensus_timestamp
    compose_balances(at, [(2, 10, {})], nodes=signing_nodes(3)[:1]).write(tmp_path)

    with pytest.raises(choosing.NoBalances, match="no consensus: signed by 1 of 3 nodes"):
        choosing.from_folders([tmp_path], find_record_files([tmp_path]), Quorums(stream.address_book()))


def test_from_any_balance_file_of_a_simulated_network_balances_are_those_of_the_full_load(tmp_path):
    balances = BalanceWriter(tmp_path, nodes(), 20)
    for network, block in History(14 + POINTS, 10, 3, 2).play(nodes()):
        block.write(tmp_path)
        balances.after(network.world, block)
    files = find_record_files([tmp_path])
    Pipeline(LoadOptions(quorums=Quorums(first_book()))).run(files)
    expected = balances_now()

    for index in random.Random(5).sample(range(1, 11 + POINTS), POINTS):
        empty_tables()
        left = files[index:]
        quorums = Quorums(first_book())
        start = started(tmp_path, left, quorums)
        Pipeline(LoadOptions(balances=start, quorums=quorums)).run(left)
        assert balances_now() == expected
        assert start.signed_by


def balances_now() -> tuple[list[Any], list[Any]]:
    return (
        stored("entity", ACCOUNTS, "type in ('ACCOUNT', 'CONTRACT') and deleted is not true"),
        stored("token_account", RELATIONSHIPS, "associated"),
    )


def test_a_change_of_treasury_moves_also_serials_that_were_there_before_the_start(tmp_path):
    stream = TokenStream()
    stream.crypto_transfer({1001: -5, 2: 5})
    stream.block()
    at = stream.crypto_transfer({1001: -5, 2: 5}).consensus_timestamp
    stream.block().write(tmp_path)
    stream.happen(
        "tokenUpdate", {"token": token(2001), "treasury": account(1002)}, serials(2001, (-1, 1001, 1002))
    )
    stream.block().write(tmp_path)
    compose_balances(at, [(1001, 0, {2001: 7}), (1002, 0, {2001: 1})]).write(tmp_path)
    files = find_record_files([tmp_path])

    Pipeline(LoadOptions(balances=started(tmp_path, files))).run(files)

    assert stored("token_account", RELATIONSHIPS) == [(1001, 2001, 0), (1002, 2001, 8)]
