"""Handlers that add rows by place count on the order of a table's columns."""

import re

import pytest
from django.apps import apps
from django.conf import settings

from mirror.core.db.writing.copy import column_names

# As the handlers write them: `rows_for` takes values without names.
ORDERS = {
    "ContractLog": (
        "bloom consensus_timestamp contract_id data index topic0 topic1 topic2 topic3 payer_account_id "
        "root_contract_id transaction_hash transaction_index synthetic"
    ),
    "ContractStateChange": (
        "consensus_timestamp contract_id payer_account_id slot value_read value_written migration"
    ),
    "ContractTransaction": "consensus_timestamp entity_id contract_ids payer_account_id",
    "ContractTransactionHash": "consensus_timestamp hash payer_account_id entity_id transaction_result",
    "CryptoTransfer": "entity_id consensus_timestamp amount payer_account_id is_approval errata",
    "TokenTransfer": "token_id account_id consensus_timestamp amount payer_account_id is_approval",
    "TopicMessage": (
        "consensus_timestamp message running_hash sequence_number running_hash_version chunk_num chunk_total "
        "payer_account_id valid_start_timestamp topic_id initial_transaction_id"
    ),
    "Transaction": (
        "consensus_timestamp type result payer_account_id valid_start_ns valid_duration_seconds "
        "node_account_id entity_id initial_balance max_fee charged_tx_fee memo transaction_hash "
        "transaction_bytes scheduled nonce parent_consensus_timestamp errata index nft_transfer "
        "itemized_transfer transaction_record_bytes max_custom_fees batch_key inner_transactions high_volume "
        "congestion_pricing_multiplier high_volume_pricing_multiplier"
    ),
    "TransactionHash": "consensus_timestamp hash payer_account_id hash_suffix",
}


@pytest.mark.parametrize("name", ORDERS)
def test_columns_have_the_order_in_which_handlers_write_them(name: str) -> None:
    (model,) = (model for model in apps.get_models() if model.__name__ == name)

    assert " ".join(column_names(model)) == ORDERS[name]


def test_every_table_that_handlers_write_by_place_is_listed() -> None:
    sources = [
        path.read_text()
        for app in ("ledger", "contracts", "tokens", "network")
        for path in (settings.BASE_DIR / app / "handlers").rglob("*.py")
    ]

    assert {name for text in sources for name in re.findall(r"rows_for\((\w+)\)", text)} == set(ORDERS)
