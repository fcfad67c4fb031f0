"""Random programs on plain Cancun, beside revm: an EVM that shares nothing with the engines here.

`MIRROR_TEST_PROGRAMS` says how many programs; without it 300. They begin without storage: what revm is given
before the call it takes for touched already.
"""

import os
from typing import Any

import pyrevm as _pyrevm
import pytest

from tests.web3sim.engine.programs import program
from tests.web3sim.engine.world import BLOCK as LATER
from tests.web3sim.engine.world import World
from web3sim.engine.interface import CallRequest, CallResult, Log, Profile, Status
from web3sim.engine.pyevm import ENGINE

# Not all that it takes is declared.
pyrevm: Any = _pyrevm
PROGRAMS = int(os.environ.get("MIRROR_TEST_PROGRAMS", "300"))
SLICES = 5
# The first one: revm makes up the hashes of earlier blocks.
BLOCK = LATER._replace(number=0)


def _hex(address: bytes) -> str:
    return "0x" + address.hex()


def _revm(world: World) -> Any:
    block = pyrevm.BlockEnv(
        number=BLOCK.number,
        coinbase=_hex(BLOCK.coinbase),
        timestamp=BLOCK.timestamp,
        prevrandao=BLOCK.prevrandao,
        basefee=0,
        gas_limit=BLOCK.gas_limit,
        excess_blob_gas=0,
    )
    env = pyrevm.Env(cfg=pyrevm.CfgEnv(chain_id=BLOCK.chain_id), block=block)
    evm = pyrevm.EVM(spec_id="CANCUN", gas_limit=BLOCK.gas_limit, env=env)
    for address, record in world.accounts.items():
        info = pyrevm.AccountInfo(balance=record.balance, nonce=record.nonce, code=record.code or None)
        evm.insert_account_info(_hex(address), info)
    return evm


def _outcome(evm: Any, request: CallRequest) -> tuple[Status, bytes | None]:
    """Status and output; None for what revm doesn't tell."""
    given = {"value": request.value, "gas": request.gas, "gas_price": 0}
    try:
        if request.to is None:
            evm.deploy(_hex(request.sender), request.data, **given)
            return Status.SUCCESS, None
        return Status.SUCCESS, evm.message_call(
            _hex(request.sender), _hex(request.to), calldata=request.data, **given
        )
    except RuntimeError as error:
        return Status.REVERT if str(error).startswith("Revert") else Status.HALT, None


def _compare(evm: Any, status: Status, output: bytes | None, result: CallResult) -> None:
    assert result.status is status
    # Without a result the gas didn't even pay for the message.
    assert result.gas_used == (evm.result.gas_used if evm.result else result.gas_used)
    if status is not Status.SUCCESS:
        return
    assert output in (None, result.output)
    # What revm calls a log's data is its topics and its data.
    logs = [Log(bytes.fromhex(log.address[2:]), tuple(log.data[0]), log.data[1]) for log in evm.result.logs]
    assert list(result.logs) == logs
    for (address, slot), change in result.slots.items():
        if address not in result.deleted:
            assert evm.storage(_hex(address), slot) == (change.written or 0)
    for address, balance in result.balances.items():
        assert evm.get_balance(_hex(address)) == balance


@pytest.mark.parametrize("part", range(SLICES))
def test_random_programs_do_on_revm_what_they_do_here(part):
    for seed in range(part, PROGRAMS, SLICES):
        world, request = program(seed)
        world.slots.clear()
        request = request._replace(profile=Profile.ETHEREUM, static=False, gas_price=0)
        evm = _revm(world)
        status, output = _outcome(evm, request)
        try:
            _compare(evm, status, output, ENGINE.execute(request, BLOCK, world))
        except AssertionError as error:
            error.add_note(f"seed {seed}")
            raise
