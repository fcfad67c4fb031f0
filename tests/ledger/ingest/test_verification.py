"""Files read once more: nothing is found where nothing is wrong, and what is wrong is found where it is."""

import gzip
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from ledger.ingest.named_ranges import InvalidRange, in_range, time_of
from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.ingest.trusted_nodes import Quorums
from ledger.ingest.verification import Checked, Verification
from ledger.stream.source.local import find_record_files
from ledger.stream.source.stream_blocks import FetchedBlock
from mirror.core.values import timestamp
from mirror.core.values.hapi.messages import ContractBytecode, TransactionSidecarRecord
from mirror.demo.publish.history import History
from mirror.demo.streams.record_files import TREASURY, Block, account
from tests.composing import Composer
from tests.ledger.archive.test_archiver import blocks as kept_blocks
from tests.ledger.archive.test_archiver import streamed
from tests.ledger.compose import Stream, num, receipt
from tests.ledger.ingest.load import settings, stored
from tests.ledger.stream.fixtures import ROOT, facts, needs_fixtures
from tests.signing import signing_nodes
from tests.tokens.compose import TokenStream, serials, token, units

pytestmark = pytest.mark.usefixtures("ledger_tables")

BLOCKS = facts("blocks") + facts("wrapped_blocks")
SECOND = 10**9
START = 1_735_689_600 * SECOND
PRNG = "insert into prng (consensus_timestamp, payer_account_id, range) values ({}, 1, 2)"


def write(folder: Path, *blocks: Block) -> Path:
    for block in blocks:
        block.write(folder)
    return folder


def load(folder: Path, **options: Any) -> None:
    Pipeline(LoadOptions(**options)).run(find_record_files([folder]))


def verify(folder: Path, quorums: Quorums | None = None) -> tuple[Checked, list[str]]:
    found: list[str] = []
    checked = Verification(quorums=quorums, found=lambda finding: found.append(str(finding))).run(
        find_record_files([folder])
    )
    assert checked.findings == len(found)
    return checked, found


