import pytest
from django.db import connection

from tests.api import assert_answer
from tests.build import START
from tests.contract.reads import rows_read

TOKEN = 1500
NFTS = f"/api/v1/tokens/0.0.{TOKEN}/nfts"
MINT, TRANSFER, APPROVE, WIPE, DELETE = 37, 14, 48, 39, 35


def serials(answer):
    assert answer.status == 200, answer
    return [nft["serial_number"] for nft in answer.json()["nfts"]]


def at(nanoseconds):
    return f"1700000000.{nanoseconds:09}"


@pytest.fixture
def five(build):
    """Serials 1 to 5, the odd ones held by 1001, 2 by 1002, 4 burned; serial 1 of another token."""
    for serial in range(1, 6):
        holder = 1001 if serial % 2 else 1002 if serial == 2 else None
        build.nft(TOKEN, serial, account=holder, deleted=holder is None)
    build.nft(1600, 1, account=1001)


def test_an_nft_has_all_members_in_order(api, build):
    build.entity(TOKEN, type="TOKEN")
    build.nft(
        TOKEN,
        3,
        account=1001,
        since=START + 9,
        created_timestamp=START,
        delegating_spender=1002,
        metadata=b"\x00meta",
        spender=1003,
    )
    expected = {
        "account_id": "0.0.1001",
        "created_timestamp": at(0),
        "delegating_spender": "0.0.1002",
        "deleted": False,
        "metadata": "AG1ldGE=",
        "modified_timestamp": at(9),
        "serial_number": 3,
        "spender": "0.0.1003",
        "token_id": "0.0.1500",
    }
    answer = api.get(NFTS)
    assert_answer(answer, {"nfts": [expected], "links": {"next": None}})
    assert answer.headers["cache-control"] == "public, max-age=1"
    assert len(answer.statements) == 1
    answer = api.get(f"{NFTS}/3")
    assert_answer(answer, expected)
    assert answer.headers["cache-control"] == "public, max-age=1"
    assert len(answer.statements) == 1


@pytest.mark.parametrize(
    ("of_serial", "of_token", "deleted"),
    [
        (False, False, False),
        (True, False, True),
        (False, True, True),
        (False, None, False),
        (True, None, True),
    ],
)
def test_a_serial_goes_with_its_token(api, build, of_serial, of_token, deleted):
    build.nft(TOKEN, 1, account=None, deleted=of_serial, created_timestamp=None)
    build.entity(TOKEN, type="TOKEN", deleted=of_token)
    build.nft(1600, 1, account=1001)
    shown = api.get(f"{NFTS}/1").json()
    assert (shown["deleted"], shown["account_id"], shown["created_timestamp"]) == (deleted, None, None)
    assert api.get(NFTS).json()["nfts"] == [shown]
    assert api.get("/api/v1/tokens/1600/nfts/1").json()["deleted"] is False


def test_an_unknown_token_has_no_serials(api):
    assert api.get(NFTS).json() == {"nfts": [], "links": {"next": None}}
    answer = api.get(f"{NFTS}/1")
    assert (answer.status, answer.messages) == (404, ["Not found"])


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", [5, 4, 3, 2, 1]),
        ("order=asc", [1, 2, 3, 4, 5]),
        ("limit=2", [5, 4]),
        ("serialnumber=3", [3]),
        ("serialnumber=eq:3&serialnumber=4", [4, 3]),
        ("serialnumber=3&serialnumber=4&serialnumber=lt:4", [3]),
        ("account.id=gte:1001&serialnumber=1&serialnumber=3", [3, 1]),
        ("serialnumber=ne:3", [5, 4, 2, 1]),
        ("serialnumber=gt:3", [5, 4]),
        ("serialnumber=gte:3", [5, 4, 3]),
        ("serialnumber=lt:3", [2, 1]),
        ("serialnumber=lte:3&order=asc", [1, 2, 3]),
        ("serialnumber=gt:1&serialnumber=gt:3&serialnumber=lt:5", [4]),
        ("serialnumber=gte:9223372036854775807", []),
        ("account.id=1001", [5, 3, 1]),
        ("account.id=1001&account.id=1002", []),
        ("account.id=ne:1001", [2]),
        ("account.id=gt:1001", [2]),
        ("account.id=gte:1001&order=asc&limit=3", [1, 2, 3]),
        ("account.id=lt:0.0.1002", [5, 3, 1]),
        ("account.id=lte:1002", [5, 3, 2, 1]),
        (f"account.id=0x{1002:040x}", [2]),
        (f"account.id={'ab' * 20}", []),
        ("account.id=1001&serialnumber=gt:1&limit=1&order=asc", [3]),
    ],
)
def test_serials_are_narrowed_by_number_and_holder(api, query, found):
    assert serials(api.get(f"{NFTS}?{query}")) == found


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_few_owners_of_a_large_collection_are_found_without_reading_it(api, build, order):
    with connection.cursor() as cursor:
        cursor.execute(
            f"insert into nft (account_id, created_timestamp, serial_number, token_id, timestamp_range) "
            f"select 1001, {START}, n, {TOKEN}, int8range({START}, null) from generate_series(1, 5000) n"
        )
        cursor.execute("analyze nft")
    for serial, holder in ((6000, 1003), (6001, 1001), (6002, 1002)):
        build.nft(TOKEN, serial, account=holder)

    before = rows_read()
    found = serials(api.get(f"{NFTS}?account.id=gt:1001&order={order}"))
    assert found == sorted([6000, 6002], reverse=order == "desc")
    assert rows_read() - before < 1100


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize(
    ("query", "link"),
    [
        ("limit=2", "limit=2&serialnumber=lt:4"),
        ("limit=2&order=asc", "limit=2&order=asc&serialnumber=gt:2"),
        ("limit=2&account.id=1001", "limit=2&account.id=1001&serialnumber=lt:3"),
        ("limit=1&serialnumber=gt:2", "limit=1&serialnumber=gt:2&serialnumber=lt:5"),
        ("limit=1&serialnumber=gt:4", None),
        ("limit=1&serialnumber=3&serialnumber=4", "limit=1&serialnumber=3&serialnumber=4&serialnumber=lt:4"),
        ("limit=6", None),
    ],
)
def test_the_next_page_goes_on_behind_the_last_serial(api, query, link):
    next_link = api.get(f"{NFTS}?{query}").json()["links"]["next"]
    assert next_link == (None if link is None else f"{NFTS}?{link}")


