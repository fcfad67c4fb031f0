import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror.core.values import hexadecimal


@given(st.binary())
def test_hex_reads_back_to_the_same_bytes_in_any_case_with_or_without_prefix(data):
    text = hexadecimal.text(data)

    assert text == "0x" + data.hex()
    assert (
        hexadecimal.parse(text)
        == hexadecimal.parse(data.hex())
        == hexadecimal.parse(data.hex().upper())
        == data
    )


@pytest.mark.parametrize("text", ["0", "0x0", "xx", "0X00", "00 00", "0x0x00", "00\n"])
def test_text_that_is_not_hex_is_refused(text):
    with pytest.raises(hexadecimal.InvalidHex):
        hexadecimal.parse(text)


def test_no_bytes_have_no_text():
    assert hexadecimal.text(None) is None
    assert hexadecimal.base64_text(None) is None


def test_base64_is_padded_and_on_one_line():
    assert hexadecimal.base64_text(b"") == ""
    assert hexadecimal.base64_text(b"\xfb\xff") == "+/8="
    assert "\n" not in hexadecimal.base64_text(bytes(200))
