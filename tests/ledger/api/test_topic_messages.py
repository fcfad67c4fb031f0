import base64

import pytest

from mirror.core.values.hapi.messages import TransactionID
from tests.api import assert_answer
from tests.build import SECOND, START, insert, time_range

MESSAGES = "/api/v1/topics/7/messages"


def numbers(answer):
    assert answer.status == 200, answer
    return [message["sequence_number"] for message in answer.json()["messages"]]


def at(number):
    return f"{START // SECOND + number}"


@pytest.fixture
def six(build):
    """Messages 1 to 6 of topic 7, number n at n seconds after the start, and one of topic 8."""
    for number in range(1, 7):
        build.message(7, number, at=START + number * SECOND)
    build.message(8, 3, at=START + 3 * SECOND + 1)


@pytest.fixture(params=[False, True], ids=["direct", "by_partition"])
def layouts(request, settings_of, build):
    """Both ways to find messages; topic 7 lies in partitions of two messages each."""
    settings_of({"rest.query.topicMessageLookup": request.param})
    for first in (1, 3, 5):
        partition(first, first + 2, START + first * SECOND, START + (first + 2) * SECOND)


def partition(first, end, since, until, topic=7):
    insert(
        "topic_message_lookup",
        topic_id=topic,
        partition=f"topic_message_p{first}",
        sequence_number_range=f"[{first},{end})",
        timestamp_range=time_range(since, until),
    )


def test_a_message_has_all_members_in_order(api, build):
    build.message(
        7,
        1,
        at=START,
        message=b"\xfb\xff\xfe",
        payer_account_id=1002,
        running_hash=b"hash",
        running_hash_version=2,
    )
    insert(
        "transaction",
        consensus_timestamp=START,
        entity_id=7,
        payer_account_id=1,
        result=22,
        type=27,
        valid_start_ns=1,
    )
    expected = {
        "chunk_info": None,
        "consensus_timestamp": "1700000000.000000000",
        "message": "+//+",
        "payer_account_id": "0.0.1002",
        "running_hash": "aGFzaA==",
        "running_hash_version": 2,
        "sequence_number": 1,
        "topic_id": "0.0.7",
    }
    answer = api.get("/api/v1/topics/0.0.7/messages")
    assert_answer(answer, {"messages": [expected], "links": {"next": None}})
    assert answer.headers["cache-control"] == "public, max-age=1"
    assert len(answer.statements) == 1
    for path in ("0.7/messages/1", "7/messages/0001", "messages/1700000000", "messages/1700000000.0"):
        one = api.get(f"/api/v1/topics/{path}")
        assert_answer(one, expected)
        assert one.headers["cache-control"] == "public, max-age=600"
        assert len(one.statements) == 1


def first_id(**columns):
    return TransactionID(**columns).SerializeToString()


ACCOUNT = {"shardNum": 1, "realmNum": 2, "accountNum": 3}


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (None, ["0.0.1001", None, None, "1700000000.000000009"]),
        (b"\xff", ["0.0.1001", None, None, "1700000000.000000009"]),
        (
            first_id(accountID=ACCOUNT, transactionValidStart={"seconds": 5, "nanos": 7}),
            ["1.2.3", 0, False, "5.000000007"],
        ),
        (
            first_id(accountID=ACCOUNT, transactionValidStart={}, nonce=4, scheduled=True),
            ["1.2.3", 4, True, "0.000000000"],
        ),
        (first_id(transactionValidStart={"seconds": 5}), [None, 0, False, "5.000000000"]),
        (first_id(accountID={"shardNum": -1, "accountNum": 3}), [None, 0, False, None]),
    ],
)
def test_a_chunk_tells_the_transaction_of_the_first_one(api, build, stored, expected):
    build.message(
        7, 1, chunk_num=1, chunk_total=2, valid_start_timestamp=START + 9, initial_transaction_id=stored
    )
    names = ("account_id", "nonce", "scheduled", "transaction_valid_start")
    assert api.get(f"{MESSAGES}/1").json()["chunk_info"] == {
        "initial_transaction_id": dict(zip(names, expected, strict=True)),
        "number": 1,
        "total": 2,
    }


def test_a_missing_hash_version_is_the_third(api, build):
    build.message(7, 1, running_hash_version=None, payer_account_id=None)
    found = api.get(f"{MESSAGES}/1").json()
    assert (found["running_hash_version"], found["payer_account_id"]) == (3, None)


