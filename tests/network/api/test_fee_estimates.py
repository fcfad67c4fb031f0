"""Estimates of fees."""

import pytest

from mirror.core.values.hapi.messages import SignedTransaction, Transaction, TransactionBody
from network.api.fees import Fees
from network.fees.genesis import genesis
from tests.api import assert_answer
from tests.build import START
from tests.network.api.test_fees import URL, problem
from tests.network.files import APPEND, UNREADABLE, UPDATE, part

PROTOBUF = "application/protobuf"
KEY = {"ed25519": bytes(32)}
TOKEN, TOPIC = 5001, 5002


def signed(signatures=1, **body):
    """Return a serialized Transaction."""
    pairs = [{"pubKeyPrefix": bytes([each]), "ed25519": bytes(64)} for each in range(signatures)]
    said = TransactionBody(memo="memo", **body).SerializeToString()
    outer = SignedTransaction(bodyBytes=said, sigMap={"sigPair": pairs})
    return Transaction(signedTransactionBytes=outer.SerializeToString()).SerializeToString()


TRANSACTION = signed(cryptoCreateAccount={"key": KEY})


def estimated(api, body, query=""):
    answer = api.request("POST", f"{URL}?{query}", body, content_type=PROTOBUF)
    assert answer.status == 200, answer
    return answer.json()


@pytest.fixture(autouse=True)
def read_at_once(settings_of):
    """Have every estimate read the file of the schedule."""
    settings_of({"rest.fee.refreshInterval": 0.0})


def test_an_estimate_has_all_parts_in_order(api, build):
    answer = api.request("POST", URL, signed(3, cryptoCreateAccount={"key": KEY}), content_type=PROTOBUF)
    extra = {
        "charged": 2,
        "count": 3,
        "fee_per_unit": 100_000,
        "included": 1,
        "name": "SIGNATURES",
        "subtotal": 200_000,
    }
    expected = {
        "high_volume_multiplier": 1,
        "network": {"multiplier": 9, "subtotal": 2_700_000},
        "node": {"base": 100_000, "extras": [extra]},
        "service": {"base": 499_000_000, "extras": []},
        "total": 502_000_000,
    }
    assert_answer(answer, expected)
    assert answer.headers["cache-control"] == "public, max-age=60"


@pytest.mark.parametrize(
    ("query", "content_type", "body"),
    [
        ("", PROTOBUF, TRANSACTION),
        ("", "application/x-protobuf", TRANSACTION),
        ("", "Application/Protobuf; charset=utf-8", TRANSACTION),
        ("?mode=&high_volume_throttle=&foo=1", PROTOBUF, TRANSACTION),
        ("?mode=State&mode=x", PROTOBUF, TRANSACTION),
        ("?mode=INTRINSIC&high_volume_throttle=10000", PROTOBUF, TRANSACTION),
        ("?mode=state&high_volume_throttle=0&high_volume_throttle=x", PROTOBUF, TRANSACTION),
        (
            "",
            PROTOBUF,
            Transaction(
                bodyBytes=TransactionBody(cryptoCreateAccount={"key": KEY}).SerializeToString()
            ).SerializeToString(),
        ),
        ("", PROTOBUF, TRANSACTION + bytes.fromhex("f23f0101")),
    ],
)
def test_every_form_of_a_transaction_is_estimated(api, build, query, content_type, body):
    answer = api.request("POST", URL + query, body, content_type=content_type)
    assert answer.status == 200, answer
    assert answer.json()["total"] == 500_000_000


def test_the_example_of_the_description_is_a_request(api, build):
    assert [
        estimated(api, example.encode("ascii"))["total"] for example in Fees.posted.examples.values()
    ] == [500_000_000]


def test_the_signatures_of_the_old_form_count_too(api, build):
    body = TransactionBody(cryptoDelete={}).SerializeToString()
    pairs = [{"ed25519": bytes(64)}, {"ed25519": bytes(64)}]
    old = Transaction(bodyBytes=body, sigMap={"sigPair": pairs}).SerializeToString()
    assert estimated(api, old)["node"]["extras"][0]["count"] == 2


def test_only_what_is_known_and_short_counts_as_bytes(api, build):
    large = signed(fileCreate={"contents": bytes(1400)})
    plain = estimated(api, large)
    unknown = b"\xfa\x3f\xd0\x0f" + bytes(2000)
    # The length of signedTransactionBytes, in one byte more than it takes.
    longer = large[:1] + bytes([large[1], large[2] | 0x80, 0]) + large[3:]
    assert Transaction.FromString(longer) == Transaction.FromString(large)
    assert estimated(api, large + unknown) == estimated(api, longer) == plain


