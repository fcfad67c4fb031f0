"""The stream of the simulated network: the same for the same seed, and without forks after a kill."""

import shutil
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import pytest

from ledger.ingest.hash_chain import Position
from ledger.stream.signature.quorum import ConsensusMode, Quorum
from ledger.stream.source.local import FileOnDisk, find_record_files
from mirror.demo.actions.system_files import FEE_SCHEDULE
from mirror.demo.publish import live_blocks
from mirror.demo.publish.history import ALL, BLOCK_SECONDS, History, next_block
from mirror.demo.publish.publisher import Publisher
from mirror.demo.world.fees import EXCHANGE_RATES
from tests.signing import signing_nodes

NODES = signing_nodes(2)
HOUR = 3_600 * 10**9


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for pattern in ("*.rcd*", "*.blk*")
        for path in folder.rglob(pattern)
    }


def test_the_same_seed_gives_the_same_files_and_another_others(tmp_path):
    for place, seed, length in (("once", 1, 10), ("again", 1, 10), ("else", 2, 1)):
        played = list(History(blocks=length, tps=100, seed=seed).play(NODES))
        for _, block in played:
            block.write(tmp_path / place)
        assert seed == 2 or {action.perform for action in ALL} == set(played[-1][0].performed)
    once, again, other = (files(tmp_path / place) for place in ("once", "again", "else"))
    assert once == again
    assert any("sidecar" in name for name in once)
    assert once.keys() & other.keys()
    assert once != other


@pytest.mark.parametrize("hours", [0, 3])
def test_blocks_are_two_seconds_apart_or_spread_over_hours(hours):
    starts = [
        block.transactions[0].consensus_timestamp
        for _, block in History(blocks=60, tps=5, seed=1, hours=hours).play(())
    ]
    gaps = [after - before for before, after in zip(starts, starts[1:], strict=False)]
    assert min(gaps) >= BLOCK_SECONDS * 10**9
    if hours:
        assert 0.6 * hours * HOUR < sum(gaps) < 1.6 * hours * HOUR
    else:
        assert max(gaps) == BLOCK_SECONDS * 10**9


def test_fees_and_rates_precede_blocks_with_contract_results():
    """Ethereum tools ask for the fees at the second in which a block begins, when they show its receipts."""
    (_, first), *others = History(blocks=3, tps=25, seed=1).play(())
    written = {
        each.body.fileUpdate.fileID.fileNum: each.consensus_timestamp
        for each in first.transactions
        if each.body.fileUpdate.contents
    }
    since = max(written[number] for number in (FEE_SCHEDULE, EXCHANGE_RATES))
    starts = [
        block.transactions[0].consensus_timestamp // 10**9 * 10**9
        for block in (first, *(block for _, block in others))
        if any(each.record.WhichOneof("body") for each in block.transactions)
    ]
    assert starts
    assert since <= min(starts)


def test_a_published_block_is_signed_by_every_node(tmp_path):
    quorum = Quorum.from_address_book(
        [n.address_book_node for n in NODES], {}, ConsensusMode.EQUAL, Fraction(1)
    )
    publisher = Publisher(tmp_path, NODES)
    for network, block in History(blocks=2, tps=5, seed=1).play(NODES):
        file = publisher.publish(network, block)
        verified = file.verify(lambda at: quorum, sidecars=True)
        assert verified.record_file().hash == block.hash.hex()
        assert set(verified.signed_by) == {0, 1}
    assert [file.name for file in find_record_files([tmp_path])][-1] == block.name


