"""Buckets and counters that processes share, in memory and in Redis."""

import multiprocessing
import threading
from pathlib import Path

import pytest
import redis

from mirror.core.rest.cache.circuit_breaker import Circuit
from mirror.core.rest.limits import redis_buckets
from mirror.core.rest.limits.buckets import AdvanceBuckets, Buckets, SharedBuckets
from mirror.core.rest.limits.clients import Client
from mirror.core.rest.limits.redis_buckets import RedisBuckets
from tests.redis_server import running
from tests.waiting import wait_until


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def redis_socket(tmp_path_factory: pytest.TempPathFactory):
    with running(tmp_path_factory.mktemp("redis")) as path:
        yield path


@pytest.fixture
def still_redis(redis_socket: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Redis without buckets, whose time does not pass."""
    monkeypatch.setattr(
        redis_buckets, "_TAKE", redis_buckets._TAKE.replace("redis.call('TIME')", "{1000, 0}")
    )
    redis.Redis(unix_socket_path=str(redis_socket)).flushall()
    return redis_socket


def in_redis(socket: Path) -> RedisBuckets:
    client = redis.Redis(unix_socket_path=str(socket))
    return RedisBuckets(client, Circuit("redis"), SharedBuckets(None), "test")


@pytest.fixture(params=["memory", "file", "redis"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Buckets:
    """Full buckets for which no time passes."""
    if request.param == "redis":
        return in_redis(request.getfixturevalue("still_redis"))
    return SharedBuckets(tmp_path / "throttle" if request.param == "file" else None, Clock())


def test_a_bucket_holds_what_a_second_brings(shared):
    assert shared.try_consume("gas", 10**9, 10**9 - 5)
    assert not shared.try_consume("gas", 10**9, 6)
    assert shared.try_consume("gas", 10**9, 5)


def test_what_is_not_there_is_not_taken(shared):
    assert not shared.try_consume("requests", 5, 6)
    assert shared.try_consume("requests", 5, 5)
    assert not shared.try_consume("requests", 5, 5)


def test_returned_tokens_never_overfill_a_bucket(shared):
    assert shared.try_consume("requests", 5, 5)
    shared.add_tokens("requests", 5, 500)
    assert shared.try_consume("requests", 5, 5)
    assert not shared.try_consume("requests", 5, 5)


def test_buckets_have_names(shared):
    assert shared.try_consume("a", 5, 5)
    assert shared.try_consume("b", 5, 5)
    assert not shared.try_consume("a", 5, 5)


def test_a_counter_counts_up_to_its_most(shared):
    assert [shared.count("first", 3) for _ in range(5)] == [True, True, True, False, False]
    assert shared.count("second", 1)
    assert not shared.count("third", 0)


def test_threads_never_take_more_than_there_is(shared):
    taken: list[bool] = []

    def try_consume() -> None:
        taken.extend(shared.try_consume("few", 40, 1) for _ in range(10))

    threads = [threading.Thread(target=try_consume) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(taken) == 40


# SHARES

ONE, OTHER, EXEMPT = Client(1), Client(2), Client(3, is_exempt=True)


def test_a_single_client_may_empty_a_bucket(shared):
    assert shared.try_consume("gas", 100, 100, ONE)
    assert not shared.try_consume("gas", 100, 1, ONE)
    shared.add_tokens("gas", 100, 100)
    assert sum(shared.try_consume("gas", 100, 10, ONE) for _ in range(20)) == 10


def test_half_a_bucket_is_left_to_a_client_that_was_refused(shared):
    assert shared.try_consume("gas", 100, 100, ONE)
    assert not shared.try_consume("gas", 100, 1, OTHER)
    # One is refused last: that does not make it the only one.
    assert not shared.try_consume("gas", 100, 1, ONE)
    shared.add_tokens("gas", 100, 49)
    assert sum(shared.try_consume("gas", 100, 1, ONE) for _ in range(49)) == 49
    shared.add_tokens("gas", 100, 49)
    # Its own bucket held fifty.
    assert sum(shared.try_consume("gas", 100, 1, ONE) for _ in range(49)) == 1
    assert sum(shared.try_consume("gas", 100, 1, OTHER) for _ in range(49)) == 48


def test_more_than_half_a_bucket_is_for_all(shared):
    assert not shared.try_consume("gas", 100, 101, OTHER)
    # More than a share, as the only call.
    assert shared.try_consume("gas", 100, 60, ONE)
    assert shared.try_consume("gas", 100, 40, ONE)
    shared.add_tokens("gas", 100, 100)
    assert shared.try_consume("gas", 100, 60, ONE)
    assert not shared.try_consume("gas", 100, 40, ONE)
    assert shared.try_consume("gas", 100, 40, OTHER)


def test_an_exempt_client_has_no_share(shared):
    assert shared.try_consume("gas", 100, 100, EXEMPT)
    assert not shared.try_consume("gas", 100, 1, OTHER)
    shared.add_tokens("gas", 100, 100)
    assert sum(shared.try_consume("gas", 100, 10, EXEMPT) for _ in range(20)) == 10
    # The refusal of an exempt one limits the others.
    shared.add_tokens("gas", 100, 100)
    assert sum(shared.try_consume("gas", 100, 10, ONE) for _ in range(20)) == 10
    shared.add_tokens("gas", 100, 40)
    assert sum(shared.try_consume("gas", 100, 10, ONE) for _ in range(3)) == 1
    assert sum(shared.try_consume("gas", 100, 10, EXEMPT) for _ in range(4)) == 3


def test_buckets_are_shared_for_a_minute_after_a_refusal():
    clock = Clock()
    shared = SharedBuckets(None, clock)
    assert shared.try_consume("gas", 100, 100, ONE)
    assert not shared.try_consume("gas", 100, 1, OTHER)
    clock.now += 59
    assert sum(shared.try_consume("gas", 100, 1, ONE) for _ in range(200)) == 100
    assert not shared.try_consume("gas", 100, 1, ONE)
    clock.now += 0.4
    # No more than its own bucket has: one was left, and it got twenty.
    assert sum(shared.try_consume("gas", 100, 1, ONE) for _ in range(200)) == 21
    clock.now += 61
    assert sum(shared.try_consume("gas", 100, 1, ONE) for _ in range(200)) == 100
    clock.now += 0.4
    assert sum(shared.try_consume("gas", 100, 1, ONE) for _ in range(200)) == 40


def test_any_number_of_clients_empties_no_bucket_of_a_name():
    shared = SharedBuckets(None, Clock())
    assert shared.try_consume("gas", 100, 100)
    assert not any(shared.try_consume("gas", 100, 1, Client(number)) for number in range(20_000))


def test_a_process_takes_the_share_of_a_client(shared):
    process = AdvanceBuckets(shared)
    assert process.try_consume("gas", 100, 100, ONE)
    assert not process.try_consume("gas", 100, 1, OTHER)
    shared.add_tokens("gas", 100, 49)
    assert sum(process.try_consume("gas", 100, 1, ONE) for _ in range(49)) == 49
    shared.add_tokens("gas", 100, 49)
    assert not process.try_consume("gas", 100, 2, ONE)
    assert process.try_consume("gas", 100, 2, OTHER)


def _take_in_process(path: str) -> int:
    own = SharedBuckets(Path(path), Clock())
    return sum(own.try_consume("few", 1000, 1) for _ in range(2000))


def test_processes_share_a_file(tmp_path):
    with multiprocessing.get_context("spawn").Pool(2) as processes:
        taken = processes.map(_take_in_process, [str(tmp_path / "throttle")] * 2)
    assert sum(taken) == 1000


def test_another_opener_of_a_file_sees_what_was_taken(tmp_path):
    first, second = (SharedBuckets(tmp_path / "throttle", Clock()) for _ in range(2))
    assert first.try_consume("a", 5, 5)
    assert not second.try_consume("a", 5, 1)
    second.add_tokens("a", 5, 2)
    assert first.try_consume("a", 5, 2)
    assert first.count("b", 1) and not second.count("b", 1)


def test_a_bucket_fills_evenly():
    clock = Clock()
    shared = SharedBuckets(None, clock)
    assert shared.try_consume("a", 10, 10)
    clock.now += 0.35
    assert [shared.try_consume("a", 10, 1) for _ in range(4)] == [True, True, True, False]
    clock.now += 100
    assert shared.try_consume("a", 10, 10)
    assert not shared.try_consume("a", 10, 1)


def test_a_clock_that_begins_anew_finds_full_buckets(tmp_path):
    clock = Clock()
    assert SharedBuckets(tmp_path / "throttle", clock).try_consume("a", 5, 5)
    clock.now = 3.0
    assert SharedBuckets(tmp_path / "throttle", clock).try_consume("a", 5, 5)


def test_any_number_of_names_is_taken():
    shared = SharedBuckets(None, Clock())
    assert all(shared.try_consume(f"name {number}", 5, 5) for number in range(5000))


def test_a_file_that_can_not_be_made_leaves_each_process_its_own(tmp_path, caplog):
    shared = SharedBuckets(tmp_path / "missing" / "throttle", Clock())
    assert shared.try_consume("a", 5, 5) and not shared.try_consume("a", 5, 5)
    assert "throttle_not_shared" in caplog.text


def test_file_takes_its_space_when_it_is_made(tmp_path):
    # Memory that is mapped from a file without it can't be written on a full disk, which ends the process.
    SharedBuckets(tmp_path / "throttle", Clock())

    status = (tmp_path / "throttle").stat()
    assert status.st_blocks * 512 >= status.st_size > 0


def test_full_disk_leaves_each_process_its_own_buckets(caplog):
    # It has no space that could be reserved.
    shared = SharedBuckets(Path("/dev/full"), Clock())
    assert shared.try_consume("a", 5, 5) and not shared.try_consume("a", 5, 5)
    assert "throttle_not_shared" in caplog.text


def test_nodes_share_a_redis(still_redis):
    first, second = in_redis(still_redis), in_redis(still_redis)
    assert first.try_consume("a", 5, 5)
    assert not second.try_consume("a", 5, 5)


def test_a_bucket_in_redis_fills_with_time(redis_socket):
    redis.Redis(unix_socket_path=str(redis_socket)).flushall()
    shared = in_redis(redis_socket)
    assert shared.try_consume("a", 5, 5)
    wait_until(lambda: shared.try_consume("a", 5, 5))


def test_while_redis_is_away_the_node_counts_by_itself(tmp_path, caplog):
    missing = RedisBuckets(
        redis.Redis(unix_socket_path=str(tmp_path / "nothing.sock")),
        Circuit("redis", clock=Clock()),
        SharedBuckets(None, Clock()),
        "test",
    )
    assert missing.try_consume("a", 5, 5)
    assert not missing.try_consume("a", 5, 5)
    missing.add_tokens("a", 5, 5)
    assert missing.try_consume("a", 5, 5)
    assert missing.count("b", 1) and not missing.count("b", 1)
    assert caplog.text.count("service_failed") == 1


def test_without_redis_the_file_is_in_the_data_folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    first, second = redis_buckets.configured(), redis_buckets.configured()
    assert first.count("a", 1)
    assert not second.count("a", 1)
    assert (tmp_path / "throttle").exists()


class Asked(SharedBuckets):
    """Counts how often it is asked."""

    def __init__(self) -> None:
        super().__init__(None, lambda: 1.0)
        self.times = 0

    def take(
        self, name: str, rate: int, tokens: int, client: Client | None = None, advance: int = 0
    ) -> int | None:
        self.times += 1
        return super().take(name, rate, tokens, client, advance)


def test_a_process_takes_some_tokens_in_advance():
    shared = Asked()
    process = AdvanceBuckets(shared)
    assert sum(process.try_consume("a", 1000, 1) for _ in range(900)) == 900
    assert shared.times < 20
    assert sum(process.try_consume("a", 1000, 1) for _ in range(900)) == 100
    first, second = AdvanceBuckets(shared), AdvanceBuckets(shared)
    assert sum(each.try_consume("b", 1000, 1) for _ in range(1000) for each in (first, second)) == 1000


def test_calls_that_give_back_what_they_took_leave_the_others_alone():
    shared = Asked()
    process = AdvanceBuckets(shared)
    for _ in range(100):
        assert process.try_consume("gas", 10**9, 15_000_000)
        process.add_tokens("gas", 10**9, 14_999_000)
    assert shared.times == 1


def test_caches_of_a_process_are_bounded():
    shared = Asked()
    process = AdvanceBuckets(shared)
    assert process.try_consume("a", 1000, 900)
    process.add_tokens("a", 1000, 900)
    # It keeps fifty.
    assert shared.try_consume("a", 1000, 950)
    assert not shared.try_consume("a", 1000, 1)
    assert process.try_consume("a", 1000, 50)
    assert not process.try_consume("a", 1000, 1)


def test_few_tokens_are_not_taken_in_advance():
    shared = SharedBuckets(None, lambda: 1.0)
    assert AdvanceBuckets(shared).try_consume("a", 5, 1)
    assert shared.try_consume("a", 5, 4)


def test_without_a_data_folder_nothing_is_made(settings, tmp_path):
    settings.DATA_DIR = tmp_path / "missing"
    assert redis_buckets.configured().try_consume("a", 5, 5)
    assert not (tmp_path / "missing").exists()