TOKENS = signed(
    cryptoTransfer={
        "tokenTransfers": [
            {
                "token": {"tokenNum": TOKEN},
                "transfers": [{"accountID": {"accountNum": each}} for each in (1, 2)],
            }
        ]
    }
)
MESSAGE = signed(consensusSubmitMessage={"topicID": {"topicNum": TOPIC}, "message": b"hello"})


def names(estimate):
    return [each["name"] for each in estimate["service"]["extras"]]


def test_the_state_knows_what_a_token_or_topic_charges(api, build):
    build.token(TOKEN)
    assert names(estimated(api, TOKENS, "mode=STATE")) == ["TOKEN_TRANSFER_BASE"]
    assert names(estimated(api, MESSAGE, "mode=STATE")) == []
    build.custom_fee(TOKEN, royalty_fees=[{"amount": 1}], fixed_fees=None)
    build.custom_fee(TOPIC, fixed_fees=[{"amount": 1}])
    assert names(estimated(api, MESSAGE, "mode=STATE")) == []
    build.topic(TOPIC)
    assert names(estimated(api, TOKENS, "mode=STATE")) == ["TOKEN_TRANSFER_BASE_CUSTOM_FEES"]
    assert names(estimated(api, MESSAGE, "mode=STATE")) == ["CONSENSUS_SUBMIT_MESSAGE_WITH_CUSTOM_FEE"]
    assert estimated(api, MESSAGE, "mode=STATE")["total"] == 500_000_000
    assert names(estimated(api, TOKENS)) == ["TOKEN_TRANSFER_BASE"]
    assert names(estimated(api, MESSAGE)) == []


def test_fees_that_are_no_longer_charged_do_not_count(api, build):
    build.token(TOKEN)
    build.custom_fee(TOKEN, fixed_fees=[], fractional_fees=[], royalty_fees=None)
    assert names(estimated(api, TOKENS, "mode=STATE")) == ["TOKEN_TRANSFER_BASE"]


def test_the_state_knows_which_tokens_are_not_fungible(api, build):
    build.token(TOKEN, type="NON_FUNGIBLE_UNIQUE")
    moved = [{"senderAccountID": {"accountNum": 1}, "receiverAccountID": {"accountNum": 2}}] * 3
    lists = [{"token": {"tokenNum": TOKEN}, "nftTransfers": moved}]
    nfts = signed(cryptoTransfer={"tokenTransfers": lists})
    answer = api.request("POST", f"{URL}?mode=state", nfts, content_type=PROTOBUF)
    assert names(answer.json()) == ["TOKEN_TRANSFER_BASE", "TOKEN_TYPES"]
    assert len(answer.statements) == 2


def in_body(field):
    """Return a Transaction with a field in its body, as bytes."""
    body = TransactionBody(cryptoCreateAccount={"key": KEY}).SerializeToString() + field
    return Transaction(bodyBytes=body).SerializeToString()


# A number in place of bytes, and the other way round: in the transaction, in what is signed, in its body, and
# in the key of its body.
OF_OTHER_TYPES = [
    TRANSACTION + b"\x28\x01",
    Transaction(signedTransactionBytes=b"\x08\x01").SerializeToString(),
    in_body(b"\x30\x00"),
    in_body(b"\x1a\x01\x30\x08\x01"),
    in_body(b"\x5a\x04\x0a\x02\x10\x01"),
]


def simple_fees(base):
    """Return the built-in schedule with another base fee for the creation of accounts."""
    schedule = genesis()
    schedule.services[0].schedule[0].base_fee = base
    return schedule.SerializeToString()


def test_the_last_schedule_that_can_be_read_counts(api, build):
    part(113, simple_fees(1_000), at=START)
    assert estimated(api, TRANSACTION)["service"]["base"] == 1_000
    whole = simple_fees(2_000)
    part(113, whole[:999], at=START + 1, type=UPDATE)
    assert estimated(api, TRANSACTION)["service"]["base"] == 1_000
    part(113, whole[999:], at=START + 2, type=APPEND)
    assert estimated(api, TRANSACTION)["service"]["base"] == 2_000
    part(113, UNREADABLE, at=START + 3, type=UPDATE)
    assert estimated(api, TRANSACTION)["service"]["base"] == 2_000


def test_the_schedule_is_read_again_after_a_while(api, build, settings_of):
    part(113, simple_fees(1_000), at=START)
    assert estimated(api, TRANSACTION)["service"]["base"] == 1_000
    settings_of({"rest.fee.refreshInterval": 600.0})
    part(113, simple_fees(2_000), at=START + 1, type=UPDATE)
    answer = api.request("POST", URL, TRANSACTION, content_type=PROTOBUF)
    assert (answer.json()["service"]["base"], answer.statements) == (1_000, [])
    settings_of({"rest.fee.refreshInterval": 0.0})
    assert estimated(api, TRANSACTION)["service"]["base"] == 2_000


