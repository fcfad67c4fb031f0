"""A database that is distributed over several machines by Citus (PostgreSQL with distributed tables).

Statements that join tables by other columns than those of their distribution, or correlate rows of different
machines, have a second form for it, beside the first: keys first, with the column that tables are distributed
by, and rows by these keys second. A single PostgreSQL always gets the first form. `distributable` chooses.
"""

from collections.abc import Callable
from functools import update_wrapper
from typing import Generic, ParamSpec, TypeVar

from mirror.core import config
from mirror.core.config.setting import OperatorError

P = ParamSpec("P")
R = TypeVar("R")

SETTING = "db.distributed"


def is_distributed() -> bool:
    return bool(config.value(SETTING))


def choose(single: R, *, distributed: R) -> R:
    """Return the second form of a part of a statement where tables are distributed, else the first."""
    return distributed if is_distributed() else single


class distributable(Generic[P, R]):
    """A function with a second form for distributed tables, which its attribute `distributed` decorates."""

    def __init__(self, single: Callable[P, R]) -> None:
        self._single = self._distributed = single
        update_wrapper(self, single)

    def distributed(self, form: Callable[P, R]) -> Callable[P, R]:
        self._distributed = form
        return form

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return (self._distributed if is_distributed() else self._single)(*args, **kwargs)


def check_single(command: str, instead: str) -> None:
    """Raise OperatorError, with what to do instead, if the tables of the command are distributed."""
    if is_distributed():
        raise OperatorError(
            f"`manage.py {command}` works on a single PostgreSQL, and the tables are distributed: {instead}."
        )


# TABLES
#
# Rows of an account, contract, token or topic are together on one machine, as all tables but those of hashes
# are distributed by an entity id over the same shards. Transactions and what belongs to them are with their
# payer. All other tables stay whole on the coordinator: they are small, or read by their time alone.

#: The distribution column of each table; the first one decides the shards of the others.
BY_ENTITY = {
    "entity": "id",
    "entity_history": "id",
    "entity_stake": "id",
    "entity_stake_history": "id",
    "entity_transaction": "entity_id",
    "assessed_custom_fee": "payer_account_id",
    "contract": "id",
    "contract_action": "payer_account_id",
    "contract_log": "contract_id",
    "contract_result": "contract_id",
    "contract_state": "contract_id",
    "contract_state_change": "contract_id",
    "contract_transaction": "entity_id",
    "crypto_allowance": "owner",
    "crypto_allowance_history": "owner",
    "crypto_transfer": "payer_account_id",
    "custom_fee": "entity_id",
    "custom_fee_history": "entity_id",
    "ethereum_transaction": "payer_account_id",
    "hook": "owner_id",
    "hook_history": "owner_id",
    "hook_storage": "owner_id",
    "hook_storage_change": "owner_id",
    "network_freeze": "payer_account_id",
    "nft": "token_id",
    "nft_allowance": "owner",
    "nft_allowance_history": "owner",
    "nft_history": "token_id",
    "prng": "payer_account_id",
    "schedule": "schedule_id",
    "staking_reward_transfer": "account_id",
    "token": "token_id",
    "token_account": "account_id",
    "token_account_history": "account_id",
    "token_airdrop": "receiver_account_id",
    "token_airdrop_history": "receiver_account_id",
    "token_allowance": "owner",
    "token_allowance_history": "owner",
    "token_history": "token_id",
    "token_transfer": "payer_account_id",
    "topic": "id",
    "topic_history": "id",
    "topic_message": "topic_id",
    "topic_message_lookup": "topic_id",
    "transaction": "payer_account_id",
    "transaction_signature": "entity_id",
}
#: Tables with at most one row for a transaction, which have its time as their key but for the distribution.
BY_TRANSACTION = ("contract_result", "ethereum_transaction", "network_freeze", "prng", "transaction")
#: The distribution column of the tables of hashes.
BY_HASH = {"transaction_hash": "hash", "contract_transaction_hash": "hash"}
#: Small tables of which every machine has a copy.
COPIED = ("account_balance_file",)


def distribution_column(table: str) -> str | None:
    return BY_ENTITY.get(table) or BY_HASH.get(table)
