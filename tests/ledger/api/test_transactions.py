"""The list of transactions. Times of the rows are seconds after the start."""

from base64 import b64encode

import pytest

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import AccountID, CustomFeeLimit, FixedFee, TokenID
from tests.build import SECOND, START, insert

TRANSACTIONS = "/api/v1/transactions"
KEY_ALIAS = b"\x12\x20" + b"\xa5" * 32
KEY_ALIAS_TEXT = "CIQKLJNFUWS2LJNFUWS2LJNFUWS2LJNFUWS2LJNFUWS2LJNFUWS2LJI"
EVM = "ac384c53f03855fa1b3616052f8ba32c6c2a2fec"


def at(seconds):
    return START + seconds * SECOND


def text(seconds):
    return f"{at(seconds) // SECOND}.000000000"


def times(answer):
    """Seconds after the start of the transactions found."""
    assert answer.status == 200, answer
    return [
        int(one["consensus_timestamp"].split(".")[0]) - START // SECOND
        for one in answer.json()["transactions"]
    ]


def nft_transfer(*, receiver, sender, **members):
    return {"receiver_account_id": receiver, "sender_account_id": sender, "token_id": 7, **members}


def test_a_transaction_has_all_members_in_order(api, build):
    fees = [
        CustomFeeLimit(
            account_id=AccountID(accountNum=5),
            fees=[FixedFee(amount=7, denominating_token_id=TokenID(tokenNum=70)), FixedFee(amount=8)],
        ).SerializeToString(),
        CustomFeeLimit(fees=[FixedFee(amount=9)]).SerializeToString(),
        CustomFeeLimit(account_id=AccountID(accountNum=6)).SerializeToString(),
    ]
    build.transaction(
        1_565_779_555_711_927_001,
        payer=300,
        valid_start_ns=1_565_779_555_711_927_000,
        valid_duration_seconds=11,
        transfers=[(300, -3), (98, 1), (3, 2), (3, -1)],
        tokens=[(90_000, 400, 1000), (90_000, 300, -1200), (80_000, 500, 2**53 + 1), (90_000, 200, 200)],
        type=37,
        result=22,
        entity_id=90_000,
        batch_key=bytes.fromhex("1220") + b"\5" * 32,
        high_volume=True,
        high_volume_pricing_multiplier=4000,
        transaction_bytes=b"bytes",
        memo=b"\xfb\xff",
        nonce=2,
        parent_consensus_timestamp=1_565_779_555_711_927_000,
        transaction_hash=b"\xfb\xef" * 24,
        max_fee=33,
        charged_tx_fee=7,
        scheduled=True,
        max_custom_fees=fees,
        nft_transfer=[
            nft_transfer(is_approval=True, receiver=9, sender=None, serial_number=1),
            nft_transfer(is_approval=False, receiver=0, sender=8, serial_number=2),
        ],
    )
    expected = {
        "batch_key": {"_type": "ED25519", "key": "05" * 32},
        "bytes": "Ynl0ZXM=",
        "charged_tx_fee": 7,
        "consensus_timestamp": "1565779555.711927001",
        "entity_id": "0.0.90000",
        "high_volume": True,
        "high_volume_pricing_multiplier": 4000,
        "max_fee": "33",
        "max_custom_fees": [
            {"account_id": "0.0.5", "amount": 7, "denominating_token_id": "0.0.70"},
            {"account_id": "0.0.5", "amount": 8, "denominating_token_id": None},
            {"account_id": None, "amount": 9, "denominating_token_id": None},
        ],
        "memo_base64": "+/8=",
        "name": "TOKENMINT",
        "nft_transfers": [
            {
                "is_approval": True,
                "receiver_account_id": "0.0.9",
                "sender_account_id": None,
                "serial_number": 1,
                "token_id": "0.0.7",
            },
            {
                "is_approval": False,
                "receiver_account_id": None,
                "sender_account_id": "0.0.8",
                "serial_number": 2,
                "token_id": "0.0.7",
            },
        ],
        "node": "0.0.3",
        "nonce": 2,
        "parent_consensus_timestamp": "1565779555.711927000",
        "result": "SUCCESS",
        "scheduled": True,
        "staking_reward_transfers": [],
        "token_transfers": [
            {"token_id": "0.0.80000", "account": "0.0.500", "amount": 9007199254740993, "is_approval": False},
            {"token_id": "0.0.90000", "account": "0.0.200", "amount": 200, "is_approval": False},
            {"token_id": "0.0.90000", "account": "0.0.300", "amount": -1200, "is_approval": False},
            {"token_id": "0.0.90000", "account": "0.0.400", "amount": 1000, "is_approval": False},
        ],
        "transaction_hash": b64encode(b"\xfb\xef" * 24).decode(),
        "transaction_id": "0.0.300-1565779555-711927000",
        "transfers": [
            {"account": "0.0.3", "amount": -1, "is_approval": False},
            {"account": "0.0.3", "amount": 2, "is_approval": False},
            {"account": "0.0.98", "amount": 1, "is_approval": False},
            {"account": "0.0.300", "amount": -3, "is_approval": False},
        ],
        "valid_duration_seconds": "11",
        "valid_start_timestamp": "1565779555.711927000",
    }
    answer = api.get(TRANSACTIONS)
    assert answer.json() == {"transactions": [expected], "links": {"next": None}}
    assert list(answer.json()["transactions"][0]) == list(expected)
    assert b'"amount":9007199254740993' in answer.body
    assert answer.headers["cache-control"] == "public, max-age=2"
    assert len(answer.statements) == 1


