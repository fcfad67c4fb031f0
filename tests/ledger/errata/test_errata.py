"""The errata of mainnet: composed files of each kind, applied to what is loaded, as often as one likes."""

import base64
import gzip
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from ledger import errata
from ledger.errata import Part, applying
from ledger.stream.errors import StreamFileError
from mirror.core.config.setting import OperatorError
from mirror.core.values.hapi.messages import CryptoGetInfoResponse, RecordStreamItem
from mirror.demo.streams.record_files import transfer_list
from tests.ledger.compose import DAY, INSUFFICIENT_PAYER_BALANCE, KEY, Stream, num, seconds
from tests.ledger.ingest.load import load, settings, stored
from tests.ledger.ingest.tables import contents
from tests.partitions import query

pytestmark = pytest.mark.usefixtures("ledger_tables")

START = 1_570_000_000 * 10**9


@pytest.fixture(autouse=True)
def mainnet() -> Any:
    with settings(network="mainnet"):
        yield


def framed(message: bytes) -> bytes:
    return len(message).to_bytes(4, "big") + message


def apply(folder: Path) -> dict[Part, tuple[int, int]]:
    return {each.part: (each.loaded, each.added) for each in applying.apply(folder, print)}


def load_something() -> None:
    stream = Stream(start=START)
    stream.create(1001, 100)
    load(stream.block())


def balance_file(at: int, is_computed: bool) -> None:
    query(
        "insert into account_balance_file (consensus_timestamp, count, load_start, load_end, name, "
        "synthetic) values (%s, 1, 0, 0, %s, %s)",
        at,
        str(at),
        is_computed,
    )


def pair(first: bytes, second: bytes) -> bytes:
    return framed(first) + framed(second)


def history(folder: Path) -> tuple[int, int]:
    """Load two accounts and a payment to a third one. Its creation and another payment are in no file.

    Returns the times of these two.
    """
    stream, lost = Stream(start=START), Stream(start=START + 10**9)
    stream.create(1001, 100)
    stream.create(1002, 100)
    first = stream.block()
    lost.create(1003, 30)
    lost.send({1001: -7, 1002: 7})
    stream.send({1002: -1, 1003: 1})
    load(first, stream.block())
    creation, payment = lost.block().transactions
    deeper = folder / "missing"
    deeper.mkdir()
    (deeper / "one.bin").write_bytes(pair(creation.record_bytes, creation.transaction_bytes))
    both = RecordStreamItem(record=payment.record)
    both.transaction.ParseFromString(payment.transaction_bytes)
    (deeper / "two.pb.gz").write_bytes(gzip.compress(both.SerializeToString()))
    return creation.consensus_timestamp, payment.consensus_timestamp


@pytest.mark.checklist("ERR-02")
def test_transactions_that_the_stream_lacks_are_stored_and_move_balances_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    created, paid = history(tmp_path)
    assert stored("entity", "id, balance") == [(1001, 100), (1002, 99)]

    assert errata.sentence().startswith("none of mainnet's errata are applied")
    call_command("errata", str(tmp_path))
    assert errata.sentence().startswith("2 of 113 transactions, 0 of 15,380 accounts, 0 of 89 contracts")
    once = contents()
    assert apply(tmp_path)[Part.TRANSACTIONS] == (2, 0)

    assert contents() == once
    assert "Transactions: 2 of 113, 2 new; 111 are missing." in capsys.readouterr().out
    times = f"consensus_timestamp in ({created}, {paid})"
    assert stored("transaction", "consensus_timestamp, errata, index", times) == [
        (created, "INSERT", None),
        (paid, "INSERT", None),
    ]
    assert stored("crypto_transfer", "entity_id, amount, errata", f"consensus_timestamp = {paid}") == [
        (1001, -7, "INSERT"),
        (1002, 7, "INSERT"),
    ]
    assert stored("entity", "id, balance", "id > 1000") == [(1001, 93), (1002, 106), (1003, 31)]
    assert stored("entity", "created_timestamp", "id = 1003") == [(created,)]
    assert query("select known, cardinality(applied) from loaded_errata where part = 'transactions'") == [
        (113, 2)
    ]


