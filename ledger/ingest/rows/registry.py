"""The registry of handlers, the functions that turn transactions into rows.

Handlers register themselves when their module is imported, which `load_handlers` does for every app; a web
server never needs them. The pipeline knows only this registry. There are five kinds:

- `@names_entity("TYPE", ...)` returns the entity a transaction is about (`transaction.entity_id`);
  `names_entities` registers where in the item its id is.
- `@handles("TYPE", ...)` adds the rows of successful transactions of a type, with `any_result` of all of
  them. Several apps may handle a type; their handlers run in the order of the installed apps.
- `@every_item(ORDER)` adds rows that any transaction may cause, before or after its type's handlers.
- `@at_genesis` adds the rows of what a network begins with, before those of its first transaction.
- `@at_start` works in the database before the first file of a run, to finish what an earlier run left.
"""

from collections.abc import Callable
from enum import IntEnum
from importlib import import_module
from operator import attrgetter
from pkgutil import walk_packages
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.db.backends.utils import CursorWrapper
from django.utils.module_loading import module_has_submodule

from ledger.stream.record_file import GenesisState
from ledger.stream.record_item import RecordItem
from mirror.core.values.hapi.transaction_types import NUMBERS

if TYPE_CHECKING:
    from ledger.ingest.rows.batch import Batch

ItemHandler = Callable[[RecordItem, "Batch"], None]
EntityOfItem = Callable[[RecordItem, "Batch"], int]
GenesisWork = Callable[[GenesisState, int, "Batch"], None]
StartWork = Callable[[CursorWrapper], None]
Handlers = dict[int, list[ItemHandler]]


class Order(IntEnum):
    """The order of work within one item; later steps may rely on earlier ones."""

    TRANSACTION = 10
    TYPE = 20
    HBAR_TRANSFERS = 30
    STAKING_REWARDS = 40
    SCHEDULE_EXECUTION = 50
    TOKEN_TRANSFERS = 70
    CONTRACT_RESULTS = 80
    LOOKUPS = 90


_entity_of: dict[int, EntityOfItem] = {}
_on_success: Handlers = {}
_on_failure: Handlers = {}
_every: list[tuple[Order, ItemHandler]] = []
#: Done in one database transaction when a run begins.
START: list[StartWork] = []
#: Adds the rows of a GenesisState as of a time (ns).
GENESIS: list[GenesisWork] = []


def names_entity(*names: str) -> Callable[[EntityOfItem], EntityOfItem]:
    def register(function: EntityOfItem) -> EntityOfItem:
        for name in names:
            number = NUMBERS[name]
            if number in _entity_of:
                raise ValueError(f"The entity of {name} is already named by {_entity_of[number]!r}.")
            _entity_of[number] = function
        return function

    return register


def names_entities(encode: Callable[[Any], int], **paths: str) -> None:
    """Register for transaction types where an item names its entity: the path of the id's message."""
    for name, path in paths.items():

        def entity(item: RecordItem, batch: "Batch", message: Callable[[Any], Any] = attrgetter(path)) -> int:
            return encode(message(item))

        names_entity(name)(entity)


def handles(*names: str, any_result: bool = False) -> Callable[[ItemHandler], ItemHandler]:
    def register(function: ItemHandler) -> ItemHandler:
        for name in names:
            _on_success.setdefault(NUMBERS[name], []).append(function)
            if any_result:
                _on_failure.setdefault(NUMBERS[name], []).append(function)
        return function

    return register


def every_item(order: Order) -> Callable[[ItemHandler], ItemHandler]:
    def register(function: ItemHandler) -> ItemHandler:
        _every.append((order, function))
        _every.sort(key=lambda entry: entry[0])
        return function

    return register


def at_genesis(function: GenesisWork) -> GenesisWork:
    GENESIS.append(function)
    return function


def at_start(function: StartWork) -> StartWork:
    START.append(function)
    return function


def entity_of(item: RecordItem, batch: "Batch") -> int:
    """Return the id of the entity that the item is about: 0 for none, or an OutOfRangeEntityId."""
    function = _entity_of.get(item.transaction_type)
    return function(item, batch) if function else 0


def steps() -> tuple[list[ItemHandler], dict[bool, Handlers], list[ItemHandler]]:
    """Return the steps of an item: before, handlers by success and type, and after."""
    before = [function for order, function in _every if order < Order.TYPE]
    after = [function for order, function in _every if order > Order.TYPE]
    return before, {True: _on_success, False: _on_failure}, after


def essential_steps() -> list[ItemHandler]:
    """Return the steps that store a transaction and its hbar transfers, and nothing else of it."""
    return [function for order, function in _every if order in (Order.TRANSACTION, Order.HBAR_TRANSFERS)]


def load_handlers() -> None:
    """Import all modules of the folder `handlers` of every app that has one."""
    for app in apps.get_app_configs():
        if module_has_submodule(app.module, "handlers"):
            package = import_module(f"{app.name}.handlers")
            for module in walk_packages(getattr(package, "__path__", ()), f"{package.__name__}."):
                import_module(module.name)
