"""Signatures of transactions, for those whose signatures are kept."""

from collections.abc import Callable
from typing import Any

from ledger.stream.record.compose import ComposedTransaction
from mirror.demo.world.wallet import EcdsaWallet, Ed25519Wallet, wallet_of
from mirror.demo.world.world import Account
from mirror.values.hapi import SignedTransaction, Transaction


def wallet(of: Account) -> Ed25519Wallet | EcdsaWallet | None:
    """What an account signs with; None when it takes several keys, or has none."""
    return wallet_of(of.number, of.key)


def signatures(signer: Account) -> Callable[[bytes], Any]:
    """Makes the SignatureMap of the bytes of a body. Errors: ValueError when it takes several keys."""
    own = wallet(signer)
    if own is None:
        raise ValueError(f"account {signer.number} does not sign with one key")
    return own.signatures


def signature_map(composed: ComposedTransaction) -> Any:
    """The SignatureMap of a transaction."""
    transaction = Transaction.FromString(composed.transaction_bytes)
    return SignedTransaction.FromString(transaction.signedTransactionBytes).sigMap
