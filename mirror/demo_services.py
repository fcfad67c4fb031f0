"""What the demo's people do besides paying each other: a coin, art, a topic, a schedule, an allowance.

Each function adds the transactions of one block, as the network's services would have recorded them.
"""

from collections.abc import Mapping
from typing import Any

from ledger.stream.compose import Composer, account, timestamp
from mirror.values.hapi import Key, TransactionBody, TransactionReceipt, TransactionRecord
from mirror.values.hashes import SHA_384_LENGTH, sha384

HBAR = 100_000_000
ISSUER, ARTIST, SPEAKER, SAVER = 1005, 1006, 1007, 1008
COIN, ART, TOPIC, SCHEDULE = 2001, 2002, 2003, 2004
_HOLDERS = (1008, 1009, 1010)
_RUNNING_HASH_VERSION = 3


def issue_a_coin(network: Composer, key: Key) -> None:
    """A fungible token with two decimals, which three people hold."""
    supply = 1_000_000_00
    _happen(
        network,
        "tokenCreation",
        {
            "name": "Demo Coin",
            "symbol": "DEMO",
            "decimals": 2,
            "initialSupply": supply,
            "treasury": account(ISSUER),
            "adminKey": key,
            "supplyKey": key,
            "memo": "Money to play with",
        },
        receipt={"tokenID": {"tokenNum": COIN}},
        moved=_units({ISSUER: supply}),
        payer=ISSUER,
    )
    for place, holder in enumerate(_HOLDERS, start=1):
        _associate(network, holder, COIN)
        moved = _units({ISSUER: -place * 1_000_00, holder: place * 1_000_00})
        _happen(network, "cryptoTransfer", {"tokenTransfers": [moved]}, moved=moved, payer=ISSUER)


def show_art(network: Composer, key: Key) -> None:
    """A collection of three pieces, one of which is given away."""
    _happen(
        network,
        "tokenCreation",
        {
            "name": "Demo Art",
            "symbol": "ART",
            "tokenType": "NON_FUNGIBLE_UNIQUE",
            "supplyType": "FINITE",
            "maxSupply": 10,
            "treasury": account(ARTIST),
            "supplyKey": key,
        },
        receipt={"tokenID": {"tokenNum": ART}},
        payer=ARTIST,
    )
    serials = [1, 2, 3]
    _happen(
        network,
        "tokenMint",
        {"token": {"tokenNum": ART}, "metadata": [f"piece {serial}".encode() for serial in serials]},
        receipt={"newTotalSupply": len(serials), "serialNumbers": serials},
        moved=_pieces(*({"receiverAccountID": account(ARTIST), "serialNumber": n} for n in serials)),
        payer=ARTIST,
    )
    _associate(network, SAVER, ART)
    given = _pieces(
        {"senderAccountID": account(ARTIST), "receiverAccountID": account(SAVER), "serialNumber": 2}
    )
    _happen(network, "cryptoTransfer", {"tokenTransfers": [given]}, moved=given, payer=ARTIST)


def talk(network: Composer, key: Key) -> None:
    """A topic with three messages."""
    topic = {"topicNum": TOPIC}
    body = {"memo": "Demo talk", "adminKey": key}
    _happen(network, "consensusCreateTopic", body, receipt={"topicID": topic}, payer=SPEAKER)
    running_hash = bytes(SHA_384_LENGTH)
    for number, text in enumerate(("Hello", "This is a topic", "Bye"), start=1):
        running_hash = sha384(running_hash + text.encode())
        _happen(
            network,
            "consensusSubmitMessage",
            {"topicID": topic, "message": text.encode()},
            receipt={
                "topicSequenceNumber": number,
                "topicRunningHash": running_hash,
                "topicRunningHashVersion": _RUNNING_HASH_VERSION,
            },
            payer=SPEAKER,
        )


def plan_ahead(network: Composer, key: Key) -> None:
    """A payment that is scheduled, signed and then executed; and an allowance of hbars."""
    schedule = {"scheduleNum": SCHEDULE}
    amount = 3 * HBAR
    planned = {"accountAmounts": _amounts({SAVER: -amount, SPEAKER: amount})}
    scheduled = {"cryptoTransfer": {"transfers": planned}, "memo": "Planned"}
    body = {"scheduledTransactionBody": scheduled, "adminKey": key, "memo": "Pay the speaker"}
    _happen(network, "scheduleCreate", body, receipt={"scheduleID": schedule}, payer=SPEAKER)
    valid_start = timestamp(network.consensus_timestamp)
    _happen(network, "scheduleSign", {"scheduleID": schedule}, payer=SAVER)
    execution = TransactionBody(cryptoTransfer={"transfers": planned}, memo="Planned")
    execution.transactionID.accountID.CopyFrom(account(SPEAKER))
    execution.transactionID.transactionValidStart.CopyFrom(valid_start)
    execution.transactionID.scheduled = True
    record = TransactionRecord(scheduleRef=schedule)
    network.transaction(execution, record, payer=SPEAKER, transfers={SAVER: -amount, SPEAKER: amount})
    granted = {"owner": account(SAVER), "spender": account(ISSUER), "amount": 5 * HBAR}
    _happen(network, "cryptoApproveAllowance", {"cryptoAllowances": [granted]}, payer=SAVER)


def _happen(
    network: Composer,
    kind: str,
    body: Mapping[str, Any],
    *,
    receipt: Mapping[str, Any] | None = None,
    moved: Mapping[str, Any] | None = None,
    payer: int,
) -> None:
    record = TransactionRecord(
        receipt=TransactionReceipt(**(receipt or {})), tokenTransferLists=[moved] if moved else []
    )
    network.transaction(TransactionBody(**{kind: body}), record, payer=payer)


def _associate(network: Composer, holder: int, token: int) -> None:
    body = {"account": account(holder), "tokens": [{"tokenNum": token}]}
    _happen(network, "tokenAssociate", body, payer=holder)


def _units(amounts: Mapping[int, int]) -> dict[str, Any]:
    return {"token": {"tokenNum": COIN}, "transfers": _amounts(amounts)}


def _pieces(*transfers: Mapping[str, Any]) -> dict[str, Any]:
    return {"token": {"tokenNum": ART}, "nftTransfers": transfers}


def _amounts(amounts: Mapping[int, int]) -> list[dict[str, Any]]:
    return [{"accountID": account(of), "amount": amount} for of, amount in amounts.items()]
