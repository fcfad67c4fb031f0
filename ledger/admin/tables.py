"""The pages of the tables that need no code of their own."""

from ledger import models as tables
from mirror.core.admin.related import Related, join_on
from mirror.core.admin.tables import Table, register_tables

register_tables(
    "ledger",
    {
        tables.SidecarFile: Table("consensus_end id name types count size"),
        tables.CustomFee: Table(
            "entity_id timestamp_range fixed_fees fractional_fees royalty_fees",
            history="Earlier fee schedules",
            is_entity=True,
        ),
        tables.EntityTransaction: Table("entity_id consensus_timestamp type result payer_account_id"),
        tables.EntityStake: Table(label="Entity stakes", history="Earlier periods", is_entity=True),
        tables.FileData: Table(
            "consensus_timestamp entity_id transaction_type", "File contents", "File content"
        ),
        tables.CryptoTransfer: Table(
            "consensus_timestamp entity_id amount payer_account_id is_approval",
            "Hbar transfers",
            "Hbar transfer",
        ),
        tables.NonFeeTransfer: Table("consensus_timestamp entity_id amount payer_account_id is_approval"),
        tables.CryptoAllowance: Table(
            label="Hbar allowances", singular="Hbar allowance", history="Earlier grants"
        ),
        tables.AccountBalanceFile: Table(
            "consensus_timestamp count name synthetic", "Balance snapshots", "Balance snapshot"
        ),
        tables.AccountBalance: Table(label="Account balances at snapshots", singular="Account balance"),
        tables.BalanceDifference: Table(
            "consensus_timestamp account_id token_id ours theirs file",
            "Differences from balance files",
            "Difference from a balance file",
        ),
        tables.Schedule: Table(
            "schedule_id creator_account_id payer_account_id consensus_timestamp executed_timestamp "
            "expiration_time wait_for_expiry",
            related=(Related(tables.TransactionSignature, join_on(entity_id="schedule_id"), "Signatures"),),
            global_search_fields=("schedule_id",),
            is_entity=True,
            api_path="schedules/{}",
        ),
        tables.TransactionSignature: Table("entity_id consensus_timestamp public_key_prefix type signature"),
        tables.Topic: Table(
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
        tables.TopicMessage: Table("topic_id sequence_number consensus_timestamp message payer_account_id"),
        tables.Prng: Table(label="Pseudorandom numbers", singular="Pseudorandom number of"),
    },
)
