"""The pages of address books, consensus nodes, registered nodes, ledger ids and staking."""

from mirror.core.admin.related import Related, join_on
from mirror.core.admin.tables import register_tables, table
from network.models import (
    AddressBook,
    AddressBookEntry,
    AddressBookServiceEndpoint,
    Ledger,
    NetworkStake,
    Node,
    NodeStake,
    RegisteredNode,
)

_OF_BOOK = join_on(consensus_timestamp="start_consensus_timestamp")

register_tables(
    "network",
    {
        AddressBook: table(
            "start_consensus_timestamp end_consensus_timestamp file_id node_count",
            related=(
                Related(AddressBookEntry, _OF_BOOK, "Nodes", limit=50),
                Related(AddressBookServiceEndpoint, _OF_BOOK, "Service endpoints", limit=50),
            ),
        ),
        AddressBookEntry: table(
            "consensus_timestamp node_id node_account_id description memo stake",
            related=(
                Related(
                    AddressBookServiceEndpoint, join_on("consensus_timestamp", "node_id"), "Service endpoints"
                ),
            ),
        ),
        Node: table(
            "node_id account_id created_timestamp deleted decline_reward admin_key",
            history="Earlier versions",
        ),
        RegisteredNode: table(
            "registered_node_id description created_timestamp deleted type admin_key",
            history="Earlier versions",
        ),
        Ledger: table("ledger_id consensus_timestamp history_proof_verification_key", label="Ledger ids"),
        NetworkStake: table(
            "consensus_timestamp epoch_day stake_total max_total_reward reserved_staking_rewards",
            label="Network stake",
            related=(Related(NodeStake, join_on("consensus_timestamp"), "Nodes", limit=50),),
        ),
        NodeStake: table("consensus_timestamp node_id epoch_day stake stake_rewarded reward_rate"),
    },
)