def change(statement: str, *values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        assert cursor.rowcount == 1


def some_blocks(count: int = 3) -> list[Block]:
    """Each has, a second apart, a transfer of 5 from 1001 to 1002 and a message to topic 700."""
    stream = Stream(start=START, interval=SECOND)
    blocks = []
    for number in range(count):
        stream.send({1001: -5, 1002: 5}, payer=1001)
        topic = {"topicSequenceNumber": number + 1, "topicRunningHash": b"h", "topicRunningHashVersion": 3}
        body = {"topicID": {"topicNum": 700}, "message": b"hello"}
        stream.happen("consensusSubmitMessage", body, {"receipt": topic})
        blocks.append(stream.block())
    return blocks


def everything() -> list[Block]:
    """Blocks with transactions of all kinds."""
    return [block for _, block in History(blocks=10, tps=100, seed=1).play(())]


def at(second: int) -> str:
    return timestamp.text(START + second * SECOND)


# NOTHING WRONG


def test_nothing_is_found_in_a_ledger_of_all_kinds_of_transactions(tmp_path: Path) -> None:
    blocks = everything()
    write(tmp_path, *blocks)
    with settings(persist__entityTransactions=True, persist__syntheticContractResults=True):
        load(tmp_path)
        transactions = len(stored("transaction", "index"))
        assert verify(tmp_path) == (Checked(files=len(blocks), transactions=transactions), [])
        # Rows of an older release lack these.
        with connection.cursor() as cursor:
            cursor.execute(
                "update transaction set high_volume_pricing_multiplier = null "
                "where high_volume_pricing_multiplier = 0"
            )
            cursor.execute("update contract_log set synthetic = null where not synthetic")
            assert cursor.rowcount
        assert verify(tmp_path)[1] == []


@needs_fixtures
@pytest.mark.parametrize("group", sorted({fact.values[0]["group"] for fact in facts("records")}))
def test_nothing_is_found_in_the_files_of_public_networks(group: str) -> None:
    # Some groups are single files of a longer stream.
    Pipeline(LoadOptions(allow_gap=True)).run(find_record_files([ROOT / group]))

    checked, found = verify(ROOT / group)

    assert checked.files
    assert [line for line in found if "the chain is broken" not in line] == []


@needs_fixtures
@pytest.mark.parametrize("folder", sorted({str(Path(fact.values[0]["name"]).parent) for fact in BLOCKS}))
def test_nothing_is_found_in_the_blocks_of_public_networks(folder: str) -> None:
    # They are single blocks of a longer stream.
    Pipeline(LoadOptions(allow_gap=True)).run(find_record_files([ROOT / folder]))

    checked, found = verify(ROOT / folder)

    assert checked.files
    assert [line for line in found if "chain is broken" not in line and "does not follow" not in line] == []


def test_blocks_of_a_block_node_are_compared_with_files_of_a_bucket_by_what_is_in_them(
    tmp_path: Path,
) -> None:
    made = kept_blocks(3)
    Pipeline().run(FetchedBlock(file.name, number, file, "a node") for number, file in streamed(made))
    for block in made:
        block.write(tmp_path)
    names = {name for (name,) in stored("record_file", "name")}
    assert names.isdisjoint(block.name for block in made)

    assert verify(tmp_path) == (Checked(files=3, transactions=3), [])

    change("update record_file set count = 9 where index = 1")
    assert verify(tmp_path)[1] == [f"{made[1].name}: record_file.count: stored 9, expected 1"]


def test_files_are_verified_one_by_one_with_the_entities_of_their_time(tmp_path: Path) -> None:
    """An address that was not known yet, and one whose account is deleted by now."""
    stream, address = Stream(), bytes(range(20))
    call = ("contractCall", {"contractID": {"evm_address": address}}, None)
    for kind, body, record in (
        call,
        ("cryptoCreateAccount", {}, receipt(accountID=num(1001)) | {"evm_address": address}),
        call,
        ("cryptoDelete", {"deleteAccountID": num(1001), "transferAccountID": num(1002)}, None),
        call,
    ):
        stream.happen(kind, body, record)
        write(tmp_path, stream.block())
    load(tmp_path)
    found: list[str] = []

    for file in find_record_files([tmp_path]):
        Verification(quorums=None, found=lambda finding: found.append(str(finding))).run([file])

    assert stored("transaction", "entity_id", "type = 7") == [(None,), (None,), (1001,)]
    assert found == []


def test_nothing_is_found_in_fees_that_no_column_can_hold(tmp_path: Path) -> None:
    stream = Stream()
    stream.happen("cryptoTransfer", record={"transactionFee": 2**64 - 1})
    write(tmp_path, stream.block())
    load(tmp_path)

    assert verify(tmp_path)[1] == []


# WRONG ROWS


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            f"update crypto_transfer set amount = 6 where amount = 5 and consensus_timestamp = {START}",
            f"transaction 0 at {at(0)}: crypto_transfer.amount: stored 6, expected 5",
        ),
        (
            f"delete from crypto_transfer where amount = 5 and consensus_timestamp = {START}",
            f"transaction 0 at {at(0)}: crypto_transfer: a row is missing: ",
        ),
        (
            "insert into crypto_transfer (entity_id, amount, consensus_timestamp, payer_account_id) "
            f"values (77, 1, {START}, 1001)",
            f"transaction 0 at {at(0)}: crypto_transfer: a row is stored that the file does not give: ",
        ),
        (
            f"update transaction set memo = 'x', result = 10 where consensus_timestamp = {START}",
            f"transaction 0 at {at(0)}: transaction.result: stored 10, expected 22; "
            "transaction.memo: stored \\x78, expected \\x",
        ),
        (
            f"delete from transaction where consensus_timestamp = {START + SECOND}",
            f"transaction 1 at {at(1)}: transaction: a row is missing: ",
        ),
        (
            f"update topic_message set message = 'bye' where consensus_timestamp = {START + SECOND}",
            f"transaction 1 at {at(1)}: topic_message.message: stored \\x627965, expected \\x68656c6c6f",
        ),
        (
            f"delete from transaction_hash where consensus_timestamp = {START}",
            f"transaction 0 at {at(0)}: transaction_hash: a row is missing: ",
        ),
        (
            PRNG.format(START + SECOND),
            f"transaction 1 at {at(1)}: prng: a row is stored that the file does not give: ",
        ),
        (
            PRNG.format(START + 1),
            f"at {timestamp.text(START + 1)}: prng: a row is stored that the file does not give: ",
        ),
        ("update record_file set index = 7 where index = 0", "record_file.index: stored 7, expected 0"),
        ("update record_file set gas_used = 7 where index = 0", "record_file.gas_used: stored 7, expected 0"),
    ],
)
def test_changed_row_is_reported_with_its_position(statement: str, expected: str, tmp_path: Path) -> None:
    write(tmp_path, *some_blocks())
    load(tmp_path)
    assert verify(tmp_path)[1] == []

    change(statement)

    (line,) = verify(tmp_path)[1]
    file = find_record_files([tmp_path])[0].name
    assert line.startswith(f"{file}: {expected}")


