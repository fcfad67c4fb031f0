"""The option --filter: which transactions are kept, as a person says it; it becomes importer.parser.include.

`accounts=0.0.1001,0.0.1002 types=CRYPTOTRANSFER` keeps what takes part in one of these accounts and is of
this type; of several filters one is enough.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ledger.ingest.selection import InvalidFilter
from mirror import config
from mirror.values import entity_id
from mirror.values.entity_id import InvalidEntityId
from mirror.values.transaction_types import NUMBERS

_KINDS = ("account", "token", "topic", "contract", "type")
# Without these the nodes whose signatures count would not be known for long.
_ALWAYS = "entity=101,102; transaction=NODESTAKEUPDATE"


@dataclass
class Filter:
    """One filter: entities as `kind id`, and types; both have to fit where both are given."""

    entities: list[tuple[str, str]] = field(default_factory=list)
    types: list[str] = field(default_factory=list)

    @property
    def setting(self) -> str:
        """The same as importer.parser.include has it."""
        parts = [f"entity={','.join(number for _, number in self.entities)}"] if self.entities else []
        if self.types:
            parts.append(f"transaction={','.join(self.types)}")
        return " ".join(parts)

    def __str__(self) -> str:
        parts = [f"of type {_either(self.types)}"] if self.types else []
        if self.entities:
            parts.append(
                f"that {_either([f'{kind} {number}' for kind, number in self.entities])} takes part in"
            )
        return " ".join(parts)


def parse(text: str) -> Filter:
    """Errors: InvalidFilter."""
    found = Filter()
    shard, realm = config.value("common.shard"), config.value("common.realm")
    for part in text.split():
        key, equals, values = part.partition("=")
        kind = key.removesuffix("s")
        if kind not in _KINDS or not equals:
            raise InvalidFilter(
                f"--filter: {part!r} is not accounts=, tokens=, topics=, contracts= or types= with what to "
                "keep."
            )
        for value in filter(None, values.split(",")):
            if kind == "type":
                if value.upper() not in NUMBERS:
                    raise InvalidFilter(
                        f"--filter: {value!r} is not a transaction type such as CRYPTOTRANSFER."
                    )
                found.types.append(value.upper())
                continue
            try:
                number = entity_id.text(entity_id.parse(value, shard, realm))
            except InvalidEntityId:
                number = None
            if number is None:
                raise InvalidFilter(f"--filter: {value!r} is not the id of {_one(kind)} such as 0.0.1001.")
            found.entities.append((kind, number))
    if not found.setting:
        raise InvalidFilter(f"--filter: {text!r} names nothing to keep.")
    return found


def setting(filters: Iterable[Filter]) -> str:
    """The value of importer.parser.include that keeps what fits one of them, and what trust needs."""
    return "; ".join([*(each.setting for each in filters), _ALWAYS])


def sentence(filters: Iterable[Filter]) -> str:
    """What is kept, in words."""
    return (
        f"Only transactions {', or '.join(map(str, filters))} are kept; to take part is to pay, to be what "
        "the transaction is about, or to be in its transfers. Changes of the address book and the stakes are "
        "kept too, to go on verifying signatures. Blocks keep their numbers, hashes and totals; balances are "
        "those of the kept transactions alone."
    )


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _one(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
