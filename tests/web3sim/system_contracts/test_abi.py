from typing import Any

import pytest
from eth_abi.abi import encode
from eth_abi.grammar import parse

from web3sim.system_contracts.abi import (
    InvalidArguments,
    bytes_at,
    decoded,
    empty,
    encoded,
    one_string,
    word_of,
    word_of_address,
)
from web3sim.system_contracts.contracts import SERVICES

ADDRESS = bytes(range(1, 21))


def test_words_are_read_by_their_place():
    arguments = word_of_address(ADDRESS) + word_of((1 << 256) - 1) + word_of(1)
    assert decoded(("address", "uint256", "bool"), arguments) == (ADDRESS, (1 << 256) - 1, True)


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("address", b""),
        ("address", word_of_address(ADDRESS)[:-1]),
        ("address", word_of_address(ADDRESS) + b"\0"),
        ("address", b"\1" + bytes(31)),
        ("bool", word_of(2)),
        ("uint32", word_of(1 << 32)),
        ("int64", word_of(1 << 63)),
        ("bytes[]", word_of(32) + word_of(0) + b"\0"),
        ("bytes[]", word_of(32) + bytes(31)),
    ],
)
def test_arguments_that_are_not_exact_are_invalid(kind, arguments):
    with pytest.raises(InvalidArguments):
        decoded((kind,), arguments)


def test_functions_without_arguments_ignore_what_follows():
    assert decoded((), b"anything") == ()


@pytest.mark.parametrize(
    ("kind", "value"),
    [("address", ADDRESS), ("int64", -5), ("uint256", 7), ("bool", True), ("string", "text")],
)
def test_words_are_encoded_as_the_library_does(kind, value):
    assert encoded((kind,), (value,)) == encode((kind,), (value,))


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
    with pytest.raises(InvalidArguments, match="argument 0 is longer|is missing"):
        bytes_at(arguments, 0)


@pytest.mark.parametrize(("text", "words"), [(b"", 2), (b"a", 3), (b"a" * 32, 3), (b"a" * 33, 4)])
def test_a_string_fills_whole_words(text, words):
    encoded = one_string(text)
    assert len(encoded) == words * 32
    assert bytes_at(encoded, 0) == text
    assert encoded == encode(("bytes",), (text,))


def test_part_named_by_many_offsets_is_read_in_limits():
    """A thousand offsets to the same 32 kB would become 32 MB, and with deeper arrays any amount."""
    count, size = 1000, 32_000
    part = word_of(size) + bytes(size)
    shared = word_of(32) + word_of(count) + word_of(32 * count) * count + part
    with pytest.raises(InvalidArguments, match="again and again"):
        decoded(("bytes[]",), shared)


def test_all_functions_read_what_an_encoder_writes():
    """However tuples lie in one another."""
    for service in SERVICES.values():
        for function in (*service.functions.values(), *service.proxy_functions.values()):
            values = [_filled(parse(kind)) for kind in function.parameters]
            assert decoded(function.parameters, encoded(function.parameters, values)) == tuple(values)


def _filled(kind: Any) -> Any:
    """A value with some items in each array."""
    if kind.is_array:
        return (_filled(kind.item_type),) * 20
    if hasattr(kind, "components"):
        return tuple(map(_filled, kind.components))
    return {"address": ADDRESS, "bool": True, "bytes": b"some", "string": "text"}.get(kind.base, 7)


def test_the_empty_value_of_a_type_has_zeros_and_nothing():
    assert empty("(int64,(string,bool,address)[],bytes,bytes4,uint8[2])") == (0, [], b"", bytes(4), [0, 0])
    assert empty("(string,bool,address)") == ("", False, bytes(20))
