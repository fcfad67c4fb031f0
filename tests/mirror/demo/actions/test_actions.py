"""Actions of people and administrators: all happen, reproducibly, and all hbars are accounted for."""

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, encode_dss_signature

from mirror.core.values import timestamp
from mirror.core.values.hapi import result_codes
from mirror.core.values.hapi.messages import SignedTransaction, Transaction
from mirror.core.values.hashes import keccak256
from mirror.demo.actions import genesis
from mirror.demo.streams.record_files import STAKING_REWARDS, SUCCESS
from tests.mirror.demo.lives import ACTIONS, HOUR, items, life, play

INNER_TRANSACTION_FAILED = result_codes.NUMBERS["INNER_TRANSACTION_FAILED"]
# The fields of TransactionBody that these actions use.
KINDS = {
    "atomic_batch",
    "consensusCreateTopic",
    "consensusDeleteTopic",
    "consensusSubmitMessage",
    "consensusUpdateTopic",
    "crs_publication",
    "cryptoAddLiveHash",
    "cryptoCreateAccount",
    "cryptoDelete",
    "cryptoDeleteLiveHash",
    "cryptoTransfer",
    "cryptoUpdateAccount",
    "fileAppend",
    "fileCreate",
    "fileDelete",
    "fileUpdate",
    "freeze",
    "hints_key_publication",
    "hints_partial_signature",
    "hints_preprocessing_vote",
    "history_proof_key_publication",
    "history_proof_signature",
    "history_proof_vote",
    "migration_root_hash_vote",
    "nodeCreate",
    "nodeDelete",
    "nodeUpdate",
    "node_stake_update",
    "registeredNodeCreate",
    "registeredNodeDelete",
    "registeredNodeUpdate",
    "scheduleCreate",
    "scheduleDelete",
    "scheduleSign",
    "state_signature_transaction",
    "systemDelete",
    "systemUndelete",
    "uncheckedSubmit",
    "util_prng",
}


@pytest.mark.parametrize("seed", range(2))
def test_everything_happens_within_2000_transactions(seed: int) -> None:
    network, _ = life(seed, blocks=20, transactions=95)

    assert network.counts.total() < 2_100
    assert {action.perform for action in ACTIONS} == set(network.performed)
    assert not KINDS - set(network.counts)


@pytest.mark.parametrize("seed", range(3))
def test_all_hbars_are_accounted_for(seed: int) -> None:
    for network, _ in play(seed, blocks=40, transactions=40, pause=2 * HOUR):
        balances = [one.balance for one in network.world.accounts.values()]
        assert sum(balances) == genesis.SUPPLY
        assert min(balances) >= 0
        assert all(one.balance == 0 for one in network.world.accounts.values() if one.deleted)


def test_staking_rewards_are_paid_when_a_balance_moves() -> None:
    network, blocks = life(seed=1, blocks=40, transactions=20, pause=2 * HOUR)

    paid = [item for item in items(blocks) if item.record.paid_staking_rewards]
    amounts = [reward.amount for item in paid for reward in item.record.paid_staking_rewards]
    taken = [
        -each.amount
        for item in paid
        for each in item.record.transferList.accountAmounts
        if each.accountID.accountNum == STAKING_REWARDS
    ]
    assert len(network.world.staking.updates) == 4
    assert amounts and min(amounts) > 0
    assert sum(amounts) == sum(taken)


def test_a_batch_holds_the_bodies_of_the_transactions_that_follow_it() -> None:
    _, blocks = life(seed=2, blocks=10, transactions=100)

    found = items(blocks)
    batches = 0
    for place, item in enumerate(found):
        held = [SignedTransaction.FromString(each).bodyBytes for each in item.body.atomic_batch.transactions]
        if item.record.receipt.status in (SUCCESS, INNER_TRANSACTION_FAILED) and held:
            batches += 1
            following = found[place + 1 : place + 1 + len(held)]
            assert held == [each.body.SerializeToString() for each in following]
            parents = {timestamp.to_ns(each.record.parent_consensus_timestamp) for each in following}
            assert parents == {item.consensus_timestamp}
    assert batches > 5


def test_signatures_of_schedules_are_real() -> None:
    _, blocks = life(seed=2, blocks=10, transactions=100)

    verified = 0
    for item in items(blocks):
        signed = SignedTransaction.FromString(
            Transaction.FromString(item.transaction_bytes).signedTransactionBytes
        )
        for pair in signed.sigMap.sigPair:
            verified += 1
            if pair.ed25519:
                Ed25519PublicKey.from_public_bytes(pair.pubKeyPrefix).verify(pair.ed25519, signed.bodyBytes)
            else:
                digest = keccak256(signed.bodyBytes)
                r, s = pair.ECDSA_secp256k1[:32], pair.ECDSA_secp256k1[32:]
                der = encode_dss_signature(int.from_bytes(r), int.from_bytes(s))
                key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256K1(), pair.pubKeyPrefix)
                # Keccak-256 is not among the hashes of the library; SHA-256 has the same length.
                key.verify(der, digest, ec.ECDSA(Prehashed(hashes.SHA256())))
    assert verified > 10