def test_rows_of_sidecars_and_of_sidecar_files_are_compared(tmp_path: Path) -> None:
    write(tmp_path, *everything())
    load(tmp_path)
    assert stored("contract_state_change", "slot")
    with connection.cursor() as cursor:
        cursor.execute("update sidecar_file set count = 0")
        cursor.execute("delete from contract_state_change")

    found = verify(tmp_path)[1]

    assert any("sidecar_file.count: stored 0, expected " in line for line in found)
    assert any("contract_state_change: a row is missing: consensus_timestamp=" in line for line in found)


def test_rows_added_when_deleted_tokens_are_given_up_are_no_difference(tmp_path: Path) -> None:
    """The transaction gets transfers of serials, or a token transfer, when its batch is written."""
    stream = TokenStream()
    stream.create_nft(5000)
    stream.mint_serials(5000, 1)
    stream.transfer(serials(5000, (1, TREASURY, 1001)))
    stream.create(5001)
    gone = [units(5000, {1001: -1}), units(5001, {1001: -7})]
    body = {"account": account(1001), "tokens": [token(5000), token(5001)]}
    dissociated = stream.happen("tokenDissociate", body, *gone)
    write(tmp_path, stream.block())
    load(tmp_path)

    ((moved,),) = stored("transaction", "nft_transfer", f"consensus_timestamp = {dissociated}")
    assert moved
    assert stored("token_transfer", "amount", f"consensus_timestamp = {dissociated}") == [(-7,)]
    assert verify(tmp_path)[1] == []


# FILES AND BLOCKS THAT ARE NOT THERE, OR DO NOT FOLLOW


def test_missing_file_is_reported_once(tmp_path: Path) -> None:
    write(tmp_path, *some_blocks())
    load(tmp_path)
    change("delete from record_file where index = 1")

    checked, found = verify(tmp_path)

    name = find_record_files([tmp_path])[1].name
    assert (checked.files, found) == (3, [f"{name}: the database does not have it: load it"])


def test_files_outside_of_what_is_loaded_are_lacking_after_its_beginning(tmp_path: Path) -> None:
    blocks = some_blocks(7)
    write(tmp_path, *blocks)
    files = find_record_files([tmp_path])
    Pipeline().run(files[2:3])
    Pipeline(LoadOptions(allow_gap=True)).run(files[5:6])

    checked, found = verify(tmp_path)

    assert (checked.files, found) == (7, [])
    assert [(each.lacking, each.files, each.first, each.last) for each in checked.not_loaded] == [
        (False, 2, files[0].name, files[1].name),
        (True, 2, files[3].name, files[4].name),
        (True, 1, files[6].name, files[6].name),
    ]
    assert checked.lacking == 3


def test_block_without_its_file_is_reported_and_so_is_the_gap(tmp_path: Path) -> None:
    write(tmp_path, *some_blocks())
    load(tmp_path)
    first, second, third = find_record_files([tmp_path])
    change("update crypto_transfer set amount = 6 where amount = 5 and consensus_timestamp = %s", START)
    (tmp_path / second.name).unlink()

    found = verify(tmp_path)[1]

    assert f"{first.name}: transaction 0 at {at(0)}: crypto_transfer.amount: stored 6, expected 5" in found
    assert any(line.startswith(f"{third.name}: header: its previous hash") for line in found)
    assert len(found) == 2


def test_block_between_those_of_the_files_is_reported(tmp_path: Path) -> None:
    write(tmp_path, *some_blocks())
    load(tmp_path)
    change(
        "insert into record_file (name, load_start, load_end, hash, prev_hash, consensus_start, "
        "consensus_end, count, digest_algorithm, version, file_hash, index) "
        "values ('odd.rcd', 0, 0, '', '', %s, %s, 0, 0, 6, '', 99)",
        *(START + SECOND + 1, START + SECOND + 2),
    )

    assert verify(tmp_path)[1] == ["odd.rcd: block 99 of the database is none of the given files"]


# DAMAGED AND UNSIGNED FILES


def test_damaged_file_is_reported_and_the_others_are_compared(tmp_path: Path) -> None:
    write(tmp_path, *some_blocks())
    load(tmp_path)
    _, second, _ = find_record_files([tmp_path])
    data = bytearray((tmp_path / second.name).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / second.name).write_bytes(data)
    change("delete from topic_message where consensus_timestamp = %s", START + 5 * SECOND)

    damaged, missing = verify(tmp_path)[1]

    assert damaged.startswith(second.name)
    assert "topic_message: a row is missing" in missing


