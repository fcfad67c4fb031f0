"""The engines find what the simulated network's own EVM, which shares nothing with them, has found."""

import pytest

from mirror.core.values.entity_id import long_zero
from mirror.demo.actions.contracts import calls, deploying
from mirror.demo.actions.network import genesis
from mirror.demo.evm import execution, run
from mirror.demo.network import Network
from web3sim.engine.interface import AccountKind, AccountRecord, BlockEnvironment, CallRequest
from web3sim.engine.registry import engine

ACTIONS = (*deploying.ACTIONS, *calls.ACTIONS)
STATUSES = {"SUCCESS": "success", "CONTRACT_REVERT_EXECUTED": "revert"}
CHAIN_ID, FEE_COLLECTOR = 298, long_zero(98)


class Reader:
    """The simulated network's ledger before a transaction, as engines read it."""

    def __init__(self, ledger):
        self._ledger = ledger

    def account(self, address):
        found = self._ledger.account(address)
        if found is None:
            return None
        kind = AccountKind.CONTRACT if found.is_contract else AccountKind.ACCOUNT
        return AccountRecord(found.balance, found.nonce, self._ledger.code(address), kind, found.number)

    def slot(self, address, slot):
        return self._ledger.slot(address, slot)

    def block_hash(self, number):
        raise AssertionError("contracts of the simulated network ask for no block's hash")


def again(name, asked, place, ledger):
    """The same transaction by an engine."""
    request = CallRequest(
        sender=asked.sender,
        to=asked.to or None,
        data=asked.data,
        gas=asked.gas,
        value=asked.value,
        gas_price=place.gas_price,
        new_contract_address=asked.created or None,
    )
    block = BlockEnvironment(
        number=place.block_number,
        timestamp=place.timestamp,
        coinbase=FEE_COLLECTOR,
        prevrandao=bytes(32),
        gas_limit=asked.gas,
        chain_id=CHAIN_ID,
    )
    return engine(name).execute(request, block, Reader(ledger))


@pytest.mark.parametrize("name", ["pyevm", "pyevm-blocks"])
def test_an_engine_agrees_with_the_simulated_network_on_every_contract_transaction(name, monkeypatch):
    compared = 0

    def compare(asked, place, ledger):
        nonlocal compared
        done = execution.execute(asked, place, ledger)
        found = again(name, asked, place, ledger)
        output = done.codes[asked.created] if asked.created and done.successful else done.output
        assert found.status.value == STATUSES.get(done.result, "halt")
        assert (found.output, found.gas_used) == (output, done.gas_used)
        assert [(log.address, log.topics, log.data) for log in found.logs] == [
            (log.address, log.topics, log.data) for log in done.logs
        ]
        assert {key: (slot.read, slot.written) for key, slot in found.slots.items()} == {
            (address, number): (slot.read, slot.written)
            for address, slots in done.slots.items()
            for number, slot in slots.items()
        }
        compared += 1
        return done

    monkeypatch.setattr(run, "execute", compare)
    network = Network(7, ACTIONS)
    genesis.begin(network)
    for _ in range(10):
        network.close()
        network.act(30)

    assert compared > 200
    assert all(network.performed[action.perform] for action in ACTIONS)
