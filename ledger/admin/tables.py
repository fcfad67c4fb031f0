"""The pages of the tables that need no code of their own."""

from ledger import models as tables
from mirror.core.admin.related import Related, join_on
from mirror.core.admin.tables import register_tables, table

register_tables(
    "ledger",
    {
        tables.SidecarFile: table("consensus_end id name types count size"),
        tables.CustomFee: table(
            "entity_id timestamp_range fixed_fees fractional_fees royalty_fees",
            history="Earlier fee schedules",
            is_entity=True,
        ),
        tables.EntityHistory: table(
            "id timestamp_range type memo deleted key", search_fields=("id", "evm_address", "alias")
        ),
        tables.EntityTransaction: table("entity_id consensus_timestamp type result payer_account_id"),
        tables.EntityStake: table(label="Entity stakes", history="Earlier periods", is_entity=True),
        tables.FileData: table(
            "consensus_timestamp entity_id transaction_type", label="File contents", singular="File content"
        ),
        tables.CryptoTransfer: table(
            "consensus_timestamp entity_id amount payer_account_id is_approval",
            label="Hbar transfers",
            singular="Hbar transfer",
        ),
        tables.NonFeeTransfer: table("consensus_timestamp entity_id amount payer_account_id is_approval"),
        tables.CryptoAllowance: table(
            label="Hbar allowances", singular="Hbar allowance", history="Earlier grants"
        ),
        tables.AccountBalanceFile: table(
            "consensus_timestamp count name synthetic", label="Balance snapshots", singular="Balance snapshot"
        ),
        tables.AccountBalance: table(label="Account balances at snapshots", singular="Account balance"),
        tables.BalanceDifference: table(
            "consensus_timestamp account_id token_id ours theirs file",
            label="Differences from balance files",
            singular="Difference from a balance file",
        ),
        tables.Schedule: table(
            "schedule_id creator_account_id payer_account_id consensus_timestamp executed_timestamp "
            "expiration_time wait_for_expiry",
            related=(Related(tables.TransactionSignature, join_on(entity_id="schedule_id"), "Signatures"),),
            global_search_fields=("schedule_id",),
            is_entity=True,
            api_path="schedules/{}",
        ),
        tables.TransactionSignature: table("entity_id consensus_timestamp public_key_prefix type signature"),
        tables.Topic: table(
            "id created_timestamp admin_key submit_key",
            related=(
                Related(tables.TopicMessage, join_on(topic_id="id"), "Messages"),
                Related(tables.CustomFee, join_on(entity_id="id"), "Custom fees"),
            ),
            history="Earlier versions",
            global_search_fields=("id",),
            is_entity=True,
            api_path="topics/{}",
        ),
        tables.TopicMessage: table("topic_id sequence_number consensus_timestamp message payer_account_id"),
        tables.Prng: table(label="Pseudorandom numbers", singular="Pseudorandom number of"),
    },
)