CONTENT = b"a\x00\xc3\xa9\xff\xe2\x82"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        *[(name, "a\x00é\ufffd\ufffd") for name in ("utf-8", "UTF8", "Utf-8", "eq:utf-8")],
        *[
            (name, base64.b64encode(CONTENT).decode())
            for name in ("base64", "BASE64", "utf8&encoding=base64")
        ],
    ],
)
def test_a_message_is_text_in_the_wanted_encoding(api, build, encoding, text):
    build.message(7, 1, message=CONTENT)
    (message,) = api.get(f"{MESSAGES}?encoding={encoding}").json()["messages"]
    assert message["message"] == text


def test_a_topic_that_is_not_there_has_no_messages(api, six, layouts):
    assert_answer(api.get("/api/v1/topics/9/messages"), {"messages": [], "links": {"next": None}})


EVERY = [
    ("", [1, 2, 3, 4, 5, 6]),
    ("limit=2", [1, 2]),
    ("limit=3&order=desc", [6, 5, 4]),
    ("sequencenumber=3", [3]),
    ("sequencenumber=eq:3&sequencenumber=4", []),
    ("sequencenumber=gt:4", [5, 6]),
    ("sequencenumber=gte:4&order=desc", [6, 5, 4]),
    ("sequencenumber=lt:3", [1, 2]),
    ("sequencenumber=lte:3&order=desc&limit=2", [3, 2]),
    ("sequencenumber=gt:2&sequencenumber=gt:1&sequencenumber=lt:9", [3, 4, 5, 6]),
    ("sequencenumber=gt:3&sequencenumber=lt:2", []),
    ("sequencenumber=gt:6", []),
    ("sequencenumber=gt:9223372036854775807", []),
    ("sequencenumber=lte:9223372036854775807&limit=1&order=desc", [6]),
    (f"timestamp={at(2)}", [2]),
    (f"timestamp={at(2)}&timestamp={at(3)}", []),
    (f"timestamp=gt:{at(4)}", [5, 6]),
    (f"timestamp=gte:{at(4)}.0&timestamp=lt:{at(6)}", [4, 5]),
    (f"timestamp=lte:{at(2)}&order=desc", [2, 1]),
    (f"timestamp=gt:{at(2)}&sequencenumber=lt:5", [3, 4]),
    (f"timestamp=lt:{at(2)}&sequencenumber=gt:4", []),
    (f"timestamp=gt:{at(9)}", []),
    ("timestamp=gt:9999999999.999999999", []),
    ("timestamp=lte:9999999999.999999999&limit=1", [1]),
]


@pytest.mark.parametrize(("query", "expected"), EVERY)
def test_parameters_narrow_the_list(api, six, layouts, query, expected):
    assert numbers(api.get(f"{MESSAGES}?{query}")) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("sequencenumber=ne:3&sequencenumber=ne:5", [1, 2, 4, 6]),
        (f"timestamp=ne:{at(3)}", [1, 2, 4, 5, 6]),
        ("timestamp=ne:9999999999.9", [1, 2, 3, 4, 5, 6]),
    ],
)
def test_all_but_one_message(api, six, query, expected):
    assert numbers(api.get(f"{MESSAGES}?{query}")) == expected


@pytest.mark.parametrize("name", ["sequencenumber", "timestamp"])
def test_by_partition_all_but_one_is_refused(api, build, settings_of, name):
    settings_of({"rest.query.topicMessageLookup": True})
    answer = api.get(f"{MESSAGES}?{name}=ne:3")
    assert answer.status == 400
    assert answer.messages == [f"Not equal (ne) operator is not supported for {name}"]


def test_the_next_page_keeps_everything_but_the_time(api, six):
    answer = api.get("/api/v1/topics/0.0.7/messages/?sequencenumber=gt:1&encoding=UTF-8&limit=2")
    assert answer.json()["links"]["next"] == (
        f"/api/v1/topics/0.0.7/messages?sequencenumber=gt:1&encoding=UTF-8&limit=2&timestamp=gt:{at(3)}.000000000"
    )


def test_by_partition_only_as_many_are_read_as_the_page_needs(api, six, settings_of):
    settings_of({"rest.query.topicMessageLookup": True})
    partition(1, 4, START, START + 4 * SECOND)
    assert numbers(api.get(f"{MESSAGES}?limit=3")) == [1, 2, 3]
    assert numbers(api.get(f"{MESSAGES}?limit=5")) == [1, 2, 3], "the others are in no partition"


def test_partial_history_begins_in_the_middle(api, build):
    for number in (41, 42, 43):
        build.message(7, number)
    assert numbers(api.get(f"{MESSAGES}?sequencenumber=gt:7&limit=2")) == [41, 42]
    assert api.get(f"{MESSAGES}/40").status == 404


