"""Comparing the node with balance files of the network."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from ledger.ingest.balances.reconciliation import NotComparable, Outcome, reconcile
from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.balance_file import BalanceFile, read_balance_file
from ledger.stream.source.balance_files import find_balance_files
from ledger.stream.source.local import find_record_files
from mirror.demo.publish.history import BalanceWriter, History
from mirror.demo.streams.balance_files import compose_balances
from mirror.demo.streams.keys import first_book, nodes
from mirror.node.health import status
from tests.ledger.compose import Stream
from tests.ledger.ingest.load import load, stored
from tests.partitions import query

pytestmark = pytest.mark.usefixtures("ledger_tables")

ALL = 5_000_000_000_000_000_000


def balances_at(at: int, *holdings: Any) -> BalanceFile:
    composed = compose_balances(at, holdings)
    return read_balance_file(composed.name, composed.data)


def differences() -> list[Any]:
    return stored("balance_difference", "account_id, token_id, ours, theirs")


def test_a_node_that_has_loaded_all_equals_every_balance_file_of_its_network(tmp_path, capsys):
    balances = BalanceWriter(tmp_path, nodes(), 20)
    for network, block in History(20, 10, 5, 3).play(nodes()):
        block.write(tmp_path)
        balances.after(network.world, block)
    Pipeline(LoadOptions(quorums=Quorums(first_book()))).run(find_record_files([tmp_path]))

    call_command("reconcile", str(tmp_path))

    files = len(find_balance_files([tmp_path]))
    assert files > 5
    assert f"{files} of {files} balance files were compared, and none differs." in capsys.readouterr().out
    assert stored("reconciliation_job", "status, error") == [(Outcome.EQUAL, "")] * files

    with connection.cursor() as cursor:
        cursor.execute("delete from crypto_transfer where entity_id = 800")
    with pytest.raises(CommandError, match="balance files differ from this node"):
        call_command("reconcile", str(tmp_path))
    assert {(account, token) for account, token, *_ in differences()} == {(800, 0)}


def test_differences_are_stored_once_and_removed_when_resolved():
    stream = Stream()
    stream.create(1001, 500)
    at = stream.send({1001: -5, 2: 5}, payer=1001)
    load(stream.block())

    for theirs in (7, 495, 495):
        compared = reconcile(balances_at(at, (2, ALL - theirs, {}), (1001, theirs, {})))
        if theirs == 7:
            assert differences() == [(2, 0, -495, ALL - 7), (1001, 0, 495, 7)]

    assert differences() == [(2, 0, -495, ALL - 495)]
    assert (compared.hbar, compared.tokens, compared.outcome) == (1, 0, Outcome.HBAR_DIFFERS)


def test_a_file_whose_hbars_are_not_fifty_billion_says_so():
    stream = Stream()
    at = stream.create(1001, 500)
    load(stream.block())

    compared = reconcile(balances_at(at, (1001, 500, {})))

    assert compared.outcome is Outcome.SUM_DIFFERS
    assert "its accounts hold 500 tinybars together, not 5,000,000,000,000,000,000" in compared.sentence


def test_a_file_of_a_time_that_is_not_loaded_is_not_compared():
    stream = Stream()
    at = stream.create(1001, 500)
    load(stream.block())

    with pytest.raises(NotComparable, match="its time is not loaded"):
        reconcile(balances_at(at + 10**12, (1001, 500, {})))


def test_a_file_after_a_gap_is_compared_only_from_a_snapshot_after_the_gap(tmp_path):
    stream = Stream()
    stream.create(1001, 500)
    first = stream.block()
    stream.send({1001: -5, 2: 5})
    stream.block()
    early, late = (stream.send({1001: -7, 2: 7}) for _ in range(2))
    load(first)
    stream.block().write(tmp_path)
    Pipeline(LoadOptions(start=early)).run(find_record_files([tmp_path]))

    with pytest.raises(NotComparable, match="there is no snapshot of balances before it"):
        reconcile(balances_at(late, (2, ALL, {})))
    snapshot_of_treasury(early - 2)
    with pytest.raises(NotComparable, match="files are missing between the snapshot of balances before it"):
        reconcile(balances_at(late, (2, ALL, {})))
    snapshot_of_treasury(early)

    reconcile(balances_at(late, (2, 507, {})))
    assert differences() == [(1001, 0, -7, 0)]


def snapshot_of_treasury(at: int) -> None:
    query("insert into account_balance (consensus_timestamp, account_id, balance) values (%s, 2, 500)", at)


def test_the_offset_that_errata_have_given_a_file_counts():
    stream = Stream()
    stream.create(1001, 500)
    at = stream.send({1001: -5, 2: 5})
    load(stream.block())
    query(
        "insert into account_balance_file (consensus_timestamp, count, load_start, load_end, name, "
        "synthetic, time_offset) values (%s, 1, 0, 0, 'late', false, -1)",
        at,
    )

    assert reconcile(balances_at(at, (2, ALL - 500, {}), (1001, 500, {}))).hbar == 1


@pytest.mark.parametrize(
    ("names", "message"), [(["missing"], "does not exist"), (["."], "There is no balance file")]
)
def test_the_command_refuses_paths_without_balance_files(tmp_path: Path, names: list[str], message: str):
    with pytest.raises(CommandError, match=message):
        call_command("reconcile", *(str(tmp_path / name) for name in names))


def test_status_tells_what_the_newest_file_states_otherwise():
    stream = Stream()
    at = stream.create(1001, 500)
    load(stream.block())

    compared = reconcile(balances_at(at, (2, ALL - 500, {}), (1001, 500, {})))

    assert status.read().sentence.endswith(
        f"Balances are not those of the network: {compared.sentence} The table balance_difference has them."
    )
    assert status.read().json["balances_differ"] == compared.sentence
