"""Contracts that spend people's allowances: the child transactions of their calls, and the logs."""

from mirror.core.values import timestamp
from mirror.demo.actions.catalogue import ALL
from mirror.demo.actions.contracts import tills
from mirror.demo.actions.network import genesis
from mirror.demo.evm.system_contracts import TOKENS
from mirror.demo.network import Network, NotPossible
from mirror.demo.streams.record_files import Block

TRANSACTIONS, SPENDINGS = 400, 12


def spend(network: Network) -> Block:
    done = 0
    while done < SPENDINGS:
        try:
            tills.take(network)
            done += 1
        except NotPossible:
            network.act(1)
    return network.close()


def spent(block: Block) -> list[tuple[bool, int]]:
    """Return for each spending whether it moved units, not hbars, and the number of logs of its call."""
    parents = {one.consensus_timestamp: one for one in block.transactions}
    found = []
    for one in block.transactions:
        result = one.record.contractCallResult
        if result.contractID.contractNum == TOKENS:
            parent = parents[timestamp.of(one.record.parent_consensus_timestamp)].record
            assert parent.contractCallResult.contractID.contractNum == result.sender_id.accountNum
            found.append((bool(one.record.tokenTransferLists), len(parent.contractCallResult.logInfo)))
    return found


def test_the_node_logs_the_units_that_a_contract_moves_since_the_upgrade() -> None:
    network = Network(7, ALL)
    genesis.begin(network)
    network.act(TRANSACTIONS)
    network.close()
    before = spend(network)
    genesis.install(network)
    network.act(1)
    network.close()
    after = spend(network)

    assert {logs for _, logs in spent(before)} == {0}
    assert {(units, logs) for units, logs in spent(after)} == {(True, 1), (False, 0)}


def test_a_contract_spends_its_own_allowance() -> None:
    network = Network(7, ALL)
    genesis.begin(network)
    network.act(TRANSACTIONS)
    spend(network)

    (till,) = network.world.contracts.of("Till")
    tokens = network.world.tokens
    allowed = [one for (_, spender), one in tokens.hbar_allowances.items() if spender == till.number]
    allowed += [one for (_, spender, _), one in tokens.token_allowances.items() if spender == till.number]
    assert allowed
    assert all(0 <= one.amount < one.granted for one in allowed)
