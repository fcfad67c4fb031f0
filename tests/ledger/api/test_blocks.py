import hashlib

import pytest

from tests.build import SECOND, START

BLOCKS = "/api/v1/blocks"


def numbers(answer):
    assert answer.status == 200, answer
    return [block["number"] for block in answer.json()["blocks"]]


@pytest.fixture
def five(build):
    """Blocks 11 to 15; block n ends n seconds after the start."""
    for number in range(11, 16):
        build.block(number, end=START + number * SECOND)


def at(number):
    return f"{(START + number * SECOND) // SECOND}"


def test_a_block_has_all_members_in_order(api, build):
    build.block(
        16,
        end=1_676_540_001_234_600_000,
        consensus_start=1_676_540_001_234_500_000,
        hash="ab" * 48,
        prev_hash="cd" * 48,
        name="2023-02-16T09_33_21.234500000Z.rcd.gz",
        count=5,
        size=6,
        gas_used=400_000,
        logs_bloom=b"\x0a\x0b",
        hapi_version_major=0,
        hapi_version_minor=22,
        hapi_version_patch=3,
    )
    answer = api.get(BLOCKS)
    expected = {
        "count": 5,
        "hapi_version": "0.22.3",
        "hash": "0x" + "ab" * 48,
        "name": "2023-02-16T09_33_21.234500000Z.rcd.gz",
        "number": 16,
        "previous_hash": "0x" + "cd" * 48,
        "size": 6,
        "timestamp": {"from": "1676540001.234500000", "to": "1676540001.234600000"},
        "gas_used": 400_000,
        "logs_bloom": "0x" + "0a0b".rjust(512, "0"),
    }
    assert answer.json() == {"blocks": [expected], "links": {"next": None}}
    assert list(answer.json()["blocks"][0]) == list(expected)
    assert answer.headers["cache-control"] == "public, max-age=1"
    assert len(answer.statements) == 1


def test_parts_that_are_not_known_are_null(api, build):
    build.block(1, gas_used=-1, logs_bloom=None, size=None, hapi_version_major=0, hapi_version_minor=1)
    build.block(2, gas_used=None, logs_bloom=b"", size=None, bytes=b"12345678")
    build.block(3, logs_bloom=bytes(256))
    third, second, first = api.get(BLOCKS).json()["blocks"]
    assert (first["gas_used"], first["logs_bloom"], first["size"], first["hapi_version"]) == (None,) * 4
    assert (second["gas_used"], second["logs_bloom"], second["size"]) == (None, "0x", 8)
    assert third["logs_bloom"] == "0x" + "0" * 512


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", [15, 14, 13, 12, 11]),
        ("order=asc", [11, 12, 13, 14, 15]),
        ("limit=2", [15, 14]),
        ("block.number=13", [13]),
        ("block.number=eq:0xd", [13]),
        ("block.number=gt:13", [15, 14]),
        ("block.number=gte:13", [15, 14, 13]),
        ("block.number=lt:13", [12, 11]),
        ("block.number=lte:13&order=asc", [11, 12, 13]),
        ("block.number=13&block.number=14", []),
        ("block.number=13&block.number=13", [13]),
        ("block.number=gt:11&block.number=lt:14", [13, 12]),
        ("block.number=gt:11&block.number=gt:13", [15, 14]),
        ("block.number=gt:15", []),
        (f"timestamp={at(13)}", [13]),
        (f"timestamp={at(13)}.0", [13]),
        (f"timestamp={at(13)}.000000001", []),
        (f"timestamp=ne:{at(13)}", [15, 14, 12, 11]),
        (f"timestamp=gt:{at(13)}", [15, 14]),
        (f"timestamp=gte:{at(13)}", [15, 14, 13]),
        (f"timestamp=lt:{at(13)}", [12, 11]),
        (f"timestamp=lte:{at(13)}", [13, 12, 11]),
        (f"timestamp=gt:{at(11)}&timestamp=lt:{at(14)}&block.number=ne:1&block.number=12", None),
        (f"timestamp=gt:{at(11)}&block.number=lt:14", [13, 12]),
        (f"timestamp={at(13)}&timestamp={at(14)}", []),
        ("timestamp=gt:9999999999", []),
        ("timestamp=lt:9999999999.999999999", [15, 14, 13, 12, 11]),
        ("timestamp=ne:9999999999", [15, 14, 13, 12, 11]),
        ("timestamp=9999999999", []),
        ("block.number=0x7FFFFFFFFFFFFFFF", []),
        ("block.number=lt:9223372036854775807", [15, 14, 13, 12, 11]),
    ],
)
def test_blocks_are_narrowed_by_number_and_end(api, query, found):
    answer = api.get(f"{BLOCKS}?{query}")
    if found is None:
        assert answer.messages == ["Invalid parameter: block.number"]
    else:
        assert numbers(answer) == found


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_the_first_of_the_two_filters_decides_the_order(api, build, order):
    # Numbers and times that run against each other, as they never should.
    for number, second in ((1, 3), (2, 2), (3, 1)):
        build.block(number, end=START + second * SECOND)
    by_number = [1, 2, 3] if order == "asc" else [3, 2, 1]
    assert numbers(api.get(f"{BLOCKS}?order={order}&block.number=gt:0&timestamp=ne:0")) == by_number
    assert numbers(api.get(f"{BLOCKS}?order={order}&timestamp=ne:0")) == by_number[::-1]
    assert numbers(api.get(f"{BLOCKS}?order={order}")) == by_number[::-1]


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize(
    ("query", "link"),
    [
        ("limit=2", "limit=2&block.number=lt:14"),
        ("limit=2&order=asc", "limit=2&order=asc&block.number=gt:12"),
        (f"limit=1&timestamp=gt:{at(12)}", f"limit=1&timestamp=gt:{at(12)}&block.number=lt:15"),
        ("limit=2&block.number=gt:13&order=desc", None),
        ("limit=1&block.number=gt:13", "limit=1&block.number=gt:13&block.number=lt:15"),
        ("limit=5", "limit=5&block.number=lt:11"),
        ("limit=6", None),
        ("limit=1&block.number=13", "limit=1&block.number=13"),
    ],
)
def test_the_next_page_goes_on_behind_the_last_block(api, query, link):
    next_link = api.get(f"{BLOCKS}?{query}").json()["links"]["next"]
    assert next_link == (None if link is None else f"{BLOCKS}?{link}")


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize(
    ("query", "all_of_them"),
    [
        ("order=desc", [15, 14, 13, 12, 11]),
        ("order=asc", [11, 12, 13, 14, 15]),
        ("order=asc&block.number=gt:11&block.number=lt:15", [12, 13, 14]),
        (f"timestamp=gte:{at(12)}&block.number=lte:14", [14, 13, 12]),
    ],
)
def test_paging_to_the_end_gives_every_block_once(api, query, all_of_them):
    for limit in (1, 2, 3, 5, 100):
        found = api.pages(f"{BLOCKS}?{query}&limit={limit}", "blocks")
        assert [block["number"] for block in found] == all_of_them


