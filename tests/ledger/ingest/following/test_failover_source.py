"""Blocks of block nodes or of a bucket, which take turns where one fails."""

from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest

from ledger.ingest.following.block_sources import FailoverBlockSource
from ledger.ingest.following.configured_blocks import open_block_source
from ledger.stream.errors import StreamFileError
from tests.ledger.ingest.following.block_nodes import first


class Failing:
    def __init__(self, location: str, *, fails: bool = True) -> None:
        self.location, self.fails = location, fails

    def next(self, number: int, seconds: float) -> None:
        if self.fails:
            raise StreamFileError(self.location, 0, "fails")

    def reject(self, reason: str = "") -> None:
        pass

    def status(self) -> dict[str, Any]:
        return {"now": self.location, "why": "", "nodes": []}

    def close(self) -> None:
        pass


def test_after_three_errors_in_a_row_the_other_source_takes_its_turn():
    one, other = Failing("one"), Failing("other", fails=False)
    source = FailoverBlockSource(one, other)
    for _ in range(3):
        assert source.location == "one"
        with pytest.raises(StreamFileError):
            source.next(7, 0)
    assert source.location == "other"

    for _ in range(3):
        source.reject()

    assert source.location == "one"


def test_a_source_whose_blocks_are_refused_again_and_again_has_its_errors_counted(server):
    with closing(FailoverBlockSource(open_block_source(), Failing("other", fails=False))) as source:
        for _ in range(3):
            assert source.location != "other"
            assert first(source, 7).number == 7
            source.reject("another chain")
        assert source.location == "other"


def test_a_block_that_is_not_refused_ends_the_row_of_errors(server):
    with closing(FailoverBlockSource(open_block_source(), Failing("other", fails=False))) as source:
        for number in (7, 8, 9):
            assert first(source, number).number == number
            source.reject("another chain")
            assert first(source, number).number == number
        assert source.location != "other"


def test_without_a_known_block_node_blocks_come_from_the_bucket_until_there_is_one():
    nodes, bucket, known = Failing("nodes"), Failing("bucket"), list[str]()
    source = FailoverBlockSource(nodes, bucket, lambda: bool(known))
    for _ in range(4):
        with pytest.raises(StreamFileError):
            source.next(7, 0)
        assert source.location == "bucket"

    known.append("a node")
    with pytest.raises(StreamFileError):
        source.next(7, 0)

    assert source.location == "nodes"
    assert source.status()["why"] == "block nodes are known"


class Holding(Failing):
    """A source with each block, as soon as it `has` any."""

    has = False

    def next(self, number: int, seconds: float) -> Any:
        super().next(number, seconds)
        return SimpleNamespace(number=number) if self.has else None


def test_a_source_without_a_new_block_is_left_for_the_other_once_that_has_it():
    nodes, bucket = Holding("nodes", fails=False), Holding("bucket", fails=False)
    source = FailoverBlockSource(nodes, bucket, timeout=0)
    assert source.next(7, 0) is None
    bucket.has = True
    assert first(source, 7).number == 7
    assert source.location == "bucket"

    bucket.has, nodes.has = False, True
    assert first(source, 8).number == 8
    assert source.location == "nodes"
    assert source.status()["why"] == "the other source has nothing new"


def test_quiet_source_stays_in_use_while_the_other_fails():
    source = FailoverBlockSource(Holding("nodes", fails=False), Failing("bucket"), timeout=0)

    assert [source.next(7, 0) for _ in range(5)] == [None] * 5
    assert source.location == "nodes"


def test_without_a_known_block_node_none_is_looked_for_in_a_quiet_network():
    source = FailoverBlockSource(Failing("nodes"), Holding("bucket", fails=False), lambda: False, timeout=0)

    assert source.next(7, 0) is None


def test_while_both_sources_fail_that_they_change_is_warned_of_once(caplog):
    source = FailoverBlockSource(Failing("one"), Failing("other"))
    for _ in range(12):
        with pytest.raises(StreamFileError):
            source.next(7, 0)

    assert caplog.text.count("block_source_changed") == 1