def test_what_is_not_known_is_null(api, build):
    build.transaction(
        transfers=(),
        type=999,
        result=9999,
        memo=None,
        transaction_hash=None,
        max_fee=None,
        charged_tx_fee=None,
        node_account_id=None,
        valid_duration_seconds=None,
        entity_id=0,
    )
    (one,) = api.get(TRANSACTIONS).json()["transactions"]
    assert {name for name, value in one.items() if value is None} == {
        "batch_key",
        "bytes",
        "charged_tx_fee",
        "entity_id",
        "high_volume_pricing_multiplier",
        "max_fee",
        "memo_base64",
        "node",
        "parent_consensus_timestamp",
        "transaction_hash",
        "valid_duration_seconds",
    }
    assert one["name"] == one["result"] == "UNKNOWN"
    assert one["high_volume"] is False
    assert {name for name, value in one.items() if value == []} == {
        "max_custom_fees",
        "nft_transfers",
        "staking_reward_transfers",
        "token_transfers",
        "transfers",
    }


@pytest.mark.parametrize("name", ["hookstore", "LAMBDASSTORE"])
def test_storage_of_hooks_is_found_by_its_name_of_today_and_by_the_first_one(api, build, name):
    build.transaction(type=75)
    build.transaction(type=78)
    found = api.get(f"{TRANSACTIONS}?transactiontype={name}").json()["transactions"]
    assert [one["name"] for one in found] == ["HOOKSTORE"]


def test_ids_have_their_shard_and_realm(api, build):
    payer = entity_id.encode(1023, 65_535, 7)
    assert payer < 0
    build.transaction(payer=payer)
    (one,) = api.get(f"{TRANSACTIONS}?account.id=1023.65535.7").json()["transactions"]
    assert one["transaction_id"].startswith("1023.65535.7-")
    assert one["transfers"][0]["account"] == "1023.65535.7"


def test_staking_rewards_are_read_where_account_800_pays(api, build):
    paying = build.transaction(at(1), transfers=[(800, -5), (1001, 3), (1002, 2)])
    build.staking_reward(paying, 1002, 2)
    build.staking_reward(paying, 1001, 3)
    other = build.transaction(at(2))
    build.staking_reward(other, 1003, 9)
    answer = api.get(TRANSACTIONS)
    without, with_rewards = answer.json()["transactions"]
    assert with_rewards["staking_reward_transfers"] == [
        {"account": "0.0.1001", "amount": 3},
        {"account": "0.0.1002", "amount": 2},
    ]
    assert without["staking_reward_transfers"] == []
    assert len(answer.statements) == 2


def test_approvals_are_true_false_and_false_when_not_known(api, build):
    one = build.transaction(transfers=())
    for account, approval in ((1, True), (2, False), (3, None)):
        build.crypto_transfer(one, account, 1, is_approval=approval)
    (found,) = api.get(TRANSACTIONS).json()["transactions"]
    assert [transfer["is_approval"] for transfer in found["transfers"]] == [True, False, False]


