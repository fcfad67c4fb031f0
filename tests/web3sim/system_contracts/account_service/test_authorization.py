"""Signatures of accounts."""

import pytest

from mirror.core.values.hapi.messages import ContractID, Key, KeyList, SignatureMap, ThresholdKey
from mirror.core.values.hashes import keccak256
from mirror.demo.streams.keys import EcdsaWallet, Ed25519Wallet
from tests.web3sim.state.states import current, long_zero
from tests.web3sim.system_contracts.account_service.accounts import (
    ADDRESS,
    CODES,
    NOBODY,
    SERVICE,
    UNKNOWN,
    ask,
    people,
    scripted,
    step,
)
from tests.web3sim.system_contracts.calls import data_of, run, words
from web3sim.engine.interface import Halt, Status
from web3sim.operations.signatures import is_signed, signatures_of

RAW, MAPPED = "isAuthorizedRaw(address,bytes,bytes)", "isAuthorized(address,bytes,bytes)"
ED25519, ECDSA, OTHER = Ed25519Wallet("one"), EcdsaWallet("two"), EcdsaWallet("three")
MESSAGE, DIGEST = b"I will pay", keccak256(b"I will pay")
OF_ED25519, OF_ECDSA, KEYLESS, OF_LIST, OF_TWO, OF_CONTRACT, OF_NOTHING = range(2101, 2108)
CONTRACT_KEY = Key(contractID=ContractID(contractNum=5001))


@pytest.fixture
def ledger(build):
    people(build)
    both = [Key.FromString(ED25519.key), Key.FromString(ECDSA.key)]
    threshold = ThresholdKey(threshold=2, keys=KeyList(keys=[*both, CONTRACT_KEY]))
    build.entity(OF_ED25519, key=ED25519.key)
    build.entity(OF_ECDSA, key=ECDSA.key, evm_address=ECDSA.evm_address)
    build.entity(KEYLESS, evm_address=OTHER.evm_address)
    build.entity(OF_LIST, key=Key(keyList=KeyList(keys=both)).SerializeToString())
    build.entity(OF_TWO, key=Key(thresholdKey=threshold).SerializeToString())
    build.entity(OF_CONTRACT, key=CONTRACT_KEY.SerializeToString())
    build.entity(OF_NOTHING, key=b"\xff")
    return build


def ed25519_signature(message=MESSAGE):
    return ED25519.signatures(message).sigPair[0].ed25519


