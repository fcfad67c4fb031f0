"""The accounts and contracts whose state a composed transaction changes, as far as they are known."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ledger.stream.block.state_after import ACCOUNTS
from mirror.core.values import entity_id
from mirror.core.values.hapi import result_codes
from mirror.core.values.hapi.messages import StateChange
from mirror.demo.streams.record_files import ComposedTransaction, account


@dataclass(slots=True)
class Known:
    """What is known of an account or contract; the alias of a contract is its EVM address."""

    alias: bytes = b""
    ethereum_nonce: int = 0
    smart_contract: bool = False


_UNKNOWN = Known()


class KnownAccounts:
    """The aliases and nonces of accounts and contracts, as transactions say them."""

    def __init__(self) -> None:
        self._by_number: dict[int, Known] = {}
        self._by_alias: dict[bytes, int] = {}

    def add(
        self, number: int, alias: bytes, *, ethereum_nonce: int = 0, smart_contract: bool = False
    ) -> None:
        self._by_number[number] = Known(alias, ethereum_nonce, smart_contract)
        if alias and not smart_contract:
            self._by_alias[alias] = number

    def learn(self, transaction: ComposedTransaction) -> None:
        record = transaction.record
        if record.receipt.status in result_codes.SUCCESS:
            alias = transaction.body.cryptoCreateAccount.alias
            if alias:
                number = entity_id.from_account(record.receipt.accountID)
                self._get(number).alias = alias
                self._by_alias[alias] = number
            result = record.contractCreateResult
            if result.HasField("contractID"):
                contract = self._get(entity_id.from_contract(result.contractID))
                contract.smart_contract = True
                if result.HasField("evm_address"):
                    contract.alias = result.evm_address.value
        for number, nonce, is_contract in _nonces(record):
            self._get(number).ethereum_nonce = nonce
            self._get(number).smart_contract |= is_contract

    def _get(self, number: int) -> Known:
        return self._by_number.setdefault(number, Known())

    def changes(self, transactions: Iterable[ComposedTransaction]) -> Iterator[Any]:
        """Yield the StateChange messages of all accounts that have paid, got, called or been named."""
        for number in sorted({each for transaction in transactions for each in self._changed(transaction)}):
            known, changed = self._by_number.get(number, _UNKNOWN), account(number)
            change = StateChange(state_id=ACCOUNTS)
            change.map_update.key.account_id_key.CopyFrom(changed)
            value = change.map_update.value.account_value
            value.account_id.CopyFrom(changed)
            value.alias, value.ethereum_nonce = known.alias, known.ethereum_nonce
            value.smart_contract = known.smart_contract
            yield change

    def _changed(self, transaction: ComposedTransaction) -> Iterator[int]:
        record = transaction.record
        for moved in record.transferList.accountAmounts:
            yield entity_id.from_account(moved.accountID)
        for alias in _aliases(transaction.body):
            if alias in self._by_alias:
                yield self._by_alias[alias]
        if record.contractCreateResult.HasField("contractID"):
            yield entity_id.from_contract(record.contractCreateResult.contractID)
        yield from (number for number, _, _ in _nonces(record))


def _nonces(record: Any) -> Iterator[tuple[int, int, bool]]:
    """Yield the new nonces of a record: of which account or contract, and whether it is a contract."""
    which = record.WhichOneof("body")
    if which is not None:
        result = getattr(record, which)
        if result.HasField("signer_nonce"):
            yield entity_id.from_account(result.sender_id), result.signer_nonce.value, False
        for nonce in result.contract_nonces:
            yield entity_id.from_contract(nonce.contract_id), nonce.nonce, True


def _aliases(body: Any) -> Iterator[bytes]:
    """Yield the aliases by which a body names accounts that its transaction changes."""
    yield body.cryptoCreateAccount.alias
    yield body.cryptoUpdateAccount.accountIDToUpdate.alias
    for dropped in body.tokenAirdrop.token_transfers:
        yield from (amount.accountID.alias for amount in dropped.transfers)
        for nft in dropped.nftTransfers:
            yield from (nft.senderAccountID.alias, nft.receiverAccountID.alias)