@pytest.mark.parametrize("part", ["x", "0.0.x", "0x" + "0" * 40, "0" * 40, "0.0.7.7"])
def test_what_is_no_id_is_told_before_the_query_is_read(api, build, part):
    answer = api.get(f"/api/v1/topics/{part}/messages?foo=1")
    assert (answer.status, answer.messages) == (400, ["Invalid parameter: topic.id"])


@pytest.mark.parametrize(
    ("part", "text"), [("-7", "0.0.-7"), ("274877906944", "0.0.274877906944"), ("1024.0.1", "1024.0.1")]
)
def test_an_id_out_of_range_is_told_after_the_query_was_read(api, build, part, text):
    assert api.get(f"/api/v1/topics/{part}/messages").messages == [f'Invalid entity ID "{text}"']
    assert api.get(f"/api/v1/topics/{part}/messages?foo=1").messages == ["Unknown query parameter: foo"]


def test_all_problems_of_the_query_are_told_together(api, build):
    answer = api.get(f"{MESSAGES}?sequencenumber=0&encoding=hex&foo=1&timestamp=x&limit=0&order=up")
    assert answer.status == 400
    names = ("sequencenumber", "encoding", "timestamp", "limit", "order")
    assert answer.messages == [
        *(f"Invalid parameter: {name}" for name in names),
        "Unknown query parameter: foo",
    ]


@pytest.mark.parametrize(
    ("path", "messages"),
    [
        ("x/messages/0", ["Invalid parameter: topic.id", "Invalid parameter: sequencenumber"]),
        ("-5/messages/1", ['Invalid entity ID "0.0.-5"']),
        ("274877906944/messages/1", ['Invalid entity ID "0.0.274877906944"']),
        ("1024.0.5/messages/1", ['Invalid entity ID "1024.0.5"']),
        ("-5/messages/0", ["Invalid parameter: sequencenumber"]),
        ("-5/messages/1?foo=1", ["Unknown query parameter: foo"]),
        ("7/messages/-1", ["Invalid parameter: sequencenumber"]),
        ("7/messages/9223372036854775808", ["Invalid parameter: sequencenumber"]),
        ("7/messages/1?encoding=utf-8", ["Unknown query parameter: encoding"]),
        ("messages/x", ["Invalid parameter: consensus_timestamp"]),
        ("messages/gt:5", ["Invalid parameter: consensus_timestamp"]),
        ("messages/x?a=1&a=2", ["Unknown query parameter: a"]),
    ],
)
def test_problems_of_a_single_message_are_told(api, build, path, messages):
    answer = api.get(f"/api/v1/topics/{path}")
    assert (answer.status, answer.messages) == (400, messages)


def test_one_message_by_its_number(api, six, layouts):
    assert api.get(f"{MESSAGES}/3").json()["consensus_timestamp"] == f"{at(3)}.000000000"
    for path in ("7/messages/7", "9/messages/1", "8/messages/9223372036854775807"):
        assert api.get(f"/api/v1/topics/{path}").messages == ["Not found"]


def test_by_partition_a_message_in_none_is_not_found(api, six, settings_of):
    settings_of({"rest.query.topicMessageLookup": True})
    partition(1, 3, START, START + 3 * SECOND)
    assert api.get(f"{MESSAGES}/2").status == 200
    assert api.get(f"{MESSAGES}/4").status == 404


def test_a_partition_may_have_no_end(api, six, settings_of):
    settings_of({"rest.query.topicMessageLookup": True})
    partition(3, "", START + 3 * SECOND, None)
    assert numbers(api.get(MESSAGES)) == [3, 4, 5, 6]
    assert api.get(f"{MESSAGES}/6").json()["sequence_number"] == 6
    assert api.get(f"{MESSAGES}/2").status == 404


@pytest.mark.parametrize(("type", "result", "status"), [(27, 22, 200), (27, 10, 404), (24, 22, 404)])
def test_a_time_is_that_of_a_successful_submission(api, six, type, result, status):
    insert(
        "transaction",
        consensus_timestamp=START + 2 * SECOND,
        entity_id=7,
        payer_account_id=1001,
        result=result,
        type=type,
        valid_start_ns=START,
    )
    assert api.get(f"/api/v1/topics/messages/{at(2)}").status == status
    assert api.get(f"/api/v1/topics/messages/{at(3)}").messages == ["Not found"]
    assert api.get("/api/v1/topics/messages/9999999999.999999999").status == 404
