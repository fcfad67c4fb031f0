"""Kinds of bytes: hashes, keys, aliases, text."""

import re

from django.utils.html import format_html

from mirror.core.admin.kinds.base import LONG, SHORT, InvalidText, Json, Kind, Lookup, Text, truncate
from mirror.core.values import alias, ethereum, hexadecimal, keys
from mirror.core.values.hapi import messages, plain

_PRINTABLE = re.compile(r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*")
# What comes before the key in DER: of ED25519, and of ECDSA (secp256k1) in the two forms of the SDKs.
_DER = "302a300506032b6570032100|302d300706052b8104000a032200|3036301006072a8648ce3d020106052b8104000a032200"
_SHARD_AND_REALM = re.compile(r"^\d{1,4}\.\d{1,5}\.", re.ASCII)


class Hex(Kind):
    example = "0x…"

    def text(self, value: bytes) -> str:
        return bytes(value).hex()

    def json_value(self, value: bytes) -> str:
        return f"0x{bytes(value).hex()}"

    def html(self, value: bytes, full: bool) -> str:
        length = LONG if full else SHORT
        shown = f"0x{bytes(value[:length]).hex()}{'…' if len(value) > length else ''}"
        is_large = full and len(value) > 64
        size = format_html("<small>{} bytes</small>", f"{len(value):,}") if is_large else ""
        return format_html("<code>{}</code>{}", shown, size)

    def lookup(self, text: str) -> Lookup:
        try:
            return {"exact": hexadecimal.parse(text)}
        except hexadecimal.InvalidHex:
            raise InvalidText(text) from None


class AmountBytes(Hex):
    """A big-endian number."""

    def html(self, value: bytes, full: bool) -> str:
        number = format_html('<span class="amount">{}</span>', f"{int.from_bytes(value, 'big'):,}")
        return format_html("{}<small>{}</small>", number, super().html(value, full)) if full else number


class HexText(Kind):
    """Hex stored as text, found by prefix."""

    example = "hex, its beginning suffices"

    def html(self, value: str, full: bool) -> str:
        return format_html("<code>{}</code>", value if full else truncate(value, SHORT))

    def lookup(self, text: str) -> Lookup:
        match = re.fullmatch(rf"(?:0x)?(?:{_DER})?([0-9a-f]{{6,}})", text, re.IGNORECASE)
        if match is None:
            raise InvalidText(text)
        start = match[1].lower()
        # A range, as LIKE can't use these indexes; g comes after all hex digits.
        return {"gte": start, "lt": start + "g"}


class Hash(Hex):
    """A hash, in hex and in the base64 the API writes."""

    def html(self, value: bytes, full: bool) -> str:
        base64 = format_html("<small><code>{}</code></small>", hexadecimal.base64_text(value)) if full else ""
        return format_html("{}{}", super().html(value, full), base64)


class Word(Hex):
    """A word of the EVM: 32 bytes, which are stored without the zeros that they begin with."""

    def html(self, value: bytes, full: bool) -> str:
        word = bytes(value).rjust(32, b"\0").hex()
        shown = word if full else f"{word[:8]}…{word[-16:]}"
        return format_html('<code title="0x{}">0x{}</code>', word, shown)

    def lookup(self, text: str) -> Lookup:
        value = super().lookup(text)["exact"]
        short = value.lstrip(b"\0")
        return {"in": list(dict.fromkeys((value, short, short or b"\0", value.rjust(32, b"\0"))))}


class Output(Hex):
    """Output of a call, or what it reverted with; errors as their text."""

    def html(self, value: bytes, full: bool) -> str:
        error = ethereum.error_text(bytes(value))
        if error is None:
            return super().html(value, full)
        shown = truncate(error, LONG if full else 60)
        hex_html = super().html(value, full) if full else ""
        return format_html('<span class="text">{}</span>{}', shown, hex_html)


class ErrorText(Text):
    """The name of an error, or in hex what code reverted with."""

    def html(self, value: str, full: bool) -> str:
        try:
            data = hexadecimal.parse(value) if value.startswith("0x") else b""
        except hexadecimal.InvalidHex:
            data = b""
        return _OUTPUT.html(data, full) if data else super().html(value, full)


class Message(Hex):
    """A serialized protobuf message; hex where it can't be read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def html(self, value: bytes, full: bool) -> str:
        try:
            fields = plain.fields(self._name, bytes(value))
        except messages.DecodeError:
            return super().html(value, full)
        return _JSON.html(fields, full)


class TextBytes(Hex):
    """Bytes that should be text: shown as text if they are."""

    def json_value(self, value: bytes) -> str:
        text = _readable(value)
        return super().json_value(value) if text is None else text

    def html(self, value: bytes, full: bool) -> str:
        text = _readable(value)
        if text is None:
            return super().html(value, full)
        return format_html('<span class="text">{}</span>', truncate(text, LONG if full else 60))


class Alias(Hex):
    """An alias, in hex and in the base32 the API writes."""

    example = "CIQA… or 0x…"

    def html(self, value: bytes, full: bool) -> str:
        base32 = alias.text(bytes(value)) or ""
        if not full:
            return format_html("<code>{}</code>", truncate(base32, SHORT))
        return format_html("<code>{}</code><small><code>0x{}</code></small>", base32, bytes(value).hex())

    def lookup(self, text: str) -> Lookup:
        try:
            return {"exact": alias.parse(_SHARD_AND_REALM.sub("", text))}
        except alias.InvalidAlias:
            return super().lookup(text)


class Key(Hex):
    """A serialized key, as the API writes it."""

    def html(self, value: bytes, full: bool) -> str:
        key = keys.key_json(bytes(value))
        if key is None:
            return "an empty key list" if value else ""
        shown = truncate(key["key"], LONG if full else SHORT)
        return format_html('<span class="nowrap">{}</span> <code>{}</code>', key["_type"], shown)


def _readable(value: bytes) -> str | None:
    try:
        text = bytes(value).decode()
    except UnicodeDecodeError:
        return None
    return text if _PRINTABLE.fullmatch(text) else None


_OUTPUT, _JSON = Output(), Json()
