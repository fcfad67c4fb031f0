import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import AccountID, ContractID, FileID, ScheduleID, TokenID, TopicID

SHARDS = st.integers(0, entity_id.MAX_SHARD)
REALMS = st.integers(0, entity_id.MAX_REALM)
NUMS = st.integers(0, entity_id.MAX_NUM)


@pytest.mark.checklist("ENC-01")
@given(SHARDS, REALMS, NUMS)
def test_decoding_what_was_encoded_gives_the_parts_back(shard, realm, num):
    encoded = entity_id.encode(shard, realm, num)

    assert -(1 << 63) <= encoded < 1 << 63
    assert entity_id.decode(encoded) == (shard, realm, num)
    assert (encoded < 0) == (shard >= 512)


@pytest.mark.checklist("ENC-01")
@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        ("0.0.1001", 1001),
        ("0.0.274877906943", 274877906943),
        ("0.1.0", 1 << 38),
        ("1.2.3", (1 << 54) + (2 << 38) + 3),
        ("511.65535.274877906943", (1 << 63) - 1),
        ("512.0.0", -(1 << 63)),
        ("1023.65535.274877906943", -1),
    ],
)
def test_known_ids_have_their_known_encoding(text, encoded):
    assert entity_id.encode(*map(int, text.split("."))) == encoded
    assert entity_id.parse(text) == encoded


@pytest.mark.checklist("ENC-01")
@pytest.mark.parametrize(
    "parts", [(1024, 0, 1), (0, 65536, 1), (0, 0, 1 << 38), (-1, 0, 1), (0, -1, 1), (0, 0, -1)]
)
def test_a_part_out_of_range_is_refused_by_name(parts):
    with pytest.raises(entity_id.InvalidEntityId, match=".".join(map(str, parts))):
        entity_id.encode(*parts)


@given(SHARDS, REALMS, st.integers(1, entity_id.MAX_NUM))
def test_text_reads_back_to_the_same_id(shard, realm, num):
    encoded = entity_id.encode(shard, realm, num)

    assert entity_id.text(encoded) == f"{shard}.{realm}.{num}"
    assert entity_id.parse(f"{shard}.{realm}.{num}") == encoded


@given(SHARDS, REALMS)
def test_an_id_with_num_zero_has_no_text_in_any_shard_and_realm(shard, realm):
    assert entity_id.text(entity_id.encode(shard, realm, 0)) is None


def test_no_id_has_no_text():
    assert entity_id.text(None) is None


def test_missing_parts_of_a_text_are_those_of_the_network():
    assert entity_id.decode(entity_id.parse("5", shard=1, realm=2)) == (1, 2, 5)
    assert entity_id.decode(entity_id.parse("7.5", shard=1, realm=2)) == (1, 7, 5)
    assert entity_id.decode(entity_id.parse("0.0.010", shard=1, realm=2)) == (0, 0, 10)


@pytest.mark.parametrize(
    "text", ["", "a", "1.2.3.4", "-5", "0.0.", ".1", "0x1", "1 ", "0.0.1\n", "٣", "0.0.274877906944"]
)
def test_other_text_is_not_an_entity_id(text):
    with pytest.raises(entity_id.InvalidEntityId):
        entity_id.parse(text)


@given(SHARDS, REALMS, NUMS)
def test_a_long_zero_address_gives_the_num_back(shard, realm, num):
    address = entity_id.long_zero(entity_id.encode(shard, realm, num))

    assert len(address) == 20
    assert entity_id.num_of_long_zero(address) == num


@pytest.mark.parametrize("address", [b"", bytes(19), bytes(11) + b"\1" + bytes(8), bytes(12) + b"\xff" * 8])
def test_an_address_that_is_not_long_zero_has_no_num(address):
    assert entity_id.num_of_long_zero(address) is None


@pytest.mark.parametrize(
    ("convert", "message"),
    [
        (entity_id.from_account, AccountID(shardNum=1, realmNum=2, accountNum=3)),
        (entity_id.from_contract, ContractID(shardNum=1, realmNum=2, contractNum=3)),
        (entity_id.from_file, FileID(shardNum=1, realmNum=2, fileNum=3)),
        (entity_id.from_schedule, ScheduleID(shardNum=1, realmNum=2, scheduleNum=3)),
        (entity_id.from_token, TokenID(shardNum=1, realmNum=2, tokenNum=3)),
        (entity_id.from_topic, TopicID(shardNum=1, realmNum=2, topicNum=3)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_id_messages_encode_all_their_parts(convert, message):
    assert entity_id.decode(convert(message)) == (1, 2, 3)


def test_an_account_given_by_alias_encodes_to_nothing():
    assert entity_id.from_account(AccountID(shardNum=1, realmNum=2, alias=b"alias")) == 0


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (AccountID(accountNum=-1), "0.0.-1"),
        (AccountID(accountNum=1 << 38), "0.0.274877906944"),
        (AccountID(shardNum=1 << 40, accountNum=0), "1099511627776.0.0"),
        (AccountID(realmNum=-1, alias=b"alias"), "0.-1.0"),
    ],
    ids=["negative", "too large", "shard", "realm of an alias"],
)
def test_an_impossible_id_in_a_message_encodes_to_nothing_and_tells_what_it_was(message, text):
    encoded = entity_id.from_account(message)

    assert encoded == 0
    assert isinstance(encoded, entity_id.OutOfRangeEntityId)
    assert encoded.problem.startswith(f"account id {text} is out of range")