def ecdsa_signature(wallet=ECDSA, digest=DIGEST, chain_id=None, first=27):
    parity, r, s = wallet.sign(digest)
    v = first + parity if chain_id is None else 35 + 2 * chain_id + parity
    return words(r, s) + v.to_bytes(max((v.bit_length() + 7) // 8, 1))


# ONE SIGNATURE


@pytest.mark.parametrize(
    ("account", "message", "signature", "authorized"),
    [
        (long_zero(OF_ED25519), DIGEST, ed25519_signature(DIGEST), True),
        (long_zero(OF_ED25519), keccak256(b"I won't pay"), ed25519_signature(DIGEST), False),
        (long_zero(OF_ED25519), DIGEST, bytes(64), False),
        (ECDSA.evm_address, DIGEST, ecdsa_signature(), True),
        (ECDSA.evm_address, DIGEST, ecdsa_signature(first=0), True),
        *(
            (ECDSA.evm_address, DIGEST, ecdsa_signature(chain_id=chain_id), True)
            for chain_id in (0, 1, 295, 2**40)
        ),
        (ECDSA.evm_address, keccak256(b"other"), ecdsa_signature(), False),
        (ECDSA.evm_address, DIGEST, ecdsa_signature(OTHER), False),
        # What follows the signature does not count.
        (ECDSA.evm_address, DIGEST, ecdsa_signature()[:64] + b"\x05", True),
        (ECDSA.evm_address, DIGEST, bytes(64) + b"\x1b", False),
        (ECDSA.evm_address, DIGEST, b"\xff" * 72, False),
        # The key of the account counts, not the one that its address follows from.
        (OTHER.evm_address, DIGEST, ecdsa_signature(OTHER), False),
    ],
)
def test_a_signature_is_verified(ledger, account, message, signature, authorized):
    result = ask(RAW, account, message, signature)
    assert (result.status, result.output) == (Status.SUCCESS, words(authorized))
    assert result.execution_gas == 3_000
    assert ask(RAW, account, message, signature, static=True).halt is Halt.PRECOMPILE


def test_ed25519_signs_a_hash_of_32_bytes(ledger):
    assert ask(RAW, long_zero(OF_ED25519), MESSAGE, ed25519_signature()).halt is Halt.PRECOMPILE


INVALID_BODY = "INVALID_TRANSACTION_BODY"


@pytest.mark.parametrize(
    ("account", "message", "signature", "code"),
    [
        *((long_zero(OF_ED25519), MESSAGE, bytes(length), INVALID_BODY) for length in (0, 1, 63, 73, 200)),
        *((ECDSA.evm_address, bytes(length), ecdsa_signature(), INVALID_BODY) for length in (0, 31, 33)),
        # Before the account is looked for.
        (UNKNOWN, b"", ecdsa_signature(), INVALID_BODY),
        *((account, DIGEST, ecdsa_signature(), "INVALID_ACCOUNT_ID") for account in (UNKNOWN, NOBODY)),
        (long_zero(OF_ED25519), DIGEST, ecdsa_signature(), "INVALID_ACCOUNT_ID"),
        (UNKNOWN, MESSAGE, ed25519_signature(), "INVALID_ACCOUNT_ID"),
        (OTHER.evm_address, MESSAGE, ed25519_signature(), INVALID_BODY),
        *((long_zero(number), MESSAGE, ed25519_signature(), INVALID_BODY) for number in (OF_LIST, OF_TWO)),
        (long_zero(OF_NOTHING), MESSAGE, ed25519_signature(), INVALID_BODY),
        *(
            (account, MESSAGE, ed25519_signature(), "INVALID_SIGNATURE_TYPE_MISMATCHING_KEY")
            for account in (ECDSA.evm_address, long_zero(OF_CONTRACT))
        ),
    ],
)
def test_what_can_not_be_verified_reverts(ledger, account, message, signature, code):
    result = ask(RAW, account, message, signature)
    assert (result.status, result.output, result.child_failures) == (Status.REVERT, code.encode(), (code,))


# A MAP OF SIGNATURES


def pairs(*maps):
    return SignatureMap(sigPair=[pair for each in maps for pair in each.sigPair]).SerializeToString()


def with_prefix(signatures, length):
    (pair,) = signatures.sigPair
    pair.pubKeyPrefix = pair.pubKeyPrefix[:length]
    return signatures


BY_ED25519, BY_ECDSA = ED25519.signatures(MESSAGE), ECDSA.signatures(MESSAGE)
WITH_RECOVERY_ID = SignatureMap(
    sigPair=[{"pubKeyPrefix": ECDSA.public, "ECDSA_secp256k1": BY_ECDSA.sigPair[0].ECDSA_secp256k1 + b"\x1c"}]
)
MISLED = SignatureMap(sigPair=[{"pubKeyPrefix": ED25519.public[:3], "ed25519": bytes(64)}])


def test_a_map_of_many_signatures_is_looked_through_once(ledger):
    """Each member of a key looked through all of them."""
    others = [{"pubKeyPrefix": n.to_bytes(33, "big"), "ed25519": bytes(64)} for n in range(1_000)]
    signatures = SignatureMap(sigPair=[*others, *BY_ED25519.sigPair, *BY_ECDSA.sigPair])
    looked_at = []

    class Pair:
        def __init__(self, pair):
            self._pair = pair

        def __getattr__(self, name):
            looked_at.append(name)
            return getattr(self._pair, name)

    found = signatures_of(map(Pair, signatures.sigPair))
    key = Key(keyList={"keys": [Key.FromString(wallet.key) for wallet in (ED25519, ECDSA)] * 50})
    assert is_signed(key, MESSAGE, DIGEST, found)
    assert len(looked_at) == 3 * len(signatures.sigPair)
    assert is_signed(key, MESSAGE, DIGEST, signatures_of(BY_ED25519.sigPair)) is False


@pytest.mark.parametrize(
    ("account", "signatures", "authorized", "gas"),
    [
        (long_zero(OF_ED25519), pairs(BY_ED25519), True, 3_000),
        (long_zero(OF_ED25519), pairs(BY_ECDSA), False, 3_000),
        (long_zero(OF_ED25519), pairs(ED25519.signatures(b"another")), False, 3_000),
        (long_zero(OF_ED25519), pairs(with_prefix(ED25519.signatures(MESSAGE), 4)), True, 3_000),
        # The longest prefix counts.
        (long_zero(OF_ED25519), pairs(MISLED, BY_ED25519), True, 3_000),
        (long_zero(OF_ED25519), pairs(MISLED, with_prefix(ED25519.signatures(MESSAGE), 2)), False, 3_000),
        (long_zero(OF_ED25519), b"", False, 3_000),
        (ECDSA.evm_address, pairs(BY_ECDSA), True, 3_000),
        (ECDSA.evm_address, pairs(WITH_RECOVERY_ID), True, 3_000),
        (ECDSA.evm_address, pairs(OTHER.signatures(MESSAGE)), False, 3_000),
        (long_zero(OF_LIST), pairs(BY_ED25519, BY_ECDSA), True, 6_000),
        (long_zero(OF_LIST), pairs(BY_ED25519), False, 6_000),
        (long_zero(OF_TWO), pairs(BY_ECDSA, BY_ED25519), True, 6_000),
        (long_zero(OF_TWO), pairs(BY_ECDSA), False, 6_000),
        # A contract signs nothing.
        (long_zero(OF_CONTRACT), pairs(BY_ED25519), False, 0),
    ],
)
def test_all_signatures_of_a_key_are_verified(ledger, account, signatures, authorized, gas):
    result = ask(MAPPED, account, MESSAGE, signatures)
    assert (result.status, result.output) == (Status.SUCCESS, words(22, authorized))
    assert result.execution_gas == gas


@pytest.mark.parametrize(
    ("account", "signatures", "code"),
    [
        (UNKNOWN, b"", "INVALID_ACCOUNT_ID"),
        (long_zero(OF_ECDSA), b"", "INVALID_ACCOUNT_ID"),
        (OTHER.evm_address, b"", INVALID_BODY),
        (long_zero(OF_NOTHING), b"", INVALID_BODY),
        (long_zero(OF_ED25519), b"\xff", INVALID_BODY),
        # A field that a SignatureMap does not have.
        (long_zero(OF_ED25519), bytes([0x50, 1]), INVALID_BODY),
    ],
)
def test_a_map_that_can_not_be_verified_is_answered_with_a_code(ledger, account, signatures, code):
    result = ask(MAPPED, account, MESSAGE, signatures, gas=100_000)
    assert (result.status, result.child_failures) == (Status.SUCCESS, (code,))
    assert (result.output, result.gas_used) == (words(CODES[code], 0), 100_000)


def test_contract_reads_who_has_signed(ledger):
    found = scripted(
        ledger,
        step(RAW, ECDSA.evm_address, DIGEST, ecdsa_signature()),
        step(MAPPED, long_zero(OF_ED25519), MESSAGE, pairs(BY_ED25519)),
        step(RAW, ADDRESS, b"", b""),
    )
    assert found == [(True, words(1)), (True, words(22, 1)), (False, b"")]


@pytest.mark.parametrize("signature", [RAW, MAPPED])
def test_arguments_that_can_not_be_read_halt(ledger, signature):
    for arguments in ((), (ADDRESS, 96), (ADDRESS, 1 << 200, 96)):
        assert run(current(), SERVICE, data_of(signature, *arguments)).halt is Halt.PRECOMPILE
