"""Executing scheduled transactions, which may fail by then."""

from typing import Any

from mirror.core.values.hapi.messages import SchedulableTransactionBody, TransactionID
from mirror.demo.actions.tokens import supply
from mirror.demo.actions.topics import receipt as message_receipt
from mirror.demo.network import Network
from mirror.demo.world.accounts import HBAR
from mirror.demo.world.schedules import Schedule
from mirror.demo.world.tokens import Token


def execute(network: Network, schedule: Schedule) -> None:
    """Execute a scheduled transaction now."""
    # BODY
    scheduled = scheduled_body(schedule)
    kind = scheduled.WhichOneof("data")
    payer = network.world.accounts[schedule.payer]
    receipt: dict[str, Any] = {}
    record: dict[str, Any] = {}
    result, transfers, fee = "SUCCESS", None, None
    if payer.balance < HBAR:
        result, fee = "INSUFFICIENT_PAYER_BALANCE", 0
    elif kind == "cryptoTransfer":
        amounts = scheduled.cryptoTransfer.transfers.accountAmounts
        transfers = {each.accountID.accountNum: each.amount for each in amounts}
        result = _result_of_payment(network, transfers)
    elif kind == "tokenMint":
        minted = network.world.tokens.issued.get(scheduled.tokenMint.token.tokenNum)
        amount = scheduled.tokenMint.amount
        result = _result_of_mint(minted, amount)
        if minted and result == "SUCCESS":
            receipt, record = supply.receive(network, minted, amount)
    else:
        topic = network.world.topics.get(scheduled.consensusSubmitMessage.topicID.topicNum)
        if topic is None or not topic.is_free:
            result = "INVALID_TOPIC_ID" if topic is None or topic.deleted else "UNAUTHORIZED"
        else:
            message = topic.add(scheduled.consensusSubmitMessage.message, payer.number, network.now)
            receipt = message_receipt(message)
    # RECORD
    schedule.executed = network.now
    network.submit(
        kind,
        {field.name: value for field, value in getattr(scheduled, kind).ListFields()},
        payer=payer.number,
        envelope={"transactionID": scheduled_id(schedule), "memo": scheduled.memo, "nodeAccountID": {}},
        record={"scheduleRef": {"scheduleNum": schedule.number}, **record},
        receipt=receipt,
        transfers=transfers,
        result=result,
        fee=fee,
    )


def scheduled_body(schedule: Schedule) -> Any:
    """Return the SchedulableTransactionBody."""
    return SchedulableTransactionBody.FromString(schedule.scheduled)


def scheduled_id(schedule: Schedule) -> Any:
    """Return the id of the scheduled transaction: that of the ScheduleCreate, marked as scheduled."""
    transaction_id = TransactionID.FromString(schedule.transaction_id)
    transaction_id.scheduled = True
    return transaction_id


# What was deleted since may also have been forgotten.
def _result_of_payment(network: Network, transfers: dict[int, int]) -> str:
    for number, amount in transfers.items():
        holder = network.world.accounts.get(number)
        if holder is None or holder.deleted:
            return "ACCOUNT_DELETED"
        if holder.balance + amount < HBAR:
            return "INSUFFICIENT_ACCOUNT_BALANCE"
    return "SUCCESS"


def _result_of_mint(minted: Token | None, amount: int) -> str:
    if minted is None:
        return "TOKEN_WAS_DELETED"
    if not minted.supply_key:
        return "TOKEN_HAS_NO_SUPPLY_KEY"
    return supply.refusal_to_mint(minted, amount) or "SUCCESS"
