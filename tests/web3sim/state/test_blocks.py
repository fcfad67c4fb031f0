import hashlib

import pytest

from tests.build import SECOND, START
from web3sim.engine.interface import BlockEnvironment
from web3sim.state.blocks import (
    BlockSelector,
    InvalidBlock,
    StoredBlock,
    UnknownBlock,
    block_at,
    block_hashes,
    chain_id,
    find_block,
    parse_block,
)
from web3sim.state.database import Reading


def hash_of(number: int) -> bytes:
    return hashlib.sha384(b"%d" % number).digest()


@pytest.mark.parametrize("text", [None, "", "latest", "LATEST", "Pending", "safe", "finalized"])
def test_names_and_nothing_are_the_latest_block(text):
    assert parse_block(text) == BlockSelector()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("00012901", 12901),
        ("0x10", 16),
        ("0xAb", 171),
        ("0X1f", 31),
        ("00000000000000000010", 10),
        ("0x0000000000000010", 16),
        ("9223372036854775807", (1 << 63) - 1),
        ("0x7fffffffffffffff", (1 << 63) - 1),
    ],
)
def test_numbers_are_decimal_or_hex(text, number):
    assert parse_block(text).number == number


@pytest.mark.parametrize("text", ["earliest", "EARLIEST"])
def test_the_earliest_block_has_a_name(text):
    assert parse_block(text) == BlockSelector(earliest=True)


@pytest.mark.parametrize("prefix", ["0x", "0X"])
@pytest.mark.parametrize("digits", [64, 96])
def test_hashes_are_of_32_or_48_bytes(prefix, digits):
    text = prefix + "Ab" * (digits // 2)
    assert parse_block(text) == BlockSelector(hash="ab" * (digits // 2))
    assert parse_block(prefix + "0" * digits) == BlockSelector(hash="0" * digits)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("9223372036854775808", "Decimal"),
        ("9" * 20, "Decimal"),
        ("0x8000000000000000", "Hex"),
        ("0XFFFFFFFFFFFFFFFF", "Hex"),
    ],
)
def test_numbers_of_more_than_63_bits_are_out_of_range(text, kind):
    with pytest.raises(InvalidBlock) as error:
        parse_block(text)
    assert str(error.value) == f"{kind} value out of range for block: {text}"


@pytest.mark.parametrize(
    "text",
    [
        "-1",
        "-0x1",
        "0x-1",
        "+0x1",
        "0xzz",
        "abc",
        "latest ",
        " latest",
        "1.5",
        "0x",
        "1e3",
        "+",
        "+7",
        "0x+1f",
        "1_0",
    ]
    + ["9" * 21, "0x" + "1" * 17, "٣", "0x" + "ab" * 31, "0x" + "ab" * 33, "ab" * 32, "1" * 5000, "7\n"],
)
def test_other_texts_are_invalid(text):
    with pytest.raises(InvalidBlock) as error:
        parse_block(text)
    assert str(error.value) == f"Invalid block value: {text}"


def select(text):
    return find_block(parse_block(text), Reading())


def test_the_latest_block_is_the_highest_and_shows_the_current_state(build):
    build.block(7)
    build.block(8, end=START + 100 * SECOND)
    selected = select("latest")
    assert selected.block == StoredBlock(8, hash_of(8), START + 99 * SECOND + 1, START + 100 * SECOND)
    assert selected.state_time is None


def test_any_other_form_shows_the_state_at_the_end_of_its_block(build):
    build.block(7, end=START)
    build.block(8, end=START + 2 * SECOND)
    digits = hash_of(8).hex()
    for text, number in [("7", 7), ("0x8", 8), ("earliest", 7), (f"0x{digits}", 8), (f"0x{digits[:64]}", 8)]:
        selected = select(text)
        assert (selected.block.number, selected.state_time) == (number, selected.block.consensus_end), text


def test_hashes_are_found_in_any_case(build):
    build.block(8)
    assert select("0x" + hash_of(8).hex().upper()).block.number == 8


@pytest.mark.parametrize("text", ["6", "9", "9223372036854775807"])
def test_numbers_without_a_block_are_unknown(build, text):
    build.block(7)
    build.block(8)
    with pytest.raises(UnknownBlock, match="^Unknown block number$"):
        select(text)


def test_without_blocks_there_is_no_latest_one(db):
    for text in ("latest", "earliest"):
        with pytest.raises(UnknownBlock):
            select(text)


@pytest.mark.parametrize("digits", [64, 96])
def test_a_hash_that_no_block_has_is_an_unknown_block(build, digits):
    build.block(7)
    with pytest.raises(UnknownBlock, match="^Unknown block number$"):
        select("0x" + "ab" * (digits // 2))


def test_a_hash_is_compared_whole(build):
    build.block(8)
    longer = hash_of(8).hex()[:64] + "0" * 32
    with pytest.raises(UnknownBlock):
        select(f"0x{longer}")


def test_contracts_see_the_values_of_the_block(build, settings_of):
    build.block(7, end=START + 5)
    assert select("7").environment(15_000_000) == BlockEnvironment(
        number=7,
        timestamp=START // SECOND - 1,
        coinbase=bytes(19) + b"\x62",
        prevrandao=hash_of(7)[:32],
        gas_limit=15_000_000,
        chain_id=296,
    )
    settings_of({"web3.evm.network": "MAINNET"})
    assert chain_id() == 295


def test_the_block_of_a_transaction_is_found_by_its_time(build):
    build.block(7, end=START)
    build.block(8, end=START + 10 * SECOND, consensus_start=START + 9 * SECOND)
    numbers = [
        block and block.number
        for block in (
            block_at(time, Reading())
            for time in (START, START + 1, START + 9 * SECOND, START + 10 * SECOND, START + 10 * SECOND + 1)
        )
    ]
    assert numbers == [7, None, 8, 8, None]


def test_block_hashes_are_the_first_32_bytes(build):
    for number in (6, 7, 9, 10):
        build.block(number)
    assert block_hashes(7, 9, Reading()) == {7: hash_of(7)[:32], 9: hash_of(9)[:32]}
