"""The first upgrade of the network, and what changes with it."""

import gzip

from mirror.core.values.hapi.messages import RecordStreamFile
from mirror.demo.network import LOGGING_SINCE
from mirror.demo.streams.record_files import FEE_COLLECTION, Block
from tests.mirror.demo.lives import HOUR, items, life


def version(block: Block) -> tuple[int, int, int]:
    found = RecordStreamFile.FromString(gzip.decompress(block.data)[4:]).hapi_proto_version
    return found.major, found.minor, found.patch


def test_upgrade_changes_version_of_next_block() -> None:
    versions = [version(block) for block in life(seed=1, blocks=8, transactions=10, pause=HOUR // 2)[1]]

    assert versions == sorted(versions)
    assert versions[0] < LOGGING_SINCE <= versions[-1]


def test_upgraded_network_collects_fees_and_distributes_them_daily() -> None:
    network, blocks = life(seed=1, blocks=30, transactions=10, pause=2 * HOUR)

    upgraded = [block for block in blocks if version(block) >= LOGGING_SINCE]
    for item in items(upgraded):
        collected = {
            moved.accountID.accountNum: moved.amount for moved in item.record.transferList.accountAmounts
        }.get(FEE_COLLECTION, 0)
        if item.record.memo == "End of day fee distribution":
            assert collected < 0
        elif item.record.transactionFee:
            assert collected == item.record.transactionFee
    assert sum(item.record.memo == "End of day fee distribution" for item in items(blocks)) >= 2
    assert network.world.accounts[FEE_COLLECTION].balance < sum(
        item.record.transactionFee for item in items(upgraded)
    )


def test_the_ledger_is_named_in_the_first_block_after_the_upgrade() -> None:
    network, blocks = life(seed=1, blocks=8, transactions=10, pause=HOUR // 2)

    (published,) = (item for item in items(blocks) if item.body.HasField("ledger_id_publication"))
    (known,) = network.world.system.ledger_ids.values()
    first = next(block for block in blocks if version(block) >= LOGGING_SINCE)
    assert published in first.transactions
    assert published.body.ledger_id_publication.ledger_id == known.ledger_id