@pytest.fixture
def ledger(build):
    """Nine transactions, a second apart."""
    build.transaction(at(1), payer=1001, transfers=[(1001, -10), (1002, 9), (98, 1)])
    build.transaction(at(2), payer=1002, transfers=[(1002, -1), (98, 1)], type=11)
    build.transaction(
        at(3), payer=1003, transfers=[(1003, -1), (98, 1)], tokens=[(70, 1001, 5), (70, 1002, -5)]
    )
    build.transaction(at(4), payer=1001, transfers=(), result=10)
    # Records attached to a user's transaction: with a parent, of a preceding type, and neither.
    build.transaction(at(5), payer=1001, transfers=(), nonce=1, parent_consensus_timestamp=at(4))
    build.transaction(at(6), payer=1001, transfers=(), nonce=1, type=11)
    build.transaction(at(7), payer=1001, transfers=(), nonce=1, type=24)
    build.transaction(at(8), payer=1001, transfers=[(1001, 5), (1001, -5)], nonce=1, result=104, type=24)
    build.transaction(at(9), payer=1004, transfers=[(1004, -1), (98, 1)], result=220, type=15)


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", [9, 8, 7, 6, 5, 4, 3, 2, 1]),
        ("order=asc&limit=3", [1, 2, 3]),
        # account.id
        ("account.id=1001", [8, 6, 5, 4, 3, 1]),
        ("account.id=0.0.1001", [8, 6, 5, 4, 3, 1]),
        ("account.id=00000000000000000000000000000000000003e9", [8, 6, 5, 4, 3, 1]),
        ("account.id=1002", [3, 2, 1]),
        ("account.id=1002&account.id=eq:1004", [9, 3, 2, 1]),
        ("account.id=1002&account.id=1002", [3, 2, 1]),
        ("account.id=98", [9, 3, 2, 1]),
        ("account.id=98&account.id=1003", [9, 3, 2, 1]),
        ("account.id=gt:1003", [9]),
        ("account.id=gte:1003", [9, 3]),
        ("account.id=lt:1001", [9, 3, 2, 1]),
        ("account.id=lte:1001&account.id=gt:98", [8, 6, 5, 4, 3, 1]),
        ("account.id=ne:98&account.id=gt:1003", [9]),
        ("account.id=ne:1001", [9, 3, 2, 1]),
        ("account.id=1001&account.id=gt:1001", []),
        ("account.id=0", []),
        (f"account.id={EVM}", []),
        (f"account.id={EVM}&account.id=1004", [9]),
        (f"account.id=gt:{EVM}", []),
        (f"account.id=ne:{EVM}", []),
        # type
        ("type=credit", [9, 8, 3, 2, 1]),
        ("type=debit", [9, 8, 3, 2, 1]),
        ("type=CREDIT&account.id=1001", [8, 3]),
        ("type=debit&account.id=1001", [8, 1]),
        ("type=credit&account.id=1002", [1]),
        ("type=ne:debit&account.id=1002", [3, 2]),
        ("type=credit&type=debit&account.id=1001", []),
        ("type=credit&type=credit&account.id=1001", [8, 3]),
        # result
        ("result=success", [9, 8, 7, 6, 5, 3, 2, 1]),
        ("result=FAIL", [4]),
        ("result=fail&result=success&account.id=1001", [8, 6, 5, 3, 1]),
        ("result=fail&account.id=1001", [4]),
        ("result=success&type=credit&account.id=1001", [8, 3]),
        ("result=gt:fail", [4]),
        # transactiontype
        ("transactiontype=CryptoCreateAccount", [6, 2]),
        ("transactiontype=cryptocreateaccount&transactiontype=CRYPTOUPDATEACCOUNT", [9, 6, 2]),
        ("transactiontype=ne:freeze", []),
        ("transactiontype=cryptocreateaccount&account.id=1001", [6]),
        ("transactiontype=cryptocreateaccount&account.id=1002&type=debit", [2]),
        ("transactiontype=cryptotransfer&type=credit", [3, 1]),
        # timestamp
        (f"timestamp={text(3)}", [3]),
        (f"timestamp=eq:{text(3)}&timestamp={text(3)}", [3]),
        (f"timestamp={text(3)}&timestamp={text(4)}", []),
        (f"timestamp=gt:{text(7)}", [9, 8]),
        (f"timestamp=gte:{text(7)}&account.id=1001", [8]),
        (f"timestamp=lt:{text(3)}", [2, 1]),
        (f"timestamp=lte:{text(3)}&order=asc", [1, 2, 3]),
        (f"timestamp=ne:{text(3)}&timestamp=lt:{text(5)}", [4, 2, 1]),
        (f"timestamp=gt:{text(2)}&timestamp=lt:{text(5)}&type=credit", [3]),
        (f"timestamp=gt:{text(2)}&timestamp=gt:{text(7)}", [9, 8]),
        (f"timestamp=gt:{text(5)}&timestamp=lt:{text(3)}", []),
        (f"timestamp={text(3)}&timestamp=gt:{text(3)}", []),
        ("timestamp=gt:9999999999", []),
        ("timestamp=lt:9999999999&limit=1", [9]),
        ("timestamp=ne:9999999999&limit=1", [9]),
        ("timestamp=9999999999", []),
    ],
)
def test_transactions_are_narrowed_by_every_parameter(api, query, found):
    answer = api.get(f"{TRANSACTIONS}?{query}")
    assert times(answer) == found
    # An address is looked up.
    assert len(answer.statements) <= 1 + (f"account.id={EVM}" in query)


