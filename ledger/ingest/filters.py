"""Filters of what is loaded: by date, entity and type.

A filter in the settings is written `entity=0.0.1001,0.0.1002 transaction=CRYPTOTRANSFER` and takes what fits
all its parts; several are separated by semicolons, and one that fits is enough. On the command line it is
written `--filter 'accounts=0.0.1001,0.0.1002 types=CRYPTOTRANSFER'`, which becomes the setting
importer.parser.include.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ledger.ingest.trusted_nodes import changes_nodes
from ledger.stream.record_item import RecordItem
from mirror.core import config
from mirror.core.config.setting import OperatorError
from mirror.core.values import entity_id, timestamp
from mirror.core.values.entity_id import InvalidEntityId
from mirror.core.values.hapi.transaction_types import NUMBERS

_KINDS = ("account", "token", "topic", "contract", "type")
# Without these the nodes whose signatures count would not be known for long.
_ALWAYS = "entity=101,102; transaction=NODESTAKEUPDATE"


# SETTINGS


class InvalidFilter(OperatorError):
    """A filter that cannot be used; the message names it and says what would be right."""

    exit_code = 2


@dataclass(frozen=True)
class Filter:
    """Entities (encoded) and types; an empty set fits everything."""

    entities: frozenset[int]
    types: frozenset[int]

    def matches(self, item: RecordItem) -> bool:
        if self.types and item.transaction_type not in self.types:
            return False
        return not self.entities or not self.entities.isdisjoint(entities_of(item))


def entities_of(item: RecordItem) -> set[int]:
    """Return the entity, the payer, and tokens and parties of transfers. Needs `item.entity_id`."""
    entities = {item.entity_id, item.payer_account_id}
    entities |= {entity_id.from_account(each.accountID) for each in item.record.transferList.accountAmounts}
    for tokens in item.record.tokenTransferLists:
        entities.add(entity_id.from_token(tokens.token))
        entities |= {entity_id.from_account(each.accountID) for each in tokens.transfers}
        for nft in tokens.nftTransfers:
            entities.add(entity_id.from_account(nft.senderAccountID))
            entities.add(entity_id.from_account(nft.receiverAccountID))
    return entities


class TransactionFilters:
    """The settings importer.startDate, endDate, parser.include and parser.exclude."""

    def __init__(self, start: int = timestamp.MIN) -> None:
        """Errors: InvalidFilter."""
        self._start = max(start, _time("importer.startDate", timestamp.MIN))
        self._end = _time("importer.endDate", timestamp.MAX)
        self._include = _filters("importer.parser.include")
        self._exclude = _filters("importer.parser.exclude")
        self.everything = not self._include and not self._exclude

    def in_date_range(self, items: Iterable[RecordItem]) -> list[RecordItem]:
        """Return the items within the dates; only they count as the block's transactions."""
        return [item for item in items if self._start <= item.consensus_timestamp <= self._end]

    def includes(self, item: RecordItem) -> bool:
        """Return whether the filters let an item in. Exclusion prevails; changes of the nodes always pass."""
        if changes_nodes(item):
            return True
        if any(each.matches(item) for each in self._exclude):
            return False
        return not self._include or any(each.matches(item) for each in self._include)


def _time(name: str, default: int) -> int:
    text = config.value(name)
    try:
        return timestamp.parse_iso(text) if text else default
    except timestamp.InvalidTimestamp as error:
        raise InvalidFilter(f"{config.lookup(name).variable}: {error}.") from None


def _filters(name: str) -> list[Filter]:
    return [_filter(name, text) for text in config.value(name).split(";") if text.strip()]


def _filter(name: str, text: str) -> Filter:
    entities, types = set[int](), set[int]()
    variable = config.lookup(name).variable
    for word in text.split():
        key, _, values = word.partition("=")
        for value in filter(None, values.split(",")):
            try:
                if key == "entity":
                    entities.add(entity_id.parse(value, *config.shard_and_realm()))
                elif key == "transaction":
                    types.add(NUMBERS[value.upper()])
                else:
                    raise InvalidFilter(f"{variable}: {word!r} is not entity=... or transaction=...")
            except (InvalidEntityId, KeyError):
                expected = "an entity id such as 0.0.1001" if key == "entity" else "a transaction type"
                raise InvalidFilter(f"{variable}: {value!r} is not {expected}.") from None
    if not entities and not types:
        raise InvalidFilter(f"{variable}: the filter {text.strip()!r} names no entity and no type.")
    return Filter(frozenset(entities), frozenset(types))


# OPTION


@dataclass
class FilterOption:
    """One option --filter: entities as pairs of kind and id, and types."""

    entities: list[tuple[str, str]] = field(default_factory=list)
    types: list[str] = field(default_factory=list)

    @property
    def setting(self) -> str:
        parts = [f"entity={','.join(number for _, number in self.entities)}"] if self.entities else []
        if self.types:
            parts.append(f"transaction={','.join(self.types)}")
        return " ".join(parts)

    def __str__(self) -> str:
        parts = [f"of type {_join_or(self.types)}"] if self.types else []
        if self.entities:
            parts.append(
                f"that {_join_or([f'{kind} {number}' for kind, number in self.entities])} takes part in"
            )
        return " ".join(parts)


def parse_option(text: str) -> FilterOption:
    """Errors: InvalidFilter."""
    option = FilterOption()
    for word in text.split():
        key, equals, values = word.partition("=")
        entity_type = key.removesuffix("s")
        if entity_type not in _KINDS or not equals:
            raise InvalidFilter(
                f"--filter: {word!r} is not accounts=, tokens=, topics=, contracts= or types= with what to "
                "keep."
            )
        for value in filter(None, values.split(",")):
            if entity_type == "type":
                if value.upper() not in NUMBERS:
                    raise InvalidFilter(
                        f"--filter: {value!r} is not a transaction type such as CRYPTOTRANSFER."
                    )
                option.types.append(value.upper())
                continue
            try:
                number = entity_id.text(entity_id.parse(value, *config.shard_and_realm()))
            except InvalidEntityId:
                number = None
            if number is None:
                article = "an" if entity_type == "account" else "a"
                raise InvalidFilter(
                    f"--filter: {value!r} is not the id of {article} {entity_type} such as 0.0.1001."
                )
            option.entities.append((entity_type, number))
    if not option.setting:
        raise InvalidFilter(f"--filter: {text!r} names nothing to keep.")
    return option


def setting(options: Iterable[FilterOption]) -> str:
    return "; ".join([*(option.setting for option in options), _ALWAYS])


def sentence(options: Iterable[FilterOption]) -> str:
    return (
        f"Only transactions {', or '.join(map(str, options))} are kept; to take part is to pay, to be what "
        "the transaction is about, or to be in its transfers. Changes of the address book and the stakes are "
        "kept too, to go on verifying signatures. Blocks keep their numbers, hashes and totals; balances are "
        "those of the kept transactions alone."
    )


def _join_or(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
