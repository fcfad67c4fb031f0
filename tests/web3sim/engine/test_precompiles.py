"""The precompiled contracts beside those of the EVM library, which are slow and taken as right."""

import hashlib
import random
from pathlib import Path
from typing import Any

import ckzg
import eth
import pytest
from bitcurve import PrivateKey
from eth.vm.forks.cancun.computation import CANCUN_PRECOMPILES
from py_ecc import optimized_bn128

from mirror.core.values.hashes import keccak256
from tests.web3sim.engine.world import BLOCK, SENDER, World, long_zero
from web3sim.engine.computation import EngineComputation
from web3sim.engine.interface import CallRequest, CallResult, Halt, Profile, Status
from web3sim.engine.pyevm import PlainEngine

ECRECOVER, SHA256, RIPEMD160, IDENTITY, MODEXP, ADD, MULTIPLY, PAIRING, BLAKE2F, KZG = range(1, 11)
# Its names are not declared.
bn128: Any = optimized_bn128
FIELD: int = bn128.field_modulus
SECP256K1_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


class LibraryComputation(EngineComputation):
    _precompiles = CANCUN_PRECOMPILES


class LibraryEngine(PlainEngine):
    computations = {Profile.ETHEREUM: LibraryComputation}


def answer(
    number: int, data: bytes, *, gas: int = 10_000_000, engine: PlainEngine | None = None
) -> CallResult:
    request = CallRequest(SENDER, long_zero(number), data, gas, profile=Profile.ETHEREUM)
    return (engine or PlainEngine()).execute(request, BLOCK, World())


def same_as_the_library(number: int, data: bytes) -> CallResult:
    ours, librarys = answer(number, data), answer(number, data, engine=LibraryEngine())
    assert (ours.status, ours.output, ours.gas_used) == (librarys.status, librarys.output, librarys.gas_used)
    return ours


def words(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(32, "big") for number in numbers)


def g1(factor: int) -> bytes:
    x, y = bn128.normalize(bn128.multiply(bn128.G1, factor))
    return words(x.n, y.n)


def g2(factor: int) -> bytes:
    x, y = bn128.normalize(bn128.multiply(bn128.G2, factor))
    return words(x.coeffs[1], x.coeffs[0], y.coeffs[1], y.coeffs[0])


def signature(*, digest: bytes = bytes([5]) * 32) -> tuple[bytes, bytes, int, int, int]:
    key = PrivateKey(bytes([9]) * 32)
    signed = key.sign_recoverable(digest, hasher=None)
    r, s = int.from_bytes(signed[:32], "big"), int.from_bytes(signed[32:64], "big")
    return key.public_key.format(compressed=False)[1:], digest, signed[64] + 27, r, s


def test_signature_recovers_its_address():
    key, digest, v, r, s = signature()

    result = same_as_the_library(ECRECOVER, digest + words(v, r, s))

    assert result.output == keccak256(key)[12:].rjust(32, b"\0")
    assert result.execution_gas == 3_000


def test_a_signature_with_a_high_s_is_as_good():
    _, digest, v, r, s = signature()

    assert same_as_the_library(ECRECOVER, digest + words(55 - v, r, SECP256K1_ORDER - s)).output != b""


@pytest.mark.parametrize(
    ("v", "r", "s"),
    [(26, 1, 1), (29, 1, 1), (2**255 + 27, 1, 1), (27, 0, 1), (27, 1, 0), (27, SECP256K1_ORDER, 1)]
    + [(27, 1, SECP256K1_ORDER), (27, 5, 1), (28, 2**256 - 1, 2**256 - 1)],
)
def test_bad_signature_recovers_no_address(v, r, s):
    result = answer(ECRECOVER, bytes(32) + words(v, r, s))

    assert (result.status, result.output) == (Status.SUCCESS, b"")
    assert answer(ECRECOVER, b"").output == b""


@pytest.mark.parametrize("number", [SHA256, IDENTITY])
@pytest.mark.parametrize("size", [0, 1, 32, 33, 1_000])
def test_hashes_and_copies_cost_by_the_word(number, size):
    same_as_the_library(number, bytes(range(256)) * 4 if size == 1_000 else bytes(size))


@pytest.mark.parametrize(
    ("data", "digest", "gas"),
    [
        (b"", "9c1185a5c5e9fc54612808977ee8f548b2258d31", 600),
        (b"abc", "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc", 720),
    ],
)
def test_ripemd_160_needs_nothing_of_the_system(data, digest, gas):
    result = answer(RIPEMD160, data)

    assert (result.output.hex(), result.execution_gas) == (digest.rjust(64, "0"), gas)


def _powers():
    choose = random.Random(160)
    for _ in range(150):
        sizes = [choose.choice([1, 2, 31, 32, 33, 64, 100]) for _ in range(3)]
        body = choose.randbytes(sum(sizes))
        yield words(*sizes) + body[: choose.choice([len(body), len(body), choose.randrange(len(body))])]
    for sizes in (
        [1, 0, 1],
        [1, 1, 0],
        [0, 0, 0],
        [4, 2**200, 0],
        [2**200, 1, 1],
        [1, 1, 2**200],
        [1, 33, 1],
    ):
        yield words(*sizes) + b"\x03\x05\x07"
    yield words(1, 32, 32) + b"\x03" + b"\xff" * 64
    yield b"\x01"


def test_modular_powers_are_the_librarys():
    for data in _powers():
        same_as_the_library(MODEXP, data)


@pytest.mark.parametrize(
    ("data", "output"),
    [
        (words(0, 0, 1) + b"\x05", b"\x01"),
        (words(0, 1, 1) + b"\x02\x05", b"\x00"),
        (words(0, 0, 1) + b"\x01", b"\x00"),
        (words(0, 2**200, 0), b""),
    ],
    ids=["nothing to the power of nothing", "nothing squared", "modulo one", "no length"],
)
def test_a_power_without_a_base_is_that_of_zero(data, output):
    assert answer(MODEXP, data).output == output