@pytest.mark.usefixtures("ledger")
def test_an_account_may_be_named_by_alias_or_evm_address(api, build):
    build.entity(1002, alias=KEY_ALIAS)
    build.entity(1004, evm_address=bytes.fromhex(EVM))
    by_alias = [3, 2, 1]
    for name, found in (
        *(
            (KEY_ALIAS_TEXT, by_alias),
            (f"0.0.{KEY_ALIAS_TEXT}", by_alias),
            (f"eq:{KEY_ALIAS_TEXT}", by_alias),
        ),
        *((EVM, [9]), (f"0x{EVM}", [9]), (f"0.0.{EVM}", [9])),
        *((f"{KEY_ALIAS_TEXT}&account.id={EVM}", [9, *by_alias]), ("AAAA", []), (f"gt:{EVM}", [])),
    ):
        assert times(api.get(f"{TRANSACTIONS}?account.id={name}")) == found, name


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", [4, 3, 2, 1]),
        ("&order=asc&limit=3", [1, 2, 3]),
        ("&result=fail", [3]),
        ("&transactiontype=cryptotransfer", [4, 3, 1]),
        (f"&timestamp=gte:{text(2)}&timestamp=lt:{text(4)}", [3, 2]),
        ("&type=credit", [4]),
    ],
)
def test_who_gives_or_gets_serials_takes_part_if_the_loader_notes_it(api, build, settings_of, query, found):
    for second, columns in ((1, {}), (2, {"type": 37}), (3, {"result": 15}), (4, {})):
        transfers = [(300, -3), (1001, 3)] if second == 4 else [(300, -3), (98, 3)]
        build.transaction(at(second), payer=300, transfers=transfers, **columns)
        insert(
            "entity_transaction",
            consensus_timestamp=at(second),
            entity_id=1001,
            payer_account_id=300,
            result=columns.get("result", 22),
            type=columns.get("type", 14),
        )
    persist = "importer.parser.record.entity.persist."
    settings_of({persist + "entityTransactions": True})
    assert set(times(api.get(f"{TRANSACTIONS}?account.id=1001{query}"))) <= {4}
    settings_of({persist + "entityNftTransactions": True})
    assert times(api.get(f"{TRANSACTIONS}?account.id=1001{query}")) == found
    settings_of({persist + "entityTransactions": False, persist + "entityNftTransactions": False})
    answer = api.get(f"{TRANSACTIONS}?account.id=1001{query}")
    assert times(answer) == found
    assert len(answer.statements) <= 1
    assert times(api.get(f"{TRANSACTIONS}?account.id=1002")) == []


