"""The pages of the tables that need no code of their own."""

from ledger.models import (
    AccountBalance,
    AccountBalanceFile,
    BalanceDifference,
    CryptoAllowance,
    CryptoTransfer,
    CustomFee,
    EntityStake,
    EntityTransaction,
    FileData,
    NonFeeTransfer,
    Prng,
    Schedule,
    SidecarFile,
    Topic,
    TopicMessage,
    TransactionSignature,
)
from mirror.core.admin.related import Related, same
from mirror.core.admin.tables import Table, register_tables

register_tables(
    "ledger",
    {
        SidecarFile: Table("consensus_end id name types count size"),
        CustomFee: Table(
            "entity_id timestamp_range fixed_fees fractional_fees royalty_fees",
            history="Earlier fee schedules",
            of_entity=True,
        ),
        EntityTransaction: Table("entity_id consensus_timestamp type result payer_account_id"),
        EntityStake: Table(label="Entity stakes", history="Earlier periods", of_entity=True),
        FileData: Table("consensus_timestamp entity_id transaction_type", "File contents", "File content"),
        CryptoTransfer: Table(
            "consensus_timestamp entity_id amount payer_account_id is_approval",
            "Hbar transfers",
            "Hbar transfer",
        ),
        NonFeeTransfer: Table("consensus_timestamp entity_id amount payer_account_id is_approval"),
        CryptoAllowance: Table(label="Hbar allowances", singular="Hbar allowance", history="Earlier grants"),
        AccountBalanceFile: Table(
            "consensus_timestamp count name synthetic", "Balance snapshots", "Balance snapshot"
        ),
        AccountBalance: Table(label="Account balances at snapshots", singular="Account balance"),
        BalanceDifference: Table(
            "consensus_timestamp account_id token_id ours theirs file",
            "Differences from balance files",
            "Difference from a balance file",
        ),
        Schedule: Table(
            "schedule_id creator_account_id payer_account_id consensus_timestamp executed_timestamp "
            "expiration_time wait_for_expiry",
            related=(Related(TransactionSignature, same(entity_id="schedule_id"), "Signatures"),),
            everywhere=("schedule_id",),
            of_entity=True,
        ),
        TransactionSignature: Table("entity_id consensus_timestamp public_key_prefix type signature"),
        Topic: Table(
            "id created_timestamp admin_key submit_key",
            related=(
                Related(TopicMessage, same(topic_id="id"), "Messages"),
                Related(CustomFee, same(entity_id="id"), "Custom fees"),
            ),
            history="Earlier versions",
            everywhere=("id",),
            of_entity=True,
        ),
        TopicMessage: Table("topic_id sequence_number consensus_timestamp message payer_account_id"),
        Prng: Table(label="Pseudorandom numbers", singular="Pseudorandom number of"),
    },
)
