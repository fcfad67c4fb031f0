import ast
import contextlib
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror.core.values.hapi import messages, wire
from mirror.core.values.hapi.messages import DecodeError, RecordStreamFile, TransactionBody, TransactionRecord
from tests.node import ROOT

MEMO = 6  # TransactionBody.memo


def test_the_sdk_around_the_message_classes_is_not_imported():
    code = "import sys, mirror.core.values.hapi.messages; print(*(m for m in sys.modules if m[:4] == 'grpc'))"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert loaded.strip() == ""


@pytest.mark.parametrize("name", messages._MODULES)
def test_every_class_is_found_where_it_is_said_to_be(name):
    assert getattr(messages, name).DESCRIPTOR


def test_only_known_classes_are_named_in_the_product():
    """They are loaded when they are used, so that no import would find a wrong name out."""
    known = {*messages._MODULES, *vars(messages)}
    named = set()
    for folder in ("mirror", "ledger", "contracts", "tokens", "network", "web3sim"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text()
            uses_module = re.search(r"^from mirror.core.values.hapi import .*\bmessages\b", text, re.M)
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ImportFrom) and node.module == messages.__name__:
                    named |= {alias.name for alias in node.names}
                elif (
                    uses_module and isinstance(node, ast.Attribute) and ast.unparse(node.value) == "messages"
                ):
                    named.add(node.attr)

    assert named - known == set()


@given(st.binary(max_size=50))
def test_text_that_is_not_utf8_reads_with_replacement_characters(memo):
    body = messages.parse(TransactionBody, wire.length_delimited(MEMO, memo) + b"\x18\x05")

    assert body.memo == memo.decode("utf-8", "replace")
    assert body.transactionFee == 5


def test_bad_text_deep_inside_a_message_is_found():
    record = wire.length_delimited(TransactionRecord.MEMO_FIELD_NUMBER, b"\xff")
    item = wire.length_delimited(2, record)

    message = messages.parse(RecordStreamFile, wire.length_delimited(3, item))

    assert message.record_stream_items[0].record.memo == "�"


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_decode_error(data):
    with contextlib.suppress(DecodeError):
        messages.parse(RecordStreamFile, data)


@given(st.binary(max_size=100))
def test_walking_any_bytes_covers_them_without_gap_or_ends_in_a_decode_error(data):
    position = 0
    try:
        for field in wire.fields(data):
            assert field.start == position
            assert field.start < field.value <= field.end
            position = field.end
    except DecodeError:
        return
    assert position == len(data)


@given(st.integers(0, (1 << 64) - 1))
def test_numbers_of_variable_length_read_back(number):
    data = wire.encode_varint(number)

    assert wire.varint(data, 0, len(data)) == (number, len(data))


def test_the_last_value_of_a_field_counts():
    assert wire.last_bytes(b"\x32\x01a\x32\x02bc", MEMO) == b"bc"
    assert wire.last_bytes(b"", MEMO) == b""


def test_every_value_of_a_repeated_field_is_found():
    assert wire.repeated_bytes(b"\x32\x01a\x18\x05\x32\x02bc", MEMO) == [b"a", b"bc"]
    assert wire.repeated_bytes(b"\x18\x05", MEMO) == []


@pytest.mark.parametrize("data", [b"\x32\x05abc", b"\x80", b"\x33", b"\x00\x00", b"\x31\x00"])
def test_a_broken_message_says_where_it_breaks(data):
    with pytest.raises(DecodeError, match="byte 0"):
        list(wire.fields(data))
