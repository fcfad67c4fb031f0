"""What goes through the ORM comes back as it was, for every kind of column the tables have."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import DataError, connection, models
from psycopg.types.range import Range

from contracts.models import ContractState, HookHistory
from ledger.models import CryptoTransfer, CustomFee, Entity, EntityHistory, Transaction
from mirror.core.db.schema.fields import BytesField
from tokens.models import TokenAirdropHistory

pytestmark = pytest.mark.django_db

HIGHEST = 2**63 - 1
LOWEST = -(2**63)


def entity(**columns: Any) -> Entity:
    return Entity.objects.create(
        id=1001, num=1001, realm=0, shard=0, timestamp_range=Range(5, None), **columns
    )


def again(row: models.Model) -> Any:
    return type(row)._base_manager.get(pk=row.pk)


def test_an_entity_row_round_trips() -> None:
    row = entity(
        type="CONTRACT", alias=b"\x00\xff", evm_address=b"", memo="näh", public_key="ab", balance=HIGHEST
    )

    read = again(row)

    assert read.timestamp_range == Range(5, None)
    assert (read.type, read.alias, read.evm_address, read.memo) == ("CONTRACT", b"\x00\xff", b"", "näh")
    assert (read.balance, read.key, read.deleted) == (HIGHEST, None, None)


def test_missing_columns_get_the_defaults_of_the_database() -> None:
    read = again(entity())

    assert (read.type, read.memo, read.ethereum_nonce, read.staked_node_id) == ("UNKNOWN", "", 0, -1)
    assert read.decline_reward is False


def test_arrays_json_and_domains_round_trip() -> None:
    columns = {
        "consensus_timestamp": HIGHEST,
        "type": 14,
        "result": 22,
        "payer_account_id": LOWEST,
        "valid_start_ns": 1,
        "max_fee": HIGHEST,
        "errata": "INSERT",
        "max_custom_fees": [b"\x01", b"", b"\xff" * 40],
        "inner_transactions": [HIGHEST, 0],
        "nft_transfer": [{"token_id": 5, "is_approval": False}],
    }

    read = again(Transaction.objects.create(**columns))

    assert {name: getattr(read, name) for name in columns} == columns


def test_a_null_json_column_is_null() -> None:
    row = CustomFee.objects.create(entity_id=7, fixed_fees=[], timestamp_range=Range(1, 2))

    assert (again(row).fixed_fees, again(row).royalty_fees) == ([], None)
    assert CustomFee.objects.filter(royalty_fees__isnull=True).exists()


@pytest.mark.parametrize(
    "row",
    [
        ContractState(contract_id=5, slot=b"\x00\xfe", created_timestamp=1, modified_timestamp=2),
        EntityHistory(id=6, num=6, realm=0, shard=0, timestamp_range=Range(1, 2)),
        HookHistory(owner_id=1, hook_id=2, timestamp_range=Range(3, 9)),
        TokenAirdropHistory(
            sender_account_id=1,
            receiver_account_id=2,
            token_id=3,
            serial_number=0,
            timestamp_range=Range(4, 5),
        ),
        CryptoTransfer(consensus_timestamp=1, entity_id=2, amount=-3, payer_account_id=2),
    ],
    ids=lambda row: type(row).__name__,
)
def test_a_composite_key_finds_its_row_again_through_its_text(row: models.Model) -> None:
    row.save(force_insert=True)
    key = type(row)._meta.pk

    text = key.value_to_string(row)

    found = type(row)._base_manager.get(pk=key.to_python(text))
    assert found.pk == row.pk


def test_a_value_the_enum_type_does_not_have_is_refused_by_the_database() -> None:
    with pytest.raises(DataError, match="entity_type"):
        entity(type="PLANET")


def test_not_equal_reads_as_the_operator() -> None:
    CryptoTransfer.objects.create(consensus_timestamp=1, entity_id=98, amount=1, payer_account_id=2)
    CryptoTransfer.objects.create(consensus_timestamp=1, entity_id=2, amount=-1, payer_account_id=2)

    others = CryptoTransfer.objects.filter(entity_id__ne=98)

    assert [row.entity_id for row in others] == [2]
    assert "<> 98" in str(others.query)


def test_bytes_read_from_text_must_be_hex() -> None:
    with pytest.raises(ValidationError, match="'xyz' is not hex"):
        BytesField().to_python("xyz")


def test_every_table_can_be_read_through_its_model() -> None:
    from django.apps import apps

    for app in ("ledger", "contracts", "tokens", "network"):
        for model in apps.get_app_config(app).get_models():
            assert list(model._base_manager.all()[:1]) == [], model
            assert model._meta.db_table in connection.introspection.table_names()
