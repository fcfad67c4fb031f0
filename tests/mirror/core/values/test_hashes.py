"""Hashes, and pieces of them in messages."""

import importlib.util
import random
import sys

import pytest

from mirror.core.values import hashes
from mirror.core.values.hashes import describe_difference, keccak256


def test_keccak_is_not_sha3():
    assert keccak256(b"").hex() == "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"


def test_keccak_is_the_same_without_tiny_keccak(monkeypatch: pytest.MonkeyPatch):
    source = random.Random(7)
    messages = [source.randbytes(length) for length in range(300)]
    expected = [keccak256(message) for message in messages]
    monkeypatch.setitem(sys.modules, "tiny_keccak", None)
    specification = importlib.util.find_spec(hashes.__name__)
    assert specification and specification.loader
    without = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(without)

    assert without.keccak256 is not keccak256
    assert [without.keccak256(message) for message in messages] == expected


def test_of_hashes_that_begin_alike_the_pieces_where_they_differ_are_shown():
    one, other = "ab" * 20 + "00" * 28, "ab" * 20 + "11" * 28

    assert describe_difference(one, other) == ("…abababab00000000…", "…abababab11111111…")
    assert describe_difference("12" * 48, "34" * 48) == ("1212121212121212…", "3434343434343434…")
    assert describe_difference("ab" * 47 + "00", "ab" * 48) == ("…ababababababab00", "…abababababababab")