def test_computed_snapshots_after_a_missing_transaction_are_repaired(tmp_path: Path) -> None:
    _, paid = history(tmp_path)
    for at, is_computed in ((paid - 1, True), (paid + 1, True), (paid + 2, False)):
        balance_file(at, is_computed)
        query(
            "insert into account_balance (consensus_timestamp, account_id, balance) values (%s, 1001, 50)", at
        )

    apply(tmp_path)

    assert stored("account_balance", "consensus_timestamp, balance", "account_id = 1001") == [
        (paid - 1, 50),
        (paid + 1, 43),
        (paid + 2, 50),
    ]


def test_an_account_that_only_missing_transactions_concern_has_its_row_in_the_snapshots(
    tmp_path: Path,
) -> None:
    _, paid = history(tmp_path)
    next_month = paid + 31 * DAY
    (given,) = query("select max(consensus_timestamp) from crypto_transfer where entity_id = 1003")[0]
    for at in (START, paid + 1, paid + 2, given + 3, next_month, next_month + 1):
        balance_file(at, is_computed=True)
    for at, balance in ((START, 100), (given + 3, 101), (next_month, 101)):
        query(
            "insert into account_balance (consensus_timestamp, account_id, balance) values (%s, 1001, %s)",
            at,
            balance,
        )

    apply(tmp_path)
    once = stored("account_balance", "consensus_timestamp, balance")
    apply(tmp_path)

    assert stored("account_balance", "consensus_timestamp, balance") == once
    assert stored("account_balance", "consensus_timestamp, balance", "account_id = 1001") == [
        (START, 100),
        (paid + 1, 93),
        (given + 3, 94),
        (next_month, 94),
    ]
    assert stored("account_balance", "consensus_timestamp, balance", "account_id = 1003") == [
        (paid + 1, 30),
        (given + 3, 31),
        (next_month, 31),
    ]


def test_transactions_outside_of_what_is_loaded_wait_for_it(tmp_path: Path) -> None:
    stream, lost = Stream(start=START), Stream(start=START + 10**9)
    stream.create(1001, 100)
    load(stream.block())
    later = lost.send({1001: -7, 98: 7})
    (payment,) = lost.block().transactions
    (tmp_path / "later.bin").write_bytes(pair(payment.transaction_bytes, payment.record_bytes))

    done = {each.part: each for each in applying.apply(tmp_path, print)}[Part.TRANSACTIONS]
    assert (done.loaded, done.outside) == (0, 1)
    assert not stored("transaction", "consensus_timestamp", f"consensus_timestamp = {later}")

    stream.send({1001: -1, 98: 1})
    load(stream.block())
    assert apply(tmp_path)[Part.TRANSACTIONS] == (1, 1)
    assert stored("entity", "id, balance", "id = 1001") == [(1001, 92)]


@pytest.mark.checklist("ERR-02", "ERR-03")
def test_transfers_that_did_not_happen_are_marked_by_the_rule_and_give_balances_back(tmp_path: Path) -> None:
    """Loading marks what the body requested; here it names the receiver in a way that is not compared."""
    stream = Stream(start=START)
    stream.create(1001, 100)
    stream.create(1002, 100)
    requested = [
        {"accountID": {"alias": b"someone"}, "amount": 90},
        {"accountID": {"alias": b"x"}, "amount": -90},
    ]
    stream.happen(
        "cryptoTransfer",
        {"transfers": {"accountAmounts": requested}},
        {"transferList": transfer_list({1001: -90, 1002: 90, 3: 1, 98: 4})},
        result=INSUFFICIENT_PAYER_BALANCE,
    )
    load(stream.block())
    assert stored("entity", "id, balance", "id > 1000") == [(1001, 10), (1002, 190)]
    (tmp_path / "contracts.txt").write_text("")

    assert apply(tmp_path)[Part.SPURIOUS][1] == 1
    assert apply(tmp_path)[Part.SPURIOUS][1] == 0

    assert stored("crypto_transfer", "entity_id, amount, errata", "amount in (1, 4, 90, -90)") == [
        (3, 1, None),
        (98, 4, None),
        (1001, -90, "DELETE"),
        (1002, 90, "DELETE"),
    ]
    assert stored("entity", "id, balance", "id > 1000") == [(1001, 100), (1002, 100)]


