"""Contracts that use services of the network: the child transactions of their calls, and the logs."""

from collections import Counter
from contextlib import suppress

from mirror.core.values import timestamp
from mirror.demo.actions import genesis, schedules
from mirror.demo.actions.contracts import services
from mirror.demo.evm.system_contracts import TOKENS
from mirror.demo.network import Network, NotPossible, Perform
from mirror.demo.publish.history import ALL
from mirror.demo.streams.record_files import Block

TRANSACTIONS, SPENDINGS, USES = 400, 12, 120


def begun() -> Network:
    network = Network(7, ALL)
    genesis.begin(network)
    network.act(TRANSACTIONS)
    return network


def upgraded(network: Network) -> None:
    genesis.install(network)
    network.act(1)
    network.close()


def use(network: Network, action: Perform, times: int) -> Block:
    """Perform an action so often, and return the block of it."""
    network.close()
    done = 0
    while done < times:
        try:
            action(network)
            done += 1
        except NotPossible:
            network.act(1)
    return network.close()


# TILLS
def spent(block: Block) -> list[tuple[bool, int]]:
    """Return for each spending whether it moved units, not hbars, and the number of logs of its call."""
    parents = {one.consensus_timestamp: one for one in block.transactions}
    found = []
    for one in block.transactions:
        result = one.record.contractCallResult
        if result.contractID.contractNum == TOKENS:
            parent = parents[timestamp.to_ns(one.record.parent_consensus_timestamp)].record
            assert parent.contractCallResult.contractID.contractNum == result.sender_id.accountNum
            found.append((bool(one.record.tokenTransferLists), len(parent.contractCallResult.logInfo)))
    return found


def test_the_node_logs_the_units_that_a_contract_moves_since_the_upgrade() -> None:
    network = begun()
    before = use(network, services.use_till, SPENDINGS)
    upgraded(network)
    after = use(network, services.use_till, SPENDINGS)

    assert {logs for _, logs in spent(before)} == {0}
    assert {(units, logs) for units, logs in spent(after)} == {(True, 1), (False, 0)}


def test_a_contract_spends_its_own_allowance() -> None:
    network = begun()
    use(network, services.use_till, SPENDINGS)

    (till,) = network.world.contracts.all("Till")
    tokens = network.world.tokens
    allowed = [one for (_, spender), one in tokens.hbar_allowances.items() if spender == till.number]
    allowed += [one for (_, spender, _), one in tokens.token_allowances.items() if spender == till.number]
    assert allowed
    assert all(0 <= one.amount < one.granted for one in allowed)


# STEWARDS
def used() -> tuple[Network, Block]:
    """A network in which a steward was used often, and the block of it."""
    network = begun()
    while not network.world.contracts.all("Steward"):
        network.act(10)
    return network, use(network, services.STEWARD.perform, USES)


def test_each_request_of_a_steward_is_a_transaction() -> None:
    network, block = used()
    (steward,) = network.world.contracts.all("Steward")
    parents = {one.consensus_timestamp: one for one in block.transactions}
    kinds: Counter[str] = Counter()
    for one in block.transactions:
        result = one.record.contractCallResult
        if result.sender_id.accountNum != steward.number or not one.record.HasField(
            "parent_consensus_timestamp"
        ):
            continue
        parent = parents[timestamp.to_ns(one.record.parent_consensus_timestamp)]
        assert parent.record.contractCallResult.contractID.contractNum == steward.number
        assert one.body.transactionID.nonce == 1
        assert result.contractCallResult
        if one.body.HasField("scheduleCreate"):
            assert one.body.scheduleCreate.adminKey.contractID.contractNum == steward.number
        kinds[one.body.WhichOneof("data")] += 1

    assert set(kinds) == {
        "cryptoTransfer",
        "scheduleCreate",
        "tokenAirdrop",
        "tokenAssociate",
        "tokenCreation",
        "util_prng",
    }


def test_schedule_of_a_steward_is_only_signed_in_vain() -> None:
    network, _ = used()
    of_contract = {number: each for number, each in network.world.schedules.items() if each.of_contract}
    network.world.schedules = of_contract
    assert all(each.admin_key for each in of_contract.values())
    network.close()
    for _ in range(20):
        with suppress(NotPossible):
            schedules.change_invalid(network)
        with suppress(NotPossible):
            schedules.delete(network)
    bodies = {each.body.WhichOneof("data") for each in network.close().transactions}
    assert bodies == {"scheduleSign"}


def test_what_a_steward_holds_adds_up() -> None:
    network, _ = used()
    (steward,) = network.world.contracts.all("Steward")
    tokens = list(network.world.tokens.living())
    assert any(token.treasury == steward.number for token in tokens)
    assert any(token.balance(steward.number) for token in tokens if token.treasury != steward.number)
    for token in tokens:
        if token.fungible:
            assert sum(each.balance for each in token.relationships.values()) == token.supply


def test_tokens_are_issued_whoever_collects_the_fees_of_transactions() -> None:
    network = begun()
    upgraded(network)
    while not (living := network.world.contracts.all("Steward")):
        network.act(10)
    for _ in range(50):
        with suppress(NotPossible):
            services._issue(network, living[0])
    tokens = network.world.tokens.issued.values()
    assert any(token.treasury == living[0].number for token in tokens)
