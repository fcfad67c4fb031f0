"""The stream of the simulated network: the same for the same seed, and without forks after a kill."""

from fractions import Fraction
from pathlib import Path

import pytest

from ledger.stream.signature.node_key import signing_nodes
from ledger.stream.signature.quorum import ConsensusMode, Quorum
from ledger.stream.source.local import find_record_files
from mirror.demo.actions.network.files import FEE_SCHEDULE
from mirror.demo.publish.history import BLOCK_SECONDS, History, next_block
from mirror.demo.publish.publisher import Publisher
from mirror.demo.world.fees import EXCHANGE_RATES

NODES = signing_nodes(2)
HOUR = 3_600 * 10**9


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.rcd*")}


def test_the_same_seed_gives_the_same_files_and_another_others(tmp_path):
    for place, seed in (("once", 1), ("again", 1), ("else", 2)):
        for _, block in History(blocks=4, tps=5, seed=seed).play(NODES):
            block.write(tmp_path / place)
    once, again, other = (files(tmp_path / place) for place in ("once", "again", "else"))
    assert once == again
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


def test_fees_and_rates_are_older_than_the_second_of_any_block_with_a_contract_result():
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
    quorum = Quorum.of([n.address_book_node for n in NODES], {}, ConsensusMode.EQUAL, Fraction(1))
    publisher = Publisher(tmp_path, NODES)
    for network, block in History(blocks=2, tps=5, seed=1).play(NODES):
        file = publisher.publish(network, block)
        verified = file.verify(lambda at: quorum, sidecars=True)
        assert verified.record_file().hash == block.hash.hex()
        assert set(verified.signed_by) == {0, 1}
    assert [file.name for file in find_record_files([tmp_path])][-1] == block.name


@pytest.mark.parametrize("lost", ["state", "files", "nothing"])
def test_a_network_goes_on_from_where_it_was_killed(tmp_path, lost):
    """Killed before the state of the last block was kept, or after that before the block was published."""
    publisher = Publisher(tmp_path / "bucket", NODES)
    for network, block in History(blocks=3, tps=5, seed=1).play(NODES):
        publisher.publish(network, block)
    kept = (tmp_path / "bucket" / "network.state").read_bytes()
    before = files(tmp_path / "bucket")
    fourth = next_block(network, 5)
    if lost == "state":
        fourth.write(tmp_path / "bucket" / "pending")
    else:
        publisher.publish(network, fourth)
        if lost == "files":
            for name in files(tmp_path / "bucket").keys() - before.keys():
                (tmp_path / "bucket" / name).rename(tmp_path / "bucket" / "pending" / name)
    assert (lost == "state") == ((tmp_path / "bucket" / "network.state").read_bytes() == kept)

    network, last = Publisher(tmp_path / "bucket", NODES).resume()

    assert last.name == (block if lost == "state" else fourth).name
    following = next_block(network, 5)
    assert following.previous_hash == (block if lost == "state" else fourth).hash
    if lost == "state":
        assert following.hash == fourth.hash
    publisher.publish(network, following)
    found = [file.record_file() for file in find_record_files([tmp_path / "bucket" / "recordstreams"])]
    for before_it, after_it in zip(found, found[1:], strict=False):
        assert after_it.previous_hash == before_it.hash
    assert found[-1].hash == following.hash.hex()
    assert not list((tmp_path / "bucket" / "pending").rglob("*.rcd*"))


@pytest.mark.parametrize("left", [None, b"", b"what another version of the program has left"])
def test_only_a_network_left_by_this_version_goes_on(tmp_path, left):
    publisher = Publisher(tmp_path, NODES)
    if left is not None:
        (tmp_path / "network.state").write_bytes(left)
    assert not publisher.goes_on
    with pytest.raises(LookupError):
        publisher.resume()