def test_a_schedule_that_appears_counts_at_once(api, build, settings_of):
    assert estimated(api, TRANSACTION)["service"]["base"] == 499_000_000
    settings_of({"rest.fee.refreshInterval": 600.0})
    part(113, simple_fees(1_000))
    assert estimated(api, TRANSACTION)["service"]["base"] == 1_000


@pytest.mark.parametrize(
    ("query", "content_type", "body", "status", "detail"),
    [
        ("?mode=x", "application/json", b"", 415, "Content-Type 'application/json' is not supported"),
        ("", "", TRANSACTION, 415, "Content-Type is not supported"),
        ("", ";", TRANSACTION, 415, "Content-Type ';' is not supported"),
        ("?mode=x", PROTOBUF, b"", 400, "Failed to read request"),
        ("", PROTOBUF, UNREADABLE, 400, "Unable to parse transaction"),
        ("", PROTOBUF, b"\xff" * 11, 400, "Unable to parse transaction"),
        ("", PROTOBUF, b"\x2b" * 500, 400, "Unable to parse transaction"),
        ("?mode=x", PROTOBUF, UNREADABLE, 400, "Failed to convert 'mode'"),
        ("?mode=x", PROTOBUF, b"\x2a\x04" + UNREADABLE, 400, "Failed to convert 'mode'"),
        ("?mode=eq:state", PROTOBUF, TRANSACTION, 400, "Failed to convert 'mode'"),
        ("", PROTOBUF, b"\x2a\x04" + UNREADABLE, 400, "Unable to parse transaction"),
        ("", PROTOBUF, b"\x22\x04" + UNREADABLE, 400, "Unable to parse transaction"),
        ("", PROTOBUF, b"\x2a\x06\x0a\x04" + UNREADABLE, 400, "Unable to parse transaction"),
        *(
            ("", PROTOBUF, body, 400, "Transaction must contain body bytes or signed transaction bytes")
            for body in (b"\xf2\x3f\x01\x01", Transaction(body={"memo": "x"}).SerializeToString())
        ),
        *(("", PROTOBUF, body, 400, "Unable to parse transaction") for body in OF_OTHER_TYPES),
        ("", PROTOBUF, signed(), 400, "Unknown transaction type"),
        ("", PROTOBUF, signed(scheduleCreate={}), 400, "Unknown transaction type"),
        ("?mode=state", PROTOBUF, signed(), 400, "Unknown transaction type"),
        ("", PROTOBUF, signed(uncheckedSubmit={}), 400, "Unknown transaction type"),
        (
            *("?high_volume_throttle=-1", PROTOBUF, TRANSACTION, 400),
            "highVolumeThrottle must be greater than or equal to 0",
        ),
        (
            *("?high_volume_throttle=10001", PROTOBUF, TRANSACTION, 400),
            "highVolumeThrottle must be less than or equal to 10000",
        ),
        *(
            (
                *(f"?high_volume_throttle={text}", PROTOBUF, TRANSACTION, 400),
                "Failed to convert 'high_volume_throttle'",
            )
            for text in ("x", "1.5", "eq:5", "3000000000")
        ),
    ],
)
def test_a_transaction_that_cannot_be_read_is_refused(api, build, query, content_type, body, status, detail):
    answer = api.request("POST", URL + query, body, content_type=content_type)
    reason = {400: "Bad Request", 415: "Unsupported Media Type"}[status]
    assert (answer.status, answer.json()) == (status, problem(detail, reason))
    headers = {"accept": "application/protobuf, application/x-protobuf"} if status == 415 else {}
    headers |= {"cache-control": "public, max-age=60"} if status == 400 else {}
    assert {
        name: answer.headers[name] for name in ("accept", "cache-control") if name in answer.headers
    } == headers


def test_a_transaction_larger_than_allowed_is_refused(api, build, settings_of):
    settings_of({"rest.request.maxBodySize": 1})
    fits = signed(fileCreate={"contents": bytes(932)})
    assert len(fits) == 1024
    assert api.request("POST", URL, fits, content_type=PROTOBUF).status == 200
    answer = api.request("POST", URL, fits + b"\0", content_type=PROTOBUF)
    detail = "The request body is too large: at most 1024 bytes are taken"
    assert (answer.status, answer.json()) == (413, problem(detail, "Request Entity Too Large"))


def test_an_estimate_is_never_unchanged(api, build):
    answer = api.request("POST", URL, TRANSACTION, content_type=PROTOBUF, if_none_match="*")
    assert answer.status == 200
    assert "etag" not in answer.headers
    assert answer.headers["access-control-allow-origin"] == "*"