@pytest.mark.parametrize("below", ["", "/transactions"])
@pytest.mark.parametrize("text", ["0", "-1", "x", "1.0", "9223372036854775808", "%00", "1%0A", "eq:1"])
def test_what_is_no_serial_number_is_invalid(api, text, below):
    answer = api.get(f"{NFTS}/{text}{below}")
    assert (answer.status, answer.messages) == (400, ["Invalid parameter: serialnumber"])


def test_problems_are_named_in_their_order(api):
    nothing = "/api/v1/tokens/x/nfts"
    assert api.get(f"{nothing}?limit=0").messages == ["Invalid parameter: tokenid"]
    assert api.get(f"{nothing}/x?limit=1&limit=2").messages == ["Unknown query parameter: limit"]
    assert api.get(f"{nothing}/x").messages == ["Invalid parameter: tokenid"]
    assert api.get(f"{nothing}/x/transactions?limit=0").messages == ["Invalid parameter: tokenid"]
    assert api.get(f"{NFTS}/x/transactions?limit=0").messages == ["Invalid parameter: serialnumber"]
    query = "account.id=x&serialnumber=0&order=x&limit=0&token.id=1&serialnumber=x"
    assert api.get(f"{NFTS}?{query}").messages == [
        "Invalid parameter: account.id",
        "Invalid parameter: serialnumber",
        "Invalid parameter: serialnumber",
        "Invalid parameter: order",
        "Invalid parameter: limit",
        "Unknown query parameter: token.id",
    ]
    assert api.get(f"{NFTS}/1/transactions?timestamp=x&limit=0&nonce=1").messages == [
        "Invalid parameter: timestamp",
        "Invalid parameter: limit",
        "Unknown query parameter: nonce",
    ]


# Transactions of a serial.

HISTORY = f"{NFTS}/2/transactions"


def moves(sender, receiver, *, serial=2, token=TOKEN, approved=False):
    return {
        "is_approval": approved,
        "receiver_account_id": receiver,
        "sender_account_id": sender,
        "serial_number": serial,
        "token_id": token,
    }


@pytest.fixture
def history(build):
    """Serial 2: minted at 1, approved at 2, moved at 3 and 4, wiped at 5; the token deleted at 6."""
    build.entity(TOKEN, type="TOKEN", deleted=True, since=START + 6)
    for since in range(1, 5):
        build.nft(TOKEN, 2, account=1000 + since, table="nft_history", since=START + since,
                  until=START + since + 1)  # fmt: skip
    build.nft(TOKEN, 2, account=None, deleted=True, since=START + 5)
    build.nft(TOKEN, 3, account=1001, since=START + 3)
    build.nft(1600, 2, account=1001, since=START + 4)
    minted = [moves(None, 1001, serial=1), moves(None, 1001)]
    moved = [moves(7, 8, token=1600), moves(1001, 1002, approved=True), moves(1002, 1003)]
    build.transaction(START + 1, type=MINT, nft_transfer=minted)
    build.transaction(START + 2, type=APPROVE, nft_transfer=None)
    build.transaction(START + 3, type=TRANSFER, nft_transfer=moved)
    build.transaction(START + 4, type=TRANSFER, nft_transfer=[moves(1003, 1004)], nonce=7)
    build.transaction(START + 5, type=WIPE, nft_transfer=[moves(1004, None)])
    build.transaction(START + 6, type=DELETE, payer=98, nft_transfer=[])


def times(answer):
    assert answer.status == 200, answer
    return [int(row["consensus_timestamp"].partition(".")[2]) for row in answer.json()["transactions"]]


