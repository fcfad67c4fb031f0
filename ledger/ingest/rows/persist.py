"""The settings that choose which optional rows are written."""

from ledger.ingest.rows.publishing import REDIS
from mirror.core import config
from mirror.core.config import caches
from mirror.core.values.hapi.transaction_types import NUMBERS

_PERSIST = "importer.parser.record.entity.persist."


class Persist:
    """The settings `importer.parser.record.entity.persist.*`, and a few like them."""

    def __init__(self) -> None:
        self.claims: bool = config.value(_PERSIST + "claims")
        self.contracts: bool = config.value(_PERSIST + "contracts")
        self.contract_results: bool = config.value(_PERSIST + "contractResults")
        self.contract_transaction: bool = config.value(_PERSIST + "contractTransaction")
        self.contract_transaction_hash: bool = config.value(_PERSIST + "contractTransactionHash")
        self.crypto_transfer_amounts: bool = config.value(_PERSIST + "cryptoTransferAmounts")
        self.halt_on_error: bool = config.value("importer.parser.haltOnError")
        self.entity_history: bool = config.value(_PERSIST + "entityHistory")
        self.ethereum_transactions: bool = config.value(_PERSIST + "ethereumTransactions")
        self.entity_transactions: bool = config.value(_PERSIST + "entityTransactions")
        self.entity_nft_transactions: bool = config.value(_PERSIST + "entityNftTransactions")
        self.entity_transaction_exclusion = {0} | {
            config.own_id(int(number)) for number in config.value(_PERSIST + "entityTransactionExclusion")
        }
        self.files: bool = config.value(_PERSIST + "files")
        self.itemized_transfers: bool = config.value(_PERSIST + "itemizedTransfers")
        self.pending_reward: bool = config.value(_PERSIST + "pendingReward")
        self.schedules: bool = config.value(_PERSIST + "schedules")
        self.system_files: bool = config.value(_PERSIST + "systemFiles")
        self.topics: bool = config.value(_PERSIST + "topics")
        self.publishes_topics = caches.redis_url(REDIS) is not None
        version: str = config.value("importer.smartContractThrottlingVersion")
        self.smart_contract_throttling_version = tuple(map(int, version.split(".")))
        self.synthetic_contract_logs: bool = config.value(_PERSIST + "syntheticContractLogs")
        self.synthetic_contract_logs_multi: bool = config.value(_PERSIST + "syntheticContractLogsMulti")
        self.synthetic_evm_addresses: bool = config.value(_PERSIST + "syntheticContractLogEvmAddressLookup")
        self.synthetic_contract_results: bool = config.value(_PERSIST + "syntheticContractResults")
        self.tokens: bool = config.value(_PERSIST + "tokens")
        self.token_airdrops: bool = self.tokens and config.value(_PERSIST + "tokenAirdrops")
        self.track_allowance: bool = config.value(_PERSIST + "trackAllowance")
        self.track_balance: bool = config.value(_PERSIST + "trackBalance")
        self.track_nonce: bool = config.value(_PERSIST + "trackNonce")
        self.transaction_bytes: bool = config.value(_PERSIST + "transactionBytes")
        self.transaction_hash: bool = config.value(_PERSIST + "transactionHash")
        self.transaction_hash_exclusion = {
            NUMBERS[name] for name in config.value(_PERSIST + "transactionHashExclusion")
        }
        self.transaction_record_bytes: bool = config.value(_PERSIST + "transactionRecordBytes")
        self.transaction_signatures = {
            NUMBERS[name] for name in config.value(_PERSIST + "transactionSignatures")
        }
