import pytest

from web3sim.system_contracts.abi import (
    InvalidArguments,
    address_at,
    bytes_at,
    number_at,
    one_string,
    word_of,
    word_of_address,
)

ADDRESS = bytes(range(1, 21))


def test_words_are_read_by_their_place():
    arguments = word_of_address(ADDRESS) + word_of((1 << 256) - 1) + b"rest"
    assert (address_at(arguments, 0), number_at(arguments, 1)) == (ADDRESS, (1 << 256) - 1)


@pytest.mark.parametrize("arguments", [b"", b"\0" * 31, word_of_address(ADDRESS)[:-1]])
def test_a_word_that_is_cut_off_is_invalid(arguments):
    with pytest.raises(InvalidArguments, match="argument 0 is missing"):
        address_at(arguments, 0)


def test_an_address_begins_with_zeros():
    with pytest.raises(InvalidArguments, match="argument 0 is no address"):
        address_at(b"\1" + bytes(31), 0)


@pytest.mark.parametrize("content", [b"", b"\x06\xfd\xde\x03", bytes(range(100))])
def test_bytes_are_where_their_offset_says(content):
    arguments = word_of_address(ADDRESS) + word_of(64) + word_of(len(content)) + content
    assert bytes_at(arguments, 1) == content
    assert bytes_at(arguments + bytes(28), 1) == content


@pytest.mark.parametrize(
    "arguments",
    [
        word_of(33),
        word_of(32),
        word_of(1 << 255),
        word_of(32) + word_of(1),
        word_of(32) + word_of(1 << 255) + b"a",
    ],
)
def test_bytes_that_are_not_all_there_are_invalid(arguments):
    with pytest.raises(InvalidArguments, match="argument 0"):
        bytes_at(arguments, 0)


@pytest.mark.parametrize(("text", "words"), [(b"", 2), (b"a", 3), (b"a" * 32, 3), (b"a" * 33, 4)])
def test_a_string_fills_whole_words(text, words):
    encoded = one_string(text)
    assert len(encoded) == words * 32
    assert bytes_at(encoded, 0) == text
