"""Messages of topics on Redis, as the original's gRPC server reads them there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest
import redis

from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.ingest.stages.reader_processes import Readers
from ledger.stream.source.local import find_record_files
from mirror.core.config.setting import InvalidSetting
from mirror.core.values.hapi.messages import TransactionID
from tests import redis_server
from tests.ledger.compose import Stream, receipt
from tests.ledger.ingest.load import load, settings, stored
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.usefixtures("ledger_tables")

FIRST = {"accountID": {"accountNum": 1001}, "transactionValidStart": {"seconds": 5}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with redis_server.running(tmp_path_factory.mktemp("redis")) as path:
        yield path


@pytest.fixture
def channels(server: Path) -> Iterator[Any]:
    """Yield what has subscribed to the channels of all topics."""
    with redis.Redis(unix_socket_path=str(server)) as client, client.pubsub() as channels:
        channels.psubscribe("topic.*")
        assert channels.get_message(timeout=PATIENCE_SECONDS)["type"] == "psubscribe"
        yield channels


def submit(stream: Stream, number: int, **body: Any) -> int:
    said = {"topicSequenceNumber": number, "topicRunningHash": b"hash", "topicRunningHashVersion": 2}
    message = {"topicID": {"realmNum": 1, "topicNum": 700}, "message": b"hello"} | body
    return stream.happen("consensusSubmitMessage", message, receipt(**said), payer=1001)


@pytest.mark.parametrize("readers", [0, 2])
def test_messages_are_published_in_order_in_the_form_of_the_original(
    server: Path, channels: Any, tmp_path: Path, readers: int
) -> None:
    stream, topic = Stream(), 1 << 38 | 700
    times = [submit(stream, 1)]
    stream.block().write(tmp_path)
    chunk = {"initialTransactionID": FIRST, "number": 1, "total": 2}
    times += [submit(stream, 2, chunkInfo=chunk), submit(stream, 3)]
    stream.block().write(tmp_path)

    with settings(importer__parser__record__entity__redis__uri=f"unix://{server}"):
        if readers:
            with Readers(readers) as processes:
                Pipeline(LoadOptions(readers=processes)).run(find_record_files([tmp_path]))
        else:
            Pipeline().run(find_record_files([tmp_path]))

    received = [channels.get_message(timeout=PATIENCE_SECONDS) for _ in times]
    assert {each["channel"] for each in received} == {f"topic.{topic}".encode()}
    common = {
        "@type": "TopicMessage",
        "chunkNum": None,
        "chunkTotal": None,
        "initialTransactionId": None,
        "message": b"hello",
        "payerAccountId": 1001,
        "runningHash": b"hash",
        "runningHashVersion": 2,
        "topicId": topic,
        "validStartTimestamp": None,
    }
    first = TransactionID(**FIRST).SerializeToString()
    chunk_columns = {"chunkNum": 1, "chunkTotal": 2, "initialTransactionId": first}
    assert [msgpack.unpackb(each["data"]) for each in received] == [
        common | {"consensusTimestamp": times[0], "sequenceNumber": 1},
        common | chunk_columns | {"consensusTimestamp": times[1], "sequenceNumber": 2},
        common | {"consensusTimestamp": times[2], "sequenceNumber": 3},
    ]


@pytest.mark.parametrize("fault", ["garbage", "cut"])
def test_loading_goes_on_without_redis(server: Path, capfd: pytest.CaptureFixture[str], fault: str) -> None:
    proxy, stream = redis_server.Proxy(server), Stream()
    proxy.fault = fault
    submit(stream, 1)
    with proxy.listening() as address, settings(importer__parser__record__entity__redis__uri=address):
        load(stream.block())
        submit(stream, 2)
        load(stream.block())
    assert stored("topic_message", "sequence_number") == [(1,), (2,)]
    assert capfd.readouterr().err.count(" service_failed ") == 1


@pytest.mark.parametrize("address", ["http://127.0.0.1", "redis://host:abc"])
def test_an_address_that_is_not_redis_is_refused_before_anything_is_loaded(address: str) -> None:
    stream = Stream()
    submit(stream, 1)
    with (
        settings(importer__parser__record__entity__redis__uri=address),
        pytest.raises(InvalidSetting, match="ENTITY_REDIS_URI is not the address of a Redis"),
    ):
        load(stream.block())
    assert stored("topic_message", "sequence_number") == []
