"""What handlers see besides the item: the rows of the batch, the entity lookup, and a place for what went
wrong.
"""

import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

from django.db.backends.utils import CursorWrapper

from ledger.ingest.errors import RecoverableError
from ledger.ingest.lookup.entities import EntityLookup
from ledger.ingest.lookup.evm_addresses import EvmAddresses
from ledger.ingest.lookup.file_contents import FileContents
from ledger.models import Entity, RecordFile
from ledger.stream.record.item import RecordItem
from mirror import config
from mirror.db.rows import Rows
from mirror.values import entity_id
from mirror.values.transaction_types import NUMBERS

log = logging.getLogger(__name__)

# Longer than any that is one: a key of 33 bytes with its tags.
MAX_ALIAS_TOLD = 40

State = TypeVar("State")

_PERSIST = "importer.parser.record.entity.persist."


class Persist:
    """Which optional rows are written, from the settings `importer.parser.record.entity.persist.*`."""

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
        shard, realm = config.value("common.shard"), config.value("common.realm")
        self.entity_transaction_exclusion = {0} | {
            entity_id.encode(shard, realm, int(number))
            for number in config.value(_PERSIST + "entityTransactionExclusion")
        }
        self.files: bool = config.value(_PERSIST + "files")
        self.itemized_transfers: bool = config.value(_PERSIST + "itemizedTransfers")
        self.pending_reward: bool = config.value(_PERSIST + "pendingReward")
        self.schedules: bool = config.value(_PERSIST + "schedules")
        self.system_files: bool = config.value(_PERSIST + "systemFiles")
        self.topics: bool = config.value(_PERSIST + "topics")
        version: str = config.value("importer.smartContractThrottlingVersion")
        self.smart_contract_throttling_version = tuple(map(int, version.split(".")))
        self.synthetic_contract_logs: bool = config.value(_PERSIST + "syntheticContractLogs")
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


class Batch(Rows):
    """The rows of the files that are committed together."""

    def __init__(self, lookup: EntityLookup, persist: Persist, files: FileContents) -> None:
        super().__init__()
        self.lookup = lookup
        self.files = files
        self.evm_addresses = EvmAddresses()
        self.persist = persist
        self.recoverable_errors = 0
        # The row of `transaction` of the item being read: what later steps find out may be added to it.
        self.transaction: dict[str, Any] = {}
        self._states: dict[type, Any] = {}
        self._after_file: list[Callable[[CursorWrapper], None]] = []
        self._block_offset = 0
        self.mentioned: set[int] | None = set() if persist.entity_transactions else None

    def begin_file(self) -> None:
        """Forget what handlers remember of the file before; called before a file's first item."""
        self._states = {}

    def state(self, kind: type[State]) -> State:
        """Return what handlers remember within the file being read: one object of each class."""
        try:
            return cast(State, self._states[kind])
        except KeyError:
            self._states[kind] = state = kind()
            return state

    def after_file(self, work: Callable[[CursorWrapper], None]) -> None:
        """Do `work` in the database when all rows of the file being read are written, and none of later ones.

        For what is computed from tables: so it is the same in whatever batches files are loaded.
        """
        self._after_file.append(work)

    def end_file(self) -> None:
        """Called after a file's last row."""
        if self._after_file:
            for work in self._after_file:
                self.barrier(work)
            self._after_file = []
        super().end_file()

    def mention(self, *entities: int) -> None:
        """Note that the item being read touches these entities (rows of entity_transaction)."""
        if self.mentioned is not None:
            self.mentioned.update(entities)

    def shift_blocks(self, offset: int) -> None:
        """Add `offset` to the number of every block so far, stored or in this batch."""
        if offset:
            self._block_offset += offset
            for row in self.inserted(RecordFile):
                row["index"] += offset

    def write(self, cursor: CursorWrapper) -> None:
        if self._block_offset:
            cursor.execute("update record_file set index = index + %s", [self._block_offset])
        self.evm_addresses.write(cursor)
        super().write(cursor)

    def change_entity(self, item: RecordItem, **columns: Any) -> None:
        """A new version of an entity by a create, update or delete transaction (columns of `entity`).

        Nothing happens for id 0: the transaction names its entity by an alias or not at all.
        """
        entity = columns["id"]
        if not entity or (not self.persist.entity_history and "created_timestamp" not in columns):
            return
        if columns.get("deleted"):
            self.lookup.delete(entity)
        else:
            evm_address = columns.get("evm_address")
            self.lookup.remember(entity, alias=columns.get("alias"), evm_address=evm_address)
            if evm_address:
                self.evm_addresses.created(entity, evm_address)
        self.upsert(Entity, since=item.consensus_timestamp, **columns)

    def account(self, item: RecordItem, account: Any, role: str) -> int | None:
        """The account an AccountID of the body names, alias and EVM address included; 0 when it names none.

        None, and a recoverable problem that tells its `role`, when its alias is not known.
        """
        found = self.lookup.account(account)
        if not found and account.WhichOneof("account") == "alias":
            self.recoverable(item, f"the {role} is not known: alias {account.alias[:MAX_ALIAS_TOLD].hex()}")
            return None
        return found

    def warning(self, item: RecordItem, problem: str) -> None:
        """Log what is odd about an item and no problem to anyone."""
        log.warning("event=odd consensus_timestamp=%d problem=%r", item.consensus_timestamp, problem)

    def recoverable(self, item: RecordItem, problem: str) -> None:
        """Count and log a problem of one item that does not stop the stream.

        Errors: RecoverableError when the operator wants it to stop.
        """
        self.recoverable_errors += 1
        if self.persist.halt_on_error:
            raise RecoverableError(problem)
        log.error("event=recoverable consensus_timestamp=%d problem=%r", item.consensus_timestamp, problem)
