"""Records of each type of transaction, completed from outputs, traces and state changes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.stream.errors import StreamFileError
from mirror.core.values import alias
from mirror.core.values.entity_id import long_zero
from mirror.core.values.hapi.messages import Key, PendingAirdropId
from tests.ledger.stream.block.blocks import (
    ACCOUNTS,
    AIRDROPS,
    FAILED,
    FILES,
    NODES,
    OTHER,
    PAYER,
    REGISTERED_NODES,
    SUCCESS,
    TOKEN,
    TOKENS,
    BlockStream,
    items_of,
    supply,
    topic,
    update,
)


def test_created_entities_are_taken_from_the_state_last_one_first():
    stream = BlockStream()
    batch = [
        stream.signed("consensusCreateTopic"),
        stream.signed("consensusCreateTopic"),
        stream.signed("consensusCreateTopic"),
        stream.signed("tokenCreation"),
        stream.signed("fileCreate"),
        stream.signed("nodeCreate"),
    ]
    at = stream.happen(
        "atomic_batch",
        {"transactions": batch},
        changes=[
            topic(6002), topic(17), topic(6001), supply(0),
            update(FILES, {"file_id_key": {"fileNum": 7001}}, {"file_value": {}}),
            update(NODES, {"entity_number_key": {"value": 8}}, {"node_value": {"node_id": 8}}),
        ],
    )  # fmt: skip
    stream.happen("", inner=True, parent=at)
    stream.happen("", inner=True, parent=at, status=FAILED)
    for _ in range(4):
        stream.happen("", inner=True, parent=at)

    found = items_of(stream)

    receipts = [item.record.receipt for item in found]
    assert [receipt.topicID.topicNum for receipt in receipts] == [0, 6001, 0, 6002, 0, 0, 0]
    assert receipts[4].tokenID.tokenNum == 5001
    assert receipts[5].fileID.fileNum == 7001
    assert receipts[6].node_id == 8
    assert [item.parent for item in found[1:]] == [found[0]] * 6
    assert [item.body.WhichOneof("data") for item in found[4:]] == [
        "tokenCreation",
        "fileCreate",
        "nodeCreate",
    ]


def test_a_node_is_also_known_by_its_own_key():
    stream = BlockStream()
    stream.happen("nodeCreate", changes=[update(NODES, {"node_id_key": {"id": 9}}, {"node_value": {}})])

    assert items_of(stream)[0].record.receipt.node_id == 9


@pytest.mark.checklist("RGN-07")
def test_a_created_registered_node_is_found_by_its_entity_number():
    stream = BlockStream()
    inner = [stream.signed("registeredNodeCreate"), stream.signed("registeredNodeCreate")]
    at = stream.happen(
        "atomic_batch",
        {"transactions": inner},
        changes=[
            update(REGISTERED_NODES, {"entity_number_key": {"value": 17}}, {"registered_node_value": {}}),
            update(REGISTERED_NODES, {"entity_number_key": {"value": 16}}, {"registered_node_value": {}}),
            update(NODES, {"node_id_key": {"id": 99}}, {"node_value": {}}),
        ],
    )
    stream.happen("", inner=True, parent=at)
    stream.happen("", inner=True, parent=at)

    assert [item.record.receipt.registered_node_id for item in items_of(stream)] == [0, 16, 17]


def test_an_unchanged_entity_was_not_created():
    stream = BlockStream()
    same = topic(9000)
    same.map_update.identical = True
    stream.happen("consensusCreateTopic", changes=[topic(6001), same])

    assert items_of(stream)[0].record.receipt.topicID.topicNum == 6001


def test_the_supply_of_a_token_is_unwound():
    stream = BlockStream()
    inner = [
        stream.signed("tokenMint", {"token": TOKEN, "amount": 100}),
        stream.signed("tokenBurn", {"token": TOKEN, "amount": 30}),
        stream.signed("tokenWipe", {"token": TOKEN, "amount": 5}),
        stream.signed("tokenMint", {"token": TOKEN, "metadata": [b"1", b"2"]}),
    ]
    at = stream.happen("atomic_batch", {"transactions": inner}, changes=[supply(1067)])
    for _ in range(3):
        stream.happen("", inner=True, parent=at)
    nfts = [{"receiverAccountID": OTHER, "serialNumber": number} for number in (8, 7)]
    stream.happen(
        "", inner=True, parent=at, result={"token_transfer_lists": [{"token": TOKEN, "nftTransfers": nfts}]}
    )

    found = items_of(stream)

    assert [item.record.receipt.newTotalSupply for item in found] == [0, 1100, 1070, 1065, 1067]
    assert list(found[4].record.receipt.serialNumbers) == [7, 8]


def test_a_message_is_told_by_its_trace_else_by_the_topic():
    stream = BlockStream()
    message = {"topicID": {"topicNum": 6001}, "message": b"m"}
    inner = [stream.signed("consensusSubmitMessage", message)] * 2
    at = stream.happen("atomic_batch", {"transactions": inner}, changes=[topic(6001, 5, b"last")])
    trace = {"submit_message_trace_data": {"sequence_number": 4, "running_hash": b"before"}}
    stream.happen("", inner=True, parent=at, traces=[trace])
    stream.happen("", inner=True, parent=at)

    receipts = [item.record.receipt for item in items_of(stream)[1:]]

    assert [
        (receipt.topicSequenceNumber, receipt.topicRunningHash, receipt.topicRunningHashVersion)
        for receipt in receipts
    ] == [(4, b"before", 3), (5, b"last", 3)]


def test_outputs_tell_accounts_schedules_and_random_numbers():
    stream = BlockStream()
    scheduled = {"scheduled": True, "accountID": OTHER}
    schedule = {"schedule_id": {"scheduleNum": 9}, "scheduled_transaction_id": scheduled}
    stream.happen("cryptoCreateAccount", outputs=[{"account_create": {"created_account_id": OTHER}}])
    stream.happen("scheduleCreate", outputs=[{"create_schedule": schedule}])
    stream.happen("scheduleCreate", status=214, outputs=[{"create_schedule": schedule}])
    stream.happen("scheduleSign", outputs=[{"sign_schedule": {"scheduled_transaction_id": scheduled}}])
    stream.happen("util_prng", outputs=[{"util_prng": {"prng_bytes": b"r" * 48}}])
    stream.happen("util_prng", outputs=[{"util_prng": {"prng_number": 0}}])

    account, created, known, signed, random, number = (item.record for item in items_of(stream))

    assert account.receipt.accountID.accountNum == 1002
    for record in (created, known):
        assert record.receipt.scheduleID.scheduleNum == 9
        assert record.receipt.scheduledTransactionID.scheduled
    assert signed.receipt.scheduledTransactionID.accountID.accountNum == 1002
    assert random.prng_bytes == b"r" * 48
    assert number.WhichOneof("entropy") == "prng_number"


def test_a_key_as_alias_gives_an_account_its_address():
    key = Key(
        ECDSA_secp256k1=bytes.fromhex("03af80b90d25145da28c583359beb47b21796b2fe1a23c1511e443e7a64dfdb27d")
    )
    stream = BlockStream()
    stream.happen("cryptoCreateAccount", {"alias": key.SerializeToString()})
    stream.happen("cryptoCreateAccount", {"alias": b"a" * 20})

    by_key, by_address = items_of(stream)

    assert by_key.record.evm_address == alias.evm_address(key.SerializeToString())
    assert by_address.record.evm_address == b""


def test_an_updated_account_is_known_by_its_alias():
    stream = BlockStream()
    changed = update(ACCOUNTS, {}, {"account_value": {"account_id": OTHER, "alias": b"alias"}})
    stream.happen("cryptoUpdateAccount", {"accountIDToUpdate": {"alias": b"alias"}}, changes=[changed])
    stream.happen("cryptoUpdateAccount", {"accountIDToUpdate": {"accountNum": 5}})

    assert [item.record.receipt.accountID.accountNum for item in items_of(stream)] == [1002, 5]


@pytest.mark.parametrize("kind", ["contractUpdateInstance", "contractDeleteInstance"])
def test_an_updated_or_deleted_contract_is_known_by_its_address(kind):
    address = b"c" * 20
    stream = BlockStream()
    account = {"account_id": {"accountNum": 2002}, "alias": address, "smart_contract": True}
    changed = update(ACCOUNTS, {}, {"account_value": account})
    stream.happen(kind, {"contractID": {"evm_address": address}}, changes=[changed])
    stream.happen(kind, {"contractID": {"evm_address": long_zero(2003)}})
    stream.happen(kind, {"contractID": {"contractNum": 2004}})

    assert [item.record.receipt.contractID.contractNum for item in items_of(stream)] == [2002, 2003, 2004]


def test_airdrops_that_were_not_received_are_pending_and_their_amounts_unwound():
    def waiting(receiver):
        return {"sender_id": {"accountNum": PAYER}, "receiver_id": receiver, "fungible_token_type": TOKEN}

    amount = {"account_pending_airdrop_value": {"pending_airdrop_value": {"amount": 60}}}
    third = {"accountNum": 1003}
    first, second = (
        {
            "token": TOKEN,
            "transfers": [
                {"accountID": {"accountNum": PAYER}, "amount": -given - 1},
                {"accountID": OTHER, "amount": given},
                {"accountID": third, "amount": 1},
            ],
        }
        for given in (10, 20)
    )
    nft: dict[str, Any] = {
        "token": {"tokenNum": 5002},
        "nftTransfers": [
            {"senderAccountID": {"accountNum": PAYER}, "receiverAccountID": OTHER, "serialNumber": serial}
            for serial in (1, 2)
        ],
    }
    stream = BlockStream()
    inner = [
        stream.signed("tokenAirdrop", {"token_transfers": [first]}),
        stream.signed("tokenAirdrop", {"token_transfers": [second, nft]}),
    ]
    changes = [update(AIRDROPS, {"pending_airdrop_id_key": waiting(OTHER)}, amount)]
    at = stream.happen("atomic_batch", {"transactions": inner}, changes=changes)
    received = {"token": TOKEN, "transfers": [{"accountID": third, "amount": 1}]}
    nft_received = {"token": {"tokenNum": 5002}, "nftTransfers": nft["nftTransfers"][:1]}
    stream.happen("", inner=True, parent=at, result={"token_transfer_lists": [received]})
    stream.happen("", inner=True, parent=at, result={"token_transfer_lists": [received, nft_received]})

    _, one, two = (item.record.new_pending_airdrops for item in items_of(stream))

    assert [each.pending_airdrop_value.amount for each in one] == [40]
    assert one[0].pending_airdrop_id == PendingAirdropId(**waiting(OTHER))
    assert [each.pending_airdrop_value.amount for each in two] == [60, 0]
    assert two[1].pending_airdrop_id.non_fungible_token.serial_number == 2


def test_airdrops_that_are_claimed_or_cancelled_at_once_are_told_by_the_claim_or_by_themselves():
    sender, receiver = {"accountNum": PAYER}, OTHER
    pending = {"sender_id": sender, "receiver_id": receiver, "fungible_token_type": TOKEN}

    def dropped(amount: int) -> dict[str, Any]:
        amounts = [{"accountID": sender, "amount": -amount}, {"accountID": receiver, "amount": amount}]
        return {"token_transfers": [{"token": TOKEN, "transfers": amounts}]}

    ended = {"pending_airdrops": [pending]}
    batch = [
        ("tokenAirdrop", dropped(5)),
        ("tokenAirdrop", dropped(3)),
        ("tokenClaimAirdrop", ended),
        ("tokenAirdrop", dropped(7)),
        ("tokenCancelAirdrop", ended),
        ("tokenAirdrop", dropped(2)),
    ]
    claimed = {"token": TOKEN, "transfers": [{"accountID": receiver, "amount": 8}]}
    amount = {"account_pending_airdrop_value": {"pending_airdrop_value": {"amount": 2}}}
    stream = BlockStream()
    at = stream.happen(
        "atomic_batch",
        {"transactions": [stream.signed(kind, body) for kind, body in batch]},
        changes=[update(AIRDROPS, {"pending_airdrop_id_key": pending}, amount)],
    )
    for kind, _ in batch:
        result = {"token_transfer_lists": [claimed] if kind == "tokenClaimAirdrop" else []}
        stream.happen("", inner=True, parent=at, result=result)

    told = [
        each.pending_airdrop_value.amount
        for item in items_of(stream)
        for each in item.record.new_pending_airdrops
    ]
    assert told == [5, 8, 7, 2]


CREATIONS = {
    "consensusCreateTopic": topic,
    "tokenCreation": lambda number: update(
        TOKENS, {"token_id_key": {"tokenNum": number}}, {"token_value": {}}
    ),
    "fileCreate": lambda number: update(FILES, {"file_id_key": {"fileNum": number}}, {"file_value": {}}),
}


@given(
    wanted=st.lists(st.tuples(st.sampled_from(sorted(CREATIONS)), st.booleans()), max_size=12),
    order=st.randoms(use_true_random=False),
)
def test_each_creation_gets_the_entity_it_made(wanted, order):
    """Numbers are given in order; what failed made nothing; the state lists them, and older ones, anyhow."""
    stream = BlockStream()
    numbers, changes = [], [topic(17), supply(4)]
    for number, (kind, succeeds) in enumerate(wanted, start=6000):
        numbers.append(number if succeeds else 0)
        if succeeds:
            changes.append(CREATIONS[kind](number))
    order.shuffle(changes)
    batch = [stream.signed(kind) for kind, _ in wanted]
    at = stream.happen("atomic_batch", {"transactions": batch}, changes=changes)
    for _, succeeds in wanted:
        stream.happen("", inner=True, parent=at, status=SUCCESS if succeeds else FAILED)

    _, *receipts = (item.record.receipt for item in items_of(stream))

    assert [
        each.topicID.topicNum + each.tokenID.tokenNum + each.fileID.fileNum for each in receipts
    ] == numbers


@given(
    operations=st.lists(
        st.tuples(
            st.sampled_from(["tokenMint", "tokenBurn", "tokenWipe"]),
            st.integers(5001, 5003),
            st.integers(0, 1000),
            st.booleans(),
        ),
        max_size=15,
    )
)
def test_supplies_are_those_after_each_transaction(operations):
    stream = BlockStream()
    supplies = dict.fromkeys(range(5001, 5004), 10**6)
    batch, expected = [], []
    for kind, token, amount, succeeds in operations:
        batch.append(stream.signed(kind, {"token": {"tokenNum": token}, "amount": amount}))
        if succeeds:
            supplies[token] += amount if kind == "tokenMint" else -amount
        expected.append(supplies[token] if succeeds else 0)
    changes = [
        update(TOKENS, {"token_id_key": {"tokenNum": token}}, {"token_value": {"total_supply": total}})
        for token, total in supplies.items()
    ]
    at = stream.happen("atomic_batch", {"transactions": batch}, changes=changes)
    for *_, succeeds in operations:
        stream.happen("", inner=True, parent=at, status=SUCCESS if succeeds else FAILED)

    _, *receipts = (item.record.receipt for item in items_of(stream))

    assert [receipt.newTotalSupply for receipt in receipts] == expected


def test_a_total_that_cannot_be_is_an_error_of_the_file():
    stream = BlockStream()
    stream.happen("tokenBurn", {"token": TOKEN, "amount": 1}, changes=[supply(-1)])

    with pytest.raises(StreamFileError, match="transaction 0 of the file is unusable"):
        items_of(stream)


def of_id(nonce: int, seconds: int = 1) -> dict[str, Any]:
    """The parts of a transaction that has an id with this nonce."""
    start = {"seconds": seconds}
    return {"transactionID": {"accountID": OTHER, "transactionValidStart": start, "nonce": nonce}}


def test_children_that_are_told_before_their_parent_share_its_state():
    stream = BlockStream(first_block=3)
    named = update(
        ACCOUNTS, {"account_id_key": OTHER}, {"account_value": {"account_id": OTHER, "alias": b"a" * 20}}
    )
    completed = {"accountIDToUpdate": {"alias": b"a" * 20}}
    stream.happen("cryptoUpdateAccount", completed, whole=of_id(1, 0), changes=[topic(6001)])
    stream.happen("consensusCreateTopic", whole=of_id(1))
    stream.happen("cryptoUpdateAccount", completed, whole=of_id(2))
    at = stream.happen("cryptoTransfer", whole=of_id(0), changes=[named, topic(6002), topic(6003)])
    stream.happen("consensusCreateTopic", whole=of_id(3), parent=at)
    stream.happen("cryptoUpdateAccount", completed, whole=of_id(4))

    found = items_of(stream)

    # The first is of another transaction, and the last comes after the one that its id names.
    changed = [found[index].record.receipt.accountID for index in (0, 2, 5)]
    assert [account.accountNum for account in changed] == [0, OTHER["accountNum"], 0]
    assert [found[index].record.receipt.topicID.topicNum for index in (1, 4)] == [6002, 6003]


def test_transactions_of_one_id_without_the_one_that_it_names_have_states_of_their_own():
    stream = BlockStream(first_block=3)
    for nonce, number in ((1, 6009), (2, 6001), (3, 6005)):
        stream.happen("consensusCreateTopic", whole=of_id(nonce), changes=[topic(number)])
    stream.happen("cryptoTransfer")

    found = items_of(stream)

    assert [item.record.receipt.topicID.topicNum for item in found] == [6009, 6001, 6005, 0]