@pytest.mark.usefixtures("ledger")
def test_which_preceding_types_are_their_payers_own_is_a_setting(api, settings_of):
    settings_of({"rest.query.transactions.precedingTransactionTypes": ("24",)})
    assert times(api.get(f"{TRANSACTIONS}?account.id=1001")) == [8, 7, 5, 4, 3, 1]


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize(
    ("query", "link"),
    [
        ("limit=2", f"limit=2&timestamp=lt:{text(8)}"),
        ("limit=2&order=ASC", f"limit=2&order=asc&timestamp=gt:{text(2)}"),
        (f"limit=1&timestamp=gt:{text(3)}", f"limit=1&timestamp=gt:{text(3)}&timestamp=lt:{text(9)}"),
        (f"limit=1&timestamp=lt:{text(9)}", f"limit=1&timestamp=lt:{text(8)}"),
        (f"limit=1&timestamp=ne:{text(9)}", f"limit=1&timestamp=ne:{text(9)}"),
        ("result=FAIL&limit=1", f"result=fail&limit=1&timestamp=lt:{text(4)}"),
        ("limit=10", None),
        (f"limit=1&timestamp=gte:{text(9)}", None),
    ],
)
def test_the_next_page_goes_on_behind_the_last_transaction(api, query, link):
    next_link = api.get(f"{TRANSACTIONS}?{query}").json()["links"]["next"]
    assert next_link == (None if link is None else f"{TRANSACTIONS}?{link}")


@pytest.mark.parametrize(
    ("query", "messages"),
    [
        ("limit=0&foo=1&foo=2", ["Invalid parameter: limit", *["Unknown query parameter: foo"] * 2]),
        ("nonce=1&entity.id=3", ["Unknown query parameter: nonce", "Unknown query parameter: entity.id"]),
        ("type=both&result=x", ["Invalid parameter: type", "Invalid parameter: result"]),
        (
            "transactiontype=unknown&order=u",
            ["Invalid parameter: transactiontype", "Invalid parameter: order"],
        ),
        (
            "timestamp=z&account.id=KGNABD51",
            ["Invalid parameter: timestamp", "Invalid parameter: account.id"],
        ),
        ("account.id=274877906944", ['Invalid entity ID "0.0.274877906944"']),
        ("account.id=-5&limit=x", ["Invalid parameter: limit"]),
        ("timestamp[gt]=5", ["Invalid parameter: timestamp"]),
    ],
)
def test_all_problems_of_a_request_are_reported(api, query, messages):
    answer = api.get(f"{TRANSACTIONS}?{query}")
    assert (answer.status, answer.messages) == (400, messages)


class TestBoundRange:
    """With `bindTimestampRange` a request searches a limited time, and its link goes on from there."""

    @pytest.fixture(autouse=True)
    def _bound(self, settings_of):
        settings_of(
            {
                "rest.query.bindTimestampRange": True,
                "rest.query.maxTransactionsTimestampRange": 3.0,
                "clock.now": float(START // SECOND + 10),
            }
        )

    @pytest.mark.usefixtures("ledger")
    @pytest.mark.parametrize(
        ("query", "found", "link"),
        [
            ("", [9, 8], f"timestamp=lt:{START // SECOND + 7}.000000001"),
            ("order=asc", [1, 2, 3], f"order=asc&timestamp=gt:{START // SECOND + 3}.999999999"),
            ("limit=1", [9], f"limit=1&timestamp=lt:{text(9)}"),
            (f"timestamp=lt:{text(3)}", [2, 1], None),
            (f"timestamp=lt:{text(5)}", [4, 3, 2], f"timestamp=lt:{text(2)}"),
            (f"timestamp={text(2)}", [2], None),
            (f"timestamp=gt:{text(20)}", [], None),
            (f"timestamp=gt:{text(5)}&timestamp=lt:{text(3)}", [], None),
        ],
    )
    def test_pages_are_of_a_limited_time(self, api, query, found, link):
        answer = api.get(f"{TRANSACTIONS}?{query}")
        assert times(answer) == found
        assert answer.json()["links"]["next"] == (None if link is None else f"{TRANSACTIONS}?{link}")
        assert len(answer.statements) <= 2

    @pytest.mark.usefixtures("ledger")
    @pytest.mark.parametrize("order", ["asc", "desc"])
    def test_the_links_lead_through_all_of_time(self, api, order):
        assert len(api.pages(f"{TRANSACTIONS}?order={order}&limit=2", "transactions")) == 9
