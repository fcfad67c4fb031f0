"""Record streams of accounts and transfers, in both layouts of a bucket."""

from collections.abc import Mapping
from enum import Enum
from typing import Any, Unpack

from mirror.core.values.hapi import messages
from mirror.demo.streams import record_files
from mirror.demo.streams.record_files import (
    TREASURY,
    ComposedTransaction,
    TransactionOptions,
    account,
    transfer_list,
)
from mirror.demo.streams.signing import SigningNode


class Layout(Enum):
    """The layout of a bucket."""

    ACCOUNT_ID = "recordstreams/record0.0.{account}"
    NODE_ID = "demo/0/{node}/record"

    def folder(self, node: SigningNode) -> str:
        return self.value.format(account=node.account_id, node=node.node_id)


class Composer(record_files.Composer):
    def crypto_transfer(
        self, moved: Mapping[int, int], **options: Unpack[TransactionOptions]
    ) -> ComposedTransaction:
        """Move tinybars: account -> amount, with a sum of zero. Options are those of `transaction`."""
        options["transfers"] = moved
        body = messages.CryptoTransferTransactionBody(transfers=transfer_list(moved))
        return self.transaction(messages.TransactionBody(cryptoTransfer=body), **options)

    def crypto_create(
        self,
        created: int,
        *,
        initial_balance: int = 0,
        create: Any = None,
        **options: Unpack[TransactionOptions],
    ) -> ComposedTransaction:
        """Create the account `created`. `create` is a CryptoCreateTransactionBody with other fields."""
        body = messages.CryptoCreateTransactionBody() if create is None else create
        body.initialBalance = initial_balance
        record = messages.TransactionRecord(receipt=messages.TransactionReceipt(accountID=account(created)))
        if initial_balance:
            payer = options.get("payer", TREASURY)
            options["transfers"] = {payer: -initial_balance, created: initial_balance}
        return self.transaction(messages.TransactionBody(cryptoCreateAccount=body), record, **options)

    def crypto_update(
        self, updated: int, update: Any, **options: Unpack[TransactionOptions]
    ) -> ComposedTransaction:
        """Change the account `updated` by the CryptoUpdateTransactionBody `update`."""
        update.accountIDToUpdate.CopyFrom(account(updated))
        return self.transaction(messages.TransactionBody(cryptoUpdateAccount=update), **options)

    def crypto_delete(
        self,
        deleted: int,
        *,
        transfer_to: int = TREASURY,
        balance: int = 0,
        **options: Unpack[TransactionOptions],
    ) -> ComposedTransaction:
        """Delete the account `deleted`, whose `balance` goes to `transfer_to`."""
        body = {"deleteAccountID": account(deleted), "transferAccountID": account(transfer_to)}
        if balance:
            options["transfers"] = {deleted: -balance, transfer_to: balance}
        return self.transaction(messages.TransactionBody(cryptoDelete=body), **options)
