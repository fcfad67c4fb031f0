"""The precompiled contracts of BLS12-381 (EIP-2537)."""

from typing import Any

import pytest
from eth.exceptions import VMError
from eth.precompiles.bls12_381 import bls12_381_g1, bls12_381_g2
from eth.precompiles.bls12_381.bls12_381_pairing import bls12_pairing_check

from tests.web3sim.engine.world import BLOCK, ENGINES, SENDER, World, long_zero
from web3sim.engine.interface import AccountRecord, CallRequest, CallResult, Halt, Status
from web3sim.engine.ledger.intrinsic_gas import intrinsic_gas
from web3sim.engine.versions import V070

MODULUS = 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB
G1_ADD, G1_MSM, G2_ADD, G2_MSM, PAIRING, MAP_TO_G1, MAP_TO_G2 = range(0x0B, 0x12)


def coordinates(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(64) for number in numbers)


G1 = coordinates(
    0x17F1D3A73197D7942695638C4FA9AC0FC3688C4F9774B905A14E3A3F171BAC586C55E83FF97A1AEFFB3AF00ADB22C6BB,
    0x08B3F481E3AAA0F1A09E30ED741D8AE4FCF5E095D5D00AF600DB18CB2C04B3EDD03CC744A2888AE40CAA232946C5E7E1,
)
G1_TWICE = coordinates(
    0x0572CBEA904D67468808C8EB50A9450C9721DB309128012543902D0AC358A62AE28F75BB8F1C7C42C39A8C5529BF0F4E,
    0x166A9D8CABC673A322FDA673779D8E3822BA3ECB8670E461F73BB9021D5FD76A4C56D9D4CD16BD1BBA86881979749D28,
)
G1_NEGATIVE = G1[:64] + coordinates(MODULUS - int.from_bytes(G1[64:]))
G2 = coordinates(
    0x024AA2B2F08F0A91260805272DC51051C6E47AD4FA403B02B4510B647AE3D1770BAC0326A805BBEFD48056C8C121BDB8,
    0x13E02B6052719F607DACD3A088274F65596BD0D09920B61AB5DA61BBDC7F5049334CF11213945D57E5AC7D055D042B7E,
    0x0CE5D527727D6E118CC9CDC6DA2E351AADFD9BAA8CBDD3A76D429A695160D12C923AC9CC3BACA289E193548608B82801,
    0x0606C4A02EA734CC32ACD2B02BC28B99CB3E287E85A763AF267492AB572E99AB3F370D275CEC1DA1AAA9075FF05F79BE,
)
G2_TWICE = coordinates(
    0x1638533957D540A9D2370F17CC7ED5863BC0B995B8825E0EE1EA1E1E4D00DBAE81F14B0BF3611B78C952AACAB827A053,
    0x0A4EDEF9C1ED7F729F520E47730A124FD70662A904BA1074728114D1031E1572C6C886F6B57EC72A6178288C47C33577,
    0x0468FB440D82B0630AEB8DCA2B5256789A66DA69BF91009CBFE6BD221E47AA8AE88DECE9764BF3BD999D95D71E4C9899,
    0x0F6D4552FA65DD2638B361543F887136A43253D9C66C411697003F7A13C308F5422E1AA0A59C8967ACDEFD8B6E36CCF3,
)
# On the curve, outside of the subgroup.
OUTSIDE = coordinates(4, pow(4**3 + 4, (MODULUS + 1) // 4, MODULUS))
INFINITY_1, INFINITY_2 = bytes(128), bytes(256)
ONE, TWO, THREE = (number.to_bytes(32) for number in (1, 2, 3))

CASES = {
    "double": (G1_ADD, G1 * 2, G1_TWICE, 375),
    "add infinity": (G1_ADD, G1 + INFINITY_1, G1, 375),
    "add the negative": (G1_ADD, G1 + G1_NEGATIVE, INFINITY_1, 375),
    "multiply": (G1_MSM, G1 + TWO, G1_TWICE, 12_000),
    "multiply and add": (G1_MSM, G1_TWICE + TWO + G1_NEGATIVE + TWO, G1_TWICE, 2 * 12_000 * 949 // 1_000),
    "multiply by zero": (G1_MSM, G1 + bytes(32), INFINITY_1, 12_000),
    "129 multiplications": (G1_MSM, (INFINITY_1 + THREE) * 129, INFINITY_1, 129 * 12_000 * 519 // 1_000),
    "double in G2": (G2_ADD, G2 * 2, G2_TWICE, 600),
    "multiply in G2": (G2_MSM, G2 + TWO, G2_TWICE, 22_500),
    "two in G2": (G2_MSM, (G2 + ONE) * 2, G2_TWICE, 2 * 22_500),
    "three in G2": (G2_MSM, (G2 + ONE) * 2 + INFINITY_2 + ONE, G2_TWICE, 3 * 22_500 * 923 // 1_000),
    "pairing": (PAIRING, G1 + G2, bytes(32), 37_700 + 32_600),
    "pairings": (PAIRING, G1_TWICE + G2 + G1_NEGATIVE + G2_TWICE, ONE, 37_700 + 2 * 32_600),
    "pairing of infinity": (PAIRING, INFINITY_1 + G2, ONE, 37_700 + 32_600),
}
REFUSED = {
    "nothing to multiply": (G1_MSM, b""),
    "nothing to pair": (PAIRING, b""),
    "short": (G1_ADD, (G1 * 2)[:-1]),
    "long": (G1_ADD, G1 * 2 + b"\0"),
    "short in G2": (G2_ADD, G2 * 2 + bytes(1)),
    "no pair": (PAIRING, G1 + G2 + bytes(1)),
    "padding": (G1_ADD, b"\1" + G1[1:] + G1),
    "no number of the field": (G1_ADD, coordinates(MODULUS, 0) + G1),
    "not on the curve": (G1_ADD, coordinates(1, 1) + G1),
    "multiply outside of the subgroup": (G1_MSM, OUTSIDE + ONE),
    "pair outside of the subgroup": (PAIRING, OUTSIDE + G2),
    "map no number of the field": (MAP_TO_G1, coordinates(MODULUS)),
    "map too much": (MAP_TO_G2, coordinates(1, 2, 3)),
}
REFERENCE: dict[int, Any] = {
    G1_ADD: bls12_381_g1.bls12_g1_add,
    G1_MSM: bls12_381_g1.bls12_g1_msm,
    G2_ADD: bls12_381_g2.bls12_g2_add,
    G2_MSM: bls12_381_g2.bls12_g2_msm,
    PAIRING: bls12_pairing_check,
    MAP_TO_G1: bls12_381_g1.bls12_map_fp_to_g1,
    MAP_TO_G2: bls12_381_g2.bls12_map_fp2_to_g2,
}


def called(number: int, data: bytes, engine: str = "pyevm") -> CallResult:
    world = World({SENDER: AccountRecord()})
    request = CallRequest(SENDER, long_zero(number), data, 5_000_000, version=V070)
    return ENGINES[engine].execute(request, BLOCK, world)


class _Frame:
    """As much of a frame as the library's contracts use."""

    def __init__(self, data: bytes) -> None:
        self.msg, self.data, self.gas, self.output = self, data, 0, b""

    def consume_gas(self, gas: int, reason: str) -> None:
        self.gas += gas


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("number", "data", "output", "gas"), CASES.values(), ids=CASES)
def test_points_are_added_multiplied_and_paired(engine, number, data, output, gas):
    result = called(number, data, engine)

    assert (result.status, result.output, result.execution_gas) == (Status.SUCCESS, output, gas)


@pytest.mark.parametrize(("number", "data"), REFUSED.values(), ids=REFUSED)
def test_invalid_input_takes_all_gas(number, data):
    result = called(number, data)

    assert (result.halt, result.output, result.gas_used) == (Halt.PRECOMPILE, b"", 5_000_000)
    with pytest.raises(VMError):
        REFERENCE[number](_Frame(data))


@pytest.mark.parametrize(
    ("number", "data"),
    [
        (G1_ADD, OUTSIDE + G1),
        (G1_MSM, G1_TWICE + THREE + G1 + b"\xff" * 32),
        (G2_MSM, G2_TWICE + THREE + G2 + b"\xff" * 32),
        (MAP_TO_G1, coordinates(5)),
        (MAP_TO_G2, coordinates(MODULUS - 1, 7)),
    ],
    ids=["add outside of the subgroup", "G1", "G2", "map to G1", "map to G2"],
)
def test_results_and_prices_are_those_of_the_library(number, data):
    frame = _Frame(data)
    REFERENCE[number](frame)
    result = called(number, data)

    assert (result.output, result.execution_gas) == (frame.output, frame.gas)


def test_multiplication_halts_below_its_price():
    world, data = World({SENDER: AccountRecord()}), G1 + TWO
    request = CallRequest(SENDER, long_zero(G1_MSM), data, intrinsic_gas(data, creates=False), version=V070)

    enough, less = (request._replace(gas=request.gas + price) for price in (12_000, 11_999))

    assert ENGINES["pyevm"].execute(enough, BLOCK, world).output == G1_TWICE
    assert ENGINES["pyevm"].execute(less, BLOCK, world).halt is Halt.OUT_OF_GAS
