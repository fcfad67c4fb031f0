import pytest

from mirror.core.rest.answers.errors import InvalidEntityId
from mirror.core.rest.parameters.entity_ids import EvmAddress, NotAnEntityId, read_entity_id
from mirror.core.values import entity_id

OPAQUE = "ac384c53f03855fa1b3616052f8ba32c6c2a2fec"
LONG_ZERO = "00000000000000000000000000000000000003e9"


@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        ("7", 7),
        ("0", 0),
        ("0.7", 7),
        ("0.0.010", 10),
        ("1.2.3", entity_id.encode(1, 2, 3)),
        ("2.3", entity_id.encode(0, 2, 3)),
        ("274877906943", 274877906943),
        (LONG_ZERO, 1001),
        ("0x" + LONG_ZERO, 1001),
        ("0.0." + LONG_ZERO, 1001),
        (OPAQUE, EvmAddress.fromhex(OPAQUE)),
        ("0x" + OPAQUE.upper(), EvmAddress.fromhex(OPAQUE)),
        ("0." + OPAQUE, EvmAddress.fromhex(OPAQUE)),
        ("f" * 40, EvmAddress.fromhex("f" * 40)),
    ],
)
def test_every_form_of_an_entity_id_is_read(text, encoded):
    assert read_entity_id(text) == encoded
    assert isinstance(read_entity_id(text), type(encoded))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "1.",
        ".1",
        "1.2.3.4",
        "-1.2",
        "0x7",
        "12345.0.5",
        "0.0.0x" + OPAQUE,
        OPAQUE[1:],
        "7\n",
        "٧",
        str(10**19),
    ],
)
def test_other_text_is_no_entity_id(text):
    with pytest.raises(NotAnEntityId):
        read_entity_id(text)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("-5", "0.0.-5"),
        ("274877906944", "0.0.274877906944"),
        ("1234567890123456789", "0.0.1234567890123456789"),
        (str(2**63 - 1), f"0.0.{2**63 - 1}"),
        (str(2**63), f"0.0.{2**63}"),
        ("1024.0.5", "1024.0.5"),
        ("65536.5", "0.65536.5"),
        ("1.2." + OPAQUE, f"1.2.{OPAQUE}"),
        ("2." + LONG_ZERO, f"0.2.{LONG_ZERO}"),
    ],
)
def test_a_part_out_of_range_is_named_with_the_whole_id(text, named):
    with pytest.raises(InvalidEntityId) as failure:
        read_entity_id(text)
    assert failure.value.problems[0].message == f'Invalid entity ID "{named}"'


def test_missing_parts_are_those_of_the_settings(settings_of):
    settings_of({"common.shard": 1, "common.realm": 2})
    assert read_entity_id("3") == entity_id.encode(1, 2, 3)
    assert read_entity_id("5.3") == entity_id.encode(1, 5, 3)
    assert read_entity_id(LONG_ZERO) == entity_id.encode(1, 2, 1001)
    with pytest.raises(InvalidEntityId):
        read_entity_id("0.0." + LONG_ZERO)
