"""The version of the EVM that runs a call."""

from http import HTTPStatus

import pytest

from mirror.core.config.setting import InvalidSetting
from tests.build import SECOND, START
from tests.web3sim.engine.world import RETURN_TOP, code
from tests.web3sim.rows import asked, contract, long_zero, network
from web3sim.calls.call import answer
from web3sim.engine.versions import V030, V034, V038, V046, V050, V051, V065, V066, V067
from web3sim.state.blocks import SelectedBlock, StoredBlock, parse_block
from web3sim.state.evm_version import evm_version

#: Pushes nothing and returns it: there since 0.38.
NOTHING = bytes.fromhex("5f5ff3")


def at(number: int, *, past: bool = True) -> SelectedBlock:
    return SelectedBlock(StoredBlock(number, bytes(48), 0, 0), 5 if past else None)


@pytest.mark.parametrize(
    ("first", "version"),
    [
        (44_029_066, V034),
        (49_117_794, V038),
        (60_258_042, V046),
        (65_435_845, V050),
        (66_602_102, V051),
        (85_011_472, V065),
        (85_659_065, V066),
        (87_129_575, V067),
    ],
)
def test_a_past_block_of_mainnet_has_the_version_of_its_time(settings_of, first, version):
    settings_of({"web3.evm.network": "MAINNET"})
    assert evm_version(at(first)) == evm_version(at(first + 1)) == version
    assert evm_version(at(first - 1)) < version
    assert evm_version(at(0)) == V030
    assert evm_version(at(first - 1, past=False)) == V067


@pytest.mark.parametrize("network", ["TESTNET", "PREVIEWNET", "OTHER"])
def test_elsewhere_all_blocks_have_the_newest(settings_of, network):
    settings_of({"web3.evm.network": network})
    assert evm_version(at(0)) == evm_version(at(5, past=False)) == V067


def test_settings_choose_the_newest_and_those_of_the_past(settings_of):
    settings_of({"web3.evm.evmVersion": "0.66", "web3.evm.evmVersions": '{"10": "0.46", "20": "0.50"}'})
    assert [evm_version(at(number)) for number in (9, 10, 19, 20)] == [V066, V046, V046, V050]
    assert evm_version(at(10, past=False)) == V066


@pytest.mark.parametrize("text", ["nonsense", "[]", '{"x": "0.46"}', '{"1": "0.47"}', '{"1": 5}'])
def test_a_history_that_says_nothing_is_refused(settings_of, text):
    settings_of({"web3.evm.evmVersions": text})
    with pytest.raises(InvalidSetting, match="SVC_MIRROR_WEB3_EVM_EVMVERSIONS can't be used: it must be"):
        evm_version(at(1))


@pytest.mark.parametrize("engine", ["pyevm", "pyevm-blocks"])
def test_call_of_an_account_runs_its_delegate_once_the_version_says_so(build, settings_of, engine):
    network(build)
    contract(build, 5001, code("ADDRESS", *RETURN_TOP))
    build.entity(5002, delegation_address=long_zero(5001))
    call = asked(to=long_zero(5002), engine=engine)
    assert answer(call).result == b""
    settings_of({"web3.evm.evmVersion": "0.70"})
    assert int.from_bytes(answer(call).result) == 5002


def test_data_needs_its_least_price_once_the_version_says_so(build, settings_of):
    network(build)
    call = asked(to=long_zero(5001), data=b"\1" * 20_000, gas=820_999)
    assert answer(call).status is HTTPStatus.OK
    settings_of({"web3.evm.evmVersion": "0.70"})
    assert answer(call).problems[0].message == "INSUFFICIENT_GAS"
    (estimated, enough) = (answer(call._replace(gas=10**6, estimate=each)) for each in (True, False))
    assert enough.status is HTTPStatus.OK
    assert int.from_bytes(estimated.result) >= 821_000


@pytest.mark.parametrize("engine", ["pyevm", "pyevm-blocks"])
def test_call_at_a_past_block_uses_the_rules_of_its_time(build, settings_of, engine):
    network(build)
    build.block(8, end=START + 50 * SECOND)
    build.block(9, end=START + 60 * SECOND)
    settings_of({"web3.evm.evmVersions": '{"8": "0.34", "9": "0.38"}'})
    contract(build, 5001, NOTHING)
    told = [
        answer(asked(to=long_zero(5001), block=parse_block(text), engine=engine)) for text in ("8", "9", "")
    ]
    assert [each.status for each in told] == [HTTPStatus.BAD_REQUEST, HTTPStatus.OK, HTTPStatus.OK]
    assert told[0].problems[0].message == "CONTRACT_EXECUTION_EXCEPTION"
    nobody = bytes([9]) * 20
    call = asked(to=nobody, block=parse_block("8"), engine=engine)
    assert answer(call).problems[0].message == "INVALID_CONTRACT_ID"
    assert answer(call._replace(block=parse_block(""))).result == b""
