"""Results of contract calls and creations, their logs and actions, and Ethereum transactions."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Substr
from django.db.models.lookups import IsNull

from mirror.core.db.schema import fields
from mirror.core.db.schema.enums import EntityType
from mirror.core.db.schema.indexes import HashIndex, Index
from mirror.core.db.schema.tables import Compared, KeylessTable, PartitionableTable


class ContractResult(PartitionableTable, models.Model):
    """The result of one contract call or creation.

    Written by CONTRACTCALL, CONTRACTCREATEINSTANCE, ETHEREUMTRANSACTION and any other transaction whose
    record has one.
    """

    compared = Compared(older=(("gas_consumed", "case when gas_used = 0 then 0 end"),))

    function_parameters = fields.BytesField()
    gas_limit = fields.NumberField()
    function_result = fields.OutputField(null=True)
    gas_used = fields.NumberField(null=True)
    consensus_timestamp = fields.ConsensusTimestampField(domain="nanos_timestamp", primary_key=True)
    amount = fields.TinybarField(null=True)
    bloom = fields.BytesField(null=True)
    call_result = fields.OutputField(null=True)
    contract_id = fields.EntityIdField()
    created_contract_ids = ArrayField(fields.EntityIdField(), null=True)
    error_message = fields.ErrorTextField(null=True)
    payer_account_id = fields.EntityIdField()
    sender_id = fields.EntityIdField(null=True)
    failed_initcode = fields.BytesField(null=True)
    transaction_hash = fields.HashField(null=True)
    transaction_index = models.IntegerField(null=True)
    transaction_result = fields.TransactionResultField()
    transaction_nonce = models.IntegerField(db_default=0)
    gas_consumed = fields.NumberField(null=True)

    class Meta:
        db_table = "contract_result"
        indexes = [
            Index(
                fields=["contract_id", "sender_id", "consensus_timestamp"],
                name="contract_result__id_sender_timestamp",
            ),
            Index(fields=["contract_id", "consensus_timestamp"], name="contract_result__id_timestamp"),
            Index(fields=["sender_id", "consensus_timestamp"], name="contract_result__sender_timestamp"),
        ]


class ContractTransaction(PartitionableTable, models.Model):
    """One contract that took part in a contract transaction, or its payer. Written with contract_result."""

    pk = models.CompositePrimaryKey("consensus_timestamp", "entity_id")
    consensus_timestamp = fields.ConsensusTimestampField()
    entity_id = fields.EntityIdField()
    contract_ids = ArrayField(fields.EntityIdField())
    payer_account_id = fields.EntityIdField()

    class Meta:
        db_table = "contract_transaction"


class ContractTransactionHash(KeylessTable, models.Model):
    """The time of the contract result of a 32-byte hash. Written with contract_result."""

    pk = models.CompositePrimaryKey("hash", "consensus_timestamp")
    consensus_timestamp = fields.ConsensusTimestampField()
    hash = fields.HashField()
    payer_account_id = fields.EntityIdField()
    entity_id = fields.EntityIdField()
    transaction_result = fields.TransactionResultField()

    class Meta:
        db_table = "contract_transaction_hash"
        verbose_name_plural = "contract transaction hashes"
        indexes = [
            HashIndex(fields=["hash"], name="contract_transaction_hash__hash"),
        ]


#: The first bytes of a topic that its index holds: enough to tell topics apart, and a third of the room.
TOPIC_PREFIX = 8


def _topic_index(topic: str) -> Index:
    # The condition names the same bytes: PostgreSQL takes no comparison of the whole topic for it.
    prefix = Substr(topic, 1, TOPIC_PREFIX)
    return Index(
        prefix,
        models.F("consensus_timestamp"),
        models.F("index"),
        condition=models.Q(IsNull(prefix, False)),
        name=f"contract_log__{topic}_timestamp",
    )


class ContractLog(PartitionableTable, models.Model):
    """One log of a contract, or a synthetic one of a transfer or approval of tokens, for Ethereum tools.

    Written with contract_result; `index` counts within the block. Topics lack leading zero bytes.
    """

    compared = Compared(older=(("synthetic", "false"),))

    pk = models.CompositePrimaryKey("consensus_timestamp", "index")
    bloom = fields.BytesField()
    consensus_timestamp = fields.ConsensusTimestampField()
    contract_id = fields.EntityIdField()
    data = fields.BytesField()
    index = models.IntegerField()
    topic0 = fields.WordField(null=True)
    topic1 = fields.WordField(null=True)
    topic2 = fields.WordField(null=True)
    topic3 = fields.WordField(null=True)
    payer_account_id = fields.EntityIdField()
    root_contract_id = fields.EntityIdField(null=True)
    transaction_hash = fields.HashField(null=True)
    transaction_index = models.IntegerField(null=True)
    # True for what the mirror logs itself; null in rows of an older release.
    synthetic = models.BooleanField(null=True)

    class Meta:
        db_table = "contract_log"
        indexes = [
            Index(
                fields=["contract_id", "-consensus_timestamp", "index"],
                name="contract_log__contract_id_timestamp_index",
            ),
            Index(
                fields=["-consensus_timestamp", "-index"],
                condition=models.Q(synthetic=True),
                name="contract_log__synthetic_timestamp",
            ),
            Index(
                fields=["contract_id", "-consensus_timestamp", "index"],
                condition=models.Q(synthetic=True),
                name="contract_log__synthetic_contract_timestamp",
            ),
            *(_topic_index(topic) for topic in ("topic0", "topic1", "topic2", "topic3")),
        ]


OPERATIONS = dict(
    enumerate(("UNKNOWN", "CALL", "CALLCODE", "DELEGATECALL", "STATICCALL", "CREATE", "CREATE2"))
)
CALL_TYPES = dict(enumerate(("NO_ACTION", "CALL", "CREATE", "PRECOMPILE", "SYSTEM")))
RESULT_DATA_TYPES = {11: "OUTPUT", 12: "REVERT_REASON", 13: "ERROR"}


class ContractAction(PartitionableTable, models.Model):
    """One call or creation inside a contract transaction, by `index`. Written from action sidecars."""

    pk = models.CompositePrimaryKey("consensus_timestamp", "index")
    call_depth = models.IntegerField()
    call_type = fields.named(models.IntegerField(null=True), CALL_TYPES)
    caller = fields.EntityIdField(null=True)
    caller_type = fields.EnumField(
        "entity_type", choices=EntityType, null=True, db_default=EntityType.CONTRACT
    )
    consensus_timestamp = fields.ConsensusTimestampField()
    gas = fields.NumberField()
    gas_used = fields.NumberField()
    index = models.IntegerField()
    input = fields.BytesField(null=True)
    recipient_account = fields.EntityIdField(null=True)
    recipient_address = fields.BytesField(null=True)
    recipient_contract = fields.EntityIdField(null=True)
    result_data = fields.OutputField(null=True)
    result_data_type = fields.named(models.IntegerField(), RESULT_DATA_TYPES)
    value = fields.TinybarField()
    call_operation_type = fields.named(models.IntegerField(null=True), OPERATIONS)
    payer_account_id = fields.EntityIdField()

    class Meta:
        db_table = "contract_action"


_TYPES = {0: "legacy", 1: "EIP-2930", 2: "EIP-1559", 4: "EIP-7702"}


class EthereumTransaction(PartitionableTable, models.Model):
    """The decoded RLP of one Ethereum transaction. Written by ETHEREUMTRANSACTION.

    Prices and value are weibars as the RLP has them; value is signed. In a row of an older release, where
    `in_weibars` is false, they are tinybars, and the lists are null: there only `data` is exact.
    """

    call_data_id = fields.EntityIdField(null=True)
    call_data = fields.BytesField(null=True)
    chain_id = fields.AmountBytesField(null=True)
    consensus_timestamp = fields.ConsensusTimestampField(primary_key=True)
    data = fields.BytesField()
    gas_limit = fields.NumberField()
    gas_price = fields.AmountBytesField(null=True)
    hash = fields.HashField()
    max_fee_per_gas = fields.AmountBytesField(null=True)
    max_gas_allowance = fields.TinybarField()
    max_priority_fee_per_gas = fields.AmountBytesField(null=True)
    nonce = fields.NumberField()
    payer_account_id = fields.EntityIdField()
    recovery_id = models.SmallIntegerField(null=True)
    signature_r = fields.BytesField()
    signature_s = fields.BytesField()
    signature_v = fields.AmountBytesField(null=True)
    to_address = fields.BytesField(null=True)
    type = fields.named(models.SmallIntegerField(), _TYPES)
    value = fields.AmountBytesField(null=True)
    authorization_list = models.JSONField(null=True)
    access_list = models.JSONField(null=True)
    in_weibars = models.BooleanField(db_default=True)

    class Meta:
        db_table = "ethereum_transaction"
