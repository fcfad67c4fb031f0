"""The types of members of JSON answers, with their metadata in a JSON schema.

An endpoint declares its answer in its JSON section as TypedDicts, which its JSON functions return:

    class BlockJson(TypedDict):
        count: Int64
        gas_used: Int64 | None

    class BlocksJson(Page):
        blocks: list[BlockJson]

The type checker compares them with the functions, mirror.core.rest.schema derives the API description from
them, and the tests check every answer against that.
"""

from types import GenericAlias
from typing import Annotated, Any, Literal, NamedTuple, TypedDict


class SchemaMetadata(NamedTuple):
    """The members of a JSON schema besides the type."""

    format: str | None = None
    pattern: str | None = None
    contentEncoding: str | None = None
    example: Any = None


Int32 = Annotated[int, SchemaMetadata(format="int32")]
Int64 = Annotated[int, SchemaMetadata(format="int64")]

#: `shard.realm.num`.
EntityId = Annotated[str, SchemaMetadata(pattern=r"^\d{1,4}\.\d{1,5}\.\d{1,12}$", example="0.0.1001")]
#: Seconds since the epoch, and nanoseconds.
Timestamp = Annotated[str, SchemaMetadata(pattern=r"^-?\d{1,19}\.\d{1,9}$", example="1700000000.000000001")]
TransactionId = Annotated[
    str,
    SchemaMetadata(
        pattern=r"^\d{1,4}\.\d{1,5}\.\d{1,12}-\d{1,10}-\d{9}$", example="0.0.1001-1700000000-000000001"
    ),
]

#: Bytes in hex, with 0x.
Hex = Annotated[str, SchemaMetadata(pattern="^0x([0-9a-f]{2})*$", example="0x07")]
#: A whole number in hex.
Quantity = Annotated[str, SchemaMetadata(pattern="^0x[0-9a-f]*$", example="0x12a")]
EvmAddress = Annotated[str, SchemaMetadata(pattern="^0x[0-9a-f]{40}$", example="0x" + "00" * 18 + "03e9")]
Base64 = Annotated[str, SchemaMetadata(contentEncoding="base64", example="TQ==")]
#: Base32 without padding.
Alias = Annotated[str, SchemaMetadata(pattern="^[A-Z2-7]*$")]
#: A whole number in decimal digits.
DecimalText = Annotated[str, SchemaMetadata(pattern="^-?[0-9]+$", example="1000")]


class KeyJson(TypedDict):
    _type: Literal["ECDSA_SECP256K1", "ED25519", "ProtobufEncoded"]
    key: Annotated[str, SchemaMetadata(pattern="^([0-9a-f]{2})*$")]


#: From (inclusive) to (exclusive); null while open.
TimestampRangeJson = TypedDict("TimestampRangeJson", {"from": Timestamp | None, "to": Timestamp | None})


class LinksJson(TypedDict):
    next: str | None


class Page(TypedDict):
    """A page of a list; `links.next` is the request for the next page."""

    links: LinksJson


def page_type(name: str, **lists: Any) -> Any:
    """Return the type of such a page, called `name`, with lists of these types."""
    members = {member: GenericAlias(list, (kind,)) for member, kind in lists.items()}
    return TypedDict(f"{name}Json", {**members, "links": LinksJson})  # type: ignore[operator]