@pytest.mark.parametrize("form", ["record files", "blocks"])
@pytest.mark.parametrize("lost", ["state", "files", "nothing"])
def test_a_network_goes_on_from_where_it_was_killed(tmp_path, lost, form):
    """Killed before the state of the last block was saved, or after that before the block was published."""
    bucket = tmp_path / "bucket"
    publisher = Publisher(bucket, NODES)
    for network, block in History(blocks=2, tps=5, seed=1).play(NODES):
        publisher.publish(network, block)
    if form == "blocks":
        live_blocks.switch_to_blocks(publisher, network)
    third = publisher.publish(network, next_block(network, 5))
    state = (bucket / "network.state").read_bytes()
    before = files(bucket)
    if lost == "state":
        again, _ = Publisher(tmp_path / "bucket", NODES).resume()
        lost_publisher = Publisher(tmp_path / "lost", NODES)
        shutil.copytree(bucket, tmp_path / "lost")
        lost_publisher.resume()
        lost_publisher.publish(again, next_block(again, 5))
        move(tmp_path / "lost", files(tmp_path / "lost").keys() - before.keys(), bucket / "pending")
    else:
        fourth = publisher.publish(network, next_block(network, 5))
        if lost == "files":
            move(bucket, files(bucket).keys() - before.keys(), bucket / "pending")
    assert (lost == "state") == ((bucket / "network.state").read_bytes() == state)
    # A node that does not let the network go on loads nothing that it may go on without.
    loaded = [file.name for file in Publisher(bucket, NODES).all_published()]
    assert loaded[-1] == (fourth if lost == "nothing" else third).name

    restored = Publisher(bucket, NODES)
    network, last = restored.resume()

    assert restored.writes_blocks == (form == "blocks")
    assert last.name == (third if lost == "state" else fourth).name
    assert last.name == restored.newest()
    following = restored.publish(network, next_block(network, 5)).record_file()
    assert following.previous_hash == last.record_file().hash
    found = [file.record_file() for file in find_record_files([bucket])]
    assert [file.block_number for file in found] == list(range(len(found)))
    assert found[-1].hash == following.hash
    for before_it, after_it in zip(found, found[1:], strict=False):
        assert after_it.previous_hash == before_it.hash or (before_it.version, after_it.version) == (6, 7)
    assert not files(bucket / "pending")


def move(bucket: Path, names: Iterable[str], target: Path) -> None:
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (bucket / name).rename(target / name)


def test_the_last_blocks_are_kept_whatever_their_form(tmp_path):
    publisher = Publisher(tmp_path, NODES)
    for network, block in History(blocks=3, tps=5, seed=1).play(NODES):
        publisher.publish(network, block)
    live_blocks.switch_to_blocks(publisher, network)
    for retained, numbers in ((5, [0, 1, 2, 3, 4]), (3, [3, 4, 5]), (2, [5, 6]), (2, [6, 7])):
        last = publisher.publish(network, next_block(network, 5))
        publisher.loaded = position(last)
        publisher.delete_loaded(retained)
        assert numbers_of(tmp_path) == numbers


def test_no_block_is_forgotten_that_the_database_lacks(tmp_path):
    publisher, published = Publisher(tmp_path, NODES), list[FileOnDisk]()
    for network, block in History(blocks=2, tps=5, seed=1).play(NODES):
        published.append(publisher.publish(network, block))
    live_blocks.switch_to_blocks(publisher, network)
    published += find_record_files([tmp_path])[2:]
    published += [publisher.publish(network, next_block(network, 5)) for _ in range(3)]

    publisher.delete_loaded(1)
    assert numbers_of(tmp_path) == [0, 1, 2, 3, 4, 5]
    for loaded, numbers in ((1, [2, 3, 4, 5]), (2, [3, 4, 5]), (4, [5]), (5, [5])):
        publisher.loaded = position(published[loaded])
        publisher.delete_loaded(1)
        assert numbers_of(tmp_path) == numbers


def position(file: FileOnDisk) -> Position:
    read = file.record_file()
    assert read.block_number is not None
    return Position.from_file(read, read.block_number)


def numbers_of(folder: Path) -> list[int | None]:
    return [file.record_file().block_number for file in find_record_files([folder])]


@pytest.mark.parametrize("left", [None, b"", b"what another version of the program has left"])
def test_only_a_network_left_by_this_version_goes_on(tmp_path, left):
    publisher = Publisher(tmp_path, NODES)
    if left is not None:
        (tmp_path / "network.state").write_bytes(left)
    assert not publisher.is_resumable
    with pytest.raises(LookupError):
        publisher.resume()
