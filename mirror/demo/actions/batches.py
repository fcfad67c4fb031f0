"""Atomic batches (HIP-551): transactions of several people that succeed together or not at all."""

from collections.abc import Callable
from typing import Any, NamedTuple

from mirror.core.values.hapi.messages import SignedTransaction
from mirror.demo.actions import people
from mirror.demo.actions.files import find_file
from mirror.demo.actions.topics import receipt as message_receipt
from mirror.demo.actions.topics import text
from mirror.demo.network import Network, pair, require, required, weighted
from mirror.demo.streams.plain import serialized
from mirror.demo.streams.record_files import timestamp, transfer_list
from mirror.demo.world.accounts import HBAR, Account
from mirror.demo.world.files import APPEND, Change

_DURATION = 120  # seconds


class Inner(NamedTuple):
    """A transaction of a batch. `apply` changes the world except for hbars, and returns the receipt."""

    kind: str
    body: dict[str, Any]
    payer: int
    transfers: dict[int, int] | None = None
    apply: Callable[[Network], dict[str, Any] | None] | None = None


def submit_batch(network: Network) -> None:
    batch = _make(network, network.choose.randrange(2, 5))
    operator = network.person()
    require(operator.key and len(batch) > 1)
    _submit(network, operator, batch)


def submit_failing_batch(network: Network) -> None:
    """Submit a batch whose last transaction fails; or an empty one, or one with what can't be in a batch."""
    if network.choose.random() < 0.7:
        batch, found = _make(network, network.choose.randrange(1, 3)), network.find_person()
        payer, receiver = pair(network.find_person(), network.find_person())
        operator = required(found)
        require(operator.key and batch)
        amount = payer.balance + HBAR
        body = {"transfers": transfer_list({payer.number: -amount, receiver.number: amount})}
        batch.append(Inner("cryptoTransfer", body, payer.number))
        _submit(network, operator, batch, fails_by="INSUFFICIENT_ACCOUNT_BALANCE")
        return
    operator = network.person()
    require(operator.key)
    transactions, result = [], "BATCH_LIST_EMPTY"
    if network.choose.random() >= 0.5:
        inner = Inner("freeze", {"freeze_type": 1}, operator.number)
        body = network.body(inner.kind, inner.body, _envelope(network, inner, operator))
        transactions, result = [_signed(body)], "BATCH_TRANSACTION_IN_BLACKLIST"
    network.submit("atomic_batch", {"transactions": transactions}, payer=operator.number, result=result)


def _submit(network: Network, operator: Account, batch: list[Inner], fails_by: str | None = None) -> None:
    """Submit the batch, then its transactions as its children; `fails_by` is the result code of the last."""
    envelopes = [_envelope(network, inner, operator) for inner in batch]
    together = list(zip(batch, envelopes, strict=True))
    bodies = (network.body(inner.kind, inner.body, envelope) for inner, envelope in together)
    outer = network.submit(
        "atomic_batch",
        {"transactions": [_signed(body) for body in bodies]},
        payer=operator.number,
        result="INNER_TRANSACTION_FAILED" if fails_by else "SUCCESS",
    )
    for inner, envelope in together:
        failed = fails_by if inner is batch[-1] else "REVERTED_SUCCESS"
        network.submit(
            inner.kind,
            inner.body,
            payer=inner.payer,
            envelope=envelope,
            receipt=inner.apply(network) if inner.apply and not fails_by else None,
            record={"parent_consensus_timestamp": timestamp(outer.consensus_timestamp)},
            transfers=inner.transfers,
            result=failed if fails_by else "SUCCESS",
        )


def _envelope(network: Network, inner: Inner, operator: Account) -> dict[str, Any]:
    """Return the other fields of the body of an inner transaction, which is not sent to any node."""
    return {
        "transactionID": network.transaction_id(inner.payer),
        "nodeAccountID": {},
        "transactionFee": 2 * HBAR,
        "transactionValidDuration": _DURATION,
        "batch_key": operator.key,
    }


def _signed(body: Any) -> bytes:
    return serialized(SignedTransaction, {"bodyBytes": body.SerializeToString()})


# INNER TRANSACTIONS
def _make(network: Network, count: int) -> list[Inner]:
    """Return up to `count` transactions of different kinds: those that are possible."""
    makers = network.choose.sample((_payment, _message, _memo, _line), count)
    return [inner for maker in makers if (inner := maker(network))]


def _payment(network: Network) -> Inner | None:
    payer, receiver = network.find_person(), network.find_person()
    if payer is None or receiver is None or payer is receiver:
        return None
    amount = network.choose.randrange(1, 40) * HBAR
    transfers = {payer.number: -amount, receiver.number: amount}
    return Inner("cryptoTransfer", {"transfers": transfer_list(transfers)}, payer.number, transfers)


def _message(network: Network) -> Inner | None:
    topics = [topic for topic in network.world.topics.values() if topic.is_free]
    payer = network.find_person()
    if not topics or payer is None:
        return None
    topic = network.choose.choice(topics)
    contents = text(network, topic.subject, topic.sequence_number + 1)
    body = {"topicID": topic.number, "message": contents}
    return Inner(
        *("consensusSubmitMessage", body, payer.number),
        apply=lambda network: message_receipt(topic.add(contents, payer.number, network.now)),
    )


def _memo(network: Network) -> Inner | None:
    changed = network.find_person()
    if changed is None:
        return None
    memo, number = people.memo_of(network, changed), changed.number
    body = {"accountIDToUpdate": number, "memo": memo}
    return Inner("cryptoUpdateAccount", body, number, apply=lambda _: setattr(changed, "memo", memo))


def _line(network: Network) -> Inner | None:
    file = find_file(network)
    if file is None:
        return None
    contents = f"# together, {network.choose.randrange(1_000)}\n".encode()
    body = {"fileID": file.number, "contents": contents}
    return Inner(
        *("fileAppend", body, file.owner),
        apply=lambda network: file.changes.append(Change(network.now, APPEND, contents)),
    )


ACTIONS = weighted((1, submit_batch), (0, submit_failing_batch))
