"""Contracts that use each service of the network: the child transactions of their calls."""

from collections import Counter
from contextlib import suppress

from mirror.core.values import timestamp
from mirror.demo.actions import schedules
from mirror.demo.actions.catalogue import ALL
from mirror.demo.actions.contracts import stewards
from mirror.demo.actions.network import genesis
from mirror.demo.network import Network, NotPossible
from mirror.demo.streams.record_files import Block

TRANSACTIONS, USES = 400, 120


def used() -> tuple[Network, Block]:
    """A network in which a steward was used often, and the block of it."""
    network = Network(7, ALL)
    genesis.begin(network)
    network.act(TRANSACTIONS)
    while not network.world.contracts.of("Steward"):
        network.act(10)
    network.close()
    done = 0
    while done < USES:
        try:
            stewards.steward(network)
            done += 1
        except NotPossible:
            network.act(1)
    return network, network.close()


def test_each_request_of_a_steward_is_a_transaction() -> None:
    network, block = used()
    (steward,) = network.world.contracts.of("Steward")
    parents = {one.consensus_timestamp: one for one in block.transactions}
    kinds: Counter[str] = Counter()
    for one in block.transactions:
        result = one.record.contractCallResult
        if result.sender_id.accountNum != steward.number or not one.record.HasField(
            "parent_consensus_timestamp"
        ):
            continue
        parent = parents[timestamp.of(one.record.parent_consensus_timestamp)]
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
            schedules.change_in_vain(network)
        with suppress(NotPossible):
            schedules.delete(network)
    bodies = {each.body.WhichOneof("data") for each in network.close().transactions}
    assert bodies == {"scheduleSign"}


def test_what_a_steward_holds_adds_up() -> None:
    network, _ = used()
    (steward,) = network.world.contracts.of("Steward")
    tokens = list(network.world.tokens.living())
    assert any(token.treasury == steward.number for token in tokens)
    assert any(token.balance(steward.number) for token in tokens if token.treasury != steward.number)
    for token in tokens:
        if token.fungible:
            assert sum(each.balance for each in token.relationships.values()) == token.supply


def test_tokens_are_issued_whoever_collects_the_fees_of_transactions() -> None:
    network = Network(7, ALL)
    genesis.begin(network)
    network.act(TRANSACTIONS)
    genesis.install(network)
    network.act(1)
    network.close()
    while not (living := network.world.contracts.of("Steward")):
        network.act(10)
    for _ in range(50):
        with suppress(NotPossible):
            stewards._issue(network, living[0])
    tokens = network.world.tokens.issued.values()
    assert any(token.treasury == living[0].number for token in tokens)
