"""The pages of contracts, their results, logs, actions and state, and of hooks."""

from collections.abc import Iterable, Iterator

from django.contrib import admin
from django.db.models import Q

from contracts.models import (
    Contract,
    ContractAction,
    ContractLog,
    ContractResult,
    ContractState,
    ContractStateChange,
    ContractTransactionHash,
    EthereumTransaction,
    Hook,
    HookStorage,
    HookStorageChange,
)
from ledger.admin.entities import HOLDERS, this_entity
from ledger.models import CryptoAllowance, Entity, StakingRewardTransfer, Transaction
from mirror.core.admin.lists import conditions
from mirror.core.admin.readonly import ReadOnlyAdmin
from mirror.core.admin.related import Related, add_related, join_on
from mirror.core.admin.tables import register_tables, table
from mirror.core.values.ethereum import WEIBARS_PER_TINYBAR


@admin.register(ContractResult)
class ContractResultAdmin(ReadOnlyAdmin):
    list_display = (
        "consensus_timestamp", "contract_id", "sender_id", "transaction_result", "amount", "gas_used",
        "gas_limit", "error_message",
    )  # fmt: skip
    api_path = "contracts/results?timestamp={}"
    extra_search = "transaction or Ethereum hash (32 bytes in hex)"
    related = (
        Related(EthereumTransaction, join_on("consensus_timestamp"), "Ethereum transaction"),
        Related(ContractLog, join_on("consensus_timestamp"), "Logs", limit=50),
        Related(ContractAction, join_on("consensus_timestamp"), "Actions", limit=50),
        Related(ContractStateChange, join_on("consensus_timestamp"), "State read and written", limit=50),
    )

    def global_search(self, text: str) -> Iterable[Q]:
        return self._results_by_hash(text)

    def search(self, text: str) -> Iterable[Q]:
        yield from self._results_by_hash(text)
        yield from super().search(text)

    def _results_by_hash(self, text: str) -> Iterable[Q]:
        for condition in conditions(ContractTransactionHash, ("hash",), text):
            # Index: contract_transaction_hash__hash (hash).
            rows = ContractTransactionHash.objects.filter(condition)
            yield Q(consensus_timestamp__in=list(rows.values_list("consensus_timestamp", flat=True)[:25]))


@admin.register(EthereumTransaction)
class EthereumTransactionAdmin(ReadOnlyAdmin):
    list_display = (
        "consensus_timestamp", "hash", "type", "to_address", "nonce", "gas_limit", "payer_account_id",
    )  # fmt: skip
    related = (Related(ContractResult, join_on("consensus_timestamp"), "Contract result"),)

    def facts(self, row: EthereumTransaction) -> Iterator[tuple[str, str]]:
        yield from super().facts(row)
        weibars = f"weibars, {WEIBARS_PER_TINYBAR:,} of which are a tinybar"
        yield "Unit of prices and value", weibars if row.in_weibars else "tinybars, as an older release"


register_tables(
    "contracts",
    {
        Contract: table(
            "id file_id",
            related=(
                Related(ContractResult, join_on(contract_id="id"), "Results"),
                Related(ContractLog, join_on(contract_id="id"), "Logs"),
                Related(ContractState, join_on(contract_id="id"), "State"),
            ),
            global_search_fields=("id",),
            is_entity=True,
            api_path="contracts/{}",
        ),
        ContractTransactionHash: table(
            "hash consensus_timestamp entity_id payer_account_id transaction_result", search_fields=("hash",)
        ),
        ContractLog: table("consensus_timestamp index contract_id topic0 topic1 topic2 topic3 data"),
        ContractAction: table(
            "consensus_timestamp index call_depth caller recipient_contract recipient_account value gas_used"
        ),
        ContractStateChange: table("consensus_timestamp contract_id slot value_read value_written"),
        ContractState: table("contract_id slot value modified_timestamp"),
        Hook: table(
            "owner_id hook_id contract_id type extension_point created_timestamp deleted",
            related=(Related(HookStorage, join_on("owner_id", "hook_id"), "Storage"),),
        ),
        HookStorage: table(
            "owner_id hook_id key value modified_timestamp deleted",
            label="Hook storage",
            related=(Related(HookStorageChange, join_on("owner_id", "hook_id", "key"), "Changes"),),
        ),
        HookStorageChange: table("owner_id hook_id key consensus_timestamp value_read value_written"),
    },
)

add_related(
    Transaction,
    Related(ContractResult, join_on("consensus_timestamp"), "Contract result"),
    Related(EthereumTransaction, join_on("consensus_timestamp"), "Ethereum transaction"),
    Related(ContractLog, join_on("consensus_timestamp"), "Contract logs"),
    Related(ContractAction, join_on("consensus_timestamp"), "Contract actions"),
    Related(ContractStateChange, join_on("consensus_timestamp"), "Contract state read and written"),
    after=StakingRewardTransfer,
)
add_related(Entity, Related(Contract, this_entity("id", "CONTRACT"), "Contract"))
add_related(
    Entity,
    Related(ContractResult, this_entity("contract_id", "CONTRACT"), "Contract results"),
    Related(ContractResult, this_entity("sender_id", *HOLDERS), "Contract calls it sent"),
    Related(ContractLog, this_entity("contract_id", "CONTRACT"), "Contract logs"),
    Related(ContractState, this_entity("contract_id", "CONTRACT"), "Contract state"),
    Related(Hook, this_entity("owner_id", *HOLDERS), "Hooks"),
    after=CryptoAllowance,
)