def transaction_json(time, type, *, sender=None, receiver=None, approved=False, nonce=0, payer="0.0.1001"):
    return {
        "consensus_timestamp": at(time),
        "nonce": nonce,
        "transaction_id": f"{payer}-1699999999-{time:09}",
        "type": type,
        "is_approval": approved,
        "receiver_account_id": receiver,
        "sender_account_id": sender,
    }


@pytest.mark.usefixtures("history")
def test_the_transactions_of_a_serial_have_all_members_in_order(api):
    answer = api.get(HISTORY)
    assert_answer(
        answer,
        {
            "transactions": [
                transaction_json(6, "TOKENDELETION", payer="0.0.98"),
                transaction_json(5, "TOKENWIPE", sender="0.0.1004"),
                transaction_json(4, "CRYPTOTRANSFER", sender="0.0.1003", receiver="0.0.1004", nonce=7),
                transaction_json(3, "CRYPTOTRANSFER", sender="0.0.1001", receiver="0.0.1002", approved=True),
                transaction_json(2, "CRYPTOAPPROVEALLOWANCE"),
                transaction_json(1, "TOKENMINT", receiver="0.0.1001"),
            ],
            "links": {"next": None},
        },
    )
    assert answer.headers["cache-control"] == "public, max-age=1"
    assert len(answer.statements) == 1


@pytest.mark.parametrize(
    ("type", "name", "number", "receiver"), [(36, "TOKENUPDATE", -1, 1002), (41, "TOKENDISSOCIATE", -7, None)]
)
def test_a_move_that_is_not_told_by_serials_names_who_gave_and_who_got(
    api, build, type, name, number, receiver
):
    build.nft(TOKEN, 2, account=receiver, since=START + 1)
    sentinel = moves(1001, receiver, serial=number)
    build.transaction(START + 1, type=type, nft_transfer=[moves(7, 8, serial=1), sentinel])

    (shown,) = api.get(HISTORY).json()["transactions"]

    expected = None if receiver is None else f"0.0.{receiver}"
    assert shown == transaction_json(1, name, sender="0.0.1001", receiver=expected)


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("order=asc", [1, 2, 3, 4, 5, 6]),
        ("limit=2", [6, 5]),
        ("limit=2&order=asc", [1, 2]),
        (f"timestamp={at(3)}", [3]),
        (f"timestamp={at(3)}&timestamp={at(4)}", []),
        (f"timestamp=ne:{at(3)}", [6, 5, 4, 2, 1]),
        (f"timestamp=gt:{at(3)}", [6, 5, 4]),
        (f"timestamp=gte:{at(3)}", [6, 5, 4, 3]),
        (f"timestamp=lt:{at(3)}", [2, 1]),
        (f"timestamp=lte:{at(3)}", [3, 2, 1]),
        (f"timestamp=gt:{at(1)}&timestamp=lt:{at(6)}&limit=3&order=asc", [2, 3, 4]),
        (f"timestamp={at(6)}", [6]),
        (f"timestamp=lt:{at(6)}&limit=1", [5]),
        ("timestamp=lt:9999999999.999999999", [6, 5, 4, 3, 2, 1]),
        ("timestamp=gt:9999999999.999999999", []),
    ],
)
def test_transactions_are_narrowed_by_time(api, query, found):
    assert times(api.get(f"{HISTORY}?{query}")) == found


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_paging_to_the_end_gives_every_transaction_once(api, order):
    for limit in (1, 2, 3, 6, 100):
        rows = api.pages(f"{HISTORY}?limit={limit}&order={order}", "transactions")
        found = [int(row["consensus_timestamp"].partition(".")[2]) for row in rows]
        assert found == ([1, 2, 3, 4, 5, 6] if order == "asc" else [6, 5, 4, 3, 2, 1])


@pytest.mark.usefixtures("history")
def test_the_next_page_goes_on_behind_the_last_transaction(api):
    assert api.get(f"{HISTORY}?limit=2").json()["links"]["next"] == f"{HISTORY}?limit=2&timestamp=lt:{at(5)}"
    following = api.get(f"{HISTORY}?limit=2&timestamp=gt:{at(1)}").json()["links"]["next"]
    assert following == f"{HISTORY}?limit=2&timestamp=gt:{at(1)}&timestamp=lt:{at(5)}"


def test_a_token_that_is_not_deleted_ends_with_its_serials(api, build):
    build.entity(TOKEN, type="TOKEN", since=START + 6)
    build.nft(TOKEN, 2, account=1001, since=START + 1)
    for time in (1, 6):
        build.transaction(START + time)
    assert times(api.get(HISTORY)) == [1]


def test_what_is_not_known_of_a_serial_is_left_out(api, build):
    assert api.get(HISTORY).json() == {"transactions": [], "links": {"next": None}}
    # Neither its mint nor the transaction that moved it.
    build.nft(TOKEN, 2, account=1001, since=START + 2, created_timestamp=None)
    build.nft(TOKEN, 2, account=1002, table="nft_history", since=START + 1, until=START + 2)
    build.transaction(START + 2, nft_transfer=[moves(1002, 1001)])
    assert times(api.get(HISTORY)) == [2]
