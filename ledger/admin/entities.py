"""The pages of entities, their stakes and the transactions that they took part in."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.utils.html import format_html

from ledger import models as tables
from mirror.core.admin import columns
from mirror.core.admin.addresses import api_link
from mirror.core.admin.readonly import ReadOnlyAdmin
from mirror.core.admin.related import Related, Where
from mirror.core.values import alias, entity_id, hexadecimal

HOLDERS = ("ACCOUNT", "CONTRACT", "UNKNOWN")
"""The types of entities that may hold something."""

_API_PATHS = {
    "ACCOUNT": "accounts",
    "CONTRACT": "contracts",
    "SCHEDULE": "schedules",
    "TOKEN": "tokens",
    "TOPIC": "topics",
}


def this_entity(column: str, *types: str) -> Callable[[Any], Where | None]:
    """Match rows whose column is this entity, if it is of one of these types, or of any if none is named."""
    return lambda row: {column: columns.ENTITY.text(row.id)} if not types or row.type in types else None


@admin.register(tables.Entity)
class EntityAdmin(ReadOnlyAdmin):
    list_display = ("id", "type", "balance", "memo", "created_timestamp", "evm_address", "deleted")
    search_fields = ("id", "type", "evm_address", "alias", "public_key")
    global_search_fields = ("id", "evm_address", "alias", "public_key")
    related = (
        Related(tables.Topic, this_entity("id", "TOPIC"), "Topic"),
        Related(tables.TopicMessage, this_entity("topic_id", "TOPIC"), "Topic messages"),
        Related(tables.Schedule, this_entity("schedule_id", "SCHEDULE"), "Schedule"),
        Related(tables.FileData, this_entity("entity_id", "FILE"), "File contents"),
        Related(tables.Transaction, this_entity("payer_account_id", *HOLDERS), "Transactions it paid for"),
        Related(tables.CryptoTransfer, this_entity("entity_id", *HOLDERS), "Hbar transfers"),
        Related(tables.StakingRewardTransfer, this_entity("account_id", *HOLDERS), "Staking rewards"),
        Related(tables.CryptoAllowance, this_entity("owner", *HOLDERS), "Hbar allowances it gave"),
        Related(tables.CustomFee, this_entity("entity_id", "TOKEN", "TOPIC"), "Custom fees"),
        Related(tables.EntityStake, this_entity("id", *HOLDERS), "Stake"),
        Related(tables.EntityTransaction, this_entity("entity_id"), "Transactions it took part in"),
        Related(tables.EntityHistory, this_entity("id"), "Earlier versions"),
    )

    def row_singular(self, row: tables.Entity) -> str:
        return "Entity" if row.type in (None, "UNKNOWN") else str(row.type).capitalize()

    def row_summary(self, row: tables.Entity) -> str:
        memo = f", memo “{row.memo}”" if row.memo else ""
        return f"{(row.type or 'UNKNOWN').capitalize()}{' (deleted)' if row.deleted else ''}{memo}"

    def other_conditions(self, text: str) -> Iterable[Q]:
        if address := _evm_address(text):
            num = entity_id.num_of_long_zero(address)
            # Index: the primary key (id), or entity__evm_address (evm_address).
            yield Q(evm_address=address) if num is None else Q(id=num)

    def facts(self, row: tables.Entity) -> Iterator[tuple[str, str]]:
        if path := _API_PATHS.get(row.type):
            yield "In the API", api_link(f"{path}/{entity_id.text(row.id)}")
        yield "Long-zero address", format_html("<code>0x{}</code>", entity_id.long_zero(row.id).hex())
        derived = alias.evm_address(bytes(row.alias)) if row.alias else None
        if derived:
            yield "Address of its alias", format_html("<code>0x{}</code>", derived.hex())


def _evm_address(text: str) -> bytes | None:
    try:
        address = hexadecimal.parse(text)
    except hexadecimal.InvalidHex:
        return None
    return address if len(address) == alias.EVM_ADDRESS_LENGTH else None
