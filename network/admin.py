"""The pages of address books, consensus nodes, registered nodes, ledger ids and staking."""

from django.contrib import admin

from mirror.core.admin.readonly import CompositeKeyAdmin, HistoryAdmin, ReadOnlyAdmin
from mirror.core.admin.related import Related, same
from network.models import (
    AddressBook,
    AddressBookEntry,
    AddressBookServiceEndpoint,
    Ledger,
    NetworkStake,
    Node,
    NodeHistory,
    NodeStake,
    RegisteredNode,
    RegisteredNodeHistory,
)


@admin.register(AddressBook)
class AddressBookAdmin(ReadOnlyAdmin):
    list_display = ("start_consensus_timestamp", "end_consensus_timestamp", "file_id", "node_count")
    related = (
        Related(AddressBookEntry, same(consensus_timestamp="start_consensus_timestamp"), "Nodes", most=50),
        Related(
            AddressBookServiceEndpoint,
            same(consensus_timestamp="start_consensus_timestamp"),
            "Service endpoints",
            most=50,
        ),
    )


@admin.register(AddressBookEntry)
class AddressBookEntryAdmin(CompositeKeyAdmin):
    list_display = ("consensus_timestamp", "node_id", "node_account_id", "description", "memo", "stake")
    related = (
        Related(AddressBookServiceEndpoint, same("consensus_timestamp", "node_id"), "Service endpoints"),
    )


@admin.register(Node)
class NodeAdmin(ReadOnlyAdmin):
    list_display = ("node_id", "account_id", "created_timestamp", "deleted", "decline_reward", "admin_key")
    related = (Related(NodeHistory, same("node_id"), "Earlier versions"),)


@admin.register(RegisteredNode)
class RegisteredNodeAdmin(ReadOnlyAdmin):
    list_display = ("registered_node_id", "description", "created_timestamp", "deleted", "type", "admin_key")
    related = (Related(RegisteredNodeHistory, same("registered_node_id"), "Earlier versions"),)


@admin.register(Ledger)
class LedgerAdmin(ReadOnlyAdmin):
    label = "Ledger ids"
    list_display = ("ledger_id", "consensus_timestamp", "history_proof_verification_key")


@admin.register(NetworkStake)
class NetworkStakeAdmin(ReadOnlyAdmin):
    label = "Network stake"
    list_display = (
        "consensus_timestamp",
        "epoch_day",
        "stake_total",
        "max_total_reward",
        "reserved_staking_rewards",
    )
    related = (Related(NodeStake, same("consensus_timestamp"), "Nodes", most=50),)


@admin.register(NodeStake)
class NodeStakeAdmin(CompositeKeyAdmin):
    list_display = ("consensus_timestamp", "node_id", "epoch_day", "stake", "stake_rewarded", "reward_rate")


admin.site.register(NodeHistory, HistoryAdmin)
admin.site.register(RegisteredNodeHistory, HistoryAdmin)
admin.site.register(AddressBookServiceEndpoint, CompositeKeyAdmin)
