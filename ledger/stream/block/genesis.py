"""The state that a network begins with, from the state changes of its first block.

A native first block has transactions for most of it, and these make rows as ever. What is told here is the
rest: accounts, code of contracts and files that no transaction of the block has changed. In a block that
wraps the first record file of an older network, that is all that had existed before.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from ledger.stream.block.state_after import ACCOUNTS, BYTECODE, FILES
from mirror.core.values import entity_id


class GenesisState(NamedTuple):
    """Accounts (messages Account), runtime code and files (messages File), each by encoded id."""

    accounts: dict[int, Any]
    code: dict[int, bytes]
    files: dict[int, Any]


def genesis_state(changes: Iterable[Any], of_transactions: Iterable[Any]) -> GenesisState | None:
    """Return what StateChange messages tell, None if it is nothing.

    `of_transactions` are those of the transactions in the block, which change the rest. Errors: ValueError
    for something without a possible id.
    """
    state, taken = GenesisState({}, {}, {}), GenesisState({}, {}, {})
    for changed, to in ((changes, state), (of_transactions, taken)):
        for change in changed:
            _add(change, to)
    for initial, others in zip(state, taken, strict=True):
        for key in initial.keys() & others.keys():
            del initial[key]
    return state if any(state) else None


def _add(change: Any, state: GenesisState) -> None:
    """Add what a change updates, or remove what it deletes; the last change of a key counts."""
    field = change.WhichOneof("change_operation")
    if field not in ("map_update", "map_delete"):
        return
    key = getattr(change, field).key
    value = change.map_update.value if field == "map_update" else None
    if change.state_id == ACCOUNTS:
        _set(state.accounts, entity_id.from_account(key.account_id_key), value and value.account_value)
    elif change.state_id == BYTECODE:
        _set(state.code, entity_id.from_contract(key.contract_id_key), value and value.bytecode_value.code)
    elif change.state_id == FILES:
        _set(state.files, entity_id.from_file(key.file_id_key), value and value.file_value)


def _set(values: dict[int, Any], key: int, value: Any | None) -> None:
    if not key:
        raise ValueError("its first state has something without an id, or with an impossible one")
    if value is None:
        values.pop(key, None)
    else:
        values[key] = value