def test_curve_points_are_added_and_multiplied_as_by_the_library():
    choose = random.Random(6)
    for _ in range(8):
        a, b = choose.randrange(1, 2**100), choose.randrange(1, 2**100)
        assert same_as_the_library(ADD, g1(a) + g1(b)).output == g1(a + b)
        assert same_as_the_library(MULTIPLY, g1(a) + words(b)).output == g1(a * b)


@pytest.mark.parametrize("number", [ADD, MULTIPLY])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes(128),
        g1(1),
        g1(1)[:63],
        g1(2) + g1(2),
        g1(1) + words(1, FIELD - 2),
        g1(1) + b"\x01",
        g1(1) + words(2**256 - 1),
        g1(1) + words(1, 2) + b"more",
        words(1, 1),
        words(FIELD, 2),
        words(FIELD + 1, 2),
        words(0, FIELD),
        words(2**256 - 1, 2**256 - 1) * 2,
    ],
    ids=range(14),
)
def test_odd_curve_points_are_taken_or_refused_as_by_the_library(number, data):
    same_as_the_library(number, data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        g1(2) + g2(3) + g1(FIELD) + g2(1),
        g1(6)
        + g2(1)
        + words(*(int.from_bytes(g1(2)[:32], "big"), FIELD - int.from_bytes(g1(2)[32:], "big")))
        + g2(3),
        bytes(192),
        bytes(191),
        g1(1) + bytes(128),
        bytes(64) + g2(1),
        words(1, 1) + g2(1),
        g1(1) + words(FIELD, 1, 1, 1),
        g1(1) + words(1, 2, 3, 4),
        bytes(64) + words(1, 2, 3, 4),
    ],
    ids=range(11),
)
def test_pairings_are_checked_or_refused_as_by_the_library(data):
    same_as_the_library(PAIRING, data)


@pytest.mark.parametrize(("number", "point"), [(ADD, g1(3) + g1(5)), (MULTIPLY, g1(3) + words(9))])
def test_data_behind_curve_points_does_not_count(number, point):
    found = same_as_the_library(number, point + b"\1" * 1000)
    assert found.output == same_as_the_library(number, point).output != b""


def test_a_point_outside_of_the_subgroup_is_refused_in_a_pairing():
    # On the twisted curve, of another order: x = 1, found by taking the root of x³ + b.
    b2 = bn128.b2
    x = bn128.FQ2([1, 0])
    root = (x * x * x + b2) ** ((FIELD**2 + 15) // 32)
    for _ in range(32):
        if root * root == x * x * x + b2:
            break
        x = x + bn128.FQ2([1, 0])
        root = (x * x * x + b2) ** ((FIELD**2 + 15) // 32)
    else:
        pytest.skip("There is no such point among the first.")
    point = words(x.coeffs[1], x.coeffs[0], root.coeffs[1], root.coeffs[0])

    assert same_as_the_library(PAIRING, g1(1) + point).halt is Halt.PRECOMPILE


@pytest.mark.parametrize("rounds", [0, 1, 12, 300, 1_201])
@pytest.mark.parametrize("final", [0, 1])
def test_blake2_is_the_librarys(rounds, final):
    body = random.Random(rounds).randbytes(64 + 128 + 16)

    result = same_as_the_library(BLAKE2F, rounds.to_bytes(4, "big") + body + bytes([final]))

    assert result.execution_gas == rounds


@pytest.mark.parametrize("data", [b"", bytes(212), bytes(214), bytes(212) + b"\x02"], ids=range(4))
def test_blake2_refuses_what_the_library_refuses(data):
    assert same_as_the_library(BLAKE2F, data).status is Status.HALT


@pytest.fixture(scope="module")
def proven() -> bytes:
    """A commitment to a polynomial, and the proof of its value at 7."""
    setup = ckzg.load_trusted_setup(str(Path(eth.__path__[0], "_utils", "kzg_trusted_setup.txt")), 0)
    blob = b"".join(words(number) for number in range(4096))
    commitment, z = ckzg.blob_to_kzg_commitment(blob, setup), words(7)
    proof, y = ckzg.compute_kzg_proof(blob, z, setup)
    proven: bytes = b"\x01" + hashlib.sha256(commitment).digest()[1:] + z + y + commitment + proof
    return proven


def test_the_value_of_a_committed_polynomial_is_verified(proven):
    result = answer(KZG, proven)

    assert result.output.hex() == (
        "0000000000000000000000000000000000000000000000000000000000001000"
        "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001"
    )
    assert result.execution_gas == 50_000


@pytest.mark.parametrize("place", [0, 31, 63, 95, 100, 150], ids=str)
def test_a_wrong_value_of_a_polynomial_is_refused(proven, place):
    wrong = bytearray(proven)
    wrong[place] ^= 1

    assert answer(KZG, bytes(wrong)).halt is Halt.PRECOMPILE
    assert answer(KZG, proven[:-1]).halt is Halt.PRECOMPILE


@pytest.mark.parametrize("number", [1, 2, 3, 4, 6, 7, 8, 9, 10])
def test_a_precompiled_contract_that_is_not_paid_halts(number):
    data = bytes(3) + b"\x09" + bytes(209) if number == BLAKE2F else b""
    paid = answer(number, data)
    intrinsic = paid.intrinsic_gas
    price = 9 if number == BLAKE2F else paid.execution_gas if paid.halt is None else 50_000

    assert answer(number, data, gas=intrinsic + price - 1).halt is Halt.OUT_OF_GAS
