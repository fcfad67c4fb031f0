"""Which transactions are stored: all, or those of some dates, entities or types.

A filter is written `entity=0.0.1001,0.0.1002 transaction=CRYPTOTRANSFER` and takes what fits all its parts;
several are separated by semicolons, and one that fits is enough.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ledger.ingest.trust import changes_nodes
from ledger.stream.record.item import RecordItem
from mirror import config
from mirror.config.errors import OperatorError
from mirror.values import entity_id, timestamp, transaction_types
from mirror.values.entity_id import InvalidEntityId


class InvalidFilter(OperatorError):
    """A setting that chooses transactions is not usable; the message names it and what would be right."""

    exit_code = 2


@dataclass(frozen=True)
class Filter:
    """Entities (encoded) and types; an empty set fits everything."""

    entities: frozenset[int]
    types: frozenset[int]

    def fits(self, item: RecordItem) -> bool:
        if self.types and item.transaction_type not in self.types:
            return False
        return not self.entities or not self.entities.isdisjoint(entities_of(item))


def entities_of(item: RecordItem) -> set[int]:
    """What a filter by entity looks at: entity, payer, and the tokens and parties of the record's transfers.

    Needs `item.entity_id`.
    """
    found = {item.entity_id, item.payer_account_id}
    found |= {entity_id.of_account(each.accountID) for each in item.record.transferList.accountAmounts}
    for tokens in item.record.tokenTransferLists:
        found.add(entity_id.of_token(tokens.token))
        found |= {entity_id.of_account(each.accountID) for each in tokens.transfers}
        for nft in tokens.nftTransfers:
            found |= {entity_id.of_account(nft.senderAccountID), entity_id.of_account(nft.receiverAccountID)}
    return found


class Selection:
    """The settings importer.startDate, endDate, parser.include and parser.exclude."""

    def __init__(self) -> None:
        """Errors: InvalidFilter."""
        self._start = _time("importer.startDate", timestamp.MIN)
        self._end = _time("importer.endDate", timestamp.MAX)
        self._include = _filters("importer.parser.include")
        self._exclude = _filters("importer.parser.exclude")
        self.everything = not self._include and not self._exclude

    def dates_of(self, items: Iterable[RecordItem]) -> list[RecordItem]:
        """The items within the dates; only they count as the block's transactions."""
        return [item for item in items if self._start <= item.consensus_timestamp <= self._end]

    def takes(self, item: RecordItem) -> bool:
        """Whether the filters let an item in; what is excluded stays out whatever is included.

        What changes the nodes is always let in: the signatures of the files to come are verified by it.
        """
        if changes_nodes(item):
            return True
        if any(each.fits(item) for each in self._exclude):
            return False
        return not self._include or any(each.fits(item) for each in self._include)


def _time(name: str, default: int) -> int:
    text = config.value(name)
    try:
        return timestamp.of_instant(text) if text else default
    except timestamp.InvalidTimestamp as error:
        raise InvalidFilter(f"{config.described(name).variable}: {error}.") from None


def _filters(name: str) -> list[Filter]:
    return [_filter(name, text) for text in config.value(name).split(";") if text.strip()]


def _filter(name: str, text: str) -> Filter:
    entities, types = set[int](), set[int]()
    shard, realm = config.value("common.shard"), config.value("common.realm")
    for part in text.split():
        key, _, values = part.partition("=")
        for value in filter(None, values.split(",")):
            try:
                if key == "entity":
                    entities.add(entity_id.parse(value, shard, realm))
                elif key == "transaction":
                    types.add(transaction_types.NUMBERS[value.upper()])
                else:
                    raise InvalidFilter(
                        f"{config.described(name).variable}: {part!r} is not entity=... or transaction=..."
                    )
            except (InvalidEntityId, KeyError):
                kind = "an entity id such as 0.0.1001" if key == "entity" else "a transaction type"
                raise InvalidFilter(f"{config.described(name).variable}: {value!r} is not {kind}.") from None
    if not entities and not types:
        raise InvalidFilter(
            f"{config.described(name).variable}: the filter {text.strip()!r} names no entity and no type."
        )
    return Filter(frozenset(entities), frozenset(types))