def test_accounts_and_contracts_from_before_the_first_file_are_filled_where_the_stream_says_nothing(
    tmp_path: Path,
) -> None:
    stream = Stream(start=START)
    stream.happen("cryptoUpdateAccount", {"accountIDToUpdate": num(50), "memo": {"value": "new"}})
    stream.create(1001)
    load(stream.block())
    infos = [
        CryptoGetInfoResponse.AccountInfo(
            accountID=num(number),
            key=KEY,
            memo="old",
            autoRenewPeriod={"seconds": 90},
            expirationTime=seconds(5),
            deleted=number == 60,
        )
        for number in (50, 60, 70, 1001)
    ]
    lines = [base64.b64encode(info.SerializeToString()) for info in infos]
    (tmp_path / "accounts.txt.gz").write_bytes(gzip.compress(b"\n".join([b"# before", *lines])))
    (tmp_path / "contracts.txt").write_text("0.0.70\n80\n")

    done = apply(tmp_path)
    assert (done[Part.ACCOUNTS], done[Part.CONTRACTS]) == ((4, 4), (2, 2))
    assert apply(tmp_path)[Part.ACCOUNTS] == (4, 0)

    key = CryptoGetInfoResponse.AccountInfo(key=KEY).key.SerializeToString()
    assert stored("entity", "id, type, memo, key, auto_renew_period, deleted") == [
        (50, "ACCOUNT", "new", key, 90, False),
        (60, "ACCOUNT", "old", key, 90, True),
        (70, "CONTRACT", "old", key, 90, False),
        (80, "CONTRACT", "", None, None, None),
        *stored("entity", "id, type, memo, key, auto_renew_period, deleted", "id = 1001"),
    ]
    assert stored("entity", "memo", "id = 1001") == [("",)]


@pytest.mark.checklist("ERR-01")
def test_balance_files_of_the_network_get_their_offsets(tmp_path: Path) -> None:
    load_something()
    for at, is_computed in (
        (1_658_420_100_626_004_000, False),
        (1_658_420_100_626_004_001, True),
        (1_570_000_900_000_000_001, False),
    ):
        balance_file(at, is_computed)
    (tmp_path / "balance_offsets.txt").write_text("2019-10-02T07_21_40.000000001Z_Balances.csv\n")

    apply(tmp_path)

    assert stored("account_balance_file", "consensus_timestamp, time_offset") == [
        (1_570_000_900_000_000_001, -1),
        (1_658_420_100_626_004_000, 53),
        (1_658_420_100_626_004_001, 0),
    ]


# REFUSALS


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("one.bin", pair(b"\x08\x01", b"\x08\x01"), "no transaction with the hash"),
        ("one.pb", b"\xff", "no RecordStreamItem"),
        ("accounts.txt", b"?", "the line '\\?' can't be read"),
        ("contracts.txt", b"0.0.x", "can't be read"),
        ("balance_offsets.txt.gz", b"text", "broken gzip data"),
    ],
    ids=["transaction", "item", "account", "contract", "compressed"],
)
def test_a_file_that_is_not_what_its_name_says_is_refused(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    load_something()
    (tmp_path / name).write_bytes(content)

    with pytest.raises(StreamFileError, match=message):
        apply(tmp_path)


def test_another_network_an_empty_folder_and_an_empty_database_are_refused(tmp_path: Path) -> None:
    with settings(network="testnet"), pytest.raises(OperatorError, match="Errata are those of mainnet"):
        apply(tmp_path)
    with pytest.raises(OperatorError, match="has no errata"):
        apply(tmp_path)
    with pytest.raises(OperatorError, match="There is no folder"):
        apply(tmp_path / "nowhere")
    (tmp_path / "contracts.txt").write_text("80\n")
    with pytest.raises(OperatorError, match="Nothing is loaded yet"):
        apply(tmp_path)