def test_flipped_bit_is_reported_unless_the_content_is_the_same(tmp_path: Path) -> None:
    """Also in files nobody signed: the database has their hashes."""
    stream = Stream(start=START, interval=SECOND)
    for _ in range(2):
        sidecar = TransactionSidecarRecord(bytecode=ContractBytecode(runtime_bytecode=b"\x60"))
        stream.send({1001: -5, 1002: 5}, payer=1001, sidecars=[sidecar])
        write(tmp_path, stream.block())
    load(tmp_path)
    paths = sorted(tmp_path.rglob("*.rcd.gz"))
    choose = random.Random(7)

    for _ in range(30):
        path = choose.choice(paths)
        intact = path.read_bytes()
        flipped = bytearray(intact)
        flipped[choose.randrange(len(intact))] ^= 1 << choose.randrange(8)
        path.write_bytes(flipped)

        found = verify(tmp_path)[1]

        if not found:
            assert gzip.decompress(flipped) == gzip.decompress(intact)
        path.write_bytes(intact)
    assert verify(tmp_path)[1] == []


def published(folder: Path, nodes: int = 4) -> Composer:
    composer = Composer(nodes=signing_nodes(nodes))
    sidecar = TransactionSidecarRecord(bytecode=ContractBytecode(runtime_bytecode=b"\x60"))
    for _ in range(3):
        composer.crypto_transfer({2: -5, 1002: 5}, sidecars=[sidecar])
        composer.block().write(folder)
    return composer


def test_signatures_are_verified_against_the_address_book_of_the_time(tmp_path: Path) -> None:
    book = published(tmp_path).address_book()
    load(tmp_path, quorums=Quorums(book))

    assert verify(tmp_path, Quorums(book)) == (Checked(files=3, transactions=3, signed=3), [])


def test_a_file_that_too_few_signed_is_reported_with_its_signers(tmp_path: Path) -> None:
    book = published(tmp_path).address_book()
    load(tmp_path, quorums=Quorums(book))
    second = find_record_files([tmp_path])[1].name
    for node in (3, 4, 5):
        (signature,) = tmp_path.rglob(f"record0.0.{node}/{second.removesuffix('.gz')}_sig")
        signature.unlink()

    checked, (line,) = verify(tmp_path, Quorums(book))

    assert "no consensus: signed by 1 of 4 nodes (node 3); 2 needed" in line
    assert (checked.files, checked.signed) == (3, 2)


def test_sidecar_changed_on_every_node_is_reported(tmp_path: Path) -> None:
    book = published(tmp_path).address_book()
    load(tmp_path, quorums=Quorums(book))
    third = find_record_files([tmp_path])[2].name
    other = find_record_files([tmp_path])[1].name
    for folder in tmp_path.rglob("sidecar"):
        shutil.copy(folder / sidecar_of(other), folder / sidecar_of(third))
        (folder / sidecar_of(third)).write_bytes((folder / sidecar_of(third)).read_bytes()[:-3])

    (line,) = verify(tmp_path, Quorums(book))[1]

    assert sidecar_of(third) in line


def sidecar_of(name: str) -> str:
    return name.replace(".rcd.gz", "_01.rcd.gz")


# RANGE


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (None, None, [0, 1, 2]),
        (None, START, [0]),
        (START + 3 * SECOND, None, [1, 2]),
        (START + 2 * SECOND, START + 3 * SECOND, [1]),
        (START + 100 * SECOND, None, [2]),
        (None, START - 1, []),
    ],
)
def test_the_files_of_a_time_are_chosen(
    start: int | None, end: int | None, expected: Sequence[int], tmp_path: Path
) -> None:
    files = find_record_files([write(tmp_path, *some_blocks())])

    assert in_range(files, start, end) == [files[index] for index in expected]


def test_range_is_given_by_blocks_or_times(tmp_path: Path) -> None:
    load(write(tmp_path, *some_blocks()))

    assert time_of("1") == START + 2 * SECOND
    assert time_of("1", end=True) == START + 3 * SECOND
    assert time_of("2025-01-01T00:00:01.5Z") == START + SECOND + SECOND // 2
    assert time_of("1735689600.000000007") == START + 7
    for text in ("99", "yesterday", "1-2", "1.2.3"):
        with pytest.raises(InvalidRange):
            time_of(text)
