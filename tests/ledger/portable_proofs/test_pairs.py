"""Which result is whose: in blocks of any mixture no other pair is ever taken for told by the order."""

from random import Random
from typing import Any

import pytest

from ledger.portable_proofs.proved_items import match_by_order
from mirror.core.values.hapi import wire
from mirror.core.values.hapi.messages import BlockItem, SignedTransaction, TransactionBody, TransactionResult
from mirror.demo.streams.record_files import timestamp


class Mixture:
    """A block as lists of items: each result is with the index of its transaction, None in a batch."""

    def __init__(self, choose: Random) -> None:
        self._choose = choose
        self.signed: list[bytes] = []
        self.results: list[tuple[Any, int | None]] = []
        for _ in range(choose.randint(3, 9)):
            choose.choice((self._plain, self._plain, self._state, self._unknown, self._batch, self._parent))()

    def _send(self, kind: str = "cryptoTransfer", **transaction_id: Any) -> int:
        body = TransactionBody(transactionID=transaction_id)
        getattr(body, kind).SetInParent()
        signed = SignedTransaction(bodyBytes=body.SerializeToString())
        self.signed.append(BlockItem(signed_transaction=signed.SerializeToString()).SerializeToString())
        return len(self.signed) - 1

    def _answer(self, index: int | None, parent: int | None = None) -> int:
        at = 1_000 + len(self.results)
        result = TransactionResult(consensus_timestamp=timestamp(at))
        if parent is not None:
            result.parent_consensus_timestamp.CopyFrom(timestamp(parent))
        self.results.append((result, index))
        return at

    def _plain(self) -> None:
        self._answer(self._send())

    def _state(self) -> None:
        self._send("state_signature_transaction")

    def _unknown(self) -> None:
        """A kind that is not known has no result here."""
        unknown = wire.length_delimited(199, b"")
        signed = SignedTransaction(bodyBytes=TransactionBody().SerializeToString() + unknown)
        self.signed.append(BlockItem(signed_transaction=signed.SerializeToString()).SerializeToString())

    def _parent(self) -> None:
        """A transaction with children, some of which are before it and name no parent."""
        for _ in range(self._choose.randint(0, 1)):
            self._answer(self._send(nonce=1))
        at = self._answer(self._send())
        for _ in range(self._choose.randint(0, 2)):
            self._answer(self._send(nonce=2), at)

    def _batch(self) -> None:
        """A batch, whose inner transactions may cause others, with or without the batch as their parent."""
        at = self._answer(self._send("atomic_batch"))
        for _ in range(self._choose.randint(0, 3)):
            self._answer(None, at)
            if self._choose.random() < 0.3:
                caused = self._choose.choice(({"nonce": 1}, {"scheduled": True}))
                self._answer(self._send(**caused), self._choose.choice((at, None)))


@pytest.mark.parametrize("seed", range(5))
def test_only_pairs_that_belong_together_are_told_by_their_order(seed: int):
    choose = Random(seed)
    told = 0

    for _ in range(30):
        block = Mixture(choose)
        outputs = [BlockItem(transaction_result=result).SerializeToString() for result, _ in block.results]
        for index in range(len(block.signed)):
            for place, (_, owner) in enumerate(block.results):
                if match_by_order(block.signed[: index + 1], outputs[:place], outputs[place]):
                    assert owner == index
                    told += 1

    assert told > 50