def test_all_problems_of_a_request_are_reported(api):
    answer = api.get(
        f"{BLOCKS}?foo=1&limit=0&block.number=ne:1&block.number=x&timestamp=y&order=z&foo=2&nonce=1"
    )
    assert answer.status == 400
    assert answer.messages == [
        "Invalid parameter: limit",
        "Invalid parameter: block.number",
        "Invalid parameter: block.number",
        "Invalid parameter: timestamp",
        "Invalid parameter: order",
        "Unknown query parameter: foo",
        "Unknown query parameter: foo",
        "Unknown query parameter: nonce",
    ]


HASH = hashlib.sha384(b"13").hexdigest()


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize(
    "text",
    ["13", "0013", HASH, "0x" + HASH, "0x" + HASH.upper(), HASH[:64], "0x" + HASH[:64], HASH[:64].upper()],
)
def test_one_block_is_found_by_number_and_hash(api, text):
    answer = api.get(f"{BLOCKS}/{text}")
    assert (answer.status, answer.json()["number"]) == (200, 13)
    assert answer.headers["cache-control"] == "public, max-age=600"
    assert "links" not in answer.json()
    assert len(answer.statements) == 1


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize(
    "text", ["10", "9223372036854775807", "0" * 64, "1" * 64, "ab" * 48, "0x" + "ab" * 32, HASH[:63] + "f"]
)
def test_a_block_that_is_not_there_is_not_found(api, text):
    answer = api.get(f"{BLOCKS}/{text}")
    assert (answer.status, answer.messages) == (404, ["Not found"])


def test_two_blocks_that_begin_with_the_same_hash_are_none(api, build):
    build.block(1, hash="ab" * 32 + "cd" * 16)
    build.block(2, hash="ab" * 32 + "ef" * 16)
    assert api.get(f"{BLOCKS}/{'ab' * 32}").status == 404
    assert api.get(f"{BLOCKS}/{'ab' * 32 + 'ef' * 16}").json()["number"] == 2


@pytest.mark.parametrize(
    "text",
    [
        "0x10",
        "-1",
        "x",
        "9223372036854775808",
        "1.0",
        "+1",
        "%zz",
        "%FF",
        "%00",
        "1%0A",
        "ab" * 33,
        "0X" + "ab" * 32,
    ],
)
def test_what_is_neither_number_nor_hash_is_invalid(api, text):
    answer = api.get(f"{BLOCKS}/{text}")
    assert (answer.status, answer.messages) == (400, ["Invalid parameter: hashOrNumber"])


def test_one_block_has_no_query_parameters_and_they_are_seen_first(api):
    answer = api.get(f"{BLOCKS}/x?block.number=1&limit=2&limit=3")
    assert (answer.status, answer.messages) == (
        400,
        ["Unknown query parameter: block.number", "Unknown query parameter: limit"],
    )
